"""Fitted trees and ensembles in Python, with its standard library alone."""

from __future__ import annotations

import numpy as np

from ensemble_simplify.writing.code import Probability, StepWriter, Text
from ensemble_simplify.writing.named_columns import ALL
from ensemble_simplify.writing.words import (
    blocks,
    literal_kind,
    one_line,
    used_features,
)


def python_value(value, what) -> str:
    literal_kind(value, what, "Python")
    return repr(value)


def level_readers(named, used, name) -> list[str]:
    """The functions that make of an entry what its level is looked up by, as far as they serve."""
    lines = []
    if any(named.levels(j) is not None and _are_numbers(named, j) for j in used):
        lines += [
            f"def _{name}_level(entry):",
            '    """A level that is a number, also where a text says it."""',
            "    if not isinstance(entry, str):",
            "        return entry",
            '    if entry in ("True", "False"):',
            '        return entry == "True"',
            "    try:",
            "        return float(entry) if entry else None",
            "    except ValueError:",
            "        return entry",
            *("", ""),
        ]
    if any(_is_catboosts(named, j) for j in used):
        lines += [
            f"def _{name}_text(entry):",
            '    """The text by which CatBoost knows an entry."""',
            "    if isinstance(entry, bytes):",
            "        return entry.decode()",
            "    return str(int(entry) if isinstance(entry, bool) else entry)",
            *("", ""),
        ]
    return lines


def _is_catboosts(named, j) -> bool:
    return named.table is not None and j in named.table.hashed


def _key(named, j, entry, name) -> str:
    """What an entry of a column with levels is looked up by."""
    if not named.literals(j)[1]:
        return entry
    return f"_{name}_text({entry})" if _is_catboosts(named, j) else f"str({entry})"


def _are_numbers(named, j) -> bool:
    levels, of_text = named.literals(j)
    return not of_text and not any(isinstance(level, str) for level in levels)


def python_set(levels) -> str:
    listed = ", ".join(python_value(level, "level") for level in levels)
    return f"({listed},)" if len(levels) == 1 else f"({listed})"


def _is_missing(named, j, entry) -> str:
    """The test for a gap in a column of levels: None or NaN, unless one of them is a level."""
    if named.table.columns[j].lacks_none:
        return f"{entry} is None"
    if named.table.columns[j].knows_nan:
        return f"{entry} != {entry}"
    return f"{entry} is None or {entry} != {entry}"


def tree_in_python(tree, probabilities, name) -> str:
    used = used_features(tree)
    labels = [python_value(c, "label") for c in tree.classes or ()]

    def test(node, left):
        j, to_left = int(tree.nodes.feature[node]), bool(tree.missing_left[node])
        threshold = float(tree.nodes.threshold[node])
        if tree.levels(j) is not None:
            goes_left = python_levels(tree, j, threshold, name)
            goes_left += f" or missing{j}" if to_left else ""
        elif np.isinf(threshold):
            goes_left = "True" if to_left else f"x{j} == x{j}"
        else:
            boundary, inclusive = tree.boundary(j, threshold)
            goes_left = f"x{j} {'<=' if inclusive else '<'} {boundary!r}"
            goes_left += f" or x{j} != x{j}" if to_left else ""
        return f"if {goes_left if left else f'not ({goes_left})'}:"

    def leaf(node):
        if probabilities:
            pairs = zip(labels, tree.value[node].tolist(), strict=True)
            return [f"return {{{', '.join(f'{label}: {p!r}' for label, p in pairs)}}}"]
        if tree.classes is None:
            return [f"return {tree.label(node)!r}"]
        return [f"return {labels[int(tree.value[node].argmax())]}"]

    body = blocks(tree, test, leaf, None)
    lines = [
        *level_readers(tree, used, name),
        f"def {name}(row):",
        f'    """Answer of a decision tree of {tree.nodes.n_leaves} leaves for one row."""',
    ]
    for j in used:
        key = j if tree.names is None else tree.names[j]
        lines.append(f"    x{j} = row[{key!r}]")
        if tree.levels(j) is None:
            lines.append(f'    x{j} = float("nan") if x{j} in (None, "") else float(x{j})')
            continue
        absent = _is_missing(tree, j, f"x{j}")
        if _are_numbers(tree, j):
            lines[-1] = f"    x{j} = _{name}_level(row[{key!r}])"
        known, entry = python_set(tree.literals(j)[0]), _key(tree, j, f"x{j}", name)
        if not any(f"missing{j}" in line for line in body) and tree.unknown(j) != "refused":
            continue
        if tree.unknown(j) == "missing":
            absent += f" or {entry} not in {known}"
        lines.append(f"    missing{j} = {absent}")
        if tree.unknown(j) == "refused":
            lines.append(f"    if not (missing{j} or {entry} in {known}):")
            lines.append(f'        raise ValueError("unknown level: " + repr(x{j}))')
    return "\n".join([*lines, *body, ""])


def python_levels(tree, j, threshold, name) -> str:
    """The test whether a level goes left that is not missing."""
    levels, codes = tree.literals(j)[0], tree.codes(j, ALL.below(threshold, False))
    if codes == tree.codes(j, ALL):
        return f"not missing{j}"
    listed = python_set([levels[code] for code in codes if code < len(levels)])
    return f"{_key(tree, j, f'x{j}', name)} in {listed}"


def ensemble_in_python(ensemble, probabilities, name, told=()) -> str:
    """A function of a row; see `export_model`. `told` are lines for a comment."""
    return _PythonFile(ensemble, name).text(probabilities, told)


def _float(value) -> str:
    """A double as Python writes it, also where it is not finite."""
    return repr(float(value)) if np.isfinite(value) else f'float("{value}")'


class _PythonFile(StepWriter):
    """One Python file: tables, and the function."""

    def __init__(self, ensemble, name):
        self.ensemble, self.name = ensemble, name
        self.steps, self.n_steps = [], 0

    literal = staticmethod(_float)

    def _variable(self, value):
        self.n_steps += 1
        self.steps.append(f"    v{self.n_steps} = {value}")
        return f"v{self.n_steps}"

    def tree_sum(self, leaf_sum):
        function = f"_{self.name}_sum_single" if leaf_sum.single else f"_{self.name}_sum"
        place = f"{leaf_sum.start}, {leaf_sum.stop}, {leaf_sum.column}, {_float(leaf_sum.init)}"
        return self._variable(f"{function}(leaf, {place})")

    def operation(self, sign, one, two, single):
        value = f"{one} {sign} {two}"
        return self._variable(f"_{self.name}_single({value})" if single else value)

    def exponential(self, number, single):
        # Python refuses what is beyond the largest double
        value = f"math.exp({number}) if {number} < 709.782712893384 else math.inf"
        return self._variable(f"_{self.name}_single({value})" if single else value)

    def chosen(self, choice):
        test = f"label_{choice.label} == {choice.column}"
        return self._variable(f"{_float(choice.yes)} if {test} else {_float(choice.no)}")

    def text_of(self, text, lines):
        if text.texts not in self._kept:
            texts = (f"({', '.join(map(repr, own))},)" for own in (("",), *text.texts))
            self._kept[text.texts] = self._variable(f"({', '.join(texts)},)")
        place = f"(0, {', '.join(lines)})[label_{text.label}]"
        return self._variable(f"{self._kept[text.texts]}[label_{text.label}][int({place})]")

    def above(self, label, number, target):
        sign = ">=" if label.inclusive else ">"
        tests = " + ".join(f"({number} {sign} {_float(at)})" for at in label.at) or "0"
        self.steps.append(f"    {target} = ({label.first} + {tests}) % 2")

    def largest(self, label, numbers, target):
        scores, n = f"of_{target}", len(numbers)
        self.steps.append(f"    {scores} = [{', '.join(numbers)}]")
        if label.softmax is not None:
            single = f"_{self.name}_single" if label.softmax == "float32" else ""
            self.steps += [
                f"    most = max({scores})",
                f"    {scores} = [{single}(math.exp({single}(v - most))) for v in {scores}]",
                f"    total = {single}(sum({scores}, 0.0))",
                f"    {scores} = [{single}(v / total) for v in {scores}]",
            ]
        # max answers the first of equals, so the last wins where places come backwards
        order = f"range({n - 1}, -1, -1)" if label.last else f"range({n})"
        self.steps.append(f"    {target} = max({order}, key={scores}.__getitem__)")

    def tables(self):
        """The nodes of all trees and the values of their leaves."""
        ensemble, forest = self.ensemble, self.ensemble.forest
        entries = zip(
            ensemble.end.tolist(),
            forest.feature.tolist(),
            forest.left.tolist(),
            forest.right.tolist(),
            ensemble.missing_left.tolist(),
            ensemble.leaf.tolist(),
            strict=True,
        )
        lines = [
            "# (end, column, left, right, whether missing values go left): a number goes left if",
            "# it is at most the end. In a leaf, (number of the leaf,).",
        ]
        if forest.sets is not None:
            lines.append("# In place of an end, (codes, whether these go left, or all others).")
        lines.append(f"_{self.name}_nodes = [")
        for i, (end, j, left, right, to_left, leaf) in enumerate(entries):
            test = ensemble.listed(i) if ensemble.has_set(i) else _float(end)
            node = f"({leaf},)" if leaf >= 0 else f"({test}, {j}, {left}, {right}, {to_left})"
            lines.append(f"    {node},")
        lines += ["]", f"_{self.name}_roots = {forest.offsets[:-1].tolist()}"]
        lines.append(f"_{self.name}_values = [")
        lines += [f"    {tuple(row)}," for row in ensemble.value.tolist()]
        return [*lines, "]", ""]

    def _test(self):
        """Lines that say whether a value goes left."""
        if self.ensemble.forest.sets is None:
            return ["            to_left = own <= end or (own != own and missing_left)"]
        return [
            "            if own != own:",
            "                to_left = missing_left",
            "            elif type(end) is tuple:",
            "                to_left = (own in end[0]) == end[1]",
            "            else:",
            "                to_left = own <= end",
        ]

    def levels(self):
        """A mapping from levels to codes for each column that has levels."""
        lines = []
        for j in self.ensemble.coded:
            levels, _ = self.ensemble.literals(j)
            pairs = (f"{python_value(level, 'level')}: {i}" for i, level in enumerate(levels))
            lines.append(f"_{self.name}_codes_{j} = {{{', '.join(pairs)}}}")
        return [*lines, ""] if lines else []

    def entry(self, j):
        """Lines that put an entry of the row, as a number, in its place."""
        ensemble, key = self.ensemble, j
        if ensemble.names is not None:
            key = ensemble.names[j]
        lines = [f"    entry = row[{key!r}]"]
        if ensemble.levels(j) is None:
            return [*lines, f'    x[{j}] = float("nan") if entry in (None, "") else float(entry)']
        if _are_numbers(ensemble, j):
            lines = [f"    entry = _{self.name}_level(row[{key!r}])"]
        absent = _is_missing(ensemble, j, "entry")
        codes, key_of_code = f"_{self.name}_codes_{j}", _key(ensemble, j, "entry", self.name)
        unknown, levels = ensemble.unknown(j), ensemble.levels(j)
        if unknown == "refused":
            lines += [
                f"    if not ({absent}) and {key_of_code} not in {codes}:",
                '        raise ValueError("unknown level: " + repr(entry))',
            ]
        other = {"code": f"{len(levels)}", "missing": 'float("nan")', "refused": "None"}[unknown]
        lines.append(
            f'    x[{j}] = float("nan") if {absent} else {codes}.get({key_of_code}, {other})'
        )
        return lines

    def helpers(self):
        """The functions that the steps call."""
        name, body, lines = self.name, "\n".join(self.steps), []
        if "_single(" in body:
            lines += [
                "",
                f"def _{name}_single(x):",
                '    """A number, rounded to float32."""',
                '    return struct.unpack("f", struct.pack("f", x))[0]',
                "",
            ]
        for single in (False, True):
            function = f"_{name}_sum_single" if single else f"_{name}_sum"
            if f"{function}(" not in body:
                continue
            value = f"_{name}_values[leaf[t]][column]"
            added = (
                f"_{name}_single(total + _{name}_single({value}))" if single else f"total + {value}"
            )
            lines += [
                "",
                f"def {function}(leaf, start, stop, column, total):",
                "    for t in range(start, stop):",
                f"        total = {added}",
                "    return total",
                "",
            ]
        return lines

    def text(self, probabilities, told):
        """The whole file."""
        ensemble, name, program = self.ensemble, self.name, self.ensemble.code
        labels = [python_value(c, "label") for c in ensemble.classes or ()]
        self.labels(program)
        if probabilities:
            self._probabilities(program.outputs, labels)
        elif ensemble.classes is None:
            self.steps.append(f"    return {self.number(program.result)}")
        else:
            self.label(program.result, "answer")
            self.steps.append(f"    return [{', '.join(labels)}][answer]")
        imports = [m for m in ("math", "struct") if f"{m}." in "\n".join(self.steps)]
        if "_single(" in "\n".join(self.steps):
            imports = sorted({*imports, "struct"})
        helpers = self.helpers()
        lines = [
            *(f"# {one_line(line)}" for line in told),
            *(f"import {module}" for module in imports),
            *([""] if imports else []),
            *self.levels(),
            *self.tables(),
            *helpers,
            "",
            *level_readers(ensemble, ensemble.used, name),
            f"def {name}(row):",
            f'    """Answer of an ensemble of {ensemble.n_trees} trees for one row."""',
            f"    x = [None] * {ensemble.n_features}",
        ]
        for j in ensemble.used:
            lines += self.entry(j)
        lines += [
            "    leaf = []",
            f"    for at in _{name}_roots:",
            f"        node = _{name}_nodes[at]",
            "        while len(node) > 1:",
            "            end, column, left, right, missing_left = node",
            "            own = x[column]",
            *self._test(),
            f"            node = _{name}_nodes[left if to_left else right]",
            "        leaf.append(node[0])",
            *self.steps,
            "",
        ]
        return "\n".join(lines)

    def _probabilities(self, outputs, labels):
        first = outputs[0]
        if isinstance(first, Text):
            self.steps.append(f"    return [{', '.join(map(self.number, outputs))}]")
            return
        if not isinstance(first, Probability):
            numbers = [self.number(value) for value in outputs]
        elif first.link == "sigmoid":
            (number,) = (self.number(value) for value in first.numbers)
            upper = self._variable(
                # beyond, math.exp overflows, which is an error in Python
                f"1.0 / (1.0 + math.exp(-{number})) if {number} > -700.0 else 0.0"
            )
            numbers = [self._variable(f"1.0 - {upper}"), upper]
        else:
            scores = [self.number(value) for value in first.numbers]
            most = self._variable(f"max({', '.join(scores)})")
            powers = [self._variable(f"math.exp({value} - {most})") for value in scores]
            total = self._variable(" + ".join(powers))
            numbers = [self._variable(f"{value} / {total}") for value in powers]
        pairs = (f"{label}: {value}" for label, value in zip(labels, numbers, strict=True))
        self.steps.append(f"    return {{{', '.join(pairs)}}}")
