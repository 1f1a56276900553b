"""What is read of a model is what it answers: settings, replaced methods, and no false alarm."""

import copy
import functools

import numpy as np
import pytest
from readers import READERS, data, edges
from sklearn.ensemble import (
    AdaBoostClassifier,
    BaggingClassifier,
    GradientBoostingClassifier,
    GradientBoostingRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
    VotingClassifier,
)
from sklearn.frozen import FrozenEstimator
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier

from ensemble_simplify import BornAgainClassifier, FaithfulPruner, agreement, is_monotone, verify
from ensemble_simplify.reading import Model, TreeCount
from ensemble_simplify.reading import sample as _sample

X, Y = data(2)
Y = (Y == "bee").astype(int)
OTHERWISE = "answers otherwise than its trees"


def assert_read_or_refused(model, rows):
    """Reading says what the model says, or an error; answers with whether it was read."""
    try:
        forest = Model.of(model).forest
    except (TypeError, ValueError):
        return False
    found = forest.predict_index(rows)
    found = found if forest.classes is None else forest.classes[found]
    np.testing.assert_array_equal(found, model.predict(rows))
    return True


@pytest.mark.parametrize("name", READERS)
def test_no_family_is_refused(name, monkeypatch):
    """Also of those that are not asked as long as their methods are their own."""
    monkeypatch.setattr(_sample, "has_own_methods", lambda model: False)
    reader = READERS[name]
    for seed in range(2):
        Model.of(reader.model(seed))


def test_rows_of_the_sample():
    """They lie on both sides of tests, depend on nothing but the trees, and draw no numbers."""
    forest = Model.of(READERS["forest, missing"].model()).forest
    before = np.random.mtrand._rand.get_state(legacy=False)["state"]["key"].copy()
    rows = _sample._rows(forest, forest.table)
    after = np.random.mtrand._rand.get_state(legacy=False)["state"]["key"]
    np.testing.assert_array_equal(after, before)
    np.testing.assert_array_equal(_sample._rows(forest, forest.table), rows)
    np.testing.assert_array_equal(rows, rows.astype(np.float32))
    gaps = np.isnan(rows)
    assert gaps.any()
    assert not gaps[: -_sample.N_LACKING].any()
    for j in np.unique(forest.feature[forest.feature >= 0]):
        cuts = forest.threshold[(forest.feature == j) & (np.abs(forest.threshold) < 1e30)]
        after = np.nextafter(cuts.astype(np.float32), np.float32(np.inf)).astype(float)
        known = rows[~gaps[:, j], j]
        assert np.isin(known, [*cuts, *after]).all()
        assert np.isin(known, cuts).any()
        assert np.isin(known, after).any()


# ------------------------------------------------------------------- LightGBM


class TestLightGBM:
    @pytest.fixture(autouse=True)
    def _package(self):
        lightgbm = pytest.importorskip("lightgbm")
        rng = np.random.default_rng(0)
        self.X = rng.normal(size=(300, 4)).astype(np.float32).astype(float)
        self.y = (self.X[:, 0] + self.X[:, 1] * self.X[:, 2] > 0).astype(int)
        make = functools.partial(lightgbm.LGBMClassifier, verbose=-1, n_jobs=1, num_leaves=6)
        self.model = make(n_estimators=30).fit(self.X, self.y)
        self.error = lightgbm.basic.LightGBMError

    def fitted_with(self, **params):
        return copy.deepcopy(self.model).set_params(**params)

    @pytest.mark.parametrize("on", [True, np.True_, "true", "True", "TRUE", "+", "true ", "+ -"])
    def test_early_stop_in_every_spelling(self, on):
        """A difference on few rows: it is refused by its name."""
        model = self.fitted_with(
            pred_early_stop=on, pred_early_stop_freq=2, pred_early_stop_margin=0.5
        )
        assert (model.predict(self.X) != self.model.predict(self.X)).any()
        with pytest.raises(ValueError, match="pred_early_stop=True"):
            Model.of(model)
        with pytest.raises(ValueError, match="pred_early_stop=True"):
            BornAgainClassifier(FrozenEstimator(model), max_changes=0).fit(self.X, self.y)

    @pytest.mark.parametrize("off", [False, "false", "FALSE", "-", "", " true", None])
    def test_early_stop_that_is_off(self, off):
        model = self.fitted_with(
            pred_early_stop=off, pred_early_stop_freq=2, pred_early_stop_margin=0.5
        )
        np.testing.assert_array_equal(model.predict_proba(self.X), self.model.predict_proba(self.X))
        assert assert_read_or_refused(model, self.X)

    @pytest.mark.parametrize("wrong", [1, "1", "yes"])
    def test_early_stop_that_lightgbm_refuses(self, wrong):
        model = self.fitted_with(pred_early_stop=wrong)
        with pytest.raises(self.error, match="pred_early_stop should be"):
            model.predict(self.X)
        with pytest.raises(self.error, match="pred_early_stop should be"):
            Model.of(model)

    @pytest.mark.parametrize(
        "params",
        [
            {name: 3}
            for name in (
                "num_iteration",
                "num_iterations",
                "n_iter",
                "num_trees",
                "num_iteration_predict",
                "start_iteration",
                "start_iteration_predict",
                "n_estimators",
            )
        ]
        + [
            {name: value}
            for name in ("raw_score", "predict_raw_score", "is_predict_raw_score", "pred_leaf")
            for value in (True, "true", "+")
        ]
        + [{"sigmoid": 3.0}, {"objective": "regression"}, {"boosting_type": "rf"}],
        ids=str,
    )
    @pytest.mark.parametrize("where", ["estimator", "booster"])
    def test_other_settings(self, params, where):
        model = copy.deepcopy(self.model)
        if where == "estimator":
            model.set_params(**params)
        else:
            model.booster_.params.update(params)
        assert_read_or_refused(model, self.X)

    def test_iterations_that_predict_takes(self):
        model = copy.deepcopy(self.model)
        model.booster_.best_iteration = 3
        assert assert_read_or_refused(model, self.X)
        assert Model.of(model).forest.n_trees == 3

    @pytest.mark.parametrize(
        "given", [{"num_iteration": 25}, {"start_iteration": 2}, {"raw_score": True}]
    )
    def test_settings_of_predict(self, given):
        """Set for all calls, in the object or in a class of its own."""
        model = copy.deepcopy(self.model)
        kind = type(model)

        class Set(kind):
            def predict(self, X):
                return kind.predict(self, X, **given)

        model.__class__ = Set
        with pytest.raises(TypeError, match="replaces the method predict"):
            Model.of(model)
        model.__class__ = kind
        model.predict = functools.partial(model.predict, **given)
        with pytest.raises(TypeError, match="replaces the method predict"):
            Model.of(model)

    @pytest.mark.parametrize("given", [{"num_iteration": 25}, {"start_iteration": 2}])
    @pytest.mark.parametrize("method", ["predict", "predict_proba"])
    def test_a_class_that_was_changed(self, given, method, monkeypatch):
        """Probabilities tell of trees that hardly change a label."""
        kind = type(self.model)
        own = getattr(kind, method)

        def changed(self, X, **others):
            return own(self, X, **{**others, **given})

        monkeypatch.setattr(kind, method, changed)
        if method == "predict":
            # labels of the sample alone may be the same
            assert_read_or_refused(self.model, _sample._rows(self.forest(), self.forest().table))
        else:
            with pytest.raises(TypeError, match=OTHERWISE):
                Model.of(self.model)

    def forest(self):
        return Model.of(self.model, check=False).forest


# ------------------------------------------------------------------- XGBoost


class TestXGBoost:
    @pytest.fixture(autouse=True)
    def _package(self):
        self.xgboost = pytest.importorskip("xgboost")
        self.model = self.xgboost.XGBClassifier(n_estimators=12, max_depth=2, n_jobs=1).fit(X, Y)

    @pytest.mark.parametrize(
        "params",
        [
            {"objective": "reg:squarederror"},
            {"objective": "binary:hinge"},
            {"booster": "gblinear"},
            {"missing": 0.0},
            {"missing": float("inf")},
            {"n_jobs": 2},
            {"n_estimators": 3},
            {"base_score": 0.9},
            {"iteration_range": (0, 2)},
            {"best_iteration": 3},
            {"output_margin": True},
            {"scale_pos_weight": 5},
            {"num_parallel_tree": 2},
            {"learning_rate": 0.01},
        ],
        ids=str,
    )
    def test_set_after_fit(self, params):
        model = copy.deepcopy(self.model)
        assert_read_or_refused(model.set_params(**params), edges(self.model))

    @pytest.mark.parametrize(
        "params",
        [{"objective": "binary:hinge"}, {"objective": "binary:logitraw"}, {"base_score": 0.9}],
        ids=str,
    )
    def test_set_in_the_booster(self, params):
        model = copy.deepcopy(self.model)
        model.get_booster().set_param(params)
        assert_read_or_refused(model, edges(self.model))

    def test_best_iteration(self):
        model = copy.deepcopy(self.model)
        model.get_booster().set_attr(best_iteration="3")
        assert assert_read_or_refused(model, edges(self.model))
        assert Model.of(model).forest.n_trees == 4

    @pytest.mark.parametrize("given", [{"iteration_range": (0, 8)}, {"output_margin": True}])
    def test_settings_of_predict(self, given, monkeypatch):
        model = copy.deepcopy(self.model)
        model.predict = functools.partial(model.predict, **given)
        with pytest.raises(TypeError, match="replaces the method predict"):
            Model.of(model)
        kind, own = type(model), type(model).predict_proba
        monkeypatch.setattr(
            kind, "predict_proba", lambda self, X: own(self, X, iteration_range=(0, 8))
        )
        with pytest.raises(TypeError, match=rf"{OTHERWISE}.*predict_proba says .* the trees say"):
            Model.of(self.model)


# ------------------------------------------------------------------- scikit-learn


@pytest.mark.parametrize(
    ("model", "params"),
    [
        (GradientBoostingClassifier(n_estimators=5), {"learning_rate": 0.9}),
        (GradientBoostingClassifier(n_estimators=5), {"n_estimators": 2}),
        (GradientBoostingClassifier(n_estimators=5), {"loss": "exponential"}),
        (GradientBoostingClassifier(n_estimators=5, loss="exponential"), {"loss": "log_loss"}),
        (GradientBoostingRegressor(n_estimators=5), {"learning_rate": 0.9}),
        (GradientBoostingRegressor(n_estimators=5), {"loss": "quantile"}),
        (RandomForestClassifier(5, max_depth=2), {"n_estimators": 2}),
        (RandomForestClassifier(5, max_depth=2), {"class_weight": {0: 9, 1: 1}}),
        (BaggingClassifier(DecisionTreeClassifier(max_depth=2), 4), {"n_estimators": 2}),
        (AdaBoostClassifier(n_estimators=5), {"learning_rate": 9.0}),
        (READERS["soft votes"].make(0), {"voting": "hard"}),
        (READERS["hard votes"].make(0), {"voting": "soft"}),
        (READERS["hard votes"].make(0), {"weights": [5, 1, 1]}),
        (READERS["soft votes"].make(0), {"weights": [5, 1, 1]}),
        (READERS["histogram"].make(0), {"learning_rate": 0.9, "max_iter": 1}),
        (READERS["histogram, value"].make(0), {"loss": "poisson"}),
        (READERS["pipeline"].make(0), {"standardscaler__with_mean": False}),
    ],
    ids=lambda given: type(given).__name__ if not isinstance(given, dict) else str(given),
)
def test_parameters_set_after_fit(model, params):
    rows = edges(model.fit(X, Y))
    model.set_params(**params)
    if assert_read_or_refused(model, rows) and hasattr(model, "predict_proba"):
        forest = Model.of(model).forest
        if forest.vote.is_boosted_sum:
            found, error = _sample._probabilities(forest, forest.apply(rows).T)
            assert (np.abs(found - model.predict_proba(rows)) <= error).all()


def forest_of(seed=0):
    return RandomForestClassifier(4, max_depth=2, random_state=seed).fit(X, Y)


def never(*args):
    """A method that answers the other class everywhere."""
    return lambda X: 1 - forest_of().predict(X)


MODELS = {
    "tree": lambda: DecisionTreeClassifier(max_depth=2).fit(X, Y),
    "forest": forest_of,
    "gradient": lambda: GradientBoostingClassifier(n_estimators=3).fit(X, Y),
    "histogram": lambda: READERS["histogram"].make(0).fit(X, Y),
    "pipeline": lambda: make_pipeline(StandardScaler(), RandomForestClassifier(3)).fit(X, Y),
    "frozen": lambda: FrozenEstimator(forest_of()),
    "search": lambda: GridSearchCV(DecisionTreeClassifier(), {"max_depth": [2]}, cv=2).fit(X, Y),
    "born again": lambda: BornAgainClassifier(FrozenEstimator(forest_of())).fit(X, Y),
    "pruner": lambda: FaithfulPruner(FrozenEstimator(forest_of())).fit(X, Y),
}


@pytest.mark.parametrize("name", MODELS)
def test_predict_set_on_the_instance(name):
    model = MODELS[name]()
    Model.of(model)
    model.predict = lambda X: np.zeros(len(X), dtype=int)
    with pytest.raises(TypeError, match=r"replaces the method predict|not supported"):
        Model.of(model)


@pytest.mark.parametrize("name", [name for name in MODELS if name not in ("frozen", "search")])
def test_predict_set_on_the_class(name, monkeypatch):
    model = MODELS[name]()
    kind = type(model)
    own = kind.predict
    monkeypatch.setattr(kind, "predict", lambda self, X: 1 - own(self, X))
    with pytest.raises(TypeError, match=rf"{OTHERWISE}: for the row .*, predict says"):
        Model.of(model)
    # the same answers are the same model
    monkeypatch.setattr(kind, "predict", lambda self, X: own(self, X))
    Model.of(model)


def test_predict_of_a_member():
    """A forest asks its trees, and a vote its members; boosting adds up the leaves itself."""
    forest = forest_of()
    for tree in forest.estimators_:
        tree.predict_proba = lambda X, check_input=True: np.eye(2)[np.zeros(len(X), dtype=int)]
    with pytest.raises(TypeError, match=OTHERWISE):
        Model.of(forest)
    votes = VotingClassifier([("a", forest_of(0)), ("b", forest_of(1))]).fit(X, Y)
    votes.estimators_[0].predict = lambda X: np.zeros(len(X), dtype=int)
    with pytest.raises(TypeError, match="replaces the method predict"):
        Model.of(votes)
    gradient = GradientBoostingClassifier(n_estimators=3).fit(X, Y)
    gradient.estimators_[0, 0].predict = lambda X: np.zeros(len(X))
    Model.of(gradient)


def test_every_door():
    """Whatever reads trees refuses; what needs no trees asks the model."""
    model, plain = forest_of(), forest_of()
    for tree in model.estimators_:
        tree.predict_proba = lambda X, check_input=True: np.eye(2)[np.zeros(len(X), dtype=int)]
    doors = [
        lambda: BornAgainClassifier(FrozenEstimator(model)).fit(X, Y),
        lambda: FaithfulPruner(FrozenEstimator(model)).fit(X, Y),
        lambda: verify(model, plain),
        lambda: is_monotone(model, 0),
    ]
    for door in doors:
        with pytest.raises(TypeError, match=OTHERWISE):
            door()
    outcome = agreement(model, plain, X, random_state=0)
    assert not outcome.is_read
    assert outcome.n_different == (plain.predict(X) == 1).sum()


def test_labels_of_trees_are_not_asked_of_the_model():
    """Where trees vote by their labels, the model's predict is not what is promised."""
    forest = forest_of()
    for tree in forest.estimators_:
        tree.predict_proba = lambda X, check_input=True: np.eye(2)[np.zeros(len(X), dtype=int)]
    counted = Model.of(forest, voting="hard").forest.vote
    assert isinstance(counted.numbers, TreeCount)


class TestRounding:
    """Another order of addition is no other model; anything beyond rounding is."""

    def test_values(self, monkeypatch):
        model = RandomForestRegressor(9, max_depth=4, random_state=0).fit(X, Y + X[:, 0] / 3)

        def predict(self, rows, add=0.0):
            return sum(tree.predict(rows) for tree in self.estimators_[::-1]) / 9 + add

        forest = Model.of(model).forest
        rows = _sample._rows(forest, forest.table)
        assert (predict(model, rows) != model.predict(rows)).any()
        monkeypatch.setattr(RandomForestRegressor, "predict", predict)
        Model.of(model)
        monkeypatch.setattr(
            RandomForestRegressor, "predict", functools.partialmethod(predict, add=1e-9)
        )
        with pytest.raises(TypeError, match=OTHERWISE):
            Model.of(model)

    def test_labels(self, monkeypatch):
        """Ties, broken the other way by the order of the trees."""
        trees = [DecisionTreeClassifier(max_depth=1).fit([[0.0], [1.0]], [0, 1]) for _ in range(6)]
        for tree, share in zip(trees, [0.1, 0.2, 0.3, 0.7, 0.8, 0.9], strict=True):
            tree.tree_.value[1:, 0] = [share, 1 - share]
        model = RandomForestClassifier(6, max_depth=1).fit([[0.0], [1.0]], [0, 1])
        model.estimators_ = trees
        rows = np.array([[0.0], [1.0]])
        own = model.predict(rows)
        assert Model.of(model).forest.sums.error_bound > 0

        def other(self, rows, flip=True):
            return (1 - own[0] if flip else own[0]) * np.ones(len(rows), dtype=int)

        monkeypatch.setattr(RandomForestClassifier, "predict", other)
        Model.of(model)
        trees[0].tree_.value[1:, 0] = [0.1001, 0.8999] if own[0] else [0.0999, 0.9001]
        label = int(Model.of(model, check=False).forest.predict_index(rows)[0])
        monkeypatch.setattr(
            RandomForestClassifier, "predict", lambda self, rows: np.full(len(rows), 1 - label)
        )
        with pytest.raises(TypeError, match=OTHERWISE):
            Model.of(model)


def test_models_with_their_own_methods_are_not_asked(monkeypatch):
    """scikit-learn's are known by what was read; asking them would take longer than reading."""
    n_asked = []
    monkeypatch.setattr(_sample, "_asked", lambda *args: n_asked.append(1))
    for name in ("tree", "forest", "gradient", "histogram", "soft votes", "pipeline"):
        Model.of(READERS[name].model())
    assert not n_asked
