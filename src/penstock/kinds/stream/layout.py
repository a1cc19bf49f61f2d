"""What is public about a stream before anything is fed to it."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any, ClassVar

from pydantic import Field as Described
from pydantic import model_validator

from penstock.errors import SchemaError
from penstock.schema import Layout

MOST_IDS = 1 << 40
LARGEST_TOTAL = (1 << 31) - 2


class StreamLayout(Layout):
    """How many ids there may be, and how large the total of one of them gets at most.

    An update is an id and a whole number that is added to the id's total. At all times a total lies between 0
    and `most`: what was put in can be taken out again, and nothing else. Neither number follows from the
    stream; both are public knowledge or a generous guess. What an id with a larger total
    costs depends on the sketch: accuracy with most, and the guarantee with those that say so.

    >>> StreamLayout(ids=1_000_000, most=49).own_fields()[0]["constraints"]
    {'minimum': 0, 'maximum': 999999}
    """

    required: ClassVar[bool] = True
    missing: ClassVar[str] = (
        "stream: the schema does not say how many ids there may be. Add a line such as 'stream: {ids: "
        "1000000, "
        "most: 100}' with public bounds: so many ids, and so large a total of one of them."
    )

    ids: int = Described(description="how many ids there may be, those that never occur included")
    most: int = Described(1, description="the largest total of one id at any time")

    @model_validator(mode="after")
    def _possible(self) -> StreamLayout:
        if not 1 <= self.ids <= MOST_IDS:
            raise SchemaError(
                f"stream: ids is {self.ids}; give the public number of ids, from 1 to {MOST_IDS:,}."
            )
        if not 1 <= self.most <= LARGEST_TOTAL:
            raise SchemaError(
                f"stream: most is {self.most}; give the largest total of one id, from 1 to {LARGEST_TOTAL:,}."
            )
        return self

    @classmethod
    def _where(cls, data: object) -> str:
        return "stream"

    def own_fields(self) -> list[dict[str, Any]]:
        """Ids are numbered from 0 on, or hashed to numbers."""
        return [{"name": "id", "type": "integer", "constraints": {"minimum": 0, "maximum": self.ids - 1}}]

    def refuse_undeclared(self, key: str, names: Collection[str]) -> None:
        if set(names) != {"id"}:
            raise SchemaError(
                "fields: a stream declares no fields; its ids are described under 'stream'. Remove them."
            )
