"""Ensembles fitted anew on what a pruning keeps: `_refit` chooses, `_writing` writes."""
