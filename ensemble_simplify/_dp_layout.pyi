from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

class Layout:
    shape: tuple[int, ...]
    n_states: int
    cost: float
    def __init__(
        self,
        labels: NDArray[np.uint8] | NDArray[np.uint16],
        masks: NDArray[np.uint64],
        word: NDArray[np.intp],
        shift: NDArray[np.intp],
        outer: Sequence[int],
        inner: Sequence[int],
        n_row: int,
    ) -> None: ...
    def largest_block(self) -> int: ...
