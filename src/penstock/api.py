"""The commands of the command line, as Python functions: draft, release, recover, select, load, evaluate.

`release` keeps the order that makes mistakes free: the request is checked, then the schema, the
destination and the ledger, then the records are read and compared with the schema, and only then
is anything charged.
"""

from __future__ import annotations

import os
import re
import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, nullcontext
from difflib import get_close_matches
from operator import index
from os import PathLike, fspath
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, SupportsIndex

from penstock import catalogue
from penstock.catalogue import MethodInfo
from penstock.contracts.method import Method
from penstock.contracts.parameters import Whole
from penstock.contracts.plug import data_class, method_class
from penstock.engine import Source, read
from penstock.engine.header import RECORDS, Header, refuse_names_of_categories, refuse_record_among
from penstock.engine.limits import Limits, limited
from penstock.errors import (
    DataError,
    LedgerError,
    PenstockError,
    PenstockWarning,
    ReleaseError,
    SchemaError,
    UsageError,
)
from penstock.lifetime import hold
from penstock.privacy.budgets.amounts import Amount, shown
from penstock.privacy.budgets.budget import Budget
from penstock.privacy.budgets.till import Account
from penstock.privacy.ledger.ledger import Ledger
from penstock.privacy.randomness.generator import Randomness
from penstock.releases import Release
from penstock.releases import load as open_folder
from penstock.releases.disk import forget_reservation, reserved
from penstock.releases.folder import save_keeping
from penstock.releases.kept import Kept, meant_for
from penstock.releases.paths import absolute
from penstock.releases.room import room
from penstock.schema import Relation, Schema, Unit

if TYPE_CHECKING:  # what a release does not need is loaded by those who ask for it
    from penstock.evaluation import Evaluation
    from penstock.learn.selection.release import SelectionRelease

Place = str | PathLike[str]


def draft(
    source: Any,
    *,
    kind: str = "table",
    headers_only: bool = False,
    table: str | None = None,
    header: Header = None,
    unit: Unit | None = None,
    user: str | None = None,
    at_most: int | None = None,
    epsilon: Amount | None = None,
    delta: Amount = 0,
    ledger: Ledger | str | None = None,
    account: str | None = None,
    holds_at_most: int | None = None,
) -> Schema:
    """A proposal for the schema of some data; every fact that was read off the data is marked for review.

    With an `epsilon`, types, bounds and categories are found privately and paid for instead, and need
    no review. `unit` says whose presence is protected, where that is not a single record; `user` names the
    column of users for short, and `at_most` how many records of each are counted, which is one unless said.

    The names of the columns are public too. `header` says where they are in a text file: "first" insists that
    the first row holds them, "none" that there are none, a list gives them. Without it, names that look like
    a record are refused, and what is drafted privately from a text file is marked for review all the same,
    because nothing was paid for its names.

    >>> import polars as pl
    >>> proposal = draft(pl.DataFrame({"age": [34, 51, 29], "smoker": ["yes", "no", "no"]}))
    >>> proposal.names
    ('age', 'smoker')
    >>> len(proposal.to_review()) > 0  # bounds and categories that somebody has to confirm
    True
    """
    from penstock.drafting.private import COUNTING, draft_private
    from penstock.drafting.proposal import draft as propose
    from penstock.drafting.proposal import kind_draft

    if user is not None or at_most is not None:
        if unit is not None or user is None:
            raise UsageError("Give the column of users with how many records of each count, or give a unit.")
        if at_most is not None and at_most < 1:
            raise UsageError(f"At most {at_most} records of each user leave none; give 1 or more.")
        unit = Unit(protects="user", column=user, at_most=at_most or 1)
    if epsilon is None:
        if ledger is not None or account is not None or holds_at_most is not None or delta != 0:
            raise UsageError(
                "A delta, a ledger and an account belong to a private draft; give its epsilon too."
            )
        drafter = kind_draft(kind)
        records = drafter.read(source, table=table, header=header)
        unsure = not headers_only and not records.confirmed
        if unsure:
            first = records.first(RECORDS)
            refuse_record_among(records.label, records.names, first, text=records.textual)
        proposal = propose(records, kind=kind, headers_only=headers_only, drafter=drafter)
        if unsure:  # a value further down
            refuse_names_of_categories(records.label, proposal, text=records.textual)
        proposal = _names_to_review(records, proposal)
        return proposal if unit is None else _of_users(records, proposal, unit)
    if headers_only:
        raise UsageError(
            "Headers alone cost nothing, so there is nothing to pay epsilon for; drop one of them."
        )
    whole = Budget(epsilon, delta)
    paying = _account(ledger, account, "private draft of a schema", holds_at_most)
    Budget(epsilon, delta, account=paying).check(Relation.ADD_REMOVE)
    # Two entries: where the records turn out to be too few for the amount, the second is never booked.
    counting = Budget(
        whole.epsilon * COUNTING,
        account=_account(ledger, account, "number of records, for a private draft", holds_at_most),
    )
    budget = Budget(whole.epsilon * (1 - COUNTING), whole.delta, account=paying)
    for part in (counting, budget):
        part.protect(unit or Unit())
    with _what_is_spent(counting), _what_is_spent(budget):
        records = _told_if_empty(read(source, table=table, header=header))
        schema = draft_private(records, budget, counting=counting, kind=kind, unit=unit)
    _complete(counting, "the number of records, for a schema")
    _complete(budget, "a schema, drafted privately")
    return _names_to_review(records, schema)


def _of_users(records: Source, proposal: Schema, unit: Unit) -> Schema:
    """The proposal for data of users, without the column that tells them apart."""
    name, layout = unit.column, proposal.layout
    if name is not None and name not in records.names:
        raise DataError(f"{name}: the data has no such column, but the unit protects users by it.")
    if name in proposal.names and len(proposal.names) > 1 and (layout is None or name not in layout.columns):
        others = tuple(field for field in proposal.fields if field.name != name)
        proposal = proposal.model_copy(update={"fields": others})
        proposal = proposal.with_remark(f"Left out: '{name}' identifies people.")
    return proposal.model_copy(update={"unit": unit})


def _names_to_review(records: Source, proposal: Schema) -> Schema:
    """The proposal, with every field marked where its name may be a value of a text file's first record."""
    if records.confirmed or not records.textual:
        return proposal
    marked = [field.model_copy(update={"review": True}) for field in proposal.fields]
    return proposal.model_copy(update={"fields": tuple(marked)}).with_remark(
        "The names are the first row of the file: check that they are names, and no record."
    )


def release(
    data: Any,
    schema: Schema | Place,
    *,
    epsilon: Amount,
    delta: Amount = 0,
    method: str | None = None,
    parameters: Mapping[str, Any] | None = None,
    table: str | None = None,
    header: Header = None,
    engine: str = "auto",
    ledger: Ledger | str | None = None,
    account: str | None = None,
    holds_at_most: int | None = None,
    seed: int | None = None,
    accept_unreviewed_draft: bool = False,
    spill: Place | Literal[False] | None = None,
    memory: str | None = None,
    threads: int | None = None,
    out: Place | None = None,
) -> Release:
    """Release data under differential privacy, and save the release when `out` names a folder.

    `data` is a CSV, Parquet or Arrow file, a folder or pattern of such files, the folder of a Delta or
    Iceberg table, a database URL with `table`, or a frame (Polars, pandas, Arrow, Ibis); `header` says where
    a text file's names are, as in `draft`. A `seed` makes the run reproducible,
    and for that very reason the release unpublishable. Most methods with a pure guarantee have no use for a
    `delta`, and none is booked for it; `confluence` is pure without one, and books it where it is given, even
    where few tables leave it nothing to gain: it takes the noise that is smaller.

    An account of a ledger is about one unit. Where the release protects another, say how many of its units
    one of the account's `holds_at_most` in these data (how many records a user has, say): it is booked at the
    price of so many, or of twice as many where they overlap, as hospitals and patients do. Otherwise it is
    refused, before anything is spent.

    `memory` ("4GiB") and `threads` limit what reading and counting take. Where records do not fit into it,
    DuckDB writes them in clear to a private folder inside `spill`; with `spill=False` they are refused
    instead.

    >>> from penstock import Schema
    >>> from penstock.demo import survey, survey_schema
    >>> made = release(survey(500), Schema.from_yaml(survey_schema()), epsilon="1/2", method="independent")
    >>> made.receipt.epsilon, made.publishable
    (Fraction(1, 2), True)
    >>> made.sample(1000).height
    1000
    """
    _refuse_other_types(method, parameters, seed, out)
    limits = Limits.of(memory, threads, spill if spill is None or spill is False else fspath(spill))
    described = _described(schema)
    info = catalogue.default_method(described.kind) if method is None else catalogue.method(method)
    chosen = configure(info, parameters or {})
    _refuse_wrong_kind(info, described)
    Budget(epsilon, delta)  # an impossible amount is refused before the ledger hears of it
    randomness = None if seed is None else Randomness.seeded(seed)
    if not accept_unreviewed_draft:
        described.refuse_if_unreviewed()
    chosen.check(described)
    name = "a release that was not saved" if out is None else Path(fspath(out)).name
    needed = room(described, chosen.cells(described))
    with nullcontext() if out is None else reserved(fspath(out), room=needed):
        paying = _account(ledger, account, f"{info.name} for {name}", holds_at_most)
        budget = Budget(epsilon, delta if info.takes_delta else 0, randomness=randomness, account=paying)
        budget.protect(described.booked)
        budget.check(described.relation)
        order_key = None if seed is None else f"seed {seed}".encode()
        handle = data_class(catalogue.kind(described.kind))
        source = handle.read(data, described, table=table, header=header)
        if isinstance(source, Source):
            source = _with_names(source, described)
        with limited(limits):
            opened = handle.open(source, described, engine=engine, order_key=order_key)
            with _what_is_spent(budget):
                records, rest = opened.prepared(budget)
                made = chosen.fit(records, rest)
                if out is not None:
                    save_keeping(made, fspath(out))
        _complete(budget, name)
    return made


def select(
    data: Any,
    schema: Schema | Place,
    *,
    epsilon: Amount,
    c: int | None = None,
    threshold: Amount | None = None,
    counts: Amount = 0,
    column: str | None = None,
    mechanism: str = "auto",
    table: str | None = None,
    header: Header = None,
    engine: str = "auto",
    ledger: Ledger | str | None = None,
    account: str | None = None,
    holds_at_most: int | None = None,
    seed: int | None = None,
    accept_unreviewed_draft: bool = False,
    spill: Place | Literal[False] | None = None,
    memory: str | None = None,
    threads: int | None = None,
    out: Place | None = None,
) -> SelectionRelease:
    """Select the c most frequent items or categories, or those above a threshold, under epsilon.

    For data of kind 'itemsets' the candidates are the items of the declared universe; for a table they are
    the categories of `column`. `counts` is the share of epsilon for noisy counts of what is selected.
    Everything else is as in `release`, including the order in which mistakes are found.

    >>> from penstock import Schema
    >>> from penstock.demo import survey, survey_schema
    >>> found = select(survey(2000), Schema.from_yaml(survey_schema()), epsilon=1, c=2, column="commute")
    >>> len(found.items)
    2
    """
    from penstock.learn.selection.release import SelectionRelease

    described = _described(schema)
    asked = {"c": c, "threshold": threshold, "counts": counts, "mechanism": mechanism, "column": column}
    info = _selecting(described.kind)
    known = [parameter.name for parameter in method_class(info).parameters()]
    if column is not None and "column" not in known:
        raise UsageError(
            f"Data of kind '{described.kind}' has one column to select from, named in the schema; leave out "
            "the column."
        )
    made = release(
        data,
        described,
        epsilon=epsilon,
        method=info.name,
        parameters={name: value for name, value in asked.items() if value is not None},
        table=table,
        header=header,
        engine=engine,
        ledger=ledger,
        account=account,
        holds_at_most=holds_at_most,
        seed=seed,
        accept_unreviewed_draft=accept_unreviewed_draft,
        spill=spill,
        memory=memory,
        threads=threads,
        out=out,
    )
    assert isinstance(made, SelectionRelease)
    return made


def _selecting(kind: str) -> MethodInfo:
    """The method that selects from data of this kind."""
    from penstock.learn.selection.release import SelectionRelease

    able = [info for info in catalogue.methods(role="method") if info.form == SelectionRelease.form]
    for info in able:
        if info.kind == kind:
            return info
    kinds = " or ".join(f"'{info.kind}'" for info in able)
    raise UsageError(f"Something is selected from data of kind {kinds}; the schema describes '{kind}'.")


def load(folder: Place) -> Release:
    """The release saved in a folder, verified; nothing in the folder is executed.

    >>> import tempfile
    >>> from penstock import Schema
    >>> from penstock.demo import rides, rides_schema
    >>> schema = Schema.from_yaml(rides_schema())
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     _ = release(rides(500), schema, epsilon=1, method="uniform-grid", out=f"{folder}/rides")
    ...     print(load(f"{folder}/rides").receipt.epsilon)
    1
    """
    return open_folder(fspath(folder))


def recover(destination: Place, *, to: Place | None = None, ledger: Ledger | str | None = None) -> Release:
    """Finish a release that was paid for and interrupted, from its model that was kept; costs nothing more.

    `destination` is the folder that it was meant for, `to` another one. With the `ledger` that paid, its
    entry is noted as complete. ReleaseError when nothing is kept for this destination.

    >>> recover("never-begun")
    Traceback (most recent call last):
    penstock.errors.ReleaseError: Nothing is kept for 'never-begun'; 'penstock recover' lists what is.
    """
    kept = _kept_for(destination)[-1]
    held = hold(kept.folder)
    if held is None:
        raise ReleaseError(f"'{fspath(destination)}' is being written by another process; wait for it.")
    try:
        kept.tidy()
        made = open_folder(kept.folder)
        place = made.save(fspath(destination if to is None else to))
        if ledger is not None and made.receipt.ledger is not None:
            opened = Ledger.open(ledger) if isinstance(ledger, str) else ledger
            entry = made.receipt.ledger
            opened.account(entry.rpartition("/")[0]).complete(entry, place.name)
        kept.discard()
        forget_reservation(kept.destination)
    finally:
        os.close(held)
    return made


def discard(destination: Place) -> list[Kept]:
    """Remove the models that are kept for a destination; what they cost stays spent."""
    found = _kept_for(destination)
    for kept in found:
        if kept.busy:
            raise ReleaseError(f"'{fspath(destination)}' is being written by another process; wait for it.")
        kept.discard()
        forget_reservation(kept.destination)
    return found


def _kept_for(destination: Place) -> list[Kept]:
    found = meant_for(absolute(fspath(destination)))
    if not found:
        raise ReleaseError(f"Nothing is kept for '{fspath(destination)}'; 'penstock recover' lists what is.")
    return found


def evaluate(
    release: Release | Place,
    data: Any,
    *,
    schema: Schema | None = None,
    table: str | None = None,
    header: Header = None,
    target: str | None = None,
    limit: int | None = None,
    queries: int | None = None,
    seed: int = 0,
    learning: bool = True,
    k_marginal: bool = False,
) -> Evaluation:
    """How close a release is to the records it came from: for the custodian's eyes only.

    `table` and `header` are as in `release`. `target` is the column to predict (None: the schema's, or a few
    that are chosen), `limit` the most marginals of each number of columns, `queries` the number of random
    questions of each sort (None: 500). Without `learning` nothing is trained, which takes most of the time;
    `k_marginal` adds the k-marginal score of SDNist.

    Of more than 262,144 records (2,097,152 points) so many are drawn at random, and of long files of
    sequences and calls some of the people; the evaluation says so.

    >>> from penstock import Schema
    >>> from penstock.demo import rides, rides_schema
    >>> records = rides(500)
    >>> made = release(records, Schema.from_yaml(rides_schema()), epsilon=1, method="uniform-grid", seed=1)
    >>> compared = evaluate(made, records)
    >>> compared.scores[0].value < compared.scores[0].floor
    True
    """
    from penstock.evaluation import evaluate as compare
    from penstock.evaluation.findings import LIMIT, QUERIES

    made = release if isinstance(release, Release) else load(release)
    handle = data_class(catalogue.kind(made.kind))
    source = handle.read(data, schema or made.schema, table=table, header=header)
    return compare(
        made,
        source,
        schema,
        target=target,
        limit=LIMIT if limit is None else limit,
        queries=QUERIES if queries is None else queries,
        seed=seed,
        learning=learning,
        k_marginal=k_marginal,
    )


def configure(info: MethodInfo, parameters: Mapping[str, Any]) -> Method[Any]:
    """The method with these parameters; an unknown name is answered with the ones there are."""
    method = method_class(info)
    known = [parameter.name for parameter in method.parameters()]
    for name in parameters:
        if name not in known:
            near = get_close_matches(name, known, n=1)
            hint = f"did you mean '{near[0]}'?" if near else f"it has {', '.join(known) or 'none'}."
            raise UsageError(f"{info.name} has no parameter '{name}'; {hint}")
    return method(**parameters)


def _refuse_other_types(method: object, parameters: object, seed: object, out: object) -> None:
    """Refuse what a request cannot consist of: no annotation keeps a notebook from passing it."""
    named = parameters is None or (
        isinstance(parameters, Mapping) and all(isinstance(name, str) for name in parameters)
    )
    whole = (
        isinstance(seed, SupportsIndex) and not isinstance(seed, bool) and Whole(least=0).accepts(index(seed))
    )
    for name, given, fits, words in (
        ("method", method, method is None or isinstance(method, str), "the name of a method"),
        ("parameters", parameters, named, "a dictionary of names and values"),
        ("seed", seed, seed is None or whole, "a whole number from 0 on"),
        ("out", out, out is None or isinstance(out, str | PathLike), "the path of a folder"),
    ):
        if not fits:
            raise UsageError(f"{name} must be {words}, not {shown(given)}. Nothing was spent.")


def _described(schema: object) -> Schema:
    """The schema itself, or the one in a file."""
    if isinstance(schema, Schema):
        return schema
    if not isinstance(schema, str | PathLike):
        raise UsageError(
            f"schema must be a Schema or the path of one, not {shown(schema)}. Nothing was spent."
        )
    return Schema.load(fspath(schema))


def _with_names(source: Source, schema: Schema) -> Source:
    """The records, under names that are surely names."""
    if not source.confirmed:
        refuse_names_of_categories(source.label, schema, text=source.textual)
    return _told_if_empty(source)


def _told_if_empty(source: Source) -> Source:
    """The source; the custodian, and nobody else, hears when it holds no record.

    It is released all the same: were it refused, every release would prove that there was a record.
    """
    if source.empty:
        warnings.warn(
            f"{source.label}: there are no records. A release of none is made and paid for like any other.",
            PenstockWarning,
            stacklevel=4,
        )
    return source


def _refuse_wrong_kind(info: MethodInfo, schema: Schema) -> None:
    if info.kind != schema.kind:
        raise UsageError(
            f"{info.name} is a method for data of kind '{info.kind}', and the schema describes "
            f"'{schema.kind}'; choose another method, or correct 'kind' in the schema."
        )
    if schema.relation.value not in info.relations:
        raise SchemaError(
            f"{info.name} works under the relation {' or '.join(info.relations)}, and the schema says "
            f"'{schema.relation.value}'; change 'relation' in the schema or choose another method."
        )


def _account(
    ledger: Ledger | str | None, account: str | None, label: str, holds_at_most: int | None
) -> Account | None:
    """The ledger's account that pays, or None when the release is made without a ledger."""
    if ledger is None and account is None:
        if holds_at_most is not None:
            raise UsageError(
                "--holds-at-most says how a release is booked in a ledger; give the ledger and the account, "
                "or leave it out."
            )
        return None
    if ledger is None or account is None:
        missing = "a ledger (--ledger)" if ledger is None else "an account (--account)"
        raise UsageError(
            f"A release that is booked needs both a ledger and an account; {missing} is missing."
        )
    opened = Ledger.open(ledger) if isinstance(ledger, str) else ledger
    return opened.account(account, label, holds_at_most=holds_at_most)


def _complete(budget: Budget, name: str) -> None:
    """Note in the ledger what became of its entry; without the note it counts as spent just the same.

    So a ledger that cannot be reached now must not cost the result that was paid for.
    """
    try:
        budget.complete(name)
    except LedgerError:
        warnings.warn(
            "The ledger cannot be reached, so its entry stays 'reserved', which counts as spent.",
            PenstockWarning,
            stacklevel=3,
        )


@contextmanager
def _what_is_spent(budget: Budget) -> Iterator[None]:
    """Whatever goes wrong once noise was drawn says that it is paid for."""
    try:
        yield
    except PenstockError as problem:
        if not budget.receipt().paid.parts:
            raise
        told = re.sub(r" Nothing was spent[^.]*\.$", "", str(problem))
        raise type(problem)(f"{told} The budget is spent all the same, because noise was drawn.") from problem
