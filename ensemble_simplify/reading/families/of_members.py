"""Ensembles of any members that are read here: Bagging, AdaBoost and VotingClassifier.

A member is asked what it is, as the ensemble itself was. Its trees join those of the others, and
its vote becomes one of the votes that the ensemble's own goes over.
"""

from __future__ import annotations

import copy
from dataclasses import replace
from typing import Any

import numpy as np
from sklearn.utils import check_array

from ensemble_simplify.reading.decision import samme_votes
from ensemble_simplify.reading.families.forests import OfMembers, RandomForest, scaled_members
from ensemble_simplify.reading.families.gradient_boosting import GradientBoosting
from ensemble_simplify.reading.family import Family, family_of, kept_table
from ensemble_simplify.reading.program import adaboost, mean_of_members, mean_of_trees, voting
from ensemble_simplify.reading.trees import Reading, name_of, spread


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
            if classes is None:
                check_sum(self, member, reading)
            else:
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
            vote = mean_of_trees(len(trees), n_scores, divisor=len(members))
        else:
            vote = mean_of_members(votes, n_scores)
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
        if reading.vote.is_boosted and not regression:
            raise TypeError(
                f"{self.name} of {name_of(member)} is not supported: it averages probabilities "
                "that are no sums of leaf values. Use trees or forests."
            )

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
        readings = [family_of(member).read(rows, within=self.n_features) for member in members]
        for reading in readings:
            index = _index_of(reading.classes, classes, self)
            reading.vote = replace(reading.vote, columns=index)
        trees, votes, _ = self.joined(readings)
        n_classes = len(classes)
        if not all(member.is_one_tree for member in votes):
            vote = adaboost(n_classes, scale, members=votes, weights=weights)
            return Reading(trees, vote, classes)
        for tree, member, weight in zip(trees, votes, weights, strict=True):
            label = member.columns[tree.value.argmax(axis=1)]
            tree.value = samme_votes(label, weight, n_classes)
        return Reading(trees, adaboost(n_classes, scale, n_trees=len(trees)), classes)

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
        readings = []
        for member in self.members:
            reading = family_of(member).read(rows, within=self.n_features)
            if soft and (reading.vote.is_boosted or reading.vote.counts_labels):
                raise TypeError(
                    f"{self.name}(voting='soft') over {name_of(member)} is not supported: its "
                    "probabilities are no sums of leaf values. Use voting='hard'."
                )
            if reading.classes is None:
                raise TypeError(
                    f"{self.name} over the regressor {name_of(member)} is not supported. Use "
                    "classifiers."
                )
            if soft and len(reading.classes) == len(classes):
                index = np.arange(len(classes))
            else:
                index = _index_of(reading.classes, np.arange(len(classes)), self)
            reading.vote = replace(reading.vote, columns=index)
            if soft:
                # its label is not asked
                reading.vote = reading.vote.chosen_by(None)
            readings.append(reading)
        trees, votes, filled = self.joined(readings)
        if soft and any(len(vote.columns) != len(classes) for vote in votes):
            raise ValueError(
                f"{self.name}(voting='soft') holds members with fewer classes than its "
                f"{len(classes)}. Fit the ensemble instead of assembling it from fitted parts."
            )
        vote = voting(votes, len(classes), soft=soft, weights=weights)
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
        readings = []
        for member in self.members:
            readings.append(family_of(member).read(rows, within=self.n_features))
            check_sum(self, member, readings[-1])
        trees, votes, filled = self.joined(readings)
        vote = voting(votes, 1, soft=True, weights=self._weights())
        return Reading(trees, vote, None, filled=filled)


def check_sum(family: Family, member: Any, reading: Reading) -> None:
    """Refuse (TypeError) a member whose values are no sums over its trees."""
    if reading.classes is not None or reading.vote.link is not None:
        raise TypeError(
            f"{family.name} over {name_of(member)} is not supported: the answers of that are no "
            "sums of leaf values, and a mean of such is none. Use regressors without a link, such "
            "as with a squared error."
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
