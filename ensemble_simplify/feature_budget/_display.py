"""The pruning path as a picture, by scikit-learn's display convention."""

from __future__ import annotations

import numpy as np
from sklearn.base import is_regressor
from sklearn.utils import Bunch
from sklearn.utils.validation import check_is_fitted

from ensemble_simplify._base import pyplot


class BudgetPathDisplay:
    """Error against cost for all optimal prunings of an ensemble.

    Use :meth:`from_estimator` to create one.

    Parameters
    ----------
    curves : dict
        Label -> Bunch with arrays ``costs`` and ``errors``, from the lowest error to no cost.
    unpruned : tuple of float or None, default=None
        Cost and error of the unpruned ensemble.
    chosen : tuple of float or None, default=None
        Cost and error of the pruning that was chosen.
    error_name : str, default="Error of the pruned ensemble"
        Label of the vertical axis.

    Attributes
    ----------
    lines_ : list of matplotlib Line2D
        One a curve.
    ax_ : matplotlib Axes
    figure_ : matplotlib Figure

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

    def __init__(
        self, *, curves, unpruned=None, chosen=None, error_name="Error of the pruned ensemble"
    ):
        self.curves = curves
        self.unpruned = unpruned
        self.chosen = chosen
        self.error_name = error_name

    @classmethod
    def from_estimator(
        cls, estimator, X, y, *, sample_weight=None, individual=True, ax=None, **kwargs
    ):
        """Evaluate every pruning on the path of a fitted pruner, and plot.

        Parameters
        ----------
        estimator : FeatureBudgetPruner
            Fitted.
        X : array-like of shape (n_samples, n_features)
            Rows to evaluate on; not those of the fit, or errors look better than they are.
        y : array-like of shape (n_samples,)
            Labels, or target values.
        sample_weight : array-like of shape (n_samples,) or None, default=None
            Weights of the rows.
        individual : bool, default=True
            Also show the trees pruned one by one.
        ax : matplotlib Axes or None, default=None
            Where to draw; None: a new figure.
        **kwargs : dict
            Passed to ``ax.plot`` for both curves.

        Returns
        -------
        display : BudgetPathDisplay
            The display.
        """
        check_is_fitted(estimator, "pruned_estimator_")
        names = {"ensemble": "pruned as an ensemble"}
        if individual:
            names["tree"] = "pruned tree by tree"
        curves, unpruned = {}, None
        for sharing, name in names.items():
            scores = estimator.path_scores(X, y, sample_weight, sharing=sharing)
            curves[name] = Bunch(costs=scores.costs, errors=scores.errors)
            unpruned = scores.unpruned_cost, scores.unpruned_error
        cost = float(np.average(estimator.feature_cost(X), weights=sample_weight))
        answer, y = estimator.predict(X), np.asarray(y)
        wrong = (answer - y) ** 2 if is_regressor(estimator) else answer != y
        error = float(np.average(wrong, weights=sample_weight))
        kind = "Mean squared error" if is_regressor(estimator) else "Error"
        display = cls(
            curves=curves,
            unpruned=unpruned,
            chosen=(cost, error),
            error_name=f"{kind} of the pruned ensemble",
        )
        return display.plot(ax=ax, **kwargs)

    def plot(self, *, ax=None, **kwargs):
        """Draw the curves.

        Parameters
        ----------
        ax : matplotlib Axes or None, default=None
            None: a new figure.
        **kwargs : dict
            Passed to ``ax.plot`` for every curve.

        Returns
        -------
        display : BudgetPathDisplay
            The display.
        """
        plt = pyplot(self)
        if ax is None:
            _, ax = plt.subplots()
        self.ax_, self.figure_ = ax, ax.figure
        styles = ({"color": "tab:blue"}, {"color": "tab:orange", "linestyle": "--"})
        self.lines_ = []
        for k, (name, curve) in enumerate(self.curves.items()):
            style = {"marker": ".", "label": name, **styles[k % len(styles)], **kwargs}
            (line,) = ax.plot(curve.costs, curve.errors, **style)
            self.lines_.append(line)
        if self.unpruned is not None:
            ax.plot(*self.unpruned, "ks", label="not pruned", zorder=3)
        if self.chosen is not None:
            ax.plot(
                *self.chosen,
                "o",
                markersize=10,
                markerfacecolor="none",
                color="tab:red",
                label="chosen",
                zorder=3,
            )
        ax.set_xlabel("Mean cost of a row")
        ax.set_ylabel(self.error_name)
        ax.set_xlim(left=0)
        ax.legend()
        return self
