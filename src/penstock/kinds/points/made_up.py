"""Points that nobody has: as all made-up rows are drawn."""

from penstock.schema.made_up import made_up_rows as made_up_rows
