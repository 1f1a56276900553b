"""What is learned without a fold of the rows, asked about it; and the choice of a law by that.

To `learn` from rows (of `Sample.rows`) is to make a function that answers rows X, once for each of
some sizes of what was learned: an array of shape (n_sizes, n_rows, n_outputs).
"""

from __future__ import annotations

from functools import partial

import numpy as np

from ensemble_simplify.grid import in_threads, limits, time_left
from ensemble_simplify.sampling.labelled import Sample
from ensemble_simplify.sampling.predictor import agreement

# Rows that are learned from without a fold, at most; and so many where a law is chosen.
_MOST_LEARNED, _MOST_TRIED = 24_000, 6_000
# Entries of these rows, at most, of tables with many columns; so many rows are learned from anyway.
_MOST_ENTRIES, _LEAST_LEARNED = 2_000_000, 500

# Where folds are asked for: synthetic rows of the laws of all folds together, as a share of those
# of the tree, and the fewest of one fold.
_FOLDS_SHARE, _LEAST_UNSEEN = 0.5, 2_000

# Synthetic rows of each law, where one is chosen: so many times the training rows, and at most.
_TRIED, _MOST_TRIALS = 10, 4_000

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
        # a number is the same for all: two copulas would then be one law
        if smearing == "auto" or law["sampler"] not in (
            known["sampler"] for known in laws.values()
        ):
            laws[name] = law
    return laws


def draw_folds(answers, n_folds, random):
    """A fold for each row, at random; rows with equal or similar answers are in all folds."""
    key = answers.argmax(axis=1) if answers.shape[1] > 1 else answers[:, 0]
    order = random.permutation(len(key))
    order = order[np.argsort(key[order], kind="stable")]
    fold_of = np.empty(len(key), dtype=np.intp)
    for begin in range(0, len(key), n_folds):
        # rows of like answers, one for each fold
        block = order[begin : begin + n_folds]
        fold_of[block] = random.permutation(n_folds)[: block.size]
    return fold_of


class UnseenAnswers:
    """Answers to rows X of what is learned from rows without their fold, in so many sizes.

    ``rows_without(fold)`` gives what is learned from. The array `answers`, of shape
    (n_sizes, n_rows, n_outputs), is filled by `calls`, one a fold, which can be made in threads.
    Rows of no fold have zeros.
    """

    def __init__(self, rows_without, X, fold_of, shape, learn):
        self.X, self.fold_of = X, fold_of
        self.rows_without, self.learn = rows_without, learn
        n_sizes, n_outputs = shape
        self.answers = np.zeros((n_sizes, len(X), n_outputs))

    def calls(self) -> list:
        """Functions that learn without a fold each, and ask what was learned about it."""
        return [partial(self._learn, fold) for fold in np.unique(self.fold_of[self.fold_of >= 0])]

    def _learn(self, fold):
        places = np.flatnonzero(self.fold_of == fold)
        learned = self.learn(self.rows_without(fold))
        self.answers[:, places] = learned(self.X[places])


def most_learned(n_columns, most=_MOST_LEARNED) -> int:
    """Rows that are learned from without a fold, at most."""
    return min(most, max(_MOST_ENTRIES // n_columns, _LEAST_LEARNED))


def n_unseen(n_samples, n_folds) -> int:
    """Synthetic rows of each fold beside one sample of so many: fewer, as the model is asked."""
    return min(n_samples, max(int(_FOLDS_SHARE * n_samples / n_folds), _LEAST_UNSEEN))


def unseen_agreement(answers_by_size, rows, predictor) -> np.ndarray:
    """How well answers to rows that were not learned from agree with those known; one a size."""
    judged = rows.fold >= 0
    truth = predictor.decode(rows.told[judged])
    return np.array(
        [
            agreement(
                truth, predictor.decode(answers[judged]), predictor.target, rows.weight[judged]
            )
            for answers in answers_by_size
        ]
    )


def choose_law(
    laws, rows, predictor, n_sizes, learn, *, seed, n_jobs=None
) -> tuple[str, dict[str, np.ndarray], np.ndarray]:
    """The law from whose rows is learned what agrees best with what is known of other rows.

    `laws` are laws and the rows that they are made of, by name. Returns the name of the one chosen,
    the agreement at each size by name, and, of the one chosen, the answers to rows that were not
    learned from.
    """
    judged = rows.fold >= 0
    most = min(_MOST_TRIALS, max(_MOST_ENTRIES // rows.X.shape[1], _LEAST_LEARNED))
    n_samples = min(_TRIED * len(rows.X), most)
    per_batch = n_samples // 10

    def sampled(law, base):
        # Each law has a share of what is left: a slow model must not spend all on the first.
        with limits(_TRIAL_SHARE * time_left()):
            return Sample(law, predictor, rows, base, n_samples, seed, per_batch)

    samples = in_threads(n_jobs, [partial(sampled, *each) for each in laws.values()])
    most, shape = most_learned(rows.X.shape[1], _MOST_TRIED), (n_sizes, rows.answers.shape[1])
    trials = [
        UnseenAnswers(partial(sample.rows, most=most), rows.X, rows.fold, shape, learn)
        for sample in samples
    ]
    # the folds of all laws together keep the threads busy
    in_threads(n_jobs, [call for trial in trials for call in trial.calls()])
    answers = {name: trial.answers for name, trial in zip(laws, trials, strict=True)}
    agreements = {name: unseen_agreement(each, rows, predictor) for name, each in answers.items()}
    scores = {
        name: _score(each[:, judged], rows.told[judged], predictor.target)
        for name, each in answers.items()
    }
    best = clearly_best(scores, rows.weight[judged])
    return best, agreements, answers[best]


def clearly_best(scores, weight):
    """The name of the best scores of rows; the first unless others are better beyond the noise."""
    first, *others = scores
    best, lead = first, 0.0
    # rows that are paired: what is hard for one law is hard for all
    for name in others:
        gain = scores[name] - scores[first]
        mean = np.average(gain, weights=weight)
        error = np.sqrt(np.square(weight * (gain - mean)).sum()) / weight.sum()
        if mean > lead and mean > _CLEARLY * error:
            best, lead = name, mean
    return best


def _score(answers, truth, target):
    """What each row tells of all sizes together: equal labels, or squared errors."""
    if target == "value":
        return -np.square(answers - truth).sum(axis=2).mean(axis=0)
    return (answers.argmax(axis=2) == truth.argmax(axis=1)).mean(axis=0)
