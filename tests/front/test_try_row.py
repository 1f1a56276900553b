"""The part of the page in which a row is tried: its script answers as the tree does."""

import json
import re
import shutil
import subprocess

import numpy as np
import pandas as pd
import pytest
from sklearn.compose import make_column_transformer
from sklearn.ensemble import RandomForestClassifier
from sklearn.impute import SimpleImputer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder
from written_code import by_javascript, needs_node

from ensemble_simplify import front, simplify
from ensemble_simplify.base import style_sheet

CHROMIUM = shutil.which("chromium") or shutil.which("google-chrome")
TOWNS = ["</script><b>", "y", "it's z"]


@pytest.fixture(scope="module")
def outcome():
    rng = np.random.default_rng(0)
    X = pd.DataFrame(
        {
            "age": rng.integers(18, 80, 500).astype(float),
            "income": rng.normal(30, 8, 500).round(1),
            "town": rng.choice(TOWNS, 500),
        }
    )
    y = np.where(X["age"] + (X["town"] == "y") * 30 - X["income"] > 30, "<yes>", "no")
    X.loc[::9, "income"] = np.nan
    encoder = make_column_transformer(
        (OneHotEncoder(), ["town"]), (SimpleImputer(), ["income"]), remainder="passthrough"
    )
    forest = RandomForestClassifier(10, max_depth=5, random_state=0)
    model = make_pipeline(encoder, forest).fit(X, y)
    return simplify(model, X, y, max_leaf_nodes=8, methods=["representer"], random_state=0)


@pytest.fixture(scope="module")
def rows(outcome):
    """The rows, and others on both sides of each threshold, one float beside it, too."""
    X = outcome._task.X
    tree = outcome.best_model.decision_tree_.tree_
    more = []
    for node in np.flatnonzero(tree.children_left >= 0):
        name = outcome.feature_names[tree.feature[node]]
        if name != "town":
            row = X.iloc[[node]].copy()
            for end in (tree.threshold[node], np.nextafter(tree.threshold[node], np.inf), np.nan):
                row[name] = end
                more.append(row.copy())
    return pd.concat([*more, X])[:500]


@pytest.fixture(scope="module")
def page(outcome, rows, tmp_path_factory):
    path = tmp_path_factory.mktemp("page") / "report.html"
    outcome.report(path, rows=rows)
    return path.read_text(encoding="utf-8")


def told(page):
    (text,) = re.findall(r'<script type="application/json">(.*?)</script>', page, re.DOTALL)
    return json.loads(text)


@needs_node
def test_ways_and_flips(outcome, rows, page, tmp_path):
    script = style_sheet(front.__name__, "try_row.js")
    (tmp_path / "try.js").write_text(script)
    (tmp_path / "tree.json").write_text(json.dumps(told(page)))
    (tmp_path / "run.js").write_text(
        'const { wayOf, flipsOf } = require("./try.js");'
        'const tree = JSON.parse(require("fs").readFileSync("tree.json"));'
        "const own = (row) => [tree.nodes[wayOf(tree, row).at(-1)].answer, flipsOf(tree, row)];"
        "console.log(JSON.stringify(tree.rows.map(own)));"
    )
    run = subprocess.run(
        ["node", "run.js"], cwd=tmp_path, capture_output=True, text=True, check=True
    )
    answers, flips = zip(*json.loads(run.stdout), strict=True)
    expected = outcome.predict(rows)
    np.testing.assert_array_equal(answers, expected)
    # each change that is told leads to the other class, by the tree itself
    columns = told(page)["columns"]
    changed, number = rows.copy(), 0
    for i, own in enumerate(flips):
        for j, value, words in own[:1]:
            name, levels = columns[j]["name"], columns[j]["levels"]
            changed.iloc[i, changed.columns.get_loc(name)] = levels[value] if levels else value
            number += 1
            assert words.endswith("no" if expected[i] == "<yes>" else "<yes>")
    assert number > 100
    answers = outcome.predict(changed)
    np.testing.assert_array_equal(answers != expected, [len(own) > 0 for own in flips])


@pytest.mark.skipif(CHROMIUM is None, reason="there is no Chromium")
def test_in_a_browser(outcome, rows, page, tmp_path):
    script = """<script>
    const pick = document.querySelector(".pick"), found = [];
    for (const option of [...pick.options].slice(1)) {
      pick.value = option.value;
      pick.dispatchEvent(new Event("change"));
      found.push(document.querySelector(".answer").textContent);
    }
    document.title = JSON.stringify(found);
    </script></body>"""
    path = tmp_path / "page.html"
    path.write_text(page.replace("</body>", script), encoding="utf-8")
    options = ["--headless", "--no-sandbox", "--disable-gpu", "--dump-dom"]
    run = subprocess.run(
        [CHROMIUM, *options, path.as_uri()], capture_output=True, text=True, check=True, timeout=120
    )
    (title,) = re.findall(r"<title>(\[.*?)</title>", run.stdout, re.DOTALL)
    title = title.replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&")
    answers = [text.partition(" (")[0] for text in json.loads(title)]
    np.testing.assert_array_equal(answers, outcome.predict(rows))


def test_names_and_levels_end_no_script(page):
    assert set(told(page)["columns"][-1]["levels"]) == set(TOWNS)
    assert "</script><b>" not in page


def test_without_rows_there_are_none(outcome, tmp_path):
    outcome.report(tmp_path / "report.html")
    assert told((tmp_path / "report.html").read_text(encoding="utf-8"))["rows"] == []


@needs_node
def test_exported_script(outcome, rows):
    found = by_javascript(outcome.export("javascript"), rows.to_dict("records"))
    np.testing.assert_array_equal(found, outcome.predict(rows))
