"""What can be done with the recommended tree: written in other languages, and asked."""

from __future__ import annotations

import copy

from sklearn.pipeline import Pipeline

from ensemble_simplify.front._rules import tree_of
from ensemble_simplify.reading import Model


def told_tree(found, name):
    """What `export_tree` can write of the result of a name, in the words of the table."""
    fitted = found[name]
    if name == "model" or not isinstance(fitted, Pipeline):
        return fitted
    codes, tree = fitted[0], tree_of(fitted)
    if codes.fill:
        raise ValueError(
            f"The tree of {name!r} reads missing values as numbers, which cannot be written. "
            "Export another row of the table, such as result='plain_tree'."
        )
    if tree is None:
        return fitted
    tree = copy.copy(tree)
    tree._table = codes.table
    return tree


def next_steps(found):
    """Lines of code that work with what was recommended, in pairs with what each does."""
    if found.best is None:
        return []
    steps = [("outcome.refit(X)", "the same method, learned from all rows")]
    fitted = found.best_model
    codes = fitted[0] if isinstance(fitted, Pipeline) else None
    if codes is None or not codes.fill:
        steps.append(('outcome.export("sql")', "the tree in SQL; also in C, Python, JSON or rules"))
    feature = _asked(found) if found.is_classifier and codes is None else None
    if feature is not None:
        steps.append(
            ("nearest_flip(outcome.best_model, row)", "the smallest change that flips an answer")
        )
        order = ""
        if len(fitted.classes_) > 2:
            order = f", positive={fitted.classes_.tolist()[-1]!r}"
        steps.append(
            (
                f"is_monotone(outcome.best_model, {feature!r}{order})",
                "does a higher value never lower the class?",
            )
        )
    return steps


def _asked(found):
    """A feature of numbers that the tree splits on first, by name or index; None if it has none."""
    fitted = found.best_model
    try:
        Model.of(fitted, classifier=True, check=False)
    except (TypeError, ValueError):
        return None
    nodes = tree_of(fitted).tree_
    table = getattr(fitted, "_table", None)
    for j in nodes.feature[nodes.children_left >= 0].tolist():
        if table is None or table.levels[j] is None:
            return found.feature_names[j] if hasattr(fitted, "feature_names_in_") else j
    return None
