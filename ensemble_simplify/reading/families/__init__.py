"""Families of models: a file for each library or kind, and a class for each family.

A family (`reading/family.py`) says by the names of its classes which models are its own. It answers
with their trees and the vote over them, their table, which rows they were fitted on, and a copy
with some of the trees under other weights.

`forests` has single trees and forests of scikit-learn, `of_members` ensembles of any members,
`gradient_boosting` boosting by scikit-learn, with histograms, too. `xgboost` and `lightgbm` share
`boosters`; `catboost` stands alone. `additive` has models that are sums of step functions, and
`treelite` and `onnx` models in these formats. `pipeline` has what changes rows before a model, or
its answers after it. `held` are estimators that hold what is read of them, such as an ensemble that
was written and read back. `outputs` has one output of a model of several, `isolation` forests that
tell odd rows. `survival` has the risk scores of scikit-survival, `interpretable` models of imodels.

Whatever file stands here is imported, and its families are known. So a new family is one file, and
a model of it in `tests/readers.py`.
"""

from importlib import import_module
from pkgutil import iter_modules

for _file in iter_modules(__path__):
    import_module(f"{__name__}.{_file.name}")
