"""Names of parameters: old ones work and warn, unknown ones are told with the nearest."""

import importlib.util
import inspect
import pickle
from pathlib import Path

import numpy as np
import pytest
from sklearn.base import BaseEstimator, clone
from sklearn.datasets import load_iris
from sklearn.tree import DecisionTreeClassifier

import ensemble_simplify
from ensemble_simplify import (
    CultivatedForestClassifier,
    RepresenterTree,
    is_monotone,
    is_sensitive,
    merge_trees,
    nearest_flip,
    simplify,
)
from ensemble_simplify.front import main

PUBLIC = {name: getattr(ensemble_simplify, name) for name in ensemble_simplify.__all__}
ESTIMATORS = [
    kind
    for kind in PUBLIC.values()
    if inspect.isclass(kind) and issubclass(kind, BaseEstimator) and "fit" in vars(kind)
]


@pytest.fixture(scope="module")
def iris():
    X, y = load_iris(return_X_y=True)
    return X, y, DecisionTreeClassifier(max_depth=3, random_state=0).fit(X, y)


def test_old_names_of_simplify(iris):
    X, y, model = iris
    options = {"methods": ["representer"], "random_state": 0}
    with pytest.warns(FutureWarning, match="Write max_leaf_nodes="):
        old = simplify(model, X, y, max_leaves=3, **options)
    new = simplify(model, X, y, max_leaf_nodes=3, **options)
    assert old.export_text() == new.export_text()
    with pytest.warns(FutureWarning, match="max_leaf_nodes"):
        assert new.max_leaves == new.max_leaf_nodes == 3
    with pytest.raises(TypeError, match="was given max_leaf_nodes, and max_leaves"):
        simplify(model, X, max_leaves=3, max_leaf_nodes=4)


def test_old_names_of_merges_and_of_the_command(iris, tmp_path):
    X, _, model = iris
    with pytest.warns(FutureWarning, match="Write models="):
        old = merge_trees(estimators=[model, model])
    assert np.array_equal(old.predict_proba(X), merge_trees([model, model]).predict_proba(X))
    file, table, told = tmp_path / "model.pkl", tmp_path / "rows.csv", []
    file.write_bytes(pickle.dumps(model))
    np.savetxt(table, X, delimiter=",", header="a,b,c,d", comments="")
    for option in ("--max-leaves", "--max-leaf-nodes"):
        out = tmp_path / f"{option}.txt"
        # of the same dest, whichever is given counts
        call = ["export", file, table, "--methods", "representer", option, 3, "--out", out]
        if option == "--max-leaves":
            with pytest.warns(FutureWarning, match="--max-leaf-nodes"):
                assert main(list(map(str, call))) == 0
        else:
            assert main(list(map(str, call))) == 0
        told.append(out.read_text())
    assert told[0] == told[1]


def test_old_names_of_representers(iris):
    X, _, model = iris
    with pytest.warns(FutureWarning, match="Write response="):
        old = RepresenterTree(model.predict, target="label", max_leaf_nodes=3, random_state=0)
    assert "target" not in old.get_params()
    with pytest.warns(FutureWarning, match="'class'"):
        old.fit(X)
    new = clone(old).set_params(response="class").fit(X)
    assert np.array_equal(old.predict(X), new.predict(X))
    with pytest.warns(FutureWarning, match="Write response="):
        assert new.set_params(target="proba").response == "proba"
    with pytest.warns(FutureWarning, match="Write response='probabilities'"):
        old = clone(new).set_params(estimator=model.predict_proba).fit(X)
    new = clone(old).set_params(response="probabilities").fit(X)
    assert np.array_equal(old.predict_proba(X), new.predict_proba(X))


@pytest.mark.parametrize("ask", [is_monotone, is_sensitive])
def test_old_words_of_audits(iris, ask):
    X, y, _ = iris
    model = DecisionTreeClassifier(max_depth=2, random_state=0).fit(X, y == 1)
    with pytest.warns(FutureWarning, match=f"{ask.__name__} is called 'probabilities' since"):
        old = ask(model, 2, response="proba")
    assert old.response == "probabilities"
    assert old.sentence == ask(model, 2, response="probabilities").sentence
    with pytest.raises(ValueError, match="'response' parameter"):
        ask(model, 2, response="probability")


def test_old_names_of_leaves(iris):
    X, y, _ = iris
    ((share, *_), *_) = CultivatedForestClassifier(random_state=0).fit(X, y).explain(X[:1])
    with pytest.warns(FutureWarning, match="Write probabilities"):
        assert share.proba is share.probabilities


@pytest.mark.parametrize("kind", ESTIMATORS, ids=lambda kind: kind.__name__)
def test_estimators_tell_the_nearest_name(kind):
    name = [*inspect.signature(kind).parameters][-1]
    with pytest.raises(TypeError, match=rf"{kind.__name__}\(\) .*Did you mean '{name}'"):
        kind(**{f"{name}e": 1})


def test_functions_tell_the_nearest_name(iris):
    X, _, model = iris
    with pytest.raises(TypeError, match=r"nearest_flip\(\) .*'max_change'.*'max_changes'"):
        nearest_flip(model, X[:1], max_change=2)
    with pytest.raises(TypeError, match=r"simplify\(\) .*'zzz'. Leave it out"):
        simplify(model, X, zzz=1)


def test_one_idea_has_one_name():
    """No public function has a name that other packages, or versions, have for the same."""
    others = {
        "max_leaves",
        "n_leaf_nodes",
        "seed",
        "random_seed",
        "n_threads",
        "timeout",
        "weights_",
    }
    for name, one in PUBLIC.items():
        if callable(one) and not (inspect.isclass(one) and issubclass(one, Exception)):
            given = set(inspect.signature(one).parameters)
            assert not given & others, name


PICKLES = Path(__file__).parents[1] / "data" / "pickles_0_3_0"


def test_parameters_that_0_3_0_pickled_load_under_their_new_names():
    """The file was written by version 0.3.0: ``RepresenterTree(max_leaf_nodes=4)``."""
    tree = pickle.loads((PICKLES / "unfitted.pkl").read_bytes())
    assert (tree.max_leaf_nodes, tree.response) == (4, "auto")
    X, y = load_iris(return_X_y=True)
    assert tree.fit(X, y).get_n_leaves() <= 4


def test_what_0_3_0_fitted_is_refused_with_what_to_do():
    """The file was written by version 0.3.0, and asks for a module that has moved."""
    with pytest.raises(ModuleNotFoundError, match=r"born_again\._regressor.*fit again.*json"):
        pickle.loads((PICKLES / "BornAgainRegressor.pkl").read_bytes())
    assert importlib.util.find_spec("ensemble_simplifyer") is None
    with pytest.raises(ImportError, match="cannot import name"):
        exec("from ensemble_simplify import nothing_of_this_name")
