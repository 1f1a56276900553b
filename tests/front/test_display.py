"""What is drawn of the results of `simplify` lies inside of its axes."""

import numpy as np
import pytest
from sklearn.datasets import make_classification
from sklearn.ensemble import RandomForestClassifier

from ensemble_simplify import simplify

pytest.importorskip("matplotlib")


@pytest.fixture(scope="module")
def outcome():
    X, y = make_classification(400, 8, n_informative=6, flip_y=0.2, random_state=0)
    model = RandomForestClassifier(30, random_state=0).fit(X[:200], y[:200])
    return simplify(model, X[200:], y[200:], methods="representer", random_state=0)


def test_results_and_levels_are_inside(outcome):
    display = outcome.plot()
    values = [row for row in outcome.table if row.name != "majority"]
    for ax, key in zip(display.axes_, ("agreement", "accuracy"), strict=True):
        low, high = ax.get_ylim()
        drawn = np.array([row[key] for row in values[1:] if np.isfinite(row[key])])
        assert len(drawn) >= 3
        assert ((low < drawn) & (drawn < high)).all()
    # the model's accuracy is a level, with its name beside it
    low, high = display.axes_[1].get_ylim()
    assert low < outcome.table[0].accuracy < high
    names = [text for text in display.axes_[1].texts if text.get_text() == "the model"]
    assert [text.get_position()[1] for text in names] == [outcome.table[0].accuracy]


def test_level_beyond_the_results_is_inside(outcome):
    display = outcome.plot()
    display.accuracy = np.linspace(0.7, 0.74, len(display.titles))
    display.curve = display.curve.copy()
    display.curve[:, 2] = 0.72
    for level in (0.76, 0.685):
        display.model_accuracy = level
        low, high = display.plot().axes_[1].get_ylim()
        assert low < level < high
