"""Cut-offs and calibration: what stands between the scores of an ensemble and its class.

A decision threshold, or the calibration of one model, makes a class of one number: the score of an
ensemble of two classes. A copy of the model itself is made whose rows are such numbers; bisection
over floats finds the numbers at which what this copy predicts changes. They are the `Cut` of a
vote. So every rounding is that of scikit-learn. In the same way, `in_range` makes classes of what a
regressor answers, or of a probability: below a range, in it, or above.
"""

from __future__ import annotations

import copy
import warnings
from dataclasses import replace
from functools import partial

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.calibration import CalibratedClassifierCV
from sklearn.model_selection import FixedThresholdClassifier, TunedThresholdClassifierCV
from sklearn.utils.metaestimators import available_if

from ensemble_simplify.grid import last_number, number_at, place_of
from ensemble_simplify.reading.decision import (
    decision_of,
    has_probabilities,
    labels_of_scores,
    probabilities_of,
    values_of,
)
from ensemble_simplify.reading.program import Cut, Link, Temperature
from ensemble_simplify.reading.trees import name_of

# Numbers that are looked at for changes of the class: evenly spread among floats, and from -1 to 2.
_SPREAD = 2001
# Floats to each side of a change that are looked at one by one: there, rounding can undo it.
_BESIDE = 256
# Parts into which what lies between two floats of different classes is divided at a time.
_PARTS = 512
# Changes of the class, at most: a map that rises or falls has one, but for roundings.
_CHANGES = 1000
# Numbers are looked at up to this factor beyond the largest score.
_BEYOND = 2.0**20


def insides(estimator):
    """The fitted models whose answers a threshold or a calibration changes; [] for other models."""
    if isinstance(estimator, FixedThresholdClassifier):
        # it takes a fitted model without being fitted itself
        return [getattr(estimator, "estimator_", estimator.estimator)]
    if isinstance(estimator, TunedThresholdClassifierCV):
        return [estimator.estimator_] if hasattr(estimator, "estimator_") else []
    if isinstance(estimator, CalibratedClassifierCV):
        return [pair.estimator for pair in getattr(estimator, "calibrated_classifiers_", ())]
    return []


def around(estimator, models):
    """A shallow copy of a threshold or a calibration with other models inside."""
    written = copy.copy(estimator)
    if isinstance(estimator, CalibratedClassifierCV):
        written.calibrated_classifiers_ = []
        for pair, model in zip(estimator.calibrated_classifiers_, models, strict=True):
            pair = copy.copy(pair)
            pair.estimator = model
            written.calibrated_classifiers_.append(pair)
    else:
        (written.estimator_,) = models
    return written


class OnNumbers(ClassifierMixin, BaseEstimator):
    """A classifier whose rows are the scores of an ensemble.

    Parameters
    ----------
    classes : ndarray of shape (n_classes,)
    answers : dict of callables
        What its methods answer to scores, by their names; others it lacks.
    columns : slice or None
        Columns of the rows that are its scores; None: all.
    """

    def __init__(self, classes, answers, columns=slice(None)):
        self.classes = self.classes_ = classes
        self.answers, self.columns = answers, columns

    def fit(self, X=None, y=None):
        """Nothing is left to be fitted; scikit-learn takes no model without this method."""
        return self

    @available_if(lambda self: "predict_proba" in self.answers)
    def predict_proba(self, X):
        return self.answers["predict_proba"](X[:, self.columns])

    @available_if(lambda self: "decision_function" in self.answers)
    def decision_function(self, X):
        return self.answers["decision_function"](X[:, self.columns])

    def predict(self, X):
        return self.answers["predict"](X[:, self.columns])


def part_of(model, reading, estimator, columns) -> OnNumbers:
    """What stands for a member of an estimator, where rows are the scores of all members.

    Its own are in some `columns`.
    """
    if reading.classes is None:
        return OnNumbers(None, {"predict": _Answers(reading.vote, values_of)}, columns)
    part = _standing_in(model, reading, estimator, columns)
    part.answers["predict"] = partial(_label_of, reading.vote, reading.classes)
    return part


def _standing_in(model, reading, estimator, columns=slice(None)):
    """What stands for the model inside of an estimator, where some columns are its scores."""
    inner = reading.on_numbers
    if inner is None:
        vote = reading.vote
        if not has_probabilities(vote):
            raise TypeError(
                f"{name_of(estimator)} over {name_of(model)} is not supported: what turns the "
                "scores of that model into probabilities is not known. Methods that need no more "
                "of a model than predict: RepresenterTree, agreement, simplify."
            )
        functions = {"predict_proba": probabilities_of, "decision_function": decision_of}
        answers = {name: _Answers(vote, function) for name, function in functions.items()}
        inner = OnNumbers(reading.classes, answers)
    names = ("predict_proba", "decision_function")
    names = [name for name in names if hasattr(model, name) and hasattr(inner, name)]
    return OnNumbers(reading.classes, {name: getattr(inner, name) for name in names}, columns)


class _Answers:
    """What a method of an ensemble answers to its scores; it can be pickled."""

    def __init__(self, vote, function):
        self.vote = vote
        self.function = function

    def __call__(self, scores):
        is_divided = self.vote.is_boosted_sum and self.vote.divisor != 1
        if self.function is decision_of and is_divided:
            raise TypeError(
                "A decision threshold or a calibration of a LightGBM forest by decision_function "
                "is not supported. Use response_method='predict_proba' in a threshold, and "
                "boosting_type='gbdt' for a calibration."
            )
        return self.function(self.vote, scores.astype(self.vote.dtype, copy=False))


def _label_of(vote, classes, scores):
    return classes[labels_of_scores(vote, scores.astype(vote.dtype, copy=False))]


# ------------------------------------------------------------------- readers of both kinds


def with_threshold(estimator, reading):
    """The reading of the model inside, decided as a threshold classifier decides."""
    (model,) = insides(estimator)
    if reading.classes is None or len(reading.classes) != 2:
        raise TypeError(
            f"{name_of(estimator)} over {name_of(model)} is not supported: a decision threshold "
            "needs a classifier of two classes."
        )
    if any(vote.calibrated is not None for vote in reading.vote.members):
        raise TypeError(
            f"{name_of(estimator)} over a {name_of(model)} of several folds is not supported: its "
            "probabilities are no function of one sum of trees. Fit the calibration with "
            "ensemble=False, or on a FrozenEstimator."
        )
    reading.on_numbers = around(estimator, [_standing_in(model, reading, estimator)])
    reading.vote = replace(reading.vote, choice=cut_of(estimator, reading))
    return reading


def calibrated(estimator, readings):
    """The reading of a calibration, of those of the models inside: one, or one for each fold."""
    folds = []
    pairs = estimator.calibrated_classifiers_
    for pair, reading in zip(pairs, readings, strict=True):
        # for a temperature, names of classes become numbers before the model is fitted
        known = [estimator.classes_]
        if _is_temperature(pair):
            known.append(np.arange(len(estimator.classes_)))
        if not any(np.array_equal(reading.classes, own) for own in known):
            raise ValueError(
                f"{name_of(estimator)} holds a {name_of(pair.estimator)} that does not know all of "
                "its classes. Fit it with stratified folds, cv=StratifiedKFold()."
            )
        if reading.vote.temperature is not None or (
            reading.vote.members
            and any(vote.calibrated is not None for vote in reading.vote.members)
        ):
            raise TypeError(
                f"{name_of(estimator)} over another calibration of many classes, or of several "
                "folds, is not supported. Calibrate once."
            )
        folds.append(_standing_in(pair.estimator, reading, estimator))
        reading.classes = estimator.classes_
    on_numbers = around(estimator, folds)
    is_sum = len(readings) == 1 and (len(estimator.classes_) == 2 or _is_temperature(pairs[0]))
    if not is_sum:
        for pair, reading in zip(on_numbers.calibrated_classifiers_, readings, strict=True):
            index = np.arange(len(estimator.classes_))
            program = replace(reading.vote, columns=index, link=Link("unknown"), calibrated=pair)
            reading.vote = program.chosen_by(None)
        return None
    (reading,), (pair,) = readings, pairs
    of_scores = hasattr(folds[0], "decision_function")
    link = _link_of(pair, reading.vote, of_scores)
    if len(reading.classes) > 2:
        logits = "scores" if of_scores else "log" if reading.vote.link is None else "log_softmax"
        scaling = Temperature(pair.calibrators[0].beta_, logits)
        reading.vote = replace(reading.vote, choice=scaling, link=Link("unknown"))
        return reading
    if hasattr(pair.calibrators[0], "X_thresholds_"):
        reading.knots = np.concatenate([reading.knots, _knots_of(pair, folds[0], reading)])
    # scikit-learn takes no logarithms of what is beyond
    is_mean = reading.vote.is_mean
    reading.within_one |= is_mean and _is_temperature(pair)
    reading.on_numbers = on_numbers
    reading.vote = replace(reading.vote, choice=cut_of(estimator, reading), link=link)
    return reading


def _is_temperature(pair):
    return hasattr(pair.calibrators[0], "beta_")


def _link_of(pair, vote, of_scores):
    """What turns the sums of a vote into calibrated probabilities of two classes."""
    (calibrator,) = pair.calibrators[:1]
    is_number = of_scores or (vote.is_mean and vote.link is None)
    if is_number and hasattr(calibrator, "a_"):
        return Link("sigmoid", -float(calibrator.a_), -float(calibrator.b_))
    if of_scores and hasattr(calibrator, "beta_"):
        return Link("sigmoid", 2.0 * float(calibrator.beta_))
    return Link("unknown")


# ------------------------------------------------------------------- from numbers to a class


def _scores(vote, numbers, column):
    """Scores of two classes with given numbers; where each class has its own, the other is 0."""
    numbers = np.asarray(numbers).astype(vote.dtype)
    if vote.n_scores == 1:
        return numbers[:, None]
    scores = np.zeros((len(numbers), vote.n_scores), dtype=vote.dtype)
    scores[:, 1 if vote.is_of_votes else column] = numbers
    return scores


def cut_of(estimator, reading):
    """The `Cut` of a model whose copy on numbers is in the reading."""
    vote = reading.vote
    if vote.is_boosted_sum and vote.n_scores != 1:
        raise TypeError(
            f"{name_of(estimator)} is not supported over a model that adds up a score for each of "
            "two classes. Fit it with an objective of one score, as 'binary:logistic'."
        )
    found = []
    for column in (1,) if vote.is_boosted_sum or vote.is_of_votes else (1, 0):
        at, labels = _changes(
            lambda numbers, column=column: _labels(reading, numbers, column),
            vote.dtype,
            _ends(reading),
            reading.knots,
        )
        cut = Cut(at, labels[0], column)
        if len(at):
            return cut
        found.append(cut)
    return found[0]


def _labels(reading, numbers, column):
    """The class index that a copy on numbers answers to each."""
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        found = reading.on_numbers.predict(_scores(reading.vote, numbers, column))
    return (np.asarray(found) == reading.classes[1]).astype(np.intp)


def _largest_score(reading):
    """No score is larger."""
    vote = reading.vote
    if not vote.is_boosted_sum:
        return 2.0
    with np.errstate(over="ignore"):
        most = sum(float(np.abs(tree.value[tree.left < 0]).max()) for tree in reading.trees)
    return max(1.0, (most + vote.largest_start) / vote.divisor)


def _ends(reading):
    """The least and the largest number that is looked at."""
    if reading.within_one:
        return 0.0, 1.0
    end = min(_largest_score(reading) * _BEYOND, float(np.finfo(reading.vote.dtype).max) / 4.0)
    return -end, end


def _changes(labels_of, dtype, ends, knots=()):
    """The numbers at which the class changes, and the classes below, between and above them.

    ``labels_of(numbers)`` are the classes of numbers of a dtype, between two `ends`. It is looked
    for where they change beside some `knots`.
    """
    low, high = (int(place_of(end, dtype)) for end in ends)
    places = np.linspace(low, high, _SPREAD).astype(np.int64)
    own = np.concatenate([np.linspace(-1.0, 2.0, _SPREAD), knots])
    own = place_of(own, dtype)
    # floats are looked at by their places among all floats: gaps between places are whole numbers
    places = np.unique(np.clip(np.concatenate([places, own - 1, own, own + 1]), low, high))
    labels = labels_of(number_at(places, dtype))
    looked_beside = -1
    while True:
        changed = np.flatnonzero(labels[1:] != labels[:-1])
        if len(changed) > _CHANGES:
            raise TypeError(
                "A decision threshold or a calibration is not supported whose class changes "
                f"{len(changed)} times while the score of the model rises: its map neither rises "
                "nor falls. Fit it again."
            )
        first, gap = places[changed], places[changed + 1] - places[changed]
        if (gap > 1).any():
            # changes that are not found to the float yet: look between
            steps = np.minimum(_PARTS, gap)[:, None]
            part = np.minimum(np.arange(1, _PARTS), steps)
            more = first[:, None] + gap[:, None] // steps * part
        elif len(changed) not in (0, looked_beside):
            more = np.clip(np.add.outer(first, np.arange(-_BESIDE, _BESIDE + 1)), low, high)
            looked_beside = len(changed)
        else:
            break
        more = np.setdiff1d(more, places)
        if not len(more):
            continue
        found = labels_of(number_at(more, dtype))
        order = np.argsort(np.concatenate([places, more]), kind="stable")
        places = np.concatenate([places, more])[order]
        labels = np.concatenate([labels, found])[order]
    at = number_at(places[changed + 1], dtype) + 0.0
    return tuple(at.tolist()), tuple(labels[[0, *(changed + 1)]].tolist())


# ------------------------------------------------------------------- ranges of numbers


def in_range(vote, low, high, column=None, on_numbers=None):
    """A `Cut` that says where the number lies that a vote answers, and what its classes mean.

    These are, as an int array, 0 for numbers below a range, 1 in it, and 2 above.

    Parameters
    ----------
    vote : Program
    low, high : float
        Both belong to the range.
    column : int or None
        Of a classifier: the class whose probability is the number. None: the vote of a regressor.
    on_numbers : object or None
        What answers the probabilities of scores; None: the vote does.
    """
    is_mean = vote.is_mean
    if column is not None and on_numbers is None and not _is_of_one_score(vote):
        raise TypeError(
            "The probabilities of this model are no function of one sum of its trees. This is the "
            "case for boosting with more than two classes, hard votes and most calibrations. Ask "
            "about its classes."
        )
    # the score that the number depends on: calibrations look at that of the upper class
    score = 1 if column is not None and vote.link is not None else column or 0

    def labels_of(numbers):
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            scores = _scores(vote, numbers, score)
            if column is None:
                answers = values_of(vote, scores)
            elif on_numbers is None:
                answers = probabilities_of(vote, scores)[:, column]
            else:
                answers = np.asarray(on_numbers.predict_proba(scores))[:, column]
        answers = answers.astype(np.float64)
        return np.where(answers < low, 0, np.where(answers > high, 2, 1))

    most = float(np.finfo(vote.dtype).max) / 4.0
    ends = (0.0, 1.0) if column is not None and is_mean else (-most, most)
    at, ranges = _changes(labels_of, vote.dtype, ends)
    meant = np.unique(ranges)
    if len(meant) < 3:
        first = int(ranges[0] != meant[0])
        # of one class, a second one stands for what is never answered
        meant = meant if len(meant) == 2 else np.array([meant[0], (meant[0] + 1) % 3])
        ranges = ()
    else:
        first = ranges[0]
    return Cut(at, first, 1 if vote.is_boosted_sum or vote.is_of_votes else score, ranges), meant


def _is_of_one_score(vote):
    """Whether each probability of a vote depends on one of its scores alone."""
    if not has_probabilities(vote) or any(own.calibrated is not None for own in vote.members):
        return False
    if vote.is_mean:
        return vote.link is None
    return vote.has_one_score or (vote.is_of_votes and vote.n_scores == 2)


def _knots_of(pair, inner, reading):
    """Numbers at which an isotonic map can fall by a rounding: its knots, as scores."""
    vote, dtype = reading.vote, reading.vote.dtype
    own = pair.calibrators[0].X_thresholds_.astype(np.float64)
    if hasattr(inner, "decision_function"):
        return own

    def enters(numbers):
        return inner.predict_proba(_scores(vote, numbers, 1))[:, 1].astype(np.float64)

    if vote.is_mean and vote.link is None:
        return own
    with np.errstate(all="ignore"):
        ends = enters(np.array([-1.0, 1.0]) * min(_largest_score(reading), 700.0))
        sign = 1.0 if ends[0] <= ends[1] else -1.0
        below = last_number(lambda x: sign * enters(x) < sign * own, len(own), dtype)
        up_to = last_number(lambda x: sign * enters(x) <= sign * own, len(own), dtype)
    found = np.concatenate([below, up_to])
    return found[np.isfinite(found)]
