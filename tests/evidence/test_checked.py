"""`check`, and the command of this name: files of evidence beside models at hand."""

import contextlib
import copy
import gzip
import json

import numpy as np
import pytest
from sklearn.datasets import load_diabetes, load_iris
from sklearn.ensemble import (
    GradientBoostingRegressor,
    HistGradientBoostingRegressor,
    RandomForestClassifier,
)
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from ensemble_simplify import Domain, check, is_monotone, sufficient_box, verify
from ensemble_simplify.evidence import checker
from ensemble_simplify.front import main

X, y = load_iris(return_X_y=True)


@pytest.fixture(scope="module")
def trees():
    return [DecisionTreeClassifier(max_depth=k, random_state=0).fit(X, y) for k in (3, 2)]


@pytest.fixture
def evidence(trees, tmp_path):
    path = tmp_path / "evidence.json"
    verify(*trees).save(path)
    return path


def test_models_are_compared_with_the_file(trees, evidence):
    tree, other = trees
    assert check(evidence)
    assert check(evidence, tree, other)
    swapped = check(evidence, other, tree)
    assert swapped.proven is False
    assert "other models" in repr(swapped)
    third = DecisionTreeClassifier(max_depth=1, random_state=0).fit(X, y)
    assert not check(evidence, tree, third)
    with pytest.raises(ValueError, match="1 models were given, but the evidence is about 2"):
        check(evidence, tree)


def test_a_changed_file_is_found(evidence):
    text = evidence.read_text()
    evidence.write_text(text.replace('"same_class"', '"same_klass"', 1))
    found = check(evidence)
    assert found.proven is False
    assert "changed later" in repr(found)
    evidence.write_text(text[:-20])
    assert check(evidence).proven is None
    assert "cannot tell" in repr(check(evidence))


def test_one_model_asked_twice(tmp_path):
    X, y = load_diabetes(return_X_y=True)
    model = GradientBoostingRegressor(n_estimators=3, random_state=0).fit(X, y)
    outcome = is_monotone(model, 2)
    path = tmp_path / "evidence.json.gz"
    outcome.save(path)
    assert check(path, model)
    assert not check(path, model.set_params(n_estimators=4).fit(X, y))


# ------------------------------------------------------------------- forgeries


def _signed(document):
    """A document with new hashes and a new sentence, as who forges it would make them."""
    for model in document["models"]:
        model["sha256"] = checker.digest(model, "sha256")
    with contextlib.suppress(checker.Refused):
        document["words"] = checker.words(document)
    return document | {"digest": checker.digest(document, "digest")}


def _told(document, path, *models):
    path.write_text(json.dumps(document))
    return check(path, *models)


@pytest.fixture
def apart(tmp_path):
    """Two trees that split two columns of whole numbers in turn, and evidence of their distance."""
    rng = np.random.default_rng(0)
    X = rng.integers(0, 6, (60, 2)).astype(float)
    models = [DecisionTreeRegressor(max_depth=2).fit(X, values) for values in (X[:, 0], X[:, 1])]
    path = tmp_path / "apart.json"
    verify(*models, atol=6.0, domain=Domain(integers="all", bounds={0: (0, 5)})).save(path)
    return models, json.loads(path.read_text())


# what is changed, and whether the file alone shows that something is wrong
FORGED = {
    "columns of the second model in another order": lambda d: d["uses"][1].update(columns=[1, 0]),
    "a column that has no levels": lambda d: d["models"][0]["columns"][0].update(levels=[]),
    "steps of what does not rise": lambda d: d["proof"].update(steps=[[0, 1]]),
    "low above high": lambda d: d["region"].update(low=[1, None], high=[0, None]),
    "an empty clause": lambda d: d["region"].update(clauses=[[]]),
    "clauses that contradict one another": lambda d: d["region"].update(
        clauses=[[[0, 1]], [[0, 2]]]
    ),
    "a range without whole numbers": lambda d: d["region"].update(
        low=[0.25, None], high=[0.75, None]
    ),
    "a point that is not in the region": lambda d: d["region"].update(point=[9, 0]),
}


@pytest.mark.parametrize("name", FORGED)
def test_a_forged_claim_is_not_believed(name, apart, tmp_path):
    models, document = apart
    assert _told(document, tmp_path / "good.json", *models)
    FORGED[name](document)
    assert not _told(_signed(document), tmp_path / "forged.json")


def test_what_a_model_is_called_belongs_to_it(apart, tmp_path):
    models, document = apart
    for change in (
        lambda model: model.update(name="RandomForestRegressor"),
        lambda model: model["columns"][0].update(name="income"),
        lambda model: model["columns"][0].update(levels=["a", "b"]),
    ):
        other = copy.deepcopy(document)
        for model in other["models"]:
            change(model)
        other = _signed(other)
        # it is a proof, of other models
        assert _told(other, tmp_path / "renamed.json")
        found = _told(other, tmp_path / "renamed.json", *models)
        assert found.proven is False
        assert "other models" in found.reason


def test_rows_that_are_finer_than_the_nodes_are_not_claimed(tmp_path):
    X, y = load_diabetes(return_X_y=True)
    model = HistGradientBoostingRegressor(max_iter=2, max_leaf_nodes=3).fit(X, y)
    tree = DecisionTreeRegressor(max_depth=2).fit(X, y)
    path = tmp_path / "finer.json"
    verify(model, tree, atol=1e3).save(path)
    document = json.loads(path.read_text())
    assert document["region"]["type"] == "float32"
    document["region"]["type"] = "float64"
    assert not _told(_signed(document), path)


def test_the_sentence_tells_whole_numbers_whatever_levels_are_named(apart, tmp_path):
    _, document = apart
    assert "is whole" in document["words"]
    for model in document["models"]:
        for column in model["columns"]:
            column["levels"] = ["a", "b"]
    document["region"] |= {"low": [None, None], "high": [None, None]}
    assert _signed(document)["words"].count("is whole") == 2


def test_models_at_hand_are_named_in_the_sentence(trees, evidence, tmp_path):
    assert "model B the second one" in check(evidence, *trees).claim
    model = RandomForestClassifier(3, max_depth=2, random_state=0).fit(X, y)
    other = RandomForestClassifier(3, max_depth=2, random_state=1).fit(X, y)
    sufficient_box(model, X[0]).save(tmp_path / "box.json")
    assert "Model A is the one that was given" in check(tmp_path / "box.json", model).claim
    assert not check(tmp_path / "box.json", other)


def test_a_file_that_would_fill_the_memory_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(checker, "MOST_BYTES", 10_000)
    path = tmp_path / "bomb.json.gz"
    path.write_bytes(gzip.compress(b"[" + b"0, " * 100_000 + b"0]"))
    found = check(path)
    assert found.proven is None
    assert "more than 10,000 bytes" in found.reason


def test_a_file_of_the_first_version_is_refused_with_the_remedy(evidence):
    evidence.write_text(evidence.read_text().replace('"version": 2', '"version": 1', 1))
    assert "save the evidence again" in check(evidence).reason


def test_command(evidence, capsys):
    assert main(["check", str(evidence)]) == 0
    words = json.loads(evidence.read_text())["words"]
    assert capsys.readouterr().out == f"Proven: {words}\n"
    evidence.write_text(evidence.read_text().replace("It is not so", "It is so"))
    assert main(["check", str(evidence)]) == 1
    evidence.write_text("[]")
    assert main(["check", str(evidence)]) == 2
    assert main(["check", str(evidence) + "x"]) == 2
    assert "Traceback" not in capsys.readouterr().err
