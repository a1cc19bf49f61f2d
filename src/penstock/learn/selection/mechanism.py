"""The ways in which a selection can choose, by name; `penstock.learn.selection.plan` tells how they differ.

They stand apart from the plan so that the command line can offer them without loading anything else.
"""

from typing import Literal

Mechanism = Literal["auto", "histogram", "one-shot", "exponential", "sparse-vector"]
