"""What users would do instead: a plain tree of scikit-learn on a model's answers, or on labels."""

from sklearn.base import is_regressor
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor


def plain_tree(model, X, answers, n_leaves=None):
    """A tree of scikit-learn fitted to these rows; with as many leaves as the model by default."""
    plain = DecisionTreeRegressor if is_regressor(model) else DecisionTreeClassifier
    n_leaves = model.get_n_leaves() if n_leaves is None else n_leaves
    return plain(max_leaf_nodes=n_leaves, random_state=0).fit(X, answers)
