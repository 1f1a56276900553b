"""A reader who has the printed text alone answers as the tree."""

import re

import numpy as np
import pandas as pd
import pytest
from sklearn.compose import make_column_transformer
from sklearn.ensemble import RandomForestClassifier
from sklearn.frozen import FrozenEstimator
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OrdinalEncoder
from what_is_said import condition_holds

from ensemble_simplify import RepresenterTree, export_tree
from ensemble_simplify.front._rules import tree_lines
from ensemble_simplify.writing import NamedTree, end_of_interval


def read(lines, row, levels):
    """The answer of the printed tree."""
    lines = [(len(line) - len(line.lstrip()), line.strip()) for line in lines]
    at = 0
    while True:
        depth, line = lines[at]
        found = re.fullmatch(r"(?:(if) (.*?)|else|always): (\S+) \(.*\)|(?:if (.*)|else):", line)
        assert found is not None, line
        told = found[2] or found[4]
        if told is not None:
            name = max((n for n in row.index if told.startswith(f"{n} ")), key=len)
            value = row[name]
            known = levels.get(name, [value])
            if not condition_holds(
                told.removeprefix(f"{name} "), value, known, ["S", "M", "L", "XL"]
            ):
                at = next(
                    k
                    for k in range(at + 1, len(lines))
                    if lines[k][0] == depth and lines[k][1].startswith("else")
                )
                continue
        if found[3] is not None:
            return found[3]
        at += 1


ORDER = ["S", "M", "L", "XL"]


def is_so(told, row, levels):
    """Whether a condition of an indented text is true of a row, by its words alone."""
    found = re.fullmatch(r"(.*?)((?: or missing)?(?: or unknown)?)", told)
    base, besides = found[1], found[2]
    if base.endswith((" is missing", " is unknown")):
        base, besides = base.rpartition(" is ")[0], base.rpartition(" is ")[2] + besides
        (name,) = [n for n in row.index if n == base]
        sign, rest = "none", ""
    else:
        if between := re.fullmatch(r"(\S+) < (.+) <= (\S+)", base):
            low, middle, high = between.groups()
            return is_so(f"{middle} > {low}{besides}", row, levels) and is_so(
                f"{middle} <= {high}{besides}", row, levels
            )
        name = max((n for n in row.index if base.startswith(f"{n} ")), key=len)
        sign, _, rest = base.removeprefix(f"{name} ").partition(" ")
    value = row[name]
    if base == f"{name} is anything":
        return True
    state = "missing" if pd.isna(value) else "known"
    if name in levels and state == "known" and value not in levels[name]:
        state = "unknown"
    if sign == "in":
        members = re.findall(r'"(?:[^"\\]|\\.)*"|[^,{} ][^,{}]*', rest)
        if state != "known":
            return state in members
        return f'"{value}"' in members
    if state != "known":
        return state in besides
    if rest == "not missing" or sign == "none":
        return sign == "is"
    if name in levels:
        end = rest.strip('"')
        if sign == "=":
            return value == end
        value, rest = ORDER.index(value), ORDER.index(end)
    up_to = np.float32(value) <= np.float32(rest)
    return bool(up_to) if sign == "<=" else not up_to


def read_indented(text, row, levels):
    """The answer of a text of bars: of two conditions below each other, just one is true."""
    lines = [(line.count("|"), line.split("|--- ", 1)[1]) for line in text.strip().splitlines()]
    at, depth = 0, 1
    while not (found := re.match(r"class: (\S+) \(", lines[at][1])):
        sides = [at]
        for k in range(at + 1, len(lines)):
            if lines[k][0] < depth:
                break
            if lines[k][0] == depth:
                sides.append(k)
        (at,) = [k for k in sides if is_so(lines[k][1], row, levels)]
        at, depth = at + 1, depth + 1
    return found[1]


def read_rules(text, row, levels):
    """The answer of the one rule that is true."""
    said = []
    for line in text.strip().splitlines():
        told, answer = re.fullmatch(r"(?:if (.*) then|always) (\S+) \(.*\)", line).groups()
        parts = [part.removeprefix("(").removesuffix(")") for part in (told or "").split(" and ")]
        if all(is_so(part, row, levels) for part in parts if part):
            said.append(answer)
    (answer,) = said
    return answer


def table(seed, n_rows=500):
    rng = np.random.default_rng(seed)
    pain = ["asymptomatic", "typical angina", "missing", "a, b", "x or y"]
    X = pd.DataFrame(
        {
            "chest pain": rng.choice(pain, n_rows),
            "chest": rng.normal(size=n_rows).round(1),
            "is it": rng.choice(["no", "not", "neither"], n_rows),
            "size": pd.Categorical(
                rng.choice(["S", "M", "L", "XL"], n_rows), ["S", "M", "L", "XL"], ordered=True
            ),
        }
    )
    score = (X["chest pain"] == pain[seed % 5]) * 1.5 + X["chest"] + (X["is it"] == "not")
    score += X["size"].cat.codes * 0.5
    if seed % 2:
        for name in ("chest pain", "chest", "is it"):
            X.loc[rng.random(n_rows) < 0.2, name] = np.nan
        score += X["chest pain"].isna() * rng.normal() * 2
    score = score.fillna(0)
    return X, np.where(score > np.median(score), "yes", "no")


@pytest.mark.parametrize("seed", range(4))
def test_a_reader_of_the_text_answers_as_the_tree(seed):
    X, y = table(seed)
    texts = ["chest pain", "is it", "size"]
    codes = OrdinalEncoder(handle_unknown="use_encoded_value", unknown_value=-1)
    model = make_pipeline(
        make_column_transformer((codes, texts), remainder="passthrough"),
        RandomForestClassifier(10, random_state=0),
    ).fit(X, y)
    tree = RepresenterTree(
        FrozenEstimator(model), max_leaf_nodes=12, n_samples=4000, random_state=seed
    ).fit(X, y)
    lines = tree_lines(NamedTree.of(tree), width=10_000)
    rows = table(seed + 100)[0]
    rows["size"] = rows["size"].astype(object)
    if seed % 2:
        rows.loc[::7, "chest pain"] = np.nan
    rows.loc[::5, "chest pain"] = "something new"
    rows.loc[1::9, "is it"] = np.nan
    levels = {name: list(X[name].dropna().unique()) for name in texts}
    said = [read(lines, row, levels) for _, row in rows.iterrows()]
    assert said == tree.predict(rows).tolist()
    text, rules = tree.export_text(), export_tree(tree)
    for (_, row), answer in zip(rows[:200].iterrows(), said[:200], strict=True):
        assert read_indented(text, row, levels) == answer
        assert read_rules(rules, row, levels) == answer


@pytest.mark.parametrize("decimals", range(6))
def test_rounded_thresholds_part_numbers_as_they_do(decimals):
    """Numbers of so many digits stay on their side: 18.65 is 18.6, to which 18.7 is above."""
    assert end_of_interval(18.65, 1) == "18.6"
    rng = np.random.default_rng(decimals)
    for threshold in np.concatenate([rng.normal(size=50), rng.normal(0, 100, 50)]).round(4):
        values = np.round(threshold + np.arange(-3, 4) * 10.0**-decimals, decimals)
        at = float(np.float32(threshold))
        told = np.float32(float(end_of_interval(at, decimals)))
        numbers = values.astype(np.float32)
        np.testing.assert_array_equal(numbers <= told, numbers <= at)
