"""Where the first population comes from: trees fitted here in bags, or the user's models.

Only splits are used of these trees; their leaves are labelled anew by the kernel.
"""

from __future__ import annotations

import time
import warnings
from functools import partial
from itertools import pairwise
from typing import Any

import numpy as np
from joblib import effective_n_jobs
from sklearn import config_context
from sklearn.ensemble import RandomForestClassifier
from sklearn.tree import DecisionTreeClassifier

from ensemble_simplify.base import (
    check_weights,
    comes_fitted,
    fit_or_unwrap,
    misnamed,
    report,
    safe_indexing,
    tags_of,
    warn,
)
from ensemble_simplify.genesim._merge_trees import common_features, forest_on
from ensemble_simplify.genesim.inducers._inducers import (
    C45Tree,
    GuideTree,
    QuestTree,
    splits_of_bags,
)
from ensemble_simplify.grid import in_threads, is_late, time_left, unlimited
from ensemble_simplify.reading import Forest, Model, learned_from, unwrap

# The inducers but CART grow bags together up to so many rows.
_INDUCERS = (C45Tree, QuestTree, GuideTree)
_BAGGED_ROWS = 20_000

# Rows that a tree is fitted on at most, in a bag or not: a hundred trees on a large table would
# take minutes.
_MOST_ROWS = 5_000

# Trees of the forest whose out-of-bag votes are asked. Of many rows there are fewer, so that rows
# times trees are no more than `_OOB_WORK`.
_OOB_TREES, _LEAST_OOB_TREES, _OOB_WORK = 200, 50, 1_000_000


# --------------------------------------------------------------------- trees fitted here


def grow_trees(model, X, y_index, weight, random_state) -> list:
    """Fit the trees of ``estimators="paper"``, as a list of `Forest` and `Splits`.

    `X` (float32), `y_index` (int32) and `weight` are the training rows. If time is short, fewer
    trees are fitted.
    """
    # Inducers take weights for numbers of rows.
    weight = check_weights(weight, X, mean_one=True)
    y_index = y_index.astype(np.float64)
    bags = _bags(model, weight, random_state)
    boost_seed = random_state.randint(np.iinfo(np.int32).max)
    forests = _fit_bags(model, bags, X, y_index)
    if model.boosting and model.n_bootstraps:
        report(model, "first population: boosted trees")
        forests += _boost(X, y_index, weight, model.n_bootstraps, boost_seed)
    return forests


def _cart(seed, **options) -> DecisionTreeClassifier:
    return DecisionTreeClassifier(**(options or {"min_samples_leaf": 2}), random_state=seed)


def _bags(model, weight, random_state) -> list:
    """Lists of an unfitted tree and the weights of the bags it is fitted on."""
    n_rows = len(weight)
    # Inducers grow many bags at once if the rows are few; CART grows each with a seed of its own.
    together = max(1, _BAGGED_ROWS // n_rows)
    lists = []
    for make in (None, *_INDUCERS):
        for bootstrap in range(model.n_bootstraps + 1):
            seed = random_state.randint(np.iinfo(np.int32).max)
            bag = weight
            if bootstrap:
                drawn = random_state.randint(n_rows, size=min(n_rows, _MOST_ROWS))
                bag = weight * np.bincount(drawn, minlength=n_rows)
            elif n_rows > _MOST_ROWS:
                bag = np.zeros(n_rows)
                drawn = random_state.choice(n_rows, _MOST_ROWS, replace=False)
                bag[drawn] = weight[drawn]
            if make is None or bootstrap % together == 0:
                lists.append((_cart(seed) if make is None else make(), []))
            lists[-1][1].append(bag)
    return lists


def _fit_bags(model, bags, X, y) -> list:
    """Fit the trees of all bags in threads; the `Forest` or `Splits` of each, in their order."""
    n_threads = effective_n_jobs(model.n_jobs)
    # In rounds, so that progress can be told: first a tree for every thread.
    size = n_threads * max(1, len(bags) // (10 * n_threads)) if model.verbose else len(bags)
    starts = [0, *range(n_threads, len(bags), size)] if model.verbose else [0]
    forests, longest = [], [0.0]
    for start, stop in pairwise([*starts, len(bags)]):
        # The very first tree is fitted whatever the clock says.
        calls = [
            partial(_fit_some, bags[i], X, y, longest, always=i == 0) for i in range(start, stop)
        ]
        # One list of calls a thread: handing out each tree by itself takes time of its own.
        shares = [partial(in_threads, 1, calls[i::n_threads]) for i in range(n_threads)]
        groups: list = [None] * len(calls)
        for i, of_thread in enumerate(in_threads(n_threads, shares)):
            groups[i::n_threads] = of_thread
        forests += [forest for group in groups for forest in group]
        report(model, f"first population: {stop} of {len(bags)} groups of trees")
        if is_late():
            break
    return forests


def _fit_some(model_and_bags, X, y, longest, *, always=False) -> list:
    """Fit and read a tree for each of some bags; none where the clock will be out.

    `longest` holds the seconds that the longest call took so far; `always` asks for the trees
    whatever the clock says.
    """
    start = time.monotonic()
    if not always and longest[0] >= time_left():
        return []
    model, bags = model_and_bags
    used = np.any(bags, axis=0)
    # scikit-learn sorts rows of weight zero, too.
    if 2 * np.count_nonzero(used) < len(X):
        X, y, bags = X[used], y[used], [bag[used] for bag in bags]
    if isinstance(model, DecisionTreeClassifier):
        forests = [Model.of(_fit_cart(model, X, y, bag), check=False).forest for bag in bags]
    else:
        forests = [splits_of_bags(model, X, y, np.array(bags))]
    longest[0] = max(longest[0], time.monotonic() - start)
    return forests


def _fit_cart(model, X, y, weight) -> DecisionTreeClassifier:
    # Rows and parameters are known to be good; looking again doubles the time on small data. Only
    # looking finds the gaps.
    with config_context(skip_parameter_validation=True):
        return model.fit(X, y, sample_weight=weight, check_input=bool(np.isnan(X).any()))


def _boost(X, y, weight, n_trees, seed) -> list:
    """Trees of depth three, each fitted on rows that the ones before got wrong (SAMME)."""
    if len(X) > _MOST_ROWS:
        rows = np.random.RandomState(seed).choice(len(X), _MOST_ROWS, replace=False)
        X, y, weight = X[rows], y[rows], weight[rows]
    # Not by scikit-learn's AdaBoost, which cannot be stopped between its trees.
    labels, index = np.unique(y, return_inverse=True)
    trees, longest = [], 0.0
    weight = weight / weight.sum()
    for i in range(n_trees if len(labels) > 1 else 0):
        start = time.monotonic()
        if longest >= time_left():
            break
        tree = _fit_cart(_cart(seed + i, max_depth=3), X, y, weight)
        wrong = tree.predict(X, check_input=False) != labels[index]
        error = weight[wrong].sum()
        trees.append(Model.of(tree, check=False).forest)
        longest = max(longest, time.monotonic() - start)
        # Without errors nothing is left to learn, and worse than chance has no say in SAMME.
        if error <= 0.0 or error >= 1.0 - 1.0 / len(labels):
            break
        weight = np.where(wrong, weight * (1.0 - error) / error * (len(labels) - 1.0), weight)
        weight /= weight.sum()
    return trees


def voting_forest(model, X, y_index, weight, seed, most=1.0) -> tuple[Any, np.ndarray]:
    """A random forest, and what its trees that did not see a row say about it.

    Of many rows it has fewer trees, and `most` is the largest share of their usual number. Under a
    limit of time the forest is grown in steps. The votes, of shape (n_rows, n_classes), are means
    of the class fractions of these trees; NaN for rows that every tree saw.
    """
    n_wanted = int(most * min(_OOB_TREES, max(_LEAST_OOB_TREES, _OOB_WORK // len(X))))
    forest = RandomForestClassifier(
        min_samples_leaf=2,
        n_jobs=model.n_jobs,
        random_state=seed,
        warm_start=True,
    )
    step = max(1, n_wanted // 10) if model.verbose else n_wanted
    if time_left() < np.inf:
        step = effective_n_jobs(model.n_jobs)
    if len(X) > _MOST_ROWS:
        forest.set_params(max_samples=_MOST_ROWS)
    with warnings.catch_warnings():
        # Rows that every tree saw are marked below.
        warnings.filterwarnings("ignore", message="Some inputs do not have OOB scores")
        warnings.filterwarnings("ignore", message="Warm-start fitting without increasing")
        warnings.filterwarnings("ignore", category=RuntimeWarning)
        for n_trees in range(step, n_wanted + step, step):
            forest.set_params(n_estimators=min(n_trees, n_wanted))
            forest.fit(X, y_index, sample_weight=weight)
            report(model, f"forest for the out-of-bag votes: {forest.n_estimators} trees")
            if is_late():
                break
        forest.set_params(oob_score=True).fit(X, y_index, sample_weight=weight)
    given = forest.oob_decision_function_
    given[~(given.sum(axis=1) > 0)] = np.nan
    votes = np.zeros((len(X), len(model.classes_)))
    votes[:, forest.classes_] = given
    return forest, votes


def voted_labels(votes, y_index) -> np.ndarray:
    """Class with the most votes of every row; its own where there are none."""
    known = np.isfinite(votes).all(axis=1)
    labels = y_index.copy()
    labels[known] = votes[known].argmax(axis=1)
    return labels


# --------------------------------------------------------------------- the user's models


def read_models(model, estimators, given, y, rows) -> list:
    """Fit or unwrap the models of the user, as a list of `Forest`.

    `given` are the rows as models are fitted on them: a table as it came. When time is up, models
    are no longer fitted, but for the first.
    """
    names = getattr(model, "feature_names_in_", None)
    forests, frozen = [], []
    for i, estimator in enumerate(estimators):
        is_frozen = comes_fitted(estimator)
        if forests and not is_frozen and is_late():
            continue
        forests.append(
            _read_model(f"estimators[{i}]", estimator, given, y, rows, model._table, names)
        )
        frozen.append(unwrap(estimator) if is_frozen else None)
        report(model, f"first population: {i + 1} of {len(estimators)} models")
    # Without names in X, the fitted models must still agree on theirs.
    common_features(frozen, forests, "estimators")
    if rows.held_out:
        _warn_of_rows_seen(estimators, given, rows)
    return forests


def _read_model(name, estimator, given, y, rows, table, names) -> Forest:
    """Fit or unwrap one of the user's models, which must know the columns by these names.

    Its trees are read over the codes of a table.
    """
    if isinstance(estimator, type) or not (hasattr(estimator, "fit") or comes_fitted(estimator)):
        raise TypeError(
            f"{name}={estimator!r} is not an estimator. Give tree classifiers or ensembles of them."
        )
    inner = unwrap(estimator)
    if tags_of(inner, name).estimator_type == "regressor":
        raise TypeError(
            f"{name}={type(inner).__name__}(...) is a regressor. GenesimClassifier breeds "
            "classifiers; give tree classifiers or ensembles of them."
        )
    fitted_on = getattr(inner, "feature_names_in_", None) if inner is not estimator else None
    if names is not None and fitted_on is not None and misnamed(inner, names) is not None:
        raise ValueError(
            f"{name} was fitted on the features {list(fitted_on)}, but X has {list(names)}. Give "
            "the same columns in the same order."
        )
    weight = rows.weight[rows.train]
    fitted = fit_or_unwrap(
        estimator,
        safe_indexing(given, rows.train),
        y[rows.train],
        None if np.all(weight == 1.0) else weight,
        name=name,
        counted=True,
    )
    try:
        read = Model.of(fitted)
    except TypeError as error:
        raise TypeError(f"{name}: {error}") from error
    return forest_on(read, table, name)


# --------------------------------------------------------------------- rows seen before


def _warn_of_rows_seen(estimators, given, rows) -> None:
    given = safe_indexing(given, rows.kept)
    for i, estimator in enumerate(estimators):
        fitted = unwrap(estimator)
        with unlimited():
            learned = "no" if fitted is estimator else learned_from(fitted, given)
        if learned not in ("no", "unknown"):
            warn(
                f"estimators[{i}]={type(fitted).__name__}(...) seems to have been fitted on the "
                "rows given to fit: its leaves hold as many of them as they saw when it was "
                "fitted. Some of these rows are held out to choose the tree, so the choice is too "
                "optimistic. Give rows that the model has not seen, or use fitness='oob'."
            )


def random_seed(random_state) -> int:
    """A seed of 62 bits."""
    high, low = (int(random_state.randint(2**31 - 1)) for _ in range(2))
    return high << 31 | low
