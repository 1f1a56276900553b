from typing import Literal

import numpy as np
from numpy.typing import NDArray

from ensemble_simplify.genesim._rows import Rows

Nodes = NDArray[np.int32]

class Candidates:
    stopped: bool
    def __len__(self) -> int: ...
    def nodes(self, i: int) -> Nodes: ...
    def set_score(self, i: int, score: float) -> None: ...

class Population:
    def __init__(
        self,
        rows: Rows,
        *,
        min_samples_leaf: int = 1,
        max_leaf_nodes: int = 0,
        metric: Literal["accuracy", "balanced_accuracy", "neg_log_loss", "f1_macro"] = "accuracy",
        training_weight: float = ...,
        prune: Literal["ccp", "reduced_error", "none"] = "ccp",
        n_threads: int = 1,
        cache_bytes: int = ...,
        known_bytes: int = ...,
        keep_paths: bool = True,
    ) -> None: ...
    def clean(self, trees: list[Nodes], *, thread: int = 0, seconds: float = ...) -> Candidates: ...
    def breed(
        self,
        start: int,
        stop: int,
        *,
        seed: int,
        generation: int,
        n_crossovers: int,
        n_parents: int,
        tournament_size: int,
        mutation_prob: float,
        order: Literal["random", "gain"] = "random",
        thread: int = 0,
        seconds: float = ...,
    ) -> Candidates: ...
    def select(self, candidates: list[Candidates], *, size: int) -> None: ...
    def sort_rows(self) -> None: ...
    def __len__(self) -> int: ...
    def describe(
        self, where: Literal["trees", "front"] = "trees"
    ) -> tuple[NDArray[np.float64], NDArray[np.intp]]: ...
    def nodes(self, i: int, where: Literal["trees", "front"] = "trees") -> Nodes: ...
    def best_score(self) -> float: ...
    def label_tree(self, tree: Nodes) -> tuple[Nodes, NDArray[np.intp], NDArray[np.float64]]: ...
    def label_front(
        self, i: int, *, validation: bool
    ) -> tuple[Nodes, NDArray[np.intp], NDArray[np.float64]]: ...
    def apply(self, tree: Nodes, *, validation: bool = True) -> NDArray[np.intp]: ...
