"""Synthetic rows, a predictor's answers to them, and trees that are grown on these.

`predictor` asks the predictor, and says how well answers agree with it. Laws of synthetic rows
manufacture rows inside any region: `law`, with its kernel `_smear`, `leaves`, and `copula`, with
`_copula_draws`. `labelled` is one sample of training and synthetic rows with the predictor's
answers and weights. `folds` chooses the law by what is learned without a fold of the rows.
`learner` is what estimators share that learn from a predictor: rows, tables, rows set aside,
answers, the law. `alternation`, with its kernel `_alternating`, grows trees on a sample and
optimises small ones split by split; `grown_tree` holds them, and prunes them exactly.
"""

from ensemble_simplify.sampling.alternation import OVERGROWN, Alternation
from ensemble_simplify.sampling.copula import CopulaLaw
from ensemble_simplify.sampling.folds import (
    LAWS,
    UnseenAnswers,
    clearly_best,
    draw_folds,
    unseen_agreement,
)
from ensemble_simplify.sampling.grown_tree import ExactPruning, ExactPrunings, GrownTree
from ensemble_simplify.sampling.labelled import LEAST_SHARE, Sample, some_rows
from ensemble_simplify.sampling.law import ColumnSplit, Coordinates, Law, Region
from ensemble_simplify.sampling.learner import (
    LearnsFromPredictor,
    Material,
    make_law,
    share_of_time,
    taken,
)
from ensemble_simplify.sampling.predictor import (
    Predictor,
    RowsAside,
    agreement,
    agreement_by_class,
    one_hot,
    warn_of_lost_classes,
)
