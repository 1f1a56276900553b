"""
What can this model become?
===========================

One call tries every method on a fitted model, compares the results with plain decision trees, and
recommends one.
"""

# %%
# A model, and rows that it has not seen
# --------------------------------------

from sklearn.datasets import load_breast_cancer
from sklearn.ensemble import RandomForestClassifier
from sklearn.model_selection import train_test_split

from ensemble_simplify import simplify

X, y = load_breast_cancer(return_X_y=True, as_frame=True)
X, X_new, y, y_new = train_test_split(X, y, test_size=0.5, stratify=y, random_state=0)
forest = RandomForestClassifier(random_state=0).fit(X, y)

# %%
# One call
# --------
#
# Each method gets a share of the time. The last lines of the report are the recommended tree.

outcome = simplify(forest, X_new, y_new, time_limit=15, random_state=0)
print(outcome.report())

# %%
# Size against quality
# --------------------
#
# Left, the agreement with the forest on the rows kept aside; right, the accuracy. The grey line is
# the Pareto front: no smaller result is better.

display = outcome.plot()

# %%
# Every result is a fitted object
# -------------------------------

tree = outcome.best_model
print(type(tree).__name__, tree.get_n_leaves(), "leaves")
print(tree.predict(X_new.head()))

# %%
# In a notebook, the result shows itself as a table. ``outcome.report("report.html")`` writes one
# page with the tree drawn, and ``python -m ensemble_simplify model.joblib data.csv --target y``
# does all this for files.

outcome  # noqa: B018
