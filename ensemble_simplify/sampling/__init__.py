"""Synthetic rows, and a predictor's answers to them.

`predictor` asks the predictor. `samplers` picks the law of synthetic rows: `law`, with its kernel
`_smear`, `leaves`, or `copula`, with `_copula_draws`; they manufacture rows inside any region.
`coordinates` says which columns are categorical or move together. `labelled` is one sample of
training and synthetic rows with the predictor's answers and weights.
"""

from ensemble_simplify.sampling.coordinates import Coordinates
from ensemble_simplify.sampling.copula import CopulaLaw
from ensemble_simplify.sampling.labelled import LEAST_SHARE, Sample, some_rows
from ensemble_simplify.sampling.law import ColumnSplit, Law, Region
from ensemble_simplify.sampling.predictor import Predictor, one_hot
from ensemble_simplify.sampling.samplers import make_law
