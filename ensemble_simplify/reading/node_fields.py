"""scikit-learn's versions, and the fields of the records in which it keeps the nodes of trees.

Versions add fields to these records. They are read, copied and written by their names: a field that
is not known is carried where it holds nothing, and refused where it does, since it can change where
rows go. What is said of a version that is not known stands here alone.
"""

from __future__ import annotations

import warnings

import sklearn
from sklearn.utils.fixes import parse_version

OLDEST, NEWEST, FIRST_UNTESTED = "1.6", "1.9", "1.10"

# Of trees and forests. From 1.10 on, `split_kind` says what a node tests: 0 a threshold, 1 a set of
# categories, 2 a hash of the category, and -1 is a leaf; 1.10 began without it. `left_cat_bitset`
# has a bit for each category, counted from 0, that goes left, or begins with the seed of the hash.
TREE_FIELDS = frozenset(
    {
        "left_child",
        "right_child",
        "feature",
        "threshold",
        "impurity",
        "n_node_samples",
        "weighted_n_node_samples",
        "missing_go_to_left",
        "left_cat_bitset",
        "split_kind",
    }
)
LEAF, OF_THRESHOLD, OF_SET, OF_HASH = -1, 0, 1, 2

# Of HistGradientBoosting: what is read, and what does not say where rows go.
HIST_FIELDS = frozenset(
    {
        "value",
        "feature_idx",
        "num_threshold",
        "missing_go_to_left",
        "left",
        "right",
        "is_leaf",
        "is_categorical",
        "bitset_idx",
    }
)
HIST_NOTES = frozenset({"count", "gain", "depth", "bin_threshold"})


def is_untested():
    """Whether the installed scikit-learn is newer than the versions that this package knows."""
    # its development versions count as what they will be
    return parse_version(sklearn.__version__).release >= parse_version(FIRST_UNTESTED).release


def not_known(what):
    """The text for what an installed scikit-learn has and this version of the package lacks."""
    return (
        f"{what} (scikit-learn {sklearn.__version__} is installed). This version of "
        f"ensemble_simplify is tested with scikit-learn from {OLDEST} to {NEWEST}. Upgrade "
        f"ensemble_simplify, or install scikit-learn>={OLDEST},<{FIRST_UNTESTED} and fit again."
    )


def unknown_fields(nodes, known):
    """Names of fields that are not known and hold something other than zeros, sorted."""
    others = sorted(set(nodes.dtype.names) - known)
    return [name for name in others if nodes[name].tobytes().strip(b"\0")]


if is_untested():
    warnings.warn(
        not_known(
            "scikit-learn is newer than this package knows: trees with fields that are not known "
            "are refused, and models are asked about a few rows before they are read"
        ),
        UserWarning,
        stacklevel=2,
    )
