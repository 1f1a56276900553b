"""The checker of evidence, on documents made by hand, against brute force over a grid.

A document that was changed anywhere must not pass, unless what it then claims is true: that is
decided here at every point that matters, by code that shares nothing with the checker.
"""

import copy
import json
import math
import subprocess
import sys
from itertools import chain, combinations, islice, product
from pathlib import Path

import numpy as np
import pytest

from ensemble_simplify.evidence import checker

TYPES = {"float32": np.float32, "float64": np.float64}


# ------------------------------------------------------------------- documents


def _model(trees, steps, result, *, classes=None, outputs=None, n_columns=2, **given):
    """A model in JSON, from trees as nested tuples (column, end, missing_left, left, right)."""
    nodes, values = {"column": [], "end": [], "missing_left": []}, []

    def add(tree):
        is_leaf = isinstance(tree, list)
        for own, part in zip(nodes.values(), (-1, 0.0, 0) if is_leaf else tree, strict=False):
            own.append(part)
        values.append(tree if is_leaf else [0.0] * width)
        for child in () if is_leaf else tree[3:]:
            add(child)

    leaf = trees[0]
    while not isinstance(leaf, list):
        leaf = leaf[3]
    width = len(leaf)
    for tree in trees:
        add(tree)
    nodes["value"] = [list(own) for own in zip(*values, strict=True)]
    columns = [{"name": f"c{j}", "levels": None, "unknown": None} for j in range(n_columns)]
    model = {"name": "Trees", "type": "float64", "columns": columns} | given
    model |= {"classes": classes, "nodes": nodes}
    model |= {"steps": steps, "result": result, "outputs": outputs}
    return model | {"sha256": checker.digest(model)}


def _document(models, claim, *, uses=None, n=2, region=None, proof=None):
    if uses is None:
        uses = [{"model": i, "columns": list(range(n))} for i in range(len(models))]
    whole = {"type": "float64", "low": [None] * n, "high": [None] * n, "integer": [0] * n}
    whole |= {"missing": [0] * n, "clauses": [], "order": [], "point": []}
    document = {
        "format": "ensemble_simplify.evidence",
        "version": 2,
        "models": models,
        "uses": uses,
        "region": whole | (region or {}),
        "claim": claim,
        "made_by": {},
    }
    document["proof"] = proof or _cells(document)
    document["region"]["point"] = _any_point(document)
    return _signed(document)


def _any_point(document):
    """A point of the region, in JSON."""
    some = islice(_points(document | {"proof": {"kind": "boxes"}}), 5_000)
    found = min(some, key=lambda point: sum(0 if math.isnan(x) else abs(x) for x in point))
    return [None if math.isnan(x) else x for x in found]


def _signed(document):
    """With new hashes and words, as far as it can be read."""
    document = copy.deepcopy(document)
    for model in document["models"]:
        model["sha256"] = checker.digest(model, "sha256")
    document["words"] = checker.words(document)
    return document | {"digest": checker.digest(document, "digest")}


def _cells(document):
    """A proof that cuts the space into all cells; gaps come last."""
    n = len(document["region"]["low"])
    cuts = [[] for _ in range(n)]
    for use in document["uses"]:
        nodes = document["models"][use["model"]]["nodes"]
        for column, end in zip(nodes["column"], nodes["end"], strict=True):
            if column >= 0 and end is not None:
                cuts[use["columns"][column]].append(end)
    cuts = [
        sorted(set(own)) + [None] * gap
        for own, gap in zip(cuts, document["region"]["missing"], strict=True)
    ]
    proof = {"kind": "boxes", "column": [], "end": []}

    def add(ranges):
        j = next((j for j, own in enumerate(ranges) if own), -1)
        middle = len(ranges[j]) // 2
        proof["column"].append(j)
        proof["end"].append(ranges[j][middle] if j >= 0 else 0.0)
        for side in (slice(middle), slice(middle + 1, None)) if j >= 0 else ():
            add([*ranges[:j], ranges[j][side], *ranges[j + 1 :]])

    add(cuts)
    return proof


SUM = [["trees", 0, 2, 0, 0.5, "float64"]]
VOTE = [
    ["trees", 0, 3, 0, 0.0, "float64"],
    ["trees", 0, 3, 1, 0.0, "float64"],
    ["trees", 0, 3, 2, 0.0, "float64"],
    ["constant", 3.0],
    ["/", 0, 3, "float64"],
    ["/", 1, 3, "float64"],
    ["/", 2, 3, "float64"],
    ["largest", [4, 5, 6], "first", 0.0],
]
THREE = [
    (0, 1.0, 1, (1, 0.5, 0, [0.5, 0.25, 0.25], [0.25, 0.5, 0.25]), [0.0, 0.25, 0.75]),
    (1, 2.0, 0, [0.75, 0.25, 0.0], (0, 1.0, 0, [0.25, 0.5, 0.25], [0.0, 0.5, 0.5])),
    (0, -1.0, 0, [1.0, 0.0, 0.0], (1, 0.5, 1, [0.25, 0.25, 0.5], [0.0, 0.0, 1.0])),
]
PAIR = [
    (0, 1.0, 1, (1, 0.5, 0, [1.0], [2.5]), [4.0]),
    (1, 2.0, 0, [0.1], (0, 3.0, 0, [0.7], [0.9])),
]


def _three(order=(0, 1, 2), **given):
    given = {"classes": ["a", "b", "c"], "outputs": [4, 5, 6]} | given
    return _model([THREE[i] for i in order], VOTE, 7, **given)


def _twice(columns):
    return [{"model": 0, "columns": [0, 1]}, {"model": 0, "columns": columns}]


# ------------------------------------------------------------------- brute force


def _after(column, at):
    """The node after all those below a node, in pre-order."""
    return at + 1 if column[at] < 0 else _after(column, _after(column, at + 1))


def _leaves(nodes, row):
    """What the leaf of each tree says."""
    column, begin, found = nodes["column"], 0, []
    while begin < len(column):
        at, begin = begin, _after(column, begin)
        while column[at] >= 0:
            x, end = row[column[at]], nodes["end"][at]
            to_left = nodes["missing_left"][at] if math.isnan(x) else end is None or x <= end
            at = at + 1 if to_left else _after(column, at + 1)
        found.append([own[at] for own in nodes["value"]])
    return found


def _answers(model, row):
    """What the steps of a model give at one point; a class of which there is doubt is None."""
    said, leaves = [], _leaves(model["nodes"], row)
    for name, *own in model["steps"]:
        if name == "constant":
            said.append(float(own[0]))
        elif name == "trees":
            kind = TYPES[own[4]]
            total = kind(own[3])
            for leaf in leaves[own[0] : own[1]]:
                total = kind(total + kind(leaf[own[2]]))
            said.append(float(total))
        elif name in "+-*/":
            one, two = said[own[0]], said[own[1]]
            found = {"+": one + two, "-": one - two, "*": one * two}.get(name)
            said.append(float(TYPES[own[2]](one / two if name == "/" else found)))
        elif name == "chosen":
            said.append(float(own[2] if said[own[0]] == own[1] else own[3]))
        elif name == "above":
            beyond = [x <= said[own[0]] if own[3] else x < said[own[0]] for x in own[1]]
            said.append((own[2] + sum(beyond)) % 2)
        elif name == "sigmoid":
            upper = 1 / (1 + math.exp(-said[own[0]]))
            said.append(upper if own[1] else 1 - upper)
        elif name == "softmax":
            said.append(1 / sum(math.exp(said[k] - said[own[0][own[1]]]) for k in own[0]))
        elif name == "exp":
            said.append(math.exp(said[own[0]]) - own[1])
        elif name == "link":
            said.append(math.asinh(said[own[0]]))
        elif name == "largest":
            scores = [said[i] for i in own[0]]
            top = [k for k, x in enumerate(scores) if x == max(scores)]
            close = [x for x in scores if x != max(scores) and max(scores) - x <= own[2]]
            said.append(None if close else top[0 if own[1] == "first" else -1])
        else:
            raise AssertionError(name)
    return said


def _number_of(model, claim):
    """The step of the number that a claim is about."""
    return model["result"] if claim["of"] == "value" else model["outputs"][claim["of"]["output"]]


def _holds_at(document, claim, point, known):
    """Whether a claim holds at one point; answers that are known are not asked for again."""
    said = []
    for use in document["uses"]:
        model, row = document["models"][use["model"]], [point[j] for j in use["columns"]]
        key = use["model"], *(None if math.isnan(x) else x for x in row)
        if key not in known:
            known[key] = _answers(model, row)
        said.append((model, known[key]))
    labels = [m["classes"][own[m["result"]]] if m["classes"] else None for m, own in said]
    if claim["kind"] == "same_class":
        return json.dumps(labels[0]) == json.dumps(labels[1])
    if claim["kind"] in ("class_is", "class_is_not"):
        answer = said[0][1][said[0][0]["result"]]
        return answer is not None and (answer == claim["class"]) == (claim["kind"] == "class_is")
    if claim["kind"] == "within":
        if claim["of"] != "each":
            pairs = [[own[_number_of(m, claim)] for m, own in said]]
        elif said[0][0]["classes"] is None:
            pairs = [[own[m["result"]] for m, own in said]]
        else:
            every = [
                {json.dumps(k): own[i] for k, i in zip(m["classes"], m["outputs"], strict=True)}
                for m, own in said
            ]
            pairs = [[own.get(k, 0.0) for own in every] for k in {**every[0], **every[1]}]
        return all(abs(a - b) <= claim["atol"] + claim["rtol"] * abs(b) for a, b in pairs)
    if claim["of"] == "class":
        one, two = (claim["order"][own[m["result"]]] for m, own in said)
        return one <= two
    one, two = (own[_number_of(m, claim)] for m, own in (said[0], said[-1]))
    if claim["kind"] == "rises":
        return one <= two
    low, high = claim["low"], claim["high"]
    is_in = (low is None or low <= one) and (high is None or one <= high)
    return is_in == (claim["kind"] == "in_range")


def _values(document):
    """For each coordinate, numbers of the region in each of its cells, and a gap if it may be."""
    region, every = document["region"], []
    kind = TYPES[region["type"]]
    largest = float(np.finfo(kind).max)
    with np.errstate(over="ignore"):
        for j in range(len(document["region"]["low"])):
            low, high = region["low"][j], region["high"][j]
            near = [-largest, largest, 0.0, 1.0, low, high]
            for use in document["uses"]:
                nodes = document["models"][use["model"]]["nodes"]
                for c, end in zip(nodes["column"], nodes["end"], strict=True):
                    near += [end] if c >= 0 and use["columns"][c] == j else []
            near = [kind(x) for x in near if x is not None]
            near += [np.nextafter(x, kind(way)) for x in near for way in (-np.inf, np.inf)]
            near += [way(x) for x in near for way in (np.floor, np.ceil)]
            low, high = -np.inf if low is None else low, np.inf if high is None else high
            found = {float(x) for x in near if np.isfinite(x) and low <= float(x) <= high}
            if region["integer"][j]:
                found = {x for x in found if x == math.floor(x)}
            tied = any(j in pair for pair in region["order"])
            every.append(sorted(found) + [math.nan] * (region["missing"][j] and not tied))
    return every


def _points(document):
    """Points of the claim, one in each cell at least."""
    region, proof, every = document["region"], document["proof"], _values(document)
    spaces = [every]
    if proof["kind"] == "points":
        spaces = []
        k = min(proof["max_changes"], len(proof["vary"]))
        for row, units in product(proof["rows"], combinations(proof["vary"], k)):
            free = {j for unit in [*units, proof["free"]] for j in unit}
            own = []
            for j, x in enumerate(row):
                inside = region["missing"][j] if x is None else True
                limits = zip((region["low"][j], region["high"][j]), (-1, 1), strict=True)
                inside = inside and all(x is None or e is None or s * x <= s * e for e, s in limits)
                inside = inside and not (x is not None and region["integer"][j] and x % 1)
                alone = [math.nan if x is None else float(x)] if inside else []
                own.append([*every[j], *alone] if j in free else alone)
            spaces.append(own)
    for space in spaces:
        for point in product(*space):
            if all(any(point[j] == v for j, v in clause) for clause in region["clauses"]):
                if all(point[i] <= point[j] for i, j in region["order"]):
                    if (
                        proof["kind"] != "points"
                        or proof["nearer"] is None
                        or _is_near(proof, point)
                    ):
                        yield point


def _is_near(proof, point):
    """Whether fewer units than may be are changed, or the point is nearer than it has to be."""
    nearer, (row,), parts = proof["nearer"], proof["rows"], []
    for unit in proof["vary"]:
        moved = [j for j in unit if not (row[j] == point[j] or row[j] is math.isnan(point[j]))]
        for j in moved[:1]:
            is_step = nearer["scales"][j] is None or row[j] is None or math.isnan(point[j])
            parts.append(1.0 if is_step else abs(point[j] - row[j]) / nearer["scales"][j])
    total = {"l1": sum(parts), "l2": math.hypot(*parts), "linf": max(parts, default=0.0)}
    return len(parts) < proof["max_changes"] or total[nearer["metric"]] < nearer["distance"]


def _is_true(document):
    """Whether the claim of a document holds, by trying."""
    claim, proof = document["claim"], document["proof"]
    if claim["kind"] == "smallest":
        return _is_smallest(document, **claim)
    if claim["kind"] == "not":
        return _holds_alone(document, proof["point"]) is False
    if claim["kind"] == "reasons":
        for own in proof["sets"]:
            for part in chain.from_iterable(combinations(own, k) for k in range(len(own) + 1)):
                pairs = zip(proof["row"], proof["reference"], strict=True)
                point = [pair[j in part] for j, pair in enumerate(pairs)]
                if _holds_alone(document, point) is not (len(part) == len(own)):
                    return False
        return True
    known = {}
    return all(_holds_at(document, claim, point, known) for point in _points(document))


def _holds_alone(document, point):
    """Whether the claim inside of another one holds at a point; None: the point does not count."""
    # as the one row of a claim about it alone
    alone = {"kind": "points", "rows": [point], "max_changes": 0, "vary": []}
    alone |= {"free": [], "nearer": None}
    if len(list(_points(document | {"proof": alone}))) != 1:
        return None
    point = [math.nan if x is None else float(x) for x in point]
    return bool(_holds_at(document, document["claim"]["claim"], point, {}))


def _is_smallest(document, use, depth, leaves, within, **_):
    """Whether no tree is smaller, by trying all trees for the classes of all cells."""
    model, every = document["models"][use], _values(document)
    inside = set(_points(document))
    labels = np.full([len(own) for own in every], -1)
    for place in np.ndindex(labels.shape):
        point = tuple(own[k] for own, k in zip(every, place, strict=True))
        if point in inside:
            answer = _answers(model, point)[model["result"]]
            labels[place] = -1 if answer is None else answer
    for a in range(labels.ndim):
        # of equal slices one is as good
        same = np.any(np.diff(labels, axis=a) != 0, axis=tuple({*range(labels.ndim)} - {a}))
        labels = labels.take(np.append(0, 1 + np.flatnonzero(same)), axis=a)
    most = labels.size if within is None else within
    is_deep = depth is None or _fewest_leaves(labels, depth - 1) == math.inf
    return is_deep and (leaves is None or leaves <= _fewest_leaves(labels, most))


def _fewest_leaves(labels, depth, known=None):
    """The fewest leaves of trees of at most some depth; -1 goes with any class."""
    known, key = {} if known is None else known, (labels.shape, labels.tobytes(), depth)
    if depth < 0 or len({*labels.flat} - {-1}) < 2:
        return 1 if depth >= 0 else math.inf
    if depth == 0:
        return math.inf
    if key not in known:
        sides = (
            [part.copy() for part in np.split(labels, [k], axis=a)]
            for a, n in enumerate(labels.shape)
            for k in range(1, n)
        )
        sums = (sum(_fewest_leaves(own, depth - 1, known) for own in pair) for pair in sides)
        known[key] = min(sums, default=math.inf)
    return known[key]


# ------------------------------------------------------------------- claims by hand


def _same(**given):
    return _document([_three(), _three((2, 0, 1))], {"kind": "same_class", "uses": [0, 1]}, **given)


def _sums(second=PAIR, n=2, steps=SUM, **given):
    return [_model(PAIR, SUM, 0, n_columns=n), _model(second, steps, 0, n_columns=n, **given)]


def _moved():
    """The same trees with leaves that are moved by .125 or less."""
    first, second = PAIR
    return [(*first[:4], [4.125]), (*second[:3], [0.0], (0, 3.0, 0, [0.75], [0.875]))]


def _branch():
    """The same trees but for the first one's right leaf."""
    return [(*PAIR[0][:4], [9.0]), PAIR[1]]


def _within(atol=0.25, rtol=0.0, **given):
    claim = {"kind": "within", "uses": [0, 1], "of": "each", "atol": atol, "rtol": rtol}
    return _document(_sums(_moved()), claim, **given)


def _one_box():
    return {"kind": "boxes", "column": [-1], "end": [0.0]}


# all but the second column's tree rises with the first column
RISING = [(0, 1.0, 0, (1, 0.5, 0, [1.0], [1.5]), [2.0]), (1, 2.0, 0, [0.1], [0.7])]
FALLING = [(0, 1.0, 0, (1, 0.5, 0, [1.0], [1.5]), [2.0]), (0, 2.0, 0, [0.7], [0.1])]


def _rises(trees=RISING, **given):
    claim = {"kind": "rises", "uses": [0, 1], "of": "value", "order": None}
    region = {"order": [[0, 2]]}
    model = _model(trees, SUM, 0)
    return _document([model], claim, uses=_twice([2, 1]), n=3, region=region, **given)


def _boosted(trees=RISING, at=2.5, **given):
    steps = [
        *SUM,
        ["above", 0, [at], 0, 1],
        ["sigmoid", 0, 0, "float64"],
        ["sigmoid", 0, 1, "float64"],
    ]
    return _model(trees, steps, 1, classes=[False, True], outputs=[2, 3], **given)


def _single(trees=RISING):
    steps = [["trees", 0, 2, 0, 0.1, "float32"], ["above", 0, [2.2], 1, 0]]
    return _model(trees, steps, 1, classes=[0, 1])


def _hard():
    steps = [["trees", i, i + 1, k, 0.0, "float64"] for i in range(3) for k in range(3)]
    steps += [["largest", [3 * i, 3 * i + 1, 3 * i + 2], "first", 0.0] for i in range(3)]
    for k in range(3):
        steps += [["chosen", 9 + i, k, 1.0, 0.0] for i in range(3)]
        n = len(steps)
        steps += [["+", n - 3, n - 2, "float64"], ["+", n - 1, n, "float64"]]
    steps += [["largest", [16, 21, 26], "first", 0.0]]
    return _model(THREE, steps, len(steps) - 1, classes=["a", "b", "c"])


def _refuted(document, point):
    claim = {"kind": "not", "claim": document["claim"]}
    return _signed(document | {"claim": claim, "proof": {"kind": "witness", "point": point}})


def _reasons(row, reference, sets, claim=None, **given):
    """Sets of moves from one row to another, each of which leads to the third class."""
    proof = {"kind": "moves", "row": row, "reference": reference, "sets": sets}
    claim = {"kind": "reasons", "claim": CLASS_C if claim is None else claim}
    return _document([_three()], claim, proof=proof, **given)


def _near(**given):
    rows = [[0.0, 0.0], [2.5, 3.0], [-3.0, 0.25]]
    proof = {"kind": "points", "rows": rows, "max_changes": 1, "vary": [[0], [1]]}
    proof |= {"free": [], "nearer": None}
    return _same(proof=proof | given)


def _nearer(**given):
    """That no row near one is answered otherwise: the nearest one changes both features."""
    proof = {"kind": "points", "rows": [[0.0, 0.0]], "max_changes": 2, "vary": [[0], [1]]}
    nearer = {"metric": "l1", "distance": 2.499999, "scales": [2.0, 1.0]} | given
    tree = (0, 1.0, 0, [0.0], (1, 2.0, 0, [0.0], [1.0]))
    model = _model([tree], [["trees", 0, 1, 0, 0.0, "float64"]], 0)
    claim = IN_RANGE | {"low": None, "high": 0.0}
    return _document([model], claim, proof=proof | {"free": [], "nearer": nearer})


def _pairs_near(k=1):
    """That a feature in which pairs near some rows differ makes no difference to them."""
    rows = [[2.0, 0.0, 3.0], [2.0, 1.0, 9.0]]
    proof = {"kind": "points", "rows": rows, "max_changes": k, "vary": [[1]], "free": [0, 2]}
    region = {"low": [1.5, None, 1.5]}
    claim = {"kind": "same_class", "uses": [0, 1]}
    proof = proof | {"nearer": None}
    return _document([_three()], claim, uses=_twice([2, 1]), n=3, region=region, proof=proof)


def _linked(last, trees=RISING, **given):
    """A model whose sum goes through a link."""
    return _model(trees, [*SUM, last], 1, **given)


EXP, ASINH = ["exp", 0, 1, "float64", "exp"], ["link", 0, "asinh"]
SOFT = [*VOTE[:3], *(["softmax", [0, 1, 2], k, "float64"] for k in range(3))]
SOFT += [["largest", [0, 1, 2], "first", 0.0]]
UPWARDS = [
    (0, 1.0, 0, (1, 0.5, 0, [0.5, 0.25, 0.25], [0.5, 0.5, 0.5]), [0.5, 0.25, 0.75]),
    (1, 2.0, 0, [0.75, 0.25, 0.0], (0, 1.0, 0, [0.25, 0.5, 0.25], [0.0, 0.5, 0.5])),
    (0, -1.0, 0, [1.0, 0.0, 0.0], [0.0, 0.0, 1.0]),
]


def _soft(trees=UPWARDS):
    return _model(trees, SOFT, 6, classes=["a", "b", "c"], outputs=[3, 4, 5])


def _smallest(depth, leaves, within=None, trees=THREE, **given):
    claim = {"kind": "smallest", "use": 0, "depth": depth, "leaves": leaves, "within": within}
    numbers = [[-2.0, 0.0, 1.0, 1.5], [0.0, 0.75, 1.5, 2.5]]
    model = _model(trees, VOTE, 7, classes=["a", "b", "c"], outputs=[4, 5, 6])
    return _document([model], claim, proof={"kind": "grid", "at": numbers}, **given)


CLASS_C = {"kind": "class_is", "use": 0, "class": 2}
IN_RANGE = {"kind": "in_range", "use": 0, "of": "value", "low": 1.6, "high": 5.5}
PROBA = {"kind": "within", "uses": [0, 1], "of": "each", "atol": 0.0625, "rtol": 0.0}
EXACTLY = {"kind": "within", "uses": [0, 1], "of": "each", "atol": 0.0, "rtol": 0.0}
RISES_CLASS = {"kind": "rises", "uses": [0, 1], "of": "class", "order": [0, 1]}
RISES_PROBA = {"kind": "rises", "uses": [0, 1], "of": {"output": 1}, "order": None}
RISES_VALUE = {"kind": "rises", "uses": [0, 1], "of": "value", "order": None}
RELATIVE = PROBA | {"atol": 0.1, "rtol": 0.3}
ORDERED = {"uses": _twice([2, 1]), "n": 3, "region": {"order": [[0, 2]]}}
GAPS = {"missing": [1, 0]}
HIGH = {"low": [1.5, 0.75], "missing": [0, 1]}
LOW = {"high": [-1.5, None]}

DOCUMENTS = {
    "same": _same(),
    "same with gaps": _same(region=GAPS | {"type": "float32"}),
    "same in a domain": _same(region={"low": [0, None], "high": [3, 2.5], "integer": [1, 0]}),
    "same in groups": _same(
        region={"clauses": [[[0, 1], [1, 1]], [[0, 0], [1, 0]]], "integer": [1, 1], "low": [0, 0]}
    ),
    "same by hard votes": _document([_hard(), _hard()], {"kind": "same_class", "uses": [0, 1]}),
    "same in float32": _document([_single(), _single()], {"kind": "same_class", "uses": [0, 1]}),
    "within": _within(),
    "within in one box": _within(proof=_one_box()),
    "within, relative": _within(0.1, 0.1),
    "the same branch": _document(
        _sums(_branch()), EXACTLY, region={"high": [PAIR[0][1], None]}, proof=_one_box()
    ),
    "probabilities": _document(
        [_boosted(), _boosted([(*RISING[0][:4], [2.125]), RISING[1]])], PROBA
    ),
    "one class": _document([_three()], CLASS_C, region=HIGH),
    "one class in one box": _document([_three()], CLASS_C, region=HIGH, proof=_one_box()),
    "in a range": _document([_model(PAIR, SUM, 0)], IN_RANGE),
    "another class": _document([_three()], CLASS_C | {"kind": "class_is_not"}, region=LOW),
    "out of a range": _document(
        [_model(PAIR, SUM, 0)], IN_RANGE | {"kind": "out_of_range", "low": 2.5, "high": 3.0}
    ),
    "rises": _rises(),
    "class rises": _document([_boosted()], RISES_CLASS, **ORDERED),
    "probability rises": _document([_boosted()], RISES_PROBA, **ORDERED),
    "insensitive": _document(
        [_three()], {"kind": "same_class", "uses": [0, 1]}, uses=_twice([2, 1]), n=3,
        region={"low": [1.5, None, 1.25]},
    ),
    "near rows": _near(),
    "near rows, two changes": _near(max_changes=2),
    "near rows with gaps": _signed(_near() | {"region": _same(region=GAPS)["region"]}),
    "near rows, always free": _pairs_near(),
    "near and nearer": _nearer(),
    "near and nearer, the largest": _nearer(metric="linf", distance=1.999999),
    "near and nearer, a step": _nearer(metric="l2", distance=1.4, scales=[None, 2.0]),
    "exponentials": _document([_linked(EXP, PAIR), _linked(EXP, _moved())], RELATIVE),
    "exponentials rise": _document([_linked(EXP)], RISES_VALUE, **ORDERED),
    "another link rises": _document([_linked(ASINH)], RISES_VALUE, **ORDERED),
    "the same link": _document([_linked(ASINH), _linked(ASINH)], EXACTLY),
    "shares rise": _document([_soft()], RISES_PROBA | {"of": {"output": 2}}, **ORDERED),
    "shares move": _document([_soft()], PROBA | {"of": {"output": 1}, "atol": 0.3}, **ORDERED),
    "two features rise": _document(
        [_model(RISING, SUM, 0)], RISES_VALUE, uses=_twice([2, 3]), n=4,
        region={"order": [[0, 2], [1, 3]]},
    ),
    "no less depth": _smallest(2, None),
    "no fewer leaves": _smallest(None, 4),
    "no smaller tree": _smallest(2, 4, 2),
    "no smaller tree in a domain": _smallest(2, 3, 2, region={"low": [-0.5, None]}),
    "reasons": _reasons([-2.0, 0.0], [0.0, 1.0], [[0, 1]]),
    "reasons with gaps": _reasons([None, -1.0], [0.0, 1.0], [[1]], region=GAPS),
    "not within": _refuted(_within(0.01), [5.0, 3.5]),
    "not rising": _refuted(_rises(FALLING), [1.75, 0.0, 3.0]),
}  # fmt: skip


def _told(document):
    """0, 1 or 2, and what the checker says."""
    try:
        text = document if isinstance(document, str) else json.dumps(document)
        return 0, checker.check_text(text)
    except checker.Unproven as error:
        return 1, str(error)
    except checker.Refused as error:
        return 2, str(error)


@pytest.mark.parametrize("kind", DOCUMENTS)
def test_claims_by_hand_are_proven(kind):
    document = DOCUMENTS[kind]
    assert _is_true(document)
    assert _told(document) == (0, document["words"])


@pytest.mark.parametrize("kind", [kind for kind in DOCUMENTS if "not" not in kind])
def test_what_holds_is_refuted_by_no_point(kind):
    document = DOCUMENTS[kind]
    for point in islice(_points(document), 0, 4_000, 1_300):
        point = [None if math.isnan(x) else x for x in point]
        is_of_one = document["claim"]["kind"] not in ("smallest", "reasons")
        assert _told(_refuted(document, point))[0] == (1 if is_of_one else 2)


def _one(tree):
    return _model([tree], [["trees", 0, 1, 0, 0.0, "float64"]], 0)


NEAR_TWO = _nearer()["proof"]
UP, DOWN = (0, 1.0, 0, [0.0], [1.0]), (0, 1.0, 0, [1.0], [0.0])
FALSE = {
    "the first row reaches one leaf alone": _document(
        [_one(DOWN)], RISES_VALUE, uses=_twice([2, 1]), n=3,
        region={"high": [1.0, None, None], "order": [[0, 2]]}, proof=_one_box(),
    ),
    "falls where the other column is missing": _document(
        [_one((1, 0.0, 1, DOWN, UP))], RISES_VALUE, uses=_twice([2, 1]), n=3,
        region={"low": [None, 0.5, None], "missing": [0, 1, 0], "order": [[0, 2]]},
        proof=_one_box(),
    ),
    "one change that is far": _document(
        [_one((0, 5.0, 0, [0.0], [1.0]))], IN_RANGE | {"low": None, "high": 0.0}, proof=NEAR_TWO
    ),
    "two changes that are near": _document(
        [_one((0, 0.5, 0, [0.0], (1, 0.5, 0, [0.0], [1.0])))],
        IN_RANGE | {"low": None, "high": 0.0}, proof=NEAR_TWO,
    ),
}  # fmt: skip


@pytest.mark.parametrize("kind", FALSE)
def test_what_is_false_is_not_proven(kind):
    assert not _is_true(FALSE[kind])
    assert _told(FALSE[kind])[0] == 1


def test_branches_are_the_same_only_where_all_else_is():
    region, box = {"high": [PAIR[0][1], None]}, _one_box()
    for second, steps, given in [
        (_branch(), SUM, {}),
        (_branch()[::-1], SUM, region),
        ([(*PAIR[0][:3], [9.0], [9.0]), PAIR[1]], SUM, region),
        (_branch(), [[*SUM[0][:4], 0.75, *SUM[0][5:]]], region),
    ]:
        document = _document(_sums(second, steps=steps), EXACTLY, region=given, proof=box)
        assert _told(document)[0] == (0 if _is_true(document) else 1)


# ------------------------------------------------------------------- mutations


def _places(value, path=()):
    """Paths to everything in a document but its words and hashes."""
    yield path
    if isinstance(value, dict):
        for key in value.keys() - {"words", "digest", "sha256", "made_by"}:
            yield from _places(value[key], (*path, key))
    elif isinstance(value, list):
        for i, own in enumerate(value):
            yield from _places(own, (*path, i))


def _changed(value, rng, numbers):
    """Something else in the place of a value."""
    if isinstance(value, bool) or value is None or isinstance(value, str):
        return [None, True, 0, 1.0, "float32", "float64", "last", "x", -1][rng.integers(9)]
    if isinstance(value, int | float):
        ways = [
            np.nextafter(float(value), np.inf).item(),
            np.nextafter(float(value), -np.inf).item(),
            value + 1,
            value - 1,
            -value,
            value / 2,
            value * 1.01,
            numbers[rng.integers(len(numbers))],
            numbers[rng.integers(len(numbers))],
            [0, 1, None, 5e-324, 1e300, -1e300, True, "1", [], 0.5][rng.integers(10)],
        ]
        return ways[rng.integers(len(ways))]
    if isinstance(value, dict):
        keys = list(value)
        other = dict(value)
        if rng.integers(3) and len(keys) > 1:
            one, two = rng.choice(len(keys), 2, replace=False)
            other[keys[one]], other[keys[two]] = value[keys[two]], value[keys[one]]
        else:
            del other[keys[rng.integers(len(keys))]]
        return other
    if not value:
        return [[[0, 1]], [0], [1.0]][rng.integers(3)]
    way, other, i = rng.integers(4), list(value), rng.integers(len(value))
    if way == 0:
        del other[i]
    elif way == 1:
        other.insert(i, value[rng.integers(len(value))])
    elif way == 2:
        other.reverse()
    else:
        j = rng.integers(len(value))
        other[i], other[j] = other[j], other[i]
    return other


def _mutant(document, places, rng):
    """A document with one thing changed; its hashes and words stay."""
    while True:
        # one of the parts first, or most changes would be of nodes
        part = ["models", "models", "region", "claim", "proof", "proof", "uses"][rng.integers(7)]
        path = [own for own in places if own[:1] == (part,)]
        path = path[rng.integers(len(path))]
        other = copy.deepcopy(document)
        numbers = [0, 1, 2, 0.25, 0.5, 1.0]
        numbers += [v for own in places if isinstance(v := _at(document, own), int | float)]
        holder = _at(other, path[:-1])
        holder[path[-1]] = _changed(holder[path[-1]], rng, numbers)
        if json.dumps(other) != json.dumps(document):
            return other


def _at(value, path):
    for key in path:
        value = value[key]
    return value


def _resigned(document):
    """A changed document with hashes of its own, and words if it still can be read."""
    try:
        return _signed(document)
    except Exception:  # whatever a document of another form makes the words raise
        document = copy.deepcopy(document)
        for model in document["models"] if isinstance(document["models"], list) else ():
            if isinstance(model, dict):
                model["sha256"] = checker.digest(model, "sha256")
        return document | {"digest": checker.digest(document, "digest")}


def test_changed_documents_are_found():
    rng = np.random.default_rng(0)
    # trying all points takes long there
    names = [name for name in DOCUMENTS if "hard" not in name and "two" not in name]
    counts = {"found": 0, "still true": 0}
    places = {name: sorted(_places(DOCUMENTS[name]), key=str) for name in names}
    for i in range(500):
        document = DOCUMENTS[names[i % len(names)]]
        other = _mutant(document, places[names[i % len(names)]], rng)
        assert _told(other)[0] > 0
        other = _resigned(other)
        told, said = _told(other)
        counts["still true" if told == 0 else "found"] += 1
        if told == 0:
            assert said == other["words"]
            assert _is_true(other), (names[i % len(names)], i)
    # most changes make another claim, or another proof, that does not hold
    assert counts["still true"] < 250, counts


def test_a_sentence_that_is_not_of_the_data_is_found():
    document = _within()
    other = document | {"words": document["words"].replace("0.25", "0.125")}
    other |= {"digest": checker.digest(other, "digest")}
    assert other["words"] != document["words"]
    told, said = _told(other)
    assert told == 1
    assert "words" in said


# ------------------------------------------------------------------- hostile files


def _with(path, value, document=None):
    """A document with something else in one place, signed again where that is possible."""
    document = copy.deepcopy(document or DOCUMENTS["same"])
    _at(document, path[:-1])[path[-1]] = value
    return _resigned(document)


NODES = ("models", 0, "nodes")
HOSTILE = {
    "nothing": "",
    "no JSON": "{",
    "a number": "5",
    "a list": "[1]",
    "deep": "[" * 100_000,
    "a key twice": '{"format": 1, "format": 2}',
    "not a number": '{"format": NaN}',
    "infinity": '{"format": -Infinity}',
    "a huge number": '{"format": 1e999}',
    "a huge whole number": '{"format": 1' + "0" * 400 + "}",
    "endless digits": '{"format": ' + "9" * 10_000 + "}",
    "no entries": {},
    "another version": _with(("version",), 3),
    "an old version": _with(("version",), 1),
    "a child too few": _with((*NODES, "column", 0), -1),
    "a child too many": _with((*NODES, "column", 2), 0),
    "no such column": _with((*NODES, "column", 0), 2),
    "a negative column": _with((*NODES, "column", 0), -2),
    "a column as text": _with((*NODES, "column", 0), "0"),
    "a column as truth value": _with((*NODES, "column", 0), True),
    "a list cut off": _with((*NODES, "end"), [1.0]),
    "no trees": _with((*NODES, "column"), []),
    "a step ahead": _with(("models", 0, "steps", 4), ["/", 6, 3, "float64"]),
    "a step of a class": _with(("models", 0, "steps", 4), ["/", 7, 3, "float64"]),
    "a step of itself": _with(("models", 0, "steps", 4), ["+", 4, 4, "float64"]),
    "a step that is none": _with(("models", 0, "steps", 4), ["eval", "1"]),
    "a step as text": _with(("models", 0, "steps", 4), "+"),
    "a step of trees beyond": _with(("models", 0, "steps", 0), ["trees", 0, 4, 0, 0.0, "float64"]),
    "half numbers": _with(("models", 0, "steps", 0), ["trees", 0, 3, 0, 0.0, "float16"]),
    "a negative margin": _with(("models", 0, "steps", 7, 3), -1.0),
    "a result of another model": _with(("models", 0, "steps"), []),
    "a class that is never said": _with(("models", 0, "classes"), ["a", "b", "c", "d"]),
    "a class twice": _with(("models", 0, "classes"), ["a", "a", "c"]),
    "too few classes": _with(("models", 0, "classes"), ["a", "b"]),
    "no model": _with(("uses", 0, "model"), 7),
    "a coordinate twice": _with(("uses", 0, "columns"), [0, 0]),
    "no coordinate": _with(("uses", 0, "columns"), [0, 5]),
    "no such claim": _with(("claim", "kind"), "sound"),
    "a claim of no kind": _with(("claim",), {}),
    "not not": _with(("claim",), {"kind": "not", "claim": {"kind": "not", "claim": {}}}),
    "a proof of no kind": _with(("proof",), {"kind": "boxes"}),
    "a proof of half a tree": _with(("proof", "column"), [0, -1]),
    "a proof of two trees": _with(
        ("proof",), {"kind": "boxes", "column": [-1] * 2, "end": [0.0] * 2}
    ),
    "short ends": _with(("proof", "end"), [0.0]),
    "a region cut off": _with(("region", "low"), [None]),
    "a clause of nobody": _with(("region", "clauses"), [[[9, 1]]]),
    "no rows": _with(("proof", "rows"), [], DOCUMENTS["near rows"]),
    "rows of other lengths": _with(("proof", "rows", 0), [0.0], DOCUMENTS["near rows"]),
    "fewer than no changes": _with(("proof", "max_changes"), -1, DOCUMENTS["near rows"]),
    "units that share": _with(("proof", "vary"), [[0], [0, 1]], DOCUMENTS["near rows"]),
    "a unit that is free": _with(("proof", "free"), [0], DOCUMENTS["near rows"]),
    "no such distance": _with(("proof", "nearer", "metric"), "far", DOCUMENTS["near and nearer"]),
    "a distance of more units than there are": _with(
        ("proof", "max_changes"), 3, DOCUMENTS["near and nearer"]
    ),
    "a distance of nothing": _with(
        ("proof", "nearer", "scales"), [0, 1], DOCUMENTS["near and nearer"]
    ),
    "a number of a million digits": '{"format": 0.' + "3" * 1_000_000 + "}",
    "a grid of nothing": _with(("proof", "at", 0), [], DOCUMENTS["no smaller tree"]),
    "a grid out of order": _with(("proof", "at", 0), [1.0, 0.0], DOCUMENTS["no smaller tree"]),
    "a grid of half the space": _with(("proof", "at"), [[0.0]], DOCUMENTS["no smaller tree"]),
    "a grid of too many points": _with(
        ("proof", "at"), [list(range(3_000))] * 2, DOCUMENTS["no smaller tree"]
    ),
    "a grid of too many boxes": _with(
        ("proof", "at"), [list(range(300))] * 2, DOCUMENTS["no smaller tree"]
    ),
    "a size of nothing": _with(("claim", "leaves"), None, DOCUMENTS["no fewer leaves"]),
    "a size and a witness": _refuted(DOCUMENTS["no smaller tree"], [0.0, 0.0]),
    "no point": _with(("proof", "point"), [], DOCUMENTS["not within"]),
    "an entry too much": _with(("region", "strict"), 1),
}


@pytest.mark.parametrize("kind", HOSTILE)
def test_hostile_files_get_a_message(kind):
    told, said = _told(HOSTILE[kind])
    assert told in (1, 2)
    assert 0 < len(said) < 400
    assert "\n" not in said


def test_huge_numbers_of_changes_end_with_a_message():
    n = 24
    tree = [0.0]
    for j in range(n):
        tree = (j, 0.0, 0, tree, [1.0])
    model = _model([tree], [["trees", 0, 1, 0, 0.0, "float64"]], 0, n_columns=n)
    claim = {"kind": "in_range", "use": 0, "of": "value", "low": 0.0, "high": 1.0}
    rows = [[0.0] * n]
    proof = {"kind": "points", "rows": rows * 2, "max_changes": 12, "vary": [[j] for j in range(n)]}
    proof |= {"free": [], "nearer": None}
    told, said = _told(_document([model], claim, n=n, proof=proof))
    assert told == 2
    assert "too many boxes" in said


# ------------------------------------------------------------------- what must not be believed


@pytest.mark.parametrize(
    ("n_moved", "least", "code"), [(9, 9, 0), (8, 9, 1), (9, 8, 1), (8, 8, 0), (17, 17, 2)]
)
def test_all_parts_of_a_set_of_moves_are_tried(n_moved, least, code):
    # each move adds 1; 512 points are more than are looked at together
    n = max(9, n_moved)
    stumps = [(j, 0.5, 0, [0.0], [1.0]) for j in range(n)]
    steps = [["trees", 0, n, 0, 0.0, "float64"]]
    claim = {"kind": "in_range", "use": 0, "of": "value", "low": least, "high": None}
    document = _document(
        [_model(stumps, steps, 0, n_columns=n)],
        {"kind": "reasons", "claim": claim},
        n=n,
        proof={
            "kind": "moves",
            "row": [0.0] * n,
            "reference": [1.0] * n,
            "sets": [list(range(n_moved))],
        },
    )
    told = _told(document)
    assert told[0] == code, told


def test_claims_and_proofs_go_together():
    reasons, same, smallest = (DOCUMENTS[kind] for kind in ("reasons", "same", "no less depth"))
    for one, other in [(reasons, same), (same, reasons), (smallest, reasons), (reasons, smallest)]:
        assert "of another claim" in _told(_resigned(one | {"proof": other["proof"]}))[1]
    of_two = {"kind": "reasons", "claim": same["claim"]}
    moved = _resigned(same | {"claim": of_two, "proof": reasons["proof"]})
    assert "more than one model" in _told(moved)[1]
    no_less = {"kind": "reasons", "claim": smallest["claim"]}
    assert _told(_resigned(reasons | {"claim": no_less}))[0] == 2
    assert _told(_resigned(reasons | {"claim": reasons["claim"]["claim"]}))[0] == 2


def _split_at(end, kind="float32"):
    """Two trees that differ between one and `end`, which may be the next number to it."""
    models = [
        _model([(0, own, 0, [0.0], [1.0])], [["trees", 0, 1, 0, 0.0, "float64"]], 0, n_columns=1)
        for own in (1.0, end)
    ]
    claim = {"kind": "within", "uses": [0, 1], "of": "each", "atol": 0.0, "rtol": 0.0}
    return _document(models, claim, n=1, region={"type": kind})


def test_neighbouring_numbers_are_told_apart():
    end = float(np.nextafter(1.0, 2.0))
    assert _told(_split_at(end, "float64"))[0] == 1
    # no float32 number lies between them
    assert _told(_split_at(end))[0] == 0
    assert _told(_split_at(float(np.nextafter(np.float32(1), np.float32(2)))))[0] == 1


@pytest.mark.parametrize("wins", ["first", "last"])
def test_ties_go_to_the_class_that_the_model_says(wins):
    steps = [["constant", 0.5], ["constant", 0.5], ["largest", [0, 1], wins, 0.0]]
    model = _model([[0.0]], steps, 2, classes=["a", "b"], n_columns=1)
    for k in (0, 1):
        document = _document([model], {"kind": "class_is", "use": 0, "class": k}, n=1)
        assert (_told(document)[0] == 0) == (k == (wins == "last"))
    doubtful = copy.deepcopy(steps)
    doubtful[1], doubtful[2][3] = ["constant", 0.5 + 2.0**-40], 1e-9
    model = _model([[0.0]], doubtful, 2, classes=["a", "b"], n_columns=1)
    assert _told(_document([model], {"kind": "class_is", "use": 0, "class": 1}, n=1))[0] == 1


def test_sums_are_rounded_in_the_order_of_the_trees():
    leaves = [[1e16], [1.0], [-1e16]]
    claim = {"kind": "in_range", "use": 0, "of": "value", "low": 1.0, "high": 1.0}
    for order, told in (((0, 1, 2), 1), ((0, 2, 1), 0)):
        steps = [["trees", 0, 3, 0, 0.0, "float64"]]
        model = _model([leaves[i] for i in order], steps, 0, n_columns=1)
        assert _told(_document([model], claim, n=1))[0] == told
    for kind, told in (("float32", 1), ("float64", 0)):
        steps = [["trees", 0, 2, 0, 0.0, kind]]
        model = _model([[2.0**24], [1.0]], steps, 0, n_columns=1)
        own = claim | {"low": 2.0**24 + 1, "high": 2.0**24 + 1}
        assert _told(_document([model], own, n=1))[0] == told


def test_sums_of_columns_are_told_apart_in_one_box():
    rng, told = np.random.default_rng(0), []

    def tree(v):
        return (int(rng.integers(2)), float(rng.integers(3)), int(rng.integers(2)), [v[0]], [v[1]])

    for i in range(80):
        n, step = int(rng.integers(2, 5)), (0.25, 0.1)[i % 2]
        trees = [tree(rng.integers(-3, 4, 2) * step) for _ in range(n)]
        # one leaf is moved, or a tree goes
        moved = [(*trees[0][:4], [trees[0][4][0] + step * int(rng.integers(-1, 2))]), *trees[1:]]
        moved = moved[: n - (i % 3 == 0)]
        models = []
        for own in (trees, moved):
            steps = [["trees", 0, len(own), 0, 0.0, "float64"], ["above", 0, [0.05], 0, i % 2]]
            models.append(_model(own, steps, 1, classes=[0, 1]))
        region = [None, GAPS, {"integer": [1, 1]}][i % 3]
        claim = {"kind": "same_class", "uses": [0, 1]}
        document = _document(models, claim, region=region, proof=_one_box())
        told.append(_told(document)[0])
        assert (told[-1] == 0) == _is_true(document), i
    assert 20 < sum(told) < 60, told


@pytest.mark.parametrize("seed", range(6))
def test_sizes_of_trees_are_those_of_the_smallest_ones(seed):
    rng = np.random.default_rng(seed)

    def tree(depth):
        if depth == 0 or rng.random() < 0.15:
            return rng.choice([0.0, 0.25, 0.5, 1.0], 3).tolist()
        split = int(rng.integers(2)), float(rng.integers(4)) + 0.5, 0
        return (*split, tree(depth - 1), tree(depth - 1))

    one_of_two = {"clauses": [[[0, 1], [1, 2]]], "integer": [1, 0]}
    region = [None, {"integer": [1, 1]}, one_of_two][seed % 3]
    trees, told = [(0, 1.5, 0, tree(2), tree(2)), *(tree(3) for _ in range(2))], set()
    numbers = {"kind": "grid", "at": [[0, 1, 2, 3, 4]] * 2}
    for within in (None, 2, 3):
        for leaves in range(1, 11):
            given = _smallest(None, leaves, within, trees, region=region)
            document = _signed(given | {"proof": numbers})
            told.add(found := _told(document)[0])
            assert (found == 0) == _is_true(document), (leaves, within)
    for depth in range(6):
        document = _signed(_smallest(depth, None, None, trees, region=region) | {"proof": numbers})
        assert (_told(document)[0] == 0) == _is_true(document), depth
    assert told == {0, 1}


def test_swapped_models_are_found():
    document = _within(0.1, 0.1)
    assert _told(document | {"models": document["models"][::-1]})[0] == 1
    claim = {"kind": "within", "uses": [0, 1], "of": "each", "atol": 0.0, "rtol": 0.1}
    for values, told in (((1.0, 1.1), 0), ((1.11, 1.0), 1), ((1.0, 1.11), 0)):
        models = [
            _model([[v]], [["trees", 0, 1, 0, 0.0, "float64"]], 0, n_columns=1) for v in values
        ]
        assert _told(_document(models, claim, n=1))[0] == told


def test_what_is_relative_is_so_to_the_smallest_number_of_a_box():
    sums = [["trees", 0, 1, 0, 0.0, "float64"]]
    models = [_model([(0, 0.0, 0, [v], [10.0])], sums, 0, n_columns=1) for v in (1.25, 1.0)]
    claim = {"kind": "within", "uses": [0, 1], "of": "each", "atol": 0.0, "rtol": 0.125}
    document = _document(models, claim, n=1, proof=_one_box())
    assert not _is_true(document)
    assert _told(document)[0] == 1
    assert _told(_with(("claim", "rtol"), 0.26, document))[0] == 0


def test_cells_in_between_are_not_skipped_where_whole_numbers_have_none():
    # 0.25 and 0.75 are two ends between the same two whole numbers
    trees = [(0, 0.25, 0, [2.0], [2.0]), (0, 0.75, 0, [2.0], [1.0])]
    claim = {"kind": "rises", "uses": [0, 1], "of": "value", "order": None}
    region = {"order": [[0, 1]], "integer": [1, 1]}
    uses = [{"model": 0, "columns": [0]}, {"model": 0, "columns": [1]}]
    model = _model(trees, SUM, 0, n_columns=1)
    document = _document([model], claim, uses=uses, region=region)
    assert not _is_true(document)
    assert _told(document)[0] == 1
    assert _told(document | {"proof": _one_box()})[0] == 1


def test_the_file_runs_alone(tmp_path):
    """As a program, out of reach of the package, with its exit codes."""
    alone = tmp_path / "checker.py"
    alone.write_text(Path(checker.__file__).read_text())
    for name, document in (("good", _within()), ("bad", _within() | {"words": ""}), ("no", {})):
        (tmp_path / f"{name}.json").write_text(json.dumps(document))
    code = "import sys, runpy; sys.modules['ensemble_simplify'] = sys.modules['sklearn'] = None; "
    code += "sys.argv = sys.argv[1:]; runpy.run_path(sys.argv[0], run_name='__main__')"
    for name, told in (("good", 0), ("bad", 1), ("no", 2)):
        command = [sys.executable, "-c", code, str(alone), str(tmp_path / f"{name}.json")]
        found = subprocess.run(command, capture_output=True, text=True, check=False)
        assert (found.returncode, found.stderr) == (told, "")
        assert found.stdout.count("\n") == 1
