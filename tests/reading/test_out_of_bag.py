"""Out-of-bag answers are scikit-learn's own, and are given for nothing but the training rows."""

import warnings

import numpy as np
import pandas as pd
import pytest
from sklearn.compose import make_column_transformer
from sklearn.datasets import load_breast_cancer, load_diabetes, load_wine
from sklearn.decomposition import PCA
from sklearn.ensemble import (
    BaggingClassifier,
    BaggingRegressor,
    ExtraTreesClassifier,
    ExtraTreesRegressor,
    GradientBoostingClassifier,
    RandomForestClassifier,
    RandomForestRegressor,
)
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.tree import DecisionTreeClassifier

from ensemble_simplify.reading import out_of_bag

OWN = {"n_estimators": 20, "oob_score": True, "random_state": 0}
CLASSIFIERS = {
    "forest": RandomForestClassifier(**OWN),
    "shallow forest": RandomForestClassifier(max_depth=2, **OWN),
    "balanced": RandomForestClassifier(class_weight="balanced_subsample", **OWN),
    "few rows a tree": RandomForestClassifier(max_samples=0.1, **OWN),
    "extra trees": ExtraTreesClassifier(bootstrap=True, **OWN),
    "bagging": BaggingClassifier(**OWN),
    "bagging of some columns": BaggingClassifier(
        DecisionTreeClassifier(max_depth=4), max_features=0.5, bootstrap_features=True, **OWN
    ),
    "one tree": RandomForestClassifier(n_estimators=1, oob_score=True, random_state=0),
}
REGRESSORS = {
    "forest": RandomForestRegressor(**OWN),
    "absolute error": RandomForestRegressor(criterion="absolute_error", max_depth=4, **OWN),
    "extra trees": ExtraTreesRegressor(bootstrap=True, **OWN),
    "bagging": BaggingRegressor(max_samples=0.5, **OWN),
}


@pytest.fixture(autouse=True)
def no_warnings_of_few_trees():
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Some inputs do not have OOB scores")
        warnings.filterwarnings("ignore", category=RuntimeWarning, message="invalid value")
        yield


@pytest.fixture(scope="module")
def wine():
    return load_wine(return_X_y=True)


@pytest.fixture(scope="module")
def diabetes():
    return load_diabetes(return_X_y=True)


def has_vote(model, n_rows):
    return np.any([~np.isin(np.arange(n_rows), own) for own in model.estimators_samples_], axis=0)


def assert_same_labels(model, X, last=None):
    """Classes are numbers from 0."""
    answers, voted = out_of_bag(model, X)
    own = (last or model).oob_decision_function_.argmax(axis=1)
    np.testing.assert_array_equal(answers[voted], own[voted])
    assert voted.mean() > 0.9


@pytest.mark.parametrize("kind", CLASSIFIERS)
def test_labels_are_those_of_scikit_learn(kind, wine):
    X, y = wine
    names = np.array(["red", "green", "blue"])[y]
    model = CLASSIFIERS[kind].fit(X, names)
    answers, voted = out_of_bag(model, X)
    np.testing.assert_array_equal(voted, has_vote(model, len(X)))
    own = model.classes_[model.oob_decision_function_[voted].argmax(axis=1)]
    np.testing.assert_array_equal(answers[voted], own)
    np.testing.assert_array_equal(answers[~voted], model.predict(X)[~voted])
    assert voted.any()
    assert kind != "one tree" or not voted.all()


@pytest.mark.parametrize("kind", REGRESSORS)
def test_values_are_those_of_scikit_learn(kind, diabetes):
    X, y = diabetes
    model = REGRESSORS[kind].fit(X, y)
    answers, voted = out_of_bag(model, X)
    np.testing.assert_array_equal(voted, has_vote(model, len(X)))
    np.testing.assert_allclose(answers[voted], model.oob_prediction_[voted], rtol=1e-12)
    np.testing.assert_allclose(answers[~voted], model.predict(X)[~voted], rtol=1e-12)


@pytest.mark.parametrize("weight", [None, "drawn"])
def test_weights_of_rows_change_no_count(weight, wine):
    X, y = wine
    rng = np.random.default_rng(0)
    weight = None if weight is None else rng.uniform(0.1, 3, len(y))
    for model in (CLASSIFIERS["forest"], CLASSIFIERS["balanced"]):
        model.fit(X, y, sample_weight=weight)
        assert_same_labels(model, X)


def test_gaps_and_warm_starts(wine):
    X, y = wine
    X = np.where(np.random.default_rng(0).random(X.shape) < 0.1, np.nan, X)
    model = RandomForestClassifier(10, warm_start=True, random_state=0).fit(X, y)
    model.set_params(n_estimators=25, oob_score=True).fit(X, y)
    assert_same_labels(model, X)
    # trees of other rows among those of these
    model.set_params(n_estimators=30).fit(X[::-1], y[::-1])
    assert out_of_bag(model, X) is None
    assert out_of_bag(model, X[::-1]) is None


def test_pipelines_searches_and_frames():
    X, y = load_breast_cancer(return_X_y=True, as_frame=True)
    X = X.iloc[:, :6].copy()
    X["size"] = pd.cut(X["mean radius"], 4, labels=["a", "b", "c", "d"]).astype(object)
    last = RandomForestClassifier(25, oob_score=True, random_state=0)
    encoder = make_column_transformer(
        (OneHotEncoder(handle_unknown="ignore"), ["size"]), remainder=StandardScaler()
    )
    model = make_pipeline(encoder, last).fit(X, y)
    for form in (model, FrozenEstimator(model), make_pipeline("passthrough", model)):
        assert_same_labels(form, X, model[-1])
    search = GridSearchCV(model, {"randomforestclassifier__max_depth": [3]}, cv=2).fit(X, y)
    assert_same_labels(search, X, search.best_estimator_[-1])
    assert out_of_bag(search, X.iloc[::-1]) is None
    # columns are mixed: the pipeline cannot be read as thresholds, but its last step can be
    X = X.drop(columns="size")
    mixed = make_pipeline(PCA(3, random_state=0), last).fit(X, y)
    assert_same_labels(mixed, X, mixed[-1])


@pytest.mark.parametrize("kind", CLASSIFIERS)
def test_other_rows_have_no_out_of_bag_answers(kind, wine):
    X, y = wine
    model = CLASSIFIERS[kind].fit(X, y)
    rng = np.random.default_rng(1)
    assert out_of_bag(model, X[rng.permutation(len(X))]) is None
    assert out_of_bag(model, X[::-1]) is None
    assert out_of_bag(model, X[:-1]) is None
    assert out_of_bag(model, np.vstack([X, X[:1]])) is None
    assert out_of_bag(model, rng.permuted(X, axis=0)) is None
    assert out_of_bag(model, X[:, ::-1]) is None


def test_two_rows_that_changed_places_are_found(wine):
    X, y = wine
    model = RandomForestClassifier(50, random_state=0).fit(X, y)
    rng = np.random.default_rng(2)
    for _ in range(10):
        i, j = rng.choice(len(X), 2, replace=False)
        moved = X.copy()
        moved[[i, j]] = X[[j, i]]
        assert out_of_bag(model, moved) is None
        changed = X.copy()
        changed[i] = X.max(axis=0) - X[i]
        assert out_of_bag(model, changed) is None


def test_models_without_samples_of_rows(wine):
    X, y = wine
    others = [
        RandomForestClassifier(5, bootstrap=False),
        ExtraTreesClassifier(5),
        GradientBoostingClassifier(n_estimators=3),
        DecisionTreeClassifier(),
        LogisticRegression(max_iter=5),
        BaggingClassifier(RandomForestClassifier(3), n_estimators=3),
        BaggingClassifier(LogisticRegression(max_iter=5), n_estimators=3),
        make_pipeline(StandardScaler(), LogisticRegression()),
    ]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for model in others:
            assert out_of_bag(model.fit(X, y), X) is None
    two_outputs = RandomForestClassifier(5).fit(X, np.column_stack([y, y]))
    assert out_of_bag(two_outputs, X) is None
    assert out_of_bag(lambda rows: rows[:, 0], X) is None
    changed = RandomForestClassifier(5).fit(X, y)
    changed.predict = lambda rows: np.zeros(len(rows))
    assert out_of_bag(changed, X) is None


def test_later_trees_that_learned_other_rows_are_noticed():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 4))
    y = (X[:, 0] + rng.normal(size=200) > 0).astype(int)
    forest = RandomForestClassifier(20, warm_start=True, random_state=0).fit(X, y)
    assert out_of_bag(forest, X) is not None
    order = rng.permutation(200)
    forest.set_params(n_estimators=40).fit(X[order], y[order])
    assert out_of_bag(forest, X) is None
