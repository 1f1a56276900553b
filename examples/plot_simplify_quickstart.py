"""
What can this model become?
===========================

One call tries every method on a fitted model, compares the results with plain decision trees, and
recommends one.
"""

# sphinx_gallery_thumbnail_path = '_static/forest_to_tree.svg'

# %%
# One call
# --------
#
# A default random forest, and rows that it has not seen. Two methods are tried beside two plain
# trees. "Agreement" is the share of the held-out rows on which a tree answers as the forest
# does.

from sklearn.datasets import load_breast_cancer
from sklearn.ensemble import RandomForestClassifier
from sklearn.model_selection import train_test_split

from ensemble_simplify import simplify

X, y = load_breast_cancer(return_X_y=True, as_frame=True)
X, X_new, y, y_new = train_test_split(X, y, test_size=0.5, random_state=0)
model = RandomForestClassifier(random_state=0).fit(X, y)

outcome = simplify(model, X_new, y_new, methods=["representer", "genesim"], random_state=0)
print(outcome.to_frame()[["leaves", "accuracy", "agreement"]].dropna().round(3))
print(outcome.reason)

# %%
# All methods
# -----------
#
# Without ``methods``, all of them are tried. A ``time_limit`` would be shared among them; without
# one, each ends by itself. The report ends with the recommended tree.

outcome = simplify(model, X_new, y_new, random_state=0)
print(outcome.report())

# %%
# Size against quality
# --------------------
#
# Left: the agreement with the forest on the held-out rows. Right: the accuracy. Small is to the
# left, good is up. No smaller result is better than those on the grey line.

display = outcome.plot()

# %%
# Every result is a fitted object
# -------------------------------

tree = outcome.best_model
print(type(tree).__name__, tree.get_n_leaves(), "leaves")
print(tree.predict(X_new.head()))

# %%
# ``outcome.report("report.html")`` writes one page with the tree drawn, and ``python -m
# ensemble_simplify model.joblib data.csv --target y`` does all this for files. In a notebook, the
# result shows itself as a table:

outcome  # noqa: B018
