"""Fitted trees in other languages: rules, SQL, C, Python, JSON, and back from JSON.

scikit-learn rounds a row to float32 before it compares. Code in these languages does not round: it
compares with the boundary between doubles that are rounded down and up, a number of 25 bits.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import replace
from os import PathLike
from pathlib import Path
from typing import Any

from numpy.typing import ArrayLike
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from ensemble_simplify.reading import ImportedEnsemble, Model, has_own_methods, unwrap
from ensemble_simplify.writing.caveats import caveats, caveats_of_int16
from ensemble_simplify.writing.code import with_reasons
from ensemble_simplify.writing.dialects import dialect_of
from ensemble_simplify.writing.given_rows import like_rows, with_short_ends
from ensemble_simplify.writing.in_braces import BRACES, ensemble_in_braces
from ensemble_simplify.writing.in_c import ensemble_in_c, tree_in_c
from ensemble_simplify.writing.in_json import ensemble_in_json, read_json, tree_in_json
from ensemble_simplify.writing.in_python import ensemble_in_python, tree_in_python
from ensemble_simplify.writing.in_sql import ensemble_in_sql, tree_in_sql
from ensemble_simplify.writing.named_tree import NamedEnsemble, NamedTree
from ensemble_simplify.writing.words import checked_function

LANGUAGES = ("rules", "sql", "c", "python", "json", *BRACES)
_OF_ENSEMBLES = LANGUAGES[1:]
_FORMS, _PRECISIONS = ("tables", "nested"), ("exact", "int16")
# A query that holds more of them takes databases gigabytes.
_MANY_NODES = 50_000
_OUTPUTS = ("label", "probabilities")
# What cards have beside these, and the languages that tell reasons.
_OF_CARDS = ("points", "chance", "reasons")
_TELLING = ("sql", "c", "python", "javascript")


def export_tree(
    model: Any,
    language: str = "rules",
    *,
    output: str = "label",
    feature_names: Sequence[str] | None = None,
    class_names: Sequence | None = None,
    name: str | None = None,
    table: str | None = None,
    dialect: str | None = None,
    decimals: int | None = None,
    X: ArrayLike | None = None,
    readable: bool = False,
) -> str:
    """Write a fitted tree as rules, SQL, C, Python or JSON.

    SQL, C, Python and JSON give the tree's own answer for every row of finite doubles that float32
    can hold without overflow, and for missing values. Their constants differ a little from the
    tree's thresholds, since the code does not round rows to float32 as scikit-learn does
    (:ref:`export_concept`).

    A tree that was fitted on a table with text or categories is written with the columns and levels
    of that table.

    Read more in the :ref:`guide <export>`.

    Parameters
    ----------
    model : fitted estimator
        A scikit-learn tree, or an estimator of this package that holds one.
    language : str, default="rules"
        - "rules": one line "if ... then" for each leaf, with one interval or set for each feature
          on the path, the class, its share (by ``predict_proba``) and the number of training rows.
          Thresholds have as few digits as split float32 numbers in the same way. Missing values are
          mentioned for features where the tree met some in ``fit``.
        - "sql": an ANSI ``CASE`` with one ``WHEN`` for each leaf. A row that reaches a ``WHEN`` has
          failed all those above, so only the other conditions are written. NULL is a missing
          value; NaN, which some databases know, is not.
        - "c": a C99 function of a row of doubles that allocates no memory. NAN is a missing value.
          It returns the position of the class in ``classes_``, or the value in regression. For
          probabilities, it fills an array. For each split column with levels, there is a function
          that turns a level into its code. Do not compile with ``-ffast-math``.
        - "python": a function of a row, without imports. A row is indexed by the names of the
          columns, or by their positions if there are no names. None and NaN are missing values.
        - "javascript", "java", "go", "csharp": a file with a function of a row, as for
          :func:`export_model`.
        - "json": `import_tree` reads it back. Its keys are listed in :ref:`json_format`.
    output : {"label", "probabilities"}, default="label"
        What the exported code returns. "probabilities": one column for each class in "sql", a dict
        in "python". JSON always holds both. For a regressor, "label" is the value.
    table : str, default=None
        Only for "sql": the table to select from. None: only the expressions are written, for the
        list of a ``SELECT``.
    dialect : str, default=None
        Only for "sql": the database for which it is written (:ref:`export_dialects`), one of
        "sqlite", "duckdb", "postgresql", "mysql" (MariaDB, too), "spark", "databricks",
        "bigquery", "snowflake", "redshift", "tsql" (SQL Server), "oracle", "trino", "polars" and
        "datafusion". None: what SQLite, DuckDB and PostgreSQL read alike.
    decimals : int, default=None
        Only for "rules": digits after the point. None: as many as are needed.
    X : array-like or frame of shape (n_samples, n_features), default=None
        Some rows as the model takes them, for `readable`. Columns of a frame that are boolean are
        written as truth values in SQL; without `X`, those of the frame that an estimator of this
        package was fitted on.
    readable : bool, default=False
        Write thresholds in as few digits as part the rows of `X`, and all numbers of their type,
        alike: float32 numbers, or integers in a column of `X` that holds such. Doubles of more
        digits that lie between can be answered otherwise than by the model.

    Returns
    -------
    text : str
        In the language, ended by a line break.

    Other Parameters
    ----------------
    feature_names : sequence of str, default=None
        Names of the columns. None: those seen in ``fit``, or x0, x1, ... LightGBM keeps "_" for a
        space in a name; where the table has the space, give its names here.
    class_names : sequence, default=None
        Strings or numbers that stand for the classes, in the order of ``classes_``.
    name : str, default=None
        Name of the function in "c" and "python" (None: predict), or of the column in "sql"
        (None: prediction), to which the class is added for probabilities.

    Raises
    ------
    TypeError
        If the model is not one tree, or a label or level cannot be written in the language.
    ValueError
        If a parameter has no such value or does not go with the language.

    See Also
    --------
    import_tree : Reads "json".
    export_model : Writes a whole ensemble.

    Notes
    -----
    Levels that are neither text nor numbers, such as time stamps and intervals, are written as
    their texts (``str(level)``). SQL and C compare a column of such texts, and Python takes the
    objects, too.

    An unknown level is treated as the model treats it: as a code of its own, as a missing value, or
    as an error. An error is NULL in SQL, a ValueError in Python, and in C -1 for labels and NAN for
    numbers.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> from ensemble_simplify import export_tree
    >>> iris = load_iris(as_frame=True)
    >>> tree = DecisionTreeClassifier(max_leaf_nodes=3, random_state=0)
    >>> tree = tree.fit(iris.data, iris.target_names[iris.target])
    >>> print(export_tree(tree, decimals=2), end="")
    if petal width (cm) <= 0.80 then setosa (100 %, 50 rows)
    if 0.80 < petal width (cm) <= 1.75 then versicolor (90.7 %, 54 rows)
    if petal width (cm) > 1.75 then virginica (97.8 %, 46 rows)
    >>> print(export_tree(tree, "sql", table="flowers"), end="")
    SELECT CASE
      WHEN "flowers"."petal width (cm)" < 8.00000041723251343E-1 THEN 'setosa'
      WHEN ("flowers"."petal width (cm)" <= 1.75000005960464478E0
            OR "flowers"."petal width (cm)" IS NULL) THEN 'versicolor'
      ELSE 'virginica'
    END AS "prediction"
    FROM "flowers"
    """
    if not isinstance(language, str) or language not in LANGUAGES:
        raise ValueError(f"language={language!r}. Choose one of {', '.join(LANGUAGES)}.")
    if output not in _OUTPUTS:
        raise ValueError(f"output={output!r}. Choose label or probabilities.")
    if table is not None and language != "sql":
        raise ValueError(f"table={table!r} goes with language='sql' alone. Leave it out.")
    written_for = dialect_of(dialect, language)
    if decimals is not None and language != "rules":
        raise ValueError(
            f"decimals={decimals!r} goes with language='rules' alone: the others are exact. Leave "
            "it out."
        )
    if name is not None and language in ("rules", "json"):
        raise ValueError(f"name={name!r} means nothing in {language}. Leave it out.")
    _check_readable(readable, X, language)
    tree = NamedTree.of(model, feature_names=feature_names, class_names=class_names)
    if not has_own_methods(unwrap(model)):
        Model.of(model)  # refuses what answers otherwise than its tree
    tree = _as_asked(tree, X, readable)
    probabilities = output == "probabilities"
    if probabilities and tree.classes is None:
        raise ValueError(
            "output='probabilities', but the tree is a regressor. Use output='label' for its value."
        )
    if language == "rules":
        return tree.rules(probabilities, decimals)
    if language == "json":
        return tree_in_json(tree)
    if language == "sql":
        column = "prediction" if name is None else name
        return tree_in_sql(tree, probabilities, column, table, written_for)
    if language in BRACES:
        ensemble = _as_asked(NamedEnsemble.of_tree(tree), X, readable).shortened()
        function = checked_function(name, language)
        return ensemble_in_braces(ensemble, language, probabilities, function)
    write = tree_in_c if language == "c" else tree_in_python
    return write(tree, probabilities, checked_function(name, language))


def export_model(
    model: Any,
    language: str,
    *,
    output: str = "label",
    feature_names: Sequence[str] | None = None,
    class_names: Sequence | None = None,
    name: str | None = None,
    table: str | None = None,
    dialect: str | None = None,
    keys: Sequence[str] = (),
    X: ArrayLike | None = None,
    readable: bool = False,
    form: str | None = None,
    nodes: str | PathLike | None = None,
    precision: str = "exact",
) -> str:
    """Write a fitted tree ensemble as SQL, C, Python or JSON that gives its own labels.

    The written code adds up what the trees say in the order, and with the roundings, of the
    ensemble's own ``predict``. So labels are the same bit for bit, also at thresholds and ties.
    Numbers of regressors are the same. Probabilities can differ in the last digits of an
    exponential. One tree alone is written by :func:`export_tree`.

    Read more in the :ref:`guide <export_ensembles>`.

    Parameters
    ----------
    model : fitted estimator
        A tree ensemble that can be read (:ref:`models`), also behind a decision threshold, the
        calibration of one model or a pipeline. Or an estimator of this package that holds one.
    language : {"sql", "c", "python", "json", "javascript", "java", "go", "csharp"}
        - "sql": one query over a table, in a `dialect`. Steps are common table expressions. NULL is
          a missing value; NaN is not.
        - "c": a C99 file with tables of nodes and a function of a row of doubles that allocates
          no memory. NAN is a missing value. The function returns the position of the class in
          ``classes_``, or the value in regression. For probabilities, it fills an array. For each
          column with levels that is split on, a function turns a level into its code.
          ``predict_rows(x, n, out)`` answers `n` rows that stand one after the other, a block of
          rows at a time tree by tree: so large ensembles stay in the cache. Do not compile with
          ``-ffast-math``.
        - "python": a file with a function of a row that needs the standard library alone. A row is
          indexed by the names of the columns, or by their positions if there are no names. None
          and NaN are missing values.
        - "javascript", "java", "go", "csharp": a file with a function of a row that needs the
          standard library alone: in Java and C# a class ``Model``, in Go a package ``model``. A row
          is an object, a ``Map``, a ``map[string]any`` or an ``IDictionary`` by the names of the
          columns (x0, x1, ... if there are none; in JavaScript, their positions). Probabilities are
          an array in the order of the classes. Null and NaN are missing values.
        - "json": `import_model` reads it back. Its keys are listed in :ref:`json_format`.
    output : {"label", "probabilities", "points", "chance", "reasons"}, default="label"
        As in :func:`export_tree`. JSON holds what both take. "points": the total of a scorecard
        with one score. "chance": of a scorecard for two classes, the probability of the event.
        "reasons", in SQL, C, Python and JavaScript: the bins of the first four of a card's reasons
        in words (``card.reasons(X, 4)``), empty where there are fewer. They are columns in SQL, an
        array of texts in C, and lists elsewhere.
    table : str, default=None
        The table to select from. It is needed by "sql", and goes with no other language.
    dialect : str, default=None
        As in :func:`export_tree`. None: a query for SQLite from 3.35, DuckDB and PostgreSQL from
        12.
    keys : sequence of str, default=()
        Only for "sql": columns of the table that stand beside the answers, such as its primary key.
        A query answers rows in no particular order.
    X : array-like or frame of shape (n_samples, n_features), default=None
        Some rows as the model takes them. Those to which the code may answer otherwise than the
        model are counted: see Notes, and `precision`. A pipeline is read for the types in which
        these rows come. CatBoost models that split on levels need them, since such models keep only
        hashes of levels: the code has the names in these rows.
    readable : bool, default=False
        As in :func:`export_tree`.

    Returns
    -------
    text : str
        In the language, ended by a line break.

    Other Parameters
    ----------------
    feature_names, class_names : sequences, default=None
        As in :func:`export_tree`.
    name : str, default=None
        Name of the function (None: predict), or of the column in "sql" (None: prediction), to which
        the class is added for probabilities.
    form : {"tables", "nested"}, default=None
        Only for "c" and "sql". The labels are the same in both forms.

        - In C, "tables" (the default) writes the nodes as a table, over which a loop goes. "nested"
          writes a function of nested tests for each tree, which is faster.
        - In SQL, "nested" (the default) writes each tree as nested ``CASE``. "tables" writes the
          nodes of all trees as one table, over which a recursive common table expression walks each
          row. DuckDB plans "tables" in a fraction of the time for large ensembles. SQLite and
          PostgreSQL run "nested" faster on many rows. A vote of many members, which takes more than
          200 sums, has to be "nested".
    nodes : str or path, default=None
        Only for "sql" with ``form="tables"``: a file that is written, and holds the nodes; it ends
        in ".sql", ".csv" or ".parquet" (which needs pyarrow). The query, of a few kB, reads them
        from a table of the file's name without its ending, into which you load the file.
    precision : {"exact", "int16"}, default="exact"
        "int16", for "c" and "json" alone, rounds thresholds and leaves to 16 bits, for devices with
        little memory (:ref:`export_int16`). A function ``predict_codes`` turns a row of numbers
        into codes, ``predict_int16`` answers codes, and ``predict`` does both. The comment above
        the function says how far the thresholds of each column moved, and by how much sums can
        differ. With `X`, it also says how many of these rows get another class, and a
        ``UserWarning`` does if there are any. "json" under the same `precision` and `X` holds the
        ensemble that this C follows. Read back, it can be compared with the model by
        :func:`verify`.

    Raises
    ------
    TypeError
        If the model cannot be read, averages several calibrations, or a label or level cannot be
        written in the language.
    ValueError
        If a parameter has no such value or does not go with the language.

    Warns
    -----
    UserWarning
        If some rows of `X` can get another class than the model's.

    See Also
    --------
    import_model : Reads "json".
    export_tree : Writes one tree, and more clearly.
    FaithfulPruner : Fewer trees to be written, with the same answers.

    Notes
    -----
    Where two classes are all but tied, a rounding can turn the label. Three things can do that:

    - XGBoost adds up in float32, and SQLite, which lacks this type, in doubles.
    - Forests with ``n_jobs`` add their trees up in the order in which threads end, the code in that
      of the trees.
    - Boosting of many classes by XGBoost and LightGBM, and calibration by temperature, compare
      exponentials, which libraries round in their own ways.

    Where one of these applies and sums can round, a comment at the top says so, and how close to
    a tie a row must be. With `X`, it also says how many rows are, and a ``UserWarning`` does if
    there are any. All other rows get the model's class.

    Rows are compared in the type in which the ensemble compares them (see :func:`verify`). For a
    pipeline, the answers are the ensemble's own for numbers that float32 represents.

    Unknown levels are treated as :func:`export_tree` does it.

    Examples
    --------
    >>> import sqlite3
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.ensemble import RandomForestClassifier
    >>> from ensemble_simplify import export_model
    >>> X, y = load_iris(return_X_y=True, as_frame=True)
    >>> X.columns = ["sepal_length", "sepal_width", "petal_length", "petal_width"]
    >>> forest = RandomForestClassifier(10, random_state=0).fit(X, y)
    >>> database = sqlite3.connect(":memory:")
    >>> X.to_sql("flowers", database, index_label="id")
    150
    >>> query = export_model(forest, "sql", table="flowers", keys=["id"])
    >>> answers = dict(database.execute(query).fetchall())
    >>> all(answers[i] == label for i, label in enumerate(forest.predict(X)))
    True
    """
    if not isinstance(language, str) or language not in _OF_ENSEMBLES:
        raise ValueError(f"language={language!r}. Choose one of {', '.join(_OF_ENSEMBLES)}.")
    reasons = None
    if output not in (*_OUTPUTS, *_OF_CARDS):
        raise ValueError(
            f"output={output!r}. Choose label, probabilities, or points, chance or reasons of a "
            "card."
        )
    if output not in _OUTPUTS:
        if not hasattr(model, "_of_total"):
            raise ValueError(
                f"output={output!r}, but the model is no scorecard. Use output='label' or "
                "'probabilities'."
            )
        if output == "reasons" and language not in _TELLING:
            raise ValueError(
                f"output='reasons' is written in {', '.join(_TELLING)}, but language={language!r}."
            )
        model, reasons = model._of_total(output)
        output = "label" if reasons is None else "probabilities"
    if language == "sql" and not isinstance(table, str):
        raise ValueError(
            f"table={table!r}, but language='sql' writes a whole query. Name the table to select "
            "from."
        )
    for parameter, given in (("table", table), ("keys", keys or None)):
        if given is not None and language != "sql":
            raise ValueError(f"{parameter}={given!r} goes with language='sql' alone. Leave it out.")
    if name is not None and language == "json":
        raise ValueError(f"name={name!r} means nothing in json. Leave it out.")
    for parameter, given, known in (
        ("form", "tables" if form is None else form, _FORMS),
        ("precision", precision, _PRECISIONS),
    ):
        if not isinstance(given, str) or given not in known:
            raise ValueError(f"{parameter}={given!r}. Choose {' or '.join(known)}.")
    if form is not None and language not in ("c", "sql"):
        raise ValueError(f"form={form!r} goes with language='c' or 'sql' alone. Leave it out.")
    if precision == "int16" and language not in ("c", "json"):
        raise ValueError(
            f"precision='int16' goes with language='c', or 'json' to read it back, but language="
            f"{language!r}. Leave it out."
        )
    if nodes is not None:
        nodes = Path(nodes)
        if language != "sql" or form != "tables":
            raise ValueError(f"nodes={str(nodes)!r} goes with SQL in form='tables'. Leave it out.")
        if nodes.suffix not in (".sql", ".csv", ".parquet"):
            raise ValueError(f"nodes={str(nodes)!r}. End it in .sql, .csv or .parquet.")
    if isinstance(keys, str):
        raise ValueError(f"keys={keys!r} is one name. Give a list: keys=[{keys!r}].")
    written_for = dialect_of(dialect, language)
    if form == "tables" and language == "sql" and not written_for.walks:
        raise ValueError(
            f"form='tables' is not known to run in {written_for.title}. Use form='nested'."
        )
    _check_readable(readable, X, language)
    if readable and precision == "int16":
        raise ValueError("readable=True has exact thresholds, but precision='int16'. Choose one.")
    names = {"feature_names": feature_names, "class_names": class_names}
    ensemble = _as_asked(NamedEnsemble.of(model, rows=X, **names), X, readable).shortened()
    if reasons is not None:
        ensemble = replace(ensemble, code=with_reasons(ensemble.code, *reasons))
        name = "reason" if name is None and language == "sql" else name
    probabilities = output == "probabilities"
    if probabilities and ensemble.code.outputs is None:
        raise ValueError(
            "output='probabilities', but what the model answers as probabilities is not known "
            "from its trees, or it is a regressor. Use output='label'."
        )
    int16 = None
    if precision == "int16":
        int16, told = caveats_of_int16(ensemble, X)
        ensemble = int16.ensemble
    else:
        told = caveats(ensemble, written_for if language == "sql" else None, X)
    if language == "json":
        return ensemble_in_json(ensemble)
    if language == "sql":
        column = "prediction" if name is None else name
        n_nodes = ensemble.forest.n_nodes
        if form == "tables" and nodes is None and n_nodes > _MANY_NODES:
            warnings.warn(
                f"The query will hold {n_nodes:,} nodes in about {n_nodes * 60 / 2**20:.0f} MiB of "
                "text, for which DuckDB can take gigabytes. With nodes='nodes.csv', they are "
                "written beside a short query.",
                UserWarning,
                stacklevel=2,
            )
        more = {"nested": form != "tables", "nodes": nodes, "dialect": written_for, "told": told}
        return ensemble_in_sql(ensemble, probabilities, column, table, list(keys), **more)
    function = checked_function(name, language)
    if language == "c":
        more = {"nested": form == "nested", "int16": int16, "told": told}
        return ensemble_in_c(ensemble, probabilities, function, **more)
    if language in BRACES:
        return ensemble_in_braces(ensemble, language, probabilities, function, told)
    return ensemble_in_python(ensemble, probabilities, function, told=told)


def _as_asked(named, X, readable):
    """A tree or an ensemble as some rows say that it is written."""
    if X is None:
        return named
    named = like_rows(named, X)
    if not readable:
        return named
    # a plain tree has to be read for its table
    table = named.model.table if named.table is None else named.table
    return with_short_ends(named, X, table.read(X))


def _check_readable(readable, X, language):
    if readable and X is None:
        raise ValueError("readable=True needs rows that stay on their sides. Give some as X.")
    if readable and language in ("rules", "json"):
        raise ValueError(f"readable=True means nothing in {language}. Leave it out.")


def import_tree(text: str) -> DecisionTreeClassifier | DecisionTreeRegressor:
    """Read a tree that `export_tree` wrote as JSON.

    Parameters
    ----------
    text : str
        What ``export_tree(model, "json")`` returned. Its keys are listed in :ref:`json_format`.

    Returns
    -------
    tree : DecisionTreeClassifier or DecisionTreeRegressor
        Fitted, with the same splits, values, counts of rows and names, and the same answers.
        Its ``predict`` takes codes in columns that have levels.

    Raises
    ------
    ValueError
        If the text is not JSON, or not a tree in a known version of the format.

    See Also
    --------
    export_tree : Writes it.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> from ensemble_simplify import export_tree, import_tree
    >>> X, y = load_iris(return_X_y=True)
    >>> tree = DecisionTreeClassifier(random_state=0).fit(X, y)
    >>> again = import_tree(export_tree(tree, "json"))
    >>> bool((again.predict_proba(X) == tree.predict_proba(X)).all())
    True
    """
    return read_json(text, "tree")


def import_model(text: str) -> ImportedEnsemble:
    """Read an ensemble that `export_model` wrote as JSON.

    Parameters
    ----------
    text : str
        What ``export_model(model, "json")`` returned. Its keys are listed in :ref:`json_format`.

    Returns
    -------
    model : ImportedEnsemble
        Fitted, with ``predict``, and ``predict_proba`` where probabilities are known. It gives the
        ensemble's answers to rows of doubles, and is taken wherever a fitted ensemble is.

    Raises
    ------
    ValueError
        If the text is not JSON, or not an ensemble in a known version of the format.

    See Also
    --------
    export_model : Writes it.
    verify : Proves that it answers as the ensemble does.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.ensemble import RandomForestClassifier
    >>> from ensemble_simplify import export_model, import_model, verify
    >>> X, y = load_iris(return_X_y=True)
    >>> forest = RandomForestClassifier(10, random_state=0).fit(X, y)
    >>> again = import_model(export_model(forest, "json"))
    >>> bool(verify(forest, again))
    True
    """
    return read_json(text, "model")
