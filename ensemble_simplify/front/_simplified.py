"""What a model has become: one result, which predicts, explains, is checked, written and kept."""

from __future__ import annotations

import json
import math
import sys
from collections.abc import Mapping, Sequence
from dataclasses import replace
from os import PathLike
from pathlib import Path
from typing import Any, Self

import joblib
import numpy as np
import sklearn
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator, is_classifier
from sklearn.metrics import accuracy_score, r2_score
from sklearn.tree import BaseDecisionTree
from sklearn.utils import get_tags
from sklearn.utils.metaestimators import available_if

from ensemble_simplify.audit import nearest_flip
from ensemble_simplify.base import (
    Explanation,
    Scored,
    Stream,
    class_index,
    labelled,
    printed,
    pyplot,
)
from ensemble_simplify.front._inputs import LearnedRows
from ensemble_simplify.front._judged import FIGURES
from ensemble_simplify.front._page import tree_html
from ensemble_simplify.front._rules import leaves, size_in_words
from ensemble_simplify.front._statement import figure, interval
from ensemble_simplify.front._table_tree import TableTree
from ensemble_simplify.grid import Domain
from ensemble_simplify.proof import (
    Agreement,
    Differences,
    Verification,
    agreement,
    differences,
    verify,
)
from ensemble_simplify.reading import KeepsVersion, Model, Table, name_of, readable, unwrap
from ensemble_simplify.scorecards import NamedCard, Reason, ShowsCard, card_fragment
from ensemble_simplify.writing import (
    NamedTree,
    export_model,
    export_tree,
    import_tree,
    one_line,
    replacing,
    write_text,
)

# The first line of a file says what it is, before anything in it is unpickled.
_MAGIC, _VERSION = b"ensemble_simplify.SimplifiedModel", 1
_ABOUT = {"name": str, "title": str, "promise": str, "is_proven": bool}


def _inside_has(method):
    def check(self):
        getattr(self.fitted, method)  # an AttributeError that names the inside
        return True

    return check


class SimplifiedModel(KeepsVersion, Scored, BaseEstimator):
    """One result of :func:`simplify`: a tree, a scorecard, or a smaller ensemble.

    It is a fitted estimator of scikit-learn, and predicts on the table that the model takes. It
    stays as it is: ``fit`` does nothing, and ``clone`` returns the same object, as with
    :class:`~sklearn.frozen.FrozenEstimator`. All functions of this package take it for what it
    holds.

    Read more in the :ref:`guide <simplify>`.

    Parameters
    ----------
    fitted : estimator
        The fitted tree, scorecard or ensemble.
    model : estimator or None
        The fitted model that it stands for. None: it is not known, and nothing can be compared
        with it.
    name : str
        Name of the method.

    Attributes
    ----------
    fitted : estimator
        What was given. `model`, `name`, `title`, `promise`, `is_proven`, `table` and `learned` are
        also kept as they were given.
    agreement_, agreement_low_, agreement_high_ : float
        Measured agreement with the model, and its 95 % interval.
    accuracy_ : float
        Measured accuracy, or in regression the coefficient of determination.
    classes_ : ndarray of shape (n_classes,)
        Class labels; in classification only.
    n_features_in_ : int
        Number of columns.
    feature_names_in_ : ndarray of shape (`n_features_in_`,)
        Names of the columns; defined only if all are strings.
    decision_tree_ : DecisionTreeClassifier or DecisionTreeRegressor
        The tree, on codes of levels; defined only if it is one tree.
    named_tree : NamedTree or None
        The tree in the words of the table; None if it is not one tree.
    named_card : NamedCard or None
        The scorecard in the words of the table; None if it is not a scorecard.

    Other Parameters
    ----------------
    title : str, default=""
        Its name for readers. Empty: `name`.
    promise : str, default=""
        What it promises, in words.
    is_proven : bool, default=False
        Whether the promise is proven.
    table : Table or None, default=None
        The columns of the rows that it was made from.
    learned : LearnedRows or None, default=None
        The rows that it has learned from. Where it is measured on such rows, a warning says so.
    agreement, agreement_low, agreement_high : float, default=nan
        Its agreement with the model on rows that it did not learn from (in regression, the
        coefficient of determination), and the ends of the interval.
    accuracy : float, default=nan
        Its accuracy on such rows, or coefficient of determination.

    See Also
    --------
    simplify : Tries all methods on a model.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.ensemble import RandomForestClassifier
    >>> from sklearn.frozen import FrozenEstimator
    >>> from ensemble_simplify import RepresenterTree, SimplifiedModel
    >>> X, y = load_iris(return_X_y=True, as_frame=True)
    >>> forest = RandomForestClassifier(random_state=0).fit(X, y)
    >>> tree = RepresenterTree(FrozenEstimator(forest), max_leaf_nodes=3, random_state=0)
    >>> small = SimplifiedModel(tree.fit(X), model=forest, name="representer")
    >>> small
    SimplifiedModel(representer: a tree of 3 leaves)
    >>> small.predict(X[:2])
    array([0, 0])
    >>> print(small.export_text(decimals=2))
    |--- petal length (cm) <= 2.50
    |   |--- class: 0 (chance 95.2 % by the model, 44 training rows)
    |--- petal length (cm) > 2.50
    |   |--- petal length (cm) <= 4.85
    |   |   |--- class: 1 (chance 87.8 % by the model, 46 training rows)
    |   |--- petal length (cm) > 4.85
    |   |   |--- class: 2 (chance 87.3 % by the model, 45 training rows)
    """

    # what is read in place of it, see `reading.unwrap`
    _stands_for = "fitted"

    def __init__(
        self,
        fitted: Any,
        *,
        model: Any,
        name: str,
        title: str = "",
        promise: str = "",
        is_proven: bool = False,
        table: Table | None = None,
        learned: LearnedRows | None = None,
        agreement: float = math.nan,
        agreement_low: float = math.nan,
        agreement_high: float = math.nan,
        accuracy: float = math.nan,
    ):
        self.fitted = fitted
        self.model = model
        self.name = name
        self.title = title or name
        self.promise = promise
        self.is_proven = is_proven
        self.table = table
        self.learned = learned
        self.agreement_, self.accuracy_ = agreement, accuracy
        self.agreement_low_, self.agreement_high_ = agreement_low, agreement_high

    # ------------------------------------------------------------------ an estimator

    def __sklearn_tags__(self):
        return get_tags(self.fitted)

    def __sklearn_is_fitted__(self):
        return True

    def __sklearn_clone__(self):
        return self

    def get_params(self, deep: bool = True) -> dict:
        """No parameters: it is fitted, and stays as it is.

        Parameters
        ----------
        deep : bool, default=True
            Not used.

        Returns
        -------
        dict
            Empty.
        """
        return {}

    def set_params(self, **params: Any) -> Self:
        """Refuse: it is fitted, and stays as it is.

        Parameters
        ----------
        **params
            None are known.

        Returns
        -------
        self : SimplifiedModel
            If no parameters are given.
        """
        if params:
            raise ValueError(
                f"{next(iter(params))!r} cannot be set: a SimplifiedModel is fitted and stays as "
                "it is. Call simplify again."
            )
        return self

    def fit(self, X: ArrayLike, y: ArrayLike | None = None, **options: Any) -> Self:
        """Do nothing: it is fitted.

        Parameters
        ----------
        X : array-like or data frame
            Not used.
        y : array-like or None, default=None
            Not used.
        **options
            Not used.

        Returns
        -------
        self : SimplifiedModel
            As it is.
        """
        return self

    @property
    def n_features_in_(self) -> int:
        """Number of columns."""
        if hasattr(self.fitted, "n_features_in_"):
            return int(self.fitted.n_features_in_)
        if self.table is None:
            raise AttributeError(f"{name_of(self.fitted)} does not say how many columns it takes.")
        return len(self.table)

    @property
    def feature_names_in_(self) -> np.ndarray:
        """Names of the columns, if all are strings."""
        names = self._names()
        if names is None or not _are_strings(names):
            raise AttributeError("It was not fitted on a data frame whose columns have names.")
        return np.array(names, dtype=object)

    @property
    def classes_(self) -> np.ndarray:
        """Class labels."""
        return self.fitted.classes_

    def predict(self, X: ArrayLike) -> np.ndarray:
        """Predict labels or values.

        Parameters
        ----------
        X : array-like or data frame of shape (n_samples, n_features)
            Rows as the model takes them, with its columns in their order.

        Returns
        -------
        ndarray of shape (n_samples,)
            Class labels, or values in regression.
        """
        return self.fitted.predict(self._rows(X))

    @available_if(_inside_has("predict_proba"))
    def predict_proba(self, X: ArrayLike) -> np.ndarray:
        """Predict probabilities of the classes.

        Parameters
        ----------
        X : array-like or data frame of shape (n_samples, n_features)
            Rows as the model takes them, with its columns in their order.

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
            One column per class, in the order of `classes_`.
        """
        return self.fitted.predict_proba(self._rows(X))

    def score(
        self, X: ArrayLike, y: ArrayLike | str, sample_weight: ArrayLike | None = None
    ) -> float:
        """Accuracy on labelled rows, or in regression the coefficient of determination.

        Rows that it has learned from are told in a warning.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features), or stream of such rows
            Rows. Of a stream, as for :func:`agreement`, one batch at a time is in memory.
        y : array-like of shape (n_samples,), or str
            True labels or values, or the name of the column of X that holds them.
        sample_weight : array-like of shape (n_samples,) or None, default=None
            Non-negative weights of the rows.

        Returns
        -------
        float
            1 where all are right.
        """
        stream = Stream.of(X)
        if stream is None:
            if isinstance(y, str):
                y, X = labelled(X, y)
            self._tell_learned(X, "is right less often", "accuracy_")
            return super().score(X, y, sample_weight)
        labels, answers = [], []
        for rows in stream:
            if isinstance(y, str):
                column, rows = labelled(rows, y)
                labels.append(np.asarray(column))
            answers.append(self.predict(rows))
        truth = np.concatenate(labels) if isinstance(y, str) else y
        score = accuracy_score if is_classifier(self) else r2_score
        return float(score(truth, np.concatenate(answers), sample_weight=sample_weight))

    def _names(self):
        """Names of the columns; None where there are none."""
        if self.table is not None:
            return None if self.table.names is None else list(self.table.names)
        names = getattr(self.fitted, "feature_names_in_", None)
        return None if names is None else list(names)

    def _rows(self, X):
        """Rows whose columns are those of the table, where both have names."""
        names = self._names()
        if names is None or not hasattr(X, "columns") or Stream.of(X) is not None:
            return X
        given = list(X.columns)
        # to scikit-learn, columns that are no strings have no names
        if given == names or _are_strings(given) != _are_strings(names):
            return X
        remedy = "X[list(model.feature_names_in_)]" if _are_strings(names) else f"X[{names!r}]"
        if lacking := [name for name in names if name not in given]:
            raise ValueError(
                f"X lacks the column {lacking[0]!r}{_and_more(lacking)}. Give all columns that "
                f"{self.name!r} was made from: {', '.join(map(repr, names))}."
            )
        known = set(names)
        if more := [name for name in given if name not in known]:
            raise ValueError(
                f"X has the column {more[0]!r}{_and_more(more)}, which {self.name!r} was not made "
                f"from. Give {remedy}, where model is this result."
            )
        if len(given) > len(names):
            twice = next(name for name in names if given.count(name) > 1)
            raise ValueError(f"X has the column {twice!r} more than once. Rename, or drop, one.")
        at = next(j for j, name in enumerate(names) if given[j] != name)
        raise ValueError(
            f"X has its columns in another order: {given[at]!r} is where {self.name!r} was given "
            f"{names[at]!r}. Give {remedy}, where model is this result."
        )

    # ------------------------------------------------------------------ the tree

    @property
    def decision_tree_(self) -> BaseDecisionTree:
        """The tree, on codes of levels."""
        tree = readable(self.fitted)
        if not isinstance(tree, BaseDecisionTree):
            raise AttributeError(self._no_tree("decision_tree_"))
        return tree

    @property
    def named_tree(self) -> NamedTree | None:
        """The tree in the words of the table; None if it is not one tree."""
        if not hasattr(self, "decision_tree_"):
            return None
        tree, names = NamedTree.of(self.fitted), self._names()
        return tree.renamed(names) if tree.names is None else tree

    @property
    def named_card(self) -> NamedCard | None:
        """The scorecard in the words of the table; None if it is none."""
        return self.fitted._named_card() if isinstance(self.fitted, ShowsCard) else None

    @available_if(_inside_has("reasons"))
    def reasons(self, X: ArrayLike, n: int = 3, *, against: str = "best") -> list[list[Reason]]:
        """Why a scorecard answers rows as it does, in words.

        Parameters
        ----------
        X : array-like or data frame of shape (n_samples, n_features)
            Rows as the model takes them, with its columns in their order.
        n : int, default=3
            Reasons for a row, at most.
        against : {"best", "mean"}, default="best"
            As for :meth:`ScorecardClassifier.reasons`.

        Returns
        -------
        list of list of Reason
            For each row the largest first.
        """
        return self.fitted.reasons(self._rows(X), n, against=against)

    def explain(self, X: ArrayLike, *, flip: bool | Mapping = False) -> list[Explanation]:
        """Why each row is answered as it is, beside what the model answers.

        Parameters
        ----------
        X : array-like or data frame of shape (n_samples, n_features)
            Rows as the model takes them, with its columns in their order.
        flip : bool or mapping, default=False
            Whether the smallest change to another answer is told, too. A mapping holds options of
            :func:`nearest_flip`; of a regressor, it has to hold the `target`.

        Returns
        -------
        list of Explanation
            One a row. Each prints as a sentence.
        """
        rows = self._rows(X)
        found = self._own_explanations(rows)
        if flip is not False:
            options = flip if isinstance(flip, Mapping) else {}
            if "target" not in options and not is_classifier(self):
                raise ValueError(
                    f"flip={flip!r}, but answers are numbers. Give the range to be reached: "
                    'flip={"target": (low, high)}, where None leaves an end open.'
                )
            flips = nearest_flip(self.fitted, rows, **options)
            flips = flips if isinstance(flips, list) else [flips]
            found = [replace(own, flip=one) for own, one in zip(found, flips, strict=True)]
        if self.model is None:
            return found
        model, chances = Model.unread(self.model), np.full(len(found), np.nan)
        if is_classifier(self) and hasattr(self.model, "predict_proba"):
            shares = model.ask(rows, "predict_proba")
            place = class_index(np.array([own.answer for own in found]), self.model.classes_)
            chances = shares[np.arange(len(found)), place]
        answers = model.ask(rows).tolist()
        return [
            replace(own, model_answer=answer, model_chance=float(chance))
            for own, answer, chance in zip(found, answers, chances, strict=True)
        ]

    def _own_explanations(self, rows):
        """The way to the leaf, the points of a card, or of an ensemble its answer alone."""
        if hasattr(self.fitted, "explain"):
            return self.fitted.explain(rows)
        answers, chances = self.fitted.predict(rows), np.full(len(rows), np.nan)
        if hasattr(self, "predict_proba"):
            place = class_index(answers, self.classes_)
            chances = self.fitted.predict_proba(rows)[np.arange(len(answers)), place]
        told = [()] * len(answers) if self.named_card is None else self.fitted.reasons(rows)
        return [
            Explanation(answer, "; ".join(map(str, own)), None, None, chance)
            for answer, own, chance in zip(answers.tolist(), told, chances.tolist(), strict=True)
        ]

    @available_if(_inside_has("apply"))
    def apply(self, X: ArrayLike) -> np.ndarray:
        """The leaf of the tree in which each row ends.

        Parameters
        ----------
        X : array-like or data frame of shape (n_samples, n_features)
            Rows as the model takes them, with its columns in their order.

        Returns
        -------
        ndarray of intp, shape (n_samples,)
            Nodes of `decision_tree_`.
        """
        return self.fitted.apply(self._rows(X))

    @available_if(_inside_has("decision_path"))
    def decision_path(self, X: ArrayLike) -> Any:
        """The nodes of the tree on the way of each row.

        Parameters
        ----------
        X : array-like or data frame of shape (n_samples, n_features)
            Rows as the model takes them, with its columns in their order.

        Returns
        -------
        sparse matrix of shape (n_samples, n_nodes)
            1 where a row passes a node of `decision_tree_`.
        """
        return self.fitted.decision_path(self._rows(X))

    def _no_tree(self, wanted):
        return (
            f"{self.name!r} is a {name_of(unwrap(self.fitted))}, not one tree, and has no "
            f'{wanted}. Choose a tree, such as outcome["representer"]; what was fitted itself is '
            "in its attribute fitted."
        )

    def _tree(self, wanted):
        tree = self.named_tree
        if tree is None:
            raise TypeError(self._no_tree(wanted))
        return tree

    def get_n_leaves(self) -> int:
        """Number of leaves of the tree.

        Returns
        -------
        int
            At least 1.
        """
        return int(self._tree("number of leaves").nodes.n_leaves)

    def get_depth(self) -> int:
        """Depth of the tree: splits on the longest way from the root to a leaf.

        Returns
        -------
        int
            0 for a single leaf.
        """
        return int(self._tree("depth").nodes.depth)

    def export_text(
        self,
        *,
        feature_names: Sequence[str] | None = None,
        class_names: Sequence | None = None,
        decimals: int | None = None,
        max_depth: int | None = None,
    ) -> str:
        """The tree as indented text, or the scorecard, in the columns and levels of the table.

        Parameters
        ----------
        feature_names : sequence of str, default=None
            None: the names seen in ``fit``, or x0, x1, ...
        class_names : sequence, default=None
            What stands for ``classes_``, in their order.
        decimals : int or None, default=None
            Digits after the decimal point. None: as few as split float32 numbers alike. For a
            scorecard, this is the only option.
        max_depth : int or None, default=None
            Parts of the tree below this depth are not written. None: all is written.

        Returns
        -------
        text : str
            Each leaf has its class, the share of this class, and the number of training rows.

        Raises
        ------
        TypeError
            If it is neither one tree nor a scorecard.
        """
        if self.named_card is not None:
            return self.named_card.text(decimals)
        return self._tree("text").renamed(feature_names, class_names).text(decimals, max_depth)

    def plot(
        self,
        *,
        ax: Any = None,
        feature_names: Sequence[str] | None = None,
        class_names: Sequence | None = None,
        **kwargs: Any,
    ) -> list:
        """Draw the tree, in the columns and levels of the table.

        A scorecard is drawn by ``fitted.plot()``.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            None: the current one, or where no figure is open, a new one that is as large as the
            tree needs.
        feature_names : sequence of str, default=None
            None: the names seen in ``fit``, or x0, x1, ...
        class_names : sequence, default=None
            What stands for ``classes_``, in their order.
        **kwargs
            Other parameters of `sklearn.tree.plot_tree`.

        Returns
        -------
        annotations : list of matplotlib Annotation
            A row goes to the left child where what is written in the box is true of it.

        Raises
        ------
        TypeError
            If it is not one tree.
        """
        tree = self._tree("plot").renamed(feature_names, class_names)
        # an error that tells what to install
        pyplot(self)
        return tree.draw(ax, **kwargs)

    def export(self, language: str = "rules", **options: Any) -> str:
        """Write the tree as rules, SQL, C, Python or JSON; a scorecard as all but rules.

        Parameters
        ----------
        language : str, default="rules"
            As for :func:`export_tree`.
        **options
            Further parameters of :func:`export_tree`, or of :func:`export_model` for a scorecard.

        Returns
        -------
        text : str
            In the words of the table.

        Raises
        ------
        TypeError
            If it is neither one tree nor a scorecard.
        """
        if self.named_card is not None:
            return export_model(self.fitted, language, **options)
        names = self._tree(f"form in {language}").names
        return export_tree(self.fitted, language, **{"feature_names": names, **options})

    # ------------------------------------------------------------------ beside the model

    def _against(self):
        if self.model is None:
            raise ValueError(
                f"{self.name!r} was kept without the model that it stands for. Compare them with "
                "ensemble_simplify.verify(model, simplified) or agreement(model, simplified, X)."
            )
        return self.model

    def _tell_learned(self, X, what="agrees less with the model", instead="agreement_"):
        """Warn of rows that it has learned from, which say less of new ones."""
        if self.learned is not None and not self.is_proven and Stream.of(X) is None:
            self.learned.tell(X, self.name, what, f"its {instead}")

    def verify(
        self,
        X: ArrayLike | None = None,
        *,
        max_changes: int | None = None,
        domain: Domain | dict | None = None,
        atol: float | None = None,
        time_limit: float | None = None,
    ) -> Verification:
        """Prove that it answers as the model, or find a row on which it does not.

        Parameters
        ----------
        X : array-like or data frame of shape (n_samples, n_features) or None, default=None
            Rows near which they are compared. None: a proven promise is proven again. Without one,
            they are compared at every input.
        max_changes : int or None, default=None
            As for :func:`verify`. With `X` alone: 0, so that the rows themselves count.
        domain : Domain, dict or None, default=None
            Which inputs can occur; None: every finite one.
        atol : float or None, default=None
            As for :func:`verify`. None: the tolerance of what is promised, if there is one.
        time_limit : float or None, default=None
            Seconds after which the attempt ends undecided.

        Returns
        -------
        Verification
            It is true in an ``if`` statement if they are proven to answer alike.

        Raises
        ------
        TypeError
            If one of them cannot be read: see :meth:`agreement`.
        """
        model = self._against()
        inside = unwrap(self.fitted)
        asked = X, max_changes, domain, atol
        # who made the promise knows what it is of: the domain, the rows and the tolerance
        if self.is_proven and all(each is None for each in asked) and hasattr(inside, "verify"):
            return inside.verify(time_limit=time_limit)
        atol = getattr(inside, "atol_", None) if atol is None else atol
        if X is not None:
            X, max_changes = self._rows(X), 0 if max_changes is None else max_changes
        try:
            near = {"X": X, "max_changes": max_changes}
            return verify(model, self, **near, domain=domain, atol=atol, time_limit=time_limit)
        except TypeError as error:
            raise TypeError(
                f"{error} Only models that can be read are compared everywhere; agreement(X) and "
                "differences(X) ask any model about rows."
            ) from error

    def agreement(self, X: ArrayLike, **options: Any) -> Agreement:
        """How often it answers as the model.

        Parameters
        ----------
        X : array-like or data frame of shape (n_samples, n_features), or stream of such rows
            Rows, best those that neither has seen.
        **options
            Further parameters of :func:`agreement`.

        Returns
        -------
        Agreement
            With intervals.
        """
        return agreement(self._against(), self, self._rows(X), **options)

    def differences(self, X: ArrayLike, **options: Any) -> Differences:
        """Where it answers otherwise than the model, in a few rules.

        Parameters
        ----------
        X : array-like or data frame of shape (n_samples, n_features)
            Rows, best those that neither has seen.
        **options
            Further parameters of :func:`differences`.

        Returns
        -------
        Differences
            The answers of the model are those of model_a.
        """
        self._tell_learned(X)
        return differences(self._against(), self, self._rows(X), **options)

    # ------------------------------------------------------------------ kept in files

    def save(self, path: str | PathLike) -> None:
        """Write it to a file, which :meth:`SimplifiedModel.load` reads.

        Parameters
        ----------
        path : str or path
            If it ends in ".json", the tree alone is written, as text that :func:`import_tree`
            reads, too. Otherwise all is written, with the model, by joblib.

        Raises
        ------
        TypeError
            If the path ends in ".json", and it is not one tree.
        """
        path = Path(path)
        if path.suffix.lower() == ".json":
            if self.named_card is not None:
                raise TypeError(
                    f"{str(path)!r} ends in .json, but a scorecard is kept with its model, by "
                    'joblib. Give another ending; export("json") writes its points as text.'
                )
            about = {key: getattr(self, key) for key in _ABOUT}
            figures = {key: getattr(self, f"{key}_") for key in FIGURES}
            about |= {key: float(x) for key, x in figures.items() if math.isfinite(x)}
            text = self.export("json")
            # one more entry of the object that import_tree reads, which ignores it
            head = f'{{\n"simplified": {json.dumps(about)},\n'
            write_text(path, head + text.removeprefix("{\n"))
            return
        with replacing(path) as new, new.open("wb") as file:
            file.write(b"%s %d %s\n" % (_MAGIC, _VERSION, versions().encode()))
            joblib.dump(self, file, compress=3)

    @classmethod
    def load(cls, path: str | PathLike) -> SimplifiedModel:
        """Read what :meth:`save` wrote.

        Load only files that you trust. All but ".json" can hold code, which is run.

        Parameters
        ----------
        path : str or path
            If it ends in ".json", a tree is read, without the model.

        Returns
        -------
        SimplifiedModel
            With the same answers.

        Raises
        ------
        ValueError
            If the file is no such file, or was written by a version that cannot be read.
        """
        path = Path(path)
        if path.suffix.lower() == ".json":
            return cls._of_json(path)
        with path.open("rb") as file:
            first = file.readline(200)
            if not first.startswith(_MAGIC + b" ") or not first.endswith(b"\n"):
                raise ValueError(
                    f"{str(path)!r} is not a file that SimplifiedModel.save wrote. Give such a "
                    "file, or one that ends in .json."
                )
            version, _, written = first.decode("ascii", "replace").split(" ", 1)[1].partition(" ")
            here = versions()
            if version != str(_VERSION):
                raise ValueError(
                    f"{str(path)!r} has version {version} of the format; this package reads "
                    f"version {_VERSION}. It was written by {written.strip()}; here is {here}."
                )
            try:
                found = joblib.load(file)
            except Exception as error:
                raise ValueError(
                    f"{str(path)!r} cannot be read ({type(error).__name__}: {error}). It was "
                    f"written by {written.strip()}; here is {here}. Use the same versions, and "
                    "import the modules that the model needs."
                ) from error
        if not isinstance(found, SimplifiedModel):
            raise ValueError(f"{str(path)!r} holds a {name_of(found)}, no SimplifiedModel.")
        return found

    @classmethod
    def _of_json(cls, path):
        try:
            text = path.read_text(encoding="utf-8")
        except UnicodeDecodeError as error:
            raise ValueError(f"{str(path)!r} is not text ({error}).") from error
        try:
            tree = import_tree(text)
        except ValueError as error:
            raise ValueError(f"{str(path)!r} cannot be read: {error}") from error
        about = json.loads(text).get("simplified", {})
        kinds = {**dict.fromkeys(FIGURES, float), **_ABOUT}
        if not isinstance(about, dict) or any(
            key not in kinds or not isinstance(value, kinds[key]) for key, value in about.items()
        ):
            raise ValueError(
                f'{str(path)!r} has "simplified": {about!r}, which SimplifiedModel.save does not '
                "write. Leave it out, or save again."
            )
        return cls(TableTree.of(tree), model=None, **{"name": path.stem, **about})

    # ------------------------------------------------------------------ shown

    def _size(self):
        tree, card = self.named_tree, self.named_card
        if card is not None:
            return f"a scorecard of {size_in_words(card.card.n_bins, True)}"
        if tree is None:
            return f"a {name_of(unwrap(self.fitted))}"
        n = tree.nodes.n_leaves
        return f"a tree of {leaves(n)}"

    def _figures(self):
        """What was measured, in words."""
        by_class = is_classifier(self)
        ends = interval(self.agreement_low_, self.agreement_high_, by_class)
        kinds = ("agreement", "accuracy") if by_class else ("agreement (R²)", "R² of y")
        texts = [figure(value, by_class) for value in (self.agreement_, self.accuracy_)]
        more = (f" ({ends})" if ends else "", "")
        told = zip(kinds, texts, more, strict=True)
        return [f"{kind} {text}{end}" for kind, text, end in told if text]

    def __repr__(self, N_CHAR_MAX=700):
        return f"SimplifiedModel({', '.join([f'{self.name}: {self._size()}', *self._figures()])})"

    def __str__(self):
        if self.named_card is None and self.named_tree is None:
            return repr(self)
        return printed(self, 1 if self.named_tree is None else self.get_n_leaves())

    def _repr_html_(self):
        told = [self._size(), *self._figures(), self.promise]
        about = "; ".join(one_line(text) for text in told if text)
        if self.named_card is not None:
            return card_fragment(self.named_card, one_line(self.title), about)
        return tree_html(self.named_tree, one_line(self.title), about)

    def _repr_mimebundle_(self, **kwargs):
        return {"text/plain": repr(self), "text/html": self._repr_html_()}


def is_saved(path) -> bool:
    """Whether :meth:`SimplifiedModel.save` wrote a file, but for ".json"."""
    with Path(path).open("rb") as file:
        return file.read(len(_MAGIC) + 1) == _MAGIC + b" "


def _are_strings(names):
    return all(isinstance(name, str) for name in names)


def _and_more(names):
    return f" and {len(names) - 1} more" if len(names) > 1 else ""


def versions() -> str:
    """What wrote a file, or reads it: this package, scikit-learn and numpy."""
    package = __name__.partition(".")[0]
    own = sys.modules[package].__version__
    return f"{package} {own}, scikit-learn {sklearn.__version__}, numpy {np.__version__}"
