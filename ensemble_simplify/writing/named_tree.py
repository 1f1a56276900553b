"""A fitted tree or ensemble in its user's words: columns, levels and classes by name.

What `languages` writes in other languages, and what estimators that hold a tree print and draw.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from sklearn.tree import BaseDecisionTree, plot_tree
from sklearn.utils.validation import check_is_fitted

from ensemble_simplify.grid import FLOAT32_MAX, TreeNodes, last_double, rounding_boundary
from ensemble_simplify.reading import Forest, Model, behind_codes, name_of, readable, unwrap
from ensemble_simplify.writing.code import Code, code_of
from ensemble_simplify.writing.named_columns import ALL, NamedColumns, Span, truth_values
from ensemble_simplify.writing.sklearn_tree import missing_directions, read_nodes
from ensemble_simplify.writing.words import (
    between,
    end_of_interval,
    level_in_words,
    one_line,
    percent,
    plain,
    set_in_words,
    wrapped,
)

# What the share of a leaf's answer is, where it is no part of the training rows that are
# counted: a rate of `y`, or the model's mean probability, drawn towards the branches above; or what
# the model answers there, which is no chance of anything.
CHANCE, CHANCE_BY_MODEL = "chance {}", "chance {} by the model"
OF_ANSWERS = "{} of the model's answers"
# In a drawing: points of the font, inches of a figure.
_FONT = 9.0
_SMALLEST, _LARGEST = (4.0, 2.4), (48.0, 24.0)


@dataclass(frozen=True, eq=False)
class NamedTree(NamedColumns):
    """A fitted tree with what its user calls things.

    Attributes
    ----------
    nodes : TreeNodes
        Thresholds from the largest float32 on are infinity.
    value : ndarray of shape (n_nodes, n_scores)
        Class probabilities, or the predicted value in one column.
    rows : ndarray of intp, shape (n_nodes,)
        Training rows of each node.
    weight, impurity : ndarrays of float64, shape (n_nodes,)
    missing_left : ndarray of bool, shape (n_nodes,)
        Splits that send missing values left.
    order : ndarray of intp, shape (n_nodes,)
        Ids of the nodes in the scikit-learn tree.
    estimator : DecisionTreeClassifier or DecisionTreeRegressor
    classes : list or None
        Labels as Python's own objects; None for regression.
    told : ndarray of bool, shape (n_features,)
        Features of which missing values are worth a word: some were seen, or may be there.
    shares_of : str
        How the share of a leaf's answer is written, where it is no part of the training rows that
        are counted: such as `CHANCE`; else empty.
    """

    nodes: TreeNodes
    value: np.ndarray
    rows: np.ndarray
    weight: np.ndarray
    impurity: np.ndarray
    missing_left: np.ndarray
    order: np.ndarray
    estimator: BaseDecisionTree
    classes: list | None
    told: np.ndarray
    shares_of: str = ""

    @classmethod
    def of(cls, model, *, feature_names=None, class_names=None, name="model"):
        """The tree of a scikit-learn tree, or of an estimator that stands for one (else TypeError).

        Names that are None are those of the table or of ``fit``; `class_names` stand for
        ``classes_``, in their order. Errors call the model by `name`.
        """
        if isinstance(model, NamedTree):
            return model.renamed(feature_names, class_names)
        outer = unwrap(model)
        if not hasattr(outer, "fit"):
            raise TypeError(f"{name} is a {type(outer).__name__}. Give a fitted estimator.")
        check_is_fitted(outer)
        codes, tree = behind_codes(readable(outer))
        tree = readable(tree)
        if not isinstance(tree, BaseDecisionTree):
            raise TypeError(
                f"{name}={name_of(outer)}(...) is not one tree. Make one of it first: "
                "BornAgainClassifier, RepresenterTree and GenesimClassifier do, around "
                "FrozenEstimator(model). export_model writes an ensemble of trees as it is. A "
                "CultivatedForestClassifier writes its tree itself: export_text()."
            )
        if getattr(tree, "n_outputs_", 1) != 1:
            raise ValueError(
                f"{name}={name_of(tree)}(...) was fitted on y with {tree.n_outputs_} outputs; only "
                "one output can be exported. Fit one tree for each column of y."
            )
        contents, (to_left, seen) = read_nodes(tree), missing_directions(tree)
        nodes = contents.nodes
        threshold = np.where(nodes.threshold >= FLOAT32_MAX, np.inf, nodes.threshold)
        given = vars(outer).get("_table") if codes is None else codes.table
        if codes is not None and codes.complete:
            # a number stands for what is missing
            to_left = codes.table.gaps.stand_in[tree.tree_.feature] <= tree.tree_.threshold
        tables = (given, vars(tree).get("_table"))
        # one whose columns have levels
        table = next((t for t in tables if t is not None and not t.is_plain), None)
        whole = ([column.whole for column in t.columns] for t in tables if t is not None)
        classes = getattr(tree, "classes_", None)
        n_features = int(tree.n_features_in_)
        may_miss = getattr(outer, "_may_miss", None)
        told = np.full(n_features, seen) if may_miss is None else np.array(may_miss)
        gaps = getattr(given, "gaps", None)
        if gaps is not None:
            told = gaps.seen.copy()
        told[nodes.feature[(nodes.left >= 0) & np.isinf(threshold)]] = True
        own = cls(
            nodes=TreeNodes(nodes.left, nodes.right, nodes.feature, threshold),
            value=contents.value,
            rows=contents.n_node_samples,
            weight=contents.weighted_n_node_samples,
            impurity=contents.impurity,
            missing_left=to_left[contents.order] & (nodes.left >= 0),
            order=contents.order,
            estimator=tree,
            n_features=n_features,
            names=_names_of(outer, tree, table),
            classes=None if classes is None else [plain(label) for label in classes],
            table=table,
            booleans=truth_values(next(whole, ())),
            told=told,
            shares_of=getattr(outer, "_shares_of", ""),
        )
        return own.renamed(feature_names, class_names)

    def label(self, node):
        """What is predicted in a leaf: a label, or a number."""
        if self.classes is None:
            return float(self.value[node, 0])
        return self.classes[int(self.value[node].argmax())]

    compares_in = "float32"

    @property
    def model(self):
        """What answers."""
        return Model.of(self.estimator)

    def splits_of_numbers(self):
        """Feature and threshold of each split of numbers, and the last double that goes left."""
        inner = (self.nodes.left >= 0) & np.isfinite(self.nodes.threshold)
        for j, threshold in zip(
            self.nodes.feature[inner], self.nodes.threshold[inner], strict=True
        ):
            if self.levels(j) is None:
                yield int(j), float(threshold), float(last_double(threshold))

    def boundary(self, j, threshold) -> tuple[float, bool]:
        """Where doubles of a column end that go left at a threshold, and whether it goes left."""
        if (j, threshold) in self.ends:
            return self.ends[j, threshold], True
        return self._boundaries[threshold]

    @cached_property
    def _boundaries(self):
        # of all thresholds in one call
        pairs = zip(*(own.tolist() for own in rounding_boundary(self.nodes.threshold)), strict=True)
        return dict(zip(self.nodes.threshold.tolist(), pairs, strict=True))

    def paths(self):
        """Nodes in pre-order, each with the spans that the path to it leaves, by feature."""
        stack = [(0, {})]
        nodes = self.nodes
        while stack:
            node, spans = stack.pop()
            yield node, spans
            if nodes.left[node] < 0:
                continue
            below, above = self.sides(node, spans)
            j = int(nodes.feature[node])
            stack.append((int(nodes.right[node]), {**spans, j: above}))
            stack.append((int(nodes.left[node]), {**spans, j: below}))

    def sides(self, node, spans):
        """What the two sides of a split leave of its feature."""
        threshold, to_left = float(self.nodes.threshold[node]), bool(self.missing_left[node])
        span = spans.get(int(self.nodes.feature[node]), ALL)
        return span.below(threshold, to_left), span.above(threshold, to_left)

    # --------------------------------------------------------------- words

    def condition(self, j, span, decimals=None):
        """A condition in words; None where everything is left."""
        name = self.shown(j)
        if self.levels(j) is not None:
            return self._of_levels(j, span, name)
        missing = span.missing and bool(self.told[j])
        if not span.low < span.high:
            return f"{name} is missing" if missing else f"{name} in {{}}"
        words = self.interval(j, span, decimals)
        if words is None:
            return None if span.missing or not self.told[j] else f"{name} is not missing"
        return f"{words} or missing" if missing else words

    def _of_levels(self, j, span, name):
        levels, codes = self.levels(j), self.codes(j, span)
        also_unknown = self.unknown(j) == "missing"
        told = bool(self.told[j]) or also_unknown
        if len(codes) == len(self.codes(j, ALL)) and (span.missing or not told):
            return None
        mine = self.in_order(j, [code for code in codes if code < len(levels)])
        known = [level_in_words(levels[code]) for code in mine]
        other = ["unknown"] if len(codes) > len(known) else []
        if span.missing and told:
            other += ["missing", "unknown"] if also_unknown else ["missing"]
        if len(known) == 1 and not other:
            return f"{name} = {known[0]}"
        if other and not known:
            return f"{name} is {' or '.join(other)}"
        ends = self.run(j, mine) if len(known) > 1 else None
        if ends is not None and ends != (None, None):
            ends = (None if end is None else level_in_words(end) for end in ends)
            return " or ".join([between(name, *ends), *other])
        return f"{name} in {set_in_words([*known, *other])}"

    def outcome(self, node, probabilities=False, decimals=None):
        """What a leaf says, in words: label, share, training rows."""
        counted = "training row" if self.shares_of else "row"
        rows = f"{self.rows[node]} {counted}{'' if self.rows[node] == 1 else 's'}"
        if self.classes is None:
            value = self.label(node)
            return f"{value:.6g} ({rows})" if decimals is None else f"{value:.{decimals}f} ({rows})"
        if probabilities:
            digits = 4 if decimals is None else decimals
            pairs = zip(self.classes, self.value[node], strict=True)
            shares = ", ".join(f"{one_line(label)}: {p:.{digits}f}" for label, p in pairs)
            return f"{shares} ({rows})"
        share = percent(self.value[node].max())
        if self.shares_of:
            share = self.shares_of.format(share)
        return f"{one_line(self.label(node))} ({share}, {rows})"

    def rule(self, spans, decimals=None):
        """The conditions of a path in words; empty where everything is left."""
        told = [self.condition(j, span, decimals) for j, span in spans.items()]
        told = [words for words in told if words is not None]
        if len(told) > 1:
            told = [f"({words})" if _are_two(words) else words for words in told]
        return " and ".join(told)

    def rules(self, probabilities=False, decimals=None):
        """One line a leaf; see `export_tree`."""
        lines = []
        for node, spans in self.paths():
            if self.nodes.left[node] >= 0:
                continue
            told = self.rule(spans, decimals)
            start = f"if {told} then" if told else "always"
            lines.append(f"{start} {self.outcome(node, probabilities, decimals)}")
        return "\n".join(lines) + "\n"

    def text(self, decimals=None, max_depth=None):
        """The tree as indented text."""
        lines, words = [], {}
        for node, spans in self.paths():
            depth = int(self.nodes.node_depth[node])
            if max_depth is not None and depth > max_depth + 1:
                continue
            bars = "|   " * (depth - 1)
            if depth:
                lines.append(f"{bars}|--- {words.pop(node)}")
            bars = "|   " * depth
            if self.nodes.left[node] < 0:
                what = "value" if self.classes is None else "class"
                lines.append(f"{bars}|--- {what}: {self.outcome(node, decimals=decimals)}")
            elif max_depth is not None and depth > max_depth:
                below = np.searchsorted(self.nodes.leaves, self._end(node))
                below -= np.searchsorted(self.nodes.leaves, node)
                lines.append(f"{bars}|--- ({below} leaves)")
            else:
                left, right = self.split_words(node, spans, decimals)
                words[int(self.nodes.left[node])] = left
                words[int(self.nodes.right[node])] = right
        return "\n".join(lines) + "\n"

    def split_words(self, node, spans, decimals=None):
        """The two sides of a split in words: levels that are left, or the threshold alone."""
        j = int(self.nodes.feature[node])
        if self.levels(j) is None:
            spans = {j: Span(missing=spans.get(j, ALL).missing)}
        words = [self.condition(j, side, decimals) for side in self.sides(node, spans)]
        return [f"{self.shown(j)} is anything" if told is None else told for told in words]

    def question(self, node, spans):
        """A split in few words: what holds for those who go left, gaps and new levels included."""
        j, threshold = int(self.nodes.feature[node]), float(self.nodes.threshold[node])
        name, levels = self.shown(j), self.levels(j)
        sides = self.sides(node, spans)
        if abs(threshold) >= FLOAT32_MAX:
            # a split between missing values and all others
            return f"{name} is {'known' if threshold > 0 else 'missing'}"
        if levels is None:
            also = " or missing" if sides[0].missing and self.told[j] else ""
            end = end_of_interval(threshold)
            if "e+" in end and abs(threshold) < 1e16:  # the same number, as people write it
                end = f"{float(end):.0f}"
            return f"{name} ≤ {end}{also}"
        codes = [[code for code in self.codes(j, side) if code < len(levels)] for side in sides]
        yes, no = ([level_in_list(levels[code]) for code in self.in_order(j, own)] for own in codes)
        here, there = (self._others(j, side) for side in sides)
        ends = self.run(j, codes[0]) if len(yes) > 1 and no else None
        if ends is not None and None in ends:
            below, last = ends
            how = f"≤ {level_in_list(last)}" if below is None else f"> {level_in_list(below)}"
            return " or ".join([f"{name} {how}", *here])
        if len(no) == 1 and len(yes) > 1:
            if not there:
                other = _any_of([*here, f"any but {no[0]}"]) if here else f"not {no[0]}"
                return f"{name} is {other}"
            if not here:
                return f"{name} is neither {_any_of([*no, *there], ' nor ')}"
        if not no and not here:
            return f"{name} is known"
        return f"{name} is {_any_of([*yes, *here])}"

    def _others(self, j, span):
        """What a span of a column with levels holds beside known levels, where that can be."""
        is_gap = self.unknown(j) == "missing"
        found = ["missing"] if span.missing and (self.told[j] or is_gap) else []
        last = len(self.levels(j))
        is_new = span.missing if is_gap else last in self.codes(j, span)
        return [*found, "unknown"] if is_new else found

    def _end(self, node):
        """The node after the last one below a node."""
        while self.nodes.left[node] >= 0:
            node = int(self.nodes.right[node])
        return node + 1

    # --------------------------------------------------------------- picture

    def draw(self, ax=None, **options):
        """Draw the tree with `sklearn.tree.plot_tree`, then write splits in the user's words.

        The options are those of ``plot_tree``, but for the names; so is what is returned. Where no
        figure is open, a new one is as large as the tree needs.
        """
        import matplotlib.pyplot as plt

        grows = ax is None and not plt.get_fignums()
        if grows:
            ax = plt.figure().add_axes((0.0, 0.0, 1.0, 1.0))
        options = {"filled": True, "impurity": False, "rounded": True, **options}
        own_ids, decimals = options.pop("node_ids", False), options.pop("precision", None)
        if decimals is not None:
            options["precision"] = decimals
        names = None if self.classes is None else [one_line(label) for label in self.classes]
        notes = plot_tree(
            self.estimator,
            # the first line says which node it is; the second is its split
            node_ids=True,
            feature_names=[f"x{j}" for j in range(self.n_features)],
            class_names=names,
            ax=ax,
            **options,
        )
        place = np.empty(self.estimator.tree_.node_count, dtype=np.intp)
        place[self.order] = np.arange(len(self.order))
        spans = dict(self.paths())
        for note in notes:
            found = re.match(r"((?:node )?#(\d+))\n(.*)", note.get_text(), re.DOTALL)
            if found is None:
                continue
            first, number, rest = found.groups()
            node = place[int(number)]
            if self.nodes.left[node] >= 0:
                split = self.split_words(node, spans[node], decimals)[0]
                rest = "\n".join([split, *rest.split("\n")[1:]])
            if self.shares_of:  # counts of other rows would not be whole
                shares = np.round(self.value[node], 3 if decimals is None else decimals)
                shares = np.array2string(shares, separator=", ", threshold=6)
                rest = re.sub(r"value = \[.*?\]", f"share = {shares}", rest, flags=re.DOTALL)
            rest = "\n".join(map(wrapped, rest.split("\n")))
            note.set_text(f"{first}\n{rest}" if own_ids else rest)
        _fit_boxes(notes, grows, options.get("fontsize"))
        return notes


def _any_of(members, last=" or "):
    return last.join([*filter(None, [", ".join(members[:-1])]), members[-1]])


# Words of conditions, which stand in quotes where they are levels.
_ODD = ("", "missing", "unknown", "known", "not", "neither")


def level_in_list(level):
    """A level in a condition: text as it is, in quotes where it could be read otherwise."""
    text = one_line(level)
    if isinstance(level, str) and (
        text in _ODD
        or text != level
        or text.startswith(("any but ", "neither ", "not "))
        or re.search(r"[,\"'≤>]| (or|nor) ", text)
    ):
        return level_in_words(level)
    return text


def _are_two(words):
    """Whether a condition joins two others by "or", and needs brackets beside a third."""
    return words.endswith((" or missing", " or unknown")) and not words.endswith(
        " is missing or unknown"
    )


def _names_of(outer, tree, table):
    if table is not None:
        return None if table.names is None else [str(name) for name in table.names]
    for owner in (outer, tree):
        if hasattr(owner, "feature_names_in_"):
            return [str(name) for name in owner.feature_names_in_]
    return None


def _fit_boxes(notes, grows, fontsize):
    """Choose a font size, or if `grows` a figure, with which boxes of a tree do not overlap."""
    figure = notes[0].figure
    boxes = [note for note in notes if note.get_bbox_patch() is not None]
    if grows:
        for note in notes:
            note.set_fontsize(_FONT if fontsize is None else fontsize)
        needed = np.array(figure.get_size_inches()) / _room(boxes)
        figure.set_size_inches(np.clip(needed, _SMALLEST, _LARGEST))
    if fontsize is None:
        size = boxes[0].get_fontsize() * min(_room(boxes))
        for note in notes:
            note.set_fontsize(min(size, _FONT))


def _room(boxes):
    """The room that boxes have, as parts of what they need: in width, and in height."""
    figure, ax = boxes[0].figure, boxes[0].axes
    renderer, area = figure.canvas.get_renderer(), ax.get_window_extent()
    rows = {}
    for note in boxes:
        note.update_bbox_position_size(renderer)
        x, y = note.xyann
        extent = note.get_bbox_patch().get_window_extent()
        rows.setdefault(round(y, 6), []).append((x, extent.width, extent.height))
    # half boxes side by side, and at the edges; a gap between boxes is part of them
    wide, high, above = [], [], (1.0, 0.0)
    for y in sorted(rows, reverse=True):
        left = (0.0, 0.0)
        for x, width, _ in [*sorted(rows[y]), (1.0, 0.0, 0.0)]:
            wide.append((x - left[0]) * area.width / (1.08 * (left[1] + width) / 2))
            left = x, width
        height = max(box[2] for box in rows[y])
        high.append((above[0] - y) * area.height / (1.5 * (above[1] + height) / 2))
        above = y, height
    high.append(above[0] * area.height / (1.5 * above[1] / 2))
    return min(wide), min(high)


@dataclass(frozen=True, eq=False)
class NamedEnsemble(NamedColumns):
    """A fitted ensemble with what its user calls things.

    Attributes
    ----------
    model : Model
    forest : Forest
        Its trees, for the finest rows that it tells apart.
    code : Code
    classes : list or None
        Labels as Python's own objects; None for regression.
    end : float64 array of shape (n_nodes,)
        A number goes left iff it is at most this; of a column with levels, a code. Infinity: all
        that is not missing goes left, minus infinity: nothing does. NaN where a set is tested.
    missing_left : bool array of shape (n_nodes,)
    leaf : intp array of shape (n_nodes,)
        Number of each leaf among all; -1: a split.
    value : float64 array of shape (n_leaves, n_scores)
    """

    model: Model
    forest: Forest
    code: Code
    classes: list | None
    end: np.ndarray
    missing_left: np.ndarray
    leaf: np.ndarray
    value: np.ndarray

    @classmethod
    def of(cls, fitted, *, feature_names=None, class_names=None, rows=None):
        """A fitted ensemble that can be read (else TypeError), under names as for `NamedTree`.

        Some `rows`, as it takes them, name its columns, and the levels that it keeps but hashes of.
        """
        model = Model.of(fitted, rows=rows)
        forest, table = model.finest, model.table
        # models of arrays have no names: then the rows have, if they are a frame
        names = getattr(rows, "columns", None) if table.names is None else table.names
        named = cls(
            n_features=forest.n_features,
            names=None if names is None else [str(name) for name in names],
            table=table,
            booleans=truth_values(column.whole for column in table.columns),
            model=model,
            code=code_of(forest, model.estimator),
            classes=None if forest.classes is None else [plain(c) for c in forest.classes],
            **_nodes_of(forest, table),
        )
        return named.renamed(feature_names, class_names)

    @classmethod
    def of_tree(cls, tree):
        """A `NamedTree` as an ensemble of one."""
        own, to_left = cls.of(tree.estimator), np.zeros(len(tree.order), dtype=bool)
        to_left[tree.order] = tree.missing_left
        return replace(
            own,
            names=tree.names,
            table=tree.table,
            booleans=tree.booleans,
            classes=tree.classes,
            missing_left=to_left,
        )

    @property
    def compares_in(self) -> str:
        """The type in which it compares numbers."""
        return self.forest.row_dtype

    def splits_of_numbers(self):
        """The feature and end of each split of numbers, and the end again."""
        splits = (self.leaf < 0) & np.isfinite(self.end) & ~self.is_set
        for j, end in zip(
            self.forest.feature[splits].tolist(), self.end[splits].tolist(), strict=True
        ):
            if self.levels(j) is None:
                yield j, end, end

    def shortened(self) -> NamedEnsemble:
        """The same with its `ends` in the place of the numbers that they stand for."""
        if not self.ends:
            return self
        pairs = zip(self.forest.feature.tolist(), self.end.tolist(), strict=True)
        return replace(self, end=np.array([self.ends.get(pair, pair[1]) for pair in pairs]))

    @property
    def on_thresholds(self) -> NamedEnsemble:
        """The same with thresholds between codes in the place of sets."""
        forest = self.forest.on_thresholds
        if forest is self.forest:
            return self
        return replace(self, **_nodes_of(forest, self.model.table))

    @cached_property
    def is_set(self) -> np.ndarray:
        """Which nodes test a set of codes."""
        sets = self.forest.sets
        return np.zeros(self.forest.n_nodes, dtype=bool) if sets is None else sets.is_set

    def listed(self, node) -> tuple[list, bool]:
        """Codes that a test of a set sends one way, and whether it is left: others go right then.

        They are the fewer, but of codes without levels, of which there is no end, the finite ones.
        """
        sides, j = self.forest.sets.sides(node), self.forest.feature[node]
        if self.levels(j) is None:
            to_left = not sides[-1]
        else:
            # levels that came with some rows go where the last one of the model's own goes
            sides = sides[np.minimum(self.codes(j, ALL), len(sides) - 1)]
            to_left = 2 * sides.sum() <= len(sides)
        return np.flatnonzero(sides == to_left).tolist(), bool(to_left)

    @property
    def n_trees(self):
        """Number of trees."""
        return self.forest.n_trees

    @property
    def used(self):
        """Features that some tree splits on, as a list."""
        return np.unique(self.forest.feature[self.leaf < 0]).tolist()

    @property
    def coded(self):
        """Features that some tree splits on and that have levels, as a list."""
        return [j for j in self.used if self.levels(j) is not None]


def _nodes_of(forest, table):
    """What a `NamedEnsemble` holds of the nodes of a forest."""
    is_leaf, to_left = forest.left < 0, forest.missing_left
    return {
        "forest": forest,
        "end": forest.ends(table),
        "missing_left": np.zeros(forest.n_nodes, dtype=bool) if to_left is None else to_left,
        "leaf": np.where(is_leaf, np.cumsum(is_leaf) - 1, -1),
        "value": forest.value[is_leaf],
    }
