from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ensemble_simplify._bounded_trees import BoundedTrees

def bound_entries(value: NDArray[np.float64]) -> NDArray[np.float64]: ...

class Certifier(BoundedTrees):
    n_models: int
    n_labels: int
    target: int
    def __init__(
        self,
        shape: Sequence[int],
        nodes: NDArray[np.int32],
        offsets: NDArray[np.intp],
        value: NDArray[np.float64],
        unit_of: NDArray[np.intp],
        units: Sequence[Mapping[str, Any]],
        judge: Callable[[int, NDArray[np.int32]], NDArray[np.intp]],
        exact: Sequence[Mapping[str, Any]],
        scores: NDArray[np.float64],
        twin: NDArray[np.intp] | None = None,
        wrong: NDArray[np.bool_] | None = None,
    ) -> None: ...
    def prove(
        self,
        lo: NDArray[np.int32],
        hi: NDArray[np.int32],
        seconds: float = ...,
        max_boxes: int | None = None,
    ) -> tuple[bool | None, tuple[int, ...], NDArray[np.int32]]: ...
    def grow(
        self,
        lo: NDArray[np.int32],
        hi: NDArray[np.int32],
        seconds: float = ...,
        max_leaves: int | None = None,
    ) -> NDArray[np.int32] | None: ...
    def sample_depths(
        self,
        lo: NDArray[np.int32],
        hi: NDArray[np.int32],
        n: int,
        seed: int,
        seconds: float = ...,
        max_boxes: float = ...,
    ) -> NDArray[np.intp]: ...
