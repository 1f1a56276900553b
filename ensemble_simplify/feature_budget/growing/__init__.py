"""Forests grown with prices: `_forest` is the estimator, `_grow` its kernel."""
