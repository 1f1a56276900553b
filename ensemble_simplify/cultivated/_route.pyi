import numpy as np
from numpy.typing import NDArray

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
