"""One result of `simplify`: an estimator outwardly, checked against what it holds."""

import pickle
import re

import joblib
import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone, is_classifier, is_regressor
from sklearn.calibration import CalibratedClassifierCV
from sklearn.compose import ColumnTransformer
from sklearn.datasets import load_diabetes, load_iris
from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor, VotingClassifier
from sklearn.frozen import FrozenEstimator
from sklearn.inspection import PartialDependenceDisplay, permutation_importance
from sklearn.metrics import ConfusionMatrixDisplay, get_scorer
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor
from sklearn.utils import get_tags
from sklearn.utils.validation import check_is_fitted

from ensemble_simplify import (
    BornAgainClassifier,
    CultivatedForestClassifier,
    FaithfulPruner,
    RepresenterTree,
    SimplifiedModel,
    agreement,
    estimate,
    export_model,
    export_tree,
    import_tree,
    is_monotone,
    nearest_flip,
    simplify,
    sufficient_box,
    verify,
)
from ensemble_simplify.reading import Model, unwrap


@pytest.fixture(scope="module")
def iris():
    X, y = load_iris(return_X_y=True, as_frame=True)
    X.columns = [name.removesuffix(" (cm)") for name in X.columns]
    y = np.array(["setosa", 'it\'s "b"', "virginica"])[y]
    return X, y, RandomForestClassifier(10, max_depth=3, random_state=0).fit(X, y)


@pytest.fixture(scope="module")
def small(iris):
    X, _, forest = iris
    tree = RepresenterTree(FrozenEstimator(forest), max_leaf_nodes=4, random_state=0).fit(X)
    return SimplifiedModel(
        tree,
        model=forest,
        name="representer",
        title="representer tree",
        agreement=0.95,
        agreement_low=0.91,
        agreement_high=0.98,
        accuracy=0.9,
    )


# ------------------------------------------------------------------- an estimator


def test_it_is_an_estimator_of_the_kind_of_its_inside(iris, small):
    X, y, forest = iris
    check_is_fitted(small)
    assert is_classifier(small)
    assert not is_regressor(small)
    assert small.classes_.tolist() == forest.classes_.tolist()
    assert small.n_features_in_ == 4
    assert small.feature_names_in_.tolist() == list(X.columns)
    assert (small.predict(X) == small.fitted.predict(X)).all()
    assert (small.predict_proba(X) == small.fitted.predict_proba(X)).all()
    assert small.score(X, y) == (small.predict(X) == y).mean()
    assert get_tags(small) == get_tags(small.fitted)
    assert get_scorer("accuracy")(small, X, y) == small.score(X, y)
    assert pickle.loads(pickle.dumps(small)).predict(X).tolist() == small.predict(X).tolist()


def test_a_regressor_has_neither_classes_nor_probabilities():
    X, y = load_diabetes(return_X_y=True)
    tree = DecisionTreeRegressor(max_leaf_nodes=4, random_state=0).fit(X, y)
    small = SimplifiedModel(tree, model=None, name="plain_tree", agreement=0.7, accuracy=0.4)
    assert is_regressor(small)
    assert not hasattr(small, "classes_")
    assert not hasattr(small, "predict_proba")
    assert not hasattr(small, "feature_names_in_")
    assert small.score(X, y) == pytest.approx(tree.score(X, y))
    assert "R²" in repr(small)
    assert "0.700" in repr(small)


def test_it_stays_fitted(iris, small):
    X, y, _ = iris
    assert clone(small) is small
    assert clone(FrozenEstimator(small)).estimator is small
    assert small.fit(X, y) is small
    assert small.get_params() == {}
    assert small.set_params() is small
    with pytest.raises(ValueError, match=r"'max_leaf_nodes' cannot be set: .* fitted and stays"):
        small.set_params(max_leaf_nodes=3)


def test_it_works_where_scikit_learn_takes_fitted_estimators(iris, small):
    X, y, forest = iris
    calibrated = CalibratedClassifierCV(FrozenEstimator(small), method="sigmoid").fit(X, y)
    assert calibrated.predict_proba(X).shape == (150, 3)
    soft = VotingClassifier([("a", small), ("b", FrozenEstimator(forest))], voting="soft")
    mean = (small.predict_proba(X) + forest.predict_proba(X)) / 2
    assert soft.fit(X, y).predict_proba(X) == pytest.approx(mean)
    found = permutation_importance(small, X, y, n_repeats=2, random_state=0)
    used = small.decision_tree_.tree_.feature
    assert set(np.flatnonzero(found.importances_mean)) <= set(used[used >= 0])
    assert found.importances_mean.max() > 0.1
    ConfusionMatrixDisplay.from_estimator(small, X, y)
    PartialDependenceDisplay.from_estimator(small, X.astype(float), [2], target="setosa")


# ------------------------------------------------------------------- columns


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda X: X[list(X.columns[::-1])], r"another order: 'petal width' is where .*X\[list\("),
        (lambda X: X.drop(columns="petal width"), "lacks the column 'petal width'. Give all"),
        (lambda X: X.assign(extra=1), r"has the column 'extra', which .* Give X\[list\("),
        (lambda X: X.rename(columns={"petal width": "w"}), "lacks the column 'petal width'"),
        (lambda X: X[["petal width", *X.columns]], "'petal width' more than once"),
    ],
)
def test_columns_are_checked_by_name(iris, small, change, words):
    X = change(iris[0])
    for ask in (
        small.predict,
        small.predict_proba,
        small.verify,
        small.agreement,
        small.differences,
    ):
        with pytest.raises(ValueError, match=words):
            ask(X)


def test_the_remedy_for_columns_works(iris, small):
    X = iris[0]
    given = X[list(X.columns[::-1])].assign(extra=1)
    with pytest.raises(ValueError, match="extra") as error:
        small.predict(given)
    remedy = re.search(r"Give (X\[.*\]),", str(error.value))[1]
    mended = eval(remedy, {"X": given, "model": small})
    assert (small.predict(mended) == small.predict(X)).all()


def test_arrays_where_a_frame_was_fitted_are_as_in_scikit_learn(iris, small):
    X = iris[0]
    with pytest.warns(UserWarning, match="does not have valid feature names"):
        answers = small.predict(X.to_numpy())
    assert (answers == small.predict(X)).all()
    with pytest.raises(ValueError, match="3 features"), pytest.warns(UserWarning, match="valid"):
        small.predict(X.to_numpy()[:, :3])


# ------------------------------------------------------------------- the tree


def test_the_tree_is_that_of_the_inside(iris, small):
    X = iris[0]
    tree = small.decision_tree_
    assert (tree.predict(X.to_numpy(np.float32)) == small.predict(X)).all()
    assert small.get_n_leaves() == tree.get_n_leaves()
    assert small.get_depth() == tree.get_depth()
    assert small.named_tree.names == list(X.columns)
    assert small.export_text() == small.fitted.export_text()
    for language in ("rules", "sql", "c", "python", "json"):
        assert small.export(language) == export_tree(small.fitted, language)
    assert "a <= " in small.export("rules", feature_names="cdba")
    assert "yes" in small.export_text(class_names=["yes", "no", "maybe"])
    assert len(small.plot()) >= 2 * small.get_n_leaves() - 1


def test_what_is_not_one_tree_says_so(iris):
    X, y, forest = iris
    inside = CultivatedForestClassifier(random_state=0).fit(X, y)
    soft = SimplifiedModel(inside, model=forest, name="cultivated")
    assert soft.named_tree is None
    assert not hasattr(soft, "decision_tree_")
    asked = [soft.get_n_leaves, soft.get_depth, soft.export_text, soft.plot, soft.export]
    for ask in asked:
        with pytest.raises(TypeError, match=r"'cultivated' is a Culti.*, not one tree.* Choose"):
            ask()
    assert "CultivatedForestClassifier" in repr(soft)
    assert "<svg" not in soft._repr_html_()


# ------------------------------------------------------------------- read for what it holds


def test_it_is_read_as_what_it_holds(iris, small):
    X, _, forest = iris
    assert unwrap(FrozenEstimator(small)) is small.fitted
    assert verify(small, small.fitted)
    assert verify(small, small.decision_tree_)
    assert agreement(forest, small, X).share == (small.predict(X) == forest.predict(X)).mean()
    assert export_tree(small, "sql") == small.export("sql")
    assert estimate(small).n_leaves_lower_bound <= small.get_n_leaves()
    assert nearest_flip(small, X[:1]) is not None
    assert is_monotone(small, "petal width", positive="virginica")
    again = BornAgainClassifier(FrozenEstimator(small)).fit(X, forest.predict(X))
    assert verify(small, again)
    grown = RepresenterTree(FrozenEstimator(small), max_leaf_nodes=8, random_state=0).fit(X)
    assert (grown.predict(X) == small.predict(X)).mean() > 0.95


def test_a_pruned_ensemble_is_read_too(iris):
    X, y, forest = iris
    pruned = FaithfulPruner(FrozenEstimator(forest), random_state=0).fit(X, y)
    found = SimplifiedModel(
        pruned, model=forest, name="faithful", promise="everywhere", is_proven=True
    )
    assert found.verify()
    assert verify(found, forest)
    assert Model.of(found).forest.n_trees == pruned.n_trees_


class Louder(SimplifiedModel):
    def predict(self, X):
        return super().predict(X)[::-1]


class LouderShares(SimplifiedModel):
    def predict_proba(self, X):
        return super().predict_proba(X)[:, ::-1]


def test_subclasses_and_changed_methods_are_not_read_as_the_inside(iris, small):
    forest = iris[2]
    inside = small.fitted
    for kind in (Louder, LouderShares):
        changed = kind(inside, model=forest, name="changed")
        assert unwrap(changed) is changed
    with pytest.raises(TypeError):
        verify(Louder(inside, model=forest, name="changed"), inside)
    for method in ("predict", "predict_proba"):
        patched = SimplifiedModel(inside, model=forest, name="patched")
        setattr(patched, method, lambda X: np.zeros(len(X)))
        assert unwrap(patched) is patched
    same = type("Same", (SimplifiedModel,), {})(inside, model=forest, name="same")
    assert verify(same, inside)


# ------------------------------------------------------------------- beside the model


def test_it_is_compared_with_its_model(iris, small):
    X, _, forest = iris
    counted = small.agreement(X)
    assert counted.share == (small.predict(X) == forest.predict(X)).mean()
    apart = small.differences(X)
    assert apart.n_differing == (small.predict(X) != forest.predict(X)).sum()
    found = small.verify()
    assert found.equal is False
    row = pd.DataFrame([found.counterexample], columns=X.columns)
    assert small.predict(row)[0] != forest.predict(row)[0]
    same = X[small.predict(X) == forest.predict(X)]
    assert small.verify(same)
    assert small.verify(same).max_changes == 0
    assert small.verify(same, max_changes=1).equal is False


def test_a_proven_promise_is_proven_again(iris):
    X, y, forest = iris
    again = BornAgainClassifier(FrozenEstimator(forest), max_changes=1).fit(X, y)
    found = SimplifiedModel(again, model=forest, name="born_again_1", is_proven=True)
    assert found.verify().max_changes == 1
    assert found.verify()
    assert found.verify(domain={"bounds": {"petal width": (0, 0.1)}}).max_changes is None


def test_without_its_model_nothing_is_compared(small):
    lone = SimplifiedModel(small.fitted, model=None, name="lone")
    X = [[1.0, 2.0, 3.0, 4.0]]
    for ask in (lone.verify, lambda: lone.agreement(X), lambda: lone.differences(X)):
        with pytest.raises(ValueError, match=r"'lone' was kept without the model .*verify\(model"):
            ask()


def test_a_model_that_cannot_be_read_is_asked(iris, small):
    X, y, _ = iris
    asked = KNeighborsClassifier().fit(X, y)
    found = SimplifiedModel(small.fitted, model=asked, name="representer")
    with pytest.raises(TypeError, match=r"KNeighborsClassifier .* agreement\(X\) and differences"):
        found.verify()
    assert found.agreement(X).n_different == found.differences(X).n_differing


# ------------------------------------------------------------------- files


def _table():
    rng = np.random.default_rng(0)
    X = pd.DataFrame(
        {
            "color": rng.choice(["red", "blue", "o'k", 'a"b\n'], 300),
            "size": rng.normal(size=300).round(2),
        }
    )
    y = np.where((X["color"] == "red") ^ (X["size"] > 0.3), "yes", "no")
    model = make_pipeline(
        ColumnTransformer(
            [("c", OneHotEncoder(handle_unknown="ignore"), ["color"])], remainder="passthrough"
        ),
        RandomForestClassifier(10, max_depth=4, random_state=0),
    )
    return X, y, model.fit(X, y)


@pytest.fixture(scope="module")
def of_levels():
    X, y, model = _table()
    again = BornAgainClassifier(FrozenEstimator(model)).fit(X, y)
    return X, SimplifiedModel(
        again, model=model, name="born_again", promise="all of it", is_proven=True, agreement=1.0
    )


@pytest.mark.parametrize("suffix", [".joblib", ".model", ""])
def test_a_file_holds_all(tmp_path, of_levels, suffix):
    X, found = of_levels
    path = tmp_path / f"kept{suffix}"
    found.save(path)
    loaded = SimplifiedModel.load(str(path))
    assert (loaded.predict(X) == found.predict(X)).all()
    assert loaded.verify()
    assert repr(loaded) == repr(found)
    assert loaded.export("sql") == found.export("sql")
    assert (loaded.model.predict(X) == found.model.predict(X)).all()


def test_json_holds_the_tree(tmp_path, of_levels, small, iris):
    X, found = of_levels
    rows = pd.concat(
        [X, pd.DataFrame({"color": ["new", "red"], "size": [0.0, 1e30]})], ignore_index=True
    )
    for X, one in ((rows, found), (iris[0], small)):
        path = tmp_path / "kept.JSON"
        one.save(path)
        loaded = SimplifiedModel.load(path)
        assert (loaded.predict(X) == one.predict(X)).all()
        assert (loaded.predict_proba(X) == one.predict_proba(X)).all()
        assert repr(loaded) == repr(one)
        assert (loaded.name, loaded.promise) == (one.name, one.promise)
        assert loaded.is_proven is one.is_proven
        assert loaded.export("sql") == one.export("sql")
        assert is_classifier(loaded)
        assert import_tree(path.read_text(encoding="utf-8")).get_n_leaves() == one.get_n_leaves()
        assert verify(loaded, one)
        loaded.save(path)
        assert repr(SimplifiedModel.load(path)) == repr(one)
        with pytest.raises(ValueError, match="without the model"):
            loaded.verify()


def test_json_of_a_regression_tree(tmp_path):
    X, y = load_diabetes(return_X_y=True)
    tree = DecisionTreeRegressor(max_leaf_nodes=4, random_state=0).fit(X, y)
    SimplifiedModel(tree, model=None, name="plain_tree").save(tmp_path / "kept.json")
    loaded = SimplifiedModel.load(tmp_path / "kept.json")
    assert is_regressor(loaded)
    assert not hasattr(loaded, "predict_proba")
    assert (loaded.predict(X) == tree.predict(X)).all()


def test_json_is_for_one_tree(tmp_path, iris):
    forest = iris[2]
    soft = SimplifiedModel(forest, model=forest, name="faithful")
    with pytest.raises(TypeError, match="not one tree"):
        soft.save(tmp_path / "kept.json")


def test_other_files_are_refused(tmp_path, of_levels):
    _, found = of_levels
    path = tmp_path / "kept.joblib"
    joblib.dump(found, path)
    with pytest.raises(ValueError, match=r"not a file that SimplifiedModel\.save wrote"):
        SimplifiedModel.load(path)
    path.write_bytes(b"")
    with pytest.raises(ValueError, match=r"not a file that SimplifiedModel\.save wrote"):
        SimplifiedModel.load(path)
    found.save(path)
    whole = path.read_bytes()
    path.write_bytes(whole.replace(b"SimplifiedModel 1 ", b"SimplifiedModel 9 ", 1))
    with pytest.raises(ValueError, match=r"version 9 of the format; this package reads version 1"):
        SimplifiedModel.load(path)
    path.write_bytes(whole[: len(whole) // 2])
    with pytest.raises(ValueError, match=r"cannot be read \(.*written by ensemble_simplify"):
        SimplifiedModel.load(path)
    head = whole[: whole.index(b"\n") + 1]
    with path.open("wb") as file:
        file.write(head)
        joblib.dump([1], file)
    with pytest.raises(ValueError, match="holds a list, no SimplifiedModel"):
        SimplifiedModel.load(path)
    path = tmp_path / "kept.json"
    for text in (b"{", b"\xff", b"[]", b'{"format": "ensemble_simplify.tree", "version": 2}'):
        path.write_bytes(text)
        with pytest.raises(ValueError, match=r"kept.json' (cannot be read|is not text)"):
            SimplifiedModel.load(path)
    found.save(path)
    text = path.read_text(encoding="utf-8")
    for wrong in ("[1]", '{"name": 3}', '{"agreement": "much"}', '{"is_proven": "no"}'):
        path.write_text(re.sub(r'"simplified": \{.*\}', f'"simplified": {wrong}', text, count=1))
        with pytest.raises(ValueError, match='has "simplified"'):
            SimplifiedModel.load(path)
    with pytest.raises(FileNotFoundError):
        SimplifiedModel.load(tmp_path / "none.joblib")


# ------------------------------------------------------------------- shown


def test_it_is_short_in_text_and_draws_its_tree_in_a_notebook(small):
    assert repr(small) == (
        "SimplifiedModel(representer: a tree of 3 leaves, agreement 95.0 % (91.0 to 98.0), "
        "accuracy 90.0 %)"
    )
    page = small._repr_html_()
    assert "<svg" in page
    assert "representer tree" in page
    assert "95.0 %" in page.replace("\N{NO-BREAK SPACE}", " ")
    assert small._repr_mimebundle_() == {"text/plain": repr(small), "text/html": page}
    wild = SimplifiedModel(small.fitted, model=None, name="a", title="<b>&\n", promise="<i>")
    assert "<i>" not in wild._repr_html_()
    assert "&lt;b&gt;&amp;" in wild._repr_html_()


def test_large_trees_are_not_drawn():
    X = np.random.default_rng(0).normal(size=(200, 3))
    tree = DecisionTreeClassifier(random_state=0).fit(X, np.arange(200) % 2)
    assert tree.get_n_leaves() > 40
    assert "<svg" not in SimplifiedModel(tree, model=None, name="plain_tree")._repr_html_()


def test_regressors_are_read_too():
    X, y = load_diabetes(return_X_y=True)
    forest = RandomForestRegressor(5, max_depth=3, random_state=0).fit(X, y)
    tree = RepresenterTree(FrozenEstimator(forest), max_leaf_nodes=4, random_state=0).fit(X)
    found = SimplifiedModel(tree, model=forest, name="representer")
    assert verify(found, tree)
    assert found.verify().equal is False
    assert found.verify(X[:5]).equal is False
    far = np.abs(forest.predict(X[:5]) - tree.predict(X[:5])).max()
    assert found.verify(X[:5], atol=far)
    assert found.verify(X[:5], atol=far * 0.999).equal is False
    everywhere = found.verify(atol=1000)
    assert everywhere.equal
    assert found.verify(atol=everywhere.max_difference * 0.999).equal is False


def test_an_outcome_is_taken_wherever_a_model_is():
    X, y = load_iris(return_X_y=True)
    forest = RandomForestClassifier(5, max_depth=3, random_state=0).fit(X[::2], y[::2])
    outcome = simplify(forest, X[1::2], y[1::2], methods=[], max_leaf_nodes=4, random_state=0)
    best, row = outcome.best_model, X[[1]]
    asked = {
        "agreement": lambda given: agreement(forest, given, X[:1]).share,
        "verify": lambda given: verify(given, best).equal,
        "estimate": lambda given: estimate(given).n_leaves,
        "export": lambda given: export_model(given, "python"),
        "flip": lambda given: nearest_flip(given, row).changes,
        "box": lambda given: str(sufficient_box(given, row).high),
        "monotone": lambda given: is_monotone(given, 2, positive=0).monotone,
        "frozen": lambda given: BornAgainClassifier(FrozenEstimator(given)).fit(X, y).n_leaves_,
        "simplified": lambda given: simplify(given, X, y, methods=[], random_state=0).best,
    }
    for name, ask in asked.items():
        assert ask(outcome) == ask(best), name
