"""What a fitted selective tree answers, to which rows, and why."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils.validation import check_is_fitted

from ensemble_simplify.base import Explanation, HoldsTree, pyplot, safe_indexing
from ensemble_simplify.selective._written import drawn, head, named, written
from ensemble_simplify.writing import counted


@dataclass(frozen=True)
class SelectiveAnswer(Explanation):
    """Why a row is answered as it is, and by whom; prints as a sentence.

    Attributes
    ----------
    answer : object
        The label or value.
    rule : str
        The conditions that lead to the leaf, in the words of the table; empty for a single leaf.
    leaf : int
        The leaf, a node of `decision_tree_`.
    n_rows : int
        Calibration rows there.
    chance, model_answer, model_chance, flip : object
        As of :class:`Explanation`; nan and None, as nobody was asked.
    n_wrong : int
        Calibration rows there that the tree answers wrongly.
    by : {"tree", "model"}
        Who answers.
    proven : bool
        Whether the tree's answer there is proven to be the model's, see `prove`.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from ensemble_simplify import SelectiveTreeClassifier
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> tree = SelectiveTreeClassifier(max_leaf_nodes=6, random_state=0).fit(X, y)
    >>> one = tree.explain(X[:1])[0]
    >>> one.answer, one.by
    (0, 'tree')
    """

    n_wrong: int = 0
    by: str = "tree"
    proven: bool = False

    def __str__(self):
        told = f"{self._since()}; the {self.by} answers"
        if self.proven:
            return f"{told}, proven to be the model's answer on every input there"
        rows = counted(self.n_rows, "calibration row")
        return f"{told}, the tree is wrong on {self.n_wrong:,} of {rows} there"


class AnswersInPart(HoldsTree):
    """Of a fitted estimator: the tree where it may answer, else the model."""

    certified_: Any
    _grown: Any
    _table: Any

    def _leaves(self, X):
        """For each row, the number of its leaf among the leaves."""
        return np.searchsorted(self.certified_.leaf, self.apply(X))

    def defers(self, X: ArrayLike) -> np.ndarray:
        """Which rows the model is asked about.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows.

        Returns
        -------
        ndarray of bool, shape (n_samples,)
            False where the tree answers.
        """
        return ~self.certified_.answers[self._leaves(X)]

    def predict(self, X: ArrayLike) -> np.ndarray:
        """Predict with the tree where it may answer, else with the model.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows.

        Returns
        -------
        ndarray of shape (n_samples,)
            Class labels, or values in regression.
        """
        answers = super().predict(X)
        asked = np.flatnonzero(self.defers(X))
        if asked.size:
            X = X if hasattr(X, "shape") else np.asarray(X)
            answers[asked] = self._grown._model_answers(safe_indexing(X, asked))
        return answers

    def __str__(self):
        if not hasattr(self, "certified_"):
            return repr(self)
        return f"{head(self)}\n{self.export_text()}"

    def _named(self, **names):
        """The tree with what each leaf answers, or that it asks the model."""
        check_is_fitted(self)
        return named(self, **names)

    def plot(self, *, ax: Any = None, **kwargs: Any) -> list:
        """Draw the tree; leaves that ask the model are grey.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            None: the current one, or a new figure.
        **kwargs
            Other parameters of `sklearn.tree.plot_tree`.

        Returns
        -------
        list of matplotlib Annotation
            The boxes of the nodes.
        """
        check_is_fitted(self)
        pyplot(self)
        return drawn(self, ax, **kwargs)

    def explain(  # ty: ignore[incompatible-method-override]  these are explanations, too
        self, X: ArrayLike
    ) -> list[SelectiveAnswer]:
        """Why each row is answered as it is.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows.

        Returns
        -------
        list of SelectiveAnswer
            One a row.
        """
        answers, tree, table = self.predict(X), named(self), self.certified_
        rules = {int(tree.order[node]): tree.rule(spans) for node, spans in tree.paths()}
        return [
            SelectiveAnswer(
                answer=answer,
                by="tree" if table.answers[k] else "model",
                leaf=int(table.leaf[k]),
                rule=rules[int(table.leaf[k])],
                n_rows=int(table.n_rows[k]),
                n_wrong=int(table.n_wrong[k]),
                proven=bool(table.proven[k]),
            )
            for answer, k in zip(answers.tolist(), self._leaves(X), strict=True)
        ]

    def export(
        self,
        language: str,
        *,
        otherwise: str | None = None,
        name: str | None = None,
        table: str | None = None,
        dialect: str | None = None,
        keys: tuple | list = (),
    ) -> str:
        """Write the tree, and what is done where it may not answer.

        Parameters
        ----------
        language : {"sql", "c", "python", "json"}
            SQL is one query over `table`.
        otherwise : {"model", None} or str, default=None
            Elsewhere: the model's own code, nothing (NULL, None, -1 or NAN), or in SQL and Python
            the column of this name, which holds the model's answers.
        name : str or None, default=None
            Of the function (None: predict), or the column in SQL (None: prediction).
        table : str or None, default=None
            For SQL: the table to select from.
        dialect : str or None, default=None
            For SQL: the database, as for :func:`export_tree`.
        keys : sequence of str, default=()
            For SQL: columns that stand beside the answers.

        Returns
        -------
        str
            In the language.
        """
        check_is_fitted(self)
        if language not in ("sql", "c", "python", "json"):
            raise ValueError(f"language={language!r}. Choose sql, c, python or json.")
        if (language == "sql") != (table is not None):
            raise ValueError(f"table={table!r}, but language={language!r}: only SQL has a table.")
        if otherwise not in (None, "model") and language in ("c", "json"):
            raise ValueError(
                f"otherwise={otherwise!r} names a column, which {language} does not have. Use None "
                "or 'model'."
            )
        return written(self, language, otherwise, name, table, keys, dialect)
