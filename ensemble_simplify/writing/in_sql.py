"""Fitted trees in SQL."""

from __future__ import annotations

import numpy as np

from ensemble_simplify.grid import rounding_boundary
from ensemble_simplify.writing.literals import checked_text, literal_kind, used_features
from ensemble_simplify.writing.named_columns import ALL

# A condition of more terms is written as a balanced tree of ANDs, not as a chain.
_MANY_TERMS = 100


def sql_name(name):
    return '"' + checked_text(str(name), "name", "SQL").replace('"', '""') + '"'


def sql_number(value):
    """A double with 18 digits and an exponent: approximate to ANSI, read without loss."""
    digits, exponent = f"{value:.17e}".split("e")
    return f"{digits.rstrip('0').removesuffix('.')}E{int(exponent)}"


def sql_value(value, what):
    kind = literal_kind(value, what, "SQL")
    if kind is str:
        return "'" + checked_text(value, what, "SQL").replace("'", "''") + "'"
    if kind is bool:
        return "TRUE" if value else "FALSE"
    return str(value) if kind is int else sql_number(value)


class SqlColumns:
    """Conditions on the columns of a tree."""

    def __init__(self, tree, table):
        self.tree = tree
        qualifier = "" if table is None else f"{sql_name(table)}."
        names = [f"x{j}" for j in range(tree.n_features)] if tree.names is None else tree.names
        self.names = [qualifier + sql_name(name) for name in names]
        self._written = {}

    def is_in(self, j, codes, negated=False):
        if not codes:
            return "1 = 1" if negated else "1 = 0"
        levels, _ = self.tree.literals(j)
        listed = ", ".join(sql_value(levels[code], "level") for code in codes)
        return f"{self.names[j]} {'NOT IN' if negated else 'IN'} ({listed})"

    def condition(self, j, span):
        """A condition for a span without a lower end; None where everything is in it."""
        if (j, span) not in self._written:
            self._written[j, span] = self._condition(j, span)
        return self._written[j, span]

    def _condition(self, j, span):
        if self.tree.levels(j) is not None:
            return self._of_levels(j, span)
        name = self.names[j]
        if np.isinf(span.high):
            return None if span.missing else f"{name} IS NOT NULL"
        boundary, inclusive = rounding_boundary(span.high)
        words = f"{name} {'<=' if inclusive else '<'} {sql_number(float(boundary))}"
        return f"({words} OR {name} IS NULL)" if span.missing else words

    def _of_levels(self, j, span):
        tree, name = self.tree, self.names[j]
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


def conjunction(terms):
    if len(terms) <= _MANY_TERMS:
        return " AND ".join(terms)
    middle = len(terms) // 2
    return f"({conjunction(terms[:middle])}) AND ({conjunction(terms[middle:])})"


def _decision_list(tree):
    """Leaves from left to right, each with the tests for a chain of ``if ... else if``.

    A row that reached no leaf before is in this one if it passes the splits at which the path goes
    left: a row of a later leaf fails the one at which the two paths part. The tests add up to an
    upper end for each feature.
    """
    nodes, stack = tree.nodes, [(0, {})]
    while stack:
        node, spans = stack.pop()
        if nodes.left[node] < 0:
            yield node, spans
            continue
        j = int(nodes.feature[node])
        span = spans.get(j, ALL).below(float(nodes.threshold[node]), bool(tree.missing_left[node]))
        stack.append((int(nodes.right[node]), spans))
        stack.append((int(nodes.left[node]), {**spans, j: span}))


def tree_in_sql(tree, probabilities, name, table):
    columns = SqlColumns(tree, table)
    refused = [
        columns.is_in(j, tree.codes(j, ALL), negated=True)
        for j in used_features(tree)
        if tree.levels(j) and tree.unknown(j) == "refused"
    ]
    leaves = []
    for node, spans in _decision_list(tree):
        terms = [columns.condition(j, span) for j, span in spans.items()]
        leaves.append((node, conjunction([term for term in terms if term is not None])))

    def case(value):
        whens = [f"  WHEN {condition} THEN NULL" for condition in refused]
        last, end = value(leaves[-1][0]), len(leaves) - 1
        while end and value(leaves[end - 1][0]) == last:  # all that is left has one answer
            end -= 1
        for node, condition in leaves[:end]:
            whens.append(f"  WHEN {condition or '1 = 1'} THEN {value(node)}")
        return "\n".join(["CASE", *whens, f"  ELSE {last}", "END"]) if whens else last

    if probabilities:
        parts = [
            f"{case(lambda node, k=k: sql_number(tree.value[node, k]))} AS "
            f"{sql_name(f'{name}_{label}')}"
            for k, label in enumerate(tree.classes)
        ]
    else:
        parts = [case(lambda node: sql_value(tree.label(node), "label"))]
        if table is not None:
            parts[0] += f" AS {sql_name(name)}"
    text = ",\n".join(parts)
    return f"{text}\n" if table is None else f"SELECT {text}\nFROM {sql_name(table)}\n"
