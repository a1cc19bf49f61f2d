"""Lets tests import what they share as `tests.room.module`, whichever way pytest finds them."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
