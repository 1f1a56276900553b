"""Rows beyond memory in verify, differences, nearest_flip, simplify and score, as at once."""

from __future__ import annotations

from itertools import pairwise
from warnings import catch_warnings

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_iris
from sklearn.tree import DecisionTreeClassifier

from ensemble_simplify import (
    Domain,
    GenesimClassifier,
    agreement,
    differences,
    nearest_flip,
    simplify,
    verify,
)
from ensemble_simplify.base import Stream

X, Y = load_iris(return_X_y=True, as_frame=True)
X.iloc[7, 0] = np.nan
DEEP = DecisionTreeClassifier(random_state=0).fit(X, Y)
FLAT = DecisionTreeClassifier(max_depth=2, random_state=0).fit(X, Y)


def batches(frame=X, at=(1, 2, 90)):
    ends = [0, *at, len(frame)]
    return [frame.iloc[i:j] for i, j in pairwise(ends)]


def test_streams_are_rows_again_and_again(tmp_path):
    pytest.importorskip("pyarrow")
    X.to_parquet(tmp_path / "rows.parquet", row_group_size=40)
    for stream in (Stream.of(batches()), Stream.of(tmp_path / "rows.parquet")):
        for _ in range(2):
            pd.testing.assert_frame_equal(pd.concat(stream, ignore_index=True), X)
    once = Stream.of(iter(batches()))
    assert len(pd.concat(once)) == 150
    assert not list(once)
    assert Stream.of(X) is None
    assert Stream.of(X.to_numpy()) is None
    assert Stream.of(X.to_numpy().tolist()) is None


@pytest.mark.parametrize("at", [(), (1, 30), range(1, 1000)])
def test_rows_are_drawn_alike_wherever_batches_end(at):
    frame = pd.DataFrame({"x": np.arange(1000.0), "level": pd.Categorical(["a", "b"] * 500)})
    rows, places, n_rows = Stream.of(batches(frame, at)).drawn(lambda width: 50 * width, 0)
    assert n_rows == 1000
    assert rows["x"].tolist() == places.tolist() == sorted(set(places.tolist()))
    assert len(rows) == 100
    np.testing.assert_array_equal(
        places, np.sort(np.random.RandomState(0).rand(1000).argsort()[:100])
    )
    assert rows["level"].dtype == frame["level"].dtype


@pytest.mark.parametrize("max_changes", [0, 1])
@pytest.mark.parametrize("other", [DEEP, FLAT])
def test_verify(other, max_changes):
    whole = verify(DEEP, other, X=X, max_changes=max_changes)
    found = verify(DEEP, other, X=batches(), max_changes=max_changes)
    assert found.equal == whole.equal == (other is DEEP)
    if not found:
        row, changed = X.iloc[found.row].to_numpy(), found.counterexample.ravel()
        assert (~np.isclose(changed, row, equal_nan=True)).sum() <= max_changes
        row = pd.DataFrame(found.counterexample.reshape(1, -1), columns=X.columns)
        assert DEEP.predict(row) != FLAT.predict(row)


def test_gaps_of_later_batches_count_for_earlier_ones():
    column = np.array([[1.0], [1.0], [2.0], [np.nan]])
    one = DecisionTreeClassifier().fit(column, [0, 0, 0, 1])
    rows = [pd.DataFrame([[1.0]]), pd.DataFrame([[np.nan]])]
    assert verify(one, one, X=rows, max_changes=1)
    known = DecisionTreeClassifier().fit(np.array([[1.0], [2.0], [np.nan]]), [0, 0, 0])
    # near the first row, which lacks nothing, a gap is one change away
    found = verify(one, known, X=rows, max_changes=1)
    assert (found.equal, found.row) == (False, 0)
    with pytest.raises(ValueError, match=r"domain=Domain\(missing"):
        verify(one, known, X=iter(rows), max_changes=1)
    assert (
        verify(one, known, X=iter(rows), max_changes=1, domain=Domain(missing=[0])).equal is False
    )


def test_differences_and_flips():
    whole, found = (differences(DEEP, FLAT, rows, random_state=0) for rows in (X, batches()))
    assert str(found) == str(whole)
    domain = Domain.from_rows(X, ranges=False)
    whole = nearest_flip(DEEP, X[88:93], domain=domain)
    found = nearest_flip(DEEP, batches(X[88:93], (1, 3)), domain=domain)
    assert [flip.changes for flip in found] == [flip.changes for flip in whole]
    with pytest.raises(ValueError, match=r"Domain\.from_rows"):
        nearest_flip(DEEP, batches())


def test_simplify_and_score():
    options = {"methods": ["representer"], "max_leaf_nodes": 4, "random_state": 0}
    rows = X.fillna(5.0)
    whole = simplify(DEEP, rows, Y, **options)
    table = rows.assign(y=Y)
    for stream, labels in ((batches(rows), Y), (batches(table), "y"), (table, "y")):
        found = simplify(DEEP, stream, labels, **options)
        assert found.export_text() == whole.export_text()
        best = found.results[found.best]
        with catch_warnings(action="ignore"):
            assert best.score(stream, labels) == (best.predict(rows) == Y).mean()
    # rows to learn from may hold the labels, too
    small, more = (
        simplify(DEEP, table[:75], "y", X_more=also[75:], **options) for also in (rows, table)
    )
    assert small.export_text() == more.export_text()
    for ask in (
        lambda: simplify(DEEP, batches(table), "z"),
        lambda: best.score(batches(table), "z"),
    ):
        with pytest.raises(ValueError, match="y='z' names no column of X, which has"):
            ask()


def test_paths_and_iterators(tmp_path):
    whole = str(differences(DEEP, FLAT, X, random_state=0))
    assert str(differences(DEEP, FLAT, iter(batches()), random_state=0)) == whole
    pytest.importorskip("pyarrow")
    X.to_parquet(tmp_path / "rows.parquet")
    assert str(differences(DEEP, FLAT, str(tmp_path / "rows.parquet"), random_state=0)) == whole


def test_agreement_of_rows_with_gaps_and_levels():
    frame = pd.DataFrame({"a": [0.0, 1.0, np.nan, 3.0] * 9, "b": ["u", "v", "w", None] * 9})
    labels = np.array([0, 0, 1, 1] * 9)
    models = [GenesimClassifier(random_state=i).fit(frame, labels) for i in range(2)]
    assert agreement(*models, frame, volume=False).n_rows == 36


def test_agreement_of_many_rows_holds_few_at_a_time(monkeypatch):
    monkeypatch.setattr("ensemble_simplify.base.streams.SLICE", 40)
    found = agreement(DEEP, FLAT, X, volume=False)
    assert found.n_rows == 150
    assert found.n_different == (DEEP.predict(X) != FLAT.predict(X)).sum()
