"""Faults planted in what is read of models: the questions to random models find each of them.

A reader that goes wrong must not pass, neither by an answer nor by a refusal (see `is_documented`).
Each fault is planted once for every model that is read, and a few models of the families that it
concerns are asked. What moves no answer of a random model, as the type in which sums are rounded,
is found by ``tests/writing/test_every_step.py``. ``python -m benchmarks promises`` asks thousands
of models without a fault.
"""

import numpy as np
import pytest
from random_models import FAMILIES
from what_is_said import look

from ensemble_simplify.reading import program
from ensemble_simplify.reading.family import Family

for package in ("xgboost", "lightgbm", "catboost"):
    pytest.importorskip(package)

QUESTIONS = ["verify", "sufficient_box", "nearest_flip", "agreement"]
SEEDS = range(4)
FOREST = ("forest", "extra trees")
BOOSTING = ("gradient", "histogram", "xgboost", "lightgbm", "catboost")


def in_trees(change):
    """A fault in the trees of each model that is read: `change(tree)` alters one in place."""

    def plant(patch):
        right = Family.read

        def read(self, *arguments, **options):
            reading = right(self, *arguments, **options)
            # once: members are read by themselves, and then as a part of the whole
            if options.get("within") is None and len(arguments) < 3:
                for tree in reading.trees:
                    tree.value, tree.threshold = tree.value.copy(), tree.threshold.copy()
                    change(tree)
            return reading

        patch.setattr(Family, "read", read)

    return plant


def in_steps(kind, **changes):
    """A fault in a step of each program: fields of its kind are changed by functions of them."""

    def plant(patch):
        right = kind.__init__

        def init(self, *arguments, **options):
            right(self, *arguments, **options)
            for name, change in changes.items():
                object.__setattr__(self, name, change(getattr(self, name)))

        patch.setattr(kind, "__init__", init)

    return plant


def one_up(tree):
    tree.threshold = np.nextafter(tree.threshold.astype(np.float32), np.float32(np.inf)).astype(
        np.float64
    )


def one_down(tree):
    tree.threshold = np.nextafter(tree.threshold.astype(np.float32), np.float32(-np.inf)).astype(
        np.float64
    )


def other_side(tree):
    tree.left[0], tree.right[0] = tree.right[0], tree.left[0]


def other_gaps(tree):
    if tree.missing_left is not None:
        tree.missing_left = ~tree.missing_left


def other_sign(tree):
    tree.value = -tree.value


def other_column(tree):
    inner = tree.left >= 0
    tree.feature = np.where(inner, (tree.feature + 1) % tree.n_features, tree.feature)


def more(tree):
    tree.value[-1] += 0.3 * np.abs(tree.value).max() * np.arange(1, tree.value.shape[1] + 1)


PLANTED = {
    "a threshold is one float too high": (in_trees(one_up), (*FOREST, "gradient", "catboost")),
    "a threshold is one float too low": (in_trees(one_down), (*FOREST, "gradient", "catboost")),
    "the sides of the root are exchanged": (in_trees(other_side), FOREST + BOOSTING),
    "gaps take the other side": (in_trees(other_gaps), ("forest", "lightgbm", "xgboost")),
    "leaves have the other sign": (in_trees(other_sign), FOREST + BOOSTING),
    "splits ask the next column": (in_trees(other_column), FOREST + BOOSTING),
    "a leaf is larger": (in_trees(more), BOOSTING),
    "sums start elsewhere": (
        in_steps(program.TreeSum, init=lambda init: init if init is None else init + 0.5),
        BOOSTING,
    ),
    "sums are divided by more": (
        in_steps(program.TreeSum, divisor=lambda divisor: 3.0 * divisor),
        ("lightgbm forest, value", "gradient, value", "xgboost, value"),
    ),
    "means are divided by more": (
        in_steps(program.OfTrees, divisor=lambda divisor: divisor + 1.0),
        ("forest, value", "extra trees, value"),
    ),
    "the last class wins a tie": (
        in_steps(program.Largest, last=lambda last: not last),
        (*FOREST, "bagging", "tree"),
    ),
    "the class begins elsewhere": (
        in_steps(program.Above, at=lambda at: at + 0.2),
        BOOSTING,
    ),
    "the offset is forgotten": (
        in_steps(program.TreeSum, offset=lambda offset: None),
        ("catboost", "catboost, value"),
    ),
    "votes of members forget their weights": (
        in_steps(program.OfMembers, weights=lambda weights: None),
        ("votes", "adaboost of forests"),
    ),
}


def failures(families, seeds=SEEDS):
    return [
        outcome
        for family in families
        for seed in seeds
        for outcome in look(seed, QUESTIONS, family)
        if outcome.state == "failed"
    ]


def test_nothing_is_found_where_nothing_is_planted():
    families = sorted({name for _, names in PLANTED.values() for name in names})
    assert set(families) <= set(FAMILIES)
    assert failures(families, SEEDS[:2]) == []


@pytest.mark.parametrize("fault", PLANTED)
def test_a_planted_fault_is_found(fault, monkeypatch):
    plant, families = PLANTED[fault]
    plant(monkeypatch)
    assert failures(families)
