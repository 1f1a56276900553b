import numpy as np
from numpy.typing import NDArray

class Rows:
    n_axes: int
    n_classes: int
    n_train: int
    n_val: int
    def __init__(
        self,
        train_codes: NDArray[np.int32],
        train_label: NDArray[np.int32],
        train_weight: NDArray[np.float64],
        val_codes: NDArray[np.int32],
        val_label: NDArray[np.int32],
        val_weight: NDArray[np.float64],
        n_cuts: NDArray[np.int32],
        *,
        n_classes: int,
    ) -> None: ...

class Splitter:
    min_leaf: int
    def __init__(self, rows: Rows, min_leaf: int, cache_bytes: int) -> None: ...
