"""Forests grown with prices: `_budget_forest` is the estimator, `_grow` its kernel."""
