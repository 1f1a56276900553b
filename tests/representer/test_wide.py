"""Tables of many columns: folds grow on fewer rows, so that the effort stays bounded."""

import numpy as np
from sklearn.ensemble import RandomForestClassifier
from sklearn.frozen import FrozenEstimator

from ensemble_simplify import RepresenterTree
from ensemble_simplify.representer import _grower
from ensemble_simplify.sampling import folds


def test_folds_of_wide_tables_grow_on_fewer_rows(monkeypatch):
    sizes, grow = [], _grower.grow_trees

    def noted(rows, *args, **kwargs):
        sizes.append(rows.X.shape)
        return grow(rows, *args, **kwargs)

    monkeypatch.setattr(_grower, "grow_trees", noted)
    monkeypatch.setattr(folds, "_MOST_ENTRIES", 30_000)
    X = np.random.default_rng(0).normal(size=(40, 50))
    model = RandomForestClassifier(3, random_state=0).fit(X, X[:, 0] > 0)
    RepresenterTree(
        FrozenEstimator(model), max_leaf_nodes=4, sampler="auto", n_folds=2, random_state=0
    ).fit(X)
    assert sizes
    assert max(n_rows * n_columns for n_rows, n_columns in sizes) <= 30_000
