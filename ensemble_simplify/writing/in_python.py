"""Fitted trees and ensembles in Python, with its standard library alone."""

from __future__ import annotations

import numpy as np

from ensemble_simplify.writing.code import Text
from ensemble_simplify.writing.in_braces import Braces, BracesFile
from ensemble_simplify.writing.named_columns import ALL
from ensemble_simplify.writing.words import blocks, literal_kind, one_line, used_features


def python_value(value, what) -> str:
    literal_kind(value, what, "Python")
    return repr(value)


def level_readers(named, used, name) -> list[str]:
    """The functions that make of an entry what its level is looked up by, as far as they serve."""
    lines = []
    if any(_are_numbers(named, j) for j in used):
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
    """Whether a column has levels that are numbers."""
    if named.levels(j) is None:
        return False
    levels, of_text = named.literals(j)
    return not of_text and not any(isinstance(level, str) for level in levels)


def _entry_of(named, j, name) -> str:
    """An entry of a row; of a column whose levels are numbers, the number that it says."""
    entry = f"row[{(j if named.names is None else named.names[j])!r}]"
    return f"_{name}_level({entry})" if _are_numbers(named, j) else entry


def _number_of(entry) -> str:
    return f'float("nan") if {entry} in (None, "") else float({entry})'


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

    body = blocks(tree.nodes, test, leaf, None)
    lines = [
        *level_readers(tree, used, name),
        f"def {name}(row):",
        f'    """Answer of a decision tree of {tree.nodes.n_leaves} leaves for one row."""',
    ]
    for j in used:
        lines.append(f"    x{j} = {_entry_of(tree, j, name)}")
        if tree.levels(j) is None:
            lines.append(f"    x{j} = {_number_of(f'x{j}')}")
            continue
        absent = _is_missing(tree, j, f"x{j}")
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


# What Python says differently from the languages of `in_braces`.
_PYTHON = Braces(
    "model.python",
    "Python",
    "{name} = {value}",
    "{name} = {value}",
    "{name} = {value}",
    infinity='float("inf")',
    truth=("False", "True"),
    gives="return {}",
    end="",
    indent=4,
    array="[{}]",
    spread="*{}",
    own="_{}_",
    place_of="int({})",
    text=repr,
)


def ensemble_in_python(ensemble, probabilities, name, told=()) -> str:
    """A function of a row; see `export_model`. `told` are lines for a comment."""
    return _PythonFile(ensemble, _PYTHON, name).text(probabilities, told)


class _PythonFile(BracesFile):
    """One Python file. Labels and levels of several types are what they are."""

    def _comment(self, lines):
        return "\n# ".join(map(one_line, lines))

    def _answer(self, label):
        return f"[{', '.join(python_value(c, 'label') for c in self.ensemble.classes)}][{label}]"

    def _probabilities(self, outputs):
        found = super()._probabilities(outputs)
        if isinstance(outputs[0], Text):
            return found
        labels = (python_value(c, "label") for c in self.ensemble.classes)
        return f"dict(zip([{', '.join(labels)}], {found}))"

    def _tables(self):
        ensemble, forest = self.ensemble, self.ensemble.forest
        entries = zip(
            ensemble.end.tolist(),
            ensemble.is_set.tolist(),
            forest.feature.tolist(),
            forest.left.tolist(),
            forest.right.tolist(),
            ensemble.missing_left.tolist(),
            ensemble.leaf.tolist(),
            strict=True,
        )
        nodes = []
        for i, (end, is_set, j, left, right, to_left, leaf) in enumerate(entries):
            if leaf >= 0:
                nodes.append(f"\n    ({leaf},),")
                continue
            test = ensemble.listed(i) if is_set else self.literal(end)
            nodes.append(f"\n    ({test}, {j}, {left}, {right}, {to_left}),")
        values, n = list(map(repr, ensemble.value.ravel().tolist())), ensemble.value.shape[1]
        rows = (", ".join(values[i : i + n]) for i in range(0, len(values), n))
        return {
            "nodes": "".join(nodes) + "\n",
            "roots": ", ".join(map(str, forest.offsets[:-1].tolist())),
            "values": "".join(f"\n    {row}," for row in rows) + "\n",
            "readers": "\n".join(level_readers(ensemble, ensemble.used, self.name)),
        }

    def _levels(self, j):
        levels, _ = self.ensemble.literals(j)
        pairs = (f"{python_value(level, 'level')}: {i}" for i, level in enumerate(levels))
        return f"_{self.name}_codes_{j} = {{{', '.join(pairs)}}}"

    def _entry(self, j):
        ensemble = self.ensemble
        lines = [f"entry = {_entry_of(ensemble, j, self.name)}"]
        if ensemble.levels(j) is None:
            return [*lines, f"x[{j}] = {_number_of('entry')}"]
        absent = _is_missing(ensemble, j, "entry")
        codes, key_of_code = f"_{self.name}_codes_{j}", _key(ensemble, j, "entry", self.name)
        unknown, levels = ensemble.unknown(j), ensemble.levels(j)
        if unknown == "refused":
            lines += [
                f"if not ({absent}) and {key_of_code} not in {codes}:",
                '    raise ValueError("unknown level: " + repr(entry))',
            ]
        other = {"code": f"{len(levels)}", "missing": 'float("nan")', "refused": "None"}[unknown]
        lines.append(f'x[{j}] = float("nan") if {absent} else {codes}.get({key_of_code}, {other})')
        return lines
