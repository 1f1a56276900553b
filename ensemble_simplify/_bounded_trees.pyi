from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

class BoundedTrees:
    n_axes: int
    n_trees: int
    n_boxes: int
    def __init__(
        self,
        shape: Sequence[int],
        nodes: NDArray[np.int32],
        offsets: NDArray[np.intp],
    ) -> None: ...
