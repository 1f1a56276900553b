"""The bred trees as a picture, by scikit-learn's display convention."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.metrics import accuracy_score
from sklearn.utils.validation import check_is_fitted

from ensemble_simplify.base import CurveDisplay, fitted_rows, leaves_axis


@dataclass(kw_only=True, eq=False, repr=False)
class ParetoFrontDisplay(CurveDisplay):
    """Accuracy against size for the bred trees, with other models beside them.

    Use :meth:`from_estimator`.

    Parameters
    ----------
    n_leaves : ndarray of shape (n_trees,)
        Leaves of the trees of the front, rising.
    score : ndarray of shape (n_trees,)
        Their scores.
    chosen : int
        Position of the tree that the estimator is.
    points : dict of str to (int, float), default=None
        Leaves and score of other trees, by name.
    lines : dict of str to float, default=None
        Scores of models whose size is not counted in leaves, by name.
    score_name : str, default="score"
        Written on the vertical axis.

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
    GenesimClassifier.at : Pick a tree of the front by its size.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from ensemble_simplify import GenesimClassifier, ParetoFrontDisplay
    >>> X, y = load_iris(return_X_y=True)
    >>> model = GenesimClassifier(n_bootstraps=5, random_state=0).fit(X[::2], y[::2])
    >>> display = ParetoFrontDisplay.from_estimator(model, X[1::2], y[1::2])
    """

    n_leaves: np.ndarray
    score: np.ndarray
    chosen: int
    points: dict[str, tuple[int, float]] | None = None
    lines: dict[str, float] | None = None
    score_name: str = "score"

    _legend: ClassVar = {"loc": "lower right"}

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: ArrayLike | None = None,
        y: ArrayLike | None = None,
        *,
        others: dict | None = None,
        ax: Any = None,
        **kwargs: Any,
    ) -> Self:
        """Draw the front of a fitted estimator.

        Parameters
        ----------
        estimator : GenesimClassifier
            Fitted.
        X : array-like of shape (n_samples, n_features), default=None
            Rows to measure accuracy on. None draws the scores on the validation rows, which had a
            part in the choice of the trees, with the score of the first population voting together.
        y : array-like of shape (n_samples,), default=None
            Their labels.
        others : dict of str to estimator, default=None
            Other fitted classifiers to draw, by name; needs `X` and `y`. Trees become points
            at their number of leaves, other models horizontal lines.
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
        if (X is None) != (y is None):
            raise ValueError("X and y are given together, or both left out.")
        if X is None and others:
            raise ValueError(
                f"others={sorted(others)} need rows to be measured on. Give X and y too."
            )
        front = estimator.pareto_front_
        chosen = int(np.searchsorted(front.n_leaves, estimator.n_leaves_))
        points, lines = {}, {}
        if X is None:
            score, score_name = front.score, "score on the validation rows"
            lines["first population, voting"] = estimator.ensemble_score_
        else:
            rows = fitted_rows(estimator, X)
            score = np.array(
                [accuracy_score(y, tree.predict(rows, check_input=False)) for tree in front.trees]
            )
            score_name = "accuracy"
        for name, model in (others or {}).items():
            tree = getattr(model, "decision_tree_", model)
            if hasattr(tree, "get_n_leaves"):
                points[name] = (int(tree.get_n_leaves()), float(model.score(X, y)))
            else:
                lines[name] = float(model.score(X, y))
        return cls(
            n_leaves=front.n_leaves,
            score=score,
            chosen=chosen,
            points=points,
            lines=lines,
            score_name=score_name,
        ).plot(ax=ax, **kwargs)

    def _draw(self, ax, curve):
        curve(self.n_leaves, self.score, marker="o", color="C0", label="bred trees")
        n_leaves = self.n_leaves[self.chosen]
        label = f"the result: {n_leaves} leaves"
        self._ring(ax, n_leaves, self.score[self.chosen], color="C0", label=label)
        for i, (name, (n_leaves, score)) in enumerate((self.points or {}).items()):
            style = {"marker": "sDv^P*X"[i % 7], "color": f"C{1 + i % 6}", "ls": "none"}
            ax.plot(n_leaves, score, ms=7, label=f"{name}: {n_leaves} leaves", **style)
        for i, (name, score) in enumerate((self.lines or {}).items()):
            ax.axhline(score, color="0.35", ls=["--", ":", "-."][i % 3], lw=1.2, label=name)
        leaves_axis(ax)
        ax.set(ylabel=self.score_name)
