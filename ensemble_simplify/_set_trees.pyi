import numpy as np
from numpy.typing import NDArray

Ints = NDArray[np.intp]
Floats = NDArray[np.float64]
Bytes = NDArray[np.uint8]

def write_out(
    left: Ints,
    right: Ints,
    feature: Ints,
    threshold: Floats,
    missing_left: Bytes,
    offsets: Ints,
    borders: NDArray[np.int64],
    first_left: Bytes,
    has_set: Bytes,
    n_features: int,
    may_miss: bool,
    max_nodes: int,
) -> tuple[Ints, Ints, Floats, Bytes] | tuple[None, None, None, None]: ...
