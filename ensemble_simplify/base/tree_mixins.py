"""What the estimators with a tree do with it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from copy import copy
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import is_classifier
from sklearn.exceptions import NotFittedError
from sklearn.metrics import accuracy_score, r2_score
from sklearn.utils import ClassifierTags, RegressorTags
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from ensemble_simplify.base.ensemble import tags_of, takes_missing
from ensemble_simplify.base.explained import Explanation, explained
from ensemble_simplify.base.names import NamesItsParameters
from ensemble_simplify.base.plots import pyplot
from ensemble_simplify.base.rows import class_index, fitted_rows
from ensemble_simplify.reading import KeepsVersion, Model, is_booster, unwrap
from ensemble_simplify.writing import CHANCE, NamedTree, with_chances

# Leaves up to which a tree that is printed is whole, and the levels that are shown of a larger one.
_MOST_PRINTED, _LEVELS_PRINTED = 64, 3


def printed(fitted, n_leaves) -> str:
    """What an estimator with ``export_text`` prints as; of many leaves, the first levels."""
    options = {} if n_leaves <= _MOST_PRINTED else {"max_depth": _LEVELS_PRINTED}
    return f"{fitted!r}\n{fitted.export_text(**options)}".rstrip("\n")


class PrintsWhatItHolds(NamesItsParameters):
    """An estimator that prints as its parameters and, once it is fitted, its tree or card."""

    def __str__(self):
        n_leaves = getattr(self, "get_n_leaves", lambda: 1)
        try:
            return printed(self, n_leaves())
        except NotFittedError:
            return repr(self)


class KeepsBoosters(KeepsVersion):
    """Clones share a native booster, which comes fitted, as they share a ``FrozenEstimator``."""

    def __sklearn_clone__(self):
        copied: Any = super().__sklearn_clone__()  # ty: ignore[missing-attribute]
        # a copy of LightGBM's has other answers: it does not know where training was stopped
        given = copied.get_params(deep=False)
        return copied.set_params(**{k: getattr(self, k) for k in given if is_booster(given[k])})


class TakesWhatItsEstimatorTakes(KeepsBoosters):
    """Missing values are taken iff the ensemble takes them."""

    estimator: Any

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()  # ty: ignore[missing-attribute]
        known = vars(self).get("_takes_missing")
        tags.input_tags.allow_nan = takes_missing(self.estimator) if known is None else known
        return tags


class Scored(NamesItsParameters):
    """How right it is: a classifier, or a regressor, as its tags say."""

    predict: Any

    def score(self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> float:
        """Accuracy of a classifier, or the coefficient of determination (R2) of a regressor.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows.
        y : array-like of shape (n_samples,)
            True labels or values.
        sample_weight : array-like of shape (n_samples,) or None, default=None
            Non-negative weights of the rows.

        Returns
        -------
        float
            1 where all are right.
        """
        measure = accuracy_score if is_classifier(self) else r2_score
        return float(measure(y, self.predict(X), sample_weight=sample_weight))


class PrunesItsEstimator(Scored, TakesWhatItsEstimatorTakes):
    """A classifier or a regressor, as the ensemble is that it prunes.

    ``_rows(X)`` answers new rows, checked, as the pruned ensemble takes them.
    """

    pruned_estimator_: Any
    _rows: Callable

    @property
    def _is_of_values(self):
        """Whether the ensemble is a regressor."""
        return self.estimator is not None and tags_of(self.estimator).estimator_type == "regressor"

    @property
    def _has_proba(self):
        """Whether it has probabilities."""
        return not self._is_of_values

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        if self._is_of_values:
            tags.estimator_type, tags.regressor_tags = "regressor", RegressorTags()
            return tags
        tags.estimator_type, tags.classifier_tags = "classifier", ClassifierTags()
        if self.estimator is not None:
            theirs = tags_of(self.estimator).classifier_tags
            tags.classifier_tags.multi_class = theirs is None or theirs.multi_class
        return tags

    def predict(self, X: ArrayLike) -> np.ndarray:
        """Predict with the pruned ensemble.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows.

        Returns
        -------
        ndarray of shape (n_samples,)
            Class labels, or values in regression.
        """
        check_is_fitted(self, "pruned_estimator_")
        return Model(unwrap(self.pruned_estimator_)).ask(self._rows(X))

    @available_if(lambda pruner: pruner._has_proba)
    def predict_proba(self, X: ArrayLike) -> np.ndarray:
        """Predict class probabilities with the pruned ensemble.

        They differ from those of the whole ensemble, unless these are what was to be kept.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows.

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
            One column per class, in the order of `classes_`.
        """
        check_is_fitted(self, "pruned_estimator_")
        return unwrap(self.pruned_estimator_).predict_proba(self._rows(X))


class LearnsFromTables(NamesItsParameters, KeepsVersion):
    """What goes with `learned_rows`: missing values are taken, sparse matrices are not."""

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()  # ty: ignore[missing-attribute]
        tags.input_tags.allow_nan, tags.input_tags.sparse = True, False
        return tags


class HoldsTree(PrintsWhatItHolds, KeepsBoosters):
    """What an estimator does with the scikit-learn tree in its ``decision_tree_``."""

    decision_tree_: Any
    # how the share of a leaf's answer is written, see `NamedTree`
    _shares_of: str
    classes_: np.ndarray

    def predict(self, X: ArrayLike) -> np.ndarray:
        """Predict with the tree.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows with the columns of ``fit``; numbers are cast to float32, as scikit-learn's trees
            do. Values may be missing where some were in ``fit``, and anywhere for trees that were
            grown on labels, to which a new level is a missing value.

        Returns
        -------
        ndarray of shape (n_samples,)
            Class labels, or values in regression.
        """
        X = self._numbers(X)
        return self.decision_tree_.predict(X, check_input=False)

    def _numbers(self, X):
        """Rows as the tree takes them."""
        return fitted_rows(self, X)

    def apply(self, X: ArrayLike) -> np.ndarray:
        """The leaf in which each row ends.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows with the columns of ``fit``.

        Returns
        -------
        ndarray of intp, shape (n_samples,)
            Nodes of ``decision_tree_``.
        """
        check_is_fitted(self)
        return self.decision_tree_.apply(self._numbers(X), check_input=False)

    def decision_path(self, X: ArrayLike) -> Any:
        """The nodes on the way of each row.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows with the columns of ``fit``.

        Returns
        -------
        sparse matrix of shape (n_samples, n_nodes)
            1 where a row passes a node of ``decision_tree_``.
        """
        check_is_fitted(self)
        return self.decision_tree_.decision_path(self._numbers(X), check_input=False)

    def explain(self, X: ArrayLike) -> list[Explanation]:
        """Why each row is answered as it is: its way through the tree, in words.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows with the columns of ``fit``.

        Returns
        -------
        list of Explanation
            One a row. Each prints as a sentence.
        """
        leaves, answers = self.apply(X), self.predict(X)
        chances = np.full(len(leaves), np.nan)
        proba: Any = getattr(self, "predict_proba", None)
        if proba is not None:
            shares = proba(X)
            chances = shares[np.arange(len(shares)), class_index(answers, self.classes_)]
        return explained(self._named(), leaves, answers.tolist(), chances)

    def get_depth(self) -> int:
        """Depth of the tree: splits on the longest way from the root to a leaf.

        Returns
        -------
        int
            0 for a single leaf.
        """
        check_is_fitted(self)
        return int(self.decision_tree_.get_depth())

    def get_n_leaves(self) -> int:
        """Number of leaves of the tree.

        Returns
        -------
        int
            At least 1.
        """
        check_is_fitted(self)
        return int(self.decision_tree_.get_n_leaves())

    def export_text(
        self,
        *,
        feature_names: Sequence[str] | None = None,
        class_names: Sequence | None = None,
        decimals: int | None = None,
        max_depth: int | None = None,
    ) -> str:
        """The tree as indented text, in the columns and levels that were fitted on.

        Parameters
        ----------
        feature_names : sequence of str, default=None
            None: the names seen in ``fit``, or x0, x1, ...
        class_names : sequence, default=None
            What stands for ``classes_``, in their order.
        decimals : int or None, default=None
            Digits after the point of thresholds, which are rounded down, so that values with no
            more digits stay on their side. None: as few as split float32 numbers alike.
        max_depth : int or None, default=None
            Splits deeper than this are cut short. None: none are.

        Returns
        -------
        text : str
            With the class of each leaf, its share and the number of training rows there. Missing
            values are mentioned where the tree has met them in ``fit``.

        See Also
        --------
        export_tree : The tree as rules, SQL, C, Python or JSON.
        """
        tree = self._named(feature_names=feature_names, class_names=class_names)
        return tree.text(decimals, max_depth)

    def plot(
        self,
        *,
        ax: Any = None,
        feature_names: Sequence[str] | None = None,
        class_names: Sequence | None = None,
        **kwargs: Any,
    ) -> list:
        """Draw the tree as `sklearn.tree.plot_tree` does, in the columns and levels fitted on.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            None: the current one, or where no figure is open, a new one that is as large as the
            tree needs.
        feature_names : sequence of str, default=None
            None: the names seen in ``fit``, or x0, x1, ...
        class_names : sequence, default=None
            What stands for ``classes_``, in their order.
        **kwargs
            Other parameters of `sklearn.tree.plot_tree`. Here ``filled=True``, ``rounded=True`` and
            ``impurity=False`` unless told otherwise, and thresholds have as many digits as they
            need unless ``precision`` is given.

        Returns
        -------
        annotations : list of matplotlib Annotation
            As ``plot_tree`` returns them. A row goes to the left child where what is written in
            the box is true of it.
        """
        tree = self._named(feature_names=feature_names, class_names=class_names)
        pyplot(self)
        return tree.draw(ax, **kwargs)

    def _named(self, **names) -> NamedTree:
        """The tree with its words."""
        return NamedTree.of(self, name="estimator", **names)

    def _with_rates(self, X, y) -> Self:
        """A copy with the same labels, whose leaves hold the rates of some rows' labels."""
        tree, other = self.decision_tree_, copy(self)
        leaves = tree.apply(fitted_rows(self, X, any_missing=True), check_input=False)
        rates = np.asarray(y)[:, None] == tree.classes_
        # a label that the tree does not know tells nothing of those that it knows
        known = rates.any(axis=1)
        other.decision_tree_ = with_chances(
            tree, leaves[known], rates[known] * 1.0, np.ones(known.sum())
        )
        other._shares_of = CHANCE
        return other


class HoldsClassifierTree(HoldsTree):
    """`HoldsTree` for classifiers."""

    def predict_proba(self, X: ArrayLike) -> np.ndarray:
        """Predict class probabilities with the tree.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows with the columns of ``fit``; numbers are cast to float32, as scikit-learn's trees
            do. Values may be missing where some were in ``fit``, and anywhere for trees that were
            grown on labels, to which a new level is a missing value.

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
            One column per class, in the order of `classes_`.
        """
        X = self._numbers(X)
        return self.decision_tree_.predict_proba(X, check_input=False)
