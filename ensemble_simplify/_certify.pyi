from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

def bound_entries(value: NDArray[np.float64]) -> NDArray[np.float64]: ...

class Certifier:
    n_axes: int
    n_trees: int
    n_models: int
    n_labels: int
    n_boxes: int
    target: int
    def __init__(
        self,
        n_cells: NDArray[np.intp],
        left: NDArray[np.intp],
        right: NDArray[np.intp],
        axis: NDArray[np.intp],
        cut: NDArray[np.intp],
        roots: NDArray[np.intp],
        value: NDArray[np.float64],
        unit_of: NDArray[np.intp],
        units: Sequence[Mapping[str, Any]],
        judge: Callable[[int, NDArray[np.intp]], NDArray[np.intp]],
        exact: Sequence[Mapping[str, Any]],
        scores: NDArray[np.float64],
        twin: NDArray[np.intp] | None = None,
    ) -> None: ...
    def prove(
        self,
        lo: NDArray[np.intp],
        hi: NDArray[np.intp],
        seconds: float = ...,
        max_boxes: int | None = None,
    ) -> tuple[bool | None, tuple[int, ...], NDArray[np.intp]]: ...
    def grow(
        self,
        lo: NDArray[np.intp],
        hi: NDArray[np.intp],
        seconds: float = ...,
        max_leaves: int | None = None,
    ) -> tuple[NDArray[np.intp], ...] | None: ...
    def sample_depths(
        self,
        lo: NDArray[np.intp],
        hi: NDArray[np.intp],
        n: int,
        seed: int,
        seconds: float = ...,
    ) -> NDArray[np.intp]: ...
    def labels_possible(
        self, model: int, lo: NDArray[np.intp], hi: NDArray[np.intp]
    ) -> NDArray[np.bool_]: ...
