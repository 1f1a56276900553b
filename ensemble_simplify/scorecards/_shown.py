"""What people see of a card: a table, a text, a picture, a page, and reasons for answers."""

from __future__ import annotations

from dataclasses import replace
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils.validation import check_is_fitted

from ensemble_simplify.base import PrintsWhatItHolds, fitted_rows
from ensemble_simplify.reading import Model, imported
from ensemble_simplify.scorecards._card import Card
from ensemble_simplify.scorecards._display import ScorecardDisplay
from ensemble_simplify.scorecards._page import card_fragment, card_page
from ensemble_simplify.scorecards._reasons import Reason, reasons
from ensemble_simplify.scorecards._text import NamedCard
from ensemble_simplify.writing import plain, write_text

if TYPE_CHECKING:
    import pandas


class ShowsCard(PrintsWhatItHolds):
    """What an estimator shows of the card in its ``card_``.

    Beside it, it looks at ``_table``, the columns; ``classes_``; and ``_card_rows``, the weight of
    the training rows in each bin of each term, if they were counted.
    """

    card_: Card
    _table: Any

    def _named_card(self):
        """The card in the words of its user."""
        check_is_fitted(self, "card_")
        table = self._table
        names = table.names if table.names is not None else getattr(self, "feature_names_in_", None)
        classes = getattr(self, "classes_", None)
        rows = getattr(self, "_card_rows", None)
        told = np.zeros(len(table), dtype=bool) if table.gaps is None else table.gaps.seen
        may_miss = getattr(self, "_may_miss", None)
        can_lack = np.zeros(len(table), dtype=bool) if may_miss is None else may_miss
        can_lack = can_lack | told | table.may_miss()
        return NamedCard(
            n_features=len(table),
            names=None if names is None else [str(name) for name in names],
            table=table,
            card=self.card_,
            classes=None if classes is None else [plain(label) for label in classes],
            told=can_lack if rows is None else told,
            can_lack=can_lack,
            rows=rows,
            counted=getattr(self, "_counted", "rows"),
            scale=getattr(self, "_scale", None),
            source=getattr(self, "chance_source_", "itself"),
        )

    def _numbers_of(self, X):
        """Rows as the numbers that the card compares."""
        return fitted_rows(self, X, dtype="float64")

    def _of_total(self, output):
        """The total, or its chance, as a model of values: what is written as this output.

        Beside it what tells reasons, or None; these go with the card itself, of whose leaves the
        further columns say how much they speak for the answer, and in which words.
        """
        card = self.card_
        if card.n_scores > 1:
            raise ValueError(
                f"output={output!r}, but the card has a total for each of {card.n_scores} classes. "
                "Use output='label' or 'probabilities'."
            )
        if output == "reasons":
            return self._of_reasons()
        plain = {"slope": 1.0, "shift": 0.0, "at": 0.0, "event": 1}
        if output == "points":
            card = replace(card, link="identity", **plain)
        elif card.link == "logistic":
            # points are log-odds, of which a sigmoid makes chances
            odds = [card.slope * term.points for term in card.terms]
            base = card.slope * card.base + card.shift
            card = replace(card.with_points(odds, base), **plain)
        else:
            raise ValueError(
                f"output={output!r}, but the card is for values. Use output='label' for its value."
            )
        return self._read(card.reading(None, self._table)), None

    def _read(self, reading):
        found = imported(reading, len(self._table))
        found._forest = Model.of(found, check=False).finest
        return found

    def _of_reasons(self):
        card, parts = self.card_, self._named_card().parts()
        terms = [
            replace(t, points=np.pad(t.points, [(0, 0)] * len(t.edges) + [(0, 3)]))
            for t in card.terms
        ]
        for part in parts:
            cells = terms[part.place].points
            points, told = part.term.points[..., 0], np.array([line.points for line in part.told])
            for k, sign in enumerate((1.0, -1.0), start=1):
                cells[..., k] = sign * points - (sign * told).min()
            cells[..., 3] = part.line_of()
        texts = tuple(tuple(line.text for line in part.lines) for part in parts)
        event = card.event if card.link == "logistic" else None
        read = card.reading(getattr(self, "classes_", None), self._table, terms)
        return self._read(read), (event, [part.place for part in parts], texts)

    def to_frame(self) -> pandas.DataFrame:
        """The card as a data frame.

        Returns
        -------
        pandas.DataFrame
            A row for each bin, with ``feature``, ``bin`` (in words), ``points`` (for several
            classes: ``points of`` each of them; of a tariff ``relativity``), ``rows`` (the share
            of the training rows in it, by their weight or exposure; NaN where they were not
            counted) and ``seen`` (False: only for entries that no training row lacked). The row
            "start" has what every sum, or product, starts with.

        See Also
        --------
        export_text : The same as text.
        """
        import pandas as pd

        named = self._named_card()
        heads = named.heads
        if len(heads) > 1:
            heads = [f"points of {head}" for head in heads]
        lines = [("start", "", named.start, np.nan, True)]
        lines += [
            (part.name, line.text, line.points, line.share, line.is_told)
            for part in named.parts()
            for line in part.lines
        ]
        return pd.DataFrame(
            [
                {
                    "feature": feature,
                    "bin": text,
                    **dict(zip(heads, map(named.shown_as, points), strict=True)),
                    "rows": share,
                    "seen": is_told,
                }
                for feature, text, points, share, is_told in lines
            ]
        )

    def export_tables(self, path: str | PathLike) -> None:
        """Write the card as tables: one of all bins, or a sheet for each feature.

        Parameters
        ----------
        path : str or path
            Ends in ".csv": the frame of :meth:`to_frame`. In ".xlsx" (which needs openpyxl): a
            sheet for all bins, and one for each feature, of a pair a grid.

        Raises
        ------
        ValueError
            If the path ends otherwise.
        ImportError
            If a workbook is asked for, and openpyxl is not installed.
        """
        import pandas as pd

        frame, named, ending = self.to_frame(), self._named_card(), Path(path).suffix
        if ending == ".csv":
            write_text(path, frame.to_csv(index=False))
            return
        if ending != ".xlsx":
            raise ValueError(f"path={str(path)!r}. End it in .csv or .xlsx.")
        try:
            book = pd.ExcelWriter(path, engine="openpyxl")
        except ImportError as error:
            raise ImportError(
                f"path={str(path)!r} needs the package openpyxl. Install it: pip install openpyxl; "
                "or write .csv."
            ) from error
        with book:
            frame.to_excel(book, sheet_name="all", index=False)
            for k, part in enumerate(named.parts(), start=1):
                own = frame[frame["feature"] == part.name].drop(columns="feature")
                if len(part.sides) == 2 and self.card_.n_scores == 1:
                    rows, columns, lines = part.grid
                    cells = [[named.shown_as(line.points[0]) for line in row] for row in lines]
                    texts = ([side.text for side in sides] for sides in (rows, columns))
                    own = pd.DataFrame(cells, *texts).rename_axis(part.name).reset_index()
                # names of sheets are short, and some characters are not theirs
                name = "".join("_" if c in "[]:*?/\\" else c for c in part.name)
                own.to_excel(book, sheet_name=f"{k} {name}"[:31], index=False)

    def export_text(self, *, decimals: int | None = None) -> str:
        """The card as text: a line for each bin, a block for each feature.

        Parameters
        ----------
        decimals : int or None, default=None
            Digits of points after the point; None: none of whole numbers, else three in all of the
            largest ones.

        Returns
        -------
        text : str
            Features are in the order of how far they tell rows apart, with the share of the
            training rows in each bin, what the total means, and the probabilities of some totals.

        See Also
        --------
        to_html : The card as a page.
        export_model : The card in SQL, C, Python or JSON.
        """
        return self._named_card().text(decimals)

    def to_html(self, path: str | PathLike | None = None, *, decimals: int | None = None) -> str:
        """The card as a page to print, with room to write down the points of a case.

        Parameters
        ----------
        path : str or path, default=None
            Where to write the page, which needs no other file; None: nowhere.
        decimals : int or None, default=None
            Digits of points after the point; None: none of whole numbers, else three in all of the
            largest ones.

        Returns
        -------
        html : str
            The page.
        """
        html = card_page(self._named_card(), decimals=decimals)
        if path is not None:
            write_text(path, html)
        return html

    def plot(self, *, axes: Any = None) -> ScorecardDisplay:
        """Draw the points over each feature.

        Parameters
        ----------
        axes : array-like of matplotlib Axes, default=None
            At least as many as features are used. None draws into a new figure.

        Returns
        -------
        ScorecardDisplay
            With ``axes_`` and ``figure_``.
        """
        return ScorecardDisplay.from_estimator(self, axes=axes)

    def reasons(self, X: ArrayLike, n: int = 3, *, against: str = "best") -> list[list[Reason]]:
        """Why rows have their answers: the bins that speak most for them, in words.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows.
        n : int, default=3
            Reasons for a row, at most.
        against : {"best", "mean"}, default="best"
            What a bin is compared with. "best": the bin of the same feature that is best for who
            wants another answer, as lenders state why they refuse; "mean": the mean of the
            training rows, which tells what is special about a row.

        Returns
        -------
        list of list of Reason
            For each row the largest first; each prints as a sentence. Of several classes, points
            are those of the answer above those of the class that comes second. In regression,
            "best" compares with the bin of the lowest value, and "mean" tells what makes the
            value larger or smaller.

        Raises
        ------
        ValueError
            If `against` is neither, `n` is less than 1, or no rows were counted for the mean.
        """
        if against not in ("best", "mean"):
            raise ValueError(f"against={against!r} is neither 'best' nor 'mean'. Choose one.")
        if not isinstance(n, (int, np.integer)) or n < 1:
            raise ValueError(f"n={n!r} is no number of reasons. Give 1 or more.")
        named = self._named_card()
        if against == "mean" and named.rows is None:
            raise ValueError(
                "against='mean' compares with the rows that a card learned from, and this one "
                "was made without any. Use against='best'."
            )
        X = self._numbers_of(X)
        bins = [term.bins(X) for term in named.card.terms]
        return reasons(named, named.card.scores(X), bins, int(n), against)

    def _repr_html_(self):
        # an estimator that is not fitted yet shows its parameters, as others do
        if not hasattr(self, "card_"):
            return super()._repr_html_()  # ty: ignore[missing-attribute]
        return card_fragment(self._named_card())

    def _repr_mimebundle_(self, **kwargs):
        if not hasattr(self, "card_"):
            return super()._repr_mimebundle_(**kwargs)  # ty: ignore[missing-attribute]
        return {"text/plain": repr(self), "text/html": self._repr_html_()}
