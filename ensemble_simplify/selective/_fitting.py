"""Fit selective trees: split the rows, grow the tree, count at its nodes, certify and prove."""

from __future__ import annotations

from copy import copy
from dataclasses import replace
from numbers import Integral, Real
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils import Bunch, check_random_state
from sklearn.utils.validation import check_is_fitted

from ensemble_simplify.base import (
    Fittable,
    Interval,
    StrOptions,
    TakesWhatItsEstimatorTakes,
    absolute_tolerance,
    binomial_interval,
    check_atol,
    check_weights,
    comes_fitted,
    differ,
    fit_context,
    fitted_rows,
    rows_and_targets,
    safe_indexing,
    warn,
)
from ensemble_simplify.grid import Domain, limited
from ensemble_simplify.reading import column_index, learned_from
from ensemble_simplify.representer import RepresenterTree
from ensemble_simplify.selective._answers import AnswersInPart
from ensemble_simplify.selective._certificate import Counts, certified, expected, upper_bound
from ensemble_simplify.selective._proven import proven_leaves
from ensemble_simplify.writing import pruned_copy

# Leaves of the large tree: so many, or so many times those asked for.
_MOST_GROWN, _GROWN = 144, 3
_DRAWN = 8_000  # synthetic rows that expected rates come from


class SelectiveTree(AnswersInPart, TakesWhatItsEstimatorTakes):
    """What both selective trees do."""

    estimator: Any
    atol: Any
    confidence: float
    max_leaf_nodes: int
    calibration_fraction: float
    against: str
    groups: str | int | None
    time_limit: float | None
    n_jobs: int | None
    random_state: Any
    verbose: int
    classes_: np.ndarray
    n_features_in_: int
    set_params: Any
    _limit: ClassVar[str]  # the parameter that is the limit
    _target: ClassVar[str]
    _default: ClassVar[Any]

    _parameter_constraints: ClassVar[dict] = {
        "estimator": [Fittable(), callable, None],
        "confidence": [Interval(Real, 0.5, 1, closed="neither")],
        "max_leaf_nodes": [Interval(Integral, 2, None, closed="left")],
        "calibration_fraction": [Interval(Real, 0, 1, closed="neither")],
        "against": [StrOptions({"model", "truth"})],
        "groups": [str, Integral, None],
        "time_limit": [Interval(Real, 0, None, closed="neither"), None],
        "n_jobs": [Integral, None],
        "random_state": ["random_state"],
        "verbose": ["verbose"],
    }

    def __sklearn_tags__(self):
        if callable(self.estimator) and not hasattr(self.estimator, "predict"):
            tags: Any = super(TakesWhatItsEstimatorTakes, self)
            tags = tags.__sklearn_tags__()
        else:
            tags = super().__sklearn_tags__()
        tags.target_tags.required = not self._comes_fitted()
        return tags

    def _comes_fitted(self):
        is_function = callable(self.estimator) and not hasattr(self.estimator, "predict")
        return is_function or comes_fitted(self.estimator)

    # ------------------------------------------------------------------ fit

    @fit_context(prefer_skip_nested_validation=False)
    def fit(
        self,
        X: ArrayLike,
        y: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
        *,
        X_more: ArrayLike | None = None,
    ) -> Self:
        """Grow the tree, and certify on rows of `X` which of its leaves may answer.

        Parameters
        ----------
        X : array-like of shape (n_rows, n_features)
            Rows. Of a fitted model: rows that it was not fitted on. A part of them calibrates, or
            all if there is `X_more`; from the others the tree, and an unfitted model, learn.
        y : array-like of shape (n_rows,) or None, default=None
            Labels or values; needed unless the model comes fitted.
        sample_weight : array-like of shape (n_rows,) or None, default=None
            Weights. The promise is about rows drawn with these weights: a calibration row is kept
            with a probability in proportion to its weight.
        X_more : array-like of shape (n_more, n_features) or None, default=None
            Other rows that the tree learns from, such as those that the model was fitted on.

        Returns
        -------
        self : estimator
            The fitted estimator.
        """
        y, rows, weight = self._checked(X, y, sample_weight, X_more)
        random = check_random_state(self.random_state)
        seeds = random.randint(np.iinfo(np.int32).max, size=3).tolist()
        order = random.permutation(np.flatnonzero(weight > 0))
        n_aside = (
            len(order) if X_more is not None else round(self.calibration_fraction * len(order))
        )
        aside, rest = np.sort(order[:n_aside]), np.sort(order[n_aside:])
        if X_more is None and not len(rest):
            raise ValueError(
                f"n_samples={len(weight)}: there are no rows to learn from. Give more rows."
            )
        # rows kept by their weight are drawn from the weighted distribution
        kept = random.random_sample(len(aside)) * weight[aside].max(initial=0.0) < weight[aside]
        aside = aside[kept]
        grown = RepresenterTree(
            self._default() if self.estimator is None else self.estimator,
            response="class" if self._target == "label" else self._target,
            max_leaf_nodes=max(_MOST_GROWN, _GROWN * self.max_leaf_nodes),
            validation_fraction=0.0,
            time_limit=self.time_limit,
            n_jobs=self.n_jobs,
            random_state=None if self.random_state is None else seeds[0],
            verbose=self.verbose,
        )
        learned = safe_indexing(rows, rest) if X_more is None else X_more
        has_weight = sample_weight is not None and X_more is None
        grown.fit(
            learned,
            y[rest] if y is not None and X_more is None else None,
            weight[rest] if has_weight else None,
        )
        self.estimator_ = grown.estimator_
        for known in ("classes_", "_table", "_may_miss", "_takes_missing"):
            if hasattr(grown, known):
                setattr(self, known, getattr(grown, known))
        self._grown = grown
        if self._has_learned(rows, y, X_more):
            warn(
                "the model has learned rows of X, so they cannot calibrate and no leaf may answer. "
                "Give rows that the model was not fitted on as X (and those that it was fitted on "
                "as X_more)."
            )
            aside = aside[:0]
        self._calibrate(rows, learned, aside, y, seeds[1])
        self._certify()
        return self

    def _checked(self, X, y, sample_weight, X_more):
        """Targets, rows as they were given, and their weights."""
        check_atol(getattr(self, "atol", None))
        checked, y = rows_and_targets(self, X, y, is_value=self._target == "value")
        if y is None and self.against == "truth":
            raise ValueError("against='truth' compares with y, but y is None. Give y.")
        if X_more is not None and not self._comes_fitted():
            raise ValueError(
                "X_more was given, but the estimator is fitted here, on rows of X. Leave it out, "
                "or give a fitted model in a FrozenEstimator."
            )
        if X_more is not None and np.shape(X_more) == np.shape(X) and (X_more is X):
            raise ValueError("X_more holds the rows of X. Give other rows to calibrate on.")
        return y, checked.given, check_weights(sample_weight, checked.given)

    def _has_learned(self, rows, y, X_more):
        """Whether a model that came fitted has learned the rows, as far as can be told."""
        if not comes_fitted(self.estimator):
            return False
        known = learned_from(self.estimator_, rows)
        if known != "unknown":
            return known != "no"
        if y is None or X_more is not None or len(y) < 2:
            return False
        # a model that makes no error at all on rows apart is rare
        return not bool(differ(self._grown._model_answers(rows), y).any())

    def _calibrate(self, rows, learned, aside, y, seed):
        """Count rows, and wrong answers, at every node of the large tree."""
        grown, is_value = self._grown, self._target == "value"
        told = self._grown._model_answers(learned)
        if is_value:
            self.atol_ = absolute_tolerance(self.atol, told)
        n_drawn = min(_DRAWN, max(10 * len(told), 2_000))
        drawn_rows = grown.sample(n_drawn, random_state=seed)
        of_learned = self._at_nodes(learned, told)
        of_drawn = self._at_nodes(drawn_rows, self._grown._model_answers(drawn_rows))
        n_nodes = grown.decision_tree_.tree_.node_count
        share, rate = expected(*(each[0] for each in (*of_learned, *of_drawn)))
        n = wrong = np.zeros((1, n_nodes))
        occurs = np.ones((1, n_nodes), dtype=bool)
        if len(aside):
            given = safe_indexing(rows, aside)
            truth = y[aside] if self.against == "truth" else None
            n, wrong = self._at_nodes(given, self._grown._model_answers(given), truth, self.groups)
            occurs = np.ones(n.shape, dtype=bool)
            if self._by_class():
                told_at = grown.decision_tree_.tree_.value[:, 0, :].argmax(axis=1)
                occurs = told_at == np.arange(len(n))[:, None]
        # a leaf with a wrong answer to a row at hand need not be asked about
        self._disproved = of_learned[1][0] > 0
        self._counts = Counts(share, rate, n, wrong, occurs, proven=np.zeros(n_nodes, dtype=bool))
        self.n_calibration_rows_ = len(aside)

    def _by_class(self):
        return self.groups == "class" and self._target == "label"

    def _at_nodes(self, rows, told, truth=None, groups=None):
        """Rows, and those answered wrongly, of each group at each node of the large tree."""
        tree = self._grown.decision_tree_
        path = tree.decision_path(fitted_rows(self, rows), check_input=False)
        row, node = np.repeat(np.arange(path.shape[0]), np.diff(path.indptr)), path.indices
        value = tree.tree_.value[:, 0, :]
        is_value = self._target == "value"
        answer = value[:, 0] if is_value else self.classes_[value.argmax(axis=1)]

        def apart(one, two):
            return np.abs(one - two) > self.atol_ if is_value else differ(one, two)

        wrong = apart(answer[node], (told if truth is None else truth)[row])
        if truth is not None:
            # only where the model is right does its place have to be filled
            wrong &= ~apart(told, truth)[row]
        group, n_groups = np.zeros(len(node), dtype=np.intp), 1
        if groups is not None and self._by_class():
            group, n_groups = value.argmax(axis=1)[node], len(self.classes_)
        elif groups is not None:
            j = column_index(
                groups, "groups", self.n_features_in_, getattr(self, "feature_names_in_", None)
            )
            column = self._table.encode(rows)
            column = np.asarray(column.iloc[:, j] if hasattr(column, "iloc") else column[:, j])
            levels, of_row = np.unique(column, return_inverse=True)
            group, n_groups = of_row[row], len(levels)
        place, size = group * path.shape[1] + node, n_groups * path.shape[1]
        shape = n_groups, path.shape[1]
        n = np.bincount(place, minlength=size).reshape(shape).astype(float)
        return n, np.bincount(place, weights=wrong, minlength=size).reshape(shape)

    def _certify(self):
        """Choose the leaves that answer, and write the tree."""
        fitted, counts, limit = self._grown.decision_tree_, self._counts, getattr(self, self._limit)
        left, right = fitted.tree_.children_left, fitted.tree_.children_right
        leaves, answers, n_tried = certified(
            left, right, counts, self.max_leaf_nodes, limit, self.confidence
        )
        keep = np.isin(np.arange(len(left)), leaves)
        # children stand after their parents: backwards, all that is above a leaf is found
        for node in np.flatnonzero(left >= 0)[::-1]:
            keep[node] |= keep[left[node]] | keep[right[node]]
        keep[leaves] = False
        self.limit_, self._leaf_nodes = float(limit), leaves
        self.decision_tree_ = pruned_copy(fitted, keep)
        self._tree = copy(self._grown)
        self._tree.decision_tree_ = self.decision_tree_
        n, wrong = counts.n[:, leaves].sum(axis=0), counts.wrong[:, leaves].sum(axis=0)
        self.certified_ = Bunch(
            leaf=np.flatnonzero(self.decision_tree_.tree_.children_left < 0),
            answers=answers,
            proven=counts.proven[leaves],
            n_rows=n.astype(int),
            n_wrong=wrong.astype(int),
            upper_bound=upper_bound(wrong, n, self.confidence),
        )
        total, answered = n.sum(), n[answers].sum()
        self.coverage_ = float(answered / total) if total else 0.0
        # each candidate has its share of the doubt: one of them was chosen
        each = 1.0 - (1.0 - self.confidence) / (n_tried + 1)
        ends = binomial_interval(answered, total, each) if total else (0.0, 1.0)
        self.coverage_interval_ = tuple(float(end) for end in ends)
        self.disagreement_ = float(wrong[answers].sum() / answered) if answered else np.nan

    def _at(self, confidence, **limit) -> Self:
        check_is_fitted(self)
        if confidence is not None:
            limit["confidence"] = confidence
        other = copy(self).set_params(**limit)
        other._validate_params()
        other._certify()
        return other

    @limited
    def prove(
        self,
        *,
        domain: Domain | None = None,
        max_boxes: int = 20_000,
        time_limit: float | None = None,
    ) -> Self:
        """A fitted copy in which leaves answer, too, where the model is proven to answer alike.

        Such a leaf needs no calibration. It answers whatever the limit is, and rows in it can only
        lower the share of wrong answers.

        Parameters
        ----------
        domain : Domain or None, default=None
            Which inputs can occur; the proof is about these. None: every input that float32
            represents, with gaps where the model takes them.
        max_boxes : int, default=20_000
            Effort for each leaf, in boxes that are looked at.
        time_limit : float or None, default=None
            Seconds. Leaves that are not reached in time are not proven.

        Returns
        -------
        estimator
            Its `certified_.proven` tells which leaves are proven.

        Raises
        ------
        TypeError
            If the model is none of trees.
        """
        check_is_fitted(self)
        if not isinstance(max_boxes, Integral) or max_boxes < 1:
            raise ValueError(f"max_boxes={max_boxes!r}. Give a whole number of at least 1.")
        nodes = self._leaf_nodes
        asked = np.flatnonzero(~self._disproved[nodes] & ~self._counts.proven[nodes])
        found = proven_leaves(
            self._tree,
            self.estimator_,
            self.certified_.leaf[asked],
            domain,
            atol=self.atol_ if self._target == "value" else None,
            max_boxes=max_boxes,
        )
        proven = self._counts.proven.copy()
        proven[nodes[asked[found]]] = True
        other = copy(self)
        other._counts = replace(self._counts, proven=proven)
        other._certify()
        return other
