import numpy as np
from numpy.typing import NDArray

class LineTrees:
    def __init__(
        self,
        shape: NDArray[np.intp],
        n_classes: int,
        cells: NDArray[np.int32],
        labels: NDArray[np.int32],
        star_weight: NDArray[np.float64],
        own_first: NDArray[np.int32],
        own_last: NDArray[np.int32],
        own_joined: NDArray[np.uint8],
        runs: NDArray[np.int32],
        seed: int,
    ) -> None: ...
    def leaf_errors(
        self, nodes: NDArray[np.int32]
    ) -> tuple[NDArray[np.float64], NDArray[np.int32]]: ...
    def few_leaves(self) -> tuple[float, float]: ...
    def wrong_weight(self, nodes: NDArray[np.int32]) -> float: ...
    def wrong(
        self,
        nodes: NDArray[np.int32],
        counts: NDArray[np.intp],
        before: NDArray[np.float64],
    ) -> tuple[int, int, float]: ...
    def find(
        self,
        price: float,
        width: int = ...,
        an_axis: int = ...,
        criterion: int = ...,
        noise: float = ...,
        work: float = ...,
        deadline: float = ...,
    ) -> tuple[float, NDArray[np.int32]]: ...
    def improve(
        self,
        nodes: NDArray[np.int32],
        price: float,
        width: int,
        an_axis: int,
        work: float,
        deadline: float = ...,
        noise: float = ...,
    ) -> NDArray[np.int32]: ...
    def prove(
        self, n_leaves: int, work: float, deadline: float = ...
    ) -> tuple[bool | None, NDArray[np.int32] | None]: ...
    def forced_splits(self) -> int: ...
    @property
    def work_done(self) -> float: ...
