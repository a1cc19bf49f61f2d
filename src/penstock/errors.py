"""What can go wrong for a user, each as one clear sentence and a remedy.

Messages may quote the custodian's own data (a row number, an offending value): they are for
the custodian's terminal and never become part of a release.
"""

_LONGEST = 1000


class PenstockError(Exception):
    """Any problem a user can fix; the command line prints its message and nothing else.

    The message is one line of bounded length, whatever was quoted in it: a name with line breaks or a
    question of ten thousand signs leaves its beginning and what to do about it.

    >>> print(PenstockError("a\\nb: there is no such column. Check it."))
    a b: there is no such column. Check it.
    """

    def __str__(self) -> str:
        line = " ".join(super().__str__().splitlines())
        return line if len(line) <= _LONGEST else f"{line[: _LONGEST // 2]} … {line[-_LONGEST // 2 :]}"


class UsageError(PenstockError):
    """A parameter or option is wrong."""


class SchemaError(PenstockError):
    """The public schema is incomplete, contradictory or not yet reviewed."""


class DataError(PenstockError):
    """The records cannot be read, or do not fit the schema."""


class BudgetError(PenstockError):
    """A budget is malformed, or less is left than was asked for."""


class LedgerError(PenstockError):
    """The ledger cannot be used, or the account's limit does not allow the release."""


class ReleaseError(PenstockError):
    """A release folder cannot be written, or is not what it claims to be."""


class QueryError(PenstockError):
    """A question to a release cannot be understood or answered."""


class PenstockWarning(UserWarning):
    """Something that went well enough, and that the custodian should hear of."""
