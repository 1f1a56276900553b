"""Pictures of cultivated forests, by scikit-learn's display convention."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils.validation import check_is_fitted

from ensemble_simplify.base import CurveDisplay, Display
from ensemble_simplify.writing import in_drawing, wrapped


def _accuracy_by_rank(score, correct):
    """Share of rows and accuracy when those with the smallest scores are kept, ties together."""
    order = np.argsort(score, kind="stable")
    last = np.append(score[order][1:] != score[order][:-1], True)  # of rows with equal scores
    kept = np.arange(1, len(score) + 1)[last]
    return kept / len(score), np.cumsum(correct[order])[last] / kept


@dataclass(kw_only=True, eq=False, repr=False)
class AbstentionDisplay(CurveDisplay):
    """Accuracy of the predictions that remain when a classifier may abstain.

    The plot compares two orders in which rows can be left out, at equal shares: by spread (how much
    the leaves disagree) and by margin (how far the most probable class is ahead of the second).

    Use :meth:`from_estimator` or :meth:`from_predictions`.

    Parameters
    ----------
    coverage, accuracy : ndarray of shape (n_spreads,)
        Share of the rows of the smallest spreads, and the accuracy on them.
    margin_coverage, margin_accuracy : ndarray of shape (n_margins,)
        The same when rows of large margin are kept.
    estimator_name : str, default=None
        Written above the plot.
    min_coverage : float, default=0.1
        Accuracies on a smaller share of the rows are mostly chance and are not drawn.

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
    CultivatedForestClassifier.predict_with_abstention : Predict and abstain.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from ensemble_simplify import AbstentionDisplay, CultivatedForestClassifier
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> clf = CultivatedForestClassifier().fit(X[::2], y[::2])
    >>> display = AbstentionDisplay.from_estimator(clf, X[1::2], y[1::2])
    """

    coverage: np.ndarray
    accuracy: np.ndarray
    margin_coverage: np.ndarray
    margin_accuracy: np.ndarray
    estimator_name: str | None = None
    min_coverage: float = 0.1

    _legend: ClassVar = {"loc": "lower right", "title": "rows left out"}

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: ArrayLike,
        y: ArrayLike,
        *,
        name: str | None = None,
        min_coverage: float = 0.1,
        ax: Any = None,
        **kwargs: Any,
    ) -> Self:
        """Draw for a fitted classifier that has `predict_spread`, on rows it was not fitted on.

        Parameters
        ----------
        estimator : CultivatedForestClassifier
            Fitted.
        X : array-like of shape (n_samples, n_features)
            Rows.
        y : array-like of shape (n_samples,)
            Their labels.
        name : str, default=None
            None means the name of the class.
        min_coverage : float, default=0.1
            Accuracies on a smaller share of the rows are mostly chance and are not drawn.
        ax : matplotlib Axes, default=None
            None draws into a new figure.
        **kwargs : dict
            Passed to ``ax.plot`` for every curve, as ``linewidth=2``.

        Returns
        -------
        display : object
            The display, with `ax_` and `figure_`.
        """
        return cls.from_predictions(
            y,
            estimator.predict(X),
            estimator.predict_spread(X),
            estimator.predict_proba(X),
            name=type(estimator).__name__ if name is None else name,
            min_coverage=min_coverage,
            ax=ax,
            **kwargs,
        )

    @classmethod
    def from_predictions(
        cls,
        y_true: ArrayLike,
        y_pred: ArrayLike,
        spread: ArrayLike,
        proba: ArrayLike,
        *,
        name: str | None = None,
        min_coverage: float = 0.1,
        ax: Any = None,
        **kwargs: Any,
    ) -> Self:
        """Draw for predictions already made, such as those of a cross-validation.

        Parameters
        ----------
        y_true, y_pred : array-like of shape (n_samples,)
            Labels.
        spread : array-like of shape (n_samples,)
            As `predict_spread` gives it.
        proba : array-like of shape (n_samples, n_classes)
            Probabilities, for the margin; at least two classes.
        name : str, default=None
            Written above the plot.
        min_coverage : float, default=0.1
            Accuracies on a smaller share of the rows are mostly chance and are not drawn.
        ax : matplotlib Axes, default=None
            None draws into a new figure.
        **kwargs : dict
            Passed to ``ax.plot`` for every curve, as ``linewidth=2``.

        Returns
        -------
        display : object
            The display, with `ax_` and `figure_`.
        """
        correct = np.asarray(y_true) == np.asarray(y_pred)
        best_two = np.sort(np.asarray(proba), axis=1)[:, -2:]
        if best_two.shape[1] < 2:
            raise ValueError(
                f"proba has {best_two.shape[1]} column, but a margin needs two classes or more. "
                "Pass the probabilities of all classes."
            )
        coverage, accuracy = _accuracy_by_rank(np.asarray(spread), correct)
        margin_coverage, margin_accuracy = _accuracy_by_rank(
            best_two[:, 0] - best_two[:, 1], correct
        )
        return cls(
            coverage=coverage,
            accuracy=accuracy,
            margin_coverage=margin_coverage,
            margin_accuracy=margin_accuracy,
            estimator_name=name,
            min_coverage=min_coverage,
        ).plot(ax=ax, **kwargs)

    def _draw(self, ax, curve):
        of_margin = self.margin_coverage, self.margin_accuracy
        curves = {"by spread": (self.coverage, self.accuracy, "-"), "by margin": (*of_margin, "-.")}
        for label, (coverage, accuracy, style) in curves.items():
            drawn = coverage >= self.min_coverage
            curve(coverage[drawn], accuracy[drawn], label=label, linestyle=style)
        ax.set(xlabel="share of rows kept", ylabel="accuracy on kept rows")
        ax.invert_xaxis()
        if self.estimator_name is not None:
            ax.set_title(self.estimator_name, loc="left")


@dataclass(kw_only=True, eq=False, repr=False)
class ModuleTreeDisplay(Display):
    """Drawing of a tree of modules.

    Each module lists its options as "x_j <= about t", below the number of options that vote. A row
    goes left ("yes") as far as they hold. Lines are as thick as the share of the node's mass that
    takes them. Leaves have the colour of their most frequent class, and purer leaves are stronger.

    Use :meth:`from_estimator`.

    Parameters
    ----------
    labels : dict of int to str
        Text of each drawn node.
    positions : dict of int to (float, float)
        Place of each drawn node, in leaf widths and in levels.
    edges : list of (int, int, float)
        Parent, child, share of the parent's mass.
    classes : dict of int to (int, float)
        Most frequent class and its share, for nodes drawn as leaves.

    Attributes
    ----------
    ax_ : matplotlib Axes
        The plot.
    figure_ : matplotlib Figure
        Figure that holds it.

    See Also
    --------
    CultivatedForestClassifier.export_text : The tree as text.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from ensemble_simplify import CultivatedForestClassifier, ModuleTreeDisplay
    >>> X, y = load_iris(return_X_y=True)
    >>> clf = CultivatedForestClassifier(max_depth=2, max_options=2).fit(X, y)
    >>> display = ModuleTreeDisplay.from_estimator(clf)
    """

    labels: dict[int, str]
    positions: dict[int, tuple[float, float]]
    edges: list[tuple[int, int, float]]
    classes: dict[int, tuple[int, float]]

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        *,
        max_depth: int = 3,
        feature_names: Sequence[str] | None = None,
        decimals: int | None = None,
        max_options: int | None = 3,
        ranges: bool = False,
        fontsize: float = 8,
        ax: Any = None,
    ) -> Self:
        """Draw a fitted classifier.

        Parameters
        ----------
        estimator : CultivatedForestClassifier
            Fitted.
        max_depth : int, default=3
            Modules at this depth are drawn as boxes that say how many leaves are below.
        feature_names : sequence of str, default=None
            None: the names seen in `fit`, or x0, x1, ...
        decimals : int or None, default=None
            Digits after the point; None: as many as three significant digits need.
        max_options : int or None, default=3
            Write at most this many options of a module, the best ones.
        ranges : bool, default=False
            Add the least and the largest of an option's thresholds.
        fontsize : float, default=8
            In points.
        ax : matplotlib Axes, default=None
            None draws into a new figure.

        Returns
        -------
        display : object
            The display, with `ax_` and `figure_`.
        """
        check_is_fitted(estimator)
        tree = estimator.modules_
        # sets of levels can be long
        write = wrapped if estimator._table.coded.any() else in_drawing
        labels, positions, edges, classes = {}, {}, [], {}
        n_slots = 0
        pending = [(0, False)]
        while pending:
            node, children_placed = pending.pop()
            depth = int(tree.depth[node])
            left, right = int(tree.left[node]), int(tree.right[node])
            if children_placed:
                middle = (positions[left][0] + positions[right][0]) / 2
                positions[node] = (middle, depth)
                continue
            if left >= 0 and depth < max_depth:
                decisions = estimator.describe_module(
                    node,
                    feature_names=feature_names,
                    decimals=decimals,
                    max_options=max_options,
                    ranges=ranges,
                )
                n_options = len(tree.options(node))
                vote = [f"vote of {n_options}:"] if n_options > 1 else []
                labels[node] = "\n".join([*vote, *map(write, decisions)])
                edges += [
                    (node, child, tree.mass[child] / tree.mass[node]) for child in (left, right)
                ]
                pending += [(node, True), (right, False), (left, False)]
                continue
            best = int(np.argmax(tree.response[node]))
            classes[node] = (best, float(tree.response[node, best]))
            label = f"{in_drawing(estimator.classes_[best])}: {tree.response[node, best]:.2f}\n"
            label += f"mass {tree.mass[node]:.1f}"
            if left >= 0:
                label += f"\n{tree.n_leaves_below(node)} leaves"
            labels[node] = label
            positions[node] = (n_slots, depth)
            n_slots += 1
        display = cls(labels=labels, positions=positions, edges=edges, classes=classes)
        return display.plot(fontsize=fontsize, ax=ax)

    def plot(self, *, fontsize: float = 8, ax: Any = None) -> Self:
        """Draw the tree.

        Parameters
        ----------
        fontsize : float, default=8
            In points.
        ax : matplotlib Axes, default=None
            None draws into a new figure.

        Returns
        -------
        display : object
            The display, with `ax_` and `figure_`.
        """
        self.ax_ = ax = self._open(ax, figsize=self._size(fontsize))
        from matplotlib.colors import to_rgb

        for number, (parent, child, share) in enumerate(self.edges):
            (x0, y0), (x1, y1) = self.positions[parent], self.positions[child]
            ax.plot([x0, x1], [-y0, -y1], color="0.6", linewidth=0.5 + 5 * share, zorder=1)
            if number < 2:
                answer = (
                    {"ha": "left", "text": " no"} if number else {"ha": "right", "text": "yes "}
                )
                middle = ((x0 + x1) / 2, -(y0 + y1) / 2 + 0.08)
                ax.annotate(xy=middle, fontsize=fontsize, va="bottom", **answer)
        for node, label in self.labels.items():
            color = "white"
            if node in self.classes:
                best, share = self.classes[node]
                weight = 0.15 + 0.5 * share
                base = np.array(to_rgb(f"C{best % 10}"))
                color = tuple(1 - weight * (1 - base))  # towards white
            x, y = self.positions[node]
            bbox = {"boxstyle": "round", "facecolor": color, "edgecolor": "0.4"}
            ax.text(x, -y, label, ha="center", va="center", fontsize=fontsize, bbox=bbox)
        xs, ys = zip(*self.positions.values(), strict=True)
        ax.set_xlim(min(xs) - 0.5, max(xs) + 0.5)
        ax.set_ylim(-max(ys) - 0.5, 0.5)
        ax.axis("off")
        return self

    def _size(self, fontsize):
        """Width and height in inches of a figure that is large enough."""
        letter = 0.6 * fontsize / 72
        lines = {node: label.split("\n") for node, label in self.labels.items()}
        longest = {node: max(map(len, text)) for node, text in lines.items()}
        of_leaf = max(longest[node] for node in self.classes)
        of_module = max((n for node, n in longest.items() if node not in self.classes), default=0)
        slot = letter * max(of_leaf, of_module / 2) + 0.3
        slots, levels = (1 + max(places) for places in zip(*self.positions.values(), strict=True))
        height = 1.5 * fontsize / 72 * max(map(len, lines.values())) + 0.6
        return slots * slot + 0.2, levels * height
