"""Checks a file of evidence again; this file runs alone, with NumPy and the standard library.

``python checker.py evidence.json`` exits with 0 if the evidence proves its claim, with 1 if it does
not, and with 2 if the file cannot be read or would take too long. Nothing that a file says of its
proof is believed, and the sentence that is printed is made here from the claim's data.

The file is meant to be read from top to bottom, in six parts. (1) `check` is all that happens:
the file is read, its proof followed, its sentence made. (2) What a file holds. (3) `Space`: points,
and boxes of them. (4) `Evidence`: each kind of proof becomes boxes that cover all points of the
claim. (5) `Claim`: in which boxes the claim holds for certain. (6) `Trees` and `Models`: what the
models can answer in a box. At the end, `words` makes the sentence.

Why bounds hold. Rounding is monotone: what a model computes lies between what its own steps, in
their order and types, make of the smallest and of the largest leaf that each tree can reach in a
box. Differences of sums (leads of classes, trees that two sums share) are bounded as real numbers,
with ``4 * eps * (trees + steps + 8)`` times the largest sum of absolute terms to spare for all
roundings.

Arrays have a column for each box, and are named in the plural or by what they say of a box.
"""

from __future__ import annotations

import gzip
import hashlib
import json
import sys
from itertools import combinations, permutations, product
from math import comb
from typing import Any, NamedTuple

import numpy as np

FORMAT, VERSION = "ensemble_simplify.evidence", 2
# Boxes looked at together, boxes that the checker makes itself, levels of trees, bytes of a file
# that is unpacked: at most so many.
BLOCK, MOST_BOXES, MOST_LEVELS, MOST_BYTES = 512, 1_000_000, 5_000, 200_000_000


# ------------------------------------------------------------- 1. the program


def main(arguments):
    if len(arguments) != 1:
        print("usage: python checker.py evidence.json")
        return 2
    try:
        print(f"Proven: {check(arguments[0])}")
    except Unproven as error:
        print(f"Not proven: {error}")
        return 1
    except Refused as error:
        print(f"Cannot tell: {error}")
        return 2
    return 0


class Refused(ValueError):
    """The file cannot be read, or not be checked with reasonable effort."""


class Unproven(Exception):
    """The evidence does not prove its claim."""


def need(condition, message, error=Refused):
    if not condition:
        raise error(message)


def check(path, pause=None):
    """Check a file; the sentence that it proves, or `Refused` or `Unproven` is raised.

    ``pause()`` is called before each block of boxes: what it raises ends the check.
    """
    return check_text(text_of(path), pause)


def check_text(text, pause=None):
    """The same of what a file holds."""
    try:
        document = parse(text)
        with np.errstate(all="ignore"):
            evidence = Evidence(document, pause)
            sentence = words(document)
            said = document["words"] == sentence
            need(said, f"words: the data say otherwise: {sentence}", Unproven)
            evidence.follow()
        return sentence
    except Refused:
        raise
    except (ArithmeticError, AttributeError, LookupError, MemoryError) as error:
        raise Refused(f"the file cannot be followed: {error!r}") from error
    except (RecursionError, TypeError, ValueError) as error:
        raise Refused(f"the file cannot be followed: {error!r}") from error


# ------------------------------------------------------ 2. what a file holds

# Forms of entries: text (s), whole numbers (i), numbers (n), labels (c), dicts (d), lists (l), null
# (z), or null as well (S, I, N). A star makes it a list of these; | stands between two forms.
NULL = type(None)
TYPES: dict[str, set] = {"s": {str}, "i": {int}, "n": {int, float}, "c": {str, int, float, bool}}
TYPES |= {"d": {dict}, "l": {list}, "z": {NULL}, "S": {str, NULL}, "I": {int, NULL}}
TYPES |= {"N": {int, float, NULL}}


def entries(text, **others) -> dict[str, Any]:
    """Entries with their forms, from words in turn."""
    names = text.split()
    return dict(zip(names[::2], names[1::2], strict=True)) | others


# Nodes of trees, one after the other, children after their parent; -1 as `left` makes a leaf. A
# number goes left if it is at most `end`; null stands for infinity.
TREE = entries("column i* end N* left i* right i*")
# Of all trees of a model: their first nodes, where missing values go, and what leaves say, once for
# each column of numbers.
NODES = TREE | entries("first i* missing_left i* value n**")
# What a column of a model's rows is called, and which levels its codes 0, 1, ... stand for.
COLUMN = entries("name S levels c*|z unknown S")
# `type` is that of the numbers for which the nodes are right. Its hash is of all the rest.
MODEL = entries("name s type s classes c*|z steps l* result i outputs i*|z sha256 s", nodes=NODES)
MODEL |= {"columns": [COLUMN]}
# The points that count, over the coordinates: within `low` and `high`; each clause is a list of
# pairs (coordinate, value), of which one holds; of each pair in `order`, the first coordinate is at
# most the second. `point` is one of them: without any, everything could be said of all.
REGION = entries("type s low N* high N* integer i* missing i* clauses i*** order i** point N*")
USE = entries("model i columns i*")
FILE = entries("format s version i words s claim d proof d made_by d digest s", region=REGION)
FILE |= {"uses": [USE], "models": [MODEL]}
# Claims: `of` is "class", "value" or {"output": number of a class}. "not" is the claim that another
# one does not hold.
CLAIMS = {
    "same_class": entries("kind s uses i*"),
    "within": entries("kind s uses i* atol n rtol n"),
    "rises": entries("kind s uses i* of d|s order i*|z"),
    "class_is": entries("kind s use i class i"),
    "in_range": entries("kind s use i of d|s low N high N"),
}
# the same of any other class, and of numbers outside the range
CLAIMS |= {"class_is_not": CLAIMS["class_is"], "out_of_range": CLAIMS["in_range"]}
NOT = entries("kind s claim d")
PROOFS = {
    "boxes": entries("kind s mix n* steps i**", tree=TREE | entries("answer I* bound N*")),
    "points": entries("kind s rows N** max_changes i vary i**"),
    "witness": entries("kind s point N* answers n*|n**"),
}
# Steps of a model: what each takes, and at the end what it gives. It takes the number of an
# earlier step (n; N: a list; l: one that says a class), of a tree (t), a column (c) or a class (k),
# a number (v; V: a list), and words (d: type; w: who wins ties; b: yes or no). It gives a number
# (=), a number that is no sum (%), or a class (?).
STEPS = {
    "constant": "v=",  # this number
    "trees": "ttcvd=",  # the sum of a column over the trees from .. to .., from a number on
    "+": "nnd=",
    "-": "nnd=",
    "*": "nnd=",
    "/": "nnd=",
    "chosen": "lkvv=",  # one number if the step says a class, else another
    "sigmoid": "nbd%",  # of a number; with 0: one minus that
    "softmax": "Nkd%",  # of numbers: the share of one of them
    "largest": "Nwv?",  # the class of the largest number; within a margin, either may be meant
    "above": "nVbb?",  # one of two classes, which change at each of some ends (1: at it, too)
}
WORDS: dict[str, tuple] = {"d": ("float32", "float64"), "w": ("first", "last"), "b": (0, 1)}
SIGNS = {"+": np.add, "-": np.subtract, "*": np.multiply, "/": np.divide}


def text_of(path):
    """The text of a file, which can be compressed."""
    try:
        with (gzip.open if str(path).endswith(".gz") else open)(path, "rb") as file:
            text = file.read(MOST_BYTES + 1)
    except (EOFError, MemoryError, OSError, ValueError) as error:
        raise Refused(f"the file cannot be read: {error}") from error
    need(len(text) <= MOST_BYTES, f"the file holds more than {MOST_BYTES:,} bytes")
    try:
        return text.decode()
    except ValueError as error:
        raise Refused(f"the file is no text: {error}") from error


def parse(text):
    """What a text in JSON holds; no number may be infinite, and no key be there twice."""

    def distinct(pairs):
        need(len(dict(pairs)) == len(pairs), f"a key is there twice in {str(pairs)[:80]}")
        return dict(pairs)

    def finite(digits):
        number = float(digits) if set(digits) & set(".eEIN") else int(digits)
        small = abs(number) < (np.inf if type(number) is float else 2**53)
        need(small, f"{digits[:30]} is too large a number, or none")
        return number

    ways: dict[str, Any] = dict.fromkeys(("parse_float", "parse_int", "parse_constant"), finite)
    return json.loads(text, object_pairs_hook=distinct, **ways)


def has_form(value, form):
    """Whether a value has exactly the entries, and types, of a form."""
    if isinstance(form, dict):
        same = type(value) is dict and value.keys() == form.keys()
        return same and all(has_form(value[key], form[key]) for key in form)
    if isinstance(form, list):
        return type(value) is list and all(has_form(item, form[0]) for item in value)
    for letter, *stars in form.split("|"):
        items, depth = [value], len(stars)
        while depth and all(type(item) is list for item in items):
            items, depth = [part for item in items for part in item], depth - 1
        if not depth and set(map(type, items)) <= TYPES[letter]:
            return True
    return False


def digest(value, *without):
    """The SHA-256 of the canonical text of a dict, without some entries."""
    value = {key: value[key] for key in value if key not in without}
    text = json.dumps(value, sort_keys=True, separators=(",", ":"), allow_nan=False)
    return hashlib.sha256(text.encode()).hexdigest()


def numbers(values, null):
    return np.array([null if value is None else value for value in values], dtype=np.float64)


# ------------------------------------------------- 3. points, and boxes of them


class Space:
    """The points that count. Boxes have `low` and `high` ends, which belong to them, and `gap`:
    whether a coordinate may be missing.
    """

    def __init__(self, region, n):
        need({*region["integer"], *region["missing"]} <= {0, 1}, "region: integer, missing")
        need(region["type"] in ("float32", "float64"), "region: type")
        sizes = {len(region[key]) for key in ("low", "high", "integer", "missing")}
        need(sizes == {n}, "region: lists of another length")
        self.n, self.clauses, self.order = n, region["clauses"], region["order"]
        self.type = np.float32 if region["type"] == "float32" else np.float64
        self.integer = np.array(region["integer"]) == 1
        self.low = -self.floor(-numbers(region["low"], -np.inf))
        self.high = self.floor(numbers(region["high"], np.inf))
        self.gap = np.array(region["missing"]) == 1
        self.gap[[j for pair in self.order for j in pair]] = False
        need(self.holds(region["point"]), "region: its point is not in it", Unproven)

    def floor(self, x):
        """The largest finite numbers of the type that are not above some others."""
        x = np.asarray(x)
        near = x.astype(self.type)
        below = np.where(near > x, np.nextafter(near, self.type(-np.inf)), near)
        return np.clip(below.astype(np.float64), -np.inf, np.finfo(self.type).max)

    def cuts_at(self, j, ends):
        """Where ends of splits on a coordinate cut it, ascending."""
        ends = self.floor(ends)
        return np.unique(np.floor(ends) if self.integer[j] else ends)

    def whole(self):
        """One box that holds everything."""
        shape = self.n, 1
        return np.full(shape, -np.inf), np.full(shape, np.inf), np.ones(shape, dtype=bool)

    def holds(self, point):
        """Whether a point, in JSON, is one that counts."""
        point = numbers(point, np.nan)[:, None]
        if point.shape != (self.n, 1) or not np.array_equal(self.floor(point), point, True):
            return False
        return self.within(point.copy(), point.copy(), np.isnan(point))[-1].all()

    def within(self, low, high, gap):
        """The parts of boxes that count, and which have any; NaN where a coordinate is missing."""
        low, high = np.maximum(low, self.low[:, None]), np.minimum(high, self.high[:, None])
        whole = self.integer[:, None]
        low, high = np.where(whole, np.ceil(low), low), np.where(whole, np.floor(high), high)
        gap = gap & self.gap[:, None]
        empty = ~(low <= high)
        low[empty] = high[empty] = np.nan
        some = (gap | ~empty).all(axis=0)
        for clause in self.clauses:
            some &= np.any([(low[j] <= v) & (v <= high[j]) for j, v in clause], axis=0)
        for i, j in self.order:
            some &= low[i] <= high[j]
        return low, high, gap, some

    def split(self, low, high, gap, j, end):
        """Boxes below and above an end of one coordinate of each; missing values go above."""
        at, end = np.arange(len(j)), self.floor(end)
        below, above, no_gap = high.copy(), low.copy(), gap.copy()
        below[j, at] = np.minimum(high[j, at], end)
        after = np.nextafter(end.astype(self.type), self.type(np.inf)).astype(np.float64)
        above[j, at] = np.maximum(low[j, at], after)
        no_gap[j, at] = False
        return (low, below, no_gap), (above, high, gap)


# ----------------------------------------------------- 4. each kind of proof


class Evidence:
    """A claim, and a proof: boxes that cover the points of the claim, in each of which it holds."""

    def __init__(self, document, pause=None):
        """Read all of it, but the proof."""
        version = [document.get(key) if type(document) is dict else None for key in FILE][:2]
        need(version[0] == FORMAT, "the file holds no evidence")
        again = f"save the evidence again, version {version[1]} of the format is no longer checked"
        need(version[1] == VERSION, again if version[1] == 1 else "a version that is not known")
        form = has_form(document, FILE)
        need(form, "the file does not have the entries, and types, of evidence")
        need(digest(document, "digest") == document["digest"], "digest: changed later", Unproven)
        models, uses, claim = document["models"], document["uses"], document["claim"]
        for model in models:
            same = digest(model, "sha256") == model["sha256"]
            need(same, "models: sha256 is of something else", Unproven)
            empty = any(column["levels"] == [] for column in model["columns"])
            need(not empty, "models: levels of a column that has none")
        columns = columns_of(models, uses)
        n, region = len(columns), document["region"]
        types = {model["type"] for model in models}
        need(types <= {"float32", "float64"}, "models: type")
        need(region["type"] == "float32" or types == {"float64"}, "region: type")
        is_not = has_form(claim, NOT) and claim["kind"] == "not"
        claim, self.proof = claim["claim"] if is_not else claim, document["proof"]
        for name, given, forms in (("claim", claim, CLAIMS), ("proof", self.proof, PROOFS)):
            kind = given.get("kind")
            known = type(kind) is str and kind in forms
            known = known and has_form(given, forms[kind])
            need(known, f"{name} is of no kind that is known")
        need(is_not == (self.proof["kind"] == "witness"), "a witness proves a difference only")
        asked = claim.get("uses", [claim.get("use")])
        need(asked == list(range(len(uses))) and len(asked) < 3, "claim: uses")
        self.space, self.models = Space(region, n), Models(models, uses, n, pause)
        mix = self.proof.get("mix", ())
        need(min(mix, default=1) > 0, "proof: mix")
        chains = not self.proof.get("steps") or claim["kind"] == "rises"
        need(chains, "proof: only what rises can be proven step by step")
        self.claim, self.columns = Claim(claim, self.models, mix), [use["columns"] for use in uses]
        on, end = self.models.on[self.models.inner], self.models.end[self.models.inner]
        self.cuts = [self.space.cuts_at(j, end[on == j]) for j in range(n)]

    def follow(self):
        """Raise unless the proof holds."""
        {"boxes": self._boxes, "points": self._points, "witness": self._witness}[
            self.proof["kind"]
        ]()

    def _witness(self):
        """One point, at which the claim surely does not hold."""
        answers = self.proof["answers"]
        need(self.space.holds(self.proof["point"]), "the point is not in the region", Unproven)
        point = numbers(self.proof["point"], np.nan)[:, None]
        self.models.look(*self.space.within(point.copy(), point.copy(), np.isnan(point))[:-1])
        _, refuted, _ = self.claim.judge()
        need(refuted.all(), "the claim is not refuted at the point", Unproven)
        need(len(answers) == len(self.models.uses), "proof: answers")
        for answer, use in zip(answers, self.models.uses, strict=True):
            if use.labels is not None and type(answer) is not list:
                possible = self.models.ranges[use.result]
                same = answer in range(len(use.labels)) and is_only(possible, answer).all()
            else:
                steps = [use.result] if use.labels is None else use.outputs
                steps = steps if type(answer) is list else [use.result]
                answer = answer if type(answer) is list else [answer]
                ends = [self.models.ranges[i] for i in steps]
                same = len(answer) == len(ends)
                same = same and all(a <= v <= b for v, (a, b) in zip(answer, ends, strict=True))
            need(same, "proof: other answers than in the file", Unproven)

    def _points(self):
        """Rows, of which some coordinates may change: the checker makes the boxes itself."""
        rows, vary, n = self.proof["rows"], self.proof["vary"], self.space.n
        k, places = min(self.proof["max_changes"], len(vary)), [j for unit in vary for j in unit]
        good = k >= 0 and rows and {*map(len, rows)} == {n} and {*places} <= {*range(n)}
        need(good and len(set(places)) == len(places), "proof: rows, max_changes or vary")
        points = np.array([numbers(row, np.nan) for row in rows]).T
        exact = np.isnan(points) | (self.space.floor(points) == points)
        need(exact.all(), "proof: rows hold numbers that are not of the type")
        need(any(map(self.space.holds, rows)), "none of the rows is in the region", Unproven)
        self.left, n_boxes = MOST_BOXES, len(rows) * comb(len(vary), k)
        need(n_boxes <= MOST_BOXES, "cannot tell: this takes too many boxes")
        for units in combinations(vary, k):
            low, high, gap = points.copy(), points.copy(), np.isnan(points)
            free = [j for unit in units for j in unit]
            low[free], high[free], gap[free] = -np.inf, np.inf, True
            for i in range(0, len(rows), BLOCK):
                self._divide(*(part[:, i : i + BLOCK] for part in (low, high, gap)))

    def _divide(self, *boxes):
        """Prove the claim in boxes, which are cut in the middle of the models' ends until it is."""
        stack = [boxes]
        while stack:
            low, high, gap, counts = self.space.within(*stack.pop())
            self.left -= len(counts)
            need(self.left > 0, "cannot tell: this takes too many boxes")
            low, high, gap = low[:, counts], high[:, counts], gap[:, counts]
            if low.size:
                self.models.look(low, high, gap)
                is_open = ~self.claim.judge()[0]
                low, high, gap = low[:, is_open], high[:, is_open], gap[:, is_open]
            if not low.size:
                continue
            # the first and the last cell of each box in each coordinate
            cells = np.array(
                [
                    [np.searchsorted(cuts, ends) for ends in (low[j], high[j])]
                    for j, cuts in enumerate(self.cuts)
                ]
            )
            many = cells[:, 1] - cells[:, 0] + 0.5 * (gap & (low <= high))
            j, at = many.argmax(axis=0), np.arange(low.shape[1])
            need_all(many[j, at] > 0, low)
            middle = cells[j, :, at].sum(axis=1) // 2
            ends = [
                self.cuts[k][m] if many[k, i] >= 1 else np.inf
                for i, (k, m) in enumerate(zip(j, middle, strict=True))
            ]
            stack += self.space.split(low, high, gap, j, np.array(ends))

    def _boxes(self):
        """A tree that cuts the space: each of its leaves is a box."""
        for _, answers, bounds, *boxes in self._leaves():
            nothing = (answers < 0) & np.isnan(bounds)
            need((boxes[-1] | nothing).all(), "proof: answers outside", Unproven)
            for fault, message in self._faults(answers, bounds, *boxes):
                need_all(~fault, boxes[0], message)

    def open_boxes(self, among):
        """The leaves of the tree, `among` some nodes of it, of which something is not proven."""
        found = [np.array([], dtype=np.intp)]
        for nodes, answers, bounds, *boxes in self._leaves():
            asked = np.flatnonzero(np.isin(nodes, among))
            boxes = [part[..., asked] for part in (answers, bounds, *boxes)]
            faults = [fault for fault, _ in self._faults(*boxes)]
            found.append(nodes[asked[np.any(faults, axis=0)]])
        return np.concatenate(found)

    def _leaves(self):
        """Leaves of the tree in blocks: nodes, answers, bounds, and the boxes within the space."""
        given, space = self.proof["tree"], self.space
        n_nodes, parts = len(given["left"]), (given[key] for key in TREE)
        tree = Trees(*parts, [0] * n_nodes, [0], space.n)
        need({len(given["answer"]), len(given["bound"])} == {n_nodes}, "proof: lengths")
        answers = np.array([-1 if k is None else k for k in given["answer"]])
        bounds = numbers(given["bound"], np.nan)
        stack, ready, n_ready = [(np.array([0]), space.whole())], [], 0
        while stack:
            nodes, boxes = stack.pop()
            is_leaf = tree.left[nodes] < 0
            ready.append((nodes[is_leaf], *(part[:, is_leaf] for part in boxes)))
            n_ready += is_leaf.sum()
            inner, boxes = nodes[~is_leaf], [part[:, ~is_leaf] for part in boxes]
            if len(inner):
                sides = space.split(*boxes, tree.on[inner], tree.end[inner])
                # the two halves of a box stay side by side
                boxes = [np.stack(pair, axis=2) for pair in zip(*sides, strict=True)]
                boxes = [part.reshape(space.n, -1) for part in boxes]
                nodes = np.column_stack([tree.left[inner], tree.right[inner]]).ravel()
                for some in np.array_split(np.arange(len(nodes)), 1 + len(nodes) // 128)[::-1]:
                    stack.append((nodes[some], [part[:, some] for part in boxes]))
            if n_ready >= BLOCK or not stack:
                nodes, *boxes = (np.concatenate(own, axis=-1) for own in zip(*ready, strict=True))
                yield nodes, answers[nodes], bounds[nodes], *space.within(*boxes)
                ready, n_ready = [], 0

    def _faults(self, answers, bounds, low, high, gap, counts):
        """In which boxes the claim is not proven, nor what the file says of them; with messages."""
        faults = np.zeros((3, len(answers)), dtype=bool)
        for j, d in self.proof["steps"]:
            counts = counts & ~self._follows(j, d, low, high)
        at, models = np.flatnonzero(counts), self.models
        if len(at):
            answers, bounds = answers[at], bounds[at]
            models.look(low[:, at], high[:, at], gap[:, at])
            proven, _, most = self.claim.judge()
            faults[0, at], faults[1, at] = ~proven, answers >= 0
            first = models.uses[0]
            for k in {*answers[answers >= 0].tolist()} if most is None else ():
                if k < len(first.labels):
                    possible = models.ranges[first.result]
                    faults[1, at] &= ~((answers == k) & is_only(possible, k))
            stated = np.flatnonzero(~np.isnan(bounds))
            if most is None:
                # of a class: that its lead in both models is at least so large
                need((answers[stated] >= 0).all(), "proof: a bound without an answer", Unproven)
                bounds, most = -bounds, np.full(len(bounds), -np.inf)
                for k in {*answers[stated].tolist()}:
                    own = stated[answers[stated] == k]
                    if k < len(first.labels):
                        most[own] = -np.maximum(self._least_lead(first.labels[k], own), 0.0)
            faults[2, at[stated]] = ~(bounds[stated] >= most[stated])
        said = (
            "not proven",
            "proof: another answer than in the file",
            "proof: a bound is too strong",
        )
        return [*zip(faults, said, strict=True)]

    def _least_lead(self, label, boxes):
        """By how much at least a class leads in all models, in some boxes."""
        least = np.full(len(boxes), np.inf)
        for use in self.models.uses:
            mine = use.labels.index(label)
            for other in range(len(use.labels)):
                if other != mine:
                    lead = self.models.lead(use.result, mine, other)
                    need(lead is not None, "proof: a bound of no sum", Unproven)
                    least = np.minimum(least, self.models.least(*lead, boxes))
        return least

    def _follows(self, j, d, low, high):
        """Boxes that need no proof: what rises from each cell to the next rises to those beyond.

        The two rows may differ in one feature alone, coordinate j of the first and d of the second.
        """
        space, pairs = self.space, zip(*self.columns, strict=True)
        good = self.models.same and [{a, b} for a, b in pairs if a != b] == [{j, d}]
        good = good and space.order == [[j, d]] and not space.clauses
        good = good and all(own[j] == own[d] for own in (space.low, space.high, space.integer))
        need(good, "proof: steps of what is no single feature", Unproven)
        cuts = np.union1d(self.cuts[j], self.cuts[d])
        return np.searchsorted(cuts, low[d]) - np.searchsorted(cuts, high[j]) >= 2


def columns_of(models, uses):
    """The columns of the coordinates; each is a column of the first model that is used.

    One model that is used twice can take others the second time: a second input, whose coordinates
    come after those of the first one. Two models take the same.
    """
    used = [use["model"] for use in uses]
    need({*used} == {*range(len(models))}, "uses: a model that is not there, or not used")
    first, last = uses[0]["columns"], uses[-1]["columns"]
    held = [models[i]["columns"] for i in used]
    n = len(held[0])
    same = first == list(range(n)) and len(last) == len(held[-1]) == n
    need(same, "uses: other columns than those of the models")
    moved = {d: j for j, d in enumerate(last) if d != j}
    need(sorted(moved) == list(range(n, n + len(moved))), "uses: columns that are mixed up")
    need(not moved or len(models) == 1, "uses: two models that take different columns")
    found = []
    for j, (one, two) in enumerate(zip(held[0], held[-1], strict=True)):
        # a model of numbers alone knows neither names nor levels
        for key in ("name", "levels"):
            same = one[key] == two[key] or None in (one[key], two[key])
            need(same, f"models: column {j} has another {key} in each")
        found.append(max(one, two, key=lambda column: sum(v is not None for v in column.values())))
    return found + [found[moved[d]] for d in sorted(moved)]


def need_all(proven, low, message="not proven"):
    if not proven.all():
        corner = low[:, np.flatnonzero(~proven)[0]].tolist()
        point = ["missing" if np.isnan(x) else x for x in corner]
        raise Unproven(f"{message} in a box that begins at {point}")


def is_only(possible, k):
    """Where a class is possible, and no other one."""
    return possible[k] & (possible.sum(axis=0) == 1)


# ------------------------------------------------------------------ 5. claims


class Claim:
    """What is claimed of the models' answers, decided in the boxes that `Models.look` looked at."""

    def __init__(self, claim, models, mix):
        self.claim, self.models, self.mix = claim, models, mix
        self.is_of_classes = claim["kind"] in ("same_class", "class_is", "class_is_not")
        self.is_of_classes |= claim.get("of") == "class"
        if self.is_of_classes:
            need(all(use.labels for use in models.uses), "claim: a class of no classifier")
            need(claim["kind"] not in ("in_range", "out_of_range"), "claim: of")
            return
        if claim["kind"] == "within":
            need(min(claim["atol"], claim["rtol"]) >= 0, "claim: atol, rtol")
            self.pairs = self._pairs(*models.uses)
            return
        # the steps that give the numbers
        self.steps = [use.result for use in models.uses]
        if claim["of"] != "value":
            need(has_form(claim["of"], {"output": "i"}), "claim: of")
            self.steps = [use.outputs[claim["of"]["output"]] for use in models.uses]
        need(all(models.kinds[i] != "?" for i in self.steps), "claim: of")

    def judge(self):
        """Where the claim holds, where it surely does not, and a bound of the numbers, if any."""
        return getattr(self, "_" + self.claim["kind"])()

    # Of classes: whether each one is possible, in each box.

    def _class_is(self):
        possible, k = self.models.ranges[self.models.uses[0].result], self.claim["class"]
        need(0 <= k < len(possible), "claim: class")
        return is_only(possible, k), ~possible[k], None

    def _class_is_not(self):
        is_it, is_other, _ = self._class_is()
        return is_other, is_it, None

    def _same_class(self):
        one, two = (use.labels for use in self.models.uses)
        return self._without(lambda i, j: one[i] != two[j])

    def _class_rises(self):
        order, (one, two) = self.claim["order"], (use.labels for use in self.models.uses)
        need(order and len(order) == len(one) and one == two, "claim: order")
        return self._without(lambda i, j: order[i] > order[j])

    def _without(self, is_wrong):
        """Where no wrong pair of classes is possible; and where only wrong ones are."""
        models, (one, two) = self.models, self.models.uses
        first, second = models.ranges[one.result], models.ranges[two.result]
        proven, refuted = np.ones((2, first.shape[1]), dtype=bool)
        for i, j in product(range(len(first)), range(len(second))):
            both = first[i] & second[j]
            if not is_wrong(i, j):
                refuted &= ~both
                continue
            both &= ~(models.is_kept(i) if both.any() and models.same else models.alike)
            boxes = np.flatnonzero(both & proven)
            # If the first model answers a, its lead of a over b is not negative; if the second one
            # answers b, its lead of b over a is not. Where m times the one and the other must add
            # up to less than 0, the two do not answer so.
            a, b, ahead, behind = one.labels[i], two.labels[j], None, None
            if len(boxes) and self.mix and a in two.labels and b in one.labels:
                ahead = models.lead(one.result, i, one.labels.index(b))
                behind = models.lead(two.result, j, two.labels.index(a))
            for m in self.mix if ahead and behind else ():
                (x, constant, spare), (y, other, more) = ahead, behind
                least = models.least(-m * x - y, -m * constant - other, m * spare + more, boxes)
                both[boxes] &= ~(least > 0)
            proven &= ~both
        return proven, refuted, None

    # Of numbers: the smallest and the largest, in each box.

    def _in_range(self):
        low, high = self.models.ranges[self.steps[0]]
        least, most = numbers([self.claim["low"]], -np.inf), numbers([self.claim["high"]], np.inf)
        proven = (low >= least) & (high <= most)
        return proven, (high < least) | (low > most), np.full(len(low), np.nan)

    def _out_of_range(self):
        is_in, is_out, most = self._in_range()
        return is_out, is_in, most

    def _rises(self):
        if self.is_of_classes:
            return self._class_rises()
        models, (i, j) = self.models, self.steps
        refuted = models.ranges[i][0] > models.ranges[j][1]
        falls, link = False, self._link(i, j)
        if link:
            # a sigmoid rises with its sum, or falls
            i, j, rises, _ = link
            falls = not rises
        low, high = models.difference(i, j)
        most = -low if falls else high
        most = np.where(models.alike, np.fmin(most, 0.0), most)
        return most <= 0, refuted, most

    def _link(self, i, j):
        """Where two steps are the same sigmoid: the steps in them, whether it rises, its type."""
        one, two = self.models.steps[i], self.models.steps[j]
        if one[0] == two[0] == "sigmoid" and one[2] == two[2]:
            return one[1], two[1], one[2] != 0, one[3]
        return None

    @staticmethod
    def _pairs(one, two):
        """Steps that are compared: of values, or of each class; None: 0, the class is unknown."""
        need((one.labels is None) == (two.labels is None), "claim: a class and a number")
        if one.labels is None:
            return [(one.result, two.result)]
        need(one.outputs and two.outputs, "claim: models without probabilities")
        first, second = (dict(zip(use.labels, use.outputs, strict=True)) for use in (one, two))
        return [(first.get(label), second.get(label)) for label in {**first, **second}]

    def _within(self):
        models, atol, rtol = self.models, self.claim["atol"], self.claim["rtol"]
        n = len(models.alike)
        proven, refuted, most = np.ones(n, dtype=bool), np.zeros(n, dtype=bool), np.zeros(n)
        for i, j in self.pairs:
            one, two = (np.zeros((2, n)) if k is None else models.ranges[k] for k in (i, j))
            low, high = one - two[::-1]
            bound = np.maximum(-low, high)
            if i is not None and j is not None:
                bound = np.fmin(bound, self._distance(i, j))
            bound = np.where(models.alike, 0.0, bound)
            nearest = np.maximum(0.0, np.maximum(two[0], -two[1]))
            proven &= bound <= atol + rtol * nearest
            refuted |= np.maximum(low, -high) > atol + rtol * np.abs(two).max(axis=0)
            most = np.maximum(most, bound)
        return proven, refuted, most

    def _distance(self, i, j):
        """A bound of how far two numbers are apart, by the trees that they share."""
        models, link = self.models, self._link(i, j)
        if not link:
            low, high = models.difference(i, j)
            return np.fmax(-low, high)
        # A sigmoid moves at most by its steepest slope within reach times what its sum moves.
        i, j, _, kind = link
        low, high = models.difference(i, j)
        ends = np.stack([models.ranges[i], models.ranges[j]])
        flat = np.maximum(0.0, np.maximum(ends.min(axis=(0, 1)), -ends.max(axis=(0, 1))))
        share = 1.0 / (1.0 + np.exp(flat))
        spare = 1e-12 if kind == "float64" else 1e-5
        return np.fmax(-low, high) * share * (1.0 - share) + spare


# ------------------------------------------------ 6. what models answer in a box


class Trees:
    """Trees as arrays, their nodes one after the other, children after their parent."""

    def __init__(self, column, end, left, right, to_left, first, n_columns):
        arrays = (np.array(part, dtype=np.int64) for part in (column, left, right, first))
        (column, self.left, self.right, self.first), n = arrays, len(left)
        self.end = numbers(end, np.inf)
        need({*to_left} <= {0, 1}, "nodes: missing_left")
        self.to_left, size = np.array(to_left) == 1, np.diff(self.first, append=n)
        same = {*map(len, (self.right, column, self.end, self.to_left))} == {n}
        need(same and min(size, default=0) > 0 and first[0] == 0, "nodes: lists of other lengths")
        self.tree, inner = np.repeat(np.arange(len(size)), size), np.flatnonzero(self.left >= 0)
        child, parent = np.append(self.left[inner], self.right[inner]), np.append(inner, inner)
        # each node but the first ones is the child of one node before it, in its own tree
        good = np.array_equal(np.sort(np.append(child, self.first)), np.arange(n))
        good = good and (child > parent).all() and (self.tree[child] == self.tree[parent]).all()
        good = good and ((self.left < 0) == (self.right < 0)).all()
        good = good and (column[inner] >= 0).all() and (column < n_columns).all()
        need(good, "nodes: no trees with children after their parents")
        self.inner, self.on = inner, np.maximum(column, 0)
        # inner nodes by their depth
        self.levels, level = [], self.first
        while (level := level[self.left[level] >= 0]).size:
            self.levels.append(level)
            level = np.append(self.left[level], self.right[level])
            need(len(self.levels) < MOST_LEVELS, "nodes: a tree is too deep to be checked")


class Use(NamedTuple):
    """A model as the claim uses it; nodes and steps are numbered through all uses.

    `result` is the step that gives the answer, `outputs` are those that give each class's
    probability, and `labels` are the classes in JSON, None of a number. `how` is what the model
    makes of what its trees say, as it is told.
    """

    result: int
    outputs: list
    labels: list | None
    sha256: str
    first_node: int
    how: tuple


class Models(Trees):
    """All models as they are used: trees over the coordinates, and all steps in one list.

    A *sum* is what a step adds up, as factors of each column of each tree and a constant; in a
    second row are what their absolute values add up to, the constant's times what is to spare. It
    is None for a step that is no sum.
    """

    def __init__(self, models, uses, n_columns, pause=None):
        self.pause = pause or (lambda: None)
        nodes, values, given = [[] for _ in range(6)], [], []
        self.uses, self.tree_spares = [], []
        for use in uses:
            model, n, base = models[use["model"]], len(nodes[2]), len(given)
            own, columns = model["nodes"], use["columns"]
            nodes[0] += [columns[j] if j >= 0 else -1 for j in own["column"]]
            nodes[1] += own["end"]
            nodes[2] += [k + n if k >= 0 else -1 for k in own["left"]]
            nodes[3] += [k + n if k >= 0 else -1 for k in own["right"]]
            nodes[4] += own["missing_left"]
            nodes[5] += [k + n for k in own["first"]]
            values.append(np.array(own["value"], dtype=np.float64))
            need(values[-1].shape[1:] == (len(own["left"]),), "nodes: value has another length")
            steps, n_trees = model["steps"], len(own["first"])
            eps = np.finfo("f" if any("float32" in step for step in steps) else "d").eps
            spare = 4.0 * eps * (n_trees + len(steps) + 8)
            need(max(own["column"], default=-1) < len(columns), "nodes: column")
            about = spare, len(self.tree_spares), n_trees, len(values[-1]), base
            given += [(*about, step) for step in steps]
            self.tree_spares += [spare] * n_trees
            labels = model["classes"] and list(map(json.dumps, model["classes"]))
            outputs = [base + i for i in model["outputs"] or []]
            how = n_trees, labels, steps, model["result"], model["outputs"]
            self.uses.append(Use(base + model["result"], outputs, labels, model["sha256"], n, how))
        super().__init__(*nodes, n_columns)
        self.value = np.zeros((max(map(len, values)), len(self.left)))
        for value, use in zip(values, self.uses, strict=True):
            self.value[: len(value), use.first_node : use.first_node + value.shape[1]] = value
        self.value[:, self.inner] = 0.0
        self.shape = len(self.value), len(self.first)
        self.steps, self.kinds, self.sums, self.leads = [], "", [], {}
        for step in given:
            self._read_step(*step)
        for use in self.uses:
            labels, is_number = use.labels or (), use.labels is None
            good = self.kinds[use.result] == ("=" if is_number else "?")
            good = good and len(use.outputs) in (0, len(labels))
            good = good and all(self.kinds[i] != "?" for i in use.outputs)
            good = good and len(set(labels)) == len(labels)
            need(good, "models: result, outputs and classes do not go together")
        self._find_twins()

    def _read_step(self, spare, tree, n_trees, n_columns, base, step):
        """Read a step, which names earlier steps, trees and columns that there are."""

        def read(code, part):
            if code in "NV":
                return [read(code.lower(), item) for item in part]
            if code in "nl":
                good = has_form(part, "i") and 0 <= part < len(self.steps) - base
                need(good and self.kinds[base + part] == {"n": "=", "l": "?"}[code], message)
                return base + part
            if code == "v":
                need(has_form(part, "n"), message)
                return float(part)
            if code in WORDS:
                need(has_form(part, "s|i") and part in WORDS[code], message)
                return part
            # a class may be -1: none of those that there are
            least, most = {"t": (0, n_trees), "c": (0, n_columns - 1), "k": (-1, 10**6)}[code]
            need(has_form(part, "i") and least <= part <= most, message)
            return part + tree * (code == "t")

        message = f"models: the step {str(step)[:60]} cannot be followed"
        need(step and has_form(step[0], "s") and step[0] in STEPS, message)
        name, codes = step[0], STEPS[step[0]]
        need(len(step) == len(codes), message)
        parts = [read(code, part) for code, part in zip(codes, step[1:], strict=False)]
        if name == "/":
            need(self.steps[parts[1]][0] == "constant", message)
        if name == "above":
            need(parts[1] == sorted(parts[1]), message)
        if name == "largest":
            need(parts[0] and parts[2] >= 0, message)
        self.steps.append((name, *parts))
        self.kinds += codes[-1]
        self.sums.append(self._sum(spare, name, *parts))

    def _sum(self, spare, name, *parts):
        found = np.zeros((2, self.shape[0] * self.shape[1] + 1))
        if name in ("constant", "trees"):
            value = parts[0 if name == "constant" else 3]
            found[:, -1] = value, abs(value) * spare
            if name == "trees":
                found[:, :-1].reshape(2, *self.shape)[:, parts[2], parts[0] : parts[1]] = 1.0
            return found
        if name not in SIGNS or self.sums[parts[0]] is None or self.sums[parts[1]] is None:
            return None
        one, two = self.sums[parts[0]], self.sums[parts[1]]
        if name in ("+", "-"):
            return np.stack([SIGNS[name](one[0], two[0]), one[1] + two[1]])
        if name == "*" and two[1, :-1].any():
            one, two = two, one
        factor = float(SIGNS[name](1.0, two[0, -1])) if two[0, -1] else 0.0
        # other factors could lose small numbers
        tame = not two[1, :-1].any() and 1e-8 <= abs(factor) <= 1e8
        return one * [[factor], [abs(factor)]] if tame else None

    def _find_twins(self):
        """Pair trees of the second use with those of the first that differ in values and columns
        alone. `same`: both uses are of one model. `equal`: which twin nodes say the same; None
        where the uses do not make the same of what their trees say, one after the other.
        """
        self.same, places, twins = False, {}, []
        if len(self.uses) == 2:
            self.same = self.uses[0].sha256 == self.uses[1].sha256
            stops = np.append(self.first[1:], len(self.left))
            for t, (a, b) in enumerate(zip(self.first, stops, strict=True)):
                inner = self.left[a:b] >= 0
                arrays = (self.left[a:b] - a) * inner, (self.right[a:b] - a) * inner
                arrays += self.end[a:b], self.to_left[a:b]
                key = b"".join(array.tobytes() for array in arrays)
                key = t % (self.shape[1] // 2) if self.same else key
                if a < self.uses[1].first_node:
                    places.setdefault(key, []).append(t)
                elif places.get(key):
                    twins.append((places[key].pop(0), t))
        self.twins = np.array(twins, dtype=np.int64).reshape(-1, 2).T
        none = np.array([], dtype=np.int64)
        one, two = (
            np.concatenate([none, *(np.flatnonzero(self.tree == t) for t in side)])
            for side in self.twins
        )
        self.twin_nodes, size = (one, two), np.bincount(self.tree)[self.twins[0]]
        self.twin_starts = np.cumsum(size) - size
        self.moved = np.flatnonzero((self.on[one] != self.on[two]) & (self.left[one] >= 0))
        half = self.shape[1] // 2
        in_order = len(twins) == half and all(pair == (t, t + half) for t, pair in enumerate(twins))
        self.equal = None
        if in_order and len(self.uses) == 2 and self.uses[0].how == self.uses[1].how:
            self.equal = (self.value[:, one] == self.value[:, two]).all(axis=0)

    # Boxes: which leaves are within reach, and what the steps make of these.

    def look(self, low, high, gap):
        """Find the leaves that some point of each box reaches, and follow all steps.

        `ranges` has the smallest and the largest number of each step, or which classes it can say.
        `aligned` says which twins end in the same leaf, wherever in the box; `alike`, whether all
        do, in leaves that say the same, of uses that make the same of it.
        """
        self.pause()
        n = low.shape[1]
        hull = np.fmin.reduce(low, axis=1), np.fmax.reduce(high, axis=1), gap.any(axis=1)
        near = self._reach(self.levels, *(part[:, None] for part in hull))[:, 0]
        found = self._reach([level[near[level]] for level in self.levels], low, high, gap)
        self.leaves = np.flatnonzero(near & (self.left < 0))
        self.starts, self.reached = np.searchsorted(self.leaves, self.first), found[self.leaves]
        self.tree_ends = [self.ends(value) for value in self.value]
        one, two = self.twin_nodes
        apart, split = found[one] != found[two], one[self.moved]
        apart[self.moved] |= found[self.left[split]] & found[self.right[split]]
        self.aligned = np.ones((0, n), dtype=bool)
        if len(one):
            self.aligned = ~np.logical_or.reduceat(apart, self.twin_starts)
        self.alike = np.zeros(n, dtype=bool)
        if self.equal is not None:
            # the same numbers go through the same steps, and so are rounded alike
            self.alike = self.aligned.all(axis=0) & ~found[one[~self.equal]].any(axis=0)
        self.ranges = []
        for i, step in enumerate(self.steps):
            self.ranges.append(self._follow(i, *step))

    def _reach(self, levels, low, high, gap):
        found = np.zeros((len(self.left), low.shape[1]), dtype=bool)
        found[self.first] = True
        for level in levels:
            at, end, to_left = self.on[level], self.end[level, None], self.to_left[level, None]
            found[self.left[level]] = found[level] & ((low[at] <= end) | (gap[at] & to_left))
            found[self.right[level]] = found[level] & ((high[at] > end) | (gap[at] & ~to_left))
        return found

    def ends(self, value, boxes=slice(None)):
        """The smallest and the largest value among the leaves that each tree reaches."""
        reached, value = self.reached[:, boxes], value[self.leaves, None]
        low = np.minimum.reduceat(np.where(reached, value, np.inf), self.starts)
        return low, np.maximum.reduceat(np.where(reached, value, -np.inf), self.starts)

    def _follow(self, i, name, *parts):
        n = self.reached.shape[1]
        if name == "constant":
            return np.full((2, n), parts[0])
        if name == "trees":
            start, stop, column, init, kind = parts
            total = np.full((2, n), init, dtype=kind)
            for pair in zip(*(ends[start:stop] for ends in self.tree_ends[column]), strict=True):
                total = total + np.array(pair).astype(kind)
            return total.astype(np.float64)
        if name in SIGNS:
            pairs = product(self.ranges[parts[0]], self.ranges[parts[1]])
            every = [SIGNS[name](a, b).astype(parts[2]).astype(np.float64) for a, b in pairs]
            return np.stack([np.minimum.reduce(every), np.maximum.reduce(every)])
        if name == "chosen":
            label, k, yes, no = parts
            may = self.ranges[label][k] if k >= 0 else np.zeros(n, dtype=bool)
            must = may & (self.ranges[label].sum(axis=0) == 1)
            return np.sort([np.where(may, yes, no), np.where(must, yes, no)], axis=0)
        if name == "above":
            ends = self.ranges[parts[0]]
            low, high = np.searchsorted(parts[1], ends, side="right" if parts[3] else "left")
            is_open = np.isnan(ends).any(axis=0) | (low != high)
            return np.stack([is_open | ((parts[2] + low) % 2 == k) for k in (0, 1)])
        if name == "largest":
            return self._largest(i, *parts)
        eps = 32.0 * np.finfo(parts[2]).eps
        if name == "sigmoid":
            upper = 1.0 / (1.0 + np.exp(-self.ranges[parts[0]]))
            found = np.sort(upper if parts[1] else 1.0 - upper, axis=0)
            return found + eps * np.array([[-1.0], [1.0]])
        given = np.stack([self.ranges[j] for j in parts[0]])
        others = np.delete(given, parts[1], axis=0)[:, ::-1] - given[parts[1]]
        found = 1.0 / (1.0 + np.exp(others).sum(axis=0))
        return found + eps * len(given) * np.array([[-1.0], [1.0]])

    def _largest(self, i, places, wins, margin):
        """Which classes no other one beats: by the range of each number, then by leads."""
        low, high = (np.stack(end) for end in zip(*(self.ranges[j] for j in places), strict=True))
        possible = np.ones(low.shape, dtype=bool)
        for j, k in permutations(range(len(places)), 2):
            ahead = low[j] > high[k] if margin == 0 else low[j] - high[k] > margin
            if (j < k) == (wins == "first"):
                ahead |= (low[j] == high[j]) & (low[j] == low[k]) & (low[k] == high[k])
                ahead |= (low[j] >= high[k]) & (margin == 0)
            possible[k] &= ~ahead
        best = np.where(possible.sum(axis=0) > 1, (low + high).argmax(axis=0), -1)
        for j in {*best[best >= 0].tolist()}:
            boxes = np.flatnonzero(best == j)
            for k in np.flatnonzero(possible[:, boxes].any(axis=1)).tolist():
                if k != j and (lead := self.lead(i, j, k)) is not None:
                    least = self.least(*lead, boxes)
                    ties = lead[2] == 0 and (j < k) == (wins == "first")
                    possible[k, boxes] &= ~((least >= 0) if ties else (least > 0))
        return possible

    # Bounds of sums, as real numbers: *terms* are what each leaf adds, a constant, what to spare.

    def terms(self, total):
        parts = total[:, :-1].reshape(2, *self.shape)[:, :, self.tree]
        most = np.maximum.reduceat((parts[1] * np.abs(self.value)).sum(axis=0), self.first)
        spare = (np.maximum(most, 1e-20 * (most > 0)) * self.tree_spares).sum() + total[1, -1]
        # float32 numbers overflow beyond
        spare = spare if most.sum() + abs(total[0, -1]) < 1e37 else np.inf
        return (parts[0] * self.value).sum(axis=0), total[0, -1], spare

    def least(self, leaf, constant, spare, boxes=slice(None)):
        """A bound from below, in each box; twins that are aligned end in one leaf."""
        low, (one, two) = self.ends(leaf, boxes)[0], self.twin_nodes
        total = low.sum(axis=0) + constant
        if leaf[one].any() and leaf[two].any():
            both = np.zeros_like(leaf)
            both[one] = leaf[one] + leaf[two]
            t, s = self.twins
            more = self.ends(both, boxes)[0][t] - low[t] - low[s]
            total += np.where(self.aligned[:, boxes], more, 0.0).sum(axis=0)
        return total - spare

    def lead(self, step, a, b):
        """The terms of the lead of one class over another; None where it is no sum."""
        if (step, a, b) not in self.leads:
            lead = self._lead_above if self.steps[step][0] == "above" else self._lead_largest
            self.leads[step, a, b] = lead(*self.steps[step][1:], a, b)
        return self.leads[step, a, b]

    def _lead_above(self, number, ends, class_below, _, a, b):
        if self.sums[number] is None or len(ends) != 1:
            return None
        at = np.zeros_like(self.sums[number])
        at[:, -1] = -ends[0], abs(ends[0]) * max(self.tree_spares)
        return self.terms((self.sums[number] + at) * [[1.0 if b == class_below else -1.0], [1.0]])

    def _lead_largest(self, places, wins, margin, a, b):
        i, j = places[a], places[b]
        one, two = self.steps[i], self.steps[j]
        if margin == 0 and one[0] == two[0] == "/" and one[2:] == two[2:] and one[3] == "float64":
            # sums that differ still do once they are divided
            if 1e-8 <= self.steps[one[2]][1] <= 1e8:
                i, j = one[1], two[1]
        if self.sums[i] is None or self.sums[j] is None:
            return None
        total = self.sums[i] * [[1], [1]] + self.sums[j] * [[-1], [1]]
        leaf, constant, spare = self.terms(total)
        one, two = self.steps[i], self.steps[j]
        if margin == 0 and one[0] == two[0] == "trees" and spare < 2.0**20 * min(self.tree_spares):
            # sums of few binary digits do not round
            digits = np.ldexp(np.append(self.value, [one[4], two[4]]), 20)
            exact = {one[5], two[5]} == {"float64"} and (digits == np.rint(digits)).all()
            spare = 0.0 if exact else spare
        return leaf, constant, spare + margin

    def difference(self, i, j):
        """Bounds of what one step gives less what another one does."""
        low, high = self.ranges[i] - self.ranges[j][::-1]
        one, two = self.sums[i], self.sums[j]
        if one is not None and two is not None:
            sides = [np.stack([sign * (one[0] - two[0]), one[1] + two[1]]) for sign in (1.0, -1.0)]
            least, most = (self.least(*self.terms(side)) for side in sides)
            low, high = np.fmax(low, least), np.fmin(high, -most)
        if self.same and i < j and one is not None:
            high = np.where(self.never_falls(one), np.fmin(high, 0.0), high)
            low = np.where(self.never_falls(one, -1.0), np.fmax(low, 0.0), low)
        return low, high

    def never_falls(self, total, sign=1.0):
        """Where no tree lets a sum fall from the first use to the second, of one model.

        Then the sum does not fall either, however it is rounded.
        """
        if not self.same or total is None or (total[1, :-1] != np.abs(total[0, :-1])).any():
            return self.alike
        half, good = self.shape[1] // 2, np.ones(self.reached.shape[1], dtype=bool)
        factors = sign * total[0, :-1].reshape(self.shape)[:, :half]
        for factor, (low, high) in zip(factors, self.tree_ends, strict=True):
            rises, falls = low[half:] >= high[:half], high[half:] <= low[:half]
            good &= (self.aligned | rises | (factor <= 0)[:, None]).all(axis=0)
            good &= (self.aligned | falls | (factor >= 0)[:, None]).all(axis=0)
        return good | self.alike

    def is_kept(self, k):
        """Where a class that the first use says is what the second one says, too."""
        name, *parts = self.steps[self.uses[0].result]
        if name == "above" and len(parts[1]) == 1:
            return self.never_falls(self.sums[parts[0]], -1.0 if k == parts[2] else 1.0)
        if name == "above" or parts[2] > 0:
            return self.alike
        places = enumerate(parts[0])
        kept = [self.never_falls(self.sums[j], 1.0 if i == k else -1.0) for i, j in places]
        return np.logical_and.reduce(kept)


# ---------------------------------------------------------------- the sentence


def words(document):
    """The claim of a document in a sentence, which is made of its data alone."""
    claim, uses = document["claim"], document["uses"]
    columns = columns_of(document["models"], uses)
    # coordinates that only the second of two inputs has, and the first one's in their place
    source = dict(zip(uses[-1]["columns"], uses[0]["columns"], strict=False))
    second = {d: j for d, j in source.items() if d != j and d not in uses[0]["columns"]}
    names = []
    for j in range(len(columns)):
        name = columns[second.get(j, j)]["name"]
        names.append((f"x{j}" if name is None else str(name)) + " of the second" * (j in second))
    is_not = claim["kind"] == "not"
    what = _what(claim["claim"] if is_not else claim, uses, document["models"], bool(second))
    said = f"{_where(document, columns, second, names)}: {what}."
    return f"It is not so for {said} There is a counterexample." if is_not else f"For {said}"


def _what(claim, uses, models, is_pair):
    """What is said of the answers."""
    used = [models[use["model"]] for use in uses]
    labels = [json.dumps(label) for label in used[0]["classes"] or ()]
    who = []
    for use, model in zip(uses, used, strict=True):
        n = len(model["nodes"]["first"])
        trees = f"{n:,} tree{'s' * (n != 1)}"
        who.append(f"model {chr(65 + use['model'])} ({model['name']} of {trees})")
    both = f"{who[0]}, asked twice, answers" if is_pair else f"{who[0]} answers"
    both = f"{who[0]} and {who[1]} answer" if len(set(who)) == 2 else both
    kind, of = claim["kind"], claim.get("of")
    number = "class" if of == "class" else "value"
    if isinstance(of, dict):
        number = f"probability of {labels[of['output']]}"
    if kind == "same_class":
        return f"{both} the same class"
    if kind == "class_is":
        return f"{who[0]} answers the class {labels[claim['class']]}"
    if kind == "class_is_not":
        return f"{who[0]} answers another class than {labels[claim['class']]}"
    if kind in ("in_range", "out_of_range"):
        verb = "is no number that is" if kind == "out_of_range" else "is"
        return f"the {number} that {who[0]} answers {verb} {_ends(claim['low'], claim['high'])}"
    if kind == "within":
        numbers_of = "probabilities of each class" if labels else "values"
        relative = f" + {claim['rtol']!r} * abs(b)" if claim["rtol"] else ""
        return f"{both} {numbers_of} a and b with abs(a - b) <= {claim['atol']!r}{relative}"
    said = f"the {number} that {who[0]} answers is at least as high for the second"
    if of == "class":
        ranks = sorted(zip(claim["order"], labels, strict=False))
        said += f" (ranks: {', '.join(f'{label} {rank}' for rank, label in ranks)})"
    return said


def _where(document, columns, second, names):
    """Of which points it is said."""
    region, proof, limits = document["region"], document["proof"], []
    where = f"every input of finite {region['type']} numbers"
    if second:
        where = f"every two inputs of finite {region['type']} numbers that are alike but for "
        where += ", ".join(names[second[d]] for d in sorted(second))
    for j, (name, column) in enumerate(zip(names, columns, strict=True)):
        low, high, levels = region["low"][j], region["high"][j], column["levels"]
        if None not in (low, high) and low > high:
            limits.append(f"{name} is missing")
            continue
        is_coded = levels is not None and None not in (low, high) and 0 <= low <= high < 10**6
        if is_coded:
            known = [*map(json.dumps, levels), "another level"]
            codes = range(int(np.ceil(low)), int(high) + 1)
            limits.append(f"{name} is {' or '.join(known[min(k, len(levels))] for k in codes)}")
        elif (low, high) != (None, None):
            limits.append(f"{name} is {_ends(low, high)}")
        if region["integer"][j] and not is_coded:
            limits.append(f"{name} is whole")
        if region["missing"][j]:
            limits.append(f"{name} may be missing")
    limits += [" or ".join(f"{names[j]} is {v}" for j, v in pairs) for pairs in region["clauses"]]
    limits += [f"{names[i]} <= {names[j]}" for i, j in region["order"]]
    where += f", where {', '.join(limits)}" if limits else ""
    if proof["kind"] == "points":
        units = [" with ".join(names[j] for j in unit) for unit in proof["vary"]]
        rows = proof["rows"]
        which = f"one of the {len(rows)} rows in the file"
        if len(rows) == 1:
            entries_of = zip(names, columns, rows[0], strict=True)
            told = [f"{name} = {_entry(column, v)}" for name, column, v in entries_of]
            which = f"the row ({', '.join(told)})"
        where += f", that differs from {which} in at most "
        where += f"{proof['max_changes']} of {', '.join(units)}"
    return where


def _entry(column, v):
    """An entry of a row, with the level that its code stands for."""
    levels = column["levels"] or ()
    known = v is not None and 0 <= v < len(levels) and v == int(v)
    return "missing" if v is None else json.dumps(levels[int(v)]) if known else repr(v)


def _ends(low, high):
    ends = [("at least", low), ("at most", high)]
    return " and ".join(f"{word} {v!r}" for word, v in ends if v is not None) or "any number"


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
