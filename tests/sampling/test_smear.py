"""The law of synthetic rows, against rejection sampling in plain NumPy."""

from dataclasses import replace

import numpy as np
import pytest
from ensemble_simplify.representer._best_split import best_split
from ensemble_simplify.sampling._smear import windows
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from ensemble_simplify.reading import Gaps
from ensemble_simplify.sampling.law import ColumnSplit, Coordinates, bandwidth
from ensemble_simplify.sampling.learner import make_law as _make_law


def make_columns(n_columns, categorical=(), groups=()):
    return Coordinates.resolve(list(categorical), list(groups), n_columns, None)


def make_law(X, weight=None, columns=None, **options):
    options = {
        "sampler": "smear",
        "smearing": 0.5,
        "keep_rows": 0.0,
        "n_neighbors": 8,
        "seed": 5,
    } | options
    if weight is None:
        weight = np.ones(X.shape[0])
    if columns is None:
        columns = make_columns(X.shape[1])
    return _make_law(X=X, weight=weight, columns=columns, **options)


def neighbor_probabilities(x, n, weight, width):
    """P(value of row m | base row n): the definition, row by row."""
    order = np.argsort(x, kind="stable")
    places = np.empty((x.size, 2), dtype=np.int32)
    windows(np.ascontiguousarray(x[order]), width, places)
    begin, end = places[int(np.flatnonzero(order == n)[0])]
    p = np.zeros(x.size)
    p[order[begin:end]] = weight[order[begin:end]]
    return p / p.sum()


def normal_scores(x, weight, order):
    """Normal quantiles of the middles of the weighted ranks, in a given order of the rows."""
    assert (np.diff(x[order].astype(np.float32)) >= 0).all()
    below = np.cumsum(weight[order]) - weight[order]
    scores = np.empty(len(x))
    scores[order] = stats.norm.ppf((below + weight[order] / 2) / weight.sum())
    return scores


def from_copula(X, weight, law, base, smearing, rng):
    """Values of all ordered columns: the definition, with the law's order of ties."""
    columns = law.column_of
    # rows without weight share the score of the row before
    orders = [
        np.lexsort((X[:, j].astype(np.float32), law.scores[:, k])) for k, j in enumerate(columns)
    ]
    z = np.column_stack(
        [normal_scores(X[:, j], weight, order) for j, order in zip(columns, orders, strict=True)]
    )
    centred = z - np.average(z, axis=0, weights=weight)
    covariance = np.cov(centred.T, aweights=weight, ddof=0)
    scale = np.sqrt(np.diag(covariance))
    correlation = covariance / np.outer(scale, scale)
    correlation = 0.999 * correlation + 0.001 * np.eye(len(columns))
    noise = rng.multivariate_normal(np.zeros(len(columns)), correlation, len(base))
    u = stats.norm.cdf(np.sqrt(1 - smearing) * z[base] + np.sqrt(smearing) * noise)
    values = np.empty_like(u)
    for k, (j, order) in enumerate(zip(columns, orders, strict=True)):
        ends = np.cumsum(weight[order]) / weight.sum()
        values[:, k] = X[order[np.minimum(np.searchsorted(ends, u[:, k]), len(X) - 1)], j]
    return values


def manufacture(
    X, weight, columns, n, rng, law, *, sampler="smear", smearing=0.5, keep_rows=0.0, **options
):
    """Rows from the whole law, straight from its definition."""
    base = rng.choice(len(X), n, p=weight / weight.sum())
    out = np.empty((n, X.shape[1]))
    if sampler == "copula":
        out[:, law.column_of] = from_copula(X, weight, law, base, smearing, rng)
    tree = rng.integers(30, size=n)
    for members in columns.coordinates:
        source = rng.choice(len(X), n, p=weight / weight.sum())
        nominal = members.size > 1 or columns.categorical[members[0]]
        nominal |= columns.unordered is not None and columns.unordered[members[0]]
        lacks = np.zeros(len(X), dtype=bool)
        if law.gaps is not None and law.gaps.seen[members[0]]:
            lacks = X[:, members[0]] == law.gaps.stand_in[members[0]]
        if sampler == "copula" and not nominal:
            continue
        if sampler == "neighbors" and not nominal:
            x = X[:, members[0]]
            for m in range(len(X)):
                # a gap is near gaps alone, which are all the same; a number is near numbers
                alike = np.flatnonzero(lacks == lacks[m])
                width = len(alike) if lacks[m] else min(options["n_neighbors"], len(alike))
                own = int(np.flatnonzero(alike == m)[0])
                p = neighbor_probabilities(x[alike], own, weight[alike], width)
                mine = base == m
                source[mine] = rng.choice(alike, mine.sum(), p=p)
        elif sampler == "kernel" and not nominal:
            x, has = X[source, members[0]], ~lacks
            width = bandwidth(X[has, members[0]], weight[has])
            drawn = x + width * rng.standard_normal(n)
            while lacks.any() and (low := drawn <= law.gaps.stand_in[members[0]]).any():
                drawn[low] = x[low] + width * rng.standard_normal(low.sum())
                drawn[lacks[source]] = np.inf
            out[:, members[0]] = np.where(lacks[source], x, drawn)
            continue
        elif sampler == "leaves":
            for m, t in np.ndindex(len(X), 30):
                mine = (base == m) & (tree == t)
                mates = np.flatnonzero(law.cell_of[:, t] == law.cell_of[m, t])
                p = weight[mates] / weight[mates].sum()
                source[mine] = rng.choice(mates, mine.sum(), p=p)
        elif sampler != "kernel":
            source = np.where(rng.random(n) < smearing, source, base)
        out[:, members] = X[np.ix_(source, members)]
    kept = rng.random(n) < keep_rows
    out[kept] = X[base[kept]]
    return out


def data(seed=0, n=60):
    """Two dependent columns, one with ties, one of codes, and a group of two."""
    rng = np.random.default_rng(seed)
    a = rng.standard_normal(n)
    block = np.eye(3)[rng.integers(0, 3, n)][:, :2]
    codes = rng.choice([1.0, 2.0, 5.0, 7.0], n, p=[0.4, 0.3, 0.2, 0.1])
    X = np.column_stack([a, a + 0.3 * rng.standard_normal(n), np.round(2 * a), codes, block])
    return X, make_columns(6, categorical=[3], groups=[[4, 5]])


SPLITS = [
    (ColumnSplit(0, 0.1), True),
    (ColumnSplit(3, np.nan, np.array([1.0, 7.0], dtype=np.float32)), False),
    (ColumnSplit(1, -0.9), False),
    (ColumnSplit(4, 0.5), True),
    (ColumnSplit(2, -1.0), False),
]


def data_with_gaps(seed=0, n=70):
    """Two columns that lack together, levels without an order and a gap, and a full column."""
    rng = np.random.default_rng(seed)
    a = rng.standard_normal(n)
    X = np.column_stack([a, a + 0.5 * rng.standard_normal(n), rng.choice(4, n), 2 * a])
    X[:, 3] += rng.standard_normal(n)
    lacks = rng.random(n) < 0.3
    X[lacks, 0] = np.nan
    X[lacks & (rng.random(n) < 0.8), 1] = np.nan
    X[rng.random(n) < 0.1, 2] = np.nan
    levels = np.array([False, False, True, False])
    columns = replace(make_columns(4), discrete=levels, unordered=levels)
    gaps = Gaps.of(X)
    return gaps.fill(X), columns, gaps


SPLITS_WITH_GAPS = [
    (ColumnSplit(3, 1.5), True),
    (ColumnSplit(2, 0.5), False),
    (ColumnSplit(0, 0.4), True),
    (ColumnSplit(1, -10.0, missing_left=True), False),
]

LAWS = [
    {"sampler": "smear", "smearing": 0.5},
    {"sampler": "smear", "smearing": 0.15},
    {"sampler": "smear", "smearing": 1.0},
    {"sampler": "neighbors", "n_neighbors": 7},
    {"sampler": "neighbors", "n_neighbors": 12},
    {"sampler": "kernel"},
    {"sampler": "smear", "smearing": 0.5, "keep_rows": 0.3},
    {"sampler": "neighbors", "n_neighbors": 7, "keep_rows": 0.6},
    {"sampler": "kernel", "keep_rows": 0.5},
    {"sampler": "copula", "smearing": 0.5},
    {"sampler": "copula", "smearing": 1.0, "keep_rows": 0.5},
    {"sampler": "copula", "smearing": 0.2, "keep_rows": 0.3},
    {"sampler": "leaves"},
    {"sampler": "leaves", "keep_rows": 0.3},
]


def region_of(law, splits):
    region = law.everywhere()
    for split, left in splits:
        region = law.parts(region, split)[0 if left else 1]
    return region


def inside(X, splits):
    mask = np.ones(len(X), dtype=bool)
    for split, left in splits:
        mask &= split.goes_left(X[:, split.column]) == left
    return mask


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("options", LAWS, ids=lambda o: "-".join(map(str, o.values())))
def test_same_law_as_rejection(options, weighted):
    X, columns = data()
    pairs = [(0, 1), (0, 2), (1, 3), (2, 5), (4, 5)]
    check_against_rejection(X, columns, None, options, weighted, SPLITS, pairs)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("options", LAWS, ids=lambda o: "-".join(map(str, o.values())))
def test_same_law_as_rejection_with_gaps_and_levels(options, weighted):
    X, columns, gaps = data_with_gaps()
    pairs = [(0, 1), (0, 2), (1, 2), (1, 3), (2, 3)]
    law = check_against_rejection(X, columns, gaps, options, weighted, SPLITS_WITH_GAPS, pairs)
    if options["sampler"] == "neighbors":
        # what rows lack together they lack together in what is drawn, no matter how few they are
        drawn = law.with_gaps(law.manufacture(law.everywhere(), 4000, 3))
        told = law.with_gaps(law.X)
        patterns = {tuple(row) for row in np.isnan(told)[:, :2].tolist()}
        assert {tuple(row) for row in np.isnan(drawn)[:, :2].tolist()} == patterns


def check_against_rejection(X, columns, gaps, options, weighted, all_splits, pairs):
    """Compare regions and draws with rows of the whole law, made straight from its definition."""
    rng = np.random.default_rng(1)
    weight = rng.integers(1, 5, len(X)).astype(float) if weighted else np.ones(len(X))
    law = make_law(X, weight, columns, gaps=gaps, **options)
    options = {"n_neighbors": None} | options
    reference = manufacture(X, weight, columns, 150_000, rng, law, **options)
    # the copula's probabilities are estimates from 2048 proposals
    slack = 0.03 if options["sampler"] == "copula" else 1e-12
    for depth in range(len(all_splits) + 1):
        splits = all_splits[:depth]
        region = region_of(law, splits)
        probability = law.probability(region)
        mask = inside(reference, splits)
        # The probability of the region, by its z-score.
        sd = np.sqrt(probability * (1 - probability) / mask.size)
        assert abs(mask.mean() - probability) <= 4 * sd + slack * probability
        accepted = reference[mask]
        drawn = law.draw(region, 4000, 20 + depth)[0]
        assert inside(drawn, splits).all()
        assert len(accepted) > 300
        p_values = []
        for j in range(X.shape[1]):  # every column
            smooth = options["sampler"] == "kernel" and not columns.nominal[law.coordinate_of[j]]
            if np.unique(X[:, j]).size < 10 and not smooth:
                levels = np.unique(X[:, j])
                table = [
                    [np.count_nonzero(s[:, j] == v) for v in levels] for s in (drawn, accepted)
                ]
                p_values.append(chi_square(np.array(table)))
            else:
                p_values.append(stats.ks_2samp(drawn[:, j], accepted[:, j]).pvalue)
        for i, j in pairs:  # and pairs, in a 4 by 4 table
            p_values.append(chi_square(joint_table(drawn, accepted, i, j)))
        if gaps is not None:  # and what they lack together
            bits = 2 ** np.arange(X.shape[1])
            lacking = [np.isnan(law.with_gaps(rows)) @ bits for rows in (drawn, accepted)]
            counts = [np.bincount(each, minlength=2 * bits[-1]) for each in lacking]
            p_values.append(chi_square(np.array(counts)))
        assert min(p_values) > 1e-3 / len(p_values)
    return law


def joint_table(a, b, i, j):
    cells = []
    for k in (i, j):
        edges = np.unique(np.quantile(a[:, k], [0.25, 0.5, 0.75]))
        cells.append([np.searchsorted(edges, s[:, k]) for s in (a, b)])
    return np.array([np.bincount(4 * cells[0][s] + cells[1][s], minlength=16) for s in (0, 1)])


def chi_square(table):
    table = table[:, table.sum(axis=0) > 0]
    if table.shape[1] < 2:
        return 1.0
    rare = table.sum(axis=0) < 10
    table = np.column_stack([table[:, ~rare], table[:, rare].sum(axis=1)])
    table = table[:, table.sum(axis=0) > 0]
    return stats.chi2_contingency(table, correction=False).pvalue if table.shape[1] > 1 else 1.0


@pytest.mark.parametrize("options", LAWS, ids=lambda o: "-".join(map(str, o.values())))
@given(seed=st.integers(0, 10_000), n=st.integers(1, 40), depth=st.integers(0, 8))
@settings(max_examples=25, deadline=None)
def test_both_sides_add_up_row_by_row(options, seed, n, depth):
    rng = np.random.default_rng(seed)
    X, columns = data(seed, n)
    law = make_law(X, rng.integers(1, 4, n).astype(float), columns, **options)
    region = law.everywhere()
    for _ in range(depth):
        j = rng.integers(6)
        split = ColumnSplit(j, float(rng.choice(X[:, j]) + rng.choice([0.0, 0.01, -0.4])))
        if j == 3:
            split = ColumnSplit(3, np.nan, rng.choice([1.0, 2.0, 5.0, 7.0], 2).astype(np.float32))
        left, right = law.parts(region, split)
        np.testing.assert_allclose(left.q + right.q, region.q, rtol=1e-11, atol=1e-300)
        region = left if rng.random() < 0.5 else right
        if law.probability(region) <= 1e-12:
            break


@pytest.mark.parametrize("sampler", ["smear", "neighbors"])
def test_exact_in_binary_fractions(sampler):
    """Where every probability is a binary fraction, both sides add up to the last bit."""
    rng = np.random.default_rng(0)
    X = rng.permuted(np.tile(np.arange(32.0)[:, None], 3), axis=0)
    law = make_law(X, sampler=sampler, smearing=0.5, n_neighbors=8)
    region = law.everywhere()
    split = ColumnSplit(1, 12.5)
    left, right = law.parts(region, split)
    np.testing.assert_array_equal(left.q + right.q, region.q)
    assert law.probability(left) + law.probability(right) == 1.0


def test_probability_by_hand():
    X = np.array([[0.0, 0.0], [1.0, 1.0], [2.0, 2.0], [3.0, 3.0]])
    law = make_law(X, smearing=0.25)
    region = law.parts(law.everywhere(), ColumnSplit(0, 0.5))[0]  # one row of four inside
    np.testing.assert_allclose(region.q, [0.8125, 0.0625, 0.0625, 0.0625])
    region = law.parts(region, ColumnSplit(1, 0.5))[1]
    np.testing.assert_allclose(
        region.q, np.array([0.8125, 0.0625, 0.0625, 0.0625]) * [0.1875, 0.9375, 0.9375, 0.9375]
    )
    law = make_law(X, np.array([1.0, 1.0, 1.0, 5.0]), smearing=1.0)
    region = law.parts(law.everywhere(), ColumnSplit(0, 2.5))[1]
    np.testing.assert_allclose(region.q, 5 / 8)


def test_no_smearing_gives_training_rows_of_the_region():
    X, columns = data()
    law = make_law(X, columns=columns, smearing=0.0)
    for depth in range(4):
        region = region_of(law, SPLITS[:depth])
        mask = inside(X, SPLITS[:depth])
        np.testing.assert_array_equal(region.q, mask)
        drawn = law.draw(region, 2000, depth)[0]
        known = {row.tobytes() for row in X[mask]}
        assert {row.tobytes() for row in drawn} == known


def test_leaves_are_of_rows_that_are_alike():
    """Every leaf holds rows enough, a tree's leaves all rows, and a bent relation is kept."""
    rng = np.random.default_rng(0)
    a, b = rng.uniform(-1, 1, (2, 600))
    X = np.column_stack([a, a**2, b])
    law = make_law(X, sampler="leaves")
    for cells in law.cell_of.T:
        counts = np.unique(cells, return_counts=True)[1]
        assert counts.sum() == 600
        assert counts.min() >= 20
    drawn = law.draw(law.everywhere(), 5000, 0)[0]
    assert all(set(drawn[:, j]) <= set(X[:, j]) for j in range(3))
    apart = make_law(X, sampler="smear", smearing=1.0)
    other = apart.draw(apart.everywhere(), 5000, 0)[0]
    errors = [np.abs(rows[:, 1] - rows[:, 0] ** 2).mean() for rows in (drawn, other)]
    assert errors[0] < 0.75 * errors[1]
    # the same law, the same rows; another, others
    again = make_law(X, sampler="leaves")
    np.testing.assert_array_equal(again.draw(again.everywhere(), 5000, 0)[0], drawn)
    other = make_law(X, sampler="leaves", seed=6)
    assert (other.draw(other.everywhere(), 5000, 0)[0] != drawn).any()


@pytest.mark.parametrize("sampler", ["smear", "copula", "leaves"])
def test_groups_move_together(sampler):
    X, columns = data()
    law = make_law(X, columns=columns, sampler=sampler, smearing=1.0)
    drawn = law.draw(law.everywhere(), 5000, 0)[0]
    assert {tuple(r) for r in drawn[:, 4:]} <= {tuple(r) for r in X[:, 4:]}
    apart = make_law(X, smearing=1.0)
    assert (1.0, 1.0) in {tuple(r) for r in apart.draw(apart.everywhere(), 5000, 0)[0][:, 4:]}


def test_levels_are_never_invented():
    X, columns = data()
    for options in LAWS:
        law = make_law(X, columns=columns, **options)
        assert set(law.draw(law.everywhere(), 3000, 3)[0][:, 3]) == set(X[:, 3])


@pytest.mark.parametrize("sampler", ["smear", "neighbors", "kernel", "copula", "leaves"])
def test_kept_rows_are_told(sampler):
    """As many training rows as the law says, each named; the others are manufactured."""
    X, columns = data()
    weight = np.random.default_rng(0).integers(1, 4, len(X)).astype(float)
    law = make_law(X, weight, columns, sampler=sampler, keep_rows=0.4)
    region = region_of(law, SPLITS[:2])
    drawn, source = law.draw(region, 20_000, 3)
    kept = source >= 0
    np.testing.assert_array_equal(drawn[kept], X[source[kept]])
    mask = inside(X, SPLITS[:2])
    np.testing.assert_array_equal(region.inside, mask)
    assert mask[source[kept]].all()
    share = 0.4 * weight[mask].sum() / weight.sum() / law.probability(region)
    assert abs(kept.mean() - share) < 4 * np.sqrt(share * (1 - share) / kept.size)
    counts = np.bincount(source[kept], minlength=len(X))
    expected = kept.sum() * weight * mask / weight[mask].sum()
    assert stats.chisquare(counts[mask], expected[mask]).pvalue > 1e-3
    everything = make_law(X, weight, columns, sampler=sampler, keep_rows=1.0)
    np.testing.assert_array_equal(everything.chances(region), mask)
    assert (everything.draw(region, 100, 0)[1] >= 0).all()


def test_copula_keeps_distributions_and_rank_correlations():
    """The whole copula, smearing=1: columns as they were, pairs about as correlated as before."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((400, 3)) @ rng.standard_normal((3, 3))
    X[:, 2] = np.exp(X[:, 2])
    law = make_law(X, sampler="copula", smearing=1.0)
    drawn = law.draw(law.everywhere(), 20_000, 0)[0]
    for j in range(3):
        assert set(drawn[:, j]) <= set(X[:, j])
        assert stats.ks_2samp(drawn[:, j], X[:, j]).pvalue > 1e-3
    gap = stats.spearmanr(drawn).statistic - stats.spearmanr(X).statistic
    assert np.abs(gap).max() < 0.03
    # and rows stay near their base row the longer, the less is smeared
    for smearing in (0.05, 0.5):
        near = make_law(X, sampler="copula", smearing=smearing)
        only = near.everywhere()
        only.q[:] = np.arange(400) == 7
        drawn = near.draw(only, 4000, 0)[0]
        z = stats.norm.ppf((stats.rankdata(X[:, 0]) - 0.5) / 400)
        drawn_z = np.sort(z)[np.searchsorted(np.sort(X[:, 0]), drawn[:, 0])]
        assert drawn_z.mean() == pytest.approx(np.sqrt(1 - smearing) * z[7], abs=0.05)
        assert drawn_z.std() == pytest.approx(np.sqrt(smearing), rel=0.08)


def test_copula_with_more_columns_than_rows():
    X = np.random.default_rng(0).standard_normal((12, 300))
    law = make_law(X, sampler="copula")
    region = region_of(law, [(ColumnSplit(3, 0.0), True), (ColumnSplit(200, 0.3), False)])
    drawn = law.draw(region, 500, 0)[0]
    assert (drawn[:, 3] <= 0.0).all()
    assert (drawn[:, 200] > 0.3).all()
    assert all(set(drawn[:, j]) <= set(X[:, j]) for j in range(300))


def test_copula_in_a_region_that_rejection_hardly_reaches():
    """Where hardly a proposal is accepted rows are resampled: approximate, but inside."""
    rng = np.random.default_rng(0)
    a = rng.standard_normal(200)
    X = np.column_stack([a, a + 0.01 * rng.standard_normal(200), -a])
    law = make_law(X, sampler="copula", smearing=0.5)
    region = law.everywhere()
    for split, left in [
        (ColumnSplit(0, 1.2), False),
        (ColumnSplit(1, -1.2), True),
        (ColumnSplit(2, 0.0), False),
    ]:
        region = law.parts(region, split)[0 if left else 1]
    drawn = law.draw(region, 300, 0)[0]
    assert (drawn[:, 0] > 1.2).all()
    assert (drawn[:, 1] <= -1.2).all()
    assert (drawn[:, 2] > 0.0).all()
    assert 0.0 <= law.probability(region) < 1e-6


def test_integer_weights_are_repeated_rows():
    X, columns = data()
    times = np.random.default_rng(0).integers(1, 4, len(X))
    weighted = make_law(X, times.astype(float), columns)
    repeated = make_law(np.repeat(X, times, axis=0), columns=columns)
    for depth in range(len(SPLITS) + 1):
        a, b = region_of(weighted, SPLITS[:depth]), region_of(repeated, SPLITS[:depth])
        np.testing.assert_allclose(np.repeat(a.q, times), b.q, rtol=1e-12)
        np.testing.assert_allclose(weighted.probability(a), repeated.probability(b), rtol=1e-12)


def test_regions_compare_in_float32():
    """1 + 1e-9 is 1 in float32: both rows stay on the same side of any threshold."""
    X = np.array([[1.0], [1.0 + 1e-9], [2.0]])
    law = make_law(X, smearing=0.5)
    left = law.parts(law.everywhere(), ColumnSplit(0, 1.0))[0]
    assert law.probability(left) == pytest.approx(2 / 3)
    assert set(law.draw(left, 500, 0)[0][:, 0]) == {1.0, 1.0 + 1e-9}


def test_kernel_draws_stay_inside_thin_and_far_regions():
    X = np.random.default_rng(0).standard_normal((50, 1))
    law = make_law(X, sampler="kernel")
    for low, high in [(-1e-7, 1e-7), (4.0, 4.5), (-8.0, -6.0), (7.0, np.inf)]:
        region = law.parts(law.everywhere(), ColumnSplit(0, low))[1]
        if np.isfinite(high):
            region = law.parts(region, ColumnSplit(0, high))[0]
        drawn = law.draw(region, 2000, 0)[0].astype(np.float32)
        assert (drawn > low).all()
        assert (drawn <= high).all()
        assert law.probability(region) > 0


def test_same_seed_same_rows():
    X, columns = data()
    for options in LAWS:
        law = make_law(X, columns=columns, **options)
        region = region_of(law, SPLITS[:2])
        np.testing.assert_array_equal(law.draw(region, 50, 7)[0], law.draw(region, 50, 7)[0])
        assert (law.draw(region, 50, 7)[0] != law.draw(region, 50, 8)[0]).any()


def test_deep_regions_keep_their_probability():
    """A region around one row in 40 columns: about (1 - p) ** 40, with no underflow or drift."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((30, 40))
    law = make_law(X, smearing=0.5)
    region = law.everywhere()
    for j in range(40):
        region = law.parts(region, ColumnSplit(j, X[4, j] + 1e-4))[0]
        region = law.parts(region, ColumnSplit(j, X[4, j] - 1e-4))[1]
    expected = np.full(30, (0.5 / 30) ** 40)
    expected[4] = (0.5 + 0.5 / 30) ** 40
    np.testing.assert_allclose(region.q, expected, rtol=1e-9)
    np.testing.assert_array_equal(law.draw(region, 20, 0)[0], np.tile(X[4], (20, 1)))


# ---------------------------------------------------------------------- windows


@given(
    values=st.lists(st.integers(0, 12), min_size=1, max_size=25).map(sorted),
    width=st.integers(1, 25),
)
@settings(max_examples=100, deadline=None)
def test_windows_hold_the_nearest_values(values, width):
    values = np.array(values, dtype=float)
    width = min(width, values.size)
    places = np.empty((values.size, 2), dtype=np.int32)
    windows(values, width, places)
    for own, (begin, end) in enumerate(places):
        assert end - begin == width
        assert begin <= own < end
        nearest = np.sort(np.abs(values - values[own]))[:width]
        np.testing.assert_array_equal(np.sort(np.abs(values[begin:end] - values[own])), nearest)


# ---------------------------------------------------------------------- the best split


def split_of(X, answers, categorical=None, bases=None, at_least=0, by_column=None):
    X = np.ascontiguousarray(X, dtype=float)
    if categorical is None:
        categorical = np.zeros(X.shape[1], dtype=np.uint8)
    if bases is None:
        bases = np.empty((0, X.shape[1]))
    if by_column is None:
        by_column = np.empty((0, 2))
    values = np.empty(len(X))
    members = np.arange(len(bases))
    column, n_values, threshold, decrease = best_split(
        X, answers, categorical, bases, members, at_least, values, by_column
    )
    return column, np.sort(values[:n_values]), threshold, decrease


@given(
    seed=st.integers(0, 10_000),
    n=st.integers(2, 25),
    n_bases=st.integers(0, 12),
    at_least=st.integers(1, 4),
)
@settings(max_examples=80, deadline=None)
def test_best_allowed_split_by_enumeration(seed, n, n_bases, at_least):
    """Of the splits that leave enough base rows on both sides, none lowers the variance more."""
    rng = np.random.default_rng(seed)
    X = rng.integers(0, 6, (n, 2)).astype(float)
    bases = rng.integers(0, 6, (n_bases, 2)).astype(float)
    answers = rng.standard_normal((n, 1))
    by_column = np.empty((2, 2))
    column, _, threshold, decrease = split_of(X, answers, None, bases, at_least, by_column)
    best = np.zeros(2)
    for j in range(2):
        values = np.unique(X[:, j])
        for t in (values[:-1] + values[1:]) / 2:
            n_left = np.count_nonzero(bases[:, j] <= t)
            if min(n_left, n_bases - n_left) >= at_least:
                best[j] = max(best[j], variance_decrease(answers, X[:, j] <= t))
    assert decrease == pytest.approx(best.max(), rel=1e-9, abs=1e-12)
    np.testing.assert_allclose(by_column[:, 0], best, rtol=1e-9, atol=1e-12)
    if column < 0:
        return
    n_left = np.count_nonzero(bases[:, column] <= threshold)
    assert min(n_left, n_bases - n_left) >= at_least
    # categories: both sets hold enough base rows, too
    kinds = np.array([1, 1], dtype=np.uint8)
    column, left, _, _ = split_of(X, answers, kinds, bases, at_least)
    if column >= 0:
        n_left = np.isin(bases[:, column], left).sum()
        assert n_left >= at_least
        assert n_bases - n_left >= at_least


@given(
    seed=st.integers(0, 10_000),
    n=st.integers(2, 60),
    n_classes=st.integers(2, 4),
    digits=st.integers(0, 3),
)
@settings(max_examples=80, deadline=None)
def test_best_split_is_scikit_learns(seed, n, n_classes, digits):
    rng = np.random.default_rng(seed)
    X = np.round(rng.standard_normal((n, 3)), digits)
    y = rng.integers(0, n_classes, n)
    column, _, threshold, decrease = split_of(X, np.eye(n_classes)[y])
    stump = DecisionTreeClassifier(max_depth=1).fit(X, y).tree_
    if column < 0:
        assert stump.node_count == 1 or impurity_decrease(stump) < 1e-12
        return
    assert decrease == pytest.approx(impurity_decrease(stump), abs=1e-12)
    left = X[:, column].astype(np.float32) <= threshold
    assert 0 < left.sum() < n

    values = rng.standard_normal((n, 2))
    column, _, threshold, decrease = split_of(X, values)
    stump = DecisionTreeRegressor(max_depth=1).fit(X, values).tree_
    if column >= 0:
        assert decrease == pytest.approx(2 * impurity_decrease(stump), rel=1e-9, abs=1e-12)


def impurity_decrease(stump):
    if stump.node_count == 1:
        return 0.0
    weight = stump.weighted_n_node_samples / stump.weighted_n_node_samples[0]
    return stump.impurity[0] - weight[1:] @ stump.impurity[1:]


@given(seed=st.integers(0, 10_000), n=st.integers(2, 40), n_levels=st.integers(2, 6))
@settings(max_examples=60, deadline=None)
def test_best_two_sets_of_levels_by_enumeration(seed, n, n_levels):
    """For one output, or two classes, the order of the means holds the best two sets."""
    rng = np.random.default_rng(seed)
    codes = rng.integers(0, n_levels, n).astype(float)
    for answers in (rng.standard_normal((n, 1)), np.eye(2)[rng.integers(0, 2, n)]):
        column, left, _, decrease = split_of(codes[:, None], answers, np.ones(1, dtype=np.uint8))
        best = 0.0
        levels = np.unique(codes)
        for k in range(1, 2 ** (levels.size - 1)):
            subset = levels[[(k >> b) & 1 == 1 for b in range(levels.size)]]
            best = max(best, variance_decrease(answers, np.isin(codes, subset)))
        assert decrease == pytest.approx(best, rel=1e-9, abs=1e-12)
        if column >= 0:
            found = variance_decrease(answers, np.isin(codes, left))
            assert found == pytest.approx(decrease, rel=1e-9, abs=1e-12)


def variance_decrease(answers, left):
    parts = [answers[left], answers[~left]]
    total = answers.var(axis=0).sum()
    return total - sum(len(a) / len(answers) * a.var(axis=0).sum() for a in parts if len(a))


def test_nothing_to_split():
    assert split_of(np.ones((5, 2)), np.eye(5))[0] == -1
    assert split_of(np.arange(5.0)[:, None], np.ones((5, 1)))[0] == -1
    negative_zero = np.array([[-0.0], [0.0], [-0.0], [0.0]])
    assert split_of(negative_zero, np.array([[0.0], [1.0], [0.0], [1.0]]))[0] == -1
