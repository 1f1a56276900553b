"""Selective trees of labels and of values: the tree where it may answer, else the model."""

from __future__ import annotations

from numbers import Real
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from ensemble_simplify.base import Interval, fitted_rows
from ensemble_simplify.reading import unwrap
from ensemble_simplify.selective._fitting import SelectiveTree


def _gives_probabilities(selective):
    """Whether the model has them, fitted or not."""
    asked = getattr(selective, "estimator_", selective.estimator)
    return asked is None or hasattr(unwrap(asked), "predict_proba")


class SelectiveTreeClassifier(ClassifierMixin, SelectiveTree, BaseEstimator):
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
        For each leaf: ``leaf`` (its node), ``answers`` (bool), ``proven`` (bool, see `prove`),
        ``n_rows`` and ``n_wrong`` of the calibration rows there, and ``upper_bound`` of the share
        of wrong answers in this leaf alone. The promise is about all leaves that answer together.
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

    _target, _default, _limit = "label", RandomForestClassifier, "max_disagreement"
    _parameter_constraints: ClassVar[dict] = {
        **SelectiveTree._parameter_constraints,
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

    def _wrong(self):
        if self.against == "truth":
            return "are labelled wrongly where the model is right"
        return "are labelled otherwise than by the model"

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

    def at(self, *, max_disagreement: float, confidence: float | None = None) -> Self:
        """A fitted copy under another limit; model and tree are not learned again.

        Parameters
        ----------
        max_disagreement : float
            The limit.
        confidence : float or None, default=None
            Of its promise, by itself. None: as before. For `k` limits at once, or to choose the
            limit by what it gives, take ``1 - (1 - confidence) / k`` for each.

        Returns
        -------
        SelectiveTreeClassifier
            The fitted copy.
        """
        return self._at(confidence, max_disagreement=max_disagreement)


class SelectiveTreeRegressor(RegressorMixin, SelectiveTree, BaseEstimator):
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

    _target, _default, _limit = "value", RandomForestRegressor, "max_beyond"
    _parameter_constraints: ClassVar[dict] = {
        **SelectiveTree._parameter_constraints,
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

    def _wrong(self):
        if self.against == "truth":
            return f"are more than {self.atol_:.6g} from the truth where the model's value is not"
        return f"are more than {self.atol_:.6g} from the model's value"

    def at(self, *, max_beyond: float, confidence: float | None = None) -> Self:
        """A fitted copy under another limit; model and tree are not learned again.

        Parameters
        ----------
        max_beyond : float
            The limit.
        confidence : float or None, default=None
            Of its promise, by itself. None: as before. For `k` limits at once, or to choose the
            limit by what it gives, take ``1 - (1 - confidence) / k`` for each.

        Returns
        -------
        SelectiveTreeRegressor
            The fitted copy.
        """
        return self._at(confidence, max_beyond=max_beyond)
