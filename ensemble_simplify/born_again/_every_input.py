"""The promise about every input: a tree is found, or an error says what to change."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import replace
from functools import partial

import numpy as np

from ensemble_simplify.base import TimeLimitError, report, warn, warn_out_of_time
from ensemble_simplify.born_again._near_rows import leaves_near
from ensemble_simplify.born_again._written_tree import (
    Reading,
    TreeOnRows,
    cells_as_int,
    count_in_words,
    name_of,
)
from ensemble_simplify.born_again.everywhere._grid import (
    UNNAMED,
    Tied,
    TooLarge,
    TooManyAnswers,
)
from ensemble_simplify.born_again.everywhere._planner import (
    MAX_LEAVES,
    OutOfTime,
    Problem,
    TooManyLeaves,
    find_front,
    find_tree,
)
from ensemble_simplify.born_again.everywhere._search import n_regions, regions_forecast
from ensemble_simplify.grid import at_least, limits

# An error that advises `max_changes` names the leaves of trees that are quickly found near the
# training rows. Under a time limit, each of them gets so many seconds.
ADVICE_SECONDS = 2.0


class EveryInput:
    """The promise about every input, or those inside the domain.

    Attributes
    ----------
    finer_rows : array of shape (n, n_features)
        Training rows, as numbers, of which the ensemble says another thing than of what float32
        makes of them.
    """

    finer_rows: np.ndarray

    @classmethod
    def fit(cls, born, read: Reading, rng) -> EveryInput:
        """Find the tree of an estimator, and write it."""
        promise = cls()
        for name in ("n_points_", "seen_share_", "n_exceptions_", "path_"):
            setattr(born, name, None)
        problem, counted = read.problem, read.counted
        seconds = born._seconds_left(read)
        result = promise._find(born, read, seconds, rng)
        tree = result.tree
        if born.post_prune:
            empty = tree.is_leaf
            empty[tree.apply(read.cells)[counted]] = False
            tree = tree.without(empty)
        born._set_tree_sizes(tree, result.tree)
        born.depth_lower_bound_ = result.depth_bound
        born.n_leaves_lower_bound_ = result.leaves_bound
        born.n_cells_, born.n_regions_ = cells_as_int(result.shape), n_regions(result.shape)
        born.status_ = "optimal" if result.optimal else "feasible"
        fitted = TreeOnRows.of(tree, problem.axes, read, result.ends)
        whole = read.whole
        merged = not np.array_equal(whole.forest.threshold, problem.forest.threshold)
        changed = tree.n_leaves < result.tree.n_leaves or merged
        born.fidelity_ = np.nan if changed else 1.0
        born._set_volume(changed, whole.forest, fitted, read.rows[counted], rng)
        if read.domain is not None:
            # leaves are filled with the ensemble's answers anywhere, the domain or not
            whole = Problem.of(replace(read.forest, missing=born._may_miss))
        born._write(whole, fitted, rng)
        promise.finer_rows = promise._count_exceptions(born, read, fitted)
        promise._tell(born, result)
        return promise

    def _find(self, born, read, seconds, rng):
        """A faithful tree, or an error that tells what to change."""
        problem, forest, name = read.problem, read.problem.forest, name_of(born)
        n_cells, wanted = count_in_words(cells_as_int(problem.trees.shape)), f"answers as {name}"
        if born._tolerance is not None:
            wanted = f"is within {born._tolerance.atol:.4g} of {name}"
        report(born, f"{forest.n_trees} trees, {n_cells} cells before merging")
        allowed = born._memory()
        try:
            with refusals(born, problem.trees.shape, allowed), limits(seconds):
                return find_tree(
                    problem,
                    "depth_then_leaves" if born.objective == "auto" else born.objective,
                    method=born.method,
                    max_bytes=allowed,
                    rng=np.random.default_rng(rng.randint(1 << 31)),
                    report=partial(report, born),
                    warn=partial(report, born) if born.verbose else warn,
                )
        except Tied as error:
            raise ValueError(
                f"atol={born.atol!r} stands for {born._tolerance.atol:.4g}, which is too little. "
                f"For some input, two classes of {name} are so nearly equally probable that no "
                "tree can keep the class and this tolerance. Use an atol of 1e-5 or more."
            ) from error
        except TooManyLeaves as error:
            raise ValueError(
                f"A tree that {wanted} at every input is expected to have about "
                f"{count_in_words(error.n_leaves)} leaves ({forest.n_trees} trees, "
                f"{problem.axes.n_cuts.sum():,} distinct thresholds). At most {MAX_LEAVES:,} are "
                f"written out. {self._advice(born, read, rng)} For a small tree with "
                "measured agreement, use RepresenterTree. A tree for every input needs a far "
                "smaller ensemble: about ten shallow trees, and features of few distinct values "
                "(for instance by KBinsDiscretizer)."
            ) from error
        except OutOfTime as error:
            forecast = ""
            if error.share > 0:
                forecast = (
                    f" It had {error.n_leaves:,} leaves on {error.share:.2g} of the cells: "
                    f"expect about {count_in_words(error.n_leaves / error.share)} leaves."
                )
            raise TimeLimitError(
                f"time_limit={born.time_limit} seconds were over before a tree was found that "
                f"{wanted} at every input ({n_cells} cells).{forecast} Set "
                "max_changes=1 or 0 for a tree that answers alike near the training rows; it is "
                "found for any ensemble. Or use fewer or shallower trees, or features of fewer "
                "distinct values (for instance by KBinsDiscretizer), or raise time_limit."
            ) from error

    def _advice(self, born, read, rng):
        """Advice for an error: values of `max_changes`, and the leaves of trees found with them."""
        ways = {
            1: "at every point that differs from a training row in a single feature",
            0: "on the training rows",
        }
        advice = []
        answer = "the same answer" if born._tolerance is None else "an answer within atol"
        seconds = None if born.time_limit is None else ADVICE_SECONDS
        for max_changes, where in ways.items():
            with at_least(seconds or 0.0), limits(seconds):
                n_leaves = leaves_near(read.problem, read.cells[read.counted], max_changes, rng)
            size = "a tree" if n_leaves is None else f"a tree of {n_leaves:,} leaves or fewer"
            advice.append(f"max_changes={max_changes} promises {answer} {where}, by {size}")
        return f"{'; '.join(advice)}."

    def _count_exceptions(self, born, read, fitted):
        """Set how many training rows the ensemble itself answers otherwise than the tree.

        Returns `finer_rows`.
        """
        born.n_row_exceptions_ = 0
        if read.answers is None:
            return read.rows[:0]
        given, rounded = (np.reshape(answer, (len(read.rows), -1)) for answer in read.answers)
        if born._tolerance is None:
            differs = given[:, 0] != fitted.tree.nodes[fitted.leaf_of_row, 1]
        else:
            ends = born._tolerance.ends(given)
            values = born._leaf_answers[fitted.leaf_of_row]
            differs = ((values < ends[0]) | (values > ends[1])).any(axis=1)
        born.n_row_exceptions_ = int(differs[read.counted].sum())
        if born.n_row_exceptions_ and born.fidelity_ == 1:
            born.fidelity_ = 1.0 - born.n_row_exceptions_ / born.n_rows_
        return read.rows[(given != rounded).any(axis=1) & read.counted]

    def _tell(self, born, result):
        """Print what was found, and warn if a limit ended the search."""
        depth, n_leaves = result.tree.depth, result.tree.n_leaves
        report(
            born,
            f"depth {depth} (at least {born.depth_lower_bound_}), "
            f"{n_leaves} leaves (at least {born.n_leaves_lower_bound_}), "
            f"{born.status_}" + f"; {born._told_exceptions()}" * bool(born.n_row_exceptions_),
        )
        if born.n_leaves_ < n_leaves:
            report(
                born,
                f"pruned to depth {born.depth_}, {born.n_leaves_} leaves; "
                f"volume fidelity {born.volume_fidelity_:.6g}",
            )
        if born.status_ == "feasible" and born.method != "heuristic":
            limit = "max_memory" if born.time_limit is None else "time_limit or max_memory"
            warn_out_of_time(
                f"{limit} ended the search. The tree that was found keeps the promise, but it may "
                f"not be the smallest. It has depth {depth} and {n_leaves} leaves. Every tree that "
                f"keeps the promise has at least depth {born.depth_lower_bound_} and "
                f"{born.n_leaves_lower_bound_} leaves."
            )

    def covers(self, X, inside) -> np.ndarray:
        """Which rows the promise reaches, of those inside the domain."""
        return inside

    def proofs(self, table) -> list[dict]:
        """Where a proof has to look, as keywords of `verify`: finer rows come beside all inputs."""
        if not len(self.finer_rows):
            return [{}]
        return [{"X": table.shown(self.finer_rows), "max_changes": 0}, {}]


@contextmanager
def refusals(born, shape, allowed) -> Generator[None]:
    """Say what to do where the exact search over a grid of some shape cannot be begun."""
    try:
        yield
    except TooManyAnswers as error:
        raise ValueError(
            f"{name_of(born)} has more different answers than the {UNNAMED:,} that the exact "
            "search tells apart. Use method='auto' or 'heuristic', or fewer or shallower trees."
        ) from error
    except TooLarge as error:
        raise ValueError(
            f"{name_of(born)} divides the feature space into "
            f"{count_in_words(cells_as_int(shape))} cells "
            f"({count_in_words(regions_forecast(shape))} regions). The exact search needs about "
            f"{count_in_words(float(error.n_bytes))} bytes, and max_memory allows "
            f"{count_in_words(float(allowed))}. Use method='auto' or 'heuristic', fewer or "
            "shallower trees, or features of fewer distinct values (for instance by "
            "KBinsDiscretizer), or raise max_memory."
        ) from error


def front_of(born, problem, time_limit) -> list[tuple[int, int]]:
    """The fewest leaves for every depth; see `BornAgain.front`."""
    allowed = born._memory()
    try:
        with refusals(born, problem.trees.shape, allowed):
            return find_front(problem, max_bytes=allowed)
    except OutOfTime as error:
        raise TimeLimitError(
            f"time_limit={time_limit} seconds were over before the front was complete. "
            "Raise time_limit, or use fewer or shallower trees."
        ) from error
