"""
LightGBM in a database, with a proof
====================================

A LightGBM model shall decide about loans where the loans are: in a database, without Python. This
page writes the model as one SQL query, runs it, compares every answer, and saves a proof that what
was written is the model.

To run this page, install LightGBM (``pip install lightgbm``). The database is SQLite, which
comes with Python; the same queries run in DuckDB and PostgreSQL.
"""

# %%
# The model
# ---------
# 1,000 loans of a German bank ("South German Credit" of the UCI Machine Learning Repository, CC BY
# 4.0), here with three columns of numbers and four of text.

import sqlite3
import subprocess
import sys
from pathlib import Path
from tempfile import mkdtemp

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from lightgbm import LGBMClassifier
from sklearn.frozen import FrozenEstimator

from ensemble_simplify import Domain, FaithfulPruner, export_model, import_model, verify
from ensemble_simplify.datasets import load_credit
from ensemble_simplify.evidence import checker

table, y = load_credit(return_X_y=True)
X = table[["account", "months", "amount", "purpose", "savings", "history", "age"]]
X = X.astype({name: "category" for name in X.select_dtypes(exclude="number")})

model = LGBMClassifier(n_estimators=60, num_leaves=8, n_jobs=1, verbose=-1, random_state=0)
model = model.fit(X, y)

# %%
# The query
# ---------
# :func:`~ensemble_simplify.export_model` writes one ``SELECT`` over a table. It names your columns
# and levels, and holds the trees as nested ``CASE``.

query = export_model(model, "sql", table="loans", keys=["id"], X=X)
print(query[:460], "...")

# %%
# Does the database answer as the model does?
# -------------------------------------------
# The comparison is on the loans, and on hard rows: amounts and ages at the thresholds of the model
# and beside them, gaps everywhere, and a purpose that was never seen.

rng = np.random.default_rng(0)
hard = X.sample(3000, replace=True, random_state=0).reset_index(drop=True)
hard["purpose"] = hard["purpose"].cat.add_categories("boat")
splits = model.booster_.trees_to_dataframe()
for name in ("amount", "months", "age"):
    at = splits.query("split_feature == @name")["threshold"].astype(float)
    beside = np.concatenate([np.nextafter(at, -np.inf), at, np.nextafter(at, np.inf), [np.nan]])
    moved = rng.random(len(hard)) < 0.5
    hard[name] = hard[name].astype(float).mask(moved, rng.choice(beside, len(hard)))
hard.loc[rng.random(len(hard)) < 0.1, "purpose"] = "boat"
hard.loc[rng.random(len(hard)) < 0.1, "account"] = None


def by_sqlite(query, rows):
    """What the query answers to rows, in their order."""
    text = {name: object for name in rows.select_dtypes("category")}
    with sqlite3.connect(":memory:") as database:
        rows.astype(text).to_sql("loans", database, index_label="id")
        return [label for _, label in sorted(database.execute(query))]


for name, rows in (("loans", X), ("hard rows", hard)):
    differ = np.sum(by_sqlite(query, rows) != model.predict(rows))
    print(f"{len(rows):,} {name}: {differ} answers differ")

# %%
# The proof
# ---------
# Rows are not all inputs. The same trees, in JSON, are read back as a model, and
# :func:`~ensemble_simplify.verify` proves that this model answers as LightGBM does at every input,
# with gaps anywhere. The proof can be saved: a program of one file, which shares no code with this
# package, checks it.

again = import_model(export_model(model, "json", X=X))
outcome = verify(model, again, domain=Domain(missing="all"))
print(f"equal at every input: {outcome.equal}")

folder = Path(mkdtemp())
outcome.save(folder / "evidence.json")
check = [sys.executable, checker.__file__, folder / "evidence.json"]
print(subprocess.run(check, capture_output=True, text=True, check=True).stdout)

# %%
# A smaller query
# ---------------
# :class:`~ensemble_simplify.FaithfulPruner` keeps as few trees as still give each of these loans
# the model's answer, and 3,000 loans made up from these. New loans mostly get it, too, but that is
# not promised.

pruner = FaithfulPruner(FrozenEstimator(model), max_changes=0, random_state=0).fit(X, y)
smaller = export_model(pruner, "sql", table="loans", keys=["id"], X=X)
print(f"{pruner.n_trees_} of {model.n_estimators_} trees")
print(f"{len(smaller):,} characters, not {len(query):,}")
differ = np.sum(by_sqlite(smaller, X) != model.predict(X))
print(f"{len(X):,} loans: {differ} answers differ")

# %%
# What the database decides
# -------------------------
# The query answers any table. Here it is one of clients of 35 years with no account, who want a
# loan for a new or a used car.

amounts, months = np.linspace(300, 15_000, 50), np.arange(4, 61)
figure, axes = plt.subplots(1, 2, figsize=(6.8, 3.8), sharey=True, layout="constrained")
for ax, purpose in zip(axes, ("new car", "used car"), strict=True):
    client = {"account": "no account", "purpose": purpose, "savings": "below 100 DM"}
    client |= {"history": "repaid so far", "age": 35}
    grid = pd.DataFrame([{**client, "amount": a, "months": m} for m in months for a in amounts])
    good = np.reshape(np.array(by_sqlite(query, grid)) == "good", (len(months), len(amounts)))
    ax.pcolormesh(amounts, months, good, cmap="RdBu", vmin=-0.3, vmax=1.3)
    ax.set(title=purpose, xlabel="amount (DM)")
axes[0].set_ylabel("months")
figure.suptitle("Answers of the query: good (blue) or bad (red)")
plt.show()
