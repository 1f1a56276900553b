"""Fitted trees in other languages: rules, SQL, C, Python, JSON, and back from JSON.

Every language compares doubles as scikit-learn compares them once they are rounded to float32: with
the boundary between doubles that are rounded down and up, which takes 25 bits and no rounding.
"""

from __future__ import annotations

import json
import keyword
import math
import re
from collections.abc import Sequence
from typing import Any

import numpy as np
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from ensemble_simplify.grid import preorder, rounding_boundary
from ensemble_simplify.reading import Table
from ensemble_simplify.writing.named_tree import ALL, NamedTree
from ensemble_simplify.writing.sklearn_tree import write_tree
from ensemble_simplify.writing.words import as_json, one_line

_FORMAT, _VERSION = "ensemble_simplify.tree", 1
_UNKNOWN = ("refused", "code", "missing")
_LANGUAGES = ("rules", "sql", "c", "python", "json")
_OUTPUTS = ("label", "probabilities")
# A condition of more terms is written as a balanced tree of ANDs, not as a chain.
_MANY_TERMS = 100
# Reserved words of C and C++, and what the written function uses itself.
_C_WORDS = frozenset(
    "alignas alignof and and_eq asm auto bitand bitor bool break case catch char class compl const "
    "constexpr continue default delete do double else enum explicit export extern false float for "
    "friend goto if inline int isnan long main mutable namespace new noexcept not not_eq NAN NULL "
    "nullptr operator or or_eq private proba protected public register restrict return short "
    "signed sizeof static strcmp struct switch template this throw true try typedef typename union "
    "unsigned using virtual void volatile wchar_t while x xor xor_eq".split()
)


def export_tree(
    model: Any,
    language: str = "rules",
    *,
    output: str = "label",
    feature_names: Sequence[str] | None = None,
    class_names: Sequence | None = None,
    name: str | None = None,
    table: str | None = None,
    decimals: int | None = None,
) -> str:
    """Write a fitted tree as rules, SQL, C, Python or JSON.

    SQL, C, Python and JSON give the tree's own answer for every row of finite doubles that float32
    can hold without overflow, and for missing values. (scikit-learn rounds a row to float32 before
    it compares. The written constants are the points halfway between two float32 numbers at which
    that rounding changes its direction.)

    A tree that was fitted on a table with text or categories is written with the columns and levels
    of that table.

    Read more in the :ref:`User Guide <export>`.

    Parameters
    ----------
    model : fitted estimator
        A scikit-learn tree, or an estimator of this package that holds one.
    language : {"rules", "sql", "c", "python", "json"}, default="rules"
        - "rules": one line "if ... then" for each leaf: one interval or set for each feature on
          the path, the class, its share (by ``predict_proba``) and the number of training rows.
          Thresholds have as few digits as split float32 numbers in the same way. Missing values are
          mentioned for features where the tree met some in ``fit``.
        - "sql": an ANSI ``CASE`` with one ``WHEN`` for each leaf. A row that reaches a ``WHEN`` has
          failed all those above, so only the other conditions are written. There is no nesting:
          nested ``CASE`` overflow the parser of SQLite from about twenty levels. NULL is a missing
          value; NaN, which some databases know, is not.
        - "c": a C99 function of a row of doubles that allocates nothing. NAN is a missing value.
          It returns the position of the class in ``classes_``, or the value in regression. For
          probabilities, it fills an array. For each split column with levels, there is a function
          that turns a level into its code. Do not compile with ``-ffast-math``.
        - "python": a function of a row, without imports. A row is indexed by the names of the
          columns, or by their positions if there are no names. None and NaN are missing values.
        - "json": see Notes; `import_tree` reads it back.
    output : {"label", "probabilities"}, default="label"
        What the exported code returns. "probabilities": one column for each class in "sql", a dict
        in "python". JSON always holds both. For a regressor, "label" is the value.
    feature_names : sequence of str, default=None
        Names of the columns. None: those seen in ``fit``, or x0, x1, ...
    class_names : sequence, default=None
        Strings or numbers that stand for the classes, in the order of ``classes_``.
    name : str, default=None
        Name of the function in "c" and "python" (None: predict), or of the column in "sql"
        (None: prediction), to which the class is added for probabilities.
    table : str, default=None
        Only for "sql": the table to select from. None: write only the expressions, for the list of
        a ``SELECT``.
    decimals : int, default=None
        Only for "rules": digits after the point. None: as many as are needed.

    Returns
    -------
    text : str
        In the language, ended by a line break.

    Raises
    ------
    TypeError
        If the model is not one tree, or a label or level cannot be written in the language.
    ValueError
        If a parameter has no such value or does not go with the language.

    See Also
    --------
    import_tree : Reads "json".

    Notes
    -----
    Levels that are neither text nor numbers, such as time stamps and intervals, are written as
    their texts (``str(level)``): SQL and C compare a column of such texts, and Python takes the
    objects, too.

    An unknown level is treated as the model treats it: as a code of its own, as a missing value, or
    as an error. An error is NULL in SQL, a ValueError in Python, and in C -1 for labels and NAN for
    numbers.

    JSON, version 1, is an object with these keys:

    - ``"format"``: "ensemble_simplify.tree"; ``"version"``: 1.
    - ``"kind"``: "classifier" or "regressor".
    - ``"columns"``: a list of objects with ``"name"`` (a string, or null), ``"levels"`` (a list in
      the order of the codes; null: a column of numbers) and ``"unknown"`` ("refused", "code": the
      code after the last one, "missing"; null for numbers). With ``"of_text": true``, the levels
      are the texts of what the column holds.
    - ``"classes"``: list of labels; null for a regressor.
    - ``"nodes"``: list of objects, the root first. All have ``"value"`` (probabilities of the
      classes, or the predicted value), ``"rows"`` (training rows), ``"weight"`` and
      ``"impurity"`` (null: too large for a double). Splits have ``"column"`` (place in the
      columns), ``"threshold"`` (null: all that is not missing goes left), ``"missing"`` ("left" or
      "right"), and ``"left"`` and ``"right"``, places in the list. A value goes left if it is at
      most the threshold after rounding to float32; of a column with levels, the code is compared.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> from ensemble_simplify import export_tree
    >>> iris = load_iris(as_frame=True)
    >>> tree = DecisionTreeClassifier(max_leaf_nodes=3, random_state=0)
    >>> tree = tree.fit(iris.data, iris.target_names[iris.target])
    >>> print(export_tree(tree, decimals=2), end="")
    if petal width (cm) <= 0.80 then setosa (100 %, 50 rows)
    if 0.80 < petal width (cm) <= 1.75 then versicolor (90.7 %, 54 rows)
    if petal width (cm) > 1.75 then virginica (97.8 %, 46 rows)
    """
    if not isinstance(language, str) or language not in _LANGUAGES:
        raise ValueError(f"language={language!r}. Choose one of {', '.join(_LANGUAGES)}.")
    if output not in _OUTPUTS:
        raise ValueError(f"output={output!r}. Choose label or probabilities.")
    if table is not None and language != "sql":
        raise ValueError(f"table={table!r} goes with language='sql' alone. Leave it out.")
    if decimals is not None and language != "rules":
        raise ValueError(
            f"decimals={decimals!r} goes with language='rules' alone: the others are exact. Leave "
            "it out."
        )
    if name is not None and language in ("rules", "json"):
        raise ValueError(f"name={name!r} means nothing in {language}. Leave it out.")
    tree = NamedTree.of(model, feature_names=feature_names, class_names=class_names)
    probabilities = output == "probabilities"
    if probabilities and tree.classes is None:
        raise ValueError(
            "output='probabilities', but the tree is a regressor. Use output='label' for its value."
        )
    if language == "rules":
        return tree.rules(probabilities, decimals)
    if language == "json":
        return _json(tree)
    if language == "sql":
        return _sql(tree, probabilities, "prediction" if name is None else name, table)
    write = _c if language == "c" else _python
    return write(tree, probabilities, _checked_function(name, language))


def import_tree(text: str) -> DecisionTreeClassifier | DecisionTreeRegressor:
    """Read a tree that `export_tree` wrote as JSON.

    Parameters
    ----------
    text : str
        What ``export_tree(model, "json")`` returned; the format is described there.

    Returns
    -------
    tree : DecisionTreeClassifier or DecisionTreeRegressor
        Fitted; with the same splits, values, counts of rows and names, and the same answers.
        Columns with levels are columns of their codes to it.

    Raises
    ------
    ValueError
        If the text is not JSON, or not a tree in a known version of the format.

    See Also
    --------
    export_tree : Writes it.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> from ensemble_simplify import export_tree, import_tree
    >>> X, y = load_iris(return_X_y=True)
    >>> tree = DecisionTreeClassifier(random_state=0).fit(X, y)
    >>> again = import_tree(export_tree(tree, "json"))
    >>> bool((again.predict_proba(X) == tree.predict_proba(X)).all())
    True
    """
    try:
        data = json.loads(text)
    except (ValueError, TypeError, RecursionError) as error:
        raise ValueError(
            f"text is not JSON that can be read ({error}). Give what export_tree wrote as 'json'."
        ) from error
    if not isinstance(data, dict) or data.get("format") != _FORMAT:
        raise ValueError(
            f'text has no "format": "{_FORMAT}". Give what export_tree(model, "json") returned.'
        )
    if data.get("version") != _VERSION:
        raise ValueError(
            f"text has version {data.get('version')!r} of the format; this package reads version "
            f"{_VERSION}. Use the version of the package that wrote it."
        )
    try:
        return _read_json(data)
    except (LookupError, TypeError, AttributeError, ArithmeticError, ValueError) as error:
        raise ValueError(
            f"text is not a whole tree: {type(error).__name__}: {str(error).rstrip('.')}. The keys "
            "are listed in the documentation of export_tree. Export the tree again."
        ) from error


# ------------------------------------------------------------------- checks, and what all share


def _checked_function(name, language):
    name = "predict" if name is None else name
    reserved = _C_WORDS if language == "c" else frozenset({*keyword.kwlist, "row", "float"})
    if not isinstance(name, str) or not re.fullmatch(r"[A-Za-z_]\w*", name, re.ASCII):
        raise ValueError(f"name={name!r} is not the name of a function. Use letters, digits, _.")
    if name in reserved:
        raise ValueError(f"name={name!r} means something else in {language}. Choose another.")
    return name


def _literal_kind(value, what, language):
    """The plain kind of a label or level, or an error."""
    for kind in (bool, int, float, str):
        if isinstance(value, kind) and (kind is not float or math.isfinite(value)):
            return kind
    raise TypeError(
        f"The {what} {value!r} is a {type(value).__name__}, which cannot be written in {language}. "
        "Strings, finite numbers and truth values can: give class_names, or fit on such labels."
    )


def _checked_text(text, what, language):
    """Text that goes into the written code as it is, or an error."""
    if "\0" in text:
        raise TypeError(
            f"The {what} {text!r} holds a null character, which {language} cannot write. Rename it."
        )
    if any("\ud800" <= c <= "\udfff" for c in text):
        raise TypeError(
            f"The {what} {text!r} holds half a character (a surrogate), which no encoding can "
            f"write, and so {language} cannot. Rename it."
        )
    return text


def _used_features(tree):
    return np.unique(tree.nodes.feature[tree.nodes.left >= 0]).tolist()


def _codes_left(tree, j, threshold):
    return tree.codes(j, ALL.below(threshold, False))


def _blocks(tree, test, leaf, close):
    """Lines of nested tests of which each returns; at most log2(leaves) deep.

    The smaller side of a split stands inside, the larger one goes on below. ``test(node, left)`` is
    the line that opens the block of those who go left, or right, ``leaf(node)`` are lines that
    return, and `close` is the line that ends a block, if any.
    """
    left, right = tree.nodes.left.tolist(), tree.nodes.right.tolist()
    size = np.ones(len(left), dtype=np.intp)
    for node in range(len(left) - 1, -1, -1):
        if left[node] >= 0:
            size[node] = size[left[node]] + size[right[node]]
    lines, stack = [], [(0, 1)]
    while stack:
        node, depth = stack.pop()
        indent = "    " * depth
        if node < 0:
            lines.append(indent + close)
        elif left[node] < 0:
            lines += [indent + line for line in leaf(node)]
        else:
            left_inside = size[left[node]] <= size[right[node]]
            inside, after = left[node], right[node]
            if not left_inside:
                inside, after = after, inside
            lines.append(indent + test(node, left_inside))
            stack.append((after, depth))
            if close is not None:
                stack.append((-1, depth))
            stack.append((inside, depth + 1))
    return lines


# ------------------------------------------------------------------- SQL


def _sql_name(name):
    return '"' + _checked_text(str(name), "name", "SQL").replace('"', '""') + '"'


def _sql_number(value):
    """A double with 18 digits and an exponent: approximate to ANSI, read without loss."""
    digits, exponent = f"{value:.17e}".split("e")
    return f"{digits.rstrip('0').removesuffix('.')}E{int(exponent)}"


def _sql_value(value, what):
    kind = _literal_kind(value, what, "SQL")
    if kind is str:
        return "'" + _checked_text(value, what, "SQL").replace("'", "''") + "'"
    if kind is bool:
        return "TRUE" if value else "FALSE"
    return str(value) if kind is int else _sql_number(value)


class _SqlColumns:
    """Conditions on the columns of a tree."""

    def __init__(self, tree, table):
        self.tree = tree
        qualifier = "" if table is None else f"{_sql_name(table)}."
        names = [f"x{j}" for j in range(tree.n_features)] if tree.names is None else tree.names
        self.names = [qualifier + _sql_name(name) for name in names]
        self._written = {}

    def is_in(self, j, codes, negated=False):
        if not codes:
            return "1 = 1" if negated else "1 = 0"
        levels, _ = self.tree.literals(j)
        listed = ", ".join(_sql_value(levels[code], "level") for code in codes)
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
        words = f"{name} {'<=' if inclusive else '<'} {_sql_number(float(boundary))}"
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


def _conjunction(terms):
    if len(terms) <= _MANY_TERMS:
        return " AND ".join(terms)
    middle = len(terms) // 2
    return f"({_conjunction(terms[:middle])}) AND ({_conjunction(terms[middle:])})"


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


def _sql(tree, probabilities, name, table):
    columns = _SqlColumns(tree, table)
    refused = [
        columns.is_in(j, tree.codes(j, ALL), negated=True)
        for j in _used_features(tree)
        if tree.levels(j) and tree.unknown(j) == "refused"
    ]
    leaves = []
    for node, spans in _decision_list(tree):
        terms = [columns.condition(j, span) for j, span in spans.items()]
        leaves.append((node, _conjunction([term for term in terms if term is not None])))

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
            f"{case(lambda node, k=k: _sql_number(tree.value[node, k]))} AS "
            f"{_sql_name(f'{name}_{label}')}"
            for k, label in enumerate(tree.classes)
        ]
    else:
        parts = [case(lambda node: _sql_value(tree.label(node), "label"))]
        if table is not None:
            parts[0] += f" AS {_sql_name(name)}"
    text = ",\n".join(parts)
    return f"{text}\n" if table is None else f"SELECT {text}\nFROM {_sql_name(table)}\n"


# ------------------------------------------------------------------- C


def _c_comment(text):
    """Text inside of a comment: nothing in it ends the comment or joins lines."""
    return (
        one_line(text).replace("*/", "* /").replace("/*", "/ *").replace("??", "? ?").rstrip("\\")
    )


def _c_string(text):
    """A string literal of ASCII, in UTF-8."""
    own = _checked_text(text, "level", "C").encode("utf-8")
    as_is = set(range(32, 127)) - {ord('"'), ord("\\"), ord("?")}
    return '"' + "".join(chr(b) if b in as_is else f"\\{b:03o}" for b in own) + '"'


def _c_number(value):
    """A double in hexadecimal, without zeros at its end."""
    digits, exponent = float(value).hex().split("p")
    return f"{digits.rstrip('0').removesuffix('.') if '.' in digits else digits}p{exponent}"


def _c_codes(tree, j, name):
    """The function that turns a level of a column into its code."""
    levels, _ = tree.literals(j, mixed=False)
    kinds = {_literal_kind(level, "level", "C") for level in levels}
    other = {"code": f"{len(levels)}", "missing": "NAN", "refused": "-1"}[tree.unknown(j)]
    text = str in kinds
    missing, equal = "level == NULL", "strcmp(level, {}) == 0"
    if not text:
        missing, equal = "isnan(level)", "level == {}"
    lines = [
        f"/* Code of a level of {_c_comment(tree.shown(j))}, for x[{j}]; "
        f"{'NULL' if text else 'NAN'} is missing, {other} stands for other levels. */",
        f"double {name}_code_{j}({'const char *' if text else 'double '}level)",
        "{",
        f"    if ({missing}) return NAN;",
    ]
    for code, level in enumerate(levels):
        literal = _c_string(level) if text else _c_number(level)
        lines.append(f"    if ({equal.format(literal)}) return {code};")
    return [*lines, f"    return {other};", "}", ""], text


def _c(tree, probabilities, name):
    def test(node, left):
        j, to_left = int(tree.nodes.feature[node]), bool(tree.missing_left[node])
        threshold = float(tree.nodes.threshold[node])
        comment, has_levels = "", tree.levels(j) is not None
        if has_levels:
            words = tree.condition(j, ALL.below(threshold, to_left))
            comment = f" /* {'' if left else 'not: '}{_c_comment(words)} */" if words else ""
        if np.isinf(threshold):
            goes_left = "1" if to_left else f"!isnan(x[{j}])"
        else:
            goes_left = f"x[{j}] < {math.floor(threshold) + 0.5!r}"
            if not has_levels:
                boundary, inclusive = rounding_boundary(threshold)
                goes_left = f"x[{j}] {'<=' if inclusive else '<'} {_c_number(boundary)}"
            goes_left += f" || isnan(x[{j}])" if to_left else ""
        return f"if ({goes_left if left else f'!({goes_left})'}) {{{comment}"

    def leaf(node):
        if probabilities:
            parts = [f"proba[{k}] = {_c_number(p)};" for k, p in enumerate(tree.value[node])]
            return [*parts, "return;"]
        if tree.classes is None:
            return [f"return {_c_number(tree.label(node))};"]
        k = int(tree.value[node].argmax())
        return [f"return {k}; /* {_c_comment(tree.classes[k])} */"]

    used = _used_features(tree)
    codes, any_text, checks = [], False, []
    for j in used:
        if tree.levels(j) is None:
            continue
        lines, text = _c_codes(tree, j, name)
        codes += lines
        any_text |= text
        if tree.unknown(j) == "refused":
            checks.append(f"x[{j}] < 0")
    nothing = ["return NAN;"] if tree.classes is None else ["return -1;"]
    if probabilities:
        nothing = [f"proba[{k}] = NAN;" for k in range(len(tree.classes))] + ["return;"]
    refusal = [f"    if ({' || '.join(checks)}) {{", *(f"        {n}" for n in nothing), "    }"]
    about = [f"   x[{j}]: {_c_comment(tree.shown(j))}" for j in used]
    if tree.classes is not None:
        about += [f"   class {k}: {_c_comment(label)}" for k, label in enumerate(tree.classes)]
    kind = "int" if tree.classes is not None else "double"
    head = f"void {name}(const double *x, double *proba)"
    return "\n".join(
        [
            "#include <math.h>",
            *(["#include <string.h>"] if any_text else []),
            "",
            *codes,
            f"/* A decision tree of {tree.nodes.n_leaves} leaves on rows of {tree.n_features} "
            "columns; NAN is missing.",
            *about,
            "*/",
            head if probabilities else f"{kind} {name}(const double *x)",
            "{",
            *([] if used else ["    (void)x;"]),
            *(refusal if checks else []),
            *_blocks(tree, test, leaf, "}"),
            "}",
            "",
        ]
    )


# ------------------------------------------------------------------- Python


def _python_value(value, what):
    _literal_kind(value, what, "Python")
    return repr(value)


def _python_set(levels):
    listed = ", ".join(_python_value(level, "level") for level in levels)
    return f"({listed},)" if len(levels) == 1 else f"({listed})"


def _python(tree, probabilities, name):
    used = _used_features(tree)
    labels = [_python_value(c, "label") for c in tree.classes or ()]

    def test(node, left):
        j, to_left = int(tree.nodes.feature[node]), bool(tree.missing_left[node])
        threshold = float(tree.nodes.threshold[node])
        if tree.levels(j) is not None:
            goes_left = _python_levels(tree, j, threshold)
            goes_left += f" or missing{j}" if to_left else ""
        elif np.isinf(threshold):
            goes_left = "True" if to_left else f"x{j} == x{j}"
        else:
            boundary, inclusive = rounding_boundary(threshold)
            goes_left = f"x{j} {'<=' if inclusive else '<'} {float(boundary)!r}"
            goes_left += f" or x{j} != x{j}" if to_left else ""
        return f"if {goes_left if left else f'not ({goes_left})'}:"

    def leaf(node):
        if probabilities:
            pairs = zip(labels, tree.value[node].tolist(), strict=True)
            return [f"return {{{', '.join(f'{label}: {p!r}' for label, p in pairs)}}}"]
        if tree.classes is None:
            return [f"return {tree.label(node)!r}"]
        return [f"return {labels[int(tree.value[node].argmax())]}"]

    body = _blocks(tree, test, leaf, None)
    lines = [
        f"def {name}(row):",
        f'    """Answer of a decision tree of {tree.nodes.n_leaves} leaves for one row."""',
    ]
    for j in used:
        key = j if tree.names is None else tree.names[j]
        if tree.levels(j) is None:
            lines.append(f"    x{j} = row[{key!r}]")
            lines.append(f'    x{j} = float("nan") if x{j} is None else float(x{j})')
            continue
        lines.append(f"    x{j} = row[{key!r}]")
        absent = f"x{j} is None or x{j} != x{j}"
        if j in tree.table.as_none:
            absent = f"x{j} is None"
        elif j in tree.table.as_nan:
            absent = f"x{j} != x{j}"
        levels, of_text = tree.literals(j)
        known, entry = _python_set(levels), f"str(x{j})" if of_text else f"x{j}"
        if not any(f"missing{j}" in line for line in body) and tree.unknown(j) != "refused":
            continue
        if tree.unknown(j) == "missing":
            absent += f" or {entry} not in {known}"
        lines.append(f"    missing{j} = {absent}")
        if tree.unknown(j) == "refused":
            lines.append(f"    if not (missing{j} or {entry} in {known}):")
            lines.append(f'        raise ValueError("unknown level: " + repr(x{j}))')
    return "\n".join([*lines, *body, ""])


def _python_levels(tree, j, threshold):
    """The test whether a level goes left that is not missing."""
    (levels, of_text), codes = tree.literals(j), _codes_left(tree, j, threshold)
    if codes == tree.codes(j, ALL):
        return f"not missing{j}"
    listed = _python_set([levels[code] for code in codes if code < len(levels)])
    return f"str(x{j}) in {listed}" if of_text else f"x{j} in {listed}"


# ------------------------------------------------------------------- JSON


def _json(tree):
    nodes = tree.nodes
    for label in tree.classes or ():
        _literal_kind(label, "label", "JSON")
    columns = []
    for j in range(tree.n_features):
        levels, of_text = (None, False) if tree.levels(j) is None else tree.literals(j)
        for level in levels or ():
            _literal_kind(level, "level", "JSON")
        column = {
            "name": None if tree.names is None else tree.names[j],
            "levels": levels,
            "unknown": None if levels is None else tree.unknown(j),
        }
        columns.append(column | {"of_text": True} if of_text else column)
    written = []
    for node in range(nodes.n_nodes):
        entry = {}
        if nodes.left[node] >= 0:
            threshold = float(nodes.threshold[node])
            entry = {
                "column": int(nodes.feature[node]),
                "threshold": None if np.isinf(threshold) else threshold,
                "missing": "left" if tree.missing_left[node] else "right",
                "left": int(nodes.left[node]),
                "right": int(nodes.right[node]),
            }
        value = tree.value[node].tolist()
        entry["value"] = value[0] if tree.classes is None else value
        entry["rows"] = int(tree.rows[node])
        entry["weight"] = float(tree.weight[node])
        # scikit-learn's can be below zero by rounding, and no number where squares overflow
        impurity = float(tree.impurity[node])
        entry["impurity"] = max(impurity, 0.0) if math.isfinite(impurity) else None
        written.append(entry)
    head = {
        "format": _FORMAT,
        "version": _VERSION,
        "kind": "regressor" if tree.classes is None else "classifier",
        "columns": columns,
        "classes": tree.classes,
    }
    # one line for each entry of a list: to be read, and to be compared line by line
    parts = [f'"{key}": {_json_lines(value)}' for key, value in {**head, "nodes": written}.items()]
    return "{\n" + ",\n".join(parts) + "\n}\n"


def _json_lines(value):
    if isinstance(value, list) and value and isinstance(value[0], dict):
        return "[\n" + ",\n".join(f"  {as_json(entry)}" for entry in value) + "\n]"
    return as_json(value)


def _as_array(levels):
    """Levels as an array; text and numbers stay what they are."""
    are_texts = any(isinstance(level, str) for level in levels)
    array = np.array(levels, dtype=object if are_texts else None)
    if array.ndim != 1:
        raise ValueError(f'text has "levels": {levels!r}. It is a list of levels. Export it again.')
    return array


def _read_json(data):
    columns, entries, classes = data["columns"], data["nodes"], data["classes"]
    if (data["kind"] == "classifier") != (classes is not None):
        raise ValueError(f"text is a {data['kind']} with classes {classes!r}. Export it again.")
    for label in classes or ():
        _literal_kind(label, "label", "JSON")
    if len(set(classes or ())) < len(classes or ()):
        raise ValueError(f"text names a class twice: {classes}. Export it again.")
    inner = ["left" in entry for entry in entries]

    def of_splits(key, other, read=lambda x: x):
        return [
            read(entry[key]) if split else other
            for entry, split in zip(entries, inner, strict=True)
        ]

    ways = of_splits("missing", "right")
    if wrong := [way for way in ways if way not in ("left", "right")]:
        raise ValueError(f'text has "missing": {wrong[0]!r}. It is "left" or "right".')
    nodes, order = preorder(
        of_splits("left", -1),
        of_splits("right", -1),
        of_splits("column", -1),
        of_splits("threshold", 0.0, lambda t: np.inf if t is None else float(t)),
    )
    names = [column["name"] for column in columns]
    for column in columns:
        if column["levels"] is not None and column["unknown"] not in _UNKNOWN:
            raise ValueError(
                f'text has "unknown": {column["unknown"]!r} in the column {column["name"]!r}. It '
                f"is one of {', '.join(_UNKNOWN)}."
            )

    def of_all(key):
        return np.array([entry[key] for entry in entries])[order]

    tree = write_tree(
        nodes,
        value=of_all("value"),
        n_node_samples=of_all("rows"),
        weighted_n_node_samples=of_all("weight"),
        impurity=of_all("impurity"),
        n_features=len(columns),
        classes=classes,
        feature_names=None if None in names else names,
        missing_go_to_left=np.array([way == "left" for way in ways])[order],
    )
    if any(column["levels"] is not None for column in columns):
        # so that it can be written again in these words
        tree._table = Table(
            None if None in names else np.array(names, dtype=object),
            tuple(
                None if column["levels"] is None else _as_array(column["levels"])
                for column in columns
            ),
            tuple(column["unknown"] or "refused" for column in columns),
            as_text=tuple(j for j, column in enumerate(columns) if column.get("of_text")),
        )
    return tree
