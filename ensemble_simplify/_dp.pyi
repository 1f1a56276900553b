from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from ensemble_simplify._dp_layout import Layout

# Depths are unsigned, numbers of splits signed.
Values = NDArray[np.uint8] | NDArray[np.uint16] | NDArray[np.int16] | NDArray[np.int32]

class RegionValues:
    def value(self, lo: Sequence[int], hi: Sequence[int]) -> int: ...
    def solved(self) -> bool: ...
    def split(self, lo: Sequence[int], hi: Sequence[int]) -> tuple[int, int, int] | None: ...

class Solver:
    layout: Layout
    def __init__(self, layout: Layout) -> None: ...
    def solve(self, table: Values, seconds: float) -> RegionValues: ...
    def first_layer(self, table: Values, seconds: float) -> RegionValues: ...
    def blocks_to_update(
        self, below: RegionValues, max_splits_above: int
    ) -> tuple[bytearray, int]: ...
    def next_layer(
        self,
        below: RegionValues,
        update: bytearray,
        max_splits_above: int,
        table: Values,
        in_place: bool,
        seconds: float,
    ) -> RegionValues: ...

def smallest_tree(layers: list[RegionValues], depth: int) -> NDArray[np.int32]: ...
