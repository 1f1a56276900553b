"""Products of float64 matrices with the same roundings on every processor."""

from __future__ import annotations

import numpy as np

_SUBSCRIPTS = {(1, 1): "i,i->", (2, 1): "ij,j->i", (1, 2): "i,ij->j", (2, 2): "ij,jk->ik"}


def product(a, b):
    """``a @ b``, summed in one order.

    BLAS, which stands behind ``@``, takes another kernel on another processor. Where a choice hangs
    on such a sum, and values that are equal but for rounding are common, this takes its place.
    """
    return np.einsum(_SUBSCRIPTS[a.ndim, b.ndim], a, b)
