"""A model on rows of every cell of its inputs: what its answers do where some features change."""

import itertools

import numpy as np

from ensemble_simplify.grid.domain import read_domain
from ensemble_simplify.grid.thresholds import cut_points
from ensemble_simplify.reading.forest import read_forest


def next_float32(numbers):
    return np.nextafter(np.float32(numbers), np.float32(np.inf)).astype(float)


class EveryCell:
    """A model's own answers on the ends of every cell inside a domain.

    Parameters
    ----------
    model : fitted estimator
    column : int or None
        The class whose probability is the answer; None: what ``predict`` says.
    domain : Domain or None
    values : dict of int to list
        Values of some features in place of their thresholds and the numbers after these.
    missing : sequence of int
        Features that may be missing.
    """

    def __init__(self, model, column=None, domain=None, values=(), missing=()):
        self.model, self.column, forest = model, column, read_forest(model)
        cuts = cut_points(forest.feature, forest.threshold, forest.n_features)
        own = [[*c, *next_float32(c)] if len(c) else [0.0] for c in cuts]
        for j, given in dict(values).items():
            own[j] = list(given)
        own = [[*part, np.nan] if j in missing else part for j, part in enumerate(own)]
        self.cuts = cuts
        rows = np.array(list(itertools.product(*own)))
        self.inside = None if domain is None else read_domain(domain, forest.n_features)
        if self.inside is not None:
            rows = rows[self.inside.contains(rows)]
        self.table = None if forest.table.is_plain else forest.table
        self.rows, self.answers = rows, self.ask(rows)

    def ask(self, rows):
        rows = rows if self.table is None else self.table.decode(rows)
        if self.column is None:
            return self.model.predict(rows)
        return self.model.predict_proba(rows)[:, self.column].astype(float)

    def numbers(self, rows):
        return np.asarray(rows if self.table is None else self.table.encode(rows), dtype=float)

    def groups(self, features):
        """The rows that differ in some features alone."""
        others = np.nan_to_num(np.delete(self.rows, features, axis=1), nan=1e30)
        _, number = np.unique(others, axis=0, return_inverse=True)
        number = number.ravel()
        order = np.argsort(number, kind="stable")
        return np.split(order, np.flatnonzero(np.diff(number[order])) + 1)

    def changed(self, rows, row, features):
        """In how many cells, but for those of some features, rows differ from another one."""
        n = np.zeros(len(rows), dtype=int)
        for j, cuts in enumerate(self.cuts):
            if j not in features:
                codes = (np.searchsorted(cuts, np.float32(own)) for own in (rows[:, j], row[j]))
                n += np.not_equal(*codes)
        return n

    def move(self, features, near=None, max_changes=0):
        """How far changes of some features alone move the number; of classes, 1 if they do."""
        found = 0.0
        for group in self.groups(features):
            row = self.rows[group[:1]]
            if near is not None and not any(
                self.changed(row, own, features)[0] <= max_changes for own in near
            ):
                continue
            answers = self.answers[group]
            if self.column is None and self.model.__sklearn_tags__().classifier_tags:
                found = max(found, float(len(set(answers)) > 1))
            else:
                found = max(found, float(answers.max() - answers.min()))
        return found

    def is_monotone(self, j, sign):
        """Whether the number, times a sign, never falls where feature j alone rises."""
        for group in self.groups([j]):
            group = group[~np.isnan(self.rows[group, j])]
            group = group[np.argsort(self.rows[group, j], kind="stable")]
            answers = sign * self.answers[group]
            if (np.diff(answers) < 0).any():
                return False
        return True
