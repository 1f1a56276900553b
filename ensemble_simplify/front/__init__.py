"""The front door: one call that tries every method on a fitted model and compares them.

`_simplify` keeps rows aside and shares out the time; `_inputs` reads what the user gives, and
`_tables` makes numbers of tables of text. `_methods` says how each method is tried and what it
promises, `_scores` measures and recommends, and `_progress` tells how far it has come. `_judged`
measures what results say on rows, `_choice` chooses by it, and `_verdict` says what the choice is
worth. `_result` holds
what was found; `_display` draws it, `_report`, `_rules` and `_next` write it as text and as a
page; `_command` is ``python -m ensemble_simplify``.
"""

from ensemble_simplify.front._command import main
from ensemble_simplify.front._display import SimplificationDisplay
from ensemble_simplify.front._result import Simplification
from ensemble_simplify.front._simplify import simplify

__all__ = ["Simplification", "SimplificationDisplay", "main", "simplify"]
