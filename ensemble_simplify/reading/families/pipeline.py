"""What changes rows before a model, or its answers after it: pipelines, thresholds, calibrations.

Each holds another model, is read as that model is, and changes what was read.
"""

from __future__ import annotations

import copy
import warnings
from dataclasses import replace
from functools import cached_property
from typing import Any

import numpy as np
from sklearn.frozen import FrozenEstimator
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import check_is_fitted

from ensemble_simplify.reading import cut_offs
from ensemble_simplify.reading.decision import values_of
from ensemble_simplify.reading.family import Family, family_of, has_categories
from ensemble_simplify.reading.pipelines import Transformers
from ensemble_simplify.reading.program import Link, mean_of_members
from ensemble_simplify.reading.table import Table
from ensemble_simplify.reading.trees import Reading

# Numbers at which a function of values is looked at, for whether it rises.
_LOOKED_AT = 4001


class Threshold(Family):
    """A decision threshold on what a classifier of two classes answers."""

    kinds = ("sklearn.FixedThresholdClassifier", "sklearn.TunedThresholdClassifierCV")
    title = "FixedThresholdClassifier and TunedThresholdClassifierCV over these"
    methods = ("predict", "predict_proba", "decision_function")

    @cached_property
    def inside(self) -> list:
        return cut_offs.insides(self.estimator)

    def trees(self, rows: Any = None) -> Reading:
        reading = family_of(self.inside[0]).read(rows, within=self.n_features)
        return cut_offs.with_threshold(self.estimator, reading)

    def around(self, model: Any) -> Any:
        inner = self.inside[0]
        if isinstance(inner, FrozenEstimator):
            model = FrozenEstimator(model)
        # whatever holds the model holds the other one in the copy
        return copy.deepcopy(self.estimator, {id(inner): model})


class Calibrated(Threshold):
    """Calibrated probabilities: of one model, or the mean of those of several folds."""

    kinds = ("sklearn.CalibratedClassifierCV",)
    title = "CalibratedClassifierCV over these"
    methods = ("predict", "predict_proba")

    def trees(self, rows: Any = None) -> Reading:
        readings = [family_of(model).read(rows, within=self.n_features) for model in self.inside]
        reading = cut_offs.calibrated(self.estimator, readings)
        if reading is not None:
            return reading
        trees, votes, filled = self.joined(readings)
        classes = self.estimator.classes_
        vote = mean_of_members(votes, len(classes), Link("unknown"))
        return Reading(trees, vote, classes, filled=filled)


class Steps(Family):
    """Pipeline: the tests of its last step, in terms of the rows it is given."""

    kinds = ("sklearn.Pipeline",)
    title = "a Pipeline of scalers, encoders and imputers that ends in one of these"
    names_classes = True

    _made: Transformers | None = None

    @property
    def n_features(self) -> int:
        # a width is the same for rows of all dtypes
        return (self._made or self.transformers()).n_features

    @property
    def last(self) -> Any:
        return self.estimator.steps[-1][1]

    @property
    def parts(self) -> list:
        return [step for _, step in self.estimator.steps]

    def transformers(self, rows: Any = None) -> Transformers:
        """Its transformers, those of pipelines in it among them; `rows` are as of `read`.

        TypeError if one is not known.
        """
        steps, family = [], self
        while isinstance(family, Steps):
            family.check_supported()
            steps += family.estimator.steps[:-1]
            family = family_of(family.last)
        check_is_fitted(family.estimator)
        names = getattr(self.estimator, "feature_names_in_", None)
        self._made = Transformers(steps, family.estimator.n_features_in_, names, rows)
        return self._made

    def end(self) -> Family:
        """The family of what stands at the end, also of pipelines in it."""
        last = family_of(self.last)
        return last.end() if isinstance(last, Steps) else last

    def own_levels(self) -> Table | None:
        try:
            return self.transformers().table
        except TypeError:  # it can be asked, though not read
            return None

    def around(self, model: Any) -> Any:
        written = copy.copy(self.estimator)
        name = self.estimator.steps[-1][0]
        written.steps = [*copy.deepcopy(self.estimator.steps[:-1]), (name, model)]
        return written

    def trees(self, rows: Any = None) -> Reading:
        transformers, end = self.transformers(rows), self.end()
        # The last step stands alone if the pipeline does: its classes may be mere names.
        reading = end.read()
        end.check_width(len(transformers.source))
        trees = reading.trees
        if any(tree.folded for tree in trees):
            raise TypeError(
                f"{self.name} is not supported: it ends in an ensemble that holds pipelines. Give "
                "the transformed rows to that ensemble."
            )
        if has_categories(reading):
            raise TypeError(
                f"{self.name} is not supported: its last step has categorical splits of "
                "transformed columns. Leave the categories to the last step, without the pipeline."
            )
        for tree in trees:
            tree.columns = np.arange(tree.n_features) if tree.columns is None else tree.columns
        pairs = [(tree, _tests_of(tree)) for tree in trees]
        sizes = [len(nodes) for _, nodes in pairs]
        features = np.concatenate([tree.columns[tree.feature[nodes]] for tree, nodes in pairs])
        folded = transformers.fold(
            features,
            np.concatenate([tree.threshold[nodes] for tree, nodes in pairs]),
            np.repeat([tree.dtype == "float32" for tree in trees], sizes),
        )
        for (tree, nodes), end in zip(pairs, np.cumsum(sizes), strict=True):
            part = slice(end - len(nodes), end)
            tree.rescaled = bool(transformers.rescaled[features[part]].any())
            tree.columns = transformers.source[tree.columns]
            _fold_tests(tree, nodes, folded.at(part))
        reading.table = transformers.table
        reading.filled = transformers.filled if transformers.filled.any() else None
        return reading


class Resampled(Steps):
    """Pipeline of imblearn: samplers change the rows of fit alone, and are left out."""

    kinds = ("imblearn.Pipeline",)
    title = "a Pipeline of imblearn with such steps"

    def __init__(self, estimator: Any, outer: Any = None):
        kept = [step for step in estimator.steps[:-1] if not hasattr(step[1], "fit_resample")]
        plain = Pipeline([*kept, estimator.steps[-1]])
        if hasattr(estimator, "feature_names_in_"):
            plain.feature_names_in_ = estimator.feature_names_in_
        super().__init__(plain, estimator if outer is None else outer)
        self.name = type(estimator).__name__

    def check_supported(self) -> None:
        """The steps that are left are looked at one by one."""

    def trees(self, rows: Any = None) -> Reading:
        if self._is_bare:
            return family_of(self.last).read(rows)
        return super().trees(rows)

    @property
    def n_features(self) -> int:
        return family_of(self.last).n_features if self._is_bare else super().n_features

    def own_levels(self) -> Table | None:
        return family_of(self.last).table() if self._is_bare else super().own_levels()

    @property
    def _is_bare(self):
        """Whether nothing is left but its last step."""
        return len(self.estimator.steps) == 1


class Transformed(Family):
    """TransformedTargetRegressor: the inverse of its transformer, a function that never falls.

    An exponential is a link that proofs and code know. Of others, values are compared with ranges,
    for which bisection finds the sums at which they change; see `cut_offs`.
    """

    kinds = ("sklearn.TransformedTargetRegressor",)
    title = "TransformedTargetRegressor over these"
    methods = ("predict",)

    @property
    def inside(self) -> list:
        return [self.estimator.regressor_] if hasattr(self.estimator, "regressor_") else []

    def around(self, model: Any) -> Any:
        return self.copy_with(regressor_=model)

    def trees(self, rows: Any = None) -> Reading:
        reading = family_of(self.last).read(rows, within=self.n_features)
        if reading.classes is not None or self.estimator._training_dim != 1:
            raise ValueError(
                f"{self.name} was fitted on y of {self.estimator._training_dim} dimensions; only "
                "one output is supported. Fit it on a single column, y.ravel()."
            )
        inner, inverse = reading.vote, self.estimator.transformer_
        kinds = {np.exp: "exp", np.expm1: "expm1"}
        kind = kinds.get(getattr(inverse, "inverse_func", None))
        if inner.link is None and kind is not None and not getattr(inverse, "inv_kw_args", None):
            link = Link(kind)
        else:
            link = Link("function", function=Inverse(inverse, inner))
            self._check_rises(link, reading)
        reading.vote = replace(inner, link=link)
        return reading

    def _check_rises(self, link, reading):
        """Refuse an inverse that falls, as far as numbers that the model can reach tell."""
        vote, leaves = reading.vote, [tree.value[tree.left < 0, 0] for tree in reading.trees]
        if vote.is_mean:
            low, high = min(map(np.min, leaves)), max(map(np.max, leaves))
        else:
            low, high = (sum(map(end, leaves)) / vote.divisor for end in (np.min, np.max))
        numbers = np.linspace(low - vote.largest_start, high + vote.largest_start, _LOOKED_AT)
        numbers = numbers.astype(vote.dtype)
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            values = link.function(numbers)
        if (np.diff(values) < 0).any():
            raise TypeError(
                f"{self.name} is not supported with a transformer whose inverse falls somewhere. "
                "Use a function that rises, such as log1p."
            )


class Inverse:
    """What a transformer of targets makes of the sums of a regressor; it can be pickled."""

    def __init__(self, transformer, program):
        self.transformer, self.program = transformer, program

    def __call__(self, sums):
        values = values_of(self.program, sums[:, None])
        return self.transformer.inverse_transform(values[:, None])[:, 0]

    def __eq__(self, other):
        return isinstance(other, Inverse) and self.transformer is other.transformer

    __hash__ = object.__hash__


def transformers_of(pipeline: Pipeline, rows: Any = None) -> tuple[Transformers, Any]:
    """The transformers of a pipeline, those of pipelines in it among them, and its last step."""
    steps = Steps(pipeline)
    return steps.transformers(rows), steps.end().estimator


def _fold_tests(tree, nodes, folded):
    """Let the tests of a tree ask for the columns that go into a pipeline, in place."""
    turned = np.zeros(len(tree.left), dtype=bool)
    to_left = tree.missing_left
    threshold, goes_left = tree.threshold.copy(), to_left.copy()
    threshold[nodes] = folded.threshold
    goes_left[nodes] = np.where(folded.missing_stays, to_left[nodes], folded.missing_passes)
    turned[nodes] = folded.falls
    left, right = np.where(turned, tree.right, tree.left), np.where(turned, tree.left, tree.right)
    tree.left, tree.right, tree.threshold = left, right, threshold
    tree.missing_left = goes_left != turned
    tree.folded, tree.by_dtype = True, folded.by_dtype
    coded = np.flatnonzero(folded.set_of >= 0)
    for node, place in zip(nodes[coded].tolist(), folded.set_of[coded].tolist(), strict=True):
        passes, absent = folded.sets[place]
        tree.sets[node] = np.where(absent, to_left[node], passes) if absent.any() else passes


def _tests_of(tree):
    """Nodes with a test that makes sense; the others are complained about later."""
    known = (tree.left != -1) & (tree.feature >= 0) & (tree.feature < tree.n_features)
    return np.flatnonzero(known & ~np.isnan(tree.threshold))
