"""Whether work is in proportion: what calls take over rows, columns, trees and leaves.

``python -m benchmarks proportion [--against DIR]``: from 10,000 rows of 20 columns, and boosting of
50 trees with 31 leaves by LightGBM, one size at a time is changed. Each call is made once, in a
process of its own. Given are the seconds of processor time; how many times those of one ``predict``
of the same rows this is, and those of fitting the model, both by one thread; the peak of memory
above that of the data and the model; and the slope, by how much the logarithm of the seconds grows
with that of the size, from the size before. What prunes forests alone has a forest of scikit-learn,
whose trees are fitted on 20,000 rows at most. `DIR` is another checkout, whose kernels are built;
its calls are timed in turn with these.
"""

from __future__ import annotations

import argparse
import json
import math
import re
import tempfile
import time
import warnings
from pathlib import Path

from benchmarks._checkouts import measured
from benchmarks._record import ROOT, environment

USUAL = {"rows": 10_000, "columns": 20, "trees": 50, "leaves": 31}
SIZES = {
    "rows": (1_000, 10_000, 100_000, 1_000_000),
    "columns": (10, 20, 100, 1_000),
    "trees": (10, 50, 200, 500),
    "leaves": (8, 31, 250, 1_000),
}
CACHE = Path(tempfile.gettempdir()) / "proportion-cache"
# A growth of less than this in seconds says nothing of a slope.
LEAST = 0.02


def simplify(case):
    return case.package.simplify(case.model, case.X, case.y, random_state=0)


def fitted(name, frozen=True, **options):
    """A call that fits an estimator of the package."""

    def call(case):
        kind, estimator = getattr(case.package, name), case.frozen
        if not frozen:
            return kind(random_state=0, **options).fit(case.X, case.y)
        estimator = [estimator] if name == "GenesimClassifier" else estimator
        return kind(estimator, random_state=0, **options).fit(case.X, case.y)

    return call


CALLS = {
    "agreement": lambda case: case.package.agreement(case.model, case.tree, case.X, random_state=0),
    "verify a copy": lambda case: case.package.verify(case.model, case.model),
    "verify, k = 0": lambda case: case.package.verify(
        case.model, case.model, X=case.X, max_changes=0
    ),
    "differences": lambda case: case.package.differences(case.model, case.tree, case.X),
    "is_monotone": lambda case: case.package.is_monotone(case.model, 0),
    "nearest_flip of 10 rows": lambda case: case.package.nearest_flip(case.model, case.X[:10]),
    "sufficient_box of a row": lambda case: case.package.sufficient_box(
        case.model, case.X[0], random_state=0
    ),
    "export_model, C": lambda case: case.package.export_model(case.model, "c"),
    "simplify": simplify,
    "RepresenterTree": fitted("RepresenterTree"),
    "ScorecardClassifier": fitted("ScorecardClassifier"),
    "GenesimClassifier": fitted("GenesimClassifier"),
    "CultivatedForestClassifier": fitted("CultivatedForestClassifier", frozen=False),
    "FaithfulPruner, k = 0": fitted("FaithfulPruner", max_changes=0),
    "BornAgainClassifier, k = 0": fitted("BornAgainClassifier", max_changes=0),
    "SelectiveTreeClassifier": fitted("SelectiveTreeClassifier"),
    "FeatureBudgetPruner": fitted("FeatureBudgetPruner"),
}
# Calls that take no boosting.
OF_FORESTS = ("FeatureBudgetPruner",)
# Rows of a tree of a forest, at most: all of a million would take minutes.
MOST_OF_A_TREE = 20_000


class Case:
    """Rows, a model, and a plain tree on its answers; made once for each shape."""

    def __init__(self, call, rows, columns, trees, leaves):
        import joblib

        import ensemble_simplify

        self.package = ensemble_simplify
        kind = "forest" if call in OF_FORESTS else "boosting"
        path = CACHE / f"{kind}-{rows}-{columns}-{trees}-{leaves}.joblib"
        if not path.exists():
            CACHE.mkdir(exist_ok=True)
            joblib.dump(self._made(kind, rows, columns, trees, leaves), path)
        from sklearn.frozen import FrozenEstimator

        self.X, self.y, self.model, self.tree, self.fit_seconds = joblib.load(path)
        self.frozen = FrozenEstimator(self.model)

    @staticmethod
    def _made(kind, rows, columns, trees, leaves):
        from lightgbm import LGBMClassifier
        from sklearn.datasets import make_classification
        from sklearn.ensemble import RandomForestClassifier
        from sklearn.tree import DecisionTreeClassifier

        X, y = make_classification(
            rows, columns, n_informative=8, n_redundant=0, flip_y=0.1, random_state=0
        )
        model = LGBMClassifier(
            n_estimators=trees, num_leaves=leaves, min_child_samples=5, n_jobs=1, verbose=-1
        )
        if kind == "forest":
            most = min(rows, MOST_OF_A_TREE)
            model = RandomForestClassifier(
                trees, max_leaf_nodes=leaves, max_samples=most, random_state=0
            )
        begin = time.process_time()
        model.fit(X, y)
        seconds = time.process_time() - begin
        tree = DecisionTreeClassifier(max_leaf_nodes=16, random_state=0)
        return X, y, model, tree.fit(X, model.predict(X)), seconds


def memory(field):
    """Megabytes of this process: ``VmRSS`` now, or ``VmHWM`` at most since it was reset."""
    status = Path("/proc/self/status").read_text()
    return int(re.search(rf"{field}:\s+(\d+) kB", status)[1]) / 1024


def work(name):
    """Make a call once, and print what it took; `name` is the call and its sizes."""
    warnings.simplefilter("ignore")
    call, *sizes = name.split("|")
    # what is loaded and made when it is first needed is no work in proportion to anything
    CALLS[call](Case(call, 300, 10, 3, 4))
    case = Case(call, *map(int, sizes))
    begin = time.process_time()
    case.model.predict(case.X)
    predicted = time.process_time() - begin
    Path("/proc/self/clear_refs").write_text("5")
    before, begin = memory("VmRSS"), time.process_time()
    CALLS[call](case)
    seconds = time.process_time() - begin
    peak = memory("VmHWM") - before
    figures = {"seconds": seconds, "predicts": seconds / predicted, "peak": peak}
    print(json.dumps(figures | {"fits": seconds / case.fit_seconds}))


def line(call, axis, size, found, before, other):
    """One row of the table; `before` is the size before and its seconds."""
    cells = [call, axis, f"{size:,}"]
    if isinstance(found, dict):
        seconds = found["seconds"]
        slope = ""
        if before is not None and min(seconds, before[1]) > LEAST:
            slope = f"{math.log(seconds / before[1]) / math.log(size / before[0]):.2f}"
        cells += [f"{seconds:.3g}", f"{found['predicts']:.3g}", f"{found['fits']:.3g}"]
        cells += [f"{found['peak']:.0f}", slope]
    else:
        cells += [told(found), "", "", "", ""]
    return "| " + " | ".join([*cells, told(other)]) + " |"


def told(found):
    """Seconds, or that there are none."""
    if isinstance(found, dict):
        return f"{found['seconds']:.3g}"
    return {None: "failed", TimeoutError: "not in time", False: ""}[found]


def main():
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks proportion", description=__doc__.split("\n\n")[0]
    )
    parser.add_argument("--against", type=Path, metavar="DIR", help="another checkout, built")
    parser.add_argument("--only", nargs="+", default=[""], help="parts of the names wanted")
    parser.add_argument("--axes", nargs="+", choices=SIZES, default=list(SIZES))
    parser.add_argument("--patience", type=float, default=15.0, help="seconds for a process")
    options = parser.parse_args()
    print(environment("lightgbm", "highspy"))
    print("\nUsual sizes: " + ", ".join(f"{n:,} {what}" for what, n in USUAL.items()) + ".\n")
    print("| call | over | size | seconds | predicts | fits | peak MB | slope | other, s |")
    print("|---" * 9 + "|", flush=True)
    known = {}
    for call in (name for name in CALLS if any(part in name for part in options.only)):
        for axis in options.axes:
            before = None
            for size in SIZES[axis]:
                shape = {**USUAL, axis: size}
                name = "|".join([call, *map(str, shape.values())])
                Case(call, *shape.values())  # made before it is timed
                if name not in known:
                    found = measured(__file__, name, ROOT, options.patience)
                    other = False
                    if options.against is not None:
                        against = options.against.resolve()
                        other = measured(__file__, name, against, options.patience)
                    known[name] = found, other
                found, other = known[name]
                print(line(call, axis, size, found, before, other), flush=True)
                before = (size, found["seconds"]) if isinstance(found, dict) else None
                if not isinstance(found, dict):
                    break


if __name__ == "__main__":
    main()
