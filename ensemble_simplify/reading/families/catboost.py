"""CatBoost: read from the JSON that it saves; it is not imported.

Its trees are sums of float64 in their order from zero, then a scale and a bias. Splits of numbers
compare float32; splits of categories ask for one level, which the model knows by its hash alone
(`level_hash`). Symmetric trees, one split for each level of the tree, are written as binary trees.
"""

from __future__ import annotations

import copy
import json
import math
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.exceptions import NotFittedError

from ensemble_simplify.reading.columns import Column, Hashed
from ensemble_simplify.reading.families.boosters import OfSeveral
from ensemble_simplify.reading.family import N_ASKED
from ensemble_simplify.reading.level_hash import stand_in
from ensemble_simplify.reading.program import Above, Link, boosted, link_of
from ensemble_simplify.reading.table import Table
from ensemble_simplify.reading.trees import Reading, Tree, classes_of, name_of, set_of

# Losses whose predictions are sums of leaves.
_IDENTITY = (
    *("RMSE", "MAE", "Quantile", "LogLinQuantile", "MAPE", "Lq", "Huber", "Expectile"),
    *("LogCosh", "Cox", "SurvivalAft"),
    *("YetiRank", "YetiRankPairwise", "PairLogit", "PairLogitPairwise", "QueryRMSE"),
    *("QuerySoftMax", "QueryCrossEntropy", "StochasticRank", "LambdaMart"),
)
# Losses whose predictions are exponentials of such sums.
_LOGARITHMIC = ("Poisson", "Tweedie")
# Losses of several outputs, which are sums each.
_OF_SEVERAL = ("MultiRMSE", "MultiRMSEWithMissingValues", "MultiQuantile")
_OF_CLASSES = ("Logloss", "CrossEntropy", "Focal", "MultiClass", "MultiClassOneVsAll")


class CatBoost(OfSeveral):
    """CatBoost: raw sums in float64, a tie goes to the first class."""

    kinds = tuple(f"catboost.CatBoost{end}" for end in ("Classifier", "Regressor", "Ranker", ""))
    title = "CatBoost* classifiers, regressors and rankers"
    library = "catboost"
    writes_nodes = True
    names_classes = True

    @property
    def n_features(self) -> int:
        # CatBoost forgets n_features_in_ in copies, and in models from files
        return len(self.estimator.feature_names_ or ())

    @property
    def takes_numbers_alone(self) -> bool:
        # which of its columns are none of numbers is told before it is fitted
        given = self.estimator.get_params()
        return all(given.get(f"{kind}_features") is None for kind in ("cat", "text", "embedding"))

    def check_fitted(self) -> None:
        """It says itself whether it is, when it is saved."""

    def own_levels(self) -> Table | None:
        return self._table(saved_catboost(self.estimator)["features_info"])

    def trees(self, rows: Any = None) -> Reading:
        estimator = self.estimator
        saved = saved_catboost(estimator)
        info, features = saved["model_info"], saved["features_info"]
        self._check_statistics(features)
        loss = _loss_of(info)
        # without this mark it answers sums, whatever its loss
        is_classifier = getattr(estimator, "_estimator_type", None) == "classifier"
        classes = classes_of(estimator) if is_classifier else None
        scale, bias = estimator.get_scale_and_bias()
        bias = np.atleast_1d(np.array(bias, dtype=np.float64))
        n_scores = len(bias)
        self._check_answers(loss, info, classes, scale)
        splits, trees = _Splits(estimator, features), []
        for part in _trees_in(saved):
            *arrays, value = _grown(splits, part, n_scores)
            left, right, split = (np.array(array, dtype=np.int64) for array in arrays)
            feature, border, codes, missing_left = splits.arrays(split)
            tree = Tree(
                name=f"a tree of {self.name}",
                left=left,
                right=right,
                feature=feature,
                threshold=border,
                value=value * scale,
                n_features=self.n_features,
                missing_left=missing_left,
                # one level passes, and goes right; all others, also unknown ones, go left
                sets={
                    node: set_of([codes[node]], False, estimator)
                    for node in np.flatnonzero(codes >= 0).tolist()
                },
            )
            trees.append(tree)
        if not trees:
            raise ValueError(f"{self.name} holds no trees. Fit it with iterations=1 or more.")
        link, choice, init = None, None, np.zeros(n_scores)
        # plain models answer the sums themselves
        if loss in _LOGARITHMIC and getattr(estimator, "_estimator_type", None) == "regressor":
            # by an exponential of its own, which differs from others in the last bits
            link = Link("exp", is_followed=False)
        if classes is not None:
            threshold = self._threshold()
            choice = Above(threshold) if n_scores == 1 else None
            # of "one against all", each class has a sigmoid of its own
            kind = "unknown" if loss == "MultiClassOneVsAll" else link_of(n_scores)
            # its softmax differs from others in the last bits
            link = Link(kind, is_followed=kind != "softmax")
        offset = bias if bias.any() else None
        vote = boosted(len(trees), n_scores, init=init, offset=offset, link=link, choice=choice)
        return Reading(trees, vote, classes, self._table(features))

    def grown_on(self, n_rows: int) -> list:
        saved = saved_catboost(self.estimator)
        splits, found = _Splits(self.estimator, saved["features_info"]), []
        for part in _trees_in(saved)[:N_ASKED]:
            weights = _weights(part)
            if weights is None:  # what was written back does not keep them
                break
            found.append((_grown(splits, weights, 1)[-1][:, 0], None))
        return found

    def reweighted(self, weights: np.ndarray, offset: float, scaled: Any) -> Any:
        """A model of the same type by way of its JSON; the `offset` is added to the bias."""
        estimator = self.estimator
        saved = saved_catboost(estimator)
        kept, every = np.flatnonzero(weights), _trees_in(saved)
        trees = [every[t] for t in kept]
        exact = []
        for tree, weight in zip(trees, weights[kept].tolist(), strict=True):
            exact.append([])
            for leaf, key in _leaves(tree):
                exact[-1].append(weight * np.asarray(leaf[key]))
                leaf[key] = exact[-1][-1].tolist()
        every[:] = trees
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "model.json"
            path.write_text(json.dumps(saved), encoding="utf-8")
            written = type(estimator)().load_model(str(path), format="json")
        # what CatBoost reads from JSON can be off in the last bit
        n_scores = len(np.atleast_1d(estimator.get_scale_and_bias()[1]))
        written.set_leaf_values(_in_order_of(written.get_leaf_values(), exact, n_scores))
        scale, bias = estimator.get_scale_and_bias()
        if offset != 0.0:
            bias = bias + offset
        if written.get_scale_and_bias() != (scale, bias):
            written.set_scale_and_bias(scale, bias)
        return written

    def depth(self) -> int:
        """Depth of the deepest tree, also by branches that no row takes."""
        return max(map(_depth, _trees_in(saved_catboost(self.estimator))))

    def _check_answers(self, loss, info, classes, scale):
        """Refuse models whose answers are other than sums, or sums of another kind."""
        name = self.name
        if classes is None and loss in _OF_CLASSES:
            raise ValueError(
                f"{name} was fitted with loss_function={loss!r}, but answers sums, not classes. "
                "Make a classifier of it with catboost.to_classifier(model)."
            )
        supported = (*_IDENTITY, *_LOGARITHMIC) if classes is None else _OF_CLASSES
        if loss in _OF_SEVERAL:
            if not self._takes_several:
                raise ValueError(
                    f"{name} was fitted with loss_function={loss!r} on several outputs; only one "
                    "is supported at a time. Give OneOutput(model, 0) and so on."
                )
            supported += _OF_SEVERAL
        if loss is not None and loss not in supported:
            raise ValueError(
                f"{name} was fitted with loss_function={loss!r}, which is not supported. Use one "
                f"of {', '.join(supported)}."
            )
        # leaves are scaled as they are read, which rounds as scaled sums do for such numbers alone
        if math.frexp(abs(scale))[0] != 0.5:
            raise ValueError(
                f"{name} has the scale {scale}, by which it multiplies its sums; only powers of "
                "two are supported. Set it to 1 with set_scale_and_bias(1.0, bias), or fit it "
                "again."
            )
        labels = info.get("class_params", {}).get("class_to_label", [])
        if classes is not None and labels and len(labels) != len(classes):
            raise ValueError(
                f"{name} has {len(classes)} classes, but was fitted on rows of {len(labels)} of "
                "them. Leave classes_count and class_names out, or fit it on rows of all classes."
            )

    def _check_statistics(self, features):
        """Refuse columns that a model computes from levels and targets."""
        names = self.estimator.feature_names_
        if features.get("ctrs"):
            # columns of categories are counted for themselves in one place, among all in another
            flat = {
                one["feature_index"]: one["flat_feature_index"]
                for one in features["categorical_features"]
            }
            used = {
                names[flat[part["cat_feature_index"]]]
                for ctr in features["ctrs"]
                for part in ctr["elements"]
                if "cat_feature_index" in part
            }
            raise TypeError(
                f"{self.name} splits on target statistics (ctr) of the columns "
                f"{_listed(sorted(used))}, which are not supported. Fit it with one_hot_max_size "
                "of at least the number of levels of each, or encode these columns in a Pipeline "
                "before it."
            )

    def _threshold(self):
        """What the raw sum of the second of two classes must be above."""
        share = float(getattr(self.estimator, "get_probability_threshold", lambda: 0.5)())
        if not 0.0 < share < 1.0:
            raise ValueError(
                f"{self.name} has the probability threshold {share}, with which it answers "
                "one class alone. Use set_probability_threshold with a number between 0 and 1."
            )
        return -math.log(1.0 / share - 1.0) + 0.0

    def _table(self, features):
        """The table of a model: its columns of categories have as levels what its splits ask for.

        These are stand-ins for their names, which the model does not keep: see `Table.named_by`.
        """
        asked = {
            one["flat_feature_index"]: one.get("values", ())
            for one in features.get("categorical_features", ())
        }
        columns = [Column()] * len(self.estimator.feature_names_)
        for j in map(int, self.estimator.get_cat_feature_indices()):
            levels = np.array([stand_in(number) for number in asked.get(j, ())], dtype=object)
            columns[j] = Hashed(levels=levels, unknown="code", by_text=True)
        return Table(tuple(columns), _names_of(self.estimator))


def saved_catboost(estimator):
    """What CatBoost saves of a fitted model as JSON."""
    if not estimator.is_fitted():
        raise NotFittedError(f"{name_of(estimator)} is not fitted. Fit it first.")
    for kind in ("text", "embedding"):
        found = getattr(estimator, f"get_{kind}_feature_indices")()
        if len(found):
            where = _listed([estimator.feature_names_[j] for j in found])
            raise TypeError(
                f"{name_of(estimator)} was fitted with {kind} features ({where}), which are not "
                "supported. Leave them out, or make columns of numbers of them before."
            )
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model.json"
        estimator.save_model(str(path), format="json")
        return json.loads(path.read_text(encoding="utf-8"))


def _names_of(estimator):
    """Names of the columns of a frame that a CatBoost model was fitted on; None: of an array."""
    names = list(estimator.feature_names_)
    # it gives columns of arrays these names
    if names == [str(j) for j in range(len(names))]:
        return None
    return np.array(names, dtype=object)


def _loss_of(info):
    """The name of the loss that a model was fitted with; None where it does not tell."""
    found = info.get("params", {}).get("loss_function", info.get("loss_function"))
    found = json.loads(found) if isinstance(found, str) and found.startswith("{") else found
    return found["type"] if isinstance(found, dict) else found


def _listed(names):
    return ", ".join(map(repr, names[:8])) + (", ..." if len(names) > 8 else "")


class _Splits:
    """All distinct splits of a model, by number."""

    def __init__(self, estimator, features):
        self.estimator = estimator
        numbers = features.get("float_features", ())
        categories = features.get("categorical_features", ())
        self._numbers = {one["feature_index"]: one for one in numbers}
        self._categories = {one["feature_index"]: one for one in categories}
        # of each its column, border, code (-1: of numbers) and whether gaps fail, in a tuple
        self._number_of, self.tests = {}, []

    def number(self, split):
        """The number of a split of the JSON."""
        kind = split.get("split_type")
        if kind == "FloatFeature":
            key = "float", split["float_feature_index"], split["border"]
        elif kind == "OneHotFeature":
            key = "level", split["cat_feature_index"], split["value"]
        else:
            raise ValueError(
                f"{name_of(self.estimator)} has splits of the type {kind!r}, which are not "
                "supported. Fit it on columns of numbers, or of categories with one_hot_max_size "
                "of at least the number of their levels."
            )
        if key not in self._number_of:
            self._number_of[key] = len(self.tests)
            self.tests.append(self._test(*key))
        return self._number_of[key]

    def _test(self, kind, index, value):
        if kind == "level":
            one = self._categories[index]
            return one["flat_feature_index"], 0.0, one["values"].index(value), True
        one = self._numbers[index]
        # a number passes iff it is above the border; what is missing does not, unless it stands
        # for infinity
        fails = not (one["has_nans"] and one["nan_value_treatment"] == "AsTrue")
        return one["flat_feature_index"], float(np.float32(value)), -1, fails

    def arrays(self, split):
        """Of the splits of some nodes (-1: a leaf) the columns, borders, codes, and gaps' sides."""
        told = zip(*self.tests, (-1, 0.0, -1, False), strict=True)
        return [np.array(each)[split] for each in told]

    def told(self, split, other):
        """What a split answers once another one failed, and once it passed; -1: either."""
        column, border, code, _ = self.tests[split]
        other_column, other_border, other_code, _ = self.tests[other]
        if column != other_column:
            return -1, -1
        if code >= 0:
            return (0, 1) if code == other_code else (-1, 0)
        return 0 if border >= other_border else -1, 1 if border <= other_border else -1


def _grown(splits, part, n_scores):
    """Children, splits (-1: a leaf) and values of the nodes of one tree of the JSON."""
    grow = _symmetric if "leaf_values" in part else _binary
    return grow(splits, part, n_scores)


def _symmetric(splits, part, n_scores):
    """What `_grown` answers, of a symmetric tree.

    Branches that no row takes, as the same feature was asked for before, are left out.
    """
    numbers = [splits.number(split) for split in part["splits"] or ()]
    leaf_value = np.array(part["leaf_values"], dtype=np.float64).reshape(-1, n_scores)
    if len(leaf_value) != 1 << len(numbers):
        raise ValueError(
            f"{name_of(splits.estimator)} holds a damaged tree: it has {len(leaf_value)} leaves "
            f"for {len(numbers)} splits. Fit it again."
        )
    n_nodes, node, leaf = 1, np.zeros(1, dtype=np.int64), np.zeros(1, dtype=np.int64)
    parents = []
    for depth, number in enumerate(numbers):
        # what a split answers at each node where the splits above it tell; -1: it is asked
        known = np.full(len(node), -1)
        for before in range(depth):
            failed, passed = splits.told(number, numbers[before])
            answer = np.where(leaf >> before & 1, passed, failed)
            known = np.where(answer >= 0, answer, known)
        free = np.flatnonzero(known < 0)
        child = n_nodes + 2 * np.arange(len(free))
        n_nodes += 2 * len(free)
        parents.append((node[free], child, np.full(len(free), number)))
        kept = np.flatnonzero(known >= 0)
        node = np.concatenate([node[kept], child, child + 1])
        passed = leaf[free] | 1 << depth
        leaf = np.concatenate([leaf[kept] | known[kept] << depth, leaf[free], passed])
    left, split = np.full(n_nodes, -1), np.full(n_nodes, -1)
    for parent, child, number in parents:
        left[parent], split[parent] = child, number
    value = np.zeros((n_nodes, n_scores))
    value[node] = leaf_value[leaf]
    return left, np.where(left < 0, -1, left + 1), split, value


def _binary(splits, part, n_scores):
    """The same for a tree that was grown leaf by leaf, or level by level."""
    left, right, split, value = [], [], [], []
    # nodes, and the list and the place in it that say where they are: none for the root
    todo = [(part, [-1], 0)]
    while todo:
        node, side, parent = todo.pop()
        here = len(left)
        side[parent] = here
        inner = "split" in node
        left.append(-1)
        right.append(-1)
        split.append(splits.number(node["split"]) if inner else -1)
        value.append(np.zeros(n_scores) if inner else np.resize(node["value"], n_scores))
        if inner:
            todo += [(node["right"], right, here), (node["left"], left, here)]
    return left, right, split, np.array(value, dtype=np.float64)


def _weights(part):
    """One tree of the JSON with the weights of the leaves in place of their values; None: none."""
    part = copy.deepcopy(part)
    for leaf, key in _leaves(part):
        weight = key.replace("value", "weight")
        if weight not in leaf:
            return None
        leaf[key] = leaf[weight]
    return part


def _trees_in(saved):
    """The trees of the JSON, symmetric ones or others."""
    return saved["oblivious_trees" if "oblivious_trees" in saved else "trees"]


def _depth(tree):
    """Depth of one tree of the JSON."""
    if "leaf_values" in tree:
        return len(tree["splits"] or ())
    return 1 + max(_depth(tree["left"]), _depth(tree["right"])) if "split" in tree else 0


def _leaves(tree):
    """Where one tree of the JSON has the values of its leaves, in its order: dicts, and keys."""
    if "split" in tree:
        yield from _leaves(tree["left"])
        yield from _leaves(tree["right"])
    else:
        yield tree, "leaf_values" if "leaf_values" in tree else "value"


def _in_order_of(found, exact, n_scores):
    """Exact values in the order in which a model has its leaves, known by what it has `found`."""
    ordered, begin = np.empty_like(found), 0
    for values in exact:
        values = np.concatenate([np.ravel(value) for value in values]).reshape(-1, n_scores)
        end = begin + values.size
        rank = np.argsort(found[begin:end].reshape(values.shape), axis=0, kind="stable")
        own = np.empty_like(values)
        np.put_along_axis(own, rank, np.sort(values, axis=0), axis=0)
        ordered[begin:end] = own.ravel()
        begin = end
    return ordered
