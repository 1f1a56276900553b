"""Ensembles fitted anew on what a pruning keeps.

`_refit` names sets of features, grows on them, judges, and names the winner within a budget.
"""
