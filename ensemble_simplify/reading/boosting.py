"""HistGradientBoosting, XGBoost and LightGBM: read from what each keeps or saves itself.

None of them is imported: an XGBoost model is read from its JSON, a LightGBM model from its text.
Splits of categories become thresholds on their codes (`categories`).
"""

from __future__ import annotations

import json
import math
import re
from itertools import pairwise, product

import numpy as np

from ensemble_simplify.grid import FLOAT32_MAX, float32_below, last_float32
from ensemble_simplify.reading.decision import Vote, link_of
from ensemble_simplify.reading.entries import plain_levels
from ensemble_simplify.reading.node_fields import (
    HIST_FIELDS,
    HIST_NOTES,
    not_known,
    unknown_fields,
)
from ensemble_simplify.reading.table import Table
from ensemble_simplify.reading.trees import (
    MAX_CODE,
    Reading,
    Tree,
    Trees,
    constant_tree,
    name_of,
    set_of,
    side_of_codes,
    sides_of,
    spread,
)

# ------------------------------------------------------------------- HistGradientBoosting


def read_hist_gradient_boosting(estimator, within):
    """HistGradientBoosting: raw sums in float64, a tie goes to class 0.

    Categories that were not in the training data are treated as missing.
    """
    classes = getattr(estimator, "classes_", None)
    if classes is None and type(estimator._loss.link).__name__ != "IdentityLink":
        raise ValueError(
            f"{name_of(estimator)} has loss={estimator.loss!r}, whose predictions are no sums of "
            "leaf values. Use loss='squared_error', 'absolute_error' or 'quantile'."
        )
    try:
        stages = estimator._predictors
        init = np.array(estimator._baseline_prediction, dtype=np.float64).ravel()
        seen, categories = _categories_of_hist(estimator)
        nodes = [p.nodes for stage in stages for p in stage]
        bitsets = [p.raw_left_cat_bitsets for stage in stages for p in stage]
    except (AttributeError, KeyError, TypeError, IndexError, ValueError) as error:
        raise _unknown_layout(estimator) from error
    words = [b.dtype == np.uint32 and b.ndim == 2 and b.shape[1] == 8 for b in bitsets]
    lacking = any(HIST_FIELDS - set(own.dtype.names) for own in nodes)
    further = any(unknown_fields(own, HIST_FIELDS | HIST_NOTES) for own in nodes)
    if lacking or further or not all(words):
        raise _unknown_layout(estimator)
    n_scores = len(init)
    if not stages or any(len(stage) != n_scores for stage in stages):
        raise ValueError(
            f"{name_of(estimator)} has iterations without one tree for each of its {n_scores} "
            "scores, or none. Fit it again."
        )
    codes, table = codes_and_table(estimator, seen, categories)
    trees = Trees()
    for stage in stages:
        for score, predictor in enumerate(stage):
            tree, sets = _hist_tree(estimator, predictor, codes)
            tree.value = spread(tree.value, [score], n_scores)
            tree.columns = seen
            trees.add(tree, sets)
    link = None if classes is None else link_of(n_scores)
    vote = Vote("additive", 0, len(trees), n_scores, init=init, link=link)
    return Reading(trees, vote, classes, table)


def _unknown_layout(estimator):
    found = f"{name_of(estimator)} keeps its trees in a layout that is not known"
    return ValueError(not_known(found))


def _categories_of_hist(estimator):
    """The user's column of each that the trees see (None: the same), and lists of categories.

    Where there are categories, their columns come first, encoded by position; the lists are of
    these.
    """
    encoders = estimator._preprocessor
    if encoders is None:
        return None, []
    is_categorical = np.asarray(estimator.is_categorical_)
    names = [name for name, *_ in encoders.transformers_]
    if names[:2] != ["encoder", "numerical"]:
        raise KeyError(f"transformers {names}")
    found = encoders.named_transformers_["encoder"].categories_
    seen = np.concatenate([np.flatnonzero(is_categorical), np.flatnonzero(~is_categorical)])
    if len(found) != is_categorical.sum() or len(seen) != estimator.n_features_in_:
        raise KeyError(f"{len(found)} columns of categories")
    return seen.astype(np.intp), found


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
    table = Table(names, tuple(levels), ("missing",) * len(seen), codes=categorical)
    return [np.arange(len(own)) for own in categories], table


def _are_codes(categories):
    """Whether categories are whole numbers from 0 that float32 tells apart with all between."""
    if categories.dtype.kind not in "iufb":
        return False
    number = categories.astype(np.float64)
    return bool(((number == np.floor(number)) & (number >= 0) & (number < MAX_CODE)).all())


def _hist_tree(estimator, predictor, codes):
    """One tree, and the tests of its splits of categories."""
    nodes = predictor.nodes
    leaf = nodes["is_leaf"].astype(bool)
    tree = Tree(
        name=f"a tree of {name_of(estimator)}",
        left=np.where(leaf, -1, nodes["left"].astype(np.int64)),
        right=np.where(leaf, -1, nodes["right"].astype(np.int64)),
        feature=nodes["feature_idx"].astype(np.int64),
        threshold=nodes["num_threshold"].astype(np.float64),
        value=nodes["value"].astype(np.float64)[:, None],
        n_features=estimator.n_features_in_,
        dtype="float64",
        missing_left=nodes["missing_go_to_left"].astype(bool),
    )
    sets, is_categorical = {}, nodes["is_categorical"].astype(bool)
    if (~leaf & ~is_categorical & (tree.feature >= 0) & (tree.feature < len(codes))).any():
        raise ValueError(
            f"{name_of(estimator)} holds a damaged tree: a feature of categories is compared with "
            "a number. Fit it again."
        )
    for node in np.flatnonzero(is_categorical & ~leaf).tolist():
        feature, row = int(tree.feature[node]), int(nodes["bitset_idx"][node])
        if not 0 <= feature < len(codes) or row >= len(predictor.raw_left_cat_bitsets):
            raise ValueError(
                f"{name_of(estimator)} holds a damaged tree: node {node} splits categories of a "
                "feature that has none. Fit it again."
            )
        inside = bits_of(predictor.raw_left_cat_bitsets[row])
        sets[node] = sides_of(codes[feature], inside, bool(tree.missing_left[node]))
    return tree, sets


def bits_of(words):
    """The bits of some 32-bit words, the lowest first."""
    return np.unpackbits(
        np.ascontiguousarray(words, dtype="<u4").view(np.uint8), bitorder="little"
    ).astype(bool)


# ------------------------------------------------------------------- XGBoost

# What makes probabilities of margins; and whether these, and not the margins, decide.
_XGBOOST_LINKS = {
    "binary:logistic": ("sigmoid", True),
    "binary:logitraw": ("sigmoid", False),
    "binary:hinge": ("unknown", False),
    "reg:logistic": ("sigmoid", True),
    "multi:softprob": ("softmax", True),
    "multi:softmax": ("softmax", False),
}
# Where a tree of XGBoost keeps sets of codes: nodes, first places and numbers of codes, and codes.
_XGBOOST_SETS = ("categories_nodes", "categories_segments", "categories_sizes", "categories")
# Nodes of trees for whose leaves XGBoost is asked.
MAX_PROBED = 20_000
# Rows of other combinations of leaves.
N_MIXED = 4000
_XGBOOST_IDENTITY = (
    "reg:squarederror",
    "reg:absoluteerror",
    "reg:pseudohubererror",
    "reg:squaredlogerror",
)


def read_xgboost(estimator, within):
    """XGBoost: float32 sums of trees from the base score, then sigmoid or softmax.

    Codes in the set of a split go right; others, also unknown ones, left.
    """
    booster = estimator.get_booster()
    if estimator.booster not in (None, "gbtree", "dart"):
        raise ValueError(
            f"{name_of(estimator)} has booster={estimator.booster!r}, which is not supported. "
            "Use booster='gbtree' or 'dart'."
        )
    if estimator.missing is not None and np.isfinite(estimator.missing):
        raise ValueError(
            f"{name_of(estimator)} has missing={estimator.missing!r}: it treats a number as "
            "missing, which is not supported. Use missing=nan."
        )
    try:
        booster = booster[: estimator.best_iteration + 1]
    except AttributeError:
        booster = estimator.get_booster()
    learner = json.loads(bytes(booster.save_raw(raw_format="json")))["learner"]
    classes = getattr(estimator, "classes_", None)
    link, n_scores, by_probability = _link_of_xgboost(estimator, learner, classes)
    boosting = learner["gradient_booster"]
    model = boosting.get("gbtree", boosting)["model"]
    # from XGBoost 3.4 on, with the trees, and of gbtree with dropout, too
    shares = boosting.get("weight_drop", model.get("weight_drop"))
    width = int(estimator.n_features_in_)
    categorical = np.zeros(width, dtype=bool)
    kinds = learner.get("feature_types") or []
    categorical[[j for j, kind in enumerate(kinds[:width]) if kind == "c"]] = True
    trees = Trees()
    for saved, score in zip(model["trees"], model["tree_info"], strict=True):
        tree, sets = _xgboost_tree(estimator, saved)
        tree.value = spread(tree.value, [score], n_scores)
        trees.add(tree, sets)
        categorical[tree.feature[list(sets)]] = True
    base = json.loads(learner["learner_model_param"]["base_score"])
    base = np.atleast_1d(np.array(base, dtype=np.float32))
    init = np.resize(base, n_scores).astype(np.float32)
    if n_scores == 1 and link == "sigmoid":
        init = _logit32(init)
    if not trees and estimator.booster == "dart":
        raise ValueError(
            f"{name_of(estimator)} with booster='dart' holds no trees, and then XGBoost answers "
            "nothing. Fit it with n_estimators=1 or more."
        )
    if not trees:
        # n_estimators=0: XGBoost answers the base score everywhere
        init = _margins(booster, np.zeros((1, width), dtype=np.float32), (0, 0)).ravel()
        trees.add(constant_tree(estimator, np.zeros(n_scores)), {})
    elif shares is not None:
        init = _weigh(booster, trees, np.array(shares, dtype=np.float32), init, estimator)
    elif n_scores == 1:
        n_first = int(model["gbtree_model_param"].get("num_parallel_tree", 1))
        init = _base_margin(booster, trees, init[0], n_first, estimator)
    init = init.astype(np.float64)
    vote = Vote(
        "additive",
        0,
        len(trees),
        n_scores,
        init=init,
        link=link,
        by_probability=by_probability,
        dtype="float32",
    )
    table = _table_of_xgboost(estimator, learner, model, categorical)
    return Reading(trees, vote, classes, table)


def _link_of_xgboost(estimator, learner, classes):
    """What turns scores into probabilities, the number of scores, and whether the former decide."""
    objective, model = learner["objective"]["name"], learner["learner_model_param"]
    link, by_probability = None, False
    if classes is None:
        if objective not in _XGBOOST_IDENTITY:
            raise ValueError(
                f"{name_of(estimator)} has objective={objective!r}, which is not supported. Use "
                "objective='reg:squarederror' or another whose predictions are sums of leaves."
            )
        n_scores = int(model.get("num_target", 1))
    else:
        n_scores = max(1, int(model["num_class"]))
        link, by_probability = _XGBOOST_LINKS.get(objective, (None, False))
        # the wrapper takes what these answer for probabilities
        raw = objective in ("binary:logitraw", "binary:hinge") and hasattr(estimator, "objective")
        if raw or not _goes_with(link, n_scores, len(classes)):
            raise ValueError(
                f"{name_of(estimator)} has {len(classes)} classes and objective={objective!r}, "
                "which is not supported. Fit it on at least two classes with its default objective."
            )
    if classes is None and n_scores != 1:
        raise ValueError(
            f"{name_of(estimator)} was fitted on y with {n_scores} outputs; only one output is "
            "supported. Fit one ensemble for each column of y."
        )
    return link, n_scores, by_probability


def _goes_with(link, n_scores, n_classes):
    """Whether so many scores, and this link, are those of so many classes."""
    if link is None or (link == "softmax") != (n_scores > 1):
        return False
    return n_scores == n_classes or (n_scores == 1 and n_classes == 2)


def _xgboost_tree(estimator, saved):
    """One tree from its JSON, and the tests of its splits of categories."""
    if int(saved["tree_param"].get("size_leaf_vector", 1)) > 1:
        raise ValueError(
            f"{name_of(estimator)} has trees with vectors in their leaves, which are not "
            "supported. Fit it with multi_strategy='one_output_per_tree'."
        )
    left = np.array(saved["left_children"], dtype=np.int64)
    # a float32 number of a test, or the value of a leaf
    number = np.array(saved["split_conditions"], dtype=np.float32).astype(np.float64)
    tree = Tree(
        name=f"a tree of {name_of(estimator)}",
        left=left,
        right=np.array(saved["right_children"], dtype=np.int64),
        feature=np.array(saved["split_indices"], dtype=np.int64),
        threshold=np.where(left == -1, 0.0, float32_below(number)),  # left iff x < number
        value=number[:, None],
        n_features=int(estimator.n_features_in_),
        missing_left=np.array(saved["default_left"]).astype(bool),
    )
    same = len(left) == len(tree.right) == len(tree.feature) == len(number)
    if not same or ((left == -1) != (tree.right == -1)).any():
        raise _damaged(estimator)
    if not any(saved.get(name) for name in _XGBOOST_SETS) and 1 not in saved.get("split_type", ()):
        return tree, {}
    split = np.array(saved["split_type"]) == 1
    nodes, begins, sizes, codes = (
        np.array(saved.get(name, []), dtype=np.int64) for name in _XGBOOST_SETS
    )
    ends = np.cumsum(sizes)
    if (
        len(split) != len(left)
        or not np.array_equal(nodes, np.flatnonzero(split & (left != -1)))
        or not np.array_equal(begins, ends - sizes)
        or (sizes < 0).any()
        or ends[-1:].sum() != len(codes)
    ):
        raise _damaged(estimator)
    sets = {
        node: set_of(codes[begin:end], False, estimator)
        for node, begin, end in zip(nodes.tolist(), begins, ends, strict=True)
    }
    return tree, sets


def _damaged(estimator):
    return ValueError(
        f"{name_of(estimator)} holds a damaged tree: its arrays do not go together. Fit it again."
    )


def _table_of_xgboost(estimator, learner, model, categorical):
    """The table of a model that encodes categories itself (XGBoost from 3.1); see `Reading`."""
    levels = [None] * len(categorical)
    for feature, saved in enumerate(model.get("cats", {}).get("enc", [])[: len(categorical)]):
        values = saved.get("values", [])
        if not categorical[feature] or not values:
            continue
        if "offsets" in saved:
            text, ends = bytes(v % 256 for v in values), saved["offsets"]
            if not text.isascii():
                raise ValueError(
                    f"{name_of(estimator)} was fitted on a column, number {feature}, whose levels "
                    "have letters beyond ASCII. XGBoost keeps the names of such levels cut short. "
                    "Rename the levels (X[column].cat.rename_categories) and fit it again."
                )
            own = [text[a:b].decode() for a, b in pairwise(ends)]
            levels[feature] = np.array(own, dtype=object)
        else:
            levels[feature] = np.array(values)
    return _table(estimator, categorical, levels, "refused", learner.get("feature_names"))


def _table(estimator, categorical, levels, unknown, names):
    """The table for levels given as pandas' categories; None if there are no codes at all."""
    if all(own is None for own in levels):
        return Table.of_codes(categorical, getattr(estimator, "feature_names_in_", None))
    names = getattr(estimator, "feature_names_in_", names)
    names = np.asarray(names, dtype=object) if names is not None and len(names) else None
    unknown = (unknown,) * len(levels)
    return Table(names, tuple(levels), unknown, as_category=True, codes=categorical)


def _margins(booster, rows, trees, start=None):
    """Margins of some iterations; `start` replaces the base score."""
    if start is not None:
        start = np.broadcast_to(np.asarray(start, dtype=np.float32), len(rows))
    return booster.inplace_predict(
        rows, iteration_range=trees, predict_type="margin", base_margin=start
    )


def _weigh(booster, trees, shares, init, estimator):
    """Scale the leaves of a DART model by the shares of their trees, in place; return the start.

    XGBoost adds the start to a leaf and subtracts it again, in float32, before it scales the leaf;
    some versions, for some kinds of rows, do not. The start itself may have been rounded when it
    was saved. All of this is tried, and what reproduces XGBoost's own margins is taken.
    """
    rows = _rows_of_leaves(trees[:200])
    rows = np.concatenate([rows, _mixed(rows)])
    truth = _margins(booster, rows, (0, 0)).reshape(len(rows), len(init))
    leaves = [_leaves_of(tree, rows) for tree in trees]
    starts = _with_neighbours(init) if len(init) == 1 else (init,)
    for start, back_and_forth in product(starts, (True, False)):

        def scaled(tree, share, start=start, back_and_forth=back_and_forth):
            value = tree.value.astype(np.float32)
            if back_and_forth:
                value = np.where(value != 0, value + start - start, value)
            return value * share

        total = np.tile(start, (len(rows), 1))
        for tree, share, leaf in zip(trees, shares, leaves, strict=True):
            total += scaled(tree, share)[leaf]
        if np.array_equal(total, truth):
            for tree, share in zip(trees, shares, strict=True):
                tree.value = scaled(tree, share).astype(np.float64)
            return start
    raise ValueError(
        f"The margins of {name_of(estimator)} with booster='dart' could not be reproduced from its "
        "trees. Fit it with booster='gbtree', or move it to the CPU (set_params(device='cpu'))."
    )


def _with_neighbours(number):
    """A float32 number, the next one below it and the next one above."""
    return number, *(np.nextafter(number, np.float32(end)) for end in (-np.inf, np.inf))


def _leaves_of(tree, rows):
    """The leaf of each row in a tree."""
    node = np.zeros(len(rows), dtype=np.intp)
    at = np.arange(len(rows))
    while (inner := tree.left[node] >= 0).any():
        x = rows[at, np.maximum(tree.feature[node], 0)]
        is_below = x <= tree.threshold[node]
        for split in tree.sets.keys() & set(node[inner].tolist()):
            here, sides = node == split, tree.sets[split]
            is_below[here] = sides[np.minimum(x[here], len(sides) - 1).astype(np.intp)]
        goes_left = np.where(np.isnan(x), tree.missing_left[node], is_below)
        node = np.where(inner, np.where(goes_left, tree.left[node], tree.right[node]), node)
    return node


def _base_margin(booster, trees, guess, n_first, estimator):
    """Where XGBoost starts its sums: the float32 that reproduces the margins it predicts.

    Only the first tree is added to the start itself. With one tree an iteration, rows for all its
    leaves tell apart all starts that make a difference; with several trees an iteration, rows for
    many combinations of their leaves do.
    """
    rows = _rows_of_leaves(trees[:20])
    if n_first > 1:
        rows = np.concatenate([rows, _mixed(rows)])
    # the margins after the first iteration, and after all
    truth = {iterations: _margins(booster, rows, iterations) for iterations in ((0, 1), (0, 0))}

    def fits(start):
        return all(
            np.array_equal(_margins(booster, rows, iterations, start), margins)
            for iterations, margins in truth.items()
        )

    start = next(filter(fits, _with_neighbours(guess)), None)
    if start is None:
        ends = [_ends_of_start(booster, rows, *item) for item in truth.items()]
        start = np.clip(guess, max(least for least, _ in ends), min(most for _, most in ends))
        if not fits(start):
            raise ValueError(
                f"The base score of {name_of(estimator)} could not be found from its predictions. "
                "Move it to the CPU (set_params(device='cpu')) or fit it with base_score=0.5."
            )
    return np.array([start], dtype=np.float32)


def _ends_of_start(booster, rows, iterations, margins):
    """The least and the greatest start from which some iterations may lead to these margins.

    A margin never falls when its start rises, so bisection finds both ends.
    """

    def below(start):
        return _margins(booster, rows, iterations, start) < margins

    def up_to(start):
        return _margins(booster, rows, iterations, start) <= margins

    too_low = last_float32(below, len(rows)).max()
    least = np.nextafter(np.float32(too_low), np.float32(np.inf))
    return least, np.float32(last_float32(up_to, len(rows)).min())


def _logit32(share):
    """The margin of a probability as XGBoost has it: by a logarithm in float32."""
    with np.errstate(divide="ignore"):
        odds = np.float32(1) / share.astype(np.float32) - np.float32(1)
    return np.array([-math.log(odd) if odd > 0 else np.inf for odd in odds], dtype=np.float32)


def _rows_of_leaves(trees):
    """Rows for the leaves of the first tree, and of others while they are quickly found."""
    n_nodes = np.cumsum([len(tree.left) for tree in trees])
    some = 1 + np.searchsorted(n_nodes, MAX_PROBED)
    return np.concatenate([_leaf_rows(tree) for tree in trees[:some]])


def _mixed(rows):
    """Rows whose entries are drawn from those of some rows, column by column."""
    pick = np.random.default_rng(0).integers(0, len(rows), (N_MIXED, rows.shape[1]))
    return np.take_along_axis(rows, pick, axis=0)


def _leaf_rows(tree):
    """One row for every value that a tree gives to a row that can reach it."""
    # of each column that is tested by sets, the codes that its sets know, and one beyond
    n_codes = {}
    for node, sides in tree.sets.items():
        n_codes[tree.feature[node]] = max(n_codes.get(tree.feature[node], 0), len(sides))
    codes = {feature: np.ones(n, dtype=bool) for feature, n in n_codes.items()}
    rows, leaves, todo = [], [], [(0, np.full(tree.n_features, FLOAT32_MAX), codes)]
    while todo:
        node, row, codes = todo.pop()
        if tree.left[node] < 0:
            rows.append(row)
            leaves.append(node)
            continue
        feature = tree.feature[node]
        if node in tree.sets:
            goes_left = side_of_codes(tree.sets[node], n_codes[feature] - 1)
            for child, side in ((tree.right[node], ~goes_left), (tree.left[node], goes_left)):
                possible = np.flatnonzero(side & codes[feature])
                if possible.size:
                    moved = row.copy()
                    moved[feature] = possible[-1]
                    todo.append((child, moved, {**codes, feature: side & codes[feature]}))
            continue
        if row[feature] > tree.threshold[node]:
            todo.append((tree.right[node], row, codes))
            row = row.copy()
            row[feature] = tree.threshold[node]
        todo.append((tree.left[node], row, codes))
    # leaves that are copies of one are one
    _, first = np.unique(tree.value[leaves], axis=0, return_index=True)
    return np.array(rows, dtype=np.float32)[np.sort(first)]


# ------------------------------------------------------------------- LightGBM

# LightGBM takes numbers up to this for zero.
_ZERO = float(np.float32(1e-35))
_LIGHTGBM_IDENTITY = ("regression", "regression_l1", "huber", "fair", "quantile", "mape")


def read_lightgbm(estimator, within):
    """LightGBM: float64 sums of trees, then sigmoid or softmax.

    Codes in the set of a split go left; others, also unknown and missing ones, right.
    """
    text = estimator.booster_.model_to_string()
    _check_lightgbm(estimator, text)
    head, *saved = text.partition("end of trees")[0].split("\nTree=")
    classes = getattr(estimator, "classes_", None)
    objective = re.search(r"^objective=(.*)$", head, re.M)
    objective = objective[1].split() if objective else ["none"]
    n_scores = int(re.search(r"^num_tree_per_iteration=(\d+)$", head, re.M)[1])
    link, slope = _link_of_lightgbm(estimator, objective, classes, n_scores)
    width = int(estimator.n_features_in_)
    categorical = np.zeros(width, dtype=bool)
    named = re.search(r"^\[categorical_feature: ([\d,]*)\]$", text, re.M)
    if named and named[1]:
        columns = np.array(named[1].split(","), dtype=np.intp)
        categorical[columns[columns < width]] = True
    trees = Trees()
    for index, part in enumerate(saved):
        tree, sets = _lightgbm_tree(estimator, part)
        tree.value = spread(tree.value, [index % n_scores], n_scores)
        trees.add(tree, sets)
        categorical[tree.feature[list(sets)]] = True
    if not trees or len(trees) % n_scores:
        raise ValueError(
            f"{name_of(estimator)} holds {len(trees)} trees for {n_scores} scores. Fit it again."
        )
    averaged = re.search(r"^average_output\s*$", head, re.M)
    vote = Vote(
        "additive",
        0,
        len(trees),
        n_scores,
        init=np.zeros(n_scores),
        link=link,
        slope=slope,
        by_probability=link is not None,
        divisor=len(trees) // n_scores if averaged else 1,
    )
    return Reading(trees, vote, classes, _table_of_lightgbm(estimator, categorical))


def _table_of_lightgbm(estimator, categorical):
    """The table of a model that was fitted on a frame with categories; see `Reading`."""
    saved = getattr(estimator.booster_, "pandas_categorical", None) or []
    if not saved:
        return Table.of_codes(categorical, getattr(estimator, "feature_names_in_", None))
    if len(saved) != categorical.sum():
        raise ValueError(
            f"{name_of(estimator)} was fitted on a frame with {len(saved)} columns of categories, "
            f"but splits {categorical.sum()} as such, so that it does not tell which. Fit it with "
            "categorical_feature='auto' on categories without an order."
        )
    levels = [None] * len(categorical)
    for column, own in zip(np.flatnonzero(categorical), saved, strict=True):
        levels[column] = np.array(own, dtype=object if isinstance(own[0], str) else None)
    return _table(estimator, categorical, levels, "missing", estimator.booster_.feature_name())


def _check_lightgbm(estimator, text):
    """Refuse what the arithmetic of `read_lightgbm` does not cover; `text` is the saved model."""
    decisions = re.findall(r"^decision_type=(.*)$", text, re.M)
    unsupported = (
        ("zero_as_missing=True", any(int(k) >> 2 & 3 == 1 for d in decisions for k in d.split())),
        # Options have several spellings; the saved model has one.
        ("linear_tree=True", re.search(r"^is_linear=1", text, re.M)),
        ("pred_early_stop=True", _is_on(estimator.get_params().get("pred_early_stop"))),
    )
    for option, found in unsupported:
        if found:
            raise ValueError(
                f"{name_of(estimator)} was fitted with {option}, which is not supported. Fit it "
                "without."
            )


def _is_on(option):
    """Whether LightGBM, which is given options as text and cuts them at spaces, takes one as on."""
    return f"={option}".split()[0].lower() in ("=true", "=+")


def _link_of_lightgbm(estimator, objective, classes, n_scores):
    """What turns scores into probabilities, and the slope of the sigmoid."""
    kind, *options = objective
    slope = 1.0
    if kind == "none":
        raise ValueError(
            f"{name_of(estimator)} was trained with a function as its objective, and its trees do "
            "not tell what becomes of their sums. Use one of LightGBM's objectives, such as "
            "objective='binary'."
        )
    if classes is None:
        if kind not in _LIGHTGBM_IDENTITY or "sqrt" in options:
            raise ValueError(
                f"{name_of(estimator)} has the objective {' '.join(objective)!r}, which is not "
                "supported. Use objective='regression' or another whose predictions are sums of "
                "leaves."
            )
        return None, slope
    link = {
        "binary": "sigmoid",
        "cross_entropy": "sigmoid",
        "multiclass": "softmax",
    }.get(kind)
    if not _goes_with(link, n_scores, len(classes)):
        kind = {"multiclassova": "multiclass_ova"}.get(kind, kind)
        raise ValueError(
            f"{name_of(estimator)} has {len(classes)} classes and the objective {kind!r}, which is "
            "not supported. Fit it on at least two classes with its default objective."
        )
    for option in options:
        if option.startswith("sigmoid:"):
            slope = float(option.partition(":")[2])
    return link, slope


def _lightgbm_tree(estimator, part):
    """One tree from the text of a saved model, and the tests that are no plain thresholds."""
    entries = dict(line.partition("=")[::2] for line in part.splitlines() if "=" in line)

    def numbers(name, dtype):
        return np.array(entries.get(name, "").split(), dtype=dtype)

    leaf, kind = numbers("leaf_value", np.float64), numbers("decision_type", np.int64)
    threshold, feature = numbers("threshold", np.float64), numbers("split_feature", np.int64)
    n_inner = len(leaf) - 1
    children = [numbers(name, np.int64) for name in ("left_child", "right_child")]
    ends, words = numbers("cat_boundaries", np.int64), numbers("cat_threshold", np.int64)
    wrong = len(leaf) != int(entries.get("num_leaves", -1))
    wrong |= ((kind < 0) | (kind > 15)).any() or ((words < 0) | (words >> 32 > 0)).any()
    if len(ends):
        wrong |= ends[0] != 0 or (np.diff(ends) < 0).any() or ends[-1] != len(words)
        wrong |= len(ends) - 1 != int(entries.get("num_cat", 0))
    if wrong or any(len(a) != n_inner for a in (kind, threshold, feature, *children)):
        raise ValueError(
            f"{name_of(estimator)} holds a damaged tree: it has {len(leaf)} leaves and "
            f"{len(threshold)} splits, or arrays that do not go together. Fit it again."
        )
    blank = np.full(len(leaf), -1)
    # splits first, then leaves, which have the names -1, -2, ...
    left, right = (
        np.concatenate([np.where(side < 0, n_inner - 1 - side, side), blank]) for side in children
    )
    is_categorical, lost_left, missing_type = (kind & 1) == 1, (kind & 2) == 2, kind >> 2 & 3
    # where missing values have no side of their own, they count as zero
    lost_left = np.where(missing_type == 2, lost_left, threshold >= 0) & ~is_categorical
    near_zero = np.where(
        (threshold >= -_ZERO) & (threshold < 0), np.nextafter(-_ZERO, -1.0), threshold
    )
    near_zero = np.where((near_zero >= 0) & (near_zero < _ZERO), _ZERO, near_zero)
    tree = Tree(
        name=f"a tree of {name_of(estimator)}",
        left=left,
        right=right,
        feature=np.concatenate([feature, blank]),
        threshold=np.concatenate([np.where(is_categorical, 0.0, near_zero), np.zeros(len(leaf))]),
        value=np.concatenate([np.zeros(n_inner), leaf])[:, None],
        n_features=int(estimator.n_features_in_),
        dtype="float64",
        missing_left=np.concatenate([lost_left, np.zeros(len(leaf), dtype=bool)]),
    )
    sets = {}
    for node in np.flatnonzero(is_categorical).tolist():
        row = int(threshold[node])
        if not 0 <= row < len(ends) - 1:
            raise ValueError(
                f"{name_of(estimator)} holds a damaged tree: node {node} splits categories, but "
                "names none. Fit it again."
            )
        codes = np.flatnonzero(bits_of(words[ends[row] : ends[row + 1]]))
        sets[node] = set_of(codes, True, estimator)
    return tree, sets
