"""Numbers in words."""

import numpy as np
import pytest

from ensemble_simplify.writing import percent


@pytest.mark.parametrize(
    ("share", "words", "brief", "whole"),
    [
        (0.0, "0 %", "0.0 %", "0 %"),
        (1e-9, "less than 0.1 %", "< 0.1 %", "< 1 %"),
        (0.004, "0.4 %", "0.4 %", "< 1 %"),
        (0.25, "25 %", "25.0 %", "25 %"),
        (0.3456, "34.6 %", "34.6 %", "35 %"),
        (0.9994, "99.9 %", "99.9 %", "> 99 %"),
        (np.nextafter(1.0, 0.0), "more than 99.9 %", "> 99.9 %", "> 99 %"),
        (1.0, "100 %", "100 %", "100 %"),
    ],
)
def test_percent(share, words, brief, whole):
    assert percent(share) == words
    assert percent(share, brief=True) == brief
    assert percent(share, digits=0, brief=True) == whole


def test_percent_of_what_is_not_known():
    assert percent(np.nan, brief=True) == ""
