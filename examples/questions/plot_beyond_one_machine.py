"""
Beyond one machine
==================

Your rows fill several machines, or must not leave them. This page shows seven ways to use this
package then. It runs on a real ``dask.distributed`` cluster: a scheduler and two worker processes
that talk over TCP. Here they all run on one machine. To use a cluster of yours, write
``Client("scheduler:8786")``, with its address, in place of ``LocalCluster``.

You need ``pip install "dask[distributed]" matplotlib`` to run it.
"""

# %%
# The cluster, and rows that stay where they are
# ----------------------------------------------
# Each part of the rows is made on a worker, as if it were read from that machine's disk. The script
# only holds a reference to it.
#
# Worker processes import the script that started them. So what only the script itself should do
# stands under ``if __name__ == "__main__"``.

import logging
import pickle
from copy import deepcopy

import joblib
import matplotlib.pyplot as plt
import numpy as np
from dask.distributed import Client, LocalCluster
from sklearn.ensemble import RandomForestClassifier
from sklearn.frozen import FrozenEstimator
from sklearn.model_selection import GridSearchCV
from sklearn.tree import DecisionTreeClassifier

from ensemble_simplify import (
    FeatureBudgetPruner,
    GenesimClassifier,
    RepresenterTree,
    merge_trees,
    nearest_flip,
    verify,
)


def read_part(k, n=10_000):
    """Rows and labels of one machine."""
    rng = np.random.default_rng(k)
    X = rng.normal(size=(n, 6))
    signal = X[:, 0] + X[:, 1] ** 2 - X[:, 2] * X[:, 3]
    return X, np.where(signal + rng.normal(size=n) > 1, "yes", "no")


def megabytes(thing):
    """Size of an object when it is sent."""
    return len(pickle.dumps(thing)) / 1e6


if __name__ == "__main__":
    # On a busy machine the workers take some seconds to stop, of which dask would warn.
    cluster = LocalCluster(
        n_workers=2, threads_per_worker=1, dashboard_address=None, silence_logs=logging.ERROR
    )
    client = Client(cluster)
    parts = client.map(read_part, range(4))
    rows = sum(client.gather(client.map(lambda part: len(part[1]), parts)))
    sent = {"the rows": sum(client.gather(client.map(megabytes, parts)))}
    n_workers = len(client.scheduler_info()["workers"])
    print(f"{n_workers} workers, {rows:,} rows, {sent['the rows']:.1f} MB")

# %%
# One tree from the trees of all parts
# ------------------------------------
# Each worker fits a tree on each of its parts. Only the trees are sent, and
# :func:`~ensemble_simplify.merge_trees` turns them into one tree: their exact mean.


def fit_tree(part):
    """Fit a tree on one part."""
    return DecisionTreeClassifier(max_leaf_nodes=10, random_state=0).fit(*part)


def accuracy(part, model):
    """Score a model on one part, on the machine that holds it."""
    return model.score(*part)


if __name__ == "__main__":
    trees = client.gather(client.map(fit_tree, parts))
    merged = merge_trees(trees)
    new = client.map(read_part, range(100, 104))
    sent["a tree of each part"] = megabytes(trees)
    print(f"trees: {megabytes(trees):.3f} MB, merged: {merged.get_n_leaves()} leaves")
    for name, model in (("first part's tree", trees[0]), ("merged tree", merged)):
        scores = client.gather(client.map(accuracy, new, model=model))
        print(f"{name:18s} accuracy on new rows {np.mean(scores):.3f}")

# %%
# A small tree from the forests of all parts
# ------------------------------------------
# The merged tree is exact, but large. If you have some rows in one place,
# :class:`~ensemble_simplify.GenesimClassifier` breeds a small tree from forests that were fitted on
# the parts. Here it gets 2000 rows.


def fit_forest(part):
    """Fit a forest on one part."""
    return RandomForestClassifier(10, max_leaf_nodes=30, random_state=0).fit(*part)


if __name__ == "__main__":
    forest_futures = client.map(fit_forest, parts)
    forests = client.gather(forest_futures)
    sent["a forest of each part"] = megabytes(forests)
    X, y = read_part(200, n=2000)
    bred = GenesimClassifier(
        [FrozenEstimator(forest) for forest in forests],
        max_leaf_nodes=16,
        n_iter=5,
        random_state=0,
    ).fit(X, y)
    scores = client.gather(client.map(accuracy, new, model=bred))
    print(f"bred: {bred.n_leaves_} leaves, accuracy on new rows {np.mean(scores):.3f}")

# %%
# A tree from models that stay where they are
# -------------------------------------------
# :class:`~ensemble_simplify.RepresenterTree` only needs a function that predicts. It calls it a few
# times, with many rows. Here the function sends these rows to the workers, where each forest
# predicts, and averages the answers. Neither training rows nor forests are sent. The rows to be
# predicted are made from the 2000 rows above.


def answers(forest, questions):
    """Class probabilities of one forest."""
    return forest.predict_proba(questions)


asked = []


def federation(questions):
    """Mean class probabilities of all forests."""
    asked.append(len(questions))
    sent = client.scatter(questions, hash=False)
    replies = client.map(answers, forest_futures, questions=sent, pure=False)
    return np.mean(client.gather(replies), axis=0)


if __name__ == "__main__":
    tree = RepresenterTree(federation, response="probabilities", max_leaf_nodes=16, random_state=0)
    tree.fit(X, y)
    sent["questions to the forests"] = sum(asked) * X.shape[1] * 8 / 1e6
    probabilities = np.mean([forest.predict_proba(X) for forest in forests], axis=0)
    agreement = np.mean(tree.predict_proba(X).argmax(axis=1) == probabilities.argmax(axis=1))
    print(f"{sum(asked):,} rows were predicted in {len(asked)} calls; {tree.n_leaves_} leaves")
    print(f"same class as the mean of the forests for {agreement:.1%} of 2000 rows")

# %%
# A grid search, and a problem split into parts
# ---------------------------------------------
# scikit-learn and this package run parallel tasks with joblib, and ``joblib.parallel_config`` sends
# them to the cluster. First, a grid search. Second, ``solver="dantzig_wolfe"`` of
# :class:`~ensemble_simplify.FeatureBudgetPruner`: workers prune single trees, and a small linear
# program joins the results. It finds the same optimum as the default solver, the minimum cut, which
# is much faster on one machine.

if __name__ == "__main__":
    sample, labels = X[:500], y[:500]
    frozen = FrozenEstimator(RandomForestClassifier(8, max_depth=4, random_state=0).fit(X, y))
    search = GridSearchCV(
        RepresenterTree(frozen, random_state=0),
        {"smearing": [0.1, 0.5], "max_leaf_nodes": [4, 8]},
        cv=2,
    )
    lam = 0.01
    cut = FeatureBudgetPruner(frozen, lam=lam).fit(sample, labels)
    with joblib.parallel_config("dask"):
        search.fit(sample, labels)
        print(f"grid search, 8 fits: {search.best_params_}")
        split = FeatureBudgetPruner(frozen, lam=lam, solver="dantzig_wolfe").fit(sample, labels)
    for name, pruner in (("cut", cut), ("decomposition", split)):
        print(f"{name:14s} objective {pruner.error_ + lam * pruner.cost_:.9f}")

# %%
# A proof near many rows, block by block
# --------------------------------------
# With ``max_changes=1``, :func:`~ensemble_simplify.verify` asks two models about every point that
# differs from a row in one column, whatever it holds. These points are those of one row, and of the
# next: so blocks of rows can be checked anywhere, and all of them together are a proof for all
# rows. Here, the probabilities of a forest are rounded to three digits, to make it smaller.
#
# The rows stay on the workers that made them. Only the two forests and the outcomes are sent.


def within(part, forest, rounded):
    """Prove that two forests are close near the rows of one part."""
    X, _ = part
    return verify(forest, rounded, X=X[:200], max_changes=1, atol=0.001)


if __name__ == "__main__":
    forest = RandomForestClassifier(50, max_leaf_nodes=30, random_state=0).fit(X, y)
    rounded = deepcopy(forest)
    for member in rounded.estimators_:
        member.tree_.value[...] = member.tree_.value.round(3)
    outcomes = client.gather(client.map(within, parts, forest=forest, rounded=rounded))
    print(f"{sum(map(bool, outcomes))} of {len(outcomes)} blocks proven")
    bound = max(outcome.max_difference_bound for outcome in outcomes)
    print(f"no probability moves by more than {bound:.6f} near these rows")

# %%
# Rows that are in one place are sent by joblib. :func:`~ensemble_simplify.nearest_flip` cuts them
# into a block for each worker itself: it finds for each row the nearest change that flips its
# class, or proves that there is none.

if __name__ == "__main__":
    several, _ = read_part(300, n=100)
    with joblib.parallel_config("dask"):
        flips = nearest_flip(forest, several, max_changes=1)
    print(f"one change flips the class of {sum(map(bool, flips))} of {len(flips)} rows")

# %%
# What travels
# ------------
# The rows stay where they are. What is sent instead is much smaller; only the questions, with which
# a tree learns from models that stay where they are, are as many as the rows.

if __name__ == "__main__":
    client.close()
    cluster.close()
    figure, ax = plt.subplots(figsize=(7, 2.8), layout="constrained")
    bars = ax.barh(list(sent), list(sent.values()), color=["0.7", "C0", "C0", "C0"])
    ax.bar_label(bars, [f"{size:.2g} MB" for size in sent.values()], padding=3)
    ax.set(
        xscale="log", xlim=(None, 20), xlabel="megabytes", title="What is sent in place of the rows"
    )
    ax.invert_yaxis()
    ax.spines[["top", "right"]].set_visible(False)
    plt.show()

# %%
# What can run on several machines and what cannot is explained in :ref:`beyond_one_machine`.
