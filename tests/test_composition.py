"""The package's own fitted estimators stand wherever an ensemble is taken, by what they wrap."""

import copy

import joblib
import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer, load_iris, load_wine
from sklearn.ensemble import (
    AdaBoostClassifier,
    BaggingClassifier,
    RandomForestClassifier,
    RandomForestRegressor,
    VotingClassifier,
)
from sklearn.exceptions import NotFittedError
from sklearn.frozen import FrozenEstimator
from sklearn.model_selection import GridSearchCV, RandomizedSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier
from strategies import edge_points

from ensemble_simplify import (
    BornAgainClassifier,
    BudgetForestClassifier,
    C45Tree,
    CultivatedForestClassifier,
    FeatureBudgetPruner,
    GenesimClassifier,
    GuideTree,
    InterpretableSingleModel,
    QuestTree,
    RepresenterTree,
    agreement,
    estimate,
    merge_trees,
    nearest_flip,
    sufficient_box,
    verify,
)
from ensemble_simplify.reading.family import readable
from ensemble_simplify.reading.forest import read_forest, tree_estimators

pytestmark = [
    pytest.mark.usefixtures("few_votes"),
    # scikit-learn looks for NaN by adding up all entries: rows of the largest numbers overflow.
    pytest.mark.filterwarnings("ignore:invalid value encountered:RuntimeWarning"),
    pytest.mark.filterwarnings("ignore:budget=.* lies between two optimal prunings:UserWarning"),
]

LABELS = np.array(["ant", "bee", "cat"])
DATA = {"iris": load_iris, "wine": load_wine, "breast_cancer": load_breast_cancer}


def forest(n_trees=4, depth=3):
    return RandomForestClassifier(n_trees, max_depth=depth, random_state=0)


OWN = {
    "born_again": BornAgainClassifier(forest(3, 2), random_state=0),
    "budget_forest": BudgetForestClassifier(n_estimators=3, max_depth=3, random_state=0),
    "c45": C45Tree(),
    "genesim": GenesimClassifier(
        n_bootstraps=2, population_size=8, tournament_size=3, n_iter=2, random_state=0
    ),
    "guide": GuideTree(),
    "pruner": FeatureBudgetPruner(forest(), budget=3),
    "quest": QuestTree(),
    "representer": RepresenterTree(forest(), n_samples=300, random_state=0),
    "single_model": InterpretableSingleModel(forest(), max_depth=3, random_state=0),
}


def data(name):
    """Real rows with text labels."""
    X, y = DATA[name](return_X_y=True)
    return X, LABELS[y]


#: Fitted once for all tests, by kind and rows.
FITTED = {}


def fitted(kind, X, y):
    """A copy of its own for each test."""
    key = kind, joblib.hash((X, y))
    if key not in FITTED:
        FITTED[key] = clone(OWN[kind]).fit(X, y)
    return copy.deepcopy(FITTED[key])


def edge_rows(*models, n_rows=2000):
    """Rows of float32 numbers on the thresholds of models and one ulp beside them."""
    forests = [read_forest(model) for model in models]
    thresholds = np.concatenate([f.threshold[f.feature >= 0] for f in forests])
    rows = edge_points(thresholds, forests[0].n_features, n_rows)
    return rows.astype(np.float32).astype(np.float64)


def assert_same(model, other, X):
    for rows in (X, edge_rows(model, other)):
        np.testing.assert_array_equal(model.predict(rows), other.predict(rows))


each_set = pytest.mark.parametrize("name", DATA)


@each_set
@pytest.mark.parametrize("kind", OWN)
def test_reading(kind, name):
    X, y = data(name)
    model = fitted(kind, X, y)
    found = read_forest(model)
    for rows in (X, edge_rows(model)):
        answers = found.classes[found.predict_index(rows)]
        np.testing.assert_array_equal(answers, model.predict(rows))
    again = read_forest(FrozenEstimator(FrozenEstimator(model)))
    np.testing.assert_array_equal(again.value, found.value)
    np.testing.assert_array_equal(found.classes, model.classes_)
    assert len(tree_estimators(FrozenEstimator(model))) == found.n_trees


@each_set
@pytest.mark.parametrize("kind", OWN)
def test_verify(kind, name):
    X, y = data(name)
    model = fitted(kind, X, y)
    assert verify(model, readable(model)).equal
    source = getattr(model, "estimator_", None)
    if kind in ("born_again", "pruner"):
        outcome = verify(source, model, time_limit=20)
        if kind == "born_again":
            assert outcome.equal
        elif outcome.equal is False:
            row = outcome.counterexample[None]
            assert source.predict(row)[0] == outcome.predictions[0]
            assert model.predict(row)[0] == outcome.predictions[1]
            assert outcome.predictions[0] != outcome.predictions[1]


@each_set
def test_verify_a_forest_against_its_pruner(name):
    X, y = data(name)
    everything = FeatureBudgetPruner(forest(), lam=0).fit(X, y)
    tight = everything.at(budget=1)
    for pruner in (everything, tight):
        outcome = verify(pruner.estimator_, pruner)
        rows = np.concatenate([X, edge_rows(pruner.estimator_, pruner)])
        differ = pruner.estimator_.predict(rows) != pruner.predict(rows)
        assert outcome.equal is not None
        if outcome.equal:
            assert not differ.any()
        else:
            row = outcome.counterexample[None]
            assert pruner.estimator_.predict(row)[0] != pruner.predict(row)[0]
    assert not verify(tight.estimator_, tight).equal


@each_set
@pytest.mark.parametrize("kind", ["pruner", "representer", "genesim", "born_again"])
def test_estimate(kind, name):
    X, y = data(name)
    model = fitted(kind, X, y)
    found, wrapped = estimate(model), estimate(readable(model))
    assert found.n_trees == wrapped.n_trees == read_forest(model).n_trees
    assert found.n_cells == wrapped.n_cells
    assert estimate(FrozenEstimator(model)).n_cells == found.n_cells


@each_set
@pytest.mark.parametrize("kind", OWN)
def test_born_again(kind, name):
    X, y = data(name)
    if kind == "pruner":
        model = FeatureBudgetPruner(forest(3, 2), budget=2).fit(X, y)
    else:
        model = fitted(kind, X, y)
    again = BornAgainClassifier(FrozenEstimator(model)).fit(X, y)
    assert again.estimator_ is model
    assert_same(again, model, X)
    assert verify(again, model).equal
    assert again.verify().equal


@each_set
def test_genesim_over_representers(name):
    X, y = data(name)
    train, rest = slice(None, None, 2), slice(1, None, 2)
    first = [
        RepresenterTree(forest(), n_samples=200, random_state=seed).fit(X[train], y[train])
        for seed in range(3)
    ]
    model = GenesimClassifier(
        [*map(FrozenEstimator, first), FrozenEstimator(fitted("pruner", X[train], y[train]))],
        population_size=8,
        tournament_size=3,
        n_iter=3,
        random_state=0,
    ).fit(X[rest], y[rest])
    assert set(model.classes_) == set(y)
    assert_same(model, model.decision_tree_, X)
    best = max(tree.score(X[rest], y[rest]) for tree in first)
    assert model.score(X[rest], y[rest]) >= best - 0.1


@each_set
@pytest.mark.parametrize("kind", ["representer", "born_again", "genesim", "single_model", "c45"])
def test_merge_with_a_plain_tree(kind, name):
    X, y = data(name)
    model = fitted(kind, X, y)
    tree = DecisionTreeClassifier(max_depth=3, random_state=1).fit(X, y)
    merged = merge_trees([model, FrozenEstimator(tree)])
    for rows in (X, edge_rows(model, tree)):
        mean = (model.predict_proba(rows) + tree.predict_proba(rows)) / 2
        np.testing.assert_allclose(merged.predict_proba(rows), mean, atol=1e-12)


@each_set
def test_merge_pruned_and_budget_forests(name):
    X, y = data(name)
    models = [FeatureBudgetPruner(forest(2, 2), budget=3).fit(X, y), fitted("budget_forest", X, y)]
    merged = merge_trees(models)
    for rows in (X, edge_rows(*models)):
        mean = (models[0].predict_proba(rows) + models[1].predict_proba(rows)) / 2
        np.testing.assert_allclose(merged.predict_proba(rows), mean, atol=1e-12)


@each_set
def test_born_again_of_a_pipeline(name):
    X, y = data(name)
    pipeline = make_pipeline(StandardScaler(), forest(3, 2)).fit(X, y)
    again = BornAgainClassifier(FrozenEstimator(pipeline)).fit(X, y)
    assert again.estimator_ is pipeline
    rows = edge_rows(pipeline, again)
    rows = np.clip(rows, -1e30, 1e30).astype(np.float32).astype(np.float64)
    for part in (X.astype(np.float32).astype(np.float64), rows):
        np.testing.assert_array_equal(again.predict(part), pipeline.predict(part))
    assert verify(pipeline, again).equal


def test_own_estimators_of_pipelines_and_in_pipelines():
    X, y = data("iris")
    pipeline = make_pipeline(StandardScaler(), forest(3, 2)).fit(X, y)
    inner = BornAgainClassifier(FrozenEstimator(pipeline)).fit(X, y)
    again = BornAgainClassifier(FrozenEstimator(inner)).fit(X, y)
    assert again.decision_tree_.get_n_leaves() == inner.decision_tree_.get_n_leaves()
    outer = make_pipeline(StandardScaler(), clone(OWN["representer"])).fit(X, y)
    found = read_forest(outer)
    rows = np.clip(edge_rows(outer), -1e30, 1e30).astype(np.float32).astype(np.float64)
    np.testing.assert_array_equal(found.classes[found.predict_index(rows)], outer.predict(rows))


@pytest.mark.parametrize("kind", OWN)
def test_members_of_ensembles(kind):
    X, y = data("iris")
    own = OWN[kind]
    models = [
        VotingClassifier([("a", own), ("b", forest())], voting="hard"),
        VotingClassifier([("a", own), ("b", forest())], voting="soft", weights=[0.4, 0.6]),
        BaggingClassifier(own, 3, max_features=3, random_state=0),
    ]
    if kind == "c45":
        models.append(AdaBoostClassifier(own, n_estimators=3, random_state=0))
    for model in models:
        model.fit(X, y)
        found = read_forest(model)
        rows = edge_rows(model)
        np.testing.assert_array_equal(found.classes[found.predict_index(rows)], model.predict(rows))


def test_regression():
    X, _ = load_iris(return_X_y=True)
    target = X[:, 3]
    regressor = RandomForestRegressor(4, max_depth=3, random_state=0)
    models = [
        RepresenterTree(regressor, n_samples=300, random_state=0).fit(X[:, :3], target),
        FeatureBudgetPruner(regressor, budget=2).fit(X[:, :3], target),
    ]
    for model in models:
        found = read_forest(model)
        assert found.classes is None
        rows = edge_rows(model)
        np.testing.assert_array_equal(found.predict_index(rows), model.predict(rows))
        assert verify(model, model)
    outcome = verify(*models)
    first, second = (model.predict([outcome.counterexample])[0] for model in models)
    assert outcome.predictions == (first, second)
    assert first != second


class Contrary(BornAgainClassifier):
    def predict(self, X):
        return super().predict(X)[::-1]


class Plain(BornAgainClassifier):
    pass


class Lookalike:
    """Not of this package: that its predict is the tree's is nowhere said."""

    def __init__(self, tree):
        self.decision_tree_ = tree

    def fit(self, X, y):
        return self

    def predict(self, X):
        return self.decision_tree_.predict(-X)


def test_what_stands_for_itself():
    X, y = data("iris")
    tree = DecisionTreeClassifier(max_depth=2).fit(X, y)
    assert readable(FrozenEstimator(tree)) is tree
    assert readable(Plain(forest(2, 2)).fit(X, y)).tree_.node_count > 1
    for model in (Lookalike(tree), Contrary(forest(2, 2)).fit(X, y)):
        assert readable(model) is model
        with pytest.raises(TypeError, match="is not supported"):
            read_forest(model)
    with pytest.raises(TypeError, match="CultivatedForestClassifier is not supported"):
        read_forest(CultivatedForestClassifier().fit(X, y))
    for own in OWN.values():
        with pytest.raises(NotFittedError):
            read_forest(clone(own))


@pytest.mark.parametrize("kind", [GridSearchCV, RandomizedSearchCV])
def test_a_search_stands_for_its_best_estimator(kind):
    X, y = data("iris")
    search = kind(forest(3), {"max_depth": [1, 2]}, cv=2)
    if kind is RandomizedSearchCV:
        search.set_params(n_iter=2)
    with pytest.raises(NotFittedError):
        BornAgainClassifier(FrozenEstimator(search)).fit(X, y)
    for model in (clone(search), FrozenEstimator(clone(search).fit(X, y))):
        tree = BornAgainClassifier(model).fit(X, y)
        fitted = clone(search).fit(X, y)
        assert_same(fitted.best_estimator_, tree, X)
        assert verify(fitted, tree)
    pruner = FeatureBudgetPruner(FrozenEstimator(fitted), budget=3).fit(X, y)
    assert pruner.pruned_estimator_.predict(X).tolist() == pruner.predict(X).tolist()


class OtherSearch(GridSearchCV):
    """Predicts otherwise than its best estimator."""

    def predict(self, X):
        return self.best_estimator_.predict(-X)


def test_a_search_with_a_predict_of_its_own_is_refused():
    X, y = data("iris")
    search = OtherSearch(forest(3), {"max_depth": [1, 2]}, cv=2).fit(X, y)
    with pytest.raises(TypeError, match="OtherSearch is not supported"):
        read_forest(search)


def test_weights_of_a_pipeline():
    X, y = data("iris")
    weight = np.where(y == "bee", 5.0, 1.0)
    model = make_pipeline(StandardScaler(), forest())
    with pytest.raises(ValueError, match=r"pipeline.fit\(X, y, randomforestclassifier__sample_we"):
        BornAgainClassifier(model).fit(X, y, sample_weight=weight)
    model.fit(X, y, randomforestclassifier__sample_weight=weight)
    tree = BornAgainClassifier(FrozenEstimator(model)).fit(X, y, sample_weight=weight)
    assert verify(model, tree)


ON_ROWS = {
    "agreement": lambda model, X: agreement(model, model, X),
    "contains": lambda model, X: sufficient_box(model, X.iloc[0, ::-1]).contains(X),
    "estimate": lambda model, X: estimate(model, X),
    "nearest_flip": lambda model, X: nearest_flip(model, X.iloc[[0]]),
    "sufficient_box": lambda model, X: sufficient_box(model, X.iloc[0]),
    "verify": lambda model, X: verify(model, model, X=X, max_changes=1),
}


@pytest.mark.parametrize("scaled", [False, True])
@pytest.mark.parametrize("name", ON_ROWS)
def test_columns_in_another_order_are_refused(name, scaled):
    X, y = load_iris(return_X_y=True, as_frame=True)
    model = make_pipeline(StandardScaler(), forest()) if scaled else forest()
    model.fit(X, y)
    turned = X.iloc[:, ::-1]
    with pytest.raises(ValueError, match=r"'petal width .* where .* fitted on 'sepal length"):
        ON_ROWS[name](model, turned)
    if name == "contains":
        return
    ON_ROWS[name](model, X)


@pytest.mark.parametrize("compare", [verify, agreement])
def test_models_of_columns_in_another_order_are_refused(compare):
    X, y = load_iris(return_X_y=True, as_frame=True)
    models = [forest().fit(X, y), forest().fit(X.iloc[:, ::-1], y)]
    with pytest.raises(ValueError, match="in the same order"):
        compare(*models, domain={"bounds": dict.fromkeys(X, (0, 8))})
    plain = forest().fit(X.iloc[:, ::-1].to_numpy(), y)  # nothing is known of its columns
    compare(models[0], plain, domain={"bounds": dict.fromkeys(X, (0, 8))})
