"""What is said of the recommended tree."""

import numpy as np
import pytest

from ensemble_simplify.front._judged import Candidate, Judged
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
        (500, 60, "partly"),
        (500, 260, "none"),
        (900, 20, "follows"),
        (900, 40, "partly"),  # .96, but the majority answer has .9
        (900, 60, "none"),
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


def test_a_tree_that_is_worth_nothing_is_told_so():
    answers = np.repeat(["on time", "late"], [900, 100])
    predicted = np.repeat(["on time"], 1000)
    predicted[900:903] = "late"
    found = judge(Candidate("representer", 8, predicted), Judged(answers), max_leaves=32)
    assert found.level == "none"
    assert found.text == (
        "No tree of at most 32 leaves follows this model. The best one, of 8 leaves, agrees with "
        "the model on 90.3 % of rows. Always answering 'on time' would agree on 90.0 %. Of the 100 "
        "rows to which the model answers 'late', the tree gives that answer to 3."
    )


def test_accuracy_that_is_lost():
    answers = np.zeros(1000, dtype=int)
    answers[500:] = 1
    y = answers.copy()
    y[:149] = 1
    found = judge(with_wrong(answers[::1], 0), Judged(answers, y))
    assert found.lost == pytest.approx(0.149)
    assert found.lost_by_tree == 0.0
    assert found.text.endswith("the tree on 85.1 %: nothing is lost.")
    tree = Candidate("representer", 8, np.r_[answers[:-21], 1 - answers[-21:]])
    found = judge(tree, Judged(answers, y))
    assert found.lost_by_tree == pytest.approx(0.021)
    assert found.text.endswith(
        "The model is right on 85.1 % of the held-out rows, the tree on 83.0 %: 2.1 points are "
        "lost."
    )


def test_a_proven_tree_follows_whatever_the_rows_say():
    answers = np.zeros(10, dtype=int)
    found = judge(Candidate("born_again", 5, answers, is_proven=True), Judged(answers))
    assert found.level == "follows"
    assert "proven" in found.text


def test_no_tree_is_no_verdict_on_one():
    found = judge(None, Judged(np.arange(10) % 2), max_leaves=8)
    assert (found.level, found.text) == ("none", "No method found a tree of at most 8 leaves.")
    found = judge(None, Judged(np.arange(10) % 2), max_leaves=8, kinds=("scorecard",))
    assert found.text == "No method found a scorecard."
    found = judge(None, Judged(np.arange(10) % 2), max_leaves=8, kinds=("tree", "scorecard"))
    assert found.text == "No method found a tree of at most 8 leaves or a scorecard."


def test_one_answer_to_all_rows():
    answers = np.repeat(["no"], 30)
    found = judge(Candidate("representer", 1, answers), Judged(answers))
    assert found.text == (
        "The model answers 'no' to every held-out row, and so does the tree of 1 leaf. These rows "
        "cannot tell whether it follows the model elsewhere."
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
        "Its values are within 1.01 of the model's on half of the held-out rows, and within 1.8 on "
        "nine rows in ten. They are proven to be within 2 at every input." in told
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
    found = notes(every, Judged(answers), best, in_sample=True)
    assert len(found) == 2
    assert "fitted on these rows" in found[0]
    assert "genesim" in found[1]
    assert "too few to tell how the tree does" in notes(every, Judged(answers), best)[1]
    frequent = np.repeat([0, 1], 500)
    best = Candidate("representer", 8, np.where(rng.random(1000) < 0.9, frequent, 0))
    assert (
        "plain_tree with 4 leaves"
        in notes([best, Candidate("plain_tree", 4, best.predicted)], Judged(frequent), best)[0]
    )
