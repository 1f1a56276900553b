"""A document on a model and its simpler form, for the people who decide on it and sign.

One function makes the blocks of each section; how these are written does not concern it.
"""

from __future__ import annotations

import hashlib
import importlib.metadata
import platform
import re
import sqlite3
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from ensemble_simplify.audit import is_monotone, is_sensitive
from ensemble_simplify.base import safe_indexing
from ensemble_simplify.evidence import check
from ensemble_simplify.front._blocks import (
    FORMATS,
    Cells,
    Open,
    Points,
    Section,
    Verbatim,
    needs_docx,
    open_points,
    write_sections,
)
from ensemble_simplify.front._page import drawn_tree
from ensemble_simplify.front._performance import NotMeasured, in_doubt, performance
from ensemble_simplify.front._report import (
    columns_of_methods,
    differences_told,
    how_judged,
    in_terms_of_simplify,
    limits_reached,
    model_name,
    not_tried,
    noun_of,
    remarks,
    stability_told,
    what_columns_say,
)
from ensemble_simplify.front._simplified import versions
from ensemble_simplify.front._statement import BY_COPIES, figure
from ensemble_simplify.front._statement import interval as interval_told
from ensemble_simplify.front._verdict import FEW, in_its_place
from ensemble_simplify.grid import Domain, columns_of
from ensemble_simplify.proof import differences
from ensemble_simplify.reading import Model, column_index, is_missing, unwrap
from ensemble_simplify.scorecards import card_content
from ensemble_simplify.writing import check_place, one_line

# Levels of a column that are listed, rows that are explained, and rules that are told.
_LEVELS, _ROWS_EXPLAINED, _RULES = 12, 3, 5
_ESTIMANDS = {"lost": "accuracy lost", "majority": "agreement of the most frequent answer"}
_OPEN, _HOLDS = "(to be filled in)", "holds, checked again"
# What the model has learned of the rows that judge, see `reading.learned_from`.
_LEARNED = {
    "all": "The model has learned from all of these",
    "part": "The model has probably learned from these, and from others",
    "more": "The model has probably learned from some of these",
    "no": "The model has not learned from these",
    "unknown": "Whether the model has learned from these cannot be told",
}


@dataclass(frozen=True, eq=False)
class Asked:
    """What a document is about beside the result itself; see `Simplification.document`."""

    found: Any
    purpose: str = ""
    author: str = ""
    day: date | None = None
    protected: Any = ()
    directions: Mapping | None = None
    positive: Any = None
    previous: Any = None
    evidence: Sequence = ()
    time_limit: float | None = None

    @property
    def best(self):
        """The result that is documented."""
        return self.found.best_model

    @property
    def rows(self):
        """All rows that `simplify` was given."""
        return self.found._task.X

    @cached_property
    def numbers(self) -> np.ndarray:
        """Their numbers, and codes of levels."""
        return self.found._task.table.read(self.rows)

    @cached_property
    def domain(self) -> Domain:
        """What they say can occur."""
        return Domain.from_rows(self.rows)


# ------------------------------------------------------------------- sections


def _open(sections):
    """What is open in all sections, and which sections there are not."""
    points = open_points(sections)
    there = {own.key for own in sections}
    missing = [title for key, (title, _) in SECTIONS.items() if key not in there]
    lines = [*points.lines]
    if missing:
        lines.append((None, f"Left out of this document: {', '.join(missing)}."))
    if not lines:
        yield "Nothing in this document is open."
        return
    yield (
        f"Not decided, not measured, not proven, or to be weighed ({len(lines)}). Whoever signs "
        "accepts these points:"
    )
    yield Points(lines)


def _purpose(asked):
    found = asked.found
    # how far one can stand for the other is a limit of use, and comes before all others
    first = f"{found.verdict.text.partition('. ')[0].rstrip('.')}."
    if found.verdict.level == "follows":
        yield first
    else:
        yield Open(f"{first} {in_its_place(found)}")
    yield asked.purpose or Open(f"Purpose: {_OPEN}.")
    yield (
        f"This document is about {_a(model_name(found))} and a {noun_of(found)} that was made from "
        "its answers. Both are meant for rows like those below; what is said of other rows is said "
        "where it is proven."
    )
    yield Cells(("column", "holds", "from, to, or levels", "gaps"), list(_columns(asked)))
    yield [Open(told) for told in _levels_in_doubt(asked)]


def _levels_in_doubt(asked):
    """Sentences on levels that no row has, that few have, or that the model does not know."""
    own, model = asked.found._task.table, Model.unread(asked.found.model).table
    unseen, unknown, rare = [], [], []
    for j, levels in enumerate(own.levels):
        if levels is None:
            continue
        about = f"{_told(asked, asked.found.feature_names[j])}: "
        known = None if model is None or len(model) != len(own) else model.levels[j]
        if known is not None and not model.unnamed(j):
            unseen += [about + one_line(one) for one in known if one not in set(levels)]
            unknown += [about + one_line(one) for one in levels if one not in set(known)]
        codes = asked.numbers[:, j]
        counts = np.bincount(codes[~np.isnan(codes)].astype(np.intp), minlength=len(levels))
        rare += [
            about + one_line(one) for one, n in zip(levels, counts, strict=True) if 0 < n < FEW
        ]
    for names, said in (
        (unseen, "The model knows levels that none of these rows has, so that nothing is measured"),
        (unknown, "The model does not know levels that some of these rows have"),
        (
            rare,
            f"Of some levels there are fewer than {FEW} rows, too few to tell how both do there",
        ),
    ):
        if names:
            more = len(names) - _LEVELS
            told = "; ".join(names[:_LEVELS]) + (f"; and {more} more" if more > 0 else "")
            yield f"{said} ({told})."


def _columns(asked):
    """Each column: its name, what it holds, its range or levels, and how many gaps."""
    table, domain = asked.found._task.table, asked.domain
    keys = table.names if domain.bounds and isinstance(next(iter(domain.bounds)), str) else None
    for j, column in enumerate(asked.numbers.T):
        name = f"x{j}" if table.names is None else one_line(table.names[j])
        key = j if keys is None else keys[j]
        gaps = f"{int(np.isnan(column).sum()):,}"
        if (levels := table.levels[j]) is not None:
            shown = "; ".join(map(one_line, levels[:_LEVELS]))
            more = len(levels) - _LEVELS
            yield name, "levels", f"{shown} and {more} more" if more > 0 else shown, gaps
            continue
        low, high = domain.bounds.get(key, (np.nan, np.nan))
        kind = "whole numbers" if key in set(domain.integers) else "numbers"
        yield name, kind, f"{low:.6g}, {high:.6g}", gaps


def _data(asked):
    found, task = asked.found, asked.found._task
    yield [
        f"{found.n_rows:,} rows of {len(found.feature_names):,} columns; SHA-256 of their "
        f"numbers and codes of levels: {_digest(asked.numbers)}.",
        f"The model's answers to them: SHA-256 {_digest(task.answers)}.",
        f"Figures are measured on {found.n_judged:,} of them.",
        _open_unless(found._judged.learned == "no", f"{_LEARNED[found._judged.learned]}."),
        _open_unless(task.y is not None, _known_outcomes(found)),
        f"{versions()}, Python {platform.python_version()}, {_library(found.model)}.",
    ]


def _open_unless(is_settled, text):
    """A sentence, which is an open point unless something is settled."""
    return text if is_settled else Open(text)


def _known_outcomes(found):
    """What the true answers are, where they were given."""
    y = found._task.y
    if y is None:
        return "No true answers were given, so that no accuracy is known."
    told = f"True answers are known of {len(y):,} rows"
    if not found.is_classifier:
        low, mean, high = np.min(y), np.mean(y), np.max(y)
        return f"{told}: from {low:.6g} to {high:.6g}, {mean:.6g} on average."
    labels, counts = np.unique(y, return_counts=True)
    shares = (
        f"{one_line(a)} {figure(n / len(y), True)}" for a, n in zip(labels, counts, strict=True)
    )
    return f"{told}: {', '.join(shares)}."


def _digest(entries):
    """SHA-256 of an array: of its numbers as little-endian doubles, or of the words in it."""
    entries = np.asarray(entries)
    if entries.dtype.kind in "fiub":
        return hashlib.sha256(entries.astype("<f8").tobytes()).hexdigest()
    return hashlib.sha256("\n".join(map(str, entries.ravel())).encode()).hexdigest()


def _library(model):
    """The package that a model comes from, with its version."""
    package = type(unwrap(model)).__module__.partition(".")[0]
    try:
        return f"model of {package} {importlib.metadata.version(package)}"
    except importlib.metadata.PackageNotFoundError:
        return f"model of {package}"


def _model(asked):
    found, best = asked.found, asked.best
    # a place in memory is another one in each run, and says nothing
    own = re.sub(r" (object )?at 0x[0-9a-f]+", "", repr(unwrap(found.model)))
    yield f"The model: {one_line(own)}"
    yield found.verdict.text
    yield found.reason
    yield [Open(in_terms_of_simplify(note)) for note in found.notes]
    stated = [own for own in found.verdict.statements if own.text]
    for own in stated:
        if own.estimand == "lost" and own.low < 0.0 < own.high:
            yield Open(
                f"Whether the {noun_of(found)} is less right than the model is not decided by "
                f"{own.n_rows:,} rows (95 % interval of what is lost: {own.interval})."
            )
    yield Cells(
        ("figure", "of", "on", "value", "95 % interval", "rows", "how it is known"),
        [
            (
                _ESTIMANDS.get(own.estimand, own.estimand),
                own.of,
                own.population,
                own.text,
                own.interval,
                f"{own.n_rows:,}",
                own.how,
            )
            for own in stated
        ],
    )
    if best.named_card is not None:
        yield Verbatim(best.export_text(), card_content(best.named_card))
    else:
        yield Verbatim(best.export_text(), drawn_tree(best.named_tree, best.title))


def _performance(asked):
    """Figures of both on true answers, and predictions beside what came true."""
    found = asked.found
    try:
        told = performance(found, asked.positive)
    except NotMeasured as reason:
        yield Open(f"How well both tell the true answers is not measured: {reason}")
        return
    yield f"Measured on {told.n_rows:,} {_whose_rows(found)}."
    figures, noun = told.compared(), noun_of(found)
    interval = "95 % interval"
    yield Cells(
        ("figure", "model", interval, noun, interval, f"lost by the {noun}", interval),
        [
            (
                own.model.estimand,
                *(own.model.text, own.model.interval),
                *(own.form.text, own.form.interval),
                *(("", "") if own.lost is None else (own.lost.text, own.lost.interval)),
            )
            for own in figures
        ],
    )
    yield _OF_VALUES if told.event is None else _OF_EVENTS.format(one_line(told.event))
    yield [Open(text) for own in figures for text in in_doubt(own, told.event)]
    what, more = ("value", ["mean error"]) if told.event is None else ("chance", [])
    for side in (told.model, told.form):
        yield (
            f"Rows in tenths by the {what} that {side.of} gives them, and what came true there. "
            "Rows of one prediction stay together, so that there can be fewer parts."
        )
        yield Cells(
            ("part", "rows", f"mean {what}", "came true", *more, interval),
            [
                (f"{i}", f"{n:,}", *_tenth(told, mean, true, low, high))
                for i, (n, mean, true, low, high) in enumerate(told.by_tenths(side), 1)
            ],
        )


def _tenth(told, mean, true, low, high):
    if told.event is None:
        known = f"{low:.3g} to {high:.3g}" if np.isfinite(low) else ""
        return f"{mean:.4g}", f"{true:.4g}", f"{mean - true:.3g}", known
    return figure(mean, True), figure(true, True), interval_told(low, high, True)


_OF_EVENTS = (
    "The event is {}. AUC is how often a row with it gets a higher chance than one without; Gini "
    "is twice AUC, less 1. The Brier score and the log loss are errors of chances; bias is the "
    "mean chance less the rate. The calibration slope is 1 where chances are as far apart as the "
    "rates, and less where they are too extreme. What is lost is above 0 where the model is better."
)
_OF_VALUES = (
    "R2 is the share of the variance that is explained; the mean error is the mean prediction less "
    "the mean true value. What is lost is above 0 where the model is better."
)


def _whose_rows(found):
    """Which rows judge, and what has learned from them: none are held out that something has."""
    noun, judged = noun_of(found), found._judged
    if judged.how == BY_COPIES:
        return (
            "rows in parts, each by a copy of the model that was fitted without the part, and by a "
            f"{noun} that learned from this copy without it"
        )
    if judged.learned == "no":
        return (
            f"held-out rows: the model has not learned from them, and each is judged by a {noun} "
            "that has not either"
        )
    return (
        f"rows, each by a {noun} that has not learned from it; whether the model has cannot be told"
    )


def _challengers(asked):
    found = asked.found
    # seconds are others in each run, and say nothing of the model
    heads = [own for own in columns_of_methods(found) if own[0] != "seconds"]
    yield Cells(
        ("method", *(head for head, _, _ in heads)),
        [
            (row.name, *(write(row) for _, write, _ in heads))
            for row in found.table
            if row.is_measured
        ],
    )
    yield f"{how_judged(found)} {what_columns_say(found)}"
    yield [Open(f"{name}: {text}") for name, text in remarks(found)]
    for told in (limits_reached(found), not_tried(found)):
        if told:
            yield Open(told)


def _reasons(asked):
    yield (
        "Every answer comes with the conditions, or the points, that lead to it. Some rows, each "
        "with another reason:"
    )
    best, rows = asked.best, np.arange(asked.found.n_rows)
    if best.named_card is None:
        rows = np.sort(np.unique(best.apply(asked.rows), return_index=True)[1])
    told = best.explain(safe_indexing(asked.rows, rows[:_ROWS_EXPLAINED]))
    yield list(dict.fromkeys(map(str, told)))


def _audited(asked, question, column, about, words, **options):
    """What a question about a column is answered for the model and for its simpler form.

    `words` are those for each answer, in the attribute of an outcome that they are called by.
    """
    options |= {"domain": asked.domain, "time_limit": asked.time_limit}
    ((attribute, told),) = words.items()
    for what, one in (("the model", asked.found.model), (_the(asked), asked.best)):
        try:
            outcome = question(one, column, **options)
        except (TypeError, ValueError) as reason:
            yield Open(f"{about}, {what}: it cannot be told. {reason}")
            continue
        answer = getattr(outcome, attribute)
        found = f"{about}, {what}: {told[answer]}. {one_line(outcome.sentence)}."
        if outcome.reason == "time":
            found += (
                f" time_limit={asked.time_limit:g} of document was reached; with more seconds it "
                "may be proven or refuted."
            )
        yield _open_unless(told[answer].endswith("proven"), found)


def _sensitivity(asked):
    if not asked.protected:
        yield Open("No columns were named that must not change an answer (protected=).")
        return
    yield (
        "For each column: whether another value of it alone can change an answer, over all rows "
        "within the ranges and levels above."
    )
    words = {"sensitive": {True: "yes", False: "no, proven", None: "undecided"}}
    for name in asked.protected:
        yield list(_audited(asked, is_sensitive, name, _told(asked, name), words))


def _directions(asked):
    if not asked.directions:
        yield Open("No columns were named in which the answer must rise or fall (directions=).")
        return
    rises = ""
    if asked.found.is_classifier and (asked.positive is not None or len(asked.best.classes_) == 2):
        top = asked.best.classes_[-1] if asked.positive is None else asked.positive
        rises = f" The answer rises where it becomes {one_line(top)}."
    yield (
        "For each column: whether the answer can only rise, or only fall, as the column alone "
        f"rises, over all rows within the ranges and levels above.{rises}"
    )
    words = {"monotone": {True: "holds, proven", False: "does not hold", None: "undecided"}}
    options = {} if asked.positive is None else {"positive": asked.positive}
    for name, way in asked.directions.items():
        options["increasing"] = way == "rising"
        about = f"{way} in {_told(asked, name)}"
        yield list(_audited(asked, is_monotone, name, about, words, **options))


def _told(asked, column):
    """A column as the table of all columns calls it."""
    return column if isinstance(column, str) else asked.found.feature_names[column]


def _stability(asked):
    try:
        found = asked.found._stability or asked.found.stability()
    except ValueError as reason:
        yield Open(f"It cannot be told. {reason}")
        return
    yield stability_told(asked.found, found)


def _implementation(asked):
    yield (
        "What is deployed is to be what was approved. Each form below was written by export, run "
        f"on all {asked.found.n_rows:,} rows, and compared with what {_the(asked)} answers."
    )
    expected = np.asarray(asked.best.predict(asked.rows))
    rows = []
    for language, run in (("python", _run_python), ("sql", _run_sqlite)):
        try:
            text = asked.best.export(language)
            answers = run(text, asked)
        except (TypeError, ValueError, sqlite3.Error) as reason:
            rows.append((language, "not run", one_line(str(reason)), ""))
            continue
        differ = int(sum(a != b for a, b in zip(answers, expected.tolist(), strict=True)))
        digest = hashlib.sha256(text.encode()).hexdigest()
        rows.append((language, f"{differ:,} of {len(expected):,} rows differ", "", digest))
    yield Cells(("written in", "result", "why not", "SHA-256 of the text"), rows)
    none = f"0 of {len(expected):,} rows differ"
    yield [Open(f"The form in {own[0]}: {own[1]}.") for own in rows if own[1] != none]


def _entries(asked):
    """Names of the columns and the rows, as a database and a program get them: None for gaps."""
    names = asked.found.feature_names
    lists = [[_entry(one) for one in column] for column in columns_of(asked.rows)]
    return names, list(zip(*lists, strict=True))


def _entry(one):
    one = one.item() if hasattr(one, "item") else one
    return None if is_missing(one) else one


def _run_python(text, asked):
    names, rows = _entries(asked)
    space: dict = {}
    exec(compile(text, "<exported>", "exec"), space)
    if not hasattr(asked.rows, "columns"):
        return [space["predict"](row) for row in rows]
    return [space["predict"](dict(zip(names, row, strict=True))) for row in rows]


def _run_sqlite(text, asked):
    names, rows = _entries(asked)
    # SQLite keeps dates, and whatever else it has no type for, as their text
    kinds = int | float | str | None
    rows = [[one if isinstance(one, kinds) else str(one) for one in row] for row in rows]
    quoted = ['"' + str(name).replace('"', '""') + '"' for name in names]
    with sqlite3.connect(":memory:") as base:
        base.execute(f"CREATE TABLE t ({', '.join(quoted)})")
        base.executemany(f"INSERT INTO t VALUES ({', '.join('?' * len(names))})", rows)
        return [own[0] for own in base.execute(f"SELECT {text} FROM t ORDER BY rowid")]


def _changes(asked):
    if asked.previous is None:
        yield Open("No earlier version was named to compare with (previous=).")
        return
    told = differences(asked.previous, asked.best, asked.rows, random_state=0)
    yield told.summary("The version before and this one")
    yield [rule.in_words("the version before", "this one") for rule in told][:_RULES]


def _evidence(asked):
    if not len(asked.evidence):
        yield Open("No files of evidence were named that others can check (evidence=).")
        return
    rows = []
    for path in asked.evidence:
        outcome = check(path)
        told = _HOLDS if outcome else f"was not accepted: {outcome.reason}"
        digest = hashlib.sha256(Path(path).read_bytes()).hexdigest()
        rows.append((str(path), one_line(outcome.claim or ""), told, digest))
    yield Cells(("file", "what it shows", "result", "SHA-256"), rows)
    yield [Open(f"{name} {told}") for name, _, told, _ in rows if told != _HOLDS]


def _signature(asked):
    yield Cells(
        ("role", "name", "signature", "date"),
        [
            ("prepared by", asked.author or _OPEN, "", (asked.day or date.today()).isoformat()),
            ("validated by", "", "", ""),
            ("approved by", "", "", ""),
        ],
    )


def _differ(asked):
    told = differences_told(asked.found)
    if told is None:
        yield "On the rows that were measured on, they do not differ."
        return
    yield told.summary("The two")
    yield [rule.in_words("the model", _the(asked)) for rule in told][:_RULES]


SECTIONS: dict[str, tuple[str, Callable]] = {
    "open": ("Open points", _open),
    "purpose": ("Purpose and limits of use", _purpose),
    "data": ("Data and versions", _data),
    "model": ("The model and its simpler form", _model),
    "performance": ("Performance and calibration", _performance),
    "challengers": ("Beside other methods", _challengers),
    "differences": ("Where the two differ", _differ),
    "reasons": ("Reasons for an answer", _reasons),
    "sensitivity": ("Protected columns", _sensitivity),
    "directions": ("Directions", _directions),
    "stability": ("Stability", _stability),
    "implementation": ("Test of the implementation", _implementation),
    "changes": ("Changes since the last version", _changes),
    "evidence": ("Evidence", _evidence),
    "signature": ("Signatures", _signature),
}


def _a(noun):
    # letters that are spelled, as in LGBM, begin with a vowel as often as not
    vowels = "AEFHILMNORSX" if noun[1:2].isupper() else "AEIOU"
    return f"{'an' if noun[:1] in vowels else 'a'} {noun}"


def _the(asked):
    return f"the {noun_of(asked.found)}"


# ------------------------------------------------------------------- formats


def check_document(asked, X, path, sections, template) -> tuple[str, list]:
    """The ending of a document, and its sections; what it would stumble over is refused before.

    `X` are the rows that `simplify` is given.
    """
    path = Path(path)
    ending = path.suffix.lower()
    if ending not in FORMATS:
        endings = ", ".join(FORMATS)
        raise ValueError(f"path={str(path)!r} ends in none of {endings}. Give such a file name.")
    names = list(SECTIONS) if sections is None else list(sections)
    if unknown := [name for name in names if name not in SECTIONS]:
        raise ValueError(
            f"sections={unknown[0]!r} is no section. Choose among {', '.join(SECTIONS)}."
        )
    if template is not None and ending == ".docx":
        raise ValueError(
            "template= is for Markdown and HTML. Leave it out, or give a path that ends in .md or "
            ".html."
        )
    _check(asked, X, path, template)
    if ending == ".docx":
        needs_docx()  # an ImportError before the work
    return ending, names


def write_document(asked, path, sections, template) -> None:
    """Write the document to a file, in the format that its ending names."""
    path = Path(path)
    _, names = check_document(asked, asked.rows, path, sections, template)
    if asked.best is None:
        raise ValueError("Nothing was found that could be documented: outcome.best is None.")
    if (event := asked.positive) is not None and event not in asked.best.classes_:
        known = ", ".join(map(repr, asked.best.classes_.tolist()))
        raise ValueError(f"positive={event!r} is no class of the model. Give one of {known}.")
    title = f"{model_name(asked.found)} and its simpler form"
    told = [Section(name, SECTIONS[name][0], _blocks_of(name, asked)) for name in names]
    # what is open is known when all other sections are written, and stands where it is asked for
    told = [replace(own, blocks=list(_open(told))) if own.key == "open" else own for own in told]
    write_sections(path, title, told, template)


def _blocks_of(name, asked):
    """The blocks of a section, without lists that hold nothing."""
    blocks = () if name == "open" else SECTIONS[name][1](asked)
    return [block for block in blocks if block != []]


def _check(asked, X, path, template):
    """Refuse, before the work, what some section would stumble over, or take for another thing."""
    for name in ("protected", "evidence"):
        if isinstance(own := getattr(asked, name), str):
            raise TypeError(f"{name}={own!r} is one text. Give a list: [{own!r}].")
    ways = asked.directions or {}
    if not isinstance(ways, Mapping):
        raise TypeError(f"directions={ways!r} is no mapping. Give one, as {{'age': 'rising'}}.")
    names = np.array([str(name) for name in X.columns]) if hasattr(X, "columns") else None
    for parameter, keys in (("protected", asked.protected), ("directions", ways)):
        for key in keys:
            column_index(key, parameter, X.shape[1], names)
    for key, way in ways.items():
        if way not in ("rising", "falling"):
            raise ValueError(f"directions={{{key!r}: {way!r}}}. Choose 'rising' or 'falling'.")
    if not isinstance(asked.day, date | None):
        raise TypeError(f"day={asked.day!r} is no datetime.date. Give one, or None for today.")
    files = [("evidence", one) for one in asked.evidence]
    for parameter, one in files if template is None else [*files, ("template", template)]:
        if not Path(one).is_file():
            raise FileNotFoundError(f"{parameter}: {one} is no file that is there. Give its path.")
    try:
        check_place(path)
    except OSError as error:
        raise type(error)(
            f"path={str(path)!r} cannot be written: {error.strerror}. Give a file in a folder "
            "that is there and can be written to."
        ) from error
