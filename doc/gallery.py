"""What the gallery does before each of its pages, and their order; named in conf.py."""

import multiprocessing


def spawn(gallery_conf, file):
    """Let a page start processes: the gallery's own way of doing so is no name to their Python."""
    multiprocessing.set_start_method("spawn", force=True)


class SimplifyFirst:
    """Sort key: the quickstart of `simplify` first, then by name."""

    def __init__(self, src_dir):
        pass

    def __call__(self, filename):
        """Key of a file."""
        return filename != "plot_simplify_quickstart.py", filename
