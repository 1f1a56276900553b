"""CultivatedForestClassifier: what it promises, seen from outside."""

import pickle
from itertools import pairwise

import numpy as np
import pytest
from alternatives import plain_tree
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import csr_array
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer, load_iris, load_wine, make_classification
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import StratifiedKFold, cross_val_predict
from sklearn.tree import DecisionTreeClassifier

from ensemble_simplify import (
    AbstentionDisplay,
    CultivatedForestClassifier,
    ModuleTreeDisplay,
)
from ensemble_simplify.cultivated import _growth
from ensemble_simplify.cultivated._growth import least_squares, refit_leaves
from ensemble_simplify.grid import limits


def noisy_data(seed=0, n=400, p=4, n_classes=2):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, p)).astype(np.float32).astype(float)
    score = X[:, 0] + X[:, 1] * X[:, 2] + rng.normal(size=n)
    return X, np.digitize(score, np.quantile(score, np.arange(1, n_classes) / n_classes))


# -- equalities ---------------------------------------------------------------------------------


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("max_depth", [1, 2, 4])
def test_without_modules_it_is_scikit_learns_tree(n_classes, max_depth):
    X, y = noisy_data(n_classes=n_classes)
    clf = CultivatedForestClassifier(
        option_modules=False, robust_splits=False, max_depth=max_depth
    ).fit(X, y)
    reference = DecisionTreeClassifier(
        max_depth=max_depth, min_samples_split=6, random_state=0
    ).fit(X, y)
    np.testing.assert_allclose(clf.predict_proba(X), reference.predict_proba(X), atol=1e-12)
    assert clf.n_leaves_ == reference.get_n_leaves()
    np.testing.assert_allclose(clf.feature_importances_, reference.feature_importances_, atol=1e-12)
    assert np.all(clf.predict_spread(X) == 0)

    # Walk both trees side by side: same features; thresholds in the same gap of the data.
    tree, other = clf.modules_, reference.tree_
    pairs = [(0, 0)]
    while pairs:
        node, twin = pairs.pop()
        assert (tree.left[node] < 0) == (other.children_left[twin] < 0)
        if tree.left[node] < 0:
            continue
        (option,) = tree.options(node)
        feature = tree.option_feature[option]
        assert feature == other.feature[twin]
        lo, hi = sorted([tree.option_threshold[option], other.threshold[twin]])
        x = X[:, feature][clf.predict_set(X).weights.toarray()[:, below(tree, node)].any(axis=1)]
        assert not np.any((x > lo) & (x <= hi))
        left, right = other.children_left[twin], other.children_right[twin]
        if tree.option_flip[option]:
            left, right = right, left
        pairs += [(tree.left[node], left), (tree.right[node], right)]


def below(tree, node):
    """Columns of `predict_set` that belong to leaves under a node."""
    return [i for i, leaf in enumerate(tree.leaves) if node in [m for m, _ in tree.path(leaf)]]


def test_swapping_the_labels_changes_nothing():
    X, y = load_breast_cancer(return_X_y=True)
    one = CultivatedForestClassifier().fit(X, y)
    two = CultivatedForestClassifier().fit(X, 1 - y)
    np.testing.assert_allclose(one.predict_proba(X), two.predict_proba(X)[:, ::-1], atol=1e-9)
    np.testing.assert_allclose(one.predict_spread(X), two.predict_spread(X), atol=1e-9)


def test_permuting_three_labels_changes_nothing():
    X, y = load_wine(return_X_y=True)
    one = CultivatedForestClassifier(trivial_threshold=False).fit(X, y)
    permutation = np.array([1, 2, 0])
    two = CultivatedForestClassifier(trivial_threshold=False).fit(X, permutation[y])
    np.testing.assert_allclose(
        one.predict_proba(X), two.predict_proba(X)[:, permutation], atol=1e-9
    )


@pytest.mark.parametrize("splitter", ["exact", "histogram"])
def test_monotone_transforms_change_nothing(splitter):
    X, y = noisy_data(n_classes=3)
    one = CultivatedForestClassifier(splitter=splitter).fit(X, y)
    two = CultivatedForestClassifier(splitter=splitter).fit(np.exp(X), y)
    np.testing.assert_array_equal(one.predict_proba(X), two.predict_proba(np.exp(X)))


def test_reversing_a_feature_changes_nothing_without_trivial_thresholds():
    # Thresholds are observed values, so only the training rows can be compared, and only
    # without neighbours: "x <= t" includes the row at t on one side.
    X, y = noisy_data()
    parameters = {"trivial_threshold": False, "robust_splits": False, "max_depth": 3}
    one = CultivatedForestClassifier(**parameters).fit(X, y)
    two = CultivatedForestClassifier(**parameters).fit(-X, y)
    np.testing.assert_allclose(one.predict_proba(X), two.predict_proba(-X), atol=1e-9)


@settings(deadline=None, max_examples=20)
@given(
    seed=st.integers(0, 10**6),
    n_classes=st.integers(2, 3),
    rounded=st.booleans(),
    splitter=st.sampled_from(["exact", "histogram"]),
    max_bins=st.sampled_from([None, 30]),
)
def test_integer_weights_are_repeated_rows(seed, n_classes, rounded, splitter, max_bins):
    X, y = noisy_data(seed, n=80, n_classes=n_classes)
    X = np.round(X, 1) if rounded else X
    weight = np.random.default_rng(seed).integers(0, 4, size=len(X))
    weight[np.unique(y, return_index=True)[1]] = 1
    clf = CultivatedForestClassifier(splitter=splitter, max_bins=max_bins)
    weighted = clone(clf).fit(X, y, sample_weight=weight)
    repeated = clone(clf).fit(np.repeat(X, weight, axis=0), np.repeat(y, weight))
    np.testing.assert_allclose(weighted.predict_proba(X), repeated.predict_proba(X), atol=1e-9)
    np.testing.assert_allclose(weighted.modules_.mass, repeated.modules_.mass, atol=1e-9)


def test_weights_that_sum_to_one_grow_the_whole_tree():
    X, y = load_breast_cancer(return_X_y=True)
    clf = CultivatedForestClassifier(ccp_alpha=0)
    plain = clone(clf).fit(X, y)
    weighted = clone(clf).fit(X, y, sample_weight=np.full(len(X), 1 / len(X)))
    assert plain.n_leaves_ > 50
    assert weighted.n_leaves_ == plain.n_leaves_
    np.testing.assert_allclose(weighted.predict_proba(X), plain.predict_proba(X), atol=1e-9)


@settings(deadline=None, max_examples=20)
@given(
    seed=st.integers(0, 10**6),
    n_classes=st.integers(2, 3),
    exponent=st.integers(-250, 0),
    splitter=st.sampled_from(["exact", "histogram"]),
)
def test_scaled_down_weights_grow_the_same_tree(seed, n_classes, exponent, splitter):
    X, y = noisy_data(seed, n=80, n_classes=n_classes)
    weight = np.random.default_rng(seed).integers(0, 5, size=len(X)).astype(float)
    weight[np.unique(y, return_index=True)[1]] = 1
    weight /= weight[weight > 0].mean()
    clf = CultivatedForestClassifier(splitter=splitter)
    full = clone(clf).fit(X, y, sample_weight=weight)
    scaled = clone(clf).fit(X, y, sample_weight=weight * 2.0**exponent)
    np.testing.assert_array_equal(scaled.modules_.left, full.modules_.left)
    np.testing.assert_allclose(scaled.modules_.mass, full.modules_.mass, rtol=1e-9)
    np.testing.assert_allclose(scaled.predict_proba(X), full.predict_proba(X), atol=1e-9)


def test_three_classes_of_which_one_is_empty_are_two_classes():
    X, y = load_breast_cancer(return_X_y=True)
    two = CultivatedForestClassifier().fit(X, y)
    three = CultivatedForestClassifier().fit(
        np.vstack([X, X[:1]]), np.append(y, 2), sample_weight=np.append(np.ones(len(X)), 0)
    )
    np.testing.assert_array_equal(two.modules_.left, three.modules_.left)
    np.testing.assert_array_equal(two.modules_.option_feature, three.modules_.option_feature)
    np.testing.assert_allclose(two.predict_proba(X), three.predict_proba(X)[:, :2], atol=1e-9)
    np.testing.assert_allclose(two.predict_spread(X), three.predict_spread(X), atol=1e-9)


# -- parameters ---------------------------------------------------------------------------------


def test_presets_are_the_papers_versions():
    full = CultivatedForestClassifier.preset("full")
    assert (full.robust_splits, full.option_modules, full.max_depth) == (True, True, 14)
    assert full.min_fraction == 0
    split = CultivatedForestClassifier.preset("split", max_depth=3)
    assert (split.robust_splits, split.option_modules, split.max_depth) == (True, False, 3)
    option = CultivatedForestClassifier.preset("option")
    assert (option.robust_splits, option.option_modules) == (False, True)
    X, y = load_breast_cancer(return_X_y=True)
    assert CultivatedForestClassifier.preset("shallow").fit(X, y).n_leaves_ <= 64
    with pytest.raises(ValueError, match=r"name='deep'.*choose from"):
        CultivatedForestClassifier.preset("deep")


def test_k_as_number_and_function():
    X, y = noisy_data()
    root = CultivatedForestClassifier(max_depth=3).fit(X, y)
    function = CultivatedForestClassifier(max_depth=3, k=np.sqrt).fit(X, y)
    np.testing.assert_allclose(root.predict_proba(X), function.predict_proba(X), atol=1e-4)
    number = CultivatedForestClassifier(max_depth=1, k=20.0).fit(X, y)
    same = CultivatedForestClassifier(max_depth=1).fit(X, y)  # sqrt(400)
    np.testing.assert_array_equal(number.predict_proba(X), same.predict_proba(X))
    everything = CultivatedForestClassifier(max_depth=1, option_modules=False, k=1e9).fit(X, y)
    x = X[:, everything.modules_.option_feature[0]]
    share = everything.predict_set(X).weights.toarray()[:, int(everything.modules_.option_flip[0])]
    ecdf = np.mean(x[:, None] >= x, axis=1) - 1 / len(x)
    np.testing.assert_allclose(share[share > 0.01], (1 - ecdf)[share > 0.01], atol=0.011)
    with pytest.raises(ValueError, match=r"k=.*finite number of observations"):
        CultivatedForestClassifier(k=lambda mass: -1.0).fit(X, y)


def test_max_options_keeps_the_best():
    X, y = load_breast_cancer(return_X_y=True)
    some = CultivatedForestClassifier(max_options=3).fit(X, y).modules_
    assert np.diff(some.option_start).max() == 3
    many = CultivatedForestClassifier().fit(X, y).modules_
    np.testing.assert_array_equal(some.option_feature[:3], many.option_feature[:3])
    assert np.all(np.diff(many.option_impurity[many.options(0)]) >= -1e-12)


def test_time_limit_warns_and_leaves_a_whole_tree():
    X, y = noisy_data(n=30_000, p=6)
    clf = CultivatedForestClassifier(time_limit=1e-9)
    with pytest.warns(ConvergenceWarning, match=r"time_limit=1e-09 seconds") as caught:
        clf.fit(X, y)
    assert caught[0].filename == __file__
    assert clf.n_leaves_ < CultivatedForestClassifier().fit(X, y).n_leaves_
    np.testing.assert_allclose(clf.predict_proba(X[:500]).sum(axis=1), 1)


def test_verbose_and_splitter(capsys):
    X, y = noisy_data()
    clf = CultivatedForestClassifier(verbose=1).fit(X, y)
    assert f"{clf.n_leaves_} leaves" in capsys.readouterr().out
    assert clf.splitter_ == "exact"


def test_few_bins_still_predict():
    X, y = noisy_data(n=4000)
    exact = CultivatedForestClassifier().fit(X[:3000], y[:3000])
    coarse = CultivatedForestClassifier(splitter="histogram", max_bins=250)
    coarse.fit(X[:3000], y[:3000])
    assert len(np.unique(coarse.modules_.cut_threshold)) <= 4 * 250
    auc = [roc_auc_score(y[3000:], m.predict_proba(X[3000:])[:, 1]) for m in (exact, coarse)]
    assert auc[0] == pytest.approx(auc[1], abs=0.01)


def test_negative_and_zero_weights():
    X, y = noisy_data()
    with pytest.raises(ValueError, match="sample_weight has the negative entry"):
        CultivatedForestClassifier().fit(X, y, sample_weight=-np.ones(len(X)))
    with pytest.raises(ValueError, match=r"zero for every row|at least one non-zero"):
        CultivatedForestClassifier().fit(X, y, sample_weight=np.zeros(len(X)))


# -- missing values -----------------------------------------------------------------------------


def data_with_holes(seed):
    X, y = noisy_data(seed, n=600)
    X[::3, 0] = np.nan
    X[:, 3] = np.nan
    return X, y


def test_missing_values_go_both_ways():
    X, y = data_with_holes(0)
    clf = CultivatedForestClassifier(max_depth=1, option_modules=False, min_fraction=0).fit(X, y)
    tree = clf.modules_
    assert tree.option_feature[0] == 0
    known = ~np.isnan(X[:, 0])
    weights = clf.predict_set(X).weights.toarray()
    np.testing.assert_allclose(weights[~known], weights[known].mean(axis=0)[None].repeat(200, 0))
    deep = CultivatedForestClassifier().fit(X, y)
    assert 3 not in deep.modules_.option_feature
    plain, new = plain_tree(deep, X, y), [data_with_holes(seed) for seed in (1, 2, 3)]
    assert sum(deep.score(*rows) - plain.score(*rows) for rows in new) > 0


def test_missing_values_at_prediction_only():
    X, y = load_wine(return_X_y=True)
    clf = CultivatedForestClassifier().fit(X, y)
    holes = X.copy()
    holes[:, 0] = np.nan
    proba = clf.predict_proba(holes)
    np.testing.assert_allclose(proba.sum(axis=1), 1)
    assert np.mean(proba.argmax(axis=1) == y) > 0.9
    everything = clf.predict_proba(np.full((1, X.shape[1]), np.nan))
    assert everything.max() < 0.7


# -- spread, leaves, abstention -----------------------------------------------------------------


@pytest.mark.parametrize("load", [load_breast_cancer, load_wine])
def test_spread_and_set(load):
    X, y = load(return_X_y=True)
    clf = CultivatedForestClassifier().fit(X, y)
    proba, spread, leaf_set = clf.predict_proba(X), clf.predict_spread(X), clf.predict_set(X)
    weights, values = leaf_set.weights.toarray(), leaf_set.values
    np.testing.assert_allclose(weights @ values, proba, atol=1e-12)
    assert proba.max() <= 1
    assert proba.min() >= 0
    variance = np.einsum("il,ilc->ic", weights, (values[None] - proba[:, None]) ** 2)
    np.testing.assert_allclose(spread, np.sqrt(variance.sum(axis=1) / 2), atol=1e-9)
    if len(clf.classes_) == 2:
        p, v = proba[:, 1], values[:, 1]
        np.testing.assert_allclose(p * (1 - p), weights @ (v * (1 - v)) + spread**2, atol=1e-9)
        assert spread.max() <= 0.5
    np.testing.assert_array_equal(leaf_set.nodes, clf.modules_.leaves)
    assert len(leaf_set.nodes) == clf.n_leaves_


def test_batches_do_not_matter():
    X, y = noisy_data(n=3000)
    clf = CultivatedForestClassifier().fit(X, y)
    whole = clf.predict_proba(X)
    np.testing.assert_array_equal(whole[:7], clf.predict_proba(X[:7]))
    np.testing.assert_array_equal(whole[::-1], clf.predict_proba(X[::-1]))


@pytest.mark.parametrize(
    ("labels", "given_label", "expected"),
    [
        ([0, 1], None, -1),
        (["no", "yes"], None, "abstain"),
        ([0, 1], "ask", "ask"),
        (["no", "yes"], "a longer word", "a longer word"),
        ([False, True], None, -1),
        ([-1, 1], 0, 0),
        ([0.0, 2.0], None, -1.0),
    ],
)
def test_abstaining(labels, given_label, expected):
    X, index = noisy_data()
    y = np.array(labels)[index]
    clf = CultivatedForestClassifier().fit(X, y)
    answer = clf.predict_with_abstention(X, min_margin=0, max_spread=0.2, abstain_label=given_label)
    unsure = clf.predict_spread(X) > 0.2
    assert 0 < unsure.sum() < len(X)
    assert all(answer[unsure] == expected)
    np.testing.assert_array_equal(answer[~unsure], clf.predict(X)[~unsure])


def test_abstain_label_must_not_be_a_class():
    X, y = noisy_data()
    clf = CultivatedForestClassifier().fit(X, 2 * y - 1)
    with pytest.raises(ValueError, match=r"abstain_label=-1 is one of the classes"):
        clf.predict_with_abstention(X)


def test_keeping_the_agreed_rows_raises_accuracy():
    X, y = noisy_data(n=1500)
    clf = CultivatedForestClassifier().fit(X[:1000], y[:1000])
    right = clf.predict(X[1000:]) == y[1000:]
    spread = clf.predict_spread(X[1000:])
    assert right[spread <= np.quantile(spread, 0.6)].mean() > right.mean() + 0.02


# -- reading ------------------------------------------------------------------------------------


def test_text_of_a_small_tree():
    X, y = load_iris(return_X_y=True, as_frame=True)
    clf = CultivatedForestClassifier(max_depth=2, max_options=2, option_threshold=0.3)
    clf.fit(X, y)
    text = clf.export_text(decimals=1)
    assert "petal length (cm) <= about" in text
    assert "petal length (cm) > about" in text
    assert "vote of 2: " in text
    assert text.count("class: ") == clf.n_leaves_
    assert text.startswith("|--- vote of")
    cut = clf.export_text(max_depth=1)
    assert "... " in cut
    assert " leaves" in cut
    ranged = clf.export_text(ranges=True)
    assert " to " in ranged
    assert clf.export_text(feature_names=list("abcd")) != text
    with pytest.raises(ValueError, match="feature_names has 2 names"):
        clf.export_text(feature_names=["a", "b"])


def test_text_of_a_sharp_tree_and_of_a_leaf():
    X, y = noisy_data()
    sharp = CultivatedForestClassifier(option_modules=False, robust_splits=False, max_depth=2)
    assert "about" not in sharp.fit(X, y).export_text()
    leaf = CultivatedForestClassifier().fit(X, np.zeros(len(X)))
    assert leaf.n_leaves_ == 1
    assert leaf.export_text() == "|--- class: 0.0 (1.00 of mass 400.0)\n"
    assert leaf.explain(X[:1])[0][0].rule == "every row"
    np.testing.assert_array_equal(leaf.feature_importances_, 0)
    assert np.all(leaf.predict_spread(X) == 0)


def test_explanations_name_the_heaviest_leaves():
    X, y = load_wine(return_X_y=True, as_frame=True)
    clf = CultivatedForestClassifier(max_options=2, max_depth=4).fit(X, y)
    weights = clf.predict_set(X).weights.toarray()
    for row, explanation in enumerate(clf.explain(X, n_leaves=2)):
        assert 1 <= len(explanation) <= 2
        assert explanation[0].fraction == weights[row].max()
        for leaf, fraction, proba, rule in explanation:
            column = np.searchsorted(clf.modules_.leaves, leaf)
            assert fraction == weights[row, column]
            np.testing.assert_array_equal(proba, clf.modules_.response[leaf])
            assert rule == clf.leaf_rule(leaf)
            n_modules = len(clf.modules_.path(leaf))
            assert n_modules == clf.modules_.depth[leaf]
    with pytest.raises(ValueError, match="is not a module"):
        clf.describe_module(int(clf.modules_.leaves[0]))
    with pytest.raises(ValueError, match="is not a node"):
        clf.leaf_rule(10**6)


@pytest.mark.parametrize(
    ("value", "text"),
    [(0.0, "0"), (0.012345, "0.0123"), (-1.5, "-1.50"), (106.04, "106"), (12345.6, "12346")],
)
def test_thresholds_have_three_significant_digits(value, text):
    X = np.array([value - 1, value, value + 1, value + 2]).repeat(5)[:, None]
    clf = CultivatedForestClassifier(robust_splits=False, option_modules=False, max_depth=1)
    clf.fit(X, X[:, 0] > value)
    assert clf.describe_module(0) == [f"x0 <= {text}"]
    assert clf.describe_module(0, decimals=1) == [f"x0 <= {value:.1f}"]


def test_rules_of_a_sharp_tree_hold_in_its_leaves():
    X, y = noisy_data()
    clf = CultivatedForestClassifier(option_modules=False, robust_splits=False, max_depth=3)
    clf.fit(X, y)
    columns = {f"x{j}": X[:, j] for j in range(X.shape[1])}
    weights = clf.predict_set(X).weights.toarray()
    for column, leaf in enumerate(clf.modules_.leaves):
        holds = np.ones(len(X), dtype=bool)
        for part in clf.leaf_rule(leaf, decimals=12).split(" and "):
            name, sign, threshold = part.split()
            x = columns[name]
            holds &= x <= float(threshold) + 1e-9 if sign == "<=" else x > float(threshold) + 1e-9
        np.testing.assert_array_equal(holds, weights[:, column] == 1)


def test_importances_find_the_informative_features():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(800, 6))
    y = (X[:, 2] + 0.5 * X[:, 4] + 0.3 * rng.normal(size=800) > 0).astype(int)
    importances = CultivatedForestClassifier().fit(X, y).feature_importances_
    assert importances.sum() == pytest.approx(1)
    assert set(np.argsort(importances)[-2:]) == {2, 4}


# -- pictures -----------------------------------------------------------------------------------


@pytest.fixture
def pyplot():
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("Agg")
    pyplot = pytest.importorskip("matplotlib.pyplot")
    yield pyplot
    pyplot.close("all")


def test_abstention_display(pyplot):
    X, y = noisy_data(n=600)
    clf = CultivatedForestClassifier().fit(X[:400], y[:400])
    display = AbstentionDisplay.from_estimator(clf, X[400:], y[400:])
    spread = clf.predict_spread(X[400:])
    correct = clf.predict(X[400:]) == y[400:]
    for threshold, coverage, accuracy in zip(
        np.unique(spread), display.coverage, display.accuracy, strict=True
    ):
        kept = spread <= threshold
        assert coverage == pytest.approx(kept.mean())
        assert accuracy == pytest.approx(correct[kept].mean())
    certainty = np.abs(clf.predict_proba(X[400:])[:, 1] - 0.5)
    kept = certainty >= np.sort(certainty)[100]
    place = np.argmin(np.abs(display.margin_coverage - kept.mean()))
    assert display.margin_accuracy[place] == pytest.approx(correct[kept].mean())
    assert display.ax_.get_title(loc="left") == "CultivatedForestClassifier"
    for line, coverage in zip(
        display.lines_, (display.coverage, display.margin_coverage), strict=True
    ):
        assert line.get_xdata().tolist() == coverage[coverage >= 0.1].tolist()
    with pytest.raises(ValueError, match="proba has 1 column"):
        AbstentionDisplay.from_predictions(y, y, np.zeros(len(y)), np.ones((len(y), 1)))


def test_module_tree_display(pyplot):
    X, y = load_wine(return_X_y=True, as_frame=True)
    clf = CultivatedForestClassifier(max_options=2).fit(X, y)
    display = ModuleTreeDisplay.from_estimator(clf, max_depth=2)
    tree = clf.modules_
    drawn = sorted(display.labels)
    assert all(tree.depth[node] <= 2 for node in drawn)
    assert len(display.edges) == len(drawn) - 1
    assert sum(tree.mass[node] for node in display.classes) == pytest.approx(len(X))
    assert "<= about" in display.labels[0] or "> about" in display.labels[0]
    texts = {text.get_text() for text in display.ax_.texts}
    assert {"yes ", " no", *display.labels.values()} == texts
    _, ax = pyplot.subplots()
    leaf = CultivatedForestClassifier().fit(X, np.zeros(len(X)))
    assert ModuleTreeDisplay.from_estimator(leaf, ax=ax).ax_ is ax


# -- conventions --------------------------------------------------------------------------------


def test_depth_and_leaves():
    X, y = noisy_data()
    clf = CultivatedForestClassifier(max_depth=3)
    with pytest.raises(NotFittedError):
        clf.get_depth()
    with pytest.raises(NotFittedError):
        clf.get_n_leaves()
    clf.fit(X, y)
    assert (
        clf.get_depth() == clf.depth_ == max(len(clf.modules_.path(i)) for i in clf.modules_.leaves)
    )
    assert clf.get_n_leaves() == clf.predict_set(X).weights.shape[1]


def test_pickle_and_clone():
    X, y = load_wine(return_X_y=True)
    clf = CultivatedForestClassifier(max_options=3).fit(X, y)
    again = pickle.loads(pickle.dumps(clf))
    np.testing.assert_array_equal(clf.predict_proba(X), again.predict_proba(X))
    assert repr(clf.modules_).startswith("ModuleTree(n_modules=")
    assert not hasattr(clone(clf), "modules_")


@pytest.mark.parametrize("splitter", ["exact", "histogram"])
@pytest.mark.parametrize(("n", "p", "n_classes"), [(1, 1, 1), (2, 1, 2), (7, 2, 7), (300, 3, 50)])
@pytest.mark.parametrize("parameters", [{}, {"k": 1e-3}, {"align": 0}, {"align": 1}])
def test_extreme_shapes(splitter, n, p, n_classes, parameters):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, p))
    X[rng.random(X.shape) < 0.1] = np.nan
    clf = CultivatedForestClassifier(splitter=splitter, **parameters)
    clf.fit(X, np.arange(n) % n_classes)
    np.testing.assert_allclose(clf.predict_proba(X).sum(axis=1), 1)
    assert clf.predict_set(X).weights.shape == (n, clf.n_leaves_)
    assert clf.export_text().count("class: ") >= 1


@pytest.mark.parametrize("value", [np.nan, 1.0])
def test_features_that_say_nothing(value):
    X, y = np.full((20, 2), value), np.arange(20) % 2
    clf = CultivatedForestClassifier().fit(X, y)
    assert clf.n_leaves_ == 1
    np.testing.assert_allclose(clf.predict_proba(X), 0.5)


def test_better_than_one_sharp_tree():
    X, y = load_breast_cancer(return_X_y=True)
    auc = [
        roc_auc_score(y, cross_val_predict(m, X, y, cv=5, method="predict_proba")[:, 1])
        for m in (CultivatedForestClassifier(), DecisionTreeClassifier(random_state=0))
    ]
    assert auc[0] > 0.985
    assert auc[0] > auc[1] + 0.03


# ------------------------------------------------------------------ small trees


def greedy_leaves(tree, n_leaves):
    """Leaves of the tree grown best first, by searching all leaves for the best module."""
    loss = tree.mass * (1 - np.square(tree.value).sum(axis=1))
    leaves = {0}
    while len(leaves) < n_leaves:
        modules = [node for node in sorted(leaves) if tree.left[node] >= 0]
        if not modules:
            break
        best = max(modules, key=lambda i: loss[i] - loss[tree.left[i]] - loss[tree.right[i]])
        leaves = leaves - {best} | {int(tree.left[best]), int(tree.right[best])}
    return sorted(leaves)


@pytest.mark.parametrize("n_leaves", [2, 5, 11, 10_000])
@pytest.mark.parametrize("n_classes", [2, 3])
def test_best_first_is_a_part_of_the_whole_tree(n_leaves, n_classes):
    X, y = make_classification(
        300, 6, n_informative=4, n_classes=n_classes, n_clusters_per_class=1, flip_y=0.2,
        random_state=1,
    )  # fmt: skip
    narrow = {"min_fraction": 0, "ccp_alpha": 0, "k": lambda mass: np.sqrt(mass) / 4}
    whole = CultivatedForestClassifier(**narrow).fit(X, y)
    small = CultivatedForestClassifier(min_fraction=0, max_leaf_nodes=n_leaves).fit(X, y)
    leaves = greedy_leaves(whole.modules_, n_leaves)
    assert small.n_leaves_ == len(leaves) == min(n_leaves, whole.n_leaves_)
    np.testing.assert_array_equal(
        small.modules_.value[small.modules_.leaves], whole.modules_.value[leaves]
    )
    # What goes to a leaf of the small tree is what passes that node of the whole one.
    weights = small.predict_set(X).weights.toarray()
    in_whole = whole.predict_set(X).weights.toarray()
    number = {int(node): i for i, node in enumerate(whole.modules_.leaves)}
    sizes = whole.modules_.sizes
    for column, node in enumerate(leaves):
        below = [number[i] for i in range(node, node + sizes[node]) if i in number]
        np.testing.assert_allclose(weights[:, column], in_whole[:, below].sum(axis=1), atol=1e-12)
    assert small.export_text(max_depth=None).count("class:") == len(leaves)


SHARP = {
    "option_modules": False, "robust_splits": False, "max_depth": None, "min_samples_split": 2,
}  # fmt: skip


def test_small_sharp_trees_are_scikit_learns():
    rng = np.random.default_rng(4)
    X = rng.normal(size=(250, 5))
    y = (X[:, 0] + 0.5 * X[:, 1] ** 2 + rng.normal(scale=0.7, size=250) > 0.3).astype(int)
    weight = rng.uniform(1, 2, size=250)  # no two splits are equally good

    def probabilities(model):
        return model.fit(X, y, sample_weight=weight).predict_proba(X)

    for n_leaves in (2, 6, 17):
        ours = CultivatedForestClassifier(**SHARP, max_leaf_nodes=n_leaves)
        theirs = DecisionTreeClassifier(max_leaf_nodes=n_leaves, random_state=0)
        np.testing.assert_allclose(probabilities(ours), probabilities(theirs), atol=1e-12)
    want = DecisionTreeClassifier(random_state=0).cost_complexity_pruning_path(X, y, weight)
    path = CultivatedForestClassifier(**SHARP).cost_complexity_pruning_path(X, y, weight)
    positive = path.ccp_alphas > 1e-9, want.ccp_alphas > 1e-9  # scikit-learn's 0 are many
    for name in ("ccp_alphas", "impurities"):
        ours, theirs = path[name][positive[0]], want[name][positive[1]]
        np.testing.assert_allclose(ours, theirs, atol=1e-12)
    assert len(ours) > 15
    assert path.n_leaves[-1] == 1
    between = (path.ccp_alphas[:-1] + path.ccp_alphas[1:]) / 2
    for alpha, n_leaves in zip(between, path.n_leaves, strict=False):
        ours = CultivatedForestClassifier(**SHARP, ccp_alpha=alpha)
        theirs = DecisionTreeClassifier(ccp_alpha=alpha, random_state=0)
        np.testing.assert_allclose(probabilities(ours), probabilities(theirs), atol=1e-12)
        assert ours.n_leaves_ == theirs.get_n_leaves() == n_leaves
        assert ours.ccp_alpha_ == alpha


def hills(n_rows, n_classes=2):
    """Rows of many regions, so that trees are large."""
    rng = np.random.default_rng(6)
    X = rng.normal(size=(n_rows, 4))
    score = np.sin(2 * X[:, 0]) + np.sin(3 * X[:, 1]) + X[:, 2] * X[:, 3]
    score += rng.normal(scale=0.7, size=n_rows)
    return X, np.digitize(score, np.linspace(-1, 1, n_classes + 1)[1:-1])


def assert_same_trees(tree, other):
    for name in vars(tree):
        np.testing.assert_array_equal(getattr(tree, name), getattr(other, name))


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("splitter", ["exact", "histogram"])
def test_branches_that_are_not_grown_would_have_been_pruned(splitter, n_classes):
    X, y = hills(3000, n_classes)
    clf = CultivatedForestClassifier(splitter=splitter, leaf_values="shares")
    whole = clone(clf).set_params(ccp_alpha=0).fit(X, y).modules_
    for alpha in (1e-5, 1e-4, 1e-3):
        pruned = clone(clf).set_params(ccp_alpha=alpha).fit(X, y).modules_
        assert 1 < pruned.n_leaves < whole.n_leaves
        assert_same_trees(pruned, whole.pruned(alpha))


@pytest.mark.parametrize("n_leaves", [4, 15, 300])
@pytest.mark.parametrize("n_classes", [2, 3])
def test_trees_of_many_rows_grow_best_first(n_classes, n_leaves, monkeypatch):
    X, y = hills(3000, n_classes)
    clf = CultivatedForestClassifier(max_leaf_nodes=n_leaves, ccp_alpha=1e-4)
    at_once = clone(clf).fit(X, y).modules_
    monkeypatch.setattr(_growth, "MIN_WORK", 0)
    assert_same_trees(clone(clf).fit(X, y).modules_, at_once)


def test_a_leaf_costs_more_rows_the_more_there_are():
    n_leaves, price = [], []
    for n_rows in (400, 6400):
        X, y = hills(n_rows)
        clf = CultivatedForestClassifier().fit(X, y)
        whole = CultivatedForestClassifier(ccp_alpha=0).fit(X, y)
        share = np.bincount(y) / n_rows
        unequal = (2 * (1 - np.square(share).sum())) ** 2
        assert clf.ccp_alpha_ == pytest.approx(0.005 / n_rows**0.5 * unequal)
        price.append(clf.ccp_alpha_ * n_rows / unequal)
        n_leaves.append(clf.n_leaves_ / whole.n_leaves_)
        assert clf.n_leaves_ == whole.modules_.pruned(clf.ccp_alpha_).n_leaves
        assert whole.ccp_alpha_ == 0
    assert price[1] == pytest.approx(4 * price[0])
    assert n_leaves[1] < 0.5 < n_leaves[0] < 1
    small = CultivatedForestClassifier(max_leaf_nodes=15).fit(X, y)
    assert (small.ccp_alpha_, small.n_leaves_) == (0, 15)


def test_a_leaf_costs_less_where_a_class_is_rare():
    X, y = make_classification(
        1500, 20, n_informative=6, weights=[0.97], flip_y=0.03, class_sep=0.7, random_state=1
    )
    clf = CultivatedForestClassifier().fit(X, y)
    at_price_of_equal = CultivatedForestClassifier(ccp_alpha=0.005 / 1500**0.5).fit(X, y)
    assert clf.n_leaves_ > 20 > 5 > at_price_of_equal.n_leaves_
    weight = np.where(y == 1, (y == 0).sum() / (y == 1).sum(), 1.0)
    equal = CultivatedForestClassifier().fit(X, y, sample_weight=weight)
    assert equal.ccp_alpha_ == pytest.approx(0.005 / weight.sum() ** 0.5)
    alone = CultivatedForestClassifier().fit(X, np.zeros(1500))
    assert (alone.ccp_alpha_, alone.n_leaves_) == (0, 1)
    assert CultivatedForestClassifier.preset("full").ccp_alpha == 0


def test_a_part_of_many_rows_refits_the_leaves(monkeypatch):
    X, y = hills(6000)
    clf = CultivatedForestClassifier(max_leaf_nodes=8)
    by_all = clone(clf).fit(X, y).modules_
    monkeypatch.setattr(_growth, "MOST_ROWS", 4000)
    by_some, again = clone(clf).fit(X, y).modules_, clone(clf).fit(X, y).modules_
    np.testing.assert_array_equal(by_some.response, again.response)
    change = np.abs(by_some.response - by_all.response)
    assert 0 < change.max() < 0.1
    shares = np.abs(by_some.value - by_all.response)
    assert change[by_all.leaves].mean() < 0.2 * shares[by_all.leaves].mean()


@pytest.mark.parametrize("max_leaf_nodes", [None, 12])
def test_cross_validated_alpha_is_the_best_of_the_folds(max_leaf_nodes):
    X, y = make_classification(240, 6, n_informative=3, flip_y=0.3, random_state=5)
    weight = np.random.default_rng(0).integers(1, 4, 240).astype(float)
    options = {"max_options": 2, "max_leaf_nodes": max_leaf_nodes, "max_depth": 5}
    # leaves are refitted after the choice
    clf = CultivatedForestClassifier(**options, ccp_alpha="cv", random_state=3)
    clf.fit(X, y, sample_weight=weight)
    plain = CultivatedForestClassifier(**options)
    whole = np.unique(plain.cost_complexity_pruning_path(X, y, weight).ccp_alphas)
    tried = np.append(np.sqrt(whole[:-1] * whole[1:]), whole[-1])
    right = np.zeros(len(tried))
    folds = StratifiedKFold(5, shuffle=True, random_state=np.random.RandomState(3))
    for train, test in folds.split(X, y):
        for i, alpha in enumerate(tried):
            part = clone(plain).set_params(ccp_alpha=alpha, leaf_values="shares")
            part.fit(X[train], y[train], sample_weight=weight[train])
            right[i] += weight[test] @ (part.predict(X[test]) == y[test])
    assert len(tried) < 50
    assert clf.ccp_alpha_ == tried[right == right.max()][-1]
    chosen = clone(plain).set_params(ccp_alpha=clf.ccp_alpha_).fit(X, y, sample_weight=weight)
    assert clf.n_leaves_ == chosen.n_leaves_
    if max_leaf_nodes is None:
        assert 1 < clf.n_leaves_ < plain.fit(X, y, sample_weight=weight).n_leaves_


@pytest.mark.parametrize("n_classes", [2, 4])
@pytest.mark.parametrize("weighted", [False, True])
def test_refitted_leaves_are_optimal(n_classes, weighted):
    """The gradient is the same for all classes that a leaf gives a chance, and larger elsewhere."""
    X, y = noisy_data(5, n=500, n_classes=n_classes)
    weight = np.random.default_rng(1).integers(1, 5, size=len(X)) if weighted else None
    clf = CultivatedForestClassifier(max_leaf_nodes=9).fit(X, y, sample_weight=weight)
    weights, values, leaves = clf.predict_set(X)
    fractions, shares = weights.toarray(), clf.modules_.value[leaves]
    mass = np.ones(len(X)) if weight is None else weight
    labels = np.eye(n_classes)[y]
    gradient = fractions.T @ (mass[:, None] * (fractions @ values - labels)) + (values - shares)
    np.testing.assert_allclose(values.sum(axis=1), 1)
    assert values.min() >= 0
    least = gradient.min(axis=1, keepdims=True)
    assert np.all((gradient - least)[values > 1e-9] < 1e-5)
    assert np.abs(values - shares).max() > 0.01

    plain = clone(clf).set_params(leaf_values="shares").fit(X, y, sample_weight=weight)
    np.testing.assert_array_equal(plain.modules_.left, clf.modules_.left)
    np.testing.assert_array_equal(plain.predict_set(X).values, shares)

    def loss(model):
        return mass @ np.square(model.predict_proba(X) - labels).sum(axis=1)

    assert loss(clf) < loss(plain)


@settings(deadline=None, max_examples=50)
@given(seed=st.integers(0, 10**6), n_leaves=st.integers(1, 6), n_classes=st.integers(2, 4))
def test_refit_beats_every_other_answer(seed, n_leaves, n_classes):
    rng = np.random.default_rng(seed)
    fractions = rng.dirichlet(np.full(n_leaves, 0.3), size=rng.integers(1, 30))
    labels = np.eye(n_classes)[rng.integers(n_classes, size=len(fractions))]
    shares = rng.dirichlet(np.ones(n_classes), size=n_leaves)
    gram, target = csr_array(fractions.T @ fractions), fractions.T @ labels
    values, timed_out = least_squares(gram, target, shares)
    assert not timed_out

    def loss(V):
        return np.square(fractions @ V - labels).sum() + np.square(V - shares).sum()

    for other in [shares, *rng.dirichlet(np.ones(n_classes), size=(200, n_leaves))]:
        for step in (1.0, 1e-2, 1e-3):
            assert loss(values) <= loss(values + step * (other - values)) + 1e-9


def test_refits_do_not_depend_on_parts_and_stop_in_time(monkeypatch):
    X, y = noisy_data(n=1000)
    one = CultivatedForestClassifier(max_leaf_nodes=7).fit(X, y)
    monkeypatch.setattr(_growth, "ROWS_PER_PART", 64)
    two = CultivatedForestClassifier(max_leaf_nodes=7).fit(X, y)
    np.testing.assert_allclose(one.modules_.response, two.modules_.response, atol=1e-7)
    tree, rows = one.modules_, (X, y.astype(np.intp), np.ones(1000))
    with limits(0.0):
        assert refit_leaves(tree, tree.router(0.01), *rows) == (None, True)


def test_threads_have_gone():
    X, y = noisy_data(n=200)
    with pytest.warns(FutureWarning, match="n_jobs of CultivatedForestClassifier.. has no effect"):
        old = CultivatedForestClassifier(max_leaf_nodes=3, n_jobs=2)
    assert "n_jobs" not in old.get_params()
    with pytest.warns(FutureWarning, match="Leave it out"):
        assert old.set_params(n_jobs=None, max_leaf_nodes=4).max_leaf_nodes == 4
    assert old.fit(X, y).n_leaves_ == 4


def test_cross_validation_of_rare_classes_and_without_time():
    X, y = make_classification(60, 4, random_state=0)
    y[:2] = 2
    clf = CultivatedForestClassifier(ccp_alpha="cv", random_state=0).fit(X, y)
    assert clf.predict_proba(X).shape == (60, 3)
    assert CultivatedForestClassifier(ccp_alpha="cv").fit(X[:3], [0, 1, 2]).ccp_alpha_ == 0
    X, y = make_classification(3000, 20, random_state=0)
    with pytest.warns(ConvergenceWarning, match="grown, pruned and its leaves refitted"):
        clf = CultivatedForestClassifier(ccp_alpha="cv", time_limit=1e-9).fit(X, y)
    assert clf.ccp_alpha_ == 0


# ------------------------------------------------------------------ margins and sets


def test_margin_and_abstention_by_it():
    X, y = noisy_data()
    clf = CultivatedForestClassifier().fit(X, y)
    proba = clf.predict_proba(X)
    np.testing.assert_allclose(clf.predict_margin(X), np.abs(proba[:, 1] - proba[:, 0]), atol=1e-15)
    labels = clf.predict_with_abstention(X)
    np.testing.assert_array_equal(labels == -1, np.abs(proba[:, 1] - proba[:, 0]) < 0.5)
    both = clf.predict_with_abstention(X, min_margin=0.3, max_spread=0.2)
    unsure = (clf.predict_margin(X) < 0.3) | (clf.predict_spread(X) > 0.2)
    np.testing.assert_array_equal(both == -1, unsure)
    assert 0 < unsure.sum() < len(X)
    assert (clf.predict_with_abstention(X, min_margin=0) == clf.predict(X)).all()
    one_class = CultivatedForestClassifier().fit(X, np.zeros(len(X)))
    assert (one_class.predict_margin(X) == 1).all()


@pytest.mark.parametrize("confidence", [0.5, 0.8, 0.9, 0.97])
def test_sets_hold_the_class_as_often_as_they_say(confidence):
    """Whichever of n + 1 rows is the new one: at least this share of them is covered."""
    rng = np.random.default_rng(1)
    X = rng.normal(size=(460, 4))
    y = (X[:, 0] + rng.normal(size=460) > 0).astype(int) + (X[:, 1] > 1)
    clf = CultivatedForestClassifier(max_leaf_nodes=12).fit(X[:400], y[:400])
    X, y = X[400:], y[400:]
    held = []
    for i in range(60):
        others = np.arange(60) != i
        member = clf.calibrate(X[others], y[others]).predict_label_set(
            X[i : i + 1], confidence=confidence
        )
        assert member.shape == (1, 3)
        held.append(member[0, y[i]])
    place = int(np.ceil(60 * confidence))
    assert np.mean(held) >= confidence
    # equal scores are covered together; without them the share is exact
    scores = np.sort(1 - clf.predict_proba(X)[np.arange(60), y])
    assert np.sum(held) == np.sum(scores <= scores[place - 1])
    assert clf.calibration_scores_ is None


def test_sets_grow_with_the_confidence_and_errors_are_clear():
    X, y = noisy_data()
    clf = CultivatedForestClassifier().fit(X[::2], y[::2])
    with pytest.raises(ValueError, match="not calibrated"):
        clf.predict_label_set(X)
    ready = clf.calibrate(X[1::2], y[1::2])
    sets = [ready.predict_label_set(X, confidence=c) for c in (0.2, 0.7, 0.9, 0.99)]
    for small, large in pairwise(sets):
        assert (small <= large).all()
    assert sets[0].sum() < sets[-1].sum()
    few = clf.calibrate(X[1:5], y[1:5])  # four rows cannot promise 0.9
    assert few.predict_label_set(X, confidence=0.9).all()
    for bad in (0, 1, "0.9"):
        with pytest.raises(ValueError, match=r"confidence="):
            ready.predict_label_set(X, confidence=bad)
    with pytest.raises(ValueError, match="has the label 7"):
        clf.calibrate(X[:3], [0, 1, 7])
    with pytest.raises(ValueError, match="shape"):
        clf.calibrate(X[:3], [0, 1])
    assert ready.fit(X, y).calibration_scores_ is None


def test_names_and_labels_that_do_not_print():
    pd = pytest.importorskip("pandas")
    X, y = load_iris(return_X_y=True)
    names = ["\x1b[31m$a$", "\u202eb\n", "half \ud800", "$\\frac$"]
    labels = np.array(["x\u2028", "$y$", "z\ud800q"])
    model = CultivatedForestClassifier().fit(pd.DataFrame(X, columns=names), labels[y])
    assert all(line.isprintable() for line in model.export_text().split("\n"))
    ModuleTreeDisplay.from_estimator(model).figure_.canvas.draw()
