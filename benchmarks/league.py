"""A default random forest, and what to make of it: all methods here beside what others offer.

    python -m benchmarks.league run [--data DIR] [--store DIR] [--ours] [--jobs 2] [--splits 5]
    python -m benchmarks.league report [--store DIR]

``run`` fits what is not in the store yet, split by split, and may be stopped and begun again at any
time; ``--ours`` takes the methods of this package alone, ``--peers`` all others, which do not
change with it. Peers whose package is not installed are left out, so that those which need other
versions of scikit-learn can be added by a run in an environment of their own. ``--package DIR``
measures another checkout of this package. Without ``--data``, a directory of CSV files with a last
column ``target``, the sets of packages are run alone. ``report`` prints what is stored.

A third of the rows of a set judges. The forest, a default one, is fitted on all other rows ("own
rows"), or on 60 % of them ("all rows": trees learn from the others, too). Sets and encoding:
`benchmarks._league_sets`; methods and their settings: `benchmarks._league_contestants`. Each
fit of a peer has so many seconds of CPU (``--seconds``); a search that needed more is not tried
again on other splits of the set, nor for larger trees.
"""

from __future__ import annotations

import argparse
import hashlib
import itertools
import json
import math
import multiprocessing
import os
import re
import resource
import signal
import sys
import time
import warnings
from collections import defaultdict
from concurrent.futures import ThreadPoolExecutor
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from threading import Lock

import numpy as np

from benchmarks._league_contestants import CONTESTANTS, SIZES, WHOLE
from benchmarks._league_sets import NEW, SETTINGS, Cell, is_regression, make_cell, names
from benchmarks._record import ROOT, environment

FIRST_SPLIT = 8200
STORE = ROOT / "build" / "league"
MEMORY = 4 << 30  # bytes of a process
FEW = 5  # test rows of a class that tell too little
CONTEXT = multiprocessing.get_context("forkserver")
BASE, PRUNED = "plain tree on answers", "plain tree on answers, pruned"

# ------------------------------------------------------------------- measuring


def own_version(package):
    """The version of a checkout of this package, and a digest of its sources."""
    folder = Path(package) / "ensemble_simplify"
    files = sorted(p for p in folder.rglob("*") if p.suffix in (".py", ".pyx", ".pxd"))
    digest = hashlib.sha1(b"".join(path.read_bytes() for path in files)).hexdigest()[:7]
    number = re.search(r'^__version__ = "(.+)"$', (folder / "__init__.py").read_text(), re.M)[1]
    return f"{number} {digest}"


class Store:
    """Results by what they are of, in a file of a line each."""

    def __init__(self, folder):
        self.cells = Path(folder) / "cells"
        self.path = Path(folder) / "results.jsonl"
        self.rows, self.known = {}, set()
        self.lock = Lock()
        if self.path.exists():
            for line in self.path.read_text(encoding="utf-8").splitlines():
                self._keep(json.loads(line))

    def _keep(self, row):
        key = tuple(row[part] for part in ("set", "split", "setting", "contestant", "size"))
        self.known |= {key, (*key, row["version"])}
        self.rows[*key, row["version"]] = row

    def add(self, row):
        with self.lock:
            self._keep(row)
            with open(self.path, "a", encoding="utf-8") as file:
                file.write(json.dumps(row) + "\n")

    def has(self, name, split, setting, contestant, size, release):
        """Whether it is there; what peers do does not depend on the version."""
        key = name, split, setting, contestant, size
        return ((*key, release) if CONTESTANTS[contestant].ours else key) in self.known

    def gave_up(self, name, contestant, size):
        """Whether a search was out of time on this set, for a tree of at most that size."""
        return any(
            row.get("failed") == "out of time" and row["size"] <= size
            for key, row in list(self.rows.items())
            if key[0] == name and key[3] == contestant
        )


def installed(package):
    """The version of a package; None if it is not there."""
    try:
        return version(package)
    except PackageNotFoundError:
        return None


def todo(store, name, split, setting, slow, options, release):
    """What there is to fit in a cell: contestants, sizes and versions."""
    task = "r" if is_regression(name) else "c"
    for title, contestant in CONTESTANTS.items():
        if contestant.ours != options.ours and options.ours != options.peers:
            continue
        if contestant.slow != slow:
            continue
        if options.contestants and title not in options.contestants:
            continue
        if task not in contestant.tasks or (setting == "all rows" and not contestant.all_rows):
            continue
        if contestant.ours:
            its = release
        elif contestant.needs:
            its = installed(contestant.needs)
            if its is None:
                continue
        else:
            its = version("scikit-learn")
        for size in contestant.sizes:
            if not store.has(name, split, setting, title, size, its):
                yield title, size, its


def figures(cell, predicted):
    """How right the answers to test rows are, and how like the model's."""
    if cell.regression:
        return {
            "accuracy": _r2(cell.y_test, predicted),
            "agreement": _r2(cell.answers_test, predicted),
        }
    right = predicted == cell.y_test
    recalls = [right[cell.y_test == label].mean() for label in np.unique(cell.y_test)]
    return {
        "accuracy": float(right.mean()),
        "agreement": float(np.mean(predicted == cell.answers_test)),
        "balanced": float(np.mean(recalls)),
        "worst": worst_class(predicted, cell.answers_test),
    }


def worst_class(predicted, answers):
    """Least share of the rows to which the model gives one class that get it here, too."""
    labels, counts = np.unique(answers, return_counts=True)
    enough = labels[counts >= FEW]
    return float(min(np.mean(predicted[answers == label] == label) for label in enough))


def _r2(truth, values):
    return float(1 - np.mean((truth - values) ** 2) / np.var(truth))


def serve(pipe, path, name, split, tasks, seconds, package):
    """Fit some contestants on a cell, in a process that is killed where one needs too long."""
    warnings.simplefilter("ignore")
    if package not in sys.path:
        sys.path.insert(0, package)
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    if any(
        CONTESTANTS[title].ours or title.endswith("pruned") or title == "GOSDT"
        for title, _ in tasks
    ):
        import ensemble_simplify.representer  # noqa: F401 - its time is that of nobody
    cell = Cell(path, name, split)
    for title, size in tasks:
        contestant = CONTESTANTS[title]
        if contestant.ours or title == "forest":
            cell.forest.n_jobs = 1
            _limit(resource.RLIM_INFINITY)
        else:
            _limit(math.ceil(time.process_time()) + seconds)
        begin = time.process_time()
        try:
            fit = contestant.fit
            found = fit(cell) if contestant.sizes == WHOLE else {size: fit(cell, size)}
            took = time.process_time() - begin
            rows = [
                {
                    "size": of,
                    **figures(cell, np.asarray(fitted.predict(cell.X_test))),
                    "leaves": float(fitted.leaves),
                    "trees": float(fitted.trees),
                    "seconds": took,
                }
                for of, fitted in found.items()
            ]
        except Exception as error:  # of a peer, whatever it may be: it is recorded
            rows = [{"size": size, "failed": f"{type(error).__name__}: {error}"[:200]}]
        pipe.send(rows)
    pipe.close()


def _limit(seconds):
    resource.setrlimit(resource.RLIMIT_CPU, (seconds, resource.RLIM_INFINITY))


def fit_cell(store, name, split, setting, slow, options, release):
    """Fit what is to be done in a cell: searches each in a process of its own."""
    tasks = list(todo(store, name, split, setting, slow, options, release))
    if not tasks:
        return
    path = store.cells / f"{name}-{split}-{setting.replace(' ', '-')}.npz"
    make_cell(path, name, split, setting, options.data)
    if not is_regression(name) and len(np.unique(Cell(path, name, split).y)) > 2:
        tasks = [task for task in tasks if not CONTESTANTS[task[0]].two_classes]
    same = {"set": name, "split": split, "setting": setting}
    while tasks:
        title, size, its = tasks[0]
        if slow and store.gave_up(name, title, size):
            tasks.pop(0)
            failed = {"failed": "not tried: out of time before"}
            store.add({**same, "contestant": title, "version": its, "size": size, **failed})
            continue
        some = tasks[:1] if slow else tasks
        pipe, theirs = CONTEXT.Pipe(duplex=False)
        where = path, name, split, [task[:2] for task in some]
        process = CONTEXT.Process(
            target=serve, args=(theirs, *where, options.seconds, str(options.package))
        )
        process.start()
        theirs.close()
        ended = None
        for title, size, its in some:
            try:
                rows = pipe.recv()
            except EOFError:
                process.join()
                late = process.exitcode == -signal.SIGXCPU
                ended = "out of time" if late else f"ended with exit code {process.exitcode}"
                rows = [{"size": size, "failed": ended}]
            for row in rows:
                store.add({**same, "contestant": title, "version": its, **row})
            tasks = tasks[1:]
            if ended:
                break
        process.join()


def run(store, options):
    """Fit what is not in the store, all sets of one split after another."""
    store.cells.mkdir(parents=True, exist_ok=True)
    os.environ["OMP_NUM_THREADS"] = "1"
    preload = ["benchmarks._league_contestants", "benchmarks._league_sets"]
    if not options.ours:
        preload += [
            "imodels",
            "interpret.glassbox",
            "pystreed",
            "c50py",
            "licketysplit",
            "pycontree",
        ]
    CONTEXT.set_forkserver_preload(preload)
    release = own_version(options.package)
    begin = time.time()
    splits = range(FIRST_SPLIT, FIRST_SPLIT + options.splits)
    with ThreadPoolExecutor(options.jobs) as pool:
        for slow, split in itertools.product((False, True), splits):
            if time.time() - begin > 60 * options.minutes:
                print(f"ended before split {split}: {options.minutes} minutes are over")
                return
            cells = [
                (store, name, split, setting, slow, options, release)
                for name in options.sets or names(options.data)
                for setting in SETTINGS
            ]
            list(pool.map(lambda cell: fit_cell(*cell), cells))
            which = "searches" if slow else "all but searches"
            print(f"{which}, split {split}: {(time.time() - begin) / 60:.1f} min", flush=True)


# ------------------------------------------------------------------- tables

# The order of the tables: methods of this package first.
SIZED = (
    "representer", "simplify", "born-again", "GENESIM", "cultivated", BASE, PRUNED,
    "plain tree on out-of-bag answers", "plain tree on out-of-bag answers, pruned",
    "plain tree on y", "plain tree on y, tuned", "HSTree", "FIGS", "C5.0", "SIRUS", "SPLIT",
    "STreeD", "ConTree", "GOSDT",
)  # fmt: skip
OWN_SIZE = (
    "forest", "born-again", "GENESIM", "cultivated, whole", "faithful pruning",
    "feature-budget pruning", "forest of 10 trees", "linear model", "EBM",
    "plain tree on y, tuned, any size", "C5.0",
)  # fmt: skip
FRONT = tuple(title for title in SIZED if title not in ("GOSDT", "SIRUS", "plain tree on y"))
# One less the other: what is said of the first.
PAIRS = (
    *(("representer", other) for other in SIZED[1:]),
    *(("simplify", other) for other in ("representer", PRUNED)),
    *(
        ("GENESIM", other)
        for other in ("plain tree on y, tuned", "HSTree", "STreeD", "SPLIT", "ConTree", "C5.0")
    ),
    *(("cultivated", other) for other in ("plain tree on y, tuned", "HSTree", "linear model")),
    *(("born-again", other) for other in (BASE, "plain tree on out-of-bag answers")),
)
CAPTION = (
    "Agreement with a default forest, and accuracy, on test rows, of trees of at most 8, 16 and 32 "
    "leaves: points more than a plain tree on the forest's answers, ± the "
    "standard error over {sets} data sets ({new} of them new here, {splits} splits each). The "
    "plain tree: agreement {agreement}, accuracy {accuracy}. Seconds of CPU are those of 8 leaves. "
    "Methods of this package in bold."
)


class Figures:
    """The results of one version of this package, and of all others."""

    def __init__(self, rows=(), release=None):
        self.release = release
        self.cells = defaultdict(dict)
        self.failed = defaultdict(list)
        for row in rows:
            title = row["contestant"]
            if CONTESTANTS[title].ours and row["version"] != self.release:
                continue
            key = title, row["setting"], row["size"]
            where = row["set"], row["split"]
            if "failed" in row:
                self.failed[key].append((*where, row["failed"]))
            else:
                self.cells[key][where] = row

    def of(self, title, size, setting="own rows"):
        """By set and split. A contestant without sizes is the same at each of them."""
        return self.cells.get((title, setting, size)) or self.cells[title, setting, 0]

    def mean(self, figure, title, size, setting, sets):
        """The mean over sets; None if it lacks one of them."""
        by_set = defaultdict(list)
        for (name, _), row in self.of(title, size, setting).items():
            if name in sets:
                by_set[name].append(row[figure])
        if not sets or not set(sets) <= set(by_set):
            return None
        return float(np.mean([np.mean(by_set[name]) for name in sets]))

    def gap(self, figure, one, other, size, setting, sets):
        """Mean and standard error over sets of differences in the same splits, and their number."""
        mine, theirs = self.of(one, size, setting), self.of(other, size, setting)
        by_set = defaultdict(list)
        for where in mine.keys() & theirs.keys():
            by_set[where[0]].append(mine[where][figure] - theirs[where][figure])
        values = 100 * np.array([np.mean(by_set[name]) for name in sets if name in by_set])
        if not values.size:
            return None
        error = values.std(ddof=1) / math.sqrt(values.size) if values.size > 1 else math.nan
        return float(values.mean()), float(error), values.size

    def sets(self, title=BASE, setting="own rows"):
        """Sets of classes and of values that have results."""
        found = {name for name, _ in self.of(title, SIZES[0], setting)}
        order = [name for name in names("papers") if name in found]
        return [n for n in order if not is_regression(n)], [n for n in order if is_regression(n)]


def bold(title):
    return f"**{title}**" if title in CONTESTANTS and CONTESTANTS[title].ours else title


def difference(gap, n_sets):
    """As text; with the number of sets if some are lacking."""
    if gap is None:
        return ""
    mean, error, n = gap
    of = f" ({n} set{'s' if n > 1 else ''})" if n < n_sets else ""
    return f"{mean:+.1f}" + (f" ± {error:.1f}" if n > 1 else "") + of


def percent(value, scale=100):
    return "" if value is None else f"{scale * value:.1f}"


def seconds(value):
    if value is None:
        return ""
    return f"{value:.2f}" if value >= 0.005 else "< 0.01"


def table(head, rows):
    """Lines of a table."""
    yield "| " + " | ".join(head) + " |"
    yield "|---" * len(head) + "|"
    for row in rows:
        yield "| " + " | ".join(row) + " |"


def sized(results, sets, setting="own rows", titles=SIZED):
    """Differences to the plain tree at all sizes."""
    for title in titles:
        if not any(results.of(title, size, setting).keys() for size in SIZES):
            continue
        cells = [
            "" if title == BASE else difference(
                results.gap(figure, title, BASE, size, setting, sets), len(sets)
            )
            for figure in ("agreement", "accuracy")
            for size in SIZES
        ]  # fmt: skip
        if title == BASE or any(cells):
            yield [bold(title), *cells, seconds(_seconds(results, title, sets, setting))]


def _seconds(results, title, sets, setting="own rows"):
    """Seconds of CPU of 8 leaves, over the sets that there are."""
    its = {name for name, _ in results.of(title, SIZES[0], setting)}
    return results.mean("seconds", title, SIZES[0], setting, [n for n in sets if n in its])


HEAD = (
    "Method", "Agreement, 8", "16", "32", "Accuracy, 8", "16", "32", "CPU s",
)  # fmt: skip


def absolute(results, sets, size, regression=False):
    """Every figure of trees of a size, where all sets have it."""
    kinds = ("accuracy", "agreement") if regression else (
        "accuracy", "agreement", "balanced", "worst"
    )  # fmt: skip
    for title in ("forest", *SIZED):
        cells = [percent(results.mean(kind, title, size, "own rows", sets)) for kind in kinds]
        if all(cells):
            leaves = results.mean("leaves", title, size, "own rows", sets)
            yield [bold(title), f"{leaves:,.1f}", *cells]


def whole(results, sets):
    """Models of a size of their own."""
    for title in OWN_SIZE:
        found = results.cells.get((title, "own rows", 0), {})
        its = [name for name in sets if name in {name for name, _ in found}]
        if not its:
            continue
        rows = [row for (name, _), row in found.items() if name in its]
        leaves, trees = (np.mean([row[key] for row in rows]) for key in ("leaves", "trees"))
        form = "" if np.isnan(leaves) else f"{leaves:,.0f}"
        gaps = [
            "" if title == "forest" else difference(
                results.gap(kind, title, "forest", 0, "own rows", its), len(sets)
            )
            for kind in ("agreement", "accuracy")
        ]  # fmt: skip
        yield [
            bold(title), form, "" if np.isnan(trees) or not form else f"{trees:.0f}",
            percent(np.mean([row["accuracy"] for row in rows])),
            percent(np.mean([row["agreement"] for row in rows])), *gaps,
            seconds(np.mean([row["seconds"] for row in rows])),
        ]  # fmt: skip


def claims(results, sets):
    """One method less another, at all sizes."""
    for one, other in PAIRS:
        gaps = [
            difference(results.gap(figure, one, other, size, "own rows", sets), len(sets))
            for figure in ("agreement", "accuracy")
            for size in SIZES
        ]
        if any(gaps):
            yield [f"{bold(one)} less {bold(other)}", *gaps]


def verdicts(results, sets):
    """Which others a method of this package is ahead of, even with, or behind, at each size."""
    for one in SIZED:
        for figure in ("agreement", "accuracy") if CONTESTANTS[one].ours else ():
            for size in SIZES:
                sides = {1: [], 0: [], -1: []}
                for other in SIZED:
                    gap = results.gap(figure, one, other, size, "own rows", sets)
                    if other != one and gap is not None and gap[2] > 1:
                        clear = abs(gap[0]) > 2 * gap[1]
                        sides[int(np.sign(gap[0])) if clear else 0].append(other)
                if any(sides.values()):
                    lists = ["; ".join(map(bold, sides[side])) or "none" for side in (1, 0, -1)]
                    yield [bold(one), figure, str(size), *lists]


def times(results, before):
    """Seconds of two versions of this package, where both are there."""
    for title, contestant in CONTESTANTS.items():
        for setting in SETTINGS if contestant.ours else ():
            for size in contestant.sizes:
                mine = results.cells.get((title, setting, size), {})
                theirs = before.cells.get((title, setting, size), {})
                both = sorted(mine.keys() & theirs.keys())
                if both:
                    now, then = (
                        np.array([found[where]["seconds"] for where in both])
                        for found in (mine, theirs)
                    )
                    yield [
                        title, setting, str(size or ""), f"{len(both)}", seconds(then.mean()),
                        seconds(now.mean()), f"{now.sum() / then.sum():.2f}",
                        f"{np.max(now / np.maximum(then, 0.01)):.1f}",
                    ]  # fmt: skip


def worths(results, before, sets):
    """The agreement and accuracy of two versions of this package."""
    both = Figures()
    for title, contestant in CONTESTANTS.items():
        for setting in SETTINGS if contestant.ours else ():
            for size in (*SIZES, 0):
                key = title, setting, size
                both.cells[f"{title} now", setting, size] = results.cells.get(key, {})
                both.cells[f"{title} then", setting, size] = before.cells.get(key, {})
            gaps = [
                difference(
                    both.gap(kind, f"{title} now", f"{title} then", size, setting, sets), len(sets)
                )
                for kind in ("agreement", "accuracy")
                for size in SIZES
            ]
            if any(gaps):
                yield [title, setting, *gaps]


def per_set(results, sets, size, titles):
    """Accuracy / agreement of each set."""
    for name in sets:
        cells = []
        for title in titles:
            pair = [
                results.mean(k, title, size, "own rows", [name]) for k in ("accuracy", "agreement")
            ]
            cells.append("" if None in pair else " / ".join(map(percent, pair)))
        yield [name, *cells]


def failures(results):
    """Who found nothing, and why."""
    for (title, setting, size), cells in results.failed.items():
        reasons = defaultdict(list)
        for name, split, why in cells:
            reasons[why].append(f"{name} {split}")
        for why, where in reasons.items():
            yield [title, setting, str(size or ""), str(len(where)), why.replace("|", "/")]


def versions(results):
    """What was measured."""
    its = {}
    for (title, _, _), found in results.cells.items():
        for row in found.values():
            its[CONTESTANTS[title].needs or "scikit-learn"] = row["version"]
    return ", ".join(f"{package} {its[package]}" for package in sorted(its))


def report(store, options):
    """The tables of what is stored; the first is for the page that compares methods."""
    rows = list(store.rows.values())
    own = [row["version"] for row in rows if CONTESTANTS[row["contestant"]].ours]
    here = own_version(options.package)
    release = options.version or (here if here in own or not own else own[-1])
    results = Figures(rows, release)
    classes, values = results.sets()
    if not classes:
        print("Nothing is stored.")
        return
    both = results.of(BASE, SIZES[0]).keys()
    both &= results.of(SIZED[0], SIZES[0]).keys() or both
    splits = len({split for _, split in both})
    plain = {
        kind: " / ".join(
            f"{100 * results.mean(kind, BASE, size, 'own rows', classes):.1f} %" for size in SIZES
        )
        for kind in ("agreement", "accuracy")
    }
    new = [name for name in classes if name in NEW]
    print(f"Measured with {versions(results)}.", end=" ")
    print(f"Not the sources here: they are {here}.\n" if release != here else "\n")
    print(CAPTION.format(sets=len(classes), new=len(new), splits=splits, **plain), end="\n\n")
    print("\n".join(table(HEAD, sized(results, classes, titles=FRONT))), end="\n\n")

    def show(title, head, lines):
        lines = list(lines)
        if lines:
            print(f"### {title}\n")
            print("\n".join(table(head, lines)), end="\n\n")

    show(
        "Ahead, even and behind: differences of more than two standard errors",
        ("Method", "Figure", "Leaves", "Ahead of", "Even with", "Behind"),
        verdicts(results, classes),
    )
    show("Models of their own size, less the forest", (
        "Method", "Leaves", "Trees", "Accuracy", "Agreement", "Agreement less forest's",
        "Accuracy less forest's", "CPU s",
    ), whole(results, classes))  # fmt: skip
    for title, sets in (("new", new), ("papers'", [n for n in classes if n not in NEW])):
        show(f"{title.capitalize()} sets alone ({len(sets)})", HEAD, sized(results, sets))
    for title, sets in (
        ("All sets", classes), ("New sets", new),
        ("Papers' sets", [name for name in classes if name not in NEW]),
    ):  # fmt: skip
        show(
            f"{title} ({len(sets)}), the forest fitted on 60 % of the rows",
            HEAD,
            sized(results, sets, "all rows"),
        )
    show("One less another", HEAD[:-1], claims(results, classes))
    for size in SIZES:
        show(f"{size} leaves, all figures in per cent", (
            "Method", "Leaves", "Accuracy", "Agreement", "Balanced accuracy", "Worst class",
        ), absolute(results, classes, size))  # fmt: skip
    show(
        f"Regression, {len(values)} sets: R² x 100 less the plain tree's",
        ("Method", "Against forest, 8", "16", "32", "Against y, 8", "16", "32", "CPU s"),
        sized(results, values),
    )
    show(
        "Regression, the forest fitted on 60 % of the rows",
        ("Method", "Against forest, 8", "16", "32", "Against y, 8", "16", "32", "CPU s"),
        sized(results, values, "all rows"),
    )
    for size in SIZES:
        show(f"Regression, {size} leaves: R² x 100", (
            "Method", "Leaves", "Against y", "Against forest",
        ), absolute(results, values, size, regression=True))  # fmt: skip
    found = [version for version in own if options.before and version.startswith(options.before)]
    if found:
        before = Figures(rows, found[-1])
        show(f"Seconds of {before.release} and {results.release}", (
            "Method", "Setting", "Leaves", "Cells", "Before", "Now", "Ratio", "Largest",
        ), times(results, before))  # fmt: skip
        for title, sets in (("classes", classes), ("values", values)):
            show(f"{results.release} less {before.release}, {title}", (
                "Method", "Setting", *HEAD[1:-1],
            ), worths(results, before, sets))  # fmt: skip
    show("Accuracy / agreement of each set, 8 leaves", (
        "Set", "forest", BASE, "plain tree on out-of-bag answers", "representer", "GENESIM",
        "STreeD",
    ), per_set(results, [*classes, *values], SIZES[0], (
        "forest", BASE, "plain tree on out-of-bag answers", "representer", "GENESIM", "STreeD",
    )))  # fmt: skip
    show("Without a result", ("Method", "Setting", "Leaves", "Splits", "Why"), failures(results))


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("action", choices=["run", "report"])
    parser.add_argument("--store", default=STORE, help="directory of results, build/league")
    parser.add_argument("--data", help="directory of CSV files")
    parser.add_argument("--ours", action="store_true", help="fit the methods of this package")
    parser.add_argument("--peers", action="store_true", help="fit all others")
    parser.add_argument("--contestants", nargs="+", choices=CONTESTANTS, metavar="NAME")
    parser.add_argument("--sets", nargs="+")
    parser.add_argument("--splits", type=int, default=5)
    parser.add_argument("--minutes", type=float, default=math.inf, help="begin no split after")
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--seconds", type=int, default=20, help="of CPU for a fit of a peer")
    parser.add_argument("--package", default=str(ROOT), help="a checkout of this package")
    parser.add_argument("--version", help="of this package, to report on")
    parser.add_argument("--before", help="another version, to report beside it")
    options = parser.parse_args()
    store = Store(options.store)
    if options.action == "report":
        print(environment())
        report(store, options)
    else:
        os.environ["PYTHONPATH"] = os.pathsep.join([options.package, str(ROOT)])
        run(store, options)


if __name__ == "__main__":
    main()
