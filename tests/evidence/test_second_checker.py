"""Two checkers of evidence, which share no code and no language, on the same files."""

import json

import numpy as np
import pytest
from evidence import test_checker as by_hand
from second_checker import SOURCE, is_for_both, second_opinion

N_CHANGED = 250
KINDS = [kind for kind, own in by_hand.DOCUMENTS.items() if is_for_both(own)]


@pytest.mark.parametrize("kind", by_hand.DOCUMENTS)
def test_claims_by_hand(kind):
    document = by_hand.DOCUMENTS[kind]
    code, said = second_opinion(document)
    assert code == (0 if kind in KINDS else 2), said
    if code == 0:
        # all that limits the region is told
        assert json.dumps(document["region"]) in said
        assert all(json.dumps(model["columns"]) in said for model in document["models"])


def test_changed_documents_are_found():
    rng = np.random.default_rng(1)
    kinds = [kind for kind in KINDS if "hard" not in kind]
    places = {kind: sorted(by_hand._places(by_hand.DOCUMENTS[kind]), key=str) for kind in kinds}
    counts = np.zeros((3, 3), dtype=int)
    for i in range(N_CHANGED):
        kind = kinds[i % len(kinds)]
        other = by_hand._resigned(by_hand._mutant(by_hand.DOCUMENTS[kind], places[kind], rng))
        code, said = second_opinion(other)
        told = by_hand._told(other)[0]
        counts[told, code] += 1
        if code == 0 and told:
            # what it states beside the claim, which the second checker does not read
            assert by_hand._is_true(other), (i, said)
    # neither proves what the other one can refute, and it reads nearly all that the first one does
    assert counts[0, 0] > N_CHANGED / 10, counts
    assert counts[0, 1:].sum() < N_CHANGED / 25, counts
    assert counts[1:, 0].sum() < N_CHANGED / 6, counts


@pytest.mark.parametrize(
    "text",
    ["", "{", "[" * 10_000, '{"format": 1, "format": 2}', "nul", '"\\', "[1,]", "{}{}", "1e999"],
)
def test_what_is_no_evidence_gets_a_message(text):
    assert second_opinion(text)[0] == 2


def test_what_it_does_not_read_is_refused():
    document = by_hand.DOCUMENTS["same"]
    assert "another version" in second_opinion(document | {"version": 1})[1]
    swapped = [document["uses"][0], {"model": 1, "columns": [1, 0]}]
    assert "other columns" in second_opinion(document | {"uses": swapped})[1]
    empty = document["region"] | {"low": [1.0, None], "high": [0.0, None]}
    assert second_opinion(document | {"region": empty})[0] == 1


def test_it_can_be_read_in_an_hour():
    assert len(SOURCE.read_text().splitlines()) <= 645
