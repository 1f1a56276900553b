import numpy as np
from numpy.typing import NDArray

Ints = NDArray[np.intp]
Labels = NDArray[np.uint8] | NDArray[np.uint16]

FREE: int

class Stopped(Exception): ...

def paint(
    nodes: NDArray[np.int32],
    roots: Ints,
    value: NDArray[np.float64],
    lo: NDArray[np.int32],
    hi: NDArray[np.int32],
    sums: NDArray[np.float64],
) -> None: ...
def paint_lines(
    nodes: NDArray[np.int32],
    roots: Ints,
    value: NDArray[np.float64],
    cells: NDArray[np.int32],
    axis: int,
    length: int,
    sums: NDArray[np.float64],
) -> None: ...
def changes_across(labels: Labels, before: int, length: int, after: int) -> bytearray: ...
def change_masks(
    labels: Labels, shape: Ints, word: Ints, shift: Ints, masks: NDArray[np.uint64]
) -> None: ...
def class_counts(labels: Labels, shape: Ints, counts: Ints) -> None: ...
