"""Rows that do not lie in memory, taken batch by batch."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any


def batches(X: Any) -> Iterator | None:
    """The frames or arrays that a stream of rows hands out one after another.

    Parameters
    ----------
    X : object
        An iterator or a generator of frames; a pyarrow table, dataset or reader of batches; a Dask
        frame; or anything with an Arrow stream that is no array, as a relation of DuckDB.

    Returns
    -------
    batches : iterator or None
        None where the rows lie in memory, and are read as they are.
    """
    if hasattr(X, "__next__"):
        found = X
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
