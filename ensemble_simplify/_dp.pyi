from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

# Depths are unsigned, numbers of splits signed.
Values = NDArray[np.uint8] | NDArray[np.uint16] | NDArray[np.int16] | NDArray[np.int32]

class Layer: ...

class Programme:
    shape: tuple[int, ...]
    n_states: int
    cost: float
    def __init__(
        self,
        labels: NDArray[np.uint8] | NDArray[np.uint16],
        masks: NDArray[np.uint64],
        word: NDArray[np.intp],
        shift: NDArray[np.intp],
        outer: Sequence[int],
        inner: Sequence[int],
        n_row: int,
    ) -> None: ...
    def solve(self, table: Values, seconds: float) -> Layer: ...
    def first_layer(self, table: Values, seconds: float) -> Layer: ...
    def pending(self, below: Layer, reach: int) -> tuple[bytearray, int]: ...
    def next_layer(
        self,
        below: Layer,
        dirty: bytearray,
        reach: int,
        table: Values,
        in_place: bool,
        seconds: float,
    ) -> Layer: ...
    def largest_block(self) -> int: ...
    def value(self, layer: Layer, lo: Sequence[int], hi: Sequence[int]) -> int: ...
    def solved(self, layer: Layer) -> bool: ...
    def split(
        self, layer: Layer, lo: Sequence[int], hi: Sequence[int]
    ) -> tuple[int, int, int] | None: ...
    def tree(
        self, layers: list[Layer], depth: int
    ) -> tuple[list[int], list[int], list[int], list[int], list[int]]: ...
