"""
From model to SQL
=================

One call makes a small tree of a fitted model, says how far it follows the model, and writes it.
"""

# %%
# A model
# -------
#
# Findings on 303 patients: numbers, text, and a few gaps ("Heart Disease" of the UCI Machine
# Learning Repository, CC BY 4.0). The model is a random forest behind an encoder, fitted on half
# of them.

# sphinx_gallery_thumbnail_path = '_static/forest_to_tree.svg'
import sqlite3

import pandas as pd
from sklearn.base import clone
from sklearn.compose import make_column_selector, make_column_transformer
from sklearn.ensemble import RandomForestClassifier
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder

from ensemble_simplify import differences, simplify
from ensemble_simplify.datasets import load_heart

X, y = load_heart(return_X_y=True)
X, X_new, y, y_new = train_test_split(X, y, test_size=0.5, random_state=0)
words = OneHotEncoder(handle_unknown="ignore"), make_column_selector(dtype_exclude="number")
encode = make_column_transformer(words, remainder="passthrough")
model = make_pipeline(encode, RandomForestClassifier(random_state=0)).fit(X, y)

# %%
# One call
# --------
#
# Trees are compared on patients that the model has not seen, each by a tree that has not seen them
# either. The rows of ``X_more`` are only learned from. The report begins with a verdict.

outcome = simplify(model, X_new, y_new, X_more=X, max_leaf_nodes=5, random_state=0)
print(outcome.report())

# %%
# In a notebook, the result shows itself:

outcome

# %%
# The tree works
# --------------
#
# It predicts on the table as the model does, also where something is missing or new.

strangers = X_new.head(3).assign(thallium=[None, "new level", "normal"])
print(outcome.predict(strangers))
print(outcome.predict_proba(strangers).round(2))

# %%
# The tree in SQL
# ---------------
#
# SQLite gives the same answer for each of the 303 patients.

patients = pd.concat([X, X_new])
database = sqlite3.connect(":memory:")
patients.to_sql("patients", database, index=False)
query = outcome.export("sql", table="patients")
print(query)
print((pd.read_sql(query, database)["prediction"] == outcome.predict(patients)).all())

# %%
# How many leaves?
# ----------------
#
# Without ``max_leaf_nodes``, trees of several sizes are compared, and the one is recommended beyond
# which more leaves gain little. Left: agreement with the model, with intervals of 95 %. Right:
# accuracy.

outcome = simplify(model, X_new, y_new, X_more=X, random_state=0)
print(outcome.verdict.text)
display = outcome.plot()

# %%
# Where does the tree leave the model?
# ------------------------------------
#
# ``differences`` looks for short rules that hold many of the rows on which two models differ; where
# there are none, it says so. (The tree has learned from these rows by now. On others, it leaves the
# model more often.)

print(outcome.differences(X_new, random_state=0))

# %%
# Any two models can be compared. This one has learned nothing of patients who feel no pain:

with_pain = X["chest_pain"] != "asymptomatic"
other = clone(model).fit(X[with_pain], y[with_pain])
print(differences(model, other, X_new, random_state=0))

# %%
# ``outcome.report("report.html")`` writes one page with the tree drawn,
# ``outcome.save("tree.json")`` keeps the tree. For files, ``python -m ensemble_simplify report
# model.joblib data.csv --target disease`` does the same.
