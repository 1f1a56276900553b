"""Prunings of an ensemble that cost less in features, exactly optimal on their path.

`_problem` states the problem in whole numbers (with the kernel `_closure_problem`), `_closure`
solves it by cuts, `_programs` by linear programs, `_budget_path` walks its breakpoints, `_choice`
takes one, or finds one between them.
"""
