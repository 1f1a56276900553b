"""Growing a tree on manufactured rows, pruning it, and writing it down as thresholds."""

from __future__ import annotations

import heapq
import time
from dataclasses import dataclass

import numpy as np
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor
from sklearn.utils import Bunch

from ensemble_simplify._sklearn_tree import preorder
from ensemble_simplify.representer._law import Law, Region, Split
from ensemble_simplify.representer._predictor import Predictor
from ensemble_simplify.representer._smear import best_split

# Manufactured numbers held at once: rows go to the predictor in batches of about this size.
_BATCH_NUMBERS = 2**22

# A node whose answers vary less than this, relative to the root, is pure.
_PURE = 1e-12


@dataclass(eq=False)
class Grown:
    """A grown tree in pre-order."""

    left: np.ndarray  # intp (n_nodes,), -1 in leaves
    right: np.ndarray
    splits: list  # of Split, None in leaves
    mean: np.ndarray  # float64 (n_nodes, n_outputs): of the predictor's answers
    cost: np.ndarray  # float64 (n_nodes,): probability times impurity
    probability: np.ndarray  # float64 (n_nodes,)

    def errors(self, X, truth, weight, target):
        """Loss of the rows in each node, were it a leaf, as a part of all."""
        rows_of = [None] * self.left.size
        rows_of[0] = np.arange(X.shape[0])
        errors = np.zeros(self.left.size)
        for t, rows in enumerate(rows_of):
            if target == "label":
                loss = 1.0 - truth[rows, self.mean[t].argmax()]
            else:
                loss = np.square(truth[rows] - self.mean[t]).sum(axis=1)
            errors[t] = weight[rows] @ loss
            if self.splits[t] is not None:
                goes_left = self.splits[t].goes_left(X[rows, self.splits[t].column])
                rows_of[self.left[t]] = rows[goes_left]
                rows_of[self.right[t]] = rows[~goes_left]
            rows_of[t] = None
        return errors / weight.sum()


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
    verbose: int
    out_of_time: bool = False
    root_variance: float | None = None

    def grow(self):
        root = _Node(self.law.everywhere(), np.arange(self.law.X.shape[0]), ())
        self._evaluate([root])
        open_nodes = [root] if root.split is not None else []
        n_leaves = 1
        while open_nodes and n_leaves < self.max_leaf_nodes:
            if open_nodes[0].candidates is None:
                if self.out_of_time:
                    break
                self._look_ahead(open_nodes, self.max_leaf_nodes - n_leaves)
                if self.verbose:
                    print(
                        f"[RepresenterTree] {n_leaves} leaves, {len(open_nodes)} nodes to split, "
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
        return _number(root)

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
        new = []
        for node in nodes:
            missing = self.n_samples - (0 if node.draws is None else node.draws.shape[0])
            sequence = np.random.SeedSequence(self.seed, spawn_key=node.path)
            seed = int(sequence.generate_state(1, np.uint64)[0])
            new.append(self.law.draw(node.region, missing, seed))
        answers = self.predictor.answers(np.concatenate(new))
        begin = 0
        for node, X in zip(nodes, new, strict=True):
            fresh = answers[begin : begin + X.shape[0]]
            begin += X.shape[0]
            inherited = node.draws is not None
            node.draws = np.concatenate([node.draws, X]) if inherited else X
            node.answers = np.concatenate([node.answers, fresh]) if inherited else fresh
            self._assess(node)

    def _assess(self, node):
        """Cost and split of a node whose rows are labelled; leaves keep no rows."""
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


def _number(root):
    """Arrays of a tree of nodes, in pre-order."""
    order, number, stack = [], {}, [root]
    while stack:
        node = stack.pop()
        number[id(node)] = len(order)
        order.append(node)
        if node.children is not None:
            stack += node.children[::-1]
    pairs = [(None, None) if node.children is None else node.children for node in order]
    return Grown(
        left=np.array([number.get(id(a), -1) for a, _ in pairs], dtype=np.intp),
        right=np.array([number.get(id(b), -1) for _, b in pairs], dtype=np.intp),
        splits=[None if node.children is None else node.split for node in order],
        mean=np.array([node.mean for node in order]),
        cost=np.array([node.cost for node in order]),
        probability=np.array([node.probability for node in order]),
    )


def grow_one_shot(law, predictor, n_samples, max_depth, max_leaf_nodes, seeds):
    """Scikit-learn's own tree on one big manufactured sample."""
    X = law.draw(law.everywhere(), n_samples, int(seeds[0]))
    answers = predictor.answers(X)
    options = {
        "max_depth": max_depth,
        "max_leaf_nodes": max_leaf_nodes,
        "random_state": int(seeds[3]),
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
    n_nodes = nodes.n_nodes
    mean = np.zeros((n_nodes, answers.shape[1]))
    value = tree.tree_.value[order]
    if label:
        mean[:, tree.classes_] = value[:, 0] / value[:, 0].sum(axis=1, keepdims=True)
        impurity = 1.0 - mean.max(axis=1)
    else:
        mean[:] = value[:, :, 0]
        impurity = tree.tree_.impurity[order] * answers.shape[1]
    probability = tree.tree_.n_node_samples[order] / n_samples
    return Grown(
        left=nodes.left,
        right=nodes.right,
        splits=[
            Split(int(j), float(t)) if j >= 0 else None
            for j, t in zip(nodes.feature, nodes.threshold, strict=True)
        ],
        mean=mean,
        cost=probability * impurity,
        probability=probability,
    )


# ---------------------------------------------------------------------- pruning and spelling


def weakest_links(tree, errors):
    """The sequence of trees of weakest-link pruning, and their `errors` in one or more columns.

    Every node's cost is an estimate of its own, so a branch may cost more than its root alone:
    such links, and those that gain nothing, are cut first.

    Returns
    -------
    cut_at : ndarray of shape (n_nodes,)
        Node t is split in tree k of the sequence iff ``cut_at[t] > k`` and it is inner.
    path : Bunch
    """
    left, right, cost = tree.left, tree.right, tree.cost
    n_nodes = left.size
    parent = np.full(n_nodes, -1, dtype=np.intp)
    inner = np.flatnonzero(left >= 0)
    parent[left[inner]] = parent[right[inner]] = inner
    size = np.ones(n_nodes, dtype=np.intp)  # of the branch, in nodes: a run in pre-order
    leaves = np.ones(n_nodes, dtype=np.intp)
    branch_cost, branch_error = cost.copy(), errors.copy()
    for t in inner[::-1]:
        a, b = left[t], right[t]
        size[t] = 1 + size[a] + size[b]
        leaves[t] = leaves[a] + leaves[b]
        branch_cost[t] = branch_cost[a] + branch_cost[b]
        branch_error[t] = branch_error[a] + branch_error[b]
    never = np.iinfo(np.intp).max
    cut_at = np.where(left >= 0, never, 0)
    link = np.full(n_nodes, np.inf)
    link[inner] = (cost[inner] - branch_cost[inner]) / (leaves[inner] - 1)
    slack = 1e-13 * max(abs(cost[0]), np.finfo(float).tiny)

    def cut(t, step):
        branch = slice(t, t + size[t])
        cut_at[branch] = np.minimum(cut_at[branch], step)
        link[branch] = np.inf
        lost = leaves[t] - 1, cost[t] - branch_cost[t], errors[t] - branch_error[t]
        while t >= 0:
            leaves[t] -= lost[0]
            branch_cost[t] += lost[1]
            branch_error[t] += lost[2]
            if leaves[t] > 1:
                link[t] = (cost[t] - branch_cost[t]) / (leaves[t] - 1)
            t = parent[t]

    sequence = [(-np.inf, leaves[0], branch_cost[0], branch_error[0].copy())]
    if link.min() > slack:
        sequence[0] = (0.0, *sequence[0][1:])
    else:
        while (t := int(link.argmin())) >= 0 and link[t] <= slack:
            cut(t, 1)
        sequence.append((0.0, leaves[0], branch_cost[0], branch_error[0].copy()))
    while leaves[0] > 1:
        alpha = link.min()
        step = len(sequence)
        while link[t := int(link.argmin())] <= alpha + slack:
            cut(t, step)
        sequence.append((alpha, leaves[0], branch_cost[0], branch_error[0].copy()))
    alphas, n_leaves, costs, sequence_errors = zip(*sequence, strict=True)
    return cut_at, Bunch(
        alphas=np.array(alphas),
        n_leaves=np.array(n_leaves, dtype=np.intp),
        costs=np.array(costs),
        errors=np.array(sequence_errors),
    )


def spell(tree, is_split, categorical, X):
    """Write splits into sets of levels as thresholds on the codes.

    A set of codes is a number of runs in the order of the codes; a balanced tree of thresholds
    halfway between neighbouring runs finds the run, and each run of a side gets a copy of that
    side's branch, in which only the run's codes are left to be told apart.

    Returns
    -------
    nodes : TreeNodes
    source : ndarray of shape (nodes.n_nodes,)
        Node of `tree` that each node stems from.
    """
    left, right, feature, threshold, source = [], [], [], [], []

    def add(t, column=-1, limit=0.0):
        left.append(-1)
        right.append(-1)
        feature.append(column)
        threshold.append(limit)
        source.append(t)
        return len(left) - 1

    def branch(t, codes):
        """Write the branch of node t, where `codes` holds the codes left of some columns."""
        split = tree.splits[t]
        if split is None or not is_split[t]:
            return add(t)
        if split.values is None:
            node = add(t, split.column, split.threshold)
            left[node] = branch(tree.left[t], codes)
            right[node] = branch(tree.right[t], codes)
            return node
        here = codes[split.column]
        goes_left = np.isin(here, split.values)
        begins = np.concatenate([[0], np.flatnonzero(np.diff(goes_left)) + 1, [here.size]])
        return runs(t, codes, here, goes_left, begins, 0, len(begins) - 1)

    def runs(t, codes, here, goes_left, begins, first, last):
        """Write the thresholds that tell runs first .. last - 1 apart."""
        column = tree.splits[t].column
        if last - first == 1:
            child = tree.left[t] if goes_left[begins[first]] else tree.right[t]
            return branch(child, {**codes, column: here[begins[first] : begins[last]]})
        middle = (first + last) // 2
        below, above = here[begins[middle] - 1], here[begins[middle]]
        node = add(t, column, float(below) / 2.0 + float(above) / 2.0)
        left[node] = runs(t, codes, here, goes_left, begins, first, middle)
        right[node] = runs(t, codes, here, goes_left, begins, middle, last)
        return node

    codes = {int(j): np.unique(X[:, j].astype(np.float32)) for j in np.flatnonzero(categorical)}
    branch(0, codes)
    nodes, order = preorder(left, right, feature, threshold)
    return nodes, np.array(source, dtype=np.intp)[order]
