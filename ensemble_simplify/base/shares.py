"""What is known of a share that was counted on some rows."""

from __future__ import annotations

import numpy as np
from scipy.stats import beta


def binomial_interval(hits, n, confidence=0.95):
    """Clopper and Pearson's interval of a probability: lower and upper ends, shaped as `hits`.

    Successes (`hits`) need not be whole, if the number `n` of trials is an effective one; of no
    trials nothing is known.
    """
    tail = (1.0 - confidence) / 2.0
    hits = np.asarray(hits, dtype=np.float64)
    misses = n - hits
    some, not_all = hits > 1e-9, misses > 1e-9
    low = beta.ppf(tail, np.where(some, hits, 1.0), misses + 1.0)
    high = beta.ppf(1.0 - tail, hits + 1.0, np.where(not_all, misses, 1.0))
    return np.where(some, low, 0.0), np.where(not_all, high, 1.0)
