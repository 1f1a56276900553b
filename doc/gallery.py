"""What the gallery does before each of its pages; named in conf.py."""

import multiprocessing


def spawn(gallery_conf, file):
    """Let a page start processes: the gallery's own way of doing so is no name to their Python."""
    multiprocessing.set_start_method("spawn", force=True)
