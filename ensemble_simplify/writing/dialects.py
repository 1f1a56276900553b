"""Dialects of SQL: how a database writes names, texts and numbers, and what it knows.

A `Dialect` is a record that `in_sql` reads. So a database is a line in a table, not a case in the
code.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from ensemble_simplify.writing.words import checked_text, literal_kind

# SQLite reads the last digits of smaller numbers wrongly; a product of two others is exact.
_SMALL, _SHIFT = 1e-290, 2.0**200
_BACKSLASHES = (("\\", "\\\\"), ("'", "\\'"), ("\n", "\\n"), ("\r", "\\r"))


@dataclass(frozen=True)
class Dialect:
    """What a database reads as SQL.

    Attributes
    ----------
    title : str
        The database, in sentences.
    quotes : str
        The characters before and after a name. The second one is doubled inside.
    never_in_names : str
        Characters that no name can hold.
    escapes : tuple of pairs of str
        What is replaced in texts, one after the other.
    texts : tuple of str
        How a text is written: formats of the `text`, or of its bytes as `octets`. The second one is
        for texts that are not of ASCII, or hold a backslash.
    levels : tuple of str or None
        The same for texts that are compared with a column, if they are written otherwise.
    column_of_texts : str
        A format of a column of which texts are compared byte by byte, whatever its collation.
    number_column : str
        A format of a column that is compared with doubles: where it would be rounded, or the
        doubles would be.
    empty_is_null : bool
        Whether the empty text is a missing value.
    double, single : str or None
        Types of floats. None: there are no floats of 32 bits, or they are not used.
    double_mark : str
        What ends a literal of a double.
    divisor : str
        A format of a constant that the number `one` is divided by.
    is_false : str
        A format of the test whether a truth value is false.
    truths : tuple of str
        Literals of true and false.
    opens, closes : str
        What stands around a step that is to be computed once: after its name, and at its end.
    nested : int
        Levels of nested ``CASE`` that its parser takes.
    walks : bool
        Whether a recursive step can walk over a table of nodes.
    """

    title: str
    quotes: str = '""'
    never_in_names: str = ""
    escapes: tuple = (("'", "''"),)
    texts: tuple = ("'{text}'", "'{text}'")
    levels: tuple | None = None
    column_of_texts: str = "{}"
    number_column: str = "{}"
    empty_is_null: bool = False
    double: str = "DOUBLE"
    single: str | None = "FLOAT"
    double_mark: str = ""
    divisor: str = "{constant}"
    is_false: str = "NOT {}"
    truths: tuple = ("TRUE", "FALSE")
    opens: str = "AS ("
    closes: str = ""
    nested: int = 10
    walks: bool = False

    def name(self, name) -> str:
        """A name in quotes."""
        text, (before, after) = checked_text(str(name), "name", self.title), self.quotes
        if found := [character for character in self.never_in_names if character in text]:
            raise TypeError(
                f"The name {text!r} holds {found[0]!r}, which no name in {self.title} can. Rename "
                "it."
            )
        return f"{before}{text.replace(after, 2 * after)}{after}"

    def number(self, value) -> str:
        """A double with an exponent, without which it can be decimal, in digits that say it."""
        value = float(value)
        size = abs(value)
        if 0.0 < size < _SMALL:
            return f"({self.number(value * _SHIFT)} * {self.number(1 / _SHIFT)})"
        # large whole numbers in full: databases compare columns of integers with these digits
        text = f"{value:.18e}" if 1e17 <= size < 1e19 else f"{value:.17e}"
        digits, exponent = text.split("e")
        digits = digits.rstrip("0").removesuffix(".")
        return f"{digits}E{int(exponent)}{self.double_mark}"

    def value(self, value, what) -> str:
        """A label or level."""
        kind = literal_kind(value, what, self.title)
        if kind is str:
            return self._text(value, what)
        if kind is bool:
            return self.truths[0 if value else 1]
        return str(value) if kind is int else self.number(value)

    def _text(self, value, what) -> str:
        if not value and self.empty_is_null:
            raise TypeError(
                f"The {what} '' is a missing value in {self.title}, which has no empty text. Name "
                "it otherwise."
            )
        text = checked_text(value, what, self.title)
        for one, other in self.escapes:
            text = text.replace(one, other)
        forms = self.levels if what == "level" and self.levels else self.texts
        form = forms[not value.isascii() or "\\" in value]
        return form.format(text=text, octets=value.encode().hex())

    def cast(self, value, single=False) -> str:
        """A number in a type of floats; a double where the database lacks the other."""
        return f"CAST({value} AS {(single and self.single) or self.double})"


# What several databases share: types of floats, and steps that are computed once.
_FLOATS: dict[str, Any] = {"double": "DOUBLE PRECISION", "single": "REAL"}
_STEPS: dict[str, Any] = {"opens": "AS MATERIALIZED (", "walks": True}
# No other words than SQLite, DuckDB and PostgreSQL all know.
COMMON = Dialect("SQL", **_FLOATS, **_STEPS)
_SPARK = Dialect("Spark", quotes="``", escapes=_BACKSLASHES, double_mark="D")
DIALECTS = {
    # in double quotes, a name that is not there would be a text
    "sqlite": Dialect(
        "SQLite",
        quotes="``",
        column_of_texts="{} COLLATE BINARY",
        single=None,
        is_false="{} = 0",
        **_STEPS,
    ),
    "duckdb": Dialect("DuckDB", column_of_texts='CAST({} AS VARCHAR) COLLATE "C"', **_STEPS),
    "postgresql": Dialect(
        "PostgreSQL",
        # read the same whatever standard_conforming_strings is
        escapes=(("\\", "\\\\"), ("'", "''")),
        texts=("'{text}'", "E'{text}'"),
        column_of_texts='CAST({} AS TEXT) COLLATE "C"',
        **_FLOATS,
        **_STEPS,
    ),
    "mysql": Dialect(
        "MySQL",
        quotes="``",
        # read the same whatever the character set of a connection is, and its mode
        texts=("'{text}'", "_utf8mb4 X'{octets}'"),
        levels=("'{text}'", "X'{octets}'"),
        # as bytes: all its own binary collations but one, which MariaDB lacks, ignore last spaces
        column_of_texts="CAST(CONVERT({} USING utf8mb4) AS BINARY)",
        is_false="{} = 0",
        # else steps are merged, and computed wherever their columns are used
        closes="\n  LIMIT 18446744073709551615",
    ),
    "spark": _SPARK,
    "databricks": replace(_SPARK, title="Databricks"),
    "bigquery": Dialect(
        "BigQuery",
        quotes="``",
        never_in_names="`\\",
        escapes=_BACKSLASHES,
        column_of_texts="COLLATE({}, '')",
        double="FLOAT64",
        single=None,
    ),
    "snowflake": Dialect(
        "Snowflake", escapes=_BACKSLASHES, column_of_texts="COLLATE({}, 'utf8')", single=None
    ),
    "redshift": Dialect(
        "Redshift",
        escapes=_BACKSLASHES,
        column_of_texts="COLLATE({}, 'case_sensitive')",
        **_FLOATS,
    ),
    "tsql": Dialect(
        "SQL Server",
        quotes="[]",
        # a backslash before a line break would join the lines
        escapes=(("'", "''"), ("\\\n", "\\' + N'\n")),
        texts=("'{text}'", "N'{text}'"),
        # as bytes: texts are equal in spite of spaces at their ends
        levels=("CAST(N'{text}' AS VARBINARY(MAX))",) * 2,
        column_of_texts="CAST(CAST({} AS NVARCHAR(MAX)) AS VARBINARY(MAX))",
        **_FLOATS,
        is_false="{} = 0",
        truths=("1", "0"),
        nested=8,
    ),
    "oracle": Dialect(
        "Oracle",
        never_in_names='"',
        column_of_texts="{} COLLATE BINARY",
        empty_is_null=True,
        double="BINARY_DOUBLE",
        single="BINARY_FLOAT",
        double_mark="D",
        is_false="{} = 0",
        truths=("1", "0"),
    ),
    "trino": Dialect("Trino", single="REAL"),
    "polars": Dialect(
        "Polars",
        # it rounds literals to the type of a column
        number_column="CAST({} AS DOUBLE)",
        # it multiplies by the reciprocal of a constant, which rounds twice
        divisor="CASE WHEN {one} > 0E0 THEN {constant} ELSE {constant} END",
        single="REAL",
    ),
    # it has floats of 32 bits, but plans for minutes where sums are rounded to them
    "datafusion": Dialect("DataFusion", single=None),
}


def dialect_of(name, language="sql") -> Dialect:
    """The dialect that users call by a name; None: the common one."""
    if name is None:
        return COMMON
    if language != "sql":
        raise ValueError(f"dialect={name!r} goes with language='sql' alone. Leave it out.")
    if not isinstance(name, str) or name not in DIALECTS:
        raise ValueError(f"dialect={name!r}. Choose one of {', '.join(DIALECTS)}.")
    return DIALECTS[name]
