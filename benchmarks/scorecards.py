"""Scorecards beside trees, and beside cards of other packages, on tables that chose nothing.

    python -m benchmarks.scorecards [--tables DIR] [--sets TEXT ...] [--repeats 2] [--rows 3000]
        [--peers PYTHON] [--fasterrisk PYTHON] [--parts ours trees peers fasterrisk] [--cache FILE]

Classification tables of packages (`benchmarks._tables_of_packages`) and those of DIR (CSV files
``c_...``, last column ``target``); ``--sets`` are parts of names. A third of at most ``--rows``
rows are fresh: everything is measured on them. The model is a default random forest on 60 % of the
others; all contestants get all of these others as the same numbers (codes of levels, medians for
gaps) and, but for rows marked ``y``, learn the forest's answers.

Agreement is with the forest, accuracy and log loss are of the true labels, on the fresh rows;
chances nearer than .005 to 0 or 1 count as these in the loss. Cards of 16, 24 and 40 bins stand
beside trees of 8, 16 and 32 leaves. For others, quantile bins and optbinning have four bins a
column of the columns with the largest mutual information; splits of FIGS and thresholds of
fasterrisk count as two bins each; stumps of xbooster and compileml are as many as make such bins;
an explainable boosting machine (EBM) has as many bins as it likes.

``--peers`` is an interpreter that has interpret-core, imodels, optbinning, xgboost, xbooster and
compileml, ``--fasterrisk`` one with fasterrisk, which needs an old scikit-learn. Every result is
appended to the cache (JSON lines) as it comes, so that a run can be made in pieces.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
import traceback
import warnings
from collections import defaultdict
from pathlib import Path

import numpy as np
from sklearn.ensemble import RandomForestClassifier
from sklearn.frozen import FrozenEstimator
from sklearn.metrics import log_loss
from sklearn.model_selection import train_test_split
from sklearn.tree import DecisionTreeClassifier

from benchmarks._record import environment
from benchmarks._representer_worth import numbers_of
from benchmarks._tables_of_packages import available, read
from ensemble_simplify import RepresenterTree, ScorecardClassifier

BINS, LEAVES = (16, 24, 40), (8, 16, 32)
LEAST = 0.005
PARTS = ("trees", "ours", "peers", "fasterrisk")
OF_PEERS = ("logistic", "optbinning", "ebm", "figs", "xbooster", "compileml")
FIGURES = ("agreement", "accuracy", "loss")


class Cell:
    """A table split in one way, and its forest."""

    def __init__(self, frame, y, seed):
        X, y = numbers_of(frame), np.unique(y, return_inverse=True)[1]
        self.seed = seed
        self.X, self.X_test, self.y, self.y_test = train_test_split(
            X, y, test_size=1 / 3, random_state=seed, stratify=y
        )
        seen, _ = train_test_split(
            np.arange(len(self.X)), train_size=0.6, random_state=seed, stratify=self.y
        )
        self.model = RandomForestClassifier(random_state=seed).fit(self.X[seen], self.y[seen])
        self.answers, self.truth = self.model.predict(self.X), self.model.predict(self.X_test)
        self.n_classes = len(self.model.classes_)

    def measured(self, chances, labels=None):
        """Agreement, accuracy and log loss, all x 100 but the last."""
        labels = chances.argmax(axis=1) if labels is None else labels
        chances = np.clip(chances, LEAST, 1 - LEAST)
        chances = chances / chances.sum(axis=1, keepdims=True)
        return {
            "agreement": 100 * float(np.mean(labels == self.truth)),
            "accuracy": 100 * float(np.mean(labels == self.y_test)),
            "loss": float(log_loss(self.y_test, chances, labels=np.arange(self.n_classes))),
        }

    # ------------------------------------------------------------------ contestants

    def trees(self, options):
        found = {"forest": [self.measured(self.model.predict_proba(self.X_test))]}
        cpu, begin = {}, time.process_time()
        made = RepresenterTree(
            FrozenEstimator(self.model), max_leaf_nodes=LEAVES[-1], random_state=self.seed
        ).fit(self.X, self.y)
        cpu["tree"] = time.process_time() - begin
        found["tree"] = [self._of(made.at(n)) for n in LEAVES]
        for name, target in (("plain tree", self.answers), ("plain tree, y", self.y)):
            begin = time.process_time()
            trees = [
                DecisionTreeClassifier(max_leaf_nodes=n, random_state=self.seed) for n in LEAVES
            ]
            found[name] = [self._of(tree.fit(self.X, target)) for tree in trees]
            cpu[name] = (time.process_time() - begin) / len(LEAVES)
        return found, cpu

    def ours(self, options):
        begin = time.process_time()
        card = ScorecardClassifier(
            FrozenEstimator(self.model), max_bins=BINS[-1], random_state=self.seed
        ).fit(self.X, self.y)
        cpu = {"card": time.process_time() - begin}
        found = []
        for size in BINS:
            own = card.at(n_bins=size)
            counts = {"bins": own.card_.n_bins, "features": len(own.card_.features)}
            found.append(self._of(own) | counts)
        return {"card": found}, cpu

    def _of(self, fitted):
        chances = np.zeros((len(self.X_test), self.n_classes))
        chances[:, fitted.classes_] = fitted.predict_proba(self.X_test)
        return self.measured(chances, fitted.predict(self.X_test))

    def peers(self, options):
        found, cpu = self._asked(options.peers, OF_PEERS, self.answers, "")
        on_y, cpu_y = self._asked(options.peers, ("logistic", "ebm", "optbinning"), self.y, ", y")
        return found | on_y, cpu | cpu_y

    def fasterrisk(self, options):
        if self.n_classes > 2:
            return {}, {}
        return self._asked(options.fasterrisk, ("fasterrisk",), self.answers, "")

    def _asked(self, python, names, target, mark):
        """What peers of another interpreter answer."""
        chance = self.model.predict_proba(self.X)[:, 1]
        given = dict(
            X=self.X, X_test=self.X_test, target=target, chance=chance, bins=BINS, seed=self.seed
        )
        with tempfile.TemporaryDirectory() as folder:
            paths = [str(Path(folder, name)) for name in ("given.npz", "found.npz")]
            np.savez(paths[0], **given)
            program = Path(__file__).with_name("_card_peers.py")
            # without this checkout, or its folder of modules, on its path
            own = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
            command = [python, "-P", str(program), *paths, *names]
            told = subprocess.run(command, cwd=folder, env=own, capture_output=True, text=True)
            if told.returncode:
                raise RuntimeError(told.stderr[-2000:])
            with np.load(paths[1]) as answers:
                answers = {key: answers[key] for key in answers.files}
        found, cpu = defaultdict(list), {}
        labels = np.unique(target)
        for key, value in answers.items():
            name, _, rest = key.partition("|")
            if rest == "error":
                print(f"{name}: {value}", file=sys.stderr)
            elif rest == "cpu" and f"{name}|error" not in answers:
                cpu[name + mark] = float(value)
            elif rest.endswith("|chances") and f"{name}|error" not in answers:
                chances = np.zeros((len(self.X_test), self.n_classes))
                chances[:, labels] = value
                n_bins = int(answers[key.replace("chances", "bins")])
                found[name + mark].append(self.measured(chances) | {"bins": n_bins})
        return dict(found), cpu


def cells(options):
    """Every record of tables, splits and parts; those in the cache are not measured again."""
    done = {}
    if options.cache and options.cache.exists():
        for line in options.cache.read_text().splitlines():
            record = json.loads(line)
            done[tuple(record["key"])] = record
    for name, source in available(options.tables):
        if not name.startswith("c_"):
            continue
        if options.sets and not any(part in name for part in options.sets):
            continue
        for seed in range(options.repeats):
            cell = None
            for part in options.parts:
                key = (name, seed, part)
                if key not in done:
                    record = {"key": key}
                    try:
                        if cell is None:
                            cell = Cell(*read(source, options.rows, seed), seed)
                        record["classes"] = cell.n_classes
                        record["rows"], record["columns"] = cell.X.shape
                        record["found"], record["cpu"] = getattr(cell, part)(options)
                    except Exception:
                        record["error"] = traceback.format_exc()
                        print(f"{key}: {record['error']}", file=sys.stderr)
                    done[key] = record
                    if options.cache:
                        with options.cache.open("a") as file:
                            file.write(json.dumps(record) + "\n")
                yield done[key]


# ------------------------------------------------------------------- tables


def _means(found, names):
    """By contestant, place of the size and figure: the mean over splits of each table."""
    means = defaultdict(dict)
    for contestant, by_table in found.items():
        for table, splits in by_table.items():
            if table not in names:
                continue
            for place in range(len(splits[0])):
                for figure in FIGURES:
                    own = float(np.mean([split[place][figure] for split in splits]))
                    means[contestant, place, figure][table] = own
    return means


def _with_error(differences):
    values = np.array(differences)
    error = f" +- {values.std(ddof=1) / np.sqrt(len(values)):.2f}" if len(values) > 1 else ""
    return f"{values.mean():+.2f}{error}"


def printed(records):
    """Print a table for two classes and one for more."""
    failed = [record["key"] for record in records if "error" in record]
    if failed:
        print(f"\nfailed: {failed}")
    records = [record for record in records if "error" not in record]
    for title, few in (("Two classes", True), ("More classes", False)):
        own = [record for record in records if (record["classes"] == 2) == few]
        if not own:
            continue
        found, cpu = defaultdict(lambda: defaultdict(list)), defaultdict(list)
        bins, features = defaultdict(list), defaultdict(list)
        for record in own:
            for contestant, sizes in record["found"].items():
                found[contestant][record["key"][0]].append(sizes)
                for place, size in enumerate(sizes):
                    bins[contestant, place].append(size.get("bins", np.nan))
                    features[contestant, place].append(size.get("features", np.nan))
            for contestant, seconds in record["cpu"].items():
                cpu[contestant].append(seconds)
        # only tables that all contestants have answered
        names = set.intersection(*(set(by_table) for by_table in found.values()))
        means = _means(found, names)
        print(f"\n{title}: {len(names)} tables\n")
        print("| | size | bins | features | agreement | accuracy | log loss | CPU s |")
        print("|---|---|---|---|---|---|---|---|")
        for contestant in found:
            n_sizes = len(next(iter(found[contestant].values()))[0])
            for place in range(n_sizes):
                size = LEAVES[place] if "tree" in contestant else BINS[place]
                figures = [np.mean(list(means[contestant, place, f].values())) for f in FIGURES]
                counts = [np.mean(each[contestant, place]) for each in (bins, features)]
                counts = ["" if np.isnan(count) else f"{count:.0f}" for count in counts]
                seconds = f"{np.mean(cpu[contestant]):.1f}" if cpu[contestant] else ""
                label = size if n_sizes > 1 else ""
                print(
                    f"| {contestant} | {label} | {' | '.join(counts)} | {figures[0]:.1f} "
                    f"| {figures[1]:.1f} | {figures[2]:.3f} | {seconds} |"
                )
        if "card" not in found:
            continue
        print("\n| card less | size | agreement | accuracy | log loss |\n|---|---|---|---|---|")
        for contestant in found:
            for place, size in enumerate(BINS):
                n_sizes = len(next(iter(found[contestant].values()))[0])
                other = place if n_sizes > 1 else 0
                if contestant == "card":
                    continue
                cells_ = [
                    _with_error(
                        [
                            means["card", place, f][t] - means[contestant, other, f][t]
                            for t in sorted(names)
                        ]
                    )
                    for f in FIGURES
                ]
                print(f"| {contestant} | {size} | {' | '.join(cells_)} |")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--tables", help="folder of CSV files c_..., last column target")
    parser.add_argument("--sets", nargs="*", help="parts of names")
    parser.add_argument("--repeats", type=int, default=2)
    parser.add_argument("--rows", type=int, default=3000)
    parser.add_argument("--peers", default=sys.executable)
    parser.add_argument("--fasterrisk", default=sys.executable)
    parser.add_argument("--parts", nargs="*", choices=PARTS, default=list(PARTS))
    parser.add_argument("--cache", type=Path)
    options = parser.parse_args()
    warnings.filterwarnings("ignore")
    print(environment())
    printed(list(cells(options)))


if __name__ == "__main__":
    main()
