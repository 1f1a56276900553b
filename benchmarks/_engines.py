"""Databases in which written queries are run: each takes a frame and a query, and answers a frame.

A column is DOUBLE, REAL, BOOLEAN or TEXT, as its dtype says, and `id` numbers the rows. Servers are
started on a socket in a folder of their own, and stopped.
"""

from __future__ import annotations

import os
import shutil
import sqlite3
import subprocess
import tempfile
import time
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pandas as pd


class NotHere(Exception):
    """A database that cannot be run, and why."""


def _module(name):
    try:
        return __import__(name)
    except ImportError as error:
        raise NotHere(f"{name} is not installed") from error


def _program(name, *places):
    found = shutil.which(name, path=os.pathsep.join([os.environ["PATH"], *places]))
    if found is None:
        raise NotHere(f"{name} is not installed")
    return found


def _entries(frame):
    """Rows of Python's objects, None where there is a gap."""
    columns = [
        [None if pd.isna(v) else v for v in frame[name].astype(object).tolist()] for name in frame
    ]
    return list(zip(*columns, strict=True))


_KINDS = {"bool": "BOOLEAN", "int64": "BIGINT", "float32": "REAL", "float64": "DOUBLE"}


def _kind(dtype):
    return _KINDS.get(str(dtype), "TEXT")


def _numbered(frame):
    return frame.assign(id=np.arange(len(frame)))


def _table(frame, name, quoted, kinds):
    listed = ", ".join(
        f"{quoted(own)} {kinds.get(_kind(dtype), _kind(dtype))}"
        for own, dtype in frame.dtypes.items()
    )
    return f"CREATE TABLE {quoted(name)} ({listed})"


def _double(name):
    return '"' + name.replace('"', '""') + '"'


def _back(name):
    return "`" + name.replace("`", "``") + "`"


@contextmanager
def sqlite(version=sqlite3.sqlite_version):
    def run(query, frame, name="rows"):
        frame = _numbered(frame)
        with sqlite3.connect(":memory:") as connection:
            connection.execute(_table(frame, name, _back, {}))
            marks = ", ".join("?" * frame.shape[1])
            connection.executemany(f"INSERT INTO {_back(name)} VALUES ({marks})", _entries(frame))
            return pd.read_sql(query, connection)

    yield run, f"SQLite {version}"


@contextmanager
def duckdb():
    module = _module("duckdb")

    def run(query, frame, name="rows"):
        frame = _numbered(frame)
        with module.connect() as connection:
            connection.execute("SET threads = 1")
            connection.execute(_table(frame, name, _double, {}))
            connection.register("given", frame)
            connection.execute(f"INSERT INTO {_double(name)} SELECT * FROM given")
            for column in frame.select_dtypes("floating"):
                own = _double(column)
                connection.execute(f"UPDATE {_double(name)} SET {own} = NULL WHERE isnan({own})")
            found = connection.execute(query)
            return pd.DataFrame(found.fetchall(), columns=[own[0] for own in found.description])

    yield run, f"DuckDB {module.__version__}"


@contextmanager
def polars():
    module = _module("polars")

    def run(query, frame, name="rows"):
        columns = {
            own: module.Series(
                [None if pd.isna(v) else v for v in values.astype(object)],
                dtype={"REAL": module.Float32, "DOUBLE": module.Float64}.get(_kind(values.dtype)),
            )
            for own, values in _numbered(frame).items()
        }
        found = module.SQLContext({name: module.DataFrame(columns)}).execute(query, eager=True)
        return pd.DataFrame(found.rows(), columns=found.columns)

    yield run, f"Polars {module.__version__}"


def _arrow(frame):
    import pyarrow

    kinds = {"REAL": pyarrow.float32(), "DOUBLE": pyarrow.float64(), "TEXT": pyarrow.string()}
    return pyarrow.table(
        {
            own: pyarrow.array(
                [None if pd.isna(v) else v for v in values.astype(object)],
                type=kinds.get(_kind(values.dtype)),
            )
            for own, values in frame.items()
        }
    )


@contextmanager
def datafusion():
    _module("pyarrow")
    module = _module("datafusion")

    def run(query, frame, name="rows"):
        context = module.SessionContext()
        context.from_arrow(_arrow(_numbered(frame)), name=name)
        found = context.sql(query).to_arrow_table()
        return pd.DataFrame({own: found[own].to_pylist() for own in found.column_names})

    yield run, f"DataFusion {module.__version__}"


def _until(connect, error):
    """A connection to a server that is starting."""
    for _ in range(150):
        try:
            return connect()
        except error:
            time.sleep(0.2)
    raise NotHere("the server does not answer")


def _as(user):
    """Servers refuse to run as root; the user of their package does."""
    return {"user": user} if os.geteuid() == 0 else {}


@contextmanager
def _folder(user):
    with tempfile.TemporaryDirectory() as folder:
        if os.geteuid() == 0:
            try:
                shutil.chown(folder, user)
            except LookupError as error:
                raise NotHere(f"there is no user {user}") from error
        yield Path(folder)


@contextmanager
def postgresql_server():
    """A connection to a server of PostgreSQL."""
    module = _module("psycopg2")
    places = [str(own) for own in sorted(Path("/usr/lib/postgresql").glob("*/bin"))[::-1]]
    initdb, server = _program("initdb", *places), _program("postgres", *places)
    with _folder("postgres") as folder:
        options = dict(
            _as("postgres"), cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
        subprocess.run(
            [initdb, "-D", folder / "data", "-U", "postgres", "-E", "UTF8", "--no-sync"],
            check=True,
            **options,
        )
        command = [server, "-D", folder / "data", "-k", folder, "-c", "listen_addresses=", "-F"]
        process = subprocess.Popen(command, **options)
        try:
            connection = _until(
                lambda: module.connect(host=str(folder), user="postgres", dbname="postgres"),
                module.OperationalError,
            )
            connection.autocommit = True
            # else every CASE is compiled first, which takes a minute
            connection.cursor().execute("SET jit = off")
            yield connection
            connection.close()
        finally:
            process.terminate()
            process.wait()


def into_postgresql(connection, frame, name):
    """Write a frame as a table."""
    from psycopg2.extras import execute_values

    cursor = connection.cursor()
    cursor.execute(f"DROP TABLE IF EXISTS {_double(name)}")
    cursor.execute(_table(frame, name, _double, {"DOUBLE": "DOUBLE PRECISION"}))
    command = f"INSERT INTO {_double(name)} VALUES %s"
    execute_values(cursor, command, _entries(frame), page_size=5000)


@contextmanager
def postgresql():
    with postgresql_server() as connection:
        cursor = connection.cursor()

        def run(query, frame, name="rows"):
            into_postgresql(connection, _numbered(frame), name)
            cursor.execute(query)
            return pd.DataFrame(cursor.fetchall(), columns=[own[0] for own in cursor.description])

        number = connection.server_version
        yield run, f"PostgreSQL {number // 10000}.{number % 10000}"


@contextmanager
def mysql():
    module = _module("pymysql")
    server, create = _program("mariadbd", "/usr/sbin"), _program("mariadb-install-db")
    with _folder("mysql") as folder:
        data, socket = folder / "data", folder / "s"
        options = dict(
            _as("mysql"), cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
        subprocess.run(
            [
                create,
                f"--datadir={data}",
                "--auth-root-authentication-method=normal",
                "--no-defaults",
            ],
            check=True,
            **options,
        )
        command = [server, "--no-defaults", f"--datadir={data}", f"--socket={socket}"]
        process = subprocess.Popen([*command, "--skip-networking"], **options)
        try:
            connection = _until(
                lambda: module.connect(unix_socket=str(socket), user="root", autocommit=True),
                module.err.OperationalError,
            )
            cursor = connection.cursor()
            cursor.execute("CREATE DATABASE own CHARACTER SET utf8mb4")
            cursor.execute("USE own")

            def run(query, frame, name="rows"):
                frame = _numbered(frame)
                cursor.execute(f"DROP TABLE IF EXISTS {_back(name)}")
                kinds = {"REAL": "FLOAT", "TEXT": "VARCHAR(200)"}
                cursor.execute(_table(frame, name, _back, kinds))
                marks = ", ".join(["%s"] * frame.shape[1])
                cursor.executemany(f"INSERT INTO {_back(name)} VALUES ({marks})", _entries(frame))
                cursor.execute(query)
                return pd.DataFrame(
                    cursor.fetchall(), columns=[own[0] for own in cursor.description]
                )

            cursor.execute("SELECT VERSION()")
            yield run, f"MariaDB {cursor.fetchone()[0].partition('-')[0]}"
            connection.close()
        finally:
            process.terminate()
            process.wait()


@contextmanager
def spark_session():
    """A session of Spark in one thread of this machine."""
    _module("pyspark")
    _program("java")
    from pyspark.sql import SparkSession

    session = (
        SparkSession.builder.master("local[1]")
        .config("spark.ui.enabled", "false")
        .config("spark.driver.host", "127.0.0.1")
        .config("spark.sql.shuffle.partitions", "1")
        .getOrCreate()
    )
    session.sparkContext.setLogLevel("ERROR")
    try:
        yield session
    finally:
        session.stop()


@contextmanager
def spark():
    with spark_session() as session:
        from pyspark.sql.types import (
            BooleanType,
            DoubleType,
            FloatType,
            LongType,
            StringType,
            StructField,
            StructType,
        )

        kinds = {"REAL": FloatType(), "DOUBLE": DoubleType(), "BOOLEAN": BooleanType()}
        kinds |= {"TEXT": StringType(), "BIGINT": LongType()}

        def run(query, frame, name="rows"):
            frame = _numbered(frame)
            fields = [StructField(own, kinds[_kind(dtype)]) for own, dtype in frame.dtypes.items()]
            rows = session.createDataFrame(_entries(frame), StructType(fields))
            rows.createOrReplaceTempView(_back(name))
            found = session.sql(query)
            return pd.DataFrame([tuple(own) for own in found.collect()], columns=found.columns)

        yield run, f"Spark {session.version}"


ENGINES = {
    own.__name__: own for own in (sqlite, duckdb, postgresql, mysql, spark, polars, datafusion)
}
