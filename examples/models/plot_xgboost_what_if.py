"""
XGBoost: which clients would get the loan if they asked for less?
=================================================================

An XGBoost model refuses some clients. For each of them, :func:`~ensemble_simplify.nearest_flip`
finds the smallest cut of the amount, the months, or both, that turns "bad" into "good". Where it
finds none, there is none: that is proven.

To run this page, install XGBoost (``pip install xgboost``).
"""

# %%
# The model
# ---------
# 1,000 loans of a German bank from 1973 to 1975 ("South German Credit" of the UCI Machine Learning
# Repository, CC BY 4.0). Eleven of the fourteen columns are text, which XGBoost takes as
# categories. The model is fitted on half of the loans.

import matplotlib.pyplot as plt
import pandas as pd
from sklearn.model_selection import train_test_split
from xgboost import XGBClassifier

from ensemble_simplify import Domain, nearest_flip
from ensemble_simplify.datasets import load_credit

X, risk = load_credit(return_X_y=True)
y = (risk == "good").astype(int)
X = X.astype({name: "category" for name in X.select_dtypes(exclude="number")})
X, X_new, y, y_new = train_test_split(X, y, test_size=0.5, random_state=0, stratify=y)

model = XGBClassifier(
    n_estimators=40, max_depth=3, enable_categorical=True, n_jobs=1, random_state=0
).fit(X, y)
refused = X_new[model.predict(X_new) == 0]
print(f"right on {model.score(X_new, y_new):.0%} of the new loans")
print(f"refused: {len(refused)} of {len(X_new)} clients")

# %%
# Ask for less
# ------------
# Amount and months may only fall, and everything else stays as it is. The domain says which values
# can occur at all.

domain = Domain(
    bounds={"amount": (250, 20_000), "months": (4, 72), "age": (18, 80)},
    integers=["amount", "months", "age"],
)
flips = nearest_flip(
    model,
    refused,
    features=["amount", "months"],
    direction={"amount": "down", "months": "down"},
    max_changes=2,
    domain=domain,
)
kinds = pd.Series([" and ".join(flip.changes) if flip else "neither" for flip in flips])
print(kinds.value_counts().rename_axis("what has to be less").to_string())
print("proven for all clients:", all(flip.proven for flip in flips))

# %%
# The first five clients, and the loans that the model would grant them:

granted = refused[["months", "amount"]].copy()
for name in granted:
    old = granted[name]
    granted[name] = [
        flip.changes.get(name, (0, value))[1] if flip else None
        for flip, value in zip(flips, old, strict=True)
    ]
granted = granted.astype("Int64")
pd.concat([refused[["months", "amount"]], granted.add_suffix(", granted")], axis=1).head()

# %%
# The model itself says so:

can = granted.dropna().astype(int)
print((model.predict(refused.loc[can.index].assign(**can)) == 1).all())

# %%
# In a picture
# ------------
# Each arrow leads from what a client asked for to the nearest loan that the model grants.

figure, ax = plt.subplots(figsize=(7.5, 4.6), layout="constrained")
for client, row in can.iterrows():
    start = refused.loc[client, ["months", "amount"]]
    ax.annotate("", row, start, arrowprops={"arrowstyle": "->", "color": "0.55", "lw": 0.8})
ax.plot("months", "amount", "o", data=refused, color="#d95f02", ms=4, label="refused")
ax.plot("months", "amount", "o", data=can, color="#1b9e77", ms=4, label="granted")
ax.set(xlabel="months", ylabel="amount (DM)", title="What the refused clients can ask for")
ax.legend()
plt.show()

# %%
# The answers are about the model, not about the clients: a shorter loan is granted, whether or not
# it would be paid back. :ref:`audit` has more questions of this kind.
