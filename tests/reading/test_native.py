"""Native boosters of LightGBM and XGBoost: read, asked and held as fitted models are."""

import copy
import pickle

import numpy as np
import pytest
from native_boosters import (
    KINDS,
    own_answers,
    rows_beside,
    table,
    train_lightgbm,
    train_xgboost,
    trained,
    two,
)
from sklearn.base import clone
from sklearn.frozen import FrozenEstimator
from sklearn.utils import get_tags
from strategies import cell_points
from threadpoolctl import threadpool_limits

from ensemble_simplify import (
    BornAgainClassifier,
    FeatureBudgetPruner,
    GenesimClassifier,
    InterpretableSingleModel,
    RepresenterTree,
    agreement,
    estimate,
    nearest_flip,
    simplify,
    sufficient_box,
    verify,
)
from ensemble_simplify.reading import Model, unwrap


@pytest.fixture(autouse=True)
def _one_thread():
    with threadpool_limits(1):
        yield


@pytest.mark.parametrize("kind", KINDS)
def test_answers_are_the_boosters(kind):
    booster, _, _ = trained(kind)
    classes_of = KINDS[kind][-1]
    model = Model.of(booster)
    rows = rows_beside(model.forest)
    truth = own_answers(booster, rows)
    found = model.forest.predict_index(rows)
    if classes_of is None:
        assert model.forest.classes is None
    else:
        truth = classes_of(truth)
        assert len(np.unique(truth)) == len(model.forest.classes) == KINDS[kind][2]
    np.testing.assert_array_equal(found, truth)
    np.testing.assert_array_equal(model.ask(rows), truth)


@pytest.mark.parametrize("kind", [kind for kind in KINDS if KINDS[kind][2]])
def test_probabilities(kind):
    booster, X, _ = trained(kind)
    asked = unwrap(booster)
    if "hinge" in kind:
        assert not hasattr(asked, "predict_proba")
        return
    answers = own_answers(booster, X)
    if "margins" in kind:
        answers = 1 / (1 + np.exp(-answers.astype(float)))
    if "classes" in kind:
        powers = np.exp(own_answers(booster, X, output_margin=True).astype(float))
        answers = powers / powers.sum(axis=1, keepdims=True)
    if answers.ndim == 1:
        answers = np.column_stack([1 - answers, answers])
    np.testing.assert_allclose(asked.predict_proba(X), answers, rtol=1e-5)


@pytest.mark.parametrize("kind", [kind for kind in KINDS if KINDS[kind][2]])
def test_born_again_and_verify_against_all_cells(kind):
    booster, X, y = trained(kind, n_trees=3)
    X = np.nan_to_num(X)
    forest = Model.of(booster).forest
    cells = cell_points(forest, limit=np.inf)
    truth = KINDS[kind][-1](own_answers(booster, cells))
    tree = BornAgainClassifier(booster).fit(X, y)
    np.testing.assert_array_equal(tree.predict(cells), truth)
    assert tree.verify()
    assert verify(booster, booster)
    assert verify(tree, booster)
    # another booster of these columns: told apart iff a cell is, and with a row that shows it
    other, _, _ = trained(kind, n_trees=2)
    both = [own_answers(other, cells), own_answers(booster, cells)]
    same = np.array_equal(*map(KINDS[kind][-1], both))
    proof = verify(booster, other)
    assert proof.equal == same
    if not same:
        row = proof.counterexample[None]
        assert unwrap(booster).predict(row) != unwrap(other).predict(row)


@pytest.mark.parametrize("kind", ["xgboost numbers", "lightgbm numbers"])
def test_regressors(kind):
    booster, X, y = trained(kind)
    assert verify(booster, booster)
    other, _, _ = trained(kind, n_trees=5)
    proof = verify(booster, other)
    row = proof.counterexample[None]
    assert not proof.equal
    assert own_answers(booster, row) != own_answers(other, row)
    tree = RepresenterTree(booster, random_state=0).fit(X)
    assert tree.score(X, own_answers(booster, X)) > 0.7
    assert simplify(booster, X, y, methods="plain_tree", random_state=0).n_folds


class TestFiles:
    def test_xgboost(self, tmp_path):
        booster, X, _ = trained("xgboost probabilities")
        truth = own_answers(booster, X).argmax(axis=1)
        import xgboost

        for name in ("model.json", "model.ubj"):
            booster.save_model(tmp_path / name)
            loaded = xgboost.Booster(model_file=tmp_path / name)
            wrapper = xgboost.XGBClassifier()
            wrapper.load_model(tmp_path / name)
            for model in (loaded, wrapper):
                np.testing.assert_array_equal(Model.of(model).ask(X), truth)
                assert verify(model, booster)

    def test_lightgbm(self, tmp_path):
        booster, X, _ = trained("lightgbm multiclass")
        import lightgbm

        booster.save_model(tmp_path / "model.txt")
        loaded = lightgbm.Booster(model_file=tmp_path / "model.txt")
        np.testing.assert_array_equal(
            Model.of(loaded).ask(X), own_answers(booster, X).argmax(axis=1)
        )
        assert verify(loaded, booster)


class TestEarlyStopping:
    def test_lightgbm_stops(self):
        lightgbm = pytest.importorskip("lightgbm")
        X, y = table()
        options = {"objective": "binary", "num_threads": 1, "verbose": -1, "learning_rate": 0.5}
        booster = lightgbm.train(
            options,
            lightgbm.Dataset(X[::2], y[::2]),
            60,
            valid_sets=[lightgbm.Dataset(X[1::2], y[1::2])],
            callbacks=[lightgbm.early_stopping(3, verbose=False)],
            keep_training_booster=True,
        )
        assert 0 < booster.best_iteration < booster.current_iteration()
        model = Model.of(booster)
        assert model.forest.n_trees == booster.best_iteration
        rows = rows_beside(model.forest)
        truth = two(booster.predict(rows))
        assert (truth != two(booster.predict(rows, num_iteration=-1))).any()
        np.testing.assert_array_equal(model.forest.predict_index(rows), truth)
        # a copy by LightGBM forgets where it stopped
        tree = clone(BornAgainClassifier(booster, max_changes=0))
        assert tree.estimator is booster
        np.testing.assert_array_equal(tree.fit(X, y).predict(X), two(booster.predict(X)))

    def test_xgboost_uses_all_trees_as_its_own_predict_does(self):
        xgboost = pytest.importorskip("xgboost")
        X, y = table()
        booster = xgboost.train(
            {"objective": "binary:logistic", "eta": 1.0, "nthread": 1},
            xgboost.DMatrix(X[::2], y[::2]),
            40,
            evals=[(xgboost.DMatrix(X[1::2], y[1::2]), "valid")],
            early_stopping_rounds=5,
            verbose_eval=False,
        )
        n_trees = booster.num_boosted_rounds()
        assert booster.best_iteration + 1 < n_trees
        model = Model.of(booster)
        assert model.forest.n_trees == n_trees
        rows = rows_beside(model.forest)
        np.testing.assert_array_equal(
            model.forest.predict_index(rows), two(own_answers(booster, rows))
        )


class TestNames:
    @pytest.fixture(params=["xgboost logistic", "lightgbm binary"])
    def train(self, request):
        library, objective, *_ = KINDS[request.param]
        own = {"xgboost": train_xgboost, "lightgbm": train_lightgbm}[library]
        return lambda X, y, **options: own(X, y, objective, **options)

    def test_made_up_names_are_none(self, train):
        X, y = table()
        booster = train(X, y)
        assert not hasattr(unwrap(booster), "feature_names_in_")
        assert Model.of(booster).table.names is None

    def test_columns_of_a_frame(self, train):
        pandas = pytest.importorskip("pandas")
        X, y = table()
        frame = pandas.DataFrame(X, columns=["age", "years at work", "debt"])
        booster = train(frame, y)
        truth = two(own_answers(booster, frame))
        tree = BornAgainClassifier(booster, max_changes=1).fit(frame, y)
        np.testing.assert_array_equal(tree.predict(frame), truth)
        assert tree.verify()
        with pytest.raises(ValueError, match="debt"):
            BornAgainClassifier(booster, max_changes=1).fit(frame[["debt", *frame.columns[:2]]], y)
        # rows without names are taken by their places, as scikit-learn's models take them
        np.testing.assert_array_equal(Model.of(booster).ask(X), truth)
        assert agreement(booster, tree, frame).share == 1.0

    def test_frames_for_a_booster_without_names(self, train):
        pandas = pytest.importorskip("pandas")
        X, y = table()
        booster = train(X, y)
        frame = pandas.DataFrame(X, columns=["age", "years", "debt"])
        tree = BornAgainClassifier(booster, max_changes=0).fit(frame, y)
        np.testing.assert_array_equal(tree.predict(frame), two(own_answers(booster, X)))
        assert simplify(booster, frame, y, methods="plain_tree", random_state=0).n_folds

    def test_levels_and_gaps(self, train):
        pandas = pytest.importorskip("pandas")
        X, y = table(n_rows=400)
        rng = np.random.default_rng(1)
        colours = rng.choice(["red", "blue", "green", "grey"], len(X))
        frame = pandas.DataFrame({"size": X[:, 0], "colour": pandas.Categorical(colours)})
        frame.loc[::9, "colour"] = np.nan
        y = (np.nan_to_num(X[:, 0]) + 2 * np.isin(colours, ["red", "grey"]) > 1).astype(int)
        options = {"max_depth": 3, "min_data_per_group": 5, "cat_smooth": 1, "cat_l2": 1}
        booster = train(frame, y, **options)
        truth = two(own_answers(booster, frame))
        model = Model.of(booster)
        assert model.table.levels[1].tolist() == ["blue", "green", "grey", "red"]
        rows = model.table.read(frame)
        np.testing.assert_array_equal(model.forest.predict_index(rows), truth)
        tree = BornAgainClassifier(booster, max_changes=1).fit(frame, y)
        assert tree.verify()
        np.testing.assert_array_equal(tree.predict(frame), truth)
        assert "colour" in tree.export_text()


class TestEstimators:
    @pytest.fixture(params=["xgboost logistic", "lightgbm binary"])
    def case(self, request):
        booster, X, y = trained(request.param, n_trees=3)
        return booster, np.nan_to_num(X), y

    def test_frozen_or_not(self, case):
        booster, X, y = case
        tree = BornAgainClassifier(booster).fit(X, y)
        frozen = BornAgainClassifier(FrozenEstimator(booster)).fit(X, y)
        assert tree.export_text() == frozen.export_text()
        assert tree.estimator is booster
        assert tree.estimator_.model is booster
        np.testing.assert_array_equal(tree.predict(X), tree.estimator_.predict(X))

    def test_kept_as_a_parameter(self, case):
        booster, X, y = case
        tree = BornAgainClassifier(booster)
        assert tree.get_params()["estimator"] is booster
        assert clone(tree).estimator is booster
        assert "Booster" in repr(tree)
        assert get_tags(tree).input_tags.allow_nan
        tree.fit(X, y)
        for other in (pickle.loads(pickle.dumps(tree)), copy.deepcopy(tree)):
            np.testing.assert_array_equal(other.predict(X), tree.predict(X))
            assert other.verify()

    def test_other_estimators(self, case):
        booster, X, y = case
        truth = two(own_answers(booster, X))
        for fitted in (
            RepresenterTree(booster, random_state=0).fit(X),
            InterpretableSingleModel(booster).fit(X, y),
            GenesimClassifier([booster], n_iter=1, random_state=0).fit(X, y),
        ):
            assert (fitted.predict(X) == truth).mean() > 0.8
            assert agreement(booster, fitted, X).share > 0.8
        assert clone(RepresenterTree(booster)).estimator is booster
        assert estimate(booster, X).n_leaves >= 2
        for model in (booster, FrozenEstimator(booster)):
            with pytest.raises(TypeError, match="boosted ensemble"):
                FeatureBudgetPruner(model, budget=1.0).fit(X, y)

    def test_simplify(self, case):
        booster, X, y = case
        outcome = simplify(booster, X, y, random_state=0, methods=["born_again"])
        np.testing.assert_array_equal(
            outcome["born_again"].predict(X), two(own_answers(booster, X))
        )

    def test_audit(self, case):
        booster, X, _ = case
        asked = unwrap(booster)
        flip = nearest_flip(booster, X[0])
        assert asked.predict(flip.row[None]) != asked.predict(X[:1])
        rows = np.random.default_rng(0).normal(size=(500, 3))
        box = sufficient_box(booster, X[0])
        rows = rows[box.contains(rows)]
        assert len(rows) > 10
        assert (asked.predict(rows) == asked.predict(X[:1])).all()

    def test_classes_are_numbers(self, case):
        booster, X, y = case
        with pytest.raises(ValueError, match=r"never seen. Its classes are \[0, 1\]"):
            BornAgainClassifier(booster).fit(X, np.array(["no", "yes"])[y])


class TestRefused:
    def test_an_objective_that_is_a_function(self):
        lightgbm = pytest.importorskip("lightgbm")
        X, y = table()

        def objective(answers, rows):
            return answers - rows.get_label(), np.ones_like(answers)

        options = {"objective": objective, "verbose": -1, "num_threads": 1}
        booster = lightgbm.train(options, lightgbm.Dataset(X, y), 2)
        with pytest.raises(ValueError, match="a function as its objective"):
            verify(booster, booster)

    def test_objectives(self):
        X, y = table(3)
        booster = train_lightgbm(X, y, "multiclassova", num_class=3)
        with pytest.raises(ValueError, match=r"multiclassova.*not supported"):
            verify(booster, booster)

    def test_linear_boosters(self):
        X, y = table()
        booster = train_xgboost(np.nan_to_num(X), y, "binary:logistic", booster="gblinear")
        with pytest.raises(ValueError, match="gblinear"):
            verify(booster, booster)

    def test_a_subclass_may_answer_otherwise(self):
        xgboost = pytest.importorskip("xgboost")
        booster, _, _ = trained("xgboost logistic")

        class Mine(xgboost.Booster):
            pass

        booster.__class__ = Mine
        with pytest.raises(TypeError, match="Mine is not supported"):
            verify(booster, booster)
