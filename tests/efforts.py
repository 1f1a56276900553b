"""Searches with another effort than by default."""

from dataclasses import replace


def set_effort(patch, module, **changes):
    """Let the searches of a module do more or less, for one test."""
    patch.setattr(module, "EFFORT", replace(module.EFFORT, **changes))
