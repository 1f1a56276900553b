"""What `Model` says of itself."""

import numpy as np
import pytest
from passengers import FOREST, passengers, pipeline_of
from sklearn.base import clone
from sklearn.compose import make_column_transformer
from sklearn.datasets import load_iris
from sklearn.ensemble import RandomForestClassifier, VotingClassifier
from sklearn.frozen import FrozenEstimator
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder
from sklearn.tree import DecisionTreeRegressor

from ensemble_simplify import export_model, import_model
from ensemble_simplify.reading import Model, says_it_takes_gaps


def rows_of(model, table):
    return model.table.read(table)


def test_columns_in_which_gaps_are_taken():
    table, y = passengers(0, missing=False)
    names = ["sex", "age", "port", "class", "fare"]
    assert list(table.columns) == names
    of_text = make_column_transformer(
        (OneHotEncoder(handle_unknown="ignore"), ["sex", "port"]), remainder="passthrough"
    )
    filled = make_column_transformer(
        (OneHotEncoder(handle_unknown="ignore"), ["sex", "port"]),
        remainder=SimpleImputer(),
    )
    linear = LogisticRegression(max_iter=1000)
    for model, taken in (
        (make_pipeline(of_text, clone(linear)), {"sex", "port"}),
        (make_pipeline(filled, clone(linear)), set(names)),
        (pipeline_of("one_hot"), set(names)),
    ):
        asked = Model.unread(model.fit(table, y))
        found = asked.takes_gaps(rows_of(asked, table))
        assert says_it_takes_gaps(model) is None
        assert {name for name, takes in zip(names, found, strict=True) if takes} == taken
        for j, name in enumerate(names):  # one by one, the model says the same
            row = table.iloc[:1].astype(object)
            row.loc[row.index[0], name] = np.nan
            row = row.astype({n: float for n in ("age", "class", "fare")})
            if found[j]:
                assert model.predict(row).shape == (1,)
            else:
                with pytest.raises(ValueError, match="NaN"):
                    model.predict(row)


def test_gaps_of_numbers_and_of_functions():
    table, y = passengers(0, missing=False)
    numbers = table[["age", "fare", "class"]].to_numpy(float)
    forest, linear = clone(FOREST).fit(numbers, y), LogisticRegression().fit(numbers, y)
    assert says_it_takes_gaps(RandomForestClassifier()) is True
    assert says_it_takes_gaps(linear) is False
    assert Model.unread(forest).takes_gaps(numbers).all()
    assert not Model.unread(linear).takes_gaps(numbers).any()
    asked = []

    def function(X):
        asked.append(X)
        return X[:, 0] > 30.0

    # it could compute anything of a gap
    assert not Model(function).takes_gaps(numbers).any()
    assert not asked
    lost = np.where(np.arange(3) == 1, np.nan, numbers)
    assert Model(function).takes_gaps(lost, function).all()
    refusing = Model(function).takes_gaps(lost, lambda row: 1 / 0)
    assert refusing.tolist() == [False, True, False]


def test_what_is_read_of_an_imported_ensemble_is_the_reader_s_own():
    # readers put other values in the leaves, and other columns in the tests
    X, y = load_iris(return_X_y=True)
    forest = RandomForestClassifier(5, max_depth=2, random_state=0).fit(X, y)
    again = import_model(export_model(forest, "json"))
    before, shares = Model.of(again).forest, again.predict_proba(X)
    Model.of(again, voting="hard")
    voted = VotingClassifier([("a", FrozenEstimator(again))], voting="soft").fit(X, y)
    Model.of(voted)
    after = Model.of(again).forest
    np.testing.assert_array_equal(after.value, before.value)
    np.testing.assert_array_equal(again.predict_proba(X), shares)
    np.testing.assert_array_equal(after.probabilities(X), forest.predict_proba(X))


@pytest.mark.parametrize("slope", [2.0, -2.0])
def test_terms_stand_in_the_order_of_what_leaves_add(slope):
    """Also behind a negative number, which turns the order round."""
    X, _ = load_iris(return_X_y=True)
    forest = Model.of(DecisionTreeRegressor(max_depth=4, random_state=0).fit(X, X[:, 0])).forest
    plain, leaf = forest.number_sums, forest.left < 0
    sums = plain.before(slope, 1.0)
    np.testing.assert_array_equal(sums.value[leaf], slope * plain.value[leaf])
    value, term = (
        np.sign(np.subtract.outer(own[leaf, 0], own[leaf, 0])) for own in (sums.value, sums.terms)
    )
    np.testing.assert_array_equal(value, term)
