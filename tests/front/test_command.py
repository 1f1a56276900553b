"""The command line: it does what the functions do, and its exit code can be relied on."""

import json
import os
import sqlite3
import subprocess
import sys

import joblib
import numpy as np
import pandas as pd
import pytest
from sklearn.compose import make_column_transformer
from sklearn.datasets import load_iris
from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor
from sklearn.frozen import FrozenEstimator
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder
from sklearn.tree import DecisionTreeClassifier

import ensemble_simplify
from ensemble_simplify import (
    BornAgainClassifier,
    GuideTree,
    SimplifiedModel,
    export_model,
    export_tree,
    import_tree,
)
from ensemble_simplify.evidence import checker
from ensemble_simplify.front import main

QUICK = ["--methods", "representer", "--max-leaf-nodes", "4"]


@pytest.fixture(scope="module")
def iris():
    X, y = load_iris(return_X_y=True, as_frame=True)
    X.columns = ["sepal_length", "sepal_width", "petal_length", "petal_width"]
    return X, np.array(["setosa", "versicolor", "virginica"])[y]


@pytest.fixture
def files(iris, tmp_path, monkeypatch):
    """A forest in model.joblib, and rows that it has not seen, in the working directory."""
    monkeypatch.chdir(tmp_path)
    X, y = iris
    forest = RandomForestClassifier(5, max_depth=3, random_state=0).fit(X[::2], y[::2])
    joblib.dump(forest, "model.joblib")
    X[1::2].assign(kind=y[1::2], number=range(75)).to_csv("data.csv", index=False)
    X[::2].to_csv("more.csv", index=False)
    return forest


def run(*arguments):
    return main([str(argument) for argument in arguments])


def test_module_is_the_command(files):
    command = [sys.executable, "-m", "ensemble_simplify"]
    told = {"capture_output": True, "text": True, "timeout": 120}
    done = subprocess.run([*command, "report", "none.joblib", "data.csv"], **told)
    assert (done.returncode, done.stdout) == (2, "")
    assert "there is no file none.joblib" in done.stderr
    done = subprocess.run([*command, "verify", "model.joblib", "model.joblib"], **told)
    assert done.returncode == 0, done.stderr
    assert "equal=True" in done.stdout
    assert "run any code" in done.stderr


def test_help_names_commands_and_exit_codes(capsys):
    with pytest.raises(SystemExit, match="0"):
        run("--help")
    shown = capsys.readouterr().out
    commands = ("report", "export", "verify", "differences")
    for word in (*commands, "Exit codes: 0", "1 it does not hold", "2 bad"):
        assert word in shown


def test_terminal_that_lacks_letters(iris, tmp_path):
    X, y = iris
    X = X.set_axis(["\u00e9", "\u4e2d", "\u0416", "d"], axis=1)
    joblib.dump(DecisionTreeClassifier(random_state=0).fit(X, y), tmp_path / "model.joblib")
    X.to_csv(tmp_path / "data.csv", index=False, encoding="utf-8")
    done = subprocess.run(
        [sys.executable, "-m", "ensemble_simplify", "model.joblib", "data.csv", *QUICK],
        cwd=tmp_path,
        capture_output=True,
        env={**os.environ, "PYTHONIOENCODING": "ascii", "PYTHONUTF8": "0"},
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.isascii()
    assert b"DecisionTreeClassifier" in done.stdout


# ------------------------------------------------------------------- report


@pytest.mark.parametrize("command", [["report"], []])
def test_report(command, files, capsys):
    told = ["model.joblib", "data.csv", "--target", "kind", "--html", "page.html"]
    assert run(*command, *told, *QUICK, "--more", "more.csv") == 0
    shown = capsys.readouterr()
    assert "RandomForestClassifier" in shown.out
    assert "representer" in shown.out
    assert "accuracy" in shown.out
    # rows of both tables are learned from
    assert "150 rows" in " ".join(shown.out.split())
    assert "page.html" in shown.out
    assert "run any code" in shown.err
    with open("page.html", encoding="utf-8") as page:
        assert "<svg" in page.read()


def test_options_come_before_files_as_in_version_02(files, capsys):
    assert run("--target", "kind", *QUICK, "model.joblib", "data.csv") == 0
    assert "representer" in capsys.readouterr().out


@pytest.mark.parametrize("name", ["tree.json", "tree.model"])
def test_saved_tree_is_read_by_all(name, files, iris, capsys):
    X, _ = iris
    assert (
        run("report", "model.joblib", "data.csv", "--target", "kind", *QUICK, "--save", name) == 0
    )
    assert name in capsys.readouterr().out
    saved = SimplifiedModel.load(name)
    assert run("export", "--tree", name, "--language", "json") == 0
    tree = import_tree(capsys.readouterr().out)
    np.testing.assert_array_equal(tree.predict(X.to_numpy()), saved.predict(X))
    assert run("verify", name, name) == 0
    assert run("report", name, "data.csv", *QUICK, "--target", "kind") == 0


def test_choices_are_passed_on(files, capsys, monkeypatch):
    given = {}

    def simplify(model, X, y, **options):
        given.update(options, model=model, X=X, y=y)
        raise ValueError("seen")

    monkeypatch.setattr("ensemble_simplify.front._command.simplify", simplify)
    told = ["report", "model.joblib", "data.csv", "--target", "kind", "--more", "more.csv"]
    assert run(*told) == 2
    assert "error: seen" in capsys.readouterr().err
    assert (
        list(given["X"].columns) == list(given["X_more"].columns) == list(files.feature_names_in_)
    )
    assert (len(given["X"]), len(given["X_more"]), len(given["y"])) == (75, 75, 75)
    assert given["methods"] == "auto"
    assert given["max_leaf_nodes"] is given["time_limit"] is given["scoring"] is None
    assert given["class_weight"] is None
    told += ["--methods", "genesim,representer", "--max-leaf-nodes", 6, "--time-limit", 2.5]
    assert run(*told, "--scoring", "recall_macro", "--class-weight", "balanced") == 2
    assert given["methods"] == ["genesim", "representer"]
    assert (given["max_leaf_nodes"], given["time_limit"]) == (6, 2.5)
    assert (given["scoring"], given["class_weight"]) == ("recall_macro", "balanced")


# ------------------------------------------------------------------- export


def test_sql_of_the_recommended_tree(files, iris, capsys):
    X, _ = iris
    told = ["export", "model.joblib", "data.csv", "--target", "kind", *QUICK]
    told += ["--language", "sql", "--table", "flowers", "--name", "kind"]
    assert run(*told) == 0
    shown = capsys.readouterr()
    assert "agrees with the model" in shown.err
    base = sqlite3.connect(":memory:")
    X.to_sql("flowers", base, index=False)
    kinds = [row[0] for row in base.execute(shown.out)]
    assert np.mean(kinds == files.predict(X)) > 0.85
    # the same in a file
    assert (
        run(*told, "--language", "sql", "--table", "flowers", "--name", "kind", "--out", "q") == 0
    )
    with open("q", encoding="utf-8") as file:
        assert file.read() == shown.out
    assert capsys.readouterr().out == ""


def test_a_tree_as_it_is(iris, tmp_path, capsys):
    X, y = iris
    tree = DecisionTreeClassifier(max_depth=2, random_state=0).fit(X, y)
    joblib.dump(tree, tmp_path / "tree.joblib")
    for options, own in [
        (["--language", "python", "--name", "kind"], {"language": "python", "name": "kind"}),
        (["--language", "c", "--probabilities"], {"language": "c", "output": "probabilities"}),
        (["--decimals", "2"], {"language": "rules", "decimals": 2}),
    ]:
        assert run("export", "--tree", tmp_path / "tree.joblib", *options) == 0
        assert capsys.readouterr().out == export_tree(tree, **own)


def test_what_cannot_be_exported(files, capsys):
    assert run("export", "model.joblib") == 2
    assert "export needs rows" in capsys.readouterr().err
    assert run("export", "--tree", "model.joblib") == 2
    assert "is not one tree" in capsys.readouterr().err
    with pytest.raises(SystemExit) as stopped:
        run("export", "model.joblib", "data.csv", "--language", "cobol")
    assert stopped.value.code == 2
    assert "invalid choice: 'cobol'" in capsys.readouterr().err


def test_an_ensemble_as_it_is(files, iris, capsys):
    X, y = iris
    told = ["export", "--as-is", "model.joblib", "--language"]
    sql = {"table": "flowers", "keys": ["id", "petal_width"], "name": "kind"}
    for options, own in [
        (["c", "--name", "kind"], {"language": "c", "name": "kind"}),
        (["python", "--probabilities"], {"language": "python", "output": "probabilities"}),
        (["c", "--form", "nested"], {"language": "c", "form": "nested"}),
        (["c", "--precision", "int16"], {"language": "c", "precision": "int16"}),
        (
            ["sql", "--table", "flowers", "--keys", "id,petal_width", "--name", "kind"],
            {"language": "sql", **sql},
        ),
    ]:
        assert run(*told, *options) == 0
        assert capsys.readouterr().out == export_model(files, **own)
    base = sqlite3.connect(":memory:")
    X.to_sql("flowers", base, index_label="id")
    answers = {i: kind for i, _, kind in base.execute(export_model(files, "sql", **sql))}
    np.testing.assert_array_equal([answers[i] for i in range(len(X))], files.predict(X))
    # what is written as JSON is read back, and proven
    assert run(*told, "json", "--out", "model.json") == 0
    assert run("verify", "model.joblib", "model.json") == 0
    assert "equal=True: proven" in capsys.readouterr().out
    # one tree is an ensemble of one, and has rules
    joblib.dump(DecisionTreeClassifier(max_depth=2, random_state=0).fit(X, y), "tree.joblib")
    assert run("export", "--as-is", "tree.joblib") == 0
    assert capsys.readouterr().out == export_tree(joblib.load("tree.joblib"))
    assert run("export", "--as-is", "tree.joblib", "--language", "json", "--out", "t.json") == 0
    assert run("verify", "tree.joblib", "t.json") == 0


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--language", "sql"], "Name the table"),
        (["--language", "c", "--keys", "id"], "goes with language='sql' alone"),
        (["--language", "c", "--decimals", 2], "--decimals goes with --language rules"),
        (["--language", "rules"], "is not one tree"),
        (["--language", "rules", "--keys", "id"], "--keys goes with --as-is and a language"),
        (["--language", "json", "--form", "nested"], "form='nested'"),
    ],
)
def test_what_does_not_go_with_an_ensemble(options, message, files, capsys):
    assert run("export", "--as-is", "model.joblib", *options) == 2
    assert message in capsys.readouterr().err


def test_a_tree_that_is_not_close_enough(files, capsys):
    told = ["model.joblib", "data.csv", "--target", "kind", *QUICK, "--max-leaf-nodes", 2]
    assert run("report", *told, "--min-agreement", 0.5) == 0
    assert run("export", *told, "--min-agreement", 0.5, "--out", "tree.txt") == 0
    capsys.readouterr()
    assert run("report", *told, "--min-agreement", 0.9) == 1
    shown = capsys.readouterr()
    assert "below --min-agreement 0.9: 0.6" in shown.err
    assert "Verdict" in shown.out
    assert run("export", *told, "--min-agreement", 0.9, "--out", "none.txt") == 1
    assert not os.path.exists("none.txt")
    with pytest.raises(SystemExit) as stopped:
        run("report", *told, "--min-agreement", 95)
    assert stopped.value.code == 2
    assert "95 is not a number from 0 to 1" in capsys.readouterr().err


# ------------------------------------------------------------------- differences


def test_differences_answer_by_their_exit_code(files, iris, capsys):
    X, y = iris
    other = RandomForestClassifier(5, max_depth=3, random_state=1).fit(X[::2], y[::2])
    joblib.dump(other, "other.joblib")
    both = ["differences", "model.joblib", "other.joblib", "data.csv"]
    apart = (files.predict(X[1::2]) != other.predict(X[1::2])).mean()
    assert 0 < apart < 0.5
    assert run(*both) == 1
    assert f"differ on {round(75 * apart)} of 75 rows" in capsys.readouterr().out
    assert run(*both, "--max-share", apart) == 0
    assert run(*both, "--max-share", apart - 0.001) == 1
    assert run("differences", "model.joblib", "model.joblib", "data.csv") == 0
    capsys.readouterr()
    assert run(*both, "--atol", 0.1) == 2
    assert "the models answer labels" in capsys.readouterr().err
    assert run(*both, "--max-boxes", 0) == 2
    assert "max_boxes" in capsys.readouterr().err
    stump = DecisionTreeClassifier(max_depth=1, random_state=0).fit(X, y)
    joblib.dump(stump, "stump.joblib")
    assert run("differences", "model.joblib", "stump.joblib", "data.csv", "--max-boxes", 1) == 1
    shown = capsys.readouterr().out
    assert "1 rule tells" in shown
    assert "of the volume" in shown
    joblib.dump(stump.fit(X.iloc[:, :2], y), "narrow.joblib")
    assert run("differences", "model.joblib", "narrow.joblib", "data.csv") == 2
    left_out = sorted(X.columns[2:])[0]
    assert f"fitted on the column {left_out!r}, the other was not" in capsys.readouterr().err


# ------------------------------------------------------------------- verify


def test_verify_answers_by_its_exit_code(files, iris, capsys):
    X, y = iris
    joblib.dump(DecisionTreeClassifier(max_depth=1).fit(X, y), "stump.joblib")
    assert run("verify", "model.joblib", "model.joblib") == 0
    assert "equal=True: proven for every finite input" in capsys.readouterr().out
    assert run("verify", "model.joblib", "stump.joblib") == 1
    assert "equal=False" in capsys.readouterr().out
    assert run("verify", "model.joblib", "none.joblib") == 2
    assert "there is no file none.joblib" in capsys.readouterr().err
    joblib.dump(GaussianNB().fit(X, y), "bayes.joblib")
    assert run("verify", "model.joblib", "bayes.joblib") == 2
    assert "GaussianNB" in capsys.readouterr().err


def test_verify_on_rows_near_rows_and_within_a_tolerance(files, iris, capsys):
    X, _ = iris
    forest, rows = files, X[1::2]
    tree = DecisionTreeClassifier(random_state=0).fit(rows, forest.predict(rows))
    joblib.dump(tree, "tree.joblib")
    both = ["verify", "model.joblib", "tree.joblib", "--data", "data.csv"]
    assert run(*both) == run(*both, "--max-changes", 0) == 0
    assert "every row of X" in capsys.readouterr().out
    assert run(*both, "--max-changes", 1) == 1
    assert run("verify", "model.joblib", "tree.joblib", "--max-changes", 1) == 2
    assert "max_changes=1" in capsys.readouterr().err
    number = np.arange(75.0)
    first = RandomForestRegressor(3, max_depth=3, random_state=0).fit(rows, number)
    second = RandomForestRegressor(3, max_depth=3, random_state=0).fit(rows, number + 0.5)
    joblib.dump(first, "first.joblib")
    joblib.dump(second, "second.joblib")
    assert run("verify", "first.joblib", "second.joblib", "--atol", 0.6) == 0
    assert run("verify", "first.joblib", "second.joblib", "--atol", 0.4) == 1


def test_verify_saves_evidence(files, iris, capsys):
    X, y = iris
    tree = BornAgainClassifier(FrozenEstimator(files)).fit(X, y)
    joblib.dump(tree, "born_again.joblib")
    joblib.dump(DecisionTreeClassifier(max_depth=1, random_state=0).fit(X, y), "stump.joblib")
    both = ["verify", "model.joblib", "born_again.joblib"]
    assert run(*both, "--save", "proof.json") == 0
    assert "The evidence is in proof.json" in capsys.readouterr().out
    assert run("verify", "model.joblib", "stump.joblib", "--save", "differs.json") == 1
    for name, kind in (("proof.json", "same_class"), ("differs.json", "not")):
        with open(name, encoding="utf-8") as file:
            found = json.load(file)
        assert found["claim"]["kind"] == kind
        assert len(found["models"]) == 2
        assert checker.check(name)
    # of what is undecided, there is no evidence
    assert run(*both, "--max-boxes", 1, "--save", "none.json") == 2
    assert not os.path.exists("none.json")
    # a file that cannot be written is an error, whatever the answer
    assert run("verify", "model.joblib", "stump.joblib", "--save", "no/folder.json") == 2
    assert "--save no/folder.json cannot be written: No such file" in capsys.readouterr().err


def test_verify_cannot_tell(files, iris, capsys):
    tree = BornAgainClassifier(FrozenEstimator(files)).fit(*iris)
    joblib.dump(tree, "born_again.joblib")
    assert run("verify", "model.joblib", "born_again.joblib") == 0
    assert run("verify", "model.joblib", "born_again.joblib", "--max-boxes", 1) == 2
    assert "undecided" in capsys.readouterr().out


def test_crash_is_no_answer(files, capsys, monkeypatch):
    """Python ends with 1 after an exception, which would say that something does not hold."""

    def crash(*models, **options):
        raise ZeroDivisionError("a fault")

    monkeypatch.setattr("ensemble_simplify.front._command.verify", crash)
    assert run("verify", "model.joblib", "model.joblib") == 2
    assert "ZeroDivisionError: a fault" in capsys.readouterr().err


# ------------------------------------------------------------------- files


@pytest.mark.parametrize("library", ["lightgbm", "xgboost", "catboost"])
def test_files_of_boosting_libraries(library, iris, tmp_path, capsys, monkeypatch):
    pytest.importorskip(library)
    monkeypatch.chdir(tmp_path)
    X, _ = iris
    y = np.repeat([0, 1], 75)
    if library == "lightgbm":
        from lightgbm import LGBMClassifier

        model = LGBMClassifier(n_estimators=3, verbose=-1).fit(X, y)
        names = ["model.txt"]
        model.booster_.save_model("model.txt")
    elif library == "xgboost":
        from xgboost import XGBClassifier

        model = XGBClassifier(n_estimators=3, max_depth=2).fit(X, y)
        names = ["model.ubj", "model.json"]
        for name in names:
            model.save_model(name)
    else:
        from catboost import CatBoostClassifier

        model = CatBoostClassifier(n_estimators=3, depth=2, verbose=0, allow_writing_files=False)
        model.fit(X, y).save_model("model.cbm")
        names = ["model.cbm"]
    joblib.dump(model, "model.joblib")
    # the column that is no feature comes first
    X.assign(number=range(150))[["number", *X]].to_csv("data.csv", index=False)
    for name in names:
        assert run("verify", "model.joblib", name) == 0
        assert run("differences", name, "model.joblib", "data.csv") == 0
        assert "none of 150 rows" in capsys.readouterr().out
        assert run("predict", name, "data.csv") == 0
        assert capsys.readouterr().out.split() == ["prediction", *map(str, model.predict(X))]
        with open(name, "w", encoding="utf-8") as file:
            file.write('{"learner": 1}')
        assert run("verify", name, "model.joblib") == 2
        assert f"{name} is not a model that" in capsys.readouterr().err


def test_an_onnx_graph(iris, tmp_path, capsys):
    skl2onnx = pytest.importorskip("skl2onnx")
    pytest.importorskip("onnxruntime")
    X, y = iris
    tree = DecisionTreeClassifier(random_state=0).fit(X.to_numpy(), y)
    joblib.dump(tree, tmp_path / "tree.joblib")
    graph = skl2onnx.to_onnx(tree, X[:1].to_numpy(np.float32))
    (tmp_path / "tree.onnx").write_bytes(graph.SerializeToString())
    assert run("verify", tmp_path / "tree.joblib", tmp_path / "tree.onnx") in (0, 1)
    assert "Verification(equal=" in capsys.readouterr().out
    (tmp_path / "tree.onnx").write_bytes(b"no graph")
    assert run("verify", tmp_path / "tree.joblib", tmp_path / "tree.onnx") == 2
    assert "is not an ONNX graph" in capsys.readouterr().err


def test_wrong_files_are_named(iris, tmp_path, capsys):
    X, y = iris
    model, data = tmp_path / "model.joblib", tmp_path / "data.csv"
    joblib.dump(DecisionTreeClassifier().fit(X.to_numpy(), y), model)
    X.assign(y=y, z=0).to_csv(data, index=False)
    for arguments, text in [
        ([tmp_path / "none.joblib", data], "there is no file"),
        ([data, data], "not a model that joblib can read"),
        ([model, tmp_path / "none.csv"], "there is no file"),
        ([model, data], "has 6 columns, but"),
        ([model, data, "--target", "w"], "no column 'w'"),
        ([model, data, "--target", "y"], "5 columns besides the target"),
    ]:
        assert run("report", *arguments) == 2
        assert text in capsys.readouterr().err
    joblib.dump(DecisionTreeClassifier().fit(X.set_axis(list("abcd"), axis=1), y), model)
    assert run("report", model, data) == 2
    assert "no column 'a'" in capsys.readouterr().err
    (tmp_path / "tree.json").write_text("{", encoding="utf-8")
    assert run("export", "--tree", tmp_path / "tree.json") == 2
    assert "cannot be read" in capsys.readouterr().err


def test_damaged_files_are_named(iris, tmp_path, capsys):
    skops = pytest.importorskip("skops.io")
    X, y = iris
    model, data = tmp_path / "model.skops", tmp_path / "data.csv"
    X.assign(y=y).to_csv(data, index=False)
    skops.dump(GaussianNB().fit(X, y), model)
    whole = model.read_bytes()
    middle = len(whole) // 2
    for part in (
        b"",
        whole[:middle],
        whole[:-40],
        b"PK" + whole[:100],
        whole[: middle - 20] + bytes(40) + whole[middle + 20 :],
    ):
        model.write_bytes(part)
        assert run("report", model, data) == 2
        shown = capsys.readouterr().err
        assert f"{model} is not a model that skops can read" in shown
        assert "Traceback" not in shown
    joblib.dump(DecisionTreeClassifier().fit(X, y), tmp_path / "model.joblib")
    for content in (b"", b"a,b\n1,2,3,4\n5,6,7,8,9,10\n", b"\xff\xfe\x00a,b"):
        data.write_bytes(content)
        assert run("report", tmp_path / "model.joblib", data) == 2
        assert f"{data} is not a table that pandas can read" in capsys.readouterr().err


def test_skops_loads_what_it_knows(iris, tmp_path, capsys):
    skops = pytest.importorskip("skops.io")
    X, y = iris
    data = tmp_path / "data.csv"
    X.assign(y=y).to_csv(data, index=False)
    options = ["--target", "y", *QUICK]
    skops.dump(GaussianNB().fit(X, y), tmp_path / "bayes.skops")
    assert run("report", tmp_path / "bayes.skops", data, *options) == 0
    assert "GaussianNB" in capsys.readouterr().out
    skops.dump(GuideTree().fit(X, y), tmp_path / "own.skops")  # of types that skops does not know
    assert run("report", tmp_path / "own.skops", data, *options) == 2
    assert "--trust" in capsys.readouterr().err
    assert run("report", tmp_path / "own.skops", data, *options, "--trust") == 0


def test_codes_that_are_text_stay_text(tmp_path, capsys, monkeypatch):
    """Pandas reads "01" as a number, but to the model it is a level; so are labels."""
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"code": rng.choice(["01", "02", "10"], 300), "size": rng.normal(size=300)})
    y = np.where((X["code"] == "01") ^ (X["size"] > 0), "1", "0")
    encoder = make_column_transformer(
        (OneHotEncoder(handle_unknown="ignore"), ["code"]), remainder="passthrough"
    )
    model = make_pipeline(encoder, RandomForestClassifier(20, random_state=0)).fit(X[::2], y[::2])
    joblib.dump(model, "model.joblib")
    X[1::2].assign(label=y[1::2]).to_csv("data.csv", index=False)
    told = ["model.joblib", "data.csv", "--target", "label", "--methods", "plain_tree"]
    assert run("export", *told, "--max-leaf-nodes", 4) == 0
    assert 'code = "01"' in capsys.readouterr().out


@pytest.mark.parametrize("library", ["sklearn", "lightgbm", "catboost"])
def test_levels_that_look_like_gaps(library, tmp_path, capsys, monkeypatch):
    """What pandas takes for a gap is a level where the model knows it, and a gap elsewhere."""
    pytest.importorskip(library)
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    X = pd.DataFrame(
        {
            "size": np.where(rng.random(400) < 0.2, np.nan, rng.normal(size=400)),
            "roof": rng.choice(["None", "NA", "null", "01"], 400),
            # to CatBoost, no category is missing
            "yard": rng.choice(["a", "b", "c" if library == "catboost" else np.nan], 400),
        }
    )
    X["yard"] = X["yard"].where(X["yard"] != "nan", np.nan)
    y = np.where(X["roof"].isin(["None", "01"]) ^ (X["yard"] == "a"), "NA", "b")
    if library == "sklearn":
        encoder = make_column_transformer((OneHotEncoder(), ["roof", "yard"]))
        model = make_pipeline(encoder, RandomForestClassifier(10, random_state=0)).fit(X, y)
    elif library == "lightgbm":
        from lightgbm import LGBMClassifier

        kinds = {"roof": "category", "yard": "category"}
        X = X.astype(kinds)
        model = LGBMClassifier(n_estimators=5, min_child_samples=5, verbose=-1).fit(X, y)
    else:
        from catboost import CatBoostClassifier

        told = {"one_hot_max_size": 9, "allow_writing_files": False, "verbose": 0}
        model = CatBoostClassifier(5, depth=3, cat_features=["roof", "yard"], **told).fit(X, y)
    joblib.dump(model, "model.joblib")
    written = X.astype({"yard": object})
    if library != "catboost":
        written["yard"] = written["yard"].fillna("NA")  # which is no level of this column
    written.assign(label=y).to_csv("data.csv", index=False)
    given = {}

    def simplify(model, X, y, **options):
        given.update(X=X, y=y)
        raise ValueError("seen")

    monkeypatch.setattr("ensemble_simplify.front._command.simplify", simplify)
    assert run("report", "model.joblib", "data.csv", "--target", "label") == 2
    assert "error: seen" in capsys.readouterr().err
    assert given["y"].tolist() == y.tolist()
    for name in X.columns:
        lacking = X[name].isna()
        assert given["X"][name].isna().tolist() == lacking.tolist()
        assert given["X"][name][~lacking].tolist() == X[name][~lacking].tolist()
    np.testing.assert_array_equal(model.predict_proba(given["X"]), model.predict_proba(X))


def test_places_are_checked_before_the_work(files, capsys):
    os.mkdir("folder")
    for command, option in [("report", "--html"), ("report", "--save"), ("export", "--out")]:
        for place in ("no/file", "folder", "data.csv/file"):
            # there is no such model: it is not looked for
            assert run(command, "none.joblib", "data.csv", option, place) == 2
            assert f"{option} {place} cannot be written" in capsys.readouterr().err
    told = ["export", "--as-is", "model.joblib", "--language", "c", "--out"]
    assert run(*told, os.devnull) == 0
    assert not os.path.isfile(os.devnull)
    # a link leads to the new file, which has the rights of the old one
    os.symlink("first.c", "second.c")
    assert run(*told, "second.c") == 0
    os.chmod("first.c", 0o600)
    assert run(*told, "second.c", "--name", "kind") == 0
    assert os.path.islink("second.c")
    assert os.stat("first.c").st_mode & 0o777 == 0o600
    with open("first.c", encoding="utf-8") as file:
        assert file.read() == export_model(files, "c", name="kind")
    assert not [name for name in os.listdir() if "unfinished" in name]


def test_a_write_that_fails_leaves_the_old_file(files, iris, tmp_path):
    tree = DecisionTreeClassifier(max_depth=2, random_state=0).fit(*iris)
    SimplifiedModel(tree, model=files, name="tree").save("kept")
    with open("kept", "rb") as file:
        before = file.read()
    with pytest.raises(Exception, match="lambda"):  # which cannot be pickled
        SimplifiedModel(tree, model=lambda X: X, name="tree").save("kept")
    with open("kept", "rb") as file:
        assert file.read() == before
    assert not [name for name in os.listdir() if "unfinished" in name]


def test_targets_that_are_not_there(files, capsys):
    for told in [
        ["report", "model.joblib", "data.csv"],
        ["export", "model.joblib", "data.csv"],
        ["export", "--as-is", "model.joblib", "data.csv", "--language", "c"],
        ["differences", "model.joblib", "model.joblib", "data.csv"],
    ]:
        assert run(*told, "--target", "kinds") == 2
        assert "data.csv has no column 'kinds'. It has 'sepal_length'" in capsys.readouterr().err


def test_json_without_an_end_is_refused_in_words(files, capsys):
    for text in ("[" * 100_000, '{"learner": ' * 100_000):
        with open("deep.json", "w", encoding="utf-8") as file:
            file.write(text)
        for told in (["verify", "model.joblib"], ["check"], ["export", "--tree"]):
            assert run(*told, "deep.json") == 2
            shown = capsys.readouterr()
            assert "Traceback" not in shown.err
            assert ("the file cannot be followed" in shown.out) == (told == ["check"])
            assert ("deep.json" in shown.err) == (told != ["check"])


# ------------------------------------------------------------------- predict


def test_version(capsys):
    with pytest.raises(SystemExit, match="0"):
        run("--version")
    assert f"ensemble_simplify {ensemble_simplify.__version__}, scikit-learn" in (
        capsys.readouterr().out
    )


@pytest.mark.parametrize("ending", ["csv", "tsv", "parquet"])
def test_predict(ending, files, iris, capsys):
    """Tables in all forms are answered alike, and so are models and results."""
    if ending == "parquet":
        pytest.importorskip("pyarrow")
    X, _ = iris
    table = pd.read_csv("data.csv")
    read = {
        "csv": pd.read_csv,
        "tsv": lambda path: pd.read_csv(path, sep="\t"),
        "parquet": pd.read_parquet,
    }[ending]
    if ending == "parquet":
        table.to_parquet("rows.parquet")
    else:
        table.to_csv(f"rows.{ending}", index=False, sep="\t" if ending == "tsv" else ",")
    told = ["predict", "model.joblib", f"rows.{ending}", "--target", "kind"]
    assert run(*told, "--out", f"answers.{ending}") == 0
    assert read(f"answers.{ending}")["prediction"].tolist() == files.predict(X[1::2]).tolist()
    assert run(*told, "--probabilities", "--name", "p", "--out", f"chances.{ending}") == 0
    chances = read(f"chances.{ending}")
    assert chances.columns.tolist() == ["p_setosa", "p_versicolor", "p_virginica"]
    np.testing.assert_array_equal(chances.to_numpy(), files.predict_proba(X[1::2]))
    capsys.readouterr()
    tree = DecisionTreeClassifier(max_depth=2, random_state=0).fit(X, iris[1])
    SimplifiedModel(tree, model=files, name="tree").save("tree.json")
    assert run("predict", "tree.json", f"rows.{ending}") == 0
    assert capsys.readouterr().out.split() == ["prediction", *tree.predict(X[1::2])]
    with open(f"rows.{ending}", "wb") as file:
        file.write(b"\xff\xfe\x00a,b")
    assert run(*told) == 2
    assert f"rows.{ending} is not a table that pandas can read" in capsys.readouterr().err


def test_parquet_without_pyarrow(files, capsys, monkeypatch):
    with open("rows.parquet", "wb") as file:
        file.write(b"PAR1")
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    assert run("predict", "model.joblib", "rows.parquet") == 2
    assert "rows.parquet is read with pyarrow, which is not installed" in capsys.readouterr().err


def test_predict_needs_probabilities(iris, tmp_path, capsys):
    X, _ = iris
    joblib.dump(RandomForestRegressor(2, random_state=0).fit(X, range(150)), tmp_path / "m.joblib")
    X.to_csv(tmp_path / "data.csv", index=False)
    assert run("predict", tmp_path / "m.joblib", tmp_path / "data.csv", "--probabilities") == 2
    assert "has no probabilities" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (["--out", "model.pdf"], "ends in none of"),
        (["--out", "model.md", "--protected", "shoes"], "names the column 'shoes'"),
        (["--out", "model.md", "--evidence", "none.json"], "no file that is there"),
        (["--out", "model.md", "--positive", "7"], "--positive 7 is no class"),
    ],
)
def test_documents_are_refused_before_the_work(files, capsys, monkeypatch, given, message):
    def work(*rows, **options):
        raise AssertionError("The work has begun.")

    monkeypatch.setattr("ensemble_simplify.front._command.simplify", work)
    assert run("document", "model.joblib", "data.csv", "--target", "kind", *given) == 2
    assert message in capsys.readouterr().err
