"""Shared by all tests: ``from strategies import ...`` and the hypothesis profile."""

import signal
import sys
from pathlib import Path

from hypothesis import HealthCheck, settings

sys.path.insert(0, str(Path(__file__).parent))

# Started in the background (nohup, `&`), Python ignores Ctrl-C, which some tests send.
signal.signal(signal.SIGINT, signal.default_int_handler)

settings.register_profile(
    "ensemble_simplify",
    deadline=None,
    max_examples=30,
    derandomize=True,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
settings.load_profile("ensemble_simplify")

# Jobs in the background of a shell ignore Ctrl-C; some tests send it.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)
