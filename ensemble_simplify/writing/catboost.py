"""CatBoost models with some of their trees, under other weights, written by way of their JSON."""

from __future__ import annotations

import json
import tempfile
from pathlib import Path

import numpy as np

from ensemble_simplify.reading import saved_catboost


def reweighted_catboost(estimator, weights, offset=0.0):
    """A model of the same type with some of its trees, their leaves multiplied by their weights.

    The `offset` is added to the bias.
    """
    saved = saved_catboost(estimator)
    kind = _kind_of(saved)
    kept = np.flatnonzero(weights)
    trees = [saved[kind][t] for t in kept]
    exact = [
        [weight * np.asarray(value) for value in _leaves(tree)]
        for tree, weight in zip(trees, weights[kept].tolist(), strict=True)
    ]
    for tree, values in zip(trees, exact, strict=True):
        _put(tree, iter(values))
    saved[kind] = trees
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model.json"
        path.write_text(json.dumps(saved), encoding="utf-8")
        written = type(estimator)().load_model(str(path), format="json")
    # what it reads from JSON can be off in the last bit
    n_scores = len(np.atleast_1d(estimator.get_scale_and_bias()[1]))
    written.set_leaf_values(_in_order_of(written.get_leaf_values(), exact, n_scores))
    scale, bias = estimator.get_scale_and_bias()
    if offset != 0.0:
        bias = bias + offset
    if written.get_scale_and_bias() != (scale, bias):
        written.set_scale_and_bias(scale, bias)
    return written


def depth_of_catboost(estimator):
    """Depth of the deepest tree of a model."""
    saved = saved_catboost(estimator)
    return max(map(_depth, saved[_kind_of(saved)]))


def _kind_of(saved):
    return "oblivious_trees" if "oblivious_trees" in saved else "trees"


def _depth(tree):
    """Depth of one tree of the JSON."""
    if "leaf_values" in tree:
        return len(tree["splits"] or ())
    return 1 + max(_depth(tree["left"]), _depth(tree["right"])) if "split" in tree else 0


def _leaves(tree):
    """Values of the leaves of one tree of the JSON, in its order."""
    if "leaf_values" in tree:
        return tree["leaf_values"]
    if "split" in tree:
        return _leaves(tree["left"]) + _leaves(tree["right"])
    return [tree["value"]]


def _put(tree, values):
    """Give the leaves of one tree of the JSON other values, in the order of `_leaves`."""
    if "leaf_values" in tree:
        tree["leaf_values"] = [float(value) for value in values]
    elif "split" in tree:
        _put(tree["left"], values)
        _put(tree["right"], values)
    else:
        tree["value"] = next(values).tolist()


def _in_order_of(found, exact, n_scores):
    """Exact values in the order in which a model has its leaves, known by what it has `found`."""
    ordered, begin = np.empty_like(found), 0
    for values in exact:
        values = np.concatenate([np.ravel(value) for value in values]).reshape(-1, n_scores)
        end = begin + values.size
        rank = np.argsort(found[begin:end].reshape(values.shape), axis=0, kind="stable")
        own = np.empty_like(values)
        np.put_along_axis(own, rank, np.sort(values, axis=0), axis=0)
        ordered[begin:end] = own.ravel()
        begin = end
    return ordered
