"""Why a tree answers a row as it does: the way to its leaf, and what is known of the leaf."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from ensemble_simplify.writing import one_line, percent


@dataclass(frozen=True)
class Explanation:
    """Why a row is answered as it is; prints as a sentence.

    Attributes
    ----------
    answer : object
        The label, or the value.
    rule : str
        The conditions that lead to the leaf, in the words of the table, or the reasons of a
        scorecard; empty for a single leaf and for ensembles.
    leaf : int or None
        The leaf, a node of ``decision_tree_``; None where there is not one tree.
    n_rows : int or None
        Training rows of the tree that end in this leaf.
    chance : float
        Probability of the answer by ``predict_proba``; nan where there is none.
    model_answer : object
        What the model answers to the row that the tree stands for; None: it was not asked.
    model_chance : float
        The model's probability of the tree's answer; nan where it has none.
    flip : NearestFlip or None
        The smallest change that leads to another answer; None: it was not asked for.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from ensemble_simplify import RepresenterTree
    >>> X, y = load_iris(return_X_y=True, as_frame=True)
    >>> tree = RepresenterTree(max_leaf_nodes=3, random_state=0).fit(X, y)
    >>> print(tree.explain(X[:1])[0])  # doctest: +ELLIPSIS
    0, since petal ...; ... training rows are there...
    """

    answer: Any
    rule: str
    leaf: int | None
    n_rows: int | None
    chance: float = math.nan
    model_answer: Any = None
    model_chance: float = math.nan
    flip: Any = None

    def _since(self):
        """The answer, and the way to the leaf."""
        return f"{_in_words(self.answer)}, " + (
            f"since {self.rule}" if self.rule else "as for every row"
        )

    def __str__(self):
        answer = _in_words(self.answer)
        told = self._since() if self.rule or self.leaf is not None else answer
        if self.n_rows is not None:
            rows = "training row is" if self.n_rows == 1 else "training rows are"
            told += f"; {self.n_rows:,} {rows} there"
        if math.isfinite(self.chance):
            told += f", chance of {answer} {percent(self.chance)}"
        if self.model_answer is not None:
            told += f". The model answers {_in_words(self.model_answer)}"
            if math.isfinite(self.model_chance):
                told += f", with a chance of {answer} of {percent(self.model_chance)}"
        if self.flip is None:
            return told
        # of a change that was not found, the sentence says why
        words = self.flip.sentence
        words = f"The nearest change: {words}" if self.flip else words[0].upper() + words[1:]
        return f"{told}. {words}"


def _in_words(answer):
    """A label, or a value in few digits."""
    return f"{answer:.6g}" if isinstance(answer, float) else one_line(answer)


def explained(tree, leaves, answers, chances) -> list[Explanation]:
    """Why each row ends in its leaf.

    Parameters
    ----------
    tree : NamedTree
    leaves : intp array of shape (n_rows,)
        Ids of leaves in the scikit-learn tree.
    answers : sequence of n_rows
    chances : float64 array of shape (n_rows,)
    """
    told = {}
    for node, spans in tree.paths():
        if tree.nodes.left[node] < 0:
            told[int(tree.order[node])] = tree.rule(spans), int(tree.rows[node])
    return [
        Explanation(answer, told[leaf][0], leaf, told[leaf][1], chance)
        for answer, leaf, chance in zip(answers, leaves.tolist(), chances.tolist(), strict=True)
    ]
