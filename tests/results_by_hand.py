"""Results of `simplify` made by hand from small real fits, to test what is shown of them."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pandas as pd
from sklearn.datasets import load_digits, load_iris, make_classification, make_regression
from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor
from sklearn.metrics import accuracy_score, balanced_accuracy_score, r2_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor
from sklearn.utils import Bunch

from ensemble_simplify import differences
from ensemble_simplify.base import binomial_interval
from ensemble_simplify.reading import Table
from ensemble_simplify.writing import NamedTree


def stand_in(
    model,
    X,
    y,
    *,
    leaves=8,
    sizes=(4, 8, 16, 32),
    numbers=None,
    level="follows",
    table=None,
    without_y=False,
):
    """A `Simplification` as the report needs it, judged on every third row."""
    by_class = hasattr(model, "classes_")
    kind = DecisionTreeClassifier if by_class else DecisionTreeRegressor
    numbers = np.asarray(X, dtype=np.float64) if numbers is None else numbers
    answers = model.predict(X)
    aside = np.arange(len(y)) % 3 == 0

    def grown(size, labels):
        return kind(max_leaf_nodes=size, random_state=0).fit(numbers[~aside], labels[~aside])

    def row_of(name, predicted, n_leaves, trees=1, **more):
        truth, own = (y[aside], answers[aside])
        score = accuracy_score if by_class else r2_score
        agreement = score(own, predicted)
        alike = np.asarray(predicted == own)
        low, high = agreement - 0.04, min(agreement + 0.03, 1.0)
        if by_class:
            low, high = (float(end) for end in binomial_interval(alike.sum(), len(alike)))
        classes = np.unique(own).tolist() if by_class else []
        return Bunch(
            name=name, leaves=n_leaves, trees=trees, agreement=agreement, agreement_low=low,
            agreement_high=high, class_agreement={c: alike[own == c].mean() for c in classes},
            accuracy=np.nan if without_y else score(truth, predicted),
            balanced_accuracy=balanced_accuracy_score(truth, predicted)
            if by_class and not without_y else np.nan,
            **{"promise": "", "is_proven": False, "is_tree": trees == 1, "is_measured": True,
               "is_card": False, "bins": None, "seconds": 0.2, "note": "", **more},
        )  # fmt: skip

    trees = {size: grown(size, answers) for size in {*sizes, leaves}}
    best = trees[leaves]
    named = NamedTree.of(best)
    if table is not None:
        told = table.gaps.seen.copy()
        named = replace(named, names=list(table.names), table=table, told=told)
    elif hasattr(X, "columns"):
        named = NamedTree.of(best, feature_names=[str(name) for name in X.columns])
    own = [tree.get_n_leaves() for tree in getattr(model, "estimators_", ())]
    most = pd.Series(answers).mode()[0] if by_class else answers.mean()
    rows = [
        row_of("model", answers[aside], sum(own) or None, len(own) or None),
        row_of("majority", np.full(aside.sum(), most), 1),
    ]
    for name, fitted in (
        ("plain_tree", grown(leaves, answers)), ("plain_tree_on_y", grown(leaves, y)),
        ("representer", best),
    ):  # fmt: skip
        rows.append(row_of(name, fitted.predict(numbers[aside]), fitted.get_n_leaves()))
    rows.append(
        row_of("born_again_1", answers[aside], 231, is_proven=True, seconds=3.14,
               promise="the model's answer at all 198,378 points that differ from a training row "
                       "in at most one feature, proven")
    )  # fmt: skip
    empty = {key: np.nan for key in rows[-1] if isinstance(rows[-1][key], float)}
    rows.append(
        Bunch(**{**rows[-1], **empty, "name": "faithful", "is_measured": False, "promise": "",
               "leaves": None, "trees": None, "class_agreement": {}, "seconds": 0.1,
               "note": "failed: zero-size array to reduction operation minimum"})
    )  # fmt: skip
    curve = []
    for size in sizes:
        one = row_of("", trees[size].predict(numbers[aside]), trees[size].get_n_leaves())
        curve.append(
            Bunch(n_leaves=size, leaves=one.leaves, agreement=one.agreement,
                  agreement_low=one.agreement_low, agreement_high=one.agreement_high,
                  plain_agreement=one.agreement - 0.02, accuracy=one.accuracy,
                  is_best=size == leaves)
        )  # fmt: skip
    row = rows[4]
    text = {
        "follows": f"The tree of {row.leaves} leaves follows the model.",
        "partly": f"The tree of {row.leaves} leaves shows what the model goes by, but cannot "
        "replace it.",
        "none": f"No tree of {row.leaves} leaves follows this model.",
    }[level]
    return SimpleNamespace(
        table=rows, best="representer", model=model, curve=curve, is_classifier=by_class,
        reason="It agrees with the model on 95.8 % of the held-out rows, and no other tree of at "
        f"most {leaves} leaves does better by more than one standard error.",
        verdict=SimpleNamespace(
            level=level, text=text, agreement=row.agreement - 0.004,
            agreement_low=row.agreement_low - 0.004, agreement_high=row.agreement_high - 0.004,
            majority=rows[1].agreement if by_class else 0.0, skill=0.9,
            model_accuracy=rows[0].accuracy, tree_accuracy=row.accuracy,
            lost=rows[0].accuracy - row.accuracy, lost_by_tree=0.0,
        ),
        notes=["Of the 120,000 rows, 50,000 were drawn at random and used."],
        not_tried={
            "feature_budget": "feature_costs was not given",
            "genesim": 'methods="auto" leaves it out',
            "born_again_0": 'methods="auto" leaves it out',
        },
        max_leaf_nodes=leaves, n_rows=len(y), n_judged=int(aside.sum()), n_folds=1, seconds=4.2,
        _stability=None,
        feature_names=list(getattr(X, "columns", [])), results={},
        best_model=SimpleNamespace(named_card=None, named_tree=named),
        _differences=differences(
            lambda _: answers[aside].astype(object) if by_class else answers[aside],
            lambda _: best.predict(numbers[aside]).astype(object if by_class else float),
            X[aside], max_boxes=3, random_state=0,
        ),
    )  # fmt: skip


def of_iris(**options):
    iris = load_iris(as_frame=True)
    y = iris.target_names[iris.target]
    model = RandomForestClassifier(20, random_state=0).fit(iris.data, y)
    return stand_in(model, iris.data, y, **{"leaves": 4, "sizes": (4, 8), **options})


def ship(n=600, seed=0):
    """A made table like that of the Titanic, with text and gaps."""
    rng = np.random.default_rng(seed)
    X = pd.DataFrame({
        "sex": pd.Categorical(rng.choice(["female", "male"], n)),
        "port of embarkation": pd.Categorical(
            rng.choice(["Southampton", "Cherbourg", "Queenstown", "Belfast", "Bristol"], n)
        ),
        "class": rng.integers(1, 4, n).astype(float),
        "age": rng.uniform(1, 80, n).round(),
        "fare": rng.gamma(2, 20, n).round(2),
    })  # fmt: skip
    score = 1.6 * (X["sex"] == "female") - 0.7 * X["class"] - 0.02 * X["age"] + 0.01 * X["fare"]
    score += 0.8 * X["port of embarkation"].isin(["Cherbourg", "Belfast"])
    y = np.where(score + rng.logistic(0, 0.4, n) > score.median(), "survived", "died")
    X.loc[rng.random(n) < 0.15, "age"] = np.nan
    return X, y


class OnCodes:
    """A model of numbers that takes a table."""

    def __init__(self, model, table):
        self.model, self.table = model, table
        if hasattr(model, "classes_"):
            self.classes_ = model.classes_

    def predict(self, X):
        return self.model.predict(self.table.encode(X))


def of_ship(**options):
    X, y = ship()
    table = Table.of_rows(X)
    numbers = np.asarray(table.encode(X))
    forest = RandomForestClassifier(30, random_state=0).fit(numbers, y)
    return stand_in(OnCodes(forest, table), X, y, numbers=numbers, table=table, **options)


def of_regression(**options):
    X, y = make_regression(500, 5, n_informative=4, noise=8, random_state=0)
    X = pd.DataFrame(X, columns=["rooms", "distance to the station (m)", "age", "built", "x"])
    X["built"] = 1.6e9 + 1e7 * X["built"].round(2)
    y = 400_000 + 2_500 * y
    model = RandomForestRegressor(30, random_state=0).fit(X, y)
    return stand_in(model, X, y, **options)


def of_rare(**options):
    X, y = make_classification(
        900, 6, n_informative=4, n_redundant=0, n_classes=3, n_clusters_per_class=1,
        weights=[0.75, 0.21], random_state=2,
    )  # fmt: skip
    y = np.array(["nothing to do", "to be looked at again", "fraud"])[y]
    model = make_pipeline(StandardScaler(), SVC()).fit(X, y)
    return stand_in(model, X, y, level="partly", **options)


def of_digits(**options):
    X, y = load_digits(return_X_y=True)
    model = RandomForestClassifier(30, random_state=0).fit(X, y)
    return stand_in(model, X, y, level="none", **{"leaves": 16, "sizes": (16, 32), **options})


def of_levels(**options):
    """Columns with many long levels, and a deep tree."""
    rng = np.random.default_rng(0)
    n = 1500
    jobs = [
        f"{a} of {b}"
        for a in ("director", "assistant", "inspector")
        for b in ("agriculture and fisheries", "public roads", "schools", "harbours", "taxes")
    ]
    X = pd.DataFrame({
        "occupation of the applicant": pd.Categorical(rng.choice(jobs, n)),
        "amount": rng.gamma(2, 3000, n).round(),
        "months": rng.integers(3, 60, n).astype(float),
        "purpose": pd.Categorical(rng.choice(["car", "furniture", "education", "repairs"], n)),
    })  # fmt: skip
    table = Table.of_rows(X)
    numbers = np.asarray(table.encode(X))
    y = np.sin(numbers[:, 0]) + numbers[:, 1] / 4000 - np.cos(numbers[:, 2] / 5) * numbers[:, 3]
    y = np.where(y > np.median(y), "is paid back", "is not paid back in full")
    forest = RandomForestClassifier(30, random_state=0).fit(numbers, y)
    options = {"leaves": 32, **options}
    return stand_in(OnCodes(forest, table), X, y, numbers=numbers, table=table, **options)


ALL = {
    "iris": of_iris, "ship": of_ship, "regression": of_regression, "rare": of_rare,
    "digits": of_digits, "levels": of_levels,
    "two": lambda: of_iris(leaves=2, sizes=(2,)), "no_y": lambda: of_ship(without_y=True),
}  # fmt: skip
