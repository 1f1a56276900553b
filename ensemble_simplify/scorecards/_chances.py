"""What the totals of a card say of how often an event happens, and points that tell it well.

`refitted` gives the bins of a card other points, `with_chances` fits the link of its totals,
`Scale` writes totals in the points that lenders are used to, `score_table` lists what was observed,
and `against` finds columns along which rows go another way than they are asked to.
"""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

import numpy as np
from scipy.optimize import minimize, minimize_scalar
from scipy.special import expit, log_expit, logsumexp, softmax

from ensemble_simplify.scorecards._bins import signs_of
from ensemble_simplify.scorecards._card import Card, singles

# Parts of the rows of which each is told by points of the others, and of how many at most: more
# tell the chances as they are.
_FOLDS, _MOST_CROSSED = 5, 20_000
# Steps between bins are shrunk as by so many rows.
_RIDGE = 1.0


def refitted(card, X, weight, wanted, shapes, is_number) -> Card:
    """The bins of a card with the points of the largest likelihood for what is wanted of rows.

    Points learned from labels alone tell little of rows that the model is sure of. Bins of levels
    with the same points keep the same, as neighbours among those of numbers do; codes and gaps have
    their own.

    Parameters
    ----------
    card : Card
    X : float64 array of shape (n_rows, n_columns)
    weight : float64 array of shape (n_rows,)
    wanted : float64 array of shape (n_rows, n_scores)
        The chance of the event, or of each class, the value, or its mean if the sums are its
        logarithm; NaN: not known.
    shapes : int array of shape (n_columns,)
        How points may change along each column; see `card_path`.
    is_number : bool array of shape (n_columns,)
    """
    if not card.terms:
        return card
    known = ~np.isnan(wanted).any(axis=1)
    wanted, centre, scale = wanted[known], np.zeros(card.n_scores), 1.0
    if card.link == "log":
        centre = np.average(wanted, axis=0, weights=weight[known])
        wanted, centre = wanted / centre, np.log(centre)
    elif card.link == "identity":
        centre = np.average(wanted, axis=0, weights=weight[known])
        scale = (
            float(np.sqrt(np.average((wanted - centre)[:, 0] ** 2, weights=weight[known]))) or 1.0
        )
        wanted = (wanted - centre) / scale
    bins = [np.ravel_multi_index(term.bins(X), term.points.shape[:-1]) for term in card.terms]
    patterns, pattern = np.unique(np.column_stack(bins), axis=0, return_inverse=True)
    pattern, unit = pattern.ravel()[known], weight[known] * (len(weight) / weight.sum())
    told = np.column_stack([unit, unit[:, None] * wanted])
    told = np.column_stack([np.bincount(pattern, own, len(patterns)) for own in told.T])
    # what each parameter adds to the points of the bins of its term: steps along one column
    blocks, steps = [], []
    for term in card.terms:
        block, along = _parameters(term, is_number)
        blocks.append(block)
        steps.append((shapes[term.columns[0]] if along else 0, along))
    design = np.hstack(
        [block[own] for block, own in zip(blocks, patterns.T, strict=True)]
        + [np.ones((len(patterns), 1))]
    )
    free = [[0.0] * block.shape[1] for block in blocks]
    found = _least_points(card, design, told, [*free, [0.0]])
    signs, ends = free, np.cumsum([0, *(block.shape[1] for block in blocks)])
    for k, (shape, along) in enumerate(steps):
        own = slice(ends[k] + 1, ends[k] + along)
        signs[k][1:along] = signs_of(shape, found[own, 0]).tolist()
    if any(map(any, signs)):
        found = _least_points(card, design, told, [*signs, [0.0]])
    # fewer digits are the same on every machine
    found = scale * np.round(found, 6)
    points, base = [], found[-1] + centre
    for i, (term, block) in enumerate(zip(card.terms, blocks, strict=True)):
        own = (block @ found[ends[i] : ends[i + 1]]).reshape(term.points.shape)
        # bins that no training row is in are those that the card held to be alike
        mass = term.counts(X, weight)
        for place in np.argwhere(mass == 0.0):
            near = np.abs(term.points - term.points[tuple(place)]).sum(axis=-1)
            near[mass == 0.0] = np.inf
            own[tuple(place)] = own[np.unravel_index(near.argmin(), near.shape)]
        centre = (mass[..., None] * own).sum(axis=tuple(range(mass.ndim))) / mass.sum()
        points.append(own - centre)
        base = base + centre
    return card.with_points(points, base)


def _parameters(term, is_number):
    """Which parameters make the points of each bin of a term, and how many are levels and steps."""
    n, along = term.points[..., 0].size, 0
    if len(term.columns) == 2:
        return np.eye(n), along
    known = np.flatnonzero(~np.append(singles(term.edges[0]), True))
    points = term.points[known]
    if is_number[term.columns[0]]:
        run = np.r_[0, np.cumsum((points[1:] != points[:-1]).any(axis=1))]
    else:
        run = np.unique(points, axis=0, return_inverse=True)[1].ravel()
    along = run.max() + 1
    others = np.setdiff1d(np.arange(n), known)
    block = np.zeros((n, along + len(others)))
    block[known, :along] = np.tri(along)[run]
    block[others, along + np.arange(len(others))] = 1.0
    return block, along


def _least_points(card, design, told, signs):
    """The parameters of the least loss, those of steps with the signs that they may have."""
    ends = {1.0: (0.0, None), -1.0: (None, 0.0)}
    bounds = [ends.get(sign, (None, None)) for own in signs for sign in own]
    found = minimize(
        _points_loss,
        np.zeros(design.shape[1] * card.n_scores),
        args=(design, told, _MEANS[card.link]),
        jac=True,
        method="L-BFGS-B",
        bounds=[own for own in bounds for _ in range(card.n_scores)],
        options={"ftol": 1e-13, "gtol": 1e-8, "maxiter": 500},
    ).x
    return found.reshape(-1, card.n_scores)


# By links: what a row costs, but for what it pulls at its scores, and the mean that scores stand
# for, which is its derivative.
_MEANS = {
    "logistic": lambda s: (np.logaddexp(0.0, s)[:, 0], expit(s)),
    "softmax": lambda s: (logsumexp(s, axis=1), softmax(s, axis=1)),
    "identity": lambda s: (0.5 * s[:, 0] ** 2, s),
    "log": lambda s: (np.exp(s)[:, 0], np.exp(s)),
}


def _points_loss(found, design, told, means):
    """The loss of some points, shrunk, and its derivatives."""
    found = found.reshape(design.shape[1], -1)
    scores, count, total = design @ found, told[:, 0], told[:, 0].sum()
    cost, mean = means(scores)
    shrunk = np.vstack([found[:-1], np.zeros_like(found[-1:])])
    value = count @ cost - (told[:, 1:] * scores).sum() + 0.5 * _RIDGE * np.square(shrunk).sum()
    slope = design.T @ (count[:, None] * mean - told[:, 1:]) + _RIDGE * shrunk
    return value / total, slope.ravel() / total


def as_decided(card, X, weight, is_event) -> Card:
    """A card for two classes with the base at which the fewest rows change their class."""
    return replace(card, base=card.base - _cut_of(card.scores(X)[:, 0], is_event, weight))


def based(card, X, weight) -> Card:
    """A card of relativities: those of the bins with most weight are one, whose sum is zero."""
    points, base = [], card.base
    for term in card.terms:
        mass = term.counts(X, weight)
        most = term.points[np.unravel_index(mass.argmax(), mass.shape)]
        points.append(term.points - most)
        base = base + most
    return card.with_points(points, base)


def _cut_of(totals, is_event, weight):
    """The number above which totals are of the event for the fewest changes of class."""
    distinct, place = np.unique(totals, return_inverse=True)
    lead = np.bincount(place.ravel(), np.where(is_event, weight, -weight))
    wrong = np.concatenate([[0.0], np.cumsum(lead)])
    # halfway between two totals; of equally good ones, the one next to the even chance
    ends = np.concatenate([[distinct[0] - 1.0], distinct, [distinct[-1] + 1.0]])
    middle = (ends[:-1] + ends[1:]) / 2.0
    best = np.flatnonzero(wrong <= wrong.min() + 1e-9 * weight.sum())
    return middle[best[np.abs(middle[best]).argmin()]]


def with_chances(card, X, weight, rates) -> Card:
    """A card whose link says how often answers are given at each total.

    Two classes have a slope and a shift of their own, by maximum likelihood, whatever side of one
    half the class of a total is on: a model can part classes elsewhere. Rates are drawn towards one
    half as by a row of each class (Platt), so that no chance is 0 or 1.

    Parameters
    ----------
    card : Card
    X : float64 array of shape (n_rows, n_columns)
    weight : float64 array of shape (n_rows,)
    rates : float64 array of shape (n_rows,) or (n_rows, n_classes)
        How often each row has the event, or each class: labels as 0 and 1, or probabilities. Rows
        of which nothing is known have NaN.
    """
    known = ~np.isnan(rates.reshape(len(rates), -1)).any(axis=1)
    sums, weight, rates = card.scores(X[known]), weight[known], rates[known]
    total = weight.sum()
    if card.link == "softmax":

        def loss(slope):
            logits = slope * sums
            return -((rates * logits).sum(axis=1) - logsumexp(logits, axis=1)) @ weight / total

        spread = float(np.sqrt(np.average(np.ptp(sums, axis=1) ** 2, weights=weight))) or 1.0
        return replace(card, slope=_least(loss, 4.0 / spread))
    slope, shift = _link_of(sums[:, 0], weight, rates)
    return replace(card, slope=slope, shift=shift)


def _link_of(sums, weight, rates):
    """The slope and the shift by which sums tell rates best."""
    # all rows with one sum count as one, in units of rows
    distinct, place = np.unique(sums, return_inverse=True)
    weight = weight * (len(weight) / weight.sum())
    yes = np.bincount(place.ravel(), weights=weight * rates)
    no = np.bincount(place.ravel(), weights=weight * (1.0 - rates))
    n_yes, n_no = yes.sum(), no.sum()
    # a row with the event counts as this much of one, and as little of one without it
    high, low = (n_yes + 1.0) / (n_yes + 2.0), 1.0 / (n_no + 2.0)
    yes, no = yes * high + no * low, yes * (1.0 - high) + no * (1.0 - low)
    centre, spread = distinct.mean(), float(distinct.std()) or 1.0
    z = (distinct - centre) / spread
    found = minimize(
        _logistic_loss,
        [1.0, np.log(yes.sum() / no.sum())],
        args=(z, yes, no),
        jac=True,
        method="L-BFGS-B",
        # where the data say otherwise, chances are the same for all: they never fall
        bounds=[(1e-6, None), (None, None)],
        options={"ftol": 1e-14, "gtol": 1e-10},
    ).x
    # fewer digits are the same on every machine
    slope = float(f"{found[0] / spread:.6g}")
    return slope, float(f"{found[1] - found[0] * centre / spread:.6g}")


def by_others(card, X, weight, rates, shapes, is_number) -> np.ndarray:
    """Chances of rows by points of the same bins that were fitted to the labels of other rows.

    Points tell the labels that they are fitted to better than those of new rows: chances fitted to
    these were up to 9 points beside the true ones on 500 rows of simulated loans, and 4 so.
    """
    known = ~np.isnan(rates)
    n_least = min((rates[known] == 1.0).sum(), (rates[known] == 0.0).sum())
    if not card.terms or n_least < _FOLDS or len(X) > _MOST_CROSSED:
        return rates
    fold = np.random.default_rng(0).permutation(len(X)) % _FOLDS
    sums = np.zeros(len(X))
    for k in range(_FOLDS):
        own, kept = fold == k, (fold != k) & known
        other = refitted(card, X[kept], weight[kept], rates[kept, None], shapes, is_number)
        sums[own] = other.scores(X[own])[:, 0]
    slope, shift = _link_of(sums[known], weight[known], rates[known])
    return np.where(known, expit(slope * sums + shift), np.nan)


class Scale(NamedTuple):
    """What totals mean: odds double every `pdo` points, and are `odds` at a total of `points`."""

    pdo: float
    points: float
    odds: float

    def of(self, card) -> Card:
        """The same card for two classes, chances and all, with its totals on this scale."""
        slope = float(np.log(2.0)) / self.pdo
        shift = float(np.log(self.odds)) - slope * self.points
        # of a score, the total that has the same log-odds
        factor, by = card.slope / slope, (card.shift - shift) / slope
        points = [factor * term.points for term in card.terms]
        scaled = card.with_points(points, factor * card.base + by)
        return replace(scaled, slope=slope, shift=shift, at=factor * card.at + by)


def against(values, rates, weight, direction) -> tuple[float, float] | None:
    """Mean rates in the lowest and the highest fifth of a column that goes the other way.

    None where it does not, or not by more than two standard errors.
    """
    known = ~np.isnan(values) & ~np.isnan(rates) & (weight > 0)
    if known.sum() < 10:
        return None
    values, rates, weight = values[known], rates[known], weight[known]
    low, high = np.quantile(values, [0.2, 0.8])
    if low == high:
        low, high = values.min(), values.max()
    ends = []
    for rows in (values <= low, values >= high):
        mean = np.average(rates[rows], weights=weight[rows])
        spread = np.average((rates[rows] - mean) ** 2, weights=weight[rows])
        ends.append((float(mean), spread * np.square(weight[rows]).sum() / weight[rows].sum() ** 2))
    apart = direction * (ends[1][0] - ends[0][0])
    return None if apart >= -2.0 * np.sqrt(ends[0][1] + ends[1][1]) else (ends[0][0], ends[1][0])


def _logistic_loss(found, z, yes, no):
    """The mean loss of a slope and a shift, and its derivatives."""
    logits = found[0] * z + found[1]
    total = yes.sum() + no.sum()
    pull = ((yes + no) * expit(logits) - yes) / total
    value = -(yes @ log_expit(logits) + no @ log_expit(-logits)) / total
    return value, np.array([pull @ z, pull.sum()])


def _least(loss, unit):
    """The slope of the least loss, within a factor of 32 of `unit`."""
    found = minimize_scalar(
        lambda power: loss(unit * 2.0**power), bounds=(-5.0, 5.0), method="bounded"
    )
    return float(f"{unit * 2.0**found.x:.6g}")


def score_table(card, X, weight=None, is_event=None) -> dict[str, np.ndarray]:
    """What totals mean: a dict of arrays, one entry for each total among some rows, ascending.

    Keys are ``"total"``, ``"probability"`` of the event, ``"share"`` of the rows that have this
    total, and ``"observed"``, the share of rows with the event among them, if `is_event` tells:
    1, 0, or NaN of rows of which nothing is known. For cards of two classes.
    """
    weight = np.ones(len(X)) if weight is None else np.asarray(weight, dtype=np.float64)
    total, place = np.unique(card.scores(X)[:, 0], return_inverse=True)
    count = np.bincount(place.ravel(), weights=weight)
    found = {"total": total, "probability": card.chances(total), "share": count / count.sum()}
    if is_event is not None:
        known = weight * ~np.isnan(is_event)
        events = np.bincount(place.ravel(), weights=known * np.nan_to_num(is_event))
        seen = np.bincount(place.ravel(), weights=known)
        found["observed"] = np.divide(events, seen, np.full(len(seen), np.nan), where=seen > 0)
    return found
