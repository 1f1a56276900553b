"""The front door: one call that tries every method on a fitted model and compares them.

`_simplify` is the call: `_inputs` checks what the user gives and says which rows are left out when,
`_methods` says how each method is tried and what it promises, `_trials` tries them and tells how
far the call has come, `_copies` fits copies of a model that has learned the rows, `_choice`
recommends a size and a tree by what `_judged` knows of the rows, and `_verdict` says how far it
follows the model, from records of `_statement`. `_table_tree` is scikit-learn's own tree on tables.
`_simplified` is one result, `_result` all of them. `_report` says what is told of them, also what
to do next, and writes it as text, `_page` as a page and for notebooks with the pictures of
`_drawing` and a form of `_try_row`; `_rules` tells a tree in words. `_display` draws sizes and
figures with Matplotlib; `_document` tells all of it, and what audits say, to those who sign, with
`_performance` on true answers and `_blocks` in the formats of files.
`_command` is ``python -m ensemble_simplify``, and `_files` reads its models and tables; `_served`
has what MLflow and skops take.
"""

from ensemble_simplify.front._command import main
from ensemble_simplify.front._display import SimplificationDisplay
from ensemble_simplify.front._result import Simplification
from ensemble_simplify.front._served import _load_pyfunc, save_mlflow, trusted_types
from ensemble_simplify.front._simplified import SimplifiedModel
from ensemble_simplify.front._simplify import simplify

__all__ = [
    "Simplification",
    "SimplificationDisplay",
    "SimplifiedModel",
    "_load_pyfunc",
    "main",
    "save_mlflow",
    "simplify",
    "trusted_types",
]
