"""What is compared of two models, labels or numbers, on rows and inside a box."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from ensemble_simplify.base import absolute_tolerance, differ, r2
from ensemble_simplify.grid import limits, read_domain, time_left
from ensemble_simplify.proof.compare import closeness_of, places_of, side_by_side
from ensemble_simplify.proof.forest_pair import Space, may_begin
from ensemble_simplify.proof.volume import settled_volume

# Boxes inside of a box that its proof may look at before the box is halved.
BOXES_OF_ONE = 200


def compared_of(models, atol):
    """What is compared of two models: labels, or numbers within a tolerance."""
    n_classifiers = sum(model.is_classifier for model in models)
    if n_classifiers and atol is None:
        return _Labels()
    if n_classifiers == 1:
        names = [model.name for model in models]
        at = [model.is_classifier for model in models].index(True)
        raise TypeError(
            f"{names[at]}(...) is a classifier, but {names[1 - at]}(...) is not, so atol={atol!r} "
            "cannot compare them. Give two classifiers or two regressors."
        )
    for model in models:
        if n_classifiers and not hasattr(model.estimator, "predict_proba"):
            raise TypeError(
                f"atol={atol!r} compares probabilities, but {model.name}(...) has no "
                "predict_proba. Leave atol out to compare labels."
            )
    return _Numbers(models, 0.0 if atol is None else atol)


class _Labels:
    """Labels of two models, which are the same or not."""

    method = "predict"
    told: ClassVar = {}

    def of_rows(self, answers):
        """On which of the rows of a user's two models differ."""
        return differ(*answers)

    apart = of_rows

    def furthest(self, rows):
        """Some rows on which models differ, those that matter most first."""
        return rows

    def volume(self, forests, inside, missing, box, effort):
        """Bounds on the share of the box on which two forests answer alike."""
        if not may_begin(forests):
            return 0.0, 1.0
        space = Space(forests, domain=inside, in_time=True)
        alone = [Space([forest], space.axes, inside).certifier for forest in forests]

        def settle(lo, hi):
            equal, _, _ = space.certifier.prove(lo, hi, BOXES_OF_ONE)
            if equal is False and all(model.prove(lo, hi, BOXES_OF_ONE)[0] for model in alone):
                # one class each, and not the same
                return False
            return equal or None

        return settled_volume(settle, space.axes, box, are_finer(forests), effort, effort.first)


class _Numbers:
    """Values of two models, or their probabilities, which are within a tolerance or not.

    Parameters
    ----------
    models : pair of Model
    atol : float or str
        See `absolute_tolerance`.
    """

    def __init__(self, models, atol):
        self.models = models
        self.method = "predict_proba" if models[0].is_classifier else "predict"
        self.places = places_of(models)
        self.told = {"atol": atol, "max_difference": 0.0, "max_difference_bound": np.inf}
        self.told["differences"] = np.zeros(0)
        if not models[0].is_classifier:
            self.told["r2"] = np.nan

    def of_rows(self, answers):
        """On which of the rows of a user's two models differ; what is known of them is noted."""
        told = self.told
        told["atol"] = absolute_tolerance(told["atol"], answers[0])
        apart = self.apart(answers)
        told["differences"] = self._difference(answers)
        if "r2" in told:
            a, b = (own.astype(np.float64) for own in answers)
            told["r2"] = r2(a, b)
            spread, error = np.sum((a - a.mean()) ** 2), np.sum((a - b) ** 2)
            told["_squares"] = a.size, a.mean(), spread, error
        return apart

    def apart(self, answers):
        """Where answers are further apart than the tolerance; the furthest is noted."""
        difference = self._difference(answers)
        self.told["max_difference"] = max(self.told["max_difference"], float(difference.max()))
        return difference > self.told["atol"]

    def _difference(self, answers):
        answers = [own if own.ndim == 2 else own[:, None] for own in answers]
        a, b = side_by_side(answers, *self.places)
        return np.abs(a - b).max(axis=1)

    def furthest(self, rows):
        """Some rows on which models differ, those furthest apart first."""
        return rows[np.argsort(-self.told["differences"][rows], kind="stable")]

    def volume(self, forests, inside, missing, box, effort):
        """Bounds on the share of the box on which two models are within the tolerance.

        The largest difference is bounded first. None where the numbers are no sums.
        """
        told, finer = self.told, are_finer(forests)
        if not may_begin(forests):
            return 0.0, 1.0
        closeness = closeness_of(self.models, _domain_of(box, inside, missing), (told["atol"], 0.0))
        if closeness is None:
            return None
        is_copy = closeness.proves_copy()
        found = closeness.found
        if not is_copy:
            with limits(time_left() / 2):
                found = closeness.everywhere(np.random.default_rng(0), effort.boxes)
        told["max_difference"] = max(told["max_difference"], found.largest)
        told["max_difference_bound"] = max(told["max_difference"], found.bound)
        if found.outcome and not finer:
            return 1.0, 1.0

        def settle(lo, hi):
            return closeness.settle((lo, hi), BOXES_OF_ONE)

        first = effort.first_of(forests)
        return settled_volume(settle, closeness.axes, box, finer, effort, first)


def _domain_of(box, inside, missing):
    """The domain that a box is, with what may be missing in it."""
    low, high, integer = box
    entries = {
        "bounds": dict(enumerate(zip(low.tolist(), high.tolist(), strict=True))),
        "integers": np.flatnonzero(integer).tolist(),
        "missing": np.flatnonzero(missing if inside is None else inside.missing).tolist(),
    }
    return read_domain(entries, len(low))


def are_finer(forests):
    return any(forest.is_finer for forest in forests)
