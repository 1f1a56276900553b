"""What `simplify` found."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date
from functools import cached_property, wraps
from itertools import combinations
from numbers import Integral
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.metrics import r2_score
from sklearn.utils import Bunch
from sklearn.utils.metaestimators import available_if

from ensemble_simplify.base import old_name, safe_indexing
from ensemble_simplify.front._display import SimplificationDisplay
from ensemble_simplify.front._document import Asked, write_document
from ensemble_simplify.front._inputs import LearnedRows, checked_rows
from ensemble_simplify.front._judged import FIGURES, Judged
from ensemble_simplify.front._methods import NotTried, Task, made_again, method_of
from ensemble_simplify.front._page import as_fragment, as_page
from ensemble_simplify.front._report import as_text
from ensemble_simplify.front._simplified import SimplifiedModel
from ensemble_simplify.front._verdict import Verdict
from ensemble_simplify.grid import waiting
from ensemble_simplify.proof import Differences, differences
from ensemble_simplify.writing import write_text

if TYPE_CHECKING:
    import pandas

# Columns of the table that are of use to its makers alone.
_HIDDEN = ("is_measured", "statements")
# Columns that say nothing where no scorecard was tried.
_OF_CARDS = ("bins", "is_card")
# Rules in the report on where the tree leaves the model.
_RULES_TOLD = 3


def simplified(result, model, learned, figures=None) -> SimplifiedModel:
    """What a method found, as users get it: the rows learned from, and a row of the table."""
    known = {} if figures is None else {name: figures[name] for name in FIGURES}
    return SimplifiedModel(
        result.fitted,
        model=model,
        name=result.name,
        promise=result.promise,
        is_proven=result.is_proven,
        learned=learned,
        **known,
    )


def _of_best(name, *, if_there=False):
    """A method of the recommended result; with `if_there`, only where that has it."""
    method = getattr(SimplifiedModel, name)

    @wraps(method)
    def of_best(self, *args, **kwargs):
        return getattr(self[self._named(None)], name)(*args, **kwargs)

    def is_there(found):
        return found.best is not None and hasattr(found.best_model, name)

    return available_if(is_there)(of_best) if if_there else of_best


@dataclass(frozen=True, eq=False, repr=False)
class Simplification:
    """What :func:`simplify` found: the recommended tree, a verdict on it, and all other results.

    It predicts, explains, writes and saves with `best_model`, which is what is recommended.
    ``simplification["plain_tree"]`` is the result of another method, and ``simplification.at(16)``
    is the representer tree of another size. Both are a :class:`SimplifiedModel`, as `best_model`.
    Wherever this package takes a model, it may be given, and `best_model` is taken.

    Attributes
    ----------
    table : list of Bunch
        Rows for the model, for the most frequent answer ("majority"), and for every method that was
        tried. `to_frame` shows them as a table.

        - ``name``, ``leaves`` (of all trees together), ``trees``, ``bins`` (of a scorecard).
        - ``accuracy`` and ``balanced_accuracy`` on the true labels.
        - ``agreement`` with the model, and its 95 % interval from ``agreement_low`` to
          ``agreement_high``. In regression, accuracy and agreement are coefficients of
          determination.
        - ``class_agreement``: for each label, the share of the rows with this model answer on
          which the result agrees.
        - ``promise`` in words, and ``is_proven``: whether the result is proven to give the model's
          answers.
        - ``is_tree``, ``is_card``, ``is_measured`` (False: the method failed), ``seconds``, and
          ``note``.
    best : str or None
        Name of the row that is recommended. None: nothing was found.
    reason : str
        Why it is recommended.
    verdict : Verdict
        How far it follows the model, in words (``verdict.text``) and in numbers:
        ``agreement``, ``agreement_low``, ``agreement_high``, ``model_accuracy``,
        ``tree_accuracy``, ``lost_by_tree``.
    curve : list of Bunch
        One entry for each size that was compared: ``n_leaves`` (asked for), ``leaves``,
        ``agreement``, ``agreement_low``, ``agreement_high``, ``accuracy``, ``plain_agreement`` (of
        a plain tree of that size) and ``is_best``.
    notes : list of str
        What else matters, in at most two sentences.
    not_tried : dict
        Methods that were not tried, with the reason.
    results : dict
        A :class:`SimplifiedModel` for each method that has a result.
    max_leaf_nodes : int
        The most leaves that the recommended tree could have.
    is_classifier : bool
        Whether the model is a classifier.
    n_rows : int
        Number of rows to learn from.
    n_judged : int
        Number of rows that were left out, at one time or another, to measure.
    n_folds : int
        Number of parts in which rows were left out.
    feature_names : list of str
        Names of the columns.
    seconds : float
        Time taken.
    selective : SelectiveTreeClassifier, SelectiveTreeRegressor or None
        With ``kinds=("tree", "selective")``: a tree that answers where it may, of as many leaves as
        the recommended one.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.neural_network import MLPClassifier
    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.preprocessing import StandardScaler
    >>> from ensemble_simplify import simplify
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> model = make_pipeline(StandardScaler(), MLPClassifier(max_iter=300, random_state=0))
    >>> outcome = simplify(model.fit(X[:300], y[:300]), X[300:], y[300:], random_state=0)
    >>> print(outcome.report())  # doctest: +ELLIPSIS
    MLPClassifier as one small decision tree
    ========================================
    Verdict: The tree of ... leaves ...
    >>> outcome.not_tried["born_again"]
    "the model's trees cannot be read"
    >>> [row.name for row in outcome.table]
    ['model', 'majority', 'plain_tree', 'plain_tree_on_y', 'representer', 'cultivated']
    """

    # where a model is asked for, it is the one that is recommended
    _stands_for = "best_model"

    table: list
    best: str | None
    reason: str
    verdict: Verdict
    curve: list
    notes: list
    not_tried: dict
    results: dict
    max_leaf_nodes: int
    is_classifier: bool
    n_rows: int
    n_judged: int
    n_folds: int
    feature_names: list
    seconds: float
    _by_size: dict
    _task: Task
    _judged: Judged
    _candidates: dict
    selective: Any = None
    _stability: Bunch | None = None
    _over_sizes: Sequence = ()

    def __getitem__(self, name):
        """What stands in a row of the table."""
        if name not in self.results:
            raise KeyError(f"{name!r} was not found. There are {', '.join(self.results)}.")
        return self.results[name]

    def __contains__(self, name):
        return name in self.results

    def __repr__(self):
        return as_text(self)

    def _repr_html_(self):
        return as_fragment(self)

    max_leaves = old_name("max_leaves", "max_leaf_nodes")

    @property
    def model(self) -> Any:
        """The model that was simplified."""
        return self._task.model

    @property
    def best_model(self) -> SimplifiedModel | None:
        """The recommended result; None if nothing was found."""
        return None if self.best is None else self.results[self.best]

    def at(self, n_leaves: int) -> SimplifiedModel:
        """The representer tree of a size that was looked at.

        Parameters
        ----------
        n_leaves : int
            As in `curve`.

        Returns
        -------
        SimplifiedModel
            A tree on the table that the model takes.

        Raises
        ------
        ValueError
            If this size was not looked at.
        """
        if n_leaves not in self._by_size:
            known = ", ".join(map(str, self._by_size)) or "none"
            raise ValueError(
                f"n_leaves={n_leaves!r} was not looked at; these were: {known}. Call "
                "simplify(..., max_leaf_nodes=...) for another size."
            )
        return self._by_size[n_leaves]

    def to_frame(self) -> pandas.DataFrame:
        """The table as a data frame.

        Returns
        -------
        pandas.DataFrame
            A row for the model and for each method, indexed by their names.
        """
        import pandas as pd

        hidden = _HIDDEN if any(row.is_card for row in self.table) else (*_HIDDEN, *_OF_CARDS)
        rows = [{key: row[key] for key in row if key not in hidden} for row in self.table]
        return pd.DataFrame(rows).set_index("name")

    def report(self, path: str | PathLike | None = None, *, rows: ArrayLike | None = None) -> str:
        """The verdict, the recommended tree, and the table.

        On the page, a reader can enter a row and see its way through the recommended tree, and
        which changes of one column lead to another answer. It works without a network.

        Parameters
        ----------
        path : str or path, default=None
            File for the report as a page in HTML. None: no page is written.
        rows : array-like or data frame or None, default=None
            Rows that the reader can pick, at most 1,000. They are kept in the page. None: none.

        Returns
        -------
        str
            The report as text.

        Raises
        ------
        ValueError
            If `path` does not end in ".html" or ".htm".
        """
        if path is not None:
            if Path(path).suffix.lower() not in (".html", ".htm"):
                raise ValueError(
                    f"path={str(path)!r} is no page: the report is written as HTML. Give a name "
                    "that ends in .html; document() writes .md and .docx, too."
                )
            write_text(path, as_page(self, rows))
        return as_text(self)

    def plot(self, *, axes: Any = None) -> SimplificationDisplay:
        """Draw size against agreement and accuracy.

        Parameters
        ----------
        axes : array-like of two matplotlib Axes, default=None
            Where to draw. None: into a new figure.

        Returns
        -------
        SimplificationDisplay
            With ``axes_`` and ``figure_``.
        """
        return SimplificationDisplay.from_simplification(self, axes=axes)

    @waiting("document")
    def document(
        self,
        path: str | PathLike,
        *,
        purpose: str = "",
        author: str = "",
        day: date | None = None,
        protected: Sequence = (),
        directions: Mapping | None = None,
        positive: Any = None,
        previous: Any = None,
        evidence: Sequence = (),
        sections: Sequence[str] | None = None,
        template: str | PathLike | None = None,
        time_limit: float | None = None,
    ) -> None:
        """Write one document about the model and the recommended result, to be filed and signed.

        Read more in the :ref:`guide <document>`.

        Parameters
        ----------
        path : str or path
            File to write: Markdown (".md"), a page of its own (".html"), or Word (".docx", which
            needs python-docx).
        purpose : str, default=""
            What the model is used for, and by whom. Empty: a place to fill in.
        author : str, default=""
            Who prepared the document.
        day : date or None, default=None
            Its date. None: today.
        protected : sequence of str or int, default=()
            Columns that must not change an answer; see :func:`is_sensitive`.
        directions : mapping or None, default=None
            "rising" or "falling" for each column in which the answer must not turn; see
            :func:`is_monotone`.
        positive : label or None, default=None
            The class that rises, where there are more than two.
        previous : estimator or None, default=None
            The version that this one replaces; see :func:`differences`.
        evidence : sequence of paths, default=()
            Files that the ``save`` of proofs wrote. Each is checked again.
        sections : sequence of str or None, default=None
            Which of "open", "purpose", "data", "model", "performance", "challengers",
            "differences", "reasons", "sensitivity", "directions", "stability", "implementation",
            "changes", "evidence" and "signature" are written, in this order. None: all.
        template : str, path or None, default=None
            A template of Jinja2 that is filled with ``title``, ``sections`` (each with ``key``,
            ``title`` and ``body``) and ``by_key``. For Markdown and HTML; needs jinja2.
        time_limit : float or None, default=None
            Seconds for each proof about a protected column or a direction. None: no limit.

        Raises
        ------
        ValueError
            If the ending of `path`, a section, a column or a direction is unknown, or nothing was
            found.
        TypeError
            If `protected` or `evidence` is no list, `directions` no mapping, or `day` no date.
        OSError
            If `path` cannot be written, or a file is not there.
        ImportError
            If a package that the format or template needs is not installed.

        Examples
        --------
        >>> import os, tempfile
        >>> from sklearn.ensemble import RandomForestClassifier
        >>> from ensemble_simplify import simplify
        >>> from ensemble_simplify.datasets import load_parkinsons
        >>> X, y = load_parkinsons(return_X_y=True)
        >>> forest = RandomForestClassifier(20, random_state=0).fit(X[::2], y[::2])
        >>> outcome = simplify(forest, X[1::2], y[1::2], random_state=0)
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     path = os.path.join(folder, "model.md")
        ...     outcome.document(path, sections=["purpose", "signature"], author="A. Person")
        ...     print(open(path, encoding="utf-8").readline())
        RandomForestClassifier and its simpler form
        <BLANKLINE>
        """
        about = purpose, author, day, protected, directions, positive, previous, evidence
        write_document(Asked(self, *about, time_limit), path, sections, template)

    @waiting("stability")
    def stability(self, *, n_fits: int = 4, name: str | None = None) -> Bunch:
        """How far results agree with one another that learn from other rows of the same kind.

        The method is fitted to samples of the rows, drawn with replacement, and each two results
        are compared on the rows that neither of them drew.

        Parameters
        ----------
        n_fits : int, default=4
            Samples, at least two.
        name : str or None, default=None
            A row of the table; None: `best`.

        Returns
        -------
        Bunch
            ``mean``, ``low`` and ``high`` (of the pairs): the share of rows on which two results
            give one answer, or in regression the R2 between them; ``n_fits``.

        Raises
        ------
        ValueError
            If `n_fits` is below two, or the samples left too few rows to compare on.
        """
        if not isinstance(n_fits, Integral) or n_fits < 2:
            raise ValueError(f"n_fits={n_fits!r} leaves nothing to compare. Give at least 2.")
        rng, task = np.random.RandomState(self._task.seed), self._task
        n, has_all = len(task.answers), task.y is not None and len(task.y) == len(task.answers)
        drawn, answers = np.zeros((n_fits, n), dtype=bool), []
        for own in drawn:
            rows = rng.randint(n, size=n)
            own[rows] = True
            y = task.y[rows] if has_all else None
            result = self.refit(safe_indexing(task.X, rows), y, name=name)
            answers.append(np.asarray(result.fitted.predict(task.X)))
        pairs = []
        for i, j in combinations(range(n_fits), 2):
            new = ~(drawn[i] | drawn[j])
            if new.sum() < 2:
                continue
            one, two = answers[i][new], answers[j][new]
            if self.is_classifier:
                pairs.append(float(np.mean(one == two)))
            else:
                pairs.append((r2_score(one, two) + r2_score(two, one)) / 2)
        if not pairs:
            raise ValueError(
                f"n_fits={n_fits} samples of {n} rows left no two of them two rows to compare on. "
                "Give simplify more rows, or raise n_fits."
            )
        return Bunch(mean=float(np.mean(pairs)), low=min(pairs), high=max(pairs), n_fits=n_fits)

    # ------------------------------------------------------------------ again, from more rows

    def refit(
        self,
        X: ArrayLike,
        y: ArrayLike | None = None,
        *,
        name: str | None = None,
        time_limit: float | None = None,
    ) -> SimplifiedModel:
        """Fit one of the methods to other rows: the recommended one if none is named.

        No labels are needed, because the model gives the answers. Give all rows that you have now:
        a tree is learned from these rows alone.

        Parameters
        ----------
        X : array-like or data frame of shape (n_rows, n_features)
            Rows as the model takes them.
        y : array-like of shape (n_rows,) or None, default=None
            True labels or values, which "plain_tree_on_y" alone needs.
        name : str or None, default=None
            A row of the table; None: `best`.
        time_limit : float or None, default=None
            Seconds that the method may take; None: as in :func:`simplify`.

        Returns
        -------
        SimplifiedModel
            A tree of at most `max_leaf_nodes` leaves, or a larger one if a proven promise needs it.
            Its agreement is not measured.

        Raises
        ------
        KeyError
            If there is no such result.
        ValueError
            If there are fewer than eight rows, or `y` is needed.
        TimeLimitError
            If the method found nothing in time.

        Examples
        --------
        >>> from sklearn.datasets import load_iris
        >>> from sklearn.ensemble import RandomForestClassifier
        >>> from ensemble_simplify import simplify
        >>> X, y = load_iris(return_X_y=True)
        >>> forest = RandomForestClassifier(random_state=0).fit(X[::2], y[::2])
        >>> outcome = simplify(forest, X[1::2], random_state=0)
        >>> tree = outcome.refit(X, name="representer")
        >>> bool(tree.get_n_leaves() <= outcome.max_leaf_nodes)
        True
        """
        name = self._named(name)
        given = checked_rows(self.model, X, y, None, self._task.seed)
        task = replace(
            self._task,
            X=given.X,
            y=given.y,
            answers=given.answers,
            own=given.own,
            fold_of=np.full(len(given.answers), -1, dtype=np.intp),
        )
        if lacking := method_of(name).lacks(task):
            raise ValueError(f"{name!r} cannot be fitted to these rows: {lacking}.")
        try:
            result = made_again(name, task, time_limit)
        except NotTried as reason:
            raise ValueError(f"{name!r} cannot be fitted to these rows: {reason}.") from None
        return simplified(result, self.model, LearnedRows(task.table, task.X))

    def _named(self, name):
        if name is None and self.best is None:
            raise KeyError("No tree is recommended. Name a row of the table.")
        name = self.best if name is None else name
        self[name]  # a KeyError if there is none
        return name

    # ------------------------------------------------------------------ what is recommended

    predict = _of_best("predict", if_there=True)
    predict_proba = _of_best("predict_proba", if_there=True)
    score = _of_best("score", if_there=True)
    explain = _of_best("explain")
    apply = _of_best("apply", if_there=True)
    decision_path = _of_best("decision_path", if_there=True)
    export_text = _of_best("export_text")
    save = _of_best("save")
    verify = _of_best("verify")
    agreement = _of_best("agreement")
    _tell_learned = _of_best("_tell_learned")

    def export(self, language: str = "rules", *, result: str | None = None, **options: Any) -> str:
        """Write the recommended tree or scorecard as rules, code, SQL or JSON.

        Parameters
        ----------
        language : str, default="rules"
            As for :func:`export_tree`.
        result : str or None, default=None
            Another row of the table; None: `best`.
        **options
            Further parameters of :func:`export_tree`.

        Returns
        -------
        text : str
            In the words of the table that :func:`simplify` was given.

        Raises
        ------
        KeyError
            If there is no such result.
        TypeError
            If it is not one tree.

        See Also
        --------
        export_tree : Writes it.
        """
        return self[self._named(result)].export(language, **options)

    def differences(self, X: ArrayLike | None = None, **options: Any) -> Differences:
        """Where the recommended result and the model differ.

        Parameters
        ----------
        X : array-like or data frame of shape (n_rows, n_features) or None, default=None
            Rows as the model takes them, with its columns in their order. None: the rows that were
            left out to measure, as they were answered by trees that had not seen them.
        **options
            Further parameters of :func:`differences`.

        Returns
        -------
        Differences
            Rules. The model is ``model_a``.
        """
        best = self[self._named(None)]
        if X is not None:
            return best.differences(X, **options)
        rows, predicted = (getattr(self._candidates[self.best], a) for a in ("rows", "predicted"))
        answers = [own[rows] for own in (self._judged.answers, predicted)]
        if self.is_classifier:  # labels that are floats are labels
            answers = [own.astype(object) for own in answers]
        first, second = (lambda _, own=own: own for own in answers)
        X = safe_indexing(self._task.X, np.flatnonzero(self._task.fold_of >= 0)[rows])
        return differences(first, second, X, **{"random_state": self._task.seed, **options})

    @cached_property
    def _differences(self):
        """What the report says of them."""
        return None if self.best is None else self.differences(max_boxes=_RULES_TOLD)
