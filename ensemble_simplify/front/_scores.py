"""What is measured on the rows kept aside, and which result is recommended."""

from __future__ import annotations

import numpy as np
from sklearn.metrics import r2_score

from ensemble_simplify._base import binomial_interval

# Bootstrap samples for the interval of a coefficient of determination.
_SAMPLES = 500
# Confidence of the interval whose ends are about one standard error away.
_ONE_ERROR = 0.6827
# Rows of a class are rare below this part of an even share.
RARE = 0.4
# Rows of a class of which fewer tell little.
FEW = 15
PLAIN = ("plain_tree", "plain_tree_on_y")


def score(predicted, answers, y, by_class):
    """Accuracy and agreement of predictions.

    Parameters
    ----------
    predicted : ndarray of shape (n_rows,)
    answers : ndarray of shape (n_rows,)
        The model's.
    y : ndarray of shape (n_rows,) or None
        The truth.
    by_class : bool
        Whether they are labels.

    Returns
    -------
    dict
    """
    predicted = np.asarray(predicted)
    if not by_class:
        return _values(predicted, answers, y)
    alike = predicted == answers
    low, high = binomial_interval(alike.sum(), len(alike))
    shares, lows = {}, {}
    for label in np.unique(answers).tolist():
        own = alike[answers == label]
        shares[label] = float(own.mean())
        lows[label] = float(binomial_interval(own.sum(), len(own), _ONE_ERROR)[0])
    measured = {
        "agreement": float(alike.mean()),
        "agreement_low": float(low),
        "agreement_high": float(high),
        "one_error_low": float(binomial_interval(alike.sum(), len(alike), _ONE_ERROR)[0]),
        "class_agreement": shares,
        "class_low": lows,
    }
    if y is not None:
        right = predicted == y
        measured["accuracy"] = float(right.mean())
        measured["balanced_accuracy"] = float(
            np.mean([right[y == label].mean() for label in np.unique(y)])
        )
    return measured


def _values(predicted, answers, y):
    measured = {"agreement": _r2(answers, predicted)}
    rng, n = np.random.default_rng(0), len(answers)
    samples = [rng.integers(n, size=n) for _ in range(_SAMPLES)]
    drawn = [_r2(answers[rows], predicted[rows]) for rows in samples]
    ends = np.nanquantile(drawn, [0.025, 0.975, (1 - _ONE_ERROR) / 2]).tolist()
    measured["agreement_low"], measured["agreement_high"], measured["one_error_low"] = ends
    if y is not None:
        measured["accuracy"] = _r2(y, predicted)
    return measured


def _r2(truth, predicted):
    return float(r2_score(truth, predicted, force_finite=True))


def balanced(row):
    """Mean of the agreement over the model's classes; in regression, the agreement."""
    shares = row.class_agreement
    return float(np.mean(list(shares.values()))) if shares else row.agreement


def _overall(row):
    return row.agreement


def as_good(row, other):
    """Whether a result agrees less than another by no more than chance explains, in any class."""
    return row.agreement >= other.one_error_low and all(
        row.class_agreement[label] >= low for label, low in other.class_low.items()
    )


def choose(rows, max_leaves, by_class):
    """Name of the recommended result, the reason in a sentence, and more to say.

    Parameters
    ----------
    rows : list of Bunch
        The table.
    max_leaves : int
    by_class : bool

    Returns
    -------
    best : str or None
        None if no tree was fitted.
    reason : str
    more : list of str
    """
    trees = [row for row in rows if row.is_measured and row.is_tree and row.leaves <= max_leaves]
    if not trees:
        return None, f"No method found a tree of at most {max_leaves} leaves.", []
    proven = [row for row in trees if row.is_proven]
    measure = balanced if is_uneven(rows) else _overall
    top = max(trees, key=lambda row: (measure(row), balanced(row), -row.leaves))
    if proven:
        # at every input is more than near some rows
        best = min(proven, key=lambda row: (row.name != "born_again", row.leaves))
        promise = best.promise.split(";")[0]
        reason = f"{_titled(best)} has {_leaves(best)} and a proven promise: {promise}."
    else:
        good = [row for row in trees if as_good(row, top)]
        best = min(good, key=lambda row: (row.leaves, row.name not in PLAIN, -measure(row)))
        reason = _why(best, top, by_class, max_leaves)
    return best.name, reason, _more(rows, best, top, by_class)


def _why(best, top, by_class, max_leaves):
    share = _share(best.agreement, by_class)
    agrees = f"agrees with the model on {share} of the rows kept aside"
    if not by_class:
        agrees = f"explains {share} of the model's variance on the rows kept aside"
    if best is top:
        return (
            f"{_titled(best)} has {_leaves(best)} and {agrees}: no other tree of at most "
            f"{max_leaves} leaves does better."
        )
    if best.leaves < top.leaves:
        good = "is the smallest tree that does about as well as any"
    else:
        good = "does about as well as any tree of its size"
    most = f"{_share(top.agreement, by_class)} for {_lower(top)} with {_leaves(top)}"
    if top.agreement <= best.agreement:  # the other one is better on average over the classes
        most = f"{_share(balanced(top), by_class)} on average over the classes for {_lower(top)}"
    return (
        f"{_titled(best)} {good}: with {_leaves(best)} it {agrees}, beside {most}, a difference "
        "within one standard error."
    )


def _more(rows, best, top, by_class):
    notes = []
    plain = next((r for r in rows if r.name == "plain_tree" and r.is_measured), None)
    if plain is not None and best.name not in PLAIN and as_good(plain, best):
        notes.append(
            f"The plain tree on the model's answers, with {_leaves(plain)}, is as good as far as "
            f"these rows can tell: {_share(plain.agreement, by_class)}."
        )
    for label, n_rows in rows[0].class_rows.items():
        if n_rows < FEW and label in best.class_agreement:
            notes.append(
                f"The model answers {label} to {n_rows} of the rows kept aside only, so little is "
                "known about the agreement there. Give more rows, or raise validation_fraction."
            )
    lost = [label for label, share in best.class_agreement.items() if share < 0.5]
    for label in lost:
        notes.append(
            f"Of the rows to which the model answers {label}, the recommended tree gives that "
            f"answer to {_share(best.class_agreement[label], True)} only."
        )
    closer = [
        row
        for row in rows
        if row.is_measured
        and row.name not in ("model", best.name)
        and best.leaves <= row.leaves < (rows[0].leaves or np.inf)
        and row.agreement >= best.agreement
        and (row.agreement > best.agreement_high or (row.is_proven and not best.is_proven))
    ]
    for row in closer:
        size = _leaves(row) if row.trees == 1 else f"{row.trees} trees"
        what = "with soft splits" if row.trees == 1 and not row.is_tree else "and larger"
        promise = f"; promised: {row.promise.split(';')[0]}" if row.is_proven else ""
        notes.append(
            f"Closer to the model, {what}: {row.title}, {size}, agreement "
            f"{_share(row.agreement, by_class)}{promise}."
        )
    return notes


def is_uneven(rows):
    """Whether some answer of the model is rare, so that shares of all rows say little."""
    counts = list(rows[0].class_rows.values())
    return bool(counts) and min(counts) * len(counts) < RARE * sum(counts)


def _titled(row):
    text = _lower(row)
    return text[0].upper() + text[1:]


def _lower(row):
    return row.title if row.title.startswith("GENESIM") else f"the {row.title}"


def _leaves(row):
    return f"{row.leaves} leaf" if row.leaves == 1 else f"{row.leaves} leaves"


def _share(share, by_class):
    """A share in per cent; what is not all is never rounded to it."""
    text = f"{100 * share:.1f}".removesuffix(".0")
    if text == "100" and share < 1:
        text = "more than 99.9"
    return f"{text} %"
