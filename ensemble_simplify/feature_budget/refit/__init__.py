"""Ensembles fitted anew on what a pruning keeps.

`_feature_sets` names sets of features, `_refit` grows on them and judges, `_contest` holds what was
grown and names the winner within a budget, `_writing` writes.
"""
