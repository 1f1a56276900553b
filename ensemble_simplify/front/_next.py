"""What can be done with what is recommended, in lines of code."""

from __future__ import annotations


def next_steps(found):
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
            ('outcome.export("sql")', 'the scorecard in SQL; also "python", "c", "json"'),
        ]
    elif found.best_model.named_tree is not None:
        steps.append(
            ('outcome.export("sql")', 'the tree in SQL; also "python", "c", "json", "rules"')
        )
    drawn = "" if is_card else ", with the tree drawn"
    return [
        *steps,
        ("outcome.differences(X)", f"where the {noun} and the model answer differently"),
        ("outcome.refit(X)", f"learn the {noun} again, from all rows that you have now"),
        ('outcome.report("report.html")', f"this report as a page{drawn}"),
    ]
