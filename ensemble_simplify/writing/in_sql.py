"""Fitted trees in SQL, and ensembles: one query, whose steps are common table expressions.

Trees are nested ``CASE``, so that a row passes one path of each; or rows of one table of all nodes,
over which one recursive expression walks. Sums are written as additions, one after the other: an
aggregate could add in any order. Every step is a ``MATERIALIZED`` expression: databases would put
it wherever it is used otherwise, and compute it again at each place.
"""

from __future__ import annotations

import csv
from itertools import pairwise, starmap

import numpy as np

from ensemble_simplify.reading import name_of
from ensemble_simplify.writing.code import (
    Beyond,
    Chosen,
    Exponential,
    LeafSum,
    Operation,
    Probability,
    StepWriter,
    Text,
)
from ensemble_simplify.writing.files import replacing
from ensemble_simplify.writing.named_columns import ALL, Span
from ensemble_simplify.writing.words import number_up, one_line, used_features

# A condition of more terms is written as a balanced tree of ANDs, not as a chain.
_MANY_TERMS = 100


class SqlColumns:
    """The columns of a table, and conditions on them for a tree."""

    def __init__(self, named, table, dialect):
        self.named, self.dialect = named, dialect
        qualifier = "" if table is None else f"{dialect.name(table)}."
        names = [f"x{j}" for j in range(named.n_features)] if named.names is None else named.names
        self.names = [qualifier + dialect.name(name) for name in names]
        self._written = {}

    def entry(self, j):
        """A column with levels, as these are compared with it."""
        levels, _ = self.named.literals(j)
        are_texts = all(isinstance(level, str) for level in levels)
        return self.dialect.column_of_texts.format(self.names[j]) if are_texts else self.names[j]

    def levels(self, j):
        """Literals of the levels of a column."""
        return [self.dialect.value(level, "level") for level in self.named.literals(j)[0]]

    def number(self, j):
        """A column as a double."""
        name, dialect = self.names[j], self.dialect
        if j not in self.named.booleans:
            return dialect.cast(name)
        is_false = dialect.is_false.format(name)
        return dialect.cast(f"CASE WHEN {is_false} THEN 0 WHEN {name} IS NOT NULL THEN 1 END")

    def is_in(self, j, codes, negated=False):
        if not codes:
            return "1 = 1" if negated else "1 = 0"
        levels = self.levels(j)
        listed = ", ".join(levels[code] for code in codes)
        return f"{self.entry(j)} {'NOT IN' if negated else 'IN'} ({listed})"

    def condition(self, j, span):
        """A condition for a span without a lower end; None where everything is in it."""
        if (j, span) not in self._written:
            self._written[j, span] = self._condition(j, span)
        return self._written[j, span]

    def _condition(self, j, span):
        named, name = self.named, self.names[j]
        if named.levels(j) is not None:
            return self._of_levels(j, span)
        if np.isinf(span.high):
            return None if span.missing else f"{name} IS NOT NULL"
        if j in named.booleans:
            words = self.dialect.is_false.format(name) if span.high >= 0 else "1 = 0"
            words = words if span.high < 1 else f"{name} IS NOT NULL"
        else:
            boundary, inclusive = named.boundary(j, span.high)
            value = self.dialect.number_column.format(name)
            words = f"{value} {'<=' if inclusive else '<'} {self.dialect.number(boundary)}"
        return f"({words} OR {name} IS NULL)" if span.missing else words

    def _of_levels(self, j, span):
        tree, name = self.named, self.names[j]
        every, codes, n_levels = tree.codes(j, ALL), tree.codes(j, span), len(tree.levels(j))
        if codes == every and span.missing:
            return None
        if tree.unknown(j) == "missing" and span.missing:
            rest = [code for code in every if code not in set(codes)]
            return f"({self.is_in(j, rest, negated=True)} OR {name} IS NULL)"
        if codes == every and tree.unknown(j) == "code":
            return f"{name} IS NOT NULL"
        words = self.is_in(j, [code for code in codes if code < n_levels])
        return f"({words} OR {name} IS NULL)" if span.missing else words


def conjunction(terms) -> str:
    if len(terms) <= _MANY_TERMS:
        return " AND ".join(terms)
    middle = len(terms) // 2
    return f"({conjunction(terms[:middle])}) AND ({conjunction(terms[middle:])})"


def _decision_list(left, right, root, test, condition):
    """Leaves below a node from left to right, with conditions of a chain of ``if ... else if``.

    A row that reached no leaf before is in this one if it passes the splits at which the path goes
    left: a row of a later leaf fails the one at which the two paths part. ``test(node, passed)``
    adds the test of a split to those that were passed above it; tests of one number become one.
    ``condition(j, span)`` writes one of them; None: it always holds.
    """
    stack = [(root, {})]
    while stack:
        node, passed = stack.pop()
        if left[node] < 0:
            terms = starmap(condition, passed.items())
            yield node, conjunction([term for term in terms if term is not None])
            continue
        # the left child is on top: leaves come from left to right
        stack.append((int(right[node]), passed))
        stack.append((int(left[node]), {**passed, **test(node, passed)}))


def _flat_case(whens, between=" ", end=" END") -> str:
    """A CASE of pairs of a condition and a value, of which the last one stands for all others."""
    last = whens.pop()[1]
    while whens and whens[-1][1] == last:  # all that is left has one answer
        whens.pop()
    listed = [f"WHEN {condition or '1 = 1'} THEN {value}" for condition, value in whens]
    return between.join(["CASE", *listed, f"ELSE {last}"]) + end if whens else last


def tree_in_sql(tree, probabilities, name, table, dialect, *, whole=True) -> str:
    """A SELECT from a table, or (no table, or not `whole`) its expressions; see `export_tree`."""
    columns, whole = SqlColumns(tree, table, dialect), whole and table is not None
    refused = [
        columns.is_in(j, tree.codes(j, ALL), negated=True)
        for j in used_features(tree)
        if tree.levels(j) and tree.unknown(j) == "refused"
    ]
    nodes = tree.nodes

    def test(node, spans):
        j = int(nodes.feature[node])
        threshold, to_left = float(nodes.threshold[node]), bool(tree.missing_left[node])
        return {j: spans.get(j, ALL).below(threshold, to_left)}

    # one WHEN for each leaf: nested CASE would be shorter, but people read and edit these
    leaves = list(_decision_list(nodes.left, nodes.right, 0, test, columns.condition))

    def case(value):
        whens = [(condition, "NULL") for condition in refused]
        whens += [(condition, value(node)) for node, condition in leaves]
        return _flat_case(whens, "\n  ", "\nEND")

    if probabilities:
        parts = [
            f"{case(lambda node, k=k: dialect.number(tree.value[node, k]))} AS "
            f"{dialect.name(f'{name}_{label}')}"
            for k, label in enumerate(tree.classes)
        ]
    else:
        parts = [case(lambda node: dialect.value(tree.label(node), "label"))]
        if whole:
            parts[0] += f" AS {dialect.name(name)}"
    text = ",\n".join(parts)
    return f"SELECT {text}\nFROM {dialect.name(table)}\n" if whole else f"{text}\n"


# Numbers of trees in a step: databases take some two thousand columns.
_VALUES = 800
# Additions in a row: they take a thousand operations.
_ADDITIONS = 100
# Each addition of float32 numbers is one level of nesting.
_SINGLE_ADDITIONS = 8
# Exponentials of less are 0; databases raise errors where they underflow.
_LEAST = -700.0
# Nodes that a row passes in one step of the recursion, each by a join: SQLite makes an index for
# each join, PostgreSQL keeps all steps on disk.
_PASSED = 3
# Rows in one list: of more, SQLite misjudges the number, and makes no index of some tables.
_LISTED = 10_000
# Rows of one INSERT.
_INSERTED = 500
# Sums that a row can carry through the recursion.
_CARRIED = 200


def ensemble_in_sql(
    ensemble, probabilities, name, table, keys, *, dialect, nested=True, nodes=None, told=()
) -> str:
    """A SELECT of the answers to the rows of a table; see `export_model`.

    `nodes` is the file into which they are written, `told` are lines for a comment.
    """
    writer = (_Query if nested else _WalkQuery)(ensemble, name, table, keys, dialect, nodes)
    text = writer.text(probabilities)
    return "".join(f"-- {one_line(line)}\n" for line in [*told, *writer.told]) + text


class _Query(StepWriter):
    """One query: its steps, and the columns that each hands on."""

    opening, numbering = "WITH", ()

    def __init__(self, ensemble, name, table, keys, dialect, nodes):
        self.ensemble, self.name, self.table, self.keys = ensemble, name, table, keys
        self.dialect, self.number_in = dialect, dialect.number
        self.steps, self.sums, self.source = [], {}, dialect.name(table)
        # the file into which nodes are written, and what is told of it
        self.nodes, self.told = nodes, []

    # --------------------------------------------------------------- trees

    def tree(self, t, column):
        """What a tree says in a column, as nested CASE."""
        return self._case(int(self.ensemble.forest.offsets[t]), 0, column)

    def _test(self, node):
        """The condition under which a row goes left; None where every row does."""
        j, missing = int(self.ensemble.forest.feature[node]), bool(self.ensemble.missing_left[node])
        if not self.ensemble.is_set[node]:
            return self._condition(j, self._span(node, ALL))
        codes, to_left = self.ensemble.listed(node)
        if not codes:
            return self._condition(j, Span(high=-np.inf if to_left else np.inf, missing=missing))
        words = f"x{j} {'IN' if to_left else 'NOT IN'} ({', '.join(map(str, codes))})"
        return f"({words} OR x{j} IS NULL)" if missing else words

    def _span(self, node, span):
        return span.below(float(self.ensemble.end[node]), bool(self.ensemble.missing_left[node]))

    def _case(self, node, depth, column):
        ensemble, forest = self.ensemble, self.ensemble.forest
        if ensemble.leaf[node] >= 0:
            return self.number_in(forest.value[node, column])
        if depth == self.dialect.nested:
            return self._list(node, column)
        left, right = (
            self._case(int(side[node]), depth + 1, column) for side in (forest.left, forest.right)
        )
        if left == right:
            return left
        condition = self._test(node) or "1 = 1"
        return f"CASE WHEN {condition} THEN {left} ELSE {right} END"

    def _list(self, node, column):
        """The leaves below a node as one flat CASE: a row of a later leaf fails a test of each."""
        forest = self.ensemble.forest

        def test(node, spans):
            if self.ensemble.is_set[node]:
                # a condition of its own, beside those of the nodes above it
                return {-1 - node: self._test(node)}
            j = int(forest.feature[node])
            return {j: self._span(node, spans.get(j, ALL))}

        found = _decision_list(forest.left, forest.right, node, test, self._condition)
        value = forest.value[:, column]
        return _flat_case([(words, self.number_in(value[leaf])) for leaf, words in found])

    def _condition(self, j, span) -> str | None:
        """A condition on a column for a span without a lower end; None: everything is in it.

        Where `j` is no column, it is written already.
        """
        if j < 0:
            return span
        name = f"x{j}"
        if span.high == np.inf:
            return None if span.missing else f"{name} IS NOT NULL"
        if span.high == -np.inf:
            return f"{name} IS NULL" if span.missing else "1 = 0"
        words = f"{name} <= {self.number_in(span.high)}"
        return f"({words} OR {name} IS NULL)" if span.missing else words

    # --------------------------------------------------------------- numbers

    def literal(self, value):
        return self.dialect.cast(self.number_in(value))

    def tree_sum(self, leaf_sum):
        return self.sums[leaf_sum]

    def operation(self, sign, one, two, single):
        if sign == "/":
            two = self.dialect.divisor.format(one=one, constant=two)
        return self.rounded(f"({one} {sign} {two})", single)

    def exponential(self, number, single):
        return self.rounded(self._power(number), single)

    def rounded(self, value, single):
        """A number, in float32 if it is one."""
        return self.dialect.cast(value, single=True) if single else value

    def _power(self, exponent) -> str:
        """The exponential, 0 where it is next to nothing."""
        least, none = self.number_in(_LEAST), self.number_in(0.0)
        return f"CASE WHEN {exponent} < {least} THEN {none} ELSE EXP({exponent}) END"

    def chosen(self, choice):
        yes, no = self.number_in(choice.yes), self.number_in(choice.no)
        return f"CASE WHEN label_{choice.label} = {choice.column} THEN {yes} ELSE {no} END"

    def text_of(self, text, lines):
        whens = []
        for k, (line, texts) in enumerate(zip(lines, text.texts, strict=True), start=1):
            cases = (f"WHEN {i} THEN {self.dialect.value(t, 'text')}" for i, t in enumerate(texts))
            whens.append(f"WHEN {k} THEN CASE {line} {' '.join(cases)} END")
        none = self.dialect.value("", "text")
        return f"CASE label_{text.label} {' '.join(whens)} ELSE {none} END" if whens else none

    def above_of(self, label, number):
        """The class of a number."""
        sign = ">=" if label.inclusive else ">"
        whens = [
            f"WHEN {number} {sign} {self.number_in(at)} THEN {(label.first + i + 1) % 2}"
            for i, at in reversed(list(enumerate(label.at)))
        ]
        return f"CASE {' '.join(whens)} ELSE {label.first} END" if whens else str(label.first)

    @staticmethod
    def largest_of(numbers, results, last):
        """What goes with the first, or last, of the largest of some numbers."""
        order = list(range(len(numbers)))
        order = order[::-1] if last else order
        whens = []
        for i, k in enumerate(order[:-1]):
            tests = " AND ".join(f"{numbers[k]} >= {numbers[other]}" for other in order[i + 1 :])
            whens.append(f"WHEN {tests} THEN {results[k]}")
        final = str(results[order[-1]])
        return f"CASE {' '.join(whens)} ELSE {final} END" if whens else final

    # --------------------------------------------------------------- steps

    def step(self, new, dropped=()):
        """Add a step that computes columns, (name, expression) each, and hands on the others."""
        if not new and not dropped:
            return
        self.kept = [column for column in self.kept if column not in dropped]
        listed = ",\n    ".join([*self.kept, *(f"{value} AS {column}" for column, value in new)])
        source = self.source
        self.source = f"step_{len(self.steps)}"
        self.steps.append(
            f"{self.source} {self.dialect.opens}\n  SELECT\n    {listed}\n  FROM {source}"
            f"{self.dialect.closes}\n)"
        )
        names = [column for column, _ in new]
        self.kept = [column for column in self.kept if column not in names] + names

    def begin(self):
        """The first step: the columns that are needed, and rows that the ensemble refuses."""
        ensemble, qualifier = self.ensemble, self.source
        columns = SqlColumns(ensemble, self.table, self.dialect)
        new = [
            (f"key_{i}", f"{qualifier}.{self.dialect.name(key)}") for i, key in enumerate(self.keys)
        ]
        refused = []
        for j in ensemble.used:
            if ensemble.levels(j) is None:
                value = columns.number(j)
            else:
                value = self._code(j, columns)
                if ensemble.unknown(j) == "refused":
                    refused.append(f"({value}) < 0")
            new.append((f"x{j}", value))
        new += self.numbering
        if refused:
            new.append(("refused", f"CASE WHEN {' OR '.join(refused)} THEN 1 ELSE 0 END"))
        self.kept = []
        self.step(new or [("nothing", "0")])
        self.refused = bool(refused)

    def _code(self, j, columns):
        """The code of a level: below 0 where it is refused, NULL where it is missing."""
        levels, name = columns.levels(j), columns.entry(j)
        other = {"code": str(len(levels)), "missing": "NULL", "refused": "-1"}
        other = other[self.ensemble.unknown(j)]
        whens = " ".join(f"WHEN {level} THEN {code}" for code, level in enumerate(levels))
        if other == "NULL":
            return f"CASE {name} {whens} END"
        return (
            f"CASE WHEN {columns.names[j]} IS NULL THEN NULL "
            f"ELSE CASE {name} {whens} ELSE {other} END END"
        )

    def add_up(self, needed):
        """Steps that walk all trees, some at a time, and add up what is `needed`."""
        n_trees, inputs = self.ensemble.n_trees, [f"x{j}" for j in self.ensemble.used]
        self.sums = {leaf_sum: f"sum_{i}" for i, leaf_sum in enumerate(needed)}
        self.step([(self.sums[leaf_sum], self.literal(leaf_sum.init)) for leaf_sum in needed])
        columns = [
            sorted({leaf_sum.column for leaf_sum in needed if leaf_sum.start <= t < leaf_sum.stop})
            for t in range(n_trees)
        ]
        n = max(1, _VALUES // max(map(len, columns), default=1))
        single = any(leaf_sum.single for leaf_sum in needed)
        n_added = _SINGLE_ADDITIONS if single else _ADDITIONS
        for first in range(0, n_trees, n):
            trees = range(first, min(n_trees, first + n))
            walked = [(f"tree_{t}_{k}", self.tree(t, k)) for t in trees for k in columns[t]]
            self.step(walked, inputs if trees.stop == n_trees else ())
            for begin in range(0, len(trees), n_added):
                self._add(trees[begin : begin + n_added])
            self.step([], [column for column, _ in walked])

    def _add(self, trees):
        """A step that adds what some trees say to all sums."""
        new = []
        for leaf_sum, column in self.sums.items():
            total = column
            for t in trees:
                if leaf_sum.start <= t < leaf_sum.stop:
                    total = f"{total} + tree_{t}_{leaf_sum.column}"
                    total = self.rounded(total, leaf_sum.single)
            if total != column:
                new.append((column, total))
        self.step(new, {column for column, _ in new})

    # --------------------------------------------------------------- the whole

    def text(self, probabilities):
        """The whole query."""
        ensemble, program = self.ensemble, self.ensemble.code
        final = program.outputs if probabilities else [program.result]
        walked = _within([*program.labels, *final])
        needed = list(dict.fromkeys(step for step in walked if isinstance(step, LeafSum)))
        self.begin()
        self.add_up(needed)
        waiting = list(enumerate(program.labels))
        known = set()
        # members' labels in layers: those that ask for no label, then those that ask for these
        while waiting:
            ready = [(i, own) for i, own in waiting if _asked_for(own) <= known]
            self._label_step({f"label_{i}": own for i, own in ready})
            known |= {i for i, _ in ready}
            waiting = [(i, own) for i, own in waiting if i not in known]
        if probabilities:
            columns = self._probabilities(program.outputs)
        elif ensemble.classes is None:
            # of a sum in float32, all digits
            columns = [(self.name, self.dialect.cast(self.number(program.result)))]
        else:
            self._label_step({"answer": program.result})
            whens = " ".join(
                f"WHEN {k} THEN {self.dialect.value(label, 'label')}"
                for k, label in enumerate(ensemble.classes)
            )
            columns = [(self.name, f"CASE answer {whens} END")]
        if self.refused:
            columns = [(n, f"CASE WHEN refused = 1 THEN NULL ELSE {v} END") for n, v in columns]
        listed = [f"key_{i} AS {self.dialect.name(key)}" for i, key in enumerate(self.keys)]
        listed += [f"{value} AS {self.dialect.name(name)}" for name, value in columns]
        steps = ",\n".join(self.steps)
        select = ",\n  ".join(listed)
        return f"{self.opening} {steps}\nSELECT\n  {select}\nFROM {self.source}\n"

    def _label_step(self, labels):
        """Steps for some labels: the numbers that are compared, and the classes."""
        numbers, new = [], []
        for target, label in labels.items():
            scores = (label.number,) if isinstance(label, Beyond) else label.numbers
            places = [f"{target}_{k}" for k in range(len(scores))]
            numbers += [
                (at, self.number(number)) for at, number in zip(places, scores, strict=True)
            ]
            if isinstance(label, Beyond):
                new.append((target, self.above_of(label, places[0])))
            else:
                new.append((target, self.largest_of(places, range(len(scores)), label.last)))
        self.step(numbers)
        for target, label in labels.items():
            if not isinstance(label, Beyond) and label.softmax is not None:
                single = label.softmax == "float32"
                self._soften([f"{target}_{k}" for k in range(len(label.numbers))], single)
        self.step(new, [column for column, _ in numbers])

    def _soften(self, scores, single):
        """Steps that put the softmax of some columns in their places."""

        def rounded(value):
            return self.rounded(value, single)

        # the largest score is taken off all, as libraries do: no exponential overflows then
        self.step([("most", self.largest_of(scores, scores, False))])
        powers = [(s, rounded(self._power(rounded(f"{s} - most")))) for s in scores]
        self.step(powers, [*scores, "most"])
        doubles = [self.dialect.cast(s) for s in scores]
        self.step([("total", rounded(" + ".join(doubles)))])
        self.step([(s, rounded(f"{s} / total")) for s in scores], [*scores, "total"])

    def _probabilities(self, outputs):
        first = outputs[0]
        labels = range(1, len(outputs) + 1) if isinstance(first, Text) else self.ensemble.classes
        names = [f"{self.name}_{label}" for label in labels]
        if not isinstance(first, Probability):
            return list(zip(names, [self.number(output) for output in outputs], strict=True))
        self.step([(f"score_{k}", self.number(output)) for k, output in enumerate(first.numbers)])
        if first.link == "sigmoid":
            none, one, least, most = map(self.number_in, (0.0, 1.0, _LEAST, -_LEAST))
            power = f"CASE WHEN score_0 > {most} THEN {none} ELSE EXP(-score_0) END"
            upper = f"CASE WHEN score_0 < {least} THEN {none} ELSE {one} / ({one} + {power}) END"
            self.step([("upper", upper)])
            return list(zip(names, [f"{one} - upper", "upper"], strict=True))
        scores = [f"score_{k}" for k in range(len(first.numbers))]
        self._soften(scores, first.single)
        return list(zip(names, scores, strict=True))


class _WalkQuery(_Query):
    """A query in which nodes are a table, and each row is walked through one tree after another.

    On its way, all that is known of a row is its number, the node that it is at, and its sums. The
    leaves of a tree lead to the root of the next one, those of the last tree to a node of no tree.
    """

    opening, numbering = "WITH RECURSIVE", (("place", "ROW_NUMBER() OVER ()"),)

    def add_up(self, needed):
        """The table of nodes, the walk over it, and a step that puts the sums beside the rows."""
        if len(needed) > _CARRIED:
            raise ValueError(
                f"form='tables' in SQL, but {name_of(self.ensemble.model.estimator)} takes "
                f"{len(needed):,} sums, one for each class of each member; the rows carry up to "
                f"{_CARRIED} from node to node. Use form='nested'."
            )
        columns = sorted({own.column for own in needed})
        self.sums = {own: f"sum_{i}" for i, own in enumerate(needed)}
        names = ["node", "tree", "feature", "gaps", "low", "high", *self._sets]
        doubles = ["cut", *(f"value_{k}" for k in columns)]
        rows = list(self._nodes(columns))
        if self.nodes is None:
            self.stored = "step_nodes"
            self.steps += self._listed(rows, names, doubles)
        else:
            self.stored = self.dialect.name(self.nodes.stem)
            with replacing(self.nodes) as new:
                _write_nodes(new, self.stored, self.dialect, names, doubles, rows)
            size = number_up(self.nodes.stat().st_size / 2**20)
            told = f"the table {self.nodes.stem}: {len(rows):,} nodes, {size} MiB."
            self.told = [f"Load {self.nodes.name} first, as {told}"]
        source = self.source
        self.steps.append(self._walk())
        end = self.ensemble.forest.n_nodes
        self.source = f"step_walk JOIN {source} ON place = own_place WHERE at_node = {end}"
        self.kept += self.sums.values()
        self.step([], ["place", *(f"x{j}" for j in self.ensemble.used)])

    def _listed(self, rows, names, doubles):
        """The table of nodes as two steps."""
        known, rows = self.dialect, [_row(self.dialect, row) for row in rows]
        parts = [",\n  ".join(rows[i : i + _LISTED]) for i in range(0, len(rows), _LISTED)]
        listed = " UNION ALL ".join(f"SELECT * FROM (VALUES\n  {part}\n) AS part" for part in parts)
        typed = [*names, *(f"{known.cast(own)} AS {own}" for own in doubles)]
        return [
            f"step_listed({', '.join([*names, *doubles])}) AS ({listed})",
            f"step_nodes {known.opens}\n  SELECT {', '.join(typed)}\n  FROM step_listed\n)",
        ]

    def _nodes(self, columns):
        """Rows of the table of nodes, with what leaves say in some columns."""
        ensemble, forest = self.ensemble, self.ensemble.forest
        nothing, no_set = [0.0] * len(columns), [""] * len(self._sets)
        for t, (root, next_root) in enumerate(pairwise(forest.offsets.tolist())):
            for node in range(root, next_root):
                if ensemble.leaf[node] >= 0:
                    said = [float(forest.value[node, k]) for k in columns]
                    yield [node, t, 0, 0, next_root, next_root, *no_set, 0.0, *said]
                    continue
                cut, gaps = float(ensemble.end[node]), bool(ensemble.missing_left[node])
                low, high = int(forest.left[node]), int(forest.right[node])
                if np.isinf(cut):
                    # no number is at most NULL: all numbers go to `high`, gaps to `low`
                    numbers, missing = low if cut > 0 else high, low if gaps else high
                    low, high, gaps = missing, numbers, True
                chosen = no_set
                if ensemble.is_set[node]:
                    chosen = ["".join("rl"[own] for own in forest.sets.sides(node).astype(int))]
                whole = [node, t, int(forest.feature[node]), int(gaps), low, high]
                yield [*whole, *chosen, cut if np.isfinite(cut) else None, *nothing]
        end = forest.n_nodes
        yield [end, -1, 0, 0, end, end, *no_set, 0.0, *nothing]

    @property
    def _sets(self):
        """The column of the nodes' sets, if there are any: for each code, l or r, where it goes."""
        return [] if self.ensemble.forest.sets is None else ["codes"]

    def _walk(self):
        """The recursion: each step passes some nodes, and adds what they say (splits: nothing)."""
        total = dict(self.sums)
        joins, at, n_trees = [], "at_node", self.ensemble.n_trees
        for node in (f"n{i}" for i in range(_PASSED)):
            joins.append(f"\n  LEFT JOIN {self.stored} AS {node} ON {node}.node = {at}")
            at = self._next(node)
            for leaf_sum, column in total.items():
                said = f"{node}.value_{leaf_sum.column}"
                if leaf_sum.start > 0 or leaf_sum.stop < n_trees:
                    inside = f"{node}.tree >= {leaf_sum.start} AND {node}.tree < {leaf_sum.stop}"
                    said = f"CASE WHEN {inside} THEN {said} ELSE 0E0 END"
                said = f"{column} + {said}"
                total[leaf_sum] = self.rounded(said, leaf_sum.single)
        first = ", ".join(["place", "0", *(self.literal(leaf_sum.init) for leaf_sum in self.sums)])
        sums = ", ".join(self.dialect.cast(leaf_sum) for leaf_sum in total.values())
        listed = ", ".join(["own_place", "at_node", *self.sums.values()])
        return (
            f"step_walk({listed}) AS (\n"
            f"  SELECT {first} FROM {self.source}\n  UNION ALL\n"
            f"  SELECT own_place, {at}, {sums}\n"
            f"  FROM step_walk LEFT JOIN {self.source} ON place = own_place{''.join(joins)}\n"
            f"  WHERE at_node < {self.ensemble.forest.n_nodes}\n)"
        )

    def _next(self, node):
        """The node after another one."""
        whens = " ".join(f"WHEN {j} THEN x{j}" for j in self.ensemble.used)
        value = f"CASE {node}.feature {whens} END" if whens else self.dialect.cast("NULL")
        gaps = f" WHEN {node}.gaps = 1 AND {value} IS NULL THEN {node}.low" if self._gaps() else ""
        in_set = ""
        if self._sets:
            # codes beyond the last one go where it goes; of a gap, the place is NULL
            size = f"LENGTH({node}.codes)"
            place = f"CAST(CASE WHEN {value} >= {size} THEN {size} ELSE {value} + 1 END AS INTEGER)"
            in_set = f" WHEN SUBSTR({node}.codes, {place}, 1) = 'l' THEN {node}.low"
        tests = f"WHEN {value} <= {node}.cut THEN {node}.low{gaps}{in_set}"
        return f"CASE {tests} ELSE {node}.high END"

    def _gaps(self):
        """Whether gaps go to the low side of some split, or to a side of their own."""
        ensemble = self.ensemble
        splits = ensemble.leaf < 0
        return bool((ensemble.missing_left | np.isinf(ensemble.end))[splits].any())


def _row(dialect, row) -> str:
    """A row of a list of values."""
    literals = ["NULL" if own is None else dialect.value(own, "number") for own in row]
    return f"({', '.join(literals)})"


def _write_nodes(path, table, dialect, names, doubles, rows):
    """Write the nodes into a file of SQL, which makes the table, CSV or Parquet."""
    columns = [*names, *doubles]
    if path.suffix == ".parquet":
        import pyarrow
        from pyarrow import parquet

        named = dict(zip(columns, map(list, zip(*rows, strict=True)), strict=True))
        parquet.write_table(pyarrow.table(named), path)
    elif path.suffix == ".csv":
        with path.open("w", encoding="ascii", newline="") as file:
            csv.writer(file).writerows([columns, *rows])
    else:
        types = dict.fromkeys(names, "INTEGER") | dict.fromkeys(doubles, dialect.double)
        types |= {"node": "INTEGER PRIMARY KEY"} | ({"codes": "TEXT"} if "codes" in names else {})
        with path.open("w", encoding="ascii") as file:
            file.write(f"CREATE TABLE {table} ({', '.join(f'{c} {types[c]}' for c in columns)});\n")
            for i in range(0, len(rows), _INSERTED):
                listed = ",\n  ".join(_row(dialect, row) for row in rows[i : i + _INSERTED])
                file.write(f"INSERT INTO {table} VALUES\n  {listed};\n")


def _parts_of(step) -> tuple:
    if isinstance(step, Beyond | Exponential):
        return (step.number,)
    if isinstance(step, Operation):
        return (step.one, step.two)
    return getattr(step, "numbers", ())


def _asked_for(step):
    """Labels that a step asks for."""
    return {part.label for part in _within([step]) if isinstance(part, Chosen)}


def _within(steps):
    """Some steps, and all that they are made of, in the order in which they stand there."""
    stack = list(steps)[::-1]
    while stack:
        step = stack.pop()
        yield step
        stack += list(_parts_of(step))[::-1]
