"""scikit-learn's own checks on every public estimator."""

from __future__ import annotations

import inspect
import os
import re
import subprocess
import sys

import numpy as np
import pytest
from sklearn.base import BaseEstimator, clone
from sklearn.datasets import load_iris, make_classification
from sklearn.ensemble import RandomForestClassifier, VotingClassifier
from sklearn.exceptions import ConvergenceWarning
from sklearn.frozen import FrozenEstimator
from sklearn.utils.estimator_checks import (
    check_dataframe_column_names_consistency,
    check_param_validation,
    parametrize_with_checks,
)

import ensemble_simplify

SMALL_FOREST = RandomForestClassifier(n_estimators=5, max_depth=2, random_state=0)

# Constructor parameters that keep the checks cheap; defaults for estimators not named here.
INIT_PARAMS = {
    "BornAgainClassifier": {"estimator": SMALL_FOREST},
    "BudgetForestClassifier": {"n_estimators": 5},
    "CultivatedForestClassifier": {"max_depth": 5},
    "FeatureBudgetPruner": {"estimator": SMALL_FOREST},
    "GenesimClassifier": {
        "n_bootstraps": 3,
        "population_size": 6,
        "tournament_size": 3,
        "n_iter": 2,
        "n_crossovers": 2,
    },
    "InterpretableSingleModel": {"estimator": SMALL_FOREST},
    "RepresenterTree": {"estimator": SMALL_FOREST},
}

# Attributes of scikit-learn's bagging, which its own reference describes.
INHERITED = {
    "estimator_",
    "estimators_features_",
}

BOOTSTRAP_WEIGHTS = (
    "a forest that draws bootstrap samples answers differently to a repeated row and to a row of "
    "weight two; scikit-learn expects the same failure of RandomForestClassifier"
)

# estimator -> check -> why it cannot pass.
EXPECTED_FAILURES = {
    name: {"check_sample_weight_equivalence_on_dense_data": BOOTSTRAP_WEIGHTS}
    for name in (
        "BornAgainClassifier",
        "BudgetForestClassifier",
        "FeatureBudgetPruner",
        "InterpretableSingleModel",
        "RepresenterTree",
    )
} | {
    "GenesimClassifier": {
        "check_sample_weight_equivalence_on_dense_data": (
            "bootstrap samples and held-out rows are drawn, and a repeated row may fall on both "
            "sides where a row of weight two cannot"
        )
    }
}


def _tested_estimators():
    """One cheap instance of every public estimator."""
    public = (
        getattr(ensemble_simplify, name) for name in getattr(ensemble_simplify, "__all__", ())
    )
    return [
        estimator(**INIT_PARAMS.get(estimator.__name__, {}))
        for estimator in public
        if isinstance(estimator, type) and issubclass(estimator, BaseEstimator)
    ]


def _expected_failures(estimator):
    return EXPECTED_FAILURES.get(type(estimator).__name__, {})


def _name(estimator):
    return type(estimator).__name__


@parametrize_with_checks(_tested_estimators(), expected_failed_checks=_expected_failures)
def test_scikit_learn_conventions(estimator, check):
    check(estimator)


@pytest.mark.parametrize("estimator", _tested_estimators(), ids=_name)
def test_parameters_are_validated(estimator):
    check_param_validation(_name(estimator), estimator)


@pytest.mark.parametrize("estimator", _tested_estimators(), ids=_name)
def test_column_names_are_kept_and_compared(estimator):
    check_dataframe_column_names_consistency(_name(estimator), estimator)


@pytest.mark.parametrize("estimator", _tested_estimators(), ids=_name)
def test_documented_attributes_are_those_that_fit_sets(estimator):
    X, y = load_iris(return_X_y=True, as_frame=True)
    fitted = clone(estimator).fit(X, y)
    section = inspect.getdoc(type(estimator)).split("Attributes\n----------\n")[1]
    section = re.split(r"\n\n\S[^\n]*\n-{3,}\n", section)[0]
    entries = re.findall(r"^(\S[^:\n]*?)(?: :|$)", section, re.MULTILINE)
    documented = {name for entry in entries for name in entry.split(", ")}
    own = {name for name in vars(fitted) if name.endswith("_") and not name.startswith("_")}
    inherited = set() if type(estimator).__bases__[-1] is BaseEstimator else INHERITED
    assert own - inherited <= documented
    assert all(hasattr(fitted, name) for name in documented)


@pytest.mark.parametrize("estimator", _tested_estimators(), ids=_name)
def test_negative_weights_are_refused(estimator):
    X, y = load_iris(return_X_y=True)
    with pytest.raises(ValueError, match=r"[Nn]egative"):
        clone(estimator).fit(X, y, sample_weight=-np.ones(len(X)))


@pytest.mark.parametrize("estimator", _tested_estimators(), ids=_name)
def test_picture_does_not_link_to_pages_of_scikit_learn(estimator):
    assert f"{_name(estimator)}.html" not in estimator._repr_html_()


@pytest.mark.parametrize(
    ("name", "ensemble"),
    [
        ("FeatureBudgetPruner", SMALL_FOREST),
        ("InterpretableSingleModel", SMALL_FOREST),
        ("RepresenterTree", SMALL_FOREST),
        # no probabilities, so nothing is asked of it that would compare the names
        ("BornAgainClassifier", VotingClassifier([("forest", SMALL_FOREST)])),
    ],
)
def test_frozen_ensemble_wants_its_columns_in_their_order(name, ensemble):
    X, y = load_iris(return_X_y=True, as_frame=True)
    frozen = FrozenEstimator(clone(ensemble).fit(X, y))
    with pytest.raises(ValueError, match="where X has the column 'petal width"):
        getattr(ensemble_simplify, name)(frozen).fit(X[X.columns[::-1]], y)


@pytest.mark.parametrize("estimator", _tested_estimators(), ids=_name)
def test_rows_may_be_lists(estimator):
    X, y = load_iris(return_X_y=True)
    lists = X.tolist(), y.tolist()
    estimator = clone(estimator)
    if "estimator" in estimator.get_params(deep=False):
        estimator.set_params(estimator=FrozenEstimator(clone(SMALL_FOREST).fit(*lists)))
    if "random_state" in estimator.get_params(deep=False):
        estimator.set_params(random_state=0)
    one, two = clone(estimator).fit(*lists), clone(estimator).fit(X, y)
    np.testing.assert_array_equal(one.predict(lists[0]), two.predict(X))


@pytest.mark.parametrize(
    "estimator",
    [
        ensemble_simplify.BornAgainClassifier(SMALL_FOREST, max_memory=1),
        ensemble_simplify.CultivatedForestClassifier(time_limit=1e-9),
        ensemble_simplify.RepresenterTree(SMALL_FOREST, time_limit=1e-9),
    ],
    ids=_name,
)
def test_warning_names_the_line_that_called_fit(estimator):
    X, y = make_classification(20_000, random_state=0)
    with pytest.warns(ConvergenceWarning) as caught:
        estimator.fit(X, y)
    assert {warning.filename for warning in caught} == {__file__}


ARRAY_API_CHECK = """
from sklearn.utils.estimator_checks import check_array_api_input
from test_common import _tested_estimators
for estimator in _tested_estimators():
    check_array_api_input(type(estimator).__name__, estimator, array_namespace="numpy")
"""


@pytest.mark.skipif(not _tested_estimators(), reason="no public estimator")
def test_array_api_dispatch_switched_on():
    """SciPy reads SCIPY_ARRAY_API once, when it is imported; hence a fresh interpreter."""
    path = os.pathsep.join([os.path.dirname(__file__), *filter(None, sys.path)])
    run = subprocess.run(
        [sys.executable, "-c", ARRAY_API_CHECK],
        env={**os.environ, "SCIPY_ARRAY_API": "1", "PYTHONPATH": path},
        capture_output=True,
        text=True,
        check=False,
    )
    if "SkipTest" in run.stderr:
        pytest.skip(run.stderr.strip().splitlines()[-1])
    assert run.returncode == 0, run.stderr
