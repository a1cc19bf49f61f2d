"""Lets the tests import the studies as their scripts do."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "studies"))
