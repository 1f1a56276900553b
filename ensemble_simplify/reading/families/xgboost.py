"""XGBoost: read from the JSON that it saves; it is not imported."""

from __future__ import annotations

import json
import math
from functools import cached_property
from itertools import pairwise, product
from typing import Any

import numpy as np
from scipy.special import expit, softmax

from ensemble_simplify.grid import FLOAT32_MAX, float32_below, last_float32
from ensemble_simplify.reading.families.boosters import (
    Boosted,
    OfSeveral,
    StandIn,
    goes_with,
    stages_of,
)
from ensemble_simplify.reading.family import N_ASKED, PACKAGE
from ensemble_simplify.reading.forest import assemble
from ensemble_simplify.reading.program import Link, boosted
from ensemble_simplify.reading.trees import (
    Nodes,
    Reading,
    Tree,
    asked_by_sets,
    constant_tree,
    name_of,
    set_of,
    side_of_codes,
    spread_to,
)

# What makes probabilities of margins; and whether these, and not the margins, decide.
_LINKS = {
    "binary:logistic": ("sigmoid", True),
    "binary:logitraw": ("sigmoid", False),
    "binary:hinge": ("unknown", False),
    "reg:logistic": ("sigmoid", True),
    "multi:softprob": ("softmax", True),
    "multi:softmax": ("softmax", False),
}
# Where a tree of XGBoost keeps sets of codes: nodes, first places and numbers of codes, and codes.
_SETS = ("categories_nodes", "categories_segments", "categories_sizes", "categories")
# What the attributes of a model tell of the training of all trees.
_STOPPED = ("best_iteration", "best_score")
# Nodes of trees for whose leaves XGBoost is asked.
MAX_PROBED = 20_000
# Rows of other combinations of leaves.
N_MIXED = 4000
# Of regressors: they answer sums, or exponentials or sigmoids of such.
_IDENTITY = (
    *("reg:squarederror", "reg:absoluteerror", "reg:pseudohubererror", "reg:squaredlogerror"),
    *("reg:quantileerror", "rank:ndcg", "rank:pairwise", "rank:map"),
)
_LOGARITHMIC = ("count:poisson", "reg:gamma", "reg:tweedie", "survival:cox", "survival:aft")
_VALUES = {
    **dict.fromkeys(_IDENTITY, (None, False)),
    **dict.fromkeys(_LOGARITHMIC, ("exp", True)),
    **dict.fromkeys(("reg:logistic", "binary:logistic"), ("sigmoid", True)),
}


class XGBoostBooster(StandIn):
    """An ``xgboost.Booster``: with all its trees, as its own ``predict`` uses them."""

    missing = np.nan

    def get_booster(self):
        """Answer the booster, as XGBoost's wrappers do."""
        return self.model

    @cached_property
    def _settings(self):
        return json.loads(self.model.save_config())["learner"]

    @property
    def booster(self):
        """The kind of trees."""
        return self._settings["gradient_booster"]["name"]

    @cached_property
    def n_features_in_(self):
        return int(self.model.num_features())

    @property
    def _objective(self):
        return self._settings["objective"]["name"]

    @property
    def _n_classes(self):
        kind = self._objective.partition(":")[0]
        own = {"binary": 2, "multi": int(self._settings["learner_model_param"]["num_class"])}
        return own.get(kind)

    @property
    def _names(self):
        return self.model.feature_names

    def _answer(self, X, *, margin=False):
        import xgboost

        # Columns of a booster without names are known by their places, whatever X calls them; one
        # with names takes the columns of an array for them, and checks those of a frame.
        if not hasattr(X, "columns") or self._names is None:
            X = X if hasattr(X, "tocsr") else np.asarray(X)
            matrix = xgboost.DMatrix(X, feature_names=self._names)
        else:
            matrix = xgboost.DMatrix(X, enable_categorical=True)
        return self.model.predict(matrix, output_margin=margin)

    def _labels(self, X):
        if self._objective == "binary:logitraw":
            return (self._answer(X) > 0).astype(np.intp)
        found = self._answer(X)
        if found.ndim == 2:
            return found.argmax(axis=1)
        # classes, or probabilities of the upper class
        multi = self._objective == "multi:softmax"
        return (found if multi else found > 0.5).astype(np.intp)

    def _probabilities(self, X):
        if self._objective == "binary:logitraw":
            return expit(self._answer(X))
        if self._objective == "multi:softmax":
            return softmax(self._answer(X, margin=True), axis=1)
        return self._answer(X)


class XGBoost(OfSeveral, Boosted):
    """XGBoost: float32 sums of trees from the base score, then sigmoid or softmax.

    Codes in the set of a split go right; others, also unknown ones, left.
    """

    kinds = (
        "xgboost.XGBClassifier",
        "xgboost.XGBRegressor",
        "xgboost.XGBRanker",
        f"{PACKAGE}.XGBoostBooster",
    )
    stand_ins = (("xgboost.Booster", XGBoostBooster),)
    title = "XGB* classifiers, regressors and rankers, xgboost.Booster"
    library = "xgboost"

    def trees(self, rows: Any = None) -> Reading:
        estimator = self.estimator
        if estimator.booster not in (None, "gbtree", "dart"):
            raise ValueError(
                f"{self.name} has booster={estimator.booster!r}, which is not supported. "
                "Use booster='gbtree' or 'dart'."
            )
        if estimator.missing is not None and np.isfinite(estimator.missing):
            raise ValueError(
                f"{self.name} has missing={estimator.missing!r}: it treats a number as "
                "missing, which is not supported. Use missing=nan."
            )
        booster, saved = self._saved()
        learner = saved["learner"]
        classes = getattr(estimator, "classes_", None)
        link, n_scores, by_probability = self._link(learner, classes)
        model, keeper = _trees_in(learner)
        shares = keeper.get("weight_drop")
        trees = [self._tree(saved) for saved in model["trees"]]
        spread_to(trees, model["tree_info"], n_scores)
        if trees:
            Nodes(trees, self.n_features, estimator)  # they are walked through, for rows of leaves
        categorical = asked_by_sets(trees, self.n_features)
        # a column of categories that no tree asks for is told by its type, where that was kept
        kinds = (learner.get("feature_types") or [])[: self.n_features]
        categorical[[j for j, kind in enumerate(kinds) if kind == "c"]] = True
        init = np.resize(self._base(learner), n_scores).astype(np.float32)
        # it is kept as a probability, where a sigmoid makes one of the sum
        if link == "sigmoid":
            init = _logit32(init)
        elif link == "exp":
            # it is kept as a value
            init = np.log(init)
        if not trees and estimator.booster == "dart":
            raise ValueError(
                f"{self.name} with booster='dart' holds no trees, and then XGBoost answers "
                "nothing. Fit it with n_estimators=1 or more."
            )
        if not trees:
            # n_estimators=0: XGBoost answers the base score everywhere
            row = np.zeros((1, self.n_features), dtype=np.float32)
            init = _margins(booster, row, (0, 0)).ravel()
            trees.append(constant_tree(estimator, np.zeros(n_scores)))
        elif shares is not None:
            # dropout left each tree a share, by which XGBoost multiplies leaves as it predicts
            init = _weigh(booster, trees, np.array(shares, dtype=np.float32), init, estimator)
        elif n_scores == 1:
            # what was saved of the base score can be off in its last bit
            n_first = int(model["gbtree_model_param"].get("num_parallel_tree", 1))
            init = _base_margin(booster, trees, init[0], n_first, self.name)
        init = init.astype(np.float64)
        link = None if link is None else Link(link, by_library=by_probability)
        vote = boosted(len(trees), n_scores, init=init, dtype="float32", link=link)
        return Reading(trees, vote, classes, self._table(learner, model, categorical))

    def grown_on(self, n_rows: int) -> list:
        booster, saved = self._saved()
        learner = saved["learner"]
        given = json.loads(booster.save_config())["learner"]
        training = given["gradient_booster"].get("tree_train_param", {})
        weight = given["objective"].get("reg_loss_param", {}).get("scale_pos_weight", 1)
        if float(training.get("subsample", 1)) < 1 or float(weight) != 1:
            return []
        objective, base = learner["objective"]["name"], self._base(learner)
        # what each row adds to the cover of a node in the first round, where all scores are alike
        if objective in ("reg:squarederror", "reg:quantileerror"):
            each = np.ones(len(base))
        elif _LINKS.get(objective, ("",))[0] == "sigmoid":
            each = base * (1.0 - base)
        elif _LINKS.get(objective, ("",))[0] == "softmax":
            share = softmax(np.resize(base, int(learner["learner_model_param"]["num_class"])))
            each = 2.0 * share * (1.0 - share)
        else:
            return []
        model = _trees_in(learner)[0]
        n_first = int(model["gbtree_model_param"].get("num_parallel_tree", 1)) * len(each)
        pairs = list(zip(model["trees"], model["tree_info"], strict=True))[: min(n_first, N_ASKED)]
        return [(np.array(tree["sum_hessian"]) / each[k], None) for tree, k in pairs]

    def _base(self, learner):
        """The base score of each score: newer versions keep these, older ones one for all."""
        base = json.loads(learner["learner_model_param"]["base_score"])
        return np.atleast_1d(np.array(base, dtype=np.float32))

    def _saved(self):
        """The booster of the iterations that predict, and what XGBoost saves of it."""
        booster = self.estimator.get_booster()
        # early stopping keeps all iterations, and predicts with those up to the best one
        best = getattr(self.estimator, "best_iteration", None)
        booster = booster if best is None else booster[: best + 1]
        return booster, json.loads(bytes(booster.save_raw(raw_format="json")))

    def reweighted(self, weights: np.ndarray, offset: float, scaled: Any) -> Any:
        """Another booster, native or in a copy of its wrapper, which XGBoost reads from JSON."""
        import xgboost

        _, saved = self._saved()
        learner = saved["learner"]
        for name in _STOPPED:
            learner["attributes"].pop(name, None)
        model, keeper = _trees_in(learner)
        trees, shares = model["trees"], keeper.get("weight_drop")
        n_scores = max(1, int(learner["learner_model_param"]["num_class"]))
        order = stages_of(weights, model["tree_info"], n_scores).ravel().tolist()
        written = []
        for number, t in enumerate(order):
            tree = _stump_of(trees[0]) if t is None else trees[t]
            if t is not None and shares is None:
                _scale(tree, weights[t], offset if number == 0 else 0.0)
            elif number == 0 and offset != 0.0:
                # dart multiplies leaves itself
                _scale(tree, 1.0, offset / np.float64(np.float32(weights[t] * shares[t])))
            written.append({**tree, "id": number})
        if shares is not None:
            keeper["weight_drop"] = [
                1.0 if t is None else _short(np.float32(weights[t] * shares[t])) for t in order
            ]
        # one tree for each score in an iteration, also where random forests had several
        model["trees"] = written
        model["tree_info"] = list(range(n_scores)) * (len(order) // n_scores)
        model["iteration_indptr"] = list(range(0, len(order) + 1, n_scores))
        model["gbtree_model_param"] |= {"num_trees": str(len(order)), "num_parallel_tree": "1"}
        config = json.loads(self.estimator.get_booster().save_config())["learner"]
        threads = {"nthread": config["generic_param"]["nthread"]}
        booster = xgboost.Booster(threads, model_file=bytearray(json.dumps(saved).encode()))
        if not hasattr(self.estimator, "n_estimators"):
            return booster
        written = self.copy_with(_Booster=booster, n_estimators=booster.num_boosted_rounds())
        if written.num_parallel_tree is not None:
            written.num_parallel_tree = 1
        return written

    def _link(self, learner, classes):
        """What makes probabilities of scores, how many these are, and whether the former decide."""
        objective, model = learner["objective"]["name"], learner["learner_model_param"]
        if classes is None:
            if objective not in _VALUES:
                raise ValueError(
                    f"{self.name} has objective={objective!r}, which is not supported. Use "
                    "objective='reg:squarederror', 'count:poisson' or another whose predictions "
                    "are sums of leaves, or exponentials of such sums."
                )
            link, by_probability = _VALUES[objective]
            n_scores = int(model.get("num_target", 1))
        else:
            n_scores = max(1, int(model["num_class"]))
            link, by_probability = _LINKS.get(objective, (None, False))
            # the wrapper, which has an objective, takes what these answer for probabilities
            raw = objective in ("binary:logitraw", "binary:hinge")
            raw &= hasattr(self.estimator, "objective")
            if raw or not goes_with(link, n_scores, len(classes)):
                raise ValueError(
                    f"{self.name} has {len(classes)} classes and objective={objective!r}, "
                    "which is not supported. Fit it on at least two classes with its default "
                    "objective."
                )
        if classes is None and n_scores != 1 and not self._takes_several:
            raise ValueError(
                f"{self.name} was fitted on y with {n_scores} outputs, or for several quantiles; "
                "only one is supported at a time. Give OneOutput(model, 0) and so on."
            )
        return link, n_scores, by_probability

    def _tree(self, saved):
        """One tree from its JSON."""
        left = np.array(saved["left_children"], dtype=np.int64)
        # a float32 number of a test, or the value of a leaf
        number = np.array(saved["split_conditions"], dtype=np.float32).astype(np.float64)
        right = np.array(saved["right_children"], dtype=np.int64)
        size, vectors = int(saved["tree_param"].get("size_leaf_vector", 1)), None
        if size > 1:
            # the right child of a leaf is the number of its vector
            vectors = np.zeros((len(left), size))
            weights = np.array(saved["leaf_weights"], dtype=np.float32).reshape(-1, size)
            vectors[left == -1] = weights[right[left == -1]]
            right = np.where(left == -1, -1, right)
        tree = Tree(
            name=f"a tree of {self.name}",
            left=left,
            right=right,
            feature=np.array(saved["split_indices"], dtype=np.int64),
            threshold=np.where(left == -1, 0.0, float32_below(number)),  # left iff x < number
            value=number[:, None] if vectors is None else vectors,
            n_features=self.n_features,
            missing_left=np.array(saved["default_left"]).astype(bool),
        )
        same = len(left) == len(tree.right) == len(tree.feature) == len(number)
        if not same or ((left == -1) != (tree.right == -1)).any():
            raise self.damaged("its arrays do not go together")
        if not any(saved.get(name) for name in _SETS) and 1 not in saved.get("split_type", ()):
            return tree
        split = np.array(saved["split_type"]) == 1
        nodes, begins, sizes, codes = (
            np.array(saved.get(name, []), dtype=np.int64) for name in _SETS
        )
        ends = np.cumsum(sizes)
        if (
            len(split) != len(left)
            or not np.array_equal(nodes, np.flatnonzero(split & (left != -1)))
            or not np.array_equal(begins, ends - sizes)
            or (sizes < 0).any()
            or ends[-1:].sum() != len(codes)
        ):
            raise self.damaged("its arrays do not go together")
        tree.sets = {
            node: set_of(codes[begin:end], False, self.estimator)
            for node, begin, end in zip(nodes.tolist(), begins, ends, strict=True)
        }
        return tree

    def _table(self, learner, model, categorical):
        """The table of a model that encodes categories itself (XGBoost from 3.1); see `Reading`."""
        levels = [None] * len(categorical)
        for feature, saved in enumerate(model.get("cats", {}).get("enc", [])[: len(categorical)]):
            values = saved.get("values", [])
            if not categorical[feature] or not values:
                continue
            if "offsets" in saved:
                text, ends = bytes(v % 256 for v in values), saved["offsets"]
                if not text.isascii():
                    raise ValueError(
                        f"{self.name} was fitted on a column, number {feature}, whose levels "
                        "have letters beyond ASCII. XGBoost keeps the names of such levels cut "
                        "short. Rename the levels (X[column].cat.rename_categories) and fit it "
                        "again."
                    )
                own = [text[a:b].decode() for a, b in pairwise(ends)]
                levels[feature] = np.array(own, dtype=object)
            else:
                levels[feature] = np.array(values)
        return self.table_of_levels(categorical, levels, "refused", learner.get("feature_names"))


def _margins(booster, rows, trees, start=None):
    """Margins of some iterations; `start` replaces the base score."""
    if start is not None:
        start = np.broadcast_to(np.asarray(start, dtype=np.float32), len(rows))
    return booster.inplace_predict(
        rows, iteration_range=trees, predict_type="margin", base_margin=start
    )


def _weigh(booster, trees, shares, init, estimator):
    """Scale the leaves of a DART model by the shares of their trees, in place; return the start.

    XGBoost adds the start to a leaf and subtracts it again, in float32, before it scales the leaf;
    some versions, for some kinds of rows, do not. The start itself may have been rounded when it
    was saved. All of this is tried, and what reproduces XGBoost's own margins is taken.
    """
    rows = _rows_of_leaves(trees[:200])
    rows = np.concatenate([rows, _mixed(rows)])
    truth = _margins(booster, rows, (0, 0)).reshape(len(rows), len(init))
    # which leaves the rows come to does not depend on what these hold
    vote = boosted(len(trees), len(init), init=init, dtype="float32")
    forest = assemble(Reading(trees, vote, None), trees[0].n_features, estimator)
    leaves = forest.apply(rows).T - forest.offsets[:-1, None]
    starts = _with_neighbours(init) if len(init) == 1 else (init,)
    for start, back_and_forth in product(starts, (True, False)):

        def scaled(tree, share, start=start, back_and_forth=back_and_forth):
            value = tree.value.astype(np.float32)
            if back_and_forth:
                value = np.where(value != 0, value + start - start, value)
            return value * share

        total = np.tile(start, (len(rows), 1))
        for tree, share, leaf in zip(trees, shares, leaves, strict=True):
            total += scaled(tree, share)[leaf]
        if np.array_equal(total, truth):
            for tree, share in zip(trees, shares, strict=True):
                tree.value = scaled(tree, share).astype(np.float64)
            return start
    raise ValueError(
        f"The margins of {name_of(estimator)} with booster='dart' could not be reproduced from its "
        "trees. Fit it with booster='gbtree', or move it to the CPU (set_params(device='cpu'))."
    )


def _with_neighbours(number):
    """A float32 number, the next one below it and the next one above."""
    return number, *(np.nextafter(number, np.float32(end)) for end in (-np.inf, np.inf))


def _base_margin(booster, trees, guess, n_first, name):
    """Where XGBoost starts its sums: the float32 that reproduces the margins it predicts.

    Only the first tree is added to the start itself. With one tree an iteration, rows for all its
    leaves tell apart all starts that make a difference; with several trees an iteration, rows for
    many combinations of their leaves do.
    """
    rows = _rows_of_leaves(trees[:20])
    if n_first > 1:
        rows = np.concatenate([rows, _mixed(rows)])
    # the margins after the first iteration, and after all
    truth = {iterations: _margins(booster, rows, iterations) for iterations in ((0, 1), (0, 0))}

    def fits(start):
        return all(
            np.array_equal(_margins(booster, rows, iterations, start), margins)
            for iterations, margins in truth.items()
        )

    start = next(filter(fits, _with_neighbours(guess)), None)
    if start is None:
        ends = [_ends_of_start(booster, rows, *item) for item in truth.items()]
        start = np.clip(guess, max(least for least, _ in ends), min(most for _, most in ends))
        if not fits(start):
            raise ValueError(
                f"The base score of {name} could not be found from its predictions. "
                "Move it to the CPU (set_params(device='cpu')) or fit it with base_score=0.5."
            )
    return np.array([start], dtype=np.float32)


def _ends_of_start(booster, rows, iterations, margins):
    """The least and the greatest start from which some iterations may lead to these margins.

    A margin never falls when its start rises, so bisection finds both ends.
    """

    def below(start):
        return _margins(booster, rows, iterations, start) < margins

    def up_to(start):
        return _margins(booster, rows, iterations, start) <= margins

    too_low = last_float32(below, len(rows)).max()
    least = np.nextafter(np.float32(too_low), np.float32(np.inf))
    return least, np.float32(last_float32(up_to, len(rows)).min())


def _logit32(share):
    """The margin of a probability as XGBoost has it: by a logarithm in float32."""
    with np.errstate(divide="ignore"):
        odds = np.float32(1) / share.astype(np.float32) - np.float32(1)
    return np.array([-math.log(odd) if odd > 0 else np.inf for odd in odds], dtype=np.float32)


def _rows_of_leaves(trees):
    """Rows for the leaves of the first tree, and of others while they are quickly found."""
    n_nodes = np.cumsum([len(tree.left) for tree in trees])
    some = 1 + np.searchsorted(n_nodes, MAX_PROBED)
    return np.concatenate([_leaf_rows(tree) for tree in trees[:some]])


def _mixed(rows):
    """Rows whose entries are drawn from those of some rows, column by column."""
    pick = np.random.default_rng(0).integers(0, len(rows), (N_MIXED, rows.shape[1]))
    return np.take_along_axis(rows, pick, axis=0)


def _leaf_rows(tree):
    """One row for every value that a tree gives to a row that can reach it."""
    # of each column that is tested by sets, the codes that its sets know, and one beyond
    n_codes = {}
    for node, sides in tree.sets.items():
        n_codes[tree.feature[node]] = max(n_codes.get(tree.feature[node], 0), len(sides))
    codes = {feature: np.ones(n, dtype=bool) for feature, n in n_codes.items()}
    rows, leaves, todo = [], [], [(0, np.full(tree.n_features, FLOAT32_MAX), codes)]
    while todo:
        node, row, codes = todo.pop()
        if tree.left[node] < 0:
            rows.append(row)
            leaves.append(node)
            continue
        feature = tree.feature[node]
        if node in tree.sets:
            goes_left = side_of_codes(tree.sets[node], n_codes[feature] - 1)
            for child, side in ((tree.right[node], ~goes_left), (tree.left[node], goes_left)):
                possible = np.flatnonzero(side & codes[feature])
                if possible.size:
                    moved = row.copy()
                    moved[feature] = possible[-1]
                    todo.append((child, moved, {**codes, feature: side & codes[feature]}))
            continue
        if row[feature] > tree.threshold[node]:
            todo.append((tree.right[node], row, codes))
            row = row.copy()
            row[feature] = tree.threshold[node]
        todo.append((tree.left[node], row, codes))
    # leaves that are copies of one are one
    _, first = np.unique(tree.value[leaves], axis=0, return_index=True)
    return np.array(rows, dtype=np.float32)[np.sort(first)]


# ------------------------------------------------------------------- what is written


def _trees_in(learner):
    """Where what XGBoost saves has its trees, and where the shares that dropout left them."""
    boosting = learner["gradient_booster"]
    model = boosting.get("gbtree", boosting)["model"]
    # from XGBoost 3.4 on, with the trees, and of gbtree with dropout, too
    return model, boosting if "weight_drop" in boosting else model


def _scale(tree, weight, offset=0.0):
    """Scale the leaves of a tree, in place, and add something to each."""
    for name in ("split_conditions", "base_weights"):
        scaled = np.array(tree[name], dtype=np.float32) * np.float64(weight) + offset
        pairs = zip(scaled.astype(np.float32), tree[name], tree["left_children"], strict=True)
        # of nodes with a test, the number is its threshold
        is_kept = name == "split_conditions"
        tree[name] = [old if is_kept and child >= 0 else _short(new) for new, old, child in pairs]


def _short(number):
    """A float32 number by its shortest decimal digits, as XGBoost writes and reads it."""
    return float(str(number))


def _stump_of(tree):
    """A tree of one leaf that adds nothing, with the same entries as another tree."""
    n_nodes = len(tree["left_children"])
    written = {
        name: entry[: int(len(entry) == n_nodes)] if isinstance(entry, list) else entry
        for name, entry in tree.items()
    }
    for names, entry in (
        (("split_conditions", "base_weights", "loss_changes", "sum_hessian"), [0.0]),
        (("split_indices", "split_type", "default_left"), [0]),
        (("left_children", "right_children"), [-1]),
        (_SETS, []),
    ):
        written |= dict.fromkeys(names, entry)
    return written | {"tree_param": tree["tree_param"] | {"num_nodes": "1", "num_deleted": "0"}}
