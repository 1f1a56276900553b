"""Rows that do not lie in memory, taken batch by batch: all of them, or some that are drawn."""

from __future__ import annotations

import operator
import pickle
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from pathlib import Path
from typing import Any, Self

import numpy as np
from sklearn.utils import check_random_state

from ensemble_simplify.base.rows import safe_indexing

# Rows of an array in memory that are taken at once, where no more of them is needed.
SLICE = 100_000


class Stream:
    """Frames or arrays that are handed out one after another, each with some rows.

    Parameters
    ----------
    begin : function
        Begins to hand them out.
    can_repeat : bool
        Whether it can begin anew.
    engine : function or None
        Has a function answer each part where it lies, and answers all of this, in order. None:
        parts are handed out, and answered here.
    """

    def __init__(
        self,
        begin: Callable[[], Iterable],
        can_repeat: bool = True,
        engine: Callable[[Callable], Iterable] | None = None,
    ):
        self._begin, self.can_repeat, self._engine = begin, can_repeat, engine

    @classmethod
    def of(cls, X: Any) -> Self | None:
        """The stream that a user gives as rows; None where they lie in memory.

        It is the path of a Parquet file, or of a folder of such; an iterator or a list of frames; a
        lazy frame of polars; a pyarrow table, dataset or reader of batches; a frame of Dask or
        Spark; or anything with an Arrow stream that is no array, as a relation of DuckDB.
        """
        if isinstance(X, str | Path):
            from pyarrow import dataset as ds

            rows = ds.dataset(X, format="parquet")
            return cls(lambda: _groups_of(rows))
        if isinstance(X, list | tuple) and X and hasattr(X[0], "columns"):
            return cls(lambda: X)
        if hasattr(X, "__next__"):
            return cls(lambda: X, can_repeat=False)
        if hasattr(X, "read_next_batch"):
            return cls(lambda: iter(X), can_repeat=False)
        if hasattr(X, "collect_batches"):
            return cls(X.collect_batches)
        if hasattr(X, "scanner"):
            # a dataset reads many batches ahead, unless it is told how few
            return cls(lambda: X.to_batches(batch_readahead=1, fragment_readahead=1))
        if hasattr(X, "to_batches"):
            return cls(X.to_batches)
        if hasattr(X, "to_delayed") and hasattr(X, "partitions"):
            # one partition at a time, so that no two have to be in memory together
            parts = X.partitions
            return cls(lambda: (part.compute() for part in parts), engine=partial(_on_dask, X))
        if hasattr(X, "mapInPandas"):
            engine = partial(_on_spark, X)
            return cls(lambda: engine(lambda rows: rows, in_turn=True), engine=engine)
        if hasattr(X, "__arrow_c_stream__") and not hasattr(X, "__array__"):
            import pyarrow as pa

            return cls(lambda: iter(pa.RecordBatchReader.from_stream(X)))
        return None

    @classmethod
    def of_slices(cls, X) -> Self | None:
        """Many rows in memory, some at a time; None: these are few."""
        starts = range(0, X.shape[0], SLICE)
        if len(starts) < 2:
            return None
        return cls(lambda: (safe_indexing(X, slice(i, i + SLICE)) for i in starts))

    def __iter__(self) -> Iterator:
        for part in self._begin():
            frame = part.to_pandas() if hasattr(part, "to_pandas") else part
            if len(frame):
                yield frame

    def answers(self, answer: Callable) -> list:
        """What a function answers to each part with rows, in order: tasks of their own engine."""
        if self._engine is None:
            return [answer(rows) for rows in self]
        found = self._engine(partial(_answer_rows, answer))
        return [own for own in found if own is not None]

    def drawn(self, most: Callable[[int], int], random_state: Any) -> tuple[Any, np.ndarray, int]:
        """Some rows, each as likely as any other, in their order; their numbers; and of how many.

        They are at most as many as a function of the number of columns says.

        They do not depend on where one batch ends and the next begins. No more than these rows and
        a batch are in memory.
        """
        rng, n = check_random_state(random_state), 0
        kept, places, keys, n_seen = None, np.zeros(0, dtype=np.intp), np.zeros(0), 0
        for part in self:
            # the rows with the smallest of random numbers stay
            places = np.append(places, n_seen + np.arange(len(part)))
            keys, n_seen = np.append(keys, rng.random_sample(len(part))), n_seen + len(part)
            kept, n = part if kept is None else stacked(kept, part), n or most(part.shape[1])
            if len(keys) > n:
                stay = np.sort(np.argpartition(keys, n)[:n])
                places, keys = places[stay], keys[stay]
                kept = safe_indexing(kept, stay)
        if kept is None:
            raise ValueError("X is a stream without rows. Give one that was not read before.")
        return kept, places, n_seen


def _answer_rows(answer, rows):
    """What a function answers to rows; None where there are none."""
    return answer(rows) if len(rows) else None


def _on_dask(X, answer):
    """The answers to the partitions of a Dask frame, by the scheduler that it would run on."""
    import dask

    # held once by each worker, not once in each task
    answer = dask.delayed(answer, traverse=False)
    return dask.compute(*(dask.delayed(operator.call)(answer, part) for part in X.to_delayed()))


def _on_spark(X, answer, in_turn=False):
    """The answers to batches of a Spark frame; with `in_turn`, those of one partition at a time."""

    def answered(batches):
        import pandas as pd

        for rows in batches:
            yield pd.DataFrame({"answer": [pickle.dumps(answer(rows))]})

    frame = X.mapInPandas(answered, "answer binary")
    rows = frame.toLocalIterator() if in_turn else frame.collect()
    return (pickle.loads(row.answer) for row in rows)


def labelled(X, name):
    """The column of a frame that holds labels, and the other columns."""
    names = list(getattr(X, "columns", ()))
    if name not in names:
        raise ValueError(
            f"y={name!r} names no column of X, which has {names}. Give one of these, or an array."
        )
    return X[name], X[[column for column in names if column != name]]


def _groups_of(dataset):
    """Batches of a dataset of Parquet, of one group of rows at a time: a scan would read ahead."""
    for file in dataset.get_fragments():
        for group in file.split_by_row_group():
            yield from group.to_batches(dataset.schema, batch_readahead=0)


def stacked(X, X_more):
    """Rows of both, one below the other."""
    if not hasattr(X, "columns"):
        return np.concatenate([X, X_more])
    if not hasattr(X, "iloc"):
        return X.vstack(X_more.cast(dict(X.schema)))
    import pandas as pd

    X, X_more = X.copy(deep=False), X_more.copy(deep=False)
    for name, kind in X.dtypes.items():
        # pandas would make objects of unlike categories, which the model may refuse
        if isinstance(kind, pd.CategoricalDtype) and X_more[name].dtype != kind:
            other = X_more[name].astype("category").cat.categories
            new = [level for level in other if level not in kind.categories]
            kind = pd.CategoricalDtype([*kind.categories, *new], ordered=kind.ordered)
            X[name], X_more[name] = X[name].astype(kind), X_more[name].astype(kind)
    return pd.concat([X, X_more], ignore_index=True)
