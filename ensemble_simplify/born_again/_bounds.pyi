import numpy as np
from numpy.typing import NDArray

def unfooled_pairs(
    cells: NDArray[np.uint16],
    first: NDArray[np.uint16],
    width: NDArray[np.uint16],
    offsets: NDArray[np.intp],
    max_pairs: int,
    max_work: float,
    deadline: float,
) -> tuple[NDArray[np.int32], int]: ...

class Packing:
    size: int
    def __init__(self, n: int, pairs: NDArray[np.int32]) -> None: ...
    def improve(
        self,
        order: NDArray[np.int32],
        seed: int,
        max_steps: int,
        max_work: float,
        deadline: float,
    ) -> NDArray[np.intp]: ...
