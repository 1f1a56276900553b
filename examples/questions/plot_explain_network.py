"""
Explain a neural network
========================

You have a model that is not made of trees, and want to see what it does.
:class:`~ensemble_simplify.RepresenterTree` only needs the model's ``predict``: it makes up rows,
asks the model about them, and grows a small tree from the answers. Here the model is a pipeline
with a neural network that predicts how diabetes progresses within a year.
"""

# %%
# The network
# -----------

# sphinx_gallery_thumbnail_number = 2
import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_diabetes
from sklearn.frozen import FrozenEstimator
from sklearn.model_selection import train_test_split
from sklearn.neural_network import MLPRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeRegressor

from ensemble_simplify import RepresenterTree

X, y = load_diabetes(return_X_y=True, as_frame=True, scaled=False)


def fit_network(X, y):
    """Fit the pipeline with the network."""
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
# Its tree
# --------
# ``FrozenEstimator`` tells the tree to use the network as it is. The thresholds are in the units of
# the table, though the network works on scaled columns. ``fidelity`` is the share of the variance
# of the network's predictions that the tree explains, here on the test rows.

tree = RepresenterTree(FrozenEstimator(network), max_leaf_nodes=8, random_state=0)
tree = tree.fit(X_train, y_train)
print(f"{tree.n_leaves_} leaves, fidelity on test rows {tree.fidelity(X_test):.2f}")
print(tree.export_text(decimals=1))

# %%
# The same tree as a picture. Darker boxes stand for a higher predicted progression.

figure, axes = plt.subplots(figsize=(8, 5), layout="constrained")
tree.plot(ax=axes, precision=1, fontsize=8)
plt.show()

# %%
# Which rows should the network be asked about?
# ---------------------------------------------
# The rows that are made up should be people who could exist: a network was never taught what to
# predict for others. The six blood values s1 to s6 depend on each other: total cholesterol (s1) is
# nearly the sum of its parts, of which s2 is the largest. Some ways to make up rows:
#
# - by default, the rows choose a law, by small trees on folds; ``sampler_`` names it;
# - ``sampler="smear"``: each value is moved on its own, so the blood values lose their relation;
# - ``feature_groups``: the blood values of a person stay as they are, all six together.

blood = ["s1", "s2", "s3", "s4", "s5", "s6"]
print(f"correlation of s1 and s2, training rows: {X_train['s1'].corr(X_train['s2']):.2f}")
ways = {
    "default": {},
    "smear": {"sampler": "smear", "smearing": 0.5},
    "blood values as a group": {"feature_groups": [blood]},
}
for name, options in ways.items():
    tree = RepresenterTree(
        FrozenEstimator(network), max_leaf_nodes=12, random_state=0, **options
    ).fit(X_train, y_train)
    rows = tree.sample(2000, random_state=0)
    print(f"made-up rows, {name} ({tree.sampler_}): {rows['s1'].corr(rows['s2']):.2f}")

# %%
# Is it better than a plain tree?
# -------------------------------
# The alternative is an ordinary regression tree, fitted on the network's answers for the training
# rows. The figure shows the mean fidelity on the test rows of three random splits of the data. Up
# to four leaves, all trees are about equal: then take the plain one. With 16 and 32 leaves, the
# plain tree runs out of training rows, while the representer tree goes on asking and gets closer to
# the network. "Smear" is as close as the default here, although it asks about less likely people.

leaves = [2, 4, 8, 16, 32]
fidelities = {"default": [], "smear": [], "plain tree on the answers": []}
for seed in range(3):
    A, B, a, _ = train_test_split(X, y, random_state=seed)
    network = fit_network(A, a)
    values = network.predict(B)
    rows = []
    for n in leaves:
        rows.append([])
        for name in ("default", "smear"):
            tree = RepresenterTree(
                FrozenEstimator(network),
                max_leaf_nodes=n,
                validation_fraction=0,
                random_state=0,
                **ways[name],
            ).fit(A, a)
            rows[-1].append(tree.fidelity(B))
        plain = DecisionTreeRegressor(max_leaf_nodes=n, random_state=0).fit(A, network.predict(A))
        rows[-1].append(1 - np.mean((plain.predict(B) - values) ** 2) / values.var())
    for name, column in zip(fidelities, np.transpose(rows), strict=True):
        fidelities[name].append(column)

figure, axes = plt.subplots(figsize=(6, 4), layout="constrained")
for (name, values), marker in zip(fidelities.items(), "^os", strict=True):
    axes.plot(leaves, np.mean(values, axis=0), marker=marker, label=name)
axes.set(xlabel="leaves", ylabel="fidelity on test rows", xscale="log", ylim=(0.35, 1))
axes.set_xticks(leaves, leaves)
axes.minorticks_off()
axes.legend(frameon=False, loc="lower right")
plt.show()
for name, values in fidelities.items():
    print(f"{name:26s}", *(f"{value:.2f}" for value in np.mean(values, axis=0)))
