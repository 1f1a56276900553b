"""What people see of a card says what the card computes."""

from __future__ import annotations

import re
from dataclasses import replace
from html.parser import HTMLParser

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
from random_cards import CLASSES, a_card, rows_at_edges
from sklearn.base import BaseEstimator
from sklearn.ensemble import RandomForestRegressor
from written_code import by_c, by_javascript, by_python, by_sqlite, needs_gcc, needs_node

from ensemble_simplify import export_model
from ensemble_simplify.reading import Gaps, Table
from ensemble_simplify.scorecards import Card, Reason, ScorecardDisplay, Term
from ensemble_simplify.scorecards._shown import ShowsCard

LINKS = ["logistic", "softmax", "identity"]
JOBS = np.array(["cook", "driver", "a, b", "nurse", "missing", "clerk"], dtype=object)


class Held(ShowsCard, BaseEstimator):
    """An estimator that holds a card over columns a, b, ...; of levels where `jobs` says so."""

    def __init__(self, card=None, jobs=(), X=None, gaps=None):
        self.card, self.jobs, self.X, self.gaps = card, jobs, X, gaps
        n_columns = 4
        seen = np.zeros(n_columns, dtype=bool) if gaps is None else np.array(gaps)
        self._table = Table.of_levels(
            np.array(list("abcd"), dtype=object),
            tuple(JOBS if j in jobs else None for j in range(n_columns)),
            "missing",
        )
        nothing = np.zeros(n_columns)
        gaps = Gaps(seen, nothing, nothing.astype(np.float32))
        self._table = replace(self._table, gaps=gaps)
        self._may_miss = np.ones(n_columns, dtype=bool)
        self.n_features_in_ = n_columns
        self.feature_names_in_ = self._table.names
        if card is not None:
            self.card_ = card
            if CLASSES[card.link] is not None:
                self.classes_ = CLASSES[card.link]
        if X is not None:
            self._card_rows = [term.counts(X) for term in card.terms]

    def fit(self, X, y=None):
        return self


def holds(text, row):
    """Whether a condition as the frame writes it is true of a row; levels are given by name."""
    value = {name: row[j] for j, name in enumerate("abcd")}
    for part in text.split(" and "):
        missing = re.fullmatch(r"(\w) is (missing|known|missing or unknown)", part)
        if missing:
            gap = isinstance(value[missing[1]], float) and np.isnan(value[missing[1]])
            if gap != missing[2].startswith("missing"):
                return False
            continue
        levels = re.fullmatch(r"(\w): (.*)", part)
        if levels:
            listed = re.findall(r"'([^']*)'|([^,' ][^,']*)", levels[2])
            if value[levels[1]] not in ["".join(pair) for pair in listed]:
                return False
            continue
        if np.isnan(value[re.search(r"[abcd]", part)[0]]) or not eval(part, {}, value):
            return False
    return True


@pytest.mark.parametrize("link", LINKS)
@pytest.mark.parametrize("seed", range(3))
def test_frame_adds_up_to_the_scores(seed, link):
    card = a_card(seed, link, n_pairs=seed % 3)
    held, X = Held(card), rows_at_edges(card, seed, 40)
    frame = held.to_frame()
    points = frame.filter(like="points").to_numpy()
    for row, score in zip(X, card.scores(X), strict=True):
        is_true = np.array([holds(text, row) if text else True for text in frame["bin"]])
        assert (frame["feature"][is_true].value_counts() == 1).all()
        assert np.allclose(points[is_true].sum(axis=0), score, atol=1e-12)


def test_levels_with_the_same_points_stand_in_one_line():
    edges = (np.array([0.5, 1.5, 2.5, 3.5]),)
    term = Term((0,), edges, np.array([1.0, 2.0, 1.0, 3.0, 2.0, 9.0])[:, None])
    held = Held(Card([term], np.zeros(1), "identity"), jobs=(0,), gaps=[True, False, False, False])
    frame = held.to_frame()
    assert frame["bin"].tolist() == [
        "",
        "a: cook, 'a, b'",
        "a: driver, 'missing', clerk",
        "a: nurse",
        "a is missing or unknown",
    ]
    for code, level in enumerate(JOBS):
        row = [level, 0.0, 0.0, 0.0]
        score = held.card_.scores(np.array([[code, 0.0, 0.0, 0.0]]))[0, 0]
        lines = frame[[text != "" and holds(text, row) for text in frame["bin"]]]
        assert lines["points"].tolist() == [score]


def test_neighbours_with_the_same_points_stand_in_one_line():
    points = np.array([1.0, 1.0, -2.0, -2.0, 0.0])[:, None]
    card = Card([Term((1,), (np.array([1.0, 2.5, 4.0]),), points)], np.ones(1), "logistic")
    held = Held(card, X=np.zeros((3, 4)))
    assert held.to_frame()["bin"].tolist()[1:] == ["b <= 2.5", "b > 2.5", "b is missing"]
    assert held.to_frame()["seen"].tolist() == [True, True, True, False]
    text = held.export_text()
    assert "b is missing" not in text
    assert "A missing or unknown value adds 0 points, if no line says otherwise." in text
    card.terms[0].points[-1] = 7.0
    above, below = held.export_text().split("Not shown above")
    assert "b is missing" not in above
    assert "b is missing (7)" in below
    # without rows, nobody knows what was met
    assert "b is missing" in Held(card).export_text()
    assert "Not met" not in Held(card).export_text()


def test_a_gap_that_rows_had_is_a_line():
    points = np.array([1.0, -2.0, 4.0])[:, None]
    card = Card([Term((1,), (np.array([1.0]),), points)], np.ones(1), "logistic")
    text = Held(card, gaps=[False, True, False, False]).export_text()
    assert re.search(r"^b is missing +4$", text, re.M)
    assert "Not met" not in text


def test_edges_are_written_such_that_they_split_alike():
    rng = np.random.default_rng(0)
    edges = np.sort(np.concatenate([rng.normal(size=4), rng.normal(size=4).astype(np.float32)]))
    term = Term((0,), (edges,), np.arange(10.0)[:, None])
    words = Held(Card([term], np.zeros(1), "identity")).to_frame()["bin"]
    for edge, text in zip(edges, words[1:], strict=False):
        written = float(text.rpartition("<= ")[2])
        kind = np.float32 if float(np.float32(edge)) == edge else np.float64
        assert edge <= written < float(np.nextafter(kind(edge), kind(np.inf)))


def test_the_feature_that_tells_rows_apart_most_comes_first():
    terms = [
        Term((j,), (np.array([0.0]),), np.array([0.0, far, 0.0])[:, None])
        for j, far in enumerate([1.0, -5.0, 3.0, 0.0])
    ]
    card = Card(terms, np.zeros(1), "logistic")
    # a feature without points is not used
    assert list(dict.fromkeys(Held(card).to_frame()["feature"])) == ["start", "b", "c", "a"]


def test_points_that_all_rows_get_are_part_of_the_start():
    terms = [
        Term((0,), (np.array([0.0]),), np.full((3, 1), 2.0)),
        Term((1,), (np.array([0.0]),), np.array([1.0, 3.0, 3.0])[:, None]),
    ]
    held = Held(Card(terms, np.array([-5.0]), "logistic"))
    assert held.to_frame()["feature"].tolist() == ["start", "b", "b", "b"]
    assert held.to_frame()["points"].tolist() == [-3.0, 1.0, 3.0, 3.0]
    assert re.search(r"^start +-3$", held.export_text(), re.M)


@pytest.mark.parametrize(("tie_upper", "words"), [(False, "1 or more"), (True, "0 or more")])
def test_decision_is_that_of_the_card(tie_upper, words):
    term = Term((0,), (np.array([0.0, 1.0]),), np.array([-1.0, 0.0, 1.0, 5.0])[:, None])
    card = Card([term], np.zeros(1), "logistic", tie_upper=tie_upper)
    text = Held(card).export_text()
    assert f"'yes' if the total is {words}, otherwise 'no'" in " ".join(text.split())
    scores = np.array([[-1.0], [0.0], [1.0]])
    least = int(words[0])
    assert card.index_of(scores).tolist() == [int(s >= least) for s in (-1, 0, 1)]


def test_totals_have_the_chances_of_the_card():
    term = Term((0,), (np.array([0.0]),), np.array([-7.0, 8.0, 0.0])[:, None])
    card = Card([term], np.array([1.0]), "logistic", slope=0.1)
    lines = Held(card).export_text().splitlines()
    (at,) = [i for i, line in enumerate(lines) if line.startswith("total ")]
    totals = np.array([float(cell) for cell in lines[at].split()[1:]])
    assert totals.min() >= -6
    assert totals.max() <= 9
    told = [float(cell) for cell in re.findall(r"(\d+) %", lines[at + 1])]
    assert np.allclose(told, 100 * card.probabilities(totals[:, None])[:, 1], atol=0.5)


def test_what_cannot_be_missing_is_not_told():
    term = Term((0,), (np.array([0.0]),), np.array([-7.0, 8.0, 0.0])[:, None])
    held = Held(Card([term], np.array([1.0]), "logistic"))
    held._may_miss = None
    held._table = Table.of_numbers(4, list("abcd"))
    assert "missing" not in held.export_text()
    assert held.to_frame()["bin"].tolist() == ["", "a <= 0", "a > 0"]
    assert len(held.reasons(np.array([[1.0, 0, 0, 0]]))[0]) == 1


def test_whole_numbers_are_told_by_whole_ends():
    term = Term((0,), (np.array([30.5, 45.25, 46.0]),), np.arange(5.0)[:, None])
    held = Held(Card([term], np.zeros(1), "identity"))
    first, *others = held._table.columns
    first = replace(first, whole=np.dtype(int))
    held._table = replace(held._table, columns=(first, *others))
    words = ["a <= 30", "30 < a <= 45", "a = 46", "a > 46"]
    assert held.to_frame()["bin"].tolist()[1:5] == words


def test_points_have_digits_that_tell_them_apart():
    term = Term((0,), (np.array([0.0]),), np.array([0.01234, -0.5, 0.0])[:, None])
    held = Held(Card([term], np.zeros(1), "identity"))
    assert re.search(r"a <= 0 +0\.012$", held.export_text(), re.M)
    assert re.search(r"a <= 0 +0\.01234$", held.export_text(decimals=5), re.M)
    assert held.to_frame()["points"].tolist() == [0.0, 0.01234, -0.5, 0.0]


@pytest.mark.parametrize("link", LINKS)
def test_shares_are_those_of_the_rows(link):
    card = a_card(5, link)
    X = rows_at_edges(card, 5, 200)
    frame = Held(card, X=X, gaps=[True] * 4).to_frame()
    for _, line in frame[frame["bin"] != ""].iterrows():
        assert np.isclose(line["rows"], np.mean([holds(line["bin"], row) for row in X]))


# ------------------------------------------------------------------- reasons


def _contrast(card, scores):
    """What points are multiplied by to speak for each row's answer."""
    if card.link == "identity":
        return np.ones((len(scores), 1))
    if card.link == "logistic":
        return np.where(scores > 0, 1.0, -1.0)
    best, second = np.argsort(-scores, axis=1)[:, :2].T
    return np.eye(3)[best] - np.eye(3)[second]


@pytest.mark.parametrize("against", ["best", "mean"])
@pytest.mark.parametrize("link", LINKS)
def test_reasons_are_the_largest_parts_of_a_total(link, against):
    card = a_card(3, link)
    X = rows_at_edges(card, 3, 60)
    held = Held(card, X=X, gaps=[True] * 4)
    frame = held.to_frame().iloc[1:]
    points = frame.filter(like="points").to_numpy()
    contrasts = _contrast(card, card.scores(X))
    for row, contrast, found in zip(X, contrasts, held.reasons(X, 2, against=against), strict=True):
        more = {}
        for feature, lines in frame.assign(p=points @ contrast).groupby("feature"):
            own = lines["p"][[holds(text, row) for text in lines["bin"]]].item()
            mean = (lines["p"] * lines["rows"]).sum()
            more[feature] = own - (lines["p"].min() if against == "best" else mean)
        if link == "identity" and against == "mean":
            ranked = sorted(more, key=lambda feature: -abs(more[feature]))
        else:
            ranked = [f for f in sorted(more, key=lambda f: -more[f]) if more[f] > 1e-12]
        assert [reason.feature for reason in found] == ranked[:2]
        for reason in found:
            assert isinstance(reason, Reason)
            assert np.isclose(reason.more, more[reason.feature])
            assert holds(reason.text, row)
            assert str(reason).startswith(reason.text)


def test_reasons_in_words():
    term = Term((0,), (np.array([30.0]),), np.array([4.0, -3.0, 0.0])[:, None])
    held = Held(Card([term], np.zeros(1), "logistic"))
    ((young,), (old,)) = held.reasons(np.array([[20.0, 0, 0, 0], [50.0, 0, 0, 0]]))
    assert str(young) == "a <= 30: 4 points for 'yes', 7 more than a > 30"
    assert str(old) == "a > 30: 3 points for 'no', 7 more than a <= 30"


def test_reasons_say_what_they_need():
    held, X = Held(a_card(0)), np.zeros((1, 4))
    with pytest.raises(ValueError, match="against='worst' is neither"):
        held.reasons(X, against="worst")
    with pytest.raises(ValueError, match="n=0"):
        held.reasons(X, 0)
    with pytest.raises(ValueError, match="Use against='best'"):
        held.reasons(X, against="mean")


# ------------------------------------------------------------------- pictures and pages


class _Cells(HTMLParser):
    """The text of the cells of tables, and whether every tag is closed."""

    def __init__(self, html):
        super().__init__()
        self.open, self.texts = [], []
        self.feed(html)
        assert not self.open

    def handle_starttag(self, tag, attrs):
        if tag not in ("meta",):
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        if self.open and self.open[-1] in ("td", "th"):
            self.texts.append(data)


@pytest.mark.parametrize("link", LINKS)
def test_page_has_every_point(link, tmp_path):
    card = a_card(2, link, whole=True)
    held = Held(card, jobs=(0,), gaps=[True] * 4)
    page = held.to_html(tmp_path / "card.html")
    assert (tmp_path / "card.html").read_text(encoding="utf-8") == page
    shown = _Cells(page).texts
    named = held._named_card()
    for part in named.parts():
        for line in part.told:
            for value in line.points:
                assert named.in_points(value).replace("-", "\N{MINUS SIGN}") in shown
    assert ("this case" in page) == (link != "softmax")
    _Cells(held._repr_html_())
    assert held._repr_mimebundle_()["text/html"] == held._repr_html_()


def test_names_cannot_break_the_page():
    term = Term((0,), (np.array([0.0]),), np.array([1.0, -1.0, 0.0])[:, None])
    held = Held(Card([term], np.zeros(1), "logistic"))
    held._table.names[0] = "<b>$x$ & co"
    held.classes_ = np.array(["<i>", "$y$"], dtype=object)
    assert "<b>" not in held.to_html()
    assert "<b>$x$ & co" in held.export_text()
    held.plot().figure_.canvas.draw()


@pytest.mark.parametrize("link", LINKS)
def test_plot_has_a_panel_for_each_feature(link):
    card = a_card(4, link, whole=True)
    held = Held(card, jobs=(1,), gaps=[True, False, True, False])
    display = held.plot()
    names = [ax.get_title(loc="left") for ax in display.axes_]
    assert names == [part.name for part in held._named_card().parts()]
    display.figure_.canvas.draw()
    steps = display.axes_[names.index("a")]
    term = next(term for term in card.terms if term.columns == (0,))
    for k, stairs in enumerate(steps.patches):
        values, edges, _ = stairs.get_data()
        # neighbours with the same points are one step
        place = np.searchsorted(edges[1:-1], [*term.edges[0], np.inf])
        assert np.array_equal(values[place], term.points[:-1, k])
    assert isinstance(display, ScorecardDisplay)


def test_plot_wants_as_many_axes_as_features():
    _, ax = plt.subplots()
    with pytest.raises(ValueError, match="axes has 1 axes, but the card uses"):
        Held(a_card(4)).plot(axes=ax)


@pytest.mark.parametrize("link", LINKS)
def test_a_card_without_bins_is_shown(link):
    n_scores = 3 if link == "softmax" else 1
    held = Held(Card([], np.arange(1.0, n_scores + 1), link))
    assert "start" in held.export_text()
    assert len(held.to_frame()) == 1
    _Cells(held.to_html())
    held.plot().figure_.canvas.draw()
    assert held.reasons(np.zeros((2, 4))) == [[], []]


def test_an_unfitted_estimator_shows_its_parameters():
    assert "Held" in Held()._repr_mimebundle_()["text/html"]


# ------------------------------------------------------------------- reasons in other languages


def told(card, rows):
    """The bins of the first four reasons, by the card itself."""
    return [([own.text for own in each] + [""] * 4)[:4] for each in card.reasons(rows, 4)]


@needs_gcc
@needs_node
@pytest.mark.parametrize("link", ["logistic", "identity"])
@pytest.mark.parametrize("seed", range(3))
def test_reasons_are_told_in_every_language(seed, link, tmp_path):
    card = a_card(seed, link, n_pairs=seed, whole=seed < 2)
    # ties between reasons, and rows without any
    for term in card.terms[1:]:
        term.points[...] = np.where(np.abs(term.points) < 0.3, card.terms[0].points.max(), 0.0)
    held, X = Held(card), rows_at_edges(card, seed, 150)
    expected = told(held, X)
    assert {"", *(text for own in expected for text in own)} != {""}
    records = [dict(zip("abcd", row, strict=True)) for row in X.tolist()]
    frame = pd.DataFrame(X, columns=list("abcd"))
    assert by_python(export_model(held, "python", output="reasons"), records) == expected
    assert by_javascript(export_model(held, "javascript", output="reasons"), records) == expected
    for form in ("tables", "nested"):
        text = export_model(held, "c", output="reasons", form=form)
        (folder := tmp_path / form).mkdir()
        assert by_c(text, X, folder, n_texts=4) == expected
        query = export_model(held, "sql", table="rows", keys=["id"], output="reasons", form=form)
        found = by_sqlite(query, frame)
        assert found.columns.tolist() == [f"reason_{k}" for k in range(1, 5)]
        assert found.to_numpy().tolist() == expected


def test_what_tells_no_reasons_is_refused():
    held = Held(a_card(0, "softmax"))
    with pytest.raises(ValueError, match="output='reasons', but the card has a total for each"):
        export_model(held, "python", output="reasons")
    with pytest.raises(ValueError, match=r"is written in sql, c, python, javascript, but .*java"):
        export_model(Held(a_card(0)), "java", output="reasons")
    forest = RandomForestRegressor(2).fit([[0.0], [1.0]], [0.0, 1.0])
    with pytest.raises(ValueError, match="but the model is no scorecard"):
        export_model(forest, "python", output="reasons")
