"""Levels that the user gave an order: trees keep it, and rules compare as they do for numbers."""

import json
import re

import numpy as np
import pytest
from sklearn.compose import make_column_transformer
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.frozen import FrozenEstimator
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder

from ensemble_simplify import BornAgainClassifier, RepresenterTree, export_tree
from ensemble_simplify.writing import NamedTree

pd = pytest.importorskip("pandas")
# not in the order of their letters
GRADES = ["I1", "SI2", "SI1", "VS2", "VS1", "IF"]
RUN = re.compile(r'(?:("[^"]*") < )?grade (?:<= |> )("[^"]*")((?: or \w+)*)$')


def stones(rng, n=240, ordered=True):
    grade, carat = rng.integers(len(GRADES), size=n), rng.uniform(0, 3, n).round(2)
    table = pd.DataFrame(
        {"grade": pd.Categorical.from_codes(grade, GRADES, ordered=ordered), "carat": carat}
    )
    sides = rng.normal(size=len(GRADES))[grade] + rng.normal() * grade + carat
    return table, np.where(sides > np.median(sides), "dear", "cheap")


def holds(condition, row, known):
    """Whether a condition that rules say holds for a row, by its words alone."""
    condition = condition.removeprefix("(").removesuffix(")")
    grade, carat = row["grade"], row["carat"]
    kind = "missing" if grade is None else "level" if grade in known else "unknown"
    if "carat" in condition:
        words = condition.replace("carat", repr(carat))
        return bool(eval(words, {}))
    if " in {" in condition:
        listed = condition.partition("{")[2].removesuffix("}").split(", ")
        return (json.dumps(grade) if kind == "level" else kind) in listed
    if " = " in condition:
        return grade == json.loads(condition.partition(" = ")[2])
    if condition.startswith("grade is "):
        return kind in condition.removeprefix("grade is ").split(" or ")
    low, high, others = RUN.fullmatch(condition).groups()
    if kind != "level":
        return kind in others.split(" or ")
    if "<=" not in condition:
        low, high = high, None
    place = GRADES.index(grade)
    above = low is None or place > GRADES.index(json.loads(low))
    return above and (high is None or place <= GRADES.index(json.loads(high)))


def all_rows(rng, others, carats=20):
    for grade in [*GRADES, *others]:
        for carat in rng.uniform(0, 3, carats).tolist():
            yield {"grade": grade, "carat": carat}


def check_rules(tree, rng, others=(None, "new"), known=GRADES):
    """Each row is in the leaf of one rule, and this rule tells the tree's answer."""
    rules = []
    for line in export_tree(tree).splitlines():
        told, _, answer = line.removeprefix("if ").partition(" then ")
        rules.append((told.split(" and "), answer.partition(" ")[0]))
    rows = list(all_rows(rng, others))
    frame = pd.DataFrame(rows).astype({"grade": object})
    for row, answer in zip(rows, tree.predict(frame).tolist(), strict=True):
        found = [said for told, said in rules if all(holds(c, row, known) for c in told)]
        assert found == [answer], (row, rules)
    return rules


def model_of(kind, X, y, seed):
    if kind == "forest":
        return RandomForestClassifier(5, max_depth=4, random_state=seed)
    if kind == "boosting":
        model = HistGradientBoostingClassifier(max_iter=4, max_leaf_nodes=5, random_state=seed)
    else:
        encoder = make_column_transformer(
            (OneHotEncoder(handle_unknown="ignore"), ["grade"]), remainder="passthrough"
        )
        forest = RandomForestClassifier(3, max_depth=3, random_state=seed)
        model = make_pipeline(encoder, forest)
    return FrozenEstimator(model.fit(X, y))


@pytest.mark.parametrize("kind", ["forest", "boosting", "encoder"])
@pytest.mark.parametrize("seed", range(3))
def test_rules_say_what_the_tree_does(kind, seed):
    rng = np.random.default_rng(seed)
    X, y = stones(rng)
    tree = RepresenterTree(
        model_of(kind, X, y, seed), max_leaf_nodes=8, sampler="leaves", random_state=seed
    ).fit(X, y)
    assert tree._table.levels[0].tolist() == GRADES
    rules = check_rules(tree, rng)
    sets = [c for told, _ in rules for c in told if c.startswith("grade in")]
    # a threshold leaves levels that follow each other: only one of them has to be listed
    assert all(len(re.findall('"', c)) == 2 for c in sets)


@pytest.mark.parametrize("kind", ["boosting", "encoder"])
@pytest.mark.parametrize("seed", range(3))
def test_rules_of_faithful_trees_compare_where_they_can(kind, seed):
    rng = np.random.default_rng(10 + seed)
    X, y = stones(rng)
    tree = BornAgainClassifier(model_of(kind, X, y, seed), max_changes=1, random_state=seed)
    others = [None, "new"] if kind == "boosting" else ["new"]
    rules = check_rules(tree.fit(X, y), rng, others)
    for told, _ in rules:
        for condition in told:
            listed = re.findall(r'"([^"]*)"', condition)
            if " in {" not in condition or len(listed) < 2:
                continue
            places = [GRADES.index(level) for level in listed]
            assert places == sorted(places)
            assert places[-1] - places[0] >= len(places)  # others are between


def test_levels_without_an_order_are_listed():
    rng = np.random.default_rng(20)
    X, y = stones(rng, ordered=False)
    tree = RepresenterTree(
        model_of("forest", X, y, 0), max_leaf_nodes=8, sampler="leaves", random_state=0
    ).fit(X, y)
    rules = check_rules(tree, rng)
    assert not any(RUN.fullmatch(c.strip("()")) for told, _ in rules for c in told)


def test_questions_and_branches_compare_too():
    rng = np.random.default_rng(30)
    X, _ = stones(rng)
    y = X["grade"] > "SI1"
    tree = RepresenterTree(
        lambda rows: (rows["grade"] > "SI1").to_numpy(), response="class", random_state=0
    ).fit(X, y)
    named = NamedTree.of(tree)
    assert named.question(0, {}) == "grade ≤ SI1 or missing or unknown"
    first, second = re.findall(r"^\|--- (.*)$", tree.export_text(), re.MULTILINE)
    assert (first, second) == ('grade <= "SI1" or missing or unknown', 'grade > "SI1"')
    assert "\"grade\" NOT IN ('VS2', 'VS1', 'IF')" in export_tree(tree, "sql")


def test_order_of_other_levels_is_none():
    """Where the dtype knows other levels than the model, "up to" would say too much."""
    rng = np.random.default_rng(40)
    X, y = stones(rng)
    known = X["grade"] != "SI2"
    X, y = X[known], y[known.to_numpy()]
    tree = BornAgainClassifier(model_of("encoder", X, y, 0), random_state=0).fit(X, y)
    assert tree._table.scale(0) is None
    words = export_tree(tree)
    assert not any(sign in words for sign in ("grade <", "grade >", " < grade"))
    check_rules(tree, rng, ["new"], [grade for grade in GRADES if grade != "SI2"])


def test_polars_enums_are_in_order():
    polars = pytest.importorskip("polars")
    rng = np.random.default_rng(50)
    X, y = stones(rng)
    frame = polars.DataFrame({"grade": X["grade"].astype(str).tolist(), "carat": X["carat"]})
    frame = frame.with_columns(polars.col("grade").cast(polars.Enum(GRADES)))
    trees = [
        RepresenterTree(
            model_of("forest", X, y, 0), max_leaf_nodes=6, sampler="leaves", random_state=0
        ).fit(rows, y)
        for rows in (X, frame)
    ]
    assert trees[0].export_text() == trees[1].export_text()
    assert "grade <= " in trees[1].export_text()
