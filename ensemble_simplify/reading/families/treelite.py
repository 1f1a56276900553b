"""Ensembles in exchange formats, as models to compare; and that of treelite.

Each class predicts with the runtime of its format and is read with the arithmetic of that runtime:
the type in which rows are compared, the type and order in which leaves are added up, what is added
at the end, and what decides between classes.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ensemble_simplify.grid import float32_below
from ensemble_simplify.reading.families.held import KeepsVersion
from ensemble_simplify.reading.family import PACKAGE, Family
from ensemble_simplify.reading.program import Link, boosted
from ensemble_simplify.reading.table import Table
from ensemble_simplify.reading.trees import (
    Reading,
    Tree,
    asked_by_sets,
    name_of,
    set_of,
    spread_to,
)

_REGRESSOR = 1
_TASKS = (0, 1, 2)
_LINKS = ("sigmoid", "softmax", "identity_multiclass")
_FIELDS = (
    "node_type cleft cright split_index default_left leaf_value threshold cmp "
    "category_list_right_child leaf_vector leaf_vector_begin leaf_vector_end category_list "
    "category_list_begin category_list_end"
).split()


class Exchanged(Family):
    """Models in exchange formats, which are read by themselves: each knows its runtime."""

    kinds = (f"{PACKAGE}.OnnxModel", f"{PACKAGE}.TreeliteModel")
    title = "OnnxModel, TreeliteModel"
    methods = ("predict",)
    names_classes = True

    def trees(self, rows: Any = None) -> Reading:
        return self.estimator._read()

    def check_fitted(self) -> None:
        """They come fitted, and are no estimators of scikit-learn, which could be asked."""


class ExchangeModel(KeepsVersion):
    """What `OnnxModel` and `TreeliteModel` share: they are fitted, and keep no parameters."""

    n_features_in_: int
    # what the runtime of the format answers
    _predicted: Callable
    _probabilities: Callable
    # its trees, as a `Reading`
    _read: Callable

    def __sklearn_is_fitted__(self):
        return True

    def predict(self, X: ArrayLike) -> np.ndarray:
        """Predict rows with the runtime of the format.

        Parameters
        ----------
        X : array-like of shape (n_rows, n_features)
            Rows; they are cast to the type of the runtime.

        Returns
        -------
        ndarray of shape (n_rows,)
            Labels; numbers for regression.
        """
        return self._predicted(X)

    def predict_proba(self, X: ArrayLike) -> np.ndarray:
        """Probabilities of the classes, as the runtime of the format answers them.

        Parameters
        ----------
        X : array-like of shape (n_rows, n_features)
            Rows; they are cast to the type of the runtime.

        Returns
        -------
        ndarray of shape (n_rows, n_classes)
            In the order of ``classes_``.
        """
        return self._probabilities(X)

    def _rows(self, X, dtype):
        X = np.ascontiguousarray(np.asarray(X, dtype=np.float64).astype(dtype))
        if X.ndim != 2 or X.shape[1] != self.n_features_in_:
            raise ValueError(
                f"X has shape {X.shape}, but {name_of(self)} takes rows of {self.n_features_in_} "
                "features. Pass the columns of the ensemble that was converted."
            )
        return X

    def _refused(self, why):
        return ValueError(f"{name_of(self)} is not supported: {why}.")


def largest_left(threshold, strict, dtype):
    """Thresholds up to which a row goes left, of tests of which some are ``x < threshold``."""
    below = float32_below(threshold) if dtype == "float32" else np.nextafter(threshold, -np.inf)
    return np.where(strict, below, threshold)


class TreeliteModel(ExchangeModel):
    """A treelite model, to be compared with others by `verify` and `agreement`.

    Use it to prove that a converted model answers as its original does, or to see a row on which
    the two differ.

    Scores and probabilities are those of treelite's reference runtime, GTIL. It compares rows in
    the model's ``input_type``, and adds up leaves, one tree after the other, in the same type.
    Then it divides, where the model averages, and adds base scores.

    Parameters
    ----------
    model : treelite.Model
        A model of one target: regression without a transformation of sums, or classification.
    classes : array-like of shape (n_classes,) or None, default=None
        Labels of the classes, which treelite does not keep. None: 0, 1, ....

    Attributes
    ----------
    n_features_in_ : int
        Number of columns.
    classes_ : ndarray of shape (n_classes,)
        Class labels, for a classifier.

    Notes
    -----
    ``predict`` gives the class with the largest score, and the first of several with the same
    score. With one score, it gives the upper class where the score is above zero. Scores are
    compared before the sigmoid or softmax, which can round a difference away.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.ensemble import RandomForestClassifier
    >>> from ensemble_simplify import TreeliteModel, verify
    >>> X, y = load_iris(return_X_y=True)
    >>> forest = RandomForestClassifier(4, max_depth=2, random_state=0).fit(X, y)
    >>> import treelite.sklearn
    >>> model = TreeliteModel(treelite.sklearn.import_model(forest))
    >>> verify(forest, model).equal
    True
    """

    def __init__(self, model: Any, classes: ArrayLike | None = None):
        self.model = model
        self._header = header = model.get_header_accessor()
        self.n_features_in_ = int(model.num_feature)
        n_scores = int(header.get_field("num_class")[0])
        if int(header.get_field("num_target")[0]) != 1:
            raise self._refused("it has several targets. Convert one ensemble for each")
        kind = int(header.get_field("task_type")[0])
        if kind not in _TASKS:
            raise self._refused("it is neither a classifier nor a regressor")
        if kind != _REGRESSOR:
            n_classes = max(2, n_scores)
            self.classes_ = np.arange(n_classes) if classes is None else np.asarray(classes)
            if self.classes_.shape != (n_classes,):
                raise ValueError(
                    f"classes={classes!r}, but the model has {n_classes} classes. Name these."
                )

    def _predicted(self, X):
        scores = self._scores(X, pred_margin=True)
        if not hasattr(self, "classes_"):
            return scores[:, 0]
        if scores.shape[1] == 1:
            return self.classes_[(scores[:, 0] > 0).astype(np.intp)]
        return self.classes_[scores.argmax(axis=1)]

    def _probabilities(self, X):
        upper = self._scores(X, pred_margin=False)
        return upper if upper.shape[1] > 1 else np.column_stack([1 - upper, upper])

    def _scores(self, X, pred_margin):
        import treelite

        X = self._rows(X, self.model.input_type)
        scores = treelite.gtil.predict(self.model, X, nthread=1, pred_margin=pred_margin)
        return scores.reshape(len(X), -1)

    def _read(self):
        header = self._header
        classes = getattr(self, "classes_", None)
        link = header.get_field("postprocessor")
        allowed = ("identity",) if classes is None else _LINKS
        if link not in allowed:
            raise self._refused(f"it ends in {link!r}, where {', '.join(allowed)} are known")
        base = np.array(header.get_field("base_scores"), dtype=np.float64)
        n_scores, dtype = len(base), self.model.input_type
        scores = np.array(header.get_field("class_id"))
        trees = [self._tree(index, dtype) for index in range(len(scores))]
        spread_to(trees, scores.tolist(), n_scores)
        # the mean over trees, or over iterations of one tree for each class
        divisor = 1
        if header.get_field("average_tree_output")[0]:
            divisor = len(trees) if scores[0] < 0 else len(trees) // n_scores
        slope = float(header.get_field("sigmoid_alpha")[0])
        vote = boosted(
            len(trees),
            n_scores,
            init=np.zeros(n_scores),
            dtype=dtype,
            divisor=divisor,
            offset=base if base.any() else None,
            link=Link(link, slope) if link in ("sigmoid", "softmax") else None,
        )
        table = Table.of_codes(asked_by_sets(trees, self.n_features_in_))
        return Reading(trees, vote, classes, table)

    def _tree(self, index, dtype):
        """One tree. Treelite frees arrays: copy them."""
        nodes = self.model.get_tree_accessor(index)
        get = {name: np.array(nodes.get_field(name)) for name in _FIELDS}
        # nodes are leaves (0), or test a number (1) or a set of codes (2); 2 is <, and 3 is <=
        inner, sign = get["node_type"] == 1, get["cmp"]
        if not np.isin(sign[inner], (2, 3)).all():
            raise self._refused("it has tests other than < and <=")
        leaf_type = np.float32 if dtype == "float32" else np.float64
        begin, end = get["leaf_vector_begin"].astype(int), get["leaf_vector_end"].astype(int)
        value = get["leaf_value"][:, None].astype(leaf_type).astype(np.float64)
        width = (end - begin).max()
        if width:
            value = np.zeros((len(begin), width))
            for node in np.flatnonzero(end > begin):
                value[node] = get["leaf_vector"][begin[node] : end[node]].astype(leaf_type)
        tree = Tree(
            name=f"a tree of {name_of(self)}",
            left=get["cleft"].astype(np.int64),
            right=get["cright"].astype(np.int64),
            feature=get["split_index"].astype(np.int64),
            threshold=largest_left(get["threshold"].astype(np.float64), sign == 2, dtype),
            value=value,
            n_features=self.n_features_in_,
            dtype=dtype,
            missing_left=get["default_left"].astype(bool),
        )
        for node in np.flatnonzero(get["node_type"] == 2).tolist():
            part = slice(*(int(get[f"category_list_{end}"][node]) for end in ("begin", "end")))
            goes_left = not get["category_list_right_child"][node]
            tree.sets[node] = set_of(get["category_list"][part], goes_left, self)
        return tree
