"""The command line: thin, one module per command.

Nothing heavy is imported here or at the top of a command's module, so that `penstock --help`
answers at once.
"""

import sys
from collections.abc import Sequence

__all__ = ["main", "run"]


def run(arguments: Sequence[str]) -> int:
    """Run one command line; the exit code."""
    from penstock.cli import app

    return app.run(arguments)


def main() -> None:
    """The entry point of the `penstock` script; an interruption while it loads is no traceback either."""
    try:
        from penstock.cli import app
    except KeyboardInterrupt:
        print("Interrupted. Nothing was read and nothing was spent.", file=sys.stderr)
        sys.exit(130)
    app.main()
