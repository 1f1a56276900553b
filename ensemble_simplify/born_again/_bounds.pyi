import numpy as np
from numpy.typing import NDArray

Labels = NDArray[np.uint8] | NDArray[np.uint16]

def sensitivity(labels: Labels, shape: NDArray[np.intp], faces: NDArray[np.uint8]) -> None: ...
def fooling_set(
    labels: Labels,
    shape: NDArray[np.intp],
    candidates: NDArray[np.int64],
    seconds: float,
) -> int: ...
