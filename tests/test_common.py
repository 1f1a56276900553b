"""scikit-learn's own checks on every public estimator."""

from __future__ import annotations

import inspect
import os
import re
import subprocess
import sys
import warnings

import numpy as np
import pytest
from estimators import ESTIMATORS, FOREST, SIMPLIFIERS
from sklearn.base import BaseEstimator, clone, is_regressor
from sklearn.datasets import load_iris, make_classification
from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor, VotingClassifier
from sklearn.exceptions import ConvergenceWarning
from sklearn.frozen import FrozenEstimator
from sklearn.model_selection import GridSearchCV, cross_validate
from sklearn.utils.estimator_checks import (
    check_dataframe_column_names_consistency,
    check_param_validation,
    parametrize_with_checks,
)

import ensemble_simplify

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
        "BornAgainRegressor",
        "BudgetForestClassifier",
        "FaithfulPruner",
        "FeatureBudgetPruner",
        "InterpretableSingleModel",
        "RepresenterTree",
        "ScorecardClassifier",
        "ScorecardRegressor",
        "SelectiveTreeClassifier",
        "SelectiveTreeRegressor",
    )
} | {
    "GenesimClassifier": {
        "check_sample_weight_equivalence_on_dense_data": (
            "bootstrap samples and held-out rows are drawn, and a repeated row may fall on both "
            "sides where a row of weight two cannot"
        )
    }
}


def _expected_failures(estimator):
    return EXPECTED_FAILURES.get(type(estimator).__name__, {})


def _name(estimator):
    return type(estimator).__name__


def _ensemble_for(estimator):
    """An unfitted ensemble of the kind that an estimator takes."""
    if type(estimator).__name__ in (
        "BornAgainRegressor",
        "ScorecardRegressor",
        "SelectiveTreeRegressor",
    ):
        return RandomForestRegressor(5, max_depth=2, random_state=0)
    return clone(FOREST)


pytestmark = pytest.mark.usefixtures("few_votes")
each_estimator = pytest.mark.parametrize("estimator", ESTIMATORS.values(), ids=ESTIMATORS)
each_simplifier = pytest.mark.parametrize("estimator", SIMPLIFIERS, ids=_name)


NEAR = ensemble_simplify.BornAgainClassifier(
    RandomForestClassifier(2, max_depth=2, random_state=0), max_changes=1, random_state=0
)
VALUES = ensemble_simplify.FaithfulPruner(
    RandomForestRegressor(5, max_depth=2, random_state=0),
    max_changes=1,
    atol="30%",
    random_state=0,
)


@parametrize_with_checks(
    [*ESTIMATORS.values(), NEAR, VALUES], expected_failed_checks=_expected_failures
)
def test_scikit_learn_conventions(estimator, check):
    check(estimator)


@each_estimator
def test_parameters_are_validated(estimator):
    check_param_validation(_name(estimator), estimator)


@each_estimator
def test_column_names_are_kept_and_compared(estimator):
    check_dataframe_column_names_consistency(_name(estimator), estimator)


@each_estimator
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


@each_estimator
def test_negative_weights_are_refused(estimator):
    X, y = load_iris(return_X_y=True)
    with pytest.raises(ValueError, match=r"[Nn]egative"):
        clone(estimator).fit(X, y, sample_weight=-np.ones(len(X)))


@each_estimator
def test_picture_does_not_link_to_pages_of_scikit_learn(estimator):
    assert f"{_name(estimator)}.html" not in estimator._repr_html_()


@pytest.mark.parametrize(
    ("name", "ensemble"),
    [
        ("FeatureBudgetPruner", FOREST),
        ("InterpretableSingleModel", FOREST),
        ("RepresenterTree", FOREST),
        ("ScorecardClassifier", FOREST),
        # no probabilities, so nothing is asked of it that would compare the names
        ("BornAgainClassifier", VotingClassifier([("forest", FOREST)])),
    ],
)
def test_frozen_ensemble_wants_its_columns_in_their_order(name, ensemble):
    X, y = load_iris(return_X_y=True, as_frame=True)
    frozen = FrozenEstimator(clone(ensemble).fit(X, y))
    with pytest.raises(ValueError, match="where X has the column 'petal width"):
        getattr(ensemble_simplify, name)(frozen).fit(X[X.columns[::-1]], y)


@each_estimator
def test_rows_may_be_lists(estimator):
    X, y = load_iris(return_X_y=True)
    lists = X.tolist(), y.tolist()
    estimator = clone(estimator)
    if "estimator" in estimator.get_params(deep=False):
        estimator.set_params(estimator=FrozenEstimator(_ensemble_for(estimator).fit(*lists)))
    if "random_state" in estimator.get_params(deep=False):
        estimator.set_params(random_state=0)
    one, two = clone(estimator).fit(*lists), clone(estimator).fit(X, y)
    np.testing.assert_array_equal(one.predict(lists[0]), two.predict(X))


@pytest.mark.parametrize(
    "estimator",
    [
        ensemble_simplify.BornAgainClassifier(FOREST, max_memory=1),
        ensemble_simplify.CultivatedForestClassifier(time_limit=1e-9),
        ensemble_simplify.FaithfulPruner(FOREST, max_changes=1, time_limit=1e-9),
        ensemble_simplify.FeatureBudgetPruner(FOREST, lam=0.003, solver="highs", time_limit=1e-9),
        ensemble_simplify.GenesimClassifier(n_bootstraps=2, time_limit=1e-9),
        ensemble_simplify.RepresenterTree(FOREST, time_limit=1e-9),
        ensemble_simplify.ScorecardClassifier(FOREST, time_limit=1e-9),
    ],
    ids=_name,
)
def test_warning_names_the_line_that_called_fit(estimator):
    X, y = make_classification(2000, random_state=0)
    with pytest.warns(ConvergenceWarning) as caught:
        estimator.fit(X, y)
    assert {warning.filename for warning in caught} == {__file__}


@each_estimator
def test_a_tree_tells_its_size(estimator):
    X, y = load_iris(return_X_y=True)
    fitted = clone(estimator).fit(X, y)
    tree = getattr(fitted, "decision_tree_", None)
    if tree is None:
        if not hasattr(fitted, "n_leaves_"):
            pytest.skip("no single tree")
        assert 1 < fitted.get_n_leaves() == fitted.n_leaves_
        assert 0 < fitted.get_depth() < fitted.n_leaves_
        return
    assert fitted.get_depth() == tree.get_depth() > 0
    assert fitted.get_n_leaves() == tree.get_n_leaves() > 1


# Ensembles given as `estimator`


def _refits(caught):
    return [warning for warning in caught if "FrozenEstimator" in str(warning.message)]


@each_simplifier
def test_a_fitted_ensemble_is_refitted_with_a_warning_that_names_the_line(estimator):
    X, y = load_iris(return_X_y=True)
    fitted = _ensemble_for(estimator).fit(X[:100], y[:100])
    before = fitted.predict(X)
    estimator = clone(estimator).set_params(estimator=fitted)
    with pytest.warns(UserWarning, match="FrozenEstimator") as caught:
        estimator.fit(X, y)
    assert [warning.filename for warning in _refits(caught)] == [__file__]
    if not is_regressor(estimator):
        assert set(estimator.predict(X)) == set(y)
    np.testing.assert_array_equal(fitted.predict(X), before)


@each_simplifier
def test_clones_and_frozen_ensembles_are_fitted_in_silence(estimator):
    X, y = load_iris(return_X_y=True)
    frozen = FrozenEstimator(_ensemble_for(estimator).fit(X, y))
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        clone(estimator).fit(X, y)
        clone(estimator).set_params(estimator=frozen).fit(X, y)
        # these clone what they are given, and with it the fitted ensemble
        fitted = clone(estimator).set_params(estimator=_ensemble_for(estimator).fit(X, y))
        cross_validate(fitted, X, y, cv=2, error_score="raise")
        GridSearchCV(fitted, {"estimator__max_depth": [2]}, cv=2).fit(X, y)
    assert not _refits(caught)


# Frames


@pytest.mark.parametrize("library", ["pandas", "polars"])
@each_estimator
def test_frames_give_their_names_and_the_answers_of_arrays(estimator, library):
    frames = pytest.importorskip(library)
    X, y = load_iris(return_X_y=True)
    names = ["sepal length", "sepal width", "petal length", "petal width"]
    frame = frames.DataFrame(dict(zip(names, X.T, strict=True)))
    with warnings.catch_warnings():
        # names that an ensemble has not seen, or has and does not see, are a UserWarning
        warnings.simplefilter("error", UserWarning)
        named = clone(estimator).fit(frame, y)
        assert list(named.feature_names_in_) == names
        plain = clone(estimator).fit(X, y)
        np.testing.assert_array_equal(named.predict(frame), plain.predict(X))
    if hasattr(named, "decision_tree_"):
        assert list(named.decision_tree_.feature_names_in_) == names


ARRAY_API_CHECK = """
from sklearn.utils.estimator_checks import check_array_api_input
from estimators import ESTIMATORS
for estimator in ESTIMATORS.values():
    check_array_api_input(type(estimator).__name__, estimator, array_namespace="numpy")
"""


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
