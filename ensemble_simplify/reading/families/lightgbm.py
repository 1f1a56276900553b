"""LightGBM: read from the text that it saves; it is not imported."""

from __future__ import annotations

import re
from functools import cached_property
from typing import Any

import numpy as np

from ensemble_simplify.reading.families.boosters import Boosted, StandIn, goes_with, stages_of
from ensemble_simplify.reading.families.forests import bits_of
from ensemble_simplify.reading.family import N_ASKED, PACKAGE
from ensemble_simplify.reading.program import Link, boosted
from ensemble_simplify.reading.table import Table
from ensemble_simplify.reading.trees import Reading, Tree, asked_by_sets, set_of, spread_to

# LightGBM takes numbers up to this for zero.
_ZERO = float(np.float32(1e-35))
_IDENTITY = (
    *("regression", "regression_l1", "huber", "fair", "quantile", "mape"),
    *("lambdarank", "rank_xendcg"),
)
# What other objectives make of such sums.
_VALUES = {
    **dict.fromkeys(("poisson", "gamma", "tweedie"), "exp"),
    "cross_entropy": "sigmoid",
    "cross_entropy_lambda": "softplus",
}
_SCALED = ("leaf_value", "internal_value", "shrinkage")
# A tree of one leaf that adds nothing, as LightGBM writes it.
_NOTHING = (
    "num_leaves=1\nnum_cat=0\nsplit_feature=\nsplit_gain=\nthreshold=\ndecision_type=\n"
    "left_child=\nright_child=\nleaf_value=0\nleaf_weight=\nleaf_count=\ninternal_value=\n"
    "internal_weight=\ninternal_count=\nis_linear=0\nshrinkage=1"
)


class LightGBMBooster(StandIn):
    """A ``lightgbm.Booster``: with the number of trees that its own ``predict`` uses."""

    @property
    def booster_(self):
        """The booster, as LightGBM's wrappers call it."""
        return self.model

    @cached_property
    def n_features_in_(self):
        return int(self.model.num_feature())

    @cached_property
    def _objective(self):
        head = self.model.model_to_string(num_iteration=1).partition("\nTree=")[0].splitlines()
        found = [line.partition("=")[2].split()[0] for line in head if line[:10] == "objective="]
        return (found or ["none"])[0]

    @property
    def _n_classes(self):
        own = {"binary": 2, "multiclass": self.model.num_model_per_iteration()}
        return own.get(self._objective)

    @property
    def _names(self):
        names = self.model.feature_name()
        return None if names == [f"Column_{j}" for j in range(len(names))] else names

    def _answer(self, X):
        return self.model.predict(X if hasattr(X, "shape") else np.asarray(X))

    def _labels(self, X):
        return self.predict_proba(X).argmax(axis=1)

    def _probabilities(self, X):
        return self._answer(X)


class LightGBM(Boosted):
    """LightGBM: float64 sums of trees, then sigmoid or softmax.

    Codes in the set of a split go left; others, also unknown and missing ones, right.
    """

    kinds = (
        "lightgbm.LGBMClassifier",
        "lightgbm.LGBMRegressor",
        "lightgbm.LGBMRanker",
        f"{PACKAGE}.LightGBMBooster",
    )
    stand_ins = (("lightgbm.Booster", LightGBMBooster),)
    title = "LGBM* classifiers, regressors and rankers, lightgbm.Booster"
    library = "lightgbm"

    def names_kept(self, names: np.ndarray) -> np.ndarray:
        # the text that it saves has spaces between names
        return np.array([str(name).replace(" ", "_") for name in names], dtype=object)

    def trees(self, rows: Any = None) -> Reading:
        estimator = self.estimator
        head, saved, tail = _parts(estimator.booster_)
        self._check(saved)
        classes = getattr(estimator, "classes_", None)
        objective = re.search(r"^objective=(.*)$", head, re.M)
        objective = objective[1].split() if objective else ["none"]
        n_scores = int(re.search(r"^num_tree_per_iteration=(\d+)$", head, re.M)[1])
        link, slope = self._link(objective, classes, n_scores)
        trees = [self._tree(part) for part in saved]
        spread_to(trees, np.arange(len(saved)) % n_scores, n_scores)
        categorical = asked_by_sets(trees, self.n_features)
        # a column of categories that no tree asks for stands among the parameters alone
        named = re.search(r"^\[categorical_feature: ([\d,]*)\]$", tail, re.M)
        if named and named[1]:
            columns = np.array(named[1].split(","), dtype=np.intp)
            categorical[columns[columns < self.n_features]] = True
        if not trees or len(trees) % n_scores:
            raise ValueError(
                f"{self.name} holds {len(trees)} trees for {n_scores} scores. Fit it again."
            )
        # of random forests (boosting_type="rf")
        averaged = re.search(r"^average_output\s*$", head, re.M)
        vote = boosted(
            len(trees),
            n_scores,
            init=np.zeros(n_scores),
            divisor=len(trees) // n_scores if averaged else 1,
            link=None if link is None else Link(link, slope, by_library=True),
        )
        return Reading(trees, vote, classes, self._table(categorical))

    def grown_on(self, n_rows: int) -> list:
        found = []
        for body in _parts(self.estimator.booster_)[1][:N_ASKED]:
            counts = np.array(_entry(body, "leaf_count").split(), dtype=np.int64)
            # splits come first; a tree of one leaf does not say
            if len(counts) > 1:
                found.append((np.concatenate([np.zeros(len(counts) - 1, np.int64), counts]), None))
            else:
                break
        return found

    def reweighted(self, weights: np.ndarray, offset: float, scaled: Any) -> Any:
        """Another booster, native or in a copy of its wrapper, which LightGBM reads from text."""
        booster = self.estimator.booster_
        head, trees, tail = _parts(booster)
        n_scores = booster.num_model_per_iteration()
        stages = stages_of(weights, np.arange(len(trees)) % n_scores, n_scores)
        if re.search(r"^average_output\s*$", head, re.M):
            # LightGBM divides the sums by the number of iterations
            weights = weights * (len(stages) * n_scores / len(trees))
            offset = offset * len(stages)
        written = []
        for number, t in enumerate(stages.ravel().tolist()):
            more = offset if number == 0 else 0.0
            body = _NOTHING if t is None else _scaled(trees[t], weights[t], more)
            written.append(f"Tree={number}\n{body}\n\n\n")
        sizes = " ".join(str(len(text.encode())) for text in written)
        head = re.sub(r"^tree_sizes=.*$", f"tree_sizes={sizes}", head, flags=re.M)
        booster = type(booster)(model_str=f"{head}\n{''.join(written)}{tail}")
        if not hasattr(self.estimator, "n_estimators"):
            return booster
        return self.copy_with(
            _Booster=booster,
            n_estimators=booster.current_iteration(),
            _best_iteration=-1,
            # they tell of the training of all trees
            _best_score={},
            _evals_result={},
        )

    def _table(self, categorical):
        """The table of a model that was fitted on a frame with categories; see `Reading`."""
        # the levels of all columns of pandas' categories, in their order, but not which they are
        saved = getattr(self.estimator.booster_, "pandas_categorical", None) or []
        if not saved:
            return Table.of_codes(categorical, getattr(self.estimator, "feature_names_in_", None))
        if len(saved) != categorical.sum():
            raise ValueError(
                f"{self.name} was fitted on a frame with {len(saved)} columns of categories, "
                f"but splits {categorical.sum()} as such, so that it does not tell which. Fit it "
                "with categorical_feature='auto' on categories without an order."
            )
        levels = [None] * len(categorical)
        for column, own in zip(np.flatnonzero(categorical), saved, strict=True):
            levels[column] = np.array(own, dtype=object if isinstance(own[0], str) else None)
        return self.table_of_levels(
            categorical, levels, "missing", self.estimator.booster_.feature_name()
        )

    def _check(self, saved):
        """Refuse what is no sum of constant leaves; `saved` are the texts of the trees."""
        decisions = {k for part in saved for k in _entry(part, "decision_type").split()}
        unsupported = (
            ("zero_as_missing=True", any(int(k) >> 2 & 3 == 1 for k in decisions)),
            # Options have several spellings; the saved model has one.
            ("linear_tree=True", any(_entry(part, "is_linear")[:1] == "1" for part in saved)),
            ("pred_early_stop=True", _is_on(self.estimator.get_params().get("pred_early_stop"))),
        )
        for option, found in unsupported:
            if found:
                raise ValueError(
                    f"{self.name} was fitted with {option}, which is not supported. Fit it without."
                )

    def _link(self, objective, classes, n_scores):
        """What turns scores into probabilities, and the slope of the sigmoid."""
        kind, *options = objective
        slope = 1.0
        if kind == "none":
            raise ValueError(
                f"{self.name} was trained with a function as its objective, and its trees do "
                "not tell what becomes of their sums. Use one of LightGBM's objectives, such as "
                "objective='binary'."
            )
        if classes is None:
            if kind in _VALUES:
                return _VALUES[kind], slope
            if kind == "regression" and "sqrt" in options:
                return "square", slope
            if kind not in _IDENTITY:
                raise ValueError(
                    f"{self.name} has the objective {' '.join(objective)!r}, which is not "
                    "supported. Use objective='regression', 'poisson' or another whose predictions "
                    "are sums of leaves, or exponentials of such sums."
                )
            return None, slope
        links = {"binary": "sigmoid", "cross_entropy": "sigmoid", "multiclass": "softmax"}
        link = links.get(kind)
        if not goes_with(link, n_scores, len(classes)):
            kind = {"multiclassova": "multiclass_ova"}.get(kind, kind)
            raise ValueError(
                f"{self.name} has {len(classes)} classes and the objective {kind!r}, which is "
                "not supported. Fit it on at least two classes with its default objective."
            )
        for option in options:
            if option.startswith("sigmoid:"):
                slope = float(option.partition(":")[2])
        return link, slope

    def _tree(self, part):
        """One tree from the text of a saved model."""
        entries = dict(line.partition("=")[::2] for line in part.splitlines() if "=" in line)

        def numbers(name, dtype):
            return np.array(entries.get(name, "").split(), dtype=dtype)

        leaf, kind = numbers("leaf_value", np.float64), numbers("decision_type", np.int64)
        threshold, feature = numbers("threshold", np.float64), numbers("split_feature", np.int64)
        n_inner = len(leaf) - 1
        children = [numbers(name, np.int64) for name in ("left_child", "right_child")]
        ends, words = numbers("cat_boundaries", np.int64), numbers("cat_threshold", np.int64)
        wrong = len(leaf) != int(entries.get("num_leaves", -1))
        wrong |= ((kind < 0) | (kind > 15)).any() or ((words < 0) | (words >> 32 > 0)).any()
        if len(ends):
            wrong |= ends[0] != 0 or (np.diff(ends) < 0).any() or ends[-1] != len(words)
            wrong |= len(ends) - 1 != int(entries.get("num_cat", 0))
        if wrong or any(len(a) != n_inner for a in (kind, threshold, feature, *children)):
            raise self.damaged(
                f"it has {len(leaf)} leaves and {len(threshold)} splits, or arrays that do not go "
                "together"
            )
        blank = np.full(len(leaf), -1)
        # splits first, then leaves, which have the names -1, -2, ...
        left, right = (
            np.concatenate([np.where(side < 0, n_inner - 1 - side, side), blank])
            for side in children
        )
        # bit 0: a set of codes; bit 1: missing values go left; bits 2 and 3: what is missing, which
        # is nothing (0), zero (1, refused before) or NaN (2)
        is_categorical, lost_left, missing_type = (kind & 1) == 1, (kind & 2) == 2, kind >> 2 & 3
        # where missing values have no side of their own, they count as zero
        lost_left = np.where(missing_type == 2, lost_left, threshold >= 0) & ~is_categorical
        # all numbers near zero are compared as zero: thresholds between them move to either end
        near_zero = np.where(
            (threshold >= -_ZERO) & (threshold < 0), np.nextafter(-_ZERO, -1.0), threshold
        )
        near_zero = np.where((near_zero >= 0) & (near_zero < _ZERO), _ZERO, near_zero)
        tree = Tree(
            name=f"a tree of {self.name}",
            left=left,
            right=right,
            feature=np.concatenate([feature, blank]),
            threshold=np.concatenate(
                [np.where(is_categorical, 0.0, near_zero), np.zeros(len(leaf))]
            ),
            value=np.concatenate([np.zeros(n_inner), leaf])[:, None],
            n_features=self.n_features,
            dtype="float64",
            missing_left=np.concatenate([lost_left, np.zeros(len(leaf), dtype=bool)]),
        )
        for node in np.flatnonzero(is_categorical).tolist():
            row = int(threshold[node])
            if not 0 <= row < len(ends) - 1:
                raise self.damaged(f"node {node} splits categories, but names none")
            codes = np.flatnonzero(bits_of(words[ends[row] : ends[row + 1]]))
            tree.sets[node] = set_of(codes, True, self.estimator)
        return tree


def _is_on(option):
    """Whether LightGBM, which is given options as text and cuts them at spaces, takes one as on."""
    return f"={option}".split()[0].lower() in ("=true", "=+")


def _parts(booster):
    """What LightGBM saves: what is before the trees that predict, each of these, and after them."""
    text, end, tail = booster.model_to_string().partition("end of trees")
    head, *trees = text.split("\nTree=")
    return head, [tree.partition("\n")[2].rstrip("\n") for tree in trees], end + tail


def _entry(body, name):
    """What the text of a tree says of a name; empty where it says nothing."""
    return body.partition(f"\n{name}=")[2].partition("\n")[0]


def _scaled(body, weight, offset=0.0):
    """The text of a tree with scaled leaves, and something added to each."""

    def scaled(line):
        name, _, values = line.partition("=")
        if name not in _SCALED:
            return line
        numbers = np.array(values.split(), dtype=np.float64) * weight
        if name != "shrinkage":
            numbers += offset
        return f"{name}=" + " ".join(f"{number:.17g}" for number in numbers)

    return "\n".join(map(scaled, body.split("\n")))
