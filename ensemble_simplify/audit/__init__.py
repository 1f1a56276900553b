"""Questions to one fitted model, answered for every input, by proof or by a row.

Is the class monotone in a feature? In which box around a row is there one class? Which smallest
change of a row flips its class? `_audited.py` reads the model, the domain and the row;
`_monotone.py`, `_box.py` and `_flip.py` answer a question each; `_sets.py` says which features
could flip a class together.
"""

from ensemble_simplify.audit._box import SufficientBox, sufficient_box
from ensemble_simplify.audit._flip import NearestFlip, nearest_flip
from ensemble_simplify.audit._monotone import Monotonicity, is_monotone

__all__ = [
    "Monotonicity",
    "NearestFlip",
    "SufficientBox",
    "is_monotone",
    "nearest_flip",
    "sufficient_box",
]
