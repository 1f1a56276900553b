"""Where two models differ, among the rows that a user gives: a few rules in the user's columns.

A small tree is grown that tells the rows on which the models differ from all others. A split stays
where it tells more than the best of as many splits would by chance; siblings that differ about as
often become one; what is left, where the models differ often, are the rules.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, replace
from numbers import Integral, Real
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import xlogy
from sklearn.tree import DecisionTreeClassifier
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from ensemble_simplify.base import (
    Interval,
    Stream,
    absolute_tolerance,
    check_atol,
    check_column_names,
    differ,
    element,
    in_html,
    validate_params,
)
from ensemble_simplify.grid import FLOAT32_MAX, Domain, float32_floor, read_domain, waiting
from ensemble_simplify.proof.volume import box_of, share_of
from ensemble_simplify.reading import Model, Table, is_plain
from ensemble_simplify.writing import ALL, NamedTree, Span, counted, one_line, percent, plain

# Numbers (rows times columns) from which the rules are found, at most; rows are counted on all.
GROWN_ON = 4_000_000
# Splits of the tree on the way to a rule, and its leaves, before any is undone.
MAX_DEPTH, MAX_LEAVES = 6, 64
# What a split has to tell, in nats, beyond the logarithm of the number of splits that were tried.
LEAST_TOLD = 2.0
# How often two models differ: rarely, often (at twice the odds of all rows), or mostly.
RARELY, OFTEN, MOSTLY = range(3)
# A condition goes if the models differ so often on the rows that come in, as a part of how often
# they do on the others.
ALIKE = 0.9

if TYPE_CHECKING:
    import pandas


@dataclass(frozen=True, eq=False, repr=False)
class Difference:
    """Rows of one rule of `differences`.

    Attributes
    ----------
    rule : str
        The conditions on the columns that its rows meet, or ``"every row"``.
    rows : ndarray of intp
        Numbers of its rows in `X`, ascending.
    n_rows : int
        Number of its rows.
    n_differing : int
        Number of its rows on which the models differ.
    share : float
        Share of the rows of `X` that are in the rule.
    volume : float
        Probability that a random point meets the rule, if each column is drawn independently and
        evenly. Numbers are drawn from the range of the column in `X`, or from its bounds in the
        domain. They are whole numbers if the column holds integers or booleans, or if the domain
        says so. In a column with levels, all levels have the same chance. A value is missing as
        often as in `X`.
    share_differing : float
        Share of the rule's rows on which the models differ.
    share_of_differences : float
        Of all rows on which the models differ, the share that is in the rule.
    answers : pair
        What the models answer on the rule's rows on which they differ: the most frequent pair of
        labels, or in regression the mean of each model's values.
    is_mean : bool
        Whether `answers` are means of values.

    Examples
    --------
    >>> import numpy as np
    >>> from ensemble_simplify import differences
    >>> X = np.arange(100).reshape(100, 1)
    >>> differences(lambda rows: rows[:, 0] > 29, lambda rows: rows[:, 0] > 59, X)[0]
    29.5 < x0 <= 59.5 (30 % of the rows, 30 % of the volume): they differ on 30 of 30 rows (100 %);
    model_a says mostly True, model_b False
    """

    rule: str
    rows: np.ndarray
    n_rows: int
    n_differing: int
    share: float
    volume: float
    share_differing: float
    share_of_differences: float
    answers: tuple
    is_mean: bool = False

    def __repr__(self):
        return self.in_words()

    def in_words(self, model_a: str = "model_a", model_b: str = "model_b") -> str:
        """The rule and its figures as one line of text.

        Parameters
        ----------
        model_a, model_b : str
            What the models are called.

        Returns
        -------
        text : str
            How many rows it holds, on how many of them the models differ, and what they answer.
        """
        first, second = map(_shown, self.answers)
        most = "on average" if self.is_mean else "mostly"
        return (
            f"{self.rule} ({percent(self.share)} of the rows, {percent(self.volume)} of the "
            f"volume): they differ on {self.n_differing:,} of {counted(self.n_rows, 'row')} "
            f"({percent(self.share_differing)}); {model_a} says {most} {first}, {model_b} {second}"
        )

    def cells(self) -> list[str]:
        """The rule and its figures as the cells of a table.

        Returns
        -------
        list of str
            The rule, its rows, its volume, its rows on which the models differ, and what the two
            answer.
        """
        return [
            self.rule,
            f"{self.n_rows:,} ({percent(self.share)})",
            percent(self.volume),
            f"{self.n_differing:,} ({percent(self.share_differing)})",
            *map(_shown, self.answers),
        ]


@dataclass(frozen=True, eq=False, repr=False)
class Differences:
    """Outcome of `differences`: a list of rules, with the most differing rows first.

    Attributes
    ----------
    rules : list of Difference
        The rules. No row is in two of them.
    n_rows, n_differing : int
        Number of rows of `X`, and of those on which the models differ.
    atol : float or None
        Values that are further apart than this differ. None: labels were compared.
    mean_difference : float or None
        Mean absolute difference of the values. None: labels were compared.
    domain : Domain, dict or None
        The box of which `volume` is a share. None: the range of the rows.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> from ensemble_simplify import differences
    >>> X, y = load_iris(return_X_y=True, as_frame=True)
    >>> deep = DecisionTreeClassifier(random_state=0).fit(X, y)
    >>> flat = DecisionTreeClassifier(max_depth=1, random_state=0).fit(X, y)
    >>> differences(flat, deep, X, random_state=0)  # doctest: +NORMALIZE_WHITESPACE
    The models differ on 50 of 150 rows (33.3 %). 1 rule tells where 45 of these are:
    ...
    """

    rules: list
    n_rows: int
    n_differing: int
    atol: float | None = None
    mean_difference: float | None = None
    domain: Domain | dict | None = None

    def __len__(self):
        return len(self.rules)

    def __iter__(self) -> Iterator[Difference]:
        return iter(self.rules)

    def __getitem__(self, place):
        return self.rules[place]

    def to_frame(self) -> pandas.DataFrame:
        """The rules as a data frame.

        Returns
        -------
        pandas.DataFrame
            One row for each rule, with the columns ``rule``, ``n_rows``, ``n_differing``,
            ``share``, ``volume``, ``share_differing``, ``share_of_differences``, and the answers
            of the models, ``model_a`` and ``model_b``.
        """
        import pandas as pd

        told = [(*(getattr(rule, name) for name in _COUNTS), *rule.answers) for rule in self.rules]
        return pd.DataFrame(told, columns=[*_COUNTS, "model_a", "model_b"])

    def summary(self, models: str = "The models") -> str:
        """How often the models differ, and how many of these rows the rules hold, in words.

        Parameters
        ----------
        models : str
            What the models are called, with a capital letter.

        Returns
        -------
        text : str
            One or two sentences, without the rules.
        """
        beyond = ""
        if self.atol is not None:
            is_mean = self.atol == self.mean_difference
            beyond = f" by more than {self.atol:.4g}" + (", the mean," if is_mean else "")
        if not self.n_differing:
            return f"{models} differ on none of {self.n_rows:,} rows{beyond.rstrip(',')}."
        first = (
            f"{models} differ{beyond} on {self.n_differing:,} of {self.n_rows:,} rows "
            f"({percent(self.n_differing / self.n_rows)})."
        )
        if not self.rules:
            return f"{first} No short rule tells where: these rows are scattered among all others."
        inside = sum(rule.n_differing for rule in self.rules)
        told = "1 rule tells" if len(self) == 1 else f"{len(self)} rules tell"
        return f"{first} {told} where {inside:,} of these are:"

    def __repr__(self):
        lines = [self.summary(), *(f"  {rule!r}" for rule in self.rules)]
        return "\n".join([*lines, self._measured()]) if self.rules else lines[0]

    def _measured(self):
        """What the figures are of, in words."""
        of = "the range of these rows" if self.domain is None else "the domain"
        return (
            "Measured on these rows alone: on others, the models may differ elsewhere. Volumes "
            f"are shares of {of}."
        )

    def _repr_html_(self):
        summary = element("p", self.summary())
        if not self.rules:
            return summary

        def row(kind, cells):
            return element("tr", *(element(kind, cell, style="text-align:left") for cell in cells))

        titles = ["rule", "rows", "volume", "they differ on", "model_a says", "model_b says"]
        body = element("tbody", *(row("td", rule.cells()) for rule in self.rules))
        table = element("table", element("thead", row("th", titles)), body)
        measured = element("p", self._measured())
        return in_html([summary, element("div", table, style="overflow-x:auto"), measured])


# What a frame of rules has of each, beside the answers.
_COUNTS = (
    *("rule", "n_rows", "n_differing", "share", "volume"),
    *("share_differing", "share_of_differences"),
)


def _shown(answer):
    return f"{answer:.6g}" if isinstance(answer, float) else one_line(repr(answer))


@waiting("differences")
@validate_params(
    {
        "max_boxes": [Interval(Integral, 1, None, closed="left")],
        "min_rows": [Interval(Integral, 1, None, closed="left")],
        "domain": [Domain, dict, None],
        "atol": [Interval(Real, 0, None, closed="left"), str, None],
        "random_state": ["random_state"],
    }
)
def differences(
    model_a: Any,
    model_b: Any,
    X: ArrayLike,
    *,
    max_boxes: int = 5,
    min_rows: int = 5,
    atol: float | str | None = None,
    domain: Domain | dict | None = None,
    random_state: int | np.random.RandomState | None = None,
) -> Differences:
    """Describe in short rules on which rows two models differ.

    Both models are asked about the rows `X`, and the rules are about these rows alone.
    :func:`verify` finds a difference anywhere, or proves that there is none.

    Read more in the :ref:`guide <differences>`.

    Parameters
    ----------
    model_a, model_b : estimator or function
        Two fitted models, or functions of rows. Both answer with labels, or both with numbers. An
        answer counts as a number if it is a float and does not come from a classifier.
    X : array-like or data frame of shape (n_samples, n_features), or stream of such rows
        Rows in the form in which the models take them. Text, categories and missing values are
        possible if the models take them. Of a stream (see :func:`agreement`), as many rows as hold
        4 million numbers are drawn, and all that is counted is of these.
    max_boxes : int, default=5
        The most rules.
    min_rows : int, default=5
        The fewest rows of a rule.
    atol : float, str or None, default=None
        Numbers differ if they are further apart than this. A text such as "10%" means that share of
        the standard deviation of the first model's answers to the rows. None: the mean distance of
        the two models' answers.
    domain : Domain, dict or None, default=None
        The box of which the volume of a rule is a share. Its bounds replace the range of the rows,
        and features that it calls integers are counted in whole numbers. Groups and implications
        are not supported here. None: the range of the rows.
    random_state : int, RandomState instance or None, default=None
        Chooses among splits that are equally good. In tables of more than 4 million numbers, it
        also draws the rows from which the rules are found. Rows are counted on all rows.

    Returns
    -------
    Differences
        A list of rules. It prints as text, and the rules with the most differing rows come first.
        It is empty if no short rule separates the rows on which the models differ.

    Raises
    ------
    TypeError
        If a model has no ``predict`` and is no function.
    ValueError
        If a parameter is out of range, `atol` is given for labels, the models have different
        columns, a row is outside the domain, or the domain bounds a column of levels.

    See Also
    --------
    agreement : How often, and how closely, two models agree, with intervals.
    verify : Whether two models agree everywhere.

    Notes
    -----
    A tree of at most 6 levels is grown that separates the rows on which the models differ from all
    others, with the entropy as its criterion. Levels are ordered by how often the models differ on
    each, unless they are ordered categories of pandas. Columns with nearly as many levels as rows
    are left out. A split stays if it raises the logarithm of the likelihood by more than 2, plus
    the logarithm of the number of splits that were possible there. A leaf becomes a rule if the
    models differ on half of its rows, or if their odds of differing are twice those of all rows.

    Examples
    --------
    >>> import numpy as np
    >>> from ensemble_simplify import differences
    >>> X = np.random.default_rng(0).uniform(size=(1000, 2)).round(2)
    >>> found = differences(
    ...     lambda rows: rows[:, 0] > 0.5,
    ...     lambda rows: (rows[:, 0] > 0.5) & (rows[:, 1] <= 0.8),
    ...     X,
    ...     random_state=0,
    ... )
    >>> print(found.summary())
    The models differ on 88 of 1,000 rows (8.8 %). 1 rule tells where 88 of these are:
    >>> found[0].rule, found[0].answers
    ('x1 > 0.805 and x0 > 0.505', (True, False))
    """
    check_atol(atol)
    stream = Stream.of(X)
    if stream is not None:
        X, _, _ = stream.drawn(lambda width: max(1, GROWN_ON // width), random_state)
    X = X if hasattr(X, "shape") else np.asarray(X)
    models = [_model_of(model) for model in (model_a, model_b)]
    check_column_names([model.estimator for model in models], X)
    answers = [_asked(model, X) for model in models]
    apart, atol, mean = _compare(models, answers, atol)
    found = Differences([], len(apart), int(apart.sum()), atol, mean, domain)
    names = _names_of(X, models)
    table = _ordered(Table.of_rows(X), X, apart)
    numbers = np.array(table.read(X), dtype=np.float64)
    box = _box(X, table, numbers, domain, names)
    if not found.n_differing:
        return found
    rng = check_random_state(random_state)
    for words, spans, rows in _rules_of(table, names, numbers, apart, max_boxes, min_rows, rng):
        differing = rows[apart[rows]]
        found.rules.append(
            Difference(
                rule=words,
                rows=rows,
                n_rows=len(rows),
                n_differing=len(differing),
                share=len(rows) / len(apart),
                volume=share_of(spans, *box),
                share_differing=len(differing) / len(rows),
                share_of_differences=len(differing) / found.n_differing,
                answers=_most([own[differing] for own in answers], mean is not None),
                is_mean=mean is not None,
            )
        )
    return found


def _model_of(fitted):
    """A model that is asked."""
    if not hasattr(fitted, "predict"):
        if callable(fitted):
            return Model(fitted)
        raise TypeError(
            f"{type(fitted).__name__}(...) has no method predict. Give a fitted model, or a "
            "function of rows."
        )
    if hasattr(fitted, "fit"):
        check_is_fitted(fitted)
    return Model.unread(fitted)


def _asked(model, X):
    """What a model answers: to the rows as they are, or with the names that it knows."""
    if not hasattr(model.estimator, "predict"):
        answers = model.ask(X, "__call__")
    elif hasattr(X, "columns") or model.table.names is None or not is_plain(X):
        answers = model.ask(X)
    else:
        answers = model.ask_given(X, model.table.read(X, [np.float64, np.float32]))
    if answers.shape != (X.shape[0],):
        raise ValueError(
            f"{model.name} answers {X.shape[0]} rows with an array of shape {answers.shape}. Give "
            "models of one output."
        )
    return answers


def _compare(models, answers, atol):
    """Rows on which two models differ; of numbers the tolerance, and how far they are apart."""
    are_numbers = all(own.dtype.kind == "f" for own in answers)
    if not are_numbers or any(model.is_classifier for model in models):
        if atol is not None:
            raise ValueError(f"atol={atol!r}, but the models answer labels. Leave atol out.")
        return differ(*answers), None, None
    first, second = (own.astype(np.float64) for own in answers)
    distance = np.abs(first - second)
    mean = float(distance.mean())
    atol = mean if atol is None else absolute_tolerance(atol, first)
    return distance > atol, atol, mean


def _most(answers, are_numbers):
    """The most frequent pair of labels, or the mean of each one's numbers."""
    if are_numbers:
        return tuple(float(own.mean()) for own in answers)
    pairs = zip(*(own.tolist() for own in answers), strict=True)
    return tuple(map(plain, Counter(pairs).most_common(1)[0][0]))


# ------------------------------------------------------------------- the tree


def _names_of(X, models):
    """Names of the columns: those of a frame, or of a model; None: there are none."""
    if hasattr(X, "columns"):
        return [str(name) for name in X.columns]
    known = [model.table.names for model in models if model.table is not None]
    return next((list(map(str, own)) for own in known if own is not None), None)


def _box(X, table, numbers, domain, names):
    """Ranges of the columns, which hold whole numbers, and how often each is missing."""
    missing = np.isnan(numbers)
    codes, known = table.highest_code, table.highest_known
    inside = read_domain(domain, len(table), names, missing.any(axis=0), codes, known)
    if inside is not None:
        coded = table.categorical & (
            (inside.low > 0) | (inside.high < (0 if known is None else known))
        )
        if coded.any():
            name = np.arange(len(coded)) if names is None else names
            raise ValueError(
                f"domain bounds the column {name[int(coded.argmax())]!r} of levels, all of which "
                "count alike. Leave its bounds out."
            )
        if inside.clauses:
            raise ValueError(
                "domain has groups or implications, which differences does not support. Leave them "
                "out, or give their features integers and bounds."
            )
        inside.check_rows(numbers)
    low, high, integer = box_of(np.clip(numbers, -FLOAT32_MAX, FLOAT32_MAX), inside)
    kinds = list(X.dtypes) if hasattr(X, "dtypes") else [X.dtype] * len(low)
    integer = integer | [getattr(kind, "kind", "O") in "biu" for kind in kinds]
    return low, high, integer, missing.mean(axis=0)


def _rules_of(table, names, numbers, apart, max_boxes, min_rows, random_state):
    """Rules: words, what they leave of each column, and their rows; no row is in two."""
    n_levels = np.array([0 if own is None else len(own) for own in table.levels])
    # a level for every few rows would tell any rows from all others
    numbers[:, n_levels * min_rows > len(numbers)] = 0.0
    numbers = np.clip(numbers, -FLOAT32_MAX, FLOAT32_MAX).astype(np.float32)
    chosen, most = slice(None), max(GROWN_ON // max(1, numbers.shape[1]), MAX_LEAVES * min_rows)
    if len(numbers) > most:
        chosen = random_state.permutation(len(numbers))[:most]
    grown = DecisionTreeClassifier(
        criterion="entropy",
        max_depth=MAX_DEPTH,
        max_leaf_nodes=MAX_LEAVES,
        min_samples_leaf=min_rows,
        random_state=random_state.randint(2**31 - 1),
    ).fit(numbers[chosen], apart[chosen])
    tree = replace(NamedTree.of(grown), names=names, table=table, told=table.gaps.seen)
    values = [np.unique(column[~np.isnan(column)]) for column in numbers[chosen].T]
    tree = replace(tree, nodes=_in_few_digits(tree.nodes, values))
    place = np.empty(len(tree.order), dtype=np.intp)
    place[tree.order] = np.arange(len(tree.order))
    leaf = place[grown.apply(numbers)]
    kept = _boxes(tree.nodes, leaf, apart, _prices(values, n_levels))
    boxes = [Box(spans, _inside(spans, numbers)) for node, spans in tree.paths() if node in kept]
    boxes = _largest(boxes, apart, 2 * max_boxes)
    boxes = _largest(_shortened(boxes, numbers, apart), apart, max_boxes)
    return [
        (tree.rule(box.spans) or "every row", box.spans, np.flatnonzero(box.mask)) for box in boxes
    ]


class Box(NamedTuple):
    """Conditions on columns, and the mask of the rows that meet them."""

    spans: dict
    mask: np.ndarray


def _inside(spans, numbers):
    """Mask of the rows in a box."""
    mask = np.ones(len(numbers), dtype=bool)
    for j, span in spans.items():
        column = numbers[:, j]
        mask &= ((span.low < column) & (column <= span.high)) | (np.isnan(column) & span.missing)
    return mask


def _largest(boxes, apart, n):
    """The boxes with the most rows on which the models differ."""
    return sorted(boxes, key=lambda box: -int(apart[box.mask].sum()))[:n]


def _shortened(boxes, numbers, apart):
    """Boxes without the conditions that only the way through the tree has put there.

    A condition goes if the models differ about as often on the rows that come in. These can be
    those of another box, but only all of them.
    """
    boxes, at = list(boxes), 0
    while at < len(boxes):
        wider = _wider(boxes, at, numbers, apart)
        if wider is None:
            at += 1
            continue
        boxes = [box for i, box in enumerate(boxes) if i != at]
        at -= sum((box.mask & wider.mask).any() for box in boxes[:at])
        boxes = [box for box in boxes if not (box.mask & wider.mask).any()]
        boxes.insert(at, wider)
    return boxes


def _wider(boxes, at, numbers, apart):
    """A box with a shorter condition on one column that may replace a box, or None."""
    spans, mask = boxes[at]
    least = ALIKE * apart[mask].mean()
    others = [box.mask for i, box in enumerate(boxes) if i != at]
    for j, span in spans.items():
        for shorter in _shorter(span):
            wider = {**spans, j: shorter}
            inside = _inside(wider, numbers)
            added = inside & ~mask
            if (mask & ~inside).any() or (added.any() and apart[added].mean() < least):
                continue
            if not any((other & inside).any() and (other & ~inside).any() for other in others):
                return Box({k: own for k, own in wider.items() if own != ALL}, inside)
    return None


def _shorter(span):
    """Conditions on a column that say less."""
    if span == ALL:
        return []
    spans = [ALL]
    if span.low > -np.inf and span.high < np.inf:
        spans += [replace(span, low=-np.inf), replace(span, high=np.inf)]
    if span.missing and span.low < span.high:
        spans.append(Span(np.inf, np.inf, True))
    return spans


def _ordered(table, X, apart):
    """The table with the levels of each column in the order of how often the models differ."""
    orders = [None] * len(table)
    codes = table.read(X) if not table.is_plain else None
    for j, levels in enumerate(table.levels):
        if levels is None or _has_order(X, j):
            continue
        known = ~np.isnan(codes[:, j])
        code = codes[known, j].astype(np.intp)
        n_rows = np.bincount(code, minlength=len(levels))
        rate = np.bincount(code, apart[known], minlength=len(levels)) / np.maximum(n_rows, 1)
        orders[j] = np.argsort(rate, kind="stable")
    table = table.reordered(orders)
    # all levels of these rows are known
    columns = tuple(replace(column, unknown="refused") for column in table.columns)
    return replace(table, columns=columns)


def _has_order(X, j):
    """Whether a column has ordered categories."""
    return hasattr(X, "dtypes") and bool(getattr(list(X.dtypes)[j], "ordered", False))


def _in_few_digits(nodes, values):
    """The splits of a tree with thresholds that part the same values, in few digits."""
    threshold = float32_floor(nodes.threshold)
    for node in np.flatnonzero(nodes.left >= 0):
        own = values[nodes.feature[node]].astype(np.float64)
        k = int(np.searchsorted(own, threshold[node], side="right"))
        if 0 < k < len(own):
            threshold[node] = _between(own[k - 1], own[k], threshold[node])
    return replace(nodes, threshold=threshold)


def _between(low, high, otherwise):
    """A number of float32 below the shortest decimal near the middle of two such numbers."""
    middle = low + (high - low) / 2
    for digits in range(1, 10):
        short = float(f"{middle:.{digits}g}")
        # a user's number is next to the float32 that it becomes
        if low < np.float32(short) < high:
            return float(float32_floor(short))
    return otherwise


def _prices(values, n_levels):
    """What a split on each column has to tell, in nats."""
    tries = np.log([max(len(own) - 1, 1) for own in values])
    # any set of levels could have been split off: they were ordered by what is told
    tries = np.where(n_levels > 0, np.maximum(n_levels - 1, 0) * np.log(2.0), tries)
    return LEAST_TOLD + np.log(len(values)) + tries


def _boxes(nodes, leaf, apart, prices):
    """The nodes whose rows are told."""
    n_rows = np.bincount(leaf, minlength=nodes.n_nodes).astype(np.float64)
    n_apart = np.bincount(leaf, apart, minlength=nodes.n_nodes)
    inner = [node for node in reversed(range(nodes.n_nodes)) if nodes.left[node] >= 0]
    children = {node: [int(nodes.left[node]), int(nodes.right[node])] for node in inner}
    for node in inner:
        n_rows[node] = n_rows[children[node]].sum()
        n_apart[node] = n_apart[children[node]].sum()
    share = n_apart / np.maximum(n_rows, 1)
    likelihood = xlogy(n_apart, share) + xlogy(n_rows - n_apart, 1.0 - share)
    often = 2 * share[0] / (1 + share[0])
    kind = np.where(share >= 0.5, MOSTLY, np.where(share >= often, OFTEN, RARELY))
    told = np.zeros(nodes.n_nodes)
    boxes = [{node} if kind[node] else set() for node in range(nodes.n_nodes)]
    is_one = np.ones(nodes.n_nodes, dtype=bool)
    for node in inner:
        both = children[node]
        gain = likelihood[both].sum() - likelihood[node] - prices[nodes.feature[node]]
        told[node] = max(0.0, gain + told[both].sum())
        alike = is_one[both].all() and kind[both[0]] == kind[both[1]]
        if told[node] > 0 and not alike:
            is_one[node] = False
            boxes[node] = boxes[both[0]] | boxes[both[1]]
        elif alike:
            kind[node] = kind[both[0]]
            boxes[node] = {node} if kind[node] else set()
    return boxes[0]
