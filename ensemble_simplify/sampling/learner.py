"""Estimators that learn from a predictor's answers to synthetic rows."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from numbers import Integral
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike
from sklearn.ensemble import RandomForestClassifier
from sklearn.utils import Bunch, ClassifierTags, RegressorTags, check_random_state
from sklearn.utils.validation import check_is_fitted

from ensemble_simplify.base import (
    Rows,
    check_weights,
    comes_fitted,
    fit_or_unwrap,
    fitted_rows,
    rows_and_targets,
    safe_indexing,
    tags_of,
    takes_missing,
    word_now,
)
from ensemble_simplify.grid import in_threads, time_left, unlimited
from ensemble_simplify.reading import (
    Gaps,
    Model,
    Table,
    family_of,
    learned_from,
    level_orders,
    out_of_bag,
)
from ensemble_simplify.sampling.copula import CopulaLaw
from ensemble_simplify.sampling.folds import (
    KEEP_ROWS,
    N_FOLDS,
    SMEARING,
    choose_law,
    draw_folds,
    laws_to_try,
    most_learned,
    n_unseen,
)
from ensemble_simplify.sampling.labelled import LEAST_SHARE, Sample, some_rows
from ensemble_simplify.sampling.law import Coordinates, KernelLaw, Law
from ensemble_simplify.sampling.leaves import LeafLaw
from ensemble_simplify.sampling.predictor import Predictor, RowsAside, agreement, one_hot

# One sample has so many times the training rows,
_ONE_SHOT = 40
# but at most so many manufactured and so many training rows.
_MOST_ONE_SHOT = 40_000
# Of tables with more columns than `_WIDE`, a sample has so many entries, but so many rows at least,
# and no law is chosen.
_WIDE, _MOST_ENTRIES, _LEAST_SAMPLE = 200, 8_000_000, 2_000

# Training rows that a law is fitted to and chosen by, at most: of more, trees of 4 to 32 leaves
# agreed no better with the model on the average of four tables.
_MOST_BASE_ROWS = 10_000
# The same of laws without a fold, of which there are several.
_MOST_WITHOUT = 4_000

# With a time limit: rows that are asked about in any case, the share of the time for the law, and
# the seconds that it takes for a number.
_LEAST_NEW, _LAW_SHARE, _LAW_SECONDS = 200, 0.25, 5e-7


@dataclass(eq=False)
class Trial:
    """How the law was chosen: the first one of all, unless something was learned from each."""

    law: str
    options: dict
    made: tuple | None = None  # see `_make_law`
    laws: dict | None = None  # the agreement at each size, by name
    sizes: np.ndarray | None = None
    places: np.ndarray | None = None  # of the training rows that were used
    answers: np.ndarray | None = None  # to these, of what was learned without their folds

    @property
    def agreement(self):
        """That of the chosen law at each size."""
        return self.laws[self.law]


@dataclass(eq=False)
class Material:
    """What there is to learn from: rows with the predictor's answers, and a law of more rows."""

    X: np.ndarray  # all rows, as numbers
    y: Any
    weight: np.ndarray
    held_out: np.ndarray  # bool: rows that are set aside
    kept: np.ndarray  # bool: rows to learn from
    training: Bunch  # these rows: X, weight, answers, told (to judge by), fold
    columns: Coordinates
    gaps: Gaps
    fold_of: np.ndarray  # of all rows; -1 for none
    law: Any
    base: Bunch  # the training rows that the law is made of
    trial: Trial
    seeds: list

    def aside(self, predictor) -> RowsAside:
        """The rows set aside, with the predictor's answers."""
        y = None if self.y is None else self.y[self.held_out]
        return RowsAside.of(predictor, self.X[self.held_out], y, self.weight[self.held_out])


class LearnsFromPredictor:
    """What estimators share that learn from a predictor's answers to training and synthetic rows.

    An estimator has the parameters `estimator`, `sampler`, `validation_fraction`, `time_limit` and
    `random_state`; others are as below unless it has them, too. ``_answers_to(X)`` answers rows of
    numbers by the labels or values that were learned. ``_trial(training, seed)`` returns the sizes
    at which a law is judged, and how to learn from its rows (see `folds`); without it
    ``sampler="auto"`` takes the first law that it could try.
    """

    estimator: Any
    sampler: str
    validation_fraction: float
    time_limit: float | None
    random_state: Any
    _answers_to: Callable
    _trial: Any = None

    # what the predictor is without an `estimator`
    _default: ClassVar[Any] = RandomForestClassifier

    response: str = "auto"
    smearing: float | str = "auto"
    keep_rows: float | str = "auto"
    n_neighbors: int = 20
    n_samples: int | None = None
    batch_size: int = 2**16
    categorical_features: Any = None
    feature_groups: Any = None
    n_folds: int = 0
    n_jobs: int | None = None

    # ------------------------------------------------------------------ what it is

    def _is_function(self) -> bool:
        return callable(self.estimator) and not hasattr(self.estimator, "predict")

    def _type(self) -> str | None:
        """Return "classifier", "regressor", or None for a predictor that does not say."""
        if self.estimator is None:
            return tags_of(self._default()).estimator_type
        if self._is_function():
            types = dict.fromkeys(("class", "label", "proba", "probabilities"), "classifier")
            return {**types, "value": "regressor"}.get(self.response)
        return tags_of(self.estimator).estimator_type

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()  # ty: ignore[missing-attribute]
        tags.estimator_type = self._type()
        if tags.estimator_type == "classifier":
            tags.classifier_tags = ClassifierTags()
        if tags.estimator_type == "regressor":
            tags.regressor_tags = RegressorTags()
        tags.target_tags.required = not self._is_fitted_before()
        known = vars(self).get("_takes_missing")
        if known is None:
            known = not self._is_function() and takes_missing(self.estimator)
        tags.input_tags.allow_nan = known
        return tags

    def _is_fitted_before(self) -> bool:
        return self._is_function() or comes_fitted(self.estimator)

    def _has_learned(self, X) -> bool:
        """Whether the model was fitted on rows as they were given, as far as can be told."""
        with unlimited():  # a few trees are asked, and what is said of the leaves needs it
            return learned_from(self.estimator_, X) not in ("no", "unknown")

    def _resolve_target(self) -> str:
        kind = self._type()
        name = self._name_of(self.estimator)
        if kind is None and self._is_function():
            raise ValueError(
                f"response='auto' does not tell what the function estimator={name} returns. Set "
                "response='class', 'probabilities' or 'value'."
            )
        if kind not in ("classifier", "regressor"):
            raise ValueError(
                f"estimator={name} is neither a classifier nor a regressor. Wrap its predictions "
                "in a function and set response='class', 'probabilities' or 'value'."
            )
        response = word_now(type(self).__name__, "response", self.response)
        if response == "auto":
            return "label" if kind == "classifier" else "value"
        if (response == "value") != (kind == "regressor"):
            allowed = "'class' or 'probabilities'" if kind == "classifier" else "'value'"
            raise ValueError(
                f"response={self.response!r} does not go with the {kind} estimator={name}. "
                f"Use {allowed}."
            )
        if (
            response == "probabilities"
            and self.estimator is not None
            and not self._is_function()
            and not hasattr(self.estimator, "predict_proba")
        ):
            raise ValueError(
                f"response='probabilities', but estimator={name} has no predict_proba. "
                "Use response='class'."
            )
        return "label" if response == "class" else response

    # ------------------------------------------------------------------ rows, answers and the law

    def _material(
        self, X, y, sample_weight, target, fold_of=None, answers=None, known=None
    ) -> Material:
        """Check the rows, fit or take the predictor, ask it, and choose the law.

        `answers` judge trees on folds; `known` are the predictor's own, which is not asked then.
        Sets ``estimator_``, ``classes_``, ``sampler_`` and what new rows are read and judged by:
        ``_table``, ``_predictor``, ``_may_miss``, ``_takes_missing`` and ``_law_arguments``.
        """
        rows, y = self._check_rows(X, y, target)
        weight = check_weights(sample_weight, rows.given)
        names = getattr(self, "feature_names_in_", None)
        columns = Coordinates.resolve(
            self.categorical_features, self.feature_groups, rows.given.shape[1], names
        )
        random = check_random_state(self.random_state)
        seeds = random.randint(np.iinfo(np.int32).max, size=4).tolist()
        # drawn apart, so that the others are what they were before there was a fifth
        law_seed = int(np.random.SeedSequence(seeds).generate_state(1)[0])
        # chosen before anything is learned here
        held_out = self._set_aside(y, weight, target, random)
        kept = ~held_out & (weight > 0)
        told = None if answers is None else _of_rows("answers", answers, weight)

        self.estimator_ = self._fit_estimator(
            rows.given, y, None if sample_weight is None else weight, ~held_out, random
        )
        X, table = self._read_rows(X, rows)
        predictor = self._make_predictor(table, target)
        answers = predictor.first_answers(X[kept], y, None if known is None else known[kept])
        # Only now are there answers to order levels by: splits of ordered codes part those alike.
        if table.coded.any():
            orders = level_orders(table, X[kept], answers, weight[kept])
            X, table = table.recoded(X, orders), table.reordered(orders)
            predictor = predictor.in_codes_of(table)
        self._table, self._predictor = table, predictor
        # A level that nobody knows counts as a gap, so columns with levels have some in any case.
        may_miss = predictor.asked.takes_gaps(X[kept], predictor.answers) | table.coded
        self._takes_missing = bool(may_miss.any())
        self._may_miss = may_miss if self._takes_missing else None
        # of the rows learned from: where none of them lacks a column, nothing is learned of gaps
        gaps = Gaps.of(X[kept])
        columns = _with_levels(columns, table)
        if predictor.classes is not None:
            self.classes_ = predictor.classes

        if told is None:
            told = self._out_of_bag(rows.given, ~held_out)
        told = answers if told is None else predictor.told(told[kept])
        fold_of = self._resolve_folds(fold_of, kept, told, law_seed)
        training = Bunch(
            X=X[kept], weight=weight[kept], answers=answers, told=told, fold=fold_of[kept]
        )
        trial = self._choose_law(training, columns, gaps, law_seed)
        self.sampler_ = trial.law
        made = trial.made or self._make_law(trial.options, training, columns, gaps, law_seed)
        law, base, self._law_arguments = made
        return Material(
            X=X,
            y=y,
            weight=weight,
            held_out=held_out,
            kept=kept,
            training=training,
            columns=columns,
            gaps=gaps,
            fold_of=fold_of,
            law=law,
            base=base,
            trial=trial,
            seeds=seeds,
        )

    def _check_rows(self, X, y, target) -> tuple[Rows, Any]:
        """Rows and, if there are any, their targets, checked."""
        return rows_and_targets(self, X, y, is_value=target == "value")

    def _name_of(self, estimator) -> str:
        if estimator is None:
            return type(self._default()).__name__
        name = getattr(estimator, "__name__", None)
        return type(estimator).__name__ if name is None else name

    def _read_rows(self, given, rows) -> tuple[np.ndarray, Table]:
        """Numbers for the training rows, and the table that makes them, once there is a model."""
        X = rows.numbers
        if X is None:
            X = rows.given
            known = None if self._is_function() else _known_table(self.estimator_, X.shape[1])
            table = Table.of_rows(X, known, unknown="missing")
            X = table.read(X)
        else:
            names = getattr(self, "feature_names_in_", None)
            # in their dtypes: the checked array is of float64
            table = Table.of_numbers(X.shape[1], names).like(given)
            table = replace(table, gaps=Gaps.of(X))
        with np.errstate(over="ignore"):
            if np.isinf(X.astype(np.float32)).any():
                raise ValueError(
                    "X contains a value too large for dtype('float32'), in which a decision tree "
                    "compares. Scale that column."
                )
        return np.ascontiguousarray(X), table.as_whole(given)

    def _set_aside(self, y, weight, target, random) -> np.ndarray:
        """Choose the rows that nothing is learned from; every class stays seen."""
        held_out = np.zeros(weight.size, dtype=bool)
        candidates = random.permutation(np.flatnonzero(weight > 0))
        n_held_out = int(self.validation_fraction * candidates.size)
        if y is not None and target != "value":
            first = np.unique(y[candidates], return_index=True)[1]
            # Of every class one row is learned from: else the tree could not name it.
            candidates = np.delete(candidates, first)
        held_out[candidates[:n_held_out]] = True
        return held_out

    def _fit_estimator(self, X, y, sample_weight, seen, random):
        if self._is_function():
            return self.estimator
        seen = np.flatnonzero(seen)
        return fit_or_unwrap(
            self.estimator,
            safe_indexing(X, seen),
            None if y is None else y[seen],
            None if sample_weight is None else sample_weight[seen],
            default=self._default(),
            random=None if self.random_state is None else random,
        )

    def _out_of_bag(self, rows, seen):
        """The out-of-bag answers of a forest that was fitted on just these rows; None of others."""
        if self._is_function():
            return None
        frozen = comes_fitted(self.estimator)
        seen = np.ones(seen.size, dtype=bool) if frozen else seen
        # Folds are made by these answers: they are needed however late it is.
        with unlimited():
            known = out_of_bag(self.estimator_, safe_indexing(rows, np.flatnonzero(seen)))
        if known is None:
            return None
        answers = np.zeros(seen.size, dtype=known[0].dtype)
        answers[seen] = known[0]
        return answers

    def _make_predictor(self, table, target) -> Predictor:
        model = self.estimator_
        # a model that was fitted elsewhere, on rows of numbers without names, is asked so
        knows_names = not comes_fitted(self.estimator) or hasattr(model, "feature_names_in_")
        if table.is_plain and not knows_names:
            table = replace(table, names=None)
        asked = Model(model, table).in_threads(self.n_jobs)
        return Predictor(asked, target, name=self._name_of(model), batch_size=self.batch_size)

    def _make_law(self, options, training, columns, gaps, seed, most_fitted=_MOST_BASE_ROWS):
        """The law of some options, the rows that it is made of, and what makes it anew.

        What makes it is kept by a fitted estimator, which draws from the law without keeping it.
        """
        most = np.inf
        if options["sampler"] in ("copula", "leaves"):
            # These laws are fitted to their rows, which takes time before any row is drawn.
            a_row = _LAW_SECONDS * training.X.shape[1]
            most = share_of_time(most_fitted, _LAW_SHARE, a_row)
        base = taken(training, some_rows(len(training.X), most, [seed, 5]))
        arguments = {
            **options,
            "X": gaps.fill(base.X) if gaps.seen.any() else base.X,
            "gaps": gaps if gaps.seen.any() else None,
            "weight": base.weight,
            "columns": columns,
            "n_neighbors": self.n_neighbors,
            "seed": seed,
        }
        return make_law(**arguments, n_jobs=self.n_jobs), base, arguments

    def _resolve_folds(self, fold_of, kept, answers, seed) -> np.ndarray:
        """The fold of every row given; -1 for none."""
        if fold_of is not None:
            fold_of = np.maximum(_check_folds(_of_rows("fold_of", fold_of, kept)), -1)
            of_kept = fold_of[kept]
            if (of_kept == of_kept[0]).all() and of_kept[0] >= 0:
                raise ValueError(
                    "fold_of puts all rows into one fold, which leaves none to grow a tree on. "
                    "Use at least two folds, or -1 for rows to grow on only."
                )
            return fold_of
        fold_of = np.full(kept.size, -1)
        n_folds = self.n_folds
        if self._trial is not None and self.sampler == "auto" and not n_folds and len(answers) > 1:
            n_folds = min(N_FOLDS, len(answers))
        if n_folds:
            if n_folds > len(answers):
                raise ValueError(
                    f"n_folds={n_folds}, but there are {len(answers)} rows to grow on. Use fewer "
                    "folds."
                )
            fold_of[kept] = draw_folds(answers, n_folds, np.random.default_rng([seed, 8]))
        return fold_of

    def _choose_law(self, training, columns, gaps, seed) -> Trial:
        """Try the laws that are asked for, if there are several and folds to judge them by."""
        laws = {self.sampler: {"sampler": self.sampler}}
        if self.sampler == "auto":
            laws = laws_to_try(self.smearing)
            if training.X.shape[1] > _WIDE:
                laws = {"copula": laws["copula"]}
            elif self._class_weight(training) is not None:
                # rows with rare answers can be too few to fill leaves of their own
                laws = {"copula": laws["copula"], **laws}

        given = {"smearing": self.smearing, "keep_rows": self.keep_rows}
        given = {name: value for name, value in given.items() if value != "auto"}
        usual = {"smearing": SMEARING, "keep_rows": KEEP_ROWS}
        options = {name: usual | law | given for name, law in laws.items()}
        is_alone = len(laws) == 1 or self.keep_rows == 1.0 or (training.fold < 0).all()
        if self._trial is None or is_alone:
            name = next(iter(laws))
            return Trial(name, options[name])
        places = some_rows(len(training.X), _MOST_BASE_ROWS, [seed, 9])
        rows = taken(training, places)
        calls = [
            partial(self._make_law, how, rows, columns, gaps, seed) for how in options.values()
        ]
        made = dict(zip(options, in_threads(self.n_jobs, calls), strict=True))
        sizes, learn = self._trial(training, seed)
        laws = {name: (law, base) for name, (law, base, _) in made.items()}
        name, agreements, answers = choose_law(
            laws, rows, self._predictor, len(sizes), learn, seed=seed, n_jobs=self.n_jobs
        )
        return Trial(
            law=name,
            options=options[name],
            made=made[name],
            laws=agreements,
            sizes=sizes,
            places=places,
            answers=answers,
        )

    def _n_classes(self, training) -> int:
        if self._predictor.target == "value":
            return 0
        return np.unique(training.answers.argmax(axis=1)).size

    def _class_weight(self, training) -> np.ndarray | None:
        """What a row of each class counts in the choice of a size: 1, unless a class is rare."""
        if self._predictor.target == "value":
            return None
        share = training.weight @ one_hot(training.answers) / training.weight.sum()
        present = share > 0.0
        if share[present].min() >= LEAST_SHARE / np.count_nonzero(present):
            return None
        # the predictor may give a class to new rows only
        return np.where(present, 1.0 / np.where(present, share, 1.0), 1.0 / share[present].max())

    def _new_rows(self, law, n, seed, class_weight=None):
        """Synthetic rows, the answers to them, and their weights."""
        X = law.with_gaps(law.manufacture(law.everywhere(), n, seed))
        truth = self._predictor.answers(X)
        weight = np.ones(len(X)) if class_weight is None else class_weight[truth.argmax(axis=1)]
        return X, truth, weight

    # ------------------------------------------------------------------ drawn rows

    def _draw(self, material, seed) -> Sample:
        """One sample of training and synthetic rows, with the predictor's answers."""
        n_samples = self._n_drawn(material.law)
        return self._sample_of(material.training, material.law, material.base, seed, n_samples)

    def _sample_of(self, training, law, base, seed, n_samples) -> Sample:
        places = some_rows(len(training.X), _MOST_ONE_SHOT, [self._law_arguments["seed"], 6])
        return Sample(law, self._predictor, taken(training, places), base, n_samples, seed)

    def _rows_without(self, material, seed, fold) -> Bunch:
        """Rows to learn from without a fold: the law, too, is made of the other rows alone.

        Rows of the law of all rows have single values of the fold's, and lie where its rows do:
        what was learned from them agreed too well with the fold.
        """
        others = taken(material.training, np.flatnonzero(material.training.fold != fold))
        others.fold = np.full(len(others.X), -1)  # no folds are left to keep apart
        law, base, _ = self._make_law(
            material.trial.options,
            others,
            material.columns,
            material.gaps,
            self._law_arguments["seed"],
            _MOST_WITHOUT,
        )
        n_folds = np.unique(material.training.fold[material.training.fold >= 0]).size
        n_samples = n_unseen(self._n_drawn(material.law), n_folds)
        most = most_learned(others.X.shape[1])
        if law.keep_rows > 0.0:  # beside training rows, no more than these stay of a wide table
            n_samples = min(n_samples, max(most // 2, most - len(others.X)))
        return self._sample_of(others, law, base, seed, n_samples).rows(most=most)

    def _n_drawn(self, law) -> int:
        """Synthetic rows of one sample."""
        if self.n_samples is not None:
            return self.n_samples
        n_rows, n_columns = law.X.shape
        return min(
            _ONE_SHOT * n_rows, _MOST_ONE_SHOT, max(_MOST_ENTRIES // n_columns, _LEAST_SAMPLE)
        )

    def _sampled(self, n_samples, random_state):
        """Rows of the law, as the rows of `fit` were."""
        check_is_fitted(self)
        if not isinstance(n_samples, Integral) or n_samples < 1:
            raise ValueError(
                f"n_samples={n_samples!r} is not a number of rows. Use a positive integer."
            )
        # made anew: a fitted estimator would be many times larger with it
        law = make_law(**self._law_arguments)
        seed = check_random_state(random_state).randint(np.iinfo(np.int32).max)
        X = law.with_gaps(law.manufacture(law.everywhere(), n_samples, int(seed)))
        return self._table.decode(X)

    def fidelity(self, X: ArrayLike, sample_weight: ArrayLike | None = None) -> float:
        """How well the answers agree with the predictor's.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows. Take rows that were not used in fitting, neither here nor of the predictor.
        sample_weight : array-like of shape (n_samples,) or None, default=None
            Non-negative weights of the rows.

        Returns
        -------
        fidelity : float
            Share of the rows to which both give the same label. For numbers, the part of the
            variance of the predictor's values that is explained.
        """
        rows = fitted_rows(self, X, dtype="float64")
        if sample_weight is not None:
            sample_weight = check_weights(sample_weight, rows)
        decisions, target = self._model_answers(X), self._predictor.target
        return agreement(decisions, self._answers_to(rows), target, sample_weight)

    def _model_answers(self, X) -> np.ndarray:
        """What the model itself answers to rows as they were given."""
        rows = fitted_rows(self, X, dtype="float64")
        # levels that the table does not know are the model's to judge
        as_given = self._table.coded.any() and hasattr(X, "columns")
        return self._predictor.decisions(rows, X if as_given else None)


def make_law(*, sampler, smearing, n_neighbors, seed, n_jobs=None, **common):
    """Make the law; `common` are the rows, their weights, columns and gaps, and `keep_rows`."""
    if sampler == "kernel":
        return KernelLaw(**common)
    if sampler == "leaves":
        return LeafLaw(**common, seed=seed, n_jobs=n_jobs)
    if sampler == "copula":
        return CopulaLaw(**common, smearing=smearing, seed=seed)
    if sampler == "neighbors":
        return Law(**common, smearing=smearing, n_neighbors=n_neighbors)
    return Law(**common, smearing=smearing)


def share_of_time(n, share, each) -> int:
    """So many, or as many as a share of the time left is enough for; a few in any case."""
    return int(min(n, max(share * time_left() / max(each, 1e-12), _LEAST_NEW)))


def taken(rows, places) -> Bunch:
    """Some of the rows."""
    return Bunch(**{name: values[places] for name, values in rows.items()})


def _of_rows(name, given, X) -> np.ndarray:
    """What is given for each row, as an array."""
    given = np.asarray(given)
    if given.ndim == 2 and given.shape[1] == 1:
        given = given[:, 0]
    if given.ndim < 1 or given.shape[0] != len(X):
        raise ValueError(f"{name} has shape {given.shape}. Give one for each of the {len(X)} rows.")
    return given


def _check_folds(fold_of) -> np.ndarray:
    if fold_of.ndim != 1 or fold_of.dtype.kind not in "iu":
        raise ValueError(
            f"fold_of has shape {fold_of.shape} and dtype {fold_of.dtype}. Give one integer for "
            "each row, -1 for a row of no fold."
        )
    return fold_of.astype(np.intp)


def _with_levels(columns, table) -> Coordinates:
    """What is known of the columns, with what a table says of their levels."""
    unordered = [
        levels is not None and table.natural_order(j) is None
        for j, levels in enumerate(table.levels)
    ]
    boolean = [str(column.whole).lower().startswith("bool") for column in table.columns]
    return replace(
        columns,
        discrete=table.coded | np.array(boolean, dtype=bool),
        unordered=np.array(unordered, dtype=bool),
    )


def _known_table(model, n_columns) -> Table | None:
    """The table that a model says it takes; None where it says nothing, or cannot be read."""
    try:
        table = family_of(model).table()
    except (TypeError, ValueError, ImportError):
        return None
    return table if len(table) == n_columns else None
