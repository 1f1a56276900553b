"""Let test files import the helpers beside them (``from oracles import ...``)."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
