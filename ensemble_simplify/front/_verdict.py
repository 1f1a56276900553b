"""How far the recommended result can stand for the model, in a level and in words."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ensemble_simplify.base import r2
from ensemble_simplify.front._choice import compared, nothing_found, said, step
from ensemble_simplify.front._judged import (
    agreement_of,
    class_agreement,
    figures,
    interval_of,
)
from ensemble_simplify.front._rules import leaves
from ensemble_simplify.writing import one_line

# A tree follows the model from this agreement, and from this part of the way from the most frequent
# answer to the model; it shows what the model goes by from these. In regression, from these R2.
FOLLOWS, FOLLOWS_SKILL, FOLLOWS_R2 = 0.95, 0.75, 0.9
SHOWS, SHOWS_SKILL, SHOWS_R2 = 0.7, 0.5, 0.7
# Answers that are named when the tree loses them.
MOST_NAMED = 4
# Standard errors that make a result clearly closer to the model.
SURELY = 2.0
# Rows of a class from which the tree is said to lose it.
FEWEST = 5
# With fewer rows of a class, a note says that the agreement on them is hardly known.
FEW = 15


@dataclass(frozen=True)
class Verdict:
    """How far the recommended tree follows the model.

    Parameters
    ----------
    level : {"follows", "partly", "none"}
        Whether the tree can stand for the model, shows what it goes by, or does neither.
    text : str
        A few sentences.
    agreement : float
        With the model, corrected for the choice; in regression, the R2. nan if there is no tree.
    agreement_low, agreement_high : float
        Ends of its 95 % interval.
    majority : float
        Agreement of the most frequent answer alone; 0 in regression.
    skill : float
        Part of the way from `majority` to 1 that the agreement goes.
    model_accuracy, tree_accuracy : float
        Of both on the held-out rows: the share of right answers, or the R2; nan without true
        labels.
    lost : float
        What the tree lacks of an accuracy of 1: the model's errors, and the tree's own.
    lost_by_tree : float
        The part of it that taking the tree in place of the model adds; below 0 where the tree is
        more accurate.
    """

    level: str
    text: str
    agreement: float = np.nan
    agreement_low: float = np.nan
    agreement_high: float = np.nan
    majority: float = 0.0
    skill: float = np.nan
    model_accuracy: float = np.nan
    tree_accuracy: float = np.nan
    lost: float = np.nan
    lost_by_tree: float = np.nan


def judge(best, judged, agreement=None, max_leaves=None, kinds=("tree",)) -> Verdict:
    """The verdict on the recommended tree.

    Parameters
    ----------
    best : Candidate or None
        The tree; None if there is none.
    judged : Judged
        The rows.
    agreement : float or None, default=None
        Its corrected agreement. None: as it is measured on the rows.
    max_leaves : int or None, default=None
        The largest size that was tried. None: that of the tree.
    kinds : tuple of str, default=("tree",)
        What was asked for, which is said if there is none.

    Returns
    -------
    Verdict
        With its text.
    """
    if best is None:
        return Verdict("none", nothing_found(kinds, max_leaves))
    # what is proven at every input is not left to the rows
    if best.is_proven:
        agreement = 1.0
    elif agreement is None:
        agreement = agreement_of(best, judged)
    low, high = interval_of(best, judged, agreement)
    rows = best.rows
    label, majority = _most_frequent(judged, rows)
    # where one answer is always right there is no way to go, and only all of it counts
    skill = (agreement - majority) / (1.0 - majority) if majority < 1 else float(agreement >= 1)
    level = "follows" if best.is_proven else _level(agreement, skill, judged.is_classifier)
    model_accuracy = tree_accuracy = np.nan
    if judged.y is not None:
        measured = figures(best, judged)
        tree_accuracy = measured["accuracy"]
        model_accuracy = _accuracy_of_model(judged, rows)
    text = [_judgement(best, judged, level, agreement, label, majority, max_leaves)]
    if not judged.is_classifier:
        text.append(_distances(best, judged))
    if judged.y is not None:
        text.append(_accuracies(model_accuracy, tree_accuracy, judged, rows.sum(), best.noun))
    if judged.score is not None:
        score = judged.score(judged.answers[rows], best.predicted[rows])
        text.append(f"Its {judged.score_name} against the model's answers is {score:.3g}.")
    text += _lost_classes(best, judged)
    return Verdict(
        level=level,
        text=" ".join(text),
        agreement=agreement,
        agreement_low=low,
        agreement_high=high,
        majority=majority,
        skill=skill,
        model_accuracy=model_accuracy,
        tree_accuracy=tree_accuracy,
        lost=1.0 - tree_accuracy,
        lost_by_tree=model_accuracy - tree_accuracy,
    )


def notes(candidates, judged, best, in_sample=False) -> list[str]:
    """At most two sentences that matter most beside the verdict.

    Parameters
    ----------
    candidates : list of Candidate
        All results.
    judged : Judged
        The rows.
    best : Candidate or None
        The recommended tree.
    in_sample : bool, default=False
        Whether the model was fitted on these rows and its answers to them are not out-of-bag.

    Returns
    -------
    list of str
        None, one or two.
    """
    if best is None:
        return []
    # in the order of what a reader loses who does not know them
    found = [
        *_closer_result(candidates, judged, best),
        *_rare_classes(judged, best),
        *_smaller_tree(candidates, judged, best),
    ]
    if in_sample:
        found.insert(
            0,
            "The model was probably fitted on these rows, since it makes no error on them. On new "
            "rows, agreement is usually higher than stated here, and accuracy is lower. Give rows "
            "that the model has not seen.",
        )
    return found[:2]


# ------------------------------------------------------------------- the level


def _level(agreement, skill, by_class):
    least = (FOLLOWS, FOLLOWS_SKILL) if by_class else (FOLLOWS_R2, FOLLOWS_R2)
    if agreement >= least[0] and skill >= least[1]:
        return "follows"
    least = (SHOWS, SHOWS_SKILL) if by_class else (SHOWS_R2, SHOWS_R2)
    return "partly" if agreement >= least[0] and skill >= least[1] else "none"


def _most_frequent(judged, rows):
    """The model's most frequent answer, and the agreement of always giving it."""
    if not judged.is_classifier:
        return None, 0.0
    weights = judged.weights[judged.places[rows]]
    shares = np.bincount(judged.places[rows], weights=weights, minlength=len(judged.labels))
    place = int(np.argmax(shares))
    return judged.labels[place : place + 1].tolist()[0], float(shares[place] / weights.sum())


def _accuracy_of_model(judged, rows):
    y, answers = judged.y[rows], judged.answers[rows]
    return float(np.mean(y == answers)) if judged.is_classifier else r2(y, answers)


# ------------------------------------------------------------------- sentences


def _judgement(best, judged, level, agreement, label, majority, max_leaves):
    tree = f"{best.noun} of {best.in_size}"
    if best.is_proven:
        return f"The {tree} is proven to give the model's answer at every input."
    n_rows = int(best.rows.sum())
    if judged.is_classifier and majority == agreement == 1.0:
        return (
            f"The model answers {_quoted(label)} to every held-out row, and so does the {tree}. "
            "These rows cannot tell whether it follows the model elsewhere."
        )
    if judged.is_classifier:
        share = said(agreement, n_rows)
        other = said(majority, n_rows)
        which = "weighted rows" if judged.class_weight is not None else "rows"
        agrees = f"agrees with the model on {share} of {which}."
        beside = f" Always answering {_quoted(label)} would agree on {other}."
    else:
        share = said(agreement, n_rows) if agreement > 0 else "nothing"
        agrees = f"explains {share} of the variance of the model's answers."
        beside = ""
    kind = f"tree of at most {leaves(best.n_leaves if max_leaves is None else max_leaves)}"
    kind = "small scorecard" if best.is_card else kind
    begin = {
        "follows": f"The {tree} follows the model. It",
        "partly": f"The {tree} shows what the model goes by, but cannot replace it. It",
        "none": f"No {kind} follows this model. The best one, of {best.in_size},",
    }
    return f"{begin[level]} {agrees}{beside}"


def _distances(best, judged):
    """How far the values of the tree are from the model's."""
    distances = np.abs(best.predicted[best.rows] - judged.answers[best.rows])
    half, most = np.quantile(distances, [0.5, 0.9])
    text = (
        f"Its values are within {half:.3g} of the model's on half of the held-out rows, and within "
        f"{most:.3g} on nine rows in ten."
    )
    if best.within is None:
        return text
    return f"{text} They are proven to be within {best.within:.3g} at every input."


def _accuracies(model, tree, judged, n_rows, noun):
    if not judged.is_classifier:
        # of the figures as they are printed, so that the sentence adds up for its reader
        lost = round(model, 2) - round(tree, 2)
        change = f"{lost:.2f} is lost" if lost >= 0.005 else "nothing is lost"
        return (
            f"On the true values of the held-out rows, R2 is {model:.2f} for the model and "
            f"{tree:.2f} for the {noun}: {change}."
        )
    digits = int(n_rows >= 1000)
    lost = round(100 * model, digits) - round(100 * tree, digits)
    unit = "point is" if f"{lost:.{digits}f}" in ("1", "1.0") else "points are"
    change = f"{lost:.{digits}f} {unit} lost" if lost > 0.05 else "nothing is lost"
    return (
        f"The model is right on {said(model, n_rows)} of the held-out rows, the {noun} on "
        f"{said(tree, n_rows)}: {change}."
    )


def _lost_classes(best, judged):
    """A sentence on the answers that the tree gives to less than half of the model's rows."""
    if best.is_proven:
        return []
    shares = class_agreement(best, judged)
    rows = sorted(_class_rows(best, judged), key=lambda entry: -entry[1])
    lost = [(n, label, shares[label]) for label, n in rows if n >= FEWEST and shares[label] < 0.5]
    if not lost:
        return []
    if len(lost) == 1:
        n, label, share = lost[0]
        return [
            f"Of the {n:,} rows to which the model answers {_quoted(label)}, the {best.noun} gives "
            f"that answer to {round(share * n):,}."
        ]
    named = [_quoted(label) for _, label, _ in lost[:MOST_NAMED]]
    if len(lost) > MOST_NAMED:
        named.append(f"{len(lost) - MOST_NAMED} other answers")
    return [
        f"The {best.noun} misses more than half of the rows to which the model answers "
        f"{', '.join(named[:-1])} or {named[-1]}."
    ]


def _class_rows(best, judged):
    """The model's answers, and to how many rows that the tree was measured on it gives them."""
    # in regression there is one count and no label, so the lists differ in length
    counts = np.bincount(judged.places[best.rows], minlength=len(judged.labels)).tolist()
    return list(zip(judged.labels.tolist(), counts, strict=judged.is_classifier))


# ------------------------------------------------------------------- notes


def _closer_result(candidates, judged, best):
    """A note on a result that is clearly closer to the model, but larger or no ordinary tree."""
    if best.is_proven:
        return []
    others = [c for c in candidates if c.rows.any() and _is_beside(c, best)]
    comparison = compared([best, *others], judged)
    leads = [comparison.lead(place, 0) for place in range(1, len(others) + 1)]
    closer = [
        (lead.all, c)
        for lead, c in zip(leads, others, strict=True)
        if lead.all > max(SURELY * lead.error, step(judged))
    ]
    if not closer:
        return []
    _, other = max(closer, key=lambda entry: entry[0])
    share, n_rows = agreement_of(other, judged), int(other.rows.sum())
    size = f" ({other.in_size})" if other.may_win else ""
    how = f"agrees on {said(share, n_rows)} of rows"
    if not judged.is_classifier:
        how = f"has an R2 of {share:.3f}"
    what = "A larger result" if other.may_win else "A result that is no single ordinary tree"
    return [f"{what} is closer to the model: {other.name}{size} {how}."]


def _is_beside(other, best):
    """Whether a result is larger than the best one of its kind, or an ensemble."""
    if other.may_win:
        return other.is_card == best.is_card and other.n_leaves > best.n_leaves
    return not (other.is_tree or other.is_card) and other.n_leaves > 1


def _rare_classes(judged, best):
    """A note on the answers of which there are too few rows to know how the tree does there."""
    rare = [(label, n) for label, n in _class_rows(best, judged) if n < FEW]
    if best.is_proven or not judged.is_classifier or not rare:
        return []
    if len(rare) == 1:
        label, n = rare[0]
        return [
            f"The model answers {_quoted(label)} to only {n:,} of the held-out rows. These are too "
            f"few to tell how the {best.noun} does there."
        ]
    return [
        f"The model gives {len(rare)} of its answers to fewer than {FEW} held-out rows each. These "
        f"are too few to tell how the {best.noun} does there."
    ]


def _smaller_tree(candidates, judged, best):
    """A note on a smaller tree that may be as good."""
    if best.is_proven:
        return []
    others = [
        c
        for c in candidates
        if c.may_win and c.is_card == best.is_card and c.rows.any() and c.n_leaves < best.n_leaves
    ]
    comparison = compared([best, *others], judged)
    smaller = [
        c
        for place, c in enumerate(others, 1)
        if comparison.lead(0, place).may_be_equal(step(judged))
    ]
    if not smaller:
        return []
    other = min(smaller, key=lambda c: c.n_leaves)
    return [
        f"A smaller {best.noun} may be as good: {other.name} with {other.in_size}. The difference "
        "is within one standard error."
    ]


def _quoted(label):
    return f"'{one_line(label)}'" if isinstance(label, str) else one_line(label)
