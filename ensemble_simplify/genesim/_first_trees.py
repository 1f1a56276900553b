"""Where the first population comes from: trees fitted here in bags, or the user's models.

Only splits are used of these trees; their leaves are labelled anew by the kernel.
"""

from __future__ import annotations

import time
import warnings
from contextlib import suppress
from functools import partial
from itertools import pairwise
from typing import Any

import numpy as np
from joblib import effective_n_jobs
from scipy import stats
from sklearn import config_context
from sklearn.ensemble import RandomForestClassifier
from sklearn.tree import DecisionTreeClassifier

from ensemble_simplify.base import (
    check_weights,
    comes_fitted,
    fit_or_unwrap,
    report,
    safe_indexing,
    same_names,
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
from ensemble_simplify.genesim.population._evolution import in_threads
from ensemble_simplify.grid import is_late, time_left
from ensemble_simplify.reading import Forest, Model, behind_codes, tree_estimators, unwrap
from ensemble_simplify.writing import read_nodes

# The inducers but CART grow bags together up to so many rows.
_INDUCERS = (C45Tree, QuestTree, GuideTree)
_BAGGED_ROWS = 20_000

# Rows that are drawn into a bag at most: a hundred trees on a large table would take minutes.
_BAG_ROWS = 5_000
# Rows at most for boosted trees, and for trees that would be fitted on all rows.
_WHOLE_ROWS = 20_000

# Trees of the forest whose out-of-bag votes are asked, and the most rows in the bag of each. Of
# many rows there are fewer, so that rows times trees are no more than `_OOB_WORK`.
_OOB_TREES, _LEAST_OOB_TREES, _OOB_WORK = 200, 50, 1_000_000
_OOB_ROWS = 5_000

# Under a time limit, the time that a tree takes is measured on so many rows, if there are more.
_TRIAL_ROWS = 1_000

# Trees of a frozen ensemble that are asked whether it was fitted on the same rows.
_TREES_LOOKED_AT = 5
# The bags of an ensemble are not drawn again if they hold more rows than this, all together.
_ROWS_IN_BAGS = 20_000_000
# Rows count as seen if unseen rows would look like them with a smaller chance than this.
_CHANCE = 1e-4


# --------------------------------------------------------------------- trees fitted here


def grow_trees(model, X, y_index, weight, random_state) -> list:
    """Fit the trees of ``estimators="paper"``, as a list of `Forest` and `Splits`.

    `X` (float32), `y_index` (int32) and `weight` are the training rows. If time is short, fewer
    trees are fitted, on fewer rows.
    """
    # Inducers take weights for numbers of rows.
    weight = check_weights(weight, X, mean_one=True)
    y_index = y_index.astype(np.float64)
    # A tree of each inducer tells what one takes.
    n_rows = _affordable_rows([_cart(0), *(make() for make in _INDUCERS)], X, y_index, weight)
    if n_rows < len(X):
        chosen = np.sort(random_state.choice(len(X), n_rows, replace=False))
        X, y_index, weight = X[chosen], y_index[chosen], weight[chosen]

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
                drawn = random_state.randint(n_rows, size=min(n_rows, _BAG_ROWS))
                bag = weight * np.bincount(drawn, minlength=n_rows)
            elif n_rows > _WHOLE_ROWS:
                bag = np.zeros(n_rows)
                drawn = random_state.choice(n_rows, _WHOLE_ROWS, replace=False)
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


def _affordable_rows(trials, X, y, weight) -> int:
    """On how many rows the trees can be fitted once each in half of the time that is left."""
    n = len(X)
    if time_left() == np.inf or n <= _TRIAL_ROWS:
        return n
    n = min(n, _WHOLE_ROWS)
    rows = np.arange(_TRIAL_ROWS) * len(X) // _TRIAL_ROWS
    start = time.monotonic()
    for model in trials:
        _fit_some((model, [weight[rows]]), X[rows], y[rows], [0.0], always=True)
    seconds = time.monotonic() - start
    # They take time in proportion to n log n.
    share = time_left() / 2 / seconds * _TRIAL_ROWS * np.log(_TRIAL_ROWS)
    while n > _TRIAL_ROWS and n * np.log(n) > share:
        n = max(_TRIAL_ROWS, int(0.9 * n))
    return len(X) if n == _WHOLE_ROWS else n


def _boost(X, y, weight, n_trees, seed) -> list:
    """Trees of depth three, each fitted on rows that the ones before got wrong (SAMME)."""
    if len(X) > _WHOLE_ROWS:
        rows = np.random.RandomState(seed).choice(len(X), _WHOLE_ROWS, replace=False)
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
    limit of time the forest is grown in steps, and on fewer rows a tree if they are many. The
    votes, of shape (n_rows, n_classes), are means of the class fractions of these trees; NaN for
    rows that every tree saw.
    """
    n_wanted = int(most * min(_OOB_TREES, max(_LEAST_OOB_TREES, _OOB_WORK // len(X))))
    forest = RandomForestClassifier(
        min_samples_leaf=2,
        n_jobs=model.n_jobs,
        random_state=seed,
        warm_start=True,
    )
    step, n_rows = n_wanted, len(X)
    if time_left() < np.inf:
        trial = DecisionTreeClassifier(min_samples_leaf=2, max_features="sqrt", random_state=0)
        step = effective_n_jobs(model.n_jobs)
        n_rows = _affordable_rows([trial] * step, X, y_index, weight)
    elif model.verbose:
        step = max(1, n_wanted // 10)
    if min(n_rows, _OOB_ROWS) < len(X):
        forest.set_params(max_samples=min(n_rows, _OOB_ROWS))
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
    common_features(frozen, forests)
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
    if names is not None and fitted_on is not None and not same_names(inner, names):
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
    for i, estimator in enumerate(estimators):
        fitted = unwrap(estimator)
        codes, inner = behind_codes(fitted)
        numbers = rows.X if codes is None else codes.transform(given).astype(np.float32)
        if fitted is not estimator and has_seen(inner, numbers, rows.weight):
            warn(
                f"estimators[{i}]={type(fitted).__name__}(...) seems to have been fitted on the "
                "rows given to fit: its leaves hold as many of them as they saw when it was "
                "fitted. Some of these rows are held out to choose the tree, so the choice is too "
                "optimistic. Give rows that the model has not seen, or use fitness='oob'."
            )


def has_seen(model, X, weight) -> bool:
    """Whether rows were, all but surely, among those a tree ensemble was fitted on.

    Leaves then hold at least as many rows as they saw; of the rows in the bag of a tree, where the
    ensemble tells them by number, exactly as many. Rows of the same kind that were not seen fall
    into a leaf with a chance near its share of the rows it was fitted on.
    """
    try:
        trees = tree_estimators(model)
    except TypeError:  # trees that do not say how many rows they saw
        return False
    # Drawing the bags again takes time and memory in proportion to their rows.
    small = len(trees) * len(X) <= _ROWS_IN_BAGS
    trees = trees[:_TREES_LOOKED_AT]
    used = np.flatnonzero(weight > 0)
    # A model that was fitted without bags has seen all rows in each tree.
    chance = _log_chance(trees, [X[used]] * len(trees))
    if chance is None or chance < np.log(_CHANCE):
        return chance is not None
    bags = []
    with suppress(AttributeError, TypeError, ValueError):  # of ensembles that tell their bags
        bags = list(model.estimators_samples_[: len(trees)]) if small else []
    if len(bags) < len(trees) or any(bag.max() >= len(X) for bag in bags):
        return False
    drawn = (np.bincount(bag, minlength=len(X)) > 0 for bag in bags)
    chance = _log_chance(trees, (X[among & (weight > 0)] for among in drawn))
    return chance is not None and chance < np.log(_CHANCE)


def _log_chance(trees, rows) -> float | None:
    """Log of the chance that rows that the trees have not seen spread over their leaves like these.

    None if a leaf holds fewer of these rows than it was grown on.
    """
    least = 0.0
    for (tree, columns), X in zip(trees, rows, strict=True):
        contents = read_nodes(tree)
        leaves = contents.nodes.leaves
        saw = contents.n_node_samples[leaves]
        reached = tree.apply(np.ascontiguousarray(X if columns is None else X[:, columns]))
        holds = np.bincount(reached, minlength=len(contents.order))[contents.order[leaves]]
        if (holds < saw).any():
            return None
        # Unseen rows fall into leaves as balls into urns.
        share = saw / saw.sum()
        if np.array_equal(holds, saw):
            chance = stats.multinomial.logpmf(saw, len(X), share)
        else:
            chance = stats.binom.logsf(saw - 1, len(X), share).sum()
        least = min(least, chance)
    return least


def random_seed(random_state) -> int:
    """A seed of 62 bits."""
    high, low = (int(random_state.randint(2**31 - 1)) for _ in range(2))
    return high << 31 | low
