"""Shows the examples of docstrings as code: a block of `>>>` lines becomes a fenced one in the reference.

MkDocs' reference would take them for quotations. What is shown is what `pytest --doctest-modules` runs.
"""

from __future__ import annotations

import doctest
from typing import Any

import griffe


class Examples(griffe.Extension):
    """Fences the examples in every docstring of the package."""

    def on_object(self, *, obj: griffe.Object, **_: Any) -> None:
        if obj.docstring is not None and ">>>" in obj.docstring.value:
            obj.docstring.value = fenced(obj.docstring.value)


def fenced(text: str) -> str:
    """The text with its examples in fences; neighbouring examples share one.

    >>> print(fenced("Adds up.\\n\\n>>> 1 + 1\\n2\\n\\nAlways."))
    Adds up.
    <BLANKLINE>
    ```pycon
    >>> 1 + 1
    2
    ```
    <BLANKLINE>
    Always.
    """
    parts: list[str] = []
    inside = False
    for part in doctest.DocTestParser().parse(text):
        if isinstance(part, doctest.Example):
            if not inside:
                parts.append("```pycon\n")
            inside = True
            first, *rest = part.source.splitlines()
            lines = [f">>> {first}", *(f"... {line}".rstrip() for line in rest), *part.want.splitlines()]
            parts.append("".join(f"{line}\n" for line in lines))
        elif inside and not part.strip():
            continue
        else:
            parts.append(f"```\n{part}" if inside else part)
            inside = False
    return "".join([*parts, "```\n" if inside else ""])
