"""Questions to one fitted model, answered for every input, by proof or by a row.

Is the answer monotone in a feature? Do some features change it? In which box around a row is there
one class? Which smallest change of a row flips its class? `_audited.py` reads the model, the domain
and the row, `_response.py` which answer is asked about; `_monotone.py`, `_sensitive.py`, `_box.py`,
`_flip.py` and `_principal.py` answer a question each; `_flip_search.py` looks for the nearest
flips, `_pairs.py` searches pairs of rows, and `_sets.py` says which features could flip a class
together.
"""

from ensemble_simplify.audit._box import SufficientBox, sufficient_box
from ensemble_simplify.audit._flip import NearestFlip, nearest_flip
from ensemble_simplify.audit._monotone import Monotonicity, is_monotone
from ensemble_simplify.audit._principal import PrincipalReasons, principal_reasons
from ensemble_simplify.audit._sensitive import Sensitivity, is_sensitive

__all__ = [
    "Monotonicity",
    "NearestFlip",
    "PrincipalReasons",
    "Sensitivity",
    "SufficientBox",
    "is_monotone",
    "is_sensitive",
    "nearest_flip",
    "principal_reasons",
    "sufficient_box",
]
