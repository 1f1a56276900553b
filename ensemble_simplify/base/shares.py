"""Shares as users write them, what some rows tell of them, and sums that round alike anywhere."""

from __future__ import annotations

import numpy as np
from scipy.special import betaincinv
from scipy.stats import binom

_SUBSCRIPTS = {(1, 1): "i,i->", (2, 1): "ij,j->i", (1, 2): "i,ij->j", (2, 2): "ij,jk->ik"}


def share_in_words(text):
    """The share that a text such as "60%" names; None if it names none."""
    text = text.strip()
    try:
        number = float(text.removesuffix("%"))
    except ValueError:
        return None
    return number / 100.0 if text.endswith("%") and 0 <= number < np.inf else None


def check_atol(atol, has_rows=True) -> None:
    """Refuse a text for `atol` that is no share, or of nothing, before any work is done."""
    if not isinstance(atol, str):
        return
    if share_in_words(atol) is None:
        raise ValueError(
            f"atol={atol!r} is not a tolerance. Give a number, or a share of the standard "
            "deviation of the model's answers to the training rows such as '10%'."
        )
    if not has_rows:
        raise ValueError(
            f"atol={atol!r} is a share of the standard deviation of answers to rows, but there are "
            "none. Give rows X, or atol as a number."
        )


def absolute_tolerance(atol, answers, weight=None) -> float:
    """The number that `atol` stands for, given a model's answers to rows and their weights.

    A text is a share of the standard deviation of the answers; of several outputs (probabilities
    of classes), of the largest one.
    """
    if not isinstance(atol, str):
        return float(atol)
    answers = np.asarray(answers, dtype=np.float64)
    mean = np.average(answers, axis=0, weights=weight)
    deviation = np.sqrt(np.average((answers - mean) ** 2, axis=0, weights=weight))
    return share_in_words(atol) * float(np.max(deviation))


def binomial_interval(hits, n, confidence=0.95) -> tuple:
    """Clopper and Pearson's interval of a probability: lower and upper ends, shaped as `hits`.

    Successes (`hits`) need not be whole, if the number `n` of trials is an effective one; of no
    trials nothing is known.
    """
    tail = (1.0 - confidence) / 2.0
    hits = np.asarray(hits, dtype=np.float64)
    misses = n - hits
    some, not_all = hits > 1e-9, misses > 1e-9
    # the quantiles of scipy.stats.beta, which checks its parameters longer than it computes
    low = betaincinv(np.where(some, hits, 1.0), misses + 1.0, tail)
    high = betaincinv(hits + 1.0, np.where(not_all, misses, 1.0), 1.0 - tail)
    return np.where(some, low, 0.0), np.where(not_all, high, 1.0)


def quantile_interval(values, share, confidence=0.95) -> tuple[float, float]:
    """Ends of an interval of a quantile of a distribution, from values drawn from it.

    They are two of the values, or infinite where there are too few: the interval covers the
    quantile at least as often as `confidence` says, whatever the distribution is.
    """
    tail = (1.0 - confidence) / 2.0
    n, rising = len(values), np.sort(values)
    # values up to the quantile are a share of the draws, at least; those below it are one at most
    below = binom.cdf(np.arange(n), n, share)
    first = int(np.searchsorted(below, tail, side="right"))
    last = int(np.searchsorted(below, 1.0 - tail, side="left"))
    low = rising[first - 1] if first else -np.inf
    return float(low), float(rising[last] if last < n else np.inf)


def r2(truth, predicted) -> float:
    """The share of the variance that is explained; nan without rows.

    As scikit-learn's, which takes much longer for the few rows of one of many samples.
    """
    if not len(truth):
        return np.nan
    error, spread = np.sum((truth - predicted) ** 2), np.sum((truth - truth.mean()) ** 2)
    if spread == 0:
        return float(error == 0)
    return float(1 - error / spread)


def product(a, b) -> np.ndarray:
    """``a @ b``, summed in one order.

    BLAS, which stands behind ``@``, takes another kernel on another processor. Where a choice hangs
    on such a sum, and values that are equal but for rounding are common, this takes its place.
    """
    return np.einsum(_SUBSCRIPTS[a.ndim, b.ndim], a, b)
