from numpy import ndarray

SMEAR: int
NEIGHBORS: int
DECAYING: int

class Smearer:
    n_rows: int
    n_columns: int
    n_coordinates: int
    total_weight: float
    smearing: float
    def __init__(
        self,
        X: ndarray,
        weight: ndarray,
        smearing: float,
        *,
        columns_start: ndarray,
        columns: ndarray,
        law: ndarray,
        nominal: ndarray,
        level: ndarray,
        level_start: ndarray,
        level_value: ndarray,
        first: ndarray,
        allowed_start: ndarray,
        row: ndarray,
        mass: ndarray,
        window: ndarray,
        weighted_places: ndarray,
    ) -> None: ...
    def narrow(
        self,
        q: ndarray,
        coordinate: int,
        limits: ndarray,
        allowed: ndarray,
        new_limits: ndarray,
        new_allowed: ndarray,
        out: ndarray,
    ) -> None: ...
    def draw(
        self, q: ndarray, limits: ndarray, allowed: ndarray, seed: int, out: ndarray
    ) -> None: ...

def windows(values: ndarray, width: int, out: ndarray) -> None: ...
