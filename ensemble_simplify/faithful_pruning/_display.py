"""Exceptions against trees, by scikit-learn's display convention."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import is_classifier
from sklearn.utils.validation import check_is_fitted

from ensemble_simplify.base import CurveDisplay, counts_axis, shares_axis
from ensemble_simplify.reading import Model


@dataclass(kw_only=True, eq=False, repr=False)
class FaithfulPathDisplay(CurveDisplay):
    """Draw how often smaller ensembles differ from the whole one, against their number of trees.

    There are two curves: for promised points, and for other rows. With `atol`, they show the
    largest difference instead of a share.

    Use :meth:`from_estimator`.

    Parameters
    ----------
    n_trees : ndarray of shape (n_steps,)
        Trees of each ensemble, in rising order.
    exceptions : ndarray of shape (n_steps,)
        Share of the promised points on which each differs; with `atol`, the largest difference at
        these points.
    disagreement : ndarray of shape (n_steps,), default=None
        Share of other rows on which each differs; with `atol`, the largest difference there.
    n_points : int, default=None
        Number of promised points.
    n_rows : int, default=None
        Number of other rows.
    whole : int, default=None
        Trees of the whole ensemble.
    atol : float, default=None
        The tolerance, where values or probabilities are kept within one.

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
    FaithfulPruner : The estimator whose ``path_`` is drawn.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from ensemble_simplify import FaithfulPathDisplay, FaithfulPruner
    >>> X, y = load_iris(return_X_y=True)
    >>> pruner = FaithfulPruner(max_changes=1, random_state=0).fit(X, y)
    >>> display = FaithfulPathDisplay.from_estimator(pruner)
    """

    n_trees: np.ndarray
    exceptions: np.ndarray
    disagreement: np.ndarray | None = None
    n_points: int | None = None
    n_rows: int | None = None
    whole: int | None = None
    atol: float | None = None

    @classmethod
    def from_estimator(
        cls, estimator: Any, X: ArrayLike | None = None, *, ax: Any = None, **kwargs: Any
    ) -> Self:
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
        **kwargs : dict
            Passed to ``ax.plot`` for every curve, as ``linewidth=2``.

        Returns
        -------
        display : object
            The display, with `ax_` and `figure_`.
        """
        check_is_fitted(estimator)
        path, atol = estimator.path_, estimator.atol_
        disagreement, n_rows = None, None
        if X is not None:
            model = Model(estimator.estimator_)
            steps = [estimator.at(n_trees=n) for n in path.n_trees]
            if atol is None:
                answers = model.ask(X)
                apart = [np.mean(step.predict(X) != answers) for step in steps]
            else:
                method = "predict_proba" if is_classifier(estimator) else "predict"
                answers = model.ask(X, method)
                apart = [np.abs(getattr(step, method)(X) - answers).max() for step in steps]
            disagreement, n_rows = np.array(apart), len(answers)
        elif atol is None and not np.isnan(path.agreement).any():
            disagreement = 1.0 - path.agreement
        exceptions = path.n_exceptions / estimator.n_points_
        return cls(
            n_trees=path.n_trees,
            exceptions=exceptions if atol is None else path.max_difference,
            disagreement=disagreement,
            n_points=estimator.n_points_,
            n_rows=n_rows,
            whole=len(estimator.weights_),
            atol=atol,
        ).plot(ax=ax, **kwargs)

    def _draw(self, ax, curve):
        curves = [("promised points", self.exceptions, self.n_points, "o")]
        if self.disagreement is not None:
            curves.append(("other rows", self.disagreement, self.n_rows, "s"))
        for name, shares, n, marker in curves:
            label = name if n is None or not np.isfinite(n) else f"{name} ({n:,})"
            curve(self.n_trees, shares, marker=marker, label=label)
        if self.atol is None:
            shares_axis(ax, np.concatenate([shares for _, shares, *_ in curves]))
        else:
            ax.axhline(self.atol, linestyle=":", color="0.5", zorder=0)
            ax.set_ylim(bottom=0.0)
        counts_axis(ax.xaxis)
        whole = "" if self.whole is None else f" (of {self.whole})"
        what = "share that differs" if self.atol is None else "largest difference"
        ax.set(xlabel=f"trees kept{whole}", ylabel=what)
