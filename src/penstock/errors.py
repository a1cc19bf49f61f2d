"""What can go wrong for a user, each as one clear sentence and a remedy.

Messages may quote the custodian's own data (a row number, an offending value): they are for
the custodian's terminal and never become part of a release.
"""


class PenstockError(Exception):
    """Any problem a user can fix; the command line prints its message and nothing else."""


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
