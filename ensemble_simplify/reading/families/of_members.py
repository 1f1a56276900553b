"""Ensembles of any members that are read here: Bagging, AdaBoost and VotingClassifier.

A member is asked what it is, as the ensemble itself was. Its trees join those of the others, and
its vote becomes one of the votes that the ensemble's own goes over.
"""

from __future__ import annotations

import copy
import warnings
from dataclasses import replace
from typing import Any

import numpy as np
from sklearn.multiclass import OneVsRestClassifier
from sklearn.utils import check_array

from ensemble_simplify.reading import program as steps
from ensemble_simplify.reading.cut_offs import part_of
from ensemble_simplify.reading.decision import has_probabilities, samme_votes
from ensemble_simplify.reading.families.forests import OfMembers, RandomForest, scaled_members
from ensemble_simplify.reading.families.gradient_boosting import GradientBoosting
from ensemble_simplify.reading.family import Family, family_of, kept_table
from ensemble_simplify.reading.trees import Reading, constant_tree, name_of, spread


class Bagging(OfMembers):
    """Bagging: members see subsets of the features, and perhaps of the classes."""

    kinds = ("sklearn.BaggingClassifier", "sklearn.BaggingRegressor")
    title = "Bagging* of trees"

    def trees(self, rows: Any = None) -> Reading:
        members = self.members
        if len(members) != self.estimator.n_estimators:
            raise ValueError(
                f"{self.name} has n_estimators={self.estimator.n_estimators}, but holds "
                f"{len(members)} fitted estimators. Fit it again."
            )
        subsets = self._feature_subsets()
        classes = getattr(self.estimator, "classes_", None)
        n_scores = 1 if classes is None else len(classes)
        readings, filled = [], np.zeros(self.n_features, dtype=bool)
        for member, subset in zip(members, subsets, strict=True):
            seen = None if rows is None else _as_array(rows)[:, subset]
            reading = family_of(member).read(seen, within=len(subset))
            self._check_averaged(member, reading)
            if classes is not None:
                index = _index_of(reading.classes, np.arange(n_scores), self)
                reading.vote = replace(reading.vote, columns=index).chosen_by(None)
            for tree in reading.trees:
                tree.columns = subset if tree.columns is None else subset[tree.columns]
            if reading.filled is not None:
                filled[subset[reading.filled]] = True
            readings.append(reading)
        trees, votes, _ = self.joined(readings)
        if all(vote.is_one_tree for vote in votes):
            if classes is not None:
                for tree, vote in zip(trees, votes, strict=True):
                    tree.value = spread(tree.value, vote.columns, n_scores)
            vote = steps.mean_of_trees(len(trees), n_scores, divisor=len(members))
        else:
            vote = steps.mean_of_members(votes, n_scores)
        # a bagging of this package's own was fitted on the codes of a table
        table = kept_table(self.estimator)
        if table is not None and not table.coded.any():
            table = None
        return Reading(trees, vote, classes, table, filled if filled.any() else None)

    def _feature_subsets(self):
        """The features that each member was fitted on, checked."""
        subsets = [np.asarray(subset) for subset in self.estimator.estimators_features_]
        if len(subsets) != len(self.estimator.estimators_):
            raise ValueError(
                f"{self.name} has estimators_features_ for {len(subsets)} members, but "
                f"{len(self.estimator.estimators_)} fitted estimators. Fit it again."
            )
        width = self.n_features
        for i, subset in enumerate(subsets):
            if subset.dtype.kind not in "iu" or ((subset < 0) | (subset >= width)).any():
                raise ValueError(
                    f"{self.name} has estimators_features_[{i}]={subset.tolist()}, which are not "
                    f"all features: these are 0 to {width - 1}. Fit it again."
                )
        return subsets

    def _check_averaged(self, member, reading):
        """Check that the ensemble can take the mean of a member's answers."""
        regression = not hasattr(self.estimator, "classes_")
        if (reading.classes is None) != regression:
            kind = "DecisionTreeRegressor" if regression else "DecisionTreeClassifier"
            raise TypeError(
                f"{self.name} of {name_of(member)} is not supported: use a {kind} as its estimator."
            )
        if not regression:
            check_probabilities(self, member, reading)

    def grown_on(self, n_rows: int) -> list:
        if all(hasattr(member, "tree_") for member in self.members):
            return self._grown_on_samples(n_rows)
        samples, first = self.samples(n_rows), family_of(self.members[0])
        if samples is None or not isinstance(first, RandomForest | GradientBoosting):
            return []
        # rows that were not drawn are given to a member with weight 0, and it leaves them out
        return [
            (own, np.intersect1d(samples[0], np.arange(n_rows) if rows is None else rows))
            for own, rows in first.grown_on(n_rows)
        ]

    def keep_members(self, kept: list) -> None:
        super().keep_members(kept)
        estimator = self.estimator
        estimator.estimators_features_ = [estimator.estimators_features_[i] for i in kept]
        # scikit-learn draws the rows of each member again from its seed.
        estimator._seeds = np.asarray(estimator._seeds)[kept]

    def reweighted(self, weights: np.ndarray, offset: float, scaled: Any) -> Any:
        if hasattr(self.estimator, "classes_"):
            return None
        members, columns = scaled_members(self, weights, offset, scaled)
        everything, kept = np.arange(self.n_features), np.flatnonzero(weights)
        if len(weights) == len(self.estimator.estimators_):
            seeds = {"_seeds": np.asarray(self.estimator._seeds)[kept]}
        else:  # members were ensembles: seeds are none of their trees'
            seeds = {}
        return self.copy_with(
            estimators_=members,
            estimators_features_=[everything if own is None else own for own in columns],
            n_estimators=len(kept),
            **seeds,
        )

    def widen_members(self, features: np.ndarray, n_features: int, names: Any = None) -> None:
        """Let an ensemble that was fitted on some columns take rows of all, in place.

        `features` are the columns that it was fitted on, `names` are those of all `n_features`.
        """
        estimator = self.estimator
        estimator.estimators_features_ = [features[own] for own in estimator.estimators_features_]
        estimator.n_features_in_ = n_features
        if names is not None:
            estimator.feature_names_in_ = names
            if (table := kept_table(estimator)) is not None:
                estimator._table = replace(table, names=np.asarray(names, dtype=object))


class AdaBoost(OfMembers):
    """AdaBoost (SAMME): weighted votes of labels."""

    kinds = ("sklearn.AdaBoostClassifier",)
    title = "AdaBoostClassifier"
    methods = ("predict", "decision_function")

    def trees(self, rows: Any = None) -> Reading:
        classes, weights = self.estimator.classes_, self.estimator.estimator_weights_
        scale = weights.sum()
        if not (np.isfinite(scale) and scale > 0):
            raise ValueError(
                f"{self.name} has estimator_weights_ that sum to {scale}; a positive sum is "
                "needed. Fit it on other data or with a positive learning_rate."
            )
        members = self.members
        weights = weights[: len(members)]
        rows = None if rows is None else _as_array(rows)
        readings = readings_of(self, rows, False)
        for reading in readings:
            index = _index_of(reading.classes, classes, self)
            reading.vote = replace(reading.vote, columns=index)
        trees, votes, _ = self.joined(readings)
        n_classes = len(classes)
        if not all(member.is_one_tree for member in votes):
            vote = steps.adaboost(n_classes, scale, members=votes, weights=weights)
            return Reading(trees, vote, classes)
        for tree, member, weight in zip(trees, votes, weights, strict=True):
            label = member.columns[tree.value.argmax(axis=1)]
            tree.value = samme_votes(label, weight, n_classes)
        return Reading(trees, steps.adaboost(n_classes, scale, n_trees=len(trees)), classes)

    def reweighted(self, weights: np.ndarray, offset: float, scaled: Any) -> Any:
        kept, estimator = np.flatnonzero(weights), self.estimator
        return self.copy_with(
            estimators_=[copy.deepcopy(estimator.estimators_[t]) for t in kept],
            estimator_weights_=estimator.estimator_weights_[kept] * weights[kept],
            estimator_errors_=estimator.estimator_errors_[kept],
            n_estimators=len(kept),
        )


class Voting(OfMembers):
    """VotingClassifier over any classifiers read here."""

    kinds = ("sklearn.VotingClassifier",)
    title = "VotingClassifier of these"

    def trees(self, rows: Any = None) -> Reading:
        classes, soft = self.estimator.classes_, self.estimator.voting == "soft"
        weights = self._weights()
        readings = readings_of(self, rows, False)
        for member, reading in zip(self.members, readings, strict=True):
            if soft:
                check_probabilities(self, member, reading)
            if soft and reading.vote.n_classes == len(classes):
                index = np.arange(len(classes))
            else:
                index = _index_of(reading.classes, np.arange(len(classes)), self)
            reading.vote = replace(reading.vote, columns=index)
            if soft:
                # its label is not asked
                reading.vote = reading.vote.chosen_by(None)
        trees, votes, filled = self.joined(readings)
        if soft and any(len(vote.columns) != len(classes) for vote in votes):
            raise ValueError(
                f"{self.name}(voting='soft') holds members with fewer classes than its "
                f"{len(classes)}. Fit the ensemble instead of assembling it from fitted parts."
            )
        vote = steps.voting(votes, len(classes), soft=soft, weights=weights)
        return Reading(trees, vote, classes, filled=filled)

    def _weights(self):
        """Weights of the members that were not dropped, or None."""
        estimator = self.estimator
        soft = getattr(estimator, "voting", "soft") == "soft"
        if estimator.weights is None:
            return None
        pairs = zip(estimator.estimators, estimator.weights, strict=True)
        weights = [w for (_, member), w in pairs if not isinstance(member, str)]
        weights = np.array(weights, dtype=np.float64)
        if len(weights) != len(self.members):
            raise ValueError(
                f"{self.name} has {len(weights)} weights for {len(self.members)} fitted "
                "estimators. Fit it again."
            )
        if not np.isfinite(weights).all() or (soft and weights.sum() == 0):
            raise ValueError(
                f"{self.name} has weights={estimator.weights}. They must be finite"
                f"{', and their sum not zero' if soft else ''}."
            )
        if soft and (weights < 0).any():
            other = ", or voting='hard'" if hasattr(estimator, "classes_") else ""
            raise ValueError(
                f"{self.name} has weights={estimator.weights}: with a negative weight, a mean of "
                "probabilities can be negative, and one of values falls where a tree rises. Use "
                f"weights of 0 or more{other}."
            )
        return weights


class Averaging(Voting):
    """VotingRegressor: the average of what members answer, which are sums over their trees."""

    kinds = ("sklearn.VotingRegressor",)
    title = "VotingRegressor of these"
    methods = ("predict",)

    def trees(self, rows: Any = None) -> Reading:
        trees, votes, filled = self.joined(readings_of(self, rows, True))
        vote = steps.voting(votes, 1, soft=True, weights=self._weights())
        return Reading(trees, vote, None, filled=filled)


class AdaBoostMedian(OfMembers):
    """AdaBoostRegressor: the weighted median of what members answer."""

    kinds = ("sklearn.AdaBoostRegressor",)
    title = "AdaBoostRegressor"
    methods = ("predict",)

    def grown_on(self, n_rows: int) -> list:
        # rows are drawn for each member, and it is not kept which
        return []

    def trees(self, rows: Any = None) -> Reading:
        rows = None if rows is None else _as_array(rows)
        trees, votes, _ = self.joined(readings_of(self, rows, True))
        weights = np.asarray(self.estimator.estimator_weights_[: len(votes)], dtype=np.float64)
        median = steps.MemberMedian(tuple(votes), 1, weights)
        return Reading(trees, steps.Program(median, steps.Largest()), None)


class Stacking(OfMembers):
    """StackingClassifier and StackingRegressor: a last model goes by the answers of the others."""

    kinds = ("sklearn.StackingClassifier", "sklearn.StackingRegressor")
    title = "Stacking* of these"
    methods = ("predict",)

    def trees(self, rows: Any = None) -> Reading:
        classes = getattr(self.estimator, "classes_", None)
        why = None
        if getattr(self.estimator, "passthrough", False):
            why = "passthrough=True, so that its last model reads the columns themselves"
        elif isinstance(classes, list) or getattr(self.estimator, "multilabel_", False):
            why = "several labels a row"
        if why is not None:
            raise TypeError(
                f"{self.name} is not supported with {why}. Fit it without. Methods that need no "
                "more of a model than predict: RepresenterTree, agreement, simplify."
            )
        is_of_either = isinstance(self, OneAgainst)
        readings = readings_of(self, rows, None if is_of_either else classes is None)
        trees, votes, filled = self.joined(readings)
        program = self._program(readings, votes, trees, classes)
        return Reading(trees, program, classes, filled=filled)

    def _program(self, readings, votes, trees, classes):
        n_scores, link = (1, None) if classes is None else (len(classes), steps.Link("unknown"))
        if classes is not None and readings[0].classes is None:
            readings_of(self, None, False)
        function, weights = Stacked(self.estimator, self.members, readings), None
        last = getattr(self.estimator, "final_estimator_", None)
        if classes is None and type(last).__module__.startswith("sklearn.linear_model"):
            # what is added to the weighted values is a tree of one leaf
            trees.append(constant_tree(self.estimator, [float(last.intercept_)]))
            votes.append(steps.mean_of_trees(1, 1).moved(len(trees) - 1))
            weights = np.append(last.coef_, 1.0)
        numbers = steps.MemberStack(tuple(votes), n_scores, weights, function=function)
        return steps.Program(numbers, steps.Largest(), link)


class OneAgainst(Stacking):
    """A classifier of two classes for each class against the rest, or for each pair of classes."""

    kinds = ("sklearn.OneVsRestClassifier", "sklearn.OneVsOneClassifier")
    title = "OneVsRestClassifier and OneVsOneClassifier of these"

    def _program(self, readings, votes, trees, classes):
        """Against the rest, it is the largest sum of forests, or boosting, of the same size."""
        n_classes, numbers = len(classes), votes[0].numbers
        is_sum = isinstance(self.estimator, OneVsRestClassifier) and n_classes == len(votes)
        is_sum &= all(map(_is_one_sum, self.members, votes))
        if not is_sum or len({vote.divisor for vote in votes}) > 1:
            return super()._program(readings, votes, trees, classes)
        for k, vote in enumerate(votes):
            for t in vote.trees:
                trees[t].value = spread(trees[t].value[:, -1:], [k], n_classes)
        numbers = replace(numbers, stop=len(trees), n_scores=n_classes)
        if votes[0].is_boosted_sum:
            numbers = replace(numbers, init=np.array([vote.moved_by[0] for vote in votes]))
        # the last of equal ones
        return steps.Program(numbers, steps.Largest(last=True), steps.Link("unknown"))


def _is_one_sum(member, vote):
    """Whether the number that a classifier of two classes says of the second is one sum."""
    if vote.cut is not None or vote.offset is not None or vote.dtype != "float64":
        return False
    if hasattr(member, "decision_function"):
        return vote.has_one_score
    is_value = vote.has_one_score and not hasattr(member, "classes_")
    return (vote.is_mean_of_trees or is_value) and vote.link is None


class Stacked:
    """What an ensemble answers where rows are the scores of its members; it can be pickled.

    It asks a copy of the ensemble, in which each member answers to columns of its own.
    """

    def __init__(self, estimator, members, readings):
        copied, ends = copy.copy(estimator), np.cumsum([r.vote.n_scores for r in readings])
        copied.estimators_ = [
            part_of(member, reading, estimator, slice(end - reading.vote.n_scores, end))
            for member, reading, end in zip(members, readings, ends.tolist(), strict=True)
        ]
        vars(copied).pop("feature_names_in_", None)
        if "n_features_in_" in vars(copied):
            copied.n_features_in_ = int(ends[-1])
        self.copied = copied

    def __call__(self, scores):
        """Class indices, or values."""
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            found = np.asarray(self.copied.predict(scores))
        classes = getattr(self.copied, "classes_", None)
        return found.astype(np.float64) if classes is None else np.searchsorted(classes, found)


def readings_of(family: OfMembers, rows: Any, are_values: bool | None) -> list[Reading]:
    """The readings of members, all regressors or all classifiers; None: of either kind."""
    readings = []
    for member in family.members:
        readings.append(family_of(member).read(rows, within=family.n_features))
        if are_values is not None and (readings[-1].classes is None) != are_values:
            kinds = ("classifier", "regressor")[:: 1 if are_values else -1]
            raise TypeError(
                f"{family.name} over the {kinds[0]} {name_of(member)} is not supported. Use "
                f"{kinds[1]}s."
            )
    return readings


def check_probabilities(family: Family, member: Any, reading: Reading) -> None:
    """Refuse (TypeError) a member of which it is not known what it makes of its sums."""
    vote = reading.vote
    is_plain = vote.link is None or (vote.link.is_followed and reading.on_numbers is None)
    if not (has_probabilities(vote) and is_plain) and not vote.counts_labels:
        raise TypeError(
            f"{family.name} over {name_of(member)} is not supported: what turns the scores of that "
            "into probabilities is not known. Use members without calibrations and thresholds, or "
            "voting='hard'."
        )


def _as_array(rows):
    """Rows as an ensemble that checks them gives them to its members."""
    return check_array(rows, dtype=None, ensure_all_finite=False)


def _index_of(labels, classes, family):
    """Where each of a member's `labels` stands among the `classes` of the ensemble."""
    classes = np.asarray(classes)
    index = np.minimum(np.searchsorted(classes, labels), classes.shape[0] - 1)
    if not np.array_equal(classes[index], labels):
        raise ValueError(
            f"{family.name} holds a member with classes {np.asarray(labels).tolist()}, which are "
            f"not among {classes.tolist()}. Fit the ensemble instead of assembling it from fitted "
            "parts."
        )
    return index.astype(np.intp)
