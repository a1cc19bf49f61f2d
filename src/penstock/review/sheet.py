"""A schema file under review: opened, changed by actions, and written whole with all its comments.

Both faces of the review, the page and the terminal, hold one `Sheet` and do nothing but show it and hand
it words. An action that would leave a schema that makes no sense is refused and changes nothing; a file
that somebody else has changed meanwhile is never overwritten.
"""

from __future__ import annotations

from pathlib import Path

from penstock.errors import SchemaError, UsageError
from penstock.releases.custodian import custodians_file
from penstock.releases.disk import reason
from penstock.review.actions import ACTIONS, UNIT, Page
from penstock.schema import Schema, document
from penstock.schema.fact import nearest

UNDO = "undo"


class ChangedMeanwhileError(UsageError):
    """The file is no longer what was read; it has been read again."""


class Sheet:
    """One schema file that is being reviewed.

    >>> import tempfile
    >>> from pathlib import Path
    >>> file = Path(tempfile.mkdtemp()) / "people.schema.yaml"
    >>> _ = file.write_text('''fields:
    ...   # read off the data: its bounds
    ...   - name: age
    ...     type: integer
    ...     constraints: {minimum: 0, maximum: 70}
    ...     review: true
    ... ''')
    >>> sheet = Sheet(file)
    >>> sheet.do("round", "age"), sheet.do("confirm", "age"), sheet.left
    (None, None, [])
    >>> print(file.read_text())
    fields:
      # read off the data: its bounds
      - name: age
        type: integer
        constraints: {minimum: 0, maximum: 100}
        review: false
    <BLANKLINE>
    """

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path)
        self._earlier: list[str] = []
        self._take(document.contents(self.path))

    def _take(self, text: str) -> None:
        self.page = self._understood(text)

    def _understood(self, text: str) -> Page:
        schema = Schema.model_validate(document.read(self.path, text))
        return Page(text, document.as_typed(text, str(self.path)), schema)

    @property
    def schema(self) -> Schema:
        return self.page.schema

    @property
    def left(self) -> list[str]:
        """What still waits: fields by name, and 'unit'."""
        return self.schema.to_review()

    @property
    def total(self) -> int:
        """All that can be reviewed: the fields and the unit."""
        return len(self.schema.fields) + 1

    @property
    def can_undo(self) -> bool:
        return bool(self._earlier)

    def do(self, name: str, *words: str) -> None:
        """Carry out one action and keep what it changed; SchemaError or UsageError where it cannot be."""
        if name == UNDO:
            if not self._earlier:
                raise UsageError("There is nothing to take back.")
            self.write(self._earlier[-1])
            del self._earlier[-2:]  # what was taken back, and the step of taking it back
            return
        if name not in ACTIONS:
            raise UsageError(
                f"'{name}' is no action{nearest(name, ACTIONS)}; there are {', '.join((*ACTIONS, UNDO))}."
            )
        self.write(ACTIONS[name](self.page, words))

    def write(self, text: str) -> None:
        """Keep a changed text: checked first, then written whole; nothing else may have changed the file."""
        if text == self.page.text:
            return
        page = self._understood(text)
        on_disk = document.contents(self.path)
        if on_disk != self.page.text:
            self._earlier.clear()
            self._take(on_disk)
            raise ChangedMeanwhileError(
                f"'{self.path.name}' was changed by somebody else meanwhile. It has been read again; nothing "
                "was written, so look at it and repeat the last step."
            )
        try:
            with custodians_file(self.path, "a schema under review") as partial:
                partial.write_bytes(text.encode())
        except OSError as problem:
            raise SchemaError(
                f"{self.path}: cannot be written ({reason(problem)}). Check the folder."
            ) from None
        self._earlier.append(self.page.text)
        self.page = page


__all__ = ["UNDO", "UNIT", "ChangedMeanwhileError", "Sheet"]
