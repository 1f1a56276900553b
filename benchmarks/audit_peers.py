"""Questions of an audit asked of public models, beside other programs.

    sensitive  can changing some features alone change the class, or move the probability?
    flips      the smallest change of a row that changes its class, some features staying

``--models DIR`` is a checkout of formal-trust-AI/ensense on GitHub (GPL-3.0), the program of
"Data-Aware and Scalable Sensitivity Analysis for Decision Tree Ensembles" (ICLR 2026, arXiv
2602.07453). Its folder ``models`` holds XGBoost models in JSON, the tables that they were fitted
on, and the models of Chen et al. (NeurIPS 2019) on which "Sensitivity Verification for Additive
Decision Tree Ensembles" (ICLR 2025, Arhaan/SensPB on GitHub, no licence) was measured too. Nothing
of either is kept in this project: the files are read where they are, and those that a checkout
lacks are left out.

``sensitive`` asks each model about its features one by one (`SINGLES` of them at most, drawn) and
about sets of features: those that the checkout's own tests name, protected ones (`PROTECTED`), and
drawn sets of three. Inputs are those within the bounds of the checkout's tables. Four questions
each: can the class change; can the probability move by more than .2, by more than .4; can it move
by more than .2 near a training row (at most one other feature differs), where there are rows?
``--their-python PYTHON`` names an interpreter that has what the checkout requires (XGBoost 3.0
reads its files): then its solver by pseudo-Boolean constraints and Z3, the method of 2025, is asked
about `THEIRS` as well, under the same limit. Its seconds are the ones that it prints, of the solver
alone. Its mixed-integer solver of 2026 needs a licence of Gurobi for models of this size: for it,
the seconds that the outputs of the checkout's own tests record are printed, where they are about
several features. It asks a narrower question: for a pair with probabilities at most .5 - gap/2 and
at least .5 + gap/2. So "no" here implies "no" there, and "yes" there implies "yes" here. A pair is
held where the model itself, asked for both rows, confirms it: "pb refuted" counts proofs of no pair
there, where a pair found here is one of the narrower question too.

``flips`` asks for the first test rows of four tables, with protected features frozen, and of two
sets of scikit-learn with boosting of 100 trees of depth 3, the two most important features frozen:

- ``ours``: `nearest_flip`, at most ``--changes`` features; the fewest changes, then the nearest.
- ``treecf exact``: branch and bound with a price on each change that makes it the same question,
  without a limit on the number of changes; ``treecf nearest``: the least distance whatever the
  number of changes; ``treecf``: its default, a genetic search.
- ``dice random``, ``dice genetic``: DiCE with one counterfactual a row.
- ``mlxtend``: Wachter's method by Nelder-Mead, from a training row of the other class, its weight
  raised (.1 to 1,000) until the class changes. It cannot freeze features or bound them: it is given
  the model as a function of the others.

The distance is the sum of changes, each divided by the feature's standard deviation in the training
rows; all are told these scales where they take any. `judged` computes it, and whether a flip is
valid (the model itself answers the other class, frozen features are kept, bounds are), for all
alike. Those that search until a limit have ``--seconds`` a row. Their seconds count a share of what
a method does once a model; `ours` is given all rows in one call. ``--their-python`` names the
interpreter that has treecf, dice-ml and mlxtend (all run in this one without it).

``--store FILE`` keeps a line of JSON an answer, so that a run can be made in pieces; ``--report``
prints what is there. Seconds are of CPU; give all one thread (OMP_NUM_THREADS=1).
"""

from __future__ import annotations

import argparse
import json
import math
import os
import re
import subprocess
import sys
import tempfile
import time
import warnings
from collections import defaultdict
from functools import cache
from pathlib import Path
from types import MappingProxyType

import numpy as np
import pandas as pd
from sklearn.datasets import load_breast_cancer, load_digits
from sklearn.ensemble import GradientBoostingClassifier
from sklearn.model_selection import train_test_split

from benchmarks._record import ROOT, environment

SEED = 30
SINGLES, DRAWN = 8, 3  # questions about one feature, and about drawn sets of three, a model
GAPS = (0.2, 0.4)

OWN = ("adult", "churn", "pimadiabetes", "german_credit", "iris", "winequality_red")
PROTECTED = {
    "adult": ("age", "race", "sex", "native-country"),
    "churn": ("customerID", "gender", "SeniorCitizen"),
    "pimadiabetes": ("Pregnancies", "Age"),
    "german_credit": ("PersonalStatusSex", "Age", "ForeignWorker"),
}
# What the tests of the checkout ask of several features at once, by numbers of features.
ASKED = {"adult": ((5, 7), (3, 9), (5, 11)), "breast_cancer": ((5, 7), (1, 2, 3, 4, 5, 6, 7))}
# The models of two classes that the checkout's own run of experiments asks about.
THEIRS = (
    "breast_cancer_robust",
    "breast_cancer_unrobust",
    "diabetes_unrobust",
    "ijcnn_unrobust",
    "adult_t300_d5",
    "churn_t500_d5",
    "pimadiabetes_t500_d5",
    "german_credit_t500_d5",
)
FLIPPED = (
    "german_credit_t500_d5",
    "german_credit_t800_d6",
    "pimadiabetes_t200_d5",
    "pimadiabetes_t500_d6",
    "adult_t200_d5",
    "adult_t500_d6",
    "churn_t200_d5",
    "churn_t500_d6",
)
NODES = 10**12  # of treecf's search: the time limit ends it
PRICE = 1e3  # of a change, above all distances: fewest changes come first
WEIGHTS = (0.1, 1.0, 10.0, 100.0, 1000.0)  # of the class in Wachter's loss


# ------------------------------------------------------------------- the public models


class Public:
    """A public model with its table: names, bounds and, where there are any, rows."""

    def __init__(self, path, folder):
        self.path = path
        self.name = path.stem if path.parent.name in OWN else path.parent.name
        self.table = re.sub(r"_(t\d+_d\d+|robust|unrobust)$", "", self.name)
        self.rows = folder / "models" / "dataset" / self.table
        own = self.rows / "details.csv"
        self.details = own if own.exists() else self.rows / f"{self.table}_details.csv"

    @property
    def model(self):
        return _model(self.path)

    @property
    def names(self):
        booster = self.model.get_booster()
        return booster.feature_names or [f"f{j}" for j in range(booster.num_features())]

    @property
    def bounds(self):
        """The lowest and the highest value of each feature, by its number."""
        if not self.details.exists():
            return {}
        told = pd.read_csv(self.details)
        low_high = zip(told["lb"].astype(float), told["ub"].astype(float), strict=True)
        return dict(zip(told["feature"].astype(int).tolist(), low_high, strict=True))

    @property
    def sizes(self):
        """Trees, and the depth of the deepest."""
        booster = self.model.get_booster()
        trees = booster.get_dump(dump_format="text")
        depth = max(line.count("\t") for tree in trees for line in tree.splitlines())
        return len(trees), depth

    def used(self):
        """Numbers of the features that occur in a tree."""
        names = self.names
        return sorted(names.index(name) for name in self.model.get_booster().get_fscore())

    def read(self, part):
        """Rows and classes of "train" or "test"."""
        data = pd.read_csv(self.rows / f"{part}.csv")
        return data.iloc[:, : len(self.names)].to_numpy(float), data.iloc[:, -1].to_numpy()

    def protected(self):
        return [self.names.index(name) for name in PROTECTED.get(self.table, ())]

    def limits(self, rows):
        """Bounds of each feature, widened to rows that lie outside, as float32 too."""
        rows = np.vstack([rows, rows.astype(np.float32)])
        low, high = np.array([self.bounds[j] for j in range(len(self.names))]).T
        return np.minimum(low, rows.min(axis=0)), np.maximum(high, rows.max(axis=0))


class Wide(Public):
    """Boosting 100 x 3 of scikit-learn on one of its own sets, with more features."""

    def __init__(self, name):
        self.name = name

    @property
    def model(self):
        return _fitted(self.name)[0]

    @property
    def names(self):
        return [f"f{j}" for j in range(self.model.n_features_in_)]

    @property
    def bounds(self):
        X = _fitted(self.name)[1]["train"][0]
        return dict(enumerate(zip(X.min(axis=0).tolist(), X.max(axis=0).tolist(), strict=True)))

    def read(self, part):
        return _fitted(self.name)[1][part]

    def protected(self):
        return np.argsort(-self.model.feature_importances_)[:2].tolist()


@cache
def _model(path):
    from xgboost import XGBClassifier

    model = XGBClassifier(n_jobs=1)
    model.load_model(path)
    return model


@cache
def _fitted(name):
    load = {"breast_cancer": load_breast_cancer, "digits": load_digits}[name]
    X, y = load(return_X_y=True)
    # float32, as the model reads rows; of the digits, odd or even
    X, y = X.astype(np.float32).astype(float), y % 2
    X, X_test, y, y_test = train_test_split(X, y, test_size=1 / 3, random_state=SEED)
    model = GradientBoostingClassifier(random_state=SEED).fit(X, y)
    return model, {"train": (X, y), "test": (X_test, y_test)}


def public_models(folder):
    """All models of the checkout that are there, small ones first."""
    paths = [
        path for name in OWN for path in (folder / "models" / name).glob(f"{name}_t???_d?.json")
    ]
    paths += (folder / "models" / "tree_verification_models").glob("*/*.resaved.json")
    return [Public(path, folder) for path in sorted(paths, key=lambda path: path.stat().st_size)]


# ------------------------------------------------------------------- sensitive


def sets_of(public):
    """The sets of features that a model is asked about, and of which kind each is."""
    rng = np.random.default_rng(SEED)
    used = public.used()
    singles = sorted(rng.permutation(used)[:SINGLES].tolist())
    sets = {(j,): "one" for j in singles}
    sets |= dict.fromkeys(ASKED.get(public.table, ()), "several")
    if protected := public.protected():
        sets[tuple(sorted(protected))] = "several"
    if len(used) > 3:
        for _ in range(DRAWN):
            sets[tuple(sorted(rng.choice(used, 3, replace=False).tolist()))] = "several"
    return sets


def shown(public, pair, features):
    """What the model itself answers to two rows: classes, and probabilities of two classes.

    None where they differ in other features than these.
    """
    one, other = np.asarray(pair, float)
    same = (one == other) | (np.isnan(one) & np.isnan(other))
    if not set(np.flatnonzero(~same).tolist()) <= set(features):
        return None
    rows = np.stack([one, other])
    classes, proba = public.model.predict(rows), public.model.predict_proba(rows)
    return {
        "classes": classes.tolist(),
        "proba": proba[:, 1].astype(float).tolist() if proba.shape[1] == 2 else None,
    }


def moved(pair, gap):
    """Whether two answers are of two classes or, with a gap, further apart than that."""
    if pair is None or not gap:
        return pair is not None and pair["classes"][0] != pair["classes"][1]
    return abs(pair["proba"][0] - pair["proba"][1]) > gap


def straddled(pair, gap):
    """Whether two answers lie on both sides of .5, as far from it as the narrower question asks."""
    if pair is None or not gap:
        return moved(pair, gap)
    return min(pair["proba"]) <= 0.5 - gap / 2 and max(pair["proba"]) >= 0.5 + gap / 2


def asked_here(public, features, gap, near, options):
    from ensemble_simplify import Domain, is_sensitive

    asked = {"domain": Domain(bounds=public.bounds)} if public.bounds else {}
    asked |= {"gap": gap, "response": "probabilities"} if gap else {}
    if near:
        rows = public.read("train")[0]
        bounds = dict(enumerate(zip(*public.limits(rows), strict=True)))
        asked |= {"near": rows, "max_changes": 1, "domain": Domain(bounds=bounds)}
    start = time.process_time()
    outcome = is_sensitive(public.model, list(features), time_limit=options.seconds, **asked)
    answer = {"answer": outcome.sensitive, "seconds": time.process_time() - start}
    if outcome.sensitive:
        answer["pair"] = shown(public, np.asarray(outcome.counterexample), features)
    return answer


NUMBERS = r"\[(.*)\]"


def asked_there(public, features, gap, near, options):
    """What the checkout's pseudo-Boolean solver answers in a process of its own."""
    command = [
        *(options.their_python, "src/sensitive.py", str(public.path), "--solver", "pb"),
        *("--features", *map(str, features), "--timeout", str(math.ceil(options.seconds))),
        *("--output_gap", str(0.5 - gap / 2), str(0.5 + gap / 2)),
    ]
    if public.details.exists():
        command += ["--details", str(public.details)]
    variables = {**os.environ, "PYTHONPATH": "src"}
    with tempfile.TemporaryFile("w+") as file:
        try:
            # Reading the model and building the constraints come on top of the limit.
            limit = 4 * options.seconds + 60
            subprocess.run(
                command,
                cwd=options.models,
                env=variables,
                stdout=file,
                stderr=subprocess.DEVNULL,
                timeout=limit,
                check=False,
            )
        except subprocess.TimeoutExpired:
            return {"answer": None, "seconds": float(options.seconds)}
        file.seek(0)
        text = file.read()
    told = re.search(r"# Time: : ([\d.e+-]+)", text)
    answer = {"answer": None, "seconds": float(told[1]) if told else float(options.seconds)}
    if re.search(r"^Sensitive:", text, re.MULTILINE):
        pair = [
            [float(number) for number in re.search(rf"sample {i}:{NUMBERS}", text)[1].split(",")]
            for i in (1, 2)
        ]
        answer |= {"answer": True, "pair": shown(public, pair, features)}
    elif re.search(r"^Insensitive", text, re.MULTILINE):
        answer["answer"] = False
    return answer


def published(folder):
    """Lines of the seconds that the outputs of the checkout's tests record, several features."""
    for path in sorted((folder / "unit-tests" / "tests").glob("*/output.txt")):
        question = (path.parent / "option.txt").read_text(encoding="utf-8")
        told = re.search(r"Time:[ :]*([\d.e+-]+)", path.read_text(encoding="utf-8"))
        model = re.search(r"models/\S+", question)[0]
        features = re.search(r"--features ([\d ]+)", question)[1].strip()
        solver = re.search(r"--solver (\w+)", question)[1]
        gap = re.search(r"--output_gap (\S+ \S+)", question)
        if told and " " in features and solver == "milp":
            near = ", near the data" if "in_distro" in question else ""
            gap = gap[1] if gap else "0.3 0.7"
            yield f"| {model} | {features} | {gap}{near} | {float(told[1]):.3g} |"


def sensitive(options, done):
    for public in public_models(options.models):
        if options.only and not any(text in public.name for text in options.only):
            continue
        methods = [method for method in options.methods if method == "ours"]
        if "pb" in options.methods and options.their_python and public.name in THEIRS:
            methods.append("pb")
        questions = [(0.0, False)]
        if public.model.n_classes_ == 2:
            questions += [(gap, False) for gap in GAPS]
            questions += [(GAPS[0], True)] if public.table in OWN else []
        for features in sets_of(public):
            for gap, near in questions:
                for method in methods if not near else methods[:1]:
                    key = ["sensitive", public.name, list(features), gap, near, method]
                    if json.dumps(key) in done:
                        continue
                    asked = asked_here if method == "ours" else asked_there
                    keep(options, done, key, asked(public, features, gap, near, options))


def report_sensitive(options, done):
    """A line a model and a kind of question: what was decided, and in what time."""
    known = {public.name: public for public in public_models(options.models)}
    print(f"Time limit {options.seconds:g} s a question.\n")
    print(
        "| model | trees, depth, features | questions | decided | yes | pairs held | "
        "CPU s, median | largest | pb: decided | yes | pairs held | s, median | largest | "
        "pb refuted | refuted by pb |"
    )
    print("|---" * 15 + "|")
    cells = defaultdict(dict)
    for text, answer in done.items():
        kind, name, *rest = json.loads(text)
        if kind == "sensitive" and name in known:
            features, gap, near, method = rest
            cells[name, tuple(features), gap, near][method] = answer
    for name, public in known.items():
        mine = {key: cell for key, cell in cells.items() if key[0] == name}
        if mine:
            trees, depth = public.sizes
            print(f"| {name} | {trees}, {depth}, {len(public.names)} | {_line(mine)} |")
    for title, chosen in (
        ("class", lambda features, gap, near: not gap),
        ("gap .2", lambda features, gap, near: gap == GAPS[0] and not near),
        ("gap .2 near the training rows", lambda features, gap, near: near),
        ("gap .4", lambda features, gap, near: gap == GAPS[1]),
        ("one feature", lambda features, gap, near: len(features) == 1),
        ("several features", lambda features, gap, near: len(features) > 1),
        ("all", lambda features, gap, near: True),
    ):
        told = {key: cell for key, cell in cells.items() if chosen(*key[1:])}
        print(f"| **{title}** | | {_line(told)} |")
    print("\nSeconds of the mixed-integer solver of 2026 in the outputs of the checkout's tests:\n")
    print("| model | features | probabilities at most and at least | s |\n|---|---|---|---|")
    print("\n".join(published(options.models)))


def _line(cells):
    """Figures of some questions as cells of a table."""
    parts = [str(len(cells))]
    for method, held in (("ours", moved), ("pb", straddled)):
        told = [(cell[method], key[2]) for key, cell in cells.items() if method in cell]
        if not told:
            parts += ["-"] * 5
            continue
        seconds = [answer["seconds"] for answer, _ in told]
        parts += [
            f"{sum(answer['answer'] is not None for answer, _ in told)} of {len(told)}",
            str(sum(answer["answer"] is True for answer, _ in told)),
            str(sum(held(answer.get("pair"), gap) for answer, gap in told)),
            f"{np.median(seconds):.2f}",
            f"{max(seconds):.2f}",
        ]
    both = [(cell["ours"], cell["pb"], k[2]) for k, cell in cells.items() if len(cell) == 2]
    # A proof that there is no pair, against a pair that the model confirms.
    theirs = sum(b["answer"] is False and straddled(a.get("pair"), gap) for a, b, gap in both)
    ours = sum(a["answer"] is False and moved(b.get("pair"), gap) for a, b, gap in both)
    return " | ".join([*parts, *((str(theirs), str(ours)) if both else "--")])


# ------------------------------------------------------------------- flips


def judged(public, limits, row, changed):
    """Whether a changed row is a valid flip, how many features it changes, and how far it is."""
    if changed is None:
        return False, math.nan, math.nan
    # As float32, in which the models read rows and DiCE answers.
    row, changed = np.asarray(row, np.float32), np.asarray(changed, np.float32)
    low, high = (np.asarray(side, np.float32) for side in limits)
    inside = (changed >= low) & (changed <= high)
    moved = changed != row
    scale = public.read("train")[0].std(axis=0)
    distance = float(np.sum(np.abs(changed - row)[moved] / scale[moved]))
    before, after = public.model.predict(np.stack([row, changed]))
    valid = before != after and not moved[public.protected()].any() and bool(inside.all())
    return bool(valid), int(moved.sum()), distance


class Method:
    """One way to find flips: made once a model, then asked row after row."""

    def __init__(self, public, limits, options):
        self.public, self.limits, self.options = public, limits, options
        self.X, self.y = public.read("train")
        self.scale = self.X.std(axis=0)
        # A feature that never varies is not given a scale of 0.
        self.scale = np.where(self.scale > 0, self.scale, 1.0)
        self.frozen = public.protected()
        self.free = [j for j in range(len(public.names)) if j not in self.frozen]

    def answers(self, rows):
        """For each row the changed one, whether that is proven, and seconds."""
        start = time.process_time()
        self.begin()
        shared = (time.process_time() - start) / len(rows)
        for row in rows:
            start = time.process_time()
            changed, proven = self.ask(row)
            yield changed, proven, shared + time.process_time() - start


class Ours(Method):
    def answers(self, rows):
        from ensemble_simplify import Domain, nearest_flip

        start = time.process_time()
        found = nearest_flip(
            self.public.model,
            rows,
            max_changes=self.options.changes,
            frozen=self.frozen,
            scale=self.scale,
            domain=Domain(bounds=dict(enumerate(zip(*self.limits, strict=True)))),
            time_limit=self.options.seconds * len(rows),
        )
        # Shared out by the clock.
        each = np.array([flip.seconds for flip in found])
        each *= (time.process_time() - start) / each.sum()
        for flip, seconds in zip(found, each.tolist(), strict=True):
            yield None if flip.row is None else np.ravel(flip.row), flip.proven, seconds


class Treecf(Method):
    search = MappingProxyType({})

    def begin(self):
        from treecf import Explainer, Freeze, Range

        names, (low, high) = self.public.names, self.limits
        rules = [Freeze(names[j]) for j in self.frozen]
        rules += [Range(names[j], float(low[j]), float(high[j])) for j in self.free]
        self.asked = Explainer(self.public.model, constraints=rules, normalizers=self.scale)

    def ask(self, row):
        from treecf import Target

        if self.public.model.predict(row[None])[0] == 1:
            target = Target.probability(op="<=", value=0.5)
        else:
            target = Target.probability(op=">=", value=float(np.nextafter(0.5, 1)))
        found = self.asked.explain(
            row, target=target, seed=SEED, time_budget_s=self.options.seconds, **self.search
        )
        return getattr(found, "x_cf", None), found.proof in ("optimal", "certified")


class TreecfNearest(Treecf):
    search = MappingProxyType({"backend": "exact", "node_budget": NODES})


class TreecfExact(Treecf):
    search = MappingProxyType({**TreecfNearest.search, "sparsity_weight": PRICE})


class Dice(Method):
    method, drawn = "random", MappingProxyType({"random_seed": SEED})

    def begin(self):
        import dice_ml

        names = self.public.names
        data = pd.DataFrame(self.X, columns=names).assign(outcome=self.y.astype(int))
        told = dice_ml.Data(dataframe=data, continuous_features=list(names), outcome_name="outcome")
        model = dice_ml.Model(model=self.public.model, backend="sklearn")
        self.asked = dice_ml.Dice(told, model, method=self.method)

    def ask(self, row):
        names, (low, high) = self.public.names, self.limits
        try:
            found = self.asked.generate_counterfactuals(
                pd.DataFrame(row[None], columns=names),
                total_CFs=1,
                desired_class="opposite",
                features_to_vary=[names[j] for j in self.free],
                permitted_range={names[j]: [float(low[j]), float(high[j])] for j in self.free},
                **self.drawn,
            )
        except Exception as error:  # it has a type of its own for no flip found
            if "counterfactuals" not in str(error).lower():
                raise
            return None, False
        table = found.cf_examples_list[0].final_cfs_df
        return (
            table[names].to_numpy(float)[0] if table is not None and len(table) else None
        ), False


class DiceGenetic(Dice):
    method, drawn = "genetic", MappingProxyType({})


class Mlxtend(Method):
    def begin(self):
        self.known = self.public.model.predict(self.X)

    def ask(self, row):
        from mlxtend.evaluate import create_counterfactual

        model, free = self.public.model, self.free

        class OfTheFree:
            """The model as a function of the features that may change."""

            @staticmethod
            def predict_proba(part):
                whole = np.repeat(row[None], len(part), axis=0)
                whole[:, free] = part
                return model.predict_proba(whole)

        wanted = int(1 - model.predict(row[None])[0])
        starts = self.X[self.known == wanted][:, free]
        changed = row.copy()
        for weight in WEIGHTS:
            changed[free] = create_counterfactual(
                row[free],
                wanted,
                OfTheFree,
                starts,
                y_desired_proba=1.0,
                lammbda=weight,
                random_seed=SEED,
            )
            if np.isfinite(changed).all() and model.predict(changed[None])[0] == wanted:
                return changed, False
        return None, False


FLIPS = {
    "ours": Ours,
    "treecf exact": TreecfExact,
    "treecf nearest": TreecfNearest,
    "treecf": Treecf,
    "dice random": Dice,
    "dice genetic": DiceGenetic,
    "mlxtend": Mlxtend,
}


def flipped(options):
    """The models whose rows are asked about."""
    public = [public for public in public_models(options.models) if public.name in FLIPPED]
    public += [Wide("breast_cancer"), Wide("digits")]
    only = options.only or [""]
    return [public for public in public if any(text in public.name for text in only)]


def flips(options, done):
    theirs = [method for method in options.methods if method != "ours"]
    if options.their_python and theirs:
        # The same program there, for the others; it appends to the same file.
        command = [options.their_python, "-m", "benchmarks.audit_peers", "flips"]
        command += ["--models", str(options.models), "--store", str(options.store), "--quiet"]
        command += ["--seconds", str(options.seconds), "--rows", str(options.rows)]
        command += ["--methods", *theirs, *(["--only", *options.only] if options.only else [])]
        quiet = {**os.environ, "TQDM_DISABLE": "1"}
        subprocess.run(command, cwd=ROOT, env=quiet, check=True)
        done |= stored(options)
        options.methods = [method for method in options.methods if method == "ours"]
    for public in flipped(options):
        rows = public.read("test")[0][: options.rows]
        limits = public.limits(rows)
        for method in options.methods:
            key = ["flips", public.name, method, len(rows)]
            if json.dumps(key) in done:
                continue
            answers = [
                {
                    "row": None if changed is None else np.asarray(changed, float).tolist(),
                    "proven": bool(proven),
                    "seconds": seconds,
                }
                for changed, proven, seconds in FLIPS[method](public, limits, options).answers(rows)
            ]
            keep(options, done, key, answers)


def report_flips(options, done):
    """A line a method and model; means over the rows to which all that mostly answer do."""
    print(
        f"{options.rows} rows a model, {options.seconds:g} s a row, at most {options.changes} "
        "changes for `ours`.\n"
    )
    print(
        "| model | method | valid | proven | changes | distance | rows of that | CPU s a row | "
        "largest |"
    )
    print("|---" * 9 + "|")
    same, compared = 0, 0
    for public in flipped(options):
        rows = public.read("test")[0][: options.rows]
        limits = public.limits(rows)
        keys = {method: json.dumps(["flips", public.name, method, len(rows)]) for method in FLIPS}
        answers = {method: done[key] for method, key in keys.items() if key in done}
        told = {
            method: [judged(public, limits, x, a["row"]) for x, a in zip(rows, found, strict=True)]
            for method, found in answers.items()
        }
        # One with few valid flips would leave few rows to compare the others on.
        steady = [method for method, known in told.items() if np.mean([k[0] for k in known]) > 0.5]
        shared = [i for i in range(len(rows)) if all(told[m][i][0] for m in steady)]
        for method, found in answers.items():
            over = [i for i in shared if told[method][i][0]]
            mean = np.mean([told[method][i][1:] for i in over], axis=0) if over else [math.nan] * 2
            seconds = [answer["seconds"] for answer in found]
            print(
                f"| {public.name} | {method} | {sum(k[0] for k in told[method])} of {len(rows)} | "
                f"{sum(a['proven'] for a in found)} | {mean[0]:.2f} | {mean[1]:.3f} | {len(over)} |"
                f" {np.mean(seconds):.3f} | {max(seconds):.2f} |"
            )
        if {"ours", "treecf exact"} <= set(told):
            for i in range(len(rows)):
                pair = [(answers[m][i]["proven"], told[m][i]) for m in ("ours", "treecf exact")]
                if all(proven and known[0] for proven, known in pair):
                    (_, a), (_, b) = pair
                    compared += 1
                    same += a[1] == b[1] and abs(a[2] - b[2]) <= 1e-4
    print(
        f"\n`ours` and `treecf exact`, both with a proof: the same number of changes, and distances"
        f" within .0001, for {same} of {compared} rows."
    )


# ------------------------------------------------------------------- keeping


def stored(options):
    """Answers in the file, by question."""
    done = {}
    if options.store.exists():
        for text in options.store.read_text(encoding="utf-8").splitlines():
            key, answer = json.loads(text)
            done[json.dumps(key)] = answer
    return done


def keep(options, done, key, answer):
    done[json.dumps(key)] = answer
    with options.store.open("a", encoding="utf-8") as file:
        file.write(json.dumps([key, answer]) + "\n")


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("part", choices=["sensitive", "flips"])
    parser.add_argument("--models", type=Path, required=True, metavar="DIR")
    parser.add_argument("--their-python", metavar="PYTHON")
    parser.add_argument("--methods", nargs="+", choices=["pb", *FLIPS], help="default: all")
    parser.add_argument("--only", nargs="+", default=[], help="parts of the models' names")
    parser.add_argument("--seconds", type=float, default=20)
    parser.add_argument("--rows", type=int, default=20)
    parser.add_argument("--changes", type=int, default=6)
    parser.add_argument("--store", type=Path)
    parser.add_argument("--report", action="store_true", help="print what is stored, ask nothing")
    parser.add_argument("--quiet", action="store_true", help="print nothing")
    options = parser.parse_args()
    options.models = options.models.resolve()
    every = ["ours", "pb"] if options.part == "sensitive" else list(FLIPS)
    options.methods = options.methods or every
    warnings.filterwarnings("ignore")
    with tempfile.TemporaryDirectory() as folder:
        options.store = (options.store or Path(folder) / "answers.jsonl").resolve()
        done = stored(options)
        if not options.report:
            {"sensitive": sensitive, "flips": flips}[options.part](options, done)
        if not options.quiet:
            print(environment("xgboost", "treecf", "dice-ml", "mlxtend"))
            {"sensitive": report_sensitive, "flips": report_flips}[options.part](options, done)


if __name__ == "__main__":
    sys.exit(main())
