import numpy as np
from numpy.typing import NDArray

from ensemble_simplify._regions import Ints, Nodes

Floats = NDArray[np.float64]

def weakest_links(nodes: Nodes, cost: Floats) -> tuple[Ints, Floats, Ints, Floats]: ...
def sums_on_path(nodes: Nodes, pruned_at: Ints, values: Floats) -> Floats: ...
