"""scikit-learn's own tree on tables, by the codes of their levels."""

from __future__ import annotations

from copy import copy

import numpy as np
from sklearn.base import BaseEstimator, is_classifier
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor
from sklearn.utils import ClassifierTags, RegressorTags
from sklearn.utils.metaestimators import available_if

from ensemble_simplify.base import HoldsTree, fitted_rows
from ensemble_simplify.reading import Table
from ensemble_simplify.writing import OF_ANSWERS, pruned_copy


class TableTree(HoldsTree, BaseEstimator):
    """scikit-learn's own tree, fitted to a table by the codes of its levels.

    Parameters
    ----------
    classifier : bool, default=True
        Whether it predicts classes.
    max_leaf_nodes : int or None, default=None
        As of scikit-learn's trees.
    min_samples_leaf : int, default=1
        As of scikit-learn's trees.
    random_state : int, RandomState instance or None, default=None
        As of scikit-learn's trees.
    """

    def __init__(
        self, classifier=True, *, max_leaf_nodes=None, min_samples_leaf=1, random_state=None
    ):
        self.classifier = classifier
        self.max_leaf_nodes = max_leaf_nodes
        self.min_samples_leaf = min_samples_leaf
        self.random_state = random_state

    @classmethod
    def of(cls, tree):
        """A fitted tree of scikit-learn, on the table whose words it knows."""
        found = cls(is_classifier(tree))
        found.decision_tree_, found.n_features_in_ = tree, tree.n_features_in_
        found._table = vars(tree).get("_table")
        for known in ("classes_", "feature_names_in_"):
            if hasattr(tree, known):
                setattr(found, known, getattr(tree, known))
        return found

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        if self.classifier:
            tags.estimator_type, tags.classifier_tags = "classifier", ClassifierTags()
        else:
            tags.estimator_type, tags.regressor_tags = "regressor", RegressorTags()
        return tags

    def fit(self, X, y):
        """Number the levels of the table, and fit the tree."""
        self._table = Table.of_rows(X).as_whole(X)
        numbers = self._table.read(X)
        self.n_features_in_ = len(self._table)
        if self._table.names is not None:
            self.feature_names_in_ = np.asarray(self._table.names, dtype=object)
        kind = DecisionTreeClassifier if self.classifier else DecisionTreeRegressor
        given = self.get_params()
        given.pop("classifier")
        tree = kind(**given)
        self.decision_tree_ = self._grown = tree.fit(numbers, y)
        self._shares_of = OF_ANSWERS if self.classifier else ""
        if self.classifier:
            self.classes_ = tree.classes_
        return self

    def at(self, n_leaves):
        """The tree that `fit` would have grown with fewer leaves: it was grown best first.

        Its leaves hold the shares of what it was fitted to.
        """
        smaller, left = copy(self), self._grown.tree_.children_left
        # scikit-learn numbers the two children of each split after those of the splits before
        is_split = (left >= 0) & (left < 2 * n_leaves - 1)
        smaller.decision_tree_ = pruned_copy(self._grown, is_split)
        return smaller

    def _numbers(self, X):
        """Rows as the tree takes them; whatever is missing goes where its splits send it."""
        return fitted_rows(self, X, any_missing=True)

    @available_if(lambda self: self.classifier)
    def predict_proba(self, X):
        """Predict the probabilities of the classes."""
        return self.decision_tree_.predict_proba(self._numbers(X), check_input=False)
