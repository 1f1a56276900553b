"""Ensembles fitted anew on what a pruning keeps.

`_feature_sets` names sets of features, `_refit` grows on them, judges, and names the winner within
a budget, `_writing` writes.
"""
