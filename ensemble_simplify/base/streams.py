"""Rows that do not lie in memory, taken batch by batch."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any


def batches(X: Any) -> Iterator | None:
    """The frames or arrays that a stream of rows hands out one after another.

    Parameters
    ----------
    X : object
        The path of a Parquet file, or of a folder of such; an iterator or a generator of frames; a
        lazy frame of polars; a pyarrow table, dataset or reader of batches; a Dask frame; or
        anything with an Arrow stream that is no array, as a relation of DuckDB.

    Returns
    -------
    batches : iterator or None
        None where the rows lie in memory, and are read as they are.
    """
    if isinstance(X, str | Path):
        from pyarrow.dataset import dataset

        X = dataset(X)
    if hasattr(X, "__next__"):
        found = X
    elif hasattr(X, "collect_batches"):
        found = X.collect_batches()
    elif hasattr(X, "to_batches"):
        found = iter(X.to_batches())
    elif hasattr(X, "to_delayed") and hasattr(X, "partitions"):
        # one partition at a time, so that no two have to be in memory together
        found = (part.compute() for part in X.partitions)
    elif hasattr(X, "__arrow_c_stream__") and not hasattr(X, "__array__"):
        import pyarrow as pa

        found = iter(pa.RecordBatchReader.from_stream(X))
    else:
        return None
    frames = (part.to_pandas() if hasattr(part, "to_pandas") else part for part in found)
    return (frame for frame in frames if len(frame))
