"""Single trees of scikit-learn, and forests of them.

scikit-learn's versions add fields to the records in which it keeps nodes. They are read, copied and
written by their names: a field that is not known is carried where it holds nothing, and refused
where it does, since it can change where rows go. What is said of a version that is not known stands
here alone.
"""

from __future__ import annotations

import copy
import warnings
from typing import Any

import numpy as np
import sklearn
from sklearn.utils.fixes import parse_version
from sklearn.utils.validation import check_is_fitted

from ensemble_simplify.reading.columns import plain_levels
from ensemble_simplify.reading.family import Family, family_of, unwrap
from ensemble_simplify.reading.program import mean_of_trees
from ensemble_simplify.reading.sums import tree_shares
from ensemble_simplify.reading.table import Table
from ensemble_simplify.reading.trees import MAX_CODE, Reading, Tree, name_of

OLDEST, NEWEST, FIRST_UNTESTED = "1.6", "1.9", "1.10"

# Of trees and forests.
TREE_FIELDS = frozenset(
    "left_child right_child feature threshold impurity n_node_samples weighted_n_node_samples "
    "missing_go_to_left".split()
)


def is_untested():
    """Whether the installed scikit-learn is newer than the versions that this package knows."""
    # its development versions count as what they will be
    return parse_version(sklearn.__version__).release >= parse_version(FIRST_UNTESTED).release


def not_known(what):
    """The text for what an installed scikit-learn has and this version of the package lacks."""
    return (
        f"{what} (scikit-learn {sklearn.__version__} is installed). This version of "
        f"ensemble_simplify is tested with scikit-learn from {OLDEST} to {NEWEST}. Upgrade "
        f"ensemble_simplify, or install scikit-learn>={OLDEST},<{FIRST_UNTESTED} and fit again."
    )


def unknown_fields(nodes, known):
    """Names of fields that are not known and hold something other than zeros, sorted."""
    others = sorted(set(nodes.dtype.names) - known)
    return [name for name in others if nodes[name].tobytes().strip(b"\0")]


if is_untested():
    warnings.warn(
        not_known(
            "scikit-learn is newer than this package knows: trees with fields that are not known "
            "are refused, and models are asked about a few rows before they are read"
        ),
        UserWarning,
        stacklevel=2,
    )


# ------------------------------------------------------------------- the families


class WithOutputs(Family):
    """What single trees and forests share: leaves can hold values of several outputs."""

    def outputs(self, output: int, rows: Any = None) -> Reading | None:
        estimator = self.estimator
        if output not in range(getattr(estimator, "n_outputs_", 1)):
            return None
        members = getattr(estimator, "estimators_", [estimator])
        trees = [sklearn_tree(member, self.n_features, output) for member in members]
        classes = estimator.classes_[output] if hasattr(estimator, "classes_") else None
        return mean_of(trees, classes)


class SingleTree(WithOutputs):
    """DecisionTreeClassifier, DecisionTreeRegressor and the extra trees."""

    kinds = ("sklearn.DecisionTreeClassifier", "sklearn.DecisionTreeRegressor")
    title = "DecisionTree*"
    is_of_numbers = True
    names_classes = True

    def trees(self, rows: Any = None) -> Reading:
        check_one_output(self)
        tree = sklearn_tree(self.estimator)
        classes, n_values = getattr(self.estimator, "classes_", None), tree.value.shape[1]
        if classes is not None and n_values != len(classes):
            raise ValueError(
                f"{self.name} has {len(classes)} classes_, but its tree_ holds {n_values} values a "
                "node. Fit it again."
            )
        return Reading([tree], mean_of_trees(1, n_values), classes)

    def grown_on(self, n_rows: int) -> list:
        return [(self.estimator.tree_.n_node_samples, None)]


class OfMembers(Family):
    """What ensembles share that keep their fitted members in ``estimators_``."""

    is_of_numbers = True

    @property
    def members(self) -> list:
        members = list(self.estimator.estimators_)
        if not members:
            raise ValueError(f"{self.name} has an empty estimators_: fit it first.")
        return [unwrap(member) for member in members]

    def samples(self, n_rows: int) -> list | None:
        if getattr(self.estimator, "_n_samples", -1) != n_rows:
            return None
        return getattr(self.estimator, "estimators_samples_", None)

    def grown_on(self, n_rows: int) -> list:
        # the first member was given all rows; those after it others, or the same with weights
        return family_of(self.members[0]).grown_on(n_rows)

    def _grown_on_samples(self, n_rows):
        """The same of single trees, each grown on rows of its own; of all, as fits add trees."""
        samples = self.samples(n_rows)
        counts = [member.tree_.n_node_samples for member in self.members]
        if samples is None and not getattr(self.estimator, "bootstrap", False):
            return [(own, None) for own in counts]
        if samples is None:  # it is not known which rows were drawn
            return []
        # rows that were drawn several times have a weight, and count once
        drawn = (np.flatnonzero(np.bincount(rows, minlength=n_rows)) for rows in samples)
        return list(zip(counts, drawn, strict=False))

    def keep_members(self, kept: list) -> None:
        self.estimator.estimators_ = [self.estimator.estimators_[i] for i in kept]
        self.estimator.set_params(n_estimators=len(kept))


class RandomForest(WithOutputs, OfMembers):
    """RandomForest and ExtraTrees: the mean of the trees."""

    kinds = (
        "sklearn.RandomForestClassifier",
        "sklearn.ExtraTreesClassifier",
        "sklearn.RandomForestRegressor",
        "sklearn.ExtraTreesRegressor",
    )
    title = "RandomForest*, ExtraTrees*"
    names_classes = True

    def trees(self, rows: Any = None) -> Reading:
        check_one_output(self)
        classes = getattr(self.estimator, "classes_", None)
        n_scores = 1 if classes is None else len(classes)
        trees = [sklearn_tree(member, self.n_features) for member in self.members]
        if any(tree.value.shape[1] != n_scores for tree in trees):
            raise ValueError(
                f"{self.name} holds trees that do not share its classes_. Fit the ensemble instead "
                "of assembling it from fitted parts."
            )
        return mean_of(trees, classes)

    def grown_on(self, n_rows: int) -> list:
        return self._grown_on_samples(n_rows)

    def reweighted(self, weights: np.ndarray, offset: float, scaled: Any) -> Any:
        kept = np.flatnonzero(weights)
        if not hasattr(self.estimator, "classes_"):
            members, _ = scaled_members(self, weights, offset, scaled)
        elif (weights[kept] == weights[kept[0]]).all():
            members = [copy.deepcopy(self.estimator.estimators_[t]) for t in kept]
        else:  # probabilities have no place for weights
            return None
        return self.copy_with(estimators_=members, n_estimators=len(kept))


def mean_of(trees: list, classes: Any) -> Reading:
    """The reading of the mean of what some trees say."""
    vote = mean_of_trees(len(trees), trees[0].value.shape[1], divisor=len(trees))
    return Reading(trees, vote, classes)


def scaled_members(family: Family, weights: np.ndarray, offset: float, scaled: Any) -> tuple:
    """Trees whose mean is the weighted sum of those of a model, and the columns of each.

    The `offset` goes into the leaves of the first.
    """
    reading, kept = family.read(), np.flatnonzero(weights)
    # what a tree is divided by now, and was before: members may be forests themselves
    shares = [len(kept) * share for share, _ in tree_shares(reading.vote, 1, 1.0)]
    offsets = np.where(np.arange(len(kept)) == 0, offset * len(kept), 0.0)
    members = [
        scaled(reading.trees[t].estimator, weights[t] * shares[t], more)
        for t, more in zip(kept, offsets, strict=True)
    ]
    return members, [reading.trees[t].columns for t in kept]


def tree_of(estimator, nodes, output=0):
    """One output of a scikit-learn tree, from the fields of its nodes."""
    if unknown := unknown_fields(nodes, TREE_FIELDS):
        found = f"{name_of(estimator)} has nodes with fields that are not known"
        raise ValueError(not_known(f"{found}: {', '.join(unknown)}"))
    return Tree(
        name=name_of(estimator),
        left=nodes["left_child"],
        right=nodes["right_child"],
        feature=nodes["feature"],
        threshold=nodes["threshold"],
        value=np.array(_values_of(estimator, output), dtype=np.float64, order="C"),
        n_features=estimator.n_features_in_,
        estimator=estimator,
        missing_left=nodes["missing_go_to_left"].astype(bool),
    )


def _values_of(estimator, output):
    """Values of the nodes for one output: of classes, which can be fewer than those of others."""
    values = estimator.tree_.value[:, output, :]
    several = isinstance(getattr(estimator, "classes_", None), list)
    return values[:, : len(estimator.classes_[output])] if several else values


def codes_and_table(estimator, seen, categories):
    """What stands for the categories of encoders, and the table: see `Reading`.

    `categories` are those of the first columns that the trees see. Codes, an array of int64 for
    each, are the categories themselves if all are whole numbers, else their positions.
    """
    if seen is None:
        return [], None
    plain = [plain_levels(own) for own in categories]
    if any(has_none for _, has_none, _ in plain):
        raise ValueError(
            f"{name_of(estimator)} knows None as a category, and NaN as what is missing. Write "
            "both as NaN, with X.fillna(numpy.nan), and fit it again."
        )
    categories, names = [own for own, *_ in plain], getattr(estimator, "feature_names_in_", None)
    categorical = np.zeros(len(seen), dtype=bool)
    categorical[seen[: len(categories)]] = True
    if all(_are_codes(own) for own in categories):
        return [own.astype(np.int64) for own in categories], Table.of_codes(categorical, names)
    levels = [None] * len(seen)
    for column, own in zip(seen, categories, strict=False):
        levels[column] = own
    table = Table.of_levels(names, levels, "missing", codes=categorical)
    return [np.arange(len(own)) for own in categories], table


def _are_codes(categories):
    """Whether categories are whole numbers from 0 that float32 tells apart with all between."""
    if categories.dtype.kind not in "iufb":
        return False
    number = categories.astype(np.float64)
    return bool(((number == np.floor(number)) & (number >= 0) & (number < MAX_CODE)).all())


def bits_of(words):
    """The bits of some 32-bit words, the lowest first."""
    return np.unpackbits(
        np.ascontiguousarray(words, dtype="<u4").view(np.uint8), bitorder="little"
    ).astype(bool)


def sklearn_tree(estimator: Any, within: int | None = None, output: int | None = None) -> Tree:
    """One scikit-learn tree, all of whose splits are thresholds, in an ensemble or alone.

    Of several outputs, it is that for one; None: it has but one.
    """
    check_is_fitted(estimator)
    family = family_of(estimator)
    family.check_width(within)
    if output is None:
        check_one_output(family)
    return tree_of(estimator, estimator.tree_.__getstate__()["nodes"], output or 0)


def check_one_output(family: Family) -> None:
    """Refuse a model of several targets."""
    n_outputs = getattr(family.estimator, "n_outputs_", 1)
    if n_outputs != 1:
        raise ValueError(
            f"{family.name} was fitted on y with {n_outputs} outputs; only one output is "
            "supported at a time. Give OneOutput(model, 0) and so on."
        )
