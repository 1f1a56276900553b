"""The table of models in the documentation says what is so: every kind is asked everything."""

import pytest
from models_read import KINDS, QUESTIONS, REMEDY, read_table, refusal


@pytest.mark.parametrize("question", QUESTIONS)
@pytest.mark.parametrize("kind", KINDS)
def test_the_table_of_models_says_what_works(kind, question):
    said, why = read_table()[kind][question], refusal(kind, question)
    assert said == ("yes" if why is None else "no"), why
    # a refusal says what to do instead
    assert why is None or REMEDY.search(why)


def test_the_table_has_every_kind_and_every_question():
    table = read_table()
    assert list(table) == list(KINDS)
    assert all(list(cells) == list(QUESTIONS) for cells in table.values())
