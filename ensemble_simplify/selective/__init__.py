"""A small tree that answers where it may, and leaves the other rows to the model.

`_estimator` holds the two estimators. `_fitting` splits the rows, has a tree grown by `representer`
and counts at its nodes; `_answers` is what a fitted one does. `_certificate` chooses which leaves
answer and tests that on rows that nothing was learned from, `_proven` asks for proofs. `_written`
says the tree in words, in a drawing, and in other languages.
"""

from ensemble_simplify.selective._answers import SelectiveAnswer
from ensemble_simplify.selective._estimator import SelectiveTreeClassifier, SelectiveTreeRegressor

__all__ = ["SelectiveAnswer", "SelectiveTreeClassifier", "SelectiveTreeRegressor"]
