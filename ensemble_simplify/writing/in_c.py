"""Fitted trees and ensembles in C: nested code, or tables, and what is computed from the leaves.

In 16 bits, a function turns numbers into codes, and the trees go by these.
"""

from __future__ import annotations

import math
from types import SimpleNamespace

import numpy as np

from ensemble_simplify.grid import preorder
from ensemble_simplify.writing.code import Probability, StepWriter, Text
from ensemble_simplify.writing.int16 import LAST, MISSING
from ensemble_simplify.writing.named_columns import ALL
from ensemble_simplify.writing.words import (
    blocks,
    checked_text,
    counted,
    literal_kind,
    one_line,
    used_features,
)


def c_comment(text) -> str:
    """Text inside of a comment: nothing in it ends the comment or joins lines."""
    return (
        one_line(text).replace("*/", "* /").replace("/*", "/ *").replace("??", "? ?").rstrip("\\")
    )


def c_string(text) -> str:
    """A string literal of ASCII, in UTF-8."""
    encoded = checked_text(text, "level", "C").encode("utf-8")
    # octal, which ends after three digits: a hexadecimal escape takes all digits that follow; and
    # no question marks, of which two begin a trigraph
    as_is = set(range(32, 127)) - {ord('"'), ord("\\"), ord("?")}
    return '"' + "".join(chr(b) if b in as_is else f"\\{b:03o}" for b in encoded) + '"'


def c_number(value) -> str:
    """A double in hexadecimal, without zeros at its end."""
    digits, exponent = float(value).hex().split("p")
    return f"{digits.rstrip('0').removesuffix('.') if '.' in digits else digits}p{exponent}"


def c_codes(tree, j, name) -> tuple[list[str], bool]:
    """The function that turns a level of a column into its code."""
    levels, _ = tree.literals(j, mixed=False)
    kinds = {literal_kind(level, "level", "C") for level in levels}
    other = {"code": f"{len(levels)}", "missing": "NAN", "refused": "-1"}[tree.unknown(j)]
    text = str in kinds
    missing, equal = "level == NULL", "strcmp(level, {}) == 0"
    if not text:
        missing, equal = "isnan(level)", "level == {}"
    lines = [
        f"/* Code of a level of {c_comment(tree.shown(j))}, for x[{j}]; "
        f"{'NULL' if text else 'NAN'} is missing, {other} stands for other levels. */",
        f"double {name}_code_{j}({'const char *' if text else 'double '}level)",
        "{",
        f"    if ({missing}) return NAN;",
    ]
    for code, level in enumerate(levels):
        literal = c_string(level) if text else c_number(level)
        lines.append(f"    if ({equal.format(literal)}) return {code};")
    return [*lines, f"    return {other};", "}", ""], text


def tree_in_c(tree, probabilities, name) -> str:
    def test(node, left):
        j, to_left = int(tree.nodes.feature[node]), bool(tree.missing_left[node])
        threshold = float(tree.nodes.threshold[node])
        comment, has_levels = "", tree.levels(j) is not None
        if has_levels:
            words = tree.condition(j, ALL.below(threshold, to_left))
            comment = f" /* {'' if left else 'not: '}{c_comment(words)} */" if words else ""
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
        return [f"return {k}; /* {c_comment(tree.classes[k])} */"]

    frame = _Frame(tree, name, probabilities, used_features(tree), lambda j: f"x[{j}] < 0")
    return "\n".join(
        [
            *frame.head(["math.h"]),
            f"/* A decision tree of {tree.nodes.n_leaves} leaves on rows of {tree.n_features} "
            "columns; NAN is missing.",
            *frame.about,
            "*/",
            frame.function,
            "{",
            *([] if frame.used else ["    (void)x;"]),
            *frame.refusal,
            *blocks(tree, test, leaf, "}"),
            "}",
            "",
        ]
    )


class _Frame:
    """What stands around the nodes of a tree or an ensemble.

    Attributes
    ----------
    used : list of int
        Features that are tested.
    about : list of str
        Lines of the comment: what features and classes are.
    refusal : list of str
        Lines that answer rows with a level that is refused, where there are such levels.
    function : str
        The head of the function.
    """

    def __init__(self, named, name, probabilities, used, refuses):
        self.used, self.codes, self.has_text = used, [], False
        checks, classes = [], named.classes
        for j in (j for j in used if named.levels(j) is not None):
            lines, has_text = c_codes(named, j, name)
            self.codes += lines
            self.has_text |= has_text
            if named.unknown(j) == "refused":
                checks.append(refuses(j))
        kind, more, nothing = "int", "", ["return -1;"]
        if probabilities:
            of_text = not isinstance(named.code.outputs[0], Text) if hasattr(named, "code") else 1
            n, none, of = (len(classes), "NAN", "double ") if of_text else (4, '""', "const char *")
            nothing = [*(f"proba[{k}] = {none};" for k in range(n)), "return;"]
            kind, more = "void", f", {of}*proba"
        elif classes is None:
            kind, nothing = "double", ["return NAN;"]
        self.function = f"{kind} {name}(const double *x{more})"
        self.refusal = []
        if checks:
            answers = [f"        {line}" for line in nothing]
            self.refusal = [f"    if ({' || '.join(checks)}) {{", *answers, "    }"]
        self.about = [f"   x[{j}]: {c_comment(named.shown(j))}" for j in used]
        self.about += [f"   class {k}: {c_comment(label)}" for k, label in enumerate(classes or ())]

    def head(self, headers):
        """The first lines of the file: headers, and functions of levels."""
        headers = [*headers, *(["string.h"] if self.has_text else [])]
        return [*(f"#include <{header}>" for header in headers), "", *self.codes]


# Numbers in a line of a table.
_IN_A_LINE = 8


def ensemble_in_c(ensemble, probabilities, name, *, nested=False, int16=None, told=()) -> str:
    """A C99 function of a row of doubles; see `export_model`.

    `int16` is the ensemble in 16 bits, if that is wanted; `told` are lines for the comment.
    """
    form = _Nested if nested else _Tables
    trees = form(ensemble, name) if int16 is None else _IN_16_BITS[form](int16, name)
    return _CFile(ensemble, name, trees, told).text(probabilities)


def _table(kind, name, entries) -> list[str]:
    """A constant array."""
    lines = [
        "    " + ", ".join(entries[i : i + _IN_A_LINE]) + ","
        for i in range(0, len(entries), _IN_A_LINE)
    ]
    return [f"static const {kind} {name}[] = {{", *lines, "};"]


class _Trees:
    """What a form of trees has in common: the numbers of leaves, and sums of what they say."""

    kind, leaf_kind, headers = "double", "int", ("math.h",)

    def __init__(self, ensemble, name):
        self.ensemble, self.name = ensemble, name

    def values(self):
        """The table of what leaves say."""
        return _table("double", f"{self.name}_values", [c_number(v) for v in self._numbers()])

    def _numbers(self):
        return self.ensemble.value.ravel()

    def set_tables(self) -> list[str]:
        """The sets that nodes test, and a function that looks a code up in one."""
        name, sets = self.name, self.ensemble.forest.sets
        return [
            *_table("int", f"{name}_first_code", list(map(str, sets.offsets.tolist()))),
            *_table("unsigned char", f"{name}_codes", list(map(str, sets.goes_left.tolist()))),
            "",
            "/* Whether a code is in a set; codes beyond the last one are where it is. */",
            f"static int {name}_in(double code, int set)",
            "{",
            f"    int first = {name}_first_code[set], last = {name}_first_code[set + 1] - 1;",
            "    if (isnan(code)) return 0;",
            f"    return {name}_codes[code > last - first ? last : first + (int)code];",
            "}",
            "",
        ]

    def call(self, leaf_sum):
        """The kind of a sum, and what computes it."""
        kind = "float" if leaf_sum.single else "double"
        function = f"{self.name}_sum_single" if leaf_sum.single else f"{self.name}_sum"
        place = f"{leaf_sum.start}, {leaf_sum.stop}, {leaf_sum.column}, {c_number(leaf_sum.init)}"
        return kind, f"{function}(leaf, {place})"

    def sums(self, body):
        """The functions of sums that the steps call."""
        name, n, lines = self.name, self.ensemble.value.shape[1], []
        for single, kind in ((False, "double"), (True, "float")):
            function = f"{name}_sum{'_single' if single else ''}"
            if f"{function}(" not in body:
                continue
            lines += [
                f"static {kind} {function}(const int *leaf, int start, int stop, int column, "
                f"{kind} total)",
                "{",
                "    for (int t = start; t < stop; t++)",
                f"        total += {'(float)' if single else ''}"
                f"{name}_values[leaf[t] * {n} + column];",
                "    return total;",
                "}",
                "",
            ]
        return lines

    def refuses(self, j):
        """The test for a level that the ensemble refuses."""
        return f"x[{j}] < 0"

    def in_preorder(self, t) -> tuple:
        """The nodes of a tree, a left child after its parent, and where they are in the forest."""
        forest = self.ensemble.forest
        nodes = slice(*forest.offsets[t : t + 2])
        inner = forest.left[nodes] >= 0
        children = (
            np.where(inner, c[nodes] - nodes.start, -1) for c in (forest.left, forest.right)
        )
        tree, order = preorder(*children, forest.feature[nodes], np.zeros(len(inner)))
        return tree, order + nodes.start

    def before(self, about, function):
        """What stands before the function of the steps, and its head."""
        return ["/* " + "\n".join(about), "*/", function]

    def after(self, function, probabilities):
        """What stands after it."""
        return []


def node_tables(ensemble) -> list[list]:
    """End, column, left and right of each node, as the loop over a table reads them.

    Of a set, the end is its number, and the column has the number of columns added. Missing values
    go left where the right child is negative. Of a leaf, the column is -1, and its number is in the
    place of the left child.
    """
    forest, is_leaf = ensemble.forest, ensemble.leaf >= 0
    end = np.where(is_leaf, 0.0, ensemble.end)
    column = np.where(is_leaf, -1, forest.feature)
    if forest.sets is not None:
        is_set = forest.sets.is_set & ~is_leaf
        column[is_set] += ensemble.n_features
        end[is_set] = forest.sets.which[is_set]
    left = np.where(is_leaf, ensemble.leaf, forest.left)
    right = np.where(is_leaf, 0, np.where(ensemble.missing_left, -forest.right, forest.right))
    return [own.tolist() for own in (end, column, left, right)]


class _Tables(_Trees):
    """Nodes in a table, and a loop."""

    def tables(self):
        """The nodes of all trees and the values of their leaves."""
        ensemble, forest, name = self.ensemble, self.ensemble.forest, self.name
        end, column, left, right = node_tables(ensemble)
        sets = []
        if forest.sets is not None:
            sets = [
                f"/* From column {ensemble.n_features} on, `end` is the number of a set: a code of",
                f"   the column less {ensemble.n_features} goes left if the set has a 1 for it. */",
                *self.set_tables(),
            ]
        nodes = [
            f"{{{c_number(e) if np.isfinite(e) else str(e).upper() + 'INITY'}, {j}, {a}, {b}}}"
            for e, j, a, b in zip(end, column, left, right, strict=True)
        ]
        return [
            "/* A number goes left if it is at most `end`, else right. NAN goes right, or left",
            "   where `right` is negative. Of a leaf, `column` is -1 and `left` its number. */",
            f"struct {name}_node {{ double end; int column, left, right; }};",
            "",
            *_table(f"struct {name}_node", f"{name}_nodes", nodes),
            *_table("int", f"{name}_roots", [str(i) for i in forest.offsets[:-1].tolist()]),
            *self.values(),
            "",
            *sets,
        ]

    def walk(self):
        """Lines that find the leaf of a row in each tree."""
        name, n = self.name, self.ensemble.n_features
        has_sets = self.ensemble.forest.sets is not None
        column = "node->column"
        is_below = "own <= node->end"
        if has_sets:
            column = f"node->column - (node->column >= {n} ? {n} : 0)"
            is_below = f"(node->column < {n} ? {is_below} : {name}_in(own, (int)node->end))"
        return [
            f"    for (int t = 0; t < {self.ensemble.n_trees}; t++) {{",
            f"        int i = {name}_roots[t];",
            f"        while ({name}_nodes[i].column >= 0) {{",
            f"            const struct {name}_node *node = &{name}_nodes[i];",
            f"            double own = x[{column}];",
            "            int right = node->right < 0 ? -node->right : node->right;",
            f"            int to_left = {is_below} || (isnan(own) && node->right < 0);",
            "            i = to_left ? node->left : right;",
            "        }",
            f"        leaf[t] = {name}_nodes[i].left;",
            "    }",
        ]


class _Nested(_Trees):
    """A function for each tree, of nested tests."""

    def leaf(self, node):
        """What stands for a leaf of the forest."""
        return int(self.ensemble.leaf[node])

    def goes_left(self, node):
        """The test of a split of the forest."""
        x, end = f"x[{self.ensemble.forest.feature[node]}]", self.ensemble.end[node]
        to_left = bool(self.ensemble.missing_left[node])
        if self.ensemble.has_set(node):
            number = self.ensemble.forest.sets.which[node]
            return f"{self.name}_in({x}, {number})" + (f" || isnan({x})" if to_left else "")
        if np.isinf(end):
            return (
                ("1" if to_left else f"!isnan({x})")
                if end > 0
                else (f"isnan({x})" if to_left else "0")
            )
        return f"{x} <= {c_number(end)}" + (f" || isnan({x})" if to_left else "")

    def tables(self):
        """A function for each tree, and the values of the leaves."""
        lines = [] if self.ensemble.forest.sets is None else self.set_tables()
        for t in range(self.ensemble.n_trees):
            tree, order = self.in_preorder(t)

            def test(node, left, order=order):
                condition = self.goes_left(order[node])
                return f"if ({condition if left else f'!({condition})'}) {{"

            def leaf(node, order=order):
                return [f"return {self.leaf(order[node])};"]

            lines += [
                f"static {self.leaf_kind} {self.name}_tree_{t}(const {self.kind} *x)",
                "{",
                *(["    (void)x;"] if tree.n_nodes == 1 else []),
                *blocks(SimpleNamespace(nodes=tree), test, leaf, "}"),
                "}",
                "",
            ]
        return [*lines, *self.values(), ""]

    def walk(self):
        """Lines that find the leaf of a row in each tree."""
        return [f"    leaf[{t}] = {self.name}_tree_{t}(x);" for t in range(self.ensemble.n_trees)]


class _Int16(_Trees):
    """What both forms write of an ensemble in 16 bits, of which `int16` tells."""

    kind, leaf_kind, headers = "int16_t", "int32_t", ("math.h", "stdint.h")

    def __init__(self, int16, name):
        super().__init__(int16.ensemble, name)
        self.int16, self.end = int16, int16.end
        # leaves that say one number stand for themselves
        self.is_number = int16.count.shape[1] == 1
        self.said = int16.count[:, 0] if self.is_number else np.arange(len(int16.count))

    def values(self):
        if self.is_number:
            return []
        return _table("int16_t", f"{self.name}_values", list(map(str, self.int16.count.ravel())))

    def call(self, leaf_sum):
        column = "" if self.is_number else f", {leaf_sum.column}"
        return "double", f"{self.name}_sum(leaf, {leaf_sum.start}, {leaf_sum.stop}{column})"

    def sums(self, body):
        name, n = self.name, self.int16.count.shape[1]
        if f"{name}_sum(" not in body:
            return []
        said = "leaf[t]" if self.is_number else f"{name}_values[leaf[t] * {n} + column]"
        return [
            f"static double {name}_sum(const int32_t *leaf, int start, int stop"
            f"{'' if self.is_number else ', int column'})",
            "{",
            f"    {'int32_t' if self.int16.sums_fit else 'int64_t'} total = 0;",
            "    for (int t = start; t < stop; t++)",
            f"        total += {said};",
            f"    return (double)total * {c_number(self.int16.unit)};",
            "}",
            "",
        ]

    def refuses(self, j):
        return f"(x[{j}] < 0 && x[{j}] != INT16_MIN)"

    def goes_left(self, node):
        x = f"x[{self.ensemble.forest.feature[node]}]"
        if self.ensemble.missing_left[node]:
            return f"{x} <= {self.end[node]}" if self.end[node] < LAST else "1"
        if self.end[node] == MISSING:
            return "0"
        return f"{x} <= {self.end[node]} && {x} != INT16_MIN"

    def leaf(self, node):
        return int(self.said[self.ensemble.leaf[node]])

    def before(self, about, function):
        name, int16 = self.name, self.int16
        codes = [
            f"    codes[{j}] = {name}_code(x[{j}], {c_number(int16.low[j])}, "
            f"{c_number(int16.per_unit[j])});"
            for j in self.ensemble.used
        ]
        return [
            f"static int16_t {name}_code(double x, double low, double per_unit)",
            "{",
            "    double cell = (x - low) * per_unit;",
            "    if (isnan(x)) return INT16_MIN;",
            f"    if (cell > {LAST}) return {LAST};",
            f"    return (int16_t)(cell < -{LAST} ? -{LAST} : floor(cell));",
            "}",
            "",
            "/* Codes of a row of numbers; of a missing one, INT16_MIN. */",
            f"void {name}_codes(const double *x, int16_t *codes)",
            "{",
            *(codes or ["    (void)x; (void)codes;"]),
            "}",
            "",
            "/* " + "\n".join(about),
            "*/",
            function.replace(f"{name}(const double", f"{name}_int16(const int16_t"),
        ]

    def after(self, function, probabilities):
        name = self.name
        call = f"{name}_int16(codes{', proba' if probabilities else ''});"
        return [
            "",
            "/* The same for a row of numbers. */",
            function,
            "{",
            f"    int16_t codes[{self.ensemble.n_features}];",
            f"    {name}_codes(x, codes);",
            f"    {'' if probabilities else 'return '}{call}",
            "}",
        ]


class _Int16Tables(_Int16, _Tables):
    """Nodes of six bytes, in pre-order: a left child stands after its parent."""

    def tables(self):
        ensemble, name = self.ensemble, self.name
        nodes, roots, widest = [], [], 0
        for t in range(ensemble.n_trees):
            tree, order = self.in_preorder(t)
            first = int(ensemble.leaf[order[tree.left < 0]].min())
            roots.append(f"{{{len(nodes)}, {0 if self.is_number else first}}}")
            for i, node in enumerate(order.tolist()):
                if tree.left[i] < 0:
                    stands_for = self.leaf(node)
                    end, right = (stands_for, 0) if self.is_number else (0, stands_for - first)
                    column = -1
                else:
                    end, right = int(self.end[node]), int(tree.right[i]) - i
                    column = int(tree.feature[i])
                    column = -2 - column if ensemble.missing_left[node] else column
                widest = max(widest, right)
                nodes.append(f"{{{end}, {column}, {right}}}")
        # nodes of six bytes, unless a tree is too large for that
        wide = "uint16_t" if widest < 2**16 else "uint32_t"
        found = "`end` is what it says" if self.is_number else "`right` is its number in the tree"
        return [
            "/* A code goes left, to the next node, if it is at most `end`, else to the node that",
            "   is `right` further on. INT16_MIN goes right, or left where `column` is less than",
            f"   -1: then the column is -2 - column. Of a leaf, `column` is -1, and {found}. */",
            f"struct {name}_node {{ int16_t end, column; {wide} right; }};",
            "",
            *_table(f"struct {name}_node", f"{name}_nodes", nodes),
            f"static const struct {{ int32_t node, leaf; }} {name}_roots[] = {{",
            *(f"    {root}," for root in roots),
            "};",
            *self.values(),
            "",
        ]

    def walk(self):
        name = self.name
        leaf_number = (
            "node->end" if self.is_number else f"{name}_roots[t].leaf + (int32_t)node->right"
        )
        return [
            f"    for (int t = 0; t < {self.ensemble.n_trees}; t++) {{",
            f"        const struct {name}_node *node = &{name}_nodes[{name}_roots[t].node];",
            "        while (node->column != -1) {",
            "            int missing_left = node->column < 0;",
            "            int16_t own = x[missing_left ? -2 - node->column : node->column];",
            "            int to_left = own <= node->end && (own != INT16_MIN || missing_left);",
            "            node += to_left ? 1 : node->right;",
            "        }",
            f"        leaf[t] = {leaf_number};",
            "    }",
        ]


class _Int16Nested(_Int16, _Nested):
    """A function for each tree, of nested tests of codes."""


_IN_16_BITS = {_Tables: _Int16Tables, _Nested: _Int16Nested}


class _CFile(StepWriter):
    """One C file: tables, functions of steps, and the function itself."""

    def __init__(self, ensemble, name, trees, told):
        self.ensemble, self.name = ensemble, name
        self.trees, self.told = trees, told
        self.steps, self.n_steps = [], 0
        # the type in which scores are compared behind a softmax, if they are
        self.softmax = None

    # --------------------------------------------------------------- steps

    literal = staticmethod(c_number)

    def tree_sum(self, leaf_sum):
        return self._variable(*self.trees.call(leaf_sum))

    def operation(self, sign, one, two, single):
        # an offset of float64 is added before the sum is rounded
        if single and sign == "+":
            return self._variable("float", f"(float)((double){one} + {two})")
        if single:
            return self._variable("float", f"(float){one} {sign} (float){two}")
        # volatile: a product may not be joined with a sum, which would round once
        kind = "volatile double" if sign == "*" else "double"
        return self._variable(kind, f"{one} {sign} {two}")

    def exponential(self, number, single):
        kind, exp = ("float", "expf") if single else ("double", "exp")
        return self._variable(kind, f"{exp}({number})")

    def chosen(self, choice):
        test = f"label_{choice.label} == {choice.column}"
        return self._variable("double", f"{test} ? {c_number(choice.yes)} : {c_number(choice.no)}")

    def _variable(self, kind, value):
        self.n_steps += 1
        self.steps.append(f"    {kind} v{self.n_steps} = {value};")
        return f"v{self.n_steps}"

    def text_of(self, text, lines):
        found = '""'
        for k, (line, texts) in enumerate(zip(lines, text.texts, strict=True), start=1):
            listed = f"(const char *[]){{{', '.join(map(c_string, texts))}}}"
            found = f"label_{text.label} == {k} ? {listed}[(int){line}] : {found}"
        return found

    def above(self, label, number, target):
        sign = ">=" if label.inclusive else ">"
        tests = " + ".join(f"({number} {sign} {c_number(at)})" for at in label.at) or "0"
        tests = f"({label.first} + {tests}) % 2" if len(label.at) != 1 or label.first else tests
        self.steps.append(f"    int {target} = {tests};")

    def largest(self, label, numbers, target):
        array, kind = f"of_{target}", "float" if label.softmax == "float32" else "double"
        self.steps.append(f"    {kind} {array}[] = {{{', '.join(numbers)}}};")
        if label.softmax is not None:
            self.steps.append(f"    {self.name}_softmax({array}, {len(numbers)});")
            self.softmax = kind
        self.steps.append(
            f"    int {target} = {self.name}_largest({array}, {len(numbers)}, {int(label.last)});"
        )

    def helpers(self):
        """The functions that the steps call."""
        name, body = self.name, "\n".join(self.steps)
        lines = self.trees.sums(body)
        kind = self.softmax or "double"
        if f"{name}_softmax(" in body:
            lines += [
                f"static void {name}_softmax({kind} *x, int n)",
                "{",
                f"    {kind} most = x[0];",
                "    double total = 0;",
                "    for (int i = 1; i < n; i++) if (x[i] > most) most = x[i];",
                f"    for (int i = 0; i < n; i++) x[i] = ({kind})exp(x[i] - most);",
                "    for (int i = 0; i < n; i++) total += x[i];",
                f"    for (int i = 0; i < n; i++) x[i] = x[i] / ({kind})total;",
                "}",
                "",
            ]
        if f"{name}_largest(" in body:
            lines += [
                f"static int {name}_largest(const {kind} *x, int n, int last)",
                "{",
                "    int best = 0;",
                "    for (int i = 1; i < n; i++)",
                "        if (x[i] > x[best] || (last && x[i] == x[best])) best = i;",
                "    return best;",
                "}",
                "",
            ]
        return lines

    # --------------------------------------------------------------- the whole

    def text(self, probabilities):
        """The whole file."""
        ensemble, name, program = self.ensemble, self.name, self.ensemble.code
        self.labels(program)
        if probabilities:
            self._probabilities(program.outputs)
        elif ensemble.classes is None:
            self.steps.append(f"    return {self.number(program.result)};")
        else:
            self.label(program.result, "answer")
            self.steps.append("    return answer;")
        trees = self.trees
        frame = _Frame(ensemble, name, probabilities, ensemble.used, trees.refuses)
        about = [
            f"An ensemble of {counted(ensemble.n_trees, 'tree')} with {len(ensemble.value)} leaves "
            f"on rows of {counted(ensemble.n_features, 'column')}; NAN is missing.",
            *frame.about,
            *(f"   {c_comment(line)}" for line in self.told),
        ]
        return "\n".join(
            [
                *frame.head(trees.headers),
                *trees.tables(),
                *self.helpers(),
                *trees.before(about, frame.function),
                "{",
                f"    {trees.leaf_kind} leaf[{max(1, ensemble.n_trees)}];",
                *frame.refusal,
                *trees.walk(),
                *self.steps,
                "}",
                *trees.after(frame.function, probabilities),
                "",
            ]
        )

    def _probabilities(self, outputs):
        """Write the steps that fill the array of probabilities."""
        # the probabilities of all classes are made of the same numbers: of one, or of all in turn
        first = outputs[0]
        if not isinstance(first, Probability):
            for k, number in enumerate(outputs):
                self.steps.append(f"    proba[{k}] = {self.number(number)};")
            return
        numbers = [self.number(number) for number in first.numbers]
        if first.link == "sigmoid":
            one, exp = ("1.0f", "expf") if first.single else ("1.0", "exp")
            upper = self._variable(
                "float" if first.single else "double", f"{one} / ({one} + {exp}(-{numbers[0]}))"
            )
            self.steps += [f"    proba[0] = {one} - {upper};", f"    proba[1] = {upper};"]
            return
        n = len(numbers)
        self.steps += [
            f"    double power[] = {{{', '.join(numbers)}}}, most = power[0], total = 0;",
            f"    for (int k = 1; k < {n}; k++) if (power[k] > most) most = power[k];",
            f"    for (int k = 0; k < {n}; k++) total += power[k] = exp(power[k] - most);",
            f"    for (int k = 0; k < {n}; k++) proba[k] = power[k] / total;",
        ]
