import numpy as np
from numpy.typing import NDArray

def grow(
    codes: NDArray[np.int32],
    votes: NDArray[np.float64],
    *,
    max_depth: int,
    min_samples_split: int,
    min_samples_leaf: int,
    seconds: float = ...,
) -> tuple[NDArray[np.int32], NDArray[np.float64], NDArray[np.intp], bool]: ...
