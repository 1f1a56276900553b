"""Columns as codes of bins."""

import numpy as np
import pytest

from ensemble_simplify.grid import code_columns


@pytest.mark.parametrize("most", [4, 1000])
def test_codes_are_counts_of_the_cuts_below(most):
    random = np.random.default_rng(0)
    X = np.column_stack(
        [random.normal(size=60), random.integers(3, size=60), np.full(60, 2.0), np.full(60, np.nan)]
    )
    X[:7, 0] = np.nan
    codes = np.empty((4, 60), dtype=np.uint16)
    cuts = code_columns(X, most, codes)
    for x, code, cut in zip(X.T.astype(np.float32), codes, cuts, strict=True):
        values = np.unique(x[~np.isnan(x)]).astype(np.float64)
        between = (values[1:] + values[:-1]) / 2
        assert set(cut) <= set(between)
        assert len(cut) == len(between) or 1 <= len(cut) < most
        expected = np.where(np.isnan(x), len(cut) + 1, np.searchsorted(cut, x.astype(np.float64)))
        np.testing.assert_array_equal(code, expected)
