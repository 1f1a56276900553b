"""Boosters of LightGBM and XGBoost with some of their trees, scaled: edited in the form they save.

What is written is read again by the library it is for, so that its arithmetic, that of float32
leaves too, can be read of the new booster.
"""

from __future__ import annotations

import json
import re

import numpy as np

from ensemble_simplify.reading import library_of

# What the attributes of an XGBoost model tell of the training of all trees.
_STOPPED = ("best_iteration", "best_score")


def reweighted_booster(estimator, weights, offset=0.0):
    """A new booster with the trees of other weights than zero, their leaves scaled.

    `estimator` is a wrapper of its library, or stands for a booster. An iteration has one tree for
    each score; where scores have kept different numbers of trees, trees of one leaf that adds
    nothing fill up. The `offset` goes into the leaves of the first tree.
    """
    return _OF[library_of(estimator)][0](estimator, weights, offset)


def depth_of_booster(estimator):
    """Depth of the deepest tree."""
    return max(_depth(*children) for children in _OF[library_of(estimator)][1](estimator))


def _depth(left, right):
    """Depth of a tree; nodes without children have -1."""
    depth, level = 0, np.zeros(1, dtype=np.intp)
    while (level := level[left[level] >= 0]).size:
        depth, level = depth + 1, np.concatenate([left[level], right[level]])
    return depth


def _stages(weights, scores, n_scores):
    """Trees of each iteration that is written, one for each score; None: one that adds nothing."""
    kept = np.flatnonzero(weights).tolist()
    columns = [[t for t in kept if scores[t] == k] for k in range(n_scores)]
    return [
        [column[i] if i < len(column) else None for column in columns]
        for i in range(max(map(len, columns)))
    ]


# ------------------------------------------------------------------- XGBoost


def _xgboost(estimator, weights, offset):
    import xgboost

    saved = _saved(estimator)
    learner = saved["learner"]
    for name in _STOPPED:
        learner["attributes"].pop(name, None)
    boosting = learner["gradient_booster"]
    model = boosting.get("gbtree", boosting)["model"]
    # from XGBoost 3.4 on, shares of trees stand with the trees
    keeper = boosting if "weight_drop" in boosting else model
    trees, shares = model["trees"], keeper.get("weight_drop")
    n_scores = max(1, int(learner["learner_model_param"]["num_class"]))
    stages = _stages(weights, model["tree_info"], n_scores)
    order = [t for stage in stages for t in stage]
    written = []
    for number, t in enumerate(order):
        tree = _stump_of(trees[0]) if t is None else trees[t]
        if t is not None and shares is None:
            _scale(tree, weights[t], offset if number == 0 else 0.0)
        elif number == 0 and offset != 0.0:
            # dart multiplies leaves itself
            _scale(tree, 1.0, offset / np.float64(np.float32(weights[t] * shares[t])))
        written.append({**tree, "id": number})
    if shares is not None:
        keeper["weight_drop"] = [
            1.0 if t is None else _short(np.float32(weights[t] * shares[t])) for t in order
        ]
    model["trees"] = written
    model["tree_info"] = list(range(n_scores)) * len(stages)
    model["iteration_indptr"] = list(range(0, len(order) + 1, n_scores))
    model["gbtree_model_param"] |= {"num_trees": str(len(order)), "num_parallel_tree": "1"}
    settings = json.loads(estimator.get_booster().save_config())["learner"]["generic_param"]
    text = bytearray(json.dumps(saved).encode())
    return xgboost.Booster({"nthread": settings["nthread"]}, model_file=text)


def _saved(estimator):
    """What XGBoost saves of the trees that predict."""
    booster = estimator.get_booster()
    best = getattr(estimator, "best_iteration", None)
    booster = booster if best is None else booster[: best + 1]
    return json.loads(bytes(booster.save_raw(raw_format="json")))


def _children_of_xgboost(estimator):
    boosting = _saved(estimator)["learner"]["gradient_booster"]
    for tree in boosting.get("gbtree", boosting)["model"]["trees"]:
        yield np.array(tree["left_children"]), np.array(tree["right_children"])


def _scale(tree, weight, offset=0.0):
    """Scale the leaves of a tree, in place, and add something to each."""
    values, left = tree["split_conditions"], tree["left_children"]
    scaled = np.array(values, dtype=np.float32) * np.float64(weight) + offset
    scaled = scaled.astype(np.float32)
    tree["split_conditions"] = [
        _short(own) if child < 0 else value
        for own, value, child in zip(scaled, values, left, strict=True)
    ]
    weights = np.array(tree["base_weights"], dtype=np.float32) * np.float64(weight) + offset
    tree["base_weights"] = [_short(own) for own in weights.astype(np.float32)]


def _short(number):
    """A float32 number by its shortest decimal digits, as XGBoost writes and reads it."""
    return float(str(number))


def _stump_of(tree):
    """A tree of one leaf that adds nothing, with the same entries as another tree."""
    n_nodes = len(tree["left_children"])
    written = {
        name: entry[: int(len(entry) == n_nodes)] if isinstance(entry, list) else entry
        for name, entry in tree.items()
    }
    for name in ("split_conditions", "base_weights", "loss_changes", "sum_hessian"):
        written[name] = [0.0]
    for name in ("split_indices", "split_type", "default_left"):
        written[name] = [0]
    for name in ("categories", "categories_nodes", "categories_segments", "categories_sizes"):
        written[name] = []
    written["left_children"], written["right_children"] = [-1], [-1]
    counts = {"num_nodes": "1", "num_deleted": "0"}
    written["tree_param"] = {**tree["tree_param"], **counts}
    return written


# ------------------------------------------------------------------- LightGBM

_SCALED = ("leaf_value", "internal_value", "shrinkage")
# A tree of one leaf that adds nothing, as LightGBM writes it.
_NOTHING = (
    "num_leaves=1\nnum_cat=0\nsplit_feature=\nsplit_gain=\nthreshold=\ndecision_type=\n"
    "left_child=\nright_child=\nleaf_value=0\nleaf_weight=\nleaf_count=\ninternal_value=\n"
    "internal_weight=\ninternal_count=\nis_linear=0\nshrinkage=1"
)


def _lightgbm(estimator, weights, offset):
    booster = estimator.booster_
    head, trees, tail = _parts(booster)
    n_scores = booster.num_model_per_iteration()
    scores = np.arange(len(trees)) % n_scores
    stages = _stages(weights, scores, n_scores)
    if re.search(r"^average_output\s*$", head, re.M):
        # LightGBM divides the sums by the number of iterations
        weights = weights * (len(stages) * n_scores / len(trees))
        offset = offset * len(stages)
    written = []
    for number, t in enumerate(t for stage in stages for t in stage):
        more = offset if number == 0 else 0.0
        body = _NOTHING if t is None else _scaled(trees[t], weights[t], more)
        written.append(f"Tree={number}\n{body}\n\n\n")
    sizes = " ".join(str(len(text.encode())) for text in written)
    head = re.sub(r"^tree_sizes=.*$", f"tree_sizes={sizes}", head, flags=re.M)
    return type(booster)(model_str=f"{head}\n{''.join(written)}{tail}")


def _parts(booster):
    """What LightGBM saves: what is before the trees that predict, each of these, and after them."""
    text, end, tail = booster.model_to_string().partition("end of trees")
    head, *trees = text.split("\nTree=")
    return head, [tree.partition("\n")[2].rstrip("\n") for tree in trees], end + tail


def _scaled(body, weight, offset=0.0):
    """The text of a tree with scaled leaves, and something added to each."""

    def scaled(line):
        name, _, values = line.partition("=")
        if name not in _SCALED:
            return line
        numbers = np.array(values.split(), dtype=np.float64) * weight
        if name != "shrinkage":
            numbers += offset
        return f"{name}=" + " ".join(f"{number:.17g}" for number in numbers)

    return "\n".join(map(scaled, body.split("\n")))


def _children_of_lightgbm(estimator):
    for body in _parts(estimator.booster_)[1]:
        entries = dict(line.partition("=")[::2] for line in body.split("\n"))
        n_inner = int(entries["num_leaves"]) - 1
        blank = np.full(n_inner + 1, -1)
        # leaves have the names -1, -2, ...
        children = (np.array(entries[f"{side}_child"].split(), int) for side in ("left", "right"))
        yield [np.append(np.where(side < 0, n_inner - 1 - side, side), blank) for side in children]


_OF = {
    "xgboost": (_xgboost, _children_of_xgboost),
    "lightgbm": (_lightgbm, _children_of_lightgbm),
}
