"""Lets the tests of this room import `goodness`, whichever way pytest finds test modules."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
