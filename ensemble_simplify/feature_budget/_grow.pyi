import numpy as np
from numpy.typing import NDArray

THRESHOLD_PAIRS: int
POWERS: int

def grow(
    X: NDArray[np.float32],
    y: NDArray[np.intp],
    weight: NDArray[np.float64],
    n_classes: int,
    cost: NDArray[np.float64],
    kind: int,
    shape: float,
    max_depth: int,
    min_samples_leaf: int,
    left: NDArray[np.intp],
    right: NDArray[np.intp],
    feature: NDArray[np.intp],
    threshold: NDArray[np.float64],
) -> int: ...
