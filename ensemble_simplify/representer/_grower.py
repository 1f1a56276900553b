"""Growing a tree on synthetic rows: fresh ones in every node, or one big sample for all."""

from __future__ import annotations

import heapq
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial

import numpy as np
from scipy.special import ndtri
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from ensemble_simplify.grid import in_threads, is_late, preorder, sized_nodes, time_left
from ensemble_simplify.representer._best_split import best_split
from ensemble_simplify.representer._written_tree import pruning_path
from ensemble_simplify.sampling import (
    OVERGROWN,
    Alternation,
    ColumnSplit,
    ExactPrunings,
    GrownTree,
    Law,
    Predictor,
    Region,
)
from ensemble_simplify.writing import gini

# Manufactured numbers held at once: rows go to the predictor in batches of about this size.
_BATCH_NUMBERS = 2**22

# A node whose answers vary less than this, relative to the root, is pure.
_PURE = 1e-12

# A node whose best split does not lead clearly gets more rows, up to so many times its first ones.
_MOST_ROWS = 10

# Before pruning, a tree of one sample has up to so many times the leaves that are asked for, where
# too few of fewer differ.
_MOST_OVERGROWN = 48

# Leaves up to which trees are optimised.
_MOST_OPTIMISED = 64

# The smallest tree that folds are asked about.
_SMALLEST = 4

# Where a law is chosen: leaves of the largest trees, at most; and where no size is asked for.
_MOST_TRIED_LEAVES, _USUAL_LEAVES = 32, 16


@dataclass(eq=False)
class _GrowingNode:
    region: Region | None
    rows: np.ndarray  # training rows inside
    path: tuple  # 0 for left, 1 for right, from the root
    draws: np.ndarray | None = None
    answers: np.ndarray | None = None
    probability: float = np.nan
    mean: np.ndarray | None = None
    cost: float = np.nan
    split: ColumnSplit | None = None
    priority: tuple = ()  # the smaller, the earlier it is split
    candidates: tuple | None = None  # children that may join the tree
    children: tuple | None = None  # children that have
    n_rounds: int = 0  # of drawing rows
    parent: _GrowingNode | None = None
    n_different: int = 1  # leaves below, those that siblings with equal answers share counted once

    def __lt__(self, other):
        return self.priority < other.priority

    def some_leaf(self):
        return self if self.children is None else self.children[0].some_leaf()


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
    n_jobs: int | None
    report: Callable  # of a message
    answers: np.ndarray | None = None  # to the training rows, if they are known
    allowed_splits_only: bool = True  # otherwise a node whose best split is forbidden is a leaf
    split_confidence: float | None = None
    out_of_time: bool = False
    root_variance: float | None = None
    seconds_each: float = 0.0  # that the children of a node took

    def grow(self):
        """Split nodes until none is left to split, or a limit is reached."""
        root = _GrowingNode(self.law.everywhere(), np.arange(self.law.X.shape[0]), ())
        begin = time.monotonic()
        self._evaluate([root])
        self.seconds_each = 2 * (time.monotonic() - begin)
        open_nodes = [root] if root.split is not None else []
        n_leaves = 1
        most = OVERGROWN * self.max_leaf_nodes
        while open_nodes and n_leaves < most and not self._has_its_size(root):
            if open_nodes[0].candidates is None:
                if self.out_of_time:
                    break
                self._look_ahead(open_nodes, max(self.max_leaf_nodes - root.n_different, 1))
                self.report(
                    f"{n_leaves} leaves, {len(open_nodes)} nodes to split, "
                    f"{self.predictor.n_queries} rows labelled"
                )
                if open_nodes[0].candidates is None:
                    break
            node = heapq.heappop(open_nodes)
            node.children, node.candidates = node.candidates, None
            n_leaves += 1
            self._count(node)
            for child in node.children:
                if child.split is not None:
                    heapq.heappush(open_nodes, child)
        return self._tree(root)

    def _tree(self, root):
        is_label = self.predictor.target == "label"
        return _as_arrays(root, self.law.gaps, is_label, not self.out_of_time)

    def _has_its_size(self, root):
        """Whether so many leaves are left where no two siblings answer alike."""
        most = self.max_leaf_nodes
        if root.n_different < most:
            return False
        return self._tree(root).prunings(most).pruned(most).n_leaves == most

    def _count(self, node) -> None:
        """Count the leaves below a node, and those above it, in which siblings differ."""
        while node is not None:
            node.n_different = sum(child.n_different for child in node.children)
            if node.n_different == 2 and self.predictor.target == "label":
                left, right = (child.some_leaf().mean.argmax() for child in node.children)
                node.n_different -= int(left == right)
            node = node.parent

    def _look_ahead(self, open_nodes, n_wanted) -> None:
        """Make and evaluate the children of the nodes that are likely to be split next.

        Growing breadth first, that is all of them; best first, as many as may still be split.
        Nodes have random numbers of their own, so the tree does not depend on the batches.
        """
        if n_wanted < np.inf:
            open_nodes = heapq.nsmallest(int(n_wanted), open_nodes)
        parents = [node for node in open_nodes if node.candidates is None]
        # One question about many rows is quicker than many about few, but all rows are held.
        per_batch = max(1, _BATCH_NUMBERS // (2 * self.n_samples * self.law.X.shape[1]))
        while parents:
            begin = time.monotonic()
            # A model cannot be interrupted: what it would take is known from the nodes before.
            if self.seconds_each >= time_left():
                self.out_of_time = True
                return
            n = min(per_batch, time_left() / max(self.seconds_each, 1e-9))
            batch, parents = parents[: max(int(n), 1)], parents[max(int(n), 1) :]
            pairs = [self._make_children(parent) for parent in batch]
            self._evaluate([child for pair in pairs for child in pair])
            self.seconds_each = (time.monotonic() - begin) / len(batch)
            for parent, pair in zip(batch, pairs, strict=True):
                parent.candidates = pair
                # Its children have what they need: rows are most of the memory.
                parent.region = parent.draws = parent.answers = None

    def _make_children(self, parent):
        split = parent.split
        children = []
        of_rows = split.goes_left(self.law.X[parent.rows, split.column])
        of_draws = split.goes_left(parent.draws[:, split.column]) if self.reuse else None
        regions = self.law.parts(parent.region, split)
        for side, left in enumerate((True, False)):
            child = _GrowingNode(
                regions[side],
                parent.rows[of_rows == left],
                (*parent.path, side),
                parent=parent,
            )
            if self.reuse:
                child.draws = parent.draws[of_draws == left]
                child.answers = parent.answers[of_draws == left]
            children.append(child)
        return tuple(children)

    def _evaluate(self, nodes) -> None:
        """Draw rows in each node, have all labelled at once, and find the best splits.

        Nodes whose best split must lead and does not are given as many rows again.
        """
        while nodes:
            drawn = self._in_threads(self._draw, nodes)
            answers = self._answers(drawn)
            rows = [X for X, _ in drawn]
            settled = self._in_threads(self._assess, nodes, rows, answers)
            nodes = [node for node, done in zip(nodes, settled, strict=True) if not done]
            if nodes and is_late():
                self.out_of_time = True
                break

    def _answers(self, drawn):
        """Answers to the rows of each node; those to training rows are known."""
        X = np.concatenate([X for X, _ in drawn])
        ends = np.cumsum([len(X) for X, _ in drawn])[:-1]
        source = np.concatenate([source for _, source in drawn])
        if self.answers is None or (source < 0).all():
            return np.split(self.predictor.answers(self.law.with_gaps(X)), ends)
        answers = self.answers[source]
        made = np.flatnonzero(source < 0)
        if made.size:
            answers[made] = self.predictor.answers(self.law.with_gaps(X[made]))
        return np.split(answers, ends)

    def _in_threads(self, function, *arguments):
        """Call for every node; the compiled work under it lets go of the interpreter's lock."""
        calls = (partial(function, *each) for each in zip(*arguments, strict=True))
        return in_threads(self.n_jobs, calls)

    def _draw(self, node):
        """The rows that a node still lacks, by random numbers of its own."""
        missing = self.n_samples
        if node.n_rounds == 0 and node.draws is not None:
            # one at least: a parent that was given more rows can hand down more than are asked for
            missing = max(missing - node.draws.shape[0], 1)
        elif node.n_rounds > 0:
            missing = node.draws.shape[0]
        place = node.path if node.n_rounds == 0 else (*node.path, 1 + node.n_rounds)
        sequence = np.random.SeedSequence(self.seed, spawn_key=place)
        seed = int(sequence.generate_state(1, np.uint64)[0])
        node.n_rounds += 1
        return self.law.draw(node.region, missing, seed)

    def _assess(self, node, X, answers) -> bool:
        """Cost and split of a node whose rows are labelled; leaves keep no rows.

        Tells whether no further rows are needed.
        """
        if node.draws is not None:
            X = np.concatenate([node.draws, X])
            answers = np.concatenate([node.answers, answers])
        node.draws, node.answers = X, answers
        node.probability = self.law.probability(node.region)
        node.mean = node.answers.mean(axis=0)
        # Labels are split by their variance, too: their errors alone often fall by no single split.
        variance = float(np.square(node.answers - node.mean).mean(axis=0).sum())
        if self.root_variance is None:
            self.root_variance = variance
        label = self.predictor.target == "label"
        node.cost = node.probability * (1.0 - node.mean.max() if label else variance)
        unit = 1.0 if label else self.root_variance
        node.split, leads = None, True
        if (
            variance > _PURE * self.root_variance
            and len(node.path) < self.max_depth
            and (self.min_cost == 0.0 or node.cost > self.min_cost * unit)
        ):
            node.split, decrease, leads = self._best_split(node)
            best_first = self.max_leaf_nodes < np.inf
            rank = -node.probability * decrease if best_first else len(node.path)
            node.priority = (rank, node.path)
        # More rows may tell which of two splits is better; a tie they never would.
        if not leads and node.draws.shape[0] < _MOST_ROWS * self.n_samples:
            return False
        if node.split is None:
            node.region = node.draws = node.answers = None
        return True

    def _best_split(self, node):
        """The best split, how much it lowers the variance, and whether it clearly leads."""
        n_rows, n_columns = node.draws.shape
        values = np.empty(n_rows)
        by_column = np.empty((0 if self.split_confidence is None else n_columns, 2))
        column, n_values, threshold, decrease = best_split(
            node.draws,
            node.answers,
            self.categorical,
            self.law.X,
            node.rows,
            self.min_train_samples if self.allowed_splits_only else 0,
            values,
            by_column,
        )
        if column < 0:
            return None, 0.0, True
        split = ColumnSplit(column, threshold)
        if n_values:
            split = self._with_all_levels(node, column, values[:n_values].astype(np.float32))
        n_left = np.count_nonzero(split.goes_left(self.law.X[node.rows, column]))
        if min(n_left, node.rows.size - n_left) < self.min_train_samples:
            return None, 0.0, True
        leads = True
        if self.split_confidence is not None:
            by_column[column] = 0.0
            rival = int(by_column[:, 0].argmax())
            if by_column[rival, 0] > 0.0:
                leads = self._leads(node, split, ColumnSplit(rival, by_column[rival, 1]))
        return split, decrease, leads

    def _leads(self, node, split, rival):
        """Whether a split is better than another one beyond the noise of the node's rows."""
        lead = _losses(node, rival) - _losses(node, split)
        error = lead.std() / np.sqrt(lead.size)
        return lead.mean() >= ndtri(self.split_confidence) * error

    def _with_all_levels(self, node, column, left):
        """Send the levels that no draw has to the side with more draws."""
        drawn = node.draws[:, column].astype(np.float32)
        if 2 * np.count_nonzero(np.isin(drawn, left)) > drawn.size:
            right = np.setdiff1d(drawn, left)
            left = np.setdiff1d(self.law.X[:, column].astype(np.float32), right)
        return ColumnSplit(column, np.nan, np.sort(left))


def _as_arrays(root, gaps, is_label, is_complete):
    """The grown tree, whose means and costs all come from the rows of its leaves.

    So costs add up: no split makes them larger, and one above two equal answers leaves them as
    they are.
    """
    order, splits, stack = [], [], [root]
    while stack:
        node = stack.pop()
        order.append(node)
        split, children = None, node.children
        if children is not None:
            split, children = _of_gaps(node.split, children, gaps)
            stack += children[::-1]
        splits.append(split)
    for node in reversed(order):
        if node.children is not None:
            left, right = node.children
            together = left.probability + right.probability
            on_left = left.probability / together if together > 0.0 else 0.5
            node.mean = on_left * left.mean + (1.0 - on_left) * right.mean
            node.cost = left.cost + right.cost
            if not is_label:
                apart = np.square(left.mean - right.mean).sum()
                node.cost += together * on_left * (1.0 - on_left) * apart
            elif left.mean.argmax() != right.mean.argmax():
                node.cost = together * (1.0 - node.mean.max())
    mean, cost, probability = (
        np.array([getattr(node, name) for node in order])
        for name in ("mean", "cost", "probability")
    )
    return GrownTree(
        nodes=sized_nodes([-1 if split is None else split.column for split in splits]),
        splits=splits,
        mean=mean,
        cost=cost,
        probability=probability,
        impurity=probability * gini(mean) if is_label else cost,
        is_label=is_label,
        is_complete=is_complete,
    )


def _of_gaps(split, children, gaps):
    """A split where a number stands for gaps, and the sides of it, as a split of the gaps."""
    if gaps is None or not gaps.seen[split.column]:
        return split, children
    stand_in, low = gaps.stand_in[split.column], np.float32(gaps.low[split.column])
    if split.values is not None:
        left = split.values[split.values != stand_in]
        return replace(split, values=left, missing_left=left.size < split.values.size), children
    if stand_in <= split.threshold < low:  # scikit-learn sends what is known to the left
        return ColumnSplit(split.column, np.inf), children[::-1]
    return replace(split, missing_left=bool(stand_in <= split.threshold)), children


def _losses(node, split):
    """Squared distance of each row's answer from the mean on its side."""
    goes_left = split.goes_left(node.draws[:, split.column])
    losses = np.empty(goes_left.size)
    for side in (goes_left, ~goes_left):
        answers = node.answers[side]
        losses[side] = np.square(answers - answers.mean(axis=0)).sum(axis=1)
    return losses


# ---------------------------------------------------------------------- one big sample


def grow_trees(rows, target, *, max_depth, max_leaf_nodes, seed, least=0, sizes=(), n_jobs=None):
    """A tree on some rows, larger than asked for, and optimised ones of some sizes.

    The large one is grown on where it holds too few different leaves to be pruned to
    `max_leaf_nodes`. Without that, it is scikit-learn's own. Leaves have at least so many (`least`)
    of the real rows.
    """
    is_label = target == "label"
    if max_leaf_nodes is None:
        kind = DecisionTreeClassifier if is_label else DecisionTreeRegressor
        answers = rows.answers.argmax(axis=1) if is_label else rows.answers
        tree = kind(max_depth=max_depth, random_state=seed)
        tree = _read(tree.fit(rows.X, answers, sample_weight=rows.weight), rows)
        return [tree.reached(rows, least)]
    alternation = Alternation(rows, is_label, max_depth, least)
    grown, limit = None, OVERGROWN * max_leaf_nodes
    while True:
        grown = alternation.grown(limit, above=grown)
        prunings = grown.prunings(max_leaf_nodes)
        if grown.n_leaves < limit or limit >= _MOST_OVERGROWN * max_leaf_nodes:
            break
        if prunings.pruned(max_leaf_nodes).n_leaves == max_leaf_nodes:
            break
        limit *= 4
    trees, starts = [grown], [prunings]
    sizes = [size for size in sizes if size <= _MOST_OPTIMISED]
    if sizes and is_label:
        other = alternation.grown(grown.n_leaves, by_entropy=True)
        starts.append(other.prunings(max(sizes)))
    alternation.narrow([start.tree for start in starts])
    # the largest first: it takes longest
    calls = (partial(alternation.best, starts, n) for n in sizes[::-1])
    trees += in_threads(n_jobs, calls)[::-1]
    for tree in trees:
        tree.centre_thresholds(rows.X)
    return trees


def worth_its_leaves(tree, rows, price, class_weight=None):
    """A tree with its costs on rows that it was not grown on, without what is not worth its leaves.

    `price` is what a leaf must lower the cost by; for values and probabilities, relative to the
    cost of the root. With a `class_weight` rows of rare answers count more in this.
    """
    target = "label" if tree.is_label else "value"
    costs = cost = tree.errors(rows.X, rows.answers, rows.weight, target)
    if class_weight is not None:
        weight = rows.weight * class_weight[rows.answers.argmax(axis=1)]
        costs = tree.errors(rows.X, rows.answers, weight, target)
    price *= 1.0 if tree.is_label else cost[0]
    pruned_at, path, _ = pruning_path(replace(tree, cost=costs), cost[:, None])
    place = max(int(np.searchsorted(path.alphas, price, side="right")) - 1, 0)
    return replace(tree, cost=cost).collapsed(pruned_at > place)[0]


def _read(tree, sample):
    """A grown tree out of scikit-learn's."""
    nodes, order = preorder(
        tree.tree_.children_left,
        tree.tree_.children_right,
        tree.tree_.feature,
        tree.tree_.threshold,
    )
    missing_left = np.zeros(nodes.n_nodes, dtype=bool)
    if sample.gaps is not None:
        # scikit-learn has learned it only where a column had gaps
        missing_left = tree.tree_.missing_go_to_left[order].astype(bool)
        missing_left &= sample.gaps.seen[nodes.feature]
    splits = [
        ColumnSplit(int(j), float(t), missing_left=bool(m)) if j >= 0 else None
        for j, t, m in zip(nodes.feature, nodes.threshold, missing_left, strict=True)
    ]
    place = np.empty_like(order)
    place[order] = np.arange(len(order))
    is_label = isinstance(tree, DecisionTreeClassifier)
    return GrownTree.of(splits, sample, is_label, place[tree.apply(sample.X)])


# -------------------------------------------------- trees without a fold of the rows


def trial_sizes(max_leaf_nodes, n_classes):
    """Sizes of trees that choose a law."""
    if max_leaf_nodes is None:
        return sizes(max(_USUAL_LEAVES, n_classes), n_classes)
    return sizes(min(max_leaf_nodes, _MOST_TRIED_LEAVES), n_classes)


def sizes(max_leaf_nodes, n_classes) -> np.ndarray:
    """Sizes of trees to ask about: powers of two, and the largest; none below the classes."""
    smaller = []
    size = _SMALLEST
    while size < max_leaf_nodes:
        if size >= n_classes:
            smaller.append(size)
        size *= 2
    return np.array([*smaller, max_leaf_nodes])


def pruned_trees(rows, n_leaves, target, **how):
    """Learn trees of some sizes from rows: a function that answers other rows, once a size."""
    largest = int(max(n_leaves))
    trees = grow_trees(rows, target, max_leaf_nodes=largest, **how)
    prunings = ExactPrunings(trees, largest)
    sized = [prunings.best(n) for n in n_leaves]
    ends = [(trees[which], trees[which].ends(is_split)) for which, is_split in sized]
    return lambda X: np.array([tree.mean[at[tree.leaves(X)]] for tree, at in ends])
