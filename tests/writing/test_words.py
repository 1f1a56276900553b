"""Names, labels and shares in words."""

import json

import numpy as np
import pytest

from ensemble_simplify.writing import in_drawing, one_line, percent, plain
from ensemble_simplify.writing.words import as_json


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


NASTY = "a\u2028*/ b\n\x1b[31m \u202egnp.exe \ud800 \x00 \u00e9"


def test_names_are_shown_in_one_line():
    shown = one_line(NASTY)
    assert shown == "a */ b \\x1b[31m \\u202egnp.exe \\ud800 \\x00 \u00e9"
    assert shown.isprintable()
    assert one_line("plain  name") == "plain name"
    assert one_line(3) == "3"
    assert in_drawing("$x$\x07") == "\\$x\\$\\x07"


def test_json_is_printable_and_read_back():
    text = as_json({"name": [NASTY, "\U000e0001"]})
    assert text.isprintable()
    assert json.loads(text) == {"name": [NASTY, "\U000e0001"]}
    assert as_json("\u00e9") == '"\u00e9"'


def test_plain_values():
    assert [repr(plain(v)) for v in (np.int64(1), np.str_("a"), np.bool_(True), "b", 1.5)] == [
        "1",
        "'a'",
        "True",
        "'b'",
        "1.5",
    ]
