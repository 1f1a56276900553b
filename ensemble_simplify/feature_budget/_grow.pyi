import numpy as np
from numpy.typing import NDArray

THRESHOLD_PAIRS: int
POWERS: int

class Ledger:
    bits: NDArray[np.uint64]
    prices: NDArray[np.float64]
    table: NDArray[np.int32]
    def __init__(
        self,
        price: NDArray[np.float64],
        resources: NDArray[np.int32],
        bought: NDArray[np.uint64],
        per_row: bool,
    ) -> None: ...
    def __sklearn_clone__(self) -> Ledger: ...
    def walk(
        self,
        X: NDArray[np.float32],
        left: NDArray[np.intp],
        right: NDArray[np.intp],
        feature: NDArray[np.intp],
        threshold: NDArray[np.float64],
    ) -> None: ...

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
    ledger: Ledger | None,
    left: NDArray[np.intp],
    right: NDArray[np.intp],
    feature: NDArray[np.intp],
    threshold: NDArray[np.float64],
) -> int: ...
