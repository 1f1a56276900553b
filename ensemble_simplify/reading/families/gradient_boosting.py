"""Gradient boosting of scikit-learn, by exact splits and by histograms."""

from __future__ import annotations

import copy
from typing import Any

import numpy as np
from sklearn.dummy import DummyClassifier, DummyRegressor

from ensemble_simplify.reading.families.boosters import stages_of
from ensemble_simplify.reading.families.forests import (
    OfMembers,
    bits_of,
    codes_and_table,
    not_known,
    sklearn_tree,
    unknown_fields,
)
from ensemble_simplify.reading.family import N_ASKED, Family
from ensemble_simplify.reading.program import Above, Link, boosted, link_of
from ensemble_simplify.reading.table import Table
from ensemble_simplify.reading.trees import Reading, Tree, name_of, sides_of, spread, spread_to

# Of HistGradientBoosting: what is read, and what does not say where rows go.
HIST_FIELDS = frozenset(
    "value feature_idx num_threshold missing_go_to_left left right is_leaf is_categorical "
    "bitset_idx".split()
)
HIST_NOTES = frozenset({"count", "gain", "depth", "bin_threshold"})


class GradientBoosting(OfMembers):
    """GradientBoosting: raw sums of scaled leaf values."""

    kinds = ("sklearn.GradientBoostingClassifier", "sklearn.GradientBoostingRegressor")
    title = "GradientBoosting*"
    methods = ("predict", "decision_function")

    @property
    def members(self) -> list:
        if not self.estimator.estimators_.size:
            raise ValueError(f"{self.name} has an empty estimators_: fit it first.")
        return self.estimator.estimators_.ravel().tolist()

    def samples(self, n_rows: int) -> list | None:
        return None

    def grown_on(self, n_rows: int) -> list:
        return self._grown_on_samples(n_rows)

    def trees(self, rows: Any = None) -> Reading:
        estimator, init = self.estimator, self.estimator.init_
        constant = isinstance(init, DummyRegressor) or (
            isinstance(init, DummyClassifier)
            and init.strategy in ("prior", "most_frequent", "constant", "uniform")
        )
        if not constant and not (isinstance(init, str) and init == "zero"):
            raise ValueError(
                f"{self.name} starts from init={name_of(init)}(...), which is not constant. Use "
                "init=None or init='zero'."
            )
        stages, trees = estimator.estimators_, []
        n_scores, width = stages.shape[1], self.n_features
        for t, member in enumerate(self.members):
            tree = sklearn_tree(member, width)
            tree.value = spread(estimator.learning_rate * tree.value, [t % n_scores], n_scores)
            trees.append(tree)
        row = np.zeros((1, width), dtype=np.float32)
        classes = getattr(estimator, "classes_", None)
        link = None
        if classes is not None:
            # the loss that it was fitted with, whatever its parameter says now
            slope = 2.0 if type(estimator._loss).__name__ == "ExponentialLoss" else 1.0
            link = Link(link_of(n_scores), slope)
        choice = Above(inclusive=True) if n_scores == 1 else None
        init = estimator._raw_predict_init(row)[0]
        vote = boosted(len(trees), n_scores, init=init, link=link, choice=choice)
        return Reading(trees, vote, classes)

    def reweighted(self, weights: np.ndarray, offset: float, scaled: Any) -> Any:
        stages, trees = self.estimator.estimators_, self.members
        # one generator for all trees, as in the ensemble: copies of it would outweigh small trees,
        # and take longer than all else
        random_state = copy.deepcopy(trees[0].random_state)
        more = offset / self.estimator.learning_rate if offset else 0.0
        kept = stages_of(weights, np.arange(stages.size) % stages.shape[1], stages.shape[1])
        written = np.empty((len(kept), stages.shape[1]), dtype=object)
        for (i, k), t in np.ndenumerate(kept):
            # where a score has no tree left, one of weight zero adds nothing
            tree, weight = (trees[k], 0.0) if t is None else (trees[t], weights[t])
            tree = copy.copy(tree)
            tree.random_state = None
            written[i, k] = scaled(tree, weight, more if i == 0 else 0.0)
            written[i, k].random_state = random_state
        n_stages = len(kept)
        return self.copy_with(estimators_=written, n_estimators=n_stages, n_estimators_=n_stages)


class HistGradientBoosting(Family):
    """HistGradientBoosting: raw sums in float64, a tie goes to class 0.

    Categories that were not in the training data are treated as missing.
    """

    kinds = ("sklearn.HistGradientBoostingClassifier", "sklearn.HistGradientBoostingRegressor")
    title = "HistGradientBoosting*"
    methods = ("predict", "_raw_predict")
    writes_nodes = True

    def own_levels(self) -> Table | None:
        return codes_and_table(self.estimator, *self._categories())[1]

    def trees(self, rows: Any = None) -> Reading:
        estimator = self.estimator
        classes = getattr(estimator, "classes_", None)
        kind = type(estimator._loss.link).__name__
        if classes is None and kind not in ("IdentityLink", "LogLink"):
            raise ValueError(
                f"{self.name} has loss={estimator.loss!r}, whose predictions are no sums of leaf "
                "values, and no exponentials of such sums. Use loss='squared_error', "
                "'absolute_error', 'quantile', 'poisson' or 'gamma'."
            )
        unknown = ValueError(
            not_known(f"{self.name} keeps its trees in a layout that is not known")
        )
        # private names, which a version of scikit-learn may change
        try:
            stages = estimator._predictors
            init = np.array(estimator._baseline_prediction, dtype=np.float64).ravel()
            seen, categories = self._categories()
            nodes = [p.nodes for stage in stages for p in stage]
            bitsets = [p.raw_left_cat_bitsets for stage in stages for p in stage]
        except (AttributeError, KeyError, TypeError, IndexError, ValueError) as error:
            raise unknown from error
        words = [b.dtype == np.uint32 and b.ndim == 2 and b.shape[1] == 8 for b in bitsets]
        lacking = any(HIST_FIELDS - set(own.dtype.names) for own in nodes)
        further = any(unknown_fields(own, HIST_FIELDS | HIST_NOTES) for own in nodes)
        if lacking or further or not all(words):
            raise unknown
        n_scores = len(init)
        if not stages or any(len(stage) != n_scores for stage in stages):
            raise ValueError(
                f"{self.name} has iterations without one tree for each of its {n_scores} scores, "
                "or none. Fit it again."
            )
        codes, table = codes_and_table(estimator, seen, categories)
        trees = [self._tree(predictor, codes, seen) for stage in stages for predictor in stage]
        spread_to(trees, np.arange(len(trees)) % n_scores, n_scores)
        link = None if kind == "IdentityLink" else Link("exp")
        link = link if classes is None else Link(link_of(n_scores))
        vote = boosted(len(trees), n_scores, init=init, link=link)
        return Reading(trees, vote, classes, table)

    def grown_on(self, n_rows: int) -> list:
        trees = [tree for stage in self.estimator._predictors[:N_ASKED] for tree in stage]
        return [(tree.nodes["count"], None) for tree in trees[:N_ASKED]]

    def reweighted(self, weights: np.ndarray, offset: float, scaled: Any) -> Any:
        n_scores = len(self.estimator._predictors[0])
        trees = [tree for stage in self.estimator._predictors for tree in stage]
        kept = stages_of(weights, np.arange(len(trees)) % n_scores, n_scores)
        written = []
        for i, stage in enumerate(kept):
            written.append([])
            for k, t in enumerate(stage):
                tree = copy.deepcopy(trees[k if t is None else t])
                tree.nodes["value"] *= 0.0 if t is None else weights[t]
                tree.nodes["value"] += offset if i == 0 else 0.0
                written[-1].append(tree)
        return self.copy_with(_predictors=written, max_iter=len(written))

    def _categories(self):
        """The user's column of each that the trees see (None: the same), and lists of categories.

        Where there are categories, their columns come first, encoded by position; the lists are of
        these.
        """
        encoders = self.estimator._preprocessor
        if encoders is None:
            return None, []
        is_categorical = np.asarray(self.estimator.is_categorical_)
        names = [name for name, *_ in encoders.transformers_]
        if names[:2] != ["encoder", "numerical"]:
            raise KeyError(f"transformers {names}")
        found = encoders.named_transformers_["encoder"].categories_
        seen = np.concatenate([np.flatnonzero(is_categorical), np.flatnonzero(~is_categorical)])
        if len(found) != is_categorical.sum() or len(seen) != self.n_features:
            raise KeyError(f"{len(found)} columns of categories")
        return seen.astype(np.intp), found

    def _tree(self, predictor, codes, seen):
        """One tree."""
        nodes = predictor.nodes
        leaf = nodes["is_leaf"].astype(bool)
        tree = Tree(
            name=f"a tree of {self.name}",
            left=np.where(leaf, -1, nodes["left"].astype(np.int64)),
            right=np.where(leaf, -1, nodes["right"].astype(np.int64)),
            feature=nodes["feature_idx"].astype(np.int64),
            threshold=nodes["num_threshold"].astype(np.float64),
            value=nodes["value"].astype(np.float64)[:, None],
            n_features=self.n_features,
            columns=seen,
            dtype="float64",
            missing_left=nodes["missing_go_to_left"].astype(bool),
        )
        is_categorical = nodes["is_categorical"].astype(bool)
        if (~leaf & ~is_categorical & (tree.feature >= 0) & (tree.feature < len(codes))).any():
            raise self.damaged("a feature of categories is compared with a number")
        for node in np.flatnonzero(is_categorical & ~leaf).tolist():
            feature, row = int(tree.feature[node]), int(nodes["bitset_idx"][node])
            if not 0 <= feature < len(codes) or row >= len(predictor.raw_left_cat_bitsets):
                raise self.damaged(f"node {node} splits categories of a feature that has none")
            inside = bits_of(predictor.raw_left_cat_bitsets[row])
            tree.sets[node] = sides_of(codes[feature], inside, bool(tree.missing_left[node]))
        return tree
