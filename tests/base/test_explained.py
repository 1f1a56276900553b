"""Why a tree answers a row so: the rule of the leaf in which scikit-learn says that it ends."""

import numpy as np
import pandas as pd
import pytest
from estimators import ESTIMATORS
from sklearn.base import clone
from sklearn.datasets import load_iris
from sklearn.ensemble import GradientBoostingClassifier, RandomForestClassifier
from sklearn.tree import DecisionTreeRegressor

from ensemble_simplify import Explanation, export_tree, simplify
from ensemble_simplify.base import HoldsTree
from ensemble_simplify.datasets import load_heart

TREES = [name for name, own in ESTIMATORS.items() if isinstance(own, HoldsTree)]


SHOWN = [name for name, own in ESTIMATORS.items() if hasattr(own, "export_text")]


@pytest.mark.parametrize("name", SHOWN)
def test_a_fitted_one_prints_what_it_holds(name):
    own = clone(ESTIMATORS[name])
    assert str(own) == repr(own)
    own.fit(*load_iris(return_X_y=True, as_frame=True))
    if getattr(own, "n_leaves_", 1) <= 64:
        assert str(own).rstrip("\n").endswith(own.export_text().rstrip("\n"))
    if not hasattr(own, "certified_"):  # it says first how many rows it answers
        assert str(own).startswith(repr(own))


@pytest.mark.parametrize("name", TREES)
def test_rules_and_rows_are_those_of_the_leaf(name):
    X, y = load_iris(return_X_y=True, as_frame=True)
    tree = clone(ESTIMATORS[name]).fit(X, y)
    inner = tree.decision_tree_
    leaves = inner.apply(X.to_numpy(np.float32))
    np.testing.assert_array_equal(tree.apply(X), leaves)
    assert (tree.decision_path(X) != inner.decision_path(X.to_numpy(np.float32))).nnz == 0
    found = tree.explain(X)
    np.testing.assert_array_equal([told.answer for told in found], tree.predict(X))
    assert [told.leaf for told in found] == leaves.tolist()
    if hasattr(tree, "certified_"):  # it counts calibration rows, and is no tree to be written
        return
    rules = export_tree(tree).splitlines()
    for i, told in enumerate(found):
        assert told.n_rows == inner.tree_.n_node_samples[leaves[i]]
        start = f"if {told.rule} then " if told.rule else "always "
        assert sum(line.startswith(start) for line in rules) == 1
        if hasattr(tree, "predict_proba"):
            place = list(tree.classes_).index(told.answer)
            assert told.chance == tree.predict_proba(X[i : i + 1])[0, place]


def test_a_result_tells_what_the_model_answers_on_rows_with_gaps_and_new_levels():
    X, y = load_heart(return_X_y=True)
    numbers = X.select_dtypes("number")
    model = RandomForestClassifier(30, random_state=0).fit(numbers[::2], y[::2])
    rows = numbers[1::2]
    outcome = simplify(model, rows, y[1::2], methods=[], max_leaf_nodes=4, random_state=0)
    answers, chances = model.predict(rows), model.predict_proba(rows)
    found = outcome.explain(rows)
    assert [told.answer for told in found] == outcome.predict(rows).tolist()
    for told, answer, chance in zip(found, answers, chances, strict=True):
        assert told.model_answer == answer
        assert told.model_chance == chance[list(model.classes_).index(told.answer)]
        assert f"The model answers {answer}" in str(told)
    np.testing.assert_array_equal(outcome.best_model.apply(rows), [told.leaf for told in found])


def test_a_single_leaf_and_a_value_have_sentences():
    assert str(Explanation(1, "", 0, 9, 0.5)).startswith("1, as for every row; 9 training rows")
    assert str(Explanation(2.0 / 3.0, "x0 <= 1", 1, 1)) == (
        "0.666667, since x0 <= 1; 1 training row is there"
    )


def answer_to(result, flip):
    """What a result answers to the changed row of a flip."""
    return result.predict(pd.DataFrame([flip.row], columns=result.feature_names_in_))[0]


@pytest.mark.parametrize("method", ["representer", "scorecard", "faithful"])
def test_every_result_explains_and_tells_a_flip_that_flips(method):
    """Trees, cards and ensembles: the change that is told leads to another answer of theirs."""
    X, y = load_iris(return_X_y=True, as_frame=True)
    model = GradientBoostingClassifier(n_estimators=3, max_depth=2, random_state=0)
    model.fit(X[::2], y[::2])
    kinds = ("tree", "scorecard")
    found = simplify(model, X[1::2], y[1::2], methods=[method], kinds=kinds, random_state=0)
    own, rows = found[method], X[1:150:40]
    told = own.explain(rows, flip={"max_changes": 2})
    assert [one.answer for one in told] == own.predict(rows).tolist()
    shares = own.predict_proba(rows)
    for i, one in enumerate(told):
        assert one.chance == shares[i, one.answer]
        assert answer_to(own, one.flip) == one.flip.predictions[1] != one.answer
        assert one.flip.sentence in str(one)
        assert (one.leaf is None) == (method != "representer")
    assert all(one.flip is None for one in own.explain(rows))


def test_a_flip_of_values_needs_a_range():
    X, _ = load_iris(return_X_y=True, as_frame=True)
    model = DecisionTreeRegressor(max_depth=3, random_state=0).fit(X, X.iloc[:, 0] * 2)
    small = simplify(model, X, methods=["representer"], max_leaf_nodes=4, random_state=0)
    with pytest.raises(ValueError, match=r'flip=True.*flip=\{"target": \(low, high\)\}'):
        small.explain(X[:1], flip=True)
    (told,) = small.explain(X[:1], flip={"target": (12.0, None)})
    assert answer_to(small.best_model, told.flip) >= 12.0
    (told,) = small.explain(X[:1], flip={"target": (1000.0, None)})
    assert ". Proven: no change of at most 1 feature takes" in str(told)
