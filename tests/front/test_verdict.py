"""What is said of the recommended tree."""

import re

import numpy as np
import pytest
from scipy import stats

from ensemble_simplify.front._judged import Candidate, Judged, interval_of, spread
from ensemble_simplify.front._statement import BY_COPIES, ON_LEARNED, ON_ROWS
from ensemble_simplify.front._verdict import judge, notes


def with_wrong(answers, n_wrong, n_leaves=8, **options):
    """A tree that gives another answer to the first rows."""
    predicted = answers.copy()
    predicted[:n_wrong] = 1 - predicted[:n_wrong]
    return Candidate("representer", n_leaves, predicted, **options)


@pytest.mark.parametrize(
    ("n_frequent", "n_wrong", "level"),
    [
        (500, 30, "follows"),
        (500, 45, "undecided"),  # .955, from .940 to .967
        (500, 80, "partly"),
        (500, 320, "none"),
        (900, 10, "follows"),
        (900, 36, "partly"),  # .964, but the majority answer has .9
        (900, 70, "none"),
    ],
)
def test_levels(n_frequent, n_wrong, level):
    answers = (np.arange(1000) >= n_frequent).astype(int)
    found = judge(with_wrong(answers, n_wrong), Judged(answers))
    assert found.level == level
    assert found.agreement == pytest.approx(1 - n_wrong / 1000)
    assert found.majority == n_frequent / 1000
    assert found.skill == pytest.approx((found.agreement - found.majority) / (1 - found.majority))
    assert found.agreement_low < found.agreement < found.agreement_high


@pytest.mark.parametrize(("n", "level"), [(10, "undecided"), (60, "undecided"), (400, "follows")])
def test_few_rows_decide_nothing(n, level):
    answers = np.arange(n) % 2
    found = judge(with_wrong(answers, 0), Judged(answers, answers))
    assert found.level == level
    assert (f"is not decided by {n} rows: give more." in found.text) == (level == "undecided")
    # a difference that ten rows cannot tell is not said to be none without its interval
    assert "nothing is lost (95 % interval -" in found.text


def test_a_level_is_judged_on_all_sizes():
    answers = np.arange(1000) % 2
    small, large = with_wrong(answers, 400, 4), with_wrong(answers, 5, 32)
    alone = judge(small, Judged(answers), max_leaf_nodes=32, others=[small]).text
    assert alone.startswith("No tree of at most 32 leaves follows this model.")
    text = judge(small, Judged(answers), max_leaf_nodes=32, others=[small, large]).text
    assert text.startswith("The tree of 4 leaves does not follow the model.")
    assert "The tree of 32 leaves follows it, with 99.5 %." in text


def test_a_larger_size_that_may_follow_decides_nothing():
    # the small tree surely is not close enough: 90 % of 1,000 rows; 95 % may be
    answers = np.arange(1000) % 2
    small, large = with_wrong(answers, 100, 4), with_wrong(answers, 50, 32)
    alone = judge(small, Judged(answers), max_leaf_nodes=32, others=[small])
    assert alone.level == "partly"
    found = judge(small, Judged(answers), max_leaf_nodes=32, others=[small, large])
    assert found.level == "undecided"
    assert found.text.startswith(
        "The tree of 4 leaves shows what the model goes by, but cannot replace it."
    )
    assert (
        "Whether the tree of 32 leaves follows it is not decided, with 95.0 % (93.5 to 96.3)."
        in found.text
    )
    # of the larger one itself, that is said but once
    assert "tree of 4" not in judge(large, Judged(answers), others=[small, large]).text


def test_the_choice_and_the_result_are_two_figures():
    answers = np.arange(1000) % 2
    found = judge(with_wrong(answers, 44), Judged(answers), 0.91)
    assert (found.agreement, found.chosen_agreement) == (0.956, 0.91)
    assert "It agrees with the model on 95.6 % of rows" in found.text
    assert "Results that are chosen in this way agree on 91.0 % of new rows" in found.text


def test_the_plain_tree_on_y_stands_beside():
    answers, y = np.arange(1000) % 2, np.arange(1000) % 2
    y[:100] = 1 - y[:100]
    plain = Candidate("plain_tree_on_y", 5, y, may_win=False)
    text = judge(with_wrong(answers, 30), Judged(answers, y), others=[plain]).text
    assert text.endswith(
        "A plain tree of 5 leaves, grown on y without the model, agrees on 90.0 % and is right on "
        "100 %."
    )


@pytest.mark.parametrize("how", [ON_ROWS, ON_LEARNED])
def test_rows_that_the_model_has_learned_tell_nothing(how):
    answers = np.arange(1000) % 2
    found = judge(with_wrong(answers, 5), Judged(answers, learned="all", how=how))
    assert ("cannot be told" in found.text) == (how == ON_LEARNED)
    assert found.level == ("undecided" if how == ON_LEARNED else "follows")
    assert "held" not in found.text


def test_every_number_is_that_of_a_record():
    rng = np.random.default_rng(0)
    answers = np.arange(700) % 3
    y = np.where(rng.random(700) < 0.8, answers, 0)
    best, larger = (
        Candidate("representer", n, np.where(rng.random(700) < p, answers, 1))
        for n, p in ((8, 0.8), (32, 0.99))
    )
    plain = Candidate("plain_tree_on_y", 7, y, may_win=False)
    for judged in (Judged(answers, y), Judged(answers * 1.0, y * 1.0, is_classifier=False)):
        found = judge(best, judged, 0.7, 32, others=[best, larger, plain])
        known = {"95", "8", "7", "32", "700", "0", "1", "2", "R2"}
        for told in found.statements:
            numbers = told.value, told.low, told.high, -told.value, -told.low, -told.high
            known |= {told.shown(number).removesuffix(" %") for number in numbers}
            known |= {f"{told.value:.3g}"}
        text = found.text.partition(" misses more")[0]
        for number in re.findall(r"(?<![\w.])-?[\d.]*\d", text):
            assert number in known, number


def test_a_tree_that_is_worth_nothing_is_told_so():
    answers = np.repeat(["on time", "late"], [900, 100])
    predicted = np.repeat(["on time"], 1000)
    predicted[900:903] = "late"
    found = judge(Candidate("representer", 8, predicted), Judged(answers), max_leaf_nodes=32)
    assert found.level == "none"
    assert found.text == (
        "No tree of at most 32 leaves follows this model. The best one, of 8 leaves, agrees with "
        "the model on 90.3 % of rows (95 % interval 88.3 to 92.1). Always answering 'on time' "
        "would agree on 90.0 %. Of the 100 rows to which the model answers 'late', the tree gives "
        "that answer to 3."
    )


def test_accuracy_that_is_lost():
    answers = np.zeros(1000, dtype=int)
    answers[500:] = 1
    y = answers.copy()
    y[:149] = 1
    found = judge(with_wrong(answers[::1], 0), Judged(answers, y))
    assert found.lost == pytest.approx(0.149)
    assert found.lost_by_tree == 0.0
    assert "the tree on 85.1 %: nothing is lost (95 % interval -0.2 to 0.2)." in found.text
    tree = Candidate("representer", 8, np.r_[answers[:-21], 1 - answers[-21:]])
    found = judge(tree, Judged(answers, y))
    assert found.lost_by_tree == pytest.approx(0.021)
    assert (
        "The model is right on 85.1 % of the 1,000 rows, the tree on 83.0 %: 2.1 points are lost "
        "(95 % interval 1." in found.text
    )
    # differences are those of the figures, not of what is printed of them
    y = np.zeros(700, dtype=int)
    answers, predicted = ((np.arange(700) >= n).astype(int) for n in (500, 482))
    found = judge(Candidate("representer", 8, predicted), Judged(answers, y))
    assert "71.4 % of the 700 rows, the tree on 68.9 %: 2.6 points are lost" in found.text


def test_a_proven_tree_follows_whatever_the_rows_say():
    answers = np.zeros(10, dtype=int)
    found = judge(Candidate("born_again", 5, answers, is_proven=True), Judged(answers))
    assert found.level == "follows"
    assert "proven" in found.text


def test_no_tree_is_no_verdict_on_one():
    found = judge(None, Judged(np.arange(10) % 2), max_leaf_nodes=8)
    assert (found.level, found.text) == ("none", "No method found a tree of at most 8 leaves.")
    found = judge(None, Judged(np.arange(10) % 2), max_leaf_nodes=8, kinds=("scorecard",))
    assert found.text == "No method found a scorecard."
    found = judge(None, Judged(np.arange(10) % 2), max_leaf_nodes=8, kinds=("tree", "scorecard"))
    assert found.text == "No method found a tree of at most 8 leaves or a scorecard."


def test_one_answer_to_all_rows():
    answers = np.repeat(["no"], 30)
    found = judge(Candidate("representer", 1, answers), Judged(answers))
    assert found.text == (
        "The model answers 'no' to all 30 rows, and so does the tree of 1 leaf. These rows cannot "
        "tell whether it follows the model elsewhere."
    )


def test_the_score_that_decides_is_told():
    answers = np.repeat([0, 1], [90, 10])
    tree = Candidate("representer", 8, np.repeat([0, 1], [95, 5]))
    found = judge(tree, Judged(answers, scoring="recall"))
    assert "Its recall against the model's answers is 0.5." in found.text
    weighted = judge(tree, Judged(answers, class_weight="balanced"))
    assert weighted.agreement == pytest.approx(0.75)
    assert weighted.majority == pytest.approx(0.5)
    assert "of weighted rows" in weighted.text


@pytest.mark.parametrize(("noise", "level"), [(0.2, "follows"), (0.45, "partly"), (0.8, "none")])
def test_levels_of_values(noise, level):
    rng = np.random.default_rng(0)
    answers = rng.normal(size=2000)
    tree = Candidate("representer", 8, answers + noise * rng.normal(size=2000))
    found = judge(tree, Judged(answers, answers + rng.normal(size=2000), is_classifier=False))
    assert found.level == level
    assert found.majority == 0.0
    assert found.agreement == pytest.approx(1 - noise**2, abs=0.05)
    assert found.lost_by_tree == pytest.approx(found.model_accuracy - found.tree_accuracy)


def test_distances_of_values_are_told():
    answers = np.arange(100.0)
    tree = Candidate("representer", 8, answers + np.linspace(-2, 2, 100), within=2.0)
    told = judge(tree, Judged(answers, is_classifier=False)).text
    assert (
        "Its values are within 1.01 of the model's on half of the rows, and within 1.8 on nine "
        "rows in ten. They are proven to be within 2 at every input." in told
    )
    told = judge(Candidate("representer", 8, tree.predicted), Judged(answers, is_classifier=False))
    assert told.text.endswith("and within 1.8 on nine rows in ten.")


def test_at_most_two_notes():
    rng = np.random.default_rng(0)
    answers = np.repeat([0, 1, 2], [490, 500, 10])
    best = Candidate("representer", 8, np.where(rng.random(1000) < 0.9, answers, 0))
    larger = Candidate("genesim", 20, answers)
    small = Candidate("plain_tree", 4, best.predicted)
    every = [best, larger, small]
    found = notes(every, Judged(answers), best)
    assert len(found) == 2
    assert "genesim" in found[0]
    assert "too few to tell how the tree does" in notes(every, Judged(answers), best)[1]
    frequent = np.repeat([0, 1], 500)
    best = Candidate("representer", 8, np.where(rng.random(1000) < 0.9, frequent, 0))
    assert (
        "plain_tree with 4 leaves"
        in notes([best, Candidate("plain_tree", 4, best.predicted)], Judged(frequent), best)[0]
    )


def test_an_interval_holds_what_another_copy_of_the_model_would_have():
    """What is told is of one model; what its copies have varies by more than the rows of each."""
    rng = np.random.default_rng(0)
    copy_of, answers = np.repeat(np.arange(5), 80), np.arange(400) % 2
    held = {BY_COPIES: [], ON_ROWS: []}
    for _ in range(200):
        own = 0.85 + 0.02 * rng.normal(size=6)
        predicted = np.where(rng.random(400) > own[copy_of], 1 - answers, answers)
        for how, found in held.items():
            low, high = interval_of(Candidate("tree", 4, predicted), Judged(answers, how=how))
            found.append(low <= own[5] <= high)
    assert np.mean(held[ON_ROWS]) < 0.87
    assert np.mean(held[BY_COPIES]) >= 0.93


@pytest.mark.parametrize("tail", [0.3, 1.0])  # of the errors: about normal, and of few large ones
@pytest.mark.parametrize("how", [BY_COPIES, ON_ROWS])
def test_an_interval_of_values_holds_what_another_tree_would_have(tail, how):
    """What learned from each part of the rows is another tree, and few rows have most errors."""
    rng = np.random.default_rng(0)
    part_of, held = np.repeat(np.arange(5), 60), []
    for _ in range(200):
        values, size = rng.normal(size=300), 0.4 * (1.0 + 0.05 * rng.normal(size=6))
        errors = rng.choice([-1, 1], 300) * rng.lognormal(sigma=tail, size=300)
        result = Candidate("tree", 4, values + size[part_of] * errors)
        low, high = interval_of(result, Judged(values, None, False, how=how))
        # the mean square of lognormal numbers; the values have variance 1
        held.append(low <= 1.0 - size[5] ** 2 * np.exp(2.0 * tail**2) <= high)
    assert np.mean(held) >= 0.92


@pytest.mark.parametrize("n", [4, 9, 25])
def test_an_interval_of_few_values_is_as_wide_as_student_has_it(n):
    """Where errors have no skewness, it is Student's, around the mean of their squares."""
    away = np.resize([1.0, -1.0], 2 * n)
    errors = np.sqrt(np.repeat([0.1, 0.3], n))
    judged = Judged(away, None, False)
    low, high = interval_of(Candidate("tree", 4, away + errors), judged)
    # the values differ from their mean by one each, so the R2 is one less a mean of squares
    error = stats.sem(errors**2) * np.sqrt(spread(judged))
    expected = stats.t.interval(0.95, 2 * n - 1, loc=0.8, scale=error)
    assert (low, high) == pytest.approx(expected)


def test_an_interval_where_all_or_nothing_is_explained():
    values = np.arange(5.0)
    for answers, predicted in ((values, values), (values[:1], values[:1]), (values * 0, values)):
        judged = Judged(answers, None, False)
        alike = float(np.array_equal(answers, predicted))
        assert interval_of(Candidate("tree", 4, predicted), judged) == (alike, alike)
    # each row has its own share of the variance wrong: no row tells more than another
    predicted = values + 0.1 * np.abs(values - 2.0)
    low, high = interval_of(Candidate("tree", 4, predicted), Judged(values, None, False))
    assert low == pytest.approx(0.99) == high


def test_the_interval_of_what_is_lost():
    """It holds the difference of two shares of one variance, also where rows have both errors."""
    rng, held = np.random.default_rng(0), []
    for _ in range(200):
        y, common = rng.normal(size=(2, 200))
        answers, predicted = y + 0.5 * common, y + 0.5 * common + 0.3 * rng.normal(size=200)
        found = judge(Candidate("tree", 4, predicted), Judged(answers, y, is_classifier=False))
        (lost,) = (told for told in found.statements if told.estimand == "lost")
        assert lost.value == pytest.approx(found.lost_by_tree)
        held.append(lost.low <= 0.09 <= lost.high)
    assert np.mean(held) >= 0.92
