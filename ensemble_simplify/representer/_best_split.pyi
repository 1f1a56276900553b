from numpy import ndarray

def best_split(
    X: ndarray,
    answers: ndarray,
    categorical: ndarray,
    base_rows: ndarray,
    members: ndarray,
    at_least: int,
    values: ndarray,
    by_column: ndarray,
) -> tuple[int, int, float, float]: ...
