"""Cards of other packages, for `benchmarks.scorecards`: run by the interpreter that has them.

    python _card_peers.py GIVEN.npz FOUND.npz PEER ...

It imports NumPy, scikit-learn and the peers alone, in whatever versions these need. GIVEN holds
rows to learn from (``X``), their labels by place (``target``), the model's probability of the
second of two classes (``chance``), rows to answer (``X_test``), sizes in bins (``bins``) and a
``seed``. FOUND gets, for each peer and size, probabilities and what was counted as bins, and the
CPU seconds of a peer. A peer that is not installed, or cannot learn these labels, is left out with
the reason.
"""

from __future__ import annotations

import sys
import time
import warnings

import numpy as np

# Quantile bins of a column for those that are given binned columns.
PER_COLUMN = 4
# Chances are told apart from 0 and 1 before their logits are taken.
LEAST = 0.005


def informative(X, target, most):
    """The columns that tell most of the target, at most so many."""
    from sklearn.feature_selection import mutual_info_classif

    told = mutual_info_classif(X, target, random_state=0)
    return np.argsort(-told, kind="stable")[: max(most, 1)]


def two_columns(chance):
    return np.column_stack([1.0 - chance, chance])


class QuantileBins:
    """A column of 0 and 1 for each bin: quarters of the rows, or values where these are few."""

    def fit(self, X):
        shares = np.arange(1, PER_COLUMN) / PER_COLUMN
        self.edges = []
        for column in X.T:
            values = np.unique(column)
            edges = values[:-1]
            if len(values) > PER_COLUMN:
                edges = np.unique(np.quantile(column, shares, method="inverted_cdf"))
            self.edges.append(edges[edges < values[-1]])
        return self

    def transform(self, X):
        bins = zip(self.edges, X.T, strict=True)
        return np.column_stack(
            [np.eye(len(edges) + 1)[np.searchsorted(edges, x, side="left")] for edges, x in bins]
        )


def logistic(given, size):
    """Logistic regression on quantile bins of the columns that tell most."""
    from sklearn.linear_model import LogisticRegression

    columns = informative(given["X"], given["target"], size // PER_COLUMN)
    bins = QuantileBins().fit(given["X"][:, columns])
    X, X_test = (bins.transform(given[key][:, columns]) for key in ("X", "X_test"))
    model = LogisticRegression(max_iter=1000).fit(X, given["target"])
    return model.predict_proba(X_test), X.shape[1]


def optbinning(given, size):
    """Optimal bins by optbinning, weights of evidence and logistic regression."""
    import pandas as pd
    from optbinning import BinningProcess, Scorecard
    from sklearn.linear_model import LogisticRegression

    columns = informative(given["X"], given["target"], size // PER_COLUMN)
    names = [f"x{j}" for j in columns]
    bins = BinningProcess(names, max_n_bins=PER_COLUMN)
    card = Scorecard(binning_process=bins, estimator=LogisticRegression(max_iter=1000))
    card.fit(pd.DataFrame(given["X"][:, columns], columns=names), given["target"])
    table = card.table(style="detailed")
    n_bins = int((~table["Bin"].astype(str).isin(["Special", "Missing"])).sum())
    told = card.predict_proba(pd.DataFrame(given["X_test"][:, columns], columns=names))
    return np.asarray(told), n_bins


def ebm(given, size):
    """An explainable boosting machine of single features, whose bins nobody limits."""
    from interpret.glassbox import ExplainableBoostingClassifier

    if size != given["bins"][0]:
        return None
    seed = int(given["seed"])
    model = ExplainableBoostingClassifier(interactions=0, n_jobs=1, random_state=seed)
    model.fit(given["X"], given["target"])
    # neighbours with the same score are one; the first and last entries are for gaps and new levels
    scores = [each[1:-1].reshape(len(each) - 2, -1) for each in model.term_scores_]
    n_bins = sum(1 + int(np.any(np.diff(each, axis=0), axis=1).sum()) for each in scores)
    return model.predict_proba(given["X_test"]), n_bins


def figs(given, size):
    """Sums of small trees; every split is counted as two bins."""
    from imodels import FIGSClassifier

    model = FIGSClassifier(max_rules=size // 2, random_state=int(given["seed"]))
    model.fit(given["X"], given["target"])
    return model.predict_proba(given["X_test"]), size


def _stumps_of(splits, size):
    """How many stumps, given as pairs of column and threshold, make no more than so many bins."""
    seen, columns = set(), set()
    for n, (column, threshold) in enumerate(splits):
        seen.add((column, threshold))
        columns.add(column)
        if len(seen) + len(columns) > size:
            return n
    return len(splits)


def xbooster(given, size):
    """Stumps of XGBoost, as many as make such bins, as points by xbooster."""
    import pandas as pd
    from xbooster.xgb_constructor import XGBScorecardConstructor
    from xgboost import XGBClassifier

    names = [f"x{j}" for j in range(given["X"].shape[1])]
    X, X_test = (pd.DataFrame(given[key], columns=names) for key in ("X", "X_test"))
    y = pd.Series(given["target"])

    def stumps(n):
        return XGBClassifier(
            n_estimators=n, max_depth=1, learning_rate=0.3, random_state=0, n_jobs=1
        ).fit(X, y)

    table = stumps(400).get_booster().trees_to_dataframe()
    splits = table[table["Feature"] != "Leaf"]
    n = _stumps_of(list(zip(splits["Feature"], splits["Split"], strict=True)), size)
    model = stumps(max(n, 1))
    card = XGBScorecardConstructor(model, X, y)
    card.construct_scorecard()
    card.create_points(pdo=50, target_points=600, target_odds=50)
    # points fall with the odds of the second class: calibrated as points are, by their logits
    points = np.asarray(card.predict_score(X_test), dtype=float)
    chance = model.predict_proba(X_test)[:, 1]
    slope, start = np.polyfit(points, np.log(chance / (1 - chance)), 1)
    return two_columns(1 / (1 + np.exp(-(slope * points + start)))), size


def compileml(given, size):
    """A distilled ensemble of stumps by compileml, as many as make such bins."""
    from compileml.compile.distill import train_whitebox

    chance = np.clip(given["chance"], LEAST, 1 - LEAST)
    latent = np.log(chance / (1 - chance))

    def stumps(n):
        found = train_whitebox(
            given["X"], target=latent, n_estimators=n, max_depth=1, random_state=0
        )
        return found[0] if isinstance(found, tuple) else found

    trees = [each.tree_ for each in stumps(400).estimators_.ravel()]
    splits = [(t.feature[0], t.threshold[0]) for t in trees if t.node_count > 1]
    model = stumps(max(_stumps_of(splits, size), 1))
    return two_columns(1 / (1 + np.exp(-model.predict(given["X_test"])))), size


def fasterrisk(given, size):
    """Risk scores by fasterrisk: points from -5 to 5 for thresholds, each of which is two bins."""
    from fasterrisk.fasterrisk import RiskScoreClassifier, RiskScoreOptimizer

    shares = np.arange(1, 10) / 10
    tests = [
        (j, cut)
        for j in range(given["X"].shape[1])
        for cut in np.unique(np.quantile(given["X"][:, j], shares))[:-1]
    ]

    def binary(X):
        return np.column_stack([X[:, j] <= cut for j, cut in tests]).astype(float)

    X = binary(given["X"])
    optimizer = RiskScoreOptimizer(X, np.where(given["target"] == 1, 1, -1), k=size // 2)
    optimizer.optimize()
    multipliers, intercepts, weights = optimizer.get_models()
    model = RiskScoreClassifier(multipliers[0], intercepts[0], weights[0], X_train=X)
    return two_columns(np.asarray(model.predict_prob(binary(given["X_test"])))), size


PEERS = {each.__name__: each for each in
         (logistic, optbinning, ebm, figs, xbooster, compileml, fasterrisk)}  # fmt: skip
TWO_CLASSES = ("optbinning", "xbooster", "compileml", "fasterrisk")


def main(given_path, found_path, *names):
    warnings.filterwarnings("ignore")
    given, found = dict(np.load(given_path)), {}
    n_classes = len(np.unique(given["target"]))
    for name in names:
        if n_classes > 2 and name in TWO_CLASSES:
            continue
        seconds = 0.0
        try:
            for size in given["bins"].tolist():
                begin = time.process_time()
                told = PEERS[name](given, size)
                seconds += time.process_time() - begin
                if told is not None:
                    found[f"{name}|{size}|chances"] = np.asarray(told[0], dtype=float)
                    found[f"{name}|{size}|bins"] = told[1]
        except Exception as error:  # whatever a package raises is told
            found[f"{name}|error"] = f"{type(error).__name__}: {error}"[:200]
        found[f"{name}|cpu"] = seconds
    np.savez(found_path, **found)


if __name__ == "__main__":
    main(*sys.argv[1:])
