"""What is shown of a simplification: text, pages, pictures and progress."""

from __future__ import annotations

import re
import sys
from html import escape
from html.parser import HTMLParser
from xml.etree import ElementTree

import numpy as np
import pandas as pd
import pytest
import results_by_hand as stand_ins
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from ensemble_simplify import differences
from ensemble_simplify.front._display import SimplificationDisplay
from ensemble_simplify.front._drawing import apart, tree_svg
from ensemble_simplify.front._page import as_fragment, as_page, tree_html
from ensemble_simplify.front._report import as_text, in_terms_of_simplify, not_tried
from ensemble_simplify.front._rules import in_words, tree_lines
from ensemble_simplify.front._trials import Progress
from ensemble_simplify.writing import NamedTree, percent


@pytest.fixture(scope="module", params=sorted(stand_ins.ALL))
def found(request):
    return stand_ins.ALL[request.param]()


@pytest.fixture(scope="module")
def iris():
    return stand_ins.of_iris()


# ------------------------------------------------------------------- text


def test_text_is_narrow_and_begins_with_the_verdict(found):
    lines = as_text(found).splitlines()
    assert max(map(len, lines)) <= 100
    assert lines[0].endswith("as one small decision tree")
    assert lines[3].startswith("Verdict: ")
    order = [next(i for i, line in enumerate(lines) if line.startswith(start)) for start in
             ("Verdict", "The ", "All methods", "Not tried", "Next")]  # fmt: skip
    assert order == sorted(order)


def test_text_has_no_types_of_numpy(found):
    assert not re.search(r"np\.|float64|int64|nan", as_text(found) + as_fragment(found))


def test_rows_bear_the_names_by_which_they_are_asked_for(found):
    text = as_text(found)
    for row in found.table:
        if row.is_measured:
            assert re.search(rf"^[* ] {row.name}( |$)", text, re.M), row.name
    assert re.search(r"^\* representer ", text, re.M)


def test_methods_with_one_reason_are_told_together(iris):
    assert not_tried(iris) == (
        "Not tried: feature_budget (feature_costs was not given); genesim, born_again_0 "
        '(methods="auto" leaves it out).'
    )


def test_advice_names_what_simplify_has():
    told = (
        "time_limit=4.01 stopped the growing of the tree at 8 leaves. Raise it, or ask for less: a "
        "smaller max_leaf_nodes or n_samples."
    )
    assert in_terms_of_simplify(told) == (
        "stopped after 4.01 s, its share of the time limit. Give simplify more time_limit."
    )
    told = "No tree was found before time_limit=4 was over. Raise it, or ask for fewer leaves."
    assert in_terms_of_simplify(told) == (
        "No tree was found before time_limit=4 was over. Give simplify more time_limit."
    )
    assert in_terms_of_simplify("X has 3 rows. They are few.") == "X has 3 rows. They are few."


def test_where_the_tree_and_the_model_differ():
    found = stand_ins.of_digits()
    text, told = " ".join(as_text(found).split()), found._differences
    assert (
        f"Where the tree and the model differ: The two differ on {told.n_differing} of 599" in text
    )
    assert 1 <= len(told) <= 3
    for rule in told:
        assert f"{rule.rule} ({percent(rule.share)} of the rows" in text
        assert f"the model says mostly {rule.answers[0]}, the tree {rule.answers[1]}" in text
    page = as_page(found).replace("\N{NO-BREAK SPACE}", " ")
    assert "Where the tree and the model differ" in page
    for rule in told:
        for cell in rule.cells():
            assert escape(cell) in page
    # where they differ nowhere, there is nothing to tell
    found._differences = differences(lambda X: X[:, 0], lambda X: X[:, 0], np.zeros((9, 1)))
    assert "the model differ" not in as_text(found) + as_page(found)


def test_tree_that_follows_nothing_is_not_recommended():
    found = stand_ins.of_digits()
    assert "The closest tree (representer, 16 leaves)" in as_text(found)
    assert "The recommended tree" not in as_page(found)


def test_no_tree_at_all(iris):
    iris = stand_ins.of_iris()
    iris.best, iris.best_model, iris.curve = None, None, []
    assert "Next:" not in as_text(iris)
    assert "Verdict: " in as_text(iris)
    assert "<svg" not in as_page(iris)


# ------------------------------------------------------------------- trees in words


@pytest.mark.parametrize("width", [40, 100])
def test_lines_of_trees_tell_every_leaf(width):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 3))
    tree = DecisionTreeClassifier(max_leaf_nodes=30, random_state=0).fit(X, rng.integers(0, 3, 300))
    named = NamedTree.of(tree, feature_names=["a " * 30 + "b", "c", "w" * 130])
    lines = tree_lines(named, width)
    assert max(map(len, lines)) <= width
    rows = [int(n) for n in re.findall(r"of (\d+) rows?\)", " ".join(" ".join(lines).split()))]
    assert len(rows) == 30
    assert sum(rows) == 300


def test_large_trees_are_told_in_part():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(500, 3)), rng.integers(0, 2, 500)
    tree = DecisionTreeClassifier(random_state=0).fit(X, y)
    root = in_words(NamedTree.of(tree), 12)
    ends = root.leaves()
    assert len(ends) == 12
    assert sum(end.n_rows for end in ends) == 500
    hidden = sum(end.n_hidden or 1 for end in ends)
    assert hidden == tree.get_n_leaves()
    assert "not shown" in tree_html(NamedTree.of(tree), "large")


def test_single_leaf():
    tree = DecisionTreeRegressor().fit(np.zeros((9, 2)), np.full(9, 123_456.7))
    assert tree_lines(NamedTree.of(tree)) == ["always: 123,457 (9 rows)"]
    ElementTree.fromstring(tree_svg(in_words(NamedTree.of(tree)), "one")[0])
    assert "123,457" in tree_html(NamedTree.of(tree), "one")


def test_large_thresholds_are_whole():
    X = 1.6e9 + 1e6 * np.arange(40.0).reshape(-1, 1)
    tree = DecisionTreeRegressor(max_leaf_nodes=2).fit(X, X[:, 0] > X[19, 0])
    first = tree_lines(NamedTree.of(tree))[0]
    said = float(first.partition("≤ ")[2].partition(":")[0])
    assert X[19, 0] <= said < X[20, 0]
    assert "e+" not in first


# ------------------------------------------------------------------- pages


class Checked(HTMLParser):
    """Sees that what is opened is closed, and collects tags and text."""

    void = ("meta", "br", "link")

    def __init__(self, text):
        super().__init__()
        self.open, self.tags, self.text = [], [], []
        self.feed(text)
        assert not self.open

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))
        if tag not in self.void:
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        if self.open[-1:] != ["style"]:
            self.text.append(data)


def test_pages_are_whole(found):
    for page in (as_page(found), as_fragment(found)):
        seen = Checked(page)
        assert "http" not in page.replace("http://www.w3.org/2000/svg", "")
        for tag, attributes in seen.tags:
            if tag == "th":
                assert attributes["scope"] in ("row", "col")
            if tag == "svg":
                assert attributes["role"] == "img"
                assert attributes["aria-label"]
        for picture in re.findall(r"<svg.*?</svg>", page, re.S):
            ElementTree.fromstring(picture)
        text = " ".join(seen.text).replace("\xa0", " ")
        for leaf in in_words(found.best_model.named_tree).leaves():
            assert leaf.text in text
            assert leaf.support in text


def test_drawn_tree_has_a_box_for_each_node_within_its_frame(found):
    root = in_words(found.best_model.named_tree)
    picture, width = tree_svg(root, "tree")
    drawn = ElementTree.fromstring(picture)
    space = "{http://www.w3.org/2000/svg}"
    boxes = drawn.findall(f".//{space}rect[@rx]")
    assert len(boxes) == 2 * root.n_leaves - 1
    height = float(drawn.get("height"))
    places = []
    for box in boxes:
        x, y, w, h = (float(box.get(key)) for key in ("x", "y", "width", "height"))
        assert 0 <= x <= x + w <= width
        assert 0 <= y <= y + h <= height
        places.append((x, y, x + w, y + h))
    for i, (a, b, c, d) in enumerate(places):
        for other in places[:i]:
            assert c <= other[0] or other[2] <= a or d <= other[1] or other[3] <= b


def test_hostile_names_stay_text():
    X = pd.DataFrame(np.random.default_rng(0).normal(size=(60, 2)), columns=["<u>&", '"><i>'])
    y = np.where(X.sum(axis=1) > 0, "</svg><script>", "\u202eno")
    tree = DecisionTreeClassifier(max_leaf_nodes=4, random_state=0).fit(X, y)
    page = tree_html(NamedTree.of(tree), "<title>")
    Checked(page)
    for raw in ("<u>&", "<i>", "<script>", "<title><", "\u202e"):
        assert raw not in page


# ------------------------------------------------------------------- plot and progress


def test_plot_names_each_result_and_draws_the_curve(found):
    pytest.importorskip("matplotlib")
    display = SimplificationDisplay.from_simplification(found)
    ax = display.axes_[0]
    ax.figure.canvas.draw()
    named = [text for text in ax.texts if text.get_text() in display.titles]
    assert sorted(text.get_text() for text in named) == sorted(display.titles)
    heights = sorted(text.get_window_extent().y0 for text in named)
    assert all(np.diff(heights) > 8)
    assert len(display.axes_) == 1 + bool(np.isfinite(display.accuracy).any())
    curves = [line for line in ax.lines if line.get_label() == "representer, by size"]
    assert len(curves) == (len(found.curve) > 1)
    if curves:
        assert curves[0].get_ydata().tolist() == [point.agreement for point in found.curve]


def test_labels_are_moved_apart_and_stay_above_the_bottom():
    moved = apart([[50.0, "a"], [49.0, "b"], [10.0, "c"], [50.0, "d"]], 14.0, 60.0)
    heights = [height for height, _ in moved]
    assert np.diff(heights).min() >= 14.0
    assert max(heights) <= 60.0


def test_progress_is_lines_where_there_is_no_terminal(capsys):
    with Progress(1, 2) as progress:
        progress.begin("plain_tree")
        progress.end(["plain_tree: 8 leaves"])
        progress.end(["representer: 4 leaves", "representer: 8 leaves"])
    told = capsys.readouterr()
    assert told.out == ""
    assert told.err.splitlines() == [
        "[simplify] plain_tree: 8 leaves",
        "[simplify] representer: 4 leaves",
        "[simplify] representer: 8 leaves",
    ]
    with Progress(0, 1) as progress:
        progress.end(["nothing"])
    assert capsys.readouterr().err == ""


def test_progress_is_a_bar_on_a_terminal_with_tqdm(monkeypatch, capsys):
    pytest.importorskip("tqdm")
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    with Progress(1, 1) as progress:
        progress.begin("plain_tree")
        progress.end(["plain_tree: 8 leaves"])
    told = capsys.readouterr().err
    assert "0/1" in told
    assert "[simplify] plain_tree: 8 leaves" in told
