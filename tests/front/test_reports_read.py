"""Whole reports, read by a program that knows their words alone."""

import json
import re
from itertools import pairwise

import numpy as np
import pandas as pd
import pytest
from report_read import hold_page, hold_together, hold_true, near, read
from sklearn.ensemble import (
    GradientBoostingClassifier,
    RandomForestClassifier,
    RandomForestRegressor,
)
from sklearn.tree import DecisionTreeClassifier

from ensemble_simplify import SimplifiedModel, simplify
from ensemble_simplify.front._page import as_fragment, as_page


def table(seed, n_rows, n_classes):
    rng = np.random.default_rng(seed)
    X = pd.DataFrame(rng.normal(size=(n_rows, 4)).round(2), columns=["a", "b c", "d", "e"])
    X["f"] = rng.integers(5, size=n_rows)
    score = X["a"] + X["b c"] * X["d"] + 0.4 * X["f"] + 0.5 * rng.normal(size=n_rows)
    if n_classes is None:
        return X, score.to_numpy()
    cuts = score.quantile(np.linspace(0, 1, n_classes + 1)[1:-1] ** 0.7)
    return X, np.array(["low", "middle", "very high"])[np.searchsorted(cuts, score)]


CASES = {
    "new rows": {},
    "own rows": {"own": True},
    "own rows, no y": {"own": True, "y": None, "boosted": True},
    "one size": {"max_leaf_nodes": 6, "min_samples_leaf": 7, "boosted": True},
    "three answers": {"n_classes": 3, "y": None},
    "weights": {"class_weight": "balanced", "n_classes": 3},
    "values": {"n_classes": None},
}


@pytest.mark.parametrize("name", CASES)
def test_a_report_says_nothing_that_is_not_so(name, tmp_path):
    options = {"n_classes": 2, "own": False, "boosted": False} | CASES[name]
    n_classes, own, boosted = (options.pop(key) for key in ("n_classes", "own", "boosted"))
    seed = len(name)
    X, y = table(seed, 140, n_classes)
    kind = RandomForestRegressor if n_classes is None else RandomForestClassifier
    kind = GradientBoostingClassifier if boosted else kind
    model = kind(n_estimators=15, random_state=seed).fit(X, y)
    if not own:
        X, y = table(seed + 1, 120, n_classes)
    y = options.pop("y", y)
    outcome = simplify(model, X, y, methods="representer", random_state=seed, **options)
    text = outcome.report()
    facts = read(text) | {"is_weighted": "class_weight" in options}
    hold_together(facts)
    weight = None
    if facts["is_weighted"]:
        labels, places = np.unique(outcome._judged.answers, return_inverse=True)
        weight = 1 / np.bincount(places)[places] / len(labels)
    hold_true(facts, outcome, weight)
    for page in (as_page(outcome), as_fragment(outcome)):
        hold_page(page, text, facts)
    # what is printed of the result, and kept in a file, are the same figures
    best = outcome.best_model
    row = facts["methods"][outcome.best]
    head = "agreement" if outcome.is_classifier else "agreement (R²)"
    printed = re.search(r"agreement (?:\(R²\) )?([\d.]+(?: %)?) \(([^)]+)\)", repr(best))
    assert printed[1] == row[head]
    assert printed[2] == row["interval"]
    best.save(tmp_path / "tree.json")
    kept = json.loads((tmp_path / "tree.json").read_text(encoding="utf-8"))["simplified"]
    near(row[head], kept["agreement"], "kept")
    assert repr(SimplifiedModel.load(tmp_path / "tree.json")) == repr(best)
    if outcome.is_classifier and y is not None and len(facts["curve"] if "curve" in facts else ()):
        sizes = [int(row["leaves"]) for row in facts["curve"].values()]
        assert all(one < two for one, two in pairwise(sizes))
    leaves = outcome["representer"].named_tree
    least = options.get("min_samples_leaf", 1 if outcome.is_classifier else 2)
    assert leaves.rows[leaves.nodes.left < 0].min() >= least


def test_what_is_measured_was_not_learned():
    """The plain tree's answers are those of trees of scikit-learn, grown without each part."""
    X, y = table(0, 150, 2)
    model = RandomForestClassifier(15, random_state=0).fit(X, y)
    X, y = table(1, 150, 2)
    outcome = simplify(model, X, y, methods="plain_tree", max_leaf_nodes=8, random_state=0)
    fold_of, answers = outcome._task.fold_of, model.predict(X)
    said = np.empty_like(answers)
    for fold in range(fold_of.max() + 1):
        here = fold_of == fold
        tree = DecisionTreeClassifier(max_leaf_nodes=8, random_state=outcome._task.seed)
        said[here] = tree.fit(X[~here], answers[~here]).predict(X[here].to_numpy())
    np.testing.assert_array_equal(outcome._candidates["plain_tree"].predicted, said)
