"""The public bins of the times of events.

They are those of the declared time, and for what passes between two events the steps 1, 2, 5, 10, 20, ... of
its unit (days or seconds) up to the length of the declared range.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from penstock.kinds.sequences.layout import SequenceLayout
from penstock.schema import Codec, Edges, Schema


@dataclass(frozen=True)
class Clock:
    """The public bins of times: of the first event of a sequence, and of what passes before a later one.

    >>> Clock.steps(300)
    (0, 1, 2, 5, 10, 20, 50, 100, 200, 300)
    """

    codec: Codec

    @classmethod
    def of(cls, schema: Schema) -> Clock | None:
        """The clock of a schema that declares the domain of its times as a field; None for any other."""
        name = SequenceLayout.of(schema).time
        if name is None or name not in schema.names:
            return None
        field = schema.field(name)
        return cls(schema.codec(name)) if field.ranged and field.whole else None

    @staticmethod
    def steps(longest: int) -> tuple[int, ...]:
        """Zero and the round numbers below a length, and the length itself."""
        round_numbers = [digit * 10**power for power in range(len(str(longest))) for digit in (1, 2, 5)]
        return (0, *(step for step in round_numbers if step < longest), max(1, longest))

    @property
    def starts(self) -> Edges:
        return self.codec.field.edges

    @cached_property
    def gaps(self) -> Edges:
        return Edges(self.steps(int(self.starts.high - self.starts.low)), whole=True)
