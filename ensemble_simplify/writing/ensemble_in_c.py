"""Fitted ensembles in C: tables of nodes, a loop, and what is computed from the leaves."""

from __future__ import annotations

import numpy as np

from ensemble_simplify.writing.in_c import c_codes, c_comment, c_number
from ensemble_simplify.writing.program import Probability, StepWriter

# Numbers in a line of a table.
_IN_A_LINE = 8


def ensemble_in_c(ensemble, probabilities, name):
    """A C99 function of a row of doubles; see `export_model`."""
    writer = _Writer(ensemble, name)
    return writer.text(probabilities)


def _table(kind, name, entries):
    """A constant array."""
    lines = [
        "    " + ", ".join(entries[i : i + _IN_A_LINE]) + ","
        for i in range(0, len(entries), _IN_A_LINE)
    ]
    return [f"static const {kind} {name}[] = {{", *lines, "};"]


class _Writer(StepWriter):
    """One C file: tables, functions of steps, and the function itself."""

    def __init__(self, ensemble, name):
        self.ensemble, self.name = ensemble, name
        self.steps, self.n_steps = [], 0
        # the type in which scores are compared behind a softmax, if they are
        self.softmax = None

    # --------------------------------------------------------------- tables

    def tables(self):
        """The nodes of all trees and the values of their leaves."""
        ensemble, forest = self.ensemble, self.ensemble.forest
        name = self.name
        is_leaf = ensemble.leaf >= 0
        end = [
            "INFINITY" if e == np.inf else "-INFINITY" if e == -np.inf else c_number(e)
            for e in np.where(is_leaf, 0.0, ensemble.end).tolist()
        ]
        # a column below 0: a leaf, whose number stands in the place of the left child
        column = np.where(is_leaf, -1, forest.feature)
        left = np.where(is_leaf, ensemble.leaf, forest.left)
        # missing values go left where the right child is negative
        right = np.where(is_leaf, 0, np.where(ensemble.missing_left, -forest.right, forest.right))
        nodes = [
            f"{{{e}, {j}, {a}, {b}}}"
            for e, j, a, b in zip(end, column.tolist(), left.tolist(), right.tolist(), strict=True)
        ]
        lines = [
            "/* A number goes left if it is at most `end`, else right. NAN goes right, or left",
            "   where `right` is negative. Of a leaf, `column` is -1 and `left` its number. */",
            f"struct {name}_node {{ double end; int column, left, right; }};",
            "",
            *_table(f"struct {name}_node", f"{name}_nodes", nodes),
            *_table("int", f"{name}_roots", [str(i) for i in forest.offsets[:-1].tolist()]),
            *_table("double", f"{name}_values", [c_number(v) for v in ensemble.value.ravel()]),
            "",
        ]
        return lines

    # --------------------------------------------------------------- steps

    literal = staticmethod(c_number)

    def tree_sum(self, own):
        kind = "float" if own.single else "double"
        function = f"{self.name}_sum_single" if own.single else f"{self.name}_sum"
        place = f"{own.start}, {own.stop}, {own.column}, {c_number(own.init)}"
        return self._variable(kind, f"{function}(leaf, {place})")

    def operation(self, sign, one, two, single):
        if single and sign == "+":
            return self._variable("float", f"(float)((double){one} + {two})")
        if single:
            return self._variable("float", f"(float){one} {sign} (float){two}")
        # volatile: a product may not be joined with a sum, which would round once
        kind = "volatile double" if sign == "*" else "double"
        return self._variable(kind, f"{one} {sign} {two}")

    def chosen(self, own):
        test = f"label_{own.label} == {own.column}"
        return self._variable("double", f"{test} ? {c_number(own.yes)} : {c_number(own.no)}")

    def _variable(self, kind, value):
        self.n_steps += 1
        self.steps.append(f"    {kind} v{self.n_steps} = {value};")
        return f"v{self.n_steps}"

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
        name, n = self.name, self.ensemble.value.shape[1]
        body = "\n".join(self.steps)
        lines = []
        for single, kind in ((False, "double"), (True, "float")):
            own = f"{name}_sum{'_single' if single else ''}"
            if f"{own}(" not in body:
                continue
            lines += [
                f"static {kind} {own}(const int *leaf, int start, int stop, int column, "
                f"{kind} total)",
                "{",
                "    for (int t = start; t < stop; t++)",
                f"        total += {'(float)' if single else ''}"
                f"{name}_values[leaf[t] * {n} + column];",
                "    return total;",
                "}",
                "",
            ]
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
        ensemble, name, program = self.ensemble, self.name, self.ensemble.program
        self.labels(program)
        if probabilities:
            self._probabilities(program.outputs)
            kind, arguments, nothing = "void", "const double *x, double *proba", []
            nothing = [f"proba[{k}] = NAN;" for k in range(len(ensemble.classes))] + ["return;"]
        elif ensemble.classes is None:
            self.steps.append(f"    return {self.number(program.result)};")
            kind, arguments, nothing = "double", "const double *x", ["return NAN;"]
        else:
            self.label(program.result, "answer")
            self.steps.append("    return answer;")
            kind, arguments, nothing = "int", "const double *x", ["return -1;"]
        codes, any_text, checks = [], False, []
        for j in ensemble.coded:
            lines, text = c_codes(ensemble, j, name)
            codes += lines
            any_text |= text
            if ensemble.unknown(j) == "refused":
                checks.append(f"x[{j}] < 0")
        about = [f"   x[{j}]: {c_comment(ensemble.shown(j))}" for j in ensemble.used]
        if ensemble.classes is not None:
            about += [f"   class {k}: {c_comment(c)}" for k, c in enumerate(ensemble.classes)]
        refusal = [
            f"    if ({' || '.join(checks)}) {{",
            *(f"        {n}" for n in nothing),
            "    }",
        ]
        return "\n".join(
            [
                "#include <math.h>",
                *(["#include <string.h>"] if any_text else []),
                "",
                *codes,
                *self.tables(),
                *self.helpers(),
                f"/* An ensemble of {ensemble.n_trees} trees with {len(ensemble.value)} leaves on "
                f"rows of {ensemble.n_features} columns; NAN is missing.",
                *about,
                "*/",
                f"{kind} {name}({arguments})",
                "{",
                f"    int leaf[{max(1, ensemble.n_trees)}];",
                *(refusal if checks else []),
                f"    for (int t = 0; t < {ensemble.n_trees}; t++) {{",
                f"        int i = {name}_roots[t];",
                f"        while ({name}_nodes[i].column >= 0) {{",
                f"            const struct {name}_node *node = &{name}_nodes[i];",
                "            double own = x[node->column];",
                "            int right = node->right < 0 ? -node->right : node->right;",
                "            int to_left = own <= node->end || (isnan(own) && node->right < 0);",
                "            i = to_left ? node->left : right;",
                "        }",
                f"        leaf[t] = {name}_nodes[i].left;",
                "    }",
                *self.steps,
                "}",
                "",
            ]
        )

    def _probabilities(self, outputs):
        """Write the steps that fill the array of probabilities."""
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
