"""GENESIM: breed one small, accurate decision tree out of many."""

from __future__ import annotations

import time
import warnings
from itertools import pairwise
from numbers import Integral, Real
from typing import ClassVar

import numpy as np
from joblib import effective_n_jobs
from scipy import stats
from sklearn import config_context, metrics
from sklearn.base import BaseEstimator, ClassifierMixin, is_regressor
from sklearn.ensemble import RandomForestClassifier
from sklearn.exceptions import ConvergenceWarning
from sklearn.frozen import FrozenEstimator
from sklearn.tree import DecisionTreeClassifier
from sklearn.utils import Bunch, check_random_state
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.parallel import Parallel, delayed
from sklearn.utils.validation import check_is_fitted, validate_data

from ensemble_simplify._axes import Axes
from ensemble_simplify._base import (
    Interval,
    StrOptions,
    all_or_nothing,
    check_weights,
    fit_context,
    fit_or_unwrap,
    fitted_rows,
    safe_indexing,
    unwrap,
)
from ensemble_simplify._forest import read_forest, tree_estimators
from ensemble_simplify._sklearn_tree import read_nodes, write_tree
from ensemble_simplify.genesim._inducers import C45Tree, GuideTree, QuestTree
from ensemble_simplify.genesim._merge_trees import common_features
from ensemble_simplify.genesim._population import Population

# The CART set-ups that are bagged for estimators="auto".
_CART_SETUPS = (
    {},
    {"max_depth": 4, "min_samples_leaf": 3},
    {"criterion": "entropy", "min_samples_leaf": 2, "ccp_alpha": 0.01},
    {"criterion": "entropy"},
)

# Scores that the kernel computes itself.
_KERNEL_METRICS = ("accuracy", "balanced_accuracy", "f1_macro", "neg_log_loss")

# Trees of the forest whose out-of-bag votes are the target of fitness="oob".
_OOB_TREES = 200

# The inducers of estimators="paper" grow bags together up to so many rows.
_BAGGED_ROWS = 20_000

# Trees of a frozen ensemble that are asked whether it was fitted on the same rows.
_TREES_LOOKED_AT = 5
# They say so if rows never seen would look like it with less than this chance.
_CHANCE = 1e-4

# Children times rows from which on threads pay.
_WORK_FOR_THREADS = 2_000_000

_FOREVER = float("inf")


class GenesimClassifier(ClassifierMixin, BaseEstimator):
    """One decision tree bred from an ensemble of trees.

    The trees of an ensemble are the first population of a genetic algorithm. Children are
    made by merging trees - the decision regions of the parents are intersected, relabelled
    by the training rows and written back as a tree -, by moving thresholds and by swapping
    subtrees. The fittest tree on held-out rows, the smaller one of equals, is the result.

    Read more in the :ref:`User Guide <genesim>`.

    Parameters
    ----------
    estimators : {"auto", "paper"} or list of estimators, default="auto"
        Where the first population comes from.

        - ``"auto"``: bagged CART trees in four set-ups, and boosted trees.
        - ``"paper"``: bagged trees of four inducers (C4.5-, CART-, QUEST- and GUIDE-like),
          and boosted trees, as in the paper.
        - a list of tree classifiers and ensembles of them, each fitted once on the training
          rows, or used as it is if wrapped in :class:`sklearn.frozen.FrozenEstimator`.

        Only the splits of these trees are used; their leaves are labelled anew.
    n_bootstraps : int, default=25
        Bootstrap samples for every inducer of ``"auto"`` and ``"paper"``, each of which is also
        fitted once on all training rows; and the largest number of boosted trees.
    boosting : bool, default=True
        Whether ``"auto"`` and ``"paper"`` add the trees of a boosted ensemble.
    population_size : int, default=150
        Trees that survive an iteration.
    n_iter : int, default=15
        Iterations of the genetic algorithm.
    n_crossovers : int, default=30
        Merges in each iteration (10 in the paper).
    n_parents : int, default=2
        Trees merged at once.
    tournament_size : int, default=10
        Every parent is the fittest of so many trees drawn at random.
    mutation_prob : float, default=0.25
        Probability that a tree of the population gets a pair of mutants in an iteration, one
        with a threshold moved and one with two subtrees swapped.
    fitness : {"holdout", "oob"}, default="holdout"
        ``"holdout"``: score on held-out rows. ``"oob"``: all rows are training rows, and trees
        are scored by their agreement with the out-of-bag votes of a random forest; trees
        come out larger.
    validation_fraction : float, default=0.5
        Fraction of the rows of each class held out for ``fitness="holdout"``.
    scoring : str or callable, default="accuracy"
        ``"accuracy"``, ``"balanced_accuracy"``, ``"f1_macro"`` and ``"neg_log_loss"`` are
        computed in compiled code; every other scorer of scikit-learn is called for every tree.
    merge_order : {"random", "gain"}, default="random"
        Which of the parents' splits is taken first in a merge: any, as in the paper, or the one
        with the largest decrease of Gini impurity.
    prune : {"ccp", "reduced_error"} or None, default="ccp"
        How the pruned twin that joins the population with every merged or mutated tree is made:
        the best tree of the cost-complexity path on the validation rows, or reduced-error pruning.
    min_samples_leaf : int, default=3
        Training rows that a leaf has at least.
    max_leaf_nodes : int or None, default=None
        Larger trees are cut back along their cost-complexity path.
    selection : {"best", "one_se"}, default="best"
        ``"best"``: the tree with the best score; ``"one_se"``: the smallest tree whose score
        is within one standard error of it.
    n_iter_no_change : int or None, default=None
        Stop after so many iterations in which the best score did not rise.
    time_limit : float or None, default=None
        Seconds after which the search stops and the best tree so far is the result.
    n_jobs : int or None, default=None
        Threads for fitting the first population and, on large data, for breeding. The result
        does not depend on it.
    random_state : int, RandomState instance or None, default=None
        Controls bootstraps, held-out rows and breeding.
    verbose : int, default=0
        If positive, one line is printed for every iteration.

    Attributes
    ----------
    decision_tree_ : DecisionTreeClassifier
        The result, a real scikit-learn tree. Its leaves count all rows given to `fit`.
    classes_ : ndarray of shape (n_classes,)
        Class labels.
    pareto_front_ : Bunch
        The best tree of every size met on the way: ``n_leaves`` and ``score`` (on the
        validation rows), both rising, and ``trees``, a list of `DecisionTreeClassifier`.
    history_ : Bunch
        Arrays over the iterations, the first entry being the first population: ``best_score``,
        ``mean_score``, ``n_leaves`` of the best tree and ``population_size``.
    ensemble_score_ : float
        Score, on the validation rows, of the first population voting together with
        their class fractions; of the trees that were settled before `time_limit`.
    validation_score_ : float
        Score of `decision_tree_` on the validation rows, before they were counted in.
    n_leaves_ : int
        Leaves of `decision_tree_`.
    n_nodes_ : int
        Nodes of `decision_tree_`.
    n_iter_ : int
        Iterations done.
    n_features_in_ : int
        Number of features seen in `fit`.
    feature_names_in_ : ndarray of shape (`n_features_in_`,)
        Names of features seen in `fit`; defined only if all are strings.

    See Also
    --------
    merge_trees : Exact average of fitted trees as one tree.
    InterpretableSingleModel : Tree grown top-down from what an ensemble predicts.

    Notes
    -----
    For ``scoring="accuracy"``, the tree is never worse on the validation rows than the best
    tree of the first population: survival is elitist, and counting the validation rows into
    the leaves at the end cannot lower their accuracy.

    A frozen ensemble may have seen the rows that are held out here. Its splits then
    know them, and scores on them are too good; give rows the ensemble has not seen, or use
    ``fitness="oob"``. A ``UserWarning`` is given if that is all but sure: if each leaf holds
    at least as many of the rows as it saw when it was fitted, which rows never seen would do with
    a chance below 1 in 10000. No warning does not mean that none was seen.

    References
    ----------
    G. Vandewiele, K. Lannoye, O. Janssens, F. Ongenae, F. De Turck and S. Van Hoecke,
    "A genetic algorithm for interpretable model extraction from decision tree ensembles", 2017.
    https://doi.org/10.1007/978-3-319-67274-8_10

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from ensemble_simplify import GenesimClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> model = GenesimClassifier(n_bootstraps=5, random_state=0).fit(X, y)
    >>> bool(model.score(X, y) > 0.9)
    True
    >>> small = model.at(n_leaves=3)
    >>> int(small.get_n_leaves())
    3
    """

    _parameter_constraints: ClassVar[dict] = {
        "estimators": [StrOptions({"auto", "paper"}), list, tuple],
        "n_bootstraps": [Interval(Integral, 0, None, closed="left")],
        "boosting": ["boolean"],
        "population_size": [Interval(Integral, 1, None, closed="left")],
        "n_iter": [Interval(Integral, 0, None, closed="left")],
        "n_crossovers": [Interval(Integral, 0, None, closed="left")],
        "n_parents": [Interval(Integral, 2, None, closed="left")],
        "tournament_size": [Interval(Integral, 1, None, closed="left")],
        "mutation_prob": [Interval(Real, 0, 1, closed="both")],
        "fitness": [StrOptions({"holdout", "oob"})],
        "validation_fraction": [Interval(Real, 0, 1, closed="neither")],
        "scoring": [StrOptions(set(metrics.get_scorer_names())), callable],
        "merge_order": [StrOptions({"random", "gain"})],
        "prune": [StrOptions({"ccp", "reduced_error"}), None],
        "min_samples_leaf": [Interval(Integral, 1, None, closed="left")],
        "max_leaf_nodes": [Interval(Integral, 2, None, closed="left"), None],
        "selection": [StrOptions({"best", "one_se"})],
        "n_iter_no_change": [Interval(Integral, 1, None, closed="left"), None],
        "time_limit": [Interval(Real, 0, None, closed="neither"), None],
        "n_jobs": [Integral, None],
        "random_state": ["random_state"],
        "verbose": ["verbose"],
    }

    def __init__(
        self,
        estimators="auto",
        *,
        n_bootstraps=25,
        boosting=True,
        population_size=150,
        n_iter=15,
        n_crossovers=30,
        n_parents=2,
        tournament_size=10,
        mutation_prob=0.25,
        fitness="holdout",
        validation_fraction=0.5,
        scoring="accuracy",
        merge_order="random",
        prune="ccp",
        min_samples_leaf=3,
        max_leaf_nodes=None,
        selection="best",
        n_iter_no_change=None,
        time_limit=None,
        n_jobs=None,
        random_state=None,
        verbose=0,
    ):
        self.estimators = estimators
        self.n_bootstraps = n_bootstraps
        self.boosting = boosting
        self.population_size = population_size
        self.n_iter = n_iter
        self.n_crossovers = n_crossovers
        self.n_parents = n_parents
        self.tournament_size = tournament_size
        self.mutation_prob = mutation_prob
        self.fitness = fitness
        self.validation_fraction = validation_fraction
        self.scoring = scoring
        self.merge_order = merge_order
        self.prune = prune
        self.min_samples_leaf = min_samples_leaf
        self.max_leaf_nodes = max_leaf_nodes
        self.selection = selection
        self.n_iter_no_change = n_iter_no_change
        self.time_limit = time_limit
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    @fit_context(prefer_skip_nested_validation=False)
    @all_or_nothing
    def fit(self, X, y, sample_weight=None):
        """Breed a tree.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Training rows. Values are cast to float32, as scikit-learn's trees do.
        y : array-like of shape (n_samples,)
            Class labels.
        sample_weight : array-like of shape (n_samples,) or None, default=None
            Non-negative weights of the rows.

        Returns
        -------
        self : GenesimClassifier
            Fitted.
        """
        deadline = time.monotonic() + (self.time_limit or _FOREVER)
        self._check_sizes()
        original = X
        X, y = validate_data(self, X, y, dtype=np.float32, order="C")
        check_classification_targets(y)
        self.classes_, y_index = np.unique(y, return_inverse=True)
        y_index = y_index.astype(np.int32)
        weight = check_weights(sample_weight, X)
        kept = np.flatnonzero(weight > 0)
        random_state = check_random_state(self.random_state)
        rows = self._divide(X, y_index, weight, kept, random_state)
        forests = self._first_ensemble(
            original, X, y, y_index, weight, rows, random_state, deadline
        )

        axes = Axes.of(*forests).refined(X[rows.train])
        founders = [tree for forest in forests for tree in axes.encode_forest(forest)]
        n_threads = effective_n_jobs(self.n_jobs)
        if len(kept) * len(founders) < _WORK_FOR_THREADS:
            n_threads = 1
        judge = _Judge(self.scoring, self.classes_, X, rows, sample_weight is not None)
        population = Population(
            axes.encode_rows(X[rows.train]),
            y_index[rows.train],
            weight[rows.train],
            axes.encode_rows(X[rows.val]),
            rows.target,
            rows.val_weight,
            axes.n_cuts,
            n_classes=len(self.classes_),
            min_samples_leaf=self.min_samples_leaf,
            max_leaf_nodes=self.max_leaf_nodes or 0,
            metric=judge.kernel_metric,
            prune=self.prune or "none",
            n_scratch=n_threads,
            keep_paths=not judge.slow,
        )
        self._evolve(population, founders, judge, n_threads, random_state, deadline)
        self._publish(population, axes, rows.held_out, judge)
        return self

    def predict(self, X):
        """Predict classes.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows.

        Returns
        -------
        y : ndarray of shape (n_samples,)
            Class labels.
        """
        X = fitted_rows(self, X)
        return self.decision_tree_.predict(X, check_input=False)

    def predict_proba(self, X):
        """Predict class probabilities: class fractions of the training rows in a leaf.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows.

        Returns
        -------
        proba : ndarray of shape (n_samples, n_classes)
            In the order of `classes_`.
        """
        X = fitted_rows(self, X)
        return self.decision_tree_.predict_proba(X, check_input=False)

    def at(self, *, n_leaves):
        """Return the best tree met with at most so many leaves; nothing is fitted again.

        Parameters
        ----------
        n_leaves : int
            Largest number of leaves.

        Returns
        -------
        tree : DecisionTreeClassifier
            From `pareto_front_`.
        """
        check_is_fitted(self)
        if not isinstance(n_leaves, Integral):
            raise ValueError(f"n_leaves={n_leaves!r} must be an integer, the most leaves wanted.")
        sizes = self.pareto_front_.n_leaves
        if n_leaves < sizes[0]:
            raise ValueError(
                f"n_leaves={n_leaves}, but the smallest tree met has {sizes[0]} leaves. Ask for "
                f"{sizes[0]} or more."
            )
        return self.pareto_front_.trees[np.searchsorted(sizes, n_leaves, side="right") - 1]

    def _check_sizes(self):
        if self.population_size < self.tournament_size:
            raise ValueError(
                f"population_size={self.population_size} is below tournament_size="
                f"{self.tournament_size}. Lower tournament_size or raise population_size."
            )
        if len(self.estimators) == 0:
            raise ValueError(
                "estimators is empty. Give at least one tree or ensemble of trees, or 'auto'."
            )

    def _divide(self, X, y_index, weight, kept, random_state):
        """Choose training and validation rows, and what validation rows are scored against."""
        if self.fitness == "oob":
            target = _out_of_bag_labels(
                X[kept], y_index[kept], weight[kept], self.n_jobs, random_state
            )
            return Bunch(
                train=kept, val=kept, target=target, val_weight=weight[kept], held_out=False
            )
        train, val = [], []
        for index, label in enumerate(self.classes_.tolist()):
            members = random_state.permutation(kept[y_index[kept] == index])
            n = len(members)
            n_val = int(np.floor(self.validation_fraction * n + 0.5))
            if n == 1:
                # Nothing to score with, but something to learn from.
                n_val = 0
            elif n and n_val in (0, n):
                part = "validation" if n_val == 0 else "training"
                raise ValueError(
                    f"validation_fraction={self.validation_fraction} leaves class {label!r} "
                    f"({n} rows) without {part} rows. Use a fraction from {0.5 / n:.3g} to "
                    f"{1 - 0.5 / n:.3g}, or fitness='oob'."
                )
            val.append(members[:n_val])
            train.append(members[n_val:])
        train, val = np.sort(np.concatenate(train)), np.sort(np.concatenate(val))
        held_out = val.size > 0
        if not held_out:
            val = train
        return Bunch(
            train=train, val=val, target=y_index[val], val_weight=weight[val], held_out=held_out
        )

    def _first_ensemble(self, original, X, y, y_index, weight, rows, random_state, deadline):
        """Fit or unwrap the trees of the first population; `Forest` and `Splits` objects."""
        if not isinstance(self.estimators, str):
            frozen = [
                unwrap(estimator) if isinstance(estimator, FrozenEstimator) else None
                for estimator in self.estimators
            ]
            names = getattr(self, "feature_names_in_", None)
            forests = [
                self._read_member(i, estimator, original, y, weight, rows.train, names)
                for i, estimator in enumerate(self.estimators)
            ]
            # Without names in X, the fitted models must still agree on theirs.
            common_features(frozen, forests)
            for i, model in enumerate(frozen):
                if rows.held_out and model is not None and _has_seen(model, X[weight > 0]):
                    warnings.warn(
                        f"estimators[{i}]={type(model).__name__}(...) seems to have been fitted on "
                        "the rows given to fit, of which some are held out to choose the tree: "
                        "each of its leaves holds as many of them as it saw when it was fitted. "
                        "Scores on these rows, and so the choice, are then too optimistic. Give "
                        "rows it has not seen, or use fitness='oob'.",
                        UserWarning,
                        stacklevel=4,
                    )
            return forests
        train = rows.train
        X, y_index, weight = X[train], y_index[train].astype(np.float64), weight[train]
        if self.estimators == "auto":
            makers = [
                lambda s, o=options: DecisionTreeClassifier(random_state=s, **o)
                for options in _CART_SETUPS
            ]
        else:
            makers = [
                lambda seed: DecisionTreeClassifier(min_samples_leaf=2, random_state=seed),
                lambda seed: C45Tree(),
                lambda seed: QuestTree(),
                lambda seed: GuideTree(),
            ]
        # The inducers of "paper" grow many bags at once if the rows are few.
        together = max(1, _BAGGED_ROWS // len(train)) if self.estimators == "paper" else 1
        tasks = []
        for i, make in enumerate(makers):
            for bootstrap in range(self.n_bootstraps + 1):
                seed = random_state.randint(np.iinfo(np.int32).max)
                bag = weight
                if bootstrap:
                    drawn = random_state.randint(len(train), size=len(train))
                    bag = weight * np.bincount(drawn, minlength=len(train))
                if i == 0 or self.estimators == "auto" or bootstrap % together == 0:
                    tasks.append((make(seed), []))
                tasks[-1][1].append(bag)
        boost_seed = random_state.randint(np.iinfo(np.int32).max)
        n_threads = effective_n_jobs(self.n_jobs)
        parts = [tasks[i::n_threads] for i in range(n_threads)] if n_threads > 1 else [tasks]
        fitted = _run(n_threads, [(_fit_trees, (part, X, y_index, deadline)) for part in parts])
        groups = [None] * len(tasks)
        for i, part in enumerate(fitted):
            groups[i :: len(parts)] = part
        forests = [forest for group in groups for forest in group]
        if self.boosting and self.n_bootstraps:
            forests += _boost(X, y_index, weight, self.n_bootstraps, boost_seed, deadline)
        return forests

    def _read_member(self, i, estimator, X, y, weight, train, names):
        """Fit or unwrap one of the user's models, which must know the columns by these names."""
        name = f"estimators[{i}]"
        if isinstance(estimator, type) or not hasattr(estimator, "fit"):
            raise TypeError(
                f"{name}={estimator!r} is not an estimator. Give tree classifiers or ensembles "
                "of them."
            )
        inner = unwrap(estimator)
        if is_regressor(inner):
            raise TypeError(
                f"{name}={type(inner).__name__}(...) is a regressor. GenesimClassifier breeds "
                "classifiers; give tree classifiers or ensembles of them."
            )
        own = getattr(inner, "feature_names_in_", None) if inner is not estimator else None
        if names is not None and own is not None and not np.array_equal(names, own):
            raise ValueError(
                f"{name} was fitted on the features {list(own)}, but X has {list(names)}. Give "
                "the same columns in the same order."
            )
        fitted = fit_or_unwrap(
            estimator,
            safe_indexing(X, train) if hasattr(X, "shape") else np.asarray(X)[train],
            y[train],
            None if np.all(weight[train] == 1.0) else weight[train],
            name=name,
        )
        try:
            return read_forest(fitted)
        except TypeError as error:
            raise TypeError(f"{name}: {error}") from error

    def _evolve(self, population, founders, judge, n_threads, random_state, deadline):
        """Settle the first trees, let them vote, and let the population breed."""
        seed = int(random_state.randint(2**31 - 1)) << 31 | int(random_state.randint(2**31 - 1))
        history = Bunch(best_score=[], mean_score=[], n_leaves=[], population_size=[])

        def absorb(broods):
            for brood in broods:
                judge.rescore(population, brood)
            population.absorb(broods, size=self.population_size)
            return any(brood.stopped for brood in broods)

        def record():
            score, n_leaves = population.describe()
            history.best_score.append(score[0])
            history.mean_score.append(score.mean())
            history.n_leaves.append(n_leaves[0])
            history.population_size.append(len(score))
            if self.verbose:
                print(
                    f"[genesim] iteration {len(history.best_score) - 1}: best score "
                    f"{score[0]:.4f} with {n_leaves[0]} leaves, mean {score.mean():.4f}"
                )

        # The first tree settles whatever the clock says, so that there is an answer.
        absorb([population.found(founders[:1])])
        votes = _fractions(population, founders[0])
        stopped = False
        chunk = 16 * n_threads
        for start in range(1, len(founders), chunk):
            part = founders[start : start + chunk]
            left = deadline - time.monotonic()
            broods = _run(
                n_threads,
                [
                    (
                        population.found,
                        (part[16 * i : 16 * i + 16],),
                        {"scratch": i, "seconds": left},
                    )
                    for i in range(min(n_threads, -(-len(part) // 16)))
                ],
            )
            stopped = absorb(broods)
            for tree in part:
                if stopped or time.monotonic() >= deadline:
                    break
                votes += _fractions(population, tree)
            if stopped:
                break
        self.ensemble_score_ = judge.score(votes / votes.sum(axis=1, keepdims=True))
        record()
        stale = 0
        for generation in range(self.n_iter):
            left = deadline - time.monotonic()
            if stopped or left <= 0:
                stopped = True
                break
            if generation & (generation - 1) == 0:
                population.arrange()
            n_children = self.n_crossovers + len(population)
            options = {
                "seed": seed,
                "generation": generation,
                "n_crossovers": self.n_crossovers,
                "n_parents": self.n_parents,
                "tournament_size": self.tournament_size,
                "mutation_prob": self.mutation_prob,
                "order": self.merge_order,
                "seconds": left,
            }
            ends = np.linspace(0, n_children, n_threads + 1).astype(int)
            stopped = absorb(
                _run(
                    n_threads,
                    [
                        (population.breed, (int(a), int(b)), {**options, "scratch": i})
                        for i, (a, b) in enumerate(pairwise(ends))
                    ],
                )
            )
            record()
            stale = 0 if history.best_score[-1] > history.best_score[-2] else stale + 1
            if stopped or stale == self.n_iter_no_change:
                break
        if stopped:
            warnings.warn(
                f"time_limit={self.time_limit} seconds stopped the search after "
                f"{len(history.best_score) - 1} of n_iter={self.n_iter} iterations. Raise it, or "
                "lower n_bootstraps or n_iter.",
                ConvergenceWarning,
                stacklevel=5,
            )
        self.history_ = Bunch(**{name: np.array(column) for name, column in history.items()})
        self.n_iter_ = len(history.best_score) - 1

    def _publish(self, population, axes, held_out, judge):
        """Count all rows into the trees of the front, write them and choose one."""
        n_classes = len(self.classes_)
        front = Bunch(n_leaves=[], score=[], trees=[])
        scores, _ = population.describe("front")
        raw = []
        # Counting all rows may join leaves: of two trees of one size, the later scored better.
        for i, score in enumerate(scores):
            counted, n_rows, counts = population.label_front(i, validation=held_out)
            n_leaves = (len(counted) + 1) // 2
            while front.n_leaves and front.n_leaves[-1] >= n_leaves:
                for column in front.values():
                    column.pop()
                raw.pop()
            tree = write_coded(
                axes,
                counted,
                n_rows[:, 0],
                counts[:, :n_classes],
                classes=self.classes_,
                feature_names=getattr(self, "feature_names_in_", None),
            )
            front.n_leaves.append(n_leaves)
            front.score.append(score)
            front.trees.append(tree)
            raw.append(population.nodes(i, "front"))
        chosen = len(raw) - 1
        if self.selection == "one_se":
            least = scores[-1] - judge.standard_error(population, raw[-1])
            chosen = next(i for i, score in enumerate(front.score) if score >= least)
        self.pareto_front_ = Bunch(
            n_leaves=np.array(front.n_leaves), score=np.array(front.score), trees=front.trees
        )
        self.decision_tree_ = front.trees[chosen]
        self.validation_score_ = float(front.score[chosen])
        self.n_leaves_ = int(front.n_leaves[chosen])
        self.n_nodes_ = 2 * self.n_leaves_ - 1


class _Judge:
    """Scores of labels or probabilities on the validation rows.

    Parameters
    ----------
    scoring : str or callable
    classes : ndarray of shape (n_classes,)
    X : ndarray of shape (n_rows, n_features)
    rows : Bunch
        With `val`, `target` and `val_weight`.
    weighted : bool
        Whether the user gave weights, which scorers are then given.
    """

    def __init__(self, scoring, classes, X, rows, weighted):
        self.scoring = scoring
        self.classes = classes
        self.target = rows.target
        self.val_weight = rows.val_weight
        self.slow = not (isinstance(scoring, str) and scoring in _KERNEL_METRICS)
        self.kernel_metric = "accuracy" if self.slow else scoring
        if self.slow:
            self.scorer = metrics.get_scorer(scoring) if isinstance(scoring, str) else scoring
            self.X = X[rows.val]
            self.y = classes[self.target]
            self.options = {"sample_weight": self.val_weight} if weighted else {}

    def score(self, proba):
        """Score class probabilities of the validation rows."""
        if self.slow:
            answers = _Answers(self.classes, proba)
            score = self.scorer(answers, self.X, self.y, **self.options)
            if not isinstance(score, Real) or not np.isfinite(score):
                raise ValueError(
                    f"scoring={self.scoring!r} gave {score!r} for a tree on the validation rows. "
                    "Use a scorer that returns a finite number, or give more rows."
                )
            return float(score)
        options = {"sample_weight": self.val_weight}
        if self.scoring == "neg_log_loss":
            picked = proba[np.arange(len(self.target)), self.target]
            losses = -np.log(np.maximum(picked, np.finfo(np.float64).eps))
            return -float(np.average(losses, weights=self.val_weight))
        labels = proba.argmax(axis=1)
        if self.scoring == "f1_macro":
            return float(metrics.f1_score(self.target, labels, average="macro", **options))
        if self.scoring == "balanced_accuracy":
            total = np.bincount(self.target, self.val_weight)
            return float(
                np.average(labels == self.target, weights=(self.val_weight / total[self.target]))
            )
        return float(metrics.accuracy_score(self.target, labels, **options))

    def rescore(self, population, brood):
        """Replace the kernel's scores by those of a scorer it does not know."""
        if self.slow:
            for i in range(len(brood)):
                nodes = brood.nodes(i)
                brood.set_score(i, self.score(_fractions(population, nodes)))

    def standard_error(self, population, nodes):
        """Standard error of the mean accuracy (or log loss) of a tree on the validation rows."""
        proba = _fractions(population, nodes)
        if self.scoring == "neg_log_loss":
            picked = proba[np.arange(len(self.target)), self.target]
            values = -np.log(np.maximum(picked, np.finfo(np.float64).eps))
        else:
            values = (proba.argmax(axis=1) == self.target).astype(np.float64)
        weight = self.val_weight / self.val_weight.sum()
        variance = weight @ np.square(values - weight @ values)
        return float(np.sqrt(variance * np.square(weight).sum()))


class _Answers(ClassifierMixin, BaseEstimator):
    """Stands for a tree before a scorer: knows what it answers on the validation rows."""

    def __init__(self, classes, proba):
        self.classes_ = classes
        self.proba = proba

    def fit(self, X, y):
        """Answers are given; there is nothing to fit."""
        return self

    def predict(self, X):
        """Classes of the validation rows."""
        return self.classes_[self.proba.argmax(axis=1)]

    def predict_proba(self, X):
        """Class probabilities of the validation rows."""
        return self.proba


def _fractions(population, nodes):
    """Class fractions of the training rows in the leaf of each validation row."""
    nodes, _, counts = population.label_tree(nodes)
    train = counts[:, : counts.shape[1] // 2]
    return (train / train.sum(axis=1, keepdims=True))[population.apply(nodes)]


def _run(n_threads, calls):
    """Run ``(function, args[, kwargs])`` calls in threads; results in the order of the calls."""
    calls = [call if len(call) == 3 else (*call, {}) for call in calls]
    if n_threads == 1 or len(calls) == 1:
        return [function(*args, **kwargs) for function, args, kwargs in calls]
    return Parallel(n_jobs=n_threads, require="sharedmem")(
        delayed(function)(*args, **kwargs) for function, args, kwargs in calls
    )


def _fit_trees(tasks, X, y, deadline):
    """Read trees fitted on each bag of each task; none where the clock is out, save the first."""
    fitted = []
    for i, (model, bags) in enumerate(tasks):
        if i and time.monotonic() >= deadline:
            fitted.append([])
        elif isinstance(model, DecisionTreeClassifier):
            fitted.append([read_forest(_fit_cart(model, X, y, bag)) for bag in bags])
        else:
            fitted.append([model.splits_of_bags(X, y, np.array(bags))])
    return fitted


def _fit_cart(model, X, y, weight):
    # Rows and parameters are known to be good; looking again doubles the time on small data.
    with config_context(skip_parameter_validation=True):
        return model.fit(X, y, sample_weight=weight, check_input=False)


def _boost(X, y, weight, n_trees, seed, deadline):
    """Trees of depth three, each fitted on rows that the ones before got wrong (SAMME)."""
    labels, index = np.unique(y, return_inverse=True)
    trees = []
    weight = weight / weight.sum()
    for i in range(n_trees if len(labels) > 1 else 0):
        if time.monotonic() >= deadline:
            break
        model = DecisionTreeClassifier(max_depth=3, random_state=seed + i)
        tree = _fit_cart(model, X, y, weight)
        wrong = tree.predict(X, check_input=False) != labels[index]
        error = weight[wrong].sum()
        trees.append(read_forest(tree))
        if error <= 0.0 or error >= 1.0 - 1.0 / len(labels):
            break
        weight = np.where(wrong, weight * (1.0 - error) / error * (len(labels) - 1.0), weight)
        weight /= weight.sum()
    return trees


def _out_of_bag_labels(X, y_index, weight, n_jobs, random_state):
    """What the trees of a random forest that did not see a row say about it."""
    forest = RandomForestClassifier(
        _OOB_TREES, min_samples_leaf=2, oob_score=True, n_jobs=n_jobs, random_state=random_state
    )
    with warnings.catch_warnings():
        # Rows that every tree saw keep their own label below.
        warnings.filterwarnings("ignore", message="Some inputs do not have OOB scores")
        warnings.filterwarnings("ignore", category=RuntimeWarning)
        forest.fit(X, y_index, sample_weight=weight)
    votes = forest.oob_decision_function_
    known = np.isfinite(votes).all(axis=1) & (votes.sum(axis=1) > 0)
    labels = y_index.copy()
    labels[known] = forest.classes_[votes[known].argmax(axis=1)]
    return labels


def write_coded(axes, nodes, n_rows, class_weights, *, classes, feature_names=None):
    """Write a tree of the kernel as a `DecisionTreeClassifier`.

    Parameters
    ----------
    axes : Axes
    nodes : int32 array of shape (n_nodes, 3)
    n_rows : intp array of shape (n_nodes,)
        Training rows of every node.
    class_weights : float64 array of shape (n_nodes, n_classes)
        Their weight by class; the first heaviest class of a leaf is its label.
    classes : array of shape (n_classes,)
    feature_names : array of str or None

    Returns
    -------
    tree : DecisionTreeClassifier
    """
    weight = class_weights.sum(axis=1)
    fractions = class_weights / weight[:, None]
    return write_tree(
        axes.decode(nodes),
        value=fractions,
        n_node_samples=n_rows,
        weighted_n_node_samples=weight,
        impurity=np.maximum(1.0 - np.square(fractions).sum(axis=1), 0.0),
        n_features=axes.n_features,
        classes=classes,
        feature_names=feature_names,
    )


def _has_seen(model, X):
    """Whether rows were, all but surely, among those a tree ensemble was fitted on.

    Leaves then hold at least as many rows as they saw. Rows of the same kind that were not
    seen fall into a leaf with a chance near its share of the rows it was fitted on.
    """
    try:
        trees = tree_estimators(model)
    except TypeError:  # trees that do not say how many rows they saw
        return False
    least = 0.0
    for tree, columns in trees[:_TREES_LOOKED_AT]:
        contents = read_nodes(tree)
        leaves = contents.nodes.leaves
        saw = contents.n_node_samples[leaves]
        reached = tree.apply(np.ascontiguousarray(X if columns is None else X[:, columns]))
        holds = np.bincount(reached, minlength=len(contents.order))[contents.order[leaves]]
        if (holds < saw).any():
            return False
        share = saw / saw.sum()
        if np.array_equal(holds, saw):
            chance = stats.multinomial.logpmf(saw, len(X), share)
        else:
            chance = stats.binom.logsf(saw - 1, len(X), share).sum()
        least = min(least, chance)
    return bool(least < np.log(_CHANCE))
