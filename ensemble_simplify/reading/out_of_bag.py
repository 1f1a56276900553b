"""Out-of-bag answers: what the trees of a forest say to the training rows that they did not see.

A forest knows its training rows by heart: its own answers to them are close to y, and better than
those to new rows. The trees that were grown without a row tell what it would answer to a new one.
"""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

import numpy as np
from scipy import sparse
from scipy.stats import poisson
from sklearn.pipeline import Pipeline

from ensemble_simplify.reading.family import family_of
from ensemble_simplify.reading.forest import tree_estimators
from ensemble_simplify.reading.model import Model

# Rows times trees that are sent through the trees at once: of other rows, the first such part tells
# nearly always that no tree was grown on them.
_BATCH = 1 << 19
# Leaves that would be off among other rows, if none is: then these are no others.
_SURELY = 8.0


def out_of_bag(model, X):
    """The out-of-bag answers of a fitted model to the rows that it was fitted on.

    They are the means of the trees that were grown without the row: of a random forest, extra trees
    with ``bootstrap=True``, or bagging of trees, also at the end of a pipeline. That `X` holds the
    training rows, in their order, is not taken on trust: in every tree, the rows of its sample have
    to fill every leaf with just as many rows as it was grown on. (`learned_from` asks the first
    trees alone, but with ``warm_start`` later ones may have learned other rows.)

    Parameters
    ----------
    model : fitted estimator
    X : array or frame, shape (n_rows, n_features)
        Rows, in the form in which the model takes them.

    Returns
    -------
    (answers, has_vote) or None
        `answers`, of shape (n_rows,), are classes or values; `has_vote` is a mask of the rows that
        some tree was grown without, and the answers to other rows are the model's own. None if the
        model is another, or was not fitted on these rows in this order.
    """
    X = X if hasattr(X, "shape") else np.asarray(X)
    last, steps = _last(model)
    n_rows = X.shape[0]
    if last.samples(n_rows) is None:
        return None
    try:
        forest = Model.of(last).forest
        trees = [tree.tree_ for tree, _ in tree_estimators(last.estimator)]
    except (TypeError, ValueError):  # no forest that can be read: there are others
        return None
    held_out = out_of_sample(last.estimator, n_rows)
    if not forest.vote.averages_trees or not held_out.any():
        return None
    for step in steps:
        X = step.transform(X)
    grown_on = np.concatenate([tree.n_node_samples for tree in trees])
    n_held, n_in_leaf = held_out.sum(axis=0), np.zeros(forest.n_nodes, dtype=np.int64)
    # a row that all trees saw gets the answer of them all
    counted = held_out | (n_held == 0)
    total = np.zeros((n_rows, forest.n_scores))
    size = max(1, _BATCH // forest.n_trees)
    for begin in range(0, n_rows, size):
        part = slice(begin, begin + size)
        leaves = forest.apply(_dense(X, part)).T
        n_in_leaf += np.bincount(leaves[~held_out[:, part]], minlength=forest.n_nodes)
        if (n_in_leaf > grown_on).any():
            return None
        for leaf, counts in zip(leaves, counted[:, part], strict=True):
            total[part] += np.where(counts[:, None], forest.value[leaf], 0.0)
    at_leaves = forest.left < 0
    if not np.array_equal(n_in_leaf[at_leaves], grown_on[at_leaves]):
        return None
    mean = total / counted.sum(axis=0)[:, None]
    answers = mean[:, 0] if forest.classes is None else forest.classes[mean.argmax(axis=1)]
    return answers, n_held > 0


def learned_from(model, X) -> str:
    """Whether a fitted model has learned from some rows, by the numbers of rows in its leaves.

    Parameters
    ----------
    model : fitted estimator
    X : array or frame, shape (n_rows, n_features)
        Rows, in the form in which the model takes them.

    Returns
    -------
    {"all", "part", "more", "no", "unknown"}
        "all": its first trees have just as many rows in each leaf as these rows fill it with, so
        that they are those that it was fitted on. "part": no leaf gets more rows than it was grown
        on, which is not to be expected of other rows, so that these are probably some of those.
        "more": no leaf gets fewer, so that those are probably among these (a part may be kept aside
        to stop early, or be drawn for each tree). "no": they are neither. "unknown": the model does
        not keep such numbers, or they are too few to tell.
    """
    try:
        last, steps = _last(model, beyond=True)
        X = X if hasattr(X, "shape") else np.asarray(X)
        grown_on = last.grown_on(X.shape[0])
        if not grown_on:
            return "unknown"
        for step in steps:
            X = step.transform(X)
        asked = Model.of(last, rows=X, check=False)
        forest = asked.finest
        ends = forest.offsets[: len(grown_on) + 1]
        at_leaves = [np.flatnonzero(forest.left[i:j] < 0) for i, j in pairwise(ends)]
        stored = [own[at] for (own, _), at in zip(grown_on, at_leaves, strict=True)]
        stored = np.concatenate(stored).astype(np.float64)
        whole = np.rint(stored)
        # sums of float32 numbers; what is further off are weights of rows
        if (np.abs(stored - whole) > 0.01 + 1e-5 * stored).any():
            return "unknown"
        # of other rows the first tree tells nearly always, and the rest need not be asked
        for n_trees in sorted({1, len(grown_on)}):
            first = replace(forest, offsets=ends[: n_trees + 1])
            counted = []
            leaves = _leaves(first, asked.table, X)
            for here, (own, rows), at in zip(leaves, grown_on, at_leaves, strict=False):
                here = here if rows is None else here[rows]
                begin = ends[len(counted)]
                counted.append(np.bincount(here - begin, minlength=len(own))[at])
            counted = np.concatenate(counted)
            too_many = (counted > whole[: counted.size]).any()
            too_few = (counted < whole[: counted.size]).any()
            if too_many and too_few:
                return "no"
    except (TypeError, ValueError, ImportError):  # no trees that can be read, or no rows for them
        return "unknown"
    if not (too_many or too_few):
        return "all"
    # in how many leaves other rows of this number would be too many, or too few
    expected = whole * (counted.sum() / max(whole.sum(), 1.0))
    chance = poisson.cdf(whole - 1, expected) if too_many else poisson.sf(whole, expected)
    said = "more" if too_many else "part"
    return said if chance.sum() > _SURELY else "unknown"


def _leaves(forest, table, X):
    """Leaves of rows in a few trees, of shape (n_trees, n_rows)."""
    size = max(1, _BATCH // forest.n_trees)
    parts = [slice(begin, begin + size) for begin in range(0, X.shape[0], size)]
    return np.concatenate([forest.apply(table.read(_dense(X, part))) for part in parts]).T


def held_out(model, X):
    """Mask, of shape (n_trees, n_rows), of the rows that each tree of a model was grown without.

    None where `out_of_bag` is; the arguments are the same.
    """
    if out_of_bag(model, X) is None:
        return None
    return out_of_sample(_last(model)[0].estimator, len(X))


def _last(model, beyond=False):
    """The family of what stands at the end of pipelines, and the steps before it.

    With `beyond`, what stands inside a threshold or a calibration, too.
    """
    last, steps = family_of(model), []
    while isinstance(last.estimator, Pipeline) or (beyond and len(last.inside) == 1):
        if not last.inside:
            steps.append(last.estimator[:-1])
        last = family_of(last.last)
    return last, steps


def out_of_sample(ensemble, n_rows):
    """Mask, of shape (n_trees, n_rows), of the rows that are not in the sample of each tree.

    `ensemble` is a fitted forest or bagging. ValueError if a sample has a row beyond `n_rows`.
    """
    samples = ensemble.estimators_samples_
    out = np.ones((len(samples), n_rows), dtype=bool)
    for t, rows in enumerate(samples):
        if rows.max() >= n_rows:
            raise ValueError(
                f"There are {n_rows} rows, but tree {t} was grown on row {rows.max()}. Give the "
                "rows that the ensemble was fitted on."
            )
        out[t, rows] = False
    return out


def _dense(X, part):
    """Some rows as an array: encoders of text make sparse ones."""
    rows = X.iloc[part] if hasattr(X, "iloc") else X[part]
    return rows.toarray() if sparse.issparse(rows) else rows
