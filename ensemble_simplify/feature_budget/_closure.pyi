import numpy as np
from numpy.typing import NDArray

def solve_path(
    parent: NDArray[np.int32],
    gain: NDArray[np.int64],
    own: NDArray[np.int64],
    start: NDArray[np.int64],
    items: NDArray[np.int32],
    price: NDArray[np.int64],
    active: NDArray[np.uint8],
    edge_of_node: NDArray[np.int32],
    edges: NDArray[np.int64],
    cuts: NDArray[np.int64],
    seconds: float = ...,
    room: float = ...,
    paid: NDArray[np.float64] | None = ...,
    paid_per_price: float = ...,
) -> tuple[int, int]: ...
