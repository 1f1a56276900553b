"""MLflow and skops, in their real packages: the same answers, and no code in the files."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_iris
from sklearn.ensemble import RandomForestClassifier
from sklearn.frozen import FrozenEstimator

from ensemble_simplify import (
    BornAgainClassifier,
    CultivatedForestClassifier,
    GenesimClassifier,
    save_mlflow,
    simplify,
    trusted_types,
)

X, Y = load_iris(return_X_y=True, as_frame=True)
FOREST = RandomForestClassifier(5, max_depth=3, random_state=0).fit(X, Y)


def of_text():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"a": rng.normal(size=200), "b": rng.choice(["u", "v", "w"], 200)})
    labels = np.where((frame["a"] > 0) & (frame["b"] != "u"), "yes", "no")
    forest = CultivatedForestClassifier(random_state=0).fit(frame, labels)
    options = {"methods": ["representer"], "max_leaf_nodes": 4, "random_state": 0}
    return simplify(forest, frame, labels, **options), frame


def of_categories():
    _, frame = of_text()
    rows = frame.astype({"b": "category"})
    return GenesimClassifier(random_state=0).fit(rows, frame["a"] > 0), rows


@pytest.mark.parametrize("made", [lambda: (FOREST, X), of_text, of_categories])
def test_mlflow(made, tmp_path):
    pyfunc = pytest.importorskip("mlflow.pyfunc")
    model, rows = made()
    save_mlflow(model, tmp_path / "model", X=rows)
    again = pyfunc.load_model(str(tmp_path / "model"))
    # MLflow itself turns no category into a text
    sent = rows.astype(dict.fromkeys(rows.select_dtypes("category"), object))
    np.testing.assert_array_equal(again.predict(sent), model.predict(rows))
    assert again.metadata.signature.inputs.input_names() == list(rows.columns)
    assert len(again.input_example) == 5
    endings = {path.suffix for path in (tmp_path / "model").rglob("*") if path.is_file()}
    assert not endings & {".pkl", ".pickle", ".joblib"}


def test_a_card_is_no_json_for_mlflow(tmp_path):
    pytest.importorskip("mlflow.pyfunc")
    card = simplify(FOREST, X[70:130], kinds=("scorecard",), random_state=0)
    with pytest.raises(TypeError, match="model is a scorecard of simplify"):
        save_mlflow(card, tmp_path / "model")


def test_skops(tmp_path):
    io = pytest.importorskip("skops.io")
    levels = X.assign(b=["u", None, "v"] * 50)
    near = BornAgainClassifier(FrozenEstimator(FOREST), max_changes=1)
    own = CultivatedForestClassifier(random_state=0)
    for estimator, rows in ((near, X), (own, levels), (own, X)):
        model = estimator.fit(rows, Y)
        io.dump(model, tmp_path / "model.skops")
        again = io.load(tmp_path / "model.skops", trusted=trusted_types(tmp_path / "model.skops"))
        np.testing.assert_array_equal(again.predict(rows), model.predict(rows))
    # what is not of this package is not trusted
    model.extra_ = pd.Timestamp(0)
    io.dump(model, tmp_path / "other.skops")
    assert not any("Timestamp" in own for own in trusted_types(tmp_path / "other.skops"))
