"""Every family of models that is read, with every question: the models' own answers decide.

Pairs of small models are compared in every cell of their common grid, so that what is equal, and
how large the largest difference is, are known from ``predict`` and ``predict_proba`` alone.
"""

import numpy as np
import pytest
from readers import READERS, Reading, cells, changed_once, data, edges, numbers
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor
from threadpoolctl import threadpool_limits

from ensemble_simplify import Domain, verify
from ensemble_simplify.reading import Model

pytestmark = pytest.mark.filterwarnings(
    "ignore:X does not have valid feature names:UserWarning",
    "ignore:invalid value encountered:RuntimeWarning",
)


@pytest.fixture(autouse=True, scope="module")
def _one_thread():
    with threadpool_limits(1):
        yield


def refused_for_the_other_kind(reader, **options):
    """A classifier and a regressor are not compared."""
    X, y = data(0)
    other = DecisionTreeRegressor(max_depth=1).fit(X, y)
    if not reader.n_classes:
        X, y = data(2)
        other = DecisionTreeClassifier(max_depth=1).fit(X, y)
    for pair in ((reader.model(), other), (other, reader.model())):
        with pytest.raises(TypeError, match="is a regressor"):
            verify(*pair, **options)


def domain_of(reader):
    return Domain(missing="all") if reader.missing else None


def both_ways(pairs):
    return [ordered for a, b in pairs for ordered in ((a, b), (b, a))]


def check_labels(a, b, rows, **options):
    """Compare labels; `rows` are in all cells that count."""
    outcome = verify(a, b, **options)
    assert outcome.equal is bool((a.predict(rows) == b.predict(rows)).all())
    if outcome.equal:
        return
    row = outcome.counterexample[None]
    own = a.predict(row)[0], b.predict(row)[0]
    assert own[0] != own[1]
    assert outcome.predictions == own


def check_numbers(a, b, rows, tolerances=("atol",), **options):
    """Compare numbers at tolerances around the largest difference, in rows of all cells."""
    one, two = numbers(a, rows), numbers(b, rows)
    difference = np.abs(one - two)
    largest, scale = float(difference.max()), float(np.abs([one, two]).max())
    for share in (0.5, 1.5):
        # two thirds of the tolerance, or one, from `atol`
        atol, rtol = share * largest + 1e-6 * scale, 0.0
        if "rtol" in tolerances:
            atol, rtol = 0.75 * atol, 0.25 * atol / scale
        apart = bool((difference > atol + rtol * np.abs(two)).any())
        outcome = verify(a, b, atol=atol, **({"rtol": rtol} if rtol else {}), **options)
        assert outcome.equal is not apart
        assert outcome.max_difference <= largest <= outcome.max_difference_bound
        if apart:
            row = outcome.counterexample[None]
            own = numbers(a, row)[0], numbers(b, row)[0]
            assert (np.abs(own[0] - own[1]) > atol + rtol * np.abs(own[1])).any()
            np.testing.assert_array_equal(np.ravel(outcome.predictions), np.concatenate(own))
        elif not rtol:
            # float32 sums, and bounds on sigmoids, are the coarsest
            assert outcome.max_difference_bound <= max(largest, atol) + 1e-4 * scale
    return largest


# ------------------------------------------------------------------- questions


def ask_class(reader):
    """Labels in every cell, and on both sides of every threshold."""
    if not reader.n_classes:
        refused_for_the_other_kind(reader)
        return
    for model in (reader.model(), reader.changed()):
        for rows in (cells(model, missing=reader.missing), edges(model, missing=reader.missing)):
            found = Reading(model).answers(rows)
            np.testing.assert_array_equal(found, np.ravel(model.predict(rows)))
            assert len(np.unique(found)) > 1


def ask_value(reader):
    """Values, bit for bit."""
    if reader.n_classes:
        refused_for_the_other_kind(reader, atol=0.1)
        return
    for model in (reader.model(), reader.changed()):
        for rows in (cells(model, missing=reader.missing), edges(model, missing=reader.missing)):
            found = Reading(model).answers(rows)
            link = Model.of(model).decision.link
            rounded = link is not None and not link.is_followed
            expected = np.ravel(model.predict(rows))
            np.testing.assert_allclose(found, expected, rtol=1e-15 if rounded else 0.0)
            assert len(np.unique(found)) > 1


def ask_probability(reader):
    """Probabilities everywhere and near rows, or their refusal."""
    if not reader.n_classes:
        refused_for_the_other_kind(reader, atol=0.1)
        return
    X = data(reader.n_classes, reader.missing)[0][:3]
    for a, b in both_ways(reader.pairs()):
        if reader.probability is None:
            for near in ({}, {"X": X, "max_changes": 1}):
                with pytest.raises(TypeError, match="are not means over its trees"):
                    verify(a, b, atol=0.1, **near)
            continue
        rows = cells(a, b, missing=reader.missing)
        assert check_numbers(a, b, rows, domain=domain_of(reader)) > 0
        near = changed_once(X, (a, b), reader.missing)
        options = dict(X=X, max_changes=1, domain=domain_of(reader))
        check_numbers(a, b, near, **options)
        if reader.probability == "odds":
            with pytest.raises(TypeError, match="atol alone, of two boosted"):
                verify(a, b, atol=0.1, rtol=0.1)
        else:
            check_numbers(a, b, rows, ("atol", "rtol"), domain=domain_of(reader))


def ask_everywhere(reader):
    """Labels or values, of all inputs."""
    model, domain = reader.model(), domain_of(reader)
    again = verify(model, reader.model(), domain=domain)
    assert again.equal is True
    if not reader.n_classes:
        assert again.max_difference_bound == 0.0
    for a, b in both_ways(reader.pairs()):
        rows = cells(a, b, missing=reader.missing)
        if reader.n_classes:
            check_labels(a, b, rows, domain=domain)
            continue
        assert check_numbers(a, b, rows, domain=domain) > 0
        if Model.of(a).decision.link_kind in ("sigmoid", "expm1"):
            with pytest.raises(TypeError, match="atol"):
                verify(a, b, rtol=0.1, domain=domain)
        else:
            check_numbers(a, b, rows, ("atol", "rtol"), domain=domain)
        assert verify(a, b, domain=domain).equal is False


def ask_near_rows(reader):
    """Labels or values of some rows, and of every change of one feature."""
    X = data(reader.n_classes, reader.missing)[0][:6]
    for a, b in both_ways(reader.pairs()):
        for max_changes in (0, 1):
            rows = changed_once(X, (a, b), reader.missing) if max_changes else X
            check = check_labels if reader.n_classes else check_numbers
            options = dict(X=X, max_changes=max_changes, domain=domain_of(reader))
            check(a, b, rows, **options)


def ask_bounds(reader):
    """Sums of leaf vectors tell the class where one leads by more than the bound."""
    for model in (reader.model(), reader.changed()):
        assert Reading(model).is_sum is bool(reader.n_classes and reader.is_sum)
        if not Reading(model).is_sum:
            continue
        rows = edges(model, missing=reader.missing)
        own = np.ravel(model.predict(rows))  # a column, CatBoost's of three
        for labels, clear in zip(*Reading(model).leaders(rows), strict=True):
            np.testing.assert_array_equal(labels[clear], own[clear])
            assert clear.mean() > 0.5


QUESTIONS = {
    "class": ask_class,
    "value": ask_value,
    "probability": ask_probability,
    "everywhere": ask_everywhere,
    "near rows": ask_near_rows,
    "bounds": ask_bounds,
}


@pytest.mark.parametrize("question", QUESTIONS)
@pytest.mark.parametrize("family", READERS)
def test_every_family_and_every_question(family, question):
    QUESTIONS[question](READERS[family])
