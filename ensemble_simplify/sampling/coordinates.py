"""Which columns are categorical, and which move together."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ensemble_simplify.reading import column_indices


@dataclass(frozen=True, eq=False)
class Coordinates:
    """What moves together: groups of columns, and single ones."""

    categorical: np.ndarray  # uint8 (n_columns,)
    coordinates: list  # of intp arrays of columns, groups first
    # bool (n_columns,): of values between which there are none, such as codes of levels; and of
    # levels without an order, so that no level is next to another; None: no such columns
    discrete: np.ndarray | None = None
    unordered: np.ndarray | None = None

    @classmethod
    def resolve(cls, categorical_features, feature_groups, n_columns, names):
        categorical = np.zeros(n_columns, dtype=np.uint8)
        if categorical_features is not None:
            categorical[
                column_indices(categorical_features, "categorical_features", n_columns, names)
            ] = 1
        group_of = np.full(n_columns, -1, dtype=np.intp)
        coordinates = []
        for g, group in enumerate(feature_groups or ()):
            numbers = column_indices(group, f"feature_groups[{g}]", n_columns, names)
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

    @property
    def nominal(self):
        """Which coordinates have values without an order, as a bool array."""
        by_column = self.categorical.astype(bool)
        if self.unordered is not None:
            by_column = by_column | self.unordered
        return np.array([m.size > 1 or by_column[m[0]] for m in self.coordinates], dtype=bool)

    def levels(self, X):
        """The codes of every categorical column, ascending, as float32."""
        levels = {
            int(j): np.unique(X[:, j].astype(np.float32)) for j in np.flatnonzero(self.categorical)
        }
        return {j: own[~np.isnan(own)] for j, own in levels.items()}
