"""Forest: a fitted ensemble as plain node arrays and a vote rule.

`read_forest` answers with a `Forest`: the nodes of all trees one after the
other, what each leaf adds to the score vector, and a `Program` that turns the
sums into a class with the arithmetic of the ensemble's own ``predict``
(``n_jobs=None``), bit for bit.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise

import numpy as np
from sklearn.utils import check_array

from ensemble_simplify.grid import (
    CodeSets,
    SetTree,
    Splits,
    as_thresholds,
    check_time,
    float32_floor,
    last_double,
    walk,
    within_window,
)
from ensemble_simplify.reading._routes import route
from ensemble_simplify.reading.cut_offs import in_range
from ensemble_simplify.reading.decision import (
    labels_of,
    labels_of_scores,
    one_hot,
    probabilities_of,
    scores_of,
    values_of,
)
from ensemble_simplify.reading.family import family_of, unwrap
from ensemble_simplify.reading.program import Program, boosted, count_of_trees, mean_of_trees
from ensemble_simplify.reading.sums import class_sums, lead_sums, log_sums, number_sums, odds_sums
from ensemble_simplify.reading.table import Table
from ensemble_simplify.reading.trees import Nodes, name_of, spread

# Nodes of all trees together, with sets of codes as thresholds.
MAX_NODES = 1 << 26
# Nodes up to which a forest is laid out where it can be asked instead. Of many levels whole trees
# do not fit into memory, but what is near a row, or in a slab, holds few combinations of them.
MOST_WRITTEN = 1 << 21
# Rows times trees that `predict_index` routes at once.
_BATCH = 1 << 20
# Forecast of the seconds that the vote of one tree on one row takes.
VOTE_SECONDS = 3e-8


@dataclass(frozen=True, eq=False)
class Forest:
    """A fitted tree ensemble as plain arrays.

    Attributes
    ----------
    n_features : int
    classes : ndarray of shape (n_classes,) or None
        Original labels; None for regression.
    offsets : ndarray of intp, shape (n_trees + 1,)
        Nodes of tree ``t`` are ``offsets[t], ..., offsets[t + 1] - 1``; the first is its root.
    left, right : ndarray of intp, shape (n_nodes,)
        Children, numbered over the whole forest; -1 in leaves.
    feature : ndarray of intp, shape (n_nodes,)
        Index into all `n_features`; -1 in leaves.
    threshold : ndarray of float64, shape (n_nodes,)
        Float32-exact: a row goes left iff ``float32(x) <= threshold``. See `in_doubles`. NaN where
        a set is tested.
    value : ndarray of float64, shape (n_nodes, n_scores)
        What the tree adds to the scores of a row that ends in the node.
    vote : Program
    input_dtype : {"float32", "float64"}
        Type in which the ensemble compares.
    row_dtype : {"float32", "float64"}
        Type of the rows for which this forest is faithful. If the ensemble compares float32
        numbers, rows of float32 stand for all others.
    double_threshold : ndarray of float64, shape (n_nodes,), or None
        The thresholds for rows of float64; None where they are not known, or are `threshold`.
    missing_left : ndarray of bool, shape (n_nodes,), or None
        Splits that send missing values (NaN) left; the others send them right. None: all do.
    missing : ndarray of bool, shape (n_features,), or None
        Features that may be missing in the inputs that count; None: none may.
    table : Table or None
        The table whose columns the features are. In those that hold codes of categories, the forest
        is faithful on whole numbers from 0. None: rows are numbers, without names.
    filled : ndarray of bool, shape (n_features,), or None
        Features whose missing values are filled in from other features: where they are missing,
        the forest is not the ensemble. None: there are none.
    sets : CodeSets or None
        The nodes that test a set of codes, of columns that hold such. None: all test thresholds.
    source : ndarray of intp, shape (n_nodes,), or None
        Where sets are written `on_thresholds`, the node of the forest with sets that each leaf is,
        or whose test each split has a part in. None: there were no sets.
    on_numbers : object or None
        The ensemble with its scores for rows, where a calibration or a decision threshold was read;
        None: the vote knows what its probabilities are.
    """

    n_features: int
    classes: np.ndarray | None
    offsets: np.ndarray
    left: np.ndarray
    right: np.ndarray
    feature: np.ndarray
    threshold: np.ndarray
    value: np.ndarray
    vote: Program
    input_dtype: str = "float32"
    row_dtype: str = "float32"
    double_threshold: np.ndarray | None = None
    missing_left: np.ndarray | None = None
    missing: np.ndarray | None = None
    table: Table | None = None
    filled: np.ndarray | None = None
    sets: CodeSets | None = None
    source: np.ndarray | None = None
    on_numbers: object = None

    @property
    def categorical(self):
        """Features that hold codes of categories, as a bool array; None if there are none."""
        codes = self.highest_code
        return None if codes is None else codes >= 0

    @property
    def highest_code(self):
        """Highest code of every feature, -1 for those of numbers; None if there are no codes."""
        return None if self.table is None else self.table.highest_code

    @property
    def is_finer(self):
        """Whether the ensemble tells rows apart that are one here, rounded to `row_dtype`."""
        return self.input_dtype == "float64" and self.row_dtype == "float32"

    @property
    def n_trees(self):
        """Number of trees."""
        return self.offsets.shape[0] - 1

    @property
    def n_nodes(self):
        """Number of nodes in all trees."""
        return self.left.shape[0]

    @property
    def own_nodes(self):
        """Which node of the ensemble's own tree each node is."""
        return np.arange(self.n_nodes) - np.repeat(self.offsets[:-1], np.diff(self.offsets))

    @property
    def in_preorder(self):
        """Ids of all nodes, those of each tree in pre-order."""
        return walk(self.left, self.right, self.offsets[:-1])

    @property
    def n_scores(self):
        """Number of score columns."""
        return self.value.shape[1]

    @property
    def n_classes(self):
        """Number of classes; 0 for regression."""
        return 0 if self.classes is None else self.classes.shape[0]

    def ends(self, table):
        """The last double that goes left at each split; of a column with levels, the last code.

        Infinity: all that is not missing goes left, minus infinity: nothing does. `table` is that
        of the model.
        """
        is_leaf = self.left < 0
        coded = np.append(table.coded, False)[self.feature]
        end = self.threshold.copy()
        if self.row_dtype == "float32":
            end = np.where(coded, end, last_double(np.where(is_leaf, 0.0, end)))
        return np.where(end >= np.finfo(self.row_dtype).max, np.inf, end)

    def apply(self, X):
        """The leaf in which each row ends in every tree: int32 of shape (n_rows, n_trees).

        Rows are cast to `row_dtype`, and may have missing values; leaves are numbered over the
        forest. A tree's leaves stand together. `Stopped` is raised at the limit of time.
        """
        return self._route(_rows_of(X, self.row_dtype)).T

    def in_doubles(self, narrow=None):
        """The same for all rows of float64, where it compares such; else None.

        Features that are `narrow` (bool array; None: none) hold float32 numbers all the same.
        """
        if self.double_threshold is None:
            return None
        threshold = self.double_threshold
        if narrow is not None and narrow.any():
            keeps = (self.feature >= 0) & narrow[self.feature]
            threshold = np.where(keeps, self.threshold, threshold)
        return replace(self, threshold=threshold, row_dtype="float64", double_threshold=None)

    def _route(self, X):
        """Leaves of rows of `row_dtype`, of shape (n_trees, n_rows)."""
        if X.shape[1] != self.n_features:
            raise ValueError(
                f"X has {X.shape[1]} features, but the ensemble was fitted on "
                f"{self.n_features}. Pass the columns it was fitted on."
            )
        leaves = np.empty((self.n_trees, X.shape[0]), dtype=np.int32)
        missing_left = None if self.missing_left is None else self.missing_left.view(np.uint8)
        nodes = self.offsets, self.left, self.right, self.feature
        sets = (None,) * 3
        if self.sets is not None:
            sets = self.sets.which, self.sets.offsets, self.sets.goes_left
        route(X, *nodes, self.threshold, missing_left, *sets, leaves)
        return leaves

    def decide(self, sums):
        """Turn sums of leaf votes into class indices (or values), as the ensemble itself does.

        ``sums(start, stop, init)`` returns a float64 array of shape (n_rows, n_scores): `init`
        (None: zeros) plus the leaf votes of trees ``start, ..., stop - 1``, added one tree after
        the other in float64. It may be called several times: once for each member, or (XGBoost) for
        each tree.
        """
        if self.classes is None:
            return values_of(self.vote, scores_of(self.vote, sums))
        return labels_of(self.vote, sums)

    def decide_numbers(self, sums):
        """The same for regression, as a column of float64."""
        return self.decide(sums).astype(np.float64)[:, None]

    def decide_probabilities(self, sums):
        """The same for classes: their indices, and then the probabilities of all classes.

        See `tells_probabilities`.
        """
        scores = scores_of(self.vote, sums)
        return np.column_stack([labels_of_scores(self.vote, scores), scores]).astype(np.float64)

    @property
    def tells_probabilities(self):
        """Whether `decide_probabilities` is what ``predict_proba`` answers: of means of trees."""
        vote = self.vote
        plain = self.classes is not None and vote.cut is None and vote.temperature is None
        return plain and self.number_sums is not None and vote.is_mean

    @property
    def is_rising(self):
        """Whether a larger leaf never leads to a smaller number, in the very doubles."""
        return self.vote.is_rising and self.vote.link is None

    def predict_index(self, X):
        """Predict rows: class indices, or values for regression."""
        X = _rows_of(X, self.row_dtype)
        step = max(1, _BATCH // max(1, self.n_trees))
        parts = [self.decide_at(self._route(X[i : i + step])) for i in range(0, X.shape[0], step)]
        return np.concatenate(parts)

    def probabilities(self, X):
        """Probabilities of the classes, as the ensemble answers them; see `has_probabilities`."""
        sums = self.sums_at(self.apply(X).T)
        return probabilities_of(self.vote, scores_of(self.vote, sums))

    def decide_at(self, nodes):
        """Classes, or values, of rows by their nodes in all trees: of shape (n_trees, n_rows)."""
        return self.decide(self.sums_at(nodes))

    def sums_at(self, nodes):
        """The function ``sums`` for `decide`, of rows by their nodes in all trees."""

        def sums(start, stop, init):
            total = np.zeros((nodes.shape[1], self.n_scores))
            if init is not None:
                total += init
            for tree in range(start, stop):
                total += self.value.take(nodes[tree], axis=0)
            return total

        return sums

    def nodes_of(self, vote):
        """Nodes of the trees of a vote, as a slice."""
        return slice(self.offsets[vote.start], self.offsets[vote.stop])

    def in_codes(self, own_codes, table) -> Forest:
        """The same on rows of another table, whose columns mean other codes; see `Table.codes_of`.

        Codes that are NaN are missing. Sets hold the codes that the other table has, so that what
        two models make of the same codes is written alike.
        """
        sets, on_numbers = {}, np.zeros(self.n_nodes, dtype=bool)
        if self.sets is not None:
            sets = {n: self.sets.sides(n) for n in np.flatnonzero(self.sets.is_set).tolist()}
        for j, (own, ends) in own_codes.items():
            known = ~np.isnan(own)
            codes = np.where(known, own, 0.0)
            tests = np.flatnonzero((self.left >= 0) & (self.feature == j))
            for node in tests.tolist():
                goes_left = codes <= self.threshold[node]
                if node in sets:
                    goes_left = sets[node][np.minimum(codes, len(sets[node]) - 1).astype(np.intp)]
                to_left = self.missing_left is not None and self.missing_left[node]
                sets[node] = np.where(known, goes_left, to_left)
            on_numbers[tests] = ends is not None
        threshold = self.threshold.copy()
        threshold[list(sets)] = np.nan
        sets = CodeSets.of(sets, self.n_nodes)
        if sets is not None:
            highest = np.append(table.highest, np.inf)[self.feature]
            sets = sets.within(np.zeros(self.n_nodes), highest)
        found = replace(self, threshold=threshold, sets=sets, table=table)
        if not on_numbers.any():
            return found
        # where the other table holds numbers, the codes are those of intervals between some ends
        found = found._written(on_numbers)
        threshold, written = found.threshold.copy(), on_numbers[found.source]
        for j, (_, ends) in own_codes.items():
            if ends is not None:
                at = written & (found.left >= 0) & (found.feature == j) & np.isfinite(threshold)
                threshold[at] = ends[threshold[at].astype(np.intp)]
        threshold = float32_floor(threshold)
        # levels are looked up among doubles
        return replace(
            found, threshold=threshold, double_threshold=None, input_dtype="float64", source=None
        )

    @cached_property
    def on_thresholds(self) -> Forest:
        """The same with thresholds between codes alone, for what takes no sets; see `source`.

        ValueError if it takes too many nodes: a test of a set becomes several, and what lies below
        it is copied.
        """
        return self if self.sets is None else self._written(self.sets.is_set)

    @cached_property
    def splits(self) -> Splits:
        """The splits for grids of cells, whose trees name the leaves of this forest."""
        written = self.on_thresholds
        return Splits(
            *(self.n_features, written.offsets, written.left, written.right, written.feature),
            *(written.threshold, written.missing_left, self.missing, self.row_dtype),
            source=None if written is self else written.source,
        )

    def laid_out(self) -> Forest:
        """The forest itself, `on_thresholds` written; raises `Stopped` when the time is over.

        The property does not look at the clock: much that reads it has no answer without it.
        """
        if self.sets is not None and "on_thresholds" not in vars(self):
            vars(self)["on_thresholds"] = self._written(self.sets.is_set, check_time)
        return self

    @cached_property
    def is_small(self) -> bool:
        """Whether `on_thresholds` takes at most `MOST_WRITTEN` nodes; then it is at hand."""
        if self.sets is not None and "on_thresholds" not in vars(self):
            any_code = np.tile(np.array([0, np.iinfo(np.int64).max, 1]), (self.n_features, 1))
            written = self.within_window(any_code, MOST_WRITTEN)
            if written is None:
                return False
            vars(self)["on_thresholds"] = written
        return True

    def _written(self, chosen, pause=lambda: None) -> Forest:
        """The same, where the sets of some nodes are written as thresholds; see `as_thresholds`."""
        parts, n_nodes = [], 0
        for first, tree in self._set_trees(chosen):
            pause()
            *arrays, source = as_thresholds(*tree)
            n_nodes += len(source)
            if n_nodes > MAX_NODES:
                raise ValueError(
                    f"The trees take more than {MAX_NODES:,} nodes when their tests of sets of "
                    "categories are written as thresholds on codes. Use fewer or shallower trees, "
                    "or code the categories so that neighbours are alike."
                )
            parts.append((*arrays, source + first))
        return self._of_written(parts, chosen)

    def _set_trees(self, chosen):
        """The first node of each tree, and the arguments of a `SetTree` with the chosen sets."""
        to_left = np.zeros(self.n_nodes, dtype=bool)
        to_left = to_left if self.missing_left is None else self.missing_left
        for first, stop in pairwise(self.offsets.tolist()):
            here = slice(first, stop)
            left, right = (
                np.where(child[here] < 0, -1, child[here] - first)
                for child in (self.left, self.right)
            )
            written = np.flatnonzero(chosen[here]).tolist()
            sets = {node: self.sets.sides(first + node) for node in written}
            arrays = left, right, self.feature[here], self.threshold[here], to_left[here]
            yield first, (*arrays, sets)

    @cached_property
    def _known_set_trees(self):
        """A `SetTree` of every tree, kept since it is written for many windows."""
        return [
            (first, tree[2], SetTree(*tree)) for first, tree in self._set_trees(self.sets.is_set)
        ]

    def within_window(self, window: np.ndarray, max_nodes: int) -> Forest | None:
        """`on_thresholds` where features have some codes alone; None: it takes too many nodes.

        `window`, an int64 array of shape (n_features, 3), has the first and the last code of each
        feature, and whether its value can be missing.
        """
        parts = []
        for first, feature, tree in self._known_set_trees:
            written = within_window(tree, feature, window, max_nodes)
            if written is None:
                return None
            *arrays, source = written
            max_nodes -= len(source)
            parts.append((*arrays, source + first))
        return self._of_written(parts, self.sets.is_set)

    def _of_written(self, parts, chosen) -> Forest:
        """The forest of trees in which the chosen sets were written."""
        sizes = [len(part[0]) for part in parts]
        left, right, feature, threshold, to_left, source = map(
            np.concatenate, zip(*parts, strict=True)
        )
        offsets = np.concatenate([[0], np.cumsum(sizes)]).astype(np.intp)
        shift = np.repeat(offsets[:-1], sizes)
        is_new = chosen[source] & (left >= 0)
        threshold = np.where(is_new, float32_floor(threshold), threshold)
        double, sets = self.double_threshold, self.sets.at(source)
        sets = replace(sets, which=np.where(chosen[source], -1, sets.which))
        return replace(
            self,
            offsets=offsets,
            left=np.where(left < 0, -1, left + shift),
            right=np.where(right < 0, -1, right + shift),
            feature=feature,
            threshold=threshold,
            double_threshold=None
            if double is None
            else np.where(is_new, threshold, double[source]),
            missing_left=to_left if to_left.any() else None,
            value=self.value[source],
            sets=sets if sets.is_set.any() else None,
            source=source,
        )

    def weighted(self, weights, value, start, *, tie_upper=False):
        """The classifier that adds up weighted leaf vectors, one tree after the other in float64.

        Parameters
        ----------
        weights : float64 array of shape (n_trees,)
            Trees of weight 0 are left out.
        value : float64 array of shape (n_nodes, n_classes)
        start : float64 array of shape (n_classes,)
            Where the sums start.
        tie_upper : bool, default=False
            Whether the last class wins a tie, not the first.
        """
        kept = np.flatnonzero(weights > 0)
        nodes = np.concatenate([np.arange(*self.offsets[t : t + 2]) for t in kept])
        sizes = np.diff(self.offsets)[kept]
        offsets = np.concatenate([[0], np.cumsum(sizes)]).astype(np.intp)
        # children move with their tree
        shift = np.repeat(offsets[:-1] - self.offsets[kept], sizes)
        inner, to_left = self.left[nodes] >= 0, self.missing_left
        # sums from nothing are those of a mean, which are known to be exact where they are
        vote = mean_of_trees(len(kept), self.n_classes, last=tie_upper)
        if start.any():
            n_scores, choice = self.n_classes, vote.choice
            vote = boosted(len(kept), n_scores, init=start.copy(), choice=choice)
        return replace(
            self,
            offsets=offsets,
            left=np.where(inner, self.left[nodes] + shift, -1),
            right=np.where(inner, self.right[nodes] + shift, -1),
            feature=self.feature[nodes],
            threshold=self.threshold[nodes],
            double_threshold=None,
            missing_left=None if to_left is None else to_left[nodes],
            value=value[nodes] * np.repeat(weights[kept], sizes)[:, None],
            vote=vote,
            sets=None if self.sets is None else self.sets.at(nodes),
            on_numbers=None,
        )

    def in_range(self, low, high, column=None):
        """The classifier that says whether a number lies below a range, in it, or above.

        Its classes are 0, 1 and 2, or those of them that occur. The number is the value of a
        regressor, or the probability of the class `column`, in the doubles that the ensemble itself
        answers; both ends belong to the range. TypeError where there is no such number.
        """
        cut, classes = in_range(self.vote, low, high, column, self.on_numbers)
        vote = replace(self.vote, choice=cut, link=None)
        return replace(self, classes=classes, vote=vote, on_numbers=None)

    def constant(self, label):
        """One leaf, which answers a class of these."""
        return Forest(
            n_features=self.n_features,
            classes=self.classes[[label]],
            offsets=np.array([0, 1], dtype=np.intp),
            left=np.array([-1], dtype=np.intp),
            right=np.array([-1], dtype=np.intp),
            feature=np.array([-1], dtype=np.intp),
            threshold=np.array([-2.0]),
            value=np.ones((1, 1)),
            vote=mean_of_trees(1, 1),
            row_dtype=self.row_dtype,
        )

    # What its leaves add up to, None where that is not so: sums whose largest column is the class;
    # that are the values, or probabilities; log-odds of two classes; logarithms of values; and
    # log-odds of a class against each other one.
    sums = cached_property(class_sums)
    number_sums = cached_property(number_sums)
    odds_sums = cached_property(odds_sums)
    log_sums = cached_property(log_sums)
    lead_sums = lead_sums

    @cached_property
    def sums_before_link(self):
        """The sums that a link makes the values of; None where there are none."""
        return replace(self, vote=replace(self.vote, link=None)).number_sums

    def log_sums_less(self, less):
        """The same of which the values are exponentials less a number; see `log_sums`."""
        return log_sums(self, less) if less else self.log_sums


def _rows_of(X, dtype):
    # The quick test for infinity adds up all entries: the largest numbers overflow in it.
    with np.errstate(over="ignore", invalid="ignore"):
        return check_array(X, dtype=np.dtype(dtype), order="C", ensure_all_finite="allow-nan")


def read_forest(estimator, *, voting="estimator", rows=None, like=None):
    """Read a fitted ensemble, which is left as it is, as a `Forest`.

    Parameters
    ----------
    estimator : estimator
        A fitted ensemble of trees; an estimator of this package that holds a tree or an
        ensemble; a ``Pipeline`` that ends in one of these after scalers, imputers and selectors
        of columns; or a ``FrozenEstimator`` around one.
    voting : {"estimator", "hard"}, default="estimator"
        ``"estimator"``: the forest decides exactly as ``estimator.predict``
        (with ``n_jobs=None``). ``"hard"``: majority of the trees' labels, each
        tree with the same weight, ties to the smaller class index; not for boosting.
    rows : array, frame or None, default=None
        Some rows as the ensemble is given them. A pipeline is read for their dtypes; None: for
        float64.
    like : Table or None, default=None
        A table in whose order the levels of columns get their codes; None: that of the table that
        an estimator of this package was fitted on, or an order that suits the ensemble.

    Raises
    ------
    TypeError
        If the ensemble, a member of it or a step of a pipeline is of a type that is not supported.
    ValueError
        If it has several outputs, `voting` does not fit it, or its node arrays are no trees.
    NotFittedError
        If it is not fitted.

    Notes
    -----
    Leaf values of GradientBoosting are scaled before they are added; a build of
    scikit-learn that fuses the two steps (not on x86-64) may round differently.
    Sums of XGBoost, LightGBM and CatBoost are reproduced bit for bit. CatBoost compares them; the
    exponential of the others' sigmoid or softmax is the C library's, so for scores within 1e-5
    (XGBoost) or 1e-13 (LightGBM) of a tie the label relies on the package using the same one.
    HistGradientBoosting and LightGBM compare float64 rows, and pipelines transform rows in the
    dtype in which they come: for them the forest is faithful on numbers that float32 can represent.
    `Forest.in_doubles` is faithful on all doubles, where no pipeline comes before. Columns that
    boosting splits as categories hold codes, whole numbers from 0: see `Table.categorical`.
    """
    if voting not in ("estimator", "hard"):
        raise ValueError(f"voting={voting!r} is not one of 'estimator', 'hard'.")
    family = family_of(estimator)
    reading = family.read(rows, family.own_table() if like is None else like)
    if voting == "hard":
        _count_labels(reading, family.estimator)
    forest = assemble(reading, family.n_features, family.estimator)
    if rows is not None and forest.table.by_dtype:
        forest = replace(forest, table=forest.table.like(rows))
    return forest


def tree_estimators(estimator):
    """The fitted scikit-learn trees of an ensemble (no pipeline), in the order of `read_forest`.

    Each comes with the indices of the features it was fitted on (None: all of them). TypeError if
    the trees are none of scikit-learn's, or split transformed columns.
    """
    trees = _sklearn_trees(estimator)
    if any(tree.folded for tree in trees):
        raise TypeError(
            f"{name_of(unwrap(estimator))} is or holds a Pipeline, and its trees themselves, which "
            "are asked for here, split transformed columns. Pass the last step of the pipeline, "
            "and transformed rows."
        )
    return [(tree.estimator, tree.columns) for tree in trees]


def end_trees(estimator):
    """The fitted scikit-learn trees of an ensemble, or at the end of a pipeline, in their order.

    Each comes with whether it splits columns that a pipeline made. `Forest.own_nodes` tells which
    node is which of theirs. TypeError if they are none of scikit-learn's.
    """
    return [(tree.estimator, tree.folded) for tree in _sklearn_trees(estimator)]


def _sklearn_trees(estimator):
    trees = family_of(estimator).read().trees
    if any(tree.estimator is None for tree in trees):
        raise TypeError(
            f"{name_of(unwrap(estimator))} does not hold scikit-learn trees, and neither do "
            "HistGradientBoosting, models of other libraries, and scorecards. Use another ensemble."
        )
    return trees


def _count_labels(reading, estimator):
    """Let every tree vote for its label, as one."""
    trees, classes = reading.trees, reading.classes
    if classes is None:
        raise ValueError(
            f"voting='hard' needs a classifier, but {name_of(estimator)} is a regressor. "
            "Use voting='estimator'."
        )

    def count(vote, columns):
        if vote.cut is not None or vote.temperature is not None or vote.calibrated is not None:
            raise ValueError(
                f"voting='hard' is not defined for {name_of(estimator)}, which is or holds a "
                "decision threshold or a calibration. Use voting='estimator'."
            )
        if vote.is_of_votes or vote.is_boosted_sum:
            raise ValueError(
                "voting='hard' is not defined for boosting, and "
                f"{name_of(estimator)} is or holds a boosted ensemble. Use voting='estimator'."
            )
        for member in vote.members:
            count(member, columns[member.columns])
        if not vote.members:
            for tree in trees[vote.start : vote.stop]:
                label = columns[tree.value[:, : vote.n_scores].argmax(axis=1)]
                tree.value = one_hot(label, len(classes))

    count(reading.vote, np.arange(len(classes)))
    reading.vote = count_of_trees(len(trees), len(classes))


def assemble(reading, n_features, estimator):
    """Join trees to a `Forest`, after checking that they are trees."""
    nodes = Nodes(reading.trees, n_features, estimator)
    nodes.check_values(reading.vote)
    # kernels have a column for each class, also where scores of members are fewer
    width = nodes.value.shape[1]
    nodes.value = spread(nodes.value, slice(width), max(width, reading.vote.n_scores))
    offsets, tree_of, inner = nodes.offsets, nodes.tree_of, nodes.inner
    all_float32 = all(tree.dtype == "float32" and not tree.rescaled for tree in reading.trees)
    first = zip(offsets.tolist(), reading.trees, strict=False)
    sets = {begin + node: sides for begin, tree in first for node, sides in tree.sets.items()}
    # of nodes that rows can reach
    sets = {node: sides for node, sides in sets.items() if inner[node]}
    sets = CodeSets.of(sets, len(inner))
    if sets is not None:
        nodes.threshold[sets.is_set] = np.nan
    return Forest(
        n_features=n_features,
        classes=None if reading.classes is None else np.asarray(reading.classes),
        offsets=offsets,
        left=np.where(inner, nodes.left + offsets[tree_of], -1),
        right=np.where(inner, nodes.right + offsets[tree_of], -1),
        feature=np.where(inner, nodes.feature, -1),
        threshold=np.where(inner, float32_floor(nodes.threshold), -2.0),
        value=nodes.value,
        vote=reading.vote.widened(nodes.value.shape[1]),
        input_dtype="float32" if all_float32 else "float64",
        double_threshold=None if all_float32 else _double_thresholds(reading.trees, nodes),
        missing_left=nodes.missing_left & inner if nodes.missing_left.any() else None,
        table=replace(
            reading.table
            or Table.of_numbers(n_features, getattr(estimator, "feature_names_in_", None)),
            by_dtype=any(tree.by_dtype for tree in reading.trees),
        ),
        filled=reading.filled,
        sets=sets,
        on_numbers=reading.on_numbers,
    )


def _double_thresholds(trees, nodes):
    """Thresholds for rows of float64; None where some are known for rows of float32 alone."""
    if any(tree.folded for tree in trees):
        return None
    single = np.array([tree.dtype == "float32" for tree in trees])[nodes.tree_of] & nodes.inner
    threshold = np.where(nodes.inner, nodes.threshold + 0.0, -2.0)
    threshold[single] = last_double(threshold[single])
    return threshold
