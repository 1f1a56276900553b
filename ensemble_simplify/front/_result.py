"""What `simplify` found."""

from __future__ import annotations

from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

from numpy.typing import ArrayLike

from ensemble_simplify.front._display import SimplificationDisplay
from ensemble_simplify.front._inputs import checked_rows
from ensemble_simplify.front._methods import METHODS, SMALL, ModelAndRows, NotTried
from ensemble_simplify.front._next import told_tree
from ensemble_simplify.front._old_report import as_fragment, as_page, as_text
from ensemble_simplify.reading import Table
from ensemble_simplify.writing import export_tree

if TYPE_CHECKING:
    import pandas


@dataclass(frozen=True, eq=False, repr=False)
class Simplification:
    """What a fitted model can become; see :func:`simplify`.

    ``simplification["representer"]`` is the fitted object of a row of the table.

    Parameters
    ----------
    table : list of Bunch
        The model, then every method, with ``name``; ``title``; ``leaves`` (of all trees) and
        ``trees``; ``accuracy`` and ``balanced_accuracy`` (in regression: the coefficient of
        determination, and nan) on the held-out rows, nan without `y`; ``agreement`` with the
        model on them, with the ends ``agreement_low`` and ``agreement_high`` of its interval
        (95 %); ``class_agreement``, a dict: of the rows to which the model gives a label, the share
        to which this one gives it, too; ``promise`` in words, and ``is_proven``; ``is_tree``,
        whether it is one ordinary tree; ``seconds``; ``is_measured``, false if there is no result,
        and ``note``, the reason for that, or a warning.
    best : str or None
        Name of the row that is recommended; None if no tree was fitted.
    reason : str
        Why, in a sentence.
    notes : list of str
        What else should be known.
    fitted : dict
        The fitted objects by name. Those on tables of text or missing values are pipelines,
        unless the method takes such tables itself.
    max_leaves : int
        Leaves that the recommended tree may have.
    is_classifier : bool
        Whether the model is a classifier.
    n_rows : int
        Rows that methods learned from.
    n_rows_aside : int
        Held-out rows.
    feature_names : list of str
        Names of the columns.
    feature_costs : array-like, dict or None
        As they were given.
    seed : int
        Of the methods' own randomness.
    table_of_rows : object
        What the columns hold.
    seconds : float
        Time taken.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.neural_network import MLPClassifier
    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.preprocessing import StandardScaler
    >>> from ensemble_simplify import simplify
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> model = make_pipeline(StandardScaler(), MLPClassifier(max_iter=300, random_state=0))
    >>> outcome = simplify(model.fit(X, y), X, y, max_leaves=4, random_state=0)
    >>> [row.note.split(":")[0] for row in outcome.table if row.name == "faithful"]
    ['not tried']
    >>> print(outcome.report())  # doctest: +ELLIPSIS
    What MLPClassifier can become...
    """

    table: list
    best: str | None
    reason: str
    notes: list
    fitted: dict
    max_leaves: int
    is_classifier: bool
    n_rows: int
    n_rows_aside: int
    feature_names: list
    feature_costs: object
    seed: int
    table_of_rows: object
    seconds: float

    def __getitem__(self, name):
        """The fitted object of a row of the table."""
        if name not in self.fitted:
            raise KeyError(f"{name!r} was not found. There are {', '.join(self.fitted)}.")
        return self.fitted[name]

    def __contains__(self, name):
        return name in self.fitted

    def __repr__(self):
        return as_text(self)

    def _repr_html_(self):
        return as_fragment(self)

    @property
    def best_model(self) -> Any:
        """The fitted object that is recommended."""
        return None if self.best is None else self.fitted[self.best]

    def to_frame(self) -> pandas.DataFrame:
        """The table as a data frame.

        Returns
        -------
        pandas.DataFrame
            A row for the model and for each method, indexed by their names.
        """
        import pandas as pd

        hidden = ("alike", "places", "drawn", "class_rows", "is_measured")
        rows = [{key: row[key] for key in row if key not in hidden} for row in self.table]
        return pd.DataFrame(rows).set_index("name")

    def report(self, path: str | PathLike | None = None) -> str:
        """The table, the recommendation and the recommended tree.

        Parameters
        ----------
        path : str or path, default=None
            Where to write a page in HTML, which needs no other file; None: nowhere.

        Returns
        -------
        str
            The report as text.
        """
        if path is not None:
            Path(path).write_text(as_page(self), encoding="utf-8")
        return as_text(self, with_tree=True)

    def refit(
        self,
        X: ArrayLike,
        y: ArrayLike | None = None,
        *,
        name: str | None = None,
        time_limit: float | None = None,
    ) -> Any:
        """Fit one of the methods again, to more rows: the recommended one if none is named.

        What :func:`simplify` found learned from part of its rows; the others were kept aside to
        measure it. Once a method is chosen, it can learn from all of them, and from any further
        rows: they need no labels, because the model gives the answers. On average, the result
        agrees with the model a little more; how much is not measured here.

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
        fitted : estimator
            Of at most `max_leaves` leaves, but if a proven promise needs more, it is larger.

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
        >>> outcome = simplify(forest, X[1::2], methods=["representer"], random_state=0)
        >>> tree = outcome.refit(X, name="representer")
        >>> bool(tree.get_n_leaves() <= 8)
        True
        """
        name = self.best if name is None else name
        self[name]  # a KeyError if there is none
        if name == "model":
            raise KeyError("'model' is no result. Name another row of the table.")
        model, method = self.fitted["model"], METHODS[name.removesuffix(SMALL)]
        X, y, answers, _ = checked_rows(model, X, y, self.seed)
        case = ModelAndRows(
            model=model,
            table=Table.of_rows(X),
            X=X,
            y=y,
            answers=answers,
            max_leaves=self.max_leaves,
            feature_costs=self.feature_costs,
            seed=self.seed,
        )
        if lacking := method.lacks(case):
            raise ValueError(f"{name!r} cannot be fitted to these rows: {lacking}.")
        try:
            found = {result.name: result.fitted for result in method.attempt(case, time_limit)}
        except NotTried as reason:
            raise ValueError(f"{name!r} cannot be fitted to these rows: {reason}.") from None
        # where the whole tree is small enough there is no smaller one
        return found.get(name, found.get(name.removesuffix(SMALL)))

    def export(self, language: str = "rules", *, result: str | None = None, **options: Any) -> str:
        """Write the recommended tree as rules, SQL, C, Python or JSON.

        Parameters
        ----------
        language : {"rules", "sql", "c", "python", "json"}, default="rules"
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
        ValueError
            If its tree reads missing values as numbers, which cannot be written.

        See Also
        --------
        export_tree : Writes it.

        Examples
        --------
        >>> from sklearn.datasets import load_iris
        >>> from sklearn.ensemble import RandomForestClassifier
        >>> from ensemble_simplify import simplify
        >>> iris = load_iris(as_frame=True)
        >>> X, y = iris.data, iris.target_names[iris.target]
        >>> forest = RandomForestClassifier(random_state=0).fit(X, y)
        >>> outcome = simplify(forest, X, max_leaves=3, methods=[], random_state=0)
        >>> print(outcome.export("rules", decimals=2), end="")  # doctest: +ELLIPSIS
        if petal ... then setosa (100 %, ... rows)
        ...
        """
        if result is None and self.best is None:
            raise KeyError("No tree is recommended. Name a row of the table as result.")
        name = self.best if result is None else result
        return export_tree(told_tree(self, name), language, **options)

    def plot(self, *, axes: Any = None) -> SimplificationDisplay:
        """Draw size against agreement and accuracy.

        Parameters
        ----------
        axes : array-like of two matplotlib Axes, default=None
            None draws into a new figure.

        Returns
        -------
        SimplificationDisplay
            With ``axes_`` and ``figure_``.
        """
        return SimplificationDisplay.from_simplification(self, axes=axes)
