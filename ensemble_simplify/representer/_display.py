"""The pruning path of a representer tree as a picture, by scikit-learn's display convention."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.utils.validation import check_is_fitted

from ensemble_simplify.base import CurveDisplay, leaves_axis


@dataclass(kw_only=True, eq=False, repr=False)
class PruningPathDisplay(CurveDisplay):
    """Error against size for the trees on the pruning path.

    Use :meth:`from_estimator`.

    Parameters
    ----------
    n_leaves : ndarray of shape (n_trees,)
        Leaves of the trees on the path, falling.
    errors : dict of str to ndarray of shape (n_trees,)
        Their errors, by the rows that they were measured on.
    selected : int
        Position of the selected tree.
    error_name : str, default="error"
        Written on the vertical axis.
    bands : dict of str to pair of ndarray of shape (n_trees,), default=None
        Lower and upper ends of intervals of some of the errors.

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
    RepresenterTree : Its `path_` is what is drawn.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from ensemble_simplify import PruningPathDisplay, RepresenterTree
    >>> X, y = load_iris(return_X_y=True)
    >>> representer = RepresenterTree(random_state=0).fit(X, y)
    >>> display = PruningPathDisplay.from_estimator(representer)
    """

    n_leaves: np.ndarray
    errors: dict[str, np.ndarray]
    selected: int
    error_name: str = "error"
    bands: dict[str, tuple[np.ndarray, np.ndarray]] | None = None

    _legend: ClassVar = {"loc": "upper right"}  # errors fall with size

    @classmethod
    def from_estimator(cls, estimator: Any, *, ax: Any = None, **kwargs: Any) -> Self:
        """Draw the path of a fitted estimator.

        There are up to three curves. The first is the disagreement with the model on the rows
        that the trees were grown on. The second is the error on the training rows, or on
        synthetic rows for ``select="smeared"``. The third is the error on the held-out rows;
        for ``select="fidelity"`` it is the disagreement with the model there, with a binomial
        interval for labels.

        Parameters
        ----------
        estimator : RepresenterTree
            Fitted.
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
        path = estimator.path_
        named = "smeared rows" if estimator.select == "smeared" else "training rows"
        errors = {"rows grown on": path.costs, named: path.errors}
        bands = {}
        if estimator.select == "fidelity" and estimator._predictor.target == "label":
            name = "disagreement, held-out rows"
            errors[name] = 1.0 - path.fidelity
            bands[name] = 1.0 - path.fidelity_high, 1.0 - path.fidelity_low
        else:
            errors["held-out rows"] = path.held_out_errors
        return cls(
            n_leaves=path.n_leaves,
            errors={name: e for name, e in errors.items() if not np.isnan(e).any()},
            selected=path.selected,
            error_name=_ERROR_NAMES[estimator._predictor.target],
            bands=bands,
        ).plot(ax=ax, **kwargs)

    def _draw(self, ax, curve):
        for i, (name, errors) in enumerate(self.errors.items()):
            style = {"marker": "o^sDv"[i % 5], "color": f"C{i}"}
            line = curve(self.n_leaves, errors, label=name, **style)
            if self.bands and name in self.bands:
                self._band(ax, line, *self.bands[name])
        selected = self.n_leaves[self.selected]
        self._upright(ax, selected, f"selected: {selected} leaves")
        leaves_axis(ax)
        ax.set_ylim(bottom=0.0)
        ax.set(ylabel=self.error_name)


_ERROR_NAMES = {
    "label": "error rate",
    "probabilities": "squared error of the probabilities",
    "value": "mean squared error",
}
