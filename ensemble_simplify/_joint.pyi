from collections.abc import Callable, Sequence
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from ensemble_simplify._bounded_trees import BoundedTrees

class JointSearch(BoundedTrees):
    stopped: Literal["time", "boxes"] | None
    highest: float
    def __init__(
        self,
        shape: Sequence[int],
        nodes: NDArray[np.int32],
        offsets: NDArray[np.intp],
    ) -> None: ...
    def find(
        self,
        forms: NDArray[np.float64],
        start: NDArray[np.float64],
        need: NDArray[np.float64],
        *,
        box: tuple[NDArray[np.int32], NDArray[np.int32]] | None = None,
        outside: tuple[NDArray[np.int32], NDArray[np.int32]] | None = None,
        n_points: int = 1,
        judge: Callable[[NDArray[np.int32]], NDArray[np.bool_]] | None = None,
        deadline: float = ...,
        max_boxes: int | None = None,
    ) -> NDArray[np.int32]: ...
