"""What people reach for first, and where a habit from elsewhere used to end in a riddle."""

import numpy as np
import pytest
from sklearn.datasets import load_iris
from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor, StackingRegressor
from sklearn.linear_model import Ridge

from ensemble_simplify import export_model, simplify


@pytest.fixture(scope="module")
def table():
    X, y = load_iris(return_X_y=True, as_frame=True)
    return X, y.map(dict(enumerate(["setosa", "versicolor", "virginica"])))


@pytest.fixture(scope="module")
def outcome(table):
    X, y = table
    model = RandomForestClassifier(5, random_state=0).fit(X[::2], y[::2])
    options = {"methods": ["representer"], "max_leaf_nodes": 4, "random_state": 0}
    return simplify(model, X[1::2], y[1::2], **options)


def test_an_outcome_does_what_a_model_does(outcome, table):
    X, y = table
    small = outcome.best_model
    for name in ("predict", "predict_proba", "apply"):
        np.testing.assert_array_equal(getattr(outcome, name)(X), getattr(small, name)(X))
    assert (outcome.decision_path(X) != small.decision_tree_.decision_path(X.to_numpy())).nnz == 0
    with pytest.warns(UserWarning, match="has learned"):
        assert outcome.score(X, y) == np.mean(outcome.predict(X) == y)
    assert str(small).endswith(outcome.export_text().rstrip("\n"))


def test_a_page_is_no_pdf(outcome, tmp_path):
    with pytest.raises(ValueError, match=r"ends in \.html; document\(\) writes"):
        outcome.report(tmp_path / "report.pdf")
    with pytest.raises(ValueError, match=r"\.md, \.html, \.docx"):
        outcome.document(tmp_path / "report.pdf")
    assert not [*tmp_path.iterdir()]


def test_gaps_in_y(outcome, table):
    X, y = table
    for gap in (np.nan, None):
        with_gap = y.astype(object).mask(y.index == 3, gap)
        with pytest.raises(ValueError, match=r"y has 1 gaps\. Leave"):
            simplify(outcome.model, X, with_gap)


def test_a_whole_query_names_its_table_and_an_expression_needs_none(outcome):
    assert outcome.export("sql").startswith("CASE")
    with pytest.raises(ValueError, match="Name the table to select"):
        export_model(outcome.model, "sql")


def test_short_numbers_in_sql(outcome, table):
    X, _ = table
    with pytest.raises(ValueError, match="decimals=2"):
        outcome.export("sql", decimals=2)
    assert "<= 8.0000002" in outcome.export("sql", readable=True, X=X)
    assert "< 8.0000004" in outcome.export("sql")


def test_names_of_languages_and_methods_are_told(outcome):
    with pytest.raises(ValueError, match="Choose one of rules, sql"):
        outcome.export("postgres")
    with pytest.raises(KeyError, match=r"There are .*representer"):
        outcome["genesim"]
    with pytest.raises(TypeError, match=r"export_tree\(\).*'tables'"):
        outcome.export("sql", tables="t")


def test_json_of_a_stack():
    X, y = load_iris(return_X_y=True)
    model = RandomForestRegressor(3, max_depth=3, random_state=0).fit(X, y)
    stack = StackingRegressor([("a", model)], Ridge(), cv="prefit").fit(X, y)
    with pytest.raises(TypeError, match=r"StackingRegressor\. Write SQL"):
        export_model(stack, "json")


def test_a_folder_that_is_not_there(outcome, tmp_path):
    for write in (outcome.report, outcome.best_model.save):
        with pytest.raises(FileNotFoundError, match=r"No such file or directory: '.*none'$"):
            write(tmp_path / "none" / "model.html")
