"""What stands for an estimator, and whether it answers as the libraries wrote it.

An estimator of this package stands for what it wraps. Whatever overrides a method may answer
otherwise than its trees, so that it has to be asked.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np
from sklearn.pipeline import Pipeline

from ensemble_simplify.reading.cut_offs import insides
from ensemble_simplify.reading.node_fields import is_untested
from ensemble_simplify.reading.pipelines import owner_of, unwrap

PACKAGE = __name__.partition(".")[0]
_LIBRARIES = ("sklearn", "xgboost", "lightgbm", "catboost", "interpret", PACKAGE)
# What readers know the arithmetic of.
_ANSWERING = frozenset(("predict", "predict_proba", "decision_function", "transform"))
# What this package's estimators wrap: their ``predict`` is the predict of one of these.
_WRAPPED = ("decision_tree_", "pruned_estimator_")


def readable(estimator):
    """What is read in place of an estimator.

    ``FrozenEstimator`` is taken off; an estimator of this package stands for the fitted tree or
    ensemble that it wraps and whose ``predict`` is its own. Everything else stands for itself.
    """
    estimator = unwrap(estimator)
    while is_ours(estimator):
        inner = [name for name in _WRAPPED if hasattr(estimator, name)]
        if not inner:
            break
        estimator = unwrap(getattr(estimator, inner[0]))
    return estimator


def is_ours(estimator):
    """Whether an estimator has its ``predict`` from this package."""
    return _predicts_as_we_do(type(estimator)) and "predict" not in vars(estimator)


@lru_cache
def _predicts_as_we_do(kind):
    """Whether a class has its ``predict`` from this package."""
    if not hasattr(kind, "predict"):
        return False
    return owner_of(kind, "predict").__module__.partition(".")[0] == PACKAGE


def has_own_methods(estimator):
    """Whether a model and its members predict with the methods of the libraries they come from.

    None of them was overridden, or replaced by hand in an object or in its class.
    """
    kinds, todo = set(), [estimator]
    while todo:
        one = unwrap(todo.pop())
        if not _ANSWERING.isdisjoint(getattr(one, "__dict__", ())):
            return False
        kinds.add(type(one))
        wrapped = _WRAPPED if is_ours(one) else ()
        inner = [getattr(one, name) for name in wrapped if hasattr(one, name)]
        if isinstance(one, Pipeline):
            inner = [step for _, step in one.steps]
        todo += inner or _parts(one) + insides(one)
    return all(_is_own(kind, method) for kind in kinds for method in _ANSWERING)


def _is_own(kind, method):
    """Whether a class, if it has a method, has it as its library wrote it."""
    if not hasattr(kind, method):
        return True
    owner = owner_of(kind, method)
    if owner.__module__.partition(".")[0] not in _LIBRARIES:
        return False
    return getattr(vars(owner)[method], "__module__", None) == owner.__module__


def is_known_by_its_trees(estimator):
    """Whether no setting but those that are read can change what a model answers.

    So it is with scikit-learn's ensembles, behind transformers, too: readers read what they do.
    Of versions that came later, that is not known, but of trees that this package wrote.
    """
    if is_untested() and not is_ours(unwrap(estimator)):
        return False
    while isinstance(last := readable(estimator), Pipeline):
        estimator = last.steps[-1][1]
    if type(last).__module__.partition(".")[0] != "sklearn":
        return False
    parts = {type(part): part for part in _parts(last)}
    return all(map(is_known_by_its_trees, [*parts.values(), *insides(last)]))


def _parts(estimator):
    """The members of an ensemble, those in stages one after the other."""
    parts = []
    for part in getattr(estimator, "estimators_", ()):
        parts += part.tolist() if isinstance(part, np.ndarray) else [part]
    return parts


def own_table(estimator):
    """The table that an estimator of this package was fitted on; None for another one."""
    if inner := insides(estimator):
        return own_table(unwrap(inner[0]))
    return vars(estimator).get("_table") if is_ours(estimator) else None
