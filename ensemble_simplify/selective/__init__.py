"""A small tree that answers where it may, and leaves the other rows to the model.

`_estimator` holds the two estimators: they split the rows, have a tree grown by `representer`, and
answer. `_certificate` chooses which leaves answer and tests that on rows that nothing was learned
from. `_written` says the tree in words, in a drawing, and in other languages.
"""

from ensemble_simplify.selective._estimator import (
    SelectiveAnswer,
    SelectiveTreeClassifier,
    SelectiveTreeRegressor,
)

__all__ = ["SelectiveAnswer", "SelectiveTreeClassifier", "SelectiveTreeRegressor"]
