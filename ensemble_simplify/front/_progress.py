"""How far `simplify` has come: a bar where tqdm is installed, else a line for each result."""

from __future__ import annotations

import sys


class Progress:
    """Tell which method is tried and what came of it, if `verbose`; a context manager."""

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
        if self._bar is not None:
            self._bar.set_postfix_str("; ".join(lines))
            self._bar.update(1)
        elif self.verbose:
            for line in lines:
                print(f"[simplify] {line}", file=sys.stderr, flush=True)


def _bar(n_methods):
    """A bar on stderr or in the notebook; None without tqdm."""
    try:
        from tqdm.auto import tqdm
    except ImportError:
        return None
    return tqdm(total=n_methods, desc="simplify", unit="method")
