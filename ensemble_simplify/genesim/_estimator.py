"""GENESIM: one small, accurate decision tree out of many."""

from __future__ import annotations

import time
from collections.abc import Callable
from copy import copy
from numbers import Integral, Real
from typing import Any, ClassVar, Self

import numpy as np
from joblib import effective_n_jobs
from numpy.typing import ArrayLike
from sklearn import metrics
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils import Bunch, check_random_state
from sklearn.utils.validation import check_is_fitted

from ensemble_simplify.base import (
    Fittable,
    HoldsClassifierTree,
    Interval,
    LearnsFromTables,
    StrOptions,
    check_readable,
    check_weights,
    fit_context,
    learned_rows,
    ordered_table,
    product,
    warn_out_of_time,
)
from ensemble_simplify.genesim._distilled import distilled_front, sums_by
from ensemble_simplify.genesim._first_trees import (
    grow_trees,
    random_seed,
    read_models,
    voted_labels,
    voting_forest,
)
from ensemble_simplify.genesim._merge_trees import GapColumns
from ensemble_simplify.genesim.population._evolution import DividedRows, Evolution, Scorer
from ensemble_simplify.genesim.population._population import Population, RowBits
from ensemble_simplify.grid import is_late, limited, limits, time_left, unlimited
from ensemble_simplify.writing import CHANCE, apply_nodes, write_counted

# Rows times trees from which on threads pay.
_WORK_FOR_THREADS = 2_000_000
# Under a limit of time: the share of what is left in which the first trees grow,
_GROWING_SHARE = 0.4
# and that in which the forest grows that votes. Asking it about all rows takes about as long again.
_ASKING_SHARE = 0.25
# Leaves that are wanted where no time was left to measure sizes.
_USUAL_LEAVES = 16


class GenesimClassifier(LearnsFromTables, HoldsClassifierTree, ClassifierMixin, BaseEstimator):
    """One small decision tree made of many: grown on what a forest says, or bred from your trees.

    By default a random forest is fitted, and one tree is grown on its answers to the training rows
    and to synthetic ones. Its size is chosen in folds. This tree is not bred: to breed it further
    made it less accurate.

    Given trees or ensembles of yours, these are the first population of a genetic algorithm.
    Children are made by merging trees, by moving thresholds and by swapping subtrees. Held-out
    rows, training rows and the votes of a random forest choose the result. It is a classifier of
    its own, about as accurate as a CART tree with tuned pruning.

    Rows may be tables with text, categories and missing values. Levels are put in order by how
    often their training rows are of each class. Ordered categories keep their own order. Splits
    send missing values, and levels that `fit` did not see, to one side.

    Read more in the :ref:`guide <genesim>`.

    Parameters
    ----------
    estimators : {"auto", "paper"}, estimator or list of estimators, default="auto"
        What the tree is made of.

        - ``"auto"``: a random forest of 200 trees; see `selection`. With another `selection` or
          `scoring`, or ``fitness="oob"``, as ``"paper"``.
        - ``"paper"``: a first population of bagged trees of four inducers (C4.5-, CART-, QUEST- and
          GUIDE-like), and boosted trees, as in the paper, on at most 5,000 rows each.
        - a tree classifier or an ensemble of them, or a list of such, each fitted once on the
          training rows, or used as it is if wrapped in :class:`sklearn.frozen.FrozenEstimator`.

        Only the splits of these trees are used; their leaves are labelled anew.
    fitness : {"holdout", "oob"}, default="holdout"
        ``"holdout"``: score on held-out rows. ``"oob"``, for few rows: all rows are training rows,
        and trees are scored by their agreement with the out-of-bag votes of a random forest. It
        takes several times as long, and trees come out larger.
    scoring : str or callable, default="accuracy"
        ``"accuracy"``, ``"balanced_accuracy"`` and ``"neg_log_loss"`` are computed in compiled
        code. Any other scorer of scikit-learn is called for every tree, which
        takes longer.
    min_samples_leaf : int, default=3
        Training rows that a leaf has at least.
    max_leaf_nodes : int or None, default=None
        Most leaves of a tree. Grown trees are the best prunings of this size; bred ones are cut
        back along their cost-complexity path.
    time_limit : float or None, default=None
        Seconds after which the search stops and the best tree so far is the result. A model of
        yours that is being fitted is not interrupted.
    n_jobs : int or None, default=None
        Threads for fitting trees and, on large data, for breeding. The result does not depend on
        it.
    random_state : int, RandomState instance or None, default=None
        Controls bootstraps, held-out rows and breeding.

    Attributes
    ----------
    decision_tree_ : DecisionTreeClassifier
        The result, a real scikit-learn tree. Its nodes count all rows given to `fit`; their values
        are the probabilities that `shrinkage` makes of these.
    classes_ : ndarray of shape (n_classes,)
        Class labels.
    n_leaves_ : int
        Leaves of `decision_tree_`.
    n_nodes_ : int
        Nodes of `decision_tree_`.
    pareto_front_ : Bunch
        Trees of rising size: ``n_leaves``; ``trees``, a list of `DecisionTreeClassifier`;
        ``score``; ``fitness``; and ``merit``, by which the tree is chosen. Of bred trees, the
        fittest of every size met on the way: their ``fitness`` rises, too, ``score`` is on the
        validation rows alone, ``merit`` is NaN but with ``selection="forest"``, and small trees may
        be missing if `time_limit` stopped the search. Of grown trees, ``score`` is the accuracy and
        ``fitness`` and ``merit`` the mean log-likelihood of trees of that size in the folds.
    validation_score_ : float
        Accuracy of trees as large as `decision_tree_` in the folds. Of a bred tree, its score on
        the validation rows, before they were counted in: it is too good, because these rows chose
        among thousands of trees.
    ensemble_score_ : float
        Out-of-bag accuracy of the forest. Of bred trees, the score on the validation rows of the
        first population voting together with their class fractions; of the trees that were reached
        before `time_limit`.
    history_ : Bunch
        Arrays over the iterations, the first entry being the first population: ``best_score``
        and ``mean_score``, of the fitness; ``n_leaves`` of the fittest tree and
        ``population_size``. Of a tree that is not bred, one entry.
    n_iter_ : int
        Iterations done; 0 if the tree is not bred.
    n_features_in_ : int
        Number of features seen in `fit`.
    feature_names_in_ : ndarray of shape (`n_features_in_`,)
        Names of features seen in `fit`; defined only if all are strings.

    Other Parameters
    ----------------
    n_bootstraps : int, default=25
        Bootstrap samples for every inducer of ``"paper"``, each of which is also fitted once on
        all training rows; and the largest number of boosted trees.
    boosting : bool, default=True
        Whether ``"paper"`` adds the trees of a boosted ensemble.
    population_size : int, default=150
        Trees that survive an iteration.
    n_iter : int, default=15
        Iterations of the genetic algorithm.
    n_crossovers : int, default=30
        Merges in each iteration (10 in the paper).
    n_parents : int, default=2
        Trees merged at once.
    tournament_size : int, default=10
        Every parent is the fittest of this many trees drawn at random.
    mutation_prob : float, default=0.25
        Probability that a tree of the population gets a pair of mutants in an iteration, one
        with a threshold moved and one with two subtrees swapped.
    training_weight : float, default=0.3
        Weight of the score on the training rows, which is added to the score on the held-out rows
        in the fitness of a tree. The held-out rows alone (0, as in the paper) are few enough to be
        fitted by chance.
    validation_fraction : float, default=0.5
        Fraction of the rows of each class held out for ``fitness="holdout"``.
    merge_order : {"random", "gain"}, default="random"
        Which of the parents' splits is taken first in a merge: a random one, as in the paper, or
        the one with the largest decrease of Gini impurity.
    prune : {"ccp", "reduced_error"} or None, default="ccp"
        How the pruned twin that joins the population with every merged or mutated tree is made:
        the best tree of the cost-complexity path on the validation rows, or reduced-error pruning.
    selection : {"auto", "forest", "best", "one_se"}, default="auto"
        Which tree of `pareto_front_` is the result.

        - ``"forest"``: the one with the largest ``(v + a - n_leaves / n_samples) / 2``, where
          `v` is the share of the out-of-bag votes of a random forest of 200 trees that go to the
          tree's answers, and `a` the share of the rows that the tree labels correctly.
        - ``"best"``: the fittest, as in the paper.
        - ``"one_se"``: the smallest whose fitness is within one standard error (of the score on
          the validation rows) of the best.
        - ``"auto"``: ``"best"`` unless ``scoring="accuracy"``; else ``"forest"``, but with
          ``estimators="auto"`` and ``fitness="holdout"`` no tree is bred: a tree is grown on what a
          forest says, and cut back to the size whose log loss is least in folds.
    shrinkage : float, default=10
        How many rows the ancestors of a leaf count for in its class probabilities (hierarchical
        shrinkage). They are taken from the labels and, where a forest is asked, from its
        out-of-bag votes. No probability is zero then. 0: a leaf answers the fractions of its rows'
        labels; where the votes label it otherwise, with a tie. What `predict` answers does not
        depend on it.
    n_iter_no_change : int or None, default=None
        Stop after this many iterations in which the best score did not rise.
    verbose : int, default=0
        If positive, lines are printed while the first population grows and for every iteration.

    See Also
    --------
    ParetoFrontDisplay : Draws the trees of all sizes.
    merge_trees : Exact average of fitted trees as one tree.
    InterpretableSingleModel : Tree grown top-down from what an ensemble predicts.

    Notes
    -----
    The tree that is not bred is grown on the training rows and on synthetic rows near them. The
    forest says what a synthetic row is; of a training row, its label and the out-of-bag votes count
    alike, and they also label the leaves. Without each of three folds, a forest and a tree are made
    anew, to tell how good a size is; of more than 5,000 rows, without one of them. At most 20,000
    rows are used for all this, and all rows for what the leaves hold.

    To merge trees, their decision regions are intersected, labelled by the training rows, and
    written back as a tree.

    The fittest tree met is always kept in `pareto_front_`. With ``training_weight=0``,
    ``selection="best"`` and ``scoring="accuracy"``, the result is never worse on the validation
    rows than the best tree of the first population. (Counting the validation rows into the leaves
    at the end cannot lower their accuracy.) The paper's setting is
    ``GenesimClassifier("paper", n_crossovers=10, training_weight=0, selection="best",
    shrinkage=0)``.

    A frozen ensemble may have seen the rows that are held out here. Its splits then know them, and
    scores on them are too good. Give rows that the ensemble has not seen, or use
    ``fitness="oob"``. A ``UserWarning`` is given if each leaf holds at least as many of the rows as
    it saw when it was fitted. Rows never seen would do so with a chance below 1 in 10,000. Without
    a warning, rows may still have been seen: the bags of a forest of bootstrap samples are known
    only if the rows stand in the same order.

    References
    ----------
    .. [1] G. Vandewiele, K. Lannoye, O. Janssens, F. Ongenae, F. De Turck and S. Van Hoecke,
       "A genetic algorithm for interpretable model extraction from decision tree ensembles", 2017.
       https://doi.org/10.1007/978-3-319-67274-8_10

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from ensemble_simplify import GenesimClassifier
    >>> X, y = load_iris(return_X_y=True, as_frame=True)
    >>> model = GenesimClassifier(random_state=0).fit(X[::2], y[::2])
    >>> print(f"{model.n_leaves_} leaves, accuracy {model.score(X[1::2], y[1::2]):.3f}")
    16 leaves, accuracy 0.947

    A smaller tree, without fitting again:

    >>> print(model.at(n_leaves=3).export_text())
    |--- petal length (cm) <= 2.45
    |   |--- class: 0 (chance 95.3 %, 25 training rows)
    |--- petal length (cm) > 2.45
    |   |--- petal width (cm) <= 1.65
    |   |   |--- class: 1 (chance 89... %, 25 training rows)
    |   |--- petal width (cm) > 1.65
    |   |   |--- class: 2 (chance 87... %, 25 training rows)
    <BLANKLINE>

    A tree bred from trees that exist, on rows that they have not seen:

    >>> from sklearn.ensemble import RandomForestClassifier
    >>> from sklearn.frozen import FrozenEstimator
    >>> forest = RandomForestClassifier(20, random_state=0).fit(X[::2], y[::2])
    >>> bred = GenesimClassifier(FrozenEstimator(forest), random_state=0).fit(X[1::2], y[1::2])
    >>> bred.n_leaves_
    3
    """

    _parameter_constraints: ClassVar[dict] = {
        "estimators": [StrOptions({"auto", "paper"}), list, tuple, Fittable()],
        "n_bootstraps": [Interval(Integral, 0, None, closed="left")],
        "boosting": ["boolean"],
        "population_size": [Interval(Integral, 1, None, closed="left")],
        "n_iter": [Interval(Integral, 0, None, closed="left")],
        "n_crossovers": [Interval(Integral, 0, None, closed="left")],
        "n_parents": [Interval(Integral, 2, None, closed="left")],
        "tournament_size": [Interval(Integral, 1, None, closed="left")],
        "mutation_prob": [Interval(Real, 0, 1, closed="both")],
        "fitness": [StrOptions({"holdout", "oob"})],
        "training_weight": [Interval(Real, 0, None, closed="left")],
        "validation_fraction": [Interval(Real, 0, 1, closed="neither")],
        "scoring": [StrOptions(set(metrics.get_scorer_names())), callable],
        "merge_order": [StrOptions({"random", "gain"})],
        "prune": [StrOptions({"ccp", "reduced_error"}), None],
        "min_samples_leaf": [Interval(Integral, 1, None, closed="left")],
        "max_leaf_nodes": [Interval(Integral, 2, None, closed="left"), None],
        "selection": [StrOptions({"auto", "forest", "best", "one_se"})],
        "shrinkage": [Interval(Real, 0, None, closed="left")],
        "n_iter_no_change": [Interval(Integral, 1, None, closed="left"), None],
        "time_limit": [Interval(Real, 0, None, closed="neither"), None],
        "n_jobs": [Integral, None],
        "random_state": ["random_state"],
        "verbose": ["verbose"],
    }

    def __init__(
        self,
        estimators: Any = "auto",
        *,
        n_bootstraps: int = 25,
        boosting: bool = True,
        population_size: int = 150,
        n_iter: int = 15,
        n_crossovers: int = 30,
        n_parents: int = 2,
        tournament_size: int = 10,
        mutation_prob: float = 0.25,
        fitness: str = "holdout",
        training_weight: float = 0.3,
        validation_fraction: float = 0.5,
        scoring: str | Callable = "accuracy",
        merge_order: str = "random",
        prune: str | None = "ccp",
        min_samples_leaf: int = 3,
        max_leaf_nodes: int | None = None,
        selection: str = "auto",
        shrinkage: float = 10,
        n_iter_no_change: int | None = None,
        time_limit: float | None = None,
        n_jobs: int | None = None,
        random_state: int | np.random.RandomState | None = None,
        verbose: int = 0,
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
        self.training_weight = training_weight
        self.validation_fraction = validation_fraction
        self.scoring = scoring
        self.merge_order = merge_order
        self.prune = prune
        self.min_samples_leaf = min_samples_leaf
        self.max_leaf_nodes = max_leaf_nodes
        self.selection = selection
        self.shrinkage = shrinkage
        self.n_iter_no_change = n_iter_no_change
        self.time_limit = time_limit
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    @fit_context(prefer_skip_nested_validation=False)
    @limited
    def fit(self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Breed a tree.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Training rows: numbers, which are cast to float32, or a table that has columns of text
            and categories, too. Any entry may be missing (NaN, None).
        y : array-like of shape (n_samples,)
            Class labels.
        sample_weight : array-like of shape (n_samples,) or None, default=None
            Non-negative weights of the rows. The inducers of ``estimators="paper"`` take weights
            for numbers of rows; weights that average below one are scaled up to one for them.

        Returns
        -------
        self : estimator
            The fitted estimator.
        """
        estimators = self._check_parameters()
        if not isinstance(estimators, str):
            for estimator in estimators:
                check_readable(estimator)
        given, y = learned_rows(self, X, y, sample_weight)
        self.classes_, label = np.unique(y, return_inverse=True)
        weight = check_weights(sample_weight, given.numbers)
        random_state = check_random_state(self.random_state)
        if self._selection() == "folds":
            return self._distil(given.numbers, label, weight, random_state)
        rows = self._divide(given.numbers, label.astype(np.int32), weight, random_state)
        if rows.held_out and self._table.coded.any():
            # Levels in the order of the labels of the training rows alone: the others judge trees,
            # which may not have been told their labels by the codes.
            known = np.zeros(len(y))
            known[rows.train] = rows.weight[rows.train]
            table = ordered_table(given.given, y, known, by_class=True)
            self._table = table.as_whole(given.given)
            rows.X = np.ascontiguousarray(self._table.read(given.given, np.float32))
        self._ask_forest(rows)
        if isinstance(estimators, str):
            with limits(_GROWING_SHARE * time_left()):
                forests = grow_trees(self, *rows.some(rows.train), random_state)
        else:
            forests = read_models(self, estimators, given.given, y, rows)

        columns = GapColumns(self._table.gaps)
        axes, forests = columns.axes(forests)
        numbers = columns.rows(rows.X)
        # Mutations move thresholds: they need cut points between those of the first trees.
        axes = axes.refined(numbers[rows.train])
        trees = [tree for forest in forests for tree in axes.encode_forest(forest)]
        n_threads = effective_n_jobs(self.n_jobs)
        if len(rows.train) * len(trees) < _WORK_FOR_THREADS:
            n_threads = 1
        scorer = Scorer(self, rows, weighted=sample_weight is not None)
        population, counting = self._populations(axes, numbers, rows, scorer, n_threads)
        evolution = Evolution(self, population, scorer, n_threads)
        evolution.settle(trees)
        evolution.breed(random_seed(random_state))
        self._set_history(evolution)

        def decode(nodes, n_rows):
            return columns.written(axes.decode(nodes), n_rows)

        self._set_front(population, counting, scorer, decode, rows)
        if self._selection() == "forest":
            self.pareto_front_.merit = _merits(self.pareto_front_.trees, rows)
        self._choose(population, scorer)
        return self

    def _distil(self, X, label, weight, random_state) -> Self:
        """Take the tree that a random forest's answers grow, of the size that is best in folds."""
        front = distilled_front(self, X, label, weight, random_state)
        if is_late():
            warn_out_of_time(
                f"time_limit={self.time_limit} seconds were over before trees of all sizes had "
                "been measured. Raise time_limit."
            )
        self.ensemble_score_ = front.pop("voted")
        self.pareto_front_ = Bunch(fitness=front.merit, **front)
        far = np.abs(np.log2(front.n_leaves / _USUAL_LEAVES))
        self._set_tree(int(np.argmax(np.where(np.isnan(front.merit), -far, front.merit))))
        self.history_ = Bunch(
            best_score=np.array([self.validation_score_]),
            mean_score=np.array([front.score.mean()]),
            n_leaves=np.array([self.n_leaves_]),
            population_size=np.array([len(front.trees)]),
        )
        self.n_iter_ = 0
        return self

    def at(self, *, n_leaves: int) -> Self:
        """The same classifier with the best tree of at most this many leaves.

        Nothing is fitted again.

        Parameters
        ----------
        n_leaves : int
            Largest number of leaves.

        Returns
        -------
        GenesimClassifier
            A fitted copy; its tree is one of `pareto_front_`.
        """
        check_is_fitted(self)
        if not isinstance(n_leaves, Integral):
            raise ValueError(f"n_leaves={n_leaves!r} is not a whole number of leaves. Give one.")
        sizes = self.pareto_front_.n_leaves
        if n_leaves < sizes[0]:
            raise ValueError(
                f"n_leaves={n_leaves}, but the smallest tree that was found has {sizes[0]} leaves. "
                f"Ask for {sizes[0]} or more."
            )
        other = copy(self)
        other._set_tree(int(np.searchsorted(sizes, n_leaves, side="right")) - 1)
        return other

    def _check_parameters(self) -> str | list:
        """What is asked for together; the estimators, a single one as a list."""
        if self.population_size < self.tournament_size:
            raise ValueError(
                f"population_size={self.population_size} is below tournament_size="
                f"{self.tournament_size}. Lower tournament_size or raise population_size."
            )
        if not isinstance(self.estimators, str | list | tuple):
            return [self.estimators]
        if len(self.estimators) == 0:
            raise ValueError(
                "estimators is empty. Give at least one tree or ensemble of trees, or 'auto'."
            )
        return self.estimators

    def _divide(self, X, label, weight, random_state) -> DividedRows:
        """Choose training and validation rows, and the seed of the forest that votes."""
        kept = np.flatnonzero(weight > 0)
        # Drawn in any case, so that the front does not depend on the selection.
        seed = random_state.randint(np.iinfo(np.int32).max)
        if self.fitness == "oob":
            return DividedRows(X, label, weight, kept, kept, kept, False, seed)
        train, val = [], []
        for index, name in enumerate(self.classes_.tolist()):
            # class by class, so that validation rows are of the same classes
            members = random_state.permutation(kept[label[kept] == index])
            n = len(members)
            n_val = int(np.floor(self.validation_fraction * n + 0.5))
            if n == 1:
                # Nothing to score with, but something to learn from.
                n_val = 0
            elif n and n_val in (0, n):
                missing = "validation" if n_val == 0 else "training"
                raise ValueError(
                    f"validation_fraction={self.validation_fraction} leaves class {name!r} "
                    f"({n} rows) without {missing} rows. Use a fraction from {0.5 / n:.3g} to "
                    f"{1 - 0.5 / n:.3g}, or fitness='oob'."
                )
            val.append(members[:n_val])
            train.append(members[n_val:])
        train, val = np.sort(np.concatenate(train)), np.sort(np.concatenate(val))
        held_out = val.size > 0
        val = val if held_out else train
        return DividedRows(X, label, weight, kept, train, val, held_out, seed)

    def _ask_forest(self, rows) -> None:
        """Set the votes of a forest, if they are asked for, and what trees are scored against."""
        if self.fitness == "oob" or self._selection() == "forest":
            with limits(_ASKING_SHARE * time_left()):
                rows.votes = voting_forest(self, *rows.some(rows.kept), rows.seed)[1]
        rows.target = rows.label[rows.val]
        if self.fitness == "oob":
            rows.target = voted_labels(rows.votes, rows.target)

    def _selection(self) -> str:
        """How the tree is chosen; "folds" for one that is not bred."""
        if self.selection == "auto":
            if self.scoring != "accuracy":
                return "best"
            is_auto = isinstance(self.estimators, str) and self.estimators == "auto"
            return "folds" if is_auto and self.fitness == "holdout" else "forest"
        return self.selection

    def _populations(self, axes, X, rows, scorer, n_threads) -> tuple[Population, Population]:
        """The empty population on rows, of which `X` has the columns of the axes.

        And one to which all rows are training rows: it counts them in the end.
        """
        both = np.concatenate([rows.train, rows.val])
        # without codes of all rows there is no tree at all
        with unlimited():
            codes = axes.encode_rows(X[both])
        of_rows = codes, np.concatenate([rows.label[rows.train], rows.target]), rows.weight[both]

        def population(n_train, prune, **options):
            n_classes = len(self.classes_)
            bits = RowBits(*of_rows, axes.n_cuts, n_train=n_train, n_classes=n_classes)
            least = self.min_samples_leaf
            return Population(bits, min_samples_leaf=least, prune=prune, **options)

        breeding = population(
            len(rows.train),
            self.prune or "none",
            max_leaf_nodes=self.max_leaf_nodes or 0,
            metric=scorer.kernel_metric,
            training_weight=self.training_weight,
            n_threads=n_threads,
            keep_paths=not scorer.slow,
        )
        return breeding, population(len(both), "none") if rows.held_out else breeding

    def _set_history(self, evolution) -> None:
        history = evolution.history
        self.history_ = Bunch(**{name: np.array(column) for name, column in history.items()})
        self.n_iter_ = len(history.best_score) - 1
        self.ensemble_score_ = evolution.ensemble_score
        if evolution.stopped:
            warn_out_of_time(
                f"time_limit={self.time_limit} seconds stopped the search after {self.n_iter_} of "
                f"n_iter={self.n_iter} iterations. The tree is the best one found by then. Raise "
                "time_limit, or lower n_bootstraps or n_iter."
            )

    def _set_front(self, population, counting, scorer, decode, rows) -> None:
        """Count all rows into the trees of the front, and write them, the fittest first.

        Rating them takes about as long; where there is no time for both, small trees are left out.
        """
        front = Bunch(n_leaves=[], fitness=[], score=[], trees=[])
        X, _, weight = rows.some(rows.kept)
        votes = None
        if self.shrinkage > 0 and rows.votes is not None:
            # votes are evidence beside the labels; a row that every tree saw has none
            votes = weight[:, None] * np.nan_to_num(rows.votes)
        start = time.monotonic()
        # The fittest comes first: where time is short, it is there.
        for i, fitness in reversed(list(enumerate(population.describe("front")[0].tolist()))):
            if front.trees and time.monotonic() - start >= time_left():
                break
            nodes, n_rows, weights = counting.label_tree(population.nodes(i, "front"))
            n_leaves = (len(nodes) + 1) // 2
            # Counting all rows may join leaves: of two trees of one size, the later is fitter.
            if front.n_leaves and front.n_leaves[-1] <= n_leaves:
                continue
            nodes, order, missing_left = decode(nodes, n_rows[:, 0])
            leaf = np.searchsorted(nodes.leaves, apply_nodes(nodes, X, missing_left))
            tree = write_counted(
                nodes,
                n_rows[order, 0],
                weights[order, : len(self.classes_)],
                n_features=self.n_features_in_,
                classes=self.classes_,
                feature_names=getattr(self, "feature_names_in_", None),
                shrinkage=self.shrinkage,
                votes=None if votes is None else sums_by(leaf, votes),
                missing_go_to_left=missing_left,
            )
            front.n_leaves.append(n_leaves)
            front.fitness.append(fitness)
            front.score.append(scorer.front_score(population, i, fitness))
            front.trees.append(tree)
        for column in front.values():
            column.reverse()
        numbers = {name: np.array(front[name]) for name in ("n_leaves", "fitness", "score")}
        merit = np.full(len(front.trees), np.nan)
        self.pareto_front_ = Bunch(**numbers, merit=merit, trees=front.trees)

    def _choose(self, population, scorer) -> None:
        """Choose a tree of the front."""
        front, selection = self.pareto_front_, self._selection()
        if selection == "forest":
            self._set_tree(int(np.argmax(front.merit)))  # the smallest of equals
            return
        least = front.fitness[-1]
        if selection == "one_se":
            n_trees = len(population.describe("front")[0])
            best = population.nodes(n_trees - 1, "front")
            # the smallest tree that the validation rows do not tell from the best one
            least = least - scorer.standard_error(population, best)
        self._set_tree(int(np.argmax(front.fitness >= least)))

    def _set_tree(self, i) -> None:
        """Answer with tree `i` of the front from now on."""
        front = self.pareto_front_
        self.decision_tree_ = front.trees[i]
        self._shares_of = CHANCE if self.shrinkage > 0 else ""
        self.validation_score_ = float(front.score[i])
        self.n_leaves_ = int(front.n_leaves[i])
        self.n_nodes_ = 2 * self.n_leaves_ - 1


def _merits(trees, rows) -> np.ndarray:
    """What ``selection="forest"`` makes of trees.

    Weights count as rows; those that average below one are scaled up to one.
    """
    X, true_label, _ = rows.some(rows.kept)
    weight = check_weights(rows.weight, rows.X, mean_one=True)[rows.kept]
    share = weight / weight.sum()
    # rows that every tree of the forest saw have no votes, and count for the labels alone
    known = np.isfinite(rows.votes).all(axis=1)
    of_known = np.where(known, share, 0.0)
    if known.any():
        of_known = of_known / of_known.sum()
    votes = np.where(known[:, None], rows.votes, 0.0)
    merits = []
    for tree in trees:
        leaf = tree.tree_.apply(X)
        label = tree.tree_.value[:, 0].argmax(axis=1)[leaf]
        voted = product(of_known, votes[np.arange(len(label)), label])
        right = product(share, (label == true_label).astype(float))
        merits.append(0.5 * (voted + right - tree.get_n_leaves() / weight.sum()))
    return np.array(merits)
