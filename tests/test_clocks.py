"""No test measures time: what is promised about it is counted here and measured in `studies/promises.py`."""

from __future__ import annotations

import ast
import textwrap
from contextlib import suppress
from pathlib import Path

HERE = Path(__file__).parent
CLOCKS = {
    "time": {"time", "perf_counter", "process_time", "thread_time", "monotonic"},
    "timeit": {"timeit", "repeat", "default_timer", "Timer"},
    "resource": {"getrusage"},
    "os": {"times"},
}
JUSTIFIED = {
    "test_clocks.py": "says what would be found",
    "browser/chromium.py": "patience with a browser that never answers; nothing is decided by how fast it is",
}


def clocks_in(source: str) -> set[str]:
    """The clocks that a file reads, by any name it gives them."""
    tree, modules, found = ast.parse(source), {}, set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            modules |= {
                alias.asname or alias.name: alias.name for alias in node.names if alias.name in CLOCKS
            }
        elif isinstance(node, ast.ImportFrom) and node.module in CLOCKS:
            found |= {
                f"{node.module}.{alias.name}"
                for alias in node.names
                if alias.name.removesuffix("_ns") in {*CLOCKS[node.module], "*"}
            }
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id in modules:
            module = modules[node.value.id]
            if node.attr.removesuffix("_ns") in CLOCKS[module]:
                found.add(f"{module}.{node.attr}")
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and "import" in node.value:
            with suppress(SyntaxError):  # programs for other processes are written as texts
                found |= clocks_in(textwrap.dedent(node.value))
    return found


def test_no_test_reads_a_clock() -> None:
    """A machine ten times busier must not make a test fail."""
    reading = {
        str(path.relative_to(HERE)): sorted(found)
        for path in sorted(HERE.rglob("*.py"))
        if (found := clocks_in(path.read_text(encoding="utf-8")))
    }
    assert set(reading) == set(JUSTIFIED), reading


def test_a_clock_is_found_by_any_name() -> None:
    assert clocks_in("import time as t\nt.perf_counter_ns()") == {"time.perf_counter_ns"}
    assert clocks_in("from time import process_time as now, sleep") == {"time.process_time"}
    assert clocks_in("def f():\n    import resource\n    resource.getrusage(0)") == {"resource.getrusage"}
    assert clocks_in("run('import time; print(time.monotonic())')") == {"time.monotonic"}
    assert clocks_in("import time\ntime.sleep(1)\nprint('time.time()')") == set()
