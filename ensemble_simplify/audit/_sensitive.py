"""Can changes of some features alone change the answer?"""

from __future__ import annotations

from dataclasses import dataclass
from numbers import Integral, Real
from time import monotonic
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ensemble_simplify.audit._audited import Audited, every_input, kept_in_words
from ensemble_simplify.audit._flip import changes_between
from ensemble_simplify.audit._pairs import Pairs
from ensemble_simplify.audit._response import RESPONSES, Response, shown_answers
from ensemble_simplify.base import Interval, StrOptions, validate_params
from ensemble_simplify.evidence import HasEvidence
from ensemble_simplify.grid import Domain, limited
from ensemble_simplify.proof import shown_entry
from ensemble_simplify.writing import counted, number, plain


@dataclass(frozen=True, eq=False, repr=False)
class Sensitivity(HasEvidence):
    """Outcome of `is_sensitive`.

    It is true (in the sense of ``if``) only where two rows were found.

    Attributes
    ----------
    sensitive : bool or None
        True: there are two such rows, see `counterexample`. False: it is proven that there are
        none. None: undecided, see `reason`.
    features : list of str or int
        The features that were changed, by name if the model knows names.
    response : {"class", "probabilities", "value"}
        What was asked about.
    positive : label or None
        The class whose probability was asked about.
    gap : float
        Only larger moves of a probability or a value count.
    counterexample : ndarray of shape (2, n_features), table of two rows, or None
        Two rows that differ in these features alone. With `near`, the first one is a row of `near`
        if this row has such a partner itself. A table if the model takes tables of text or
        categories.
    changes : dict
        The features in which the two rows differ, with the values in the first and the second row.
    predictions : tuple or None
        What the model itself answers to the two rows: classes, probabilities or values.
    largest : float or None
        The largest move of the probability or value that was seen. None: the class was asked about.
    bound : float or None
        It is proven that no move of the probability or value is larger. None: the class was asked
        about.
    n_boxes : int
        Boxes of the space of pairs that were looked at.
    seconds : float
        Time taken.
    domain : Domain, dict or None
        Which inputs counted. None: all.
    keeping : tuple of str
        What `near`, a frame, restricted: "whole numbers", "known levels", or both. The printed form
        names it.
    max_changes : int or None
        How many other features of a pair could differ from a row of `near`. None: all pairs
        counted.
    reason : {None, "time", "rounding"}
        Why it is undecided: `time_limit`, or too many points at which the move lies within rounding
        of the gap.
    finer : bool
        True: only inputs that float32 represents counted, because the model compares finer numbers.
    claim : Claim or None
        What `save` writes.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> from ensemble_simplify import is_sensitive
    >>> X, y = load_iris(return_X_y=True)
    >>> tree = DecisionTreeClassifier(max_depth=2, random_state=0).fit(X, y)
    >>> is_sensitive(tree, [0, 1])
    Sensitivity(class by 0, 1: proven, every input has one class; ... s)
    """

    sensitive: bool | None
    features: list
    response: str
    positive: Any
    gap: float
    counterexample: np.ndarray | None
    changes: dict
    predictions: tuple | None
    largest: float | None
    bound: float | None
    n_boxes: int
    seconds: float
    domain: Domain | dict | None = None
    keeping: tuple = ()
    max_changes: int | None = None
    reason: str | None = None
    finer: bool = False
    claim: Any = None

    def __bool__(self):
        return self.sensitive is True

    @property
    def sentence(self) -> str:
        """What was found, in words."""
        if self.sensitive is None:
            why = "at the limit" if self.reason == "time" else "within rounding of the gap"
            if self.bound is not None:
                why += f", no move is larger than {self.bound:.6g}"
            return f"{self._what()}: undecided {why}"
        if not self.sensitive:
            moved = "has one class" if self.response == "class" else "moves no further"
            return f"{self._what()}: proven, {self._where()} {moved}"
        steps = ", ".join(
            f"{key}: {shown_entry(before)} -> {shown_entry(after)}"
            for key, (before, after) in self.changes.items()
        )
        first, second = shown_answers(self.predictions)
        steps += kept_in_words(self.keeping)
        return f"{self._what()}: {first} becomes {second} by {steps}"

    def _what(self) -> str:
        """What was asked, in words."""
        names = ", ".join(map(repr, self.features))
        if self.response == "class":
            return f"class by {names}"
        what = "value" if self.response == "value" else f"probability of {self.positive!r}"
        return f"{what} by {names}, beyond {number(self.gap)}"

    def _where(self):
        where = every_input(self)
        if self.max_changes is not None:
            where += f" near the rows ({counted(self.max_changes, 'other feature')} changed)"
        return where + kept_in_words(self.keeping)


@limited
@validate_params(
    {
        "features": [str, Integral, list, tuple, np.ndarray],
        "gap": [Interval(Real, 0, None, closed="left")],
        "response": [StrOptions(set(RESPONSES))],
        "near": ["array-like", None],
        "max_changes": [Interval(Integral, 0, None, closed="left"), None],
        "domain": [Domain, dict, None],
        "time_limit": [Interval(Real, 0, None, closed="neither"), None],
    }
)
def is_sensitive(
    model: Any,
    features: Any,
    *,
    gap: float = 0,
    response: str = "auto",
    positive: Any = None,
    near: ArrayLike | None = None,
    max_changes: int | None = None,
    domain: Domain | dict | None = None,
    time_limit: float | None = None,
) -> Sensitivity:
    """Prove that changes of some features alone never change the answer, or find two such rows.

    Read more in the :ref:`guide <audit_sensitive>`.

    Parameters
    ----------
    model : estimator
        A fitted classifier or regressor: a tree ensemble, a decision tree, a pipeline that ends in
        one, or an estimator of this package. It is not changed.
    features : str, int or list of these
        The features that change, by index, or by name if the model knows the names of its columns.
        Name all columns of a one-hot group: inside a ``domain``, one of them cannot change alone.
    gap : float, default=0
        How far a probability or a value may move: only larger moves count. It must be 0 if the
        class is asked about: any other class counts.
    response : {"auto", "class", "probabilities", "value"}, default="auto"
        What is asked about: the class, the probability of one class, or the value of a regressor.
        ``"auto"``: the class of a classifier, the value of a regressor.
    positive : label or None, default=None
        The class whose probability counts. None: of two classes, the second of ``classes_``.
    near : array-like of shape (n_samples, n_features) or None, default=None
        Rows near which pairs are looked for. The `features` may take any values. In all other
        features, a pair must be like one of these rows, but for `max_changes` features. None: all
        pairs count.
    max_changes : int or None, default=None
        With `near`, how many other features may differ from the row. None: 0.
    domain : Domain, dict or None, default=None
        Which inputs can occur. Both rows of a pair must be among them. See :class:`Domain`. None,
        where `near` is a frame: inputs like its rows, as of
        ``Domain.from_rows(near, ranges=False)``. None otherwise: every finite input and, with
        `near`, missing values in columns of `near` that have some. ``Domain()`` asks for the same
        with a frame.
    time_limit : float or None, default=None
        Seconds after which the attempt ends undecided.

    Returns
    -------
    outcome : Sensitivity
        Its attribute ``sensitive`` is True (see ``counterexample``: two rows on which the model's
        own ``predict`` or ``predict_proba`` was called), False (proven), or None (undecided).

    Raises
    ------
    TypeError
        If the model cannot be read, or has no such response.
    ValueError
        If a feature is unknown, a gap is asked of classes, or parameters do not go together.

    See Also
    --------
    is_monotone : Whether the answer can fall where a feature rises.
    nearest_flip : The smallest change of a row that flips its class.

    Notes
    -----
    *Time.* The two rows are one point of a space in which the features stand twice. Trees that do
    not split on these features cancel there. The others are bounded together with their own copies
    [1]_. The time can grow exponentially with the number of features. With `near` and few changes
    it hardly does.

    *Numbers.* A move is the difference of the two doubles that the model itself answers, taken in
    double. Bounds are of real numbers and keep a margin for all rounding. Within a margin of the
    gap, the model itself is asked. A missing value is a value like others if the domain allows it.
    Pipelines are judged on the rows that float32 represents.

    References
    ----------
    .. [1] A. Kantchelian, J. D. Tygar, A. D. Joseph (2016). Evasion and Hardening of Tree Ensemble
       Classifiers. Proceedings of Machine Learning Research 48, 2387-2396.
       https://proceedings.mlr.press/v48/kantchelian16.html

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from sklearn.ensemble import GradientBoostingRegressor
    >>> from ensemble_simplify import is_sensitive
    >>> X, y = load_diabetes(return_X_y=True, as_frame=True)
    >>> model = GradientBoostingRegressor(n_estimators=20, random_state=0).fit(X, y)
    >>> outcome = is_sensitive(model, "sex", gap=20)
    >>> outcome
    Sensitivity(value by 'sex', beyond 20: proven, every input moves no further; ...)
    >>> print(f"the value never moves by more than {outcome.bound:.1f}")
    the value never moves by more than 8.4
    >>> outcome = is_sensitive(model, ["sex", "age"], gap=20, near=X)
    >>> outcome.sensitive, list(outcome.changes)
    (True, ['age'])
    """
    begin = monotonic()
    if max_changes is not None and near is None:
        raise ValueError(
            f"max_changes={max_changes} needs rows, but near=None. Give both, or neither to ask "
            "about all pairs."
        )
    audited = Audited(model, domain, near=near)
    asked = Response.of(audited, response, positive)
    if asked.kind == "class" and gap > 0:
        raise ValueError(
            f"gap={gap} is for numbers, but the class is asked about. Set "
            "response='probabilities', or leave gap out."
        )
    if asked.kind == "class" and positive is not None:
        raise ValueError(
            f"positive={plain(positive)!r} names a class whose probability is meant, but the class "
            "is asked about. Set response='probabilities', or leave positive out."
        )
    chosen = audited.indices(features, "features")
    n_changes = None if near is None else int(max_changes or 0)
    pairs = Pairs(audited, chosen)
    found = pairs.search(asked, float(gap), n_changes)
    is_class = asked.kind == "class"
    rows, predictions, changes = found.rows, None, {}
    if rows is not None:
        own = asked.numbers(audited.model, rows)
        first, second = own.tolist()
        if first == second if is_class else not abs(first - second) > gap:
            raise audited.disagrees(rows)
        predictions = plain(first), plain(second)
        shown = audited.table.shown(rows)
        changes = changes_between(audited, rows, shown)
        rows = shown
    return Sensitivity(
        sensitive=found.exists,
        features=[audited.key(j) for j in chosen],
        response=asked.kind,
        positive=plain(audited.forest.classes[asked.column])
        if asked.kind == "probabilities"
        else None,
        gap=float(gap),
        counterexample=rows,
        changes=changes,
        predictions=predictions,
        largest=None if is_class else found.largest,
        bound=None if is_class else found.bound,
        n_boxes=found.n_boxes,
        seconds=monotonic() - begin,
        domain=audited.domain,
        keeping=audited.keeping,
        max_changes=n_changes,
        reason=found.reason,
        finer=audited.finer,
        claim=pairs.claim(asked, float(gap), found, n_changes),
    )
