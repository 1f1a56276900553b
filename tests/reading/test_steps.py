"""Sums of step functions: explainable boosting machines, by what their attributes say."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from scipy.special import expit, softmax
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
from written_code import by_python

from ensemble_simplify import export_model, import_model, scorecard, verify
from ensemble_simplify.reading import Model


class _Machine(BaseEstimator):
    """What the package interpret keeps of a model, and answers, one row after the other."""

    __module__ = "interpret.glassbox"

    def fit(self, n_classes=2):
        rng = np.random.default_rng(n_classes)
        shape = () if n_classes < 3 else (n_classes,)
        self.feature_names_in_ = ["age", "height", "job"]
        self.n_features_in_ = 3
        self.feature_types_in_ = ["continuous", "continuous", "nominal"]
        # of a single column, and coarser ones of pairs
        self.bins_ = [
            [np.array([-1.0, 0.1, 0.7]), np.array([0.1])],
            [np.array([0.0])],
            [{"smith": 1, "baker": 3, "clerk": 2}, {"smith": 1, "baker": 1, "clerk": 2}],
        ]
        self.term_features_ = [(0,), (1,), (2,), (0, 2)]
        sizes = [(6,), (4,), (5,), (4, 4)]
        self.term_scores_ = [rng.normal(size=size + shape) for size in sizes]
        self.intercept_ = rng.normal(size=shape or 1)
        self.link_ = {1: "identity", 2: "logit"}.get(n_classes, "mlogit")
        return self

    def _scores(self, X):
        found = []
        for row in np.asarray(X, dtype=object):
            total = self.intercept_.copy()
            for columns, scores in zip(self.term_features_, self.term_scores_, strict=True):
                place = []
                for j in columns:
                    bins = self.bins_[j][min(len(columns), len(self.bins_[j])) - 1]
                    if pd.isna(row[j]):
                        place.append(0)
                    elif isinstance(bins, dict):
                        place.append(bins.get(str(row[j]), -1))
                    else:
                        place.append(1 + int(np.digitize(float(row[j]), bins)))
                total = total + scores[tuple(place)]
            found.append(total)
        return np.array(found)


class ExplainableBoostingClassifier(ClassifierMixin, _Machine):
    __module__ = "interpret.glassbox"

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        return tags

    def fit(self, n_classes=2):
        self.classes_ = np.arange(n_classes)
        return super().fit(n_classes)

    def predict(self, X):
        scores = self._scores(X)
        return (scores[:, 0] > 0).astype(int) if scores.shape[1] == 1 else scores.argmax(axis=1)

    def predict_proba(self, X):
        scores = self._scores(X)
        if scores.shape[1] > 1:
            return softmax(scores, axis=1)
        return np.hstack([1 - expit(scores), expit(scores)])


class ExplainableBoostingRegressor(RegressorMixin, _Machine):
    __module__ = "interpret.glassbox"

    def fit(self, n_classes=1):
        return super().fit(1)

    def predict(self, X):
        return self._scores(X)[:, 0]


MACHINES = {
    "two": lambda: ExplainableBoostingClassifier().fit(2),
    "three": lambda: ExplainableBoostingClassifier().fit(3),
    "numbers": lambda: ExplainableBoostingRegressor().fit(),
}


def frame_of(n=300):
    rng = np.random.default_rng(0)
    cuts = np.array([-1.0, 0.1, 0.7, 0.0])
    cuts = np.concatenate([cuts, np.nextafter(cuts, -9), np.nextafter(cuts, 9), [np.nan]])
    jobs = np.array(["smith", "baker", "clerk", "nurse", None], dtype=object)
    return pd.DataFrame(
        {"age": rng.choice(cuts, n), "height": rng.choice(cuts, n), "job": rng.choice(jobs, n)}
    )


@pytest.mark.parametrize("name", MACHINES)
def test_machine_is_read_as_it_answers(name):
    machine, X = MACHINES[name](), frame_of()
    model = Model.of(machine)
    rows = model.table.read(X)
    found = model.finest.predict_index(rows)
    np.testing.assert_array_equal(found, machine.predict(X))
    again = import_model(export_model(machine, "json"))
    np.testing.assert_array_equal(again.predict(X), machine.predict(X))
    if name != "numbers":
        np.testing.assert_allclose(again.predict_proba(X), machine.predict_proba(X), atol=1e-14)
    rows = X.astype(object).where(X.notna(), None).to_dict("records")
    answers = by_python(export_model(machine, "python"), rows)
    np.testing.assert_array_equal(answers, machine.predict(X))


@pytest.mark.parametrize("name", MACHINES)
def test_machine_is_a_card(name):
    machine, X = MACHINES[name](), frame_of()
    card = scorecard(machine)
    assert card.verification_.equal is True
    np.testing.assert_allclose(card.predict(X), machine.predict(X), atol=1e-12)
    other = MACHINES[name]()
    other.term_scores_[2][2] += 9.0 if name != "three" else [9.0, 0.0, 0.0]
    assert verify(card, other, atol=None if name != "numbers" else 0.1).equal is False


def test_another_link_is_refused():
    machine = MACHINES["numbers"]()
    machine.link_ = "log"
    with pytest.raises(ValueError, match="the link 'log'"):
        Model.of(machine)


def test_the_package_itself():
    glassbox = pytest.importorskip("interpret.glassbox")
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 3)).round(2)
    y = X[:, 0] + X[:, 1] * (X[:, 2] > 0) > 0
    machine = glassbox.ExplainableBoostingClassifier(
        interactions=1, outer_bags=1, max_rounds=20, n_jobs=1
    ).fit(X, y)
    card = scorecard(machine)
    assert card.verification_.equal is True
    np.testing.assert_array_equal(card.predict(X), machine.predict(X))
