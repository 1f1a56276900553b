"""Turn fitted tree ensembles into something simpler, with a stated guarantee."""

__version__ = "0.1.0.dev0"
