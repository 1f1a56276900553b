"""Small sums of trees, and trees whose leaves were shrunk, of the package imodels."""

from __future__ import annotations

from typing import Any

import numpy as np

from ensemble_simplify.reading.family import Family, family_of
from ensemble_simplify.reading.program import Link, boosted
from ensemble_simplify.reading.trees import Reading, Tree

# NumPy adds up fewer numbers of a row one after the other.
_IN_ORDER = 8


class Shrunk(Family):
    """HSTree: a model of scikit-learn, in the leaves of which other values were put."""

    kinds = ("imodels.HSTreeClassifier", "imodels.HSTreeRegressor")
    title = "HSTree* and FIGS* of imodels"

    @property
    def n_features(self) -> int:
        return family_of(self.estimator.estimator_).n_features

    def trees(self, rows: Any = None) -> Reading:
        reading = family_of(self.estimator.estimator_).read(rows)
        if reading.classes is not None:
            reading.classes = np.asarray(self.estimator.classes_)
            # its probabilities are clipped and divided by their sum once more
            reading.vote = reading.vote.behind(Link("unknown"))
        return reading


class Figs(Family):
    """FIGS: the sum of what a few trees say, of classes a number for each."""

    kinds = (
        *("imodels.FIGSClassifier", "imodels.FIGSRegressor"),
        *("imodels.FIGSClassifierCV", "imodels.FIGSRegressorCV"),
    )
    title = Shrunk.title
    methods = ("predict", "predict_proba", "_predict_tree")

    @property
    def _model(self):
        """It, or what a search of its own has found."""
        return getattr(self.estimator, "figs", self.estimator)

    @property
    def n_features(self) -> int:
        return int(self._model.n_features_in_)

    def trees(self, rows: Any = None) -> Reading:
        estimator = self._model
        classes = getattr(estimator, "_class_map", None)
        n_scores, n_trees = estimator.n_outputs, len(estimator.trees_)
        why = None
        if hasattr(estimator, "_encoder"):
            why = "categorical_features, which it encodes itself; encode them in a Pipeline before"
        elif classes is None and n_scores > 1:
            why = "y of several columns; fit one model for each"
        elif classes is not None and n_trees >= _IN_ORDER:
            why = f"{n_trees} trees, which it adds up in an order of NumPy's; use max_trees=7"
        if why is not None:
            raise ValueError(f"{self.name} is not supported as it was fitted with {why}.")
        trees = [self._tree(root, n_scores) for root in estimator.trees_]
        if classes is None:
            return Reading(trees, boosted(n_trees, 1, init=np.zeros(1)), None)
        labels = np.array([classes[k] for k in range(n_scores)])
        vote = boosted(n_trees, n_scores, init=np.zeros(n_scores), link=Link("unknown"))
        return Reading(trees, vote, labels)

    def _tree(self, root, n_scores):
        nodes, children = [root], []
        for node in nodes:  # which grows
            own = [child for child in (node.left, node.right) if child is not None]
            if len(own) == 1:
                raise self.damaged("a node has one child")
            children.append([len(nodes), len(nodes) + 1] if own else [-1, -1])
            nodes += own
        left, right = np.array(children, dtype=np.intp).T
        return Tree(
            name=f"a tree of {self.name}",
            left=left,
            right=right,
            feature=np.array([-1 if n.left is None else n.feature for n in nodes], dtype=np.intp),
            threshold=np.array([0.0 if n.left is None else n.threshold for n in nodes]),
            value=np.array([np.broadcast_to(n.value, n_scores) for n in nodes], dtype=np.float64),
            n_features=self.n_features,
            dtype="float64",
        )
