import numpy as np
from numpy.typing import NDArray

Nodes = NDArray[np.int32]
Cells = NDArray[np.int32]
Ints = NDArray[np.intp]

def with_sizes(nodes: Nodes) -> Nodes: ...
def encode_trees(
    offsets: Ints, left: Ints, right: Ints, axis: Ints, cut: NDArray[np.int32], n_cuts: Cells
) -> tuple[Nodes, Ints]: ...
def encode_trees_with_missing(
    offsets: Ints,
    left: Ints,
    right: Ints,
    axis: Ints,
    cut: NDArray[np.int32],
    n_cuts: Cells,
    missing_left: NDArray[np.uint8],
    missing_cell: Cells,
    max_nodes: int,
) -> tuple[Nodes | None, Ints]: ...
def depths(nodes: Nodes) -> NDArray[np.int32]: ...
def leaves_of_cells(nodes: Nodes, offsets: Ints, cells: Cells, leaves: Ints) -> None: ...
def leaf_boxes(nodes: Nodes, lo: Cells, hi: Cells) -> tuple[Ints, Cells, Cells]: ...
def restrict(
    nodes: Nodes, offsets: Ints, lo: Cells, hi: Cells, also_axis: Ints, also_cut: Ints
) -> tuple[Nodes, Ints, Ints, list[Ints]]: ...
def overlay(
    trees: list[Nodes], lo: Cells, hi: Cells, *, max_leaves: int, seconds: float = ...
) -> tuple[Nodes | None, Ints | None]: ...
