"""The grammar of questions: ``age < 30 and income = '>50K'``.

    question   = "if" question "then" question | all {"or" all}
    all        = one {"and" one}
    one        = "not" one | "(" question ")" | predicate
    predicate  = name ("=" | "!=" | "<" | "<=" | ">" | ">=") value
               | name "=" value ".." value
               | name ["not"] "between" value "and" value
               | name ["not"] "in" "(" value {"," value} ")"
               | name "is" ["not"] ("missing" | "null")
               | name ("=" | "!=" | "<" | "<=" | ">" | ">=") name

``if A then B`` holds where A does not, and where B does. A value that is the name of another column and no
value of its own compares two columns (`expression.parse` decides, because it knows the columns).

Text with blanks or signs is quoted with ' or "; a field's name may be quoted with " or `.
Nothing is ever evaluated as code. The operator "code" has no written form: it holds for the values of one
code, and is how records are told apart by the values of a column.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from itertools import chain
from typing import Literal, NoReturn

from penstock.errors import QueryError

Operator = Literal["=", "!=", "<", "<=", ">", ">=", "range", "in", "not in", "missing", "code"]

_LONGEST, _DEEPEST = 10_000, 50
_TOKEN = re.compile(
    r"""(?P<blank>\s+)
      | (?P<date>[0-9]{4}-[0-9]{2}-[0-9]{2}([T ][0-9]{2}:[0-9]{2}(:[0-9]{2})?)?)
      | (?P<number>[+-]?([0-9]+(\.[0-9]+)?|\.[0-9]+)([eE][+-]?[0-9]+)?)
      | (?P<text>'([^']|'')*')
      | (?P<quoted>"([^"]|"")*"|`[^`]+`)
      | (?P<sign><=|>=|!=|<>|==|\.\.|[=<>(),])
      | (?P<word>[^\W\d]\w*([-.]\w+)*)""",
    re.VERBOSE,
)
_KEYWORDS = {"and", "or", "not", "in", "is"}
_SIGNS: dict[str, Operator] = {
    "=": "=", "==": "=", "!=": "!=", "<>": "!=", "<": "<", "<=": "<=", ">": ">", ">=": ">=",
}  # fmt: skip


@dataclass(frozen=True)
class Predicate:
    """One field compared with written values; ``at`` is where it stands in the question."""

    name: str
    operator: Operator
    values: tuple[str, ...]
    at: int


@dataclass(frozen=True)
class Comparison:
    """Two fields compared with each other; it holds nowhere where one of them is missing."""

    name: str
    operator: Operator
    other: str
    at: int


@dataclass(frozen=True)
class Not:
    part: Expression


@dataclass(frozen=True)
class And:
    parts: tuple[Expression, ...]


@dataclass(frozen=True)
class Or:
    parts: tuple[Expression, ...]


Atom = Predicate | Comparison
Expression = Predicate | Comparison | Not | And | Or

_INVERSE: dict[Operator, Operator] = {"=": "!=", "!=": "=", "<": ">=", ">=": "<", ">": "<=", "<=": ">"}


def predicates(expression: Expression) -> tuple[Atom, ...]:
    """The predicates of an expression, comparisons included, in the order in which they are written."""
    match expression:
        case Predicate() | Comparison():
            return (expression,)
        case Not(part):
            return predicates(part)
        case And(parts) | Or(parts):
            return tuple(chain.from_iterable(predicates(part) for part in parts))


def opposite(expression: Expression) -> Expression:
    """What breaks a rule that always holds. Two columns say nothing about a row where one of them is missing.

    >>> opposite(Comparison("end", ">=", "start", 0)).operator
    '<'
    """
    match expression:
        case Predicate():
            return Not(expression)
        case Comparison(name, operator, other, at):
            return Comparison(name, _INVERSE[operator], other, at)
        case Not(part):
            return part
        case And(parts):
            return Or(tuple(opposite(part) for part in parts))
        case Or(parts):
            return And(tuple(opposite(part) for part in parts))


def outside(inside: Predicate) -> Expression:
    """What lies outside of a range, on either side; as in any comparison, no missing value does.

    >>> [part.operator for part in outside(Predicate("age", "range", ("30", "40"), 0)).parts]
    ['<', '>']
    """
    low, high = inside.values
    ends: tuple[tuple[Operator, str], ...] = (("<", low), (">", high))
    return Or(tuple(Predicate(inside.name, operator, (end,), inside.at) for operator, end in ends))


def replaced(expression: Expression, change: Callable[[Predicate], Expression]) -> Expression:
    """The expression with every predicate changed."""
    match expression:
        case Predicate():
            return change(expression)
        case Comparison():
            return expression
        case Not(part):
            return Not(replaced(part, change))
        case And(parts):
            return And(tuple(replaced(part, change) for part in parts))
        case Or(parts):
            return Or(tuple(replaced(part, change) for part in parts))


def given(expression: Expression, known: Mapping[Atom, bool]) -> Expression | bool:
    """What remains to be decided once some predicates are known to hold or not."""
    match expression:
        case Predicate() | Comparison():
            return known.get(expression, expression)
        case Not(part):
            left = given(part, known)
            return not left if isinstance(left, bool) else Not(left)
        case And(parts):
            return _join(parts, known, And, stop=False)
        case Or(parts):
            return _join(parts, known, Or, stop=True)


def _join(
    parts: tuple[Expression, ...], known: Mapping[Atom, bool], kind: type[And] | type[Or], stop: bool
) -> Expression | bool:
    left: list[Expression] = []
    for part in parts:
        settled = given(part, known)
        if settled is stop:
            return stop
        if not isinstance(settled, bool):
            left.append(settled)
    if not left:
        return not stop
    return left[0] if len(left) == 1 else kind(tuple(left))


def read(text: str) -> Expression:
    """The syntax tree of a question; QueryError names the position of a mistake.

    >>> read("age < 30 and not sex = 'F'").parts[0]
    Predicate(name='age', operator='<', values=('30',), at=0)
    """
    if len(text) > _LONGEST:
        raise QueryError(f"The question has {len(text)} characters; ask one of at most {_LONGEST}.")
    return _Parser(text).whole()


@dataclass(frozen=True)
class _Token:
    kind: str
    text: str
    at: int

    @property
    def lower(self) -> str:
        return self.text.lower() if self.kind in ("word", "sign") else ""


class _Parser:
    """Recursive descent over the grammar above."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.tokens = list(self._cut())
        self.next = 0
        self.depth = 0

    def _cut(self) -> list[_Token]:
        tokens, at = [], 0
        while at < len(self.text):
            found = _TOKEN.match(self.text, at)
            if found is None or found.lastgroup is None:
                if self.text[at] in "'\"`":
                    self.fail("a quote that is never closed. Close it", at)
                self.fail(f"'{self.text[at]}' has no meaning here. Put text that contains it in quotes", at)
            kind = next(name for name in _TOKEN.groupindex if found.group(name) is not None)
            if kind != "blank":
                tokens.append(_Token(kind, found.group(), at))
            at = found.end()
        return [*tokens, _Token("end", "", len(self.text))]

    def fail(self, what: str, at: int) -> NoReturn:
        shown = self.text if len(self.text) <= 80 else f"{self.text[:77]}..."
        raise QueryError(f'At position {at + 1} of "{shown}": {what}.')

    @property
    def token(self) -> _Token:
        return self.tokens[self.next]

    def take(self, *words: str) -> bool:
        if self.token.lower in words:
            self.next += 1
            return True
        return False

    def need(self, word: str, why: str) -> None:
        if not self.take(word):
            self.fail(f"'{word}' is expected {why}, not {self.seen()}", self.token.at)

    def seen(self) -> str:
        return "the end" if self.token.kind == "end" else f"'{self.token.text}'"

    def whole(self) -> Expression:
        found = self.question()
        if self.token.kind != "end":
            self.fail(f"{self.seen()} is not expected. Join conditions with 'and' or 'or'", self.token.at)
        return found

    def question(self) -> Expression:
        if self.token.lower == "if" and self._begins(self.tokens[self.next + 1]):
            return self.rule()
        parts = [self.all()]
        while self.take("or"):
            parts.append(self.all())
        return parts[0] if len(parts) == 1 else Or(tuple(parts))

    @staticmethod
    def _begins(token: _Token) -> bool:
        """Whether a question can begin here: after the name of a field comes a comparison instead."""
        return (
            token.lower == "("
            or token.lower == "not"
            or (token.kind in ("word", "quoted") and token.lower not in ("in", "is"))
        )

    def rule(self) -> Expression:
        self.next += 1
        premise = self.question()
        self.need("then", "after what 'if' asks")
        return Or((Not(premise), self.question()))

    def all(self) -> Expression:
        parts = [self.one()]
        while self.take("and"):
            parts.append(self.one())
        return parts[0] if len(parts) == 1 else And(tuple(parts))

    def one(self) -> Expression:
        self.depth += 1
        if self.depth > _DEEPEST:
            self.fail("the question is nested too deeply. Ask a simpler one", self.token.at)
        found: Expression
        if self.take("not"):
            found = Not(self.one())
        elif self.take("("):
            found = self.question()
            self.need(")", "to close the parenthesis")
        else:
            found = self.predicate()
        self.depth -= 1
        return found

    def predicate(self) -> Expression:
        at, name = self.token.at, self.name()
        if self.take("is"):
            negated = self.take("not")
            if not self.take("null"):
                self.need("missing", "after 'is'")
            missing = Predicate(name, "missing", (), at)
            return Not(missing) if negated else missing
        if self.take("in"):
            return Predicate(name, "in", self.values(), at)
        if self.take("between"):
            return Predicate(name, "range", self.ends(), at)
        if self.take("not"):
            if self.take("between"):
                return outside(Predicate(name, "range", self.ends(), at))
            self.need("in", "after 'not'")
            return Predicate(name, "not in", self.values(), at)
        sign = self.token
        if sign.text not in _SIGNS or sign.kind != "sign":
            self.fail(f"a comparison such as '{name} = ...' is expected, not {self.seen()}", sign.at)
        self.next += 1
        first = self.value()
        if sign.text in ("=", "==") and self.take(".."):
            return Predicate(name, "range", (first, self.value()), at)
        return Predicate(name, _SIGNS[sign.text], (first,), at)

    def name(self) -> str:
        token = self.token
        if token.kind not in ("word", "quoted") or token.lower in _KEYWORDS:
            self.fail(f"the name of a field is expected, not {self.seen()}", token.at)
        self.next += 1
        return _unquoted(token)

    def ends(self) -> tuple[str, str]:
        first = self.value()
        self.need("and", "between the ends of a range")
        return first, self.value()

    def values(self) -> tuple[str, ...]:
        self.need("(", "before the listed values")
        found = [self.value()]
        while self.take(","):
            found.append(self.value())
        self.need(")", "after the listed values")
        return tuple(found)

    def value(self) -> str:
        token = self.token
        if token.kind not in ("number", "date", "text", "quoted", "word") or token.lower in _KEYWORDS:
            self.fail(f"a value is expected, not {self.seen()}; put text in quotes", token.at)
        self.next += 1
        return _unquoted(token)


def _unquoted(token: _Token) -> str:
    if token.kind not in ("text", "quoted"):
        return token.text
    quote = token.text[0]
    return token.text[1:-1].replace(quote * 2, quote)
