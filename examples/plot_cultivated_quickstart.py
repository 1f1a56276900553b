"""
One tree that pools all reasonable splits
=========================================

A decision tree must choose one feature and one threshold in each node, however close the second
best was. :class:`~ensemble_simplify.CultivatedForestClassifier` does not choose: a node holds all
features that split about equally well and all thresholds near the best, and a row on which they
disagree goes both ways in part. What comes out is still one tree that can be read.
"""

import matplotlib.pyplot as plt
from sklearn.datasets import load_breast_cancer
from sklearn.ensemble import RandomForestClassifier
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import train_test_split
from sklearn.tree import DecisionTreeClassifier

from ensemble_simplify import CultivatedForestClassifier, ModuleTreeDisplay

data = load_breast_cancer(as_frame=True)
X, y = data.data, data.target_names[data.target]
X_train, X_test, y_train, y_test = train_test_split(X, y, random_state=0)

# %%
# Three levels and at most three features in a node make a tree to read. The default is deeper and
# pools all features that qualify. Beside them an ordinary tree and a random forest.

small = CultivatedForestClassifier(max_depth=3, max_options=3).fit(X_train, y_train)
models = {
    "3 levels, 3 options": small,
    "default": CultivatedForestClassifier().fit(X_train, y_train),
    "ordinary tree": DecisionTreeClassifier(random_state=0).fit(X_train, y_train),
    "500 trees": RandomForestClassifier(500, random_state=0).fit(X_train, y_train),
}
for name, model in models.items():
    auc = roc_auc_score(y_test == "malignant", model.predict_proba(X_test)[:, 1])
    print(f"{name:20s} accuracy {model.score(X_test, y_test):.3f}  AUC {auc:.3f}")

# %%
# Each node is a vote of soft decisions "feature <= about t". Lines are as thick as the share of
# the node that takes them.

ModuleTreeDisplay.from_estimator(small)
plt.show()

# %%
# The same as text; the range behind each threshold is that of its neighbourhood.

print(small.export_text(max_depth=1, ranges=True))

# %%
# A prediction is an average over leaves, with the fractions of the row as weights. For one
# doubtful patient, the leaves that count most and what leads to them:

patient = X_test.iloc[[small.predict_spread(X_test).argmax()]]
print(small.predict(patient), small.predict_proba(patient), small.predict_spread(patient))
for share in small.explain(patient, n_leaves=3)[0]:
    print(f"\n{share.fraction:.2f} of the row in a leaf with {share.proba.round(2)} because")
    print(share.rule.replace(" and [", "\nand ["))

# %%
# What the features contribute, summed over the tree.

order = models["default"].feature_importances_.argsort()[-8:]
fig, ax = plt.subplots(figsize=(6, 3), layout="constrained")
ax.barh(X.columns[order], models["default"].feature_importances_[order])
ax.set_xlabel("importance")
plt.show()
