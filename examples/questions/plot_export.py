"""
One tree in five languages
==========================

The model stays in Python, and its tree goes to work: as rules in a report, as SQL in a database, as
C on a device, as a Python function without packages, and as JSON that can be read back. All of them
give the tree's own answers, also where a value is missing.
"""

# %%
# A tree
# ------
# Findings on 303 patients: numbers, text, and a few gaps ("Heart Disease" of the UCI Machine
# Learning Repository, CC BY 4.0). The model is histogram gradient boosting, its tree has four
# leaves.

import sqlite3

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.frozen import FrozenEstimator

from ensemble_simplify import RepresenterTree, export_model, export_tree, import_model
from ensemble_simplify.datasets import load_heart

X, y = load_heart(return_X_y=True)
X = X.astype({name: "category" for name in X.select_dtypes(exclude="number")})
model = HistGradientBoostingClassifier(random_state=0).fit(X, y)
tree = RepresenterTree(FrozenEstimator(model), max_leaf_nodes=4, random_state=0).fit(X, y)
answers = tree.predict(X)

# %%
# Rules
# -----

print(export_tree(tree))

# %%
# SQL
# ---
# SQLite runs the query and gives the same answer for all patients, those with gaps included.

query = export_tree(tree, "sql", table="patients")
print(query)
with sqlite3.connect(":memory:") as database:
    text = {name: object for name in X.select_dtypes("category")}
    X.astype(text).to_sql("patients", database, index=False)
    found = pd.read_sql(query, database)["prediction"]
print("the same answers:", np.array_equal(found, answers))

# %%
# Python
# ------
# A function of the standard library alone.

code = export_tree(tree, "python")
print(code)
function = {}
exec(code, function)
found = [function["predict"](row) for _, row in X.astype(text).iterrows()]
print("the same answers:", np.array_equal(found, answers))

# %%
# C
# -
# A function that allocates nothing. Before it (not shown), two small functions turn words into the
# numbers that it compares.

code = export_tree(tree, "c")
print(code[code.index("/* A decision tree") :])

# %%
# JSON
# ----
# For other programs, and to be read back.

data = export_model(tree, "json", X=X)
print("the same answers:", np.array_equal(import_model(data).predict(X), answers))

# %%
# A picture
# ---------

figure, ax = plt.subplots(figsize=(6.4, 4.4), layout="constrained")
tree.plot(ax=ax, fontsize=10)
plt.show()

# %%
# ``python -m ensemble_simplify export`` does the same for files, and
# :func:`~ensemble_simplify.export_model` writes whole forests and boosted models: see
# :ref:`export`.
