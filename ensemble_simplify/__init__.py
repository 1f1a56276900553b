"""Turn fitted tree ensembles into something simpler, with a stated guarantee."""

from ensemble_simplify._representer import RepresenterTree

__version__ = "0.1.0.dev0"
__all__ = ["RepresenterTree"]
