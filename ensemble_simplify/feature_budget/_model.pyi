import numpy as np
from numpy.typing import NDArray

ALWAYS: int
NEVER: int

def order_nodes(
    offsets: NDArray[np.intp],
    left: NDArray[np.intp],
    right: NDArray[np.intp],
    parent: NDArray[np.intp],
    order: NDArray[np.intp],
) -> None: ...
def group_rows(
    leaf: NDArray[np.intp],
    parent: NDArray[np.intp],
    order: NDArray[np.intp],
    offsets: NDArray[np.intp],
    rows: NDArray[np.int32],
    first: NDArray[np.int32],
    last: NDArray[np.int32],
) -> None: ...
def node_sums(
    leaf: NDArray[np.intp],
    values: NDArray[np.float64],
    counted: NDArray[np.uint8],
    parent: NDArray[np.intp],
    order: NDArray[np.intp],
    sums: NDArray[np.float64],
) -> None: ...
def needed_resources(
    parent: NDArray[np.intp],
    order: NDArray[np.intp],
    feature: NDArray[np.intp],
    resources: NDArray[np.int32],
    needs: NDArray[np.int32],
) -> None: ...
def contract(
    parent: NDArray[np.intp],
    order: NDArray[np.intp],
    needs: NDArray[np.int32],
    gain: NDArray[np.int64],
    split: NDArray[np.uint8],
    representative: NDArray[np.int32],
    contracted_parent: NDArray[np.int32],
    contracted_gain: NDArray[np.int64],
    active: NDArray[np.uint8],
) -> int: ...

class SharedItems:
    n_items: int
    n_arcs: int
    def __init__(
        self,
        rows: NDArray[np.int32],
        first: NDArray[np.int32],
        last: NDArray[np.int32],
        offsets: NDArray[np.intp],
        needs: NDArray[np.int32],
        representative: NDArray[np.int32],
        weight: NDArray[np.float64],
        cost: NDArray[np.float64],
        own: NDArray[np.float64],
    ) -> None: ...
    def read(
        self, start: NDArray[np.int64], items: NDArray[np.int32], price: NDArray[np.float64]
    ) -> None: ...

def extend_free(
    parent: NDArray[np.int32],
    gain: NDArray[np.int64],
    own: NDArray[np.int64],
    start: NDArray[np.int64],
    items: NDArray[np.int32],
    price: NDArray[np.int64],
    last: NDArray[np.int32],
    until: NDArray[np.int32],
) -> None: ...
def drop_idle(
    parent: NDArray[np.intp],
    order: NDArray[np.intp],
    gain: NDArray[np.int64],
    keep: NDArray[np.uint8],
) -> None: ...
def best_subtrees(
    parent: NDArray[np.int32], worth: NDArray[np.float64], keep: NDArray[np.uint8]
) -> float: ...
def usable_nodes(
    parent: NDArray[np.int32],
    gain: NDArray[np.int64],
    feature: NDArray[np.int32],
    allowed: NDArray[np.uint8],
    within: NDArray[np.uint8],
    chosen: NDArray[np.uint8],
    lost: NDArray[np.int64],
) -> None: ...
def gains_of_one_more(
    parent: NDArray[np.int32],
    gain: NDArray[np.int64],
    feature: NDArray[np.int32],
    allowed: NDArray[np.uint8],
    within: NDArray[np.uint8],
    won: NDArray[np.int64],
) -> None: ...
def paid_items(
    start: NDArray[np.int64],
    items: NDArray[np.int32],
    chosen: NDArray[np.uint8],
    paid: NDArray[np.uint8],
) -> None: ...
def stopping_nodes(
    parent: NDArray[np.intp],
    order: NDArray[np.intp],
    keep: NDArray[np.uint8],
    stop: NDArray[np.intp],
) -> None: ...
def acquired_features(
    leaf: NDArray[np.intp],
    parent: NDArray[np.intp],
    feature: NDArray[np.intp],
    keep: NDArray[np.uint8],
    acquired: NDArray[np.uint8],
) -> None: ...
