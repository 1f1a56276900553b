"""A fitted ensemble in its user's words, ready to be written in another language.

The splits are tests of doubles, ``x <= end``, that do what the ensemble does once it has rounded
(or not) what it is given. The leaves of all trees are numbered, and a `Program` says what is
computed from them.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from ensemble_simplify.reading import Forest, Model
from ensemble_simplify.writing.named_columns import NamedColumns
from ensemble_simplify.writing.named_tree import checked_names, names_of
from ensemble_simplify.writing.program import Program, program_of
from ensemble_simplify.writing.words import plain


@dataclass(frozen=True, eq=False)
class NamedEnsemble(NamedColumns):
    """A fitted ensemble with what its user calls things.

    Attributes
    ----------
    model : Model
    forest : Forest
        Its trees, for the finest rows that it tells apart.
    program : Program
    classes : list or None
        Labels as Python's own objects; None for regression.
    end : float64 array of shape (n_nodes,)
        A number goes left iff it is at most this; of a column with levels, a code. Infinity: all
        that is not missing goes left, minus infinity: nothing does. NaN where a set is tested.
    missing_left : bool array of shape (n_nodes,)
    leaf : intp array of shape (n_nodes,)
        Number of each leaf among all; -1: a split.
    value : float64 array of shape (n_leaves, n_scores)
    """

    model: Model
    forest: Forest
    program: Program
    classes: list | None
    end: np.ndarray
    missing_left: np.ndarray
    leaf: np.ndarray
    value: np.ndarray

    @classmethod
    def of(cls, fitted, *, feature_names=None, class_names=None, rows=None):
        """A fitted ensemble that can be read (else TypeError), under names as for `NamedTree`.

        Some `rows`, as it takes them, name the levels that it keeps but hashes of.
        """
        model = Model.of(fitted, rows=rows)
        forest, table = model.finest, model.table
        classes = None if forest.classes is None else [plain(c) for c in forest.classes]
        if class_names is not None:
            classes = [plain(c) for c in checked_names("class_names", class_names, classes)]
        names = names_of(model.estimator, model.estimator, None if table.is_plain else table)
        if feature_names is not None:
            given = checked_names("feature_names", feature_names, range(forest.n_features))
            names = [str(name) for name in given]
            if len(set(names)) < len(names):
                raise ValueError(
                    f"feature_names={names!r} holds a name twice. Give each feature its own."
                )
        nodes = np.zeros(0)
        named = cls(
            n_features=forest.n_features,
            names=names,
            table=None if table.is_plain else table,
            model=model,
            forest=forest,
            program=program_of(forest, model.estimator),
            classes=classes,
            end=nodes,
            missing_left=nodes,
            leaf=nodes,
            value=nodes,
        )
        return named._with(forest)

    @property
    def on_thresholds(self) -> NamedEnsemble:
        """The same with thresholds between codes in the place of sets."""
        forest = self.forest.on_thresholds
        return self if forest is self.forest else self._with(forest)

    def _with(self, forest) -> NamedEnsemble:
        """The same with nodes of another forest."""
        is_leaf, to_left = forest.left < 0, forest.missing_left
        return replace(
            self,
            forest=forest,
            end=forest.ends(self.model.table),
            missing_left=np.zeros(forest.n_nodes, dtype=bool) if to_left is None else to_left,
            leaf=np.where(is_leaf, np.cumsum(is_leaf) - 1, -1),
            value=forest.value[is_leaf],
        )

    def has_set(self, node) -> bool:
        """Whether a node tests a set of codes."""
        return self.forest.sets is not None and bool(self.forest.sets.is_set[node])

    def listed(self, node) -> tuple[list, bool]:
        """Codes that a test of a set sends one way, and whether it is left: others go right then.

        They are the fewer, but of codes without levels, of which there is no end, the finite ones.
        """
        sides = self.forest.sets.sides(node)
        is_finite = self.levels(self.forest.feature[node]) is not None
        to_left = 2 * sides.sum() <= len(sides) if is_finite else not sides[-1]
        return np.flatnonzero(sides == to_left).tolist(), bool(to_left)

    @property
    def n_trees(self):
        """Number of trees."""
        return self.forest.n_trees

    @property
    def used(self):
        """Features that some tree splits on, as a list."""
        return np.unique(self.forest.feature[self.leaf < 0]).tolist()

    @property
    def coded(self):
        """Features that some tree splits on and that have levels, as a list."""
        return [j for j in self.used if self.levels(j) is not None]
