"""The same result on another processor: fits in a process without the vector units of this one.

NumPy and the C library choose code by the processor's features, BLAS by its name. All three are
told here, by environment variables, that the processor is an old one.
"""

from __future__ import annotations

import json
import os
import platform
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer, load_wine
from sklearn.ensemble import RandomForestClassifier
from sklearn.frozen import FrozenEstimator

from ensemble_simplify import (
    BornAgainClassifier,
    BudgetForestClassifier,
    CultivatedForestClassifier,
    FaithfulPruner,
    FeatureBudgetPruner,
    GenesimClassifier,
    InterpretableSingleModel,
    RepresenterTree,
    ScorecardClassifier,
    estimate,
    simplify,
)


def tree_of(fitted):
    """What splits a tree has, and its answers."""
    tree = fitted.decision_tree_.tree_
    labels = tree.value[:, 0].argmax(axis=1)
    return [tree.feature.tolist(), tree.threshold.tolist(), labels.tolist()]


def results():
    """What every method finds on small sets."""
    X, y = load_wine(return_X_y=True)
    forest = RandomForestClassifier(20, random_state=0).fit(X, y)
    small = RandomForestClassifier(4, max_depth=3, random_state=0).fit(X, y)
    frozen, costs = FrozenEstimator(forest), 1.0 + 0.1 * np.arange(X.shape[1])
    near = BornAgainClassifier(frozen, max_changes=0, random_state=0).fit(X, y)
    everywhere = BornAgainClassifier(FrozenEstimator(small), method="heuristic", random_state=0)
    everywhere.fit(X, y)
    pruner = FaithfulPruner(frozen, max_changes=1, random_state=0).fit(X, y)
    budget = FeatureBudgetPruner(frozen, feature_costs=costs, budget="50%").fit(X, y)
    grown = BudgetForestClassifier(n_estimators=5, feature_costs=costs, random_state=0).fit(X, y)
    cultivated = CultivatedForestClassifier(max_leaf_nodes=8, max_options=5, random_state=0)
    representer = RepresenterTree(frozen, max_leaf_nodes=8, random_state=0).fit(X)
    scorecard = ScorecardClassifier(frozen, max_bins=12, random_state=0).fit(X, y)
    bred = GenesimClassifier(n_bootstraps=4, population_size=12, n_iter=4, random_state=0)
    merged = InterpretableSingleModel(frozen, max_depth=4, random_state=0).fit(X, y)
    found = simplify(forest, X, y, methods=["representer", "faithful"], random_state=0)
    forecast = estimate(forest)
    return {
        "born-again, rows": tree_of(near),
        "born-again, everywhere": [*tree_of(everywhere), everywhere.n_leaves_lower_bound_],
        "faithful": [pruner.path_.weights.tolist(), pruner.path_.n_exceptions.tolist()],
        "budget": [budget.cost_, budget.predict_proba(X).tolist()],
        "grown": grown.predict_proba(X).tolist(),
        "cultivated": cultivated.fit(X, y).predict_proba(X).tolist(),
        "representer": tree_of(representer),
        "scorecard": [
            [[term.columns, term.edges[0].tolist(), term.points.tolist()] for term in card.terms]
            for card in (scorecard.card_, scorecard.at(6).card_)
        ],
        "genesim": tree_of(bred.fit(X, y)),
        "single model": tree_of(merged),
        "simplify": [found.best, [[row.name, row.leaves, row.trees] for row in found.table]],
        "estimate": [forecast.n_leaves, forecast.n_leaves_lower_bound],
        "faithful, many points": path_on_breast_cancer(),
    }


def path_on_breast_cancer():
    """Exceptions on the path of a forest whose linear programs have many solutions."""
    X, y = load_breast_cancer(return_X_y=True)
    forest = RandomForestClassifier(random_state=0).fit(X, y)
    pruner = FaithfulPruner(
        FrozenEstimator(forest), max_changes=1, method="heuristic", random_state=0
    ).fit(X, y)
    return [pruner.path_.n_trees.tolist(), pruner.path_.n_exceptions.tolist()]


def test_an_older_processor_finds_the_same():
    found = np.show_config(mode="dicts")["SIMD Extensions"].get("found", [])
    if platform.machine().lower() not in ("x86_64", "amd64") or not found:
        pytest.skip("The processor has no vector units that NumPy can be told to leave alone.")
    older = {
        "NPY_DISABLE_CPU_FEATURES": " ".join(found),
        "OPENBLAS_CORETYPE": "Prescott",
        "GLIBC_TUNABLES": "glibc.cpu.hwcaps=-AVX2,-FMA,-AVX2_Usable,-FMA_Usable",
    }
    there = subprocess.run(
        [sys.executable, __file__],
        env={**os.environ, **older},
        cwd=Path(__file__).parents[1],
        stdout=subprocess.PIPE,
        check=True,
        text=True,
    )
    assert json.loads(there.stdout) == json.loads(json.dumps(results()))


if __name__ == "__main__":
    print(json.dumps(results()))
