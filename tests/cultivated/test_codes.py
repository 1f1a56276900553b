"""Codes of values against the axes of the package and plain NumPy."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ensemble_simplify.cultivated import _growth
from ensemble_simplify.cultivated._growth import MISSING_BIN, encode
from ensemble_simplify.grid.axes import Axes


def columns(seed, n, p, levels, missing):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, p))
    if levels:
        X = np.round(X * levels) / levels
    X[rng.random(X.shape) < missing] = np.nan
    return X, rng.integers(1, 4, size=n).astype(float)


@settings(deadline=None, max_examples=60)
@given(
    seed=st.integers(0, 10**6),
    n=st.integers(1, 60),
    p=st.integers(1, 4),
    levels=st.sampled_from([0, 1, 4]),
    missing=st.sampled_from([0.0, 0.3, 1.0]),
    max_bins=st.sampled_from([None, 2, 7, 100]),
)
def test_codes_are_those_of_axes_with_the_same_cut_points(seed, n, p, levels, missing, max_bins):
    X, weight = columns(seed, n, p, levels, missing)
    codes, n_codes, values = encode(X, weight, max_bins)
    of_feature = np.split(values, np.cumsum(n_codes)[:-1])
    axes = Axes(of_feature, "float64")
    known = ~np.isnan(X).T
    assert np.all(codes[~known] == (-1 if max_bins is None else MISSING_BIN))
    for axis, feature in enumerate(axes.features):
        expected = axes.encode_rows(X)[axis][known[feature]]
        np.testing.assert_array_equal(codes[feature][known[feature]], expected)
    for j in range(p):
        distinct = np.unique(X[known[j], j])
        assert n_codes[j] == len(of_feature[j])
        if max_bins is None or len(distinct) <= max_bins:
            np.testing.assert_array_equal(of_feature[j], distinct)
        else:
            assert set(of_feature[j]) <= set(distinct)
            assert of_feature[j][-1] == distinct[-1]
            assert len(of_feature[j]) <= max_bins


def test_bins_have_about_equal_mass():
    rng = np.random.default_rng(0)
    X, weight = rng.normal(size=(20_000, 1)), rng.random(20_000)
    codes, n_codes, _ = encode(X, weight, 50)
    assert n_codes[0] == 50
    mass = np.bincount(codes[0], weights=weight)
    np.testing.assert_allclose(mass, weight.sum() / 50, atol=1.0)


@pytest.mark.parametrize("max_bins", [None, 30])
def test_parts_change_nothing(max_bins, monkeypatch):
    X, weight = columns(0, 200, 7, 0, 0.1)
    whole = encode(X, weight, max_bins)
    monkeypatch.setattr(_growth, "VALUES_PER_PART", 400)
    for one, other in zip(whole, encode(X, weight, max_bins), strict=True):
        np.testing.assert_array_equal(one, other)


def test_decoding():
    X, weight = columns(1, 50, 3, 4, 0.0)
    codes = encode(X, weight, None)
    feature, row = np.indices((3, 50)).reshape(2, -1)
    np.testing.assert_array_equal(codes.decode(feature, codes.codes[feature, row]), X[row, feature])
