"""Forges files of evidence: every field of saved ones changed to every other plausible value.

Each is signed again, as who forges it would do. What is still accepted must be true, which is
decided by enumeration, at every point that matters. The tests run a few of them;
``python tests/evidence/forging.py 10000 [0]`` runs so many, of a series with a number.
"""

import copy
import json
import math
import random
import sys
import time
from pathlib import Path

import numpy as np
from sklearn.ensemble import (
    AdaBoostClassifier,
    ExtraTreesClassifier,
    GradientBoostingClassifier,
    GradientBoostingRegressor,
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)
from sklearn.frozen import FrozenEstimator
from sklearn.tree import DecisionTreeClassifier

import ensemble_simplify as es
from ensemble_simplify.evidence.document import evidence

sys.path.insert(0, str(Path(__file__).parents[1]))
from evidence import test_checker as by_hand


def outcomes():
    """Outcomes about small models that can be enumerated, with names."""
    rng = np.random.default_rng(0)
    x = rng.integers(0, 5, (40, 2)).astype(float)
    y, z = (x[:, 0] + x[:, 1] > 4).astype(int), (x.sum(axis=1) // 3).astype(int)
    value, small = np.exp(0.3 * x[:, 0]), {"max_depth": 2, "random_state": 0}
    forest = RandomForestClassifier(2, **small).fit(x, z)
    mixed = ExtraTreesClassifier(2, **small).fit(x, y)
    boosted = GradientBoostingClassifier(n_estimators=2, **small).fit(x, y)
    three = GradientBoostingClassifier(n_estimators=1, **small).fit(x, z)
    votes = AdaBoostClassifier(DecisionTreeClassifier(max_depth=1), n_estimators=2).fit(x, y)
    settings = {"max_leaf_nodes": 3, "min_samples_leaf": 5, "monotonic_cst": [1, 0]}
    rising = HistGradientBoostingClassifier(max_iter=2, **settings).fit(x, y)
    poisson = HistGradientBoostingRegressor(max_iter=2, loss="poisson", **settings).fit(x, value)
    numbers = RandomForestRegressor(2, **small).fit(x, value)
    sums = GradientBoostingRegressor(n_estimators=2, **small).fit(x, value)
    near = copy.deepcopy(sums)
    for tree in near.estimators_.flat:
        tree.tree_.value[...] = tree.tree_.value.round(2)
    whole = es.Domain(bounds={0: (0, 5)}, integers=[0, 1])
    for name, model in {"forest": forest, "boosted": boosted, "votes": votes}.items():
        copied = es.import_model(es.export_model(model, "json", X=x))
        yield f"{name} and its copy", es.verify(model, copied)
        yield f"{name} near rows", es.verify(model, copied, X=x[:2], max_changes=1)
        yield f"{name} in a domain", es.verify(model, copied, domain=whole)
        yield f"{name}, a box", es.sufficient_box(model, x[0])
        for flip in es.nearest_flip(model, x[:2], max_changes=1):
            yield f"{name}, a flip", flip
            if flip and flip.changes:
                object.__setattr__(flip, "claim", flip.nearest_claim)
                yield f"{name}, the nearest flip", flip
        if name != "votes":
            objective, kept = "leaves" if model is forest else "auto", FrozenEstimator(model)
            born = es.BornAgainClassifier(kept, objective=objective, random_state=0)
            outcome = born.fit(x, z if model is forest else y).verify()
            object.__setattr__(outcome, "claim", outcome.smallest_claim)
            yield f"{name}, no smaller tree", outcome
    flags = rng.integers(0, 2, (40, 3)).astype(float)
    group = RandomForestClassifier(2, **small).fit(flags, flags[:, 0] + flags[:, 1] > 0)
    one_hot = es.Domain(at_most_one=[[0, 1]])
    yield "a group", es.verify(group, group, domain=one_hot)
    yield "a group, a flip", es.nearest_flip(group, [1.0, 0.0, 1.0], domain=one_hot)
    gaps = np.where(rng.random(x.shape) < 0.2, np.nan, x)
    lacking = HistGradientBoostingClassifier(max_iter=2, **settings).fit(gaps, y)
    for way, given in (("everywhere", {}), ("near a row", {"X": gaps[:2], "max_changes": 1})):
        missing = es.Domain(missing="all")
        yield f"gaps {way}", es.verify(lacking, lacking, domain=missing, **given)
    yield "gaps, a flip", es.nearest_flip(lacking, gaps[0], domain=missing)
    yield "differ", es.verify(forest, RandomForestClassifier(2, max_depth=1).fit(x, z))
    yield "probabilities", es.verify(mixed, mixed, atol=1e-6)
    for name, model in {"rising": rising, "poisson": poisson, "sums": sums}.items():
        yield f"{name}, one feature", es.is_monotone(model, 0)
        yield f"{name}, two features", es.is_monotone(model, [0, 1])
    yield "probability rises", es.is_monotone(rising, 0, response="probabilities")
    yield "share rises", es.is_monotone(three, 0, response="probabilities", positive=2)
    yield "share moves", es.is_sensitive(three, 0, response="probabilities", positive=2, gap=0.9)
    yield "pairs near rows", es.is_sensitive(mixed, 1, near=x[:2], max_changes=0)
    yield "within", es.verify(sums, near, atol=0.02)
    other = GradientBoostingClassifier(n_estimators=3, **small).fit(x, y)
    yield "probabilities apart", es.verify(boosted, other, atol=0.01)
    more = HistGradientBoostingRegressor(max_iter=3, loss="poisson", **settings).fit(x, value)
    yield "values apart", es.verify(poisson, more, rtol=0.01)
    yield "values close", es.verify(poisson, more, rtol=0.5)
    yield "probabilities close", es.verify(boosted, other, atol=0.2)
    yield "relative", es.verify(poisson, poisson, rtol=0.1)
    for name, model, target in (("forest", forest, None), ("numbers", numbers, (2.0, None))):
        for k, found in enumerate(es.principal_reasons(model, x[1:3], x[[0]], target=target)):
            yield f"{name}, reasons {k}", found
    yield "a range", es.sufficient_box(numbers, x[0], within=0.5)
    yield "no number", es.nearest_flip(numbers, x[0], target=(100, 200), max_changes=2)


def documents():
    """The files of the outcomes that can be saved, by name."""
    found = {}
    for name, outcome in outcomes():
        if outcome.claim is not None:
            found[f"{name} ({len(found)})"] = evidence(outcome.claim)
    return found


WORDS = ["float32", "float64", "first", "last", "value", "class", "each", "l1", "l2", "linf"]
WORDS += ["+", "-", "*", "/", "sigmoid", "exp", "link", "same_class", "within", "rises", "class_is"]
WORDS += ["class_is_not", "in_range", "out_of_range"]


def plausible(value, beside):
    """Other values that may stand in the place of one; `beside` are those in like places."""
    if isinstance(value, bool | str):
        return [own for own in [*WORDS, True, False, None] if own != value]
    if value is None:
        return [0, 1, -1.0, 0.5, [], *beside]
    if isinstance(value, int | float):
        near = [math.nextafter(value, way) for way in (math.inf, -math.inf)]
        near += [0, 1, -1, None, value + 1, value - 1, -value, value / 2, *beside]
        return [own for own in near if own != value]
    if isinstance(value, dict):
        return [{key: value[key] for key in value if key != gone} for gone in value]
    if not value:
        return [[0], [0, 1], [[0, 1]], [[0]]]
    others = [value[::-1], value[1:], value[:-1], [*value, value[-1]], [value[0]] * len(value), []]
    return [own for own in others if own != value]


def forged(document, rng):
    """Documents with one field changed, or two at once, signed again; without end."""
    places = [path for path in by_hand._places(document) if path]
    kinds = {}
    for path in places:
        kinds.setdefault(
            (path[0], len(path), [p for p in path if isinstance(p, str)][-1]), []
        ).append(path)
    while True:
        other = copy.deepcopy(document)
        for _ in range(rng.choice([1, 1, 1, 2])):
            # fields of every kind as often, or most would be of nodes
            own = kinds[rng.choice([*kinds])]
            path = rng.choice(own)
            beside = [by_hand._at(document, p) for p in rng.sample(own, min(3, len(own)))]
            value = rng.choice(plausible(by_hand._at(document, path), beside))
            try:
                by_hand._at(other, path[:-1])[path[-1]] = copy.deepcopy(value)
            except (IndexError, KeyError, TypeError):
                continue
        if json.dumps(other) != json.dumps(document):
            yield other


def altered(document, rng):
    """The claim of a document about models with other leaves, columns and ends."""
    other = copy.deepcopy(document)
    for model in other["models"]:
        nodes, share = model["nodes"], rng.choice([0.1, 0.5, 1.0])
        values = [own for column in nodes["value"] for own in column]
        for i, j in enumerate(nodes["column"]):
            if j < 0:
                for column in nodes["value"]:
                    if rng.random() < share:
                        column[i] = rng.choice(values) * rng.choice([1, 1, 1, -1, 0.5])
            elif rng.random() < 0.3:
                nodes["column"][i] = rng.randrange(len(model["columns"]))
                nodes["end"][i] = rng.choice([0.5, 1.5, 2.5, 3.5])
    steps = [model["steps"] for model in other["models"]]
    if len(steps) == 2 and steps[0] == steps[1] and rng.random() < 0.6:
        # much alike, or the same but for a leaf
        nodes = copy.deepcopy(other["models"][0]["nodes"])
        leaf = rng.choice([i for i, j in enumerate(nodes["column"]) if j < 0])
        for column in nodes["value"]:
            column[leaf] *= rng.choice([1.0, 1.01, 0.99, 1.5])
        other["models"][1]["nodes"] = nodes
    return by_hand._resigned(other)


def judged(n, begin=0):
    """How many claims about altered models are proven: raises unless these are the true ones."""
    counts = {"false": 0, "true": 0, "rounded": 0}
    for name, document in documents().items():
        rng = random.Random(f"{name} {begin}")
        # another grid would show how small trees for other models are
        is_asked = document["claim"]["kind"] not in ("not", "smallest")
        for _ in range(n if is_asked else 0):
            other = altered(document, rng)
            told, is_true = by_hand._told(other)[0], by_hand._is_true(other)
            if is_true and told and isinstance(other["claim"].get("of"), dict):
                # sums that fall by a last digit can be one probability: who knows how exp rounds?
                counts["rounded"] += 1
                continue
            assert told == (0 if is_true else 1), (name, json.dumps(other))
            counts["true" if is_true else "false"] += 1
    assert counts["rounded"] <= counts["true"] / 100, counts
    return counts


def run(n, begin=0):
    """How many of `n` forgeries of each file were accepted; raises for one that is not true."""
    counts = {"refused": 0, "true": 0}
    for name, document in documents().items():
        assert by_hand._told(document)[0] == 0, name
        rng = random.Random(f"{name} {begin}")
        more = forged(document, rng)
        for _ in range(n):
            other = by_hand._resigned(next(more))
            if by_hand._told(other)[0]:
                counts["refused"] += 1
                continue
            assert by_hand._is_true(other), (name, json.dumps(other))
            counts["true"] += 1
    return counts


if __name__ == "__main__":
    start = time.process_time()
    n_each = int(sys.argv[1]) // len(documents())
    print(run(n_each, *map(int, sys.argv[2:])), f"{time.process_time() - start:.0f} s of CPU")
