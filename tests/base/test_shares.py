"""Shares and tolerances as users write them."""

from __future__ import annotations

import numpy as np
import pytest

from ensemble_simplify.base import absolute_tolerance, check_atol, share_in_words


@pytest.mark.parametrize(
    ("text", "share"),
    [("60%", 0.6), (" 2.5 %", 0.025), ("60", None), ("-1%", None), ("inf%", None), ("nan%", None)],
)
def test_share_in_words(text, share):
    assert share_in_words(text) == share


def test_atol_is_a_number_or_a_share_of_the_standard_deviation():
    rng = np.random.default_rng(0)
    answers, weight = rng.normal(size=(50, 3)) * [1.0, 5.0, 2.0], rng.integers(1, 4, 50)
    assert absolute_tolerance(0.25, answers) == 0.25
    assert absolute_tolerance("10%", answers[:, 1]) == pytest.approx(0.1 * answers[:, 1].std())
    repeated = np.repeat(answers, weight, axis=0)
    expected = 0.5 * repeated.std(axis=0).max()
    assert absolute_tolerance("50%", answers, weight) == pytest.approx(expected)
    check_atol(0.1)
    check_atol("5%")
    with pytest.raises(ValueError, match="is not a tolerance"):
        check_atol("5")
