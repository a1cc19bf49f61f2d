"""The command line: thin, one module per command.

Nothing heavy is imported here or at the top of a command's module, so that `penstock --help`
answers at once.
"""

from penstock.cli.app import app, main, run

__all__ = ["app", "main", "run"]
