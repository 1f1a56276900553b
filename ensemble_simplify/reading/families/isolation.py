"""IsolationForest: a row is odd where the trees come to their leaves early."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ensemble_simplify.reading.cut_offs import cut_of
from ensemble_simplify.reading.families.forests import sklearn_tree
from ensemble_simplify.reading.families.held import StandsFor
from ensemble_simplify.reading.family import PACKAGE, Family, family_of
from ensemble_simplify.reading.program import Link, boosted
from ensemble_simplify.reading.trees import Reading


class OddOrNot(StandsFor):
    """An ``IsolationForest`` as a classifier: -1 is odd, 1 is not."""

    classes_ = np.array([-1, 1])


class AnomalyScore(StandsFor):
    """The anomaly score of a fitted ``IsolationForest``, as the number that a regressor answers.

    Every function of this package takes it as it takes a fitted regressor: values are compared,
    bounded, kept up to ``atol`` and written as code.

    Parameters
    ----------
    model : fitted IsolationForest
        Also at the end of a pipeline.

    Attributes
    ----------
    n_features_in_ : int
        Number of columns that the model takes.

    See Also
    --------
    nearest_flip : With ``target=(None, 0.5)``, what would make an odd row ordinary.

    Notes
    -----
    The score lies between 0 and 1, and is near 1 where a row is odd. scikit-learn's
    ``score_samples`` is minus the score, and its ``decision_function`` is ``-score - offset_``.
    The forest itself is read as a classifier, whose class is -1 where this is below zero.

    References
    ----------
    .. [1] F. T. Liu, K. M. Ting and Z.-H. Zhou, "Isolation Forest", ICDM 2008.
       https://doi.org/10.1109/ICDM.2008.17

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.ensemble import IsolationForest
    >>> from ensemble_simplify import AnomalyScore, nearest_flip
    >>> X = np.random.default_rng(0).normal(size=(200, 2))
    >>> model = IsolationForest(n_estimators=5, max_samples=16, random_state=0).fit(X)
    >>> odd = np.array([[4.0, 0.0]])
    >>> bool((AnomalyScore(model).predict(odd) == -model.score_samples(odd)).all())
    True
    >>> flip = nearest_flip(AnomalyScore(model), odd, target=(None, 0.5), max_changes=1)
    >>> bool(flip.predictions[1] <= 0.5 < flip.predictions[0])
    True
    """

    def predict(self, X: ArrayLike) -> np.ndarray:
        """Predict the anomaly score.

        Parameters
        ----------
        X : array-like of shape (n_rows, n_features)
            Rows, as the model takes them.

        Returns
        -------
        ndarray of shape (n_rows,)
            From 0, ordinary, to 1, odd.
        """
        return -np.asarray(self.model.score_samples(X))


class IsolationForest(Family):
    """Classes are -1, odd, and 1: odd are rows from a score on, a power of two of a sum.

    What scikit-learn answers to the mean of depths, with a minus before it, changes once. Bisection
    finds where, in its own roundings.
    """

    kinds = (f"{PACKAGE}.OddOrNot",)
    stand_ins = (("sklearn.IsolationForest", OddOrNot),)
    title = "IsolationForest"
    methods = ("predict",)

    def trees(self, rows: Any = None) -> Reading:
        estimator, trees = self.estimator.model, []
        depths, lengths = estimator._decision_path_lengths, estimator._average_path_length_per_tree
        seen = map(np.asarray, estimator.estimators_features_)
        for i, (member, columns) in enumerate(zip(estimator.estimators_, seen, strict=True)):
            tree = sklearn_tree(member, len(columns))
            tree.value, tree.columns = -(depths[i] + lengths[i] - 1.0)[:, None], columns
            trees.append(tree)
        n = float(estimator._max_samples)
        # the average path in a tree of so many rows, as scikit-learn has it
        most = 2.0 * (np.log(n - 1.0) + np.euler_gamma) - 2.0 * (n - 1.0) / n if n > 2 else n - 1.0
        size = len(trees) * float(most)
        # of trees of one row, the score is one half
        vote = boosted(
            len(trees),
            1,
            init=np.full(1, 0.0 if size else -1.0),
            divisor=size or 1.0,
            link=Link("unknown"),
        )
        reading = Reading(trees, vote, self.estimator.classes_, on_numbers=BelowOffset(estimator))
        reading.vote = vote.chosen_by(cut_of(estimator, reading))
        return reading


class BelowOffset:
    """What an isolation forest answers to the logarithms, to the base 2, of its scores."""

    def __init__(self, estimator):
        self.offset = estimator.offset_

    def predict(self, logarithms):
        """The classes: odd is a row whose score, with a minus, is below the offset."""
        return np.where(-(2 ** logarithms[:, 0]) - self.offset < 0, -1, 1)


class AnomalyScores(Family):
    """The number that an isolation forest compares with its offset."""

    kinds = (f"{PACKAGE}.AnomalyScore",)
    title = "AnomalyScore of an IsolationForest"
    methods = ("predict",)

    @property
    def inside(self) -> list:
        return [self.estimator.model]

    def trees(self, rows: Any = None) -> Reading:
        family = family_of(self.last)
        if not isinstance(family.core, IsolationForest):
            raise TypeError(
                f"AnomalyScore takes a fitted IsolationForest, not {family.name}(...). Other "
                "models are given as they are."
            )
        reading = family.read(rows)
        reading.classes = reading.on_numbers = None
        reading.vote = reading.vote.chosen_by(None).behind(Link("exp2"))
        return reading
