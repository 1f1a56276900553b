"""
Explain a neural network
========================

A representer only asks questions, so the predictor can be anything: here a pipeline with a neural
network that predicts the progression of diabetes.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_diabetes
from sklearn.frozen import FrozenEstimator
from sklearn.model_selection import train_test_split
from sklearn.neural_network import MLPRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeRegressor, plot_tree

from ensemble_simplify import RepresenterTree

X, y = load_diabetes(return_X_y=True, as_frame=True, scaled=False)


def fit_network(X, y):
    network = MLPRegressor(
        hidden_layer_sizes=(20,),
        activation="tanh",
        alpha=400,
        solver="lbfgs",
        max_iter=3000,
        random_state=0,
    )
    return make_pipeline(StandardScaler(), network).fit(X, y)


X_train, X_test, y_train, y_test = train_test_split(X, y, random_state=0)
network = fit_network(X_train, y_train)
print(f"R2 of the network on test rows: {network.score(X_test, y_test):.2f}")

# %%
# The six blood measurements hang together: total cholesterol (s1) is nearly the sum of its parts,
# of which s2 is the largest. Manufactured rows should be people who could exist. The default law
# moves all measurements of a person together, as they vary in the data; smearing, each on its
# own, makes people about whom the network was never taught anything. Named as one group, each
# person's blood measurements stay as they are.

blood = ["s1", "s2", "s3", "s4", "s5", "s6"]
print(f"correlation of s1 and s2, training rows: {X_train['s1'].corr(X_train['s2']):.2f}")
laws = {
    "smeared": {"sampler": "smear", "smearing": 0.5},
    "blood as a group": {"feature_groups": [blood]},
    "default": {},
}
for name, options in laws.items():
    tree = RepresenterTree(
        FrozenEstimator(network), max_leaf_nodes=12, random_state=0, **options
    ).fit(X_train, y_train)
    rows = tree.sample(2000, random_state=0)
    print(f"manufactured rows, {name}: {rows['s1'].corr(rows['s2']):.2f}")

# %%
# The tree of the network, first levels. The thresholds are in the original units.

figure, axes = plt.subplots(figsize=(11, 5), layout="constrained")
plot_tree(
    tree.decision_tree_,
    feature_names=X.columns,
    filled=True,
    impurity=False,
    max_depth=3,
    precision=1,
    fontsize=8,
    ax=axes,
)
plt.show()

# %%
# How much does a larger tree add? Fidelity is the part of the variance of the network's values
# that the tree explains, on rows that neither has seen; here the mean of three random splits of
# the data. Among training rows a tree soon runs out of data; the representer does not.

leaves = [2, 4, 8, 16, 32]
fidelities = {"tree on training rows": [], "smeared": [], "default": []}
for seed in range(3):
    A, B, a, _ = train_test_split(X, y, random_state=seed)
    network = fit_network(A, a)
    values = network.predict(B)
    rows = []
    for n in leaves:
        usual = DecisionTreeRegressor(max_leaf_nodes=n, random_state=0).fit(A, network.predict(A))
        rows.append([1 - np.mean((usual.predict(B) - values) ** 2) / values.var()])
        for name in ("smeared", "default"):
            tree = RepresenterTree(
                FrozenEstimator(network),
                max_leaf_nodes=n,
                validation_fraction=0,
                random_state=0,
                **laws[name],
            ).fit(A, a)
            rows[-1].append(tree.fidelity(B))
    for name, column in zip(fidelities, np.transpose(rows), strict=True):
        fidelities[name].append(column)

figure, axes = plt.subplots(figsize=(6, 4), layout="constrained")
for (name, values), marker in zip(fidelities.items(), "so^", strict=True):
    axes.plot(leaves, np.mean(values, axis=0), marker=marker, label=name)
axes.set(xlabel="leaves", ylabel="fidelity on test rows", xscale="log", ylim=(0.4, 1))
axes.set_xticks(leaves, leaves)
axes.minorticks_off()
axes.legend(frameon=False, loc="lower right")
plt.show()
