"""Exceptions against trees, by scikit-learn's display convention."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils.validation import check_is_fitted

from ensemble_simplify.base import CurveDisplay, counts_axis, shares_axis
from ensemble_simplify.reading import Model


@dataclass(kw_only=True, eq=False, repr=False)
class FaithfulPathDisplay(CurveDisplay):
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

    {attributes}

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
        {drawing}
        """
        check_is_fitted(estimator)
        path = estimator.path_
        disagreement, n_rows = None, None
        if X is not None:
            answers = Model(estimator.estimator_).ask(X)
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
        ).plot(ax=ax, **kwargs)

    def _draw(self, ax, curve):
        curves = [("promised points", self.exceptions, self.n_points, "o")]
        if self.disagreement is not None:
            curves.append(("other rows", self.disagreement, self.n_rows, "s"))
        for name, shares, n, marker in curves:
            label = name if n is None or not np.isfinite(n) else f"{name} ({n:,})"
            curve(self.n_trees, shares, marker=marker, label=label)
        shares_axis(ax, np.concatenate([shares for _, shares, *_ in curves]))
        counts_axis(ax.xaxis)
        whole = "" if self.whole is None else f" (of {self.whole})"
        ax.set(xlabel=f"trees kept{whole}", ylabel="answered otherwise")
