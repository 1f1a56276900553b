"""The table of models in the documentation says what is so: every kind is asked everything."""

import pytest
from models_read import KINDS, QUESTIONS, REMEDY, answer, read_table


@pytest.mark.parametrize("question", QUESTIONS)
@pytest.mark.parametrize("kind", KINDS)
def test_the_table_of_models_says_what_works(kind, question):
    found = answer(kind, question)
    assert read_table()[kind][question] == found
    # a refusal says what to do instead
    assert found[1] is None or REMEDY.search(found[1])


def test_the_table_has_every_kind_and_every_question():
    table = read_table()
    assert list(table) == list(KINDS)
    assert all(list(cells) == list(QUESTIONS) for cells in table.values())
