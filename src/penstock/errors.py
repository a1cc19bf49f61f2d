"""What can go wrong for a user, each as one clear sentence and a remedy.

Messages may quote the custodian's own data (a row number, an offending value): they are for
the custodian's terminal and never become part of a release. They never quote a password (`without_password`).
"""

from __future__ import annotations

import re
from urllib.parse import unquote

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


def without_password(text: str, address: str = "") -> str:
    """A URL, or a text with one, fit to be shown: rather too much of it is hidden than too little.

    A password may stand before the host, where it runs to the last @ whatever is in it, or in any parameter
    whose name speaks of one, also within an encoded connection string. A driver may take parts of it for a
    host, a port or a path, and say so: with the `address` that it was given, they are hidden too.

    >>> without_password("postgres://ann:secret@host/base")
    'postgres://ann@host/base'
    >>> without_password("postgres://ann:s/e@cret@host/base?sslmode=require&password=secret")
    'postgres://ann@host/base?sslmode=require&password=***'
    >>> without_password("no host 'cret@host'", "postgres://ann:s/e@cret@host/base")
    "no host '***@host'"
    """
    secret = unquote(address.partition("://")[2].rpartition("@")[0].partition(":")[2])
    for part in sorted(filter(None, re.split(r"[:@/?#]", secret)), key=len, reverse=True):
        alone = re.escape(part) if len(part) > 2 else rf"(?<!\w){re.escape(part)}(?!\w)"
        text = re.sub(alone, "***", text)
    if len(text) > _MOST_SEARCHED:  # as if a password that is cut off ended there
        text = f"{text[:_MOST_SEARCHED]}…@"
    before_host = _WHOLE if re.match(r"[A-Za-z][\w+.:-]*://", text) else _WITHIN
    shown = _AFTER_SLASH.sub(r"\1@", before_host.sub(r"\1@", text))
    return _without_parameters(shown).removesuffix("…@")


def _without_parameters(text: str) -> str:
    parts, place = [], 0
    for name in _NAME.finditer(text):
        told = name["encoded"] or _SPEAKS.search(name[0])
        value = _VALUE.match(text, name.end()) if told and name.start() >= place else None
        if value is not None:
            parts += [text[place : name.end()], "***"]
            place = value.end()
    return "".join([*parts, text[place:]])


_MOST_SEARCHED = 4000
_WHOLE = re.compile(r"(://[^/@:?#]*):.*@", re.DOTALL)
_WITHIN = re.compile(r"(\b[A-Za-z][\w+.-]*:/{0,3}[^/@:?#\s'\"]*):(?:[^'\"]*|\S*)@")
_AFTER_SLASH = re.compile(r"(\boracle[\w+]*:/{0,2}[^/@:?#\s]+)/[^@\s]*@", re.IGNORECASE)
_NAME = re.compile(
    r"(?<![\w.-])[\w.-]++\s?(?:=|%3d)\s?|(?<=[?&])(?P<encoded>[^=&?%\s]*+%[^=&?\s]*+=)", re.IGNORECASE
)
_SPEAKS = re.compile(r"pass|pwd|secret|token|key|credential", re.IGNORECASE)
_VALUE = re.compile(r"'[^']*'|\"[^\"]*\"|\{[^}]*\}|(?:(?!%3b)[^&;\s'\")])+", re.IGNORECASE)
