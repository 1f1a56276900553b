"""How large born-again trees are: cells of forests, and what asking for less than equality saves.

    python -m benchmarks.born_again_sizes [cells] [smaller --data DIR] [--forests 10]

cells
    Thresholds, cells and regions of random forests of depth 3 on sets of scikit-learn.
smaller
    Mean leaves of the smallest trees, and in brackets the mean ``volume_fidelity_``, with a
    domain, with ``post_prune``, and with ``merge_thresholds``. Domains: indicators ``name<a``,
    ``name<b`` imply one another, columns ``name:level`` of one name exclude one another (the
    levels of cars are made such columns), columns of whole numbers are integers from their least
    to largest value.
"""

from __future__ import annotations

import argparse
import re
from pathlib import Path

import numpy as np
import pandas as pd
from sklearn.datasets import load_breast_cancer, load_iris, load_wine
from sklearn.ensemble import RandomForestClassifier
from sklearn.frozen import FrozenEstimator

from benchmarks._record import environment
from ensemble_simplify import BornAgainClassifier, Domain
from ensemble_simplify.grid.thresholds import cut_points
from ensemble_simplify.reading.forest import read_forest


def cells():
    """Cells and regions that forests induce."""
    print("| set | features | trees | thresholds | cells | regions |\n|---|---|---|---|---|---|")
    for loader, sizes in (
        (load_iris, (10, 100)),
        (load_wine, (10,)),
        (load_breast_cancer, (10, 100)),
    ):
        X, y = loader(return_X_y=True)
        for n_trees in sizes:
            model = RandomForestClassifier(n_trees, max_depth=3, random_state=0).fit(X, y)
            forest = read_forest(model)
            cuts = cut_points(forest.feature, forest.threshold, forest.n_features)
            n = np.array([len(c) for c in cuts])
            regions = np.log10((n + 1.0) * (n + 2.0) / 2).sum()
            print(
                f"| {loader.__name__.removeprefix('load_')} | {X.shape[1]} | {n_trees} | {n.sum()} "
                f"| 10^{np.log10(n + 1.0).sum():.1f} | 10^{regions:.1f} |"
            )


def domain_of(X):
    """What the names and values of the columns say about which rows can occur."""
    chains, groups = {}, {}
    for name in X:
        if less := re.fullmatch(r"(.+?):?<([\d.]+)", name):
            chains.setdefault(less[1], []).append((float(less[2]), name))
        elif ":" in name:
            groups.setdefault(name.split(":")[0], []).append(name)
    implies = [tuple(name for _, name in sorted(chain)) for chain in chains.values()]
    groups = [group for group in groups.values() if len(group) > 1]
    whole = [name for name in X if (X[name] % 1 == 0).all()]
    return Domain(
        bounds={name: (X[name].min(), X[name].max()) for name in whole},
        integers=whole,
        one_hot=[g for g in groups if (X[g].sum(axis=1) == 1).all()],
        at_most_one=[g for g in groups if not (X[g].sum(axis=1) == 1).all()],
        implies=[chain for chain in implies if len(chain) > 1],
    )


def smaller(options):
    """Mean leaves under each way of asking for less."""
    print("| set | plain | domain | both | pruned only | merged only |\n|---|---|---|---|---|---|")
    for name in options.sets:
        data = pd.read_csv(Path(options.data) / f"{name}.csv")
        y = data.pop("target").to_numpy()
        if name == "cars":  # levels without order
            data = pd.get_dummies(data, columns=list(data), prefix_sep=":").astype(int)
        domain = domain_of(data)
        variants = {
            "plain": {},
            "domain": {"domain": domain},
            "both": {"domain": domain, "post_prune": True},
            "pruned only": {"post_prune": True},
            "merged only": {"merge_thresholds": True},
        }
        if not domain.bounds:
            del variants["domain"], variants["both"]
        found = {variant: [] for variant in variants}
        for seed in range(options.forests):
            forest = RandomForestClassifier(10, max_depth=3, random_state=seed).fit(data, y)
            for variant, parameters in variants.items():
                model = BornAgainClassifier(FrozenEstimator(forest), **parameters).fit(data, y)
                found[variant].append((model.n_leaves_, model.volume_fidelity_))
        line = []
        for variant in ("plain", "domain", "both", "pruned only", "merged only"):
            if variant not in found:
                line.append("")
                continue
            leaves, fidelity = np.mean(found[variant], axis=0)
            bracket = "" if variant in ("plain", "domain") else f" ({fidelity:.2g})"
            line.append(f"{leaves:.1f}{bracket}")
        print(f"| {name} | {' | '.join(line)} |", flush=True)


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("parts", nargs="*", choices=["cells", "smaller", []], help="default: all")
    parser.add_argument("--data", help="directory of CSV files, last column target")
    parser.add_argument("--forests", type=int, default=10, help="forests a set")
    parser.add_argument(
        "--sets", nargs="+", default=["compas_binary", "fico_binary", "cars", "iris"]
    )
    options = parser.parse_args()
    parts = options.parts or (["cells", "smaller"] if options.data else ["cells"])
    if "smaller" in parts and not options.data:
        parser.error("smaller needs --data DIR")
    print(f"{environment()}\n")
    if "cells" in parts:
        cells()
    if "smaller" in parts:
        smaller(options)


if __name__ == "__main__":
    main()
