"""Proofs that models answer alike, everywhere or near rows, or a row on which they do not."""

from ensemble_simplify.proof._joint import JointSearch
from ensemble_simplify.proof.agreement import Agreement, agreement
from ensemble_simplify.proof.forest_pair import Space, points_in
from ensemble_simplify.proof.joined_trees import JoinedTrees
from ensemble_simplify.proof.near_rows import (
    Lines,
    Neighbourhood,
    TreeLines,
    differences,
    n_near,
    walks,
    within,
)
from ensemble_simplify.proof.outcome import Verification, shown_entry
from ensemble_simplify.proof.prove import certify, prove
from ensemble_simplify.proof.stump_sums import TooMany, both_lead, near_ties
from ensemble_simplify.proof.verify import verify
from ensemble_simplify.proof.vote_pair import forms_of
