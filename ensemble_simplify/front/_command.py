"""The command line: what a model can become, as code, and whether two models are alike."""

from __future__ import annotations

import argparse
import sys
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from ensemble_simplify.evidence import check
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
        return COMMANDS[told.command].run(told)
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
    found = _simplified(told)
    ways = dict.fromkeys(told.rising, "rising") | dict.fromkeys(told.falling, "falling")
    previous = None if told.previous is None else read_model(told.previous, trust=told.trust)
    found.document(
        told.out,
        purpose=told.purpose,
        author=told.author,
        protected=told.protected,
        directions=ways,
        previous=previous,
        evidence=told.evidence,
        sections=told.sections,
        template=told.template,
    )
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


def _simplified(told):
    """What `simplify` finds for a model and a table in files."""
    model = read_model(told.model, trust=told.trust)
    X, y = read_rows(told.data, [model], told.target)
    if y is not None and any(own != own or own is None for own in y.tolist()):
        raise CannotRead(
            f"the column {told.target!r} of {told.data} has empty entries. Fill them in."
        )
    more = None
    if told.more is not None:
        more = read_rows(told.more, [model], told.target, labelled=False)[0]
    methods = told.methods.split(",")
    return simplify(
        model,
        X,
        y,
        X_more=more,
        max_leaves=told.max_leaves,
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
    parser = argparse.ArgumentParser(
        prog="python -m ensemble_simplify",
        description="Make a fitted model small, write it as code, or compare two models.",
        epilog=f"{_EXAMPLES}{_EXIT_CODES}",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--version", action="version", version=versions())
    commands = parser.add_subparsers(dest="command", required=True, metavar="command")
    for name, command in COMMANDS.items():
        added = commands.add_parser(
            name, help=command.help, description=command.description, epilog=command.epilog
        )
        for option, told in command.arguments:
            added.add_argument(option, **told)
        if command.choice:
            group = added.add_mutually_exclusive_group()
            for option, told in command.choice:
                group.add_argument(option, **told)
    return parser


def _argument(name, told, kind=None, **options):
    """What `add_argument` takes: a name, what the help says of it, its type, and other options."""
    return name, {"help": told, **({"type": kind} if kind else {}), **options}


def _flag(name, told):
    return _argument(name, told, action="store_true")


def _names(text):
    """Names that are separated by commas."""
    return text.split(",")


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


_TABLE = "table: a file in CSV with a header, TSV (.tsv) or Parquet (.parquet)"
_LIMIT = _argument("--time-limit", "seconds in all (default: none)", float)
_SEED = _argument("--random-state", "seed (default: 0)", int, default=0)
_MODEL = [
    _argument(
        "model",
        "file of a fitted model, written by joblib, pickle, skops (.skops), SimplifiedModel.save, "
        "export in JSON, ONNX (.onnx), LightGBM (.txt), XGBoost (.ubj, .json) or CatBoost (.cbm)",
        Path,
    ),
    _flag("--trust", "load a .skops file even if skops does not trust it"),
]
_TWO_MODELS = [*_MODEL, _argument("model_b", "the other model", Path)]
# What `simplify` takes.
_SIMPLIFY = [
    _argument("--target", "column that holds the true labels or values"),
    _argument("--more", "another table: rows to learn from, but not to measure on", Path),
    _argument(
        "--max-leaves", "the most leaves of the tree (default: 4, 8, 16 and 32 are compared)", int
    ),
    _argument(
        "--methods", '"auto", "all", or names separated by commas (default: auto)', default="auto"
    ),
    _argument(
        "--kinds",
        "what can be recommended: tree, scorecard, or tree,scorecard (default: tree)",
        default="tree",
    ),
    _argument("--scoring", "metric that decides which tree is best, such as balanced_accuracy"),
    _argument("--class-weight", "let all classes count alike, however rare", choices=["balanced"]),
    _argument(
        "--atol",
        "in regression, how far from the model's value a promise may be: a number, or a share of "
        "the standard deviation of the model's answers (default: 10%%)",
        _tolerance,
        default="10%",
    ),
    _argument(
        "--min-agreement",
        "exit with 1, and export nothing, if the tree's agreement with the model is below this "
        "number from 0 to 1 (in regression, its R2)",
        _share,
    ),
    _SEED,
    _flag("--verbose", "show progress"),
    _LIMIT,
]


class _Command(NamedTuple):
    """A command: what runs it, what the help says of it, and what it takes."""

    run: Callable[[argparse.Namespace], int]
    description: str
    arguments: list
    epilog: str = _EXIT_CODES
    choice: tuple = ()  # arguments of which one can be given
    brief: str = ""  # beside the name, where that is not the description

    @property
    def help(self):
        """What stands beside its name."""
        return self.brief or self.description[0].lower() + self.description[1:].removesuffix(".")


COMMANDS = {
    "report": _Command(
        _report,
        "Make small trees of a model, measure them, and recommend one.",
        [
            *_MODEL,
            _argument("data", _TABLE, Path),
            *_SIMPLIFY,
            _argument("--html", "file for the report as a page", Path),
            _argument(
                "--save",
                "file for the recommended tree. If its name ends in .json, it holds the tree "
                "alone, as text, otherwise the model, too",
                Path,
            ),
        ],
    ),
    "export": _Command(
        _export,
        "Write the recommended tree, or the model itself, as code. For a tree, standard error says "
        "how far it follows the model.",
        [
            *_MODEL,
            _argument(
                "data",
                f"{_TABLE}. Not used with --tree. With --as-is, needed only if the model does "
                "not know the types and levels of its columns",
                Path,
                nargs="?",
            ),
            _argument("--language", "(default: %(default)s)", choices=LANGUAGES, default="rules"),
            _argument("--out", "file to write (default: standard output)", Path),
            _flag("--probabilities", "write probabilities in place of labels"),
            _argument("--name", "name of the function, or of the column in SQL"),
            _argument("--table", "in SQL, the table to select from"),
            _argument(
                "--dialect",
                "in SQL, the database (default: what SQLite, DuckDB and PostgreSQL read alike)",
                choices=list(DIALECTS),
            ),
            _argument(
                "--keys",
                "with --as-is in SQL: columns to select beside the answer, separated by commas",
                _names,
            ),
            _argument(
                "--form",
                "with --as-is in C or SQL: write nodes as a table or as nested tests (default: "
                "tables in C, nested in SQL)",
                choices=["tables", "nested"],
            ),
            _argument(
                "--precision",
                "with --as-is in C or JSON: int16 rounds numbers to 16 bits, and says what that "
                "changes (default: exact)",
                choices=["exact", "int16"],
            ),
            _argument("--decimals", "in rules: digits after the decimal point", int),
            *_SIMPLIFY,
        ],
        choice=(
            _flag(
                "--as-is", "write the model itself, an ensemble or a tree, with exactly its answers"
            ),
            _flag("--tree", "the model file holds a tree: write this tree"),
        ),
        brief="write the recommended tree, or the model itself, as code",
    ),
    "document": _Command(
        _document,
        "Write one document on a model and its simpler form, to be filed and signed.",
        [
            *_MODEL,
            _argument("data", _TABLE, Path),
            _argument("--out", "file to write: .html, .md or .docx", Path, required=True),
            _argument("--purpose", "what the model is used for, and by whom", default=""),
            _argument("--author", "who prepared the document", default=""),
            _argument("--protected", "columns that must not change an answer", _names, default=()),
            _argument("--rising", "columns in which the answer must not fall", _names, default=()),
            _argument("--falling", "columns in which it must not rise", _names, default=()),
            _argument("--previous", "file of the model that this one replaces", Path),
            _argument("--evidence", "files of evidence to check and list", _names, default=()),
            _argument("--sections", "sections to write (default: all)", _names),
            _argument("--template", "a template of Jinja2 for .html or .md", Path),
            *_SIMPLIFY,
        ],
    ),
    "predict": _Command(
        _predict,
        "Answer the rows of a table, in their order.",
        [
            *_MODEL,
            _argument("data", _TABLE, Path),
            _argument("--target", "column to leave out, such as the true labels"),
            _argument(
                "--out",
                "file to write, in TSV or Parquet if its name ends in .tsv or .parquet, otherwise "
                "in CSV (default: standard output)",
                Path,
            ),
            _flag("--probabilities", "write a column of probabilities for each class"),
            _argument(
                "--name",
                "name of the column of answers; the class follows it for probabilities (default: "
                "%(default)s)",
                default="prediction",
            ),
        ],
    ),
    "verify": _Command(
        _verify,
        "Prove that two models answer alike, or find a row on which they do not.",
        [
            *_TWO_MODELS,
            _argument("--data", f"{_TABLE}: compare on these rows only", Path),
            _argument(
                "--max-changes",
                "with --data: compare at all points that differ from a row in at most this many "
                "columns (default: 0, only the rows)",
                int,
            ),
            _argument("--atol", "compare numbers or probabilities within this tolerance", float),
            _argument("--rtol", "the same, as a share of the number", float),
            _LIMIT,
            _argument(
                "--max-boxes",
                "the most boxes of the feature space to look at: a limit that, unlike "
                "--time-limit, is the same on every machine (default: none)",
                int,
            ),
            _argument(
                "--save",
                "file for evidence in JSON, which the command check reads: the models, and the "
                "proof or the row on which they differ. The exit code is 2 if there is no such "
                "evidence",
                Path,
            ),
        ],
        "Exit codes: 0 proven; 1 there is a row on which they differ; 2 bad input, or undecided "
        "when the time was up.",
    ),
    "differences": _Command(
        _differences,
        "Tell in a few rules on which rows of a table two models differ.",
        [
            *_TWO_MODELS,
            _argument("data", _TABLE, Path),
            _argument("--target", "column to leave out, such as the true labels"),
            _argument(
                "--max-boxes", "the most rules to print (default: %(default)s)", int, default=5
            ),
            _argument(
                "--max-share",
                "share of the rows, from 0 to 1, on which the models may differ (default: 0)",
                _share,
                default=0.0,
            ),
            _argument(
                "--atol",
                "in regression, values that are further apart than this differ: a number, or a "
                "share such as 10%% of the standard deviation of the first model's values "
                "(default: the mean distance)",
                _tolerance,
            ),
            _SEED,
        ],
        "Exit codes: 0 they differ on no more than --max-share of the rows; 1 on more; 2 bad "
        "input.",
    ),
    "check": _Command(
        _check,
        "Check a file of evidence, without the code that made it, and say what it proves.",
        [_argument("evidence", "file of evidence, .json or .json.gz", Path)],
        "Exit codes: 0 it proves its claim; 1 it does not; 2 the file cannot be read, or takes too "
        "long to check.",
        brief="check a file of evidence that verify or an audit saved",
    ),
}
