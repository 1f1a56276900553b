"""Principal reasons against all subsets, put to the model one by one."""

from itertools import chain, combinations

import numpy as np
import pandas as pd
import pytest
from sklearn.compose import make_column_transformer
from sklearn.ensemble import GradientBoostingRegressor, RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder

from ensemble_simplify import check, principal_reasons, verify


def by_hand(predict, row, reference, reached, max_size):
    """Minimal sets of columns, by trying all."""
    changing = []
    for own in chain.from_iterable(
        combinations(range(len(row)), k) for k in range(1, max_size + 1)
    ):
        moved = [reference[j] if j in own else entry for j, entry in enumerate(row)]
        if reached(predict(moved)):
            changing.append(set(own))
    minimal = [own for own in changing if not any(other < own for other in changing)]
    return {tuple(sorted(own)) for own in minimal}


@pytest.mark.parametrize("seed", range(6))
def test_classes(seed):
    rng = np.random.default_rng(seed)
    X = rng.integers(0, 4, (150, 6)).astype(float)
    y = (X[:, 0] * X[:, 1] + X[:, 2] - X[:, 3] > 2).astype(int) + (X[:, 4] > 2)
    model = RandomForestClassifier(7, random_state=seed).fit(X, y)
    rows, reference = X[:4], X[[140]]
    target = None if seed % 2 else int(model.predict(reference)[0])
    found = principal_reasons(model, rows, reference, target=target, max_size=3)
    n = 0
    for row, own in zip(rows, found, strict=True):
        (answer,) = model.predict([row])
        assert own.prediction == answer

        def reached(other, answer=answer):
            return other != answer if target is None else other == target

        expected = by_hand(lambda moved: model.predict([moved])[0], row, reference[0], reached, 3)
        if target == answer:
            assert own.reasons == []
            continue
        assert set(own.reasons) == expected
        assert own.complete_up_to == 3
        for columns, told in zip(own.reasons, own.answers, strict=True):
            moved = row.copy()
            moved[list(columns)] = reference[0, list(columns)]
            assert model.predict([moved])[0] == told
            n += 1
        sizes = list(map(len, own.reasons))
        assert sizes == sorted(sizes)
        if sizes:
            # which answers the sets lead to, not that to the reference, and how many they are
            led, _, told = str(own).partition(", because of ")
            assert {int(k) for k in led.split(" for ")[1].split(" or ")} == set(own.answers)
            others = f"one of {len(sizes) - 4:,} other sets"
            assert told.endswith(others) == (len(sizes) > 4)
    assert n or seed == 0 or target is not None


def test_frames_with_text_gaps_and_categories():
    rng = np.random.default_rng(0)
    X = pd.DataFrame(
        {
            "town": rng.choice(["x", "y", "z"], 200),
            "age": rng.integers(20, 60, 200),
            "kind": pd.Categorical(rng.choice(["a", "b"], 200)),
            "gap": np.where(rng.random(200) < 0.3, np.nan, rng.normal(size=200)),
        }
    )
    y = np.where((X["town"] == "x") & (X["age"] > 40) | X["gap"].isna(), "bad", "good")
    encoder = make_column_transformer((OneHotEncoder(), ["town", "kind"]), remainder="passthrough")
    model = make_pipeline(encoder, RandomForestClassifier(20, random_state=0)).fit(X, y)
    answers = model.predict(X)
    refused, reference = X[answers == "bad"][:5], X[answers == "good"].iloc[[0]]
    for i, own in enumerate(principal_reasons(model, refused, reference)):

        def predict(moved):
            return model.predict(pd.DataFrame([moved], columns=X.columns).astype(X.dtypes))[0]

        row = list(refused.iloc[i])
        expected = by_hand(predict, row, list(reference.iloc[0]), lambda one: one != "bad", 4)
        names = {tuple(X.columns[list(columns)]) for columns in expected}
        assert set(own.reasons) == names
        assert all(name in str(own) for name in chain.from_iterable(own.reasons[:4]))


def test_values_and_limits(monkeypatch):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(100, 5))
    model = GradientBoostingRegressor(n_estimators=20, random_state=0).fit(X, X[:, 0] + X[:, 1])
    order = np.argsort(model.predict(X))
    rows, reference = X[order[:1]], X[order[-1:]]
    low = float(np.median(model.predict(X)))
    (found,) = principal_reasons(model, rows, reference, target=(low, None))
    expected = by_hand(
        lambda moved: model.predict([moved])[0], rows[0], reference[0], lambda v: v >= low, 4
    )
    assert set(found.reasons) == expected
    assert found.alone == [own[0] for own in found.reasons if len(own) == 1]
    monkeypatch.setattr("ensemble_simplify.audit._principal._MOST_ROWS", 6)
    (found,) = principal_reasons(model, rows, reference, target=(low, None))
    assert found.complete_up_to == 1
    assert all(len(own) == 1 for own in found.reasons)


def test_nothing_changes_it():
    X = np.array([[0.0], [1.0], [2.0], [3.0]])
    model = RandomForestClassifier(3, random_state=0).fit(X, [0, 0, 1, 1])
    (found,) = principal_reasons(model, X[:1], X[:1])
    assert found.reasons == []
    assert str(found) == "0: the row has the answer that is asked for, or is as the reference"
    (found,) = principal_reasons(model, X[:1], X[1:2])
    assert str(found) == "0: no set of at most 4 features of the reference changes that"


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"reference": np.zeros((2, 2))}, "reference has 2 rows"),
        ({"reference": np.zeros((1, 3))}, "the same columns"),
        ({"reference": pd.DataFrame([[0.0, 0.0]])}, "in one form"),
        ({"target": 7}, "no class"),
        ({"max_size": 0}, "max_size"),
    ],
)
def test_refused(options, message):
    X = np.random.default_rng(0).normal(size=(40, 2))
    model = RandomForestClassifier(3, random_state=0).fit(X, X[:, 0] > 0)
    with pytest.raises(ValueError, match=message):
        principal_reasons(**{"model": model, "rows": X, "reference": X[:1], **options})


def test_a_level_that_reads_like_a_gap_is_a_level():
    X = pd.DataFrame({"note": ["nan", "NaT"] * 20})
    encoder = make_column_transformer((OneHotEncoder(), ["note"]))
    forest = RandomForestClassifier(5, random_state=0)
    model = make_pipeline(encoder, forest).fit(X, X["note"] == "nan")
    (found,) = principal_reasons(model, X[:1], X[1:2])
    assert found.reasons == [("note",)]


@pytest.mark.parametrize("kind", ["array", "class", "range", "levels"])
def test_evidence_is_about_the_reasons(kind, tmp_path):
    rng = np.random.default_rng(3)
    X = rng.integers(0, 4, (200, 4)).astype(float)
    y, target = (X[:, 0] * X[:, 1] > 2).astype(int), None
    model = RandomForestClassifier(7, max_depth=4, random_state=0)
    if kind == "range":
        model, y, target = GradientBoostingRegressor(random_state=0), X[:, 0] + X[:, 1], (5.0, None)
    elif kind == "class":
        target = 1
    elif kind == "levels":
        X = pd.DataFrame(X, columns=list("abcd")).assign(
            b=np.array(["low", "mid", "high", "top"])[X[:, 1].astype(int)]
        )
        encoder = make_column_transformer((OneHotEncoder(), ["b"]), remainder="passthrough")
        model = make_pipeline(encoder, model)
    model.fit(X, y)
    best = [int(y.argmax())]
    rows, reference = X[:30], X.iloc[best] if kind == "levels" else X[best]
    saved = [own for own in principal_reasons(model, rows, reference, target=target) if own.reasons]
    assert len(saved) > 3
    assert any(len(one) > 1 for own in saved for one in own.reasons)
    for own in saved[:6]:
        own.save(tmp_path / "reasons.json")
        outcome = check(tmp_path / "reasons.json", model)
        assert outcome, outcome.reason
        for one in own.reasons:
            for name in one:
                after = own.moves[name][1]
                shown = f'"{after}"' if isinstance(after, str) else repr(float(after))
                name = name if isinstance(name, str) else f"x{name}"
                assert f"{name} becomes {shown}" in outcome.claim
        # of several sets, a part is one of one set
        assert ("of one of these sets" in outcome.claim) == (len(own.reasons) > 1)


def test_there_is_no_evidence_without_reasons_or_trees(tmp_path):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 3))
    y = (X[:, 0] > 0).astype(int)
    forest, path = RandomForestClassifier(5, random_state=0).fit(X, y), tmp_path / "reasons.json"
    (none,) = principal_reasons(forest, X[:1], X[:1])
    with pytest.raises(ValueError, match="There is no evidence to save"):
        none.save(path)
    (found,) = principal_reasons(LogisticRegression().fit(X, y), X[[y.argmin()]], X[[y.argmax()]])
    assert found.reasons
    with pytest.raises(TypeError, match="LogisticRegression"):
        found.save(path)
    with pytest.raises(ValueError, match="smallest=True is about a tree"):
        verify(forest, forest).save(path, smallest=True)
    assert not path.exists()
