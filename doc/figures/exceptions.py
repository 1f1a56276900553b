"""The path of exceptions of a default forest on breast cancer."""

from sklearn.datasets import load_breast_cancer
from sklearn.ensemble import RandomForestClassifier
from sklearn.frozen import FrozenEstimator

from ensemble_simplify import BornAgainClassifier, ExceptionPathDisplay

X, y = load_breast_cancer(return_X_y=True)
forest = RandomForestClassifier(random_state=0).fit(X, y)
tree = BornAgainClassifier(FrozenEstimator(forest), max_changes=1, random_state=0).fit(X, y)
ExceptionPathDisplay.from_estimator(tree.at(n_leaves=16))
