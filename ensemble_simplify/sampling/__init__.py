"""Synthetic rows, and a predictor's answers to them.

`predictor` asks the predictor. `samplers` picks the law of synthetic rows: `law`, with its kernel
`_smear`, `leaves`, or `copula`, with `_copula_draws`; they manufacture rows inside any region.
`coordinates` says which columns are categorical or move together. `labelled` is one sample of
training and synthetic rows with the predictor's answers and weights. `folds` chooses the law by
what is learned without a fold of the rows, `fidelity` says how well answers agree. `learner` is
what estimators share that learn from a predictor: rows, tables, rows set aside, answers, the law.
"""

from ensemble_simplify.sampling.coordinates import Coordinates
from ensemble_simplify.sampling.copula import CopulaLaw
from ensemble_simplify.sampling.fidelity import (
    RowsAside,
    agreement,
    agreement_by_class,
    warn_of_lost_classes,
)
from ensemble_simplify.sampling.folds import (
    LAWS,
    clearly_best,
    draw_folds,
    unseen_agreement,
    unseen_answers,
)
from ensemble_simplify.sampling.labelled import LEAST_SHARE, Sample, some_rows
from ensemble_simplify.sampling.law import ColumnSplit, Law, Region
from ensemble_simplify.sampling.learner import LearnsFromPredictor, Material, share_of_time, taken
from ensemble_simplify.sampling.predictor import Predictor, one_hot
from ensemble_simplify.sampling.samplers import make_law
