"""Small decision-tree inducers in the manner of C4.5, QUEST and GUIDE, and ISM.

The first three differ in how a split is chosen, which is what makes a mixed ensemble diverse: by
gain ratio (C4.5), or by a significance test that picks the feature without regard to how many split
points it offers, before a split point is looked for (QUEST, GUIDE). All features are taken as
ordered numbers, weights as frequencies, and all three prune by C4.5's pessimistic error. ISM grows
one tree top-down from what an ensemble predicts.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise
from numbers import Integral, Real
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike
from scipy import special, stats
from scipy.sparse import csr_array
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.ensemble import RandomForestClassifier

from ensemble_simplify.base import (
    Fittable,
    HoldsClassifierTree,
    Interval,
    LearnsFromTables,
    TakesWhatItsEstimatorTakes,
    check_readable,
    check_weights,
    fit_context,
    fit_or_unwrap,
    learned_rows,
    report,
    warn_out_of_time,
    with_gaps,
)
from ensemble_simplify.genesim._merge_trees import GapColumns, forest_on
from ensemble_simplify.genesim.inducers._ism_growth import grow
from ensemble_simplify.genesim.inducers._statistics import best_cuts, quartile_groups
from ensemble_simplify.grid import (
    Splits,
    TreeNodes,
    float32_floor,
    limited,
    unlimited,
    walk,
    with_sizes,
)
from ensemble_simplify.reading import Gaps, Model, is_plain
from ensemble_simplify.writing import (
    CHANCE_BY_MODEL,
    weakest_links,
    write_classifier,
    write_counted,
)

_SIGNIFICANT = 0.05
# A split gains at least so much.
_GAIN = 1e-12


@dataclass
class _Level:
    """The nodes of one depth, of one or many trees, and the rows in them."""

    X: np.ndarray  # float32 (n_rows, n_features)
    label: np.ndarray  # intp (n_rows,)
    # Entries: the rows in the nodes, node by node, and what they weigh there.
    row: np.ndarray
    weight: np.ndarray
    start: np.ndarray  # intp (n_nodes + 1,): first entry of every node
    totals: np.ndarray  # (n_nodes, n_classes): weight of every class

    @property
    def owner(self) -> np.ndarray:
        """Node of every entry."""
        return np.repeat(np.arange(len(self.totals)), np.diff(self.start))

    def subset(self, chosen) -> _Level:
        """Only some of the nodes, chosen by a boolean array."""
        inside = chosen[self.owner]
        start = np.concatenate([[0], np.cumsum(np.diff(self.start)[chosen])])
        row, weight = self.row[inside], self.weight[inside]
        return _Level(self.X, self.label, row, weight, start, self.totals[chosen])

    def cuts(self, criterion, least, features=None) -> tuple:
        """Gain, gain ratio, cut and number of cuts of `features` (None: all) of every node."""
        if features is None:
            features = np.arange(self.X.shape[1])
        shape = (len(self.totals), features.shape[-1])
        return best_cuts(
            *(self.X, self.label, self.row, self.weight, self.start),
            np.ascontiguousarray(np.broadcast_to(features, shape)),
            np.ascontiguousarray(np.broadcast_to(least, shape[:1]), dtype=np.float64),
            self.totals.shape[1],
            entropy=criterion == "entropy",
        )

    @cached_property
    def _by_class(self) -> csr_array:
        """Sums columns of the entries by node and class: (n_nodes * n_classes, n_entries)."""
        n, shape = len(self.row), self.totals.shape
        place = self.owner * shape[1] + self.label[self.row]
        return csr_array((self.weight, (place, np.arange(n))), shape=(self.totals.size, n))

    def _class_sums(self, columns) -> np.ndarray:
        return (self._by_class @ columns).reshape(*self.totals.shape, -1)

    def variance_p(self, *, spread=False) -> np.ndarray:
        """p-values of the one-way analysis of variance of every feature; weights are frequencies.

        With `spread`, the distances from the mean of the class are analysed (Levene's test).
        """
        owner, sizes = self.owner, self.totals[:, :, None]
        at_least_one = np.where(sizes > 0, sizes, 1.0)
        x = self.X[self.row].astype(np.float64)
        if spread:
            x = np.abs(x - (self._class_sums(x) / at_least_one)[owner, self.label[self.row]])
        # about the middle of the node: no digits are lost to its size
        x -= (np.add.reduceat(x, self.start[:-1]) / np.diff(self.start)[:, None])[owner]
        means = self._class_sums(x) / at_least_one
        x *= x
        x *= self.weight[:, None]
        squares = np.add.reduceat(x, self.start[:-1])
        total = self.totals.sum(axis=1)[:, None]
        grand = (sizes * means).sum(axis=1, keepdims=True) / total[:, None]
        between = (sizes * (means - grand) ** 2).sum(axis=1)
        within = squares - (sizes * means**2).sum(axis=1)
        within[within <= 1e-14 * squares] = 0.0
        free = np.count_nonzero(self.totals, axis=1)[:, None] - 1.0
        rest = total - 1.0 - free
        with np.errstate(divide="ignore", invalid="ignore"):
            ratio = (between / free) / (within / rest)
        # where nothing varies, the test says nothing
        tested = (free > 0) & (rest > 0) & ~np.isnan(ratio)
        p = special.fdtrc(np.where(tested, free, 1.0), np.where(tested, rest, 1.0), ratio)
        return np.where(tested, p, 1.0)

    def chi_square_p(self, groups, n_groups) -> np.ndarray:
        """p-values of the chi-square test of the classes against columns of groups."""
        found = np.stack([self._class_sums(groups == g) for g in range(n_groups)])
        in_group, in_class = found.sum(axis=2), self.totals[:, :, None]
        # the sum of squares of what is found over what is expected, less the total
        found *= found
        found /= np.where(in_class > 0, in_class, 1.0)
        shares = (found.sum(axis=2) / np.where(in_group > 0, in_group, 1.0)).sum(axis=0)
        statistic = self.totals.sum(axis=1)[:, None] * np.maximum(shares - 1.0, 0.0)
        n_used = np.count_nonzero(self.totals, axis=1)[:, None]
        freedom = (np.count_nonzero(in_group, axis=0) - 1) * (n_used - 1)
        return np.where(freedom > 0, special.chdtrc(np.maximum(freedom, 1), statistic), 1.0)


def error_limit(errors, total, confidence) -> np.ndarray:
    """Upper confidence limit of an error rate: `errors` wrong of `total`.

    The rate at which so few errors, or fewer, would be seen with probability `confidence`.
    """
    errors, total = np.asarray(errors, dtype=np.float64), np.asarray(total, dtype=np.float64)
    # Clopper and Pearson's limit, by the quantiles of a beta distribution; all wrong: one.
    right = total - errors
    limit = stats.beta.ppf(1.0 - confidence, errors + 1.0, np.where(right > 0, right, 1.0))
    return np.where(right > 0, limit, 1.0)


class _Inducer(LearnsFromTables, HoldsClassifierTree, ClassifierMixin, BaseEstimator):
    """Top-down induction; a subclass chooses the split of a node."""

    _parameter_constraints: ClassVar[dict] = {
        "min_samples_leaf": [Interval(Real, 0, None, closed="neither")],
        "max_depth": [Interval(Integral, 1, None, closed="left"), None],
        "confidence": [Interval(Real, 0, 1, closed="neither"), None],
    }

    def __init__(
        self, *, min_samples_leaf: int = 2, max_depth: int | None = None, confidence: float = 0.25
    ):
        self.min_samples_leaf = min_samples_leaf
        self.max_depth = max_depth
        self.confidence = confidence

    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Grow and prune a tree.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Training rows: numbers, which are cast to float32, or a table that has columns of text
            and categories, too. Any entry may be missing (NaN, None).
        y : array-like of shape (n_samples,)
            Class labels.
        sample_weight : array-like of shape (n_samples,) or None, default=None
            Non-negative. Taken for numbers of rows, by the tests and by `min_samples_leaf`; weights
            that average below one are scaled up to one.

        Returns
        -------
        self : estimator
            The fitted estimator.
        """
        rows, y = learned_rows(self, X, y, sample_weight)
        X = rows.numbers
        weight = check_weights(sample_weight, X, mean_one=True)
        self.classes_, label = np.unique(y, return_inverse=True)
        gaps = self._table.gaps
        grown = self._induce(gaps.fill(X), label, weight[None], len(self.classes_))
        splits, totals, row, leaf = grown
        nodes, order, missing_left = with_gaps(
            TreeNodes(splits.left, splits.right, splits.feature, splits.threshold),
            gaps,
            totals.sum(axis=1),
        )
        self.decision_tree_ = write_classifier(
            nodes,
            totals.argmax(axis=1)[order],
            None,
            np.argsort(order)[leaf],
            label[row],
            self.classes_,
            n_features=X.shape[1],
            feature_names=getattr(self, "feature_names_in_", None),
            sample_weight=weight[row],
            missing_go_to_left=missing_left,
        )
        return self

    def _induce(self, X, label, weights, n_classes) -> tuple:
        """Splits, class totals of their nodes, and row and leaf of every entry of the bags."""
        bag, row = np.nonzero(weights > 0)
        levels, at = self._grow(X, label, row, weights[bag, row], bag, len(weights), n_classes)
        columns, offsets, leaf = _pruned(levels, at, self.confidence)
        *columns, totals = columns
        return Splits(X.shape[1], offsets, *columns), totals, row, leaf

    def _grow(self, X, label, row, weight, bag, n_bags, n_classes) -> tuple[list, np.ndarray]:
        """Split the nodes of all trees, one depth after the other.

        Nodes are numbered by depth, the roots first, and the two children of a node follow one
        another. Returns the arrays left, feature, threshold and totals of every depth, and the
        leaf of every entry.
        """
        levels = []
        at, entry, node = bag.copy(), np.arange(len(row)), bag
        first, n_nodes = 0, n_bags
        while n_nodes:
            key = node * n_classes + label[row[entry]]
            totals = np.bincount(key, weight[entry], n_nodes * n_classes)
            totals = totals.reshape(n_nodes, n_classes)
            feature = np.full(n_nodes, -1, dtype=np.intp)
            threshold = np.zeros(n_nodes)
            mixed = np.count_nonzero(totals, axis=1) > 1
            # All nodes of a depth are split at once: single nodes are too small for numpy.
            if len(levels) != self.max_depth and mixed.any():
                inside = mixed[node]
                entry, node = entry[inside], node[inside]
                sizes = np.bincount(node, minlength=n_nodes)[mixed]
                start = np.concatenate([[0], np.cumsum(sizes)])
                nodes = _Level(X, label, row[entry], weight[entry], start, totals[mixed])
                feature[mixed], threshold[mixed] = self._split(nodes)
            split = feature >= 0
            left = np.full(n_nodes, -1, dtype=np.intp)
            left[split] = first + n_nodes + 2 * np.arange(split.sum())
            threshold[~split] = 0.0
            levels.append((left, feature, threshold, totals))
            # Rows of leaves are done with; the others go on, sorted by their new nodes.
            inside = split[node]
            entry, node = entry[inside], node[inside]
            child = left[node] + (X[row[entry], feature[node]] > threshold[node])
            order = np.argsort(child, kind="stable")
            entry, child = entry[order], child[order]
            at[entry] = child
            first += n_nodes
            n_nodes = 2 * int(split.sum())
            node = child - first
        return levels, at


class C45Tree(_Inducer):
    """Decision tree in the manner of C4.5: gain ratio, and pruning by pessimistic error.

    The gain itself favours features of many values. The gain ratio does not.

    Read more in the :ref:`guide <genesim_inducers>`.

    Parameters
    ----------
    min_samples_leaf : float, default=2
        Least number of rows (or weight, if there are weights) on both sides of a split.
    max_depth : int or None, default=None
        Largest depth of the tree; None: no limit.
    confidence : float or None, default=0.25
        Confidence of the pessimistic error that prunes the tree, between 0 and 1; smaller values
        prune more. None: the tree is not pruned.

    Attributes
    ----------
    decision_tree_ : DecisionTreeClassifier
        The tree, a real scikit-learn tree.
    classes_ : ndarray of shape (n_classes,)
        Class labels.
    n_features_in_ : int
        Number of features seen in `fit`.
    feature_names_in_ : ndarray of shape (`n_features_in_`,)
        Names of features seen in `fit`; defined only if all are strings.

    See Also
    --------
    GenesimClassifier : Breeds one tree from many; ``estimators="paper"`` uses this one.
    GuideTree : Feature by chi-square tests.

    Notes
    -----
    The split has the largest gain ratio among the features of at least average gain. A numeric
    feature pays ``log2(distinct values - 1) / n`` of its gain for the choice of its threshold.
    C4.5's subtree raising is left out.

    All features are taken as ordered numbers. Levels of text and categories are put in order by how
    often their rows are of each class, if they have no order of their own. Missing values count as
    below all others of their column; where none was missing, they go to the side of more rows. A
    level that `fit` did not see is a missing value. Pruning is C4.5's: a subtree becomes a leaf
    where that does not raise the upper confidence limits of its errors, added up.

    References
    ----------
    .. [1] J. R. Quinlan, "Improved use of continuous attributes in C4.5", Journal of Artificial
       Intelligence Research 4, 1996. https://doi.org/10.1613/jair.279

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from ensemble_simplify import C45Tree
    >>> X, y = load_iris(return_X_y=True, as_frame=True)
    >>> tree = C45Tree(confidence=0.1).fit(X, y)
    >>> print(tree.export_text())
    |--- petal length (cm) <= 2.45
    |   |--- class: 0 (100 %, 50 rows)
    |--- petal length (cm) > 2.45
    |   |--- petal width (cm) <= 1.75
    |   |   |--- petal length (cm) <= 4.95
    |   |   |   |--- class: 1 (97.9 %, 48 rows)
    |   |   |--- petal length (cm) > 4.95
    |   |   |   |--- class: 2 (66.7 %, 6 rows)
    |   |--- petal width (cm) > 1.75
    |   |   |--- class: 2 (97.8 %, 46 rows)
    <BLANKLINE>
    """

    def _split(self, nodes):
        total = nodes.totals.sum(axis=1)
        # C4.5's own rule: in large nodes a side has more rows than the user asks for.
        share = 0.1 * total / nodes.totals.shape[1]
        least = np.maximum(self.min_samples_leaf, np.minimum(25.0, share))
        gain, ratio, cut, n_cuts = nodes.cuts("entropy", least)
        gain = gain - np.log2(np.maximum(n_cuts, 1)) / total[:, None]
        possible = gain > _GAIN
        n_possible = possible.sum(axis=1)
        # The ratio alone would favour cuts that part off a few rows.
        mean = np.where(possible, gain, 0.0).sum(axis=1) / np.maximum(n_possible, 1)
        ratio = np.where(possible & (gain >= mean[:, None] - 1e-3), ratio, -np.inf)
        return _chosen(_first_least(-ratio), cut, n_possible > 0)


class QuestTree(_Inducer):
    """Decision tree in the manner of QUEST: feature by analysis of variance.

    A significance test picks the feature. It does not prefer features of many values, as CART does.
    Then quadratic discriminant analysis picks the split point.

    Read more in the :ref:`guide <genesim_inducers>`.

    Parameters
    ----------
    min_samples_leaf : float, default=2
        Least number of rows (or weight, if there are weights) on both sides of a split.
    max_depth : int or None, default=None
        Largest depth of the tree; None: no limit.
    confidence : float or None, default=0.25
        Confidence of the pessimistic error that prunes the tree, between 0 and 1; smaller values
        prune more. None: the tree is not pruned.

    Attributes
    ----------
    decision_tree_ : DecisionTreeClassifier
        The tree, a real scikit-learn tree.
    classes_ : ndarray of shape (n_classes,)
        Class labels.
    n_features_in_ : int
        Number of features seen in `fit`.
    feature_names_in_ : ndarray of shape (`n_features_in_`,)
        Names of features seen in `fit`; defined only if all are strings.

    See Also
    --------
    GenesimClassifier : Breeds one tree from many; ``estimators="paper"`` uses this one.
    GuideTree : Feature by chi-square tests.

    Notes
    -----
    The feature has the smallest p-value of the F test for unequal class means (a chi-square test
    if it has two values). If none is significant, it has the smallest p-value of Levene's test for
    unequal spreads. Classes are joined into two groups by 2-means of their means. Where no such
    split is possible, the best Gini split of the feature is taken. This is not the QUEST program,
    which prunes otherwise.

    Levels, missing values and pruning are as in :class:`C45Tree`.

    References
    ----------
    .. [1] W.-Y. Loh and Y.-S. Shih, "Split selection methods for classification trees", Statistica
       Sinica 7, 815-840, 1997.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from ensemble_simplify import QuestTree
    >>> X, y = load_iris(return_X_y=True, as_frame=True)
    >>> tree = QuestTree(confidence=0.1).fit(X, y)
    >>> print(tree.export_text())
    |--- petal length (cm) <= 2.0929487
    |   |--- class: 0 (100 %, 50 rows)
    |--- petal length (cm) > 2.0929487
    |   |--- petal width (cm) <= 1.643713
    |   |   |--- petal length (cm) <= 5.2094822
    |   |   |   |--- class: 1 (96 %, 50 rows)
    |   |   |--- petal length (cm) > 5.2094822
    |   |   |   |--- class: 2 (100 %, 2 rows)
    |   |--- petal width (cm) > 1.643713
    |   |   |--- class: 2 (95.8 %, 48 rows)
    <BLANKLINE>
    """

    def _split(self, nodes):
        n_features = nodes.X.shape[1]
        every = np.arange(len(nodes.totals))
        p_mean = nodes.variance_p()
        values = nodes.X[nodes.row]
        low = np.minimum.reduceat(values, nodes.start[:-1])[nodes.owner]
        high = np.maximum.reduceat(values, nodes.start[:-1])[nodes.owner]
        between = (values > low) & (values < high)
        two_values = ~np.logical_or.reduceat(between, nodes.start[:-1])
        if two_values.any():
            p_mean = np.where(two_values, nodes.chi_square_p(values > low, 2), p_mean)
        feature = _first_least(p_mean)
        unsure = p_mean[every, feature] >= _SIGNIFICANT / n_features
        unsure &= nodes.totals.sum(axis=1) > 2  # spreads of two rows say nothing
        if unsure.any():
            # half of the level is left for these tests, and shared among the features
            p_spread = nodes.subset(unsure).variance_p(spread=True)
            # of two values, the spread is known from the mean
            p_spread[two_values[unsure]] = 1.0
            significant = p_spread.min(axis=1) < _SIGNIFICANT / (2 * n_features)
            feature[np.flatnonzero(unsure)[significant]] = _first_least(p_spread)[significant]
        return self._cut(nodes, feature)

    def _cut(self, nodes, feature):
        owner = nodes.owner
        x = nodes.X[nodes.row, feature[owner]]
        point = _discriminant_points(x, nodes)
        point = float32_floor(np.where(np.isnan(point), np.inf, point))
        weight = nodes.totals.sum(axis=1)
        on_left = np.bincount(owner, np.where(x <= point[owner], nodes.weight, 0.0), len(weight))
        good = np.minimum(on_left, weight - on_left) >= self.min_samples_leaf
        if good.all():
            return feature, point
        gain, _, cut, _ = nodes.cuts("gini", self.min_samples_leaf, feature[:, None])
        # A point that leaves too few rows on a side: the best cut of the same feature.
        point = np.where(good, point, cut[:, 0])
        return np.where(good | (gain[:, 0] > _GAIN), feature, -1), point


class GuideTree(_Inducer):
    """Decision tree in the manner of GUIDE: feature by chi-square tests.

    A significance test picks the feature. It does not prefer features of many values, as CART does.
    Then the best split point is looked for. With ``confidence=0.03`` it gives small trees that are
    about as accurate as CART with cross-validated pruning, in a thirtieth of the time.

    Read more in the :ref:`guide <genesim_inducers>`.

    Parameters
    ----------
    min_samples_leaf : float, default=2
        Least number of rows (or weight, if there are weights) on both sides of a split.
    max_depth : int or None, default=None
        Largest depth of the tree; None: no limit.
    confidence : float or None, default=0.25
        Confidence of the pessimistic error that prunes the tree, between 0 and 1; smaller values
        prune more. None: the tree is not pruned.

    Attributes
    ----------
    decision_tree_ : DecisionTreeClassifier
        The tree, a real scikit-learn tree.
    classes_ : ndarray of shape (n_classes,)
        Class labels.
    n_features_in_ : int
        Number of features seen in `fit`.
    feature_names_in_ : ndarray of shape (`n_features_in_`,)
        Names of features seen in `fit`; defined only if all are strings.

    See Also
    --------
    GenesimClassifier : Breeds one tree from many; ``estimators="paper"`` uses this one.
    C45Tree : Split by gain ratio.

    Notes
    -----
    Curvature tests cross the classes with the quartile groups of a feature. Where none is
    significant, interaction tests cross them with the quadrants (above and below the medians) of
    each pair of features. Of a significant pair, the feature with the better Gini split is taken.
    The split point is the best one by Gini impurity. This is not the GUIDE program, which prunes
    otherwise and has further tests.

    Levels, missing values and pruning are as in :class:`C45Tree`.

    References
    ----------
    .. [1] W.-Y. Loh, "Improving the precision of classification trees", The Annals of Applied
       Statistics 3(4), 2009. https://doi.org/10.1214/09-AOAS260

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from ensemble_simplify import GuideTree
    >>> X, y = load_iris(return_X_y=True, as_frame=True)
    >>> tree = GuideTree(confidence=0.1).fit(X, y)
    >>> print(tree.export_text())
    |--- petal length (cm) <= 2.45
    |   |--- class: 0 (100 %, 50 rows)
    |--- petal length (cm) > 2.45
    |   |--- petal width (cm) <= 1.75
    |   |   |--- petal length (cm) <= 4.95
    |   |   |   |--- class: 1 (97.9 %, 48 rows)
    |   |   |--- petal length (cm) > 4.95
    |   |   |   |--- class: 2 (66.7 %, 6 rows)
    |   |--- petal width (cm) > 1.75
    |   |   |--- class: 2 (97.8 %, 46 rows)
    <BLANKLINE>
    """

    def _split(self, nodes):
        n_features = nodes.X.shape[1]
        every = np.arange(len(nodes.totals))
        groups = quartile_groups(nodes.X, nodes.row, nodes.weight, nodes.start)
        gain, _, cut, _ = nodes.cuts("gini", self.min_samples_leaf)
        possible = gain > _GAIN
        # a feature that cannot be split is behind all others, whose p-values are at most 1
        p = np.where(possible, nodes.chi_square_p(groups, 4), 2.0)
        best = _first_least(p)
        unsure = possible.any(axis=1) & (p[every, best] >= _SIGNIFICANT / n_features)
        if unsure.any() and n_features > 1:
            # the upper two quartile groups are what is above the median
            above = groups[unsure[nodes.owner]] >= 2
            one, other = np.triu_indices(n_features, 1)
            pairs = 2 * above[:, one] + above[:, other]
            p_pair = nodes.subset(unsure).chi_square_p(pairs, 4)
            pair = _first_least(p_pair)
            significant = p_pair[np.arange(len(pair)), pair] < _SIGNIFICANT / len(one)
            # Both features of the pair matter, but a split tests one.
            one, other = one[pair], other[pair]
            unsure = np.flatnonzero(unsure)
            better = np.where(gain[unsure, one] >= gain[unsure, other] - _GAIN, one, other)
            significant &= possible[unsure, better]
            best[unsure[significant]] = better[significant]
        return _chosen(best, cut, possible.any(axis=1))


def splits_of_bags(inducer, X, y, weights) -> Splits:
    """`Splits` of trees grown and pruned for many weightings of the same rows, all at once.

    Only the parameters of the inducer are read; `weights` has a row for each of the trees. Gaps
    count as below all numbers of their column.
    """
    classes, label = np.unique(y, return_inverse=True)
    # below all numbers: then a gap goes left wherever a number is compared
    complete = Gaps.of(X).fill(X)
    splits = inducer._induce(complete, label, weights, len(classes))[0]
    return replace(splits, missing_left=splits.left >= 0) if np.isnan(X).any() else splits


def _first_least(values) -> np.ndarray:
    """First column with the least value of every row; rounding does not choose between equals."""
    least = values.min(axis=1, keepdims=True)
    return (values <= least + 1e-9 * np.abs(least)).argmax(axis=1)


def _chosen(feature, cut, possible) -> tuple[np.ndarray, np.ndarray]:
    """The chosen feature of every node and its cut, -1 where no split is possible."""
    return np.where(possible, feature, -1), cut[np.arange(len(cut)), feature]


def _discriminant_points(x, nodes) -> np.ndarray:
    """Where two groups of classes, joined by 2-means of the class means, are equally likely.

    `x` holds a value for every entry. One point a node; NaN where all class means are equal.
    """
    owner, label, sizes = nodes.owner, nodes.label[nodes.row], nodes.totals
    x = x.astype(np.float64)
    n_nodes, n_classes = sizes.shape
    present = sizes > 0

    def sums(key, values, shape):
        return np.bincount(key, nodes.weight * values, np.prod(shape)).reshape(shape)

    means = sums(owner * n_classes + label, x, sizes.shape) / np.where(present, sizes, 1.0)
    lowest = np.where(present, means, np.inf).min(axis=1, keepdims=True)
    highest = np.where(present, means, -np.inf).max(axis=1, keepdims=True)
    centres = np.concatenate([lowest, highest], axis=1)
    # 2-means on a line, of all nodes at once, from the two outermost means
    for _ in range(20):
        upper = np.abs(means - centres[:, 1:]) < np.abs(means - centres[:, :1])
        sides = np.stack([np.where(upper, 0.0, sizes), np.where(upper, sizes, 0.0)], axis=1)
        total = sides.sum(axis=2)
        fresh = (sides * means[:, None]).sum(axis=2) / np.where(total > 0, total, 1.0)
        if np.array_equal(fresh, centres):
            break
        centres = fresh
    # the two groups as normal distributions: their rows' means, variances and shares
    side = 2 * owner + upper[owner, label]
    shape = (n_nodes, 2)
    total = np.where(total > 0, total, 1.0)  # no weight on one side only where means are equal
    mean = sums(side, x, shape) / total
    variance = sums(side, np.square(x - mean.ravel()[side]), shape) / total
    middle = mean.mean(axis=1)
    flat = variance.min(axis=1) <= 1e-12 * np.square(mean[:, 1] - mean[:, 0])
    # log of the ratio of the two normal densities times priors, as a x^2 + b x + c.
    v0, v1 = np.where(flat[:, None], 1.0, variance).T
    m0, m1 = mean.T
    a = 0.5 / v1 - 0.5 / v0
    b = m0 / v0 - m1 / v1
    c = 0.5 * m1**2 / v1 - 0.5 * m0**2 / v0 + np.log(total[:, 0] / total[:, 1])
    c += 0.5 * np.log(v1 / v0)
    root = b * b - 4 * a * c
    # Of two points where the densities meet, the one between the means parts the groups.
    with np.errstate(divide="ignore", invalid="ignore"):
        straight = np.where(b != 0, -c / b, middle)
        one, other = ((-b + sign * np.sqrt(root)) / (2 * a) for sign in (-1.0, 1.0))
        nearer = np.where(np.abs(one - middle) <= np.abs(other - middle), one, other)
    point = np.where(root < 0, middle, nearer)
    point = np.where(np.abs(a) <= 1e-12 * np.abs(b), straight, point)
    point = np.where(flat, middle, point)
    return np.where(highest[:, 0] <= lowest[:, 0], np.nan, point)


def _pruned(levels, at, confidence) -> tuple:
    """Replace subtrees by leaves where that does not raise the pessimistic error.

    `levels` and `at` (the node of every entry) are as `_Inducer._grow` makes them. Returns left,
    right, feature, threshold and totals of the nodes, one tree after the other and each in
    pre-order; where the trees begin; and the position of each entry's leaf in these arrays.
    """
    left, feature, threshold, totals = (np.concatenate(c) for c in zip(*levels, strict=True))
    ends = np.cumsum([0] + [len(level[0]) for level in levels])
    # Depth by depth, for all trees at once: loops over nodes would be too slow in Python.
    inner = left >= 0
    at_depth = [a + np.flatnonzero(inner[a:b]) for a, b in pairwise(ends)]
    if confidence is not None:
        weight = totals.sum(axis=1)
        as_leaf = weight * error_limit(weight - totals.max(axis=1), weight, confidence)
        below = as_leaf.copy()
        for node in reversed(at_depth):
            children = below[left[node]] + below[left[node] + 1]
            # what is no worse but for rounding becomes a leaf
            inner[node] = as_leaf[node] > children + 1e-9
            below[node] = np.where(inner[node], children, as_leaf[node])
    # What is below a leaf stands where it does.
    stand = np.arange(len(left))
    for node in at_depth:
        ended = node[~inner[node] | (stand[node] != node)]
        stand[left[ended]] = stand[left[ended] + 1] = stand[ended]
    left[~inner] = -1
    n_trees = len(levels[0][0])
    order = walk(left, np.where(inner, left + 1, -1), np.arange(n_trees))
    place = np.empty_like(left)
    place[order] = np.arange(len(order))
    splits = inner[order]
    child = left[order]
    columns = (
        np.where(splits, place[child], -1),
        np.where(splits, place[child + 1], -1),
        np.where(splits, feature[order], -1),
        np.where(splits, threshold[order], 0.0),
        totals[order],
    )
    return columns, np.append(place[:n_trees], len(order)), place[stand[at]]


class InterpretableSingleModel(
    HoldsClassifierTree, TakesWhatItsEstimatorTakes, ClassifierMixin, BaseEstimator
):
    """One decision tree grown from the splits and the predictions of an ensemble (ISM).

    The tree is grown top-down like any other, with two differences. Only splits that occur in the
    ensemble are candidates. The class distributions in the information gain come from the
    ensemble's predictions, not from the labels. Rows may be tables with text, categories and
    missing values; levels that `fit` did not see count as missing.

    Read more in the :ref:`guide <genesim_ism>`.

    Parameters
    ----------
    estimator : estimator, FrozenEstimator or None, default=None
        Ensemble of trees: fitted here, or used as it is if wrapped in
        :class:`sklearn.frozen.FrozenEstimator`. None: a random forest of 100 trees.
    max_depth : int or None, default=None
        Largest depth of the tree.
    min_samples_leaf : int, default=1
        Training rows that a leaf has at least.
    ccp_alpha : float, default=0.0
        Cost of a leaf in minimal cost-complexity pruning, in units of Gini impurity, as in
        scikit-learn's trees; 0 prunes nothing.
    time_limit : float or None, default=None
        Seconds after which the tree is grown no further. An ensemble that is being fitted here is
        not interrupted.
    random_state : int, RandomState instance or None, default=None
        Controls the default ensemble.

    Attributes
    ----------
    decision_tree_ : DecisionTreeClassifier
        The result; the value of a node is the ensemble's estimate of the class distribution,
        after `shrinkage`.
    n_leaves_ : int
        Leaves of `decision_tree_`.
    n_nodes_ : int
        Nodes of `decision_tree_`.
    train_fidelity_ : float
        Share of the training rows for which the tree predicts what the ensemble does.
    fidelity_ : float
        Not a number: no rows are kept aside to measure the agreement with the ensemble on.
    estimator_ : estimator
        The fitted ensemble.
    classes_ : ndarray of shape (n_classes,)
        Class labels.
    n_features_in_ : int
        Number of features seen in `fit`.
    feature_names_in_ : ndarray of shape (`n_features_in_`,)
        Names of features seen in `fit`; defined only if all are strings.

    Other Parameters
    ----------------
    min_samples_split : int, default=5
        A node with fewer training rows is not split.
    shrinkage : float, default=10
        How many rows the ancestors of a leaf count for in its class probabilities (hierarchical
        shrinkage); no probability is zero then. 0: the estimate of the Notes as it is. What
        `predict` answers does not depend on it.
    verbose : int, default=0
        If positive, progress is printed.

    See Also
    --------
    GenesimClassifier : A tree bred from those of an ensemble; usually smaller and more accurate.

    Notes
    -----
    Let B be the splits on the path to a node. The class distribution there is estimated as ::

        P(c | B) = 1/T * sum over trees k, leaves l of k: P_k(c | l) * P(l | B),

    where P_k(c | l) is what tree k says in leaf l and P(l | B) is the fraction of the training
    rows satisfying B that end in l. This is the mean of what the ensemble predicts for these rows.
    A split t has the information gain ::

        H(C | B) - P(t | B) * H(C | B, t) - P(not t | B) * H(C | B, not t).

    A node becomes a leaf where the ensemble predicts one class for all its rows, and siblings
    with the same prediction are joined.

    References
    ----------
    .. [1] A. Van Assche and H. Blockeel, "Seeing the forest through the trees: learning a
       comprehensible model from a first order ensemble", ILP 2007.
       https://doi.org/10.1007/978-3-540-78469-2_26

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from ensemble_simplify import InterpretableSingleModel
    >>> X, y = load_iris(return_X_y=True, as_frame=True)
    >>> model = InterpretableSingleModel(ccp_alpha=0.02, random_state=0).fit(X, y)
    >>> print(f"agrees with the forest on {model.train_fidelity_:.1%} of the rows")
    agrees with the forest on 97.3% of the rows
    >>> print(model.export_text())
    |--- petal length (cm) <= 2.45
    |   |--- class: 0 (chance 95.7 % by the model, 50 training rows)
    |--- petal length (cm) > 2.45
    |   |--- petal width (cm) <= 1.75
    |   |   |--- petal length (cm) <= 4.95
    |   |   |   |--- class: 1 (chance 91.6 % by the model, 48 training rows)
    |   |   |--- petal length (cm) > 4.95
    |   |   |   |--- class: 2 (chance 58 % by the model, 6 training rows)
    |   |--- petal width (cm) > 1.75
    |   |   |--- class: 2 (chance 92.1 % by the model, 46 training rows)
    <BLANKLINE>
    """

    _parameter_constraints: ClassVar[dict] = {
        "estimator": [Fittable(), None],
        "max_depth": [Interval(Integral, 1, None, closed="left"), None],
        "min_samples_split": [Interval(Integral, 2, None, closed="left")],
        "min_samples_leaf": [Interval(Integral, 1, None, closed="left")],
        "ccp_alpha": [Interval(Real, 0, None, closed="left")],
        "shrinkage": [Interval(Real, 0, None, closed="left")],
        "time_limit": [Interval(Real, 0, None, closed="neither"), None],
        "random_state": ["random_state"],
        "verbose": ["verbose"],
    }

    def __init__(
        self,
        estimator: Any = None,
        *,
        max_depth: int | None = None,
        min_samples_split: int = 5,
        min_samples_leaf: int = 1,
        ccp_alpha: float | str = 0.0,
        shrinkage: float = 10,
        time_limit: float | None = None,
        random_state: int | np.random.RandomState | None = None,
        verbose: int = 0,
    ):
        self.estimator = estimator
        self.max_depth = max_depth
        self.min_samples_split = min_samples_split
        self.min_samples_leaf = min_samples_leaf
        self.ccp_alpha = ccp_alpha
        self.shrinkage = shrinkage
        self.time_limit = time_limit
        self.random_state = random_state
        self.verbose = verbose

    @fit_context(prefer_skip_nested_validation=False)
    @limited
    def fit(self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Fit the ensemble if need be, and grow the tree.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Training rows: numbers, which are cast to float32, or a table that has columns of text
            and categories, too. Any entry may be missing (NaN, None).
        y : array-like of shape (n_samples,)
            Class labels.
        sample_weight : array-like of shape (n_samples,) or None, default=None
            Non-negative weights of the rows.

        Returns
        -------
        self : estimator
            The fitted estimator.
        """
        check_readable(self.estimator)
        rows, y = learned_rows(self, X, y, sample_weight)
        X = rows.numbers
        weight = check_weights(sample_weight, X)
        self.estimator_ = fit_or_unwrap(
            self.estimator,
            rows.given,
            y,
            None if sample_weight is None else weight,
            default=RandomForestClassifier(random_state=self.random_state),
            counted=True,
        )
        model = Model.of(self.estimator_, classifier=True, rows=rows.given)
        forest = forest_on(model, self._table)
        self.classes_ = forest.classes
        report(self, f"ensemble of {forest.n_trees} trees is ready")
        # rows of weight 0 were there for the model, and do not count for the tree
        used = weight > 0
        votes = self._votes(rows)[used]
        weight = weight[used]
        columns = GapColumns(self._table.gaps)
        axes, _ = columns.axes([forest])
        # without codes there is nothing to grow: the limit is for the growth
        with unlimited():
            codes = axes.encode_rows(columns.rows(X[used]))
        nodes, votes_of_node, n_rows, stopped = grow(
            codes,
            np.ascontiguousarray(votes * weight[:, None]),
            max_depth=-1 if self.max_depth is None else self.max_depth,
            min_samples_split=self.min_samples_split,
            min_samples_leaf=self.min_samples_leaf,
        )
        report(self, f"grown to {(len(nodes) + 1) // 2} leaves")
        if stopped:
            warn_out_of_time(
                f"time_limit={self.time_limit} seconds stopped the growth of the tree. Raise "
                "time_limit, or set max_depth or min_samples_leaf."
            )
        nodes, kept = _pruned_back(nodes, votes_of_node, self.ccp_alpha)
        written, order, missing_left = columns.written(axes.decode(nodes), n_rows[kept])
        self.decision_tree_ = write_counted(
            written,
            n_rows[kept][order],
            votes_of_node[kept][order],
            n_features=self.n_features_in_,
            classes=self.classes_,
            feature_names=getattr(self, "feature_names_in_", None),
            shrinkage=self.shrinkage,
            missing_go_to_left=missing_left,
        )
        self.n_nodes_ = len(nodes)
        self.n_leaves_ = (len(nodes) + 1) // 2
        self._shares_of = CHANCE_BY_MODEL if self.shrinkage > 0 else ""
        answers = self.decision_tree_.predict(X[used], check_input=False)
        agrees = answers == self.classes_.take(votes.argmax(axis=1))
        self.train_fidelity_ = float(np.average(agrees, weights=weight))
        self.fidelity_ = np.nan
        report(self, f"{self.n_leaves_} leaves, train fidelity {self.train_fidelity_:.4f}")
        return self

    def _votes(self, rows) -> np.ndarray:
        """The ensemble's class distribution for every row; its label where it has none."""
        knows_names = hasattr(self.estimator_, "feature_names_in_")
        X = rows.given if knows_names or not is_plain(rows.given) else rows.numbers
        asked = Model(self.estimator_)
        if hasattr(self.estimator_, "predict_proba"):
            return asked.ask(X, "predict_proba")
        return (asked.ask(X)[:, None] == self.classes_).astype(np.float64)


def _pruned_back(nodes, weights, ccp_alpha) -> tuple[np.ndarray, np.ndarray]:
    """Prune the weakest links and join siblings of one label; the tree and the nodes kept."""
    total = weights.sum(axis=1)
    label = weights.argmax(axis=1)
    is_leaf = nodes[:, 0] < 0
    if ccp_alpha > 0:
        impurity = (total - np.square(weights).sum(axis=1) / total) / total[0]
        # in scikit-learn's units: impurity as a share of the root's weight
        pruned_at, price, _, _ = weakest_links(nodes, impurity)
        is_leaf = pruned_at < np.searchsorted(price, ccp_alpha, side="right")
    # backwards, so that children are decided before their parents
    for i in np.flatnonzero(~is_leaf)[::-1]:
        right = i + 1 + nodes[i + 1, 2]
        is_leaf[i] = is_leaf[i + 1] and is_leaf[right] and label[i + 1] == label[right]
    pruned, kept = cut_back(nodes, is_leaf)
    leaves = pruned[:, 0] < 0
    pruned[leaves, 1] = label[kept][leaves]
    return pruned, kept


def cut_back(nodes, is_leaf) -> tuple[np.ndarray, np.ndarray]:
    """A tree over axes that ends at some of its nodes, and the places of its nodes before."""
    kept, i = [], 0
    while i < len(nodes):
        kept.append(i)
        # in pre-order, what is below a new leaf is skipped by its size
        i += nodes[i, 2] if is_leaf[i] else 1
    pruned = nodes[kept].copy()
    pruned[is_leaf[kept], 0] = -1
    return with_sizes(pruned), np.array(kept)
