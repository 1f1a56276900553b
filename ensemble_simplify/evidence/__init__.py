"""Evidence: a proven claim in a file, with its proof, which another program checks.

`claim` says what was proven, of which models, and where. `checker` is a file of its own, which
shares nothing with this package: it cuts the space into boxes until each of them is proven by a
bound or is a single cell. `search` has it cut well. `document` writes models, claim and boxes as
JSON. `checked` compares such a file with models at hand.
"""

from ensemble_simplify.evidence.checked import CheckedEvidence, check
from ensemble_simplify.evidence.claim import Claim, Near, Use
from ensemble_simplify.evidence.document import HasEvidence, NoEvidence, evidence
