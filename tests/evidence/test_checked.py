"""`check`, and the command of this name: files of evidence beside models at hand."""

import json

import pytest
from sklearn.datasets import load_diabetes, load_iris
from sklearn.ensemble import GradientBoostingRegressor
from sklearn.tree import DecisionTreeClassifier

from ensemble_simplify import check, is_monotone, verify
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
