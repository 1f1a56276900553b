"""A forest's own training rows: what is said of them would hold on new rows, or is not said."""

import warnings

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import make_classification
from sklearn.decomposition import PCA
from sklearn.ensemble import (
    ExtraTreesClassifier,
    GradientBoostingClassifier,
    HistGradientBoostingClassifier,
    RandomForestClassifier,
    RandomForestRegressor,
)
from sklearn.metrics import r2_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import PowerTransformer

from ensemble_simplify import SimplifiedModel, agreement, simplify
from ensemble_simplify.front import _copies
from ensemble_simplify.front._inputs import folds
from ensemble_simplify.reading import out_of_bag


@pytest.fixture(scope="module")
def noise():
    """Labels that nothing tells; the forest has learned them by heart."""
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(300, 4)), rng.integers(2, size=300)
    return X, y, RandomForestClassifier(40, random_state=0).fit(X, y)


def rows_of(outcome):
    return {row.name: row for row in outcome.table}


def test_labels_that_a_forest_knows_by_heart_are_no_accuracy(noise):
    X, y, forest = noise
    outcome = simplify(forest, X, y, methods="representer", max_leaf_nodes=8, random_state=0)
    # nothing that has not seen a label knows it, where its own answers would make no error
    for row in outcome.table:
        assert row.accuracy < 0.6
    assert outcome.verdict.model_accuracy < 0.6
    assert "copies of it were fitted" in outcome.notes[0]
    again = simplify(forest, X, y, methods="representer", max_leaf_nodes=8, random_state=0)
    assert again.verdict.text == outcome.verdict.text


@pytest.mark.parametrize("step", [PCA(2, random_state=0), PowerTransformer()])
def test_forests_behind_steps_that_are_not_read(noise, step):
    """Such a pipeline can only be asked, but what it has learned from is told as of any other."""
    X, y, forest = noise
    model = make_pipeline(step, clone(forest)).fit(X, y)
    outcome = simplify(model, X, y, methods="representer", max_leaf_nodes=8, random_state=0)
    assert all(row.accuracy < 0.6 for row in outcome.table)
    assert "copies of it were fitted" in outcome.notes[0]


def test_without_labels_the_answers_are_out_of_bag(noise):
    X, _, forest = noise
    outcome = simplify(forest, X, methods="representer", max_leaf_nodes=8, random_state=0)
    assert np.array_equal(outcome._task.answers, out_of_bag(forest, X)[0])
    assert np.isnan(outcome.verdict.tree_accuracy)
    assert "is right on" not in outcome.verdict.text
    assert "out-of-bag answers are compared" in outcome.notes[0]
    assert "out-of-bag answers are compared" in " ".join(outcome.report().split())


BOOSTED = {
    "gradient": GradientBoostingClassifier(random_state=0),
    "histogram": HistGradientBoostingClassifier(random_state=0),
    "extra trees": ExtraTreesClassifier(random_state=0),
    "no bootstrap": RandomForestClassifier(bootstrap=False, random_state=0),
}


@pytest.mark.parametrize("name", BOOSTED)
def test_rows_that_were_learned_are_never_told_as_new(name, noise):
    X, y, _ = noise
    model = BOOSTED[name].fit(X, y)
    assert model.score(X, y) > 0.9
    options = {"methods": "representer", "max_leaf_nodes": 8, "random_state": 0}
    told = simplify(model, X, y, **options)
    # labels are noise: what has not seen them is right on half of the rows
    assert told.verdict.model_accuracy < 0.6
    assert "The model was fitted on these rows. So copies" in told.notes[0]
    unknown = simplify(model, X, **options)
    assert unknown.verdict.level == "undecided"
    assert "cannot be told" in unknown.verdict.text
    assert "Nothing tells what the result does on new rows" in unknown.notes[0]
    for outcome in (told, unknown):
        assert "held-out" not in outcome.report()
        assert "held out" not in outcome.report()


def test_too_large_a_model_is_not_copied(noise, monkeypatch):
    X, y, forest = noise
    monkeypatch.setattr(_copies, "MOST_EFFORT", 300 * 40 * 5 - 1)
    outcome = simplify(forest, X, y, methods="plain_tree", max_leaf_nodes=8, random_state=0)
    assert "out-of-bag" in outcome.notes[0]
    assert np.isnan(outcome.verdict.tree_accuracy)


def test_a_verdict_does_not_depend_on_labels():
    X, y = make_classification(500, 6, flip_y=0.1, random_state=0)
    model = GradientBoostingClassifier(random_state=0).fit(X[:250], y[:250])
    options = {"methods": "representer", "random_state": 0}
    first, second = (simplify(model, X[250:], own, **options).verdict for own in (y[250:], None))
    assert first.level == second.level
    assert first.text.startswith(second.text.partition(" Results")[0])


def test_other_rows_have_an_accuracy(noise):
    X, y, forest = noise
    outcome = simplify(forest, X[::-1], y[::-1], methods="representer", max_leaf_nodes=8)
    assert np.isfinite(rows_of(outcome)["representer"].accuracy)


def test_regression():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 4))
    y = X[:, 0] + rng.normal(size=300)
    forest = RandomForestRegressor(40, random_state=0).fit(X, y)
    outcome = simplify(forest, X, y, methods="representer", max_leaf_nodes=8, random_state=0)
    new = np.random.default_rng(1).normal(size=(4000, 4))
    truth = r2_score(forest.predict(new), outcome.predict(new))
    assert outcome.verdict.agreement_low <= truth <= outcome.verdict.agreement_high
    # half of the variance is noise, which no tree explains of rows that it has not seen
    assert outcome.verdict.model_accuracy < 0.6
    assert outcome.verdict.tree_accuracy < 0.6


@pytest.fixture(scope="module")
def half_learned(noise):
    """What was learned from the first of the rows that come with it, and other rows."""
    X, y, forest = noise
    outcome = simplify(forest, X, y, methods=[], max_leaf_nodes=4, random_state=0)
    new = np.random.default_rng(1).normal(size=(50, 4))
    return outcome, np.concatenate([X[:20], new]), new, y


@pytest.mark.parametrize("who", ["outcome", "best_model", "plain_tree_on_y", "kept in a file"])
def test_rows_that_a_result_has_learned_from_are_told_wherever_it_is_measured(
    half_learned, who, tmp_path
):
    outcome, mixed, new, y = half_learned
    model = outcome.model
    found = {"outcome": outcome, "best_model": outcome.best_model}.get(who)
    if who == "kept in a file":
        outcome.save(tmp_path / "kept")
        found = SimplifiedModel.load(tmp_path / "kept")
    found = outcome[who] if found is None else found
    for measure, told in (
        (lambda rows: found.score(rows, y[: len(rows)]), "is right less often"),
        (lambda rows: found.agreement(rows, random_state=0), "agrees less with the model"),
        (lambda rows: agreement(model, found, rows), "agrees less with the model"),
        (lambda rows: found.differences(rows, random_state=0), "agrees less with the model"),
    ):
        with pytest.warns(UserWarning, match=f"20 of 70 rows .* learned from.*{told}") as warned:
            measure(mixed)
        # it points here, however many calls are between
        assert [each.filename for each in warned] == [__file__]
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            measure(new)
    assert found.score(new, y[:50]) == np.mean(found.predict(new) == y[:50])


def test_what_is_proven_is_as_good_on_any_row(noise):
    X, y, _ = noise
    model = RandomForestClassifier(2, max_depth=2, random_state=0).fit(X[:200], y[:200])
    outcome = simplify(model, X[200:], y[200:], methods="born_again", random_state=0)
    assert outcome.best_model.is_proven
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert outcome.score(X[200:], y[200:]) == model.score(X[200:], y[200:])


def test_many_rows_all_judge_where_others_are_learned_from():
    answers = np.arange(5_000) % 2
    fold_of = folds(answers, 3_000, 0.2, True, np.random.RandomState(0))
    assert (fold_of[:3_000] == 0).all()
    assert (fold_of[3_000:] == -1).all()
    # with fewer others, these rows are needed to learn from
    fold_of = folds(answers[:4_000], 3_000, 0.2, True, np.random.RandomState(0))
    assert np.count_nonzero(fold_of == 0) == 600


def test_threads_change_no_result(noise):
    X, y, forest = noise
    one, two = (
        simplify(forest, X, y, max_leaf_nodes=6, n_jobs=n_jobs, random_state=0)
        for n_jobs in (None, 2)
    )
    np.testing.assert_array_equal(one.predict_proba(X), two.predict_proba(X))
    for name, row in rows_of(one).items():
        for figure in ("leaves", "accuracy", "agreement", "agreement_low", "agreement_high"):
            np.testing.assert_equal(rows_of(two)[name][figure], row[figure])


def test_copies_have_one_thread_each(noise):
    X, y, _ = noise
    forest = RandomForestClassifier(5, n_jobs=2, random_state=0).fit(X, y)
    fold_of = np.arange(len(X)) % 3
    copies = _copies.fitted_copies(forest, X, y, fold_of, None, n_jobs=2)
    for fold, (copy, answers) in enumerate(copies):
        rows = fold_of != fold
        alone = RandomForestClassifier(5, random_state=0).fit(X[rows], y[rows])
        assert copy.n_jobs == 1
        np.testing.assert_array_equal(answers[~rows], alone.predict(X[~rows]))
