from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

class JointSearch:
    n_boxes: int
    def __init__(
        self,
        shape: Sequence[int],
        nodes: NDArray[np.int32],
        offsets: NDArray[np.intp],
        lead: NDArray[np.float64],
        start: NDArray[np.float64],
    ) -> None: ...
    def find(
        self,
        weight: NDArray[np.float64],
        rival: int,
        whole_slack: float,
        slack: float,
        outside: tuple[NDArray[np.int32], NDArray[np.int32]] | None = None,
        n_points: int = 1,
        deadline: float = ...,
    ) -> NDArray[np.int32] | None: ...
