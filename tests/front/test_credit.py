"""A credit table with text and gaps: seven kinds of models, one call of `simplify` each."""

import numpy as np
from loans import each_kind, fitted, labels_of, many, strange, xgboost_classifier

from ensemble_simplify import simplify, verify
from ensemble_simplify.reading import Model


@each_kind
def test_one_call_for_a_model_of_loans(kind):
    model, X = fitted(kind)
    found = simplify(model, X, max_leaf_nodes=8, random_state=0)
    tree = found.best_model
    # a small tree follows it
    assert (tree.predict(X) == labels_of(kind, model, X)).mean() > 0.75
    assert tree.get_n_leaves() <= 8
    # it speaks of the columns and levels, takes what the model takes, and is exported
    text = tree.export_text()
    assert any(name in text for name in X.columns)
    if kind is not xgboost_classifier:  # which refuses new levels
        assert len(tree.predict(strange(X))) == 40
    assert "CASE" in tree.export("sql")
    assert verify(model, model, X=X[:50], max_changes=0)


@each_kind
def test_labels_of_a_hundred_thousand_rows_are_the_models_own(kind):
    model, X = fitted(kind)
    read = Model.of(model, rows=X)
    rows = many(kind, X, read.forest)
    found = read.forest.classes[read.forest.predict_index(read.table.read(rows))]
    np.testing.assert_array_equal(found, labels_of(kind, model, rows))
    assert len(np.unique(found)) == 2
