"""Forged files of evidence: what is accepted is true. See `forging`, which makes them."""

from evidence import forging


def test_forged_files_are_refused_or_true():
    counts = forging.run(10)
    assert min(counts.values()) > 20, counts


def test_what_is_true_is_proven_and_nothing_else():
    counts = forging.judged(5)
    assert min(counts["true"], counts["false"]) > 40, counts
