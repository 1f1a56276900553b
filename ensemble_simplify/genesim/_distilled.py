"""Trees of all sizes that say what a random forest says, and how good each size is on new rows.

A tree is grown on the training rows and on synthetic rows around them, which a copula draws. The
forest says what a synthetic row is; of a training row, its label and the out-of-bag votes of the
forest say it. A second tree begins with few leaves that are optimised together. The best prunings
of both are the trees of all sizes.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial

import numpy as np
from sklearn.tree import DecisionTreeClassifier
from sklearn.utils import Bunch

from ensemble_simplify.base import product, report
from ensemble_simplify.genesim._first_trees import voting_forest
from ensemble_simplify.grid import in_threads, is_late, limits, time_left, unlimited
from ensemble_simplify.sampling import (
    OVERGROWN,
    Alternation,
    Coordinates,
    ExactPrunings,
    GrownTree,
    make_law,
)
from ensemble_simplify.writing import (
    SHRINKAGE,
    apply_nodes,
    gini,
    shrunken,
    weight_of_a_row,
    with_labels,
    write_tree,
)

# Training rows that trees are grown on, at most.
_MOST_ROWS = 20_000
# Synthetic rows for each of them, and at most; how far these are from it, as of `RepresenterTree`;
# and what the training rows weigh, of all.
_MADE, _MOST_MADE, _SMEARING, _TRAINING_SHARE = 10, 20_000, 0.25, 0.3
# Of tables with many columns, fewer: about so many entries, but as many rows as there are.
_MOST_ENTRIES = 2_000_000
# Leaves of the trees. Where there is no tree of a size, the next smaller one stands for it.
_SIZES = (1, 2, 3, 4, 6, 8, 11, 16, 23, 32, 45, 64, 91, 128, 181, 256, 362, 512)
# Leaves of the tree that is optimised on labels, and of what is grown on from it; the least lead
# that a label has, of a row's weight.
_OPTIMISED, _GROWN_ON, _LEAST_LEAD = 8, 96, 1e-9
# What Gini impurity costs beside wrong labels: these alone would rank rows worse.
_IMPURITY = 2.0
# Folds without which trees are grown to tell how good their sizes are; of so many rows, one of the
# folds tells it well enough. Forests of these trees are smaller.
_FOLDS, _ONE_FOLD, _FOLD_TREES = 3, 5_000, 0.5
# Under a limit of time: the share of what is left in which a forest grows.
_FOREST_SHARE = 0.25


def distilled_front(model, X, label, weight, random_state) -> Bunch:
    """Trees of rising sizes as a front, with the out-of-bag score of their forest.

    The score of a tree is the accuracy of trees of its size on folds of the rows that they were
    not grown on, its merit their mean log-likelihood there; NaN where the time was too short.
    """
    seed = random_state.randint(np.iinfo(np.int32).max)
    kept = np.flatnonzero(weight > 0)
    X, label, weight = X[kept], label[kept], weight[kept]
    some = np.arange(len(X))
    if len(X) > _MOST_ROWS:
        some = np.sort(random_state.choice(len(X), _MOST_ROWS, replace=False))
    # Within a class, rows are dealt out to the folds in turn.
    fold_of = np.empty(len(some), dtype=np.intp)
    mixed = random_state.permutation(len(some))
    fold_of[mixed[np.argsort(label[some][mixed], kind="stable")]] = np.arange(len(some)) % _FOLDS
    folds = []
    for fold in range(1 if len(some) > _ONE_FOLD else _FOLDS):
        inside, outside = some[fold_of != fold], some[fold_of == fold]
        if not (len(inside) and len(outside)):
            break
        folds.append((inside, outside))
    parts = [(X, label, weight, some, seed, model.shrinkage, 1.0)]
    for inside, _ in folds:
        part = (of[inside] for of in (X, label, weight))
        parts.append((*part, np.arange(len(inside)), seed, SHRINKAGE, _FOLD_TREES))
    (trees, voted), *without = _all_grown(model, parts)
    sizes = np.array([tree.get_n_leaves() for tree in trees])
    told = np.zeros((3, len(trees)))
    for (_, outside), (others, _) in zip(folds, without, strict=False):
        of_size = np.searchsorted([tree.get_n_leaves() for tree in others], sizes, side="right")
        share = weight[outside]
        for i, k in enumerate(of_size - 1):
            chance = others[k].predict_proba(X[outside], check_input=False)
            of_label = np.maximum(chance[np.arange(len(outside)), label[outside]], 1e-15)
            right = chance.argmax(axis=1) == label[outside]
            told[:, i] += product(share, right), product(share, np.log(of_label)), share.sum()
    with np.errstate(invalid="ignore"):
        # so that rounding of logarithms does not choose
        score, merit = np.round(told[:2] / told[2], 12)
    return Bunch(n_leaves=sizes, score=score, merit=merit, trees=trees, voted=voted)


def _all_grown(model, parts) -> list:
    """What is grown on each part of the rows; only on the first ones where time is short."""
    # Threads share the trees of a forest, and then what is grown beside each other.
    at_once, found = len(parts) if time_left() == np.inf else 1, []
    while len(found) < len(parts) and not (found and is_late()):
        calls = []
        for part in parts[len(found) : len(found) + at_once]:
            X, label, weight, some, seed, _, most = part
            with limits(_FOREST_SHARE * time_left()):
                forest = voting_forest(model, X[some], label[some], weight[some], seed, most)
            calls.append(partial(_grown, model, *part[:-1], *forest))
        found += in_threads(model.n_jobs, calls)
        report(model, f"trees on {len(found)} of {len(parts)} parts of the rows")
    return found


def _grown(model, X, label, weight, some, seed, shrinkage, forest, votes) -> tuple[list, float]:
    """Trees of rising sizes, grown on some of the rows; the out-of-bag score of their forest.

    All rows count in the leaves.
    """
    labels = np.zeros((len(X), len(model.classes_)))
    labels[np.arange(len(X)), label] = weight
    known = np.isfinite(votes).all(axis=1)
    right = votes[known].argmax(axis=1) == label[some][known]
    voted = np.average(right, weights=weight[some][known]) if known.any() else np.nan
    evidence = labels.copy()
    evidence[some] += weight[some, None] * np.nan_to_num(votes)
    made = _made_rows(model._table, X[some], weight[some], seed)
    target = np.zeros((len(some) + len(made), labels.shape[1]))
    of_rows = evidence[some] * (weight[some] / evidence[some].sum(axis=1))[:, None]
    target[: len(some)] = of_rows * (_TRAINING_SHARE / of_rows.sum())
    # in one thread, which adds the trees up in one order
    answers = forest.set_params(n_jobs=1).predict_proba(made)
    target[len(some) :, forest.classes_] = answers * ((1.0 - _TRAINING_SHARE) / answers.sum())
    grown = _prunings(model, np.concatenate([X[some], made]).astype(np.float64), target, len(some))
    trees = []
    for tree in grown:
        nodes, _, missing_left = tree.as_thresholds(~tree.is_leaf, {})
        trees.append(_written(model, nodes, missing_left, X, labels, evidence, shrinkage))
    return trees, voted


def _prunings(model, X, target, n_real) -> list[GrownTree]:
    """Trees of rising sizes, for rows with a share of each class; the first `n_real` are counted.

    Each is the best that one of two trees can be pruned to: a greedy one, and one grown on from a
    small tree with few wrong labels, whose splits greed does not find.
    """
    weight = target.sum(axis=1)
    gaps = model._table.gaps if model._table.gaps.seen.any() else None
    rows = partial(
        Bunch, X=X, answers=target / weight[:, None], n_real=n_real, gaps=gaps, is_complete=True
    )
    most = min(model.max_leaf_nodes or _SIZES[-1], _SIZES[-1])
    by_share = Alternation(rows(weight=weight), False, least=model.min_samples_leaf)
    few = min(_OPTIMISED, most)
    calls = [partial(by_share.grown, OVERGROWN * most)]
    is_label = min(few, target.shape[1]) > 1
    if is_label:
        # A wrong label costs what the first class is ahead of the second.
        second, first = np.sort(target, axis=1)[:, -2:].T
        lead = np.maximum(first - second, _LEAST_LEAD * weight)
        by_label = Alternation(rows(weight=lead), True, least=model.min_samples_leaf)
        calls += [partial(by_label.grown, OVERGROWN * few, by_entropy=by) for by in (False, True)]
    with unlimited():
        trees = in_threads(model.n_jobs, calls)
    if is_label:
        trees, starts = trees[:1], trees[1:]
        by_label.narrow(starts)
        small = by_label.best([start.prunings(few) for start in starts], few)
        trees.append(by_share.grown(min(_GROWN_ON, OVERGROWN * most), above=small))
    for tree in trees:
        tree.centre_thresholds(X)
        tree.send_gaps(X[:n_real], ~model._table.gaps.seen)
        tree.cost = _IMPURITY * tree.cost + tree.probability * (1.0 - tree.mean.max(axis=1))
    prunings, found = ExactPrunings(trees, most), []
    for size in (*(size for size in _SIZES if size < most), most):
        which, is_split = prunings.best(size)
        tree = trees[which].collapsed(is_split)[0]
        # of few rows there may be no larger tree
        if not found or tree.n_leaves > found[-1].n_leaves:
            found.append(tree)
    return found


def _made_rows(table, X, weight, seed) -> np.ndarray:
    """Rows like those of `X`, with numbers near theirs."""
    gaps, n_columns = table.gaps, X.shape[1]
    columns = replace(Coordinates.resolve(None, None, n_columns, None), discrete=table.coded)
    lacks = gaps.seen.any()
    law = make_law(
        sampler="copula",
        smearing=_SMEARING,
        n_neighbors=0,
        seed=seed,
        X=(gaps.fill(X) if lacks else X).astype(np.float64),
        weight=weight,
        columns=columns,
        gaps=gaps if lacks else None,
    )
    n_made = min(_MADE * len(X), _MOST_MADE, max(len(X), _MOST_ENTRIES // n_columns - len(X)))
    made = law.manufacture(law.everywhere(), n_made, seed)
    return law.with_gaps(made).astype(np.float32)


def _written(model, nodes, missing_left, X, labels, evidence, shrinkage) -> DecisionTreeClassifier:
    """A tree whose labels are those with most evidence, with what rows hold of both."""
    leaf = np.searchsorted(nodes.leaves, apply_nodes(nodes, X, missing_left))
    labels, evidence = (nodes._sum_up(sums_by(leaf, of)) for of in (labels, evidence))
    n_rows = nodes._sum_up(np.bincount(leaf, minlength=nodes.n_leaves))
    weight = labels.sum(axis=1)
    value = fractions = labels / weight[:, None]
    if shrinkage > 0:
        value = shrunken(nodes, evidence / weight_of_a_row(n_rows, weight), shrinkage)
    return write_tree(
        nodes,
        value=with_labels(value, evidence.argmax(axis=1)),
        n_node_samples=n_rows,
        weighted_n_node_samples=weight,
        impurity=gini(fractions),
        n_features=model.n_features_in_,
        classes=model.classes_,
        feature_names=getattr(model, "feature_names_in_", None),
        missing_go_to_left=missing_left,
    )


def sums_by(leaf, of_rows) -> np.ndarray:
    """Sums over the rows of each leaf."""
    return np.column_stack([np.bincount(leaf, column) for column in of_rows.T])
