"""Training rows that an ensemble answers otherwise than what float32 makes of them."""

import warnings

import numpy as np
import pandas as pd
import pytest
from oracles import seconds
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.frozen import FrozenEstimator

from ensemble_simplify import BornAgainClassifier

X, Y = seconds()


def boosted(rows=X):
    return HistGradientBoostingClassifier(max_iter=4, max_leaf_nodes=6, random_state=0).fit(rows, Y)


def lightgbm(rows=X):
    package = pytest.importorskip("lightgbm")
    return package.LGBMClassifier(n_estimators=4, num_leaves=6, verbose=-1).fit(rows, Y)


def rounded(rows):
    return rows.astype(np.float32).astype(np.float64)


@pytest.mark.parametrize("make", [boosted, lightgbm])
@pytest.mark.parametrize("max_changes", [None, 0, 1])
@pytest.mark.parametrize("frame", [False, True])
def test_they_are_counted(make, max_changes, frame):
    rows = pd.DataFrame(X, columns=["second", "other"]) if frame else X
    model = make(rows)
    apart = model.predict(rows) != model.predict(rounded(rows))
    assert apart.any()
    tree = BornAgainClassifier(FrozenEstimator(model), max_changes=max_changes, random_state=0)
    with pytest.warns(UserWarning, match=rf"{apart.sum()} of {len(X)} training rows") as said:
        tree.fit(rows, Y)
    remedy = "X.astype(numpy.float32).astype(numpy.float64)"
    assert remedy in str(said[0].message)
    wrong = tree.predict(rows) != model.predict(rows)
    assert wrong.any()
    assert tree.n_row_exceptions_ == wrong.sum()
    assert tree.n_rows_ == len(X)
    told = f"among trees for numbers of float32; {wrong.sum()} of {len(X)} training rows answered"
    assert told in repr(tree)
    if max_changes is None:
        assert tree.fidelity_ == pytest.approx(1 - wrong.mean())
    else:
        assert tree.n_exceptions_ == wrong.sum()
        assert tree.path_.n_row_exceptions[-1] == wrong.sum()
        for n, n_rows in zip(tree.path_.n_leaves, tree.path_.n_row_exceptions, strict=True):
            step = tree.at(n_leaves=int(n))
            assert n_rows == (step.predict(rows) != model.predict(rows)).sum()
            assert step.n_row_exceptions_ == n_rows
    # the promise is not about them, and proofs show one
    covered = tree.covers(rows)
    assert not wrong[covered].any()
    assert covered.any()
    outcome = tree.verify()
    assert outcome.equal is False
    assert (outcome.counterexample == X[wrong]).all(axis=1).any()


@pytest.mark.parametrize("max_changes", [None, 0, 1])
def test_the_remedy_of_the_warning_helps(max_changes):
    single = rounded(X)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        tree = BornAgainClassifier(
            FrozenEstimator(boosted()), max_changes=max_changes, random_state=0
        ).fit(single, Y)
    assert (tree.predict(single) == tree.estimator_.predict(single)).all()
    assert "training rows" not in repr(tree)
    assert tree.n_row_exceptions_ == 0
    assert tree.covers(single).all()
    assert tree.verify()


def test_forests_round_themselves():
    forest = RandomForestClassifier(3, max_depth=3, random_state=0).fit(X, Y)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        tree = BornAgainClassifier(FrozenEstimator(forest), random_state=0).fit(X, Y)
    assert tree.covers(X).all()
    assert tree.n_row_exceptions_ == 0
    assert tree.fidelity_ == 1
    assert (tree.predict(X) == forest.predict(X)).all()


def test_what_is_rounded_into_the_domain_is_not_covered():
    """Next to a whole number a model can have a threshold that float32 does not tell from it."""
    X = np.arange(40.0)[:, None]
    model = HistGradientBoostingClassifier(
        max_iter=1, max_leaf_nodes=2, min_samples_leaf=1, learning_rate=1.0
    ).fit(X, X[:, 0] > 20)
    nodes = model._predictors[0][0].nodes
    nodes["num_threshold"][nodes["is_leaf"] == 0] = np.nextafter(20.0, 21.0)
    tree = BornAgainClassifier(FrozenEstimator(model), domain={"integers": [0]}, random_state=0)
    tree.fit(X, X[:, 0] > 20)
    beside = np.array([[20.0], [np.nextafter(np.nextafter(20.0, 21.0), 21.0)]])
    assert tree.predict(beside)[0] == model.predict(beside)[0]
    assert tree.predict(beside)[1] != model.predict(beside)[1]
    assert tree.covers(beside).tolist() == [True, False]
