"""Fitted trees and ensembles in C: nested code, or tables, and what is computed from the leaves.

In 16 bits, a function turns numbers into codes, and the trees go by these.
"""

from __future__ import annotations

import math
import re
from functools import cached_property
from itertools import pairwise
from string import Template
from types import SimpleNamespace

import numpy as np

from ensemble_simplify.writing.code import Probability, Text
from ensemble_simplify.writing.in_braces import (
    Braces,
    BracesFile,
    in_comment,
    numbers_in_lines,
    template_of,
)
from ensemble_simplify.writing.int16 import LAST, MISSING
from ensemble_simplify.writing.named_columns import ALL
from ensemble_simplify.writing.words import blocks, checked_text, literal_kind, used_features


def c_string(text) -> str:
    """A string literal of ASCII, in UTF-8."""
    encoded = checked_text(text, "level", "C").encode("utf-8")
    # octal, which ends after three digits: a hexadecimal escape takes all digits that follow; and
    # no question marks, of which two begin a trigraph
    as_is = set(range(32, 127)) - set(b'"\\?')
    return '"' + "".join(chr(b) if b in as_is else f"\\{b:03o}" for b in encoded) + '"'


def c_number(value) -> str:
    """A double in hexadecimal, without zeros at its end."""
    if not math.isfinite(value):
        return "-INFINITY" if value < 0 else "INFINITY"
    digits, exponent = float(value).hex().split("p")
    return f"{digits.rstrip('0').removesuffix('.')}p{exponent}"


def c_codes(tree, j, name) -> str:
    """The function that turns a level of a column into its code."""
    levels, _ = tree.literals(j, mixed=False)
    kinds = {literal_kind(level, "level", "C") for level in levels}
    other = {"code": f"{len(levels)}", "missing": "NAN", "refused": "-1"}[tree.unknown(j)]
    text = str in kinds
    missing, equal = "level == NULL", "strcmp(level, {}) == 0"
    if not text:
        missing, equal = "isnan(level)", "level == {}"
    lines = [
        f"/* Code of a level of {in_comment(tree.shown(j))}, for x[{j}]; "
        f"{'NULL' if text else 'NAN'} is missing, {other} stands for other levels. */",
        f"double {name}_code_{j}({'const char *' if text else 'double '}level)",
        "{",
        f"    if ({missing}) return NAN;",
    ]
    for code, level in enumerate(levels):
        literal = c_string(level) if text else c_number(level)
        lines.append(f"    if ({equal.format(literal)}) return {code};")
    return "\n".join([*lines, f"    return {other};", "}", ""])


def tree_in_c(tree, probabilities, name) -> str:
    def test(node, left):
        j, to_left = int(tree.nodes.feature[node]), bool(tree.missing_left[node])
        threshold = float(tree.nodes.threshold[node])
        comment, has_levels = "", tree.levels(j) is not None
        if has_levels:
            words = tree.condition(j, ALL.below(threshold, to_left))
            comment = f" /* {'' if left else 'not: '}{in_comment(words)} */" if words else ""
        if np.isinf(threshold):
            goes_left = "1" if to_left else f"!isnan(x[{j}])"
        else:
            # codes are whole numbers, so any number between two of them parts these
            goes_left = f"x[{j}] < {math.floor(threshold) + 0.5!r}"
            if not has_levels:
                boundary, inclusive = tree.boundary(j, threshold)
                goes_left = f"x[{j}] {'<=' if inclusive else '<'} {c_number(boundary)}"
            goes_left += f" || isnan(x[{j}])" if to_left else ""
        return f"if ({goes_left if left else f'!({goes_left})'}) {{{comment}"

    def leaf(node):
        if probabilities:
            parts = [f"proba[{k}] = {c_number(p)};" for k, p in enumerate(tree.value[node])]
            return [*parts, "return;"]
        if tree.classes is None:
            return [f"return {c_number(tree.label(node))};"]
        k = int(tree.value[node].argmax())
        return [f"return {k}; /* {in_comment(tree.classes[k])} */"]

    used, nothing, kind = used_features(tree), ["return -1;"], "int"
    if probabilities:
        kind, nothing = "void", [*_filled("proba", len(tree.classes), "NAN"), "return;"]
    elif tree.classes is None:
        kind, nothing = "double", ["return NAN;"]
    codes = [c_codes(tree, j, name) for j in used if tree.levels(j) is not None]
    return "\n".join(
        [
            f"#include <math.h>{_string_header(codes)}",
            "",
            *codes,
            f"/* A decision tree of {tree.nodes.n_leaves} leaves on rows of {tree.n_features} "
            "columns; NAN is missing.",
            *_about(tree, used),
            "*/",
            f"{kind} {name}(const double *x{', double *proba' if probabilities else ''})",
            "{",
            *([] if used else ["    (void)x;"]),
            *_refusal(tree, used, "x[{}] < 0", nothing),
            *blocks(tree.nodes, test, leaf, "}"),
            "}",
            "",
        ]
    )


def _string_header(codes):
    return "\n#include <string.h>" if any("strcmp(" in own for own in codes) else ""


def _about(named, used):
    """What features and classes are, as lines of a comment."""
    lines = [f"   x[{j}]: {in_comment(named.shown(j))}" for j in used]
    classes = enumerate(named.classes or ())
    return lines + [f"   class {k}: {in_comment(label)}" for k, label in classes]


def _refusal(named, used, test, nothing):
    """Lines that answer rows with a level that is refused, where there are such levels."""
    refused = (j for j in used if named.levels(j) is not None and named.unknown(j) == "refused")
    tests = " || ".join(map(test.format, refused))
    lines = [f"    if ({tests}) {{", *(f"        {own}" for own in nothing), "    }"]
    return lines if tests else []


def _filled(array, n, value):
    return [f"{array}[{k}] = {value};" for k in range(n)]


# What C says differently from the languages of `in_braces`.
_C = Braces(
    "model.c99",
    "C",
    "double {name} = {value};",
    "int {name} = {value};",
    "",
    infinity="INFINITY",
    truth=("0", "1"),
    product="{own}product({})",
    spread="{1}, {0}",
    indent=4,
    own="{}_",
)
# Rows that go through a tree together, which then stays in the processor's cache; and the entries
# that leaves of as many trees and rows may have on the stack.
_BLOCK, _ON_STACK = 64, 16_384


def ensemble_in_c(ensemble, probabilities, name, *, nested=False, int16=None, told=()) -> str:
    """A C99 function of a row of doubles; see `export_model`.

    `int16` is the ensemble in 16 bits, if that is wanted; `told` are lines for the comment.
    """
    return _CFile(ensemble, name, nested, int16).text(probabilities, told)


def _called(template, called):
    """A template without the static functions and tables of which nothing below them speaks."""
    kept = []
    for part in reversed(template.split("\n\n")):
        found = re.search(r"^static .*?\$\{name\}_(\w+)[(\[]", part, re.MULTILINE)
        if found is None or found[1] in called:
            kept.append(part)
            called = called | set(re.findall(r"\$\{name\}_(\w+)", part))
    return "\n\n".join(reversed(kept))


class _CFile(BracesFile):
    """One C file. Its function of a block of rows walks one tree after the other."""

    literal = staticmethod(c_number)

    def __init__(self, ensemble, name, nested, int16):
        super().__init__(ensemble, _C, name)
        self.nested, self.int16 = nested, int16
        # leaves that say one number stand for themselves
        self.is_number = ensemble.value.shape[1] == 1
        values = ensemble.value if int16 is None else int16.count
        write = c_number if int16 is None else str
        self.values = [write(value) for value in values.ravel().tolist()]
        self.entry, self.value = ("double", "double") if int16 is None else ("int16_t", "int16_t")
        self.leaf = "int"
        if self.is_number:
            self.leaf = "double" if int16 is None else "int32_t"

    # --------------------------------------------------------------- steps

    def listed(self, numbers):
        return f"{len(numbers)}, (double[]){{{', '.join(numbers) or '0'}}}"

    def text_of(self, text, lines):
        found = '""'
        for k, (line, texts) in enumerate(zip(lines, text.texts, strict=True), start=1):
            listed = f"(const char *[]){{{', '.join(map(c_string, texts))}}}"
            found = f"label_{text.label} == {k} ? {listed}[(int){line}] : {found}"
        return found

    def tree_sum(self, leaf_sum):
        if self.int16 is None:
            return super().tree_sum(leaf_sum)
        place = f"{leaf_sum.start}, {leaf_sum.stop}, {leaf_sum.column}"
        return self._variable(f"{self.own}sumUnits(leaf, {place}, {c_number(self.int16.unit)})")

    def _kind(self):
        return int if self.ensemble.classes else float

    def _answer(self, label):
        return label

    def _probabilities(self, outputs):
        # into the array itself
        first = outputs[0]
        if isinstance(first, Probability):
            numbers, single = list(map(self.number, first.numbers)), self._truth(first.single)
            if first.link == "sigmoid":
                self.steps.append(f"{self.own}sigmoid({numbers[0]}, out);")
                return
        else:
            numbers = map(self.number, outputs)
        self.steps += [f"out[{k}] = {own};" for k, own in enumerate(numbers)]
        if isinstance(first, Probability):
            self.steps.append(f"{self.own}softmax({single}, {len(outputs)}, out);")

    # --------------------------------------------------------------- nodes

    def _in_preorder(self) -> tuple:
        """All nodes, those of each tree in pre-order, and how far on the right child is of each."""
        forest = self.ensemble.forest
        order = forest.in_preorder
        place = np.empty_like(order)
        place[order] = np.arange(len(order))
        return order, np.where(forest.left < 0, 0, place[forest.right] - place)[order]

    @cached_property
    def _texts(self):
        """Of a split, the last number that goes left, or the number of a set; what a leaf says.

        Of several numbers, a leaf says which leaf it is.
        """
        ensemble, write = self.ensemble, c_number if self.int16 is None else str
        ends = ensemble.end if self.int16 is None else self.int16.end
        said = self.values if self.is_number else range(len(self.values))
        texts = [
            str(said[leaf]) if leaf >= 0 else write(end)
            for leaf, end in zip(ensemble.leaf.tolist(), ends.tolist(), strict=True)
        ]
        for node in np.flatnonzero(ensemble.is_set).tolist():
            texts[node] = str(ensemble.forest.sets.which[node])
        return texts

    def _table(self, small):
        """The nodes of all trees as a table, and a loop."""
        ensemble, forest, n = self.ensemble, self.ensemble.forest, self.ensemble.n_features
        (order, further), sets = self._in_preorder(), forest.sets
        leaf, begin = ensemble.leaf[order], forest.offsets[:-1]
        # leaves are counted in their tree, unless they stand for themselves
        first, right = np.zeros_like(begin), further
        if not self.is_number:
            first = (np.cumsum(leaf >= 0) - (leaf >= 0))[begin]
            in_tree = leaf - np.repeat(first, np.diff(forest.offsets))
            right = np.where(leaf >= 0, in_tree, further)
        column = forest.feature + n * ensemble.is_set
        column = np.where(ensemble.missing_left, -2 - column, column)[order]
        column[leaf >= 0] = -1
        entries = (own.tolist() for own in (order, leaf, column, right))
        nodes = [
            f"{{{self._texts[i] if k < 0 or self.is_number else 0}, {j}, {to}}}"
            for i, k, j, to in zip(*entries, strict=True)
        ]
        roots = [f"{{{i}, {k}}}" for i, k in zip(begin.tolist(), first.tolist(), strict=True)]
        widest = right.max(initial=0)
        exact, below = self.int16 is None, "own <= node->end"
        number = "at[k]->end" if self.is_number else f"{self.own}roots[t].leaf + (int)at[k]->right"
        return template_of("nodes.c99").substitute(
            small,
            found="`end` is what it says" if self.is_number else "`right` its number in the tree",
            about_sets=""
            if sets is None
            else f"\n   Of columns from {n} on, less {n}, `end` is the number of a set.",
            place="int" if exact else "int16_t",
            # nodes of six bytes in 16 bits, unless a tree is too large for that
            wide="int" if exact else f"uint{16 if widest < 2**16 else 32}_t",
            nodes=numbers_in_lines(nodes),
            roots=numbers_in_lines(roots),
            modulo="" if sets is None else f" % {n}",
            is_missing="isnan(own)" if exact else "own == INT16_MIN",
            is_below=below
            if sets is None
            else f"column < {n} ? {below} : {self.own}in(own, (int)node->end)",
            number=number,
        )

    def _functions(self):
        """A function for each tree, of nested tests."""
        ensemble, name, n = self.ensemble, self.own, self.ensemble.n_features
        lines, calls, (order, further) = [], [], self._in_preorder()
        for t, (begin, stop) in enumerate(pairwise(ensemble.forest.offsets.tolist())):
            own, node = order[begin:stop], np.arange(stop - begin)
            right = np.where(further[begin:stop] > 0, node + further[begin:stop], -1)
            tree = SimpleNamespace(left=np.where(right < 0, -1, node + 1), right=right)

            def test(node, left, own=own):
                condition = self._goes_left(own[node])
                return f"if ({condition if left else f'!({condition})'}) {{"

            def leaf(node, own=own):
                return [f"return {self._texts[own[node]]};"]

            lines += [
                f"static {self.leaf} {name}tree_{t}(const {self.entry} *x)",
                "{",
                *(["    (void)x;"] if len(own) == 1 else []),
                *blocks(tree, test, leaf, "}"),
                "}",
                "",
            ]
            place = f"leaf[i * {ensemble.n_trees}L + {t}] = {name}tree_{t}(x + i * {n}L);"
            calls.append(f"    for (int i = 0; i < n; i++) {place}")
        head = f"static void {name}leaves(const {self.entry} *x, int n, {self.leaf} *leaf)"
        return "\n".join([*lines, head, "{", *calls, "}"])

    def _goes_left(self, node):
        """The test of a split of the forest."""
        x, end = f"x[{self.ensemble.forest.feature[node]}]", self._texts[node]
        to_left = bool(self.ensemble.missing_left[node])
        missing = f"isnan({x})" if self.int16 is None else f"{x} == INT16_MIN"
        if self.ensemble.is_set[node]:
            below = f"{self.own}in({x}, {end})"
        elif end in ("INFINITY", f"{LAST}"):
            return "1" if to_left else f"!({missing})"
        elif end in ("-INFINITY", f"{MISSING}"):
            return missing if to_left else "0"
        else:
            below = f"{x} <= {end}"
            if self.int16 is not None:  # INT16_MIN is the least number
                return below if to_left else f"{below} && !({missing})"
        return f"{below} || {missing}" if to_left else below

    # --------------------------------------------------------------- the whole

    def text(self, probabilities, told):
        ensemble, name, int16 = self.ensemble, self.name, self.int16
        answer, _ = self._answered(probabilities)
        kind, width, nothing = ("int", 1, "-1") if ensemble.classes else ("double", 1, "NAN")
        if probabilities:
            outputs = ensemble.code.outputs
            kind, width, nothing = "double", len(outputs), "NAN"
            if isinstance(outputs[0], Text):
                kind, nothing = "const char *", '""'
        else:
            self.steps.append(f"out[0] = {answer};")
        of_row = f"{kind} {{}}(const {{}} *x)"
        if probabilities:
            of_row = f"void {{}}(const {{}} *x, {kind} *proba)".replace("* *", "**")
        main = name if int16 is None else f"{name}_int16"
        codes = [c_codes(ensemble, j, name) for j in ensemble.coded]
        test = "x[{0}] < 0" if int16 is None else "(x[{0}] < 0 && x[{0}] != INT16_MIN)"
        nothing = [*_filled("out", width, nothing), "return;"]
        refusal = _refusal(ensemble, ensemble.used, test, nothing)
        small = {
            "name": name,
            "entry": self.entry,
            "leaf": self.leaf,
            "n_trees": max(1, ensemble.n_trees),
            "n_features": ensemble.n_features,
        }
        sets = ensemble.forest.sets
        called = set(re.findall(rf"\b{self.own}(\w+)", "\n".join(self.steps)))
        called |= {"answer"} | ({"values"} if not self.is_number else set())
        called |= {"in"} if sets is not None else set()
        first, goes_left = [], []
        if sets is not None:
            first, goes_left = sets.offsets.tolist(), sets.goes_left.astype(int).tolist()
        text = Template(_called(template_of(_C.file).template, called)).substitute(
            small,
            headers="\n#include <stdint.h>" * (int16 is not None) + _string_header(codes),
            levels="\n".join(codes),
            first_code=", ".join(map(str, first)),
            codes=numbers_in_lines(list(map(str, goes_left))),
            trees=self._functions() if self.nested else self._table(small),
            value=self.value,
            values=numbers_in_lines(self.values),
            said="leaf[t]"
            if self.is_number
            else f"{self.own}values[leaf[t] * {ensemble.value.shape[1]} + column]",
            total="int32_t" if int16 is not None and int16.sums_fit else "int64_t",
            refusal="\n".join(refusal),
            steps="\n".join(f"    {step}" for step in self.steps),
            about="\n".join(
                [
                    f"{self._about()[:-1]}; NAN is missing.",
                    *_about(ensemble, ensemble.used),
                    *(f"   {in_comment(line)}" for line in told),
                ]
            ),
            function=of_row.format(main, self.entry),
            function_name=main,
            out=kind,
            width=width,
            block=max(1, min(_BLOCK, _ON_STACK // max(1, ensemble.n_trees))),
            declared="" if probabilities else f"{kind} out;\n    ",
            place="proba" if probabilities else "&out",
            returned="" if probabilities else "\n    return out;",
        )
        if int16 is None:
            return text
        code = f"codes[{{0}}] = {name}_code(x[{{0}}], {{1}}, {{2}});"
        per_column = (
            f"    {code.format(j, c_number(int16.low[j]), c_number(int16.per_unit[j]))}"
            for j in ensemble.used
        )
        call = f"{main}(codes{', proba' if probabilities else ''});"
        return text + template_of("int16.c99").substitute(
            small,
            last=LAST,
            codes="\n".join(per_column),
            function=of_row.format(name, "double"),
            call=call if probabilities else f"return {call}",
        )
