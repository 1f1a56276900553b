"""Checks a file of evidence again; this file runs alone, with NumPy and the standard library.

``python checker.py evidence.json`` exits with 0 where the evidence proves its claim, with 1 where
it does not, and with 2 where the file cannot be read or would take too long. Nothing that a file
says of its proof is believed, and the sentence that is printed is made here from the claim's data.

Rounding is monotone: what a model computes lies between what its own steps, in their order and
types, make of the smallest and of the largest leaf that each tree can reach in a box. Differences
of sums (leads of classes, trees that two sums share) are bounded as real numbers, with ``4 * eps *
(trees + steps + 8)`` times the largest sum of absolute terms to spare for all roundings.
"""

from __future__ import annotations

import gzip
import hashlib
import json
import sys
from itertools import combinations, permutations, product
from math import comb

import numpy as np

FORMAT = "ensemble_simplify.evidence"
# Boxes looked at together, boxes that the checker makes itself, levels of trees: at most so many.
BLOCK, MOST_BOXES, MOST_LEVELS = 512, 1_000_000, 5_000
# What a file holds: text (s), whole numbers (i), numbers (n), labels (c), dicts (d), lists (l),
# null (z), or null as well (S, I, N); lists of these (*).
TYPES = {"s": {str}, "i": {int}, "n": {int, float}, "c": {str, int, float, bool}, "d": {dict}}
TYPES |= {"S": {str, type(None)}, "I": {int, type(None)}, "N": {int, float, type(None)}}
TYPES |= {"z": {type(None)}, "l": {list}}
TREES = {"column": "i*", "end": "N*", "left": "i*", "right": "i*"}
NODES = TREES | {"first": "i*", "missing_left": "i*", "value": "n**"}
MODEL = {"name": "s", "n_columns": "i", "classes": "c*|z", "nodes": NODES, "steps": "l*"}
COLUMN = {"name": "S|i", "levels": "c*|z", "unknown": "S", "copy": "I"}
REGION = {"type": "s", "low": "N*", "high": "N*", "integer": "i*", "missing": "i*"}
FILE = {"format": "s", "version": "i", "columns": [COLUMN], "words": "s", "digest": "s"}
FILE |= {"models": [MODEL | {"result": "i", "outputs": "i*|z", "sha256": "s"}], "made_by": "d"}
FILE |= {"uses": [{"model": "i", "columns": "i*"}], "claim": "d", "proof": "d"}
FILE |= {"region": REGION | {"clauses": "i***", "order": "i**"}}
CLAIMS = {"same_class": {"uses": "i*"}, "within": {"uses": "i*", "atol": "n", "rtol": "n"}}
CLAIMS |= {"class_is": {"use": "i", "class": "i"}, "not": {"claim": "d"}}
CLAIMS |= {"rises": {"uses": "i*", "of": "d|s", "order": "i*|z"}}
CLAIMS |= {"in_range": {"use": "i", "of": "d|s", "low": "N", "high": "N"}}
PROOFS = {"points": {"rows": "N**", "max_changes": "i", "vary": "i**"}}
PROOFS |= {"boxes": {"tree": TREES | {"answer": "I*", "bound": "N*"}, "mix": "n*", "steps": "i**"}}
PROOFS |= {"witness": {"point": "N*", "answers": "n*|n**"}}
# Parts of steps: numbers of steps (n; N: a list; l: one that says a class), of trees (t), columns
# (c), classes (k), numbers (v, V), words (d, w, b). The last letter is what the step gives.
STEPS = {"constant": "v=", "trees": "ttcvd=", "+": "nnd=", "-": "nnd=", "*": "nnd=", "/": "nnd="}
STEPS |= {"chosen": "lkvv=", "largest": "Nwv?", "above": "nVbb?"}
STEPS |= {"sigmoid": "nbd%", "softmax": "Nkd%"}
WORDS = {"d": ("float32", "float64"), "w": ("first", "last"), "b": (0, 1)}
SIGNS = {"+": np.add, "-": np.subtract, "*": np.multiply, "/": np.divide}


class Refused(ValueError):
    """The file cannot be read, or not be checked with reasonable effort."""


class Unproven(Exception):
    """The evidence does not prove its claim."""


def need(condition, message, error=Refused):
    if not condition:
        raise error(message)


def parse(text):
    """What a text in JSON holds; no number may be infinite, and no key be there twice."""

    def entries(pairs):
        need(len(dict(pairs)) == len(pairs), f"a key is there twice in {str(pairs)[:80]}")
        return dict(pairs)

    def finite(digits):
        number = float(digits) if set(digits) & set(".eEIN") else int(digits)
        small = abs(number) < (np.inf if type(number) is float else 2**53)
        need(small, f"{digits[:30]} is too large a number, or none")
        return number

    ways = dict.fromkeys(("parse_float", "parse_int", "parse_constant"), finite)
    return json.loads(text, object_pairs_hook=entries, **ways)


def fits(value, form):
    if isinstance(form, dict):
        same = type(value) is dict and value.keys() == form.keys()
        return same and all(fits(value[key], form[key]) for key in form)
    if isinstance(form, list):
        return type(value) is list and all(fits(own, form[0]) for own in value)
    for own in form.split("|"):
        items, depth = [value], len(own) - 1
        while depth and all(type(item) is list for item in items):
            items, depth = [part for item in items for part in item], depth - 1
        if not depth and set(map(type, items)) <= TYPES[own[0]]:
            return True
    return False


def digest(value, *without):
    """The SHA-256 of the canonical text of a dict, without some entries."""
    value = {key: value[key] for key in value if key not in without}
    text = json.dumps(value, sort_keys=True, separators=(",", ":"), allow_nan=False)
    return hashlib.sha256(text.encode()).hexdigest()


class Trees:
    """Trees as arrays, their nodes one after the other, children after their parent."""

    def __init__(self, on, end, left, right, to_left, first, n_columns):
        arrays = (np.array(own, dtype=np.int64) for own in (on, left, right, first))
        (on, self.left, self.right, self.first), n = arrays, len(left)
        self.end = np.array([np.inf if e is None else e for e in end], dtype=np.float64)
        need({*to_left} <= {0, 1}, "nodes: missing_left")
        self.to_left, size = np.array(to_left) == 1, np.diff(self.first, append=n)
        same = {*map(len, (self.right, on, self.end, self.to_left))} == {n}
        need(same and min(size, default=0) > 0 and first[0] == 0, "nodes: lists of other lengths")
        self.tree, inner = np.repeat(np.arange(len(size)), size), np.flatnonzero(self.left >= 0)
        below, above = np.append(self.left[inner], self.right[inner]), np.append(inner, inner)
        right = np.array_equal(np.sort(np.append(below, self.first)), np.arange(n))
        right = right and (below > above).all() and (self.tree[below] == self.tree[above]).all()
        right = right and ((self.left < 0) == (self.right < 0)).all() and (on[inner] >= 0).all()
        need(right and (on < n_columns).all(), "nodes: no trees with children after their parents")
        self.inner, self.on, self.levels, level = inner, np.maximum(on, 0), [], self.first
        while (level := level[self.left[level] >= 0]).size:
            self.levels.append(level)
            level = np.append(self.left[level], self.right[level])
            need(len(self.levels) < MOST_LEVELS, "nodes: a tree is too deep to be checked")


class Uses(Trees):
    """All models as they are used: trees over the coordinates, and all steps in one list."""

    def __init__(self, models, uses, n_columns):
        every, values, self.tree_spares = [[] for _ in range(6)], [], []
        self.steps, self.kinds, self.forms, self.known, self.parts = [], "", [], {}, []
        for use in uses:
            model, n = models[use["model"]], len(every[2])
            nodes, steps, base = model["nodes"], model["steps"], len(self.steps)
            own = len(use["columns"]), len(set(use["columns"]))
            need(own == (model["n_columns"],) * 2, "uses: columns are not the model's")
            every[0] += [use["columns"][j] if j >= 0 else -1 for j in nodes["column"]]
            every[1] += nodes["end"]
            for own, key in zip(every[2:4], ("left", "right"), strict=True):
                own += [k + n if k >= 0 else -1 for k in nodes[key]]
            every[4] += nodes["missing_left"]
            every[5] += [k + n for k in nodes["first"]]
            values.append(np.array(nodes["value"], dtype=np.float64))
            need(values[-1].shape[1:] == (len(nodes["left"]),), "nodes: value has another length")
            unit = np.finfo("f" if any("float32" in step for step in steps) else "d").eps
            spare = 4.0 * unit * (len(nodes["first"]) + len(steps) + 8)
            n_trees = len(self.tree_spares)
            self.tree_spares += [spare] * len(nodes["first"])
            self.steps += [(spare, n_trees, len(values[-1]), base, step) for step in steps]
            labels = model["classes"] and list(map(json.dumps, model["classes"]))
            outputs = [base + i for i in model["outputs"] or []]
            self.parts.append((base + model["result"], outputs, labels, model["sha256"], n))
        super().__init__(*every, n_columns)
        shape = max(map(len, values)), len(self.left)
        self.value = np.zeros(shape)
        for own, part in zip(values, self.parts, strict=True):
            self.value[: len(own), part[4] : part[4] + own.shape[1]] = own
        self.value[:, self.inner] = 0.0
        self.shape, given, self.steps = (len(self.value), len(self.first)), self.steps, []
        for own in given:
            self._add_step(*own)
        for result, outputs, labels, _, _ in self.parts:
            right = self.kinds[result] == ("=" if labels is None else "?")
            right = right and len(outputs) in (0, len(labels or ()))
            right = right and all(self.kinds[i] != "?" for i in outputs)
            right = right and len(set(labels or ())) == len(labels or ())
            need(right, "models: result, outputs and classes do not go together")
        self._find_twins()

    def _add_step(self, spare, tree, n_columns, base, step):
        """Read a step, which names earlier steps, trees and columns that there are."""

        def read(code, part):
            if code in "NV":
                return [read(code.lower(), own) for own in part]
            if code in "nl":
                right = fits(part, "i") and 0 <= part < len(self.steps) - base
                need(right and self.kinds[base + part] == {"n": "=", "l": "?"}[code], said)
                return base + part
            if code == "v":
                need(fits(part, "n"), said)
                return float(part)
            if code in WORDS:
                need(fits(part, "s|i") and part in WORDS[code], said)
                return part
            most = {"t": self.shape[1] - tree, "c": n_columns - 1, "k": len(step[1:]) and 10**6}[
                code
            ]
            need(fits(part, "i") and -(code == "k") <= part <= most, said)
            return part + tree * (code == "t")

        said = f"models: the step {str(step)[:60]} cannot be followed"
        need(step and fits(step[0], "s") and step[0] in STEPS, said)
        name, codes = step[0], STEPS[step[0]]
        need(len(step) == len(codes), said)
        own = [read(code, part) for code, part in zip(codes, step[1:], strict=False)]
        if name == "/":
            need(self.steps[own[1]][0] == "constant", said)
        if name == "above":
            need(own[1] == sorted(own[1]), said)
        if name == "largest":
            need(own[0] and own[2] >= 0, said)
        self.steps.append((name, *own))
        self.kinds += codes[-1]
        self.forms.append(self._form(spare, name, *own))

    def _form(self, spare, name, *own):
        """Factors of the columns of all trees, and a constant, that add up to a number.

        The second row has what their absolute values add up to, the constant's times `spare`.
        """
        form = np.zeros((2, self.shape[0] * self.shape[1] + 1))
        if name in ("constant", "trees"):
            value = own[0 if name == "constant" else 3]
            form[:, -1] = value, abs(value) * spare
            if name == "trees":
                form[:, :-1].reshape(2, *self.shape)[:, own[2], own[0] : own[1]] = 1.0
            return form
        if name not in SIGNS or self.forms[own[0]] is None or self.forms[own[1]] is None:
            return None
        one, two = self.forms[own[0]], self.forms[own[1]]
        if name in ("+", "-"):
            return np.stack([SIGNS[name](one[0], two[0]), one[1] + two[1]])
        if name == "*" and two[1, :-1].any():
            one, two = two, one
        factor = float(SIGNS[name](1.0, two[0, -1])) if two[0, -1] else 0.0
        # other factors could lose small numbers
        tame = not two[1, :-1].any() and 1e-8 <= abs(factor) <= 1e8
        return one * [[factor], [abs(factor)]] if tame else None

    def terms(self, form):
        """What each leaf adds to a form, its constant, and what is to spare for roundings."""
        parts = form[:, :-1].reshape(2, *self.shape)[:, :, self.tree]
        most = np.maximum.reduceat((parts[1] * np.abs(self.value)).sum(axis=0), self.first)
        spare = (np.maximum(most, 1e-20 * (most > 0)) * self.tree_spares).sum() + form[1, -1]
        # float32 numbers overflow beyond
        spare = spare if most.sum() + abs(form[0, -1]) < 1e37 else np.inf
        return (parts[0] * self.value).sum(axis=0), form[0, -1], spare

    def lead(self, step, a, b):
        """The terms of the lead of one class over another; None where it is no sum."""
        if (step, a, b) not in self.known:
            self.known[step, a, b] = self._lead(*self.steps[step], a, b)
        return self.known[step, a, b]

    def _lead(self, name, own, second, third, *rest):
        *_, a, b = rest
        if name == "above":
            form = self.forms[own]
            if form is None or len(second) != 1:
                return None
            at = np.zeros_like(form)
            at[:, -1] = -second[0], abs(second[0]) * max(self.tree_spares)
            return self.terms((form + at) * [[1.0 if b == third else -1.0], [1.0]])
        i, j = own[a], own[b]
        one, two = self.steps[i], self.steps[j]
        if third == 0 and one[0] == two[0] == "/" and one[2:] == two[2:] and one[3] == "float64":
            # sums that differ still do once they are divided
            if 1e-8 <= self.steps[one[2]][1] <= 1e8:
                i, j = one[1], two[1]
        if self.forms[i] is None or self.forms[j] is None:
            return None
        leaf, constant, spare = self.terms(self.forms[i] * [[1], [1]] + self.forms[j] * [[-1], [1]])
        if (
            third == 0
            and self.steps[i][0] == self.steps[j][0] == "trees"
            and spare < 2.0**20 * min(self.tree_spares)
        ):
            whole = np.ldexp(np.append(self.value, [self.steps[i][4], self.steps[j][4]]), 20)
            types = {self.steps[i][5], self.steps[j][5]}
            spare *= types != {"float64"} or bool((whole != np.rint(whole)).any())
        return leaf, constant, spare + third

    def _find_twins(self):
        """Trees of the second use that are trees of the first one, but for values and columns."""
        self.same, places, twins = False, {}, []
        if len(self.parts) == 2:
            half = self.parts[1][4]
            self.same = self.parts[0][3] == self.parts[1][3]
            stops = np.append(self.first[1:], len(self.left))
            for t, (a, b) in enumerate(zip(self.first, stops, strict=True)):
                inner = self.left[a:b] >= 0
                arrays = (self.left[a:b] - a) * inner, (self.right[a:b] - a) * inner
                arrays += self.end[a:b], self.to_left[a:b]
                key = b"".join(own.tobytes() for own in arrays)
                key = t % (self.shape[1] // 2) if self.same else key
                if a < half:
                    places.setdefault(key, []).append(t)
                elif places.get(key):
                    twins.append((places[key].pop(0), t))
        nodes = np.array([], dtype=np.int64)
        self.twins = np.array(twins, dtype=np.int64).reshape(-1, 2).T
        one, two = (
            np.concatenate([nodes, *(np.flatnonzero(self.tree == t) for t in own)])
            for own in self.twins
        )
        self.twin_nodes, size = (one, two), np.bincount(self.tree)[self.twins[0]]
        self.twin_starts = np.cumsum(size) - size
        self.moved = np.flatnonzero((self.on[one] != self.on[two]) & (self.left[one] >= 0))

    # ---------------------------------------------------------------- boxes

    def look(self, low, high, gap):
        """Find the leaves that some point of each box reaches, and follow all steps."""
        hull = np.fmin.reduce(low, axis=1), np.fmax.reduce(high, axis=1), gap.any(axis=1)
        near = self._reach(self.levels, *(own[:, None] for own in hull))[:, 0]
        self.found = found = self._reach([own[near[own]] for own in self.levels], low, high, gap)
        self.leaves = np.flatnonzero(near & (self.left < 0))
        self.starts, self.mask = np.searchsorted(self.leaves, self.first), found[self.leaves]
        self.columns = [self.ends(own) for own in self.value]
        one, two = self.twin_nodes
        apart = found[one] != found[two]
        split = one[self.moved]
        apart[self.moved] |= found[self.left[split]] & found[self.right[split]]
        self.aligned = np.ones((0, low.shape[1]), dtype=bool)
        if len(one):
            self.aligned = ~np.logical_or.reduceat(apart, self.twin_starts)
        self.alike = self.aligned.all(axis=0) if self.same else np.zeros(low.shape[1], dtype=bool)
        self.said = []
        for i, step in enumerate(self.steps):
            self.said.append(self._follow(i, *step))

    def _reach(self, levels, low, high, gap):
        found = np.zeros((len(self.left), low.shape[1]), dtype=bool)
        found[self.first] = True
        for own in levels:
            at, end, to_left = self.on[own], self.end[own, None], self.to_left[own, None]
            found[self.left[own]] = found[own] & ((low[at] <= end) | (gap[at] & to_left))
            found[self.right[own]] = found[own] & ((high[at] > end) | (gap[at] & ~to_left))
        return found

    def ends(self, value, boxes=slice(None)):
        """The smallest and the largest value among the leaves that each tree reaches."""
        mask, own = self.mask[:, boxes], value[self.leaves, None]
        low = np.minimum.reduceat(np.where(mask, own, np.inf), self.starts)
        return low, np.maximum.reduceat(np.where(mask, own, -np.inf), self.starts)

    def least(self, leaf, constant, spare, boxes=slice(None)):
        """A bound from below of a form in each box; twins that are aligned end in one leaf."""
        low, (one, two) = self.ends(leaf, boxes)[0], self.twin_nodes
        total = low.sum(axis=0) + constant
        if leaf[one].any() and leaf[two].any():
            both = np.zeros_like(leaf)
            both[one] = leaf[one] + leaf[two]
            t, s = self.twins
            more = self.ends(both, boxes)[0][t] - low[t] - low[s]
            total += np.where(self.aligned[:, boxes], more, 0.0).sum(axis=0)
        return total - spare

    def _follow(self, i, name, *own):
        """The smallest and the largest number that a step gives, or which classes it can say."""
        n = self.mask.shape[1]
        if name == "constant":
            return np.full((2, n), own[0])
        if name == "trees":
            start, stop, column, init, kind = own
            total = np.full((2, n), init, dtype=kind)
            for pair in zip(*(ends[start:stop] for ends in self.columns[column]), strict=True):
                total = total + np.array(pair).astype(kind)
            return total.astype(np.float64)
        if name in SIGNS:
            pairs = [(a, b) for a in self.said[own[0]] for b in self.said[own[1]]]
            every = [SIGNS[name](a, b).astype(own[2]).astype(np.float64) for a, b in pairs]
            return np.stack([np.minimum.reduce(every), np.maximum.reduce(every)])
        if name == "chosen":
            label, k, yes, no = own
            may = self.said[label][k] if k >= 0 else np.zeros(n, dtype=bool)
            must = may & (self.said[label].sum(axis=0) == 1)
            return np.sort([np.where(may, yes, no), np.where(must, yes, no)], axis=0)
        if name == "above":
            ends = self.said[own[0]]
            low, high = np.searchsorted(own[1], ends, side="right" if own[3] else "left")
            open_ = np.isnan(ends).any(axis=0) | (low != high)
            return np.stack([open_ | ((own[2] + low) % 2 == k) for k in (0, 1)])
        if name == "largest":
            return self._largest(i, *own)
        eps = 32.0 * np.finfo(own[2]).eps
        if name == "sigmoid":
            upper = 1.0 / (1.0 + np.exp(-self.said[own[0]]))
            found = np.sort(upper if own[1] else 1.0 - upper, axis=0)
            return found + eps * np.array([[-1.0], [1.0]])
        numbers = np.stack([self.said[j] for j in own[0]])
        others = np.delete(numbers, own[1], axis=0)[:, ::-1] - numbers[own[1]]
        found = 1.0 / (1.0 + np.exp(others).sum(axis=0))
        return found + eps * len(numbers) * np.array([[-1.0], [1.0]])

    def _largest(self, i, places, wins, margin):
        low, high = (np.stack(own) for own in zip(*(self.said[j] for j in places), strict=True))
        possible = np.ones(low.shape, dtype=bool)
        for j, k in permutations(range(len(places)), 2):
            ahead = low[j] > high[k] if margin == 0 else low[j] - high[k] > margin
            if (j < k) == (wins == "first"):
                ahead |= (low[j] == high[j]) & (low[j] == low[k]) & (low[k] == high[k])
                ahead |= (low[j] >= high[k]) & (margin == 0)
            possible[k] &= ~ahead
        best = np.where(possible.sum(axis=0) > 1, (low + high).argmax(axis=0), -1)
        for j in set(best[best >= 0].tolist()):
            own = np.flatnonzero(best == j)
            for k in np.flatnonzero(possible[:, own].any(axis=1)).tolist():
                if k != j and (lead := self.lead(i, j, k)) is not None:
                    least = self.least(*lead, own)
                    ties = lead[2] == 0 and (j < k) == (wins == "first")
                    possible[k, own] &= ~((least >= 0) if ties else (least > 0))
        return possible

    def never_falls(self, form, sign=1.0):
        """Where no tree lets a number fall from the first use to the second, of one model."""
        if not self.same or form is None or (form[1, :-1] != np.abs(form[0, :-1])).any():
            return self.alike
        half, good = self.shape[1] // 2, np.ones(self.mask.shape[1], dtype=bool)
        factor = sign * form[0, :-1].reshape(self.shape)[:, :half]
        for own, (low, high) in zip(factor, self.columns, strict=True):
            good &= (self.aligned | (low[half:] >= high[:half]) | (own <= 0)[:, None]).all(axis=0)
            good &= (self.aligned | (high[half:] <= low[:half]) | (own >= 0)[:, None]).all(axis=0)
        return good | self.alike

    def is_kept(self, k):
        """Where a class that the first use says is what the second one says, too."""
        name, own, second, third, *_ = self.steps[self.parts[0][0]]
        if name == "above" and len(second) == 1:
            return self.never_falls(self.forms[own], -1.0 if k == third else 1.0)
        if name == "above" or third > 0:
            return self.alike
        found = [
            self.never_falls(self.forms[j], 1.0 if i == k else -1.0) for i, j in enumerate(own)
        ]
        return np.logical_and.reduce(found)

    def difference(self, i, j):
        """Bounds of what one step gives less what another one does."""
        low, high = self.said[i] - self.said[j][::-1]
        one, two = self.forms[i], self.forms[j]
        if one is not None and two is not None:
            sides = [np.stack([sign * (one[0] - two[0]), one[1] + two[1]]) for sign in (1.0, -1.0)]
            least, most = (self.least(*self.terms(own)) for own in sides)
            low, high = np.fmax(low, least), np.fmin(high, -most)
        if self.same and i < j and one is not None:
            high = np.where(self.never_falls(one), np.fmin(high, 0.0), high)
            low = np.where(self.never_falls(one, -1.0), np.fmax(low, 0.0), low)
        return low, high


class Evidence:
    """A claim, and the boxes that prove it."""

    def __init__(self, document):
        need(fits(document, FILE), "the file does not have the entries, and types, of evidence")
        need((document["format"], document["version"]) == (FORMAT, 1), "another format or version")
        need(digest(document, "digest") == document["digest"], "digest: changed later", Unproven)
        for model in document["models"]:
            own = digest(model, "name", "sha256")
            need(own == model["sha256"], "models: sha256 is of other nodes", Unproven)
        self.document, columns, region = document, document["columns"], document["region"]
        self.claim, self.proof, n = document["claim"], document["proof"], len(columns)
        used = {use["model"] for use in document["uses"]}
        need(
            used == set(range(len(document["models"]))),
            "uses: a model that is not there, or not used",
        )
        places = [j for use in document["uses"] for j in use["columns"]]
        need(set(places) == set(range(n)) or all(0 <= j < n for j in places), "uses: columns")
        self.uses = Uses(document["models"], document["uses"], n)
        self.is_not = self.claim.get("kind") == "not" and fits(self.claim.get("claim"), "d")
        if self.is_not:
            self.claim = self.claim["claim"]
        for name, own, forms in (("claim", self.claim, CLAIMS), ("proof", self.proof, PROOFS)):
            form = forms.get(own.get("kind") if fits(own.get("kind"), "s") else None, {})
            need(fits(own, form | {"kind": "s"}) and form, f"{name} is of no kind that is known")
        need(self.is_not == (self.proof["kind"] == "witness"), "a witness proves a difference only")
        asked = self.claim.get("uses", [self.claim.get("use")])
        need(asked == list(range(len(document["uses"]))) and len(asked) < 3, "claim: uses")
        need({*region["integer"], *region["missing"]} <= {0, 1}, "region: integer, missing")
        single = region["type"] == "float32"
        need(single or region["type"] == "float64", "region: type")
        sizes = {len(region[key]) for key in ("low", "high", "integer", "missing")}
        need(sizes == {n}, "region: lists of another length")
        self.type, self.integer = (
            np.float32 if single else np.float64,
            np.array(region["integer"]) == 1,
        )
        self.low = -self.floor(-self.filled(region["low"], -np.inf))
        self.high = self.floor(self.filled(region["high"], np.inf))
        self.gap = np.array(region["missing"]) == 1
        self.gap[[j for pair in region["order"] for j in pair]] = False
        self.cuts = [
            np.unique(
                self.floor(self.uses.end[self.uses.inner][self.uses.on[self.uses.inner] == j], j)
            )
            for j in range(n)
        ]

    @staticmethod
    def filled(numbers, null):
        return np.array([null if own is None else own for own in numbers], dtype=np.float64)

    def floor(self, x, j=None):
        """The largest numbers of the type that are not above some others, and finite."""
        x, largest = np.asarray(x), np.finfo(self.type).max
        near = x.astype(self.type)
        found = np.where(near > x, np.nextafter(near, self.type(-np.inf)), near).astype(np.float64)
        if j is not None and self.integer[j]:
            found = np.floor(found)
        return np.clip(found, -np.inf, largest)

    def tidy(self, low, high, gap):
        """Which boxes hold points of the region; NaN where a coordinate is but missing."""
        low = np.maximum(low, self.low[:, None])
        high = np.minimum(high, self.high[:, None])
        whole = self.integer[:, None]
        low, high = np.where(whole, np.ceil(low), low), np.where(whole, np.floor(high), high)
        gap = gap & self.gap[:, None]
        empty = ~(low <= high)
        low[empty] = high[empty] = np.nan
        inside = (gap | ~empty).all(axis=0)
        for clause in self.document["region"]["clauses"]:
            inside &= np.any([(low[j] <= v) & (v <= high[j]) for j, v in clause], axis=0)
        for i, j in self.document["region"]["order"]:
            inside &= low[i] <= high[j]
        return low, high, gap, inside

    def split(self, low, high, gap, j, end):
        """Boxes below and above ends of coordinates; gaps go above."""
        at = np.arange(len(j))
        end = self.floor(end)
        below, above, no_gap = high.copy(), low.copy(), gap.copy()
        below[j, at] = np.minimum(high[j, at], end)
        after = np.nextafter(end.astype(self.type), self.type(np.inf)).astype(np.float64)
        above[j, at] = np.maximum(low[j, at], after)
        no_gap[j, at] = False
        return (low, below, no_gap), (above, high, gap)

    def run(self):
        with np.errstate(all="ignore"):
            getattr(self, "_" + self.proof["kind"])()

    def whole(self):
        n = len(self.low)
        return np.full((n, 1), -np.inf), np.full((n, 1), np.inf), np.ones((n, 1), dtype=bool)

    def _boxes(self):
        given = self.proof["tree"]
        tree = Trees(
            given["column"],
            given["end"],
            given["left"],
            given["right"],
            [0] * len(given["left"]),
            [0],
            len(self.low),
        )
        need({len(given["answer"]), len(given["bound"])} == {len(tree.left)}, "proof: lengths")
        stack, ready, n_ready = [(np.array([0]), self.whole())], [], 0
        while stack:
            nodes, box = stack.pop()
            is_leaf = tree.left[nodes] < 0
            ready.append((nodes[is_leaf], [own[:, is_leaf] for own in box]))
            n_ready += is_leaf.sum()
            inner, box = nodes[~is_leaf], [own[:, ~is_leaf] for own in box]
            if len(inner):
                sides = self.split(*box, tree.on[inner], tree.end[inner])
                both = [
                    np.stack(pair, axis=2).reshape(len(self.low), -1)
                    for pair in zip(*sides, strict=True)
                ]
                nodes = np.column_stack([tree.left[inner], tree.right[inner]]).ravel()
                for part in np.array_split(np.arange(len(nodes)), 1 + len(nodes) // 128)[::-1]:
                    stack.append((nodes[part], [own[:, part] for own in both]))
            if n_ready >= BLOCK or not stack:
                nodes = np.concatenate([own[0] for own in ready])
                box = [
                    np.concatenate(own, axis=1)
                    for own in zip(*(own[1] for own in ready), strict=True)
                ]
                self._check_boxes(nodes, *self.tidy(*box))
                ready, n_ready = [], 0

    def _check_boxes(self, nodes, low, high, gap, inside):
        given, uses = self.proof["tree"], self.uses
        answers = np.array([-1 if own is None else own for own in given["answer"]])[nodes]
        bounds = self.filled(given["bound"], np.nan)[nodes]
        need(
            (inside | ((answers < 0) & np.isnan(bounds))).all(), "proof: answers outside", Unproven
        )
        for j, d in self.proof["steps"]:
            # the claim goes from each cell of the feature to the next, so to those beyond
            region, (one, two) = self.document["region"], self.document["uses"]
            pairs = zip(one["columns"], two["columns"], strict=True)
            good = uses.same and [{a, b} for a, b in pairs if a != b] == [{j, d}]
            good = good and region["order"] == [[j, d]] and not region["clauses"]
            limits = self.low, self.high, self.integer
            good = good and all(own[j] == own[d] for own in limits)
            need(good, "proof: steps of what is no single feature", Unproven)
            cuts = np.union1d(self.cuts[j], self.cuts[d])
            near = np.searchsorted(cuts, low[d]) - np.searchsorted(cuts, high[j])
            inside = inside & (near < 2)
        if not inside.any():
            return
        answers, bounds = answers[inside], bounds[inside]
        low, high, gap = low[:, inside], high[:, inside], gap[:, inside]
        uses.look(low, high, gap)
        proven, _, most = self.judge()
        self.settled(proven, low, gap)
        result, labels = uses.parts[0][0], uses.parts[0][2]
        for k in set(answers[answers >= 0].tolist()):
            own = np.flatnonzero(answers == k)
            right = (
                most is None and k < len(labels) and self.is_only(uses.said[result], k)[own].all()
            )
            need(right, "proof: another answer than in the file", Unproven)
        stated = np.flatnonzero(~np.isnan(bounds))
        if most is None:
            need((answers[stated] >= 0).all(), "proof: a bound without an answer", Unproven)
            most = np.full(len(bounds), -np.inf)
            for k in set(answers[stated].tolist()):
                own = stated[answers[stated] == k]
                least = np.full(len(own), np.inf)
                for result, _, names, *_ in uses.parts:
                    mine = names.index(labels[k])
                    for other in range(len(names)):
                        lead = uses.lead(result, mine, other) if other != mine else None
                        need(
                            lead is not None or other == mine, "proof: a bound of no sum", Unproven
                        )
                        if lead is not None:
                            least = np.minimum(least, uses.least(*lead, own))
                most[own] = -np.maximum(least, 0.0)
            bounds = -bounds
        need((bounds[stated] >= most[stated]).all(), "proof: a bound is too strong", Unproven)

    @staticmethod
    def is_only(possible, k):
        return possible[k] & (possible.sum(axis=0) == 1)

    def settled(self, proven, low, gap):
        if not proven.all():
            at = int(np.flatnonzero(~proven)[0])
            point = ["missing" if np.isnan(x) else x for x in low[:, at].tolist()]
            raise Unproven(f"not proven in a box that begins at {point}")

    def _points(self):
        _uses, rows, vary = self.uses, self.proof["rows"], self.proof["vary"]
        n, k = len(self.low), min(self.proof["max_changes"], len(vary))
        places = [j for unit in vary for j in unit]
        right = k >= 0 and rows and {*map(len, rows)} == {n} and {*places} <= {*range(n)}
        need(right and len(set(places)) == len(places), "proof: rows, max_changes or vary")
        point = np.array([self.filled(row, np.nan) for row in rows]).T
        exact = np.isnan(point) | (self.floor(point) == point)
        need(exact.all(), "proof: rows hold numbers that are not of the type")
        self.left, n_boxes = MOST_BOXES, len(rows) * comb(len(vary), k)
        need(n_boxes <= MOST_BOXES, "cannot tell: this takes too many boxes")
        for units in combinations(vary, k):
            low, high, gap = point.copy(), point.copy(), np.isnan(point)
            own = [j for unit in units for j in unit]
            low[own], high[own], gap[own] = -np.inf, np.inf, True
            for i in range(0, len(rows), BLOCK):
                self._divide(*(part[:, i : i + BLOCK] for part in (low, high, gap)))

    def _divide(self, *box):
        """Prove the claim in boxes, which are cut at the models' ends until it is."""
        stack = [box]
        while stack:
            low, high, gap, inside = self.tidy(*stack.pop())
            self.left -= len(inside)
            need(self.left > 0, "cannot tell: this takes too many boxes")
            low, high, gap = low[:, inside], high[:, inside], gap[:, inside]
            if not low.size:
                continue
            self.uses.look(low, high, gap)
            proven, _, _ = self.judge()
            low, high, gap = low[:, ~proven], high[:, ~proven], gap[:, ~proven]
            if not low.size:
                continue
            ranges = [
                [np.searchsorted(cuts, own) for own in (low[j], high[j])]
                for j, cuts in enumerate(self.cuts)
            ]
            ranges = np.array(ranges)
            many = ranges[:, 1] - ranges[:, 0] + 0.5 * (gap & (low <= high))
            j, at = many.argmax(axis=0), np.arange(low.shape[1])
            self.settled(many[j, at] > 0, low, gap)
            middle = ranges[j, :, at].sum(axis=1) // 2
            end = [
                self.cuts[k][m] if many[k, i] >= 1 else np.inf
                for i, (k, m) in enumerate(zip(j, middle, strict=False))
            ]
            stack += self.split(low, high, gap, j, np.array(end))

    def _witness(self):
        given = self.filled(self.proof["point"], np.nan)[:, None]
        need(given.shape == (len(self.low), 1), "proof: point has another length")
        low, high, gap, inside = self.tidy(given.copy(), given.copy(), np.isnan(given))
        right = inside.all() and np.array_equal(self.floor(given), given, equal_nan=True)
        need(right, "the point is not in the region", Unproven)
        self.uses.look(low, high, gap)
        need(self.judge()[1].all(), "the claim is not refuted at the point", Unproven)
        need(len(self.proof["answers"]) == len(self.uses.parts), "proof: answers")
        for own, (result, outputs, labels, *_) in zip(
            self.proof["answers"], self.uses.parts, strict=False
        ):
            said = [
                self.uses.said[i] for i in (outputs if type(own) is list and labels else [result])
            ]
            if labels is not None and type(own) is not list:
                right = own in range(len(labels)) and self.is_only(said[0], own).all()
            else:
                own = own if type(own) is list else [own]
                right = len(own) == len(said) and all(
                    low <= v <= high for v, (low, high) in zip(own, said, strict=False)
                )
            need(right, "proof: other answers than in the file", Unproven)

    # ---------------------------------------------------------------- claims

    def judge(self):
        """Where the claim holds, where it surely does not, and a bound of the numbers, if any."""
        uses, claim = self.uses, self.claim
        said, n = uses.said, uses.mask.shape[1]
        results = [part[0] for part in uses.parts]
        if claim["kind"] in ("same_class", "class_is") or claim.get("of") == "class":
            need(all(part[2] for part in uses.parts), "claim: a class of no classifier")
            return (*getattr(self, "_" + claim["kind"])(*(said[i] for i in results)), None)
        if claim["kind"] == "within":
            return self._within(said, claim["atol"], claim["rtol"])
        steps = results
        if claim["of"] != "value":
            need(fits(claim["of"], {"output": "i"}), "claim: of")
            steps = [part[1][claim["of"]["output"]] for part in uses.parts]
        need(all(uses.kinds[i] != "?" for i in steps), "claim: of")
        low, high = said[steps[0]]
        if claim["kind"] == "in_range":
            ends = self.filled([claim["low"]], -np.inf), self.filled([claim["high"]], np.inf)
            proven = (low >= ends[0]) & (high <= ends[1])
            return proven, (high < ends[0]) | (low > ends[1]), np.full(n, np.nan)
        i, j = steps
        refuted, falls = low > said[j][1], False
        if (
            uses.steps[i][0] == uses.steps[j][0] == "sigmoid"
            and uses.steps[i][2] == uses.steps[j][2]
        ):
            falls = uses.steps[i][2] == 0
            i, j = uses.steps[i][1], uses.steps[j][1]
        low, high = uses.difference(i, j)
        most = -low if falls else high
        most = np.where(uses.alike, np.fmin(most, 0.0), most)
        return most <= 0, refuted, most

    def _class_is(self, possible):
        k = self.claim["class"]
        need(0 <= k < len(possible), "claim: class")
        return self.is_only(possible, k), ~possible[k]

    def _rises(self, one, two):
        order, labels = self.claim["order"], [part[2] for part in self.uses.parts]
        need(order and len(order) == len(one) and labels[0] == labels[1], "claim: order")
        return self._without(one, two, lambda i, j: order[i] > order[j])

    def _same_class(self, one, two):
        names, others = (part[2] for part in self.uses.parts)
        return self._without(one, two, lambda i, j: names[i] != others[j])

    def _without(self, one, two, is_wrong):
        """Where no pair of classes that is wrong is possible; and where no other one is."""
        uses, mix = self.uses, self.proof.get("mix", ())
        (first, _, names, *_), (second, _, others, *_) = uses.parts
        need(min(mix, default=1) > 0, "proof: mix")
        proven, refuted = np.ones((2, one.shape[1]), dtype=bool)
        for i, j in product(range(len(one)), range(len(two))):
            both = one[i] & two[j]
            if not is_wrong(i, j):
                refuted &= ~both
                continue
            both &= ~(uses.is_kept(i) if both.any() and uses.same else uses.alike)
            own = np.flatnonzero(both & proven)
            x = y = None
            if len(own) and mix and names[i] in others and others[j] in names:
                x = uses.lead(first, i, names.index(others[j]))
                y = uses.lead(second, j, others.index(names[i]))
            for m in mix if x and y else ():
                least = (-m * x[0] - y[0], -m * x[1] - y[1], m * x[2] + y[2])
                both[own] &= ~(uses.least(*least, own) > 0)
            proven &= ~both
        return proven, refuted

    def _within(self, said, atol, rtol):
        uses, n = self.uses, self.uses.mask.shape[1]
        need(min(atol, rtol) >= 0, "claim: atol, rtol")
        (first, outs, names, *_), (second, others, more, *_) = uses.parts
        need((names is None) == (more is None), "claim: a class and a number")
        pairs = [(first, second)]
        if names is not None:
            need(outs and others, "claim: models without probabilities")
            every = sorted(set(names) | set(more))
            pairs = [
                (
                    outs[names.index(x)] if x in names else None,
                    others[more.index(x)] if x in more else None,
                )
                for x in every
            ]
        nothing = np.zeros((2, n))
        proven, refuted, most = np.ones(n, dtype=bool), np.zeros(n, dtype=bool), np.zeros(n)
        for i, j in pairs:
            one, two = (nothing if k is None else said[k] for k in (i, j))
            low, high = one - two[::-1]
            bound = np.maximum(-low, high)
            if None not in (i, j):
                is_link = (
                    uses.steps[i][0] == uses.steps[j][0] == "sigmoid"
                    and uses.steps[i][2] == uses.steps[j][2]
                )
                if is_link:
                    i, j, kind = uses.steps[i][1], uses.steps[j][1], uses.steps[i][3]
                closer = np.fmax(*(uses.difference(i, j) * np.array([[-1.0], [1.0]])))
                if is_link:
                    ends = np.stack([said[i], said[j]])
                    nearest = np.maximum(
                        0.0, np.maximum(ends.min(axis=(0, 1)), -ends.max(axis=(0, 1)))
                    )
                    upper = 1.0 / (1.0 + np.exp(nearest))
                    closer = closer * upper * (1.0 - upper) + (1e-12 if kind == "float64" else 1e-5)
                bound = np.fmin(bound, closer)
            bound = np.where(uses.alike, 0.0, bound)
            sizes = (
                np.maximum(0.0, np.maximum(two[0], -two[1])),
                np.maximum(np.abs(two[0]), np.abs(two[1])),
            )
            proven &= bound <= atol + rtol * sizes[0]
            refuted |= np.maximum(low, -high) > atol + rtol * sizes[1]
            most = np.maximum(most, bound)
        return proven, refuted, most


# ------------------------------------------------------------------- words


def words(document):
    """The claim of a document in a sentence, which is made of its data alone."""
    columns, region, proof = document["columns"], document["region"], document["proof"]
    claim, uses, models = document["claim"], document["uses"], document["models"]
    is_not = claim["kind"] == "not"
    claim = claim["claim"] if is_not else claim
    used = [models[use["model"]] for use in uses]
    labels = [json.dumps(label) for label in used[0]["classes"] or ()]
    who = [
        f"model {chr(65 + use['model'])} ({model['name']})"
        for use, model in zip(uses, used, strict=False)
    ]
    of, kind = claim.get("of"), claim["kind"]
    what = "class" if of == "class" else "value"
    if isinstance(of, dict):
        what = f"probability of {labels[of['output']]}"
    # a coordinate that only the second of two inputs has
    source = dict(zip(uses[-1]["columns"], uses[0]["columns"], strict=False))
    second = {d for d, j in source.items() if d != j and d not in uses[0]["columns"]}
    name = []
    for j in range(len(columns)):
        own = columns[source[j] if j in second else j]["name"]
        name.append((f"x{j}" if own is None else str(own)) + " of the second" * (j in second))
    both = who[0] if not second else f"{who[0]}, asked twice,"
    both = f"{who[0]} and {who[1]} answer" if len(set(who)) == 2 else f"{both} answers"
    if kind == "same_class":
        said = f"{both} the same class"
    elif kind == "within":
        own = "probabilities of each class" if labels else "values"
        said = f"{both} {own} a and b with abs(a - b) <= {claim['atol']!r}"
        said += f" + {claim['rtol']!r} * abs(b)" if claim["rtol"] else ""
    elif kind == "class_is":
        said = f"{who[0]} answers the class {labels[claim['class']]}"
    elif kind == "in_range":
        said = f"the {what} that {who[0]} answers is {_ends(claim['low'], claim['high'])}"
    else:
        said = f"the {what} that {who[0]} answers is at least as high for the second"
        if of == "class":
            ranks = sorted(zip(claim["order"], labels, strict=False))
            said += f" (ranks: {', '.join(f'{label} {rank}' for rank, label in ranks)})"
    where, limits = f"every input of finite {region['type']} numbers", []
    if second:
        where = f"every two inputs of finite {region['type']} numbers that are alike but for "
        where += ", ".join(name[source[d]] for d in sorted(second))
    for j, column in enumerate(columns):
        low, high, levels = region["low"][j], region["high"][j], column["levels"]
        if None not in (low, high) and low > high:
            limits.append(f"{name[j]} is missing")
            continue
        if levels is not None and None not in (low, high) and 0 <= low <= high < 10**6:
            known = [*map(json.dumps, levels), "another level"]
            codes = range(int(np.ceil(low)), int(high) + 1)
            limits.append(f"{name[j]} is {' or '.join(known[min(k, len(levels))] for k in codes)}")
        elif (low, high) != (None, None):
            limits.append(f"{name[j]} is {_ends(low, high)}")
        if levels is None and region["integer"][j]:
            limits.append(f"{name[j]} is whole")
        if region["missing"][j]:
            limits.append(f"{name[j]} may be missing")
    limits += [" or ".join(f"{name[j]} is {v}" for j, v in own) for own in region["clauses"]]
    limits += [f"{name[i]} <= {name[j]}" for i, j in region["order"]]
    where += f", where {', '.join(limits)}" if limits else ""
    if proof["kind"] == "points":
        units = [name[unit[0]] for unit in proof["vary"]]
        where += f", that differs from one of {len(proof['rows'])} rows in at most "
        where += f"{proof['max_changes']} of {', '.join(units)}"
    said = f"{where}: {said}."
    return f"It is not so for {said} There is a counterexample." if is_not else f"For {said}"


def _ends(low, high):
    ends = [
        f"{word} {own!r}" for word, own in (("at least", low), ("at most", high)) if own is not None
    ]
    return " and ".join(ends) or "any number"


def text_of(path):
    """The text of a file, which can be compressed."""
    try:
        with (gzip.open if str(path).endswith(".gz") else open)(path, "rb") as file:
            return file.read().decode()
    except (EOFError, MemoryError, OSError, ValueError) as error:
        raise Refused(f"the file cannot be read: {error}") from error


def check(path):
    """Check a file; the sentence that it proves, or `Refused` or `Unproven` is raised."""
    return check_text(text_of(path))


def check_text(text):
    """The same of what a file holds."""
    try:
        document = parse(text)
        with np.errstate(all="ignore"):
            evidence = Evidence(document)
            said = words(document)
            need(said == document["words"], f"words: the data say otherwise: {said}", Unproven)
            evidence.run()
        return said
    except (ArithmeticError, AttributeError, LookupError, MemoryError) as error:
        raise Refused(f"the file cannot be followed: {error!r}") from error
    except (RecursionError, TypeError, ValueError) as error:
        if isinstance(error, Refused):
            raise
        raise Refused(f"the file cannot be followed: {error!r}") from error


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


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
