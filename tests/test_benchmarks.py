"""The tables of ``python -m benchmarks``: all programs start, and recorded output is replaced."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from sklearn.datasets import make_classification, make_regression
from sklearn.metrics import balanced_accuracy_score
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from benchmarks import __main__ as benchmarks
from benchmarks import _league_contestants as contestants
from benchmarks import league
from benchmarks._record import block, list_table, markers, write_block

ROOT = Path(__file__).resolve().parent.parent
PROGRAMS = sorted({table.program for table in benchmarks.TABLES.values()})


# One process for all: most of the time goes into importing what they share.
HELP = """
import contextlib, io, json, runpy, sys, traceback
sys.path.append(sys.argv[1])
shown = {}
for program in sys.argv[2:]:
    sys.argv[:] = [program, "--help"]
    text = io.StringIO()
    with contextlib.redirect_stdout(text):
        try:
            runpy.run_module(f"benchmarks.{program}", run_name="__main__", alter_sys=True)
            status = 0
        except SystemExit as end:
            status = end.code
        except BaseException:
            status = traceback.format_exc()
    shown[program] = status, text.getvalue()
json.dump(shown, sys.stdout)
"""


@pytest.fixture(scope="module")
def shown():
    run = subprocess.run(
        [sys.executable, "-P", "-c", HELP, str(ROOT), *PROGRAMS],
        capture_output=True,
        text=True,
        check=True,
    )
    return json.loads(run.stdout)


@pytest.mark.parametrize("program", PROGRAMS)
def test_program_starts(program, shown):
    status, text = shown[program]
    assert status == 0
    assert "usage" in text


def test_list_names_every_table():
    listed = benchmarks.listing()
    assert all(name in listed for name in benchmarks.TABLES)


@pytest.mark.parametrize("path", sorted(benchmarks.RESULTS.glob("*.md")), ids=lambda p: p.stem)
def test_recorded_tables_are_known(path):
    text = path.read_text(encoding="utf-8")
    recorded = [line.split()[2] for line in text.splitlines() if line.startswith("<!-- begin ")]
    for name in recorded:
        assert benchmarks.result_file(benchmarks.TABLES[name]) == path
        assert block(text, name).strip()
        assert text.count(markers(name)[0]) == text.count(markers(name)[1]) == 1


PAGES = {name: table for name, table in benchmarks.TABLES.items() if table.page}


@pytest.mark.parametrize("name", PAGES)
def test_page_of_the_documentation_holds_the_recorded_table(name):
    table = PAGES[name]
    recorded = block(benchmarks.result_file(table).read_text(encoding="utf-8"), name)
    page = benchmarks.page_of(table).read_text(encoding="utf-8")
    assert page.endswith(list_table(recorded))
    # read independently: the cells of both, in order
    lines = recorded.partition("\n\n|")[2].partition("\n\n")[0].splitlines()
    rows = [line.strip().strip("|").split("|") for i, line in enumerate(lines) if i != 1]
    assert len({len(row) for row in rows}) == 1
    page = page.replace("\N{NO-BREAK SPACE}", " ")  # a figure and its error stay on one line
    written = re.findall(r"^   [* ] -(.*)$", page, re.MULTILINE)
    assert [cell.strip() for cell in written] == [cell.strip() for row in rows for cell in row]


def test_output_replaces_what_stood_there(tmp_path):
    path = tmp_path / "results.md"
    write_block(path, "one", "first\n")
    write_block(path, "two", "second")
    path.write_text(path.read_text().replace("## two", "## Two, by hand"))
    write_block(path, "one", "third")
    text = path.read_text()
    assert block(text, "one").strip() == "third"
    assert block(text, "two").strip() == "second"
    assert "Two, by hand" in text
    assert "first" not in text


# ------------------------------------------------------------------- the league


def league_row(name, split, contestant, size, accuracy, *, release="1"):
    return {
        "set": name,
        "split": split,
        "setting": "own rows",
        "contestant": contestant,
        "size": size,
        "version": release,
        "accuracy": accuracy,
    }


def prunings(tree, node, most):
    """All prunings below a node of at most so many leaves: their errors and numbers of leaves."""
    rows = tree.n_node_samples[node]
    found = [(round(rows * (1 - tree.value[node].max())), 1)]
    left, right = tree.children_left[node], tree.children_right[node]
    if left >= 0:
        for some in prunings(tree, left, most - 1):
            for others in prunings(tree, right, most - some[1]):
                found.append((some[0] + others[0], some[1] + others[1]))
    return [pair for pair in found if pair[1] <= most]


@pytest.mark.parametrize("size", [2, 3, 4])
def test_league_prunes_exactly(size):
    X, y = make_classification(300, 5, n_informative=4, n_redundant=0, n_classes=3, random_state=7)
    cell = SimpleNamespace(X=X, answers=y, split=0, regression=False)
    fitted = contestants.pruned(cell, size)
    overgrown = DecisionTreeClassifier(max_leaf_nodes=3 * size, random_state=0).fit(X, y)
    least = min(errors for errors, _ in prunings(overgrown.tree_, 0, size))
    assert np.sum(fitted.predict(X) != y) == least
    assert fitted.leaves <= size


def test_league_prunes_values_exactly():
    X, y = make_regression(200, 4, noise=5.0, random_state=3)
    cell = SimpleNamespace(X=X, answers=y, split=0, regression=True)
    fitted = contestants.pruned(cell, 3)
    tree = DecisionTreeRegressor(max_leaf_nodes=9, random_state=0).fit(X, y).tree_

    def below(node, most):
        found = [tree.n_node_samples[node] * tree.impurity[node]]
        left, right = tree.children_left[node], tree.children_right[node]
        if left >= 0:
            found += [below(left, some) + below(right, most - some) for some in range(1, most)]
        return min(found)

    assert np.sum((fitted.predict(X) - y) ** 2) == pytest.approx(below(0, 3))


def test_league_takes_differences_in_the_same_splits():
    rows = [
        league_row("c_trump", 1, "representer", 8, 0.9),
        league_row("c_trump", 2, "representer", 8, 0.7),
        league_row("magic", 1, "representer", 8, 0.8),
        league_row("c_trump", 1, "linear model", 0, 0.8),  # of one split, and of no size
        league_row("magic", 1, "linear model", 0, 0.8),
        league_row("magic", 1, "representer", 16, 0.1),
        league_row("magic", 1, "representer", 8, 0.1, release="0"),
    ]
    results = league.Figures(rows, "1")
    gap = results.gap(
        "accuracy", "representer", "linear model", 8, "own rows", ["c_trump", "magic"]
    )
    assert gap == pytest.approx((5.0, 5.0, 2))  # 10 and 0 points
    mean = results.mean("accuracy", "representer", 8, "own rows", ["c_trump", "magic"])
    assert mean == pytest.approx((0.8 + 0.8) / 2)
    assert results.mean("accuracy", "linear model", 8, "own rows", ["c_trump", "vehicle"]) is None


def test_league_counts_classes_alike():
    truth = np.array([0] * 8 + [1] * 6 + [2] * 3)
    predicted = np.array([0] * 7 + [1] * 4 + [0] * 3 + [2] * 2 + [1])
    cell = SimpleNamespace(regression=False, y_test=truth, answers_test=truth)
    figures = league.figures(cell, predicted)
    assert figures["balanced"] == pytest.approx(balanced_accuracy_score(truth, predicted))
    assert figures["accuracy"] == figures["agreement"] == pytest.approx(12 / 17)
    assert figures["worst"] == pytest.approx(3 / 6)  # the class of three rows tells too little


def test_league_runs_in_pieces(tmp_path):
    X, y = make_classification(150, 4, n_informative=3, n_redundant=0, random_state=0)
    table = np.column_stack([X, y])
    np.savetxt(tmp_path / "vehicle.csv", table, delimiter=",", header="a,b,c,d,target", comments="")
    chosen = ["plain tree on answers", "plain tree on out-of-bag answers", "representer"]

    def call(*arguments):
        command = [sys.executable, "-P", "-c", LEAGUE, str(ROOT), *arguments]
        run = subprocess.run(
            [*command, "--store", str(tmp_path / "store")],
            capture_output=True, text=True, check=True,
        )  # fmt: skip
        return run.stdout

    how = "--sets", "vehicle", "--data", str(tmp_path), "--splits", "2", "--contestants"
    call("run", *how, *chosen[:2])
    stored = (tmp_path / "store" / "results.jsonl").read_text().splitlines()
    assert len(stored) == 2 * (3 + 3 + 3)  # splits; sizes, and of the answers in two settings
    call("run", *how, *chosen)
    rows = [json.loads(line) for line in (tmp_path / "store" / "results.jsonl").open()]
    assert [json.dumps(row) for row in rows[: len(stored)]] == stored
    assert {row["contestant"] for row in rows[len(stored) :]} == {"representer"}
    assert len(rows) == len(stored) + 2 * 6
    assert not any("failed" in row for row in rows)
    assert "| **representer** |" in call("report")


# The child processes have to find the programs, too.
LEAGUE = """
import os, sys
root = sys.argv.pop(1)
sys.path.append(root)
import benchmarks.league as league
if __name__ == "__main__":
    sys.argv[0] = "league"
    league.main()
"""


def numbers(text):
    return set(re.findall(r"\d[\d.,/]*\d|\d", text))


def test_figures_of_readme_are_recorded():
    readme = (benchmarks.ROOT / "README.md").read_text(encoding="utf-8")
    link = r"\[([\w.]+)\]\((benchmarks/results/\w+\.md)\)"
    rows = re.findall(rf"^\| (.*{link}) \|$", readme, re.MULTILINE)
    assert len(rows) >= 5
    for row, name, file in rows:
        # the text of the link is what runs the table again
        assert benchmarks.result_file(benchmarks.TABLES[name]) == benchmarks.ROOT / file
        told = numbers(row.split("|")[1])
        assert told, row
        missing = told - numbers((benchmarks.ROOT / file).read_text(encoding="utf-8"))
        assert not missing, f"{file} does not hold {sorted(missing)}"
