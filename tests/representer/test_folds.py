"""Folds, sizes and laws of the representer tree."""

import pickle

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import make_classification, make_friedman1
from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor
from sklearn.frozen import FrozenEstimator
from sklearn.metrics import accuracy_score, log_loss, r2_score
from sklearn.utils import Bunch

from ensemble_simplify import RepresenterTree, export_tree
from ensemble_simplify.reading import Model, out_of_bag
from ensemble_simplify.representer._grower import sizes
from ensemble_simplify.sampling import (
    LAWS,
    Coordinates,
    CopulaLaw,
    Predictor,
    Sample,
    clearly_best,
    draw_folds,
)
from ensemble_simplify.writing.sklearn_tree import SHRINKAGE


class Counting:
    """A function that counts the rows that it is asked about."""

    def __init__(self, function):
        self.function, self.n_rows = function, 0

    def __call__(self, X):
        self.n_rows += len(X)
        return self.function(X)


@pytest.fixture(scope="module")
def labels():
    X, y = make_classification(400, 6, n_informative=4, flip_y=0.2, random_state=0)
    return X, y, RandomForestClassifier(20, random_state=0).fit(X, y)


@pytest.fixture(scope="module")
def values():
    X, y = make_friedman1(300, n_features=6, noise=1.0, random_state=0)
    return X, y, RandomForestRegressor(10, random_state=0).fit(X, y)


def representer(function, response="class", **options):
    options = {"max_leaf_nodes": 16, "n_samples": 3000, "random_state": 0} | options
    return RepresenterTree(function, response=response, **options)


def same(a, b):
    """Whether two scikit-learn trees are the same, to the last number."""
    one, two = a.tree_.__getstate__(), b.tree_.__getstate__()
    return one["nodes"].tobytes() == two["nodes"].tobytes() and np.array_equal(
        one["values"], two["values"]
    )


def siblings(tree):
    """Pairs of leaves below one split."""
    left, right = tree.tree_.children_left, tree.tree_.children_right
    return [
        (a, b) for a, b in zip(left, right, strict=True) if a >= 0 and left[a] < 0 and left[b] < 0
    ]


# ---------------------------------------------------------------------- sizes


@pytest.mark.parametrize("target", ["class", "probabilities", "value"])
@pytest.mark.parametrize("sampling", ["one_shot", "per_node"])
def test_another_size_asks_nothing(target, sampling, labels, values):
    X, _, model = values if target == "value" else labels
    function = Counting(model.predict_proba if target == "probabilities" else model.predict)
    whole = representer(function, target, sampling=sampling).fit(X)
    asked = function.n_rows
    decisions = model.predict(X)
    state = pickle.dumps(whole.decision_tree_)
    for n in (2, 3, 7, 16):
        smaller = whole.at(n)
        assert isinstance(smaller, RepresenterTree)
        assert smaller.get_n_leaves() == smaller.n_leaves_ == n or n > 7
        assert smaller.n_leaves_ <= n
        assert smaller.path_.n_leaves[0] == smaller.n_leaves_
        assert smaller.max_leaf_nodes == n
        # its figures are those of its own predictions
        right = r2_score if target == "value" else accuracy_score
        held_out = np.ones(len(X), dtype=bool)
        held_out[np.isin(X[:, 0], whole._law_arguments["X"][:, 0])] = False
        assert held_out.sum() == int(0.1 * len(X))
        found = smaller.predict(X)
        assert smaller.train_fidelity_ == pytest.approx(
            right(decisions[~held_out], found[~held_out])
        )
        assert smaller.fidelity_ == pytest.approx(right(decisions[held_out], found[held_out]))
        assert smaller.path_.fidelity[0] == pytest.approx(smaller.fidelity_)
        np.testing.assert_array_equal(pickle.loads(pickle.dumps(smaller)).predict(X), found)
        assert same(smaller.at(2).decision_tree_, whole.at(2).decision_tree_)
        clone(smaller)
    assert function.n_rows == asked
    assert pickle.dumps(whole.decision_tree_) == state
    if sampling == "one_shot":
        assert same(whole.at(16).decision_tree_, whole.decision_tree_)


def test_sizes_that_cannot_be(labels):
    X, _, forest = labels
    tree = representer(forest.predict).fit(X)
    for n in (1, 17, 2.5, "8"):
        with pytest.raises(ValueError, match=rf"n_leaves={n!r}.*pruned to 2 to 16.*max_leaf_nodes"):
            tree.at(n)


def test_counts_of_a_size_are_of_the_training_rows(labels):
    X, _, forest = labels
    tree = representer(forest.predict, validation_fraction=0).fit(X)
    for n in (2, 5, 16):
        made = tree.at(n).decision_tree_
        np.testing.assert_array_equal(
            np.bincount(made.apply(X.astype(np.float32)), minlength=made.tree_.node_count)[
                made.tree_.children_left < 0
            ],
            made.tree_.n_node_samples[made.tree_.children_left < 0],
        )


def rates(tree, X, chances, weight=None, strength=SHRINKAGE):
    """What each leaf of a tree says of the classes, from the rows on the path to it."""
    weight = np.ones(len(X)) if weight is None else weight
    paths = tree.decision_path(X.astype(np.float32)).toarray().astype(bool)
    n_classes, found = chances.shape[1], {}
    for leaf in np.unique(tree.apply(X.astype(np.float32))):
        below = paths[paths[:, leaf]][0]
        # parents have smaller numbers; the root counts one row more, of all classes alike
        nodes = np.flatnonzero(below)
        said, before, n_before = None, 0.0, 0.0
        for node in nodes:
            w = weight * paths[:, node]
            own = w @ chances / w.sum()
            if said is None:
                own = said = (w @ chances + 1 / n_classes) / (w.sum() + 1)
            else:
                said = said + (own - before) * n_before / (n_before + strength)
            before, n_before = own, w.sum()
        found[leaf] = said
    return found


@pytest.mark.parametrize("how", ["y", "model", "labels", "probabilities"])
def test_leaves_hold_rates(labels, how):
    """Of `y`, else the model's mean probabilities, else its labels; labels stay as they were."""
    X, y, forest = labels
    model = {"labels": forest.predict, "probabilities": forest.predict_proba}.get(
        how, FrozenEstimator(forest)
    )
    target = "probabilities" if how == "probabilities" else "class"
    options = {"max_leaf_nodes": 12, "validation_fraction": 0}
    tree = representer(model, target, **options).fit(X, y if how == "y" else None)
    chances = {
        "y": np.eye(2)[y],
        "labels": np.eye(2)[forest.predict(X)],
    }.get(how, forest.predict_proba(X))
    for each in (tree, tree.at(5)):
        made = each.decision_tree_
        grown = each.synthetic_shares_
        leaf = made.apply(X.astype(np.float32))
        n_told = 0
        # the model knows the labels of these rows
        wrong = np.mean(each.predict(X) != y)
        strength = 5.0 + 100.0 * wrong if how == "y" else SHRINKAGE
        for k, said in rates(made, X, chances, strength=strength).items():
            label = grown[k].argmax()
            assert made.tree_.value[k, 0].argmax() == label
            if said.argmax() == label:
                np.testing.assert_allclose(made.tree_.value[k, 0], said, atol=1e-12)
                n_told += 1
            else:
                assert made.tree_.value[k, 0, label] == pytest.approx(0.5, abs=1e-5)
        assert n_told >= 3
        np.testing.assert_array_equal(each.predict_proba(X), made.tree_.value[leaf, 0])
        np.testing.assert_array_equal(each.predict(X), grown[leaf].argmax(axis=1))
        words = {"y": "chance {}", "labels": "{} of the model's answers"}
        words = words.get(how, "chance {} by the model")
        share, n_rows = made.tree_.value[leaf[0], 0].max(), made.tree_.n_node_samples[leaf[0]]
        share = f"{100 * share:.1f}".removesuffix(".0")
        words = f"({words.format(f'{share} %')}, {n_rows} training rows)"
        assert words in each.export_text()
        assert words in export_tree(each)
        # codes of other languages say the same
        space = {}
        exec(export_tree(each, "python", output="probabilities"), space)
        assert (
            list(space["predict"](dict(enumerate(X[0]))).values())
            == each.predict_proba(X[:1])[0].tolist()
        )


def test_rates_of_labels_that_the_model_knows_are_drawn_further():
    """The tree answers as the model does, which knows these labels: in its leaves they are rare."""
    X, y = make_classification(2600, 8, n_informative=4, flip_y=0.4, random_state=1)
    own, apart, new = slice(300), slice(300, 600), slice(600, None)
    forest = RandomForestClassifier(30, random_state=0).fit(X[own], y[own])
    grown = representer(FrozenEstimator(forest), max_leaf_nodes=16, validation_fraction=0)
    tree = grown.fit(X[own], y[own])
    told = tree.decision_tree_.tree_.value[:, 0]

    def of_strength(strength):
        return rates(tree.decision_tree_, X[own], np.eye(2)[y[own]], strength=strength)

    wrong = np.mean(tree.predict(X[own]) != y[own])
    for leaf, said in of_strength(5.0 + 100.0 * wrong).items():
        if said.argmax() == told[leaf].argmax() and abs(told[leaf, 0] - 0.5) > 1e-3:
            np.testing.assert_allclose(told[leaf], said, atol=1e-12)
    weak, leaf = of_strength(SHRINKAGE), tree.apply(X[new])
    before = np.array([weak[k] for k in leaf])
    assert log_loss(y[new], tree.predict_proba(X[new])) < log_loss(y[new], before) - 0.005
    # what it does not know is as before, also where another tree is asked about other rows
    for other in (tree.calibrated(X[apart], y[apart]), grown.fit(X[apart], y[apart])):
        said = rates(other.decision_tree_, X[apart], np.eye(2)[y[apart]])
        here = other.decision_tree_.tree_.value[:, 0]
        sure = [k for k in said if said[k].argmax() == here[k].argmax()]
        assert len(sure) >= 3
        for k in sure:
            assert here[k] == pytest.approx(said[k], abs=1e-12) or abs(here[k, 0] - 0.5) < 1e-3


def test_leaves_take_the_rates_of_other_rows(labels):
    """Labels stay; a smaller tree keeps to the new rows, too; weights count as repeated rows."""
    X, y, forest = labels
    tree = representer(FrozenEstimator(forest), max_leaf_nodes=12).fit(X[:200])
    other = tree.calibrated(X[200:], y[200:])
    np.testing.assert_array_equal(tree.predict(X), other.predict(X))
    assert (tree.predict_proba(X) != other.predict_proba(X)).any()
    assert "by the model, " in tree.export_text()
    assert "by the model" not in other.export_text()
    assert same(other.at(5).decision_tree_, tree.at(5).calibrated(X[200:], y[200:]).decision_tree_)
    times = np.random.default_rng(0).integers(1, 4, 200)
    weighted = tree.calibrated(X[200:], y[200:], sample_weight=times)
    again = np.repeat(np.arange(200, 400), times)
    repeated = tree.calibrated(X[again], y[again])
    np.testing.assert_allclose(weighted.predict_proba(X), repeated.predict_proba(X), atol=1e-12)
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        tree.calibrated(X, y[:-1])
    assert not hasattr(representer(forest.predict, "value").fit(X), "calibrated")


def test_probabilities_are_calibrated_on_new_rows():
    """Shares of synthetic rows are not: there the model's errors are left out."""
    X, y = make_classification(4000, 8, n_informative=4, flip_y=0.4, random_state=1)
    forest = RandomForestClassifier(30, random_state=0).fit(X[:500], y[:500])
    tree = representer(FrozenEstimator(forest), max_leaf_nodes=16).fit(X[500:1000], y[500:1000])
    new, truth = X[1000:], y[1000:]
    leaf = tree.decision_tree_.apply(new.astype(np.float32))

    def off(proba):
        bins = (10 * proba[:, 1]).astype(int)
        parts = [bins == k for k in range(10)]
        return sum(abs((proba[part, 1] - truth[part]).sum()) for part in parts) / len(truth)

    assert off(tree.synthetic_shares_[leaf]) > 0.12
    assert off(tree.predict_proba(new)) < 0.06
    before = log_loss(truth, tree.synthetic_shares_[leaf])
    assert log_loss(truth, tree.predict_proba(new)) < before - 0.05


def test_pictures_say_shares(labels):
    plt = pytest.importorskip("matplotlib.pyplot")
    X, y, forest = labels
    tree = representer(FrozenEstimator(forest), max_leaf_nodes=3).fit(X, y)
    made = tree.decision_tree_.tree_
    root = tree.plot(precision=2)[0].get_text()
    assert f"share = [{made.value[0, 0, 0]:.2f}, {made.value[0, 0, 1]:.2f}]" in root
    assert "value" not in root
    plt.close("all")


def test_no_leaf_is_wasted():
    """A rare answer: all leaves asked for are there, and no split is between equal answers."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((1500, 5))

    def rare(rows):
        return (rows[:, 0] + 0.7 * np.sin(3 * rows[:, 1]) > 1.9).astype(int)

    tree = RepresenterTree(rare, response="class", max_leaf_nodes=12, random_state=0).fit(X)
    for n in (3, 6, 12):
        smaller = tree.at(n)
        made = smaller.decision_tree_
        assert smaller.n_leaves_ == n
        pairs = siblings(made)
        assert pairs
        answers = made.tree_.value[:, 0].argmax(axis=1)
        assert all(answers[a] != answers[b] for a, b in pairs)


def test_growing_goes_on_until_there_are_leaves_enough():
    """Splits by impurity that change no answer come first here, more than are overgrown."""
    rng = np.random.default_rng(0)
    X = rng.random((4000, 2))

    def function(rows):
        """A share of class 1 that falls over 60 steps of x, and four corners of y that are 1."""
        step = np.floor(rows[:, 0] * 60)
        noise = np.modf(np.abs(np.sin(rows[:, 0] * 1e4 + rows[:, 1] * 1e5)))[0]
        likely = 0.45 * (1 - step / 60)
        corner = (rows[:, 1] > 0.99) & (np.modf(rows[:, 0] * 4)[0] < 0.5)
        return (corner | (noise < likely)).astype(int)

    options = {"response": "class", "keep_rows": 0.0, "sampler": "smear", "n_samples": 4000}
    tree = RepresenterTree(function, max_leaf_nodes=6, random_state=1, **options).fit(X)
    assert tree.n_leaves_ == 6  # in 18 leaves there are five that differ
    answers = tree.decision_tree_.tree_.value[:, 0].argmax(axis=1)
    assert all(answers[a] != answers[b] for a, b in siblings(tree.decision_tree_))


# ---------------------------------------------------------------------- folds


def by_heart(function, X, answers):
    """A function with answers of its own to some rows."""
    known = {row.tobytes(): answer for row, answer in zip(X, answers, strict=True)}

    def knows(rows):
        pairs = zip(rows, function(rows), strict=True)
        return np.array([known.get(row.tobytes(), answer) for row, answer in pairs])

    return knows


@pytest.mark.parametrize("sampler", ["leaves", "copula"])
@pytest.mark.parametrize("kind", ["labels", "rare", "values"])
def test_answers_of_a_fold_do_not_depend_on_its_own(kind, sampler, labels, values):
    """Other answers to its rows, other answers of the other folds' trees alone.

    So it is with one law; to choose it, all folds are looked at.
    """
    X, _, model = values if kind == "values" else labels
    target = "value" if kind == "values" else "class"
    rng = np.random.default_rng(0)
    fold_of = rng.integers(-1, 3, len(X))
    weight = rng.integers(1, 3, len(X)).astype(float)
    often = np.quantile(X[:, 0], 0.95)
    function = (lambda rows: (rows[:, 0] > often).astype(int)) if kind == "rare" else model.predict
    changed = function(X)
    changed[fold_of == 1] = 1 - changed[fold_of == 1] if target == "class" else -9.0

    def answers(function):
        tree = representer(function, target, validation_fraction=0, sampler=sampler, keep_rows=0.5)
        return tree.fit(X, sample_weight=weight, fold_of=fold_of).folds_.answers

    first, second = answers(function), answers(by_heart(function, X, changed))
    np.testing.assert_array_equal(first[:, fold_of == 1], second[:, fold_of == 1])
    assert (first[:, fold_of == 0] != second[:, fold_of == 0]).any()
    assert (first[:, fold_of == 2] != second[:, fold_of == 2]).any()


@pytest.mark.parametrize("sampler", ["leaves", "copula", "smear", "kernel", "neighbors"])
def test_nothing_of_a_fold_is_learned(sampler, values):
    """Wherever its other rows are, the answers to a row of it are the same."""
    X, _, model = values
    fold_of = np.arange(len(X)) % 3
    moved = X.copy()
    others = np.flatnonzero(fold_of == 1)[10:]
    moved[others] = np.random.default_rng(0).random((len(others), X.shape[1])) ** 3

    def answers(rows):
        tree = representer(model.predict, "value", validation_fraction=0, sampler=sampler)
        return tree.fit(rows, fold_of=fold_of).folds_.answers

    first, second = answers(X), answers(moved)
    kept = np.setdiff1d(np.flatnonzero(fold_of == 1), others)
    np.testing.assert_array_equal(first[:, kept], second[:, kept])
    assert (first[:, fold_of == 0] != second[:, fold_of == 0]).any()


def test_fewer_rows_of_a_sample():
    """The larger part gives first; each part keeps its weight, and no row of the fold is left."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((900, 2))
    columns = Coordinates.resolve(None, None, 2, None)
    law = CopulaLaw(X, np.ones(900), columns, smearing=0.5, keep_rows=0.25)
    predictor = Predictor(
        Model(lambda rows: rows[:, 0] > 1.9), "label", "f", classes=np.array([False, True])
    )
    fold = np.repeat([-1, 0, 1], 300)
    rows = Bunch(X=X, weight=law.weight, answers=predictor.answers(X), fold=fold)
    sample = Sample(law, predictor, rows, rows, 4000, seed=0)
    made = {tuple(row) for row in sample.made.X[sample.made.fold != 1]}
    for most, n_kept in ((np.inf, 600), (2000, 600), (1000, 500)):
        some = sample.rows(without=1, most=most)
        is_kept = np.arange(len(some.X)) < n_kept
        assert len(some.X) == most or most == np.inf
        assert {tuple(row) for row in some.X[is_kept]} <= {tuple(row) for row in X[fold != 1]}
        assert {tuple(row) for row in some.X[~is_kept]} <= made
        assert some.weight[is_kept].sum() == pytest.approx(len(some.X) / 4)
        assert some.weight.sum() == pytest.approx(len(some.X))
        np.testing.assert_array_equal(some.answers[:, 1], some.X[:, 0] > 1.9)
        # rows that are rare answers are drawn more often, and weigh less
        rare = np.average(some.answers[~is_kept, 1], weights=some.weight[~is_kept])
        assert rare < 0.06 < some.answers[~is_kept, 1].mean()


def test_rows_of_a_fold_are_not_learned():
    """Answers at random are learned where rows are seen, and not where they are left out."""
    rng = np.random.default_rng(0)
    X, answers = rng.random((300, 4)), rng.integers(0, 2, 300)

    def function(rows):  # knows each row's answer by heart
        return answers[np.argmin(((rows[:, None] - X) ** 2).sum(axis=2), axis=1)]

    # other laws make rows near those left out, and the function tells their answers
    law = {"sampler": "copula", "smearing": 0.02}
    tree = representer(function, max_leaf_nodes=64, n_folds=5, validation_fraction=0, **law).fit(X)
    assert tree.train_fidelity_ > 0.75
    assert tree.folds_.agreement[-1] < 0.6


@pytest.mark.parametrize("target", ["class", "probabilities", "value"])
def test_what_folds_tell(target, labels, values):
    X, _, model = values if target == "value" else labels
    function = Counting(model.predict_proba if target == "probabilities" else model.predict)
    fold_of = np.random.default_rng(0).integers(-3, 2, len(X))
    tree = representer(
        function, target, max_leaf_nodes=12, validation_fraction=0.2, sampler="copula"
    )
    n_before = tree.fit(X).n_queries_
    assert tree.folds_ is None
    path = tree.path_
    tree.fit(X, fold_of=fold_of)
    # each of the two folds has a law, and rows, of its own
    assert tree.n_queries_ == n_before + 2 * 2000
    np.testing.assert_array_equal(tree.path_.n_leaves[0], path.n_leaves[0])
    folds = tree.folds_
    assert folds.n_leaves.tolist() == [4, 8, 12]
    assert folds.answers.shape == (3, len(X))
    assert (folds.law, folds.laws) == ("copula", None) == (tree.sampler_, None)
    np.testing.assert_array_equal(folds.fold_of, np.maximum(fold_of, -1))
    outside = fold_of < 0
    for n, answers in zip(folds.n_leaves, folds.answers, strict=True):
        np.testing.assert_array_equal(answers[outside], tree.at(n).predict(X[outside]))
    seen = np.isin(X[:, 0], tree._law_arguments["X"][:, 0]) & ~outside
    right = r2_score if target == "value" else accuracy_score
    truth = model.predict(X[seen])
    for answers, agreement in zip(folds.answers, folds.agreement, strict=True):
        assert agreement == pytest.approx(right(truth, answers[seen]))
    # random folds: each row that is not set aside is in one
    tree.set_params(n_folds=4).fit(X)
    n_rows = len(X) - int(0.2 * len(X))
    counts = np.bincount(tree.folds_.fold_of + 1)
    assert counts[0] == len(X) - n_rows
    assert counts[1:].tolist() == [n_rows // 4] * 4


def test_folds_are_alike_in_answers():
    answers = np.eye(3)[np.repeat([0, 1, 2], [10, 90, 23])]
    fold_of = draw_folds(answers, 5, np.random.default_rng(0))
    for c, n in enumerate((10, 90, 23)):
        counts = np.bincount(fold_of[answers[:, c] == 1], minlength=5)
        assert counts.sum() == n
        assert counts.max() - counts.min() <= 2
    values = np.arange(40.0)[:, None]
    fold_of = draw_folds(values, 4, np.random.default_rng(0))
    for k in range(4):
        assert (np.diff(np.flatnonzero(fold_of == k)) < 8).all()


@pytest.mark.parametrize("asked", ["n_folds", "fold_of"])
def test_large_trees_have_folds(asked, labels):
    X, _, forest = labels
    options = {"n_folds": 2} if asked == "n_folds" else {}
    given = {"fold_of": np.arange(400) % 2} if asked == "fold_of" else {}
    tree = representer(forest.predict, max_leaf_nodes=70, **options).fit(X, **given)
    assert tree.sampling_ == "one_shot"
    assert tree.folds_.n_leaves.tolist() == [4, 8, 16, 32, 64, 70]


def test_no_size_below_the_number_of_classes():
    assert sizes(32, 2).tolist() == [4, 8, 16, 32]
    assert sizes(30, 9).tolist() == [16, 30]
    assert sizes(6, 9).tolist() == [6]
    assert sizes(4, 0).tolist() == [4]


def test_batches_and_threads_do_not_change_folds(labels):
    X, _, forest = labels
    options = {"n_folds": 3}
    whole = representer(forest.predict, **options).fit(X)
    for other in ({"batch_size": 37}, {"n_jobs": 2}):
        again = representer(forest.predict, **options, **other).fit(X)
        np.testing.assert_array_equal(whole.folds_.answers, again.folds_.answers)
        assert whole.folds_.law == again.folds_.law
        assert same(whole.decision_tree_, again.decision_tree_)


def test_folds_that_cannot_be(labels):
    X, _, forest = labels

    def fails(match, error=ValueError, **options):
        given = {name: options.pop(name) for name in ("fold_of", "answers") if name in options}
        estimator = options.pop("estimator", forest.predict)
        with pytest.raises(error, match=match):
            representer(estimator, **options).fit(X, **given)

    fails("n_folds=5 needs one sample.*sampling='one_shot'", n_folds=5, sampling="per_node")
    fails("fold_of needs one sample", fold_of=np.zeros(400, int), reuse=True)
    fails("n_folds=5 needs max_leaf_nodes", n_folds=5, max_leaf_nodes=None,
          max_depth=3)  # fmt: skip
    fails("n_folds=1 leaves no rows", n_folds=1)
    fails("n_folds=500, but there are 360 rows", n_folds=500)
    fails("fold_of puts all rows into one fold", fold_of=np.zeros(400, int))
    fails(r"fold_of has shape \(3,\).*400 rows", fold_of=[0, 1, 2])
    fails("fold_of has shape.*float64", fold_of=np.zeros(400))
    fails(r"answers has shape \(3,\).*400 rows", answers=[0, 1, 0])
    fails("answers= holds the label 7, which is none of the classes", answers=np.full(400, 7),
          estimator=FrozenEstimator(forest), response="auto")  # fmt: skip
    fails(r"answers= holds.*shape \(360, 2\)", answers=np.zeros((400, 2)))
    fails("n_neighbors=5 has no meaning with sampler='auto'", n_neighbors=5)
    fails("smearing=0.5 has no meaning with sampler='leaves'", sampler="leaves", smearing=0.5)
    fails("smearing=0.0 with sampler='auto'", smearing=0.0)


# ---------------------------------------------------------------------- answers given


@pytest.mark.parametrize("target", ["class", "probabilities", "value"])
def test_answers_that_are_given_judge(target, labels, values):
    """Folds are compared with them; the tree is what it is without."""
    X, y, model = values if target == "value" else labels
    if target != "value":
        y = np.where(y == 1, "up", "down")
        model = RandomForestClassifier(20, random_state=0).fit(X, y)
    # a forest itself would be judged by its out-of-bag answers
    function = model.predict_proba if target == "probabilities" else model.predict
    fold_of = np.arange(len(X)) % 3 - 1
    tree = representer(function, target, validation_fraction=0, sampler="copula")
    usual = clone(tree).fit(X, y, fold_of=fold_of)
    tree.fit(X, y, fold_of=fold_of, answers=y)
    assert same(tree.decision_tree_, usual.decision_tree_)
    np.testing.assert_array_equal(tree.folds_.answers, usual.folds_.answers)
    judged = fold_of >= 0
    right = r2_score if target == "value" else accuracy_score
    for answers, agreement, other in zip(
        tree.folds_.answers, tree.folds_.agreement, usual.folds_.agreement, strict=True
    ):
        assert agreement == pytest.approx(right(y[judged], answers[judged]))
        assert other == pytest.approx(right(model.predict(X[judged]), answers[judged]))
    assert (tree.folds_.agreement < usual.folds_.agreement).any()
    assert tree.train_fidelity_ == usual.train_fidelity_


# ---------------------------------------------------------------------- laws


@pytest.mark.parametrize("asked", [0, 4])
def test_the_law_is_chosen_by_rows_left_out(asked, labels):
    """Its figures are those of trees of which each row was left out."""
    X, _, forest = labels
    tree = representer(forest.predict, n_folds=asked, validation_fraction=0).fit(X)
    folds = tree.folds_
    assert folds.law == tree.sampler_ in LAWS
    assert list(folds.laws) == list(LAWS)
    assert all(agreement.shape == (3,) for agreement in folds.laws.values())
    law = LAWS[tree.sampler_]
    assert {name: tree._law_arguments[name] for name in law} == law
    assert (tree.smearing_, tree.keep_rows_) == (law.get("smearing", 0.25), law["keep_rows"])
    n_folds = asked or 5
    assert np.bincount(folds.fold_of).tolist() == [400 // n_folds] * n_folds
    right = [accuracy_score(forest.predict(X), answers) for answers in folds.answers]
    np.testing.assert_allclose(folds.agreement, right)
    # the same law alone, on the same folds
    alone = representer(forest.predict, validation_fraction=0, **law)
    alone.fit(X, fold_of=folds.fold_of)
    assert same(alone.decision_tree_, tree.decision_tree_)
    if asked:
        np.testing.assert_array_equal(alone.folds_.answers, folds.answers)
    else:
        np.testing.assert_array_equal(folds.agreement, folds.laws[tree.sampler_])


@pytest.mark.parametrize(
    "options",
    [
        {"max_leaf_nodes": None},
        {"max_leaf_nodes": None, "max_depth": 3},
        {"max_leaf_nodes": 70},
        {"sampling": "per_node"},
        {"feature_groups": [[0, 1]]},
        {"categorical_features": [5]},
        {"response": "probabilities"},
        {"response": "value"},
    ],
    ids=lambda options: "-".join(options),
)
def test_a_law_is_chosen_whatever_is_asked_for(options, labels, values):
    """By trees of at most 16 leaves where no size is given, and of 32 at most."""
    options = {"response": "class", "n_samples": 500, "random_state": 1} | options
    X, _, model = values if options["response"] == "value" else labels
    X = X.copy()
    X[:, 5] = np.round(X[:, 5])
    function = model.predict_proba if options["response"] == "probabilities" else model.predict
    tree = RepresenterTree(function, **{"max_leaf_nodes": 20} | options).fit(X)
    folds = tree.folds_
    assert tree.sampler_ in folds.laws
    sizes = {None: [4, 8, 16], 20: [4, 8, 16, 20], 70: [4, 8, 16, 32]}
    assert folds.n_leaves.tolist() == sizes[options.get("max_leaf_nodes", 20)]
    assert folds.answers.shape == (len(folds.n_leaves), len(X))
    outside = folds.fold_of < 0
    assert outside.sum() == len(X) // 10
    n = min(tree._grown.most, folds.n_leaves[-1])
    if n == folds.n_leaves[-1]:
        np.testing.assert_array_equal(tree.at(n).predict(X[outside]), folds.answers[-1, outside])


def test_what_is_given_is_kept_in_every_law(labels):
    X, _, forest = labels
    tree = representer(forest.predict, smearing=0.4).fit(X)
    assert list(tree.folds_.laws) == ["leaves", "copula"]
    assert tree.sampler_ == "leaves" or tree.smearing_ == 0.4
    tree = representer(forest.predict, keep_rows=0.2).fit(X)
    assert list(tree.folds_.laws) == list(LAWS)
    assert tree.keep_rows_ == 0.2
    # the training rows alone, rows of no fold, and a named sampler: there is nothing to choose
    assert representer(forest.predict, keep_rows=1.0).fit(X).folds_ is None
    tree = representer(forest.predict).fit(X, fold_of=np.full(400, -1))
    assert (tree.sampler_, tree.folds_) == ("leaves", None)
    tree = representer(forest.predict, sampler="smear").fit(X)
    assert (tree.sampler_, tree.smearing_, tree.keep_rows_) == ("smear", 0.25, 0.5)
    assert tree.folds_ is None


@pytest.mark.parametrize("kind", ["class", "probabilities", "value"])
@pytest.mark.parametrize("frozen", [True, False])
def test_a_forest_is_judged_by_its_out_of_bag_answers(kind, frozen, labels, values):
    """They are those of `out_of_bag`, of the rows that the forest was fitted on."""
    X, y, model = values if kind == "value" else labels
    estimator = FrozenEstimator(model) if frozen else clone(model)
    tree = RepresenterTree(
        estimator, response=kind, max_leaf_nodes=8, n_samples=800, random_state=0
    ).fit(X, y)
    folds = tree.folds_
    judged = folds.fold_of >= 0
    seen = np.ones(len(X), dtype=bool) if frozen else judged
    truth = np.empty(len(X))
    truth[seen] = out_of_bag(tree.estimator_, X[seen])[0]
    right = r2_score if kind == "value" else accuracy_score
    found = [right(truth[judged], answers[judged]) for answers in folds.answers]
    np.testing.assert_allclose(folds.agreement, found)
    assert (truth[judged] != model.predict(X)[judged]).any()
    # other rows than it was fitted on, or in another order: its own answers
    if frozen:
        tree.fit(X[::-1], y[::-1])
        judged = tree.folds_.fold_of >= 0
        truth = model.predict(X[::-1])[judged]
        found = [right(truth, answers[judged]) for answers in tree.folds_.answers]
        np.testing.assert_allclose(tree.folds_.agreement, found)


@pytest.mark.parametrize("n_rows", [1, 2, 3, 7])
@pytest.mark.parametrize("target", ["class", "value"])
def test_few_rows_and_one_answer(n_rows, target):
    """Every law ties; the default is taken."""
    X = np.random.default_rng(0).random((n_rows, 2))
    tree = representer(lambda rows: np.full(len(rows), 1.0), target).fit(X)
    assert (tree.sampler_, tree.keep_rows_) == ("leaves", 0.3)
    assert tree.at(2).n_leaves_ == tree.n_leaves_ == 1
    assert (tree.predict(X) == 1.0).all()
    if n_rows > 1:
        assert (tree.folds_.answers == 1.0).all()
        np.testing.assert_array_equal(tree.folds_.agreement, 1.0)


def test_another_law_must_be_clearly_better():
    """By a standard error of the difference, over rows by their weights."""
    n = 400
    default = np.zeros(n)
    better = np.zeros(n)
    better[:30], better[30 : 20 + 30] = 1.0, -1.0  # a lead of .025, a standard error of .0176
    little = np.zeros(n)
    little[:30], little[30 : 28 + 30] = 1.0, -1.0  # a lead of .005, a standard error of .019
    equal = np.ones(n)
    assert clearly_best({"a": default, "b": better}, equal) == "b"
    assert clearly_best({"a": default, "b": little}, equal) == "a"
    assert clearly_best({"a": default, "b": default.copy()}, equal) == "a"
    assert clearly_best({"a": default, "b": better, "c": better + 0.1}, equal) == "c"
    assert clearly_best({"a": default, "b": better + 0.1, "c": better}, equal) == "b"
    assert clearly_best({"a": default, "b": -better}, equal) == "a"
    weight = np.where(better < 0, 3.0, 1.0)
    assert clearly_best({"a": default, "b": better}, weight) == "a"
