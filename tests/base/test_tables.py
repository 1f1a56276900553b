"""Tables with text and gaps, for ensembles of numbers and for what learns from labels."""

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone, is_classifier
from sklearn.ensemble import (
    AdaBoostClassifier,
    BaggingClassifier,
    ExtraTreesClassifier,
    GradientBoostingClassifier,
    HistGradientBoostingClassifier,
    RandomForestClassifier,
    RandomForestRegressor,
    VotingClassifier,
)
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OrdinalEncoder
from sklearn.tree import DecisionTreeClassifier
from sklearn.utils import get_tags

from ensemble_simplify import BornAgainClassifier, FaithfulPruner, verify
from ensemble_simplify.base import fit_or_unwrap, learned_rows, with_gaps
from ensemble_simplify.grid import preorder
from ensemble_simplify.reading import Gaps, Model, behind_codes, takes_numbers_alone
from ensemble_simplify.writing import apply_nodes

ON_NUMBERS = [
    DecisionTreeClassifier(max_depth=3, random_state=0),
    RandomForestClassifier(5, max_depth=3, random_state=0),
    ExtraTreesClassifier(5, max_depth=3, random_state=0),
    BaggingClassifier(DecisionTreeClassifier(max_depth=3), n_estimators=4, random_state=0),
    GradientBoostingClassifier(n_estimators=5, max_depth=2, random_state=0),
    AdaBoostClassifier(n_estimators=5, random_state=0),
    VotingClassifier([("a", DecisionTreeClassifier(max_depth=2)), ("b", DecisionTreeClassifier())]),
]


def people(n=300, seed=0):
    rng = np.random.default_rng(seed)
    X = pd.DataFrame(
        {
            "age": rng.normal(40, 12, n).round(1),
            "job": rng.choice(["clerk", "cook", "judge", "nurse", "pilot"], n),
            "size": pd.Categorical(
                rng.choice(["small", "mid", "large"], n),
                categories=["small", "mid", "large"],
                ordered=True,
            ),
            "paid": rng.integers(0, 4, n),
        }
    )
    y = np.where(X["job"].isin(["cook", "pilot"]) ^ (X["age"] > 45), "no", "yes")
    X.loc[rng.random(n) < 0.1, "age"] = np.nan
    X.loc[rng.random(n) < 0.1, "job"] = None
    return X, y


def strange(X):
    """The same rows with more gaps, and with levels that nobody knows."""
    X = X.copy()
    rng = np.random.default_rng(1)
    X["paid"] = X["paid"].astype(float).where(rng.random(len(X)) > 0.3)
    X.loc[rng.random(len(X)) < 0.2, "job"] = "baker"
    X.loc[rng.random(len(X)) < 0.2, "size"] = np.nan
    return X


@pytest.mark.parametrize("ensemble", ON_NUMBERS, ids=lambda e: type(e).__name__)
def test_an_ensemble_of_numbers_is_fitted_on_codes(ensemble):
    X, y = people()
    fitted = fit_or_unwrap(ensemble, X, y)
    codes, inner = behind_codes(fitted)
    assert type(inner) is type(ensemble)
    # the codes are in the order of the share of the last class, or keep their own order
    assert codes.table.levels[2].tolist() == ["small", "mid", "large"]
    share = pd.Series(y == "yes").groupby(X["job"]).mean()
    assert share[codes.table.levels[1]].is_monotonic_increasing
    model = Model.of(fitted)
    for rows in (X, strange(X)):
        labels = model.forest.classes[model.forest.predict_index(model.table.read(rows))]
        np.testing.assert_array_equal(labels, fitted.predict(rows))


@pytest.mark.parametrize("ensemble", [None, *ON_NUMBERS], ids=lambda e: type(e).__name__)
def test_a_tree_of_text_and_gaps(ensemble):
    X, y = people()
    tree = BornAgainClassifier(ensemble, max_changes=1, random_state=0).fit(X, y)
    odd = strange(X)
    odd["age"], odd["job"], odd["size"] = X["age"], X["job"], X["size"]
    np.testing.assert_array_equal(tree.predict(X), tree.estimator_.predict(X))
    assert tree.verify()
    pruner = FaithfulPruner(ensemble, max_changes=0, random_state=0).fit(X, y)
    np.testing.assert_array_equal(pruner.predict(X), pruner.estimator_.predict(X))
    assert verify(pruner.pruned_estimator_, pruner, X=X, max_changes=0)


def test_weights_reach_an_ensemble_behind_codes():
    X, y = people()
    weight = np.where(y == "yes", 1.0, 0.01)
    tree = DecisionTreeClassifier(max_depth=3, random_state=0)
    codes, fitted = behind_codes(fit_or_unwrap(tree, X, y, weight))
    by_hand = clone(tree).fit(codes.transform(X), y, weight).tree_
    np.testing.assert_array_equal(fitted.tree_.threshold, by_hand.threshold)
    np.testing.assert_array_equal(fitted.tree_.value, by_hand.value)


def test_regressors_and_searches_are_fitted_on_codes():
    X, y = people()
    value = X["paid"] + (y == "yes")
    fitted = fit_or_unwrap(RandomForestRegressor(5, random_state=0), X, value)
    assert not is_classifier(fitted)
    assert np.corrcoef(fitted.predict(X), value)[0, 1] > 0.9
    search = GridSearchCV(DecisionTreeClassifier(random_state=0), {"max_depth": [1, 3]})
    search = fit_or_unwrap(search, X, y)
    assert behind_codes(search)[0] is not None
    assert Model.of(search).forest.n_trees == 1


def test_what_takes_tables_itself_is_given_them():
    assert not takes_numbers_alone(HistGradientBoostingClassifier())
    encoded = make_pipeline(OrdinalEncoder(), DecisionTreeClassifier())
    assert not takes_numbers_alone(encoded)
    assert not takes_numbers_alone(VotingClassifier([("a", encoded)]))
    assert not takes_numbers_alone(BornAgainClassifier())
    assert all(map(takes_numbers_alone, ON_NUMBERS))


class Learner(BornAgainClassifier):
    def fit(self, X, y, sample_weight=None):
        rows, y = learned_rows(self, X, y, sample_weight)
        return rows.numbers, y


def test_rows_that_are_learned_from():
    X, y = people()
    estimator = Learner()
    rows, labels = estimator.fit(X, y)
    assert rows.dtype == np.float32
    assert rows.shape == (300, 4)
    np.testing.assert_array_equal(np.isnan(rows), X.isna().to_numpy())
    np.testing.assert_array_equal(labels, y)
    assert estimator.feature_names_in_.tolist() == list(X.columns)
    job = [estimator._table.levels[1][int(c)] for c in rows[:, 1] if c == c]
    np.testing.assert_array_equal(job, X["job"].dropna())
    assert get_tags(estimator).input_tags.allow_nan
    with pytest.raises(ValueError, match="infinity"):
        estimator.fit(X.assign(age=np.inf), y)
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        estimator.fit(X, y[:-1])
    numbers, _ = estimator.fit(X[["age", "paid"]].to_numpy(), y)
    np.testing.assert_array_equal(numbers, X[["age", "paid"]].to_numpy(dtype=np.float32))


@pytest.mark.parametrize("seed", range(8))
def test_a_tree_of_filled_rows_answers_rows_with_gaps_alike(seed):
    rng = np.random.default_rng(seed)
    X = rng.integers(-3, 4, size=(200, 3)).astype(np.float32)
    X[rng.random((200, 3)) < [0.3, 0.1, 0.0]] = np.nan
    gaps = Gaps.of(X.astype(np.float64))
    filled = gaps.fill(X).astype(np.float32)
    y = rng.integers(0, 3, 200) + np.isnan(X[:, 0])
    grown = DecisionTreeClassifier(max_leaf_nodes=25, random_state=seed).fit(filled, y).tree_
    nodes, first = preorder(
        grown.children_left, grown.children_right, grown.feature, grown.threshold
    )
    n_rows = grown.n_node_samples[first]
    restored, order, missing_left = with_gaps(nodes, gaps, n_rows)
    np.testing.assert_array_equal(
        order[apply_nodes(restored, X, missing_left)], apply_nodes(nodes, filled)
    )
    # what no row lacked goes to the side of more rows
    of_third = np.flatnonzero(restored.feature == 2)
    expected = n_rows[order][restored.left[of_third]] > n_rows[order][restored.right[of_third]]
    np.testing.assert_array_equal(missing_left[of_third], expected)
