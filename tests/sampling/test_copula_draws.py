"""Normal noise inside a box, against integration, rejection and the quantiles of SciPy."""

import numpy as np
import pytest
from ensemble_simplify.sampling._copula_draws import Box, normal, read_values
from scipy import stats
from scipy.special import ndtr, ndtri

SHIFT, SCALE = np.sqrt(0.75), np.sqrt(0.25)

CORRELATION = np.array([[1.0, 0.6, -0.5], [0.6, 1.0, 0.1], [-0.5, 0.1, 1.0]])

ENDS = [
    [[-0.3, 0.4], [0.2, np.inf], [-np.inf, 0.1]],
    [[1.0, np.inf], [-1.0, 1.5], [-0.5, 0.5]],
    [[-np.inf, -0.8], [-np.inf, 0.0], [-0.2, np.inf]],
]

SCORES = np.random.default_rng(3).standard_normal((7, 3))

WEIGHT = np.array([1.0, 2.0, 1.0, 3.0, 1.0, 0.0, 2.0])


def box_of(ends, n_orders=3):
    """Each of the first columns in front of the others, in turn."""
    order = np.array([[f, *(k for k in range(3) if k != f)] for f in range(n_orders)])
    roots = [np.linalg.cholesky(CORRELATION[np.ix_(own, own)]) for own in order]
    return Box(SCORES, np.array(ends), order, np.array(roots), SHIFT, SCALE)


def chances(ends):
    """P(all scores inside | base row), by integration of the normal density."""
    low, high = np.array(ends).T
    return np.array(
        [
            stats.multivariate_normal(SHIFT * scores, SCALE**2 * CORRELATION, seed=0).cdf(
                high, lower_limit=low
            )
            for scores in SCORES
        ]
    )


def test_normal_distribution():
    x = np.concatenate([np.linspace(-37.5, 8.0, 4001), [0.0, -0.0]])
    probability, back = np.empty((2, x.size))
    normal(x, probability, back)
    np.testing.assert_allclose(probability, ndtr(x), rtol=1e-13)
    np.testing.assert_allclose(back, ndtri(probability), rtol=1e-13, atol=1e-15)


@pytest.mark.parametrize("ends", ENDS)
@pytest.mark.parametrize("n_orders", [1, 3])
def test_draws_in_a_box(ends, n_orders):
    box, exact = box_of(ends, n_orders), chances(ends)
    bounds = WEIGHT.copy()
    box.bound(bounds)
    # every base row's chance in its tightest column is a bound of that in all of them
    low, high = ((np.array(ends).T[:, None] - SHIFT * SCORES) / SCALE)[:, :, :n_orders]
    np.testing.assert_allclose(bounds, WEIGHT * (ndtr(high) - ndtr(low)).min(axis=1), rtol=1e-9)
    assert (bounds >= WEIGHT * exact - 1e-7).all()

    n, most = 20_000, 10**7
    base, noise = np.empty(n, dtype=np.intp), np.empty((n, 3))
    assert box.draw(bounds, 1, most, base, noise) == n
    scores = SHIFT * SCORES[base] + SCALE * noise
    assert (scores > np.array(ends)[:, 0]).all()
    assert (scores <= np.array(ends)[:, 1]).all()
    # as many rows of each base row as its chance says
    counts, expected = np.bincount(base, minlength=7), WEIGHT * exact
    assert counts[5] == 0
    expected *= n / expected.sum()
    rare = expected < 5
    pairs = [np.append(x[~rare], x[rare].sum()) for x in (counts, expected)]
    pairs = [x[pairs[1] > 0] for x in pairs]
    assert stats.chisquare(*pairs).pvalue > 1e-3
    # and noise as it is where rows outside are thrown away
    rng = np.random.default_rng(0)
    b = int(counts.argmax())
    free = rng.multivariate_normal(np.zeros(3), CORRELATION, 400_000)
    at = SHIFT * SCORES[b] + SCALE * free
    free = free[((at > np.array(ends)[:, 0]) & (at <= np.array(ends)[:, 1])).all(axis=1)]
    assert len(free) > 500
    for direction in np.vstack([np.eye(3), [[1, 1, 0], [1, 0, -1], [0, 1, 1], [1, -1, 1]]]):
        assert stats.ks_2samp(noise[base == b] @ direction, free @ direction).pvalue > 1e-4

    # the same mass from the share that is kept, and from weights
    total, n_kept = (WEIGHT * exact).sum(), box.draw(bounds, 2, 10_000, *_room(10_000))
    share = total / bounds.sum()
    assert abs(n_kept / 10_000 - share) < 4 * np.sqrt(share * (1 - share) / 10_000)
    base, noise = _room(4000)
    weights = np.empty(4000)
    box.weigh(bounds, 3, weights, base, noise)
    assert weights.mean() * bounds.sum() == pytest.approx(total, rel=0.02)
    spread = np.bincount(base, minlength=7) - 4000 * bounds / bounds.sum()
    assert np.abs(spread).max() <= 2
    scores = SHIFT * SCORES[base] + SCALE * noise
    assert (scores > np.array(ends)[:, 0] - 1e-12).all()
    assert (scores < np.array(ends)[:, 1] + 1e-12).all()


def _room(n):
    return np.empty(n, dtype=np.intp), np.empty((n, 3))


def test_few_tries():
    """No more rows are tried than are allowed."""
    box, bounds = box_of(ENDS[0]), WEIGHT.copy()
    box.bound(bounds)
    base, noise = _room(50)
    n = box.draw(bounds, 0, 60, base, noise)
    assert 0 < n < 50
    again, same = _room(50)
    assert box.draw(bounds, 0, 10_000, again, same) == 50
    np.testing.assert_array_equal(again[:n], base[:n])
    np.testing.assert_array_equal(same[:n], noise[:n])


@pytest.mark.parametrize("is_even", [True, False])
def test_values_at_ranks(is_even):
    """The value whose share of the rows holds the probability below the score."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((50, 3))
    weight = np.ones(50) if is_even else rng.integers(1, 4, 50).astype(float)
    column_of = np.array([2, 0])
    row = np.argsort(X[:, column_of], axis=0).T.copy()
    share = np.zeros((2, 51))
    share[:, 1:] = np.cumsum(weight[row], axis=1) / weight.sum()
    places = np.array([[0, 50], [10, 40]])
    scores, noise = rng.standard_normal((50, 2)), rng.standard_normal((400, 2))
    base = rng.integers(0, 50, 400)
    out = np.zeros((400, 3))
    value = np.sort(X[:, column_of], axis=0).T.copy()
    read_values(noise, base, scores, SHIFT, SCALE, share, is_even, places, value, column_of, out)
    u = ndtr(SHIFT * scores[base] + SCALE * noise)
    for k, j in enumerate(column_of):
        place = np.searchsorted(share[k], u[:, k], side="right") - 1
        np.testing.assert_array_equal(out[:, j], value[k, np.clip(place, *(places[k] - [0, 1]))])
    assert (out[:, 1] == 0.0).all()
