"""The front door: one call that tries every method on a fitted model and compares them.

`_simplify` keeps rows aside and shares out the time; `_inputs` reads what the user gives, and
`_tables` makes numbers of tables of text. `_methods` says how each method is tried and what it
promises, `_scores` measures and recommends, and `_progress` tells how far it has come. `_result`
holds what was found, and `_old_report` writes it. For the result that is to come, `_report` says
what is told of it and writes it as text, `_page` as a page and for notebooks with the pictures of
`_drawing`; `_rules` tells its tree in words and `_next` what to do with it. `_display` draws sizes
and figures with Matplotlib; `_command` is ``python -m ensemble_simplify``.
"""

from ensemble_simplify.front._command import main
from ensemble_simplify.front._display import SimplificationDisplay
from ensemble_simplify.front._result import Simplification
from ensemble_simplify.front._simplify import simplify

__all__ = ["Simplification", "SimplificationDisplay", "main", "simplify"]
