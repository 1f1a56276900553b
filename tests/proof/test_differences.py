"""Planted differences are found, in the user's columns, and counted as by brute force."""

import sys
import warnings

import numpy as np
import pandas as pd
import pytest
from sklearn.compose import make_column_transformer
from sklearn.datasets import load_diabetes, load_iris
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.exceptions import NotFittedError
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LinearRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from ensemble_simplify import Differences, agreement, differences
from ensemble_simplify.proof import differences as public


@pytest.fixture(scope="module")
def people():
    rng = np.random.default_rng(0)
    n = 4000
    return pd.DataFrame(
        {
            "age": rng.integers(18, 80, n),
            "income": rng.lognormal(10, 0.5, n).round(-2),
            "city": rng.choice(["Lima", "Oslo", "Paris", "Quito", "Rome"], n),
            "name": [f"person {i}" for i in range(n)],
            "size": pd.Categorical.from_codes(
                rng.integers(3, size=n), ["small", "medium", "large"], ordered=True
            ),
            "score": np.where(rng.random(n) < 0.2, np.nan, rng.normal(size=n)),
        }
    )


def by_age(X):
    return np.where(X["age"] > 40, "yes", "no")


def changed(where, to):
    """The same with another answer on some rows."""

    def predict(X):
        return np.where(where(X), to, by_age(X))

    return predict


def check_counts(found, X, answers):
    """Rows, differences and answers are those that a user would count."""
    apart = answers[0] != answers[1]
    assert (found.n_rows, found.n_differing) == (len(X), apart.sum())
    seen = np.zeros(len(X), dtype=int)
    for rule in found:
        seen[rule.rows] += 1
        assert (np.diff(rule.rows) > 0).all()
        assert rule.n_rows == len(rule.rows)
        assert rule.n_differing == apart[rule.rows].sum()
        assert rule.share == rule.n_rows / len(X)
        assert rule.share_differing == rule.n_differing / rule.n_rows
        assert rule.share_of_differences == rule.n_differing / apart.sum()
        pairs = pd.Series(list(zip(*(own[rule.rows] for own in answers), strict=True)))
        pairs = pairs[apart[rule.rows]].value_counts()
        assert pairs[rule.answers] == pairs.max()
    assert (seen <= 1).all()
    n_differing = [rule.n_differing for rule in found]
    assert n_differing == sorted(n_differing, reverse=True)


PLANTED = {
    "income > 30050 and age <= 29.5": lambda X: (X["age"] < 30) & (X["income"] > 30000),
    '30.5 < age <= 50.5 and city in {"Oslo", "Quito"}': lambda X: (
        X["age"].between(31, 50) & X["city"].isin(["Oslo", "Quito"])
    ),
    "score is missing": lambda X: X["score"].isna(),
    "score > 1 or missing": lambda X: X["score"].isna() | (X["score"] > 1),
    'size > "small" and age > 60.5': lambda X: (X["size"] != "small") & (X["age"] > 60),
    'city = "Lima"': lambda X: X["city"] == "Lima",
}


@pytest.mark.parametrize("planted", PLANTED)
def test_a_planted_box_is_found(planted, people):
    where = PLANTED[planted]
    other = changed(where, "maybe")
    found = differences(by_age, other, people, random_state=0)
    check_counts(found, people, (by_age(people), other(people)))
    assert len(found) == 1
    np.testing.assert_array_equal(found[0].rows, np.flatnonzero(where(people)))
    assert found[0].answers[1] == "maybe"

    def words(rule):
        return sorted(rule.replace('"Quito", "Oslo"', '"Oslo", "Quito"').split(" and "))

    if planted != "score > 1 or missing":  # the threshold lies between two rows
        assert words(found[0].rule) == words(planted)
    else:
        assert found[0].rule.startswith("score > ")
        assert found[0].rule.endswith(" or missing")


def part(column, low, high):
    """The part of a column's range that lies between two numbers."""
    return (min(high, column.max()) - max(low, column.min())) / (column.max() - column.min())


def whole(column, low, high):
    """The part of the whole numbers in a column's range."""
    numbers = range(column.min(), column.max() + 1)
    return sum(low < k < high for k in numbers) / len(numbers)


VOLUMES = {
    "income > 30050 and age <= 29.5": lambda X: (
        part(X["income"], 30050, np.inf) * whole(X["age"], 0, 30)
    ),
    '30.5 < age <= 50.5 and city in {"Oslo", "Quito"}': lambda X: whole(X["age"], 30, 51) * 2 / 5,
    "score is missing": lambda X: X["score"].isna().mean(),
    'size > "small" and age > 60.5': lambda X: 2 / 3 * whole(X["age"], 60, 100),
    'city = "Lima"': lambda X: 1 / 5,
}


@pytest.mark.parametrize("planted", VOLUMES)
def test_volume_is_that_of_the_box(planted, people):
    found = differences(by_age, changed(PLANTED[planted], "maybe"), people, random_state=0)
    assert found[0].volume == pytest.approx(VOLUMES[planted](people), rel=1e-6)
    assert found.to_frame()["volume"][0] == found[0].volume


def test_volume_where_some_are_missing(people):
    """Of numbers, those that are known take up what the missing ones leave."""
    planted = "score > 1 or missing"
    found = differences(by_age, changed(PLANTED[planted], "maybe"), people, random_state=0)
    end = float(found[0].rule.removeprefix("score > ").removesuffix(" or missing"))
    missing = people["score"].isna().mean()
    known = part(people["score"], end, np.inf)
    assert found[0].volume == pytest.approx(missing + (1 - missing) * known, rel=1e-6)


def test_volume_of_a_domain(people):
    other = changed(PLANTED["income > 30050 and age <= 29.5"], "maybe")

    def volume(**domain):
        found = differences(by_age, other, people, domain=domain, random_state=0)
        assert [set(rule.rule.split(" and ")) for rule in found] == [
            {"income > 30050", "age <= 29.5"}
        ]
        assert "shares of the domain" in repr(found)
        return found[0].volume

    bounds = {"age": (0, 99), "income": (0, 1e6)}
    assert volume(bounds=bounds) == pytest.approx(0.3 * 0.96995, rel=1e-6)
    # one end alone, and whole numbers of a column of floats
    low, high = people["income"].min(), people["income"].max()
    assert volume(bounds={"age": (0, None)}) == pytest.approx(
        30 / 80 * (high - 30050) / (high - low), rel=1e-6
    )
    assert volume(bounds=bounds, integers=["income"]) == pytest.approx(
        0.3 * (1e6 - 30050) / (1e6 + 1), rel=1e-12
    )
    by_number = {1: (0, 1e6)}
    assert volume(bounds=by_number) == volume(bounds={"income": (0, 1e6)})
    for domain, message in [
        ({"bounds": {"age": (20, 90)}}, r"X\[\d+, 0\] = 1\d.* is outside the domain"),
        ({"bounds": {"city": (0, 1)}}, "domain bounds the column 'city' of levels"),
        ({"missing": ["age"]}, "is missing, which is outside the domain"),
        ({"one_hot": [["age", "income"]]}, "outside the domain|groups or implications"),
        ({"bounds": {"height": (0, 1)}}, "height"),
    ]:
        with pytest.raises(ValueError, match=message):
            differences(by_age, other, people, domain=domain)


def test_volume_is_the_share_of_points_drawn():
    """Of the leaves of a tree, each of which another model answers otherwise."""
    rng = np.random.default_rng(3)
    X = rng.normal(size=(2000, 3)).astype(np.float32)
    y = 4 * (X[:, 0] > 0.3) + 2 * (X[:, 1] > -0.2) + (X[:, 2] > 0.1)
    tree = DecisionTreeClassifier(random_state=0).fit(X, y)
    low, high = X.min(axis=0).astype(float), X.max(axis=0).astype(float)
    points = low + rng.random((200_000, 3)) * (high - low)
    for leaf in range(8):
        found = differences(
            tree,
            lambda rows, own=leaf: np.where(tree.predict(rows) == own, -1, tree.predict(rows)),
            X,
            random_state=0,
        )
        inside = tree.predict(points) == leaf
        assert len(found) == 1
        assert found[0].volume == pytest.approx(inside.mean(), abs=0.005)


def test_several_boxes_among_noise(people):
    rng = np.random.default_rng(1)
    noise = rng.random(len(people)) < 0.01
    first, second = (
        PLANTED["score is missing"](people),
        people["city"].eq("Rome") & (people.age < 40),
    )
    answers = np.where(first, "a", np.where(second, "b", np.where(noise, "c", by_age(people))))
    found = differences(by_age, lambda X: answers, people, random_state=0)
    check_counts(found, people, (by_age(people), answers))
    assert found[0].rule == "score is missing"
    assert {rule.answers[1] for rule in found} == {"a", "b"}
    told = np.zeros(len(people), dtype=bool)
    told[np.concatenate([rule.rows for rule in found])] = True
    np.testing.assert_array_equal(told, first | second)
    assert len(differences(by_age, lambda X: answers, people, max_boxes=1, random_state=0)) == 1


def test_rules_hold_for_who_reads_them(people):
    """The words of intervals, put to pandas, find the same rows."""
    where = people["age"].between(31, 50) & (people["income"] > 20000)
    found = differences(by_age, changed(lambda X: where, "maybe"), people, random_state=0)
    own = people.query(found[0].rule)
    np.testing.assert_array_equal(own.index, found[0].rows)


def test_differences_by_chance_have_no_rule(people):
    for seed in range(5):
        rng = np.random.default_rng(seed)
        answers = np.where(rng.random(len(people)) < 0.1, "maybe", by_age(people))
        found = differences(by_age, lambda X, own=answers: own, people, random_state=0)
        assert not list(found)
        assert found.n_differing > 0
        assert "No short rule" in repr(found)


def test_models_that_differ_everywhere_or_nowhere(people):
    found = differences(by_age, changed(lambda X: X["age"] > 0, "maybe"), people)
    assert [rule.rule for rule in found] == ["every row"]
    check_counts(found, people, (by_age(people), np.full(len(people), "maybe")))
    found = differences(by_age, by_age, people)
    assert found.n_differing == 0
    assert not list(found)
    assert repr(found) == "The models differ on none of 4,000 rows."


@pytest.fixture(scope="module")
def pair():
    X, y = load_iris(return_X_y=True, as_frame=True)
    forest = RandomForestClassifier(20, random_state=0).fit(X, y)
    return forest, DecisionTreeClassifier(max_depth=1, random_state=0).fit(X, y), X


def test_models_of_scikit_learn(pair):
    forest, tree, X = pair
    found = differences(forest, FrozenEstimator(tree), X, random_state=0)
    check_counts(found, X, (forest.predict(X), tree.predict(X)))
    assert found[0].answers == (2, 1)
    assert found.n_differing == agreement(forest, tree, X, random_state=0).n_different
    assert all("(cm)" in rule.rule for rule in found)
    # arrays are put to models of frames under their names
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        again = differences(forest, tree, X.to_numpy(), random_state=0)
    assert [rule.rows.tolist() for rule in again] == [rule.rows.tolist() for rule in found]
    # and the names stand in the rules
    assert repr(again) == repr(found)


def test_models_that_take_tables(people):
    X, y = people.drop(columns="name"), by_age(people)
    noisy = np.where(people["city"].eq("Oslo"), "no", y)
    encoder = make_column_transformer(
        (OneHotEncoder(handle_unknown="ignore"), ["city", "size"]), remainder="passthrough"
    )
    first = make_pipeline(encoder, DecisionTreeClassifier(max_depth=4, random_state=0)).fit(X, y)
    second = make_pipeline(encoder, HistGradientBoostingClassifier(max_iter=5)).fit(X, noisy)
    found = differences(first, second, X, random_state=0)
    check_counts(found, X, (first.predict(X), second.predict(X)))
    assert found[0].n_differing > 0.99 * found.n_differing
    assert sorted(found[0].rule.split(" and ")) == ["age > 40.5", 'city = "Oslo"']


def test_numbers():
    X, y = load_diabetes(return_X_y=True, as_frame=True, scaled=False)
    line, tree = LinearRegression().fit(X, y), DecisionTreeRegressor(max_depth=4).fit(X, y)
    distance = np.abs(line.predict(X) - tree.predict(X))
    found = differences(line, tree, X, random_state=0)
    assert found.mean_difference == found.atol == distance.mean()
    assert found.n_differing == (distance > distance.mean()).sum()
    found = differences(line, tree, X, atol="30%", random_state=0)
    assert found.atol == 0.3 * line.predict(X).std()
    assert found.n_differing == (distance > found.atol).sum()
    with pytest.raises(ValueError, match="atol='30' is not a tolerance"):
        differences(line, tree, X, atol="30")
    far = np.where(X["bmi"] > 30, 100.0, 1.0)
    found = differences(line, lambda rows: line.predict(rows) + far, X, atol=50, random_state=0)
    assert found.atol == 50
    assert found.n_differing == found[0].n_differing == found[0].n_rows == (far > 50).sum()
    first, second = found[0].answers
    assert first == line.predict(X)[far > 50].mean()
    assert second == pytest.approx(first + 100)
    low, high = X["bmi"][X["bmi"] <= 30].max(), X["bmi"][X["bmi"] > 30].min()
    assert found[0].rule.startswith("bmi > ")
    assert low <= float(found[0].rule.removeprefix("bmi > ")) < high
    assert "by more than 50" in repr(found)
    assert "on average" in repr(found)


def test_many_rows_are_drawn_from(people, monkeypatch):
    X = people.drop(columns="name")
    other = changed(PLANTED["score is missing"], "maybe")
    # the function hides the module of its name
    module = sys.modules["ensemble_simplify.proof.differences"]
    monkeypatch.setattr(module, "GROWN_ON", 1000 * X.shape[1])
    found = differences(by_age, other, X, random_state=0)
    check_counts(found, X, (by_age(X), other(X)))
    assert found[0].rule == "score is missing"
    assert found[0].n_rows == X["score"].isna().sum()
    again = differences(by_age, other, X, random_state=0)
    assert repr(again) == repr(found)


def test_what_is_shown(people):
    other = changed(lambda X: X["city"] == "Rome", "<b>maybe</b>")
    found = differences(by_age, other, people, random_state=0)
    assert isinstance(found, Differences)
    assert found.rules == list(found) == found[:]
    frame = found.to_frame()
    assert list(frame["rule"]) == ['city = "Rome"']
    assert frame["n_rows"][0] == found[0].n_rows
    assert frame.loc[0, ["model_a", "model_b"]].tolist() == list(found[0].answers)
    text = repr(found)
    n = f"{found.n_differing:,}"
    assert text.splitlines()[0] == (
        f"The models differ on {n} of 4,000 rows ({100 * found.n_differing / 4000:.1f} %). 1 rule "
        f"tells where {n} of these are:"
    )
    assert "Measured on these rows alone" in text
    page = found._repr_html_()
    assert "<b>" not in page
    assert "&lt;b&gt;maybe" in page
    assert "Rome" in page
    assert "<table>" not in differences(by_age, by_age, people)._repr_html_()
    assert list(differences(by_age, by_age, people).to_frame().columns) == list(frame.columns)


def test_wrong_input_is_refused(pair, people):
    forest, tree, X = pair
    with pytest.raises(ValueError, match=r"atol=0\.1, but the models answer labels"):
        differences(forest, tree, X, atol=0.1)
    with pytest.raises(ValueError, match="their order"):
        differences(forest, tree, X[X.columns[::-1]])
    with pytest.raises(NotFittedError):
        differences(forest, DecisionTreeClassifier(), X)
    with pytest.raises(TypeError, match="has no method predict"):
        differences(forest, "tree", X)
    with pytest.raises(ValueError, match="of one output"):
        differences(forest, lambda rows: np.zeros((len(rows), 2)), X)
    with pytest.raises(ValueError, match="max_boxes"):
        differences(forest, tree, X, max_boxes=0)
    assert public is differences
