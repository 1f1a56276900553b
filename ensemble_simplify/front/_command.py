"""The command line: what a model can become, as code, and whether two models are alike."""

from __future__ import annotations

import argparse
import sys
import tomllib
import traceback
from pathlib import Path
from typing import Any

from ensemble_simplify.base import warn
from ensemble_simplify.evidence import check
from ensemble_simplify.front._document import Asked, check_document
from ensemble_simplify.front._files import CannotRead, read_model, read_rows, write_answers
from ensemble_simplify.front._simplified import versions
from ensemble_simplify.front._simplify import simplify
from ensemble_simplify.proof import differences, verify
from ensemble_simplify.reading import Model, unwrap
from ensemble_simplify.writing import (
    DIALECTS,
    LANGUAGES,
    check_place,
    export_model,
    export_tree,
    write_text,
)

# What the command answers.
HOLDS, DOES_NOT_HOLD, CANNOT_TELL = range(3)


def main(arguments: list[str] | None = None) -> int:
    """Run ``python -m ensemble_simplify``, by default with the arguments of the command line.

    Returns 0 where all was done, and where what was asked holds; 1 where it does not hold; 2 after
    an error, and where it cannot be told.
    """
    arguments = list(sys.argv[1:] if arguments is None else arguments)
    parser = _parser()
    if not arguments or arguments[0] not in (*COMMANDS, "-h", "--help", "--version"):
        # without a command, as in version 0.2
        arguments.insert(0, "report")
    told = parser.parse_args(arguments)
    try:
        _check_places(told)
        return COMMANDS[told.command](told)
    except (CannotRead, OSError, ValueError, TypeError) as error:
        print(f"error: {error}", file=sys.stderr)
    except Exception:  # 1, with which Python ends, would say that something does not hold
        traceback.print_exc()
    return CANNOT_TELL


def _check_places(told):
    """Refuse, before any work, files that cannot be written."""
    for option in ("html", "save", "out"):
        if (path := getattr(told, option, None)) is not None:
            try:
                check_place(path)
            except OSError as error:
                raise CannotRead(
                    f"--{option} {path} cannot be written: {error.strerror}. Give a file in a "
                    "folder that is there and can be written to."
                ) from error


# ------------------------------------------------------------------- commands


def _report(told):
    found = _simplified(told)
    holds = _is_close(told, found)
    _print(found.report(told.html))
    if told.html:
        _print(f"\nThe report with the tree drawn is in {told.html}.")
    if told.save:
        found.save(told.save)
        _print(
            f"\nThe recommended tree is in {told.save}. Read it with SimplifiedModel.load, or give "
            "it to the other commands."
        )
    return HOLDS if holds else DOES_NOT_HOLD


def _document(told):
    if both := sorted({*told.rising} & {*told.falling}):
        raise CannotRead(f"--rising and --falling both name {both[0]!r}. Leave it out of one.")
    about: dict[str, Any] = {
        "purpose": told.purpose,
        "author": told.author,
        "protected": told.protected,
        "directions": dict.fromkeys(told.rising, "rising") | dict.fromkeys(told.falling, "falling"),
        "evidence": told.evidence,
    }
    if told.previous is not None:
        about["previous"] = read_model(told.previous, trust=told.trust)

    def check(model, X):
        if told.positive is not None:
            labels = {str(label): label for label in getattr(model, "classes_", ())}
            if told.positive not in labels:
                known = ", ".join(labels)
                raise CannotRead(f"--positive {told.positive} is no class. Give one of {known}.")
            about["positive"] = labels[told.positive]
        check_document(Asked(None, **about), X, told.out, told.sections, told.template)

    found = _simplified(told, check)
    found.document(told.out, sections=told.sections, template=told.template, **about)
    _print(f"The document is in {told.out}.")
    return HOLDS if _is_close(told, found) else DOES_NOT_HOLD


def _is_close(told, found):
    """Whether the recommended tree agrees with the model as often as is asked for."""
    least = told.min_agreement
    if least is None or found.verdict.agreement >= least:
        return True
    agreement = "R2" if not found.is_classifier else "agreement"
    own = "no tree" if found.best is None else f"{found.verdict.agreement:.4g}"
    print(
        f"The {agreement} of the recommended tree with the model is below --min-agreement {least}: "
        f"{own}.",
        file=sys.stderr,
    )
    return False


def _export(told):
    if told.as_is:
        text = _as_it_is(told)
    elif (text := _tree_as_text(told)) is None:
        return DOES_NOT_HOLD
    if told.out is None:
        _print(text, end="")
    else:
        write_text(told.out, text)
    return HOLDS


def _as_it_is(told):
    """The model in the file: an ensemble, or a tree."""
    model = read_model(told.model, trust=told.trust)
    if told.language == "rules":
        return _written(told, model)
    if told.decimals is not None:
        raise CannotRead("--decimals goes with --language rules alone. Leave it out.")
    rows = None if told.data is None else read_rows(told.data, [model], told.target)[0]
    return _ensemble(told, model, rows)


def _ensemble(told, model, rows=None):
    return export_model(
        model,
        told.language,
        output=_output(told),
        name=told.name,
        table=told.table,
        dialect=told.dialect,
        keys=told.keys or (),
        X=rows,
        form=told.form,
        precision=told.precision or "exact",
    )


def _output(told):
    return "probabilities" if told.probabilities else "label"


_NO_RULES = "a scorecard has no rules. Choose another --language, such as sql."


def _written(told, tree):
    """One tree, or scorecard, in the language."""
    if getattr(tree, "named_card", None) is not None:
        if told.language == "rules":
            raise CannotRead(_NO_RULES)
        return _ensemble(told, tree)
    for option in ("keys", "form", "precision"):
        if getattr(told, option):
            raise CannotRead(
                f"--{option} goes with --as-is and a language but rules. Leave it out."
            )
    return export_tree(
        tree,
        told.language,
        output=_output(told),
        name=told.name,
        table=told.table,
        dialect=told.dialect,
        decimals=told.decimals,
    )


def _tree_as_text(told):
    """The tree in the file, or the one that is recommended; None: it is not close enough."""
    if told.tree:
        tree = read_model(told.model, trust=told.trust)
    else:
        if told.data is None:
            raise CannotRead(
                f"export needs rows to make a tree of {told.model}. Add a table in CSV. Or add "
                "--as-is to write the model itself, or --tree if the file holds the tree."
            )
        if told.kinds == "scorecard" and told.language == "rules":
            raise CannotRead(_NO_RULES)
        found = _simplified(told)
        if found.best_model is None:
            raise CannotRead(f"no tree was found: {found.verdict.text}")
        print(f"Note: {found.verdict.text}", file=sys.stderr)
        if not _is_close(told, found):
            return None
        tree = found.best_model
    return _written(told, tree)


def _predict(told):
    model = read_model(told.model, trust=told.trust)
    X, _ = read_rows(told.data, [model], told.target)
    asked = Model(unwrap(model))
    if told.probabilities:
        if not asked.is_classifier or not hasattr(asked.estimator, "predict_proba"):
            raise CannotRead(
                f"{told.model} holds a {asked.name}, which has no probabilities. Leave "
                "--probabilities out."
            )
        labels = [f"{told.name}_{label}" for label in asked.estimator.classes_.tolist()]
        answers = dict(zip(labels, asked.ask(X, "predict_proba").T, strict=True))
    else:
        answers = {told.name: asked.ask(X)}
    _print(write_answers(told.out, answers), end="")
    return HOLDS


def _both_models(told):
    return [read_model(path, trust=told.trust) for path in (told.model, told.model_b)]


def _verify(told):
    models = _both_models(told)
    X = None if told.data is None else read_rows(told.data, models)[0]
    max_changes = told.max_changes
    if X is not None and max_changes is None:
        max_changes = 0
    outcome = verify(
        *models,
        X=X,
        max_changes=max_changes,
        atol=told.atol,
        rtol=told.rtol,
        time_limit=told.time_limit,
        max_boxes=told.max_boxes,
    )
    _print(repr(outcome))
    if told.save and outcome.equal is not None:
        # what is asked for and cannot be written ends as an error does
        outcome.save(told.save, time_limit=told.time_limit)
        _print(f"The evidence is in {told.save}: python -m ensemble_simplify check {told.save}")
    return {True: HOLDS, False: DOES_NOT_HOLD, None: CANNOT_TELL}[outcome.equal]


def _differences(told):
    models = _both_models(told)
    own, other = (getattr(model, "feature_names_in_", None) for model in models)
    if own is not None and other is not None and (odd := set(own) ^ set(other)):
        raise CannotRead(
            f"one of the models was fitted on the column {sorted(odd)[0]!r}, the other was not. "
            "Give two models of the same columns."
        )
    X = read_rows(told.data, models, told.target)[0]
    found = differences(
        *models, X, max_boxes=told.max_boxes, atol=told.atol, random_state=told.random_state
    )
    _print(repr(found))
    return HOLDS if found.n_differing <= told.max_share * found.n_rows else DOES_NOT_HOLD


def _check(told):
    outcome = check(told.evidence)
    words = {True: "Proven", False: "Not proven", None: "Cannot tell"}
    _print(f"{words[outcome.proven]}: {outcome.claim if outcome else outcome.reason}")
    return {True: HOLDS, False: DOES_NOT_HOLD, None: CANNOT_TELL}[outcome.proven]


def _simplified(told, check=None):
    """What `simplify` finds for a model and a table in files, once these are checked."""
    model = read_model(told.model, trust=told.trust)
    X, y = read_rows(told.data, [model], told.target)
    if y is not None and any(own != own or own is None for own in y.tolist()):
        raise CannotRead(
            f"the column {told.target!r} of {told.data} has empty entries. Fill them in."
        )
    more = None
    if told.more is not None:
        more = read_rows(told.more, [model], told.target, labelled=False)[0]
    if check is not None:
        check(model, X)
    methods = told.methods.split(",")
    return simplify(
        model,
        X,
        y,
        X_more=more,
        max_leaf_nodes=told.max_leaf_nodes,
        methods=methods[0] if len(methods) == 1 else methods,
        kinds=told.kinds.split(","),
        scoring=told.scoring,
        class_weight=told.class_weight,
        atol=told.atol,
        time_limit=told.time_limit,
        random_state=told.random_state,
        verbose=told.verbose,
    )


def _print(text, end="\n"):
    # a terminal that lacks a letter gets its code
    encoding = sys.stdout.encoding or "utf-8"
    print(text.encode(encoding, "backslashreplace").decode(encoding), end=end)


# ------------------------------------------------------------------- arguments

_EXIT_CODES = (
    "Exit codes: 0 done, or it holds; 1 it does not hold; 2 bad input, or it cannot be told."
)
_EXAMPLES = """examples:
  python -m ensemble_simplify report model.joblib data.csv --target y --html report.html
  python -m ensemble_simplify report model.joblib data.csv --save tree.json
  python -m ensemble_simplify document model.joblib data.csv --target y --out model.html
  python -m ensemble_simplify export model.joblib data.csv --language sql --table customers
  python -m ensemble_simplify export --tree tree.json --language c --out tree.c
  python -m ensemble_simplify export --as-is model.joblib --language sql --table customers --keys id
  python -m ensemble_simplify predict tree.json data.parquet --out answers.csv
  python -m ensemble_simplify verify old.joblib new.joblib --time-limit 60 --save evidence.json
  python -m ensemble_simplify check evidence.json
  python -m ensemble_simplify differences old.joblib new.joblib data.csv --max-share 0.01

Without a command, "report" is meant.
"""


def _parser() -> argparse.ArgumentParser:
    """What reads arguments, as command.toml describes them."""
    written = Path(__file__).with_name("command.toml").read_text(encoding="utf-8")
    told = tomllib.loads(written)
    groups = told["groups"]
    parser = argparse.ArgumentParser(
        prog="python -m ensemble_simplify",
        description="Make a fitted model small, write it as code, or compare two models.",
        epilog=f"{_EXAMPLES}{_EXIT_CODES}",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--version", action="version", version=versions())
    commands = parser.add_subparsers(dest="command", required=True, metavar="command")
    for name, command in told["commands"].items():
        description = command["description"]
        brief = description[0].lower() + description[1:].removesuffix(".")
        added = commands.add_parser(
            name,
            help=command.get("brief", brief),
            description=description,
            epilog=command.get("exit_codes", _EXIT_CODES),
        )
        _add(added, *(groups[group] for group in command["first"]), command["arguments"])
        _add(added, *(groups[group] for group in command["last"]))
        if "choice" in command:
            _add(added.add_mutually_exclusive_group(), command["choice"])
    return parser


def _add(parser, *groups):
    """Add arguments to a parser, or to a group of those of which one can be given."""
    for option, told in (each for group in groups for each in group.items()):
        told = {**told, "help": told["help"].replace("{table}", _TABLE)}
        for key, known in (("type", _TYPES), ("choices", _CHOICES)):
            if isinstance(name := told.get(key), str):
                told[key] = known[name]
        parser.add_argument(option, **told)


def _names(text):
    """Names that are separated by commas."""
    return text.split(",")


def _int_by_old_name(text):
    warn("--max-leaves is called --max-leaf-nodes since version 0.4. Write that.", FutureWarning)
    return int(text)


def _share(text):
    """A number from 0 to 1."""
    number = float(text)
    if not 0 <= number <= 1:
        raise argparse.ArgumentTypeError(f"{text} is not a number from 0 to 1")
    return number


def _tolerance(text):
    """A number, or the text of a share."""
    try:
        return float(text)
    except ValueError:
        return text


# What stands for names in command.toml.
_TABLE = "table: a file in CSV with a header, TSV (.tsv) or Parquet (.parquet)"
_TYPES = {
    "path": Path,
    "int": int,
    "int_by_old_name": _int_by_old_name,
    "float": float,
    "names": _names,
    "share": _share,
    "tolerance": _tolerance,
}
_CHOICES = {"languages": LANGUAGES, "dialects": list(DIALECTS)}

COMMANDS = {
    "report": _report,
    "export": _export,
    "document": _document,
    "predict": _predict,
    "verify": _verify,
    "differences": _differences,
    "check": _check,
}
