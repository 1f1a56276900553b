"""
From LightGBM to SQL, with the proof beside it
==============================================

A LightGBM model shall decide about loans where the loans are: in a database, without Python. This
page writes it as one SQL query, runs that query, compares every answer, and saves a proof that what
was written is the model. Then it makes the query smaller.

You need ``pip install lightgbm matplotlib`` to run it. The database is SQLite, which comes with
Python; the same queries run in DuckDB and PostgreSQL.
"""

# %%
# The model
# ---------
# The 2,000 loans are made up. The table has numbers, text, and gaps.

import sqlite3
import subprocess
import sys
from pathlib import Path
from tempfile import mkdtemp

import lightgbm
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from sklearn.frozen import FrozenEstimator

from ensemble_simplify import Domain, FaithfulPruner, export_model, import_model, verify
from ensemble_simplify.evidence import checker

rng = np.random.default_rng(0)
n = 2000
X = pd.DataFrame(
    {
        "amount": rng.lognormal(8, 0.8, n).round(-1),
        "months": rng.choice([6, 12, 18, 24, 36, 48], n).astype(float),
        "purpose": rng.choice(["car", "furniture", "repairs", "study", "travel"], n),
        "years_employed": rng.exponential(5, n).round(1),
    }
)
purpose = {"car": 0, "furniture": 0.5, "repairs": 1, "study": 1.5, "travel": 2}
risk = X["amount"] / 4000 + X["months"] / 20 + X["purpose"].map(purpose)
risk -= 0.2 * X["years_employed"].clip(upper=10)
y = np.where(risk + rng.normal(0, 0.5, n) > risk.median(), "lost", "paid")
X["years_employed"] = X["years_employed"].where(rng.random(n) > 0.1)
X["purpose"] = X["purpose"].astype("category")

model = lightgbm.LGBMClassifier(n_estimators=60, num_leaves=8, n_jobs=1, verbose=-1, random_state=0)
model.fit(X, y)

# %%
# The query
# ---------
# :func:`~ensemble_simplify.export_model` writes one ``SELECT`` over a table. It names your columns
# and levels, and holds the trees as nested ``CASE``.

query = export_model(model, "sql", table="loans", keys=["id"], X=X)
print(query[:460], "...")

# %%
# SQLite runs it. The comparison is on hard rows, too: amounts and years at the thresholds of the
# model and one floating-point number beside them, gaps everywhere, and a purpose that was never
# seen.

hard = X.sample(5000, replace=True, random_state=0).reset_index(drop=True)
hard["purpose"] = hard["purpose"].cat.add_categories("boat")
for name in ("amount", "months", "years_employed"):
    cuts = [
        own
        for tree in model.booster_.trees_to_dataframe().query("decision_type == '<='").itertuples()
        if tree.split_feature == name
        for own in np.nextafter(float(tree.threshold), [-np.inf, np.inf])
    ]
    at = rng.random(len(hard)) < 0.5
    hard.loc[at, name] = rng.choice([*cuts, np.nan], at.sum())
hard.loc[rng.random(len(hard)) < 0.1, "purpose"] = "boat"
hard.loc[rng.random(len(hard)) < 0.1, "purpose"] = None


def by_sqlite(query, rows):
    """What the query answers to rows, in their order."""
    with sqlite3.connect(":memory:") as database:
        rows.astype({"purpose": object}).to_sql("loans", database, index_label="id")
        return [label for _, label in sorted(database.execute(query))]


for name, rows in (("loans", X), ("hard rows", hard)):
    differ = np.sum(by_sqlite(query, rows) != model.predict(rows))
    print(f"{len(rows):,} {name}: {differ} answers differ")

# %%
# The proof
# ---------
# Rows are not all inputs. The same trees, in JSON, are read back as a model, and
# :func:`~ensemble_simplify.verify` proves that this model answers as LightGBM does at every input,
# with gaps anywhere.

again = import_model(export_model(model, "json", X=X))
outcome = verify(model, again, domain=Domain(missing="all"))
print(outcome)

# %%
# The proof can be saved: a file with both models, the claim, and what is needed to check it. A
# program of one file, which shares no code with this package and needs NumPy alone, does so.

folder = Path(mkdtemp())
outcome.save(folder / "evidence.json")
check = [sys.executable, checker.__file__, folder / "evidence.json"]
print(subprocess.run(check, capture_output=True, text=True, check=True).stdout)

# %%
# What is proven is that the export has read the trees and the vote of the model rightly. That a
# database does what its query says is what the comparison above is for.
#
# A smaller query
# ---------------
# :class:`~ensemble_simplify.FaithfulPruner` keeps as few trees as still give each of these loans
# the model's answer. New loans mostly get it, too, but that is not promised: ``max_changes=1``
# promises more, and keeps nearly all trees here.

pruner = FaithfulPruner(FrozenEstimator(model), max_changes=0, random_state=0).fit(X, y)
smaller = export_model(pruner, "sql", table="loans", keys=["id"], X=X)
print(f"{pruner.n_trees_} of {model.n_estimators_} trees")
print(f"{len(smaller):,} characters, not {len(query):,}")
for name, rows in (("loans", X), ("hard rows", hard)):
    differ = np.sum(by_sqlite(smaller, rows) != model.predict(rows))
    print(f"{len(rows):,} {name}: {differ} answers differ")
outcome = verify(model, pruner, X=X, max_changes=0)
print(outcome)
outcome.save(folder / "evidence_of_pruning.json")
(folder / "loans.sql").write_text(smaller, encoding="utf-8")
for path in sorted(folder.iterdir()):
    print(f"{path.name}: {path.stat().st_size:,} bytes")

# %%
# What the database decides
# -------------------------
# The query answers any table. Here it is one of made-up applicants who want a car or to travel, for
# 24 months: what the database would say of each.

amounts, years = np.linspace(200, 12000, 60), np.linspace(0, 15, 60)
fig, axes = plt.subplots(1, 2, figsize=(9, 3.6), sharey=True, layout="constrained")
for ax, purpose in zip(axes, ("car", "travel"), strict=True):
    grid = pd.DataFrame(
        [(a, 24.0, purpose, own) for own in years for a in amounts], columns=list(X)
    )
    paid = np.reshape(np.array(by_sqlite(smaller, grid)) == "paid", (60, 60))
    ax.pcolormesh(amounts, years, paid, cmap="RdBu", vmin=-0.3, vmax=1.3)
    ax.set(title=f"purpose: {purpose}", xlabel="amount")
axes[0].set_ylabel("years employed")
fig.suptitle("Answers of the query: paid (blue) or lost (red), 24 months")
plt.show()
