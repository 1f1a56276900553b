"""Whether limits are kept: every estimator under ``time_limit=2`` at three large sizes.

    python -m benchmarks.limits [--only TEXT ...] [--sizes SIZE ...] [--seconds 2] [--cache DIR]

- ``rows``: 1e6 rows x 10 features, 20 trees of at most 1,000 leaves.
- ``columns``: 5,000 rows x 1,000 features, 100 full trees.
- ``leaves``: 20,000 rows x 20 features, 500 trees of 1,000 leaves.

The models are fitted beforehand, once, and kept in the cache; what is measured is one call on a
frozen model, in a process of its own: seconds by the clock and of the processor, and the peak of
its memory above that of the data and the model. `over` is what the clock shows beyond the limit.
To add a case, add a `Case` to `CASES`.
"""

from __future__ import annotations

import argparse
import json
import re
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import joblib
import numpy as np
from sklearn.datasets import make_classification, make_regression
from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor
from sklearn.exceptions import ConvergenceWarning
from sklearn.frozen import FrozenEstimator

import ensemble_simplify as es
from benchmarks._record import environment

SHAPES = {"rows": (1_000_000, 10), "columns": (5_000, 1_000), "leaves": (20_000, 20)}
FORESTS = {
    "rows": {"n_estimators": 20, "max_leaf_nodes": 1_000, "max_samples": 0.1},
    "columns": {"n_estimators": 100},
    "leaves": {"n_estimators": 500, "max_leaf_nodes": 1_000},
}
# A call that has not ended by then is ended.
PATIENCE = 120


def forest_on(size):
    """A forest of one of the sizes, its rows and its labels."""
    n, m = SHAPES[size]
    X, y = make_classification(n, m, n_informative=10, n_redundant=0, flip_y=0.1, random_state=0)
    X = X.astype(np.float32)
    return RandomForestClassifier(**FORESTS[size], random_state=0).fit(X, y), X, y


def regression_forest_on(size):
    """The same, where the answers are numbers."""
    n, m = SHAPES[size]
    X, y = make_regression(n, m, n_informative=10, noise=10, random_state=0)
    X = X.astype(np.float32)
    settings = {"max_features": 1 / 3, **FORESTS[size]}
    return RandomForestRegressor(**settings, random_state=0).fit(X, y), X, y


@dataclass(frozen=True)
class Case:
    """One measurement.

    Attributes
    ----------
    name : str
    size : str
        What is asked of `make`, whose answer is kept in the cache.
    make : callable
        Of the size; answers what `call` is given after the limit.
    call : callable
    """

    name: str
    size: str
    make: Callable
    call: Callable


def fit(kind, seconds, forest, X, y, **settings):
    """Fit an estimator that takes an ensemble."""
    return kind(FrozenEstimator(forest), time_limit=seconds, random_state=0, **settings).fit(X, y)


def grow(kind, seconds, _, X, y, **settings):
    """Fit an estimator that takes none."""
    return kind(time_limit=seconds, random_state=0, **settings).fit(X, y)


def evolve(seconds, forest, X, y):
    """Breed from the trees of a forest."""
    model = es.GenesimClassifier([FrozenEstimator(forest)], time_limit=seconds, random_state=0)
    return model.fit(X, y)


def grow_budget_forest(_, forest, X, y):
    """Grow as many trees with prices in mind; there is no limit to keep."""
    n = forest.n_estimators
    return es.BudgetForestClassifier(n_estimators=n, max_samples=1000, random_state=0).fit(X, y)


ESTIMATORS = {
    "FeatureBudgetPruner": partial(fit, es.FeatureBudgetPruner),
    "FeatureBudgetPruner, budget": partial(fit, es.FeatureBudgetPruner, budget="50%"),
    "FaithfulPruner": partial(fit, es.FaithfulPruner),
    "FaithfulPruner, k = 0": partial(fit, es.FaithfulPruner, max_changes=0),
    "FaithfulPruner, k = 1": partial(fit, es.FaithfulPruner, max_changes=1),
    "BornAgainClassifier": partial(fit, es.BornAgainClassifier),
    "BornAgainClassifier, k = 0": partial(fit, es.BornAgainClassifier, max_changes=0),
    "BornAgainClassifier, k = 1": partial(fit, es.BornAgainClassifier, max_changes=1),
    "RepresenterTree": partial(fit, es.RepresenterTree),
    "GenesimClassifier": evolve,
    "InterpretableSingleModel": partial(fit, es.InterpretableSingleModel),
    "CultivatedForestClassifier": partial(grow, es.CultivatedForestClassifier),
    "BudgetForestClassifier (no limit)": grow_budget_forest,
}
CASES = [Case(name, size, forest_on, call) for name, call in ESTIMATORS.items() for size in SHAPES]
CASES += [
    Case("RepresenterTree, numbers", size, regression_forest_on, ESTIMATORS["RepresenterTree"])
    for size in SHAPES
]


def memory(field):
    """Megabytes of this process: ``VmRSS`` now, or ``VmHWM`` at most since `reset_peak`."""
    status = Path("/proc/self/status").read_text()
    return int(re.search(rf"{field}:\s+(\d+) kB", status)[1]) / 1024


def reset_peak():
    """Let the peak of this process start from what it has now."""
    Path("/proc/self/clear_refs").write_text("5")


def measure(case, seconds, cache):
    """Make one call; print what it took."""
    given = made(case, cache)
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        reset_peak()
        before, start, cpu = memory("VmRSS"), time.monotonic(), time.process_time()
        try:
            case.call(seconds, *given)
            ended = "done"
        except es.TimeLimitError:
            ended = "TimeLimitError"
        wall, cpu = time.monotonic() - start, time.process_time() - cpu
    if any(issubclass(warning.category, ConvergenceWarning) for warning in said):
        ended = "best so far"
    peak = memory("VmHWM") - before
    print(json.dumps({"wall": wall, "cpu": cpu, "peak": peak, "ended": ended}))


def made(case, cache):
    """What a case is given, from the cache or into it."""
    return joblib.Memory(cache, verbose=0).cache(case.make)(case.size)


def in_a_process(*arguments):
    """Run this program for one case; its figures, or what went wrong in a word."""
    command = [sys.executable, "-m", "benchmarks.limits", *map(str, arguments)]
    try:
        run = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE)
    except subprocess.TimeoutExpired:
        return f"not within {PATIENCE} s"
    if run.returncode:
        return (run.stderr.strip().splitlines() or [f"exit code {run.returncode}"])[-1]
    return json.loads(run.stdout.splitlines()[-1])


def row(case, found, seconds):
    """One line of the table."""
    if isinstance(found, str):
        return f"| {case.name} | {case.size} | | | | | {found} |"
    return (
        f"| {case.name} | {case.size} | {found['wall']:.1f} | {found['wall'] - seconds:+.1f} | "
        f"{found['cpu']:.1f} | {found['peak']:.0f} | {found['ended']} |"
    )


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--only", nargs="+", default=[""], help="parts of the names wanted")
    parser.add_argument("--sizes", nargs="+", choices=SHAPES, help="only these sizes")
    parser.add_argument("--seconds", type=float, default=2.0, help="time_limit")
    parser.add_argument("--cache", default=str(Path(tempfile.gettempdir()) / "limits-cache"))
    parser.add_argument("--one", type=int, help="the number of one case, measured here")
    options = parser.parse_args()
    if options.one is not None:
        measure(CASES[options.one], options.seconds, options.cache)
        return
    print(f"{environment('highspy')}; time_limit={options.seconds:g}\n", flush=True)
    print("| call | size | seconds | over | of CPU | peak MB | ended |")
    print("|---" * 7 + "|", flush=True)
    for number, case in enumerate(CASES):
        wanted = any(text in case.name for text in options.only)
        if wanted and (options.sizes is None or case.size in options.sizes):
            made(case, options.cache)
            found = in_a_process(
                "--one", number, "--seconds", options.seconds, "--cache", options.cache
            )
            print(row(case, found, options.seconds), flush=True)


if __name__ == "__main__":
    main()
