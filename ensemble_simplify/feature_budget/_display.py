"""The pruning path as a picture, by scikit-learn's display convention."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import is_regressor
from sklearn.utils import Bunch
from sklearn.utils.validation import check_is_fitted

from ensemble_simplify.base import CurveDisplay, pyplot
from ensemble_simplify.writing import in_drawing

# Half the width of an interval, in standard errors.
_WIDTH = 1.96

# Features and groups that are drawn by themselves in the picture of costs.
_MAX_NAMES = 9


@dataclass(kw_only=True, eq=False, repr=False)
class BudgetPathDisplay(CurveDisplay):
    """Draw error against cost for all optimal prunings of an ensemble.

    Use :meth:`from_estimator` to create it.

    Parameters
    ----------
    curves : dict
        Maps each label to a Bunch with arrays ``costs`` and ``errors``, from the lowest error to
        no cost. It may also hold ``standard_errors`` and ``costs_by_name``, as
        :meth:`FeatureBudgetPruner.path_scores` returns them.
    unpruned : tuple of float or None, default=None
        Cost and error of the unpruned ensemble.
    chosen : tuple of float or None, default=None
        Cost and error of the pruning that was chosen.
    error_name : str, default="Error of the pruned ensemble"
        Label of the vertical axis.
    budget : float or None, default=None
        Highest mean cost that was allowed.
    candidates : Bunch or None, default=None
        ``costs`` and ``errors`` of the prunings of all ensembles that were fitted, and their lower
        ``envelope``, as in `FeatureBudgetPruner.candidates_`.

    Attributes
    ----------
    ax_ : matplotlib Axes
        The plot.
    figure_ : matplotlib Figure
        Figure that holds it.
    lines_ : list of matplotlib Line2D
        One for each curve.

    See Also
    --------
    FeatureBudgetPruner : The estimator whose path this shows.

    Examples
    --------
    >>> import matplotlib
    >>> matplotlib.use("Agg")
    >>> from sklearn.datasets import load_iris
    >>> from ensemble_simplify import BudgetPathDisplay, FeatureBudgetPruner
    >>> X, y = load_iris(return_X_y=True)
    >>> pruner = FeatureBudgetPruner(random_state=0).fit(X, y)
    >>> display = BudgetPathDisplay.from_estimator(pruner, X, y)
    >>> len(display.lines_)
    2
    """

    curves: dict[str, Bunch]
    unpruned: tuple[float, float] | None = None
    chosen: tuple[float, float] | None = None
    error_name: str = "Error of the pruned ensemble"
    budget: float | None = None
    candidates: Bunch | None = None

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: ArrayLike,
        y: ArrayLike,
        *,
        sample_weight: ArrayLike | None = None,
        individual: bool = True,
        ax: Any = None,
        **kwargs: Any,
    ) -> Self:
        """Measure every pruning on the path of a fitted pruner, and draw the result.

        Parameters
        ----------
        estimator : FeatureBudgetPruner
            Fitted.
        X : array-like of shape (n_samples, n_features)
            Rows to measure on. On the rows of the fit, errors look better than they are.
        y : array-like of shape (n_samples,)
            Labels, or target values.
        sample_weight : array-like of shape (n_samples,) or None, default=None
            Weights of the rows.
        individual : bool, default=True
            Whether to show the trees pruned one by one, too.
        ax : matplotlib Axes, default=None
            None draws into a new figure.
        **kwargs : dict
            Passed to ``ax.plot`` for every curve, as ``linewidth=2``.

        Returns
        -------
        display : object
            The display, with `ax_` and `figure_`.
        """
        check_is_fitted(estimator, "pruned_estimator_")
        names = {"ensemble": "pruned as an ensemble"}
        if individual:
            names["tree"] = "pruned tree by tree"
        curves, unpruned = {}, None
        for sharing, name in names.items():
            scores = curves[name] = estimator.path_scores(X, y, sample_weight, sharing=sharing)
            unpruned = scores.unpruned_cost, scores.unpruned_error
        weight = None if sample_weight is None else np.asarray(sample_weight)
        cost = float(np.average(estimator.feature_cost(X), weights=weight))
        answer, y = estimator.predict(X), np.asarray(y)
        wrong = (answer - y) ** 2 if is_regressor(estimator) else answer != y
        error = float(np.average(wrong, weights=weight))
        kind = "Mean squared error" if is_regressor(estimator) else "Error"
        return cls(
            curves=curves,
            unpruned=unpruned,
            chosen=(cost, error),
            error_name=f"{kind} of the pruned ensemble",
            budget=estimator.budget_,
            candidates=estimator.candidates_,
        ).plot(ax=ax, **kwargs)

    def _draw(self, ax, curve):
        if self.candidates is not None:
            self._draw_candidates(ax, self.candidates)
        styles = ({"color": "tab:blue"}, {"color": "tab:orange", "linestyle": "--"})
        for k, (name, found) in enumerate(self.curves.items()):
            style = {"marker": ".", "markersize": 6, **styles[k % len(styles)]}
            line = curve(found.costs, found.errors, label=name, **style)
            if k == 0 and "standard_errors" in found:
                half = _WIDTH * found.standard_errors
                low, high = np.maximum(found.errors - half, 0), found.errors + half
                self._band(ax, line, low, high, "its 95 % interval")
        if self.unpruned is not None:
            ax.plot(*self.unpruned, "ks", label="not pruned", zorder=3)
        if self.chosen is not None:
            self._ring(ax, *self.chosen, color="tab:red", label="chosen")
        self._costs_axis(ax)
        ax.set(ylabel=self.error_name)

    def _costs_axis(self, ax):
        if self.budget is not None:
            self._upright(ax, self.budget, "budget")
        ax.set(xlabel="Mean cost of a row")
        ax.set_xlim(left=0)

    @staticmethod
    def _draw_candidates(ax, found):
        """The prunings of all ensembles that were fitted, by rows that they had not seen."""
        costs, errors = np.concatenate(found.costs), np.concatenate(found.errors)
        ax.plot(costs, errors, ".", color="0.75", markersize=3, label="candidates, out of bag")
        style = {"drawstyle": "steps-post", "color": "0.45", "label": "their lower envelope"}
        ax.plot(found.envelope.costs, found.envelope.errors, **style)

    def plot_costs(self, *, ax: Any = None) -> Self:
        """Draw what the rows pay for each feature and each group, along the first curve.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            None draws into a new figure.

        Returns
        -------
        display : BudgetPathDisplay
            The display, with `ax_` and `figure_`.
        """
        plt = pyplot(self)
        self.ax_ = ax = self._open(ax)
        curve = next(iter(self.curves.values()))
        spent = {name: part for name, part in curve.costs_by_name.items() if part.any()}
        ranked = sorted(spent, key=lambda name: -spent[name].sum())
        shown, rest = ranked[:_MAX_NAMES], ranked[_MAX_NAMES:]
        parts = [spent[name] for name in shown]
        if rest:
            parts.append(np.sum([spent[name] for name in rest], axis=0))
            shown = [*shown, f"{len(rest)} others"]
        order = np.argsort(curve.costs, kind="stable")
        # Light to dark blues would not tell ten parts from one another.
        colors = plt.get_cmap("tab10")(np.arange(len(parts)))
        stacked = [part[order] for part in parts]
        labels = [in_drawing(name) for name in shown]
        ax.stackplot(curve.costs[order], *stacked, labels=labels, colors=colors, alpha=0.8)
        self._costs_axis(ax)
        ax.set(ylabel="Part of it for each feature")
        ax.set_ylim(bottom=0)
        handles, labels = ax.get_legend_handles_labels()
        ax.legend(handles[::-1], labels[::-1], loc="upper left", fontsize="small")
        return self
