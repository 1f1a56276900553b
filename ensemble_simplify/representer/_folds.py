"""Trees of several sizes grown without a fold of the rows, and the choice of a law by them."""

from __future__ import annotations

import time

import numpy as np
from sklearn.utils import Bunch

from ensemble_simplify.representer._fidelity import agreement
from ensemble_simplify.representer._grower import grow_trees
from ensemble_simplify.representer._grown_tree import ExactPrunings
from ensemble_simplify.sampling import Sample

# The smallest tree that folds are asked about.
_SMALLEST = 4

# Rows that the tree of a fold is grown on, at most; and so many where a law is chosen.
_MOST_GROWN, _MOST_TRIED = 24_000, 6_000
# Entries of these rows, at most, of tables with many columns; so many rows are grown on anyway.
_MOST_ENTRIES, _LEAST_GROWN = 2_000_000, 500

# Synthetic rows of each law, where one is chosen: so many times the training rows, and at most;
# and leaves of the largest trees, at most.
_TRIED, _MOST_TRIALS, _MOST_TRIED_LEAVES = 10, 4_000, 32
# Leaves of the largest trees that choose where no size is asked for.
_USUAL_LEAVES = 16

# Share of the time left for the rows of each law.
_TRIAL_SHARE = 0.1

# Folds where nobody says how many.
N_FOLDS = 5

# Another law than the first must agree better by so many standard errors of the difference: small
# trials are noisy, and so are answers of a model to rows that it knows by heart.
_CLEARLY = 1.0

# The laws that `sampler="auto"` chooses from, the default first.
LAWS = {
    "leaves": {"sampler": "leaves", "keep_rows": 0.3},
    "copula": {"sampler": "copula", "smearing": 0.25, "keep_rows": 0.3},
    "heavy_copula": {"sampler": "copula", "smearing": 0.5, "keep_rows": 0.3},
}
# What smearing and keep_rows are where a sampler is named.
SMEARING, KEEP_ROWS = 0.25, 0.5


def laws_to_try(smearing):
    """The laws to choose from, one of each sampler if `smearing` is a number; by name."""
    laws = {}
    for name, law in LAWS.items():
        if smearing == "auto" or law["sampler"] not in (own["sampler"] for own in laws.values()):
            laws[name] = law
    return laws


def trial_sizes(max_leaf_nodes, n_classes):
    """Sizes of trees that choose a law."""
    if max_leaf_nodes is None:
        return sizes(max(_USUAL_LEAVES, n_classes), n_classes)
    return sizes(min(max_leaf_nodes, _MOST_TRIED_LEAVES), n_classes)


def sizes(max_leaf_nodes, n_classes):
    """Sizes of trees to ask about: powers of two, and the largest; none below the classes."""
    found = []
    size = _SMALLEST
    while size < max_leaf_nodes:
        if size >= n_classes:
            found.append(size)
        size *= 2
    return np.array([*found, max_leaf_nodes])


def draw_folds(answers, n_folds, random):
    """A fold for each row, at random; rows with equal or similar answers are in all folds."""
    key = answers.argmax(axis=1) if answers.shape[1] > 1 else answers[:, 0]
    order = random.permutation(len(key))
    order = order[np.argsort(key[order], kind="stable")]
    fold_of = np.empty(len(key), dtype=np.intp)
    for begin in range(0, len(key), n_folds):
        block = order[begin : begin + n_folds]
        fold_of[block] = random.permutation(n_folds)[: block.size]
    return fold_of


def unseen_answers(sample, X, fold_of, n_leaves, target, *, most=_MOST_GROWN, **how):
    """Answers of trees of some sizes to rows X, each grown without the row's fold.

    Rows of no fold have zeros. The array has shape (n_sizes, n_rows, n_outputs).
    """
    found = np.zeros((len(n_leaves), len(X), sample.n_outputs))
    largest = int(max(n_leaves))
    most = min(most, max(_MOST_ENTRIES // X.shape[1], _LEAST_GROWN))
    for fold in np.unique(fold_of[fold_of >= 0]):
        rows = sample.rows(without=fold, most=most)
        trees = grow_trees(rows, target, max_leaf_nodes=largest, **how)
        places = np.flatnonzero(fold_of == fold)
        prunings = ExactPrunings(trees, largest)
        for k, n in enumerate(n_leaves):
            which, is_split = prunings.best(n)
            tree = trees[which]
            found[k, places] = tree.mean[tree.ends(is_split)[tree.leaves(X[places])]]
    return found


def unseen_agreement(found, rows, predictor):
    """How well answers to rows that trees did not see agree with those known; one a size."""
    judged = rows.fold >= 0
    truth = predictor.decode(rows.told[judged])
    return np.array(
        [
            agreement(
                truth, predictor.decode(answers[judged]), predictor.target, rows.weight[judged]
            )
            for answers in found
        ]
    )


def choose_law(laws, rows, predictor, n_leaves, *, seed, deadline, max_depth):
    """The law whose small trees agree best with what is known of rows that they did not see.

    `laws` are laws and the rows that they are made of, by name. Returns a Bunch: the ``law`` and
    the ``laws``, the agreement of each one's trees, and, of the one chosen, the ``agreement`` of
    trees of ``n_leaves``, and their ``answers`` to rows that they did not see.
    """
    judged = rows.fold >= 0
    most = min(_MOST_TRIALS, max(_MOST_ENTRIES // rows.X.shape[1], _LEAST_GROWN))
    n_samples = min(_TRIED * len(rows.X), most)
    scores, answers, found = {}, {}, {}
    for name, (law, base) in laws.items():
        now = time.monotonic() if deadline < np.inf else 0.0
        until = now + _TRIAL_SHARE * max(deadline - now, 0.0)
        sample = Sample(law, predictor, rows, base, n_samples, seed, until, n_samples // 10)
        answers[name] = unseen_answers(
            sample,
            rows.X,
            rows.fold,
            n_leaves,
            predictor.target,
            most=_MOST_TRIED,
            max_depth=max_depth,
            seed=seed,
        )
        found[name] = unseen_agreement(answers[name], rows, predictor)
        scores[name] = _score(answers[name][:, judged], rows.told[judged], predictor.target)
    best = clearly_best(scores, rows.weight[judged])
    return Bunch(
        law=best,
        laws=found,
        n_leaves=n_leaves,
        agreement=found[best],
        answers=answers[best],
    )


def clearly_best(scores, weight):
    """The name of the best scores of rows; the first unless others are better beyond the noise."""
    first, *others = scores
    best, lead = first, 0.0
    for name in others:
        gain = scores[name] - scores[first]
        mean = np.average(gain, weights=weight)
        error = np.sqrt(np.square(weight * (gain - mean)).sum()) / weight.sum()
        if mean > lead and mean > _CLEARLY * error:
            best, lead = name, mean
    return best


def _score(answers, truth, target):
    """What each row tells of trees of all sizes together: equal labels, or squared errors."""
    if target == "value":
        return -np.square(answers - truth).sum(axis=2).mean(axis=0)
    return (answers.argmax(axis=2) == truth.argmax(axis=1)).mean(axis=0)
