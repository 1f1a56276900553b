from typing import Literal

import numpy as np
from numpy.typing import NDArray

Nodes = NDArray[np.int32]

class Brood:
    stopped: bool
    def __len__(self) -> int: ...
    def nodes(self, i: int) -> Nodes: ...
    def set_score(self, i: int, score: float) -> None: ...

class Population:
    def __init__(
        self,
        train_code: NDArray[np.int32],
        train_label: NDArray[np.int32],
        train_weight: NDArray[np.float64],
        val_code: NDArray[np.int32],
        val_label: NDArray[np.int32],
        val_weight: NDArray[np.float64],
        n_codes: NDArray[np.int32],
        *,
        n_classes: int,
        min_samples_leaf: int = 1,
        max_leaf_nodes: int = 0,
        metric: Literal["accuracy", "balanced_accuracy", "neg_log_loss", "f1_macro"] = "accuracy",
        prune: Literal["ccp", "reduced_error", "none"] = "ccp",
        n_scratch: int = 1,
        cache_bytes: int = ...,
        known_bytes: int = ...,
        keep_paths: bool = True,
    ) -> None: ...
    def arrange(self) -> None: ...
    def found(self, trees: list[Nodes], *, scratch: int = 0, seconds: float = ...) -> Brood: ...
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
        scratch: int = 0,
        seconds: float = ...,
    ) -> Brood: ...
    def absorb(self, broods: list[Brood], *, size: int) -> None: ...
    def __len__(self) -> int: ...
    @property
    def n_front(self) -> int: ...
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
