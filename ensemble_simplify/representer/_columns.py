"""Which columns are categorical, and which move together."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ensemble_simplify.base import column_index


@dataclass(frozen=True, eq=False)
class Columns:
    """The categorical columns, and the coordinates: groups of columns, and single ones."""

    categorical: np.ndarray  # uint8 (n_columns,)
    coordinates: list  # of intp arrays of columns, groups first

    @classmethod
    def resolve(cls, categorical_features, feature_groups, n_columns, names):
        categorical = np.zeros(n_columns, dtype=np.uint8)
        if categorical_features is not None:
            categorical[
                _column_numbers("categorical_features", categorical_features, n_columns, names)
            ] = 1
        group_of = np.full(n_columns, -1, dtype=np.intp)
        coordinates = []
        for g, group in enumerate(feature_groups or ()):
            numbers = _column_numbers(f"feature_groups[{g}]", group, n_columns, names)
            if (twice := numbers[group_of[numbers] >= 0]).size:
                column = twice[0] if names is None else repr(names[twice[0]])
                raise ValueError(
                    f"feature_groups[{g}] and feature_groups[{group_of[twice[0]]}] both hold "
                    f"column {column}. A column belongs to one group at most: join the groups."
                )
            group_of[numbers] = g
            coordinates.append(np.sort(numbers))
        coordinates += [np.array([j], dtype=np.intp) for j in np.flatnonzero(group_of < 0)]
        return cls(categorical, coordinates)

    def levels(self, X):
        """The codes of every categorical column, ascending, as float32."""
        return {
            int(j): np.unique(X[:, j].astype(np.float32)) for j in np.flatnonzero(self.categorical)
        }


def _column_numbers(parameter, columns, n_columns, names):
    """Turn names, numbers or a mask of columns into distinct numbers."""
    columns = np.atleast_1d(np.asarray(columns))
    if columns.size == 0:
        return np.zeros(0, dtype=np.intp)
    if columns.ndim != 1:
        raise ValueError(f"{parameter} has shape {columns.shape}. Give a flat list of columns.")
    if columns.dtype.kind == "b":
        if columns.size != n_columns:
            raise ValueError(
                f"{parameter} is a mask of {columns.size} columns, but X has {n_columns}."
            )
        return np.flatnonzero(columns)
    numbers = [column_index(column, parameter, n_columns, names) for column in columns.tolist()]
    return np.unique(np.array(numbers, dtype=np.intp))
