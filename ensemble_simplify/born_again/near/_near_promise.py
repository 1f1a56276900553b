"""A promise near training rows: what is checked before the search, and kept after it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from sklearn.utils import Bunch

from ensemble_simplify.born_again.near._leaf_answers import are_alike
from ensemble_simplify.grid import Axes, distinct_rows
from ensemble_simplify.proof import within


@dataclass(frozen=True, eq=False)
class Training:
    """Training rows of positive weight; those of one cell and target are one."""

    rows: np.ndarray  # float32
    targets: np.ndarray  # class indices, or numbers
    weight: np.ndarray
    cells: np.ndarray  # int32, a column for each axis

    @classmethod
    def of(cls, X, targets, weight, cells):
        """The rows as they were given; `X` is float32."""
        counted = weight > 0
        X, targets, weight, cells = (part[counted] for part in (X, targets, weight, cells))
        number = np.unique(targets, return_inverse=True)[1]
        first, place = distinct_rows(np.column_stack([cells, number]))
        return cls(X[first], targets[first], np.bincount(place, weight), cells[first])


@dataclass(frozen=True, eq=False)
class Finer:
    """Training rows that an ensemble answers otherwise than what float32 makes of them."""

    rows: np.ndarray  # as they were given, as numbers
    cells: np.ndarray  # int32, a column for each axis
    answers: np.ndarray  # what the ensemble itself answers: class indices, or rows of numbers
    rounded: np.ndarray  # and the answers of the cells
    weights: np.ndarray

    @classmethod
    def of(cls, X, cells, answers, weights):
        """Those of positive weight; `answers` are as `answers_to_finer_rows` gives them.

        There are none where the ensemble rounds rows itself.
        """
        given, rounded = answers or (np.zeros(0, dtype=np.intp),) * 2
        apart = given != rounded
        at = np.flatnonzero(apart if apart.ndim == 1 else apart.any(axis=1))
        at = at[weights[at] > 0]
        return cls(X[at], cells[at], given[at], rounded[at], weights[at])

    def wrong(self, told, closeness):
        """How many a tree that was asked answers otherwise, as given, and by their cells."""
        given, rounded = (
            ~are_alike(told, truth, closeness) for truth in (self.answers, self.rounded)
        )
        return np.array([given.sum(), rounded.sum()])


@dataclass(frozen=True, eq=False)
class Promise:
    """What a fitted estimator keeps of its promise near training rows."""

    max_changes: int
    axes: Axes  # of the ensemble, inside the domain
    training: Training
    finer: Finer
    trees: list  # of `PathTree`, on the path of exceptions

    @property
    def rows(self):
        """A training row of each cell and class, as float32 represents it, and all finer rows."""
        known = self.training.rows.astype(self.finer.rows.dtype)
        return np.concatenate([known, self.finer.rows])

    def covers(self, X):
        """Which rows lie in a cell that differs from a training row's on few enough axes."""
        known = self.training.cells[distinct_rows(self.training.cells)[0]]
        return within(self.axes.encode_rows(X).T, known, self.max_changes)


def check_promise(model):
    """Refuse parameters that do not go with one another, before any work is done."""
    if model.max_changes is None:
        for name, value in (("tolerance", 0), ("max_leaf_nodes", None)):
            if getattr(model, name) != value:
                raise ValueError(
                    f"{name}={getattr(model, name)!r} needs max_changes: exceptions are counted "
                    "among points near training rows. Set max_changes=0 or 1, or leave it out."
                )
        return
    if model.objective in ("depth", "depth_then_leaves"):
        raise ValueError(
            f"objective={model.objective!r} does not go with max_changes={model.max_changes}: near "
            "training rows only the number of leaves is minimised. Use objective='auto' or "
            "'leaves'."
        )
    for name in ("post_prune", "merge_thresholds"):
        if getattr(model, name):
            raise ValueError(
                f"{name}=True does not go with max_changes={model.max_changes}: after it, the "
                "answers are kept on the training rows only. Use max_changes=0 for that, or "
                f"{name}=False."
            )
    if model.max_changes > 1 and model.atol is not None:
        raise ValueError(
            f"max_changes={model.max_changes} does not go with atol={model.atol!r}: with so many "
            "changes there are too many points to list. Use max_changes=None, 0 or 1."
        )
    if model.max_changes > 1 and (model.tolerance or model.max_leaf_nodes is not None):
        name = "tolerance" if model.tolerance else "max_leaf_nodes"
        raise ValueError(
            f"{name}={getattr(model, name)!r} does not go with max_changes={model.max_changes}: "
            "exceptions are counted among points that are listed, and with so many changes there "
            "are too many. Use max_changes=0 or 1."
        )


def path_bunch(steps, finer, closeness):
    """The path of exceptions as a Bunch of arrays; each finer row is a point of its own."""
    names = [
        "n_leaves", "n_exceptions", "n_row_exceptions", "weighted_share", "held_share", "agreement",
    ]  # fmt: skip
    if closeness is not None and not closeness.labelled:
        names += ["r2", "max_difference"]
    path = Bunch(**{name: np.array([getattr(step, name) for step in steps]) for name in names})
    wrong = [finer.wrong(step.answers_at(finer.cells), closeness) for step in steps]
    given, rounded = np.array(wrong).T
    path.n_exceptions += given
    path.n_row_exceptions += given - rounded
    return path


def chosen_step(path, tolerance=0.0, n_leaves=None):
    """Place on a path of the first tree within the tolerance, or the last of so many leaves."""
    within = np.flatnonzero(path.weighted_share <= tolerance)
    place = int(within[0]) if within.size else len(path.n_leaves) - 1
    if n_leaves is not None:
        place = min(place, int(np.searchsorted(path.n_leaves, n_leaves, side="right")) - 1)
    return place
