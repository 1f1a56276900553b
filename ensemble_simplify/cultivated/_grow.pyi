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

class Router:
    def __init__(
        self,
        left: NDArray[np.intp],
        right: NDArray[np.intp],
        value: NDArray[np.float64],
        option_start: NDArray[np.intp],
        option_feature: NDArray[np.intp],
        option_flip: NDArray[np.uint8],
        option_missing: NDArray[np.float64],
        cut_start: NDArray[np.intp],
        cut_threshold: NDArray[np.float64],
        cut_suffix: NDArray[np.float64],
        min_fraction: float,
    ) -> None: ...
    def mean(self, X: NDArray[np.float64], proba: NDArray[np.float64]) -> None: ...
    def moments(
        self,
        X: NDArray[np.float64],
        mean: NDArray[np.float64],
        variance: NDArray[np.float64],
    ) -> None: ...
    def leaves(
        self, X: NDArray[np.float64]
    ) -> tuple[NDArray[np.intp], NDArray[np.intp], NDArray[np.float64]]: ...
    def share(self, node: int, X: NDArray[np.float64], share: NDArray[np.float64]) -> None: ...
