"""Proofs that models answer alike, everywhere or near rows, or a row on which they do not.

`verify` is what users call. It has `compare` compare labels or numbers, and returns an `outcome`.
`forest_pair` holds two models on one grid; there, `prove` and `vote_pair` decide about labels and
`numeric_difference` about numbers (`numeric_rise` about one model's at two rows), with trees joined
by `joined_trees`, `changed_boxes` where only subtrees differ, and `stump_sums` where trees are sums
of single features. `near_rows` lists the points near rows, `agreement` counts on rows, by what
`apart` says of labels or numbers, or has them counted `in_database`, and bounds a `volume`; what
it returns is in `agreed`. `differences` tells in rules which rows two models answer otherwise.
Kernels: `_certify` bounds models on boxes, and `_lines` follows lines of cells.
"""

from ensemble_simplify.proof.agreed import Agreement
from ensemble_simplify.proof.agreement import agreement
from ensemble_simplify.proof.differences import Difference, Differences, differences
from ensemble_simplify.proof.forest_pair import Space, may_begin, points_in
from ensemble_simplify.proof.joined_trees import JoinedPair, JoinedTrees
from ensemble_simplify.proof.near_rows import (
    AskedLines,
    Lines,
    Neighbourhood,
    NumberLines,
    TreeLines,
    axis_lines,
    n_near,
    points_apart,
    walks,
    within,
)
from ensemble_simplify.proof.numeric_difference import odds_apart
from ensemble_simplify.proof.numeric_rise import Rise, rising_sums
from ensemble_simplify.proof.outcome import Verification, shown_entry
from ensemble_simplify.proof.prove import certify, prove
from ensemble_simplify.proof.stump_sums import TooMany, both_lead, near_ties
from ensemble_simplify.proof.verify import verify
from ensemble_simplify.proof.vote_pair import forms_of
