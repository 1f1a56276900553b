"""What the report of a simplification says, and the report as text."""

from __future__ import annotations

import re
import textwrap

import numpy as np
from sklearn.pipeline import Pipeline

from ensemble_simplify.front._rules import WIDTH, size_in_words, tree_lines, what_leaves_say
from ensemble_simplify.front._statement import figure, interval
from ensemble_simplify.reading import unwrap
from ensemble_simplify.writing import aligned, one_line, percent

# Classes up to which the agreement is shown for each, and letters of their labels that are shown.
_MOST_CLASSES, _MOST_LETTERS = 4, 16
# Accuracy and balanced accuracy are both shown where they differ by as much.
_UNEVEN = 0.1


# ------------------------------------------------------------------- what is said


def title_of(found) -> str:
    """What the report is about, for those who see it for the first time."""
    if found.best is None:
        return f"{model_name(found)}: nothing small was found"
    what = "scorecard" if best_is_card(found) else "decision tree"
    return f"{model_name(found)} as one small {what}"


def model_name(found) -> str:
    """The kind of the model; of a pipeline, that of its last step."""
    model = unwrap(found.model)
    return type(model[-1] if isinstance(model, Pipeline) else model).__name__


def best_row(found):
    """The row of what is recommended; None if there is none."""
    return next((row for row in found.table if row.name == found.best), None)


def noun_of(found) -> str:
    """What is recommended, in a word."""
    return "scorecard" if best_is_card(found) else "tree"


def heading_of_differences(found) -> str:
    """What stands above the rules that say where the two differ."""
    return f"Where the {noun_of(found)} and the model differ"


def best_is_card(found) -> bool:
    """Whether a scorecard is recommended."""
    row = best_row(found)
    return row is not None and row.is_card


def heading_of_tree(found) -> str:
    """What stands above the tree or card: none is recommended that does not follow the model."""
    row = best_row(found)
    what = "The closest" if found.verdict.level == "none" else "The recommended"
    if best_is_card(found):
        return f"{what} scorecard ({size_of_row(row)})"
    return f"{what} tree ({row.name}, {size_of_row(row)})"


def size_of_row(row) -> str:
    """Leaves of all trees, or bins, in words."""
    is_card = row.is_card
    return size_in_words(row.bins if is_card else row.leaves, is_card)


def how_judged(found) -> str:
    """Where the figures come from."""
    learners = "results" if any(row.is_card for row in found.table) else "trees"
    judged = f"{found.n_judged:,} rows that the {learners} did not learn from"
    if found.n_folds > 1:
        judged = (
            f"{found.n_judged:,} rows in {found.n_folds} parts, each part with {learners} that "
            "learned from the other parts"
        )
    return f"Measured on {judged}. In all, there were {found.n_rows:,} rows to learn from."


def time_taken(found) -> str:
    """How long all of it took, which is another time in each run."""
    return f"It took {found.seconds:,.0f} s."


def stability_told(found, stability) -> str:
    """How far results of other rows agree, see `Simplification.stability`."""
    by_class = found.is_classifier
    ends = stability.mean, stability.low, stability.high
    own, low, high = (figure(value, by_class) for value in ends)
    own = (
        f"give the same answer on {own} of the rows"
        if by_class
        else f"have an R² between them of {own}"
    )
    # two results are one pair, which has no range
    ends = f" (at least {low}, at most {high})" if stability.n_fits > 2 else ""
    return (
        f"Stability: the method was fitted {stability.n_fits} times, to rows drawn with "
        f"replacement from these. Two such {noun_of(found)}s {own} on average{ends}."
    )


def what_columns_say(found) -> str:
    """The words of the table explained."""
    said = "Agreement is the share of rows on which a result gives the model's answer"
    constant, truth = "the model's most frequent answer", "labels"
    if not found.is_classifier:
        said = (
            "Agreement is the R² (coefficient of determination) of a result on the model's answers"
        )
        constant, truth = "the model's mean answer", "values"
    said += f", with its 95 % interval. majority always gives {constant}. "
    said += "plain_tree is scikit-learn's own tree, fitted on the model's answers"
    names = [row.name for row in found.table if row.is_measured]
    if "plain_tree_on_y" in names:
        said += f", and plain_tree_on_y one that was fitted on the true {truth}"
    return f"{said}."


def ends_of(row, by_class) -> str:
    """The interval of an agreement in a table."""
    return interval(row.agreement_low, row.agreement_high, by_class)


def columns_of_methods(found) -> list[tuple]:
    """Headings of the table of methods, what is written below each, and whether it can go."""
    by_class, rows = found.is_classifier, [row for row in found.table if row.is_measured]
    columns = [("leaves", lambda row: _count(row.leaves), False)]
    if any(row.bins for row in rows):
        columns.append(("bins", lambda row: _count(row.bins), False))
    if any((row.trees or 1) > 1 for row in rows):
        columns.append(("trees", lambda row: _count(row.trees), False))
    if any(np.isfinite(row.accuracy) for row in rows):
        head = "accuracy" if by_class else "R² of y"
        columns.append((head, lambda row: figure(row.accuracy, by_class), False))
        if any(abs(row.balanced_accuracy - row.accuracy) > _UNEVEN for row in rows):
            columns.append(
                ("balanced accuracy", lambda row: figure(row.balanced_accuracy, True), True)
            )
    head = "agreement" if by_class else "agreement (R²)"
    columns += [
        (head, lambda row: _unless_model(row, figure(row.agreement, by_class)), False),
        ("interval", lambda row: _unless_model(row, ends_of(row, by_class)), True),
    ]
    if any(_classes(row) for row in rows):
        columns.append(("agreement by class", _classes, True))
    columns.append(("seconds", _seconds, True))
    return columns


def _count(number):
    return "" if number is None else f"{number:,}"


def _unless_model(row, text):
    return "" if row.name == "model" else text


def _seconds(row):
    return "" if row.name in ("model", "majority") else f"{row.seconds:.1f}"


def _classes(row):
    if row.name == "model" or not 1 < len(row.class_agreement) <= _MOST_CLASSES:
        return ""
    return ", ".join(
        f"{textwrap.shorten(one_line(label), _MOST_LETTERS, placeholder='…') or '…'}: "
        f"{percent(part, brief=True)}"
        for label, part in row.class_agreement.items()
    )


def columns_of_curve(found) -> list[tuple]:
    """Headings of the table of sizes, and what is written below each."""
    by_class, points = found.is_classifier, found.curve
    columns = [
        ("leaves", lambda point: f"{point.leaves:,}"),
        ("agreement", lambda point: figure(point.agreement, by_class)),
        ("interval", lambda point: ends_of(point, by_class)),
    ]
    if any(np.isfinite(point.plain_agreement) for point in points):
        columns.append(("plain tree", lambda point: figure(point.plain_agreement, by_class)))
    if any(np.isfinite(point.accuracy) for point in points):
        head = "accuracy" if by_class else "R² of y"
        columns.append((head, lambda point: figure(point.accuracy, by_class)))
    return columns


def differences_told(found):
    """Where the recommended tree and the model differ, on the rows that judge; None: nowhere."""
    told = found._differences
    return told if told is not None and told.n_differing else None


WHAT_VOLUME_IS = "Volumes are shares of the range of these rows, each column taken evenly."
COLUMNS_OF_DIFFERENCES = ("rule", "rows", "volume", "they differ on", "the model says")


def promises(found) -> list[tuple[str, str]]:
    """Names of the rows that promise more than what was measured, and the promises."""
    return [(row.name, row.promise) for row in found.table if row.is_measured and row.promise]


def remarks(found) -> list[tuple[str, str]]:
    """Names of rows and what should be known of them: warnings, and why there is no result."""
    return [
        (row.name, in_terms_of_simplify(row.note))
        for row in found.table
        if row.note and row.name not in found.not_tried
    ]


def not_tried(found) -> str:
    """One sentence on the methods that were not tried, those with the same reason together."""
    names = {}
    for name, reason in found.not_tried.items():
        names.setdefault(in_terms_of_simplify(reason), []).append(name)
    groups = [f"{', '.join(group)} ({reason.rstrip('.')})" for reason, group in names.items()]
    return f"Not tried: {'; '.join(groups)}." if groups else ""


def limits_reached(found) -> str:
    """Sentences on what the limit of time of `simplify` ended, and what more would give."""
    ended = [row for row in found.table if "time_limit" in row.note]
    lacking = [row.name for row in ended if not row.is_measured]
    lacking += [name for name, why in found.not_tried.items() if "time_limit" in why]
    known = (
        ([row.name for row in ended if row.is_measured], "more seconds may better what {} found"),
        (lacking, "more seconds may lead to a result of {}"),
    )
    told = [what.format(", ".join(dict.fromkeys(names))) for names, what in known if names]
    if not told:
        return ""
    return f"time_limit={found._task.time_limit:g} of simplify was reached: {'; '.join(told)}."


def in_terms_of_simplify(text) -> str:
    """A message of a method, in which the advice is what the caller of `simplify` can do.

    The estimators' own parameters are none of `simplify`. It has a limit of time, of which each
    method gets a share.
    """
    if found := _OUT_OF_TIME.match(text):
        return f"stopped after {found[1]} s, its share of the time limit. {_MORE_TIME}"
    said = []
    sentences = text.replace(". ", ".\n").split("\n")
    for i, sentence in enumerate(sentences):
        # from the first advice on: it names parameters that the caller of simplify does not have
        if i > 0 and sentence.startswith(_ADVICE):
            break
        said.append(sentence)
    kept = " ".join(said)
    if len(said) < len(sentences) and "time_limit" in text:
        kept += f" {_MORE_TIME}"
    return kept


_OUT_OF_TIME = re.compile(r"time_limit=([\d.e+-]+) ")
_MORE_TIME = "Give simplify more time_limit."
_ADVICE = (
    "Allow ",
    "Raise ",
    "Lower ",
    "Use ",
    "Set ",
    "Give ",
    "Pass ",
    "Make ",
    "Choose ",
    "Increase ",
)


def next_steps(found) -> list[tuple[str, str]]:
    """Lines of code that work with what was recommended, in pairs with what each does.

    They run as they stand where the result is called ``outcome`` and the rows ``X``.
    """
    if found.best is None:
        return []
    is_card = found.best_model.named_card is not None
    noun = "scorecard" if is_card else "tree"
    steps = [("outcome.predict(X)", f"what the {noun} answers")]
    if is_card:
        steps += [
            ("outcome.best_model.reasons(X)", "why rows have their answers, in words"),
            (
                'outcome.export("sql")',
                'the scorecard in SQL; also "python", "c", "javascript", "json"',
            ),
        ]
    elif found.best_model.named_tree is not None:
        steps.append(
            ('outcome.export("sql")', 'the tree in SQL; also "python", "c", "javascript", "rules"')
        )
    drawn = "" if is_card else ", with the tree drawn"
    return [
        *steps,
        ("outcome.differences(X)", f"where the {noun} and the model answer differently"),
        ("outcome.refit(X)", f"learn the {noun} again, from all rows that you have now"),
        ('outcome.report("report.html")', f"this report as a page{drawn}"),
    ]


# ------------------------------------------------------------------- text


def as_text(found) -> str:
    """The report as text, in lines of at most a hundred letters."""
    title = title_of(found)
    out = [title, "=" * len(title), ""]
    out += _paragraph(f"Verdict: {found.verdict.text}")
    if found.best is not None:
        out += _paragraph(found.reason)
    for note in found.notes[:2]:
        out += _paragraph(f"Note: {in_terms_of_simplify(note)}")
    if best_row(found) is not None:
        tree, card = found.best_model.named_tree, found.best_model.named_card
        if card is not None:
            out += ["", f"{heading_of_tree(found)}:", "", *card.text(with_title=False).splitlines()]
        elif tree is not None:
            out += ["", f"{heading_of_tree(found)}:", "", *tree_lines(tree), ""]
            out += _paragraph(what_leaves_say(tree))
        if found._stability is not None:
            out += _paragraph(stability_told(found, found._stability))
        if (told := differences_told(found)) is not None:
            out += ["", f"{heading_of_differences(found)}:"]
            out += ["", *_paragraph(told.summary("The two"))]
            for rule in told:
                out += _paragraph(rule.in_words("the model", f"the {noun_of(found)}"), "  ")
            if told.rules:
                out += _paragraph(WHAT_VOLUME_IS)
    if len(found.curve) > 1:
        heads = columns_of_curve(found)
        cells = [["  ", *(head for head, _ in heads)]]
        for point in found.curve:
            mark = "* " if point.is_best else "  "
            cells.append([mark, *(write(point) for _, write in heads)])
        out += ["", "Trees of several sizes (* recommended):", "", *aligned(cells)]
    out += ["", "All methods (* recommended):", "", *_methods(found), ""]
    out += _paragraph(f"{how_judged(found)} {time_taken(found)} {what_columns_say(found)}")
    for heading, told in (("Promised:", promises(found)), ("Remarks:", remarks(found))):
        if told:
            out += ["", heading]
            for name, text in told:
                out += _paragraph(f"{name}: {_sentence(text)}", "  ")
    if told := not_tried(found):
        out += ["", *_paragraph(told)]
    if steps := next_steps(found):
        width = max(len(code) for code, _ in steps)
        out += ["", "Next:", *(f"  {code.ljust(width)}  # {what}" for code, what in steps)]
    return "\n".join(out)


def _sentence(text):
    return text if text.endswith(".") else f"{text}."


def _paragraph(text, indent=""):
    # a number stays with its per cent
    lines = textwrap.wrap(
        text.replace(" %", "\xa0%"),
        WIDTH,
        initial_indent=indent,
        subsequent_indent=indent + "  " if indent else "",
        break_on_hyphens=False,
    )
    return [line.replace("\xa0", " ") for line in lines]


def _methods(found):
    """The table of methods, without the columns for which there is no room."""
    heads = columns_of_methods(found)
    while True:
        cells = [["", *(head for head, _, _ in heads)]]
        for row in found.table:
            if row.is_measured:
                mark = "* " if row.name == found.best else "  "
                cells.append([mark + row.name, *(write(row) for _, write, _ in heads)])
        told = aligned(cells, {i + 1 for i, (head, _, _) in enumerate(heads) if " by " in head})
        extra = [i for i, (_, _, can_go) in enumerate(heads) if can_go]
        if max(map(len, told)) <= WIDTH or not extra:
            return told
        # what takes most room goes first
        longest = max(extra, key=lambda i: max(len(line[i + 1]) for line in cells))
        heads = heads[:longest] + heads[longest + 1 :]
