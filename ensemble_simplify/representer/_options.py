"""Parameters of `RepresenterTree` that go together, or have no meaning beside others."""

from __future__ import annotations

import numpy as np

# Parameters that have no meaning under another one's value.
_PER_NODE_ONLY = (
    "reuse",
    "min_cost",
    "categorical_features",
    "forbidden_splits",
    "split_confidence",
)
_MEANINGLESS = {
    ("sampling", "one_shot"): _PER_NODE_ONLY,
    ("sampler", "copula"): ("n_neighbors",),
    ("sampler", "smear"): ("n_neighbors",),
    ("sampler", "auto"): ("n_neighbors",),
    ("sampler", "leaves"): ("smearing", "n_neighbors"),
    ("sampler", "kernel"): ("smearing", "n_neighbors"),
}

# Without `max_leaf_nodes`, a node whose cost in rows is at most this is not split.
_LEAST_COST = 0.25


def check_options(tree) -> None:
    """Raise an error for an option that is set but cannot be honoured."""
    for (parameter, value), others in _MEANINGLESS.items():
        if getattr(tree, parameter) != value:
            continue
        for other, is_set in zip(others, _is_set(tree, others), strict=True):
            if is_set:
                default = type(tree)().get_params(deep=False)[other]
                raise ValueError(
                    f"{other}={getattr(tree, other)!r} has no meaning with "
                    f"{parameter}={value!r}. Leave it at its default, {default!r}, or change "
                    f"{parameter}."
                )
    if tree.sampler in ("auto", "copula") and tree.smearing == 0.0:
        raise ValueError(
            f"smearing=0.0 with sampler={tree.sampler!r} would draw copies of training rows. Use "
            "keep_rows=1.0 for training rows only, or sampler='smear'."
        )


def sampling_of(tree):
    """How rows are drawn, where that is not said: in one sample, if all options allow it."""
    if tree.sampling != "auto":
        return tree.sampling
    return "per_node" if any(_is_set(tree, _PER_NODE_ONLY)) else "one_shot"


def _is_set(tree, names):
    """Whether each of some parameters has another value than its default."""
    defaults = type(tree)().get_params(deep=False)
    for name in names:
        given, default = getattr(tree, name), defaults[name]
        yield given is not default and not (np.isscalar(given) and given == default)


def check_folds(tree, fold_of) -> None:
    """Raise an error where folds are asked for and there can be none."""
    asked = {f"n_folds={tree.n_folds}": tree.n_folds, "fold_of": fold_of is not None}
    for name in (name for name, is_set in asked.items() if is_set):
        if tree.sampling_ != "one_shot":
            raise ValueError(
                f"{name} needs one sample for the whole tree, but rows are drawn per node "
                "here. Set sampling='one_shot'."
            )
        if tree.max_leaf_nodes is None:
            raise ValueError(
                f"{name} needs max_leaf_nodes, the size of the largest tree. Set it, for instance "
                "to 32."
            )
    if tree.n_folds == 1:
        raise ValueError(
            "n_folds=1 leaves no rows to grow a tree on. Use at least 2, or 0 for no folds."
        )


def least_cost(tree):
    """Cost in rows up to which a node is a leaf."""
    if tree.min_cost is None:
        return _LEAST_COST if tree.max_leaf_nodes is None else 0.0
    return tree.min_cost


def least_rows(tree, target):
    """Training rows that each child must hold."""
    if tree.min_train_samples is None:
        return 2 if target == "value" else 1
    is_endless = not (tree.max_depth or tree.max_leaf_nodes or least_cost(tree))
    if tree.min_train_samples == 0 and tree.sampling_ == "per_node" and is_endless:
        raise ValueError(
            "min_train_samples=0 lets the tree grow without end. Set max_depth, "
            "max_leaf_nodes or min_cost too."
        )
    return tree.min_train_samples
