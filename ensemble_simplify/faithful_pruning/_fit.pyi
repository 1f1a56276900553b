import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

def fit(
    leads: Floats, short: Floats, weights: Floats, max_sweeps: int, precision: float
) -> None: ...
