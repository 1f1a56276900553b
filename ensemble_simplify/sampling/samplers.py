"""The law of synthetic rows for a value of the parameter `sampler`."""

from __future__ import annotations

from ensemble_simplify.sampling.copula import CopulaLaw
from ensemble_simplify.sampling.law import KernelLaw, Law
from ensemble_simplify.sampling.leaves import LeafLaw


def make_law(*, sampler, smearing, n_neighbors, decaying, seed, **common):
    """Make the law; `common` are the rows, their weights, columns and gaps, and `keep_rows`."""
    if sampler == "kernel":
        return KernelLaw(**common)
    if sampler == "leaves":
        return LeafLaw(**common, seed=seed)
    if sampler == "copula":
        return CopulaLaw(**common, smearing=smearing, seed=seed)
    if sampler == "neighbors":
        return Law(**common, smearing=smearing, n_neighbors=n_neighbors, decaying=decaying)
    return Law(**common, smearing=smearing)
