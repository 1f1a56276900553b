"""The front door: one call that tries every method on a fitted model and compares them.

``_simplify`` keeps rows aside, shares out the time and chooses; ``_methods`` says how each method
is tried and what it promises; ``_tables`` makes numbers of tables of text; ``_result`` holds what
was found; ``_display`` draws it, ``_report`` and ``_rules`` write it as text and as a page;
``_command`` is ``python -m ensemble_simplify``.
"""

from ensemble_simplify.front._command import main
from ensemble_simplify.front._display import SimplificationDisplay
from ensemble_simplify.front._result import Simplification
from ensemble_simplify.front._simplify import simplify

__all__ = ["Simplification", "SimplificationDisplay", "main", "simplify"]
