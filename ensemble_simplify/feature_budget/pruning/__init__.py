"""Prunings of an ensemble that cost less in features, exactly optimal on their path.

`_problem` states the problem in whole numbers (with the kernel `_closure_problem`), `_closure`
solves it by cuts, `_lp_forms` and `_dantzig_wolfe` by linear programs, `_budget_path` walks its
breakpoints, `_fill` finds prunings between them, `_choice` takes one.
"""
