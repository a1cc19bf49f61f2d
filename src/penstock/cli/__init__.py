"""The command line: thin, one module per command.

Nothing heavy is imported here or at the top of a command's module, so that `penstock --help`
answers at once.
"""

import os
import sys
from collections.abc import Sequence

__all__ = ["main", "run"]

LIBRARIES = {"OPENBLAS_THREAD_TIMEOUT": "4", "PYDANTIC_DISABLE_PLUGINS": "__all__"}
"""What libraries are told where the process is ours, unless somebody has told them before.

Threads of the linear algebra sleep until they are needed: by default each keeps a processor busy for a while
before and after anything is multiplied. Nobody's plugin is looked for in all that is installed; one would see
whatever a schema is checked for.
"""


def run(arguments: Sequence[str]) -> int:
    """Run one command line; the exit code."""
    from penstock.cli import app

    return app.run(arguments)


def main() -> None:
    """The entry point of the `penstock` script; an interruption while it loads is no traceback either."""
    for name, value in LIBRARIES.items():
        os.environ.setdefault(name, value)
    try:
        from penstock.cli import app
    except KeyboardInterrupt:
        print("Interrupted. Nothing was read and nothing was spent.", file=sys.stderr)
        sys.exit(130)
    app.main()
