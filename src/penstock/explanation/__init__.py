"""What an epsilon means for data of this schema and size, before any record is read.

Everything comes from the schema, a declared number of records and formulas, or from made-up records that are
drawn from the schema and put through the method. No record is read, nothing is spent, and what is found may
be shown to anybody who may see the schema.
"""

from __future__ import annotations

from penstock.explanation.foreseen import Foreseen
from penstock.explanation.foresight import Explanation, explain

__all__ = ["Explanation", "Foreseen", "explain"]
