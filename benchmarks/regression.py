"""Whole public calls, beside those of another checkout of this package, in one run.

``python -m benchmarks regression --against DIR`` compares this checkout with the one in DIR, whose
kernels must be built (``pip install -e DIR`` in an environment of its own, or
``python setup.py build_ext --inplace`` there). Every call is timed in processes of their own, which
take turns; a figure is the least processor time of a call, so that what else the machine does
counts little. Only names that both checkouts know can be called.
"""

import argparse
import json
import time
import warnings
from pathlib import Path

from benchmarks._checkouts import measured
from benchmarks._record import ROOT, environment

# Seconds for which one process repeats a call.
SECONDS = 1.0


def frozen(n_trees, depth, load, seed=0, **options):
    """Rows, labels and a frozen random forest."""
    from sklearn.ensemble import RandomForestClassifier
    from sklearn.frozen import FrozenEstimator

    X, y = load(return_X_y=True)
    forest = RandomForestClassifier(n_trees, max_depth=depth, random_state=seed, **options)
    return X, y, FrozenEstimator(forest.fit(X, y))


def born_again(n_trees, depth, data, **options):
    def prepare():
        from sklearn import datasets

        from ensemble_simplify import BornAgainClassifier

        X, y, forest = frozen(n_trees, depth, getattr(datasets, data))
        return lambda: BornAgainClassifier(forest, random_state=0, **options).fit(X, y)

    return prepare


def verification(n_trees, depth, data):
    def prepare():
        from sklearn import datasets

        from ensemble_simplify import BornAgainClassifier, verify

        X, y, forest = frozen(n_trees, depth, getattr(datasets, data))
        tree = BornAgainClassifier(forest, random_state=0).fit(X, y).decision_tree_
        return lambda: verify(forest, tree)

    return prepare


def domain():
    import numpy as np
    from sklearn.ensemble import RandomForestClassifier
    from sklearn.frozen import FrozenEstimator

    from ensemble_simplify import BornAgainClassifier

    rng = np.random.default_rng(0)
    X = np.eye(6)[rng.integers(6, size=300)]
    X = np.column_stack([X, rng.random((300, 2))])
    y = (X[:, 6] > 0.3 + 0.1 * X[:, :6].argmax(axis=1)).astype(int)
    forest = RandomForestClassifier(8, max_depth=4, random_state=0).fit(X, y)
    model = BornAgainClassifier(FrozenEstimator(forest), domain={"one_hot": [list(range(6))]})
    return lambda: model.fit(X, y)


def merge():
    from sklearn.datasets import load_breast_cancer

    from ensemble_simplify import merge_trees

    _, _, forest = frozen(3, 5, load_breast_cancer)
    return lambda: merge_trees([forest])


def genesim():
    from sklearn.datasets import load_wine

    from ensemble_simplify import GenesimClassifier

    X, y = load_wine(return_X_y=True)
    return lambda: GenesimClassifier(random_state=0).fit(X, y)


def breeding():
    from sklearn.datasets import make_classification
    from sklearn.ensemble import RandomForestClassifier
    from sklearn.frozen import FrozenEstimator

    from ensemble_simplify import GenesimClassifier

    X, y = make_classification(20_000, 20, n_informative=8, random_state=0)
    forest = FrozenEstimator(RandomForestClassifier(30, max_depth=8, random_state=0).fit(X, y))
    model = GenesimClassifier([forest], n_iter=5, random_state=0)
    return lambda: model.fit(X, y)


def single_model():
    from sklearn.datasets import load_breast_cancer

    from ensemble_simplify import InterpretableSingleModel

    X, y, forest = frozen(20, None, load_breast_cancer)
    return lambda: InterpretableSingleModel(forest, ccp_alpha=0.001).fit(X, y)


def representer():
    from sklearn.datasets import load_breast_cancer

    from ensemble_simplify import RepresenterTree

    X, y, forest = frozen(20, None, load_breast_cancer)
    options = {"sampler": "smear", "smearing": 0.5, "sampling": "per_node", "select": "train"}
    new = {"keep_rows": 0.0, "forbidden_splits": "stop"}
    options |= {k: v for k, v in new.items() if k in RepresenterTree().get_params()}
    model = RepresenterTree(forest, max_leaf_nodes=16, random_state=0, **options)
    return lambda: model.fit(X, y)


def pruner(**options):
    def prepare():
        from sklearn.datasets import load_digits

        from ensemble_simplify import FeatureBudgetPruner

        X, y, forest = frozen(40, None, load_digits, max_features=None)
        return lambda: FeatureBudgetPruner(forest, **options).fit(X, y)

    return prepare


def budget_forest():
    from sklearn.datasets import load_breast_cancer

    from ensemble_simplify import BudgetForestClassifier

    X, y = load_breast_cancer(return_X_y=True)
    options = {"n_estimators": 20, "random_state": 0}
    if "purchases" in BudgetForestClassifier().get_params():
        options["purchases"] = "split"  # as it always was
    return lambda: BudgetForestClassifier(**options).fit(X, y)


def cultivated(n_rows, **options):
    def prepare():
        from sklearn.datasets import make_classification

        from ensemble_simplify import CultivatedForestClassifier

        X, y = make_classification(n_rows, 20, n_informative=8, random_state=0)
        return lambda: CultivatedForestClassifier(**options).fit(X, y)

    return prepare


def questions(kind):
    """Questions about a fitted model, or two."""

    def prepare():
        from sklearn.base import clone
        from sklearn.datasets import load_breast_cancer, load_diabetes
        from sklearn.ensemble import GradientBoostingRegressor, RandomForestClassifier
        from sklearn.tree import DecisionTreeClassifier

        import ensemble_simplify as package

        if kind == "values":
            X, y = load_diabetes(return_X_y=True)
            boosting = GradientBoostingRegressor(random_state=0)
            models = [clone(boosting).set_params(n_estimators=n).fit(X, y) for n in (15, 16)]
            return lambda: package.verify(*models, atol=5.0)
        X, y = load_breast_cancer(return_X_y=True)
        forest = RandomForestClassifier(50, max_depth=6, random_state=0).fit(X, y)
        tree = DecisionTreeClassifier(max_leaf_nodes=12, random_state=0).fit(X, forest.predict(X))
        copy = RandomForestClassifier(50, max_depth=6, random_state=0).fit(X, y)
        return {
            "near": lambda: package.verify(forest, copy, X=X, max_changes=1),
            "rows": lambda: package.agreement(forest, tree, X, random_state=0),
            "flip": lambda: package.nearest_flip(forest, X[0], max_changes=2),
            "box": lambda: package.sufficient_box(forest, X[0], random_state=0, time_limit=60),
            "text": lambda: [package.export_tree(tree, k) for k in ("sql", "c", "json")],
        }[kind]

    return prepare


def one_hot(n_trees, n_columns, n_levels, question):
    """A question about a forest behind a one-hot encoder of text."""

    def prepare():
        import numpy as np
        from sklearn.ensemble import RandomForestClassifier
        from sklearn.pipeline import make_pipeline
        from sklearn.preprocessing import OneHotEncoder

        import ensemble_simplify as package

        rng = np.random.default_rng(0)
        codes = rng.integers(n_levels, size=(1000, n_columns))
        X = np.array([f"level {k}" for k in range(n_levels)], dtype=object)[codes]
        gain = rng.normal(size=(n_columns, n_levels))
        y = gain[np.arange(n_columns), codes].sum(axis=1) + rng.normal(size=1000) > 0

        def fitted():
            encoder = OneHotEncoder(handle_unknown="ignore")
            return make_pipeline(encoder, RandomForestClassifier(n_trees, random_state=0)).fit(X, y)

        model, copy = fitted(), fitted()
        return {
            "verify": lambda: package.verify(model, copy),
            "sql": lambda: package.export_model(model, "sql", table="rows"),
            "box": lambda: package.sufficient_box(model, X[0], random_state=0, time_limit=60),
        }[question]

    return prepare


def on_cancer(question):
    """Other public calls, on breast cancer."""

    def prepare():
        from sklearn.datasets import load_breast_cancer
        from sklearn.ensemble import GradientBoostingClassifier
        from sklearn.frozen import FrozenEstimator

        import ensemble_simplify as package

        X, y = load_breast_cancer(return_X_y=True)
        boosting = GradientBoostingClassifier(random_state=0).fit(X, y)
        frozen = FrozenEstimator(boosting)
        return {
            "faithful": lambda: package.FaithfulPruner(frozen, max_changes=0).fit(X, y),
            "card": lambda: package.ScorecardClassifier(frozen, random_state=0).fit(X, y),
            "rises": lambda: package.is_monotone(boosting, 7),
            "simplify": lambda: package.simplify(boosting, X, y, random_state=0),
            "export": lambda: [
                package.export_model(boosting, "sql", table="rows"),
                *[package.export_model(boosting, k) for k in ("c", "python")],
            ],
        }[question]

    return prepare


def near(max_changes):
    def prepare():
        from sklearn import datasets

        from ensemble_simplify import BornAgainClassifier

        X, y, forest = frozen(30, 4, datasets.load_iris)
        pruned = dict(max_changes=max_changes, random_state=0)
        return lambda: BornAgainClassifier(forest, **pruned).fit(X, y)

    return prepare


CALLS = {
    "born-again, iris, 10 trees of depth 3": born_again(10, 3, "load_iris"),
    "born-again, iris, 10 trees of depth 5": born_again(10, 5, "load_iris"),
    "born-again, breast cancer, 3 trees of depth 3": born_again(3, 3, "load_breast_cancer"),
    "born-again, breast cancer, 3 trees, heuristic": born_again(
        3, 3, "load_breast_cancer", method="heuristic"
    ),
    "born-again, wine, 4 x 3, pruned, fidelity measured": born_again(
        4, 3, "load_wine", post_prune=True
    ),
    "born-again, one-hot domain, 8 trees of depth 4": domain,
    "verify, iris, 20 trees of depth 3": verification(20, 3, "load_iris"),
    "verify, breast cancer, 3 trees of depth 3": verification(3, 3, "load_breast_cancer"),
    "merge_trees, breast cancer, 3 trees of depth 5": merge,
    "GENESIM, wine": genesim,
    "GENESIM, 20,000 x 20, 30 trees given": breeding,
    "ISM, breast cancer, 20 trees": single_model,
    "representer, breast cancer, 16 leaves": representer,
    "pruner, digits, 40 trees, path": pruner(),
    "pruner, digits, 40 trees, half the cost": pruner(budget="50%"),
    "budget forest, breast cancer, 20 trees": budget_forest,
    "verify, breast cancer, 50 trees near rows": questions("near"),
    "verify, diabetes, values of boosting": questions("values"),
    "agreement, breast cancer, forest and tree": questions("rows"),
    "nearest_flip, breast cancer, 50 trees": questions("flip"),
    "sufficient_box, breast cancer, 50 trees": questions("box"),
    "export_tree, 12 leaves, three languages": questions("text"),
    "born-again near rows, iris, 30 trees": near(1),
    "faithful, 100 boosted trees, k = 0": on_cancer("faithful"),
    "scorecard, 100 boosted trees": on_cancer("card"),
    "is_monotone, 100 boosted trees": on_cancer("rises"),
    "simplify, 100 boosted trees": on_cancer("simplify"),
    "export_model, 100 boosted trees, three languages": on_cancer("export"),
    "one-hot, 5 trees, 3 x 8 levels: verify a copy": one_hot(5, 3, 8, "verify"),
    "one-hot, 5 trees, 3 x 8 levels: SQL": one_hot(5, 3, 8, "sql"),
    "one-hot, 10 trees, 3 x 16 levels: verify a copy": one_hot(10, 3, 16, "verify"),
    "one-hot, 100 trees, 8 x 16 levels: verify a copy": one_hot(100, 8, 16, "verify"),
    "one-hot, 100 trees, 8 x 16 levels: sufficient_box": one_hot(100, 8, 16, "box"),
    "cultivated, 5,000 x 20": cultivated(5_000),
    "cultivated, 50,000 x 20": cultivated(50_000),
}


def work(name):
    """Print the least processor time of a call, in seconds, and how often it was made."""
    warnings.simplefilter("ignore")
    call = CALLS[name]()
    call()
    least, n_calls, begin = float("inf"), 0, time.perf_counter()
    while time.perf_counter() - begin < SECONDS or n_calls < 2:
        start = time.process_time()
        call()
        least = min(least, time.process_time() - start)
        n_calls += 1
    print(json.dumps(least))


def main():
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks regression", description=__doc__.split("\n\n")[0]
    )
    parser.add_argument("--against", type=Path, metavar="DIR", help="the other checkout, built")
    parser.add_argument("--repeats", type=int, default=3, help="processes for each call and side")
    parser.add_argument("--only", default="", help="calls whose name holds this")
    options = parser.parse_args()
    if options.against is None:
        parser.error("--against DIR is needed")
    other = options.against.resolve()
    print(environment("highspy"))
    print()
    print("| call | this, ms | other, ms | ratio |")
    print("|---|---|---|---|")
    for name in CALLS:
        if options.only not in name:
            continue
        ours, theirs = [], []
        for _ in range(options.repeats):
            ours.append(measured(__file__, name, ROOT))
            theirs.append(measured(__file__, name, other))
            if None in (ours[-1], theirs[-1]):
                break
        a, b = (None if None in side else 1e3 * min(side) for side in (ours, theirs))
        cells = ["refused" if time_ is None else f"{time_:.4g}" for time_ in (a, b)]
        ratio = "" if a is None or b is None else f"{a / b:.2f}"
        print(f"| {name} | {' | '.join(cells)} | {ratio} |", flush=True)


if __name__ == "__main__":
    main()
