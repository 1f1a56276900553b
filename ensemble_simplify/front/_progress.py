"""How far `simplify` has come: a line on stderr for each result, or a bar on a terminal."""

from __future__ import annotations

import sys


class Progress:
    """Tell which method is tried and what came of it, if `verbose`; a context manager.

    The bar needs tqdm and a terminal. Notebooks get lines: they show stderr, and a bar of widgets
    needs packages that many do not have.
    """

    def __init__(self, verbose, n_methods):
        self.verbose = bool(verbose)
        self._bar = _bar(n_methods) if self.verbose else None

    def __enter__(self):
        return self

    def __exit__(self, *error):
        if self._bar is not None:
            self._bar.close()

    def begin(self, title):
        """A method is tried now."""
        if self._bar is not None:
            self._bar.set_description(title)

    def end(self, lines):
        """A method has ended, with these lines about its results."""
        if not self.verbose:
            return
        for line in lines:
            text = f"[simplify] {line}"
            if self._bar is not None:
                self._bar.write(text, file=sys.stderr)  # above the bar
            else:
                print(text, file=sys.stderr, flush=True)
        if self._bar is not None:
            self._bar.update(1)


def _bar(n_methods):
    """A bar on a terminal; None where there is none, or no tqdm."""
    if not sys.stderr.isatty():
        return None
    try:
        from tqdm import tqdm
    except ImportError:
        return None
    return tqdm(total=n_methods, desc="simplify", unit="method", leave=False, file=sys.stderr)
