"""Slow and obvious answers about numbers that may be off by a tolerance, and about their audits.

Nothing of the package is used here. Thresholds come from the structures of each library, answers
are those of the model's own ``predict`` or ``predict_proba``, and what is smallest is found by
going through everything. A number is within `atol` of another if the difference of the two
doubles, as a double, is at most `atol`.
"""

from dataclasses import dataclass
from itertools import chain, combinations, product

import numpy as np
from oracles import in_domain
from random_models import ask, stored_thresholds
from scipy.optimize import linprog

FLOAT32_MAX = float(np.finfo(np.float32).max)


# Which rows there are


def axis_values(models, rows=(), domain=None, gaps=(), *, finer=False):
    """For each feature, numbers of which some lie in each cell of some models, ascending.

    Every threshold gives the float32 number next to it and both neighbours, the same of float64 if
    the models are `finer`; `rows` give their own values.
    `domain` are the statements of `oracles.in_domain`: whole numbers are added where it asks for
    them. Features of `gaps` may be missing: NaN comes last.
    """
    domain = domain or {}
    ones = [j for name in ("one_hot", "at_most_one", "implies") for j in _flat(domain, name)]
    found = []
    for j in range(models[0].n_features_in_):
        cuts = np.concatenate([stored_thresholds(m, m.n_features_in_)[j] for m in models])
        near = cuts[np.abs(cuts) < FLOAT32_MAX].astype(np.float32)
        ends = [np.nextafter(near, np.float32(end)) for end in (-np.inf, np.inf)]
        bounds = dict(domain.get("bounds", ())).get(j, (-FLOAT32_MAX, FLOAT32_MAX))
        own = np.concatenate([near, *ends, bounds, [row[j] for row in rows]]).astype(np.float32)
        own = own[~np.isnan(own)].astype(np.float64)
        if finer:
            cuts = cuts[np.abs(cuts) < FLOAT32_MAX]
            own = np.concatenate([own, cuts, *(np.nextafter(cuts, e) for e in (-np.inf, np.inf))])
        if j in ones:
            own = np.array([0.0, 1.0])
        elif j in domain.get("integers", ()):
            whole = np.concatenate([np.floor(own), np.ceil(own)]).astype(np.float32)
            own = whole.astype(np.float64)
        own = np.unique(own[(own >= bounds[0]) & (own <= bounds[1])])
        found.append(np.append(own, np.nan) if j in gaps else own)
    return found


def _flat(domain, name):
    return chain.from_iterable(domain.get(name, ()))


def all_rows(values):
    """Every combination of the values of the features, the last feature changing fastest."""
    return np.array(list(product(*values)), dtype=np.float64)


def inside(rows, domain=None):
    """Which rows satisfy the statements of a domain; of what is missing, nothing is stated."""
    domain = domain or {}
    return np.array([in_domain(np.where(np.isnan(row), 0.0, row), **domain) for row in rows])


def n_changes(rows, row, besides=()):
    """In how many features rows differ from a row, those of `besides` left out."""
    row = np.asarray(row, dtype=np.float32).astype(np.float64)
    apart = (rows != row) & ~(np.isnan(rows) & np.isnan(row))
    apart[:, list(besides)] = False
    return apart.sum(axis=1)


def near_rows(rows, X, max_changes, besides=()):
    """Which rows differ from some row of X in at most so many features, but for `besides`."""
    found = np.zeros(len(rows), dtype=bool)
    for row in X:
        found |= n_changes(rows, row, besides) <= max_changes
    return found


def numbers_of(model, rows):
    """Values, or probabilities of all classes, as doubles: a column each."""
    method = "predict_proba" if hasattr(model, "classes_") else "predict"
    found = ask(model, rows, method).astype(np.float64)
    return found if found.ndim == 2 else found[:, None]


# What one leaf can answer


def _place(number):
    """The place of a double in the order of all of them."""
    bits = int(np.float64(number).view(np.int64))
    return bits if bits >= 0 else -(bits & 0x7FFF_FFFF_FFFF_FFFF)


def _at(place):
    bits = place if place >= 0 else -place | (1 << 63)
    return float(np.uint64(bits).view(np.float64))


def last_within(number, atol):
    """The largest double that is within `atol` of a double."""
    low, high = _place(number), _place(number + 2.0 * atol + abs(number) + 1.0)
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if _at(middle) - number <= atol else (low, middle)
    return _at(low)


def one_number_serves(numbers, atol):
    """Whether some double is within `atol` of all of these."""
    low, high = float(np.min(numbers)), float(np.max(numbers))
    clear = 1e-9 * (abs(low) + abs(high) + atol)
    if abs(high - low - 2.0 * atol) > clear:
        return high - low < 2.0 * atol
    return high - last_within(low, atol) <= atol


# The smallest trees: `oracles.min_depth` and the like take a `Numbers` for a grid of labels


@dataclass
class Numbers:
    """Answers on a grid, of which each leaf of a tree has to be within `atol`.

    Attributes
    ----------
    answers : array of shape (*shape, n_outputs)
    promised : bool array of that shape
        Cells that are no matter of concern are False.
    atol : float
    labels : int array of that shape or None
        Classes that each leaf has to answer as well.
    """

    answers: np.ndarray
    promised: np.ndarray
    atol: float
    labels: np.ndarray | None = None

    @property
    def shape(self):
        return self.promised.shape

    def is_leaf(self, box):
        cells = tuple(slice(first, last + 1) for first, last in box)
        here = self.promised[cells]
        if not here.any():
            return True
        if self.labels is not None and np.ptp(self.labels[cells][here]) > 0:
            return False
        return all(one_number_serves(own, self.atol) for own in self.answers[cells][here].T)


def grid_of(model, values, atol, *, promised=None):
    """The cells of a model as a `Numbers`.

    Neighbouring numbers of a feature are one cell where the model never tells them apart. A cell is
    promised if one of its rows is.
    """
    rows = all_rows(values)
    shape = tuple(len(own) for own in values)
    parts = [numbers_of(model, rows)]
    n_outputs = parts[0].shape[1]
    if hasattr(model, "classes_"):
        parts.append(np.searchsorted(model.classes_, ask(model, rows))[:, None])
    answers = np.column_stack(parts).reshape(*shape, -1)
    promised = np.ones(shape, dtype=bool) if promised is None else promised.reshape(shape)
    for j in range(len(shape)):
        slices, asked = np.moveaxis(answers, j, 0), np.moveaxis(promised, j, 0)
        first = [0]
        for k in range(1, len(slices)):
            if (slices[k] != slices[k - 1]).any():
                first.append(k)
        answers = np.take(answers, first, axis=j)
        promised = np.moveaxis(np.logical_or.reduceat(asked, first, axis=0), 0, j)
    labels = answers[..., n_outputs] if len(parts) == 2 else None
    return Numbers(answers[..., :n_outputs], promised, atol, labels)


def smallest_on_a_line(numbers, atol):
    """Fewest pieces of a sequence of which each has one number that serves all of it."""
    n, first = 0, 0
    while first < len(numbers):
        last = first + 1
        while last < len(numbers) and one_number_serves(numbers[first : last + 1], atol):
            last += 1
        n, first = n + 1, last
    return n


# The fewest trees of a sum


def least_error(columns, target, *, offset, signs):
    """The smallest largest difference of a weighted sum of columns to a target.

    Weights are at least 0 unless `signs`; with `offset`, a number may be added.
    """
    n, n_columns = columns.shape
    matrix = np.column_stack([columns, np.ones(n)]) if offset else columns
    if not matrix.shape[1]:
        return float(np.abs(target).max())
    ones = np.ones((n, 1))
    bounds = [(None if signs else 0.0, None)] * n_columns + [(None, None)] * offset + [(0.0, None)]
    found = linprog(
        np.append(np.zeros(matrix.shape[1]), 1.0),
        A_ub=np.block([[matrix, -ones], [-matrix, -ones]]),
        b_ub=np.concatenate([target, -target]),
        bounds=bounds,
        method="highs",
    )
    assert found.status == 0, found.message
    return float(found.fun)


def fewest_columns(columns, target, *, offset, signs):
    """For each number of columns, the smallest error of a choice of so many."""
    columns, first = np.unique(np.column_stack([columns, target]), axis=0)[:, :-1], columns
    target = np.unique(np.column_stack([first, target]), axis=0)[:, -1]
    return np.array(
        [
            min(
                least_error(columns[:, list(some)], target, offset=offset, signs=signs)
                for some in combinations(range(columns.shape[1]), n)
            )
            for n in range(columns.shape[1] + 1)
        ]
    )


# Audits


def lines_of(rows, features):
    """Numbers of the groups of rows that differ in some features alone."""
    others = np.delete(rows, list(features), axis=1)
    if not others.shape[1]:
        return np.zeros(len(rows), dtype=np.intp)
    _, line = np.unique(np.nan_to_num(others, nan=3e38 * 1e3), axis=0, return_inverse=True)
    return line.ravel()


def is_monotone_in(rows, response, feature):
    """Whether the response never falls where one feature alone rises."""
    known = ~np.isnan(rows[:, feature])
    rows, response = rows[known], np.asarray(response)[known]
    line = lines_of(rows, [feature])
    order = np.lexsort((rows[:, feature], line))
    same = np.diff(line[order]) == 0
    return not (same & (np.diff(response[order]) < 0)).any()


def largest_move(rows, response, features, kept=None):
    """How far changes of some features alone move the response; for classes, 1 where they do.

    `kept` are the rows of which one has to be one.
    """
    line, response = lines_of(rows, features), np.asarray(response)
    found = 0.0
    for number in np.unique(line):
        here = line == number
        if kept is not None and not kept[here].any():
            continue
        if response.dtype.kind == "f":
            # each row that is kept with each other row of its line
            own = response[here] if kept is None else response[here & kept]
            found = max(found, own.max() - response[here].min(), response[here].max() - own.min())
        else:
            found = max(found, float(np.unique(response[here]).size > 1))
    return float(found)


def plans(row, values, accepts, *, max_changes, scale, metric="l1", frozen=(), direction=None,
          domain=None):  # fmt: skip
    """The nearest change of each set of features that is accepted: set -> distance.

    A one-hot group of the domain is one feature: the tuple of its features. Changes of numbers
    count by their sizes over `scale`, those of a group 1.
    """
    row = np.asarray(row, dtype=np.float64)
    groups = [tuple(group) for group in (domain or {}).get("one_hot", ())]
    tied = {j for group in groups for j in group}
    units = [*groups, *[(j,) for j in range(len(row)) if j not in tied]]
    own = row.astype(np.float32).astype(np.float64)
    values = [np.asarray(known) for known in values]
    values = [np.union1d(v[~np.isnan(v)], [own[j]]) for j, v in enumerate(values)]
    for j, way in dict(direction or {}).items():
        values[j] = values[j][values[j] >= own[j] if way == "up" else values[j] <= own[j]]
    for j in frozen:
        values[j] = own[[j]]
    found = {}
    for n in range(1, max_changes + 1):
        for chosen in combinations(units, n):
            features = [j for unit in chosen for j in unit]
            rows = np.tile(own, (int(np.prod([len(values[j]) for j in features])), 1))
            rows[:, features] = all_rows([values[j] for j in features])
            for unit in chosen:
                rows = rows[(rows[:, list(unit)] != own[list(unit)]).any(axis=1)]
            rows = rows[inside(rows, domain)] if len(rows) else rows
            rows = rows[accepts(rows)] if len(rows) else rows
            if len(rows):
                step = np.abs(rows - own) / scale
                for group in groups:
                    step[:, list(group)] /= np.maximum(step[:, group].sum(axis=1), 1.0)[:, None]
                    step[:, group[0]] = step[:, list(group)].sum(axis=1)
                    step[:, list(group[1:])] = 0.0
                size = {
                    "l1": step.sum(axis=1),
                    "l2": np.sqrt((step**2).sum(axis=1)),
                    "linf": step.max(axis=1),
                }[metric]
                names = [unit if len(unit) > 1 else unit[0] for unit in chosen]
                found[frozenset(names)] = float(size.min())
    return found
