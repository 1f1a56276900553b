"""What can be done with what is recommended, in lines of code."""

from __future__ import annotations


def next_steps(found):
    """Lines of code that work with what was recommended, in pairs with what each does.

    They run as they stand where the result is called ``outcome`` and the rows ``X``.
    """
    if found.best is None:
        return []
    steps = [("outcome.predict(X)", "what the tree answers")]
    if found.best_model.named_tree is not None:
        steps.append(
            ('outcome.export("sql")', 'the tree in SQL; also "python", "c", "json", "rules"')
        )
    return [
        *steps,
        ("outcome.differences(X)", "where the tree and the model answer differently"),
        ("outcome.refit(X)", "the same tree learned anew, from all rows that you have"),
        ('outcome.report("report.html")', "this report as a page, with the tree drawn"),
    ]
