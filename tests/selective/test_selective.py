"""Selective trees: the certificate against draws, and the answers against the model's own."""

import ctypes
import pickle
import shutil
import sqlite3
import subprocess

import numpy as np
import pandas as pd
import pytest
from scipy.stats import binom
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer, load_diabetes
from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor
from sklearn.frozen import FrozenEstimator

from ensemble_simplify import Domain, SelectiveTreeClassifier, SelectiveTreeRegressor, verify
from ensemble_simplify.selective._certificate import Counts, certified

X, Y = load_breast_cancer(return_X_y=True)
FOREST = RandomForestClassifier(20, random_state=0).fit(X[:280], Y[:280])


@pytest.fixture(scope="module")
def fitted():
    tree = SelectiveTreeClassifier(
        FrozenEstimator(FOREST), max_disagreement=0.04, max_leaf_nodes=8, random_state=0
    )
    return tree.fit(X[280:480], X_more=X[:280])


# A tree of four leaves.
LEFT, RIGHT = np.array([1, 2, -1, -1, 5, -1, -1]), np.array([4, 3, -1, -1, 6, -1, -1])


def up(of_leaves):
    a, b, c, d = of_leaves
    return np.array([a + b + c + d, a + b, a, b, c + d, c, d], dtype=float)


def broken_of(rates, share, told=0.5, groups=None, proven=(), n_rows=300):
    """Draws of 1,000 that certify something, and those in which a group breaks the limit of 5 %.

    The true rates of the leaves are known; what is expected of them is `told` times as much. Groups
    are given for each leaf.
    """
    share, rates = np.array(share), np.array(rates)
    groups = np.zeros(4, dtype=int) if groups is None else np.array(groups)
    of_group = [np.where(groups == k, 1.0, 0.0) for k in range(groups.max() + 1)]
    shares, random = up(share), np.random.default_rng(0)
    expected = up(share * rates * told) / shares
    occurs = np.array([up(own) > 0 for own in of_group])
    is_proven = np.isin(np.arange(7), proven)
    n_answering = n_broken = 0
    for _ in range(1000):
        n = random.multinomial(n_rows, share)
        wrong = random.binomial(n, rates)
        n, wrong = (np.array([up(own * of) for own in of_group]) for of in (n, wrong))
        counts = Counts(shares, expected, n, wrong, occurs, is_proven)
        found, answers, _ = certified(LEFT, RIGHT, counts, 4, 0.05, 0.95)
        nodes = found[answers]
        n_answering += len(nodes) > 0
        true = [
            (up(own * share * rates)[nodes].sum(), up(own * share)[nodes].sum()) for own in of_group
        ]
        n_broken += any(wrong > 0.05 * rows + 1e-12 for wrong, rows in true)
    return n_answering, n_broken


@pytest.mark.parametrize(
    "case",
    [
        {"rates": (0.0, 0.05, 0.2, 0.4), "share": (0.4, 0.3, 0.2, 0.1)},
        {"rates": (0.051, 0.051, 0.051, 0.051), "share": (0.4, 0.3, 0.2, 0.1)},
        # a rare label, of which most draws have no row
        {
            "rates": (0.0, 0.0, 0.9, 0.0),
            "share": (0.5, 0.497, 0.001, 0.002),
            "groups": (0, 0, 1, 0),
        },
        {"rates": (0.0, 0.051, 0.2, 0.4), "share": (0.1, 0.4, 0.3, 0.2), "proven": (2,)},
    ],
    ids=["some", "all", "rare group", "proven"],
)
def test_the_limit_is_broken_as_seldom_as_promised(case):
    n_answering, n_broken = broken_of(**case)
    assert n_answering > 0 or "groups" in case
    assert n_broken <= binom.ppf(0.999, 1000, 0.05)


def test_the_tree_answers_where_it_may_and_the_model_elsewhere(fitted):
    rows = X[480:]
    asked = fitted.defers(rows)
    assert 0.3 < np.mean(~asked) < 1
    np.testing.assert_array_equal(fitted.predict(rows)[asked], FOREST.predict(rows[asked]))
    of_tree = fitted.decision_tree_.predict(rows[~asked].astype(np.float32))
    np.testing.assert_array_equal(fitted.predict(rows)[~asked], of_tree)
    cal = X[280:480]
    answered = ~fitted.defers(cal)
    assert fitted.coverage_ == answered.mean()
    wrong = fitted.predict(cal) != FOREST.predict(cal)
    assert fitted.disagreement_ == wrong.sum() / answered.sum()
    assert binom.cdf(wrong.sum(), answered.sum(), fitted.limit_) <= 0.05
    assert fitted.get_n_leaves() <= 8


def test_rows_that_the_model_has_learned_certify_nothing():
    tree = SelectiveTreeClassifier(FrozenEstimator(FOREST), random_state=0)
    with pytest.warns(UserWarning, match="has learned rows"):
        tree.fit(X[:280])
    assert tree.defers(X).all()
    assert tree.n_calibration_rows_ == 0


def test_no_proof_takes_it_for_its_tree(fitted):
    with pytest.raises(TypeError):
        verify(fitted, FOREST)


@pytest.mark.parametrize("otherwise", [None, "model", "of_model"])
def test_sql_and_python_answer_as_it_does(fitted, otherwise):
    rows = pd.DataFrame(X[480:], columns=[f"x{j}" for j in range(X.shape[1])])
    rows["of_model"] = FOREST.predict(X[480:])
    database = sqlite3.connect(":memory:")
    rows.to_sql("rows_of", database, index_label="id")
    query = fitted.export("sql", otherwise=otherwise, table="rows_of", keys=["id"])
    found = dict(database.execute(query).fetchall())
    space = {}
    exec(fitted.export("python", otherwise=otherwise), space)
    asked, expected = fitted.defers(X[480:]), fitted.predict(X[480:])
    for i, row in enumerate(X[480:]):
        want = None if otherwise is None and asked[i] else expected[i]
        assert found[i] == want
        given = dict(enumerate(row)) | {"of_model": rows["of_model"][i]}
        assert space["predict"](given) == want


@pytest.mark.skipif(shutil.which("gcc") is None, reason="needs a C compiler")
@pytest.mark.parametrize("otherwise", [None, "model"])
def test_c_answers_as_it_does(fitted, otherwise, tmp_path):
    source, library = tmp_path / "tree.c", tmp_path / "tree.so"
    source.write_text(fitted.export("c", otherwise=otherwise))
    subprocess.run(
        ["gcc", "-std=c99", "-shared", "-fPIC", "-o", library, source, "-lm"], check=True
    )
    predict = ctypes.CDLL(str(library)).predict
    rows = np.ascontiguousarray(X[480:])
    found = [predict(row.ctypes.data_as(ctypes.c_void_p)) for row in rows]
    nothing = fitted.defers(rows) & (otherwise is None)
    np.testing.assert_array_equal(found, np.where(nothing, -1, fitted.predict(rows)))


def test_another_limit_is_certified_without_learning(fitted):
    wide = fitted.at(max_disagreement=0.06)
    assert wide.coverage_ > fitted.coverage_
    again = clone(fitted).set_params(max_disagreement=0.06).fit(X[280:480], X_more=X[:280])
    np.testing.assert_array_equal(wide.predict(X), again.predict(X))
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(wide)).predict(X), again.predict(X))


def test_the_text_says_which_leaves_ask(fitted):
    text = str(fitted)
    assert text.count("ask the model") == np.sum(~fitted.certified_.answers)
    told = fitted.explain(X[480:])
    assert [one.by == "model" for one in told] == fitted.defers(X[480:]).tolist()
    for one in told:
        # the counts of the sentence are those of the line of this leaf
        rows = "calibration row" if one.n_rows == 1 else "calibration rows"
        count = f"wrong on {one.n_wrong} of {one.n_rows} {rows}"
        assert count in text
        assert (
            f"{one.answer}, since {one.rule}; the {one.by} answers, the tree is {count} there"
            in (str(one))
        )
    boxes = [note.get_text() for note in fitted.plot()]
    assert sum("ask the model" in box for box in boxes) == np.sum(~fitted.certified_.answers)


@pytest.mark.parametrize("against", ["model", "truth"])
def test_groups_keep_the_limit_each(against):
    tree = SelectiveTreeClassifier(
        FrozenEstimator(FOREST), groups="class", against=against, random_state=0
    ).fit(X[280:], Y[280:], X_more=X[:280])
    rows, answered = X[280:], ~tree.defers(X[280:])
    given = tree.decision_tree_.predict(rows.astype(np.float32))
    model = FOREST.predict(rows)
    wrong = given != model if against == "model" else (given != Y[280:]) & (model == Y[280:])
    for label in np.unique(given[answered]):
        mine = answered & (given == label)
        assert binom.cdf(wrong[mine].sum(), mine.sum(), 0.05) <= 0.05


def test_values_within_a_tolerance():
    rows, y = load_diabetes(return_X_y=True)
    forest = RandomForestRegressor(10, random_state=0).fit(rows[:200], y[:200])
    tree = SelectiveTreeRegressor(FrozenEstimator(forest), atol=60, max_beyond=0.2, random_state=0)
    tree.fit(rows[200:], X_more=rows[:200])
    answered = ~tree.defers(rows[200:])
    beyond = np.abs(tree.predict(rows[200:]) - forest.predict(rows[200:])) > 60
    assert answered.any()
    assert tree.disagreement_ == beyond.sum() / answered.sum()
    assert binom.cdf(beyond.sum(), answered.sum(), 0.2) <= 0.05


def test_frames_with_text_and_gaps():
    random = np.random.default_rng(0)
    table = pd.DataFrame(
        {"kind": random.choice(["a", "b", "c"], 900), "size": random.normal(size=900)}
    )
    table.loc[::9, "size"] = np.nan
    y = np.where((table["kind"] == "a") | (table["size"] > 1), "yes", "no")
    tree = SelectiveTreeClassifier(groups="kind", random_state=0).fit(table, y)
    assert tree.coverage_ > 0.5
    assert np.mean(tree.predict(table) == y) > 0.9


def test_probabilities_are_the_leaf_s_or_the_model_s(fitted):
    rows = X[480:]
    found, asked = fitted.predict_proba(rows), fitted.defers(rows)
    assert 0 < asked.sum() < len(asked)
    np.testing.assert_array_equal(found[asked], fitted.estimator_.predict_proba(rows[asked]))
    np.testing.assert_array_equal(
        found[~asked], fitted.decision_tree_.predict_proba(rows[~asked].astype(np.float32))
    )
    np.testing.assert_array_equal(fitted.classes_[found.argmax(axis=1)], fitted.predict(rows))


def test_proven_leaves_hold_what_the_model_answers():
    """Far from where the model's answer changes, a leaf needs no calibration."""
    random = np.random.default_rng(0)
    rows = random.normal(size=(400, 2))
    y = (rows[:, 0] > 0) & ((rows[:, 0] < 1) | (rows[:, 1] > 0))
    model = RandomForestClassifier(3, max_depth=2, random_state=0).fit(rows[:200], y[:200])
    tree = SelectiveTreeClassifier(FrozenEstimator(model), max_leaf_nodes=8, random_state=0)
    # of 20 rows nothing is certified
    tree = tree.fit(rows[200:220], X_more=rows[:200])
    assert tree.defers(rows).all()
    domain = Domain(bounds={0: (-9, -1)})
    proven = tree.prove(domain=domain)
    assert proven.certified_.proven.any()
    assert not tree.certified_.proven.any()
    points = random.normal(scale=5, size=(20_000, 2)).astype(np.float32)
    points[:, 0] = random.uniform(-9, -1, size=20_000)
    answered = ~proven.defers(points)
    assert answered.any()
    own = proven.decision_tree_.predict(points)
    np.testing.assert_array_equal(own[answered], model.predict(points[answered]))
    assert {one.proven for one in proven.explain(points[answered][:5])} == {True}
    assert "proven" in str(proven)
    # where the model's answer changes, nothing is
    assert not tree.prove(domain=Domain(bounds={0: (-9, 9)})).certified_.proven.all()
