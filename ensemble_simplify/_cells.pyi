import numpy as np
from numpy.typing import NDArray

Ints = NDArray[np.intp]
Labels = NDArray[np.uint8] | NDArray[np.uint16]

FREE: int

class Stopped(Exception): ...

def paint(
    left: Ints,
    right: Ints,
    axis: Ints,
    cut: Ints,
    value: NDArray[np.float64],
    roots: Ints,
    first: Ints,
    last: Ints,
    sums: NDArray[np.float64],
) -> None: ...
def changes_across(labels: Labels, before: int, length: int, after: int) -> bytearray: ...
def change_masks(
    labels: Labels, shape: Ints, word: Ints, shift: Ints, masks: NDArray[np.uint64]
) -> None: ...
def class_counts(labels: Labels, shape: Ints, counts: Ints) -> None: ...
def leaves_of_cells(
    left: Ints, right: Ints, axis: Ints, cut: Ints, roots: Ints, cells: Ints, leaves: Ints
) -> None: ...
def restrict(
    left: Ints,
    right: Ints,
    axis: Ints,
    cut: Ints,
    roots: Ints,
    first: Ints,
    last: Ints,
    also_axis: Ints,
    also_cut: Ints,
) -> tuple[list[int], list[list[int]], list[int], list[list[int]]]: ...
