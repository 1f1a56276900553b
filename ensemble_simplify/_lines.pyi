import numpy as np
from numpy.typing import NDArray

UNSURE: int

def label_lines(
    nodes: NDArray[np.int32],
    offsets: NDArray[np.intp],
    value: NDArray[np.float64],
    exact: bool,
    tie_upper: bool,
    tolerance: float,
    cells: NDArray[np.int32],
    from_axis: NDArray[np.intp],
    first: NDArray[np.intp],
    outside_lo: NDArray[np.int32],
    outside_hi: NDArray[np.int32],
    deadline: float,
    labels: NDArray[np.uint16],
) -> bool: ...
def find_runs(
    labels: NDArray[np.uint16],
    cells: NDArray[np.int32],
    first: NDArray[np.intp],
    own_first: NDArray[np.int32],
    own_last: NDArray[np.int32],
) -> tuple[NDArray[np.int32], NDArray[np.uint8]]: ...
