"""The breeding kernels against enumeration of all cells and against plain NumPy."""

import itertools

import numpy as np
import pytest
from coded_trees import boxes, check_form, leaf_of, random_trees, subtree
from ensemble_simplify.genesim.population._population import Population, RowBits
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn import metrics

from ensemble_simplify.grid import limits

SETTINGS = settings(deadline=None, max_examples=60)


def check_valid(tree, n_cuts, train_code, min_leaf):
    check_form(tree)
    boxes(tree, n_cuts)
    leaves = np.array([leaf_of(tree, row) for row in train_code.T])
    for at in np.flatnonzero(tree[:, 0] < 0):
        assert np.sum(leaves == at) >= min_leaf
    for at in np.flatnonzero(tree[:, 0] >= 0):
        left, right = tree[at + 1], tree[at + 1 + tree[at + 1, 2]]
        assert left[0] >= 0 or not np.array_equal(left, right)  # no two leaves of one label


# ---------------------------------------------------------------- trees on rows


class World:
    """Random rows with codes, and a population on them."""

    def __init__(self, seed, *, n_train=90, n_val=70, n_cuts=(6, 4, 9), n_classes=3, **options):
        rng = np.random.default_rng(seed)
        self.n_cuts = np.array(n_cuts, dtype=np.int32)
        draw = [
            [rng.integers(0, c + 1, n).astype(np.int32) for c in n_cuts] for n in (n_train, n_val)
        ]
        self.train, self.val = (np.array(columns) for columns in draw)
        self.labels = [
            ((code[0] + 2 * code[1] + rng.integers(0, 3, code.shape[1])) % n_classes).astype(
                np.int32
            )
            for code in (self.train, self.val)
        ]
        self.weights = [np.ones(n_train), np.ones(n_val)]
        if options.pop("weighted", False):
            self.weights = [rng.integers(1, 5, n).astype(float) for n in (n_train, n_val)]
        self.n_classes = n_classes
        self.min_leaf = options.get("min_samples_leaf", 1)
        self.population = self.make(**options)

    def make(self, **options):
        rows = RowBits(
            np.hstack([self.train, self.val]),
            np.concatenate(self.labels),
            np.concatenate(self.weights),
            self.n_cuts,
            n_train=self.train.shape[1],
            n_classes=self.n_classes,
        )
        return Population(rows, **options)

    def trees(self, seed, k, depth=5):
        return random_trees(seed, k, list(self.n_cuts), self.n_classes, depth)

    def group_labels(self, groups):
        """First heaviest training class of every group of training rows."""
        return {
            group: int(
                np.argmax(
                    np.bincount(
                        self.labels[0][groups == group],
                        self.weights[0][groups == group],
                        self.n_classes,
                    )
                )
            )
            for group in np.unique(groups)
        }

    def predict(self, tree, code):
        return np.array([tree[leaf_of(tree, row), 1] for row in code.T])


def n_front(population):
    return len(population.describe("front")[0])


BREEDING = dict(
    seed=3, generation=0, n_crossovers=12, n_parents=2, tournament_size=3, mutation_prob=0.5
)


@SETTINGS
@given(st.integers(0, 2**31), st.integers(1, 4), st.booleans())
def test_first_trees_are_clean_and_keep_their_training_answers(seed, min_leaf, weighted):
    world = World(seed, prune="none", min_samples_leaf=min_leaf, weighted=weighted)
    trees = world.trees(seed, 4)
    candidates = world.population.clean(trees)
    assert len(candidates) == len(trees)
    for i, tree in enumerate(trees):
        clean = candidates.nodes(i)
        check_valid(clean, world.n_cuts, world.train, min_leaf)
        for at in np.flatnonzero(clean[:, 0] >= 0):
            right = subtree(clean, at + 1 + clean[at + 1, 2])
            assert not np.array_equal(subtree(clean, at + 1), right)
        if min_leaf == 1:
            groups = np.array([leaf_of(tree, row) for row in world.train.T])
            labels = world.group_labels(groups)
            np.testing.assert_array_equal(
                world.predict(clean, world.train), [labels[group] for group in groups]
            )


@SETTINGS
@given(st.integers(0, 2**31), st.sampled_from([2, 3, 4]), st.sampled_from(["random", "gain"]))
def test_children_answer_like_the_relabelled_overlay(seed, k, order):
    world = World(seed, prune="none")
    world.population.select([world.population.clean(world.trees(seed, k))], size=50)
    if len(world.population) < k:
        return
    parents = [world.population.nodes(i) for i in range(k)]
    options = {**BREEDING, "n_parents": k, "tournament_size": 1, "mutation_prob": 0.0}
    # As many parents as trees: every child is merged from all of them.
    world.population.select([], size=k)
    candidates = world.population.breed(0, 3, **{**options, "seed": seed}, order=order)
    groups = np.unique(
        [[leaf_of(tree, row) for tree in parents] for row in world.train.T],
        axis=0,
        return_inverse=True,
    )[1].ravel()
    labels = world.group_labels(groups)
    assert len(candidates) == 3
    for i in range(3):
        child = candidates.nodes(i)
        check_valid(child, world.n_cuts, world.train, 1)
        np.testing.assert_array_equal(
            world.predict(child, world.train), [labels[group] for group in groups]
        )


@settings(SETTINGS, max_examples=25)
@given(
    st.integers(0, 2**31),
    st.sampled_from(["ccp", "reduced_error", "none"]),
    st.sampled_from(["random", "gain"]),
    st.sampled_from(["accuracy", "neg_log_loss"]),
    st.integers(1, 3),
)
def test_bred_trees_are_valid_and_parents_untouched(seed, prune, order, metric, min_leaf):
    world = World(seed, prune=prune, metric=metric, min_samples_leaf=min_leaf)
    population = world.population
    population.select([population.clean(world.trees(seed, 8))], size=20)
    best = population.describe()[0][0]
    for generation in range(3):
        before = [population.nodes(i).copy() for i in range(len(population))]
        candidates = population.breed(
            0, 12 + len(population), **{**BREEDING, "generation": generation}, order=order
        )
        for i, tree in enumerate(before):
            np.testing.assert_array_equal(population.nodes(i), tree)
        for i in range(len(candidates)):
            check_valid(candidates.nodes(i), world.n_cuts, world.train, min_leaf)
        population.select([candidates], size=20)
        assert len(population) <= 20
        assert population.describe()[0][0] >= best
        best = population.describe()[0][0]
        scores, n_leaves = population.describe()
        assert np.all(np.diff(scores) <= 0)
        answers = {
            world.predict(population.nodes(i), np.hstack([world.train, world.val])).tobytes()
            for i in range(len(population))
        }
        assert len(answers) == len(population)
        score, n_leaves = population.describe("front")
        assert np.all(np.diff(score) > 0)
        assert np.all(np.diff(n_leaves) > 0)
        assert score[-1] == best
        for i in range(n_front(population)):
            check_valid(population.nodes(i, "front"), world.n_cuts, world.train, min_leaf)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("metric", ["accuracy", "balanced_accuracy", "neg_log_loss"])
def test_scores_equal_scikit_learn(metric, weighted):
    for seed in range(5):
        world = World(seed, weighted=weighted)
        weight = world.weights[1]
        if metric == "balanced_accuracy":
            per_class = np.bincount(world.labels[1], weight, world.n_classes)
            world.weights[1] = weight / per_class[world.labels[1]]
        kernel_metric = "accuracy" if metric == "balanced_accuracy" else metric
        population = world.make(metric=kernel_metric, prune="ccp")
        population.select([population.clean(world.trees(seed, 20))], size=30)
        assert len(population) >= 3
        for i in range(len(population)):
            tree = population.nodes(i)
            predicted = world.predict(tree, world.val)
            if metric == "accuracy":
                want = metrics.accuracy_score(world.labels[1], predicted, sample_weight=weight)
            elif metric == "balanced_accuracy":
                want = metrics.balanced_accuracy_score(
                    world.labels[1], predicted, sample_weight=weight
                )
            else:
                nodes, _, weights = population.label_tree(tree)
                np.testing.assert_array_equal(nodes, tree)
                proba = weights[:, : world.n_classes]
                proba = proba / proba.sum(axis=1, keepdims=True)
                leaf = [leaf_of(tree, row) for row in world.val.T]
                want = -metrics.log_loss(
                    world.labels[1], proba[leaf], sample_weight=weight, labels=range(3)
                )
            assert population.describe()[0][i] == pytest.approx(want, abs=1e-11)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("metric", ["accuracy", "balanced_accuracy", "neg_log_loss"])
def test_scores_on_training_rows_are_added_in_their_share(metric, weighted):
    scores = {
        "accuracy": metrics.accuracy_score,
        "balanced_accuracy": metrics.balanced_accuracy_score,
    }
    for seed in range(5):
        world = World(seed, weighted=weighted)
        population = world.make(metric=metric, prune="ccp", training_weight=0.7)
        population.select([population.clean(world.trees(seed, 20))], size=30)
        assert len(population) >= 3
        for i in range(len(population)):
            tree = population.nodes(i)
            want = 0.0
            for part, (code, share) in enumerate([(world.train, 0.7), (world.val, 1.0)]):
                y, options = world.labels[part], {"sample_weight": world.weights[part]}
                if metric == "neg_log_loss":
                    _, _, weights = population.label_tree(tree)
                    proba = weights[:, : world.n_classes]
                    proba = proba / proba.sum(axis=1, keepdims=True)
                    leaf = [leaf_of(tree, row) for row in code.T]
                    want -= share * metrics.log_loss(y, proba[leaf], labels=range(3), **options)
                else:
                    want += share * scores[metric](y, world.predict(tree, code), **options)
            assert population.describe()[0][i] == pytest.approx(want, abs=1e-11)


def weakest_links(tree, train_counts):
    """Pruning sequence by repeated search over all nodes: a set of leaves after each step."""
    weight = train_counts.sum(axis=1)
    impurity = weight - (train_counts**2).sum(axis=1) / weight
    pruned = np.zeros(len(tree), bool)

    def leaves_below(at):
        if tree[at, 0] < 0 or pruned[at]:
            return [at]
        return leaves_below(at + 1) + leaves_below(at + 1 + tree[at + 1, 2])

    sequence = [leaves_below(0)]
    while len(sequence[-1]) > 1:
        live = []
        stack = [0]
        while stack:
            at = stack.pop()
            if tree[at, 0] >= 0 and not pruned[at]:
                live.append(at)
                stack += [at + 1, at + 1 + tree[at + 1, 2]]
        cost = {
            at: (impurity[at] - impurity[leaves_below(at)].sum()) / (len(leaves_below(at)) - 1)
            for at in live
        }
        least = min(cost.values())
        pruned[min(at for at in live if cost[at] <= least + 1e-12)] = True
        sequence.append(leaves_below(0))
    return sequence


@pytest.mark.parametrize("training_weight", [0.0, 0.3])
@pytest.mark.parametrize("metric", ["accuracy", "balanced_accuracy"])
def test_pruned_copy_is_the_best_of_the_cost_complexity_path(metric, training_weight):
    score = {
        "accuracy": metrics.accuracy_score,
        "balanced_accuracy": metrics.balanced_accuracy_score,
    }[metric]

    def fitness(world, on_train, on_val):
        on_train = training_weight * score(world.labels[0], on_train) if training_weight else 0.0
        return score(world.labels[1], on_val) + on_train

    improved = 0
    options = {"metric": metric, "training_weight": training_weight}
    for seed in range(25):
        world = World(seed, prune="none")
        tree = world.population.clean(world.trees(seed, 1, depth=6)).nodes(0)
        nodes, _, weights = world.population.label_tree(tree)
        np.testing.assert_array_equal(nodes, tree)
        labels = weights[:, :3].argmax(axis=1)
        answers = []
        for leaves in weakest_links(tree, weights[:, :3]):
            owner = np.empty(len(tree), dtype=int)
            for at in leaves:
                owner[at : at + tree[at, 2]] = at
            answers.append(
                [
                    labels[owner[[leaf_of(tree, row) for row in code.T]]]
                    for code in (world.train, world.val)
                ]
            )
        path = [fitness(world, *answer) for answer in answers]
        candidates = world.make(prune="ccp", keep_paths=False, **options).clean([tree])
        pruned = candidates.nodes(len(candidates) - 1)
        got = fitness(world, *(world.predict(pruned, code) for code in (world.train, world.val)))
        assert got == pytest.approx(max(path))
        improved += max(path) > path[0]
        # What else the path offers to the front is on the path, too.
        offered = world.make(prune="ccp", **options).clean([tree])
        met = {answer.tobytes() for _, answer in answers}
        for i in range(len(offered)):
            answer = world.predict(offered.nodes(i), world.val)
            assert answer.astype(labels.dtype).tobytes() in met
    assert improved > 3


def test_reduced_error_pruning_is_optimal_on_the_validation_rows():
    for seed in range(15):
        world = World(seed, prune="reduced_error")
        candidates = world.population.clean(world.trees(seed, 1, depth=4))
        tree, pruned = candidates.nodes(0), candidates.nodes(len(candidates) - 1)
        _, _, weights = world.population.label_tree(tree)
        hits = weights[np.arange(len(tree)), 3 + weights[:, :3].argmax(axis=1)]

        def best(at, tree=tree, hits=hits):
            if tree[at, 0] < 0:
                return hits[at]
            return max(hits[at], best(at + 1) + best(at + 1 + tree[at + 1, 2]))

        got = np.sum(world.predict(pruned, world.val) == world.labels[1])
        assert got == best(0)


def test_max_leaf_nodes_holds_for_every_tree():
    world = World(1, max_leaf_nodes=4)
    population = world.population
    population.select([population.clean(world.trees(1, 10))], size=30)
    for generation in range(2):
        candidates = population.breed(0, 42, **{**BREEDING, "generation": generation})
        assert max(np.sum(candidates.nodes(i)[:, 0] < 0) for i in range(len(candidates))) <= 4
        population.select([candidates], size=30)
    assert population.describe("front")[1].max() <= 4


def bred(world, trees, *, generations=3, sort_rows=False, order="random", **options):
    """Population and front after some generations, with their scores."""
    population = world.make(**options)
    population.select([population.clean(trees)], size=25)
    for generation in range(generations):
        if sort_rows:
            population.sort_rows()
        children = 12 + len(population)
        candidates = population.breed(
            0, children, **{**BREEDING, "generation": generation}, order=order
        )
        population.select([candidates], size=25)
    return population


def everything_about(population):
    return [
        (where, population.nodes(i, where).tobytes(), *(c[i] for c in population.describe(where)))
        for where, n in (("trees", len(population)), ("front", n_front(population)))
        for i in range(n)
    ]


@SETTINGS
@given(
    st.integers(0, 2**31),
    st.sampled_from(["random", "gain"]),
    st.sampled_from(["accuracy", "balanced_accuracy"]),
    st.sampled_from([0, 2000, 1 << 20]),
)
def test_order_of_the_rows_does_not_matter(seed, order, metric, cache_bytes):
    world = World(seed, n_train=300, n_val=200, weighted=True, n_cuts=(6, 20, 9))
    trees = world.trees(seed, 6)
    options = dict(order=order, metric=metric, cache_bytes=cache_bytes)
    plain = bred(world, trees, **options)
    with_sorted_rows = bred(world, trees, sort_rows=True, **options)
    assert everything_about(with_sorted_rows) == everything_about(plain)
    for validation, code in ((False, world.train), (True, world.val)):
        leaf = with_sorted_rows.apply(trees[0], validation=validation)
        np.testing.assert_array_equal(leaf, [leaf_of(trees[0], row) for row in code.T])


@pytest.mark.parametrize("cache_bytes", [0, 1000, 1 << 20])
def test_answers_do_not_depend_on_the_cache_or_on_the_division_of_work(cache_bytes):
    world = World(7, n_train=700, n_val=400, n_cuts=(40, 30, 5, 60))
    trees = world.trees(7, 10, depth=8)

    def run(cuts, **options):
        population = world.make(**options)
        population.select([population.clean(trees)], size=40)
        for generation in range(3):
            ends = [0, *cuts, 52]
            candidates = [
                population.breed(a, b, **{**BREEDING, "generation": generation}, thread=i % 2)
                for i, (a, b) in enumerate(itertools.pairwise(ends))
            ]
            population.select(candidates, size=40)
        return [population.nodes(i).tobytes() for i in range(len(population))] + [
            population.nodes(i, "front").tobytes() for i in range(n_front(population))
        ]

    assert run([], n_threads=2, cache_bytes=cache_bytes) == run([1, 9, 30], n_threads=2)


def test_time_limit_stops_between_nodes():
    rng = np.random.default_rng(0)
    n = 20000
    code = rng.integers(0, 200, (5, n)).astype(np.int32)
    y = rng.integers(0, 2, n).astype(np.int32)
    w = np.ones(n)
    rows = RowBits(
        np.hstack([code, code]),
        np.tile(y, 2),
        np.tile(w, 2),
        np.full(5, 199, np.int32),
        n_train=len(y),
        n_classes=2,
    )
    population = Population(rows)
    trees = random_trees(0, 30, [199] * 5, depth=12)
    with limits(0.0):
        candidates = population.clean(trees)
    assert candidates.stopped
    assert len(candidates) < 60


def test_apply_and_label_tree_count_rows():
    world = World(2, weighted=True)
    tree = world.population.clean(world.trees(2, 1)).nodes(0)
    nodes, n_rows, weights = world.population.label_tree(tree)
    for validation, code, part in ((False, world.train, 0), (True, world.val, 1)):
        leaf = world.population.apply(nodes, validation=validation)
        np.testing.assert_array_equal(leaf, [leaf_of(nodes, row) for row in code.T])
        for at in np.flatnonzero(nodes[:, 0] < 0):
            rows = leaf == at
            np.testing.assert_allclose(
                weights[at, 3 * part : 3 * part + 3],
                np.bincount(world.labels[part][rows], world.weights[part][rows], 3),
            )
            assert n_rows[at, part] == rows.sum()
    assert n_rows[0].tolist() == [len(labels) for labels in world.labels]
