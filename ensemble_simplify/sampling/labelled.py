"""One sample: training rows and rows of a law, with the predictor's answers and weights."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from sklearn.utils import Bunch

from ensemble_simplify.grid import is_late, time_left
from ensemble_simplify.sampling.predictor import one_hot

# In one sample, each answer of the predictor gets at least this part of the rows that it would get
# if all answers had equally many.
LEAST_SHARE = 0.5


class Sample:
    """Training rows, and rows manufactured from the law, with answers and weights.

    The `training` rows (``X``, ``answers``, ``weight`` and ``fold``) have the weight that the law
    keeps, the manufactured ones the rest. `base` are the rows that the law is made of. A
    manufactured row belongs to the fold of the row that it is made from. Out of time, there are as
    many manufactured rows as are labelled by then. What is drawn of a fold does not depend on the
    answers to rows of other folds.
    """

    def __init__(self, law, predictor, training, base, n_samples, seed, per_batch=None):
        self.keep_rows, self.seed, self.gaps = law.keep_rows, seed, law.gaps
        self.training, self.made, self.is_complete = training, None, True
        if law.keep_rows < 1.0:
            made = _manufactured(law, predictor, base, n_samples, seed)
            made.X = law.with_gaps(made.X)
            per_batch = len(training.X) if per_batch is None else per_batch
            answers = _answers_in_time(predictor, made.X, per_batch)
            self.is_complete = len(answers) == len(made.X)
            made = Bunch(**{name: values[: len(answers)] for name, values in made.items()})
            self.made = Bunch(answers=answers, **made)

    def rows(self, without=None, most=np.inf):
        """Rows to learn from, at most so many, those of a fold left out; training rows first."""
        sources = []
        for rows, share in ((self.training, self.keep_rows), (self.made, 1.0 - self.keep_rows)):
            if share > 0.0:
                places = np.arange(len(rows.X))
                if without is not None:
                    places = np.flatnonzero(rows.fold != without)
                if places.size:
                    sources.append([rows, share, places])
        surplus = sum(places.size for *_, places in sources) - most
        # Training and synthetic rows keep their shares of the weight, however few of each stay.
        for k in np.argsort([-places.size for *_, places in sources], kind="stable"):
            size = sources[k][2].size  # the larger part gives first
            fewer = int(max(min(size, most // len(sources)), size - max(surplus, 0)))
            surplus -= size - fewer
            sources[k][2] = sources[k][2][some_rows(size, fewer, [self.seed, 7, k])]
        X = np.concatenate([rows.X[places] for rows, _, places in sources])
        answers = np.concatenate([rows.answers[places] for rows, _, places in sources])
        weight = np.concatenate(
            [
                rows.weight[places] * (share / rows.weight[places].sum())
                for rows, share, places in sources
            ]
        )
        # one on average: scikit-learn's limits are in such units
        return Bunch(
            X=X,
            n_real=sum(places.size for rows, _, places in sources if rows is self.training),
            answers=answers,
            weight=weight * len(X),
            gaps=self.gaps,
            is_complete=self.is_complete,
        )


def some_rows(n_rows, most, seed):
    """All rows, or so many that are drawn at random, in their order."""
    if n_rows <= most:
        return np.arange(n_rows)
    return np.sort(np.random.default_rng(seed).choice(n_rows, most, replace=False))


def _manufactured(law, predictor, base, n_samples, seed):
    """Synthetic rows, their weights, and the folds of their base rows."""
    made, place = [], []
    folds = np.unique(base.fold)
    shares = np.array([base.weight[base.fold == fold].sum() for fold in folds])
    shares /= shares.sum()
    ends = np.rint(n_samples * np.minimum(np.cumsum(shares), 1.0)).astype(np.intp)
    for fold, share, n in zip(folds, shares, np.diff(ends, prepend=0), strict=True):
        if n == 0:
            continue
        of_fold = base.fold == fold
        # What is drawn of a fold depends on its own rows alone, and without folds on the seed.
        its_seed = (
            seed
            if of_fold.all()
            else int(np.random.SeedSequence([seed, int(fold) + 1]).generate_state(1)[0])
        )
        X, weight = _made_from(law, predictor, base, of_fold, n, its_seed)
        weight *= share / weight.sum()
        made.append(Bunch(X=X, weight=weight, fold=np.full(len(X), fold)))
        # so that the first rows, if time allows no more, are of all folds
        place.append((np.arange(len(X)) + 0.5) / len(X))
    if len(made) == 1:
        return made[0]
    order = np.argsort(np.concatenate(place), kind="stable")  # all folds mixed
    return Bunch(**{name: np.concatenate([some[name] for some in made])[order] for name in made[0]})


def _made_from(law, predictor, base, among, n_samples, seed):
    """Synthetic rows made from some of the base rows, and their weights.

    Where the predictor's answers to these are unbalanced, base rows of the rare ones are picked
    more often, and the rows made from them weigh less.
    """
    everywhere = law.everywhere()
    labels = base.answers.argmax(axis=1)
    share = np.zeros(base.answers.shape[1])
    if predictor.target != "value":
        weight = base.weight * among
        share = weight @ one_hot(base.answers) / weight.sum()
    present = np.flatnonzero(share)
    least = LEAST_SHARE / max(present.size, 1)
    if present.size < 2 or share[present].min() >= least:
        region = replace(everywhere, q=among.astype(np.float64))
        return law.manufacture(region, n_samples, seed), np.ones(n_samples)
    # A rare answer needs rows to be learned at all; weights make up for it.
    raised = np.maximum(share[present], least)
    counts = np.ceil(n_samples * raised / raised.sum()).astype(np.intp)
    rows = [
        law.manufacture(
            replace(everywhere, q=((labels == c) & among).astype(np.float64)), n, seed + k
        )
        for k, (c, n) in enumerate(zip(present, counts, strict=True))
    ]
    weight = np.repeat(share[present] / counts, counts)
    order = np.random.default_rng([seed, 4]).permutation(counts.sum())
    return np.concatenate(rows)[order], weight[order]


def _answers_in_time(predictor, X, per_batch):
    """Answers to the rows, or to the first of them when time runs out; at least to one batch."""
    if time_left() == np.inf:
        return predictor.answers(X)
    answers = []
    for begin in range(0, X.shape[0], per_batch):
        if answers and is_late():
            break
        answers.append(predictor.answers(X[begin : begin + per_batch]))
    return np.concatenate(answers)
