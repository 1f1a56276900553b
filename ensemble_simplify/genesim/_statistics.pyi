import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Integers = NDArray[np.intp]

def best_cuts(
    X: NDArray[np.float32],
    label: Integers,
    row: Integers,
    weight: Floats,
    start: Integers,
    feature: Integers,
    least: Floats,
    n_classes: int,
    *,
    entropy: bool,
) -> tuple[Floats, Floats, Floats, Floats]: ...
def variance_ratios(
    X: NDArray[np.float32],
    label: Integers,
    row: Integers,
    weight: Floats,
    start: Integers,
    n_classes: int,
    *,
    spread: bool,
) -> tuple[Floats, Floats]: ...
def quartile_groups(
    X: NDArray[np.float32], row: Integers, weight: Floats, start: Integers
) -> NDArray[np.uint8]: ...
def chi_squares(
    group: NDArray[np.uint8],
    label: Integers,
    row: Integers,
    weight: Floats,
    start: Integers,
    n_groups: int,
    n_classes: int,
) -> tuple[Floats, Floats]: ...
