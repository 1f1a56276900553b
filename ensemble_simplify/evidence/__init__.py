"""Evidence: a proven claim in a file, with its proof, which another program checks.

`claim` says what was proven, of which models, and where. `boxes` makes the proof: boxes that
cover the space, in each of which a bound or a single cell decides. `document` writes models, claim
and proof as JSON, once `checker` has found that they hold: a file of its own, which shares nothing
with this package. `checked` compares such a file with models at hand.
"""

from ensemble_simplify.evidence.boxes import NoEvidence, partition
from ensemble_simplify.evidence.checked import CheckedEvidence, check
from ensemble_simplify.evidence.claim import Claim, Near, Use
from ensemble_simplify.evidence.document import HasEvidence, evidence
