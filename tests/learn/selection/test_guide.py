"""The guide about selections runs as printed."""

import re
from pathlib import Path

PAGE = Path(__file__).parents[3] / "docs" / "guide" / "selection.md"


def test_the_python_of_the_guide_runs() -> None:
    """Epsilon 1, c = 2: the noise has a standard deviation of about 12, the margins are at least 400."""
    found = re.findall(r"^```python\n(.*?)^```", PAGE.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)
    assert found
    for text in found:
        exec(compile(text, "selection.md", "exec"), {})
