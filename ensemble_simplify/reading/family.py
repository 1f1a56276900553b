"""What a fitted model is: its `Family`, which answers all questions about it.

`family_of` asks "what are you?" once, by a look-up of the model's class. `unwrap` and `readable`
take off what stands around the model before. A family is a subclass of `Family` in a file of
`families/`; it is known as soon as that file is imported. A model that no family claims has the
bare `Family`: it can be asked what it answers, but has no trees to be read.
"""

from __future__ import annotations

import copy
from functools import lru_cache
from typing import Any, ClassVar

import numpy as np
from sklearn.frozen import FrozenEstimator
from sklearn.model_selection import GridSearchCV, RandomizedSearchCV
from sklearn.pipeline import Pipeline
from sklearn.utils import get_tags
from sklearn.utils.validation import check_is_fitted

from ensemble_simplify.reading.program import Program, count_of_trees
from ensemble_simplify.reading.table import Table
from ensemble_simplify.reading.trees import Nodes, Reading, Tree, constant_tree, name_of

# Trees that are asked how many rows they were grown on.
N_ASKED = 10
PACKAGE = __name__.partition(".")[0]
# What this package's estimators wrap: their ``predict`` is the predict of one of these.
WRAPPED = ("decision_tree_", "pruned_estimator_")
# Their predict is that of their best_estimator_; a subclass may have one of its own.
_SEARCHES = (GridSearchCV, RandomizedSearchCV)
# Attributes that tell how the trees of an ensemble were grown: of no use without some of the trees.
_HISTORY = frozenset(
    "train_score_ validation_score_ oob_improvement_ oob_scores_ oob_score_ "
    "oob_decision_function_ oob_prediction_ evals_result_".split()
)
# Families, and stand-ins for native boosters, by the names of their classes.
_FAMILIES: dict[str, type[Family]] = {}
_STAND_INS: dict[str, type] = {}


class Family:
    """One fitted model, seen as one of its family. Subclasses are the families.

    Parameters
    ----------
    estimator : fitted estimator
        The model that is read.
    outer : fitted estimator or None
        What was given, without ``FrozenEstimator``: an estimator of this package keeps the table
        that it was fitted on. None: the same.

    Attributes
    ----------
    kinds : tuple of str
        The classes of the family, "library.Class", where subclasses count. They go by names, so
        that no library is imported for the question whether a model is of it.
    stand_ins : tuple of (str, type)
        What answers in place of native boosters, after the names of their classes.
    title : str
        What errors call the family in the list of what is supported.
    methods : tuple of str
        The methods whose arithmetic is read. A class that replaces one may answer otherwise.
    writes_nodes : bool
        Whether `reweighted` writes trees that are none of scikit-learn's.
    library : str or None
        The library that has a format of its own for the trees; None: scikit-learn, or none.
    is_of_numbers : bool
        Whether it takes no tables but arrays of numbers, unless a member makes such.
    names_classes : bool
        Whether classes are mere names, in any order, as long as the model stands alone.
    """

    kinds: ClassVar[tuple[str, ...]] = ()
    stand_ins: ClassVar[tuple[tuple[str, type], ...]] = ()
    title: ClassVar[str] = ""
    methods: ClassVar[tuple[str, ...]] = ("predict", "predict_proba")
    writes_nodes: ClassVar[bool] = False
    library: ClassVar[str | None] = None
    is_of_numbers: ClassVar[bool] = False
    names_classes: ClassVar[bool] = False

    def __init_subclass__(cls) -> None:
        _FAMILIES.update(dict.fromkeys(cls.kinds, cls))
        _STAND_INS.update(cls.stand_ins)

    def __init__(self, estimator: Any, outer: Any = None):
        self.estimator = estimator
        self.outer = estimator if outer is None else outer
        self.name = name_of(estimator)

    # ------------------------------------------------------------------ what every family answers

    def trees(self, rows: Any = None) -> Reading:
        """The trees, the vote over them, the classes and the table; see `read` for `rows`."""
        raise NotImplementedError

    @property
    def n_features(self) -> int:
        """Number of columns that it takes."""
        if self.inside:
            return family_of(self.inside[0]).n_features
        return int(self.estimator.n_features_in_)

    def outputs(self, output: int, rows: Any = None) -> Reading | None:
        """What `trees` answers, of one of several outputs; None where it has no such."""
        return None

    def own_levels(self) -> Table | None:
        """The table of a model with levels of its own; None: its columns are all numbers."""
        return None

    def names_kept(self, names: np.ndarray) -> np.ndarray:
        """What the model calls columns that a frame calls by these names."""
        return family_of(self.inside[0]).names_kept(names) if self.inside else names

    @property
    def takes_numbers_alone(self) -> bool:
        """Whether it, fitted or not, is known to take no table but one of numbers."""
        if not self.is_of_numbers or is_ours(self.estimator):
            return False
        given = self.estimator.get_params().values()
        return all(takes_numbers_alone(value) for value in given if hasattr(value, "fit"))

    @property
    def inside(self) -> list:
        """The fitted models whose answers it changes; [] of all but thresholds and calibrations."""
        return []

    @property
    def last(self) -> Any:
        """The model that a pipeline ends in, or that stands inside; None: it is one itself."""
        return self.inside[0] if self.inside else None

    @property
    def core(self) -> Family:
        """The family of what is left without pipelines, thresholds and calibrations."""
        return self if self.last is None else family_of(self.last).core

    @property
    def parts(self) -> list:
        """Models by whose answers it makes its own, as they are."""
        stages = list(getattr(self.estimator, "estimators_", ()))
        stages = [s.tolist() if isinstance(s, np.ndarray) else [s] for s in stages]
        return [part for stage in stages for part in stage] + self.inside

    def samples(self, n_rows: int) -> list | None:
        """Which rows each member was grown on; None where that is not known, or of other rows."""
        return None

    def grown_on(self, n_rows: int) -> list:
        """How many rows its first trees were grown on, node by node, in the order of `trees`.

        Pairs of these numbers and of the rows, of as many as `n_rows`, that were given to the tree
        (None: all). An empty list where a model does not keep such numbers.
        """
        return []

    def keep_members(self, kept: list) -> None:
        """Leave all but some members, ascending, out of it, in place."""
        family_of(self.last).keep_members(kept)

    def around(self, model: Any) -> Any:
        """A copy of it with another `last`."""
        raise NotImplementedError

    def reweighted(self, weights: np.ndarray, offset: float, scaled: Any) -> Any:
        """A copy with the trees whose weight is not zero; see `writing.reweighted`.

        ``scaled(tree, weight, offset)`` is a copy of a tree of scikit-learn with other leaves,
        which only `writing` can make. None: the family has no place for these weights.
        """
        return None

    def depth(self) -> int:
        """Depth of the deepest tree."""
        return max(map(depth_of_tree, self.trees().trees))

    # ------------------------------------------------------------------ what follows from these

    def read(self, rows: Any = None, like: Table | None = None, within: int | None = None):
        """Read the model as a `Reading`, checked.

        `rows` are some rows as it is given them, in whose dtypes a pipeline is read; None: float64.
        Levels get their codes in the order of a table `like` its own, see `Reading.put_in_order`.
        `within` is the number of features that the ensemble around it gives; None: it stands alone.
        """
        self.check_supported()
        self.check_fitted()
        self.check_width(within)
        reading = self.trees(rows)
        if any(tree.sets for tree in reading.trees):
            # where levels stand depends on what is below tests, which has to be trees
            Nodes(reading.trees, self.n_features, self.estimator)
            reading.put_in_order(like)
        if reading.classes is not None:
            # A tree or forest by itself takes classes in any order. In another ensemble, and in
            # other kinds of ensembles, classes are looked up by bisection and must be sorted.
            reading.classes = self._checked_classes(reading, self.names_classes and within is None)
        return reading

    def own_table(self) -> Table | None:
        """The table that an estimator of this package was fitted on; None of another one."""
        for given in (self.outer, self.estimator):
            if (table := kept_table(given)) is not None:
                return table
        return family_of(self.inside[0]).own_table() if self.inside else None

    def table(self) -> Table:
        """The tables that it takes."""
        table = self.own_table()
        if table is None:
            table = family_of(self.inside[0]).table() if self.inside else self.own_levels()
        names = getattr(self.estimator, "feature_names_in_", None)
        return table or Table.of_numbers(getattr(self.estimator, "n_features_in_", 0), names)

    def check_supported(self) -> None:
        """Refuse (TypeError) a model of no family, or with a method of its own."""
        kind = _family_and_kind(type(self.estimator))[1]
        if kind is None:
            if is_ours(self.estimator):
                check_is_fitted(self.estimator)
            raise TypeError(
                f"An ensemble of type {self.name} is not supported. Supported: {_supported()}. "
                "Methods that need no more of a model than predict: RepresenterTree, agreement, "
                "simplify."
            )
        for method in self.methods:
            if not hasattr(kind, method):
                continue
            owner = owner_of(type(self.estimator), method)
            # this package's own forest makes numbers of its rows, and answers as its kind does
            is_known = owner is owner_of(kind, method) or owner.__module__.startswith(f"{PACKAGE}.")
            if not is_known or method in vars(self.estimator):
                raise TypeError(
                    f"{self.name} is not supported: it replaces the method {method} of "
                    f"{kind.__name__}. Supported: {_supported()}."
                )

    def check_fitted(self) -> None:
        """Refuse (NotFittedError) a model that was not fitted; a threshold need not be."""
        if not self.inside:
            check_is_fitted(self.estimator)

    def check_width(self, within: int | None) -> None:
        """Check that a part of an ensemble was fitted on as many features as it is given."""
        if within is not None and within != self.n_features:
            raise ValueError(
                f"An ensemble gives {within} features to a member, a {self.name} fitted on "
                f"{self.n_features}. Fit it again."
            )

    def _checked_classes(self, reading, any_order):
        """The classes of a model, after checking that they are distinct and go with its vote."""
        vote, classes = reading.vote, np.asarray(reading.classes)
        distinct = classes.ndim == 1 and len(set(classes.tolist())) == len(classes)
        if not distinct or not (any_order or (classes[:-1] < classes[1:]).all()):
            raise ValueError(
                f"{self.name} has classes_={classes.tolist()}, which are not "
                f"{'distinct' if any_order else 'sorted and distinct'}. Fit it again."
            )
        expected = 2 if vote.has_one_score else vote.n_scores
        if len(classes) == 1 and expected == 2 and _never_above_zero(reading):
            # boosting that was fitted on one class
            dtypes = [tree.dtype for tree in reading.trees]
            reading.trees = [constant_tree(self.estimator, [1.0], dtype) for dtype in dtypes]
            reading.vote = count_of_trees(len(dtypes), 1)
        elif len(classes) != expected:
            raise ValueError(
                f"{self.name} has {len(classes)} classes_, but its trees vote for {expected}. "
                "Fit it again."
            )
        return classes

    # ------------------------------------------------------------------ parts of families

    def joined(self, readings: list[Reading]) -> tuple[list[Tree], list[Program], Any]:
        """The trees of several readings in one list, their votes over it, and what they fill in."""
        if any(map(has_categories, readings)):
            raise TypeError(
                f"{self.name} holds members with categories of their own, which is not supported. "
                "Encode the categories before the ensemble, in a Pipeline around it."
            )
        trees: list[Tree] = []
        votes = []
        for reading in readings:
            votes.append(reading.vote.moved(len(trees)))
            trees += reading.trees
        filled = [reading.filled for reading in readings if reading.filled is not None]
        return trees, votes, np.any(filled, axis=0) if filled else None

    def damaged(self, why: str) -> ValueError:
        """The error for a tree whose arrays are none of a tree."""
        return ValueError(f"{self.name} holds a damaged tree: {why}. Fit it again.")

    def copy_with(self, **attributes) -> Any:
        """A copy of the model with some attributes replaced, and without its history."""
        written = type(self.estimator).__new__(type(self.estimator))
        for name, value in {**vars(self.estimator), **attributes}.items():
            if name not in _HISTORY:
                # what is replaced is new already
                vars(written)[name] = value if name in attributes else copy.deepcopy(value)
        return written


def depth_of_tree(tree: Tree) -> int:
    """Depth of a tree as its ensemble keeps it, with tests of sets of codes as one node."""
    depth, level = 0, np.zeros(1, dtype=np.intp)
    while (level := level[tree.left[level] >= 0]).size:
        depth, level = depth + 1, np.concatenate([tree.left[level], tree.right[level]])
    return depth


def has_categories(reading: Reading) -> bool:
    """Whether an ensemble splits categories itself."""
    return reading.table is not None and bool(reading.table.categorical.any())


def _never_above_zero(reading):
    """Whether the one sum of boosting is below zero, and the first of two classes wins."""
    if reading.vote.init is None:
        return False
    most = sum(float(tree.value[tree.left < 0].max()) for tree in reading.trees)
    return reading.vote.init[0] + most < 0


def _supported():
    """What errors list; families of other models after these."""
    titles = dict.fromkeys(family.title for family in _FAMILIES.values() if family.title)
    ordered = sorted(titles, key=lambda title: "these" in title)
    return ", ".join(
        (
            *ordered,
            "a fitted GridSearchCV over one of these",
            "and this package's estimators that hold a tree, an ensemble or a scorecard",
        )
    )


# ------------------------------------------------------------------- which family


def family_of(estimator: Any) -> Family:
    """The family of a model, of which a wrapper or a `Family` may be given; see `readable`."""
    if isinstance(estimator, Family):
        return estimator
    outer = unwrap(estimator)
    inner = readable(outer)
    return _family_and_kind(type(inner))[0](inner, outer)


@lru_cache
def _family_and_kind(found):
    """The family of a class, and the class of the family that it is or inherits from."""
    for kind in found.__mro__:
        if (family := _FAMILIES.get(_key(kind))) is not None:
            return family, kind
    return Family, None


@lru_cache
def _key(kind):
    """A class as `Family.kinds` names it: libraries move classes between their modules."""
    return f"{kind.__module__.partition('.')[0]}.{kind.__name__}"


def libraries() -> set[str]:
    """The libraries whose models have families."""
    return {key.partition(".")[0] for key in _FAMILIES}


def library_of(estimator: Any) -> str | None:
    """The library of a wrapper or stand-in: "lightgbm", "xgboost", "catboost"; else None."""
    return _family_and_kind(type(estimator))[0].library


def takes_numbers_alone(estimator: Any) -> bool:
    """Whether an ensemble, fitted or not, is known to take no table but one of numbers."""
    while isinstance(estimator, _SEARCHES):
        estimator = estimator.estimator
    return _family_and_kind(type(estimator))[0](estimator).takes_numbers_alone


def is_booster(model: Any) -> bool:
    """Whether a model is a ``lightgbm.Booster`` or an ``xgboost.Booster``."""
    return _key(type(model)) in _STAND_INS


def unwrap(estimator: Any) -> Any:
    """What stands inside ``FrozenEstimator`` or a fitted search, however often it was wrapped.

    So does a class of this package that names, in an attribute ``_stands_for`` of its own, the
    attribute whose answers it passes on; a subclass of it may answer otherwise. A native booster
    has its stand-in.
    """
    # a predict that was set by hand answers, and not what is inside
    while "predict" not in getattr(estimator, "__dict__", ()):
        if isinstance(estimator, FrozenEstimator):
            estimator = estimator.estimator
        elif "_stands_for" in vars(type(estimator)) and "predict_proba" not in vars(estimator):
            estimator = getattr(estimator, estimator._stands_for)
        elif type(estimator) in _SEARCHES and hasattr(estimator, "best_estimator_"):
            estimator = estimator.best_estimator_
        elif is_booster(estimator):
            estimator = _STAND_INS[_key(type(estimator))](estimator)
        else:
            break
    return estimator


def readable(estimator: Any) -> Any:
    """What is read in place of an estimator.

    ``FrozenEstimator`` is taken off; an estimator of this package stands for the fitted tree or
    ensemble that it wraps and whose ``predict`` is its own. Everything else stands for itself.
    """
    estimator = unwrap(estimator)
    while is_ours(estimator):
        # one that `defers` rows to its model answers as no single tree does
        defers = hasattr(estimator, "defers")
        inner = [name for name in WRAPPED if hasattr(estimator, name) and not defers]
        if not inner:
            break
        estimator = unwrap(getattr(estimator, inner[0]))
    return estimator


def kept_table(estimator: Any) -> Table | None:
    """The table that an estimator of this package keeps itself."""
    return vars(estimator).get("_table") if is_ours(estimator) else None


def is_ours(estimator: Any) -> bool:
    """Whether an estimator has its ``predict`` from this package."""
    return _predicts_as_we_do(type(estimator)) and "predict" not in vars(estimator)


@lru_cache
def _predicts_as_we_do(kind):
    """Whether a class has its ``predict`` from this package."""
    if not hasattr(kind, "predict"):
        return False
    return owner_of(kind, "predict").__module__.partition(".")[0] == PACKAGE


def owner_of(kind: type, method: str) -> type:
    """The class from which `kind` has its method."""
    return next(base for base in kind.__mro__ if method in vars(base))


def says_it_takes_gaps(estimator: Any) -> bool | None:
    """Whether a model, fitted or not, says that it takes missing values; None: it does not say.

    Tags of a pipeline, or of what holds one, do not tell: its steps refuse missing values
    themselves.
    """
    inner = part = unwrap(estimator)
    while part is not None and not isinstance(part, Pipeline):
        part = unwrap(getattr(part, "estimator", None))
    if part is not None or not hasattr(inner, "__sklearn_tags__"):
        return None
    return bool(get_tags(inner).input_tags.allow_nan)


def n_features_of(estimator: Any) -> int:
    """Number of features that a fitted ensemble takes."""
    return family_of(estimator).n_features
