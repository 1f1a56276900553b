"""How far the recommended result can stand for the model, in a level and in words."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property, partial

import numpy as np

from ensemble_simplify.front._choice import compared, nothing_found, step
from ensemble_simplify.front._judged import (
    accuracy_stated,
    agreement_stated,
    class_agreement,
    coverage_stated,
    lost_stated,
    stated,
)
from ensemble_simplify.front._rules import leaves
from ensemble_simplify.front._statement import ON_LEARNED, PROVEN
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
    level : {"follows", "partly", "none", "undecided"}
        Whether the tree can stand for the model, shows what it goes by, or does neither, as far as
        the whole interval of its agreement says so; "undecided" where the rows are too few, for it
        or for a larger one.
    text : str
        A few sentences.
    agreement : float
        Of this result with the model, as in the table; in regression, the R2. nan if there is none.
    agreement_low, agreement_high : float
        Ends of its 95 % interval.
    chosen_agreement : float
        What results have on new rows that are chosen as this one was: less than `agreement` by the
        luck of the choice.
    majority : float
        Agreement of the most frequent answer alone; 0 in regression.
    skill : float
        Part of the way from `majority` to 1 that the agreement goes.
    model_accuracy, tree_accuracy : float
        Of both on these rows: the share of right answers, or the R2; nan without true labels.
    lost : float
        What the tree lacks of an accuracy of 1: the model's errors, and the tree's own.
    lost_by_tree : float
        The part of it that taking the tree in place of the model adds; below 0 where the tree is
        more accurate.
    statements : tuple of Statement
        The records that the sentences were made from.
    """

    level: str
    text: str
    agreement: float = np.nan
    agreement_low: float = np.nan
    agreement_high: float = np.nan
    chosen_agreement: float = np.nan
    majority: float = 0.0
    skill: float = np.nan
    model_accuracy: float = np.nan
    tree_accuracy: float = np.nan
    lost: float = np.nan
    lost_by_tree: float = np.nan
    statements: tuple = ()


def judge(best, judged, chosen=None, max_leaf_nodes=None, kinds=("tree",), others=()) -> Verdict:
    """The verdict on the recommended tree.

    Parameters
    ----------
    best : Candidate or None
        The tree; None if there is none.
    judged : Judged
        The rows.
    chosen : float or None, default=None
        Agreement of what is chosen in this way. None: it is not known.
    max_leaf_nodes : int or None, default=None
        The largest size that was tried. None: that of the tree.
    kinds : tuple of str, default=("tree",)
        What was asked for, which is said if there is none.
    others : list of Candidate, default=()
        All results of all sizes that were looked at.

    Returns
    -------
    Verdict
        With its text.
    """
    if best is None:
        return Verdict("none", nothing_found(kinds, max_leaf_nodes))
    rows, told = best.rows, _Told(best, judged, others)
    own, label = told.agreement, _most_frequent(judged, rows)[0]
    agreement, majority = own.value, told.majority.value
    # where one answer is always right there is no way to go, and only all of it counts
    skill = (agreement - majority) / (1.0 - majority) if majority < 1 else float(agreement >= 1)
    text = [_judgement(told, label, max_leaf_nodes)]
    if told.is_known and not best.is_proven and chosen is not None:
        chosen = told.add("agreement", chosen, of="what is chosen in this way")
        if chosen.text != own.text:
            text.append(_of_the_choice(chosen))
    if not judged.is_classifier:
        text.append(_distances(told))
    model, tree, lost = (told.keep(make(best, judged)) for make in _ACCURACIES)
    if np.isfinite(lost.value):
        text.append(_accuracies(told, model, tree, lost))
    text += _beside_plain(told, others)
    if judged.score is not None:
        score = told.add("score", judged.score(judged.answers[rows], best.predicted[rows]))
        text.append(f"Its {judged.score_name} against the model's answers is {score.value:.3g}.")
    text += _lost_classes(best, judged) if told.is_known else []
    return Verdict(
        level=told.level,
        text=" ".join(text),
        agreement=agreement,
        agreement_low=own.low,
        agreement_high=own.high,
        chosen_agreement=np.nan if chosen is None else getattr(chosen, "value", agreement),
        majority=majority,
        skill=skill,
        model_accuracy=model.value,
        tree_accuracy=tree.value,
        lost=1.0 - tree.value,
        lost_by_tree=lost.value,
        statements=tuple(told.statements),
    )


def with_selective(verdict, tree, judged) -> Verdict:
    """The verdict that tells of a tree which leaves some rows to the model, where it is of use."""
    if tree.coverage_ == 0.0:
        told = "No tree may answer a part of the rows in the model's place: nothing was certified."
        return replace(verdict, text=f"{verdict.text} {told}")
    covered = coverage_stated(tree)
    what = "otherwise than the model" if judged.is_classifier else "further from the model's value"
    told = (
        f"A {covered.of} can take a part of the rows from the model: it answers {covered.text} of "
        f"them (95 % interval {covered.interval}), at most "
        f"{100 * tree.limit_:g} % of these {what}, with confidence {100 * tree.confidence:g} % "
        "(outcome.selective)."
    )
    return replace(
        verdict, text=f"{verdict.text} {told}", statements=(*verdict.statements, covered)
    )


_ACCURACIES = (partial(accuracy_stated, of="model"), accuracy_stated, lost_stated)


class _Told:
    """What is said of a result: its records, and the level that they allow."""

    def __init__(self, best, judged, others):
        self.best, self.judged, self.statements = best, judged, []
        self.levels = levels_of(best, judged)
        # the levels of those of the same kind that could be taken in its place
        self.alike = [
            (levels_of(c, judged), c)
            for c in others
            if c.is_card == best.is_card and c.rows.any() and c.may_win
        ]
        # of rows that the model knows by heart, new ones say nothing
        self.is_known = judged.how != ON_LEARNED or best.is_proven
        self.agreement = self.keep(agreement_stated(best, judged))
        self.majority = self.add("majority", _most_frequent(judged, best.rows)[1], of="majority")

    def keep(self, statement):
        """A record that is said."""
        self.statements.append(statement)
        return statement

    def add(self, estimand, value, **more):
        """A record of what is said, made of its value."""
        return self.keep(stated(self.best, self.judged, estimand, value, **more))

    @property
    def level(self) -> str:
        """What both ends of the interval say; "undecided" where they differ.

        So also where they differ for a larger size: which one is recommended is partly luck.
        """
        low, high = self.levels
        is_decided = low == high and self.is_known
        is_decided &= self.beyond is None or self.beyond[0][0] > high
        return _LEVELS[low] if is_decided else "undecided"

    @cached_property
    def beyond(self):
        """The larger result that surely has the highest level, or may have one above its own."""
        better = [
            (levels, c)
            for levels, c in self.alike
            if c.n_leaves > self.best.n_leaves and levels[1] > self.levels[0]
        ]
        return min(
            better, key=lambda each: (-each[0][0], -each[0][1], each[1].n_leaves), default=None
        )


_LEVELS = ("none", "partly", "follows")


def levels_of(candidate, judged) -> tuple[int, int]:
    """The levels, by their places, of both ends of the interval of a candidate's agreement."""
    if candidate.is_proven:
        return 2, 2
    own, majority = agreement_stated(candidate, judged), _most_frequent(judged, candidate.rows)[1]
    return _level(own.low, majority, judged), _level(own.high, majority, judged)


def in_its_place(found) -> str:
    """What follows the model, of all that was measured, and what was not."""
    candidates = [*found._candidates.values(), *found._over_sizes]
    follow = [c for c in candidates if _could_stand_in(c) and _surely_follows(c, found._judged)]
    # the smallest of each kind says enough
    kinds = {(c.is_tree, c.is_card): c for c in sorted(follow, key=lambda c: -c.n_leaves)}
    told = []
    for each in kinds.values():
        own = agreement_stated(each, found._judged)
        name = f"the {each.noun}" if each.may_win else f"no single tree, but {each.name}"
        told.append(f"{name} of {each.in_size} ({own.text}, 95 % interval {own.interval})")
    said = f"Measured to follow it: {'; '.join(told)}." if told else "Nothing that was measured"
    if not told:
        sizes = sorted({c.n_leaves for c in candidates if c.is_tree and c.may_win})
        said += f" follows it surely (trees of {', '.join(map(str, sizes))} leaves"
        said += ", scorecards)." if any(c.is_card for c in candidates) else ")."
    for own in found.verdict.statements:
        if own.estimand == "coverage":
            said += f" A {own.of} answers {own.text} of rows in its place, and leaves the others."
    largest = max((c.size or c.n_leaves for c in candidates if c.is_tree), default=0)
    lacking = [] if told else [f"trees of more than {leaves(largest)}"]
    if not any(row.name == "scorecard" for row in found.table):
        lacking.append("a scorecard")
    if found.selective is None:
        lacking.append("a selective tree, which leaves rows to the model")
    if lacking:
        said += f" Not measured: {'; '.join(lacking)} (max_leaf_nodes= and kinds= of simplify)."
    return said


def _could_stand_in(candidate):
    return (
        candidate.rows.any()
        and candidate.name != "plain_tree_on_y"
        and (candidate.may_win or not candidate.is_tree)
    )


def _surely_follows(candidate, judged):
    is_known = judged.how != ON_LEARNED or candidate.is_proven
    return is_known and levels_of(candidate, judged)[0] == len(_LEVELS) - 1


def notes(candidates, judged, best) -> list[str]:
    """At most two sentences that matter most beside the verdict.

    Parameters
    ----------
    candidates : list of Candidate
        All results.
    judged : Judged
        The rows.
    best : Candidate or None
        The recommended tree.

    Returns
    -------
    list of str
        None, one or two.
    """
    if best is None:
        return []
    # in the order of what a reader loses who does not know them
    return [
        *_closer_result(candidates, judged, best),
        *_rare_classes(judged, best),
        *_smaller_tree(candidates, judged, best),
    ][:2]


# ------------------------------------------------------------------- the level


def _level(agreement, majority, judged):
    skill = (agreement - majority) / (1.0 - majority) if majority < 1 else float(agreement >= 1)
    limits = ((SHOWS, SHOWS_SKILL), (FOLLOWS, FOLLOWS_SKILL))
    limits = limits if judged.is_classifier else ((SHOWS_R2, SHOWS_R2), (FOLLOWS_R2, FOLLOWS_R2))
    return sum(agreement >= least and skill >= part for least, part in limits)


def _most_frequent(judged, rows):
    """The model's most frequent answer, and the agreement of always giving it."""
    if not judged.is_classifier:
        return None, 0.0
    weights = judged.weights[judged.places[rows]]
    shares = np.bincount(judged.places[rows], weights=weights, minlength=len(judged.labels))
    place = int(np.argmax(shares))
    return judged.labels[place : place + 1].tolist()[0], float(shares[place] / weights.sum())


# ------------------------------------------------------------------- sentences


def _judgement(told, label, max_leaf_nodes):
    best, judged, own = told.best, told.judged, told.agreement
    tree = f"{best.noun} of {best.in_size}"
    if best.is_proven:
        return f"The {tree} is proven to give the model's answer at every input."
    if judged.is_classifier and told.majority.value == own.value == 1.0:
        return (
            f"The model answers {_quoted(label)} to all {own.n_rows:,} rows, and so does the "
            f"{tree}. These rows cannot tell whether it follows the model elsewhere."
        )
    known = [f"95 % interval {own.interval}"] if told.is_known else []
    if judged.is_classifier:
        agrees = f"agrees with the model on {own.text} of {_rows_of(judged)}"
        agrees += "".join(f" ({ends})" for ends in known)
    else:
        agrees = f"explains {own.text} of the variance of the model's answers "
        agrees += f"({', '.join(['R2', *known])})"
    beside = ""
    if judged.is_classifier:
        beside = f" Always answering {_quoted(label)} would agree on {told.majority.text}."
    if not told.is_known:
        return (
            f"How far the {tree} follows the model on new rows cannot be told, since the model has "
            f"learned from these. On these, it {agrees}.{beside}"
        )
    return f"{_of_level(told, tree, max_leaf_nodes)} {agrees}.{beside}{_larger(told)}"


def _rows_of(judged):
    return "weighted rows" if judged.class_weight is not None else "rows"


def _of_level(told, tree, max_leaf_nodes):
    """What the interval allows to say, and the beginning of the next sentence."""
    best, (low, high) = told.best, told.levels
    more = f"is not decided by {told.agreement.n_rows:,} rows: give more."
    if low == high == 0 and all(levels[1] == 0 for levels, _ in told.alike):
        size = leaves(best.n_leaves if max_leaf_nodes is None else max_leaf_nodes)
        kind = "small scorecard" if best.is_card else f"tree of at most {size}"
        return f"No {kind} follows this model. The best one, of {best.in_size},"
    said = {
        (2, 2): f"The {tree} follows the model.",
        (1, 1): f"The {tree} shows what the model goes by, but cannot replace it.",
        (0, 0): f"The {tree} does not follow the model.",
        (1, 2): f"The {tree} shows what the model goes by. Whether it can replace it {more}",
        (0, 1): f"The {tree} cannot replace the model. Whether it shows what the model goes by "
        f"{more}",
        (0, 2): f"How far the {tree} follows the model {more}",
    }
    return f"{said[low, high]} It"


def _larger(told):
    """A sentence on a larger size that surely has a higher level than this one, or may have it."""
    if told.beyond is None:
        return ""
    levels, other = told.beyond
    name, (own, most) = f"{other.noun} of {other.in_size}", told.levels
    if levels[0] > own:
        statement = told.keep(agreement_stated(other, told.judged))
        return f" The {name} {_DOES[levels[0] - 1]}, with {statement.text}."
    if own < most:  # this one may have it, too
        return ""
    statement = told.keep(agreement_stated(other, told.judged))
    return (
        f" Whether the {name} {_DOES[levels[1] - 1]} is not decided, with {statement.text} "
        f"({statement.interval})."
    )


_DOES = ("shows what it goes by", "follows it")


def _of_the_choice(chosen):
    if chosen.is_share:
        return (
            f"Results that are chosen in this way agree on {chosen.text} of new rows, as the best "
            "of several is partly luck."
        )
    return (
        f"Results that are chosen in this way have an R2 of {chosen.text} on new rows, as the best "
        "of several is partly luck."
    )


def _distances(told):
    """How far the values of the tree are from the model's."""
    best, judged = told.best, told.judged
    distances = np.abs(best.predicted[best.rows] - judged.answers[best.rows])
    half, most = (told.add("distance", np.quantile(distances, part)).value for part in (0.5, 0.9))
    text = (
        f"Its values are within {half:.3g} of the model's on half of the rows, and within "
        f"{most:.3g} on nine rows in ten."
    )
    if best.within is None:
        return text
    within = told.add("distance", best.within, how=PROVEN).value
    return f"{text} They are proven to be within {within:.3g} at every input."


def _accuracies(told, model, tree, lost):
    noun = told.best.noun
    # what is gained is a loss below nothing, and so are the ends of its interval
    size = (
        lost
        if lost.value >= 0
        else replace(lost, value=-lost.value, low=-lost.high, high=-lost.low)
    )
    change = "nothing is lost"
    if float(size.text) > 0:
        unit = " points are" if lost.is_share else " is"
        change = f"{size.text}{unit} {'lost' if size is lost else 'gained'}"
    change += f" (95 % interval {size.interval})"
    if lost.is_share:
        return (
            f"The model is right on {model.text} of the {model.n_rows:,} rows, the {noun} on "
            f"{tree.text}: {change}."
        )
    return (
        f"On the true values of the {model.n_rows:,} rows, R2 is {model.text} for the model and "
        f"{tree.text} for the {noun}: {change}."
    )


def _beside_plain(told, others):
    """A sentence on the tree of that size that is fitted to the true labels, without the model."""
    plain = [c for c in others if c.name == "plain_tree_on_y" and c.rows.any()]
    if not plain:
        return []
    (plain,) = plain[:1]
    agreement = told.keep(agreement_stated(plain, told.judged))
    accuracy = told.keep(accuracy_stated(plain, told.judged))
    if accuracy.is_share:
        right = f" and is right on {accuracy.text}" if accuracy.text else ""
        told_of = f"agrees on {agreement.text}{right}"
    else:
        right = f", and {accuracy.text} on the true values" if accuracy.text else ""
        told_of = f"has an R2 of {agreement.text} on the model's answers{right}"
    return [f"A plain tree of {plain.in_size}, grown on y without the model, {told_of}."]


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
    share = agreement_stated(other, judged)
    size = f" ({other.in_size})" if other.may_win else ""
    how = f"agrees on {share.text} of rows"
    if not judged.is_classifier:
        how = f"has an R2 of {share.text}"
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
            f"The model answers {_quoted(label)} to only {n:,} of these rows. These are too "
            f"few to tell how the {best.noun} does there."
        ]
    return [
        f"The model gives {len(rare)} of its answers to fewer than {FEW} of these rows each. They "
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
