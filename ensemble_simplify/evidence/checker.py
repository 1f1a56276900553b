"""Checks a file of evidence again; this file runs alone, with NumPy and the standard library.

``python checker.py evidence.json`` exits with 0 if the evidence proves its claim, with 1 if it does
not, and with 2 if the file cannot be read or would take too long. Nothing that a file says of its
proof is believed: it only says where to cut. The sentence that is printed is made here.

The file is meant to be read from top to bottom. (1) `check` is all that happens. (2) What a file
holds. (3) `Space`: points, and boxes of them. (4) `Evidence`: boxes that cover all points of the
claim. (5) `Claim`: in which boxes it holds for certain. (6) `Models`: what the models can answer in
a box. (7) `words` makes the sentence. Each rule says why it is sound:

A. *Boxes cover the points.* A cut of a box loses no number of its type, and no missing value.
B. *Rounding is monotone.* What a model computes lies between what its own steps, in their order and
   types, make of the smallest and of the largest leaf that each tree can reach in a box.
C. *Sums of real numbers.* A sum over trees is at least the sum of the least that each adds. Leads
   of classes are such sums, and so are differences of two uses. Trees that cannot end in any leaves
   whatever at once are joined, and count as one: trees of one column, or of the same splits, and a
   tree with itself at a second input. ``4 * eps * (trees + steps + 8)`` times the largest sum of
   absolute terms is to spare for all roundings. Where all that is joined is of one column each, two
   such sums are both 0 or more for some choice of leaves, or for none: all choices are listed, by
   halves.
D. *The same in, the same out.* Where each tree says the same, and the same is made of it, so is the
   answer, roundings and all.
E. *Tree by tree.* Where no tree lets a sum fall from one input to the other, in no two leaves that
   these can reach, the sum does not fall either, however it is rounded: each step of adding up is
   monotone.
F. *Links.* A sigmoid, softmax, exponential or any other link that never falls keeps the order of
   its sums, and moves no more than its steepest part within reach.
G. *Trees on a grid.* A tree that is right for all inputs is right for the points of a grid. There a
   split parts a box in two along one axis, so that the smallest tree is found by trying all cuts of
   all boxes, small ones first.

Arrays have a column for each box, and are named in the plural or by what they say of a box.
"""

from __future__ import annotations

import gzip
import hashlib
import json
import sys
from itertools import combinations, islice, permutations, product
from math import comb, prod
from typing import Any, NamedTuple

import numpy as np

FORMAT, VERSION = "ensemble_simplify.evidence", 2
# Boxes looked at together, entries of arrays that are made for them, boxes in all, levels of trees,
# bytes of a file that is unpacked: at most so many.
BLOCK, MOST_ENTRIES, MOST_BOXES, MOST_LEVELS = 256, 40_000_000, 4_000_000, 5_000
MOST_BYTES = 200_000_000
# Points of a grid, its boxes, and these times how often all are looked at: at most so many.
MOST_POINTS, MOST_REGIONS, MOST_JOINED = 4_000_000, 250_000_000, 4_000_000_000
# Leaves, or levels, that are no longer counted.
MANY = 2**15 - 1
# Leaves of trees of one column that are looked at together, pairs of leaves of trees of one model
# that is used twice, and sums of all columns that are listed for each half of these: at most.
MOST_TOGETHER, MOST_PAIRS, MOST_SUMS = 50_000, 4_000_000, 300_000
# Coordinates that are moved together: all parts of them are tried.
MOST_MOVED = 16


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


# What reading a strange file can raise.
STRANGE = ArithmeticError, AttributeError, LookupError, MemoryError, RecursionError, TypeError
STRANGE += (ValueError,)


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
    except STRANGE as error:
        raise Refused(f"the file cannot be followed: {error!r}"[:300]) from error


# ------------------------------------------------------ 2. what a file holds

# Forms of entries: text (s), whole numbers (i), numbers (n), labels (c), dicts (d), lists (l), null
# (z), or null as well (S, I, N). A star makes it a list of these; | stands between two forms.
NULL = type(None)
TYPES: dict[str, set] = {"s": {str}, "i": {int}, "n": {int, float}, "c": {str, int, float, bool}}
TYPES |= {"d": {dict}, "l": {list}, "z": {NULL}, "S": {str, NULL}, "N": {int, float, NULL}}


def entries(text, **others) -> dict[str, Any]:
    """Entries with their forms, from words in turn."""
    names = text.split()
    return dict(zip(names[::2], names[1::2], strict=True)) | others


# All nodes of a model's trees, in pre-order: a node, all on its left, all on its right. `column` is
# -1 in leaves. A number goes left if it is at most `end`; null stands for infinity. `value` is what
# leaves say, once for each column of numbers.
NODES = entries("column i* end N* missing_left i* value n**")
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
# Claims: `of` is "class", "value" or {"output": number of a class}; of a distance, "each" value or
# class. "not" is the claim that another one does not hold.
CLAIMS = {
    "same_class": entries("kind s uses i*"),
    "within": entries("kind s uses i* of d|s atol n rtol n"),
    "rises": entries("kind s uses i* of d|s order i*|z"),
    "class_is": entries("kind s use i class i"),
    "in_range": entries("kind s use i of d|s low N high N"),
}
# the same of any other class, and of numbers outside the range
OPPOSITE = {"class_is_not": "class_is", "out_of_range": "in_range"}
CLAIMS |= {kind: CLAIMS[other] for kind, other in OPPOSITE.items()}
# no tree that answers the same classes is of less depth; none has fewer leaves, of those that are
# `within` some depth, or of all
CLAIMS["smallest"] = entries("kind s use i depth i|z leaves i|z within i|z")
# of another claim: "not", or "reasons", see the proof "moves"
ABOUT = entries("kind s claim d")
# Proofs: a tree that cuts the space, in pre-order; rows, of which the coordinates of some units may
# change, and those that are `free` always; or a point. `nearer` says how far rows may move at most.
# A grid has some numbers of each coordinate. Of each of some `sets` of coordinates of a row, all
# moved to a reference make the claim hold, and no part of them does.
PROOFS = {
    "boxes": entries("kind s column i* end N*"),
    "points": entries("kind s rows N** max_changes i vary i** free i* nearer d|z"),
    "witness": entries("kind s point N*"),
    "grid": entries("kind s at n**"),
    "moves": entries("kind s row N* reference N* sets i**"),
}
# The proofs that some claims need, and nothing else does.
PROOF_OF = {"not": "witness", "smallest": "grid", "reasons": "moves"}
NEARER = entries("metric s distance n scales N*")
METRICS = {"l1": np.sum, "l2": lambda d, axis: np.sqrt((d * d).sum(axis)), "linf": np.max}
# Steps of a model: what each takes, and at the end what it gives. It takes the number of an
# earlier step (n; N: a list; l: one that says a class), of a tree (t), a column (c) or a class (k),
# a number (v; V: a list), and words (d: type; w: who wins ties; b: yes or no; s: any). It gives a
# number (=), a number that is no sum (%), or a class (?).
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
    "exp": "nbds%",  # of a number, as some library rounds it; with 1: less one
    "link": "ns%",  # what else a function that never falls, of some name, makes of a number
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
        found = dict(pairs)
        need(len(found) == len(pairs), "a key is there twice")
        return found

    def none(word):
        raise Refused(f"{word} is no number")

    return json.loads(text, object_pairs_hook=distinct, parse_constant=none)


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
        types = set(map(type, items))
        if not depth and types <= TYPES[letter]:
            # whole numbers beyond are no longer told apart
            sizes = [abs(item) for item in items if item is not None] if letter in "inN" else ()
            most = 2**53 if types <= {int, NULL} else np.inf
            return max(sizes, default=0) < most
    return False


def digest(value, *without):
    """The SHA-256 of the canonical text of a dict, without some entries."""
    value = {key: value[key] for key in value if key not in without}
    text = json.dumps(value, sort_keys=True, separators=(",", ":"), allow_nan=False)
    return hashlib.sha256(text.encode()).hexdigest()


def numbers(values, null):
    return np.array([null if value is None else value for value in values], dtype=np.float64)


def pre_order(column):
    """The children of nodes in pre-order, -1 in leaves, and the first nodes of the trees."""
    left, right, first, waiting = [-1] * len(column), [-1] * len(column), [0], []
    for i, j in enumerate(column):
        if j >= 0:
            left[i] = i + 1
            waiting.append(i)
        elif waiting:
            right[waiting.pop()] = i + 1
        else:
            first.append(i + 1)
    need(column and first.pop() == len(column), "nodes: no trees in pre-order")
    return left, right, first


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
        """Boxes below and above an end of one coordinate of each; missing values go above (A)."""
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

    def __init__(self, document, pause=None, most_boxes=MOST_BOXES):
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
        n, region = len(columns_of(models, uses)), document["region"]
        types = {model["type"] for model in models}
        need(types <= {"float32", "float64"}, "models: type")
        need(region["type"] == "float32" or types == {"float64"}, "region: type")
        needed, self.proof = PROOF_OF.get(claim.get("kind")), document["proof"]
        claim = claim["claim"] if has_form(claim, ABOUT) and needed else claim
        for name, given, forms in (("claim", claim, CLAIMS), ("proof", self.proof, PROOFS)):
            kind = given.get("kind")
            known = type(kind) is str and kind in forms
            known = known and has_form(given, forms[kind])
            need(known, f"{name} is of no kind that is known")
        proof = self.proof["kind"]
        good = proof == needed if needed else proof not in PROOF_OF.values()
        need(
            good and (needed == "grid") == (claim["kind"] == "smallest"), "proof: of another claim"
        )
        need(needed != "moves" or "use" in claim, "claim: reasons of more than one model")
        asked = claim.get("uses", [claim.get("use")])
        need(asked == list(range(len(uses))) and len(asked) < 3, "claim: uses")
        self.space, self.models = Space(region, n), Models(models, uses, n, pause)
        self.models.join(self.space)
        self.claim, self.most_boxes = Claim(claim, self.models), most_boxes
        self.reach, self.is_limited = None, False
        # where boxes were cut beyond what the file says: nodes, coordinates, ends, left halves
        self.made: list = []

    def follow(self):
        """Raise unless the proof holds."""
        kind = self.proof["kind"]
        if kind == "points":
            self._points()
        elif kind == "grid":
            self._smallest()
        elif kind == "boxes":
            tree = Trees(self.proof["column"], self.proof["end"], self.space.n)
            need(len(tree.first) == 1, "proof: more trees than one")
            self._prove(tree, self.space.whole())
        elif kind == "moves":
            self._moves()
        else:
            refuted = self._at([self.proof["point"]])[1].all()
            need(refuted, "the claim is not refuted at the point", Unproven)

    def _at(self, points):
        """Where the claim holds among points in JSON, and where it surely does not."""
        need(all(map(self.space.holds, points)), "the point is not in the region", Unproven)
        at = np.array([numbers(point, np.nan) for point in points]).T
        self.models.look(*self.space.within(at.copy(), at.copy(), np.isnan(at))[:-1])
        return self.claim.judge()

    def _moves(self):
        """Sets of moves: with all of a set the claim holds, and with any part of it it does not."""
        row, other, sets = (self.proof[key] for key in ("row", "reference", "sets"))
        good = sets and {len(row), len(other)} == {self.space.n}
        good = good and all(own == sorted({*own}) != [] for own in sets)
        good = good and {j for own in sets for j in own} <= {*range(self.space.n)}
        need(good, "proof: row, reference, sets")
        sizes = [*map(len, sets)]
        few = max(sizes) <= MOST_MOVED and sum(2**k for k in sizes) <= self.most_boxes
        need(few, "this takes too many points")
        for own in sets:
            parts = [part for k in range(len(own)) for part in combinations(own, k)] + [own]
            for i in range(0, len(parts), BLOCK):
                some = parts[i : i + BLOCK]
                holds, fails = self._at(
                    [[other[j] if j in part else x for j, x in enumerate(row)] for part in some]
                )
                good = np.where([part is own for part in some], holds, fails).all()
                need(good, f"the moves {own} are no reason, or more than one", Unproven)

    def _points(self):
        """Rows, of which some coordinates may change: a box for each way to choose these."""
        rows, vary, n = self.proof["rows"], self.proof["vary"], self.space.n
        free, nearer = self.proof["free"], self.proof["nearer"]
        k, places = min(self.proof["max_changes"], len(vary)), [j for unit in vary for j in unit]
        good = k >= 0 and rows and {*map(len, rows)} == {n} and {*places, *free} <= {*range(n)}
        good = good and len({*places, *free}) == len(places) + len(free)
        need(good, "proof: rows, max_changes, vary or free")
        points = np.array([numbers(row, np.nan) for row in rows]).T
        exact = np.isnan(points) | (self.space.floor(points) == points)
        need(exact.all(), "proof: rows hold numbers that are not of the type")
        there = any(map(self.space.holds, rows))
        need(there, "none of the rows is in the region", Unproven)
        need(len(rows) * comb(len(vary), k) <= self.most_boxes, "this takes too many boxes")
        sizes = [(k, False)]
        if nearer is not None:
            good = has_form(nearer, NEARER) and nearer["metric"] in METRICS and len(rows) == 1
            scales = numbers(nearer["scales"] if good else [], np.nan)
            good = good and len(scales) == n and not (scales <= 0).any() and not free
            # of more changes than there can be, fewer would be all, however far
            good = good and 0 < k == self.proof["max_changes"]
            need(good, "proof: nearer")
            self.reach, sizes = (points, scales, vary), [(k - 1, False), (k, True)]
        for size, self.is_limited in sizes:
            sets = combinations(vary, size)
            while some := list(islice(sets, max(1, BLOCK // len(rows)))):
                held = []
                for units in some:
                    held.append([points.copy(), points.copy(), np.isnan(points)])
                    moved = [j for unit in (*units, free) for j in unit]
                    for part, whole in zip(held[-1], (-np.inf, np.inf, True), strict=True):
                        part[moved] = whole
                boxes = [np.concatenate(part, axis=1) for part in zip(*held, strict=True)]
                for i in range(0, boxes[0].shape[1], BLOCK):
                    block = [part[:, i : i + BLOCK] for part in boxes]
                    self._prove(Trees([-1], [None], n), block)

    def _is_near(self, low, high, gap):
        """Which boxes have a point near the row: a gap, and what has no scale, counts 1."""
        nearer, (x, scale, units) = self.proof["nearer"], self.reach
        scale = scale[:, None]
        number = np.fmax(np.maximum(low - x, x - high), 0.0) / scale
        step = np.where((low <= x) & (x <= high), 0.0, 1.0)
        number = np.where(np.isnan(scale) | np.isnan(x), step, number)
        number = np.where(np.isnan(low), np.inf, number)
        least = np.fmin(number, np.where(gap, np.where(np.isnan(x), 0.0, 1.0), np.inf))
        parts = np.array([least[unit].max(axis=0) for unit in units])
        far = METRICS[nearer["metric"]](parts, axis=0)
        return far < nearer["distance"] * (1.0 + 1e-12)

    def _prove(self, tree, boxes):
        """Cut boxes as a tree says, and then at the models' own ends, until all is proven."""
        nodes, n_given = np.zeros(boxes[0].shape[1], dtype=int), len(tree.left)
        stack, ready, n_ready, n_all = [(nodes, boxes)], [], 0, n_given
        while stack or ready:
            if stack:
                nodes, boxes = stack.pop()
                *boxes, counts = self.space.within(*boxes)
                if self.is_limited:
                    counts &= self._is_near(*boxes)
                nodes, boxes = nodes[counts], [part[:, counts] for part in boxes]
                is_leaf = (nodes >= n_given) | (tree.left[np.minimum(nodes, n_given - 1)] < 0)
                if is_leaf.any():
                    ready.append((nodes[is_leaf], *(part[:, is_leaf] for part in boxes)))
                    n_ready += is_leaf.sum()
                inner, boxes = nodes[~is_leaf], [part[:, ~is_leaf] for part in boxes]
                halves = tree.left[inner], tree.right[inner]
                self._push(stack, *halves, boxes, tree.on[inner], tree.end[inner])
            if ready and (n_ready >= BLOCK or not stack):
                nodes, *boxes = (np.concatenate(own, axis=-1) for own in zip(*ready, strict=True))
                ready, n_ready = [], 0
                size = max(8, min(BLOCK, MOST_ENTRIES // len(self.models.left)))
                for i in range(0, len(nodes), size):
                    own = nodes[i : i + size], [part[:, i : i + size] for part in boxes]
                    n_all = self._settle(stack, *own, n_all)

    def _settle(self, stack, nodes, boxes, n_all):
        """Look at boxes, and cut those in which the claim is not proven."""
        self.most_boxes -= len(nodes)
        need(self.most_boxes >= 0, "cannot tell: this takes too many boxes")
        self.models.look(*boxes)
        is_open = ~self.claim.judge()[0]
        if not is_open.any():
            return n_all
        nodes, boxes = nodes[is_open], [part[:, is_open] for part in boxes]
        j, end = self._cuts(np.flatnonzero(is_open), *boxes)
        left = n_all + 2 * np.arange(len(nodes))
        self.made.append((nodes, j, end, left))
        self._push(stack, left, left + 1, boxes, j, end)
        return n_all + 2 * len(nodes)

    def choose(self, nodes, is_open, boxes):
        """The tree at whose undecided split a box is cut: any will do, this is the widest one."""
        width = sum(high[:, boxes] - low[:, boxes] for low, high in self.models.tree_ends)
        return np.where(is_open, width, -1.0).argmax(axis=0)

    def _cuts(self, places, low, high, gap):
        """Coordinates and ends at which to cut boxes, where trees can go both ways."""
        models, at = self.models, np.arange(len(places))
        nodes, is_open = models.undecided(places)
        node = nodes[self.choose(nodes, is_open, places), at]
        j, end, is_one = models.on[node], models.end[node], ~is_open.any(axis=0)
        # where numbers are not parted, missing values are
        end = np.where((low[j, at] <= end) & (end < high[j, at]), end, np.inf)
        for i in np.flatnonzero(is_one):
            # what is one to the models can be partly outside of the region
            for k, v in (pair for clause in self.space.clauses for pair in clause):
                below = np.nextafter(self.space.type(v), self.space.type(-np.inf))
                for cut in (float(v), float(below)):
                    if low[k, i] <= cut < high[k, i]:
                        j[i], end[i], is_one[i] = k, cut, False
        if is_one.any():
            point = low[:, is_one.argmax()].tolist()
            point = ["missing" if np.isnan(x) else x for x in point]
            raise Unproven(f"not proven in a box that begins at {point}"[:300])
        return j, end

    def _push(self, stack, left, right, boxes, j, end):
        """Put both halves of boxes on the stack, side by side, in small parts."""
        if not len(left):
            return
        sides = self.space.split(*boxes, j, end)
        boxes = [np.stack(pair, axis=2) for pair in zip(*sides, strict=True)]
        boxes = [part.reshape(self.space.n, -1) for part in boxes]
        nodes = np.column_stack([left, right]).ravel()
        for some in np.array_split(np.arange(len(nodes)), 1 + len(nodes) // 64)[::-1]:
            stack.append((nodes[some], [part[:, some] for part in boxes]))

    # How small a tree can be (G).

    def _smallest(self):
        claim, found = self.claim.claim, self.sizes(self.labels(self.proof["at"]))
        need({claim["depth"], claim["leaves"]} != {None}, "claim: depth, leaves")
        for key, least in zip(("depth", "leaves"), found, strict=True):
            good = claim[key] is None or claim[key] <= least
            need(good, f"the grid allows a tree of {least} {key}", Unproven)

    def labels(self, at):
        """The class at each point of a grid, from 1 on; 0 where it is none, or not certain."""
        exact = len(at) == self.space.n and all(map(len, at))
        exact = exact and all((self.space.floor(own) == own).all() for own in map(np.array, at))
        need(exact and all(own == sorted({*own}) for own in at), "proof: at")
        used = [j for j, own in enumerate(at) if len(own) > 1]
        shape = tuple(len(at[j]) for j in used)
        need(prod(shape) <= MOST_POINTS, "this takes too many points")
        labels = np.zeros(prod(shape), dtype=np.int16)
        for begin in range(0, len(labels), 8 * BLOCK):
            here = np.arange(begin, min(begin + 8 * BLOCK, len(labels)))
            point = np.repeat([[own[0]] for own in at], len(here), axis=1).astype(np.float64)
            for j, place in zip(used, np.unravel_index(here, shape) if used else (), strict=True):
                point[j] = np.array(at[j])[place]
            *boxes, counts = self.space.within(point, point.copy(), np.zeros(point.shape, bool))
            if counts.any():
                self.models.look(*(part[:, counts] for part in boxes))
                possible = self.models.ranges[self.models.uses[0].result]
                only = possible.sum(axis=0) == 1
                labels[here[counts]] = np.where(only, possible.argmax(axis=0) + 1, 0)
        return labels.reshape(shape)

    def sizes(self, labels):
        """The least depth, and the fewest leaves within a depth, of trees for a grid of classes."""
        claim, shape = self.claim.claim, labels.shape
        within, n_regions = claim["within"], prod(n * (n + 1) // 2 for n in shape)
        good = n_regions <= MOST_REGIONS and n_regions * (within or 1) <= MOST_JOINED
        need(good, "this takes too many boxes of a grid")
        alike, depth, leaves = {}, None, None
        for size, cuts in self._cuts_of_all(shape):
            alike[size] = labels
            for one, here, two, there in cuts[:1]:
                # a box is of one class, or of none yet, or mixed: -1
                a, b = alike[one][here], alike[two][there]
                alike[size] = np.where(a == 0, b, np.where((b == 0) | (a == b), a, -1))
        one, many = np.uint16(1), np.uint16(MANY)
        leaf = {size: np.where(alike.pop(size) < 0, many, one) for size in [*alike]}
        if claim["depth"] is not None:
            deeper = self._fewest(leaf, lambda a, b: np.maximum(a, b) + 1)
            depth = int(deeper[shape].item()) - 1
        if claim["leaves"] is not None:
            # of all trees; or of those of one leaf, and then of one level more in each turn
            found = self._fewest(leaf, np.add) if within is None else leaf
            for _ in range(within or 0):
                found = self._fewest(leaf, np.add, found)
            leaves = int(found[shape].item())
        return depth, leaves

    def _cuts_of_all(self, shape):
        """All sizes of boxes, small ones first, with the sizes of the two parts of every cut, and
        which boxes of these are the parts, in the order of where boxes begin.
        """
        for size in product(*(range(1, n + 1) for n in shape)):
            self.models.pause()
            cuts = []
            for a, (n, length) in enumerate(zip(shape, size, strict=True)):
                axis = (slice(None),) * a
                for k in range(1, length):
                    one, two = ((*size[:a], own, *size[a + 1 :]) for own in (k, length - k))
                    first = slice(n - length + 1)
                    cuts.append((one, (*axis, first), two, (*axis, slice(k, None))))
            yield size, cuts

    def _fewest(self, leaf, join, below=None):
        """The best tree for each box: a leaf, or what is joined of its parts; these are as good as
        in `below`, or at their best.
        """
        found, shape = {}, max(leaf)
        for size, cuts in self._cuts_of_all(shape):
            found[size] = best = leaf[size].copy()
            if (best > 1).any():
                parts = found if below is None else below
                for one, here, two, there in cuts:
                    np.minimum(best, join(parts[one][here], parts[two][there]), out=best)
        return found


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


def is_only(possible, k):
    """Where a class is possible, and no other one."""
    return possible[k] & (possible.sum(axis=0) == 1)


# ------------------------------------------------------------------ 5. claims


class Claim:
    """What is claimed of the models' answers, decided in the boxes that `Models.look` looked at."""

    def __init__(self, claim, models):
        self.claim, self.models = claim, models
        kinds = "same_class", "class_is", "class_is_not", "smallest"
        self.is_of_classes = claim["kind"] in kinds
        self.is_of_classes |= claim.get("of") == "class"
        if self.is_of_classes:
            need(all(use.labels for use in models.uses), "claim: a class of no classifier")
            need(claim["kind"] not in ("in_range", "out_of_range"), "claim: of")
            return
        if claim["kind"] == "within":
            need(min(claim["atol"], claim["rtol"]) >= 0, "claim: atol, rtol")
            if claim["of"] == "each":
                self.pairs = self._pairs(*models.uses)
                return
        # the steps that give the numbers
        self.steps = [use.result for use in models.uses]
        if claim["of"] != "value":
            need(has_form(claim["of"], {"output": "i"}), "claim: of")
            need(claim["of"]["output"] >= 0, "claim: of")
            need(models.uses[0].labels == models.uses[-1].labels, "claim: of")
            self.steps = [use.outputs[claim["of"]["output"]] for use in models.uses]
        need(all(models.kinds[i] != "?" for i in self.steps), "claim: of")
        self.pairs = [(*self.steps, None)[:2]]

    def judge(self):
        """Where the claim holds, and where it surely does not."""
        kind = self.claim["kind"]
        found = getattr(self, "_" + OPPOSITE.get(kind, kind))()
        return found[::-1] if kind in OPPOSITE else found

    # Of classes: whether each one is possible, in each box.

    def _class_is(self):
        possible, k = self.models.ranges[self.models.uses[0].result], self.claim["class"]
        need(0 <= k < len(possible), "claim: class")
        return is_only(possible, k), ~possible[k]

    def _same_class(self):
        one, two = (use.labels for use in self.models.uses)
        return self._without(lambda i, j: one[i] != two[j])

    def _without(self, is_wrong):
        """Where no wrong pair of classes is possible; and where only wrong ones are."""
        models, (one, two) = self.models, self.models.uses
        first, second = models.ranges[one.result], models.ranges[two.result]
        proven, refuted = np.ones((2, first.shape[1]), dtype=bool)
        self.left = []
        for i, j in product(range(len(first)), range(len(second))):
            both = first[i] & second[j]
            if not is_wrong(i, j):
                refuted &= ~both
                continue
            if both.any():
                both &= ~(models.is_kept(i) if models.same else models.alike)
            boxes = np.flatnonzero(both & proven)
            # If the first model answers a, its lead of a over b is not negative; if the second one
            # answers b, its lead of b over a is not. Where m times the one and the other must add
            # up to less than 0, the two do not answer so (C). Any m > 0 will do.
            mixed = models.mixed(i, j) if len(boxes) else None
            if mixed is not None:
                both[boxes] &= ~(models.least(mixed[0], boxes) > 0)
                for box in np.flatnonzero(both & proven) if models.is_by_column else ():
                    both[box] = not models.never_both(*mixed[1:], box)
            proven &= ~both
            self.left.append((i, j, both))
        return proven, refuted

    # Of numbers: the smallest and the largest, in each box (B).

    def _in_range(self):
        low, high = self.models.ranges[self.steps[0]]
        least, most = numbers([self.claim["low"]], -np.inf), numbers([self.claim["high"]], np.inf)
        return (low >= least) & (high <= most), (high < least) | (low > most)

    def _rises(self):
        if self.is_of_classes:
            order, (one, two) = self.claim["order"], (use.labels for use in self.models.uses)
            need(order and len(order) == len(one) and one == two, "claim: order")
            return self._without(lambda i, j: order[i] > order[j])
        one, two = (self.models.ranges[i] for i in self.steps)
        moved = self.models.moves(*self.steps)
        proven = self.models.alike | (one[1] <= two[0])
        if moved is not None:
            # what never falls keeps the order of its sums (F)
            proven |= moved[2] <= 0
        return proven, one[0] > two[1]

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
        models, n = self.models, self.models.n_boxes
        atol, rtol = self.claim["atol"], self.claim["rtol"]
        proven, refuted = np.ones(n, dtype=bool), np.zeros(n, dtype=bool)
        for i, j in self.pairs:
            one, two = (np.zeros((2, n)) if k is None else models.ranges[k] for k in (i, j))
            low, high = one - two[::-1]
            refuted |= np.maximum(low, -high) > atol + rtol * np.abs(two).max(axis=0)
            bound, near = np.maximum(-low, high), np.maximum(0.0, np.maximum(two[0], -two[1]))
            holds = models.alike
            if i is not None and j is not None and (moved := models.moves(i, j)):
                kind, apart = moved[0], np.fmax(-moved[1], moved[2])
                single = "float32" in kind
                if kind[0] == "odds":
                    # it moves by no more than its steepest slope times what its sum moves (F)
                    ends = np.clip(0.5, np.fmin(one[0], two[0]), np.fmax(one[1], two[1]))
                    apart = apart * ends * (1.0 - ends) + (1e-5 if single else 1e-12)
                elif kind[0] == "exp":
                    # so large a share of the second value, and of what was taken off both
                    share = (np.expm1(apart) + (1e-5 if single else 1e-14)) * 1.00001
                    if kind[2] == 0:
                        holds = holds | ((share - rtol) * two[1] <= atol)
                    apart = share * (np.maximum(two[1], 0.0) + kind[2])
                elif kind[0] == "link":
                    apart = np.inf
                bound = np.fmin(bound, apart)
            proven &= holds | (bound <= atol + rtol * near)
        return proven, refuted


# ------------------------------------------------ 6. what models answer in a box


class Trees:
    """Trees as arrays, their nodes one after the other in pre-order."""

    def __init__(self, column, end, n_columns):
        left, right, first = pre_order(column)
        need(len(end) == len(column) and max(column) < n_columns, "nodes: column, end")
        self.left, self.right, self.first = (np.array(part) for part in (left, right, first))
        self.end, self.on = numbers(end, np.inf), np.maximum(column, 0)
        self.tree = np.repeat(np.arange(len(first)), np.diff(self.first, append=len(left)))
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
    columns: list
    how: tuple


class Form(NamedTuple):
    """A sum of what each leaf adds and a constant, within what is to spare; then what leaves that
    are reached at once add, and the most that absolute values add up to.
    """

    leaf: np.ndarray
    constant: float
    spare: float
    joint: np.ndarray
    size: float


class Models(Trees):
    """All models as they are used: trees over the coordinates, and all steps in one list.

    A *sum* is what a step adds up, as factors of each column of each tree and a constant; in a
    second row are what their absolute values add up to, the constant's times what is to spare. It
    is None for a step that is no sum.
    """

    def __init__(self, models, uses, n_columns, pause=None):
        self.pause = pause or (lambda: None)
        column, end, to_left, values, given, eps = [], [], [], [], [], []
        self.uses, self.tree_spares = [], []
        for use in uses:
            model, base = models[use["model"]], len(given)
            own, columns, first_node = model["nodes"], use["columns"], len(column)
            steps, n_trees = model["steps"], len(pre_order(own["column"])[2])
            need(max(own["column"]) < len(columns), "nodes: column")
            column += [columns[j] if j >= 0 else -1 for j in own["column"]]
            end += own["end"]
            to_left += own["missing_left"]
            values.append(np.array(own["value"], dtype=np.float64))
            same = values[-1].shape[1:] == (len(own["column"]),) == (len(own["missing_left"]),)
            need(same, "nodes: value has another length")
            eps = np.finfo("f" if any("float32" in step for step in steps) else "d").eps
            spare = 4.0 * eps * (n_trees + len(steps) + 8)
            about = spare, len(self.tree_spares), n_trees, len(values[-1]), base
            given += [(*about, step) for step in steps]
            self.tree_spares += [spare] * n_trees
            own = [model["result"], *(model["outputs"] or [])]
            need(0 <= min(own) and max(own) < len(steps), "models: result, outputs")
            labels = model["classes"] and list(map(json.dumps, model["classes"]))
            outputs = [base + i for i in model["outputs"] or []]
            how = n_trees, labels, steps, model["result"], model["outputs"]
            result, sha256 = base + model["result"], model["sha256"]
            self.uses.append(Use(result, outputs, labels, sha256, first_node, columns, how))
        super().__init__(column, end, n_columns)
        need({*to_left} <= {0, 1}, "nodes: missing_left")
        self.to_left = np.array(to_left) == 1
        self.value = np.zeros((max(map(len, values)), len(self.left)))
        for value, use in zip(values, self.uses, strict=True):
            self.value[: len(value), use.first_node : use.first_node + value.shape[1]] = value
        self.value[:, self.left >= 0] = 0.0
        self.shape = len(self.value), len(self.first)
        self.steps, self.kinds, self.sums, self.kept = [], "", [], {}
        for step in given:
            self._read_step(*step)
        for use in self.uses:
            labels, is_number = use.labels or (), use.labels is None
            good = (self.kinds[use.result] == "?") != is_number
            good = good and len(use.outputs) in (0, len(labels))
            good = good and all(self.kinds[i] != "?" for i in use.outputs)
            name, first, *_ = self.steps[use.result]
            n_may = {"above": 2, "largest": len(first) if name == "largest" else 0}.get(name, 0)
            good = good and len(set(labels)) == len(labels) == n_may
            need(good, "models: result, outputs and classes do not go together")
        self.same = len(uses) == 2 and self.uses[0].sha256 == self.uses[1].sha256

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
            if code in "dwbs":
                known = WORDS.get(code, (part,))
                need(has_form(part, "i" if code == "b" else "s") and part in known, message)
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
        if name == "softmax":
            need(0 <= parts[1] < len(parts[0]), message)
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

    # Trees that are looked at together.

    def join(self, space):
        """Join trees that end in few leaves at once: those of one column, or of the same splits,
        and each tree of a model that is used twice with itself.

        `members` has the leaves that are reached at once, from each of `starts` on; `group` tells
        of which trees, and `group_of` where each tree is. `differ` tells which of them do not say
        the same in both uses, tree by tree, where these make the same of it (D).
        """
        moved = self.same and self.uses[0].columns != self.uses[1].columns
        self.is_by_column = not moved
        joined = self._pairs(space) if moved else self._likes(space)
        self.group_of, half = np.zeros(self.shape[1], dtype=int), self.shape[1] // 2
        can_be_alike = len(self.uses) == 2 and self.uses[0].how == self.uses[1].how
        apart = []
        for g, (trees, leaves) in enumerate(joined):
            self.group_of[trees] = g
            k = len(trees) // 2
            differ = np.ones(len(leaves), dtype=bool)
            if can_be_alike and np.array_equal(trees[:k] + half, trees[k:]):
                one, two = self.value[:, leaves[:, :k]], self.value[:, leaves[:, k:]]
                differ = (one != two).any(axis=(0, 2))
            apart.append(differ)
        self.differ = np.concatenate(apart)
        self.members = np.concatenate([leaves.ravel() for _, leaves in joined])
        n_each = [len(leaves) for _, leaves in joined]
        n_members = np.repeat([len(trees) for trees, _ in joined], n_each)
        self.starts = np.cumsum(n_members) - n_members
        self.group = np.repeat(np.arange(len(joined)), n_each)
        self.begins = np.cumsum(n_each) - n_each

    def _likes(self, space):
        """Trees of one column with the leaves of each of its cells; trees of the same splits."""
        kinds, found = {}, []
        after = np.append(self.first[1:], len(self.left))
        for t, (a, b) in enumerate(zip(self.first, after, strict=True)):
            inner = self.left[a:b] >= 0
            used = np.unique(self.on[a:b][inner])
            arrays = inner, self.on[a:b], self.end[a:b] * inner, self.to_left[a:b]
            splits = b"".join(array.tobytes() for array in arrays)
            kinds.setdefault(used[0] if len(used) == 1 else -1, {}).setdefault(splits, []).append(t)
        for column, own in kinds.items():
            every = np.array(sorted(t for trees in own.values() for t in trees))
            inside = np.isin(self.tree, every) & (self.left >= 0)
            x = np.append(np.unique(self.end[inside]), [np.inf, np.nan][: 1 + space.gap[column]])
            if column >= 0 and len(x) * len(every) <= MOST_TOGETHER:
                leaves = np.tile(self.first[every], (len(x), 1))
                for _ in self.levels:
                    to_left = (x[:, None] <= self.end[leaves]) | (
                        np.isnan(x)[:, None] & self.to_left[leaves]
                    )
                    below = np.where(to_left, self.left[leaves], self.right[leaves])
                    leaves = np.where(below < 0, leaves, below)
                found.append((every, np.unique(leaves, axis=0)))
                continue
            for trees in map(np.array, own.values()):
                leaves = np.flatnonzero((self.tree == trees[0]) & (self.left < 0))
                found.append((trees, self.first[trees] + (leaves - self.first[trees[0]])[:, None]))
                self.is_by_column &= len(leaves) == 1
        return found

    def _pairs(self, space):
        """Each tree of a model that is used twice, with itself: the leaves in which some first
        input ends, and the second one that goes with it.
        """
        half, n = self.shape[1] // 2, len(self.left)
        alone = [
            (np.array([t]), np.flatnonzero((self.tree == t) & (self.left < 0))[:, None])
            for t in range(2 * half)
        ]
        if n * space.n > MOST_ENTRIES:
            return alone
        # where the first input is, in each leaf of the first use, and where the second one can be
        low, high, gap = (np.repeat(part, n, axis=1) for part in space.whole())
        for level in self.levels:
            on = self.on[level]
            sides = space.split(*(part[:, level] for part in (low, high, gap)), on, self.end[level])
            for child, side, to_it in zip((self.left, self.right), sides, (1, 0), strict=True):
                child = child[level]
                low[:, child], high[:, child], gap[:, child] = side[0], side[1], gap[:, level]
                gap[on, child] &= self.to_left[level] == to_it
        low, high, gap, some = space.within(low, high, gap)
        for i, j in space.order:
            low[j], high[i] = np.maximum(low[j], low[i]), np.minimum(high[i], high[j])
        one = np.flatnonzero(some & (self.left < 0) & (self.tree < half))
        two, ended = self.first[half + self.tree[one]], []
        while len(one):
            is_leaf = self.left[two] < 0
            ended.append(np.stack([one[is_leaf], two[is_leaf]], axis=1))
            one, two = one[~is_leaf], two[~is_leaf]
            j, end, may_miss = self.on[two], self.end[two], gap[self.on[two], one]
            left = (low[j, one] <= end) | (may_miss & self.to_left[two])
            right = (high[j, one] > end) | (may_miss & ~self.to_left[two])
            one = np.concatenate([one[left], one[right]])
            two = np.concatenate([self.left[two[left]], self.right[two[right]]])
            if sum(map(len, ended), len(one)) > MOST_PAIRS:
                return alone
        pairs = np.concatenate(ended)
        pairs = pairs[np.argsort(pairs[:, 0], kind="stable")]
        parts = np.split(pairs, np.searchsorted(pairs[:, 0], self.first[1:half]))
        return [(np.array([t, t + half]), part) for t, part in enumerate(parts)]

    # Boxes: which leaves are within reach, and what the steps make of these.

    def look(self, low, high, gap):
        """Find the leaves that some point of each box reaches, and follow all steps.

        `ranges` has the smallest and the largest number of each step, or which classes it can say.
        """
        self.pause()
        n = low.shape[1]
        hull = np.fmin.reduce(low, axis=1), np.fmax.reduce(high, axis=1), gap.any(axis=1)
        self.nodes = self.place = np.arange(len(self.left))
        self.near = near = self._reach(self.levels, *(part[:, None] for part in hull))[:-1, 0]
        # rows of those that some box may reach; the last row is for all others, and for none
        self.nodes = np.flatnonzero(near)
        self.place = np.full(len(self.left), len(self.nodes))
        self.place[self.nodes] = np.arange(len(self.nodes))
        levels = [level[near[level]] for level in self.levels]
        self.found = found = self._reach(levels, low, high, gap)
        # each leaf that a box reaches, box after box, tree after tree
        rows = np.flatnonzero(self.left[self.nodes] < 0)
        box, leaf = np.nonzero(found[rows].T)
        self.leaves, self.joint, self._alike = (box, self.nodes[rows[leaf]]), None, None
        self.n_boxes = n
        self.tree_ends = [self.ends(self.leaves, self.tree, value) for value in self.value]
        self.ranges = []
        for i, step in enumerate(self.steps):
            self.ranges.append(self._follow(i, *step))

    def _reach(self, levels, low, high, gap):
        found = np.zeros((len(self.nodes) + 1, low.shape[1]), dtype=bool)
        found[self.place[self.first]] = True
        for level in levels:
            at, end, to_left = self.on[level], self.end[level, None], self.to_left[level, None]
            here, left, right = (
                self.place[own] for own in (level, self.left[level], self.right[level])
            )
            found[left] = found[here] & ((low[at] <= end) | (gap[at] & to_left))
            found[right] = found[here] & ((high[at] > end) | (gap[at] & ~to_left))
        return found

    def together(self):
        """The leaves that each box reaches at once, in the order of boxes and of groups.

        Boxes that meet each other two by two meet: so do the box, and the leaves of trees, where
        each two of these do. (Of missing values, some may be told that are not.)
        """
        if self.joint is None:
            near = np.flatnonzero(np.logical_and.reduceat(self.near[self.members], self.starts))
            sizes = np.diff(self.starts, append=len(self.members))[near]
            begins = np.cumsum(sizes) - sizes
            at = np.repeat(self.starts[near] - begins, sizes) + np.arange(sizes.sum())
            shown = self.found[self.place[self.members[at]]]
            box, joint = np.nonzero(np.logical_and.reduceat(shown, begins).T)
            self.joint = box, near[joint]
        return self.joint

    @property
    def alike(self):
        """Where all trees say the same in both uses, which make the same of it (D)."""
        if self._alike is None:
            self._alike = ~self.reaches(self.differ)
        return self._alike

    def reaches(self, wanted):
        """Which boxes reach some of the leaves that are wanted."""
        found, (box, joint) = np.zeros(self.n_boxes, dtype=bool), self.together()
        found[box[wanted[joint]]] = True
        return found

    def ends(self, reached, group, value, boxes=None):
        """The smallest and the largest value of what each box reaches, by tree or group."""
        (box, item), n, n_groups = reached, self.n_boxes, group[-1] + 1
        if boxes is not None:
            place = np.full(n, -1)
            place[boxes] = np.arange(len(boxes))
            own, n = place[box] >= 0, len(boxes)
            box, item = place[box[own]], item[own]
        at = box * n_groups + group[item]
        starts, value = np.flatnonzero(np.diff(at, prepend=-1)), value[item]
        found = np.full((2, n * n_groups), [[np.inf], [-np.inf]])
        found[0, at[starts]] = np.minimum.reduceat(value, starts)
        found[1, at[starts]] = np.maximum.reduceat(value, starts)
        return found.reshape(2, n, n_groups).transpose(0, 2, 1)

    def _follow(self, i, name, *parts):
        n = self.n_boxes
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
        if name == "link":
            return np.stack([np.full(n, -np.inf), np.full(n, np.inf)])
        # how libraries round exponentials is not known: this is to spare
        eps = 32.0 * np.finfo(parts[2]).eps * np.array([[-1.0], [1.0]])
        if name == "exp":
            found = np.exp(self.ranges[parts[0]])
            return found - parts[1] + eps / 8.0 * (found + parts[1])
        if name == "sigmoid":
            upper = 1.0 / (1.0 + np.exp(-self.ranges[parts[0]]))
            return np.sort(upper if parts[1] else 1.0 - upper, axis=0) + eps
        # the exponentials of by how much the others are ahead of this one
        leads = [self.ends_of(own) for own in self.parts(i)[1]]
        others = sum((np.exp(-own) for own in leads), np.zeros((2, n)))
        return 1.0 / (1.0 + others) + eps * len(parts[0])

    def _largest(self, i, places, wins, margin):
        """Which classes no other one beats: by the range of each number, then by leads (B, C)."""
        low, high = (np.stack(end) for end in zip(*(self.ranges[j] for j in places), strict=True))
        possible = np.ones(low.shape, dtype=bool)
        for j, k in permutations(range(len(places)), 2):
            ahead = low[j] > high[k] if margin == 0 else low[j] - high[k] > margin
            if (j < k) == (wins == "first"):
                ahead |= (low[j] >= high[k]) & (margin == 0)
            possible[k] &= ~ahead
        best = np.where(possible.sum(axis=0) > 1, (low + high).argmax(axis=0), -1)
        for j in {*best[best >= 0].tolist()}:
            boxes = np.flatnonzero(best == j)
            for k in np.flatnonzero(possible[:, boxes].any(axis=1)).tolist():
                if k != j and (lead := self.lead(i, j, k)) is not None:
                    least = self.least(lead, boxes)
                    ties = lead.spare == 0 and (j < k) == (wins == "first")
                    possible[k, boxes] &= ~((least >= 0) if ties else (least > 0))
        return possible

    # Bounds of sums, as real numbers (C).

    def form(self, total, margin=0.0, is_exact=False):
        parts = total[:, :-1].reshape(2, *self.shape)[:, :, self.tree]
        most = np.maximum.reduceat((parts[1] * np.abs(self.value)).sum(axis=0), self.first)
        spare = (np.maximum(most, 1e-20 * (most > 0)) * self.tree_spares).sum() + total[1, -1]
        # float32 numbers overflow beyond
        spare = spare if most.sum() + abs(total[0, -1]) < 1e37 else np.inf
        exact = is_exact and spare < 2.0**20 * min(self.tree_spares)
        leaf = (parts[0] * self.value).sum(axis=0)
        return self.formed(leaf, total[0, -1], margin + (0.0 if exact else spare))

    def formed(self, leaf, constant, spare):
        joint, size = (np.add.reduceat(v[self.members], self.starts) for v in (leaf, abs(leaf)))
        return Form(leaf, constant, spare, joint, max(self.top(size), 1e-300))

    def least(self, form, boxes=None):
        """A bound from below, in each box."""
        low, _ = self.ends(self.together(), self.group, form.joint, boxes)
        return low.sum(axis=0) + (form.constant - form.spare)

    def top(self, joint):
        """The most that leaves that are reached at once add up to anywhere."""
        return np.maximum.reduceat(joint, self.begins).sum()

    def never_both(self, one, two, box):
        """Whether two sums cannot both be 0 or more in a box, whatever leaves groups end in: of two
        halves of the groups, all sums are listed.
        """
        where, joint = self.together()
        joint = joint[np.searchsorted(where, box) : np.searchsorted(where, box, side="right")]
        ends = np.flatnonzero(np.diff(self.group[joint])) + 1
        halves = np.zeros((2, 2, 1))
        halves[0, :, 0] = one.constant + one.spare, two.constant + two.spare
        halves = list(halves)
        for own in sorted(np.split(joint, ends), key=len, reverse=True):
            k = int(halves[0].shape[1] > halves[1].shape[1])
            if halves[k].shape[1] * len(own) > MOST_SUMS:
                return False
            more = np.stack([one.joint[own], two.joint[own]])
            halves[k] = (halves[k][:, :, None] + more[:, None]).reshape(2, -1)
        (f, g), (more_f, more_g) = halves
        order = np.argsort(-more_f)
        # the most that the second sum can get with so much of the first one, or more
        most = np.append(-np.inf, np.maximum.accumulate(more_g[order]))
        return (g + most[np.searchsorted(-more_f[order], f, side="right")] < 0.0).all()

    def mixed(self, i, j):
        """The negative of m times the lead of the first use's class i over the second's class j,
        and of that one's lead of j over i; then both leads. None where these are no sums.
        """
        (one, two), key = self.uses, ("mixed", i, j)
        if key not in self.kept:
            a, b, self.kept[key] = one.labels[i], two.labels[j], None
            ahead = behind = None
            if a in two.labels and b in one.labels:
                ahead = self.lead(one.result, i, one.labels.index(b))
                behind = self.lead(two.result, j, two.labels.index(a))
            if ahead and behind:
                (x, constant, spare, joint, size), (y, other, more, joint_y, size_y) = ahead, behind
                # the weights of both make up for their sizes; of those near that, the best one
                tried = size_y / size * 2.0 ** np.arange(-4.0, 4.1, 0.5)
                bounds = [self.top(m * joint + joint_y) + m * constant + other for m in tried]
                m = 1.0 if self.same else tried[np.argmin(bounds)]
                own = self.formed(-m * x - y, -m * constant - other, m * spare + more)
                self.kept[key] = own, ahead, behind
        return self.kept[key]

    def lead(self, step, a, b):
        """The lead of one class over another; None where it is no sum."""
        if (key := (step, a, b)) in self.kept:
            return self.kept[key]
        (name, first, *own), total, margin, exact = self.steps[step], None, 0.0, False
        if name == "above":
            ends, below, _ = own
            if self.sums[first] is not None and len(ends) == 1:
                sign = 1.0 if b == below else -1.0
                total = self.sums[first] * [[sign], [1.0]]
                total[:, -1] += -sign * ends[0], abs(ends[0]) * max(self.tree_spares)
        else:
            (i, j), margin = (first[a], first[b]), own[1]
            one, two = self.steps[i], self.steps[j]
            shares = one[0] == two[0] == "/" and one[2:] == two[2:] and one[3] == "float64"
            if margin == 0 and shares and 1e-8 <= self.steps[one[2]][1] <= 1e8:
                # sums that differ still do once they are divided
                i, j = one[1], two[1]
                one, two = self.steps[i], self.steps[j]
            total = self.part(i, j)
            if margin == 0 and one[0] == two[0] == "trees":
                # sums of few binary digits do not round
                digits = np.ldexp(np.append(self.value, [one[4], two[4]]), 20)
                exact = {one[5], two[5]} == {"float64"} and (digits == np.rint(digits)).all()
        self.kept[key] = None if total is None else self.form(total, margin, exact)
        return self.kept[key]

    # Numbers that come of sums: a kind of link, and steps less others, with which they never fall.

    def parts(self, i):
        name, *own = self.steps[i]
        if self.sums[i] is not None:
            return ("sum",), [(i, None)]
        if name == "sigmoid":
            return ("odds", own[2]), [(own[0], None) if own[1] else (None, own[0])]
        if name == "softmax":
            places, k, kind = own
            return ("odds", kind), [(places[k], j) for p, j in enumerate(places) if p != k]
        if name == "exp":
            return ("exp", own[2], own[1], own[3]), [(own[0], None)]
        return (("link", own[1]), [(own[0], None)]) if name == "link" else ((), [])

    def part(self, plus, minus):
        """The sum of a step less another one; None stands for nothing."""
        none = np.zeros((2, self.shape[0] * self.shape[1] + 1))
        one, two = (none if i is None else self.sums[i] for i in (plus, minus))
        return None if one is None or two is None else np.stack([one[0] - two[0], one[1] + two[1]])

    def apart(self, first, second=(None, None)):
        """A part less a second one, and the negative; None where there are none."""
        if (first, second) not in self.kept:
            one, two, self.kept[first, second] = self.part(*first), self.part(*second), None
            if one is not None and two is not None:
                total = np.stack([one[0] - two[0], one[1] + two[1]])
                both = (self.form(total * [[sign], [1.0]]) for sign in (1.0, -1.0))
                self.kept[first, second] = [*both]
        return self.kept[first, second]

    def ends_of(self, first, second=(None, None)):
        """Bounds of a part, less a second one: by ranges (B), and by what both add up to (C)."""
        steps = first[0], second[1], first[1], second[0]
        ranges = [np.zeros((2, 1)) if i is None else self.ranges[i] for i in steps]
        low, high = ranges[0] + ranges[1] - ranges[2][::-1] - ranges[3][::-1]
        if both := self.apart(first, second):
            low, high = np.fmax(low, self.least(both[0])), np.fmin(high, -self.least(both[1]))
        return np.stack(np.broadcast_arrays(low, high))

    def moves(self, i, j):
        """What two numbers are of sums, and bounds of how far the first ones are above the second;
        None where they are not the same of as many sums.
        """
        (kind, one), (other, two) = self.parts(i), self.parts(j)
        if kind != other or len(one) != len(two) or not one:
            return None
        ends = []
        for first, second in zip(one, two, strict=True):
            low, high = self.ends_of(first, second)
            if self.same and i < j:
                high = np.where(self.never_falls(first), np.fmin(high, 0.0), high)
                low = np.where(self.never_falls(first, -1.0), np.fmax(low, 0.0), low)
            ends.append((low, high))
        low, high = zip(*ends, strict=True)
        return kind, np.minimum.reduce(low), np.maximum.reduce(high)

    # Trees of one model that is used twice, one by one (E).

    def never_falls(self, part, sign=1.0):
        """Where no tree lets a part fall from the first use to the second, of one model."""
        if (key := (part, sign)) not in self.kept:
            total, falls = self.part(*part), np.ones(len(self.starts), dtype=bool)
            are_pairs = (np.diff(self.starts, append=len(self.members)) == 2).all()
            if are_pairs and total is not None and (total[1, :-1] == np.abs(total[0, :-1])).all():
                one, two = self.members[::2], self.members[1::2]
                factor = sign * total[0, :-1].reshape(self.shape)[:, self.tree[one]]
                falls = (factor * (self.value[:, two] - self.value[:, one]) < 0).any(axis=0)
            self.kept[key] = falls
        return ~self.reaches(self.kept[key]) | self.alike

    def is_kept(self, k):
        """Where a class that the first use says is what the second one says, too."""
        name, *parts = self.steps[self.uses[0].result]
        if name == "above" and len(parts[1]) == 1:
            return self.never_falls((parts[0], None), -1.0 if k == parts[2] else 1.0)
        if name == "above" or parts[2] > 0:
            return self.alike
        places = enumerate(parts[0])
        kept = [self.never_falls((j, None), 1.0 if i == k else -1.0) for i, j in places]
        return np.logical_and.reduce(kept)

    def undecided(self, boxes):
        """The first split at which each tree can go both ways in some boxes, where there is one."""
        found, many, inner = self.found[:, boxes], len(self.nodes), self.left[self.nodes] >= 0
        left, right = (
            self.place[np.where(inner, own[self.nodes], 0)] for own in (self.left, self.right)
        )
        split = np.where(
            found[left] & found[right] & inner[:, None], np.arange(many)[:, None], many
        )
        # in pre-order, the topmost one of a tree comes first
        first = np.minimum.reduceat(split, np.searchsorted(self.nodes, self.first))
        return self.nodes[np.minimum(first, many - 1)], first < many


# -------------------------------------------------------------- 7. the sentence


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
    if claim["kind"] == "smallest":
        return _smallest(claim, document["models"][0], _where(document, columns, second, names))
    what = _what(claim.get("claim", claim), uses, document["models"], bool(second))
    if claim["kind"] == "reasons":
        return _moved(what, document["proof"], columns, names)
    said = f"{_where(document, columns, second, names)}: {what}."
    is_not = claim["kind"] == "not"
    return f"It is not so for {said} There is a counterexample." if is_not else f"For {said}"


def _who(number, model):
    n = len(pre_order(model["nodes"]["column"])[2])
    return f"model {chr(65 + number)} ({model['name']} of {n:,} tree{'s' * (n != 1)})"


def _what(claim, uses, models, is_pair):
    """What is said of the answers."""
    used = [models[use["model"]] for use in uses]
    labels = [json.dumps(label) for label in used[0]["classes"] or ()]
    who = [_who(use["model"], model) for use, model in zip(uses, used, strict=True)]
    both = f"{who[0]}, asked twice, answers" if is_pair else f"{who[0]} answers"
    both = f"{who[0]} and {who[1]} answer" if len(set(who)) == 2 else both
    kind, of = claim["kind"], claim.get("of")
    number = "class" if of == "class" else "value"
    if isinstance(of, dict):
        number = f"probability of {labels[of['output']]}"
    if kind == "same_class":
        return f"{both} the same class"
    if kind in ("class_is", "class_is_not"):
        said = "another class than" if kind in OPPOSITE else "the class"
        return f"{who[0]} answers {said} {labels[claim['class']]}"
    if kind in ("in_range", "out_of_range"):
        verb = "is no number that is" if kind in OPPOSITE else "is"
        return f"the {number} that {who[0]} answers {verb} {_ends(claim['low'], claim['high'])}"
    # what is taken for granted
    links = {"exp": -1, "link": -1, "sigmoid": 0, "softmax": 0}
    steps = [s for m in used for s in m["steps"] if s and s[0] in links and of != "class"]
    names = sorted({str(s[links[s[0]]]) for s in steps if of != "value" or s[0] != "sigmoid"})
    given = f" (granted that {' and '.join(names)} never falls with its argument)" if names else ""
    if kind == "within":
        numbers_of = "values"
        if labels:
            whose = labels[of["output"]] if isinstance(of, dict) else "each class"
            numbers_of = f"probabilities of {whose}"
        relative = f" + {claim['rtol']!r} * abs(b)" if claim["rtol"] else ""
        return f"{both} {numbers_of} a and b with abs(a - b) <= {claim['atol']!r}{relative}{given}"
    said = f"the {number} that {who[0]} answers is at least as high for the second{given}"
    if of == "class":
        ranks = sorted(zip(claim["order"], labels, strict=False))
        said += f" (ranks: {', '.join(f'{label} {rank}' for rank, label in ranks)})"
    return said


def _smallest(claim, model, where):
    """How small no tree is."""
    depth, leaves, within = (claim[key] for key in ("depth", "leaves", "within"))
    said = [] if depth is None else [f"has a depth below {depth}"]
    if leaves is not None:
        of = "" if within is None else f" at a depth of {within} or less"
        said.append(f"has fewer than {leaves} leaves{of}")
    return (
        f"No tree that answers the same class as {_who(0, model)}, for {where}, "
        f"{', and none '.join(said)}, if each of its splits compares a column with a number."
    )


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
        where += f", that {_near(proof, columns, names)}"
    return where


def _near(proof, columns, names):
    """How points differ from rows."""
    rows, units = proof["rows"], [" with ".join(names[j] for j in unit) for unit in proof["vary"]]
    which = f"one of the {len(rows)} rows in the file"
    if len(rows) == 1:
        told = [
            f"{name} = {_entry(*own)}" for name, *own in zip(names, columns, rows[0], strict=True)
        ]
        which = f"the row ({', '.join(told)})"
    k, nearer, units = proof["max_changes"], proof["nearer"], ", ".join(units)
    if nearer is None:
        said = f"differs from {which} in at most {k} of {units}"
        return said + (
            f" and in {', '.join(names[j] for j in proof['free'])}" * bool(proof["free"])
        )
    scales = [f"{name} {v!r}" for name, v in zip(names, nearer["scales"], strict=True) if v]
    return (
        f"differs from {which} in fewer than {k} of {units}, or in {k} of these at a distance "
        f"below {nearer['distance']!r} ({nearer['metric']} of all changes, each divided by its "
        f"scale: {', '.join(scales)}; where there is none, and of gaps, a change counts 1)"
    )


def _moved(what, proof, columns, names):
    """Which moves of a row matter."""

    def told(row, places, verb):
        own = [f"{names[j]} {verb} {_entry(columns[j], row[j])}" for j in places]
        return ", ".join(own) if verb == "=" else " and ".join(own)

    row = told(proof["row"], range(len(names)), "=")
    sets = "; or once ".join(told(proof["reference"], own, "becomes") for own in proof["sets"])
    of = " of one of these sets" if len(proof["sets"]) > 1 else ""
    less = f"with only a part of the changes{of}, or none, it is not so"
    return f"For the row ({row}): {what} once {sets}; {less}."


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
