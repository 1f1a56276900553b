"""What the display classes share; each is tested beside its estimator."""

import sys

import numpy as np
import pytest
from sklearn.exceptions import NotFittedError
from sklearn.utils import Bunch

from ensemble_simplify import (
    AbstentionDisplay,
    BudgetPathDisplay,
    CultivatedForestClassifier,
    DepthLeavesDisplay,
    ExceptionPathDisplay,
    FaithfulPathDisplay,
    ModuleTreeDisplay,
    ParetoFrontDisplay,
    PruningPathDisplay,
    SimplificationDisplay,
)

ONE = np.ones(1)
DISPLAYS = [
    AbstentionDisplay(coverage=ONE, accuracy=ONE, margin_coverage=ONE, margin_accuracy=ONE),
    BudgetPathDisplay(curves={"a": Bunch(costs=ONE, errors=ONE)}),
    DepthLeavesDisplay(depth=ONE, n_leaves=ONE),
    ExceptionPathDisplay(
        n_leaves=ONE, exceptions=ONE, row_exceptions=ONE, disagreement=ONE, max_changes=1
    ),
    FaithfulPathDisplay(n_trees=ONE, exceptions=ONE),
    PruningPathDisplay(n_leaves=ONE, errors={"a": ONE}, selected=0),
    SimplificationDisplay(
        titles=["a"], leaves=ONE, agreement=ONE, intervals=np.ones((1, 2)), accuracy=ONE
    ),
    ParetoFrontDisplay(n_leaves=ONE, score=ONE, chosen=0),
    ModuleTreeDisplay(labels={0: "a"}, positions={0: (0, 0)}, edges=[], classes={0: (0, 1.0)}),
]


@pytest.mark.parametrize("display", DISPLAYS, ids=lambda display: type(display).__name__)
def test_without_matplotlib_the_remedy_is_named(display, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib.pyplot", None)
    name = type(display).__name__
    with pytest.raises(ImportError, match=rf"{name} draws .* ensemble-simplify\[plot\]"):
        display.plot()


def test_tree_has_to_be_fitted_before_it_is_drawn():
    with pytest.raises(NotFittedError):
        ModuleTreeDisplay.from_estimator(CultivatedForestClassifier())


@pytest.mark.parametrize("display", DISPLAYS, ids=lambda display: type(display).__name__)
def test_draws_where_it_is_told_and_with_the_style_that_is_wanted(display):
    plt = pytest.importorskip("matplotlib.pyplot")
    several = isinstance(display, SimplificationDisplay)
    figure, given = plt.subplots(1, 1 + several)
    name = "axes" if isinstance(display, SimplificationDisplay) else "ax"
    assert display.plot(**{name: given}) is display
    assert list(np.ravel(getattr(display, f"{name}_"))) == list(np.ravel(given))
    assert display.figure_ is figure
    if not isinstance(display, ModuleTreeDisplay | SimplificationDisplay):
        display.plot(lw=7, markersize=9)
        assert display.figure_ is not figure
        assert {(line.get_lw(), line.get_ms()) for line in display.lines_} == {(7, 9)}
        with pytest.raises(TypeError):
            display.plot(given)
    plt.close("all")
