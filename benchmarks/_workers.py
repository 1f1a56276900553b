"""Seeds checked in processes of their own, so that a crash or a hang is reported with its seed."""

from __future__ import annotations

import multiprocessing
import resource
import traceback
import warnings
from concurrent.futures import ThreadPoolExecutor

# Seconds that one seed may need, and bytes of memory that a process may use.
PATIENCE, MEMORY = 120, 8 << 30


def run_seeds(check, seeds, chunk=500, jobs=1):
    """Yield (seed, what `check` answers, error) of each seed.

    `chunk` seeds in a row go to one process, and `jobs` processes work at a time. `check` is a
    function of a module, and of a seed. The error is None, a traceback or a sentence.
    """
    parts = [seeds[i : i + chunk] for i in range(0, len(seeds), chunk)]
    with ThreadPoolExecutor(jobs) as pool:
        for found in pool.map(lambda part: _checked(check, part), parts):
            yield from found


def _checked(check, seeds):
    found = []
    while len(found) < len(seeds):
        found += _in_a_process(check, seeds[len(found) :])
    return found


def _in_a_process(check, seeds):
    """What became of seeds, up to the first that ended the process."""
    context = multiprocessing.get_context("spawn")
    ours, theirs = context.Pipe(duplex=False)
    process = context.Process(target=_work, args=(check, seeds, theirs))
    process.start()
    theirs.close()
    found, error = [], None
    try:
        while len(found) < len(seeds) and error is None:
            if ours.poll(PATIENCE):
                found.append((seeds[len(found)], *ours.recv()))
            else:
                error = f"no answer within {PATIENCE} s"
                process.kill()
    except EOFError:
        process.join()
        error = f"crash, exit code {process.exitcode}"
    process.join()
    if error:
        found.append((seeds[len(found)], None, error))
    return found


def _work(check, seeds, pipe):
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    warnings.simplefilter("ignore", RuntimeWarning)
    for seed in seeds:
        try:
            pipe.send((check(seed), None))
        except Exception:
            pipe.send((None, traceback.format_exc(limit=-4)))
