"""Tables under a tree: models in the codes of one table, and columns that lack numbers.

Such columns stand twice: with their gaps above all numbers, and below them. A split of the first of
the two sends gaps right, one of the second sends them left. So trees that send them either way are
trees over axes like all others, and no node of theirs is doubled.
"""

from __future__ import annotations

import numpy as np

from ensemble_simplify.base import with_gaps
from ensemble_simplify.grid import Axes, Splits, TreeNodes


def forest_on(model, table, name="estimator"):
    """The forest of a model that was read, over the codes of another table of the same columns.

    ValueError, which calls the model by `name`, if it takes numbers where the table has text.
    """
    if not model.table.knows_kinds_of(table):
        kinds = enumerate(zip(model.table.columns, table.columns, strict=True))
        j = next(j for j, (mine, given) in kinds if not mine.knows_kind_of(given))
        raise ValueError(
            f"{name}={model.name}(...) was fitted on numbers in the column "
            f"{j if table.names is None else table.names[j]!r}, which is text in X. Give the rows "
            "that it was fitted on, or the pipeline that makes numbers of them."
        )
    return model.on_codes_of(table).forest


class GapColumns:
    """The columns of a table, and those with gaps a second time after them.

    Where there are no gaps, rows and trees stay as they are.

    Parameters
    ----------
    gaps : Gaps
        Of all rows.
    """

    def __init__(self, gaps):
        self.gaps = gaps
        self.n_features = len(gaps.seen)
        self.lacking = np.flatnonzero(gaps.seen)

    def rows(self, X):
        """Rows of all columns: NaN is above all numbers, minus infinity below them."""
        if not self.lacking.size:
            return X
        below = X[:, self.lacking]
        return np.column_stack([X, np.where(np.isnan(below), X.dtype.type(-np.inf), below)])

    def axes(self, forests):
        """The axes of forests (or `Splits`) over the table, and their trees over these axes."""
        forests = [self._splits(forest) for forest in forests]
        return Axes.of(*forests), forests

    def _splits(self, forest):
        if not self.lacking.size:
            return forest
        forest = forest.splits
        left, right, feature, threshold = (
            a.copy() for a in (forest.left, forest.right, forest.feature, forest.threshold)
        )
        twin = np.full(self.n_features, -1)
        twin[self.lacking] = self.n_features + np.arange(len(self.lacking))
        if forest.missing_left is not None:
            turned = np.flatnonzero((feature >= 0) & forest.missing_left & (twin[feature] >= 0))
            # gaps alone go left: they stand on the right of an infinite threshold
            alone = turned[threshold[turned] == -np.inf]
            left[alone], right[alone] = right[alone], left[alone]
            threshold[alone] = np.inf
            others = turned[threshold[turned] < np.inf]
            feature[others] = twin[feature[others]]
        missing = np.append(self.gaps.seen, np.zeros(len(self.lacking), dtype=bool))
        arrays = left, right, feature, threshold
        return Splits(len(missing), forest.offsets, *arrays, missing=missing, source=forest.source)

    def written(self, nodes, n_rows):
        """A tree over the columns of the table; as `with_gaps` answers."""
        below = nodes.feature >= self.n_features
        feature = nodes.feature.copy()
        feature[below] = self.lacking[feature[below] - self.n_features]
        nodes = TreeNodes(nodes.left, nodes.right, feature, nodes.threshold)
        return with_gaps(nodes, self.gaps, n_rows, below)
