"""Why a row has its answer: the parts of its total that speak most for it, in words."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ensemble_simplify.scorecards._text import quoted


@dataclass(frozen=True)
class Reason:
    """A bin of a row that speaks for the answer it is given; prints as a sentence.

    Attributes
    ----------
    feature : str
        The column, or two: "age and job".
    text : str
        The bin: "30 < age <= 45".
    points : float
        Its points for the answer: of two classes, minus the points where it is not the event;
        of several, what they are above those of the class that comes second.
    more : float
        How many more that is than what it is compared with.
    beside : str
        What it is compared with: another bin, or the mean of the rows.
    sentence : str
        All this in words.

    Examples
    --------
    >>> from ensemble_simplify import Reason
    >>> print(Reason("age", "age <= 30", 3.0, 8.0, "age > 45", "age <= 30: 3 points"))
    age <= 30: 3 points
    """

    feature: str
    text: str
    points: float
    more: float
    beside: str
    sentence: str

    def __str__(self):
        return self.sentence


def reasons(named, scores, bins, n, against) -> list[list[Reason]]:
    """For each row, at most `n` reasons, the largest first.

    Parameters
    ----------
    named : NamedCard
    scores : ndarray of shape (n_rows, n_scores)
        Totals.
    bins : list of tuple of ndarray
        For each term of the card, the bins of the rows, by column.
    n : int
    against : {"best", "mean"}
        What a bin is compared with: the one that speaks least for the answer, or the mean.
    """
    weights, texts = _answers(named, scores)
    parts = named.parts()
    found = [[] for _ in scores]
    # rows with the same answer, beside the same second one, are told at once
    pairs, which = np.unique(weights, axis=0, return_inverse=True)
    which = which.ravel()
    for k, weight in enumerate(pairs):
        rows = np.flatnonzero(which == k)
        # a row's points, by part
        own, beside, names = [], [], []
        for part in parts:
            cells = tuple(each[rows] for each in bins[part.place])
            points = part.term.points @ weight
            own.append((part.line_of()[cells], points[cells]))
            if against == "mean":
                share = named.rows[part.place]
                beside.append(float((share * points).sum() / share.sum()))
                names.append("")
            else:
                least = min(part.told, key=lambda line: float(line.points @ weight))
                beside.append(float(least.points @ weight))
                names.append(least.text)
        points = np.array([each for _, each in own]).reshape(len(parts), len(rows))
        more = points - np.array(beside)[:, None]
        signed = named.classes is None and against == "mean"
        size = np.abs(more) if signed else more
        for at, row in enumerate(rows):
            for p in np.argsort(-size[:, at], kind="stable")[:n]:
                if not size[p, at] > 0:
                    break
                line = parts[p].lines[own[p][0][at]]
                reason = _reason(
                    named, parts[p].name, line, points[p, at], more[p, at], names[p], texts[row]
                )
                found[row].append(reason)
    return found


def _answers(named, scores):
    """For each row, what its points are multiplied by to speak for its answer, and for what."""
    n_rows, n_scores = scores.shape
    if named.classes is None:
        return np.ones((n_rows, 1)), [""] * n_rows
    names = [quoted(label) for label in named.classes]
    if named.card.link == "logistic":
        place = named.card.index_of(scores)
        is_event = place == named.card.event
        return np.where(is_event, 1.0, -1.0)[:, None], [f" for {names[k]}" for k in place]
    order = np.argsort(-scores, axis=1, kind="stable")
    weights = np.zeros((n_rows, n_scores))
    rows = np.arange(n_rows)
    weights[rows, order[:, 0]], weights[rows, order[:, 1]] = 1.0, -1.0
    return weights, [f" for {names[a]} rather than {names[b]}" for a, b in order[:, :2]]


def _reason(named, feature, line, points, more, other, whom):
    own, far = named.in_points(points), named.in_points(abs(more))
    unit = "point" if own in ("1", "-1") else "points"
    than = other or "the mean of the rows"
    how = "more" if more >= 0 else "less"
    sentence = f"{line.text}: {own} {unit}{whom}, {far} {how} than {than}"
    if named.card.link == "log":
        sentence = f"{line.text}: relativity {own}, {np.exp(more):.2f} times that of {than}"
        points, more = map(named.shown_as, (points, more))
    return Reason(feature, line.text, float(points), float(more), than, sentence)
