import numpy as np
from numpy.typing import NDArray

def fooling_points(
    cells: NDArray[np.int32],
    labels: NDArray[np.int32],
    own_first: NDArray[np.int32],
    own_last: NDArray[np.int32],
    runs: NDArray[np.int32],
    seed: int,
    looks: float,
    deadline: float,
) -> NDArray[np.int32]: ...
