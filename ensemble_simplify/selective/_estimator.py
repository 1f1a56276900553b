"""Selective trees of labels and of values: the tree where it may answer, else the model."""

from __future__ import annotations

from copy import copy
from dataclasses import dataclass
from numbers import Integral, Real
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor
from sklearn.utils import Bunch, check_random_state
from sklearn.utils.metaestimators import available_if
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted

from ensemble_simplify.base import (
    NOT_GIVEN,
    Fittable,
    Interval,
    Rows,
    StrOptions,
    TakesWhatItsEstimatorTakes,
    absolute_tolerance,
    all_or_nothing,
    binomial_interval,
    check_atol,
    check_weights,
    comes_fitted,
    differ,
    fit_context,
    fitted_rows,
    pyplot,
    safe_indexing,
    validated,
    warn,
)
from ensemble_simplify.reading import column_index, learned_from, unwrap
from ensemble_simplify.representer import RepresenterTree
from ensemble_simplify.selective._certificate import Counts, certified, expected, upper_bound
from ensemble_simplify.selective._written import drawn, head, named, written
from ensemble_simplify.writing import percent, pruned_copy

# Leaves of the large tree: so many, or so many times those asked for.
_MOST_GROWN, _GROWN = 144, 3
_DRAWN = 8_000  # synthetic rows that expected rates come from


@dataclass(frozen=True)
class SelectiveAnswer:
    """Why a row is answered as it is.

    Attributes
    ----------
    answer : object
        The label or value.
    by : {"tree", "model"}
        Who answers.
    leaf : int
        Node of `decision_tree_` where the row ends.
    rule : str
        The conditions that lead there.
    n_rows, n_wrong : int
        Calibration rows there, and those that the tree answers wrongly.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from ensemble_simplify import SelectiveTreeClassifier
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> tree = SelectiveTreeClassifier(max_leaf_nodes=6, random_state=0).fit(X, y)
    >>> one = tree.explain(X[:1])[0]
    >>> one.answer, one.by
    (0, 'tree')
    """

    answer: Any
    by: str
    leaf: int
    rule: str
    n_rows: int
    n_wrong: int


class _SelectiveTree(TakesWhatItsEstimatorTakes):
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
    _limit: Any
    _table: Any
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
    @all_or_nothing
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
            target=self._target,
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
        if not (hasattr(X, "dtype") or hasattr(X, "columns")):
            X = np.asarray(X)
        is_value = self._target == "value"
        numbers = {"dtype": np.float64, "ensure_all_finite": "allow-nan"}
        checked, targets = validated(
            self, X, NOT_GIVEN if y is None else y, regression=is_value, **numbers
        )
        if y is not None:
            y = targets.astype(np.float64) if is_value else targets
            if not is_value:
                check_classification_targets(y)
        elif self.against == "truth":
            raise ValueError("against='truth' compares with y, but y is None. Give y.")
        if X_more is not None and not self._comes_fitted():
            raise ValueError(
                "X_more was given, but the estimator is fitted here, on rows of X. Leave it out, "
                "or give a fitted model in a FrozenEstimator."
            )
        if X_more is not None and np.shape(X_more) == np.shape(X) and (X_more is X):
            raise ValueError("X_more holds the rows of X. Give other rows to calibrate on.")
        rows = Rows.checked(X, checked).given
        return y, rows, check_weights(sample_weight, rows)

    def _has_learned(self, rows, y, X_more):
        """Whether a model that came fitted has learned the rows, as far as can be told."""
        if not comes_fitted(self.estimator):
            return False
        if learned_from(self.estimator_, rows) in ("all", "part", "more"):
            return True
        if y is None or X_more is not None or len(y) < 2:
            return False
        # a model that makes no error at all on rows apart is rare
        return not bool(differ(self._model_answers(rows), y).any())

    def _calibrate(self, rows, learned, aside, y, seed):
        """Count rows, and wrong answers, at every node of the large tree."""
        grown, is_value = self._grown, self._target == "value"
        told = self._model_answers(learned)
        if is_value:
            self.atol_ = absolute_tolerance(self.atol, told)
        n_drawn = min(_DRAWN, max(10 * len(told), 2_000))
        drawn_rows = grown.sample(n_drawn, random_state=seed)
        of_learned = self._at_nodes(learned, told)
        of_drawn = self._at_nodes(drawn_rows, self._model_answers(drawn_rows))
        n_nodes = grown.decision_tree_.tree_.node_count
        share, rate = expected(*(each[0] for each in (*of_learned, *of_drawn)))
        n = wrong = np.zeros((1, n_nodes))
        if len(aside):
            given = safe_indexing(rows, aside)
            truth = y[aside] if self.against == "truth" else None
            n, wrong = self._at_nodes(given, self._model_answers(given), truth, self.groups)
        by_class = self.groups in (None, "class")
        self._counts = Counts(share, rate, n, wrong, everywhere=not by_class)
        self.n_calibration_rows_ = len(aside)

    def _at_nodes(self, rows, told, truth=None, groups=None):
        """Rows, and those answered wrongly, of each group at each node of the large tree."""
        tree = self._grown.decision_tree_
        path = tree.decision_path(fitted_rows(self, rows), check_input=False)
        row, node = np.repeat(np.arange(path.shape[0]), np.diff(path.indptr)), path.indices
        value = tree.tree_.value[:, 0, :]
        if self._target == "value":
            answer = value[:, 0]
            wrong = np.abs(answer[node] - told[row]) > self.atol_
            if truth is not None:
                wrong = np.abs(answer[node] - truth[row]) > self.atol_
                wrong &= np.abs(told[row] - truth[row]) <= self.atol_
        else:
            answer = self.classes_[value.argmax(axis=1)]
            wrong = differ(answer[node], told[row])
            if truth is not None:
                wrong = differ(answer[node], truth[row]) & ~differ(told, truth)[row]
        group, n_groups = np.zeros(len(node), dtype=np.intp), 1
        if groups == "class" and self._target == "label":
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
        fitted, counts, limit = self._grown.decision_tree_, self._counts, self._limit()
        left, right = fitted.tree_.children_left, fitted.tree_.children_right
        leaves, answers, n_tried = certified(
            left, right, counts, self.max_leaf_nodes, limit, self.confidence
        )
        keep = np.zeros(len(left), dtype=bool)
        keep[_above(left, right, leaves)] = True
        self.limit_ = float(limit)
        self.decision_tree_ = pruned_copy(fitted, keep)
        self._tree = copy(self._grown)
        self._tree.decision_tree_ = self.decision_tree_
        n, wrong = counts.n[:, leaves].sum(axis=0), counts.wrong[:, leaves].sum(axis=0)
        self.certified_ = Bunch(
            leaf=np.flatnonzero(self.decision_tree_.tree_.children_left < 0),
            answers=answers,
            n_rows=n.astype(int),
            n_wrong=wrong.astype(int),
            upper_bound=upper_bound(wrong, n, self.confidence),
        )
        total, answered = n.sum(), n[answers].sum()
        self.coverage_ = float(answered / total) if total else 0.0
        # each candidate has its share of the doubt: one of them was chosen
        each = 1.0 - (1.0 - self.confidence) / max(n_tried, 1)
        ends = binomial_interval(answered, total, each) if total else (0.0, 1.0)
        self.coverage_interval_ = tuple(float(end) for end in ends)
        self.disagreement_ = float(wrong[answers].sum() / answered) if answered else np.nan

    # ------------------------------------------------------------------ use

    def _model_answers(self, X):
        """What the model itself answers to rows as they were given."""
        as_given = self._table.coded.any() and hasattr(X, "columns")
        rows = fitted_rows(self, X, dtype="float64")
        return self._grown._predictor.decisions(rows, X if as_given else None)

    def _leaves(self, X):
        """For each row, the number of its leaf among the leaves."""
        found = self.decision_tree_.apply(fitted_rows(self, X), check_input=False)
        return np.searchsorted(self.certified_.leaf, found)

    def defers(self, X: ArrayLike) -> np.ndarray:
        """Which rows the model is asked about.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows.

        Returns
        -------
        ndarray of bool, shape (n_samples,)
            False where the tree answers.
        """
        check_is_fitted(self)
        return ~self.certified_.answers[self._leaves(X)]

    def predict(self, X: ArrayLike) -> np.ndarray:
        """Predict with the tree where it may answer, else with the model.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows.

        Returns
        -------
        ndarray of shape (n_samples,)
            Class labels, or values in regression.
        """
        check_is_fitted(self)
        rows = fitted_rows(self, X)
        answers = self.decision_tree_.predict(rows, check_input=False)
        asked = np.flatnonzero(self.defers(X))
        if asked.size:
            X = X if hasattr(X, "shape") else np.asarray(X)
            answers[asked] = self._model_answers(safe_indexing(X, asked))
        return answers

    def _at(self, **limit) -> Self:
        check_is_fitted(self)
        other = copy(self).set_params(**limit)
        other._validate_params()
        other._certify()
        return other

    def get_depth(self) -> int:
        """Depth of the tree.

        Returns
        -------
        int
            0 for a single leaf.
        """
        check_is_fitted(self)
        return int(self.decision_tree_.get_depth())

    def get_n_leaves(self) -> int:
        """Number of leaves of the tree, those that ask included.

        Returns
        -------
        int
            At least 1.
        """
        check_is_fitted(self)
        return int(self.decision_tree_.get_n_leaves())

    def __str__(self):
        if not hasattr(self, "certified_"):
            return repr(self)
        return f"{head(self)}\n{self.export_text()}"

    def export_text(self, *, decimals: int | None = None) -> str:
        """The tree as indented text, with what each leaf answers, or that it asks the model.

        Parameters
        ----------
        decimals : int or None, default=None
            Digits after the point; None: as few as split float32 numbers alike.

        Returns
        -------
        str
            Lines.
        """
        check_is_fitted(self)
        return named(self).text(decimals)

    def plot(self, *, ax: Any = None, **kwargs: Any) -> list:
        """Draw the tree; leaves that ask the model are grey.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            None: the current one, or a new figure.
        **kwargs
            Other parameters of `sklearn.tree.plot_tree`.

        Returns
        -------
        list of matplotlib Annotation
            The boxes of the nodes.
        """
        check_is_fitted(self)
        pyplot(self)
        return drawn(self, ax, **kwargs)

    def explain(self, X: ArrayLike) -> list[SelectiveAnswer]:
        """Why each row is answered as it is.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows.

        Returns
        -------
        list of SelectiveAnswer
            One a row.
        """
        answers, tree, table = self.predict(X), named(self), self.certified_
        rules = {int(tree.order[node]): tree.rule(spans) for node, spans in tree.paths()}
        return [
            SelectiveAnswer(
                answer=answer,
                by="tree" if table.answers[k] else "model",
                leaf=int(table.leaf[k]),
                rule=rules[int(table.leaf[k])],
                n_rows=int(table.n_rows[k]),
                n_wrong=int(table.n_wrong[k]),
            )
            for answer, k in zip(answers.tolist(), self._leaves(X), strict=True)
        ]

    def export(
        self,
        language: str,
        *,
        otherwise: str | None = None,
        name: str | None = None,
        table: str | None = None,
        dialect: str | None = None,
        keys: tuple | list = (),
    ) -> str:
        """Write the tree, and what is done where it may not answer.

        Parameters
        ----------
        language : {"sql", "c", "python", "json"}
            SQL is one query over `table`.
        otherwise : {"model", None} or str, default=None
            Elsewhere: the model's own code, nothing (NULL, None, -1 or NAN), or in SQL and Python
            the column of this name, which holds the model's answers.
        name : str or None, default=None
            Of the function (None: predict), or the column in SQL (None: prediction).
        table : str or None, default=None
            For SQL: the table to select from.
        dialect : str or None, default=None
            For SQL: the database, as for :func:`export_tree`.
        keys : sequence of str, default=()
            For SQL: columns that stand beside the answers.

        Returns
        -------
        str
            In the language.
        """
        check_is_fitted(self)
        if language not in ("sql", "c", "python", "json"):
            raise ValueError(f"language={language!r}. Choose sql, c, python or json.")
        if (language == "sql") != (table is not None):
            raise ValueError(f"table={table!r}, but language={language!r}: only SQL has a table.")
        if otherwise not in (None, "model") and language in ("c", "json"):
            raise ValueError(
                f"otherwise={otherwise!r} names a column, which {language} does not have. Use None "
                "or 'model'."
            )
        return written(self, language, otherwise, name, table, keys, dialect)


def _above(left, right, leaves):
    """The nodes above some leaves of a pruning."""
    parent = np.full(len(left), -1)
    inner = np.flatnonzero(left >= 0)
    parent[left[inner]] = parent[right[inner]] = inner
    found = set()
    for node in leaves:
        while (node := int(parent[node])) >= 0 and node not in found:
            found.add(node)
    return sorted(found)


def _gives_probabilities(selective):
    """Whether the model has them, fitted or not."""
    asked = getattr(selective, "estimator_", selective.estimator)
    return asked is None or hasattr(unwrap(asked), "predict_proba")


class SelectiveTreeClassifier(ClassifierMixin, _SelectiveTree, BaseEstimator):
    """A small tree that answers only where it may, and leaves the other rows to the model.

    Among the rows that the tree answers, its label is another one than the model's for at most
    `max_disagreement` of them, with the given confidence. This is tested on calibration rows that
    neither the model nor the tree has learned [1]_. The promise is about new rows from the same
    source.

    Read more in the :ref:`guide <selective>`.

    Parameters
    ----------
    estimator : estimator, FrozenEstimator, callable or None, default=None
        The model, as :class:`RepresenterTree` takes it. None: a random forest.
    max_disagreement : float in (0, 1), default=0.05
        The limit, among the rows that the tree answers, all leaves together.
    confidence : float in (0.5, 1), default=0.95
        Of the certificate: over draws of calibration rows, the limit is broken at most so seldom.
        Each limit of :meth:`at` has it by itself.
    max_leaf_nodes : int, default=16
        Leaves of the tree, those that ask the model included.
    calibration_fraction : float in (0, 1), default=0.33
        Part of the rows that calibrates, where there is no `X_more`.
    against : {"model", "truth"}, default="model"
        What counts as wrong: another label than the model's, or a wrong label where the model's is
        right, by `y`.
    groups : {"class"}, str, int or None, default=None
        The same promise for each label that the tree gives, or for each level of a column, by name
        or number.
    time_limit : float or None, default=None
        Seconds for growing the tree. None: no limit.
    n_jobs : int or None, default=None
        As of :class:`RepresenterTree`.
    random_state : int, RandomState instance or None, default=None
        Chooses calibration rows and synthetic rows.
    verbose : int, default=0
        If positive, progress is printed.

    Attributes
    ----------
    estimator_ : object
        The fitted model.
    decision_tree_ : DecisionTreeClassifier
        The tree, also with the leaves that ask. Its own answers there are not certified.
    classes_ : ndarray of shape (n_classes,)
        Class labels.
    limit_ : float
        The limit that is promised.
    certified_ : Bunch
        For each leaf: ``leaf`` (its node), ``answers`` (bool), ``n_rows`` and ``n_wrong`` of the
        calibration rows there, and ``upper_bound`` of the share of wrong answers in this leaf
        alone. The promise is about all leaves that answer together.
    coverage_ : float
        Share of the calibration rows that the tree answers.
    coverage_interval_ : tuple of float
        Interval of the share of new rows that it answers.
    disagreement_ : float
        Share of wrong answers among the calibration rows that it answers; nan without any.
    n_calibration_rows_ : int
        Rows that calibrated; 0 where the model has learned them.
    n_features_in_ : int
        Number of features seen in `fit`.
    feature_names_in_ : ndarray of shape (`n_features_in_`,)
        Names of features seen in `fit`; defined only if all are strings.

    See Also
    --------
    RepresenterTree : The tree for all rows, without a promise.

    References
    ----------
    .. [1] A. N. Angelopoulos, S. Bates, E. J. Candes, M. I. Jordan and L. Lei, "Learn then Test:
       calibrating predictive algorithms to achieve risk control", 2021,
       https://arxiv.org/abs/2110.01052

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from ensemble_simplify import SelectiveTreeClassifier
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> tree = SelectiveTreeClassifier(max_leaf_nodes=6, random_state=0).fit(X, y)
    >>> bool(tree.coverage_ > 0.5)
    True
    """

    _target, _default = "label", RandomForestClassifier
    _parameter_constraints: ClassVar[dict] = {
        **_SelectiveTree._parameter_constraints,
        "max_disagreement": [Interval(Real, 0, 1, closed="neither")],
    }

    def __init__(
        self,
        estimator: Any = None,
        *,
        max_disagreement: float = 0.05,
        confidence: float = 0.95,
        max_leaf_nodes: int = 16,
        calibration_fraction: float = 0.33,
        against: str = "model",
        groups: str | int | None = None,
        time_limit: float | None = None,
        n_jobs: int | None = None,
        random_state: int | np.random.RandomState | None = None,
        verbose: int = 0,
    ):
        self.estimator = estimator
        self.max_disagreement = max_disagreement
        self.confidence = confidence
        self.max_leaf_nodes = max_leaf_nodes
        self.calibration_fraction = calibration_fraction
        self.against = against
        self.groups = groups
        self.time_limit = time_limit
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    def _limit(self):
        return self.max_disagreement

    def _promise(self):
        what = "are labelled otherwise than by the model"
        if self.against == "truth":
            what = "are labelled wrongly where the model is right"
        each = "" if self.groups is None else " in each group"
        return f"Of these, at most {percent(self.limit_)}{each} {what}"

    @available_if(_gives_probabilities)
    def predict_proba(self, X: ArrayLike) -> np.ndarray:
        """Predict probabilities with the tree where it may answer, else with the model.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows.

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
            One column per class, in the order of `classes_`: the rates in the leaf of the tree, as
            of :class:`RepresenterTree`, or the model's own probabilities.
        """
        check_is_fitted(self)
        rows = fitted_rows(self, X, dtype="float64")
        found = self._tree.predict_proba(X)
        asked = np.flatnonzero(self.defers(X))
        if asked.size:
            found[asked] = self._grown._predictor.chances(rows[asked])
        return found

    def at(self, *, max_disagreement: float) -> Self:
        """A fitted copy under another limit; model and tree are not learned again.

        Parameters
        ----------
        max_disagreement : float
            The limit.

        Returns
        -------
        SelectiveTreeClassifier
            Its promise has the same confidence, by itself.
        """
        return self._at(max_disagreement=max_disagreement)


class SelectiveTreeRegressor(RegressorMixin, _SelectiveTree, BaseEstimator):
    """A small tree of values that answers only where it may, and leaves other rows to the model.

    Among the rows that the tree answers, its value is more than `atol` from the model's for at most
    `max_beyond` of them, with the given confidence [1]_. See :class:`SelectiveTreeClassifier`.

    Read more in the :ref:`guide <selective>`.

    Parameters
    ----------
    estimator : estimator, FrozenEstimator, callable or None, default=None
        The model, as :class:`RepresenterTree` takes it. None: a random forest.
    atol : float or str, default="50%"
        How far values may be apart: a number, or a share of the standard deviation of the model's
        answers to the rows that the tree learns from.
    max_beyond : float in (0, 1), default=0.05
        The limit of the share of rows beyond `atol`, among those that the tree answers.
    confidence : float in (0.5, 1), default=0.95
        Of the certificate.
    max_leaf_nodes : int, default=16
        Leaves of the tree, those that ask the model included.
    calibration_fraction : float in (0, 1), default=0.33
        Part of the rows that calibrates, where there is no `X_more`.
    against : {"model", "truth"}, default="model"
        What counts as wrong: beyond `atol` of the model's value, or of `y` where the model's is
        within it.
    groups : str, int or None, default=None
        The same promise for each level of a column, by name or number.
    time_limit : float or None, default=None
        Seconds for growing the tree. None: no limit.
    n_jobs : int or None, default=None
        As of :class:`RepresenterTree`.
    random_state : int, RandomState instance or None, default=None
        Chooses calibration rows and synthetic rows.
    verbose : int, default=0
        If positive, progress is printed.

    Attributes
    ----------
    estimator_ : object
        The fitted model.
    decision_tree_ : DecisionTreeRegressor
        The tree, also with the leaves that ask. Its own answers there are not certified.
    atol_ : float
        The number that `atol` stands for.
    limit_ : float
        The limit that is promised.
    certified_ : Bunch
        For each leaf, as of :class:`SelectiveTreeClassifier`.
    coverage_ : float
        Share of the calibration rows that the tree answers.
    coverage_interval_ : tuple of float
        Interval of the share of new rows that it answers.
    disagreement_ : float
        Share beyond `atol` among the calibration rows that it answers; nan without any.
    n_calibration_rows_ : int
        Rows that calibrated; 0 where the model has learned them.
    n_features_in_ : int
        Number of features seen in `fit`.
    feature_names_in_ : ndarray of shape (`n_features_in_`,)
        Names of features seen in `fit`; defined only if all are strings.

    References
    ----------
    .. [1] A. N. Angelopoulos, S. Bates, E. J. Candes, M. I. Jordan and L. Lei, "Learn then Test:
       calibrating predictive algorithms to achieve risk control", 2021,
       https://arxiv.org/abs/2110.01052

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from ensemble_simplify import SelectiveTreeRegressor
    >>> X, y = load_diabetes(return_X_y=True)
    >>> tree = SelectiveTreeRegressor(atol=60, max_beyond=0.1, random_state=0).fit(X, y)
    >>> len(tree.certified_.leaf) <= 16
    True
    """

    _target, _default = "value", RandomForestRegressor
    _parameter_constraints: ClassVar[dict] = {
        **_SelectiveTree._parameter_constraints,
        "atol": [Interval(Real, 0, None, closed="left"), str],
        "max_beyond": [Interval(Real, 0, 1, closed="neither")],
    }

    def __init__(
        self,
        estimator: Any = None,
        *,
        atol: float | str = "50%",
        max_beyond: float = 0.05,
        confidence: float = 0.95,
        max_leaf_nodes: int = 16,
        calibration_fraction: float = 0.33,
        against: str = "model",
        groups: str | int | None = None,
        time_limit: float | None = None,
        n_jobs: int | None = None,
        random_state: int | np.random.RandomState | None = None,
        verbose: int = 0,
    ):
        self.estimator = estimator
        self.atol = atol
        self.max_beyond = max_beyond
        self.confidence = confidence
        self.max_leaf_nodes = max_leaf_nodes
        self.calibration_fraction = calibration_fraction
        self.against = against
        self.groups = groups
        self.time_limit = time_limit
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    def _limit(self):
        return self.max_beyond

    def _promise(self):
        what = f"are more than {self.atol_:.6g} from the model's value"
        if self.against == "truth":
            what = f"are more than {self.atol_:.6g} from the truth where the model's value is not"
        each = "" if self.groups is None else " in each group"
        return f"Of these, at most {percent(self.limit_)}{each} {what}"

    def at(self, *, max_beyond: float) -> Self:
        """A fitted copy under another limit; model and tree are not learned again.

        Parameters
        ----------
        max_beyond : float
            The limit.

        Returns
        -------
        SelectiveTreeRegressor
            Its promise has the same confidence, by itself.
        """
        return self._at(max_beyond=max_beyond)
