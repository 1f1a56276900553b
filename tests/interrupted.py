"""Send SIGINT to long fits, one after the other: how soon does KeyboardInterrupt come?

Run by tests/test_processes.py; prints one line a case: its name, the processor seconds from signal
to exception, and what became of the estimator.
"""

import copy
import os
import signal
import sys
import threading
import time
import warnings

import numpy as np
from sklearn.datasets import load_breast_cancer, load_digits, make_classification
from sklearn.ensemble import ExtraTreesClassifier, RandomForestClassifier
from sklearn.exceptions import NotFittedError
from sklearn.frozen import FrozenEstimator
from sklearn.utils.validation import check_is_fitted

from ensemble_simplify import (
    BornAgainClassifier,
    BudgetForestClassifier,
    CultivatedForestClassifier,
    FeatureBudgetPruner,
    GenesimClassifier,
    InterpretableSingleModel,
    RepresenterTree,
    estimate,
    merge_trees,
    verify,
)

#: Seconds before the signal.
BEFORE = 0.3


def cases():
    """Yield (name, estimator or None, what runs for minutes)."""
    X, y = load_digits(return_X_y=True)
    forest = RandomForestClassifier(30, max_depth=5, random_state=0).fit(X, y)
    other = RandomForestClassifier(30, max_depth=5, random_state=1).fit(X, y)
    extra = ExtraTreesClassifier(60, max_depth=6, random_state=0).fit(X, y)
    twin = copy.deepcopy(extra)  # nearly the same function, and not recognised as such
    twin.estimators_ = twin.estimators_[::-1]
    twin.estimators_[0].tree_.value[-1] *= 1 - 1e-9
    frozen = FrozenEstimator(forest)
    Xc, yc = load_breast_cancer(return_X_y=True)
    small = RandomForestClassifier(8, max_depth=3, random_state=0).fit(Xc[:, :5], yc)
    X3, y3 = make_classification(20_000, 30, n_informative=20, random_state=0)
    X3 = X3.astype(np.float32)
    X4, y4 = np.repeat(X3, 10, axis=0), np.repeat(y3, 10)
    deep = RandomForestClassifier(40, max_depth=12, random_state=0, n_jobs=2).fit(X3, y3)

    def fit(name, estimator, X, y):
        return name, estimator, lambda: estimator.fit(X, y)

    yield fit("born_again_heuristic", BornAgainClassifier(frozen, method="heuristic"), X, y)
    exact = BornAgainClassifier(FrozenEstimator(small), method="exact", max_memory=4 << 30)
    yield fit("born_again_exact", exact, Xc[:, :5], yc)
    yield fit("pruner", FeatureBudgetPruner(FrozenEstimator(deep)), X3, y3)
    linear = FeatureBudgetPruner(frozen, solver="highs", lam=1e-4)
    yield fit("pruner_highs", linear, X, y)
    yield fit("representer", RepresenterTree(frozen, n_samples=3_000_000), X, y)
    yield fit("genesim", GenesimClassifier(n_iter=100_000, random_state=0), X, y)
    yield fit("cultivated", CultivatedForestClassifier(max_options=None), X4, y4)
    yield fit("budget_forest", BudgetForestClassifier(n_estimators=200), X3, y3)
    many = InterpretableSingleModel(FrozenEstimator(deep))
    yield fit("single_model", many, X4, y4)
    yield "verify", None, lambda: verify(extra, twin)
    yield "merge_trees", None, lambda: merge_trees([forest, other], max_leaf_nodes=10**9)
    yield "estimate", None, lambda: [estimate(forest) for _ in range(10**6)]


def main(names):
    warnings.simplefilter("ignore")
    # A job in the background of a shell ignores the signal.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    rng = np.random.default_rng(0)
    rows, labels = rng.random((60, 4)), np.arange(60) % 2
    for name, estimator, run in cases():
        if names and name not in names:
            continue
        sent = []

        def send(sent=sent):
            sent.append(time.process_time())
            os.kill(os.getpid(), signal.SIGINT)

        timer = threading.Timer(BEFORE, send)
        begin = time.process_time()
        timer.start()
        try:
            run()
        except KeyboardInterrupt:
            seconds, state = time.process_time() - sent[0], "interrupted"
        else:
            timer.cancel()
            seconds, state = time.process_time() - begin, "finished"
        if estimator is not None:
            try:
                check_is_fitted(estimator)
                state += " fitted"
            except NotFittedError:
                state += " unfitted"
            for parameter, value in (("estimator", None), ("n_iter", 2), ("n_estimators", 3)):
                if parameter in estimator.get_params():
                    estimator.set_params(**{parameter: value})
            if "n_samples" in estimator.get_params():
                estimator.set_params(n_samples=100)
            estimator.fit(rows, labels).predict(rows)
            state += " usable"
        print(name, f"{seconds:.3f}", state, flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
