"""Small decision-tree inducers in the manner of C4.5, QUEST and GUIDE.

They differ in how a split is chosen, which is what makes a mixed ensemble diverse: by gain
ratio (C4.5), or by a significance test that picks the feature without regard to how many
split points it offers, before a split point is looked for (QUEST, GUIDE). All features are taken
as ordered numbers, weights as frequencies, and all three prune by C4.5's pessimistic error.
"""

from __future__ import annotations

import numpy as np
from scipy import stats
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import _check_sample_weight, check_is_fitted, validate_data

from ensemble_simplify._sklearn_tree import TreeNodes, write_classifier
from ensemble_simplify._thresholds import float32_floor

_SIGNIFICANT = 0.05


def error_limit(errors, total, confidence):
    """Upper confidence limit of an error rate: `errors` wrong of `total`.

    The rate at which so few errors, or fewer, would be seen with probability `confidence`.
    """
    errors, total = np.asarray(errors, dtype=np.float64), np.asarray(total, dtype=np.float64)
    right = total - errors
    limit = stats.beta.ppf(1.0 - confidence, errors + 1.0, np.where(right > 0, right, 1.0))
    return np.where(right > 0, limit, 1.0)


class _Inducer(ClassifierMixin, BaseEstimator):
    """Top-down induction; a subclass chooses the split of a node.

    Parameters
    ----------
    min_samples_leaf : int, default=2
        Weight that both sides of a split have at least.
    max_depth : int or None, default=None
    confidence : float or None, default=0.25
        Confidence of the pessimistic error that prunes the tree; smaller prunes more. None: the
        tree is not pruned.

    Attributes
    ----------
    decision_tree_ : DecisionTreeClassifier
    classes_ : ndarray of shape (n_classes,)
    """

    def __init__(self, *, min_samples_leaf=2, max_depth=None, confidence=0.25):
        self.min_samples_leaf = min_samples_leaf
        self.max_depth = max_depth
        self.confidence = confidence

    def fit(self, X, y, sample_weight=None):
        """Grow and prune a tree.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
        y : array-like of shape (n_samples,)
        sample_weight : array-like of shape (n_samples,) or None

        Returns
        -------
        self : estimator
        """
        X, y = validate_data(self, X, y, dtype=np.float32)
        check_classification_targets(y)
        weight = _check_sample_weight(sample_weight, X, dtype=np.float64)
        self.classes_, label = np.unique(y, return_inverse=True)
        used = weight > 0
        X, label, weight = X[used], label[used], weight[used]
        counts = np.zeros((len(X), len(self.classes_)))
        counts[np.arange(len(X)), label] = weight

        left, right, feature, threshold, totals = [], [], [], [], []
        leaf_of_row = np.zeros(len(X), dtype=np.intp)
        stack = [(np.arange(len(X)), -1, 0)]
        while stack:
            rows, parent, depth = stack.pop()
            node = len(left)
            if parent >= 0:
                right[parent] = node
            totals.append(counts[rows].sum(axis=0))
            leaf_of_row[rows] = node
            split = None
            if depth != self.max_depth and np.count_nonzero(totals[-1]) > 1:
                split = self._split(X[rows].astype(np.float64), counts[rows])
            left.append(-1 if split is None else node + 1)
            right.append(-1)
            feature.append(-1 if split is None else split[0])
            threshold.append(0.0 if split is None else split[1])
            if split is not None:
                goes_left = X[rows, split[0]] <= split[1]
                stack.append((rows[~goes_left], node, depth + 1))
                stack.append((rows[goes_left], -1, depth + 1))
        tree = [np.array(column) for column in (left, right, feature, threshold, totals)]
        if self.confidence is not None:
            tree, leaf_of_row = _pruned(*tree, leaf_of_row, self.confidence)
        nodes = TreeNodes(*tree[:4])
        self.decision_tree_ = write_classifier(
            nodes,
            tree[4].argmax(axis=1),
            None,
            leaf_of_row,
            label,
            self.classes_,
            n_features=X.shape[1],
            feature_names=getattr(self, "feature_names_in_", None),
            sample_weight=weight,
        )
        return self

    def predict(self, X):
        """Predict classes.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)

        Returns
        -------
        y : ndarray of shape (n_samples,)
        """
        check_is_fitted(self)
        X = validate_data(self, X, reset=False, dtype=np.float32)
        return self.decision_tree_.predict(X, check_input=False)

    def predict_proba(self, X):
        """Predict class probabilities.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)

        Returns
        -------
        proba : ndarray of shape (n_samples, n_classes)
        """
        check_is_fitted(self)
        X = validate_data(self, X, reset=False, dtype=np.float32)
        return self.decision_tree_.predict_proba(X, check_input=False)


class C45Tree(_Inducer):
    """C4.5-like: gain ratio among the features of at least average gain.

    A numeric feature pays ``log2(distinct values - 1) / n`` of its gain for the choice of its
    threshold. Pruning replaces subtrees by leaves; C4.5's subtree raising is left out.
    """

    def _split(self, X, counts):
        total = counts.sum()
        least = max(self.min_samples_leaf, min(25.0, 0.1 * total / counts.shape[1]))
        gain, ratio, cut, n_cuts = _scan(X, counts, _entropy, least)
        gain = gain - np.log2(np.maximum(n_cuts, 1)) / total
        possible = np.isfinite(gain) & (gain > 1e-12)
        if not possible.any():
            return None
        ratio = np.where(possible & (gain >= gain[possible].mean() - 1e-3), ratio, -np.inf)
        best = int(ratio.argmax())
        return best, cut[best]


class QuestTree(_Inducer):
    """QUEST-like: feature by analysis of variance, split by quadratic discriminant analysis.

    The feature has the smallest p-value of the F test for unequal class means (a chi-square test
    if it has two values); if none is significant, of Levene's test for unequal spreads. Classes
    are joined into two groups by 2-means of their means. Where no such split is possible,
    the best Gini split of the feature is taken.
    """

    def _split(self, X, counts):
        n_features = X.shape[1]
        p_mean = _anova_p(X, counts)
        two_values = np.array([np.all((c == c.min()) | (c == c.max())) for c in X.T])
        if two_values.any():
            groups = (X[:, two_values] > X[:, two_values].min(axis=0)).astype(np.intp)
            p_mean[two_values] = _chi_square_p(groups, counts, 2)
        best = int(p_mean.argmin())
        if p_mean[best] >= _SIGNIFICANT / n_features:
            weight = counts.sum(axis=1)
            means = (counts.T @ X) / np.maximum(counts.sum(axis=0), 1e-300)[:, None]
            spread = np.abs(X - means[counts.argmax(axis=1)])
            p_spread = _anova_p(spread, counts)
            p_spread[two_values] = 1.0
            if p_spread.min() < _SIGNIFICANT / (2 * n_features) and weight.sum() > 2:
                best = int(p_spread.argmin())
        return self._cut(X[:, best], counts, best)

    def _cut(self, x, counts, feature):
        least = self.min_samples_leaf
        point = _discriminant_point(x, counts)
        if point is not None:
            point = float(float32_floor(point))
            on_left = counts[x <= point].sum()
            if min(on_left, counts.sum() - on_left) >= least:
                return feature, point
        gain, _, cut, _ = _scan(x[:, None], counts, _gini, least)
        return (feature, cut[0]) if gain[0] > 1e-12 else None


class GuideTree(_Inducer):
    """GUIDE-like: feature by chi-square tests of classes against groups of its values.

    Curvature tests cross the classes with the quartile groups of a feature. Where none is
    significant, interaction tests cross them with the quadrants (above and below the
    medians) of each pair of features; of a significant pair, the feature with the better
    Gini split is taken. The split point is the best one by Gini impurity.
    """

    def _split(self, X, counts):
        n_features = X.shape[1]
        weight = counts.sum(axis=1)
        quartiles = _weighted_quantiles(X, weight, (0.25, 0.5, 0.75))
        groups = (X[:, :, None] > quartiles.T[None]).sum(axis=2)
        p = _chi_square_p(groups, counts, 4)
        gain, _, cut, _ = _scan(X, counts, _gini, self.min_samples_leaf)
        if not (gain > 1e-12).any():
            return None
        p[~(gain > 1e-12)] = 2.0
        best = int(p.argmin())
        if p[best] >= _SIGNIFICANT / n_features and n_features > 1:
            above = groups >= 2
            first, second = np.triu_indices(n_features, 1)
            p_pair = _chi_square_p(2 * above[:, first] + above[:, second], counts, 4)
            pair = int(p_pair.argmin())
            if p_pair[pair] < _SIGNIFICANT / len(first):
                one, other = first[pair], second[pair]
                chosen = one if gain[one] >= gain[other] else other
                best = int(chosen) if gain[chosen] > 1e-12 else best
        return best, cut[best]


def _entropy(counts):
    """Entropy times weight, over the last axis."""
    total = counts.sum(axis=-1, keepdims=True)
    with np.errstate(divide="ignore", invalid="ignore"):
        terms = counts * np.log2(counts / total)
    return -np.where(counts > 0, terms, 0.0).sum(axis=-1)


def _gini(counts):
    """Gini impurity times weight, over the last axis."""
    total = counts.sum(axis=-1)
    return total - np.square(counts).sum(axis=-1) / np.where(total > 0, total, 1.0)


def _scan(X, counts, impurity, least):
    """Best cut of every feature: gain a unit of weight, gain ratio, threshold, number of cuts."""
    order = np.argsort(X, axis=0, kind="stable")
    values = np.take_along_axis(X, order, axis=0)
    left = np.cumsum(counts[order], axis=0)[:-1]
    whole = counts.sum(axis=0)
    total = whole.sum()
    n_left = left.sum(axis=2)
    distinct = values[1:] > values[:-1]
    allowed = distinct & (n_left >= least - 1e-9) & (total - n_left >= least - 1e-9)
    after = impurity(left) + impurity(whole - left)
    gain = np.where(allowed, (impurity(whole) - after) / total, -np.inf)
    if not len(gain):
        none = np.full(X.shape[1], -np.inf)
        return none, none, np.zeros(X.shape[1]), np.zeros(X.shape[1])
    at = gain.argmax(axis=0)
    columns = np.arange(X.shape[1])
    best = gain[at, columns]
    share = n_left[at, columns] / total
    information = _entropy(np.stack([share, 1.0 - share], axis=-1))
    ratio = np.where(information > 0, best / np.where(information > 0, information, 1.0), -np.inf)
    cut = float32_floor((values[at, columns] + values[at + 1, columns]) / 2)
    return best, ratio, cut, distinct.sum(axis=0)


def _anova_p(X, counts):
    """p-value of the one-way F test of every column; 1 where it says nothing."""
    sizes = counts.sum(axis=0)
    present = sizes > 0
    total, n_groups = sizes.sum(), present.sum()
    if total - n_groups <= 0 or n_groups < 2:
        return np.ones(X.shape[1])
    X = X - X.mean(axis=0)
    means = (counts[:, present].T @ X) / sizes[present, None]
    grand = (sizes[present] @ means) / total
    between = sizes[present] @ np.square(means - grand)
    squares = counts.sum(axis=1) @ np.square(X)
    within = np.maximum(squares - sizes[present] @ np.square(means), 0.0)
    within[within <= 1e-14 * squares] = 0.0
    with np.errstate(divide="ignore", invalid="ignore"):
        f = (between / (n_groups - 1)) / (within / (total - n_groups))
    p = stats.f.sf(f, n_groups - 1, total - n_groups)
    return np.where(np.isnan(p), 1.0, p)


def _chi_square_p(groups, counts, n_groups):
    """p-value of the chi-square test of classes against every column of groups."""
    member = groups[:, :, None] == np.arange(n_groups)
    table = np.einsum("nfg,nk->fgk", member.astype(np.float64), counts)
    rows, columns = table.sum(axis=2), table.sum(axis=1)
    expected = rows[:, :, None] * columns[:, None, :] / counts.sum()
    safe = np.where(expected > 0, expected, 1.0)
    statistic = np.where(expected > 0, np.square(table - expected) / safe, 0.0).sum(axis=(1, 2))
    freedom = ((rows > 0).sum(axis=1) - 1) * ((columns > 0).sum(axis=1) - 1)
    p = np.ones(groups.shape[1])
    tested = freedom > 0
    p[tested] = stats.chi2.sf(statistic[tested], freedom[tested])
    return p


def _weighted_quantiles(X, weight, levels):
    """Quantiles of every column as an array of shape (n_levels, n_features)."""
    order = np.argsort(X, axis=0, kind="stable")
    running = np.cumsum(weight[order], axis=0)
    values = np.take_along_axis(X, order, axis=0)
    at = [(running < level * running[-1] - 1e-9).sum(axis=0) for level in levels]
    return np.take_along_axis(values, np.array(at), axis=0)


def _discriminant_point(x, counts):
    """Where two groups of classes, joined by 2-means of the class means, are equally likely."""
    sizes = counts.sum(axis=0)
    present = np.flatnonzero(sizes > 0)
    means = (counts[:, present].T @ x) / sizes[present]
    if means.max() <= means.min():
        return None
    centres = np.array([means.min(), means.max()])
    for _ in range(20):
        upper = np.abs(means - centres[1]) < np.abs(means - centres[0])
        fresh = np.array(
            [np.average(means[side], weights=sizes[present[side]]) for side in (~upper, upper)]
        )
        if np.array_equal(fresh, centres):
            break
        centres = fresh
    weights = [counts[:, present[side]].sum(axis=1) for side in (~upper, upper)]
    total = [w.sum() for w in weights]
    mean = [(w @ x) / n for w, n in zip(weights, total, strict=True)]
    variance = [(w @ np.square(x - m)) / n for w, m, n in zip(weights, mean, total, strict=True)]
    middle = (mean[0] + mean[1]) / 2
    if min(variance) <= 1e-12 * (mean[1] - mean[0]) ** 2:
        return middle
    # log of the ratio of the two normal densities times priors, as a x^2 + b x + c.
    a = 0.5 / variance[1] - 0.5 / variance[0]
    b = mean[0] / variance[0] - mean[1] / variance[1]
    c = (
        0.5 * mean[1] ** 2 / variance[1]
        - 0.5 * mean[0] ** 2 / variance[0]
        + np.log(total[0] / total[1])
        + 0.5 * np.log(variance[1] / variance[0])
    )
    if abs(a) <= 1e-12 * abs(b):
        return -c / b if b else middle
    root = b * b - 4 * a * c
    if root < 0:
        return middle
    points = (-b + np.array([-1.0, 1.0]) * np.sqrt(root)) / (2 * a)
    return points[np.abs(points - middle).argmin()]


def _pruned(left, right, feature, threshold, totals, leaf_of_row, confidence):
    """Replace subtrees by leaves where that does not raise the pessimistic error."""
    weight = totals.sum(axis=1)
    as_leaf = weight * error_limit(weight - totals.max(axis=1), weight, confidence)
    below = as_leaf.copy()
    size = np.ones(len(left), dtype=np.intp)
    leaf = left < 0
    for node in range(len(left) - 1, -1, -1):
        if left[node] < 0:
            continue
        size[node] = 1 + size[left[node]] + size[right[node]]
        below[node] = below[left[node]] + below[right[node]]
        if as_leaf[node] <= below[node] + 1e-9:
            below[node] = as_leaf[node]
            leaf[node] = True
    kept, new_id = [], np.full(len(left), -1, dtype=np.intp)
    node = 0
    while node < len(left):
        end = node + size[node] if leaf[node] else node + 1
        new_id[node:end] = len(kept)
        kept.append(node)
        node = end
    kept = np.array(kept)
    inner = ~leaf[kept]
    tree = [
        np.where(inner, new_id[left[kept]], -1),
        np.where(inner, new_id[right[kept]], -1),
        np.where(inner, feature[kept], -1),
        np.where(inner, threshold[kept], 0.0),
        totals[kept],
    ]
    return tree, new_id[leaf_of_row]
