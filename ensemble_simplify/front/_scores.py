"""What is measured on the held-out rows, and which result is recommended."""

from __future__ import annotations

import numpy as np

from ensemble_simplify.base import binomial_interval
from ensemble_simplify.writing import one_line, percent

# What is measured of a result in numbers.
SCORES = ("accuracy", "balanced_accuracy", "agreement", "agreement_low", "agreement_high")
# Bootstrap samples for the interval of a coefficient of determination.
_SAMPLES = 500
# Rows of a class are rare below this part of an even share.
RARE = 0.4
# With fewer rows of a class, a note says that the agreement on them is hardly known.
FEW = 15
PLAIN = ("plain_tree", "plain_tree_on_y")
# In classification, the tree of the first of these methods that found one is recommended, unless
# another tree is better. By the table of benchmarks/league_rule.py, the trees of the first two
# agree more on new rows than plain ones.
FAVOURITES = ("representer", "born_again_1_small", "plain_tree")


def score(predicted, answers, y, by_class):
    """Accuracy (if the truth `y` is known) and agreement with the model's answers, as a dict.

    Where predictions are labels, `by_class`, the agreement is that of each class, too.
    """
    predicted = np.asarray(predicted)
    if not by_class:
        return _values(predicted, answers, y)
    alike = predicted == answers
    low, high = binomial_interval(alike.sum(), len(alike))
    labels, places = np.unique(answers, return_inverse=True)
    shares = {
        label: float(alike[places == place].mean()) for place, label in enumerate(labels.tolist())
    }
    measured = {
        "alike": alike,
        "places": places,
        "agreement": float(alike.mean()),
        "agreement_low": float(low),
        "agreement_high": float(high),
        "class_agreement": shares,
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
    drawn = np.array([_r2(answers[rows], predicted[rows]) for rows in samples])
    ends = np.nanquantile(drawn, [0.025, 0.975]).tolist()
    measured["agreement_low"], measured["agreement_high"] = ends
    measured["drawn"] = drawn
    if y is not None:
        measured["accuracy"] = _r2(y, predicted)
    return measured


def _r2(truth, predicted):
    """As scikit-learn's, which takes much longer for the few rows of one of many samples."""
    error, spread = np.sum((truth - predicted) ** 2), np.sum((truth - truth.mean()) ** 2)
    if spread == 0:
        return float(error == 0)
    return float(1 - error / spread)


def balanced(row):
    """Mean of the agreement over the model's classes; in regression, the agreement."""
    shares = row.class_agreement
    return float(np.mean(list(shares.values()))) if shares else row.agreement


def gap(row, other, *, even):
    """How much more a result agrees than another, and the standard error of this difference.

    Both are measured on the same rows, so that only those rows count on which one of them alone
    agrees; in regression, on the same bootstrap samples. If `even`, all rows count alike; otherwise
    all classes do.
    """
    if not row.class_agreement:
        return row.agreement - other.agreement, float(np.nanstd(row.drawn - other.drawn))
    lead = row.alike.astype(np.float64) - other.alike
    if even:
        return lead.mean(), np.sqrt(np.abs(lead).sum()) / len(lead)
    parts = _by_class(lead, row)
    errors = [np.abs(part).sum() / len(part) ** 2 for part in parts]
    return np.mean([part.mean() for part in parts]), np.sqrt(np.sum(errors)) / len(parts)


def _by_class(lead, row):
    return [lead[row.places == place] for place in np.unique(row.places)]


def may_be_as_good(row, other):
    """Whether the other agrees more by one standard error at most, among all rows and by class."""
    more, error = gap(other, row, even=True)
    if more > error or not row.class_agreement:
        return bool(more <= error)
    leads = _by_class(other.alike.astype(np.float64) - row.alike, row)
    return all(lead.sum() <= np.sqrt(np.abs(lead).sum()) for lead in leads)


def is_as_good(row, other):
    """Whether a result agrees on at least as many rows as another, of all and of each class."""
    return row.agreement >= other.agreement and all(
        row.class_agreement[label] >= share for label, share in other.class_agreement.items()
    )


def recommend(trees, *, even):
    """The recommended tree, and the one that it is as good as, if it is a smaller one; else itself.

    It is the favourite, or the best tree if one is better by more than chance explains, or a tree
    that is smaller and does at least as well as that one. If `even`, agreement is that of all rows;
    otherwise the mean of the classes.
    """
    by_name = {row.name: row for row in trees}
    order = FAVOURITES if trees[0].class_agreement else PLAIN
    favourite = next((by_name[name] for name in order if name in by_name), trees[0])
    gaps = [gap(row, favourite, even=even) for row in trees]
    better = favourite
    if any(more > error for more, error in gaps):
        better = trees[max(range(len(trees)), key=lambda i: (gaps[i][0], -trees[i].leaves))]
    smaller = [row for row in trees if row.leaves < better.leaves and is_as_good(row, better)]
    best = min(
        [*smaller, better], key=lambda row: (row.leaves, row.name not in PLAIN, -row.agreement)
    )
    return best, better


def choose(rows, max_leaves, by_class):
    """Name of the row that is recommended, the reason in a sentence, and more sentences.

    The name is None if no tree was fitted.
    """
    trees = [row for row in rows if row.is_measured and row.is_tree and row.leaves <= max_leaves]
    if not trees:
        return None, f"No method found a tree of at most {max_leaves} leaves.", []
    proven = [row for row in trees if row.is_proven]
    if proven:
        # a promise for every input goes before one near some rows
        best = min(proven, key=lambda row: (row.name != "born_again", row.leaves))
        promise = best.promise.split(";")[0]
        reason = f"{_titled(best)} has {_leaves(best)} and a proven promise: {promise}."
    else:
        even = not is_uneven(rows)
        best, better = recommend(trees, even=even)
        measured = [row.agreement if even else balanced(row) for row in (best, *trees)]
        reason = f"{_why(best, by_class, even)}: "
        on_what = "" if even else " in this average"
        if max(measured) == measured[0]:
            reason += f"no other tree of at most {max_leaves} leaves does better{on_what}."
        elif best is better:
            reason += (
                f"no other tree of at most {max_leaves} leaves does better{on_what} by more than "
                "one standard error."
            )
        else:
            where = ", among all rows and those of each class" if by_class else ""
            reason += (
                f"it is the smallest tree that does at least as well as {_lower(better)} with "
                f"{_leaves(better)}{where}."
            )
    more = [
        *_smaller_or_plain(rows, trees, best),
        *_rare_classes(rows, best),
        *_lost_classes(best),
        *_closer_results(rows, best),
    ]
    return best.name, reason, more


def _why(best, by_class, even):
    share = percent(best.agreement)
    agrees = f"agrees with the model on {share} of the held-out rows"
    if by_class and not even:
        average = percent(balanced(best))
        agrees += f" ({average} as the average of the classes, since one is rare)"
    if not by_class:
        agrees = f"explains {share} of the model's variance on the held-out rows"
    return f"{_titled(best)} has {_leaves(best)} and {agrees}"


def _smaller_or_plain(rows, trees, best):
    """Notes on a smaller tree, and on the plain tree, that may be as good as the best one."""
    notes = []
    plain = next((r for r in rows if r.name == "plain_tree" and r.is_measured), None)
    smaller = [row for row in trees if row.leaves < best.leaves and may_be_as_good(row, best)]
    if smaller and not best.is_proven:
        row = min(smaller, key=lambda row: (row.leaves, -row.agreement))
        notes.append(
            f"Smaller, and perhaps as good, for the difference is within one standard error: "
            f"{row.title}, {_leaves(row)}, agreement {percent(row.agreement)}."
        )
        plain = None if row is plain else plain
    if plain is not None and best.name not in PLAIN and may_be_as_good(plain, best):
        notes.append(
            f"The plain tree on the model's answers, with {_leaves(plain)}, is as good as far as "
            f"these rows can tell: {percent(plain.agreement)}."
        )
    return notes


def _rare_classes(rows, best):
    """Notes on the classes of which there are too few rows to measure the agreement."""
    return [
        f"The model answers {one_line(label)} to {n_rows} of the held-out rows only, so little is "
        "known about the agreement there. Give more rows, or raise validation_fraction."
        for label, n_rows in rows[0].class_rows.items()
        if n_rows < FEW and label in best.class_agreement
    ]


def _lost_classes(best):
    """Notes on the classes that the best tree gives to less than half of the model's rows."""
    return [
        f"Of the rows to which the model answers {label}, the recommended tree gives that "
        f"answer to {percent(share)} only."
        for label, share in best.class_agreement.items()
        if share < 0.5
    ]


def _closer_results(rows, best):
    """Notes on the larger results that agree clearly more, or are proven while the tree is not."""
    notes = []
    measured = [row for row in rows if row.is_measured and row.name not in ("model", best.name)]
    for row in measured:
        is_between = best.leaves <= row.leaves < (rows[0].leaves or np.inf)
        is_clear = row.agreement > best.agreement_high
        if not is_between or row.agreement < best.agreement:
            continue
        if not is_clear and (best.is_proven or not row.is_proven):
            continue
        size = _leaves(row) if row.trees == 1 else f"{row.trees} trees"
        what = "with soft splits" if row.trees == 1 and not row.is_tree else "and larger"
        promise = f"; promised: {row.promise.split(';')[0]}" if row.is_proven else ""
        notes.append(
            f"Closer to the model, {what}: {row.title}, {size}, agreement "
            f"{percent(row.agreement)}{promise}."
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
    return "1 leaf" if row.leaves == 1 else f"{row.leaves:,} leaves"
