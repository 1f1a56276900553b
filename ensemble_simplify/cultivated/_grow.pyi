from typing import Any

import numpy as np
from numpy.typing import NDArray

def grow(
    codes: NDArray[np.int32] | None,
    bins: NDArray[np.uint16] | None,
    n_codes: NDArray[np.intp],
    y: NDArray[np.intp],
    sample_weight: NDArray[np.float64],
    n_classes: int,
    *,
    option_threshold: float,
    option_modules: bool,
    robust_splits: bool,
    max_options: int,
    k_mass: NDArray[np.float64],
    k_value: NDArray[np.float64],
    max_depth: int,
    min_mass: float,
    min_fraction: float,
    trivial_threshold: bool,
    align: float,
    list_below: int,
    n_threads: int,
    seconds: float,
) -> dict[str, Any]: ...
