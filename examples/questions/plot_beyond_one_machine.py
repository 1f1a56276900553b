"""
Beyond one machine
==================

Rows that fill several machines, or that must not leave them. What can be done with the methods of
this package, on a real ``dask.distributed`` cluster: a scheduler and two worker processes that
talk over TCP. On this page they run on one machine; with ``Client("scheduler:8786")`` in place
of ``LocalCluster`` they may be anywhere.
"""

# %%
# The cluster, and rows that stay where they are
# ----------------------------------------------
# Worker processes import the script they were started from, hence ``if __name__ == "__main__"``.
# Each part of the rows is made on a worker, as it would be read from that machine's disk; the
# script only holds its address.

import pickle
import time

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
)


def read_part(k, n=10_000):
    """Rows and labels of one machine."""
    rng = np.random.default_rng(k)
    X = rng.normal(size=(n, 6))
    signal = X[:, 0] + X[:, 1] ** 2 - X[:, 2] * X[:, 3]
    return X, np.where(signal + rng.normal(size=n) > 1, "yes", "no")


def megabytes(thing):
    """What it weighs on the wire."""
    return len(pickle.dumps(thing)) / 1e6


if __name__ == "__main__":
    cluster = LocalCluster(
        n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None
    )
    client = Client(cluster)
    parts = client.map(read_part, range(4))
    rows = sum(client.gather(client.map(lambda part: len(part[1]), parts)))
    weight = sum(client.gather(client.map(megabytes, parts)))
    print(f"{len(client.scheduler_info()['workers'])} workers, {rows:,} rows, {weight:.1f} MB")

# %%
# Trees of the parts, merged into one
# -----------------------------------
# Every worker fits a tree on each of its parts. Only trees travel, and
# :func:`~ensemble_simplify.merge_trees` makes one tree of them that is their mean at every point.


def fit_tree(part):
    """A tree of one part."""
    return DecisionTreeClassifier(max_leaf_nodes=10, random_state=0).fit(*part)


def accuracy(part, model):
    """On the rows of one part, where they are."""
    return model.score(*part)


if __name__ == "__main__":
    client.get_task_stream()  # the scheduler takes notes from here on, for the figure at the end
    trees = client.gather(client.map(fit_tree, parts))
    merged = merge_trees(trees)
    new = client.map(read_part, range(100, 104))
    print(f"trees: {megabytes(trees):.3f} MB, merged: {merged.get_n_leaves()} leaves")
    for name, model in (("first part's tree", trees[0]), ("merged tree", merged)):
        scores = client.gather(client.map(accuracy, new, model=model))
        print(f"{name:18s} accuracy on new rows {np.mean(scores):.3f}")

# %%
# A small tree bred from forests of the parts
# -------------------------------------------
# The merged tree is exact and large. Where some rows may be looked at,
# :class:`~ensemble_simplify.GenesimClassifier` breeds a small tree from forests that were fitted
# on the parts.


def fit_forest(part):
    """A forest of one part."""
    return RandomForestClassifier(10, max_leaf_nodes=30, random_state=0).fit(*part)


if __name__ == "__main__":
    forest_futures = client.map(fit_forest, parts)
    forests = client.gather(forest_futures)
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
# Ask models that stay where they are
# -----------------------------------
# A :class:`~ensemble_simplify.RepresenterTree` only asks questions, in a few large calls. Here its
# predictor is a function that sends them to the workers, where each forest answers, and averages
# the answers. Neither rows nor forests travel; the questions are made from the 2000 rows above.


def answers(forest, questions):
    """Class probabilities from one forest."""
    return forest.predict_proba(questions)


asked = []


def federation(questions):
    """Mean class probabilities over all workers."""
    asked.append(len(questions))
    sent = client.scatter(questions, hash=False)
    replies = client.map(answers, forest_futures, questions=sent, pure=False)
    return np.mean(client.gather(replies), axis=0)


if __name__ == "__main__":
    tree = RepresenterTree(federation, target="proba", max_leaf_nodes=16, random_state=0)
    tree.fit(X, y)
    probabilities = federation(X)
    agreement = np.mean(tree.predict_proba(X).argmax(axis=1) == probabilities.argmax(axis=1))
    print(f"{sum(asked):,} questions in {len(asked)} calls, {tree.n_leaves_} leaves")
    print(f"same answer as the federation for {agreement:.1%} of 2000 rows")

# %%
# Search, and decompose
# ---------------------
# What scikit-learn and this package do in parallel goes through joblib, and ``parallel_config``
# sends it to the cluster: a grid search over any estimator, and the decomposition of
# :class:`~ensemble_simplify.FeatureBudgetPruner` (``solver="dantzig_wolfe"``), in which workers
# prune single trees and a small master program joins them. It finds the same optimum as the
# minimum cut, which on one machine is far faster.

if __name__ == "__main__":
    sample, labels = X[:800], y[:800]
    frozen = FrozenEstimator(RandomForestClassifier(8, max_depth=4, random_state=0).fit(X, y))
    search = GridSearchCV(
        RepresenterTree(frozen, random_state=0),
        {"smearing": [0.1, 0.5], "max_leaf_nodes": [4, 8]},
        cv=3,
    )
    lam = 0.01
    cut = FeatureBudgetPruner(frozen, lam=lam).fit(sample, labels)
    with joblib.parallel_config("dask"):
        start = time.perf_counter()
        search.fit(sample, labels)
        print(f"grid search, 12 fits: {time.perf_counter() - start:.1f} s, {search.best_params_}")
        start = time.perf_counter()
        split = FeatureBudgetPruner(frozen, lam=lam, solver="dantzig_wolfe").fit(sample, labels)
        print(f"decomposition: {time.perf_counter() - start:.1f} s")
    for name, pruner in (("cut", cut), ("decomposition", split)):
        print(f"{name:14s} objective {pruner.error_ + lam * pruner.cost_:.9f}")

# %%
# Who has worked
# --------------
# Each bar is one task, as the scheduler noted it.

if __name__ == "__main__":
    tasks = client.get_task_stream()
    workers = sorted({task["worker"] for task in tasks})
    kinds = {
        "read_part": "read",
        "fit_tree": "trees",
        "fit_forest": "forests",
        "accuracy": "scores",
        "answers": "answers",
        "fit_and_score": "grid search",
        "price_tree": "decomposition",
    }
    begin = min(span["start"] for task in tasks for span in task["startstops"])
    figure, ax = plt.subplots(figsize=(8, 2.8), layout="constrained")
    for i, (kind, label) in enumerate(kinds.items()):
        for task in tasks:
            if kind not in str(task["key"]):
                continue
            for span in task["startstops"]:
                if span["action"] == "compute":
                    bar = (span["start"] - begin, span["stop"] - span["start"])
                    at = workers.index(task["worker"])
                    ax.broken_barh([bar], (at - 0.35, 0.7), color=f"C{i}")
        ax.plot([], [], "s", color=f"C{i}", label=label)
    ax.set_yticks(range(len(workers)), [f"worker {i + 1}" for i in range(len(workers))])
    ax.set(xlabel="seconds", ylim=(-0.6, len(workers) - 0.4))
    figure.legend(
        fontsize="small", columnspacing=1.2, loc="outside lower center", ncols=7, frameon=False
    )
    plt.show()
    client.close()
    cluster.close()

# %%
# What scales out, and what does not: see :ref:`beyond_one_machine`.
