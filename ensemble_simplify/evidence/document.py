"""Evidence in JSON: the models as arrays, the claim, its proof, and what made it."""

from __future__ import annotations

import gzip
import json
from dataclasses import replace
from datetime import UTC, datetime
from importlib.metadata import version
from os import PathLike
from pathlib import Path
from typing import Any, ClassVar

import joblib
import numpy as np
import sklearn

from ensemble_simplify.base import TimeLimitError, warn
from ensemble_simplify.evidence import checker
from ensemble_simplify.evidence.search import Search
from ensemble_simplify.grid import (
    FLOAT32_MAX,
    Stopped,
    check_time,
    last_double,
    limited,
    satisfying,
)
from ensemble_simplify.writing import (
    Best,
    Beyond,
    Chosen,
    Constant,
    LeafSum,
    Operation,
    Probability,
    code_of,
    counted,
    plain,
    replacing,
)

# Ends of splits that send no number to the left.
_LEAST = -float(np.finfo(np.float64).max)
# The largest numbers of each type.
_MOST = {kind: float(np.finfo(kind).max) for kind in (np.float32, np.float64)}
# A proof of one box.
_BOX = {"kind": "boxes", "column": [-1], "end": [0.0]}


# Said where there is no claim.
_LACKING = (
    "There is no evidence to save: the outcome is undecided, or of a kind that cannot be saved "
    "(see the method save in the documentation)."
)


class NoEvidence(ValueError):
    """A claim of which no evidence can be written."""


class HasEvidence:
    """An outcome with a field `claim`, which can be saved with its proof.

    It prints as its ``sentence`` and the work that it took. Files that are to be the same each time
    they are made hold the sentence alone.
    """

    sentence: str
    # The claim that `save` writes where it is asked for more, and what is said where it is None.
    _more: ClassVar[tuple[str, str]]

    def __repr__(self) -> str:
        boxes = vars(self).get("n_boxes", 0)
        done = f"{counted(boxes, 'box', 'boxes')} in " if boxes else ""
        return f"{type(self).__name__}({self.sentence}; {done}{vars(self)['seconds']:.3g} s)"

    @limited
    def save(
        self, path: str | PathLike, *, max_boxes: int = 1_000_000, time_limit: float | None = None
    ) -> None:
        """Write the outcome and its proof to a file that another program can check.

        The file holds the models, too. :func:`check` and ``python -m ensemble_simplify check``
        check the file, and so does a single file of Python that needs NumPy alone.

        Read more in the :ref:`guide <evidence>`.

        Parameters
        ----------
        path : str or path-like
            The file, in JSON. It is compressed if its name ends in ``.gz``.
        max_boxes : int, default=1_000_000
            The most boxes that the proof may take.
        time_limit : float or None, default=None
            Seconds after which :class:`TimeLimitError` is raised.

        Raises
        ------
        ValueError
            If the outcome is undecided, the proof takes more than `max_boxes` boxes, or the answer
            of a model does not come from sums of its trees. No file is written then.
        TimeLimitError
            If the time limit came first. No file is written then.
        """
        self._save(path, max_boxes)

    def _save(self, path, max_boxes, *, more=False):
        """Write the claim, or the other one that there is `more`."""
        field, lacking = self._more if more else ("claim", _LACKING)
        try:
            check_time()
            if (claim := getattr(self, field)) is None:
                raise NoEvidence(lacking)
            _save_claim(claim, Path(path), max_boxes)
        except Stopped:
            raise TimeLimitError(
                "time_limit ended before the proof was written. Raise time_limit, or leave it out."
            ) from None


def _save_claim(claim, path, max_boxes) -> None:
    """Write evidence of a claim to a file; `NoEvidence` where there is none in reach."""
    try:
        document = evidence(claim, max_boxes=max_boxes)
        _write(document, path)
    except (checker.Refused, checker.Unproven) as error:
        raise NoEvidence(
            f"The checker of evidence does not accept this proof: {error}. No file was written."
        ) from error
    shown = document["claim"]
    less = [key for key in ("depth", "leaves") if shown.get(key) != claim.data.get(key)]
    if claim.kind == "smallest" and less:
        says = ", ".join(f"{key} {shown[key]} (the tree: {claim.data[key]})" for key in less)
        warn(
            f"The file shows less than that the tree is the smallest one: {says}. Either the tree "
            "is not proven smallest, or the grid has more boxes than the checker looks at."
        )


def _write(document, path):
    """Write a document to a file, where the checker finds that it holds."""
    lines = []
    for key, entry in document.items():
        check_time()
        lines.append(f"{json.dumps(key)}: {json.dumps(entry)}")
    text = "{\n" + ",\n".join(lines) + "\n}\n"
    # without the time of writing: the same evidence is the same file
    content = gzip.compress(text.encode(), 6, mtime=0) if path.suffix == ".gz" else text.encode()
    # it comes to its place when the checker has found that it holds
    with replacing(path) as unchecked:
        unchecked.write_bytes(content)
        checker.check(unchecked, check_time)


def evidence(claim, *, max_boxes=1_000_000) -> dict:
    """Evidence of a claim, as JSON holds it. Raises `Stopped` when the time is over.

    With `asked`, the checker is asked about every box, and boxes are halved until it follows.
    """
    models = []
    for pair in zip(claim.models, claim.forests, strict=True):
        check_time()
        models.append(model_in_json(*pair))
    document = {
        "format": checker.FORMAT,
        "version": checker.VERSION,
        "words": "",
        "claim": _claim(claim),
        "region": _region(claim),
        "uses": [{"model": own.model, "columns": own.columns.tolist()} for own in claim.uses],
        "models": models,
        "proof": {},
        "made_by": {
            "package": "ensemble_simplify",
            "version": version("ensemble_simplify"),
            "numpy": np.__version__,
            "scikit-learn": sklearn.__version__,
            "date": datetime.now(UTC).date().isoformat(),
            "settings": claim.settings,
        },
    }
    document["proof"] = _proof(claim, document, max_boxes)
    document["words"] = checker.words(document)
    return document | {"digest": checker.digest(document, "digest")}


# ------------------------------------------------------------------- models


def model_in_json(model, forest):
    """A model as it was read: nodes, and the steps from leaves to answers."""
    forest, link = forest.on_thresholds, None
    if forest.classes is None and forest.vote.link is not None:
        # steps of its own, not the formulas that code has
        link = forest.vote.link
        forest = replace(forest, vote=replace(forest.vote, link=None))
    steps, program = [], code_of(forest, model.estimator)
    result = _Steps(steps, program).step(program.result)
    if link is not None:
        if link.log_base not in (None, 1.0):
            steps += [["constant", link.log_base], ["*", len(steps), result, forest.vote.dtype]]
            result = len(steps) - 1
        steps.append(_link(link, result, forest.vote.dtype, model.name))
        result = len(steps) - 1
    outputs = None
    if program.outputs is not None:
        outputs = [_Steps(steps, program).step(own) for own in program.outputs]
    order = forest.in_preorder
    inner = forest.left[order] >= 0
    end = np.where(inner, np.maximum(forest.ends(model.table)[order], _LEAST), 0.0)
    missing_left = np.zeros(len(order), dtype=bool)
    if forest.missing_left is not None:
        missing_left = forest.missing_left[order] & inner
    classes = None if forest.classes is None else [_literal(own) for own in forest.classes]
    own = {
        "name": model.name,
        "type": "float32" if forest.is_finer else "float64",
        "columns": _columns(model, model.table if forest.table is None else forest.table),
        "classes": classes,
        "nodes": {
            "column": np.where(inner, forest.feature[order], -1).tolist(),
            "end": _finite(end),
            "missing_left": missing_left.astype(int).tolist(),
            "value": np.where(inner, 0.0, forest.value[order].T).tolist(),
        },
        "steps": steps,
        "result": result,
        "outputs": outputs,
    }
    return own | {"sha256": checker.digest(own)}


def _link(link, number, kind, name):
    """The step that turns a sum into the value of a regressor."""
    if link.kind == "sigmoid":
        return ["sigmoid", number, 1, kind]
    if link.log_base is not None:
        # exponentials of one library are the same, those of two need not be
        whose = " of C" if link.by_library else "2" if link.kind == "exp2" else ""
        whose = whose if link.is_followed else f" of {name}"
        return ["exp", number, int(link.kind == "expm1"), kind, f"exp{whose}"]
    # two functions that are not the same need two names
    function = link.kind if link.function is None else f"function {joblib.hash(link.function)}"
    return ["link", number, function]


def _finite(numbers):
    """Numbers in JSON, None where they are infinite."""
    return [None if np.isinf(own) else own for own in np.asarray(numbers).tolist()]


def _fits(value):
    """Whether JSON can hold a label or a level as it is."""
    return isinstance(value, bool | int | str) or (isinstance(value, float) and np.isfinite(value))


def _literal(label):
    """A label as JSON can hold it."""
    label = plain(label)
    if _fits(label):
        return label
    raise NoEvidence(
        f"The label {label!r} is a {type(label).__name__}, which cannot be written in JSON. Use "
        "text, finite numbers or truth values."
    )


class _Steps:
    """What a program computes, as a list in which steps name earlier ones."""

    def __init__(self, steps, program):
        self.steps, self.program = steps, program
        self.labels = {}

    def _add(self, *step):
        entry = list(step)
        if entry in self.steps:
            return self.steps.index(entry)
        self.steps.append(entry)
        return len(self.steps) - 1

    def step(self, own):
        """The place of a number or a label, with what it takes before it."""
        kind = "float32" if getattr(own, "single", False) else "float64"
        numbers = list(map(self.step, getattr(own, "numbers", ())))
        if isinstance(own, Constant):
            return self._add("constant", float(own.value))
        if isinstance(own, LeafSum):
            return self._add("trees", own.start, own.stop, own.column, float(own.init), kind)
        if isinstance(own, Operation):
            return self._add(own.sign, self.step(own.one), self.step(own.two), kind)
        if isinstance(own, Chosen):
            if own.label not in self.labels:
                self.labels[own.label] = self.step(self.program.labels[own.label])
            yes, no = float(own.yes), float(own.no)
            return self._add("chosen", self.labels[own.label], int(own.column), yes, no)
        if isinstance(own, Beyond):
            number, at = self.step(own.number), list(map(float, own.at))
            return self._add("above", number, at, int(own.first), int(own.inclusive))
        if isinstance(own, Best):
            margin = float(self.program.margin)
            if own.softmax is not None:
                # scores that differ by more keep their order
                margin = 64.0 * float(np.finfo(own.softmax).eps)
            return self._add("largest", numbers, "last" if own.last else "first", margin)
        if isinstance(own, Probability):
            of = numbers[0] if own.link == "sigmoid" else numbers
            return self._add(own.link, of, own.column, kind)
        raise NoEvidence(
            f"The answers of the model pass a step, {type(own).__name__}, that files of evidence "
            "cannot hold yet."
        )


# ------------------------------------------------------------------- claims


def _claim(claim):
    kind, data = claim.kind, claim.data
    own: dict[str, Any] = (
        {"uses": [0, 1]} if kind in ("same_class", "within", "rises") else {"use": 0}
    )
    if kind == "within":
        own |= {"of": "each", "atol": 0.0, "rtol": 0.0}
    # what else the checker knows of such a claim
    own |= {key: data[key] for key in checker.CLAIMS[kind] if key in data}
    found = {"kind": claim.kind, **own}
    if claim.moves is not None:
        return {"kind": "reasons", "claim": found}
    return found if claim.point is None else {"kind": "not", "claim": found}


def _columns(model, table):
    """Names and levels of the columns of a model, whose nodes are on the codes of a table."""
    found = []
    for j, levels in enumerate(table.levels):
        levels = None if levels is None or table.unnamed(j) else levels.tolist()
        found.append(
            {
                "name": None if model.table.names is None else str(model.table.names[j]),
                "levels": [_level(level) for level in levels] if levels else None,
                "unknown": table.unknown[j] if levels else None,
            }
        )
    return found


def _level(level):
    level = plain(level)
    return level if _fits(level) else str(level)


def _region(claim):
    n, inside, clauses = claim.n_coordinates, claim.inside, frozenset()
    low, high = np.full(n, -np.inf), np.full(n, np.inf)
    integer, missing = np.zeros((2, n), dtype=bool)
    is_single = claim.forests[0].row_dtype == "float32"
    if inside is not None:
        low, high, clauses = inside.low, inside.high, inside.clauses
        integer, missing = inside.integer, inside.missing
        if is_single:
            # ends stand for the float32 numbers that they are rounded to
            low, high = (_single(own) for own in (low, high))
    if claim.box is not None:
        # only numbers above `below` count
        below, above, may_miss = claim.box
        missing, none = missing & may_miss, below == np.inf
        if is_single:
            below, above = (np.where(integer, own, last_double(own)) for own in (below, above))
        first = np.where(integer, np.floor(below) + 1.0, np.nextafter(below, np.inf))
        first = np.where(below > -np.inf, first, -np.inf)
        low = np.where(none, 1.0, np.maximum(low, first))
        high = np.where(none, 0.0, np.minimum(high, above))
    region = {
        "type": "float32" if claim.is_finer else "float64",
        "low": _finite(low),
        "high": _finite(high),
        "integer": integer.astype(int).tolist(),
        "missing": missing.astype(int).tolist(),
        "clauses": [
            [[int(j), int(value)] for j, value in sorted(clause)]
            for clause in sorted(clauses, key=sorted)
        ],
        "order": [list(pair) for pair in claim.order],
    }
    return region | {"point": _any_point(region, clauses)}


def _any_point(region, clauses):
    """A point of a region, in JSON: `NoEvidence` where there is none."""
    kind = np.float32 if region["type"] == "float32" else np.float64
    point, known, tied = [], set(), {j for clause in clauses for j, _ in clause}
    for j, (low, high) in enumerate(zip(region["low"], region["high"], strict=True)):
        low, high = -np.inf if low is None else low, np.inf if high is None else high
        if region["integer"][j]:
            low, high = np.ceil(low), np.floor(high)
        if j in tied and low <= high and not low <= 0 <= 1 <= high:
            known.add(frozenset({(j, bool(low <= 1 <= high))}))
        nearest = kind(np.clip(min(max(low, 0.0), high), -_MOST[kind], _MOST[kind]))
        # an end of the range need not be a number of the type
        near = [nearest, *(np.nextafter(nearest, kind(way)) for way in (np.inf, -np.inf))]
        point.append(next((float(own) for own in near if low <= own <= high), None))
    values = satisfying(clauses | known)
    missing = [region["missing"][j] for j, own in enumerate(point) if own is None]
    if values is None or not all(missing):
        raise NoEvidence(
            "There is no evidence to save: no input lies in the region that was asked about, so "
            "everything is true of all of them. Correct the domain."
        )
    for j, value in values.items():
        point[j] = float(value)
    for low, high in region["order"]:
        point[high] = point[low]
    return point


def _single(ends):
    """Ends as the nearest float32 numbers, as doubles; infinite ones stay."""
    with np.errstate(over="ignore"):
        rounded = ends.astype(np.float32).astype(np.float64)
    return np.where(np.isinf(ends), ends, np.clip(rounded, -FLOAT32_MAX, FLOAT32_MAX))


# ------------------------------------------------------------------- proofs


def _proof(claim, document, max_boxes):
    if claim.point is not None:
        point = claim.point
        if claim.is_finer:
            # the models were asked about it as it is: where they round it, it may do as well
            point = point.astype(np.float32).astype(np.float64)
        return {"kind": "witness", "point": _entries(point)}
    if claim.moves is not None:
        row, other, sets = claim.moves
        return {"kind": "moves", "row": _entries(row), "reference": _entries(other), "sets": sets}
    if claim.near is not None:
        near = vars(claim.near)
        return {"kind": "points", **near, "rows": [_entries(row) for row in claim.near.rows]}
    on_grid = claim.kind == "smallest"
    document = document | {"proof": {"kind": "grid", "at": []} if on_grid else _BOX}
    document |= {"digest": checker.digest(document, "digest")}
    if on_grid:
        at, found = Search(document, check_time).grid()
        told = document["claim"]
        for key, least in found.items():
            # the file says what it can show
            told[key] = least and min(told[key], least)
        return {"kind": "grid", "at": at}
    try:
        column, end = Search(document, check_time, max_boxes).tree()
    except checker.Refused:
        raise NoEvidence(
            f"The proof takes more than max_boxes={max_boxes:,} boxes, as each of them must be "
            "proven by plain bounds that another program can follow. Raise max_boxes, or ask about "
            "a smaller domain, or near rows."
        ) from None
    return {"kind": "boxes", "column": column.tolist(), "end": _finite(end)}


def _entries(row):
    """Numbers of a row in JSON, None where they are missing."""
    return [None if np.isnan(own) else own for own in row.tolist()]
