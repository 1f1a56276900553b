from ensemble_simplify.genesim._merger import Merger
from ensemble_simplify.genesim._pruner import Pruner
from ensemble_simplify.genesim._rows import Rows

class Breeder:
    def __init__(self, rows: Rows, merger: Merger, pruner: Pruner) -> None: ...
