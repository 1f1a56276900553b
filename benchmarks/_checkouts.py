"""Programs of measurement run in a process of their own, on this checkout or on another."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

from benchmarks._record import ROOT

SCRIPT = """
import sys
sys.path[:0] = [{checkout!r}]
import ensemble_simplify
assert ensemble_simplify.__file__.startswith({checkout!r}), ensemble_simplify.__file__
sys.path.insert(0, {root!r})
from importlib.util import module_from_spec, spec_from_file_location
spec = spec_from_file_location("calls", {program!r})
calls = module_from_spec(spec)
sys.modules["calls"] = calls
spec.loader.exec_module(calls)
calls.work({name!r})
"""


def measured(program, name, checkout, patience=None):
    """What ``work(name)`` of a program prints last, read as JSON.

    Parameters
    ----------
    program : str
        Path of the program, which is this checkout's; it must import nothing of ours but the
        package itself, and `benchmarks`.
    name : str
    checkout : Path
        Whose package is imported; its kernels must be built.
    patience : float or None
        Seconds by the clock after which the process is ended.

    Returns
    -------
    object or None
        None if it failed; the reason goes to the terminal. `TimeoutError` (the class) if it was
        ended.
    """
    script = SCRIPT.format(checkout=str(checkout), root=str(ROOT), program=program, name=name)
    try:
        run = subprocess.run(
            [sys.executable, "-P", "-c", script],
            capture_output=True,
            text=True,
            check=False,
            env={**os.environ, "OMP_NUM_THREADS": "1"},
            cwd=Path(checkout),
            timeout=patience,
        )
    except subprocess.TimeoutExpired:
        return TimeoutError
    if run.returncode:
        print(f"{name} failed in {checkout}:\n{run.stderr[-400:]}", file=sys.stderr)
        return None
    return json.loads(run.stdout.splitlines()[-1])
