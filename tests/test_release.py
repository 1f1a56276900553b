"""What a release relies on: links of the pages, pinned actions, the conda recipe."""

import ast
import importlib.util
import io
import os
import re
import subprocess
import sys
import tarfile
import tomllib
from pathlib import Path

import pytest

import ensemble_simplify

ROOT = Path(__file__).resolve().parent.parent


@pytest.fixture(scope="module")
def check_links():
    spec = importlib.util.spec_from_file_location("check_links", ROOT / "doc" / "check_links.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize(
    ("tag", "reason"),
    [
        ('<a href="b.html#here">', ""),
        ('<a href="#top">', ""),
        ('<a href="sub/">', ""),
        ('<img src="data:image/gif;base64,AAAA">', ""),
        ('<a href="mailto:someone@example.org">', ""),
        ('<a href="https://doi.org/10.1007/978-3-319-67274-8_10">', ""),
        ('<a href="https://scikit-learn.org/stable/glossary.html#term-n_jobs">', ""),
        ('<a href="c.html">', "no such file"),
        ('<a href="../outside.html">', "no such file"),
        ('<a href="b.html#there">', "no such anchor"),
        ('<a href="#nowhere">', "no such anchor"),
        ('<a href="http://numpy.org">', "does not begin with https"),
        ('<a href="//numpy.org">', "does not begin with https"),
        ('<a href="https://scikitlearn.org/stable">', "names a host that is not in HOSTS"),
        ('<a href="https://doi.org/1007/978">', "is not a DOI"),
        ('<script src="https://numpy.org/a.js">', "is loaded from another host"),
        ('<link href="https://numpy.org/a.css">', "is loaded from another host"),
    ],
)
def test_links(check_links, tmp_path, tag, reason):
    root = tmp_path / "html"
    (root / "sub").mkdir(parents=True)
    (root / "sub" / "index.html").write_text("<p>", encoding="utf-8")
    (root / "a.html").write_text(f'<p id="top">{tag}', encoding="utf-8")
    (root / "b.html").write_text('<p id="here">', encoding="utf-8")
    (tmp_path / "outside.html").write_text("<p>", encoding="utf-8")
    broken = list(check_links.broken_links(root))
    if reason:
        ((page, _, said),) = broken
        assert page.name == "a.html"
        assert said.startswith(reason)
    else:
        assert not broken


def test_no_pages_are_no_success(check_links, tmp_path):
    assert [reason for _, _, reason in check_links.broken_links(tmp_path)] == ["no pages here"]


def test_actions_are_pinned_to_commits():
    """A tag can be moved to other code, a commit cannot. Dependabot reads the version behind it."""
    workflows = sorted((ROOT / ".github" / "workflows").glob("*.yml"))
    used = [
        line.strip()
        for path in workflows
        for line in path.read_text(encoding="utf-8").splitlines()
        if "uses:" in line
    ]
    assert used
    pinned = re.compile(r"(- )?uses: [\w-]+/[\w./-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+")
    assert not [line for line in used if not pinned.fullmatch(line)]


def test_conda_recipe_asks_for_what_the_package_asks_for():
    recipe = (ROOT / "doc" / "conda-forge" / "recipe.yaml").read_text(encoding="utf-8")
    tables = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    assert f'version: "{ensemble_simplify.__version__}"' in recipe
    blocks = dict(re.findall(r"^  (host|run):\n((?:    - .+\n)+)", recipe, re.MULTILINE))
    listed = {name: set(text.replace("    - ", "").splitlines()) for name, text in blocks.items()}
    spaced = re.compile(r"([\w-]+)(.*)")
    run = {spaced.sub(r"\1 \2", need) for need in tables["project"]["dependencies"]}
    assert listed["run"] == run | {"python"}
    build = {spaced.sub(r"\1 \2", need.lower()) for need in tables["build-system"]["requires"]}
    assert listed["host"] == build | {"python", "pip"}
    least = tables["project"]["requires-python"].removeprefix(">=")
    assert f'skip: match(python, "<{least}")' in recipe


def test_figures_of_the_paper_are_recorded():
    """Its table names tables of the benchmarks as README does, and holds no other figures."""
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    file_of = dict(re.findall(r"\[([\w.]+)\]\((benchmarks/results/\w+\.md)\)", readme))
    paper = (ROOT / "doc" / "paper" / "paper.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| (.+) \| (.+?) \|.*\| ([\w.]+) \|$", paper, re.MULTILINE)[1:]
    assert len(rows) >= 5
    number = re.compile(r"\d[\d.,/]*\d|\d")
    for _, result, name in rows:
        told = set(number.findall(result))
        recorded = (ROOT / file_of[name]).read_text(encoding="utf-8")
        assert told, name
        assert told <= set(number.findall(recorded)), name


def test_paper_cites_what_it_lists():
    folder = ROOT / "doc" / "paper"
    cited = re.findall(r"@(\w+)", (folder / "paper.md").read_text(encoding="utf-8"))
    listed = re.findall(r"^@\w+\{(\w+),", (folder / "paper.bib").read_text(encoding="utf-8"), re.M)
    assert set(cited) == set(listed)


def test_the_package_imports_what_is_asked_for_alone():
    """A name brings its own room; solvers come with the first program."""
    told = subprocess.run(
        [
            sys.executable,
            "-c",
            "import sys, ensemble_simplify as es\n"
            "print('sklearn' in sys.modules)\n"
            "[getattr(es, name) for name in es.__all__]\n"
            "print(*(m in sys.modules for m in ('highspy', 'matplotlib')))\n"
            "from ensemble_simplify.grid import LinearProgram\n"
            "print(LinearProgram(1.0, [[1.0]], row_lower=2.0).solve().x, 'highspy' in sys.modules)",
        ],
        capture_output=True,
        text=True,
        check=True,
    )
    first, all_names, program = told.stdout.splitlines()
    assert first == "False"
    assert all_names.startswith("False False")
    assert program == "[2.] True"


def test_names_are_typed_where_they_are_found():
    """Type checkers read imports, Python a table: both say the same, and what is public."""
    tree = ast.parse((ROOT / "ensemble_simplify" / "__init__.py").read_text())
    (typed,) = (part for part in tree.body if isinstance(part, ast.If))
    rooms: dict[str, list[str]] = {}
    for part in typed.body:
        (alias,) = part.names
        # without "as", a name that is imported is no public one to type checkers
        assert alias.asname == alias.name
        rooms.setdefault(part.module.removeprefix("ensemble_simplify."), []).append(alias.name)
    assert rooms == {room: names.split() for room, names in ensemble_simplify._ROOMS.items()}
    assert sorted(name for names in rooms.values() for name in names) == ensemble_simplify.__all__
    assert set(ensemble_simplify.__all__) <= set(dir(ensemble_simplify))
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        ensemble_simplify.nothing  # noqa: B018


def test_source_archives_are_the_same_bytes(tmp_path, monkeypatch):
    """With SOURCE_DATE_EPOCH, neither times, owners nor the order of a folder are in them."""
    setuptools = pytest.importorskip("setuptools")
    spec = importlib.util.spec_from_file_location("setup", ROOT / "setup.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    archive = module.SourceArchive(setuptools.Distribution())
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "1700000000")
    made = set()
    for names, seconds in (("ab", 1), ("ba", 10**9)):
        (tmp_path / names).mkdir()
        monkeypatch.chdir(tmp_path / names)
        Path("own").mkdir()
        for name in names:
            Path("own", name).write_text(name)
            os.utime(Path("own", name), (seconds, seconds))
        made.add(Path(archive.make_archive("own", "gztar", base_dir="own")).read_bytes())
    assert len(made) == 1
    with tarfile.open(fileobj=io.BytesIO(made.pop())) as found:
        assert [one.name for one in found] == ["own", "own/a", "own/b"]
