"""Names of parameters: old ones go on working, and of unknown ones the nearest is told."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Mapping
from difflib import get_close_matches
from types import MappingProxyType
from typing import Any, ClassVar, Self

from ensemble_simplify.base._scikit_learn import _validate_params
from ensemble_simplify.base.limits import warn


def validate_params(
    constraints: Mapping[str, Any], renamed: Mapping[str, str] = MappingProxyType({})
) -> Callable[[Any], Any]:
    """Of a function: it checks its parameters, and estimators that it fits check theirs.

    `renamed` are names that parameters had before, with those of now; None: they have gone.
    """
    check = _validate_params(constraints, prefer_skip_nested_validation=False)

    def decorated(function: Any) -> Any:
        checked, who = check(function), function.__name__
        if not constraints.keys() & _WORDS.keys():
            return _with_names(checked, who, renamed)

        # estimators keep what they were given, and put it in words of now when they are fitted
        @functools.wraps(function)
        def with_words(*args, **kwargs):
            words = {name: word_now(who, name, value) for name, value in kwargs.items()}
            return checked(*args, **words)

        return _with_names(with_words, who, renamed)

    return decorated


# Words that parameters took before version 0.4, with those of now. What is called "proba" are
# scikit-learn's method `predict_proba` and what is named after it, as `min_proba`.
_WORDS = {"response": {"label": "class", "proba": "probabilities"}}


def word_now(who: str, name: str, value: Any) -> Any:
    """The value of a parameter; an old word for it warns."""
    # of arrays, also given by other names, none is a word
    now = _WORDS.get(name, {}).get(value) if isinstance(value, str) else None
    if now is None:
        return value
    warn(
        f"{name}={value!r} of {who} is called {now!r} since version 0.4, and {value!r} will go "
        f"in 0.6. Write {name}={now!r}.",
        FutureWarning,
    )
    return now


def old_name(old: str, now: str) -> Any:
    """A property that stands for one of another name, and warns."""

    def get(self) -> Any:
        warn(
            f"{old} is called {now} since version 0.4, and {old} will go in 0.6. Write {now}.",
            FutureWarning,
        )
        return getattr(self, now)

    return property(get, doc=f"The old name of `{now}`.")


def _with_names(function, who, renamed):
    """The function with old names, which warn, and the nearest one told of those unknown."""
    known = inspect.signature(function).parameters
    if any(own.kind is own.VAR_KEYWORD for own in known.values()):
        return function

    @functools.wraps(function)
    def wrapper(*args, **kwargs):
        for name in [name for name in kwargs if name not in known]:
            now = _name_now(who, name, known, renamed, kwargs)
            value = kwargs.pop(name)
            if now is not None:
                kwargs[now] = value
        return function(*args, **kwargs)

    return wrapper


def _name_now(who, name, known, renamed, given):
    """The name that a parameter has now; None if it has gone, and did not change results."""
    if name not in renamed:
        near = get_close_matches(name, [own for own in known if own != "self"], n=1)
        remedy = f"Did you mean {near[0]!r}?" if near else "Leave it out."
        raise TypeError(f"{who}() has no parameter {name!r}. {remedy}")
    now = renamed[name]
    if now is None:
        message = f"{name} of {who}() has no effect since version 0.4, and will go in 0.6."
        warn(f"{message} Leave it out.", FutureWarning)
        return now
    if now in given:
        raise TypeError(f"{who}() was given {now}, and {name}, its old name, too. Leave that out.")
    warn(
        f"{name} of {who}() is called {now} since version 0.4, and {name} will go in 0.6. "
        f"Write {now}=.",
        FutureWarning,
    )
    return now


class NamesItsParameters:
    """An estimator that takes old names of its parameters, and tells unknown ones the nearest."""

    _renamed: ClassVar[dict] = {}

    def __init_subclass__(cls, **options):
        super().__init_subclass__(**options)
        if "__init__" in vars(cls):
            cls.__init__ = _with_names(cls.__init__, cls.__name__, cls._renamed)

    def __setstate__(self, state):
        # pickles of parameters alone are those of other versions, too
        own = {self._renamed.get(name, name): value for name, value in state.items()}
        own.pop(None, None)
        super().__setstate__(own)  # ty: ignore[missing-attribute]

    def set_params(self, **params: Any) -> Self:
        """Set parameters of this estimator, or of one that it holds.

        Parameters
        ----------
        **params
            Names and values; ``name__parameter`` is a parameter of what is in ``name``.

        Returns
        -------
        self : estimator
            Itself.
        """
        known = self.get_params(deep=False)  # ty: ignore[missing-attribute]
        renamed = {
            name: _name_now(type(self).__name__, name, known, self._renamed, params)
            for name in params
            if name in self._renamed
        }
        params = {renamed.get(name, name): value for name, value in params.items()}
        params.pop(None, None)
        return super().set_params(**params)  # ty: ignore[missing-attribute]
