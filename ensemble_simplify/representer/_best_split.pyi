from numpy import ndarray

def best_split(
    X: ndarray, answers: ndarray, categorical: ndarray, values: ndarray
) -> tuple[int, int, float, float]: ...
