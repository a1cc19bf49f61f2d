"""What a release answers a question with."""

from __future__ import annotations

from dataclasses import dataclass
from html import escape
from typing import Any

from penstock.report.numbers import readable


@dataclass(frozen=True)
class Answer:
    """One number, with what it counts.

    `error` is the half-width of a 95 % interval for the noise that the release added, or None when
    the method does not know it. `text` says what the number counts.

    >>> print(Answer(1873.2, 42.0, "records"))
    1,873 ± 42 records
    """

    value: float
    error: float | None = None
    text: str = ""

    def __str__(self) -> str:
        number = readable(self.value)
        bar = "" if self.error is None else f" ± {readable(self.error)}"
        return f"{number}{bar} {self.text}".rstrip()

    def __float__(self) -> float:
        return float(self.value)

    def to_dict(self) -> dict[str, Any]:
        """The answer as plain JSON."""
        return {"value": self.value, "error": self.error, "text": self.text}

    def _repr_html_(self) -> str:
        bar = "" if self.error is None else f' <span style="opacity:.7">± {readable(self.error)}</span>'
        return f'<strong style="font-size:1.25em">{readable(self.value)}</strong>{bar} {escape(self.text)}'
