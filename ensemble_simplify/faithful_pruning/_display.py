"""Exceptions against trees, by scikit-learn's display convention."""

from __future__ import annotations

import numpy as np
from sklearn.utils.validation import check_is_fitted

from ensemble_simplify.base import pyplot, shares_axis


class FaithfulPathDisplay:
    """Draw how often smaller ensembles answer otherwise, on promised points and on other rows.

    Use :meth:`from_estimator`.

    Parameters
    ----------
    n_trees : ndarray of shape (n_steps,)
        Trees of each ensemble, in rising order.
    exceptions : ndarray of shape (n_steps,)
        Share of the promised points that each answers otherwise.
    disagreement : ndarray of shape (n_steps,), default=None
        Share of other rows that each answers otherwise.
    n_points : int, default=None
        Number of promised points.
    n_rows : int, default=None
        Number of other rows.
    whole : int, default=None
        Trees of the whole ensemble.

    Attributes
    ----------
    lines_ : list of matplotlib Line2D
        One per curve.
    ax_ : matplotlib Axes
        The plot.
    figure_ : matplotlib Figure
        Figure that holds it.

    See Also
    --------
    FaithfulPruner : The estimator whose ``path_`` is drawn.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.ensemble import RandomForestClassifier
    >>> from ensemble_simplify import FaithfulPathDisplay, FaithfulPruner
    >>> X, y = load_iris(return_X_y=True)
    >>> forest = RandomForestClassifier(20, random_state=0)
    >>> pruner = FaithfulPruner(forest, max_changes=1, random_state=0).fit(X, y)
    >>> display = FaithfulPathDisplay.from_estimator(pruner)
    >>> display.figure_.savefig("path.png")  # doctest: +SKIP
    """

    def __init__(
        self, *, n_trees, exceptions, disagreement=None, n_points=None, n_rows=None, whole=None
    ):
        self.n_trees = n_trees
        self.exceptions = exceptions
        self.disagreement = disagreement
        self.n_points = n_points
        self.n_rows = n_rows
        self.whole = whole

    @classmethod
    def from_estimator(cls, estimator, X=None, *, ax=None):
        """Draw the path of a fitted estimator.

        Parameters
        ----------
        estimator : FaithfulPruner
            Fitted, with `max_changes`.
        X : array-like of shape (n_samples, n_features), default=None
            Rows that nothing is promised about. Each ensemble is compared with the whole one on
            them. None: the rows that were held out in ``fit``, if any.
        ax : matplotlib Axes, default=None
            None draws into a new figure.

        Returns
        -------
        display : FaithfulPathDisplay
            With `ax_` and `figure_`.
        """
        check_is_fitted(estimator)
        path = estimator.path_
        disagreement, n_rows = None, None
        if X is not None:
            answers = estimator.estimator_.predict(X)
            steps = [estimator.at(n_trees=n) for n in path.n_trees]
            disagreement = np.array([np.mean(step.predict(X) != answers) for step in steps])
            n_rows = len(answers)
        elif not np.isnan(path.agreement).any():
            disagreement = 1.0 - path.agreement
        return cls(
            n_trees=path.n_trees,
            exceptions=path.n_exceptions / estimator.n_points_,
            disagreement=disagreement,
            n_points=estimator.n_points_,
            n_rows=n_rows,
            whole=len(estimator.weights_),
        ).plot(ax=ax)

    def plot(self, *, ax=None):
        """Draw the curves.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            None draws into a new figure.

        Returns
        -------
        display : FaithfulPathDisplay
            With `ax_` and `figure_`.
        """
        plt = pyplot(self)
        from matplotlib.ticker import MaxNLocator

        if ax is None:
            _, ax = plt.subplots(figsize=(6, 4), layout="constrained")
        curves = [("promised points", self.exceptions, self.n_points)]
        if self.disagreement is not None:
            curves.append(("other rows", self.disagreement, self.n_rows))
        self.lines_ = []
        for i, (name, share, n) in enumerate(curves):
            label = name if n is None or not np.isfinite(n) else f"{name} ({n:,})"
            self.lines_ += ax.plot(self.n_trees, share, "os"[i] + "-", ms=4, lw=1.2, label=label)
        shares_axis(ax, np.concatenate([share for _, share, _ in curves]))
        ax.xaxis.set_major_locator(MaxNLocator(integer=True, steps=[1, 2, 5, 10]))
        whole = "" if self.whole is None else f" (of {self.whole})"
        ax.set(xlabel=f"trees kept{whole}", ylabel="answered otherwise")
        ax.grid(alpha=0.3)
        ax.legend(frameon=False)
        self.ax_ = ax
        self.figure_ = ax.figure
        return self
