"""Growing a tree on manufactured rows: fresh ones in every node, or one big sample for all."""

from __future__ import annotations

import heapq
import time
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from joblib import Parallel, delayed
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from ensemble_simplify._regions import with_sizes
from ensemble_simplify._sklearn_tree import preorder
from ensemble_simplify.representer._best_split import best_split
from ensemble_simplify.representer._law import Law, Region, Split
from ensemble_simplify.representer._predictor import Predictor
from ensemble_simplify.representer._tree import GrownTree

# Manufactured numbers held at once: rows go to the predictor in batches of about this size.
_BATCH_NUMBERS = 2**22

# A node whose answers vary less than this, relative to the root, is pure.
_PURE = 1e-12


@dataclass(eq=False)
class _Node:
    region: Region | None
    rows: np.ndarray  # training rows inside
    path: tuple  # 0 for left, 1 for right, from the root
    draws: np.ndarray | None = None
    answers: np.ndarray | None = None
    probability: float = np.nan
    mean: np.ndarray | None = None
    cost: float = np.nan
    split: Split | None = None
    priority: tuple = ()  # the smaller, the earlier it is split
    candidates: tuple | None = None  # children that may join the tree
    children: tuple | None = None  # children that have

    def __lt__(self, other):
        return self.priority < other.priority


@dataclass(eq=False)
class Grower:
    """Grow a tree on fresh rows in every node, asking the predictor in batches."""

    law: Law
    predictor: Predictor
    categorical: np.ndarray
    n_samples: int
    reuse: bool
    max_depth: float
    max_leaf_nodes: float
    min_train_samples: int
    min_cost: float
    seed: int
    deadline: float
    n_jobs: int | None
    report: Callable  # of a message
    out_of_time: bool = False
    root_variance: float | None = None

    def grow(self):
        """Split nodes until none is left to split, or a limit is reached."""
        root = _Node(self.law.everywhere(), np.arange(self.law.X.shape[0]), ())
        self._evaluate([root])
        open_nodes = [root] if root.split is not None else []
        n_leaves = 1
        while open_nodes and n_leaves < self.max_leaf_nodes:
            if open_nodes[0].candidates is None:
                if self.out_of_time:
                    break
                self._look_ahead(open_nodes, self.max_leaf_nodes - n_leaves)
                self.report(
                    f"{n_leaves} leaves, {len(open_nodes)} nodes to split, "
                    f"{self.predictor.n_queries} rows labelled"
                )
                if open_nodes[0].candidates is None:
                    break
            node = heapq.heappop(open_nodes)
            node.children, node.candidates = node.candidates, None
            n_leaves += 1
            for child in node.children:
                if child.split is not None:
                    heapq.heappush(open_nodes, child)
        return _as_arrays(root, is_complete=not self.out_of_time)

    def _look_ahead(self, open_nodes, n_wanted):
        """Make and evaluate the children of the nodes that are likely to be split next.

        Growing breadth first, that is all of them; best first, as many as may still be split.
        Nodes have random numbers of their own, so the tree does not depend on the batches.
        """
        if n_wanted < np.inf:
            open_nodes = heapq.nsmallest(int(n_wanted), open_nodes)
        parents = [node for node in open_nodes if node.candidates is None]
        per_batch = max(1, _BATCH_NUMBERS // (2 * self.n_samples * self.law.X.shape[1]))
        for begin in range(0, len(parents), per_batch):
            if time.monotonic() >= self.deadline:
                self.out_of_time = True
                return
            batch = parents[begin : begin + per_batch]
            pairs = [self._make_children(parent) for parent in batch]
            self._evaluate([child for pair in pairs for child in pair])
            for parent, pair in zip(batch, pairs, strict=True):
                parent.candidates = pair
                parent.region = parent.draws = parent.answers = None

    def _make_children(self, parent):
        split = parent.split
        children = []
        of_rows = split.goes_left(self.law.X[parent.rows, split.column])
        of_draws = split.goes_left(parent.draws[:, split.column]) if self.reuse else None
        for side, left in enumerate((True, False)):
            child = _Node(
                self.law.part(parent.region, split, left),
                parent.rows[of_rows == left],
                (*parent.path, side),
            )
            if self.reuse:
                child.draws = parent.draws[of_draws == left]
                child.answers = parent.answers[of_draws == left]
            children.append(child)
        return tuple(children)

    def _evaluate(self, nodes):
        """Draw rows in each node, have all labelled at once, and find the best splits."""
        new = self._in_threads(self._draw, nodes)
        answers = self.predictor.answers(np.concatenate(new))
        ends = np.cumsum([X.shape[0] for X in new])
        self._in_threads(self._assess, nodes, new, np.split(answers, ends[:-1]))

    def _in_threads(self, function, *arguments):
        """Call for every node; the compiled work under it lets go of the interpreter's lock."""
        parallel = Parallel(n_jobs=self.n_jobs, require="sharedmem")
        return parallel(delayed(function)(*each) for each in zip(*arguments, strict=True))

    def _draw(self, node):
        """The rows that a node still lacks, by random numbers of its own."""
        missing = self.n_samples - (0 if node.draws is None else node.draws.shape[0])
        sequence = np.random.SeedSequence(self.seed, spawn_key=node.path)
        seed = int(sequence.generate_state(1, np.uint64)[0])
        return self.law.draw(node.region, missing, seed)

    def _assess(self, node, X, answers):
        """Cost and split of a node whose rows are labelled; leaves keep no rows."""
        if node.draws is not None:
            X = np.concatenate([node.draws, X])
            answers = np.concatenate([node.answers, answers])
        node.draws, node.answers = X, answers
        node.probability = self.law.probability(node.region)
        node.mean = node.answers.mean(axis=0)
        variance = float(np.square(node.answers - node.mean).mean(axis=0).sum())
        if self.root_variance is None:
            self.root_variance = variance
        label = self.predictor.target == "label"
        node.cost = node.probability * (1.0 - node.mean.max() if label else variance)
        unit = 1.0 if label else self.root_variance
        if (
            variance > _PURE * self.root_variance
            and len(node.path) < self.max_depth
            and (self.min_cost == 0.0 or node.cost > self.min_cost * unit)
        ):
            node.split, decrease = self._best_split(node)
            best_first = self.max_leaf_nodes < np.inf
            rank = -node.probability * decrease if best_first else len(node.path)
            node.priority = (rank, node.path)
        if node.split is None:
            node.region = node.draws = node.answers = None

    def _best_split(self, node):
        values = np.empty(node.draws.shape[0])
        column, n_values, threshold, decrease = best_split(
            node.draws, node.answers, self.categorical, values
        )
        if column < 0:
            return None, 0.0
        split = Split(column, threshold)
        if n_values:
            split = self._with_all_levels(node, column, values[:n_values].astype(np.float32))
        n_left = np.count_nonzero(split.goes_left(self.law.X[node.rows, column]))
        if min(n_left, node.rows.size - n_left) < self.min_train_samples:
            return None, 0.0
        return split, decrease

    def _with_all_levels(self, node, column, left):
        """Send the levels that no draw has to the side with more draws."""
        drawn = node.draws[:, column].astype(np.float32)
        if 2 * np.count_nonzero(np.isin(drawn, left)) > drawn.size:
            right = np.setdiff1d(drawn, left)
            left = np.setdiff1d(self.law.X[:, column].astype(np.float32), right)
        return Split(column, np.nan, np.sort(left))


def _as_arrays(root, is_complete):
    order, stack = [], [root]
    while stack:
        node = stack.pop()
        order.append(node)
        if node.children is not None:
            stack += node.children[::-1]
    splits = [None if node.children is None else node.split for node in order]
    return GrownTree(
        nodes=_engine_nodes([-1 if split is None else split.column for split in splits]),
        splits=splits,
        mean=np.array([node.mean for node in order]),
        cost=np.array([node.cost for node in order]),
        probability=np.array([node.probability for node in order]),
        is_complete=is_complete,
    )


def _engine_nodes(column):
    """Nodes in the form of `_regions`, from the column of each split in pre-order."""
    nodes = np.zeros((len(column), 3), dtype=np.int32)
    nodes[:, 0] = column
    return with_sizes(nodes)


# ---------------------------------------------------------------------- one big sample


def grow_one_shot(law, predictor, *, n_samples, max_depth, max_leaf_nodes, seeds, deadline, report):
    """Scikit-learn's own tree on one big manufactured sample.

    Out of time, on as much of the sample as is labelled by then. `seeds` are of the sample and of
    the tree.
    """
    X = law.draw(law.everywhere(), n_samples, seeds[0])
    answers = _answers_until(deadline, predictor, X, law.X.shape[0])
    report(f"{predictor.n_queries} rows labelled")
    X = X[: answers.shape[0]]
    options = {
        "max_depth": max_depth,
        "max_leaf_nodes": max_leaf_nodes,
        "random_state": seeds[1],
    }
    label = predictor.target == "label"
    if label:
        tree = DecisionTreeClassifier(**options).fit(X, answers.argmax(axis=1))
    else:
        tree = DecisionTreeRegressor(**options).fit(X, answers)
    nodes, order = preorder(
        tree.tree_.children_left,
        tree.tree_.children_right,
        tree.tree_.feature,
        tree.tree_.threshold,
    )
    mean = np.zeros((nodes.n_nodes, answers.shape[1]))
    value = tree.tree_.value[order]
    if label:
        mean[:, tree.classes_] = value[:, 0] / value[:, 0].sum(axis=1, keepdims=True)
        impurity = 1.0 - mean.max(axis=1)
    else:
        mean[:] = value[:, :, 0]
        impurity = tree.tree_.impurity[order] * answers.shape[1]
    probability = tree.tree_.n_node_samples[order] / X.shape[0]
    return GrownTree(
        nodes=_engine_nodes(nodes.feature),
        splits=[
            Split(int(j), float(t)) if j >= 0 else None
            for j, t in zip(nodes.feature, nodes.threshold, strict=True)
        ],
        mean=mean,
        cost=probability * impurity,
        probability=probability,
        is_complete=X.shape[0] == n_samples,
    )


def _answers_until(deadline, predictor, X, per_batch):
    """Answers to the rows, or to the first of them when time runs out; at least to one batch."""
    if deadline == np.inf:
        return predictor.answers(X)
    answers = []
    for begin in range(0, X.shape[0], per_batch):
        if answers and time.monotonic() >= deadline:
            break
        answers.append(predictor.answers(X[begin : begin + per_batch]))
    return np.concatenate(answers)
