"""
Text columns: a tree in the words of your table
===============================================

A forest behind encoders asks about 45 columns that nobody has ever seen, such as
``account_overdrawn <= 0.5``. Give :class:`~ensemble_simplify.RepresenterTree` the whole pipeline
and the table as it is. Its tree asks about your own columns, and it knows what to do with a word
that it has never met.
"""

# %%
# A pipeline
# ----------
# 1,000 loans of a German bank ("South German Credit" of the UCI Machine Learning Repository, CC BY
# 4.0). Savings and years of employment have a natural order, which the ordinal encoder is told. All
# other text is one-hot encoded.

import matplotlib.pyplot as plt
import pandas as pd
from sklearn.compose import make_column_transformer
from sklearn.ensemble import RandomForestClassifier
from sklearn.frozen import FrozenEstimator
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, OrdinalEncoder
from sklearn.tree import export_text

from ensemble_simplify import RepresenterTree
from ensemble_simplify.datasets import load_credit

X, y = load_credit(return_X_y=True)
X, X_new, y, y_new = train_test_split(X, y, test_size=0.5, random_state=0, stratify=y)

ORDERED = {
    "savings": [
        "unknown or none",
        "below 100 DM",
        "100 to 500 DM",
        "500 to 1000 DM",
        "1000 DM or more",
    ],
    "employed": ["unemployed", "below 1 year", "1 to 4 years", "4 to 7 years", "7 years or more"],
}
ordinal = OrdinalEncoder(
    categories=list(ORDERED.values()), handle_unknown="use_encoded_value", unknown_value=-1
)
text = [name for name in X.select_dtypes(exclude="number") if name not in ORDERED]
encode = make_column_transformer(
    (ordinal, list(ORDERED)),
    (OneHotEncoder(handle_unknown="ignore"), text),
    remainder="passthrough",
    verbose_feature_names_out=False,
)
forest = RandomForestClassifier(min_samples_leaf=3, random_state=0)
model = make_pipeline(encode, forest).fit(X, y)
print(f"right on {model.score(X_new, y_new):.0%} of the new loans")

# %%
# What the forest asks
# --------------------
# The top of its first tree, in the columns that the encoders made:

names = list(encode.get_feature_names_out())
print(export_text(forest.estimators_[0], feature_names=names, max_depth=1))

# %%
# What the tree asks
# ------------------
# Text columns split into two sets of words. Sets of savings keep together what stands together in
# their order.

tree = RepresenterTree(FrozenEstimator(model), max_leaf_nodes=6, random_state=0).fit(X, y)
print(tree.export_text())
print(f"same answer as the forest for {tree.fidelity(X_new):.0%} of the new loans")

# %%
# Words that nobody knew
# ----------------------
# The tree says above what becomes of them: "unknown" is a new word, and "missing" is a gap. This
# client asks for a loan with four kinds of accounts. The tree answers each time.

client = X_new.query("months == 36 and savings == 'below 100 DM'").head(1)
words = ["overdrawn", "200 DM or more", "in another bank", None]
strangers = pd.concat([client] * len(words)).assign(account=words)
strangers["answer"] = tree.predict(strangers)
print(strangers[["account", "months", "savings", "answer"]].to_string(index=False))

# %%
# In a picture
# ------------
# Six leaves are much less than a forest: they agree with it often, but not always.

figure, ax = plt.subplots(figsize=(7.5, 7.4), layout="constrained")
tree.plot(ax=ax, fontsize=9)
plt.show()

# %%
# The same works for gaps, scalers and imputers: :ref:`tables` lists the steps that a pipeline may
# have. ``export_tree(tree, "sql")`` writes the tree for a database, in the same words.
