"""A claim about what models answer, of which evidence can be made: proven, in data.

A claim speaks of points of a space with coordinates. A `Use` is a model at such points, its columns
taken from some of the coordinates: two rows that differ in some features alone are one point, at
which one model is used twice.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ensemble_simplify.reading import Forest, Model, common_forests


@dataclass(frozen=True, eq=False)
class Use:
    """A model at the points of a space.

    Attributes
    ----------
    model : int
        Which of the claim's models it is.
    columns : intp array of shape (n_features,)
        The coordinate that each column of the model takes.
    """

    model: int
    columns: np.ndarray


@dataclass(frozen=True, eq=False)
class Near:
    """Points that differ from some row in at most some coordinates.

    Attributes
    ----------
    rows : float64 array of shape (n_rows, n_coordinates)
    max_changes : int
    vary : list of lists of int
        The coordinates that may change, those of a list together.
    free : list of int
        Those that may change, whatever else does.
    nearer : dict or None
        By how much rows may change: ``metric``, ``distance`` and the ``scales`` of the coordinates.
    """

    rows: np.ndarray
    max_changes: int
    vary: list
    free: list = field(default_factory=list)
    nearer: dict | None = None


@dataclass(frozen=True, eq=False)
class Claim:
    """What was proven, or refuted by a point.

    Attributes
    ----------
    kind : str
        Of those that the checker knows: ``"same_class"``, ``"within"``, ``"rises"``, ...
    models : list of Model
    forests : list of Forest
        Of each model, read for the rows that count.
    uses : list of Use
    inside : Inside or None
        Which points count, over the coordinates; None: all that are finite.
    data : dict
        What else the kind needs: ``atol`` and ``rtol``; ``class``, its number; ``order``, the rank
        of each class; ``of``, what is meant, ``"class"``, ``"value"``, ``{"output": k}`` or, of a
        distance, ``"each"`` of these; ``low`` and ``high``, of a range; ``depth``, ``leaves`` and
        ``within`` of the smallest trees, as the checker has them.
    order : list of pairs of int
        Coordinates of which the first is at most the second, neither missing.
    box : tuple of three arrays or None
        Of each coordinate ``low``, ``high`` and whether it may be missing: only points with
        ``low < x <= high`` count, or a missing value. None: all.
    near : Near or None
        Only these points count. None: all.
    moves : tuple or None
        A row, another one, and lists of coordinates of which all, moved to the other row's, make
        the claim hold, and no part of them does. None: it is about all points.
    point : float64 array of shape (n_coordinates,) or None
        Where the claim does not hold. None: it was proven.
    of_float32 : bool
        Whether only points of numbers that float32 represents count, whatever models read.
    settings : dict
        What the user asked for, as JSON can hold it.
    """

    kind: str
    models: list[Model]
    forests: list[Forest]
    uses: list[Use]
    inside: Any = None
    data: dict = field(default_factory=dict)
    order: list = field(default_factory=list)
    box: tuple | None = None
    near: Near | None = None
    moves: tuple | None = None
    point: np.ndarray | None = None
    of_float32: bool = False
    settings: dict = field(default_factory=dict)

    @classmethod
    def of_pair(cls, kind, models, inside, **given):
        """A claim about two models on the same columns."""
        forests = common_forests(models)
        columns = np.arange(forests[0].n_features)
        return cls(kind, models, forests, [Use(0, columns), Use(1, columns)], inside, **given)

    @property
    def is_finer(self):
        """Whether only points that float32 represents are followed."""
        return self.of_float32 or any(forest.is_finer for forest in self.forests)

    @property
    def n_coordinates(self):
        """Number of coordinates of the space."""
        return 1 + max(int(use.columns.max()) for use in self.uses)
