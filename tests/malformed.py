"""Ensembles and node arrays with something broken, and what has to become of them.

`CHECKS` are functions of a seed; each answers which functions of the package refused what they
were given, and fails for a wrong answer or an error that is none of the package's own.
"""

import copy
import importlib.util
import json
import re
import traceback
import warnings
from pathlib import Path

import numpy as np
from oracles import trees_of
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.frozen import FrozenEstimator
from sklearn.tree._tree import ccp_pruning_path
from strategies import CLASSIFIERS, REGRESSORS, edge_points, small_data

import ensemble_simplify
from ensemble_simplify import (
    BornAgainClassifier,
    FeatureBudgetPruner,
    estimate,
    merge_trees,
    verify,
)
from ensemble_simplify.grid.tree_nodes import TreeNodes, preorder
from ensemble_simplify.reading.forest import read_forest
from ensemble_simplify.writing.sklearn_tree import (
    apply_nodes,
    pruned_copy,
    read_nodes,
    write_classifier,
    write_regressor,
)

PACKAGE = str(Path(ensemble_simplify.__file__).parent)
REFUSALS = (ValueError, TypeError, NotFittedError)

FLOAT32_MAX = float(np.finfo(np.float32).max)
NUMBERS = [
    np.nan,
    np.inf,
    -np.inf,
    0.0,
    -0.0,
    5e-324,
    -5e-324,
    1e-45,
    -1e-45,
    FLOAT32_MAX,
    -FLOAT32_MAX,
    FLOAT32_MAX * (1 + 2.0**-26),
    -FLOAT32_MAX * (1 + 2.0**-26),
    1.7e308,
    -1.7e308,
    0.1,
    float(np.float32(0.1)),
    1 + 2.0**-40,
]
INDICES = [-(2**62), -(2**31), -7, -3, -2, -1, 0, 1, 2, 3, 2**31 - 1, 2**31, 2**32, 2**62]


def was_refused(act):
    """Run `act`: (its result, None), or (None, the error) for an error that this package raised.

    Any other error goes on.
    """
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            warnings.simplefilter("ignore", UserWarning)
            return act(), None
    except REFUSALS as error:
        last = traceback.extract_tb(error.__traceback__)[-1].filename
        ours = last.startswith(PACKAGE) or "/sklearn/utils/" in last
        if not ours or len(str(error)) < 20:
            raise
        return None, error


# Ensembles


def break_node(tree, rng):
    """Change some entries of a compiled tree, in place; say which."""
    n = tree.node_count
    done = []
    for _ in range(rng.integers(1, 4)):
        i = int(rng.integers(n))
        field = str(rng.choice(["left", "right", "feature", "threshold", "value", "weight"]))
        near = [i, int(rng.integers(n)), n - 1, n, n + 1]
        if field in ("left", "right"):
            array = tree.children_left if field == "left" else tree.children_right
            array[i] = rng.choice(near + INDICES)
            new = array[i]
        elif field == "feature":
            k = tree.n_features
            tree.feature[i] = rng.choice([*range(-3, k + 3), *INDICES])
            new = tree.feature[i]
        elif field == "threshold":
            tree.threshold[i] = rng.choice(NUMBERS)
            new = tree.threshold[i]
        elif field == "value":
            tree.value[i, 0, rng.integers(tree.value.shape[2])] = rng.choice(NUMBERS)
            new = tree.value[i, 0]
        else:
            tree.weighted_n_node_samples[i] = rng.choice(NUMBERS)
            tree.n_node_samples[i] = rng.choice([0, -1, 2**40])
            new = tree.weighted_n_node_samples[i]
        done.append(f"{field}[{i}]={new}")
    return done


def cut_to_root(tree):
    """Make the root of a compiled tree a leaf, in place."""
    tree.children_left[0] = tree.children_right[0] = -1
    return ["cut to its root"]


def break_attribute(estimator, rng):
    """Change a fitted attribute of an ensemble; say which."""
    changes = {
        "n_features_in_": lambda v: v + int(rng.choice([-v, -1, 1])),
        "n_outputs_": lambda v: 2,
        "estimators_": lambda v: v[: rng.integers(len(v))],
        "classes_": lambda v: v[::-1] if rng.random() < 0.5 else np.append(v, v[-1:]),
        "estimators_features_": lambda v: [
            [f + 1, -f - 1, f[:-1], f * 0, f + 0.5][rng.integers(5)] for f in map(np.asarray, v)
        ],
        "estimator_weights_": lambda v: v * rng.choice([np.nan, np.inf, 0.0, -1.0, 1e-320]),
        "learning_rate": lambda v: rng.choice([np.nan, np.inf, 0.0, -1.0, 1e300]),
        "weights": lambda v: v if v is None else [np.nan, *v[1:]],
    }
    if hasattr(estimator, "voting"):
        del changes["n_features_in_"]  # a property
    present = [name for name in changes if hasattr(estimator, name)]
    name = str(rng.choice(present))
    new = changes[name](getattr(estimator, name))
    setattr(estimator, name, new)
    return [f"{name}={new!r}"]


def broken_ensemble(seed):
    """A fitted ensemble with up to three things changed: (ensemble, X, y, changes)."""
    rng = np.random.default_rng(seed)
    regression = rng.random() < 0.2
    zoo = REGRESSORS if regression else CLASSIFIERS
    kind = str(rng.choice(sorted(zoo)))
    data_seed = int(rng.integers(50))
    X, y = small_data(data_seed, n_features=int(rng.integers(2, 4)), levels=4)
    if regression:
        y = X[:, 0] + np.arange(len(X)) % 3
    estimator = zoo[kind](data_seed).fit(X, y)
    changes = [kind]
    trees = [tree.tree_ for tree in trees_of(estimator)]
    if rng.random() < 0.25:
        changes += break_attribute(estimator, rng)
    else:
        tree = trees[rng.integers(len(trees))]
        changes += cut_to_root(tree) if rng.random() < 0.1 else break_node(tree, rng)
    return estimator, X, y, changes


def check_ensemble(seed):
    """A broken ensemble is refused, or answered for exactly; return whether it was refused."""
    estimator, X, y, changes = broken_ensemble(seed)
    forest, _ = was_refused(lambda: read_forest(estimator))
    stored = [tree.tree_.threshold for tree in trees_of(estimator)]
    rows = edge_points(np.concatenate([*stored, [0.0]]), X.shape[1], n_rows=150, seed=seed)
    if forest is not None:
        # The reader calls it a forest, so that scikit-learn must be able to walk through it.
        rows = rows[:, np.arange(forest.n_features) % rows.shape[1]]
        with np.errstate(all="ignore"):
            truth = estimator.predict(rows)
            found = forest.predict_index(rows)
        if forest.classes is not None:
            found = forest.classes[found]
            np.testing.assert_array_equal(found, truth, str(changes))
        else:
            np.testing.assert_allclose(found, truth, rtol=1e-12, err_msg=str(changes))
    refused = {"read_forest"} if forest is None else set()
    if seed % 4 == 0:
        refused |= check_public(estimator, X, y, rows, forest, changes)
    return refused


def check_public(estimator, X, y, rows, forest, changes):
    """What the public functions make of an ensemble that may be broken."""
    frozen = FrozenEstimator(estimator)
    refused = set()

    def attempt(name, act):
        result, error = was_refused(act)
        if error is not None:
            refused.add(name)
        elif forest is None:
            raise AssertionError(f"{name} took what the reader refuses: {changes}")
        return result

    tree = attempt(
        "born_again",
        lambda: BornAgainClassifier(frozen, random_state=0, time_limit=600).fit(X, y),
    )
    if tree is not None:
        np.testing.assert_array_equal(tree.predict(rows), estimator.predict(rows), str(changes))
        assert tree.verify().equal
    attempt("estimate", lambda: estimate(frozen))
    attempt("verify", lambda: verify(estimator, estimator))
    merged = attempt("merge_trees", lambda: merge_trees([estimator, estimator]))
    if merged is not None:
        np.testing.assert_allclose(
            merged.predict_proba(rows)[:, np.searchsorted(merged.classes_, forest.classes)],
            estimator.predict_proba(rows),
            atol=1e-9,
        )
    pruner = attempt("pruner", lambda: FeatureBudgetPruner(frozen).fit(X, y))
    if pruner is not None:
        assert np.isfinite(pruner.error_), str(changes)
    return refused


# Boosting


def boosting_rows(seed, n_rows=60):
    """Rows of codes, numbers and few numbers, some missing, and classes."""
    rng = np.random.default_rng(seed)
    X = np.column_stack(
        [rng.choice([0, 1, 3, 4, 6], n_rows), rng.normal(size=n_rows), rng.integers(0, 3, n_rows)]
    ).astype(float)
    y = (X[:, 1] + (X[:, 0] == 3) - X[:, 2] + rng.normal(size=n_rows) > -0.5).astype(int)
    y += (X[:, 1] > 1) * (seed % 2)
    X[rng.random(X.shape) < 0.1] = np.nan
    return X, y


def broken_hist(seed, rng):
    """HistGradientBoosting with entries of its nodes changed: (model, its predict, changes)."""
    X, y = boosting_rows(seed % 40)
    options = {"max_iter": 2, "max_leaf_nodes": 5, "min_samples_leaf": 3}
    model = HistGradientBoostingClassifier(**options, categorical_features=[0]).fit(X, y)
    predictor = model._predictors[rng.integers(2)][0]
    nodes, changes = predictor.nodes.copy(), []
    predictor.nodes = nodes
    for _ in range(rng.integers(1, 4)):
        i, what = int(rng.integers(len(nodes))), str(rng.choice([*HIST_FIELDS, "bits", "other"]))
        if what == "bits" and len(predictor.raw_left_cat_bitsets):
            predictor.raw_left_cat_bitsets = rng.integers(
                0, 1 << 32, predictor.raw_left_cat_bitsets.shape, dtype=np.uint32
            )
        elif what == "other":
            changes += break_boosted(model, rng)
        elif what in ("num_threshold", "value"):
            nodes[what][i] = rng.choice(NUMBERS)
        elif what in ("is_leaf", "is_categorical", "missing_go_to_left"):
            nodes[what][i] ^= 1
        elif what != "bits":
            nodes[what][i] = rng.choice([0, 1, 2, len(nodes) - 1, len(nodes), 2**31])
        changes.append(f"{what}[{i}]")
    return model, lambda rows: model.predict(rows), changes


HIST_FIELDS = (
    "value",
    "feature_idx",
    "num_threshold",
    "missing_go_to_left",
    "left",
    "right",
    "is_leaf",
    "is_categorical",
    "bitset_idx",
)


def break_boosted(model, rng):
    """Change an attribute of a boosted ensemble; say which."""
    name = str(rng.choice(["classes_", "n_features_in_", "_baseline_prediction"]))
    if name == "classes_":
        model.classes_ = rng.choice(
            np.array([model.classes_[::-1], np.arange(7), model.classes_[:1]], dtype=object)
        )
    elif name == "n_features_in_":
        model.n_features_in_ += int(rng.choice([-2, -1]))
    else:
        model._baseline_prediction = model._baseline_prediction * rng.choice([np.nan, np.inf, 2.0])
    return [name]


class Saved:
    """A booster that says that it was saved as some changed text."""

    def __init__(self, booster, text, load):
        self._booster, self.text, self._load, self._loaded = booster, text, load, None

    def __getattr__(self, name):
        return getattr(self._booster, name)

    def model_to_string(self):
        return self.text

    def save_raw(self, raw_format):
        return self.text.encode()

    def inplace_predict(self, *args, **options):
        return self.loaded.inplace_predict(*args, **options)

    @property
    def loaded(self):
        """The changed model itself: only asked for once the reader has taken it for one."""
        if self._loaded is None:
            self._loaded = self._load(self.text)
        return self._loaded


def broken_lightgbm(seed, rng):
    """LightGBM with numbers of its saved trees changed: see `broken_hist`."""
    lightgbm = importlib.import_module("lightgbm")
    X, y = boosting_rows(seed % 40)
    options = {"n_estimators": 2, "num_leaves": 5, "min_child_samples": 3, "verbose": -1}
    options |= {"min_data_per_group": 1, "cat_smooth": 1.0, "n_jobs": 1}
    model = lightgbm.LGBMClassifier(**options).fit(X, y, categorical_feature=[0])
    text, changes = re.sub("tree_sizes=.*\n", "", model.booster_.model_to_string()), []
    head, middle, tail = text.partition("end of trees")
    lines = head.split("\n")
    fields = "|".join(LIGHTGBM_FIELDS)
    for _ in range(rng.integers(1, 4)):
        places = [i for i, line in enumerate(lines) if re.match(f"({fields})=.", line)]
        i = int(rng.choice(places))
        name, values = lines[i].split("=")
        values = values.split(" ")
        real = name in ("threshold", "leaf_value")
        numbers = [0.1, -0.1, 1e-40, -1e-36, 1e300, "nan", "inf"] if real else INDICES
        values[rng.integers(len(values))] = str(rng.choice(np.array(numbers, dtype=object)))
        if rng.random() < 0.1:
            values = values[:-1]
        lines[i] = f"{name}={' '.join(values)}"
        changes.append(lines[i])
    model._Booster = Saved(
        model.booster_,
        "\n".join(lines) + middle + tail,
        lambda text: lightgbm.Booster(model_str=text),
    )

    def ask(rows):
        model._Booster = model._Booster.loaded
        return model.predict(rows)

    return model, ask, changes


LIGHTGBM_FIELDS = (
    "num_leaves",
    "num_cat",
    "split_feature",
    "threshold",
    "decision_type",
    "left_child",
    "right_child",
    "leaf_value",
    "cat_boundaries",
    "cat_threshold",
)


def broken_xgboost(seed, rng):
    """XGBoost with numbers of its saved trees changed: see `broken_hist`."""
    xgboost = importlib.import_module("xgboost")
    X, y = boosting_rows(seed % 40)
    options = {"n_estimators": 2, "max_depth": 3, "n_jobs": 1, "max_cat_to_onehot": 2}
    model = xgboost.XGBClassifier(
        **options, enable_categorical=True, feature_types=["c", "q", "q"]
    ).fit(X, y)
    booster = model.get_booster()
    saved, changes = json.loads(bytes(booster.save_raw("json"))), []
    trees = saved["learner"]["gradient_booster"]["model"]["trees"]
    for _ in range(rng.integers(1, 4)):
        tree = trees[rng.integers(len(trees))]
        name = str(rng.choice([name for name in XGBOOST_FIELDS if tree[name]]))
        if name == "split_conditions":
            numbers = [0.1, -0.1, 1e-45, 3e38, -3e38, 0.0]
        elif name in ("default_left", "split_type"):
            numbers = [0, 1]
        else:
            numbers = [n for n in INDICES if -(2**31) <= n < 2**31]
        i = int(rng.integers(len(tree[name])))
        tree[name][i] = rng.choice(np.array(numbers, dtype=object))
        changes.append(f"{name}[{i}]={tree[name][i]}")

    def load(text):
        booster = xgboost.Booster()
        booster.load_model(bytearray(text.encode()))
        return booster

    model.get_booster = lambda: saved_booster
    saved_booster = Saved(booster, json.dumps(saved), load)

    def ask(rows):
        margin = saved_booster.loaded.inplace_predict(rows, predict_type="value")
        return margin.argmax(axis=1) if margin.ndim == 2 else (margin > 0.5).astype(int)

    return model, ask, changes


XGBOOST_FIELDS = (
    "left_children",
    "right_children",
    "split_indices",
    "split_conditions",
    "default_left",
    "split_type",
    "categories",
    "categories_nodes",
    "categories_segments",
    "categories_sizes",
)
BOOSTED = {"hist": broken_hist, "lightgbm": broken_lightgbm, "xgboost": broken_xgboost}


def check_boosting(seed):
    """A broken boosted ensemble is refused, or answered for exactly; return whether refused."""
    rng = np.random.default_rng(seed)
    kind = str(rng.choice(sorted(BOOSTED)))
    if kind != "hist" and importlib.util.find_spec(kind) is None:
        return {"(not installed)"}
    model, ask, changes = BOOSTED[kind](seed, rng)
    try:
        forest, _ = was_refused(lambda: read_forest(model))
    except Exception as error:  # XGBoost is asked for its base score
        if type(error).__name__ != "XGBoostError":
            raise
        return {f"(refused by {kind} itself)"}
    if forest is None:
        return {f"read_forest of {kind}"}
    cuts = forest.threshold[np.abs(forest.threshold) < FLOAT32_MAX]
    rows = edge_points(np.append(cuts, 0.0), 3, n_rows=300, seed=seed)[:, : forest.n_features]
    rows = rows.astype(np.float32).astype(np.float64)
    coded = np.arange(forest.n_features) == 0
    if forest.categorical is not None:
        coded |= forest.categorical
    rows = np.where(coded, rng.integers(0, 9, rows.shape), rows)
    rows[rng.random(rows.shape) < 0.2] = np.nan
    found = forest.classes[forest.predict_index(rows)]
    with np.errstate(all="ignore"):
        try:
            truth = ask(rows)
        except Exception as error:
            if type(error).__name__ not in ("XGBoostError", "LightGBMError"):
                raise
            return {f"(refused by {kind} itself)"}
        np.testing.assert_array_equal(found, truth, str((kind, changes)))
    return set()


# Node arrays


def random_arrays(rng, n_features):
    """Node arrays of a random tree, in random order."""
    left, right, feature, threshold = [-1], [-1], [-1], [0.0]
    leaves = [0]
    for _ in range(rng.integers(8)):
        node = leaves.pop(rng.integers(len(leaves)))
        left[node], right[node] = len(left), len(left) + 1
        feature[node] = int(rng.integers(n_features))
        threshold[node] = float(rng.choice([rng.normal(), 0.0, 1e30, -1e-40, FLOAT32_MAX]))
        for array, empty in ((left, -1), (right, -1), (feature, -1), (threshold, 0.0)):
            array += [empty, empty]
        leaves += [left[node], right[node]]
    arrays = [np.array(a) for a in (left, right, feature)]
    return [*arrays, np.array(threshold, dtype=np.float64)]


def walk(left, right, feature, threshold, row):
    """The leaf of a row, and None for a walk that breaks off or does not end."""
    node = 0
    for _ in range(len(left) + 1):
        if left[node] < 0:
            return node
        goes_left = np.float32(row[feature[node]]) <= threshold[node]
        node = left[node] if goes_left else right[node]
    return None


def check_writer(seed):
    """Node arrays, perhaps broken, are refused or written as the tree they are."""
    rng = np.random.default_rng(seed)
    n_features = int(rng.integers(1, 4))
    arrays = random_arrays(rng, n_features)
    n, values = len(arrays[0]), arrays[3]
    for _ in range(rng.integers(3)):
        which = int(rng.integers(5))
        if which == 4:
            arrays[rng.integers(4)] = rng.choice(
                np.array([None, arrays[0][:-1], arrays[0][None], arrays[0] + 0.5], dtype=object)
            )
            break
        i = int(rng.integers(n))
        arrays[which][i] = rng.choice(
            NUMBERS if which == 3 else [i, n - 1, n, int(rng.integers(n)), *INDICES]
        )
    made, _ = was_refused(lambda: preorder(*arrays, drop_unreached=bool(rng.integers(2))))
    _, error_as_they_are = was_refused(lambda: TreeNodes(*arrays))
    if made is None:
        assert error_as_they_are is not None
        return {"preorder"}
    nodes, order = made
    refused = set()
    X = rng.choice([*NUMBERS, *values], (20, n_features))
    X = np.where(np.abs(X) <= FLOAT32_MAX, X, 0.0)
    leaf, _ = was_refused(lambda: apply_nodes(nodes, X))
    if leaf is None:
        assert nodes.feature.max() >= n_features
        return {"apply_nodes"}
    assert order[leaf].tolist() == [walk(*arrays, row) for row in X]

    n_classes = int(rng.integers(1, 5))
    labels = rng.integers(n_classes, size=nodes.n_leaves)
    y = rng.integers(n_classes, size=len(X))
    proba = rng.dirichlet(np.ones(n_classes), size=nodes.n_leaves)
    weight = rng.choice([0.0, 1e-300, 1e-9, 1.0, 1e9, 1e300], size=len(X))
    broken = int(rng.integers(8))
    if broken == 0:
        labels[rng.integers(len(labels))] = rng.choice(INDICES)
    elif broken == 1:
        proba[rng.integers(len(proba)), 0] = rng.choice(NUMBERS)
    elif broken == 2:
        weight[rng.integers(len(weight))] = rng.choice(NUMBERS)
    elif broken == 3:
        leaf = leaf.copy()
        leaf[rng.integers(len(leaf))] = rng.choice([*INDICES, nodes.n_nodes])
    elif broken == 4:
        y[rng.integers(len(y))] = rng.choice(INDICES)
    proba = None if rng.random() < 0.3 else proba
    written, _ = was_refused(
        lambda: write_classifier(
            nodes,
            labels,
            proba,
            leaf,
            y,
            np.arange(n_classes) * 2,
            n_features=n_features,
            sample_weight=weight,
        )
    )
    if written is None:
        refused.add("write_classifier")
    else:
        where = apply_nodes(nodes, X)
        position = np.searchsorted(nodes.leaves, where)
        np.testing.assert_array_equal(written.predict(X), labels[position] * 2)
        sane(written, X)
        again = read_nodes(written)
        np.testing.assert_array_equal(again.nodes.threshold, nodes.threshold * (nodes.left >= 0))
        keep = rng.random(nodes.n_nodes) < 0.5
        pruned = pruned_copy(written, keep)
        sane(pruned, X)
    target = rng.choice([0.0, 1e-300, 1.0, -3.5, 1e9, 1e150, 1e200, 1e308], size=len(X))
    value = rng.choice([*NUMBERS, 1.0, 2.0, 3.0] if broken == 5 else [1.0, -2.0], nodes.n_leaves)
    written, _ = was_refused(
        lambda: write_regressor(
            nodes, value, leaf, target, n_features=n_features, sample_weight=weight
        )
    )
    if written is None:
        refused.add("write_regressor")
    else:
        position = np.searchsorted(nodes.leaves, apply_nodes(nodes, X))
        np.testing.assert_array_equal(written.predict(X), value[position])
        sane(written, X)
    return refused


def sane(tree, X):
    """Whatever scikit-learn does with a fitted tree works on a written one."""
    assert np.isfinite(tree.feature_importances_).all()
    assert np.isfinite(ccp_pruning_path(tree.tree_)["ccp_alphas"]).all()
    assert np.isfinite(tree.tree_.impurity).all()
    assert (tree.tree_.weighted_n_node_samples > 0).all()
    assert tree.decision_path(X).shape == (len(X), tree.tree_.node_count)
    assert copy.deepcopy(tree).get_depth() == tree.get_depth()


CHECKS = {"ensemble": check_ensemble, "boosting": check_boosting, "writer": check_writer}
