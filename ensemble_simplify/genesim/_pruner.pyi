from typing import Literal

from ensemble_simplify.genesim._rows import Rows

class Scorer:
    def __init__(
        self,
        rows: Rows,
        metric: Literal["accuracy", "balanced_accuracy", "neg_log_loss", "f1_macro"],
        training_weight: float = ...,
    ) -> None: ...

class Pruner:
    def __init__(
        self,
        scorer: Scorer,
        prune: Literal["ccp", "reduced_error", "none"],
        max_leaf_nodes: int,
        known_bytes: int,
        keep_paths: bool,
    ) -> None: ...
