"""Which size and which tree is recommended, by what they say on the rows that judge."""

import numpy as np
import pytest
from sklearn.metrics import balanced_accuracy_score, f1_score, mean_absolute_error

from ensemble_simplify.front._choice import choose, choose_size, corrected_agreement
from ensemble_simplify.front._judged import Candidate, Judged, agreement_of, figures


def tree(name, answers, wrong, n_leaves=8, **options):
    """A candidate that differs from the answers in the rows named."""
    predicted = np.array(answers)
    predicted[wrong] = (predicted[wrong] + 1) % 2
    return Candidate(name, n_leaves, predicted, **options)


@pytest.fixture
def even():
    return Judged(np.arange(400) % 2)


def test_the_favourite_stays_where_others_are_not_clearly_better(even):
    favourite = tree("representer", even.answers, np.arange(40))
    # better in 40 rows and worse in 38: two more, with a standard error of nine
    other = tree("other", even.answers, np.arange(40, 78))
    assert choose([other, favourite], even).best == "representer"
    better = tree("other", even.answers, np.arange(40, 65))
    chosen = choose([favourite, better], even)
    assert chosen.best == "other"
    assert "standard error" in chosen.reason


def test_what_may_not_win_does_not(even):
    favourite = tree("representer", even.answers, np.arange(40))
    perfect = {"predicted": even.answers, "n_leaves": 4}
    for options in ({"may_win": False}, {"is_tree": False}):
        shown = Candidate("other", **perfect, **options)
        assert choose([favourite, shown], even).best == "representer"
    large = Candidate("other", 9, even.answers)
    assert choose([favourite, large], even, max_leaf_nodes=8).best == "representer"
    assert choose([favourite, large], even).best == "other"


def test_no_tree_is_no_choice(even):
    large = Candidate("representer", 9, even.answers)
    chosen = choose([large], even, max_leaf_nodes=8)
    assert chosen.best is None
    assert "at most 8 leaves" in chosen.reason


def test_a_proven_tree_wins_and_the_smallest_of_them():
    judged = Judged(np.arange(40) % 2)
    trees = [
        tree("representer", judged.answers, []),
        Candidate("large", 8, judged.answers, is_proven=True),
        Candidate("small", 7, judged.answers, is_proven=True),
    ]
    assert choose(trees, judged, max_leaf_nodes=8).best == "small"


def test_a_smaller_tree_wins_if_it_is_as_good_in_each_class(even):
    favourite = tree("representer", even.answers, np.arange(40))
    # wrong about row 40 in place of row 0, which has the same answer
    small = tree("small", even.answers, np.arange(1, 41), n_leaves=5)
    chosen = choose([favourite, small], even)
    assert (chosen.best, chosen.better) == ("small", "representer")
    assert "as well as representer" in chosen.reason
    # as good overall, but worse by one row of a class
    uneven = tree("small", even.answers, [*range(1, 40), 41], n_leaves=5)
    assert choose([favourite, uneven], even).best == "representer"
    # as good on these rows, which are too few to tell: 40 of 400 differ
    other = tree("small", even.answers, np.arange(20, 60), n_leaves=5)
    assert choose([favourite, other], even).best == "representer"


@pytest.mark.parametrize("share", [0.5, 0.2, 0.1, 0.05, 0.02, 0.01])
def test_a_rare_class_counts_without_a_jump(share):
    n = 10_000
    n_rare = int(share * n)
    answers = np.zeros(n, dtype=int)
    answers[:n_rare] = 1
    judged = Judged(answers)
    frequent = n_rare + np.arange(n_rare)
    favourite = tree("representer", answers, np.arange(n_rare * 4 // 5))
    # finds half of the rare rows more, and errs on just as many others
    finds = tree("finds", answers, [*range(n_rare * 3 // 10), *frequent[: n_rare // 2]])
    assert choose([favourite, finds], judged).best == ("finds" if share < 0.5 else "representer")
    # the same for a price that the rows can tell
    few = 3 * int(np.sqrt(n_rare)) + 3
    dear = tree("dear", answers, [*range(n_rare * 3 // 10), *frequent[: n_rare // 2 + few]])
    assert choose([favourite, dear], judged).best == "representer"


def test_a_larger_size_keeps_a_rare_answer():
    answers = np.repeat([0, 1], [1960, 40])
    loses = Candidate("representer", 4, np.zeros(2000, dtype=int))
    keeps = Candidate("representer", 8, np.where(np.arange(2000) < 30, 1, answers))
    # agrees on ten rows more, half a point
    assert choose_size([loses, keeps], Judged(answers)) is keeps
    even = curve(np.arange(2000) % 2, {4: 40, 8: 30})
    assert choose_size(even, Judged(np.arange(2000) % 2)) is even[0]


def test_no_curve_has_no_knee(even):
    assert choose_size([], even) is None


def test_rows_that_were_not_measured_do_not_count(even):
    favourite = tree("representer", even.answers, np.arange(40))
    measured = np.arange(400) >= 200
    # wrong only where it was not measured; the favourite is right wherever this one was
    other = tree("other", even.answers, np.arange(100), measured=measured)
    assert choose([favourite, other], even).best == "representer"
    assert agreement_of(other, even) == 1.0
    nowhere = tree("nowhere", even.answers, [], 4, measured=np.zeros(400, dtype=bool))
    assert choose([favourite, nowhere], even).best == "representer"


def test_regression_has_the_same_favourite():
    rng = np.random.default_rng(0)
    answers = rng.normal(size=300)
    judged = Judged(answers, is_classifier=False)
    noise = rng.normal(size=(3, 300))
    trees = [
        Candidate("plain_tree", 8, answers + 0.50 * noise[0]),
        Candidate("representer", 8, answers + 0.50 * noise[1]),
        Candidate("other", 8, answers + 0.30 * noise[2]),
    ]
    assert choose(trees[:2], judged).best == "representer"
    assert choose(trees, judged).best == "other"


def curve(answers, n_wrong):
    return [
        tree("representer", answers, np.arange(n), size, size=size) for size, n in n_wrong.items()
    ]


@pytest.mark.parametrize(
    ("n_wrong", "knee"),
    [
        ({4: 800, 8: 400, 16: 380, 32: 370}, 8),
        ({4: 1200, 8: 800, 16: 400, 32: 0}, 32),
        ({4: 400, 8: 390, 16: 380, 32: 370}, 4),
        ({4: 400, 8: 500, 16: 390, 32: 395}, 4),
        ({4: 400}, 4),
    ],
)
def test_the_knee_is_where_more_leaves_bring_little(n_wrong, knee):
    answers = np.arange(4000) % 2
    trees = curve(answers, n_wrong)
    assert choose_size(trees[::-1], Judged(answers)).size == knee


def test_corrected_agreement_has_no_part_of_the_luck_of_the_best():
    rng = np.random.default_rng(0)
    plain, corrected = [], []
    for _ in range(60):
        answers = rng.integers(2, size=80)
        judged = Judged(answers)
        trees = [tree(name, answers, rng.random(80) > 0.85) for name in ["representer", *"abcdefg"]]
        best = next(t for t in trees if t.name == choose(trees, judged).best)
        plain.append(agreement_of(best, judged))
        corrected.append(corrected_agreement(trees, judged, random_state=0))
    error = np.std(corrected) / np.sqrt(len(corrected))
    assert np.mean(plain) > 0.85 + 4 * error
    assert abs(np.mean(corrected) - 0.85) < 3 * error


def test_corrected_agreement_is_never_above_the_measured_one():
    answers = np.arange(60) % 2
    # what is drawn often wants the larger tree, which is no luck of the smaller one
    trees = curve(answers, {4: 4, 8: 3, 16: 2})
    chosen = choose_size(trees, Judged(answers))
    corrected = corrected_agreement([chosen], Judged(answers), trees, random_state=0)
    assert corrected <= agreement_of(chosen, Judged(answers))


def test_corrected_agreement_of_the_only_candidate_is_its_agreement(even):
    favourite = tree("representer", even.answers, np.arange(40))
    assert corrected_agreement([favourite], even, random_state=0) == 0.9


def test_figures_are_those_of_scikit_learn():
    rng = np.random.default_rng(1)
    answers, y, predicted = rng.integers(3, size=(3, 200))
    measured = rng.random(200) < 0.7
    found = figures(Candidate("a", 4, predicted, measured), Judged(answers, y))
    kept = predicted[measured]
    assert found["agreement"] == pytest.approx(np.mean(kept == answers[measured]))
    assert found["agreement_low"] < found["agreement"] < found["agreement_high"]
    assert found["accuracy"] == pytest.approx(np.mean(kept == y[measured]))
    assert found["balanced_accuracy"] == pytest.approx(balanced_accuracy_score(y[measured], kept))
    assert found["class_agreement"][2] == pytest.approx(np.mean(kept[answers[measured] == 2] == 2))


def test_class_weight_weights_the_agreement():
    answers = np.repeat(["no", "yes"], [90, 10])
    majority = Candidate("a", 4, np.repeat(["no"], 100))
    assert agreement_of(majority, Judged(answers)) == 0.9
    assert agreement_of(majority, Judged(answers, class_weight="balanced")) == pytest.approx(0.5)
    assert agreement_of(majority, Judged(answers, class_weight={"yes": 3})) == pytest.approx(0.75)
    # right on the ten, and wrong about 30 of the 90
    finds = Candidate("b", 4, np.repeat(["yes", "no", "yes"], [30, 60, 10]))
    assert choose([majority, finds], Judged(answers), "a").best == "a"
    assert choose([majority, finds], Judged(answers, class_weight="balanced"), "a").best == "b"


@pytest.mark.parametrize("scoring", ["balanced_accuracy", "recall", "f1", f1_score])
def test_scoring_decides(scoring):
    rng = np.random.default_rng(0)
    answers = np.array(["late", "on time"])[(rng.random(2000) < 0.9).astype(int)]
    if callable(scoring):
        answers = (answers == "late").astype(int)
    rare = np.unique(answers)[np.argmin(np.unique(answers, return_counts=True)[1])]
    often = np.unique(answers)[np.argmax(np.unique(answers, return_counts=True)[1])]
    late = answers == rare
    favourite = Candidate("representer", 8, np.where(late & (rng.random(2000) < 0.2), rare, often))
    # finds most of the rare, and is wrong about many of the others
    finds = np.where(late, rng.random(2000) < 0.9, rng.random(2000) < 0.1)
    other = Candidate("other", 8, np.where(finds, rare, often))
    assert choose([favourite, other], Judged(answers)).best == "representer"
    assert choose([favourite, other], Judged(answers, scoring=scoring)).best == "other"


@pytest.mark.parametrize(
    "scoring", ["neg_mean_absolute_error", lambda a, p: -mean_absolute_error(a, p)]
)
def test_scoring_of_values(scoring):
    rng = np.random.default_rng(0)
    answers = rng.normal(size=500)
    far = answers.copy()
    far[:100] += 3.0  # large squares, while the mean distance is smaller than the other's
    trees = [
        Candidate("representer", 8, answers + 1.0 * rng.normal(size=500)),
        Candidate("other", 8, far),
    ]
    assert choose(trees, Judged(answers, is_classifier=False)).best == "representer"
    judged = Judged(answers, is_classifier=False, scoring=scoring)
    assert choose(trees, judged).best == "other"
    small = Candidate("representer", 4, trees[0].predicted)
    large = Candidate("representer", 8, far)
    assert choose_size([small, large], Judged(answers, is_classifier=False)) is small
    assert choose_size([small, large], judged) is large
    # what is reported stays the agreement
    corrected = corrected_agreement(trees, judged, random_state=0)
    assert corrected <= agreement_of(trees[1], judged)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"scoring": "nonsense"}, "get_scorer_names"),
        ({"scoring": "roc_auc"}, "not of probabilities"),
        ({"scoring": "f1"}, '"f1_macro"'),
        ({"scoring": lambda a, p: "text"}, "returns a number"),
        ({"scoring": lambda a, p: np.nan}, "finite"),
        ({"class_weight": {"x": 2.0}}, "names no label"),
        ({"class_weight": {0: -1.0}}, "from 0 upwards"),
        ({"class_weight": "balanced", "scoring": "accuracy"}, "cannot both"),
        ({"class_weight": "balanced", "is_classifier": False}, "for classifiers"),
    ],
)
def test_wrong_scores_and_weights_are_refused(options, words):
    with pytest.raises(ValueError, match=words):
        Judged(np.arange(30) % 3, **options)


@pytest.mark.parametrize("options", [{"scoring": 3}, {"class_weight": "even"}])
def test_scores_and_weights_of_other_kinds_are_refused(options):
    with pytest.raises(TypeError, match="neither"):
        Judged(np.arange(30) % 3, **options)
