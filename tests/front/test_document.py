"""The document: what it says is what the functions answer, in each format."""

import hashlib
import re
from copy import copy
from dataclasses import replace
from datetime import date
from itertools import combinations

import joblib
import numpy as np
import pandas as pd
import pytest
from sklearn.compose import make_column_transformer
from sklearn.ensemble import GradientBoostingRegressor, RandomForestClassifier
from sklearn.impute import SimpleImputer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, OneHotEncoder, OrdinalEncoder
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from ensemble_simplify import Simplification, is_sensitive, simplify, verify
from ensemble_simplify.__main__ import main
from ensemble_simplify.front._document import SECTIONS
from ensemble_simplify.front._statement import figure


def table(n=240, seed=0):
    rng = np.random.default_rng(seed)
    X = pd.DataFrame(
        {
            "age": rng.integers(18, 80, n),
            "in|come": rng.normal(30, 8, n).round(1),
            "town": rng.choice(["x <b>", "y", "z"], n),
        }
    )
    y = np.where(X["age"] + (X["town"] == "y") * 30 + rng.normal(0, 5, n) > 55, "yes", "no")
    X.loc[3, "in|come"] = np.nan
    return X, y


@pytest.fixture(scope="module")
def outcome():
    X, y = table()
    encoder = make_column_transformer(
        (OrdinalEncoder(), ["town"]), (SimpleImputer(), ["in|come"]), remainder="passthrough"
    )
    model = make_pipeline(encoder, RandomForestClassifier(10, max_depth=4, random_state=0)).fit(
        X[:120], y[:120]
    )
    return simplify(
        model, X[120:], y[120:], max_leaf_nodes=4, methods=["representer"], random_state=0
    )


def sections_of(text):
    """Headings and what stands below them."""
    parts = re.split(r"^# (.*)$", text, flags=re.MULTILINE)
    return dict(zip(parts[1::2], parts[2::2], strict=True))


def test_all_sections(outcome, tmp_path):
    again = verify(outcome.best_model, outcome.best_model)
    again.save(tmp_path / "proof.json")
    outcome.document(
        path := tmp_path / "model.md",
        purpose="Who gets *a letter*.",
        author="A. Person",
        day=date(2026, 1, 2),
        protected=["in|come", "town"],
        directions={"age": "rising"},
        positive="yes",
        previous=outcome.model,
        evidence=[tmp_path / "proof.json"],
    )
    told = sections_of(path.read_text(encoding="utf-8"))
    assert list(told) == [title for title, _ in SECTIONS.values()]
    # markup of the user's is shown as it is
    assert r"Who gets \*a letter\*." in told["Purpose and limits of use"]
    rows = outcome._task.X
    ages = f"| age | whole numbers | {rows['age'].min()}, {rows['age'].max()} | 0 |"
    assert ages in told["Purpose and limits of use"]
    assert r"| x \<b\>; y; z |" in told["Purpose and limits of use"]
    assert outcome.verdict.text.split(". ")[0] in told["The model and its simpler form"]
    assert outcome.verdict.text.split(". ")[0] in told["Purpose and limits of use"]
    labels = outcome._task.y
    shares = (f"{label} {figure((labels == label).mean(), True)}" for label in ("no", "yes"))
    assert f"of 120 rows: {', '.join(shares)}." in told["Data and versions"]
    assert "120 of them.\n- The model has not learned from these." in told["Data and versions"]
    assert outcome.export_text().strip() in told["The model and its simpler form"]
    own = is_sensitive(outcome.best_model, "town").sensitive
    assert f"town, the tree: {'yes' if own else 'no, proven'}" in told["Protected columns"]
    assert "The answer rises where it becomes yes." in told["Directions"]
    assert told["Test of the implementation"].count(f"0 of {len(rows)} rows differ") == 2
    assert "holds, checked again" in told["Evidence"]
    assert hashlib.sha256((tmp_path / "proof.json").read_bytes()).hexdigest() in told["Evidence"]
    assert "| prepared by | A. Person |  | 2026-01-02 |" in told["Signatures"]
    differ = (outcome.predict(rows) != outcome.model.predict(rows)).sum()
    assert f"differ on {differ} of {len(rows)} rows" in told["Changes since the last version"]


def test_a_wrong_export_is_found(outcome, tmp_path, monkeypatch):
    wrong = outcome.export("python").replace("'yes'", "'no'")
    monkeypatch.setattr(type(outcome.best_model), "export", lambda self, language: wrong)
    outcome.document(path := tmp_path / "model.md", sections=["implementation"])
    n = (outcome.predict(outcome._task.X) == "yes").sum()
    assert f"| python | {n} of 120 rows differ |" in path.read_text(encoding="utf-8")


def test_formats_say_the_same(outcome, tmp_path):
    docx = pytest.importorskip("docx")
    some = ["purpose", "model", "challengers", "signature"]
    for ending in (".md", ".html", ".docx"):
        outcome.document(tmp_path / f"model{ending}", sections=some, day=date(2026, 1, 2))
    page = (tmp_path / "model.html").read_text(encoding="utf-8")
    assert "x &lt;b&gt;; y; z" in page
    assert "<svg" in page
    word = docx.Document(tmp_path / "model.docx")
    headings = [own.text for own in word.paragraphs if own.style.name == "Heading 1"]
    assert headings == [SECTIONS[name][0] for name in some]
    assert outcome.export_text().strip() in [own.text for own in word.paragraphs]
    cells = [cell.text for own in word.tables for row in own.rows for cell in row.cells]
    assert "x <b>; y; z" in cells
    assert "2026-01-02" in cells


def test_open_points_are_those_of_the_sections(outcome, tmp_path):
    docx = pytest.importorskip("docx")
    options = dict(protected=["town"], purpose="Who gets a letter.", day=date(2026, 1, 2))
    some = [name for name in SECTIONS if name not in ("stability", "reasons")]
    for ending in (".md", ".html", ".docx"):
        outcome.document(tmp_path / f"own{ending}", sections=some, **options)
    text = (tmp_path / "own.md").read_text(encoding="utf-8")
    told = sections_of(text)
    points = re.findall(r"^- \[(.*?)\]\(#(.*?)\): (.*)$", told["Open points"], flags=re.MULTILINE)
    assert f"({len(points) + 1})" in told["Open points"]
    for title, anchor, point in points:
        # each stands in the section that it leads to
        assert point in told[title]
        assert anchor == title.lower().replace(" ", "-")
    # the verdict comes first: what follows the model in its place is asked next
    assert points[0][2].startswith(outcome.verdict.text.split(". ")[0])
    assert "Left out of this document: Reasons for an answer, Stability." in told["Open points"]
    assert any("No earlier version was named" in point for _, _, point in points)
    assert not any("town, the tree: no, proven" in point for _, _, point in points)
    page = (tmp_path / "own.html").read_text(encoding="utf-8")
    linked = re.findall(r'<a href="#(.*?)">', page)
    assert len(linked) == len(points)
    assert all(f'<h2 id="{key}">' in page for key in linked)
    body = docx.Document(tmp_path / "own.docx").element.xml
    marks = re.findall(r'<w:bookmarkStart w:id="(.*?)" w:name="(.*?)"', body)
    assert [name for _, name in marks] == some
    assert len({own for own, _ in marks}) == len(some)
    assert re.findall(r'<w:hyperlink w:anchor="(.*?)">', body) == linked


def test_levels_in_doubt_are_told(tmp_path):
    X = pd.DataFrame({"town": ["a", "b", "c"] * 40, "age": np.arange(120.0)})
    y = np.where((X["town"] == "b") ^ (X["age"] > 90), "yes", "no")
    encoder = make_column_transformer(
        (OneHotEncoder(handle_unknown="ignore"), ["town"]), remainder="passthrough"
    )
    model = make_pipeline(encoder, RandomForestClassifier(5, random_state=0)).fit(X[:60], y[:60])
    rows = X[60:].copy()
    rows.loc[rows["town"] == "c", "town"] = "a"
    rows.iloc[:3, 0] = "new"
    found = simplify(model, rows, y[60:], max_leaf_nodes=4, methods=["representer"], random_state=0)
    found.document(path := tmp_path / "own.md", sections=["open", "purpose"])
    told = sections_of(path.read_text(encoding="utf-8"))["Open points"]
    assert "none of these rows has, so that nothing is measured (town: c)." in told
    assert "does not know levels that some of these rows have (town: new)." in told
    assert "fewer than 15 rows, too few to tell how both do there (town: new)." in told


def test_nothing_open(tmp_path):
    X = np.arange(40.0)[:, None]
    tree = DecisionTreeClassifier(max_depth=1).fit(X, X[:, 0] > 20)
    found = simplify(tree, X + 0.25, methods=["born_again"], random_state=0)
    assert found.verdict.level == "follows"
    sections = ["open", "purpose", "reasons"]
    found.document(path := tmp_path / "own.md", sections=sections, purpose="Tells large.")
    told = sections_of(path.read_text(encoding="utf-8"))["Open points"]
    assert "Left out of this document: Data and versions" in told
    assert "](#" not in told


def test_proofs_that_a_limit_ended_are_named(outcome, tmp_path, monkeypatch):
    def ended(model, column, **options):
        return replace(is_sensitive(model, column), sensitive=None, reason="time")

    monkeypatch.setattr("ensemble_simplify.front._document.is_sensitive", ended)
    options = dict(protected=["town"], time_limit=3)
    outcome.document(path := tmp_path / "own.md", sections=["open", "sensitivity"], **options)
    told = sections_of(path.read_text(encoding="utf-8"))
    for title in ("Open points", "Protected columns"):
        assert told[title].count(r"undecided. class by 'town': undecided at the limit.") == 2
        assert told[title].count(r"time\_limit=3 of document was reached; with more") == 2


def test_template(outcome, tmp_path):
    pytest.importorskip("jinja2")
    (tmp_path / "own.j2").write_text(
        "{% for own in sections %}{{ own.key }}:{% endfor %}{{ by_key.purpose.body }}"
    )
    options = dict(template=tmp_path / "own.j2", sections=["purpose", "signature"])
    outcome.document(tmp_path / "own.md", **options)
    told = (tmp_path / "own.md").read_text()
    assert told.startswith("purpose:signature:The tree of ")
    assert "Purpose: (to be" in told


@pytest.mark.parametrize(
    ("name", "options", "message"),
    [
        ("a.pdf", {}, "ends in none of .md, .html, .docx"),
        ("a.md", {"sections": ["model", "mode"]}, "'mode' is no section"),
        ("a.docx", {"template": "t"}, "for Markdown and HTML"),
        ("a.md", {"protected": ["agee"]}, "protected names the column 'agee'"),
        ("a.md", {"protected": "age"}, "protected='age' is one text"),
        ("a.md", {"directions": {"agee": "rising"}}, "directions names the column 'agee'"),
        ("a.md", {"directions": {"age": "up"}}, "'up'}. Choose 'rising' or 'falling'"),
        ("a.md", {"directions": ["age"]}, "is no mapping"),
        ("a.md", {"day": "2026-11-01"}, "day='2026-11-01' is no datetime.date"),
        ("a.md", {"evidence": ["nowhere.json"]}, "evidence: nowhere.json is no file"),
        ("a.md", {"template": "nowhere.j2"}, "template: nowhere.j2 is no file"),
        ("nowhere/a.md", {}, "cannot be written"),
        ("a.md", {"positive": "y"}, "positive='y' is no class of the model"),
    ],
)
def test_refused_before_the_work(outcome, tmp_path, monkeypatch, name, options, message):
    monkeypatch.setattr("ensemble_simplify.front._document.SECTIONS", dict.fromkeys(SECTIONS))
    with pytest.raises((ValueError, TypeError, OSError), match=message):
        outcome.document(tmp_path / name, **options)
    assert not (tmp_path / name).exists()


def test_no_place_in_memory_is_written(outcome, tmp_path):
    own = copy(outcome)
    model = make_pipeline(FunctionTransformer(table), DecisionTreeClassifier())
    object.__setattr__(own, "_task", replace(own._task, model=model))
    own.document(path := tmp_path / "model.md", sections=["model"])
    told = path.read_text(encoding="utf-8")
    assert "FunctionTransformer(func=" in told
    assert "0x" not in told


def test_stability_is_what_the_samples_say(outcome):
    found, rows = outcome.stability(n_fits=3), outcome._task.X
    rng, n = np.random.RandomState(outcome._task.seed), len(rows)
    drawn = [rng.randint(n, size=n) for _ in range(3)]
    y = outcome._task.y
    answers = [outcome.refit(rows.iloc[own], y[own]).predict(rows) for own in drawn]
    alike = []
    for i, j in ((0, 1), (0, 2), (1, 2)):
        new = np.setdiff1d(np.arange(n), np.concatenate([drawn[i], drawn[j]]))
        alike.append(np.mean(answers[i][new] == answers[j][new]))
    assert (found.low, found.high) == (min(alike), max(alike))
    assert found.mean == pytest.approx(np.mean(alike))
    for n_fits in (1, 2.5, "4"):
        with pytest.raises(ValueError, match="at least 2"):
            outcome.stability(n_fits=n_fits)


def test_stability_of_few_rows(tmp_path):
    X = np.random.default_rng(0).normal(size=(8, 2))
    model = DecisionTreeRegressor(random_state=0).fit(X, X[:, 0])
    found = simplify(model, X + 0.01, methods=["representer"], random_state=0)
    n, rng = 8, np.random.RandomState(found._task.seed)
    drawn = [set(rng.randint(n, size=n)) for _ in range(12)]
    assert any(len(one | two) > n - 2 for one, two in combinations(drawn, 2))
    assert np.isfinite(found.stability(n_fits=12).mean)
    object.__setattr__(found, "stability", lambda: Simplification.stability(found, n_fits=1))
    found.document(path := tmp_path / "model.md", sections=["stability"])
    assert "It cannot be told. n\\_fits=1 leaves nothing" in path.read_text(encoding="utf-8")


def test_levels_that_read_like_gaps_are_put_to_exports(tmp_path):
    X = pd.DataFrame({"note": ["NaT", "<NA>", "x", "y"] * 20})
    y = X["note"].isin(["NaT", "<NA>"])
    encoder = make_column_transformer((OrdinalEncoder(), ["note"]))
    model = make_pipeline(encoder, RandomForestClassifier(5, random_state=0)).fit(X[:40], y[:40])
    found = simplify(
        model, X[40:], y[40:], max_leaf_nodes=4, methods=["representer"], random_state=0
    )
    found.document(path := tmp_path / "model.md", sections=["implementation"])
    assert path.read_text(encoding="utf-8").count("0 of 40 rows differ") == 2


def test_numbers_without_names(tmp_path):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(80, 3))
    y = X[:, 0] + rng.normal(0, 0.1, 80)
    model = GradientBoostingRegressor(n_estimators=10, random_state=0).fit(X[:40], y[:40])
    found = simplify(
        model, X[40:], y[40:], max_leaf_nodes=4, methods=["representer"], random_state=0
    )
    found.document(path := tmp_path / "model.md", protected=[2], directions={0: "rising"})
    told = sections_of(path.read_text(encoding="utf-8"))
    assert "| x0 | numbers |" in told["Purpose and limits of use"]
    assert told["Test of the implementation"].count("0 of 40 rows differ") == 2
    assert "have an R² between them of" in told["Stability"]
    assert "x2, the model: " in told["Protected columns"]
    assert "rising in x0, the model: " in told["Directions"]


def test_dates(tmp_path):
    X = pd.DataFrame({"day": pd.to_datetime("2026-01-01") + pd.to_timedelta([0, 1, 2] * 20, "D")})
    y = X["day"].dt.day % 2
    model = make_pipeline(OneHotEncoder(), DecisionTreeClassifier()).fit(X, y)
    found = simplify(model, X, y, max_leaf_nodes=4, methods=["representer"], random_state=0)
    found.document(path := tmp_path / "model.md", sections=["implementation"])
    assert path.read_text(encoding="utf-8").count("0 of 60 rows differ") == 2


def test_command(tmp_path, capsys):
    X, y = table()
    numbers = X[["age"]]
    model = DecisionTreeClassifier(max_depth=2, random_state=0).fit(numbers, y)
    joblib.dump(model, tmp_path / "model.joblib")
    numbers.assign(y=y).to_csv(tmp_path / "rows.csv", index=False)
    arguments = [str(tmp_path / "model.joblib"), str(tmp_path / "rows.csv"), "--target", "y"]
    arguments += ["--out", str(tmp_path / "model.html"), "--sections", "purpose,signature"]
    assert main(["document", *arguments, "--author", "A. Person"]) == 0
    assert "A. Person" in (tmp_path / "model.html").read_text(encoding="utf-8")
    assert "The document is in" in capsys.readouterr().out
    assert main(["document", *arguments[:4], "--out", str(tmp_path / "a.pdf")]) == 2
    arguments[-1] = "directions"
    assert main(["document", *arguments, "--rising", "age", "--positive", "yes"]) == 0
    text = (tmp_path / "model.html").read_text(encoding="utf-8")
    assert "rising in age" in text
    capsys.readouterr()
    for more, message in (
        (["--rising", "age", "--falling", "age"], "both name 'age'"),
        (["--positive", "perhaps"], "Give one of no, yes"),
    ):
        assert main(["document", *arguments, *more]) == 2
        assert message in capsys.readouterr().err


def test_the_same_each_time(outcome, tmp_path):
    """What is signed can be made again: no clock, and no other draw of rows."""
    texts = set()
    for name, seconds in (("one.md", 1.0), ("two.md", 99.0)):
        slower = replace(outcome, seconds=seconds)
        asked = {"protected": ["town"], "directions": {"age": "rising"}, "day": date(2026, 1, 2)}
        slower.document(tmp_path / name, positive="yes", **asked)
        texts.add((tmp_path / name).read_text(encoding="utf-8"))
    (text,) = texts
    assert not re.search(r"\d s\b|seconds", text)


def test_the_report_says_how_stable_its_tree_is(outcome, tmp_path):
    found = replace(outcome, _stability=outcome.stability(n_fits=2))
    share = figure(found._stability.mean, True)
    page = tmp_path / "page.html"
    text = re.sub(r"\s+", " ", found.report(page))
    assert f"Two such trees give the same answer on {share} of the rows" in text
    assert share in page.read_text(encoding="utf-8").replace("\xa0", " ")
    assert "Stability" not in outcome.report()
