"""The module-tree kernel against a plain NumPy grower written from the paper's formulas."""

import itertools
from dataclasses import dataclass, field

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer, load_iris, load_wine

from ensemble_simplify import CultivatedForestClassifier

TIE = 1e-12


@dataclass
class Option:
    feature: int
    flip: bool
    threshold: float
    impurity: float
    missing: float
    phi: dict  # threshold -> weight


@dataclass
class Node:
    depth: int
    mass: float
    value: np.ndarray
    options: list = field(default_factory=list)
    left: int = -1
    right: int = -1


def gini(masses):
    total = masses.sum()
    return 1 - np.sum((masses / total) ** 2) if total > 0 else 0.0


def soft_left(x, option):
    """psi of one option before its direction."""
    psi = sum(phi * (x <= t) for t, phi in option.phi.items())
    return np.where(np.isnan(x), np.nan, psi)


def gate(X, options):
    """Fraction of each row that goes left."""
    total = np.zeros(len(X))
    for option in options:
        psi = soft_left(X[:, option.feature], option)
        directed = 1 - psi if option.flip else psi
        total += np.where(np.isnan(psi), option.missing, directed)
    return total / len(options)


def snapped(left, right, min_fraction):
    """Parts below `min_fraction` go with the larger part, equal parts stay."""
    whole = left + right
    snap = np.minimum(left, right) < max(min_fraction - TIE, TIE)
    snap &= np.abs(left - right) > 1e-9 * whole
    larger = np.where(left > right, whole, 0)
    return np.where(snap, larger, left), np.where(snap, whole - larger, right)


def best_of_feature(x, y, w, n_classes, k, robust, trivial):
    """(option, contrast) of one feature, written directly from equation 2."""
    known = ~np.isnan(x)
    one_hot = np.eye(n_classes)[y] * w[:, None]
    values = np.unique(x[known])
    if len(values) < 2:
        return None
    total = one_hot[known].sum(axis=0)
    mass = w[known].sum()

    def h(t):
        left = one_hot[known & (x <= t)].sum(axis=0)
        right = one_hot[known & (x > t)].sum(axis=0)
        return (left.sum() * gini(left) + right.sum() * gini(right)) / mass

    scores = np.array([h(t) for t in values])
    best = 0
    for q in range(1, len(values) - 1):
        if scores[q] < scores[best] - TIE:
            best = q
    weight_at = [w[x == t].sum() for t in values]
    phi = {values[best]: weight_at[best]}
    if robust:
        last = len(values) if trivial else len(values) - 1
        for side in (range(best - 1, -1, -1), range(best + 1, last)):
            room = k
            for q in side:
                if room <= TIE * mass:
                    break
                phi[values[q]] = min(weight_at[q], room)
                room -= phi[values[q]]
    norm = sum(phi.values())
    phi = {t: phi[t] / norm for t in sorted(phi)}
    impurity = sum(p * scores[np.searchsorted(values, t)] for t, p in phi.items())
    psi = sum(p * (x[known] <= t) for t, p in phi.items())
    left = (one_hot[known] * psi[:, None]).sum(axis=0)
    right = total - left
    share = w[known].sum() / w.sum()
    if share < 1 - 1e-9:
        impurity = gini(one_hot.sum(axis=0)) - share * (gini(total) - impurity)
    option = Option(-1, False, values[best], impurity, left.sum() / mass, phi)
    return option, right / right.sum() - left / left.sum()


def reference_tree(X, y, weight, n_classes, params):
    nodes = []

    def grow(fraction, depth):
        ident = len(nodes)
        rows = np.flatnonzero(fraction > 0)
        w = fraction[rows] * weight[rows]
        masses = np.bincount(y[rows], weights=w, minlength=n_classes)
        node = Node(depth, w.sum(), masses / w.sum())
        nodes.append(node)
        impurity = gini(masses)
        if depth == params["max_depth"] or w.sum() < params["min_samples_split"] - 1e-9:
            return ident
        if impurity <= TIE:
            return ident
        found = {}
        for j in range(X.shape[1]):
            best = best_of_feature(
                X[rows, j],
                y[rows],
                w,
                n_classes,
                np.sqrt(w.sum()),
                params["robust_splits"],
                params["trivial_threshold"],
            )
            if best is not None and best[0].impurity < impurity - TIE:
                best[0].feature = j
                found[j] = best
        if not found:
            return ident
        first = min(found, key=lambda j: (round(found[j][0].impurity, 11), j))
        reference = found[first][1]
        if np.arange(n_classes) @ reference < -TIE:
            reference = -reference
        chosen = []
        for j, (option, contrast) in found.items():
            if j != first and not params["option_modules"]:
                continue
            eta = params["option_threshold"] / (depth + 1) ** 3
            if option.impurity > found[first][0].impurity + eta + TIE:
                continue
            cosine = reference @ contrast
            if n_classes > 2 and j != first:
                norm = np.linalg.norm(reference) * np.linalg.norm(contrast)
                if norm <= 0 or abs(cosine) < params["align"] * norm - TIE:
                    continue
            option.flip = bool((contrast[1] if n_classes == 2 else cosine) < -TIE)
            if option.flip:
                option.missing = 1 - option.missing
            chosen.append(option)
        chosen.sort(key=lambda o: (o.feature != first, round(o.impurity, 11), o.feature))
        if params["max_options"] is not None:
            chosen = chosen[: params["max_options"]]
        share = gate(X, chosen)
        left = fraction * share
        right = fraction - left
        left, right = snapped(left, right, params["min_fraction"])
        if not left.any() or not right.any():
            return ident
        node.options = chosen
        node.left = grow(left, depth + 1)
        node.right = grow(right, depth + 1)
        return ident

    grow(np.ones(len(X)), 0)
    return nodes


DEFAULTS = {
    "option_threshold": 0.3,
    "option_modules": True,
    "robust_splits": True,
    "max_options": None,
    "max_depth": 3,
    "min_samples_split": 6,
    "min_fraction": 0.01,
    "trivial_threshold": True,
    "align": 0.5,
}


def assert_same_tree(tree, nodes, n_features):
    assert tree.n_nodes == len(nodes)
    np.testing.assert_array_equal(tree.left, [node.left for node in nodes])
    np.testing.assert_array_equal(tree.right, [node.right for node in nodes])
    np.testing.assert_array_equal(tree.depth, [node.depth for node in nodes])
    np.testing.assert_allclose(tree.mass, [node.mass for node in nodes], atol=1e-9)
    np.testing.assert_allclose(tree.value, [node.value for node in nodes], atol=1e-9)
    for i, node in enumerate(nodes):
        options = list(tree.options(i))
        assert list(tree.option_feature[options]) == [o.feature for o in node.options]
        for option, expected in zip(options, node.options, strict=True):
            assert tree.option_flip[option] == expected.flip
            assert tree.option_threshold[option] == expected.threshold
            assert tree.option_impurity[option] == pytest.approx(expected.impurity, abs=1e-9)
            assert tree.option_missing[option] == pytest.approx(expected.missing, abs=1e-9)
            cuts = slice(tree.cut_start[option], tree.cut_start[option + 1])
            np.testing.assert_array_equal(tree.cut_threshold[cuts], list(expected.phi))
            suffix = np.cumsum(list(expected.phi.values())[::-1])[::-1]
            np.testing.assert_allclose(tree.cut_suffix[cuts], suffix, atol=1e-9)


def random_data(seed, n, p, n_classes, levels, missing):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, p))
    if levels:
        X = np.round(X * levels) / levels
    score = X[:, 0] + 0.5 * X[:, p - 1] + 0.7 * rng.normal(size=n)
    y = np.digitize(score, np.quantile(score, np.arange(1, n_classes) / n_classes))
    X[rng.random(X.shape) < missing] = np.nan
    weight = rng.integers(1, 4, size=n).astype(float)
    return X, y, weight


@settings(deadline=None, max_examples=100)
@given(
    seed=st.integers(0, 10**6),
    n=st.integers(6, 60),
    p=st.integers(1, 4),
    n_classes=st.integers(2, 4),
    levels=st.sampled_from([0, 1, 4]),
    missing=st.sampled_from([0.0, 0.2]),
    max_options=st.sampled_from([None, 1, 2]),
    min_fraction=st.sampled_from([0.0, 0.01, 0.2]),
    option_modules=st.booleans(),
    robust_splits=st.booleans(),
    trivial_threshold=st.booleans(),
    splitter=st.sampled_from(["exact", "histogram"]),
)
def test_equals_the_reference_grower(
    seed, n, p, n_classes, levels, missing, splitter, **parameters
):
    X, y, weight = random_data(seed, n, p, n_classes, levels, missing)
    y[:n_classes] = np.arange(n_classes)
    params = {**DEFAULTS, **parameters}
    whole = CultivatedForestClassifier(splitter=splitter, ccp_alpha=0, **params)
    clf = whole.fit(X, y, sample_weight=weight)
    nodes = reference_tree(X, y, weight, n_classes, params)
    assert_same_tree(clf.modules_, nodes, p)

    fresh = random_data(seed + 1, 20, p, n_classes, levels, missing)[0]
    expected = reference_fractions(fresh, nodes, params["min_fraction"])
    leaf_set = clf.predict_set(fresh)
    np.testing.assert_allclose(leaf_set.weights.toarray(), expected[:, leaf_set.nodes], atol=1e-9)


def reference_fractions(X, nodes, min_fraction):
    """(n_rows, n_nodes) fractions of every row in every node."""
    fractions = np.zeros((len(X), len(nodes)))
    fractions[:, 0] = 1
    for i, node in enumerate(nodes):
        if node.left < 0:
            continue
        left = fractions[:, i] * gate(X, node.options)
        right = fractions[:, i] - left
        left, right = snapped(left, right, min_fraction)
        fractions[:, node.left], fractions[:, node.right] = left, right
    return fractions


def sharp_trees(clf):
    """Every choice of one (option, threshold) in each module of a depth-2 tree, with its weight."""
    tree = clf.modules_
    modules = np.flatnonzero(tree.left >= 0)
    choices = []
    for module in modules:
        of_module = []
        options = tree.options(module)
        for o in options:
            cuts = range(tree.cut_start[o], tree.cut_start[o + 1])
            phi = -np.diff([*tree.cut_suffix[cuts], 0.0])
            of_module += [
                (module, tree.option_feature[o], tree.cut_threshold[c], tree.option_flip[o], weight)
                for c, weight in zip(cuts, phi / len(options), strict=True)
            ]
        choices.append(of_module)
    return itertools.product(*choices)


@pytest.mark.parametrize("load", [load_breast_cancer, load_iris])
def test_equation_1_average_over_the_cartesian_product(load):
    X, y = load(return_X_y=True)
    keep = np.random.default_rng(0).permutation(len(X))[:60]
    X, y = X[keep][:, :3], y[keep]
    clf = CultivatedForestClassifier(
        max_depth=2, max_options=2, k=1.5, min_fraction=0, ccp_alpha=0
    ).fit(X, y)
    tree = clf.modules_
    assert tree.n_leaves >= 3
    assert np.diff(tree.option_start).max() == 2
    rows = X[::4]
    average = np.zeros((len(rows), tree.n_nodes))
    total = 0.0
    n_trees = 0
    for decisions in sharp_trees(clf):
        weight = np.prod([decision[4] for decision in decisions])
        at = np.zeros(len(rows), dtype=int)
        for module, feature, threshold, flip, _ in decisions:  # pre-order: parents first
            here = at == module
            left = (rows[:, feature] <= threshold) != flip
            at[here & left] = tree.left[module]
            at[here & ~left] = tree.right[module]
        average[np.arange(len(rows)), at] += weight
        total += weight
        n_trees += 1
    assert n_trees > 50
    assert total == pytest.approx(1.0)
    leaf_set = clf.predict_set(rows)
    np.testing.assert_allclose(leaf_set.weights.toarray(), average[:, tree.leaves], atol=1e-12)


@pytest.mark.parametrize("load", [load_breast_cancer, load_wine])
@pytest.mark.parametrize("min_fraction", [0.0, 0.01, 0.1])
def test_fractions_sum_to_one_on_every_level(load, min_fraction):
    X, y = load(return_X_y=True)
    clf = CultivatedForestClassifier(min_fraction=min_fraction, ccp_alpha=0).fit(X, y)
    tree = clf.modules_
    for depth in range(clf.depth_ + 1):
        level = (tree.depth == depth) | ((tree.left < 0) & (tree.depth < depth))
        assert tree.mass[level].sum() == pytest.approx(len(X), rel=1e-12)
        np.testing.assert_allclose(tree.mass[level] @ tree.value[level], np.bincount(y), rtol=1e-10)
    weights = clf.predict_set(X).weights
    np.testing.assert_allclose(weights.sum(axis=1), 1.0, atol=1e-12)
    # What the training rows leave in the leaves is what prediction routes there.
    np.testing.assert_allclose(weights.sum(axis=0), tree.mass[tree.leaves], atol=1e-9)


def test_phi_sums_to_one_and_respects_the_neighbourhood():
    X, y = load_breast_cancer(return_X_y=True)
    clf = CultivatedForestClassifier(ccp_alpha=0).fit(X, y)
    tree = clf.modules_
    first = tree.cut_start[:-1]
    assert np.all(tree.cut_suffix[first] == 1.0)
    phi = tree.cut_suffix - np.append(tree.cut_suffix[1:], 0.0)
    last = tree.cut_start[1:] - 1
    phi[last] = tree.cut_suffix[last]
    assert phi.min() > 0
    module = np.repeat(np.arange(tree.n_nodes), np.diff(tree.option_start))
    for option, node in enumerate(module):
        cuts = slice(tree.cut_start[option], tree.cut_start[option + 1])
        assert np.all(np.diff(tree.cut_threshold[cuts]) > 0)
        center = np.searchsorted(tree.cut_threshold[cuts], tree.option_threshold[option])
        # Mass on either side of the centre is k, unless that side of the data ran out.
        at_root = node == 0
        if at_root:
            x = X[:, tree.option_feature[option]]
            k = np.sqrt(len(X))
            own = np.count_nonzero(x == tree.option_threshold[option])
            below = min(k, np.count_nonzero(x < tree.option_threshold[option]))
            above = min(k, np.count_nonzero(x > tree.option_threshold[option]))
            total = own + below + above
            assert phi[cuts][center] == pytest.approx(own / total)
            assert phi[cuts][:center].sum() == pytest.approx(below / total)


def test_histograms_are_exact_on_binned_values():
    rng = np.random.default_rng(3)
    X = np.round(rng.normal(size=(3000, 4)) * 40) / 40
    X[rng.random(X.shape) < 0.05] = np.nan
    y = (np.nan_to_num(X[:, 0] * X[:, 1]) + rng.normal(size=3000) > 0).astype(int)
    exact = CultivatedForestClassifier(splitter="exact", ccp_alpha=0).fit(X, y)
    binned = CultivatedForestClassifier(splitter="histogram", ccp_alpha=0).fit(X, y)
    tree, other = exact.modules_, binned.modules_
    np.testing.assert_array_equal(tree.left, other.left)
    np.testing.assert_array_equal(tree.option_feature, other.option_feature)
    np.testing.assert_array_equal(tree.cut_threshold, other.cut_threshold)
    np.testing.assert_allclose(tree.cut_suffix, other.cut_suffix, atol=1e-9)
    np.testing.assert_allclose(exact.predict_proba(X), binned.predict_proba(X), atol=1e-9)


def test_dust_beside_a_great_mass():
    # One row of tiny weight beyond all others: its mass rounds to nothing in the sums.
    rng = np.random.default_rng(0)
    X = np.append(rng.normal(size=300), 100.0)[:, None]
    y = np.append((X[:300, 0] + rng.normal(size=300) > 0).astype(int), 1)
    weight = np.append(np.full(300, 1e6), 1e-12)
    clf = CultivatedForestClassifier(robust_splits=False, max_depth=2, trivial_threshold=False)
    clf.fit(X, y, sample_weight=weight)
    without = clone(clf).fit(X[:300], y[:300], sample_weight=weight[:300])
    np.testing.assert_allclose(clf.predict_proba(X), without.predict_proba(X), atol=1e-9)
    assert np.all(clf.modules_.option_impurity >= 0)
