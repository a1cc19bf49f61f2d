"""The six tables of a release of calls in its folder, and back: loading believes nothing."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

import numpy as np
from pydantic import BaseModel, Field

from penstock.errors import UsageError
from penstock.kinds.calls.region import HOURS, Groups
from penstock.kinds.calls.tables import CLASSES, PARTS, Tables
from penstock.releases import Model


class _Saved(BaseModel):
    side: Annotated[int, Field(ge=1, le=4096)]
    commute_side: Annotated[int, Field(ge=1, le=4096)]
    block_side: Annotated[int, Field(ge=0, le=4096)]
    run: Annotated[int, Field(ge=0)]
    callers: Annotated[float, Field(ge=0, allow_inf_nan=False)]
    public: list[str]


def model_of(tables: Tables, public: Sequence[str]) -> Model:
    """The tables as they are saved."""
    import polars as pl

    means, deviations = np.meshgrid(tables.means, tables.deviations, indexing="ij")
    saved = _Saved(
        side=tables.side,
        commute_side=tables.commute_side,
        block_side=tables.groups.block_side,
        run=tables.groups.run,
        callers=float(tables.callers),
        public=list(public),
    )
    return Model(
        json=saved.model_dump(),
        tables={
            "home": pl.DataFrame({"share": tables.home}),
            "work": pl.DataFrame({"share": tables.work}),
            "commute": pl.DataFrame(
                {
                    "low": tables.edges[:, :-1].ravel(),
                    "high": tables.edges[:, 1:].ravel(),
                    "share": tables.commute.ravel(),
                }
            ),
            "per-day": pl.DataFrame(
                {
                    "mean": means.ravel().astype(np.float64),
                    "deviation": deviations.ravel().astype(np.float64),
                    "share": tables.per_day.ravel(),
                }
            ),
            "classes": pl.DataFrame({"share": tables.classes}),
            "call-time": pl.DataFrame({"first": tables.times[0], "second": tables.times[1]}),
            "hours": pl.DataFrame({"share": tables.hours.ravel()}),
        },
    )


def tables_of(model: Model) -> tuple[Tables, tuple[str, ...]]:
    """Saved tables, each of the size that the model says, and which are public; UsageError if not so."""
    import polars as pl

    saved = model.read(_Saved)
    groups = Groups(saved.side, saved.block_side, saved.run)
    if bool(saved.run) == bool(saved.block_side) or not set(saved.public) <= set(PARTS):
        raise UsageError("The groups of cells are neither blocks nor runs.")
    share, areas = {"share": pl.Float64}, saved.commute_side**2
    commute = model.table("commute", {"low": pl.Float64, "high": pl.Float64, **share})
    if commute.height == 0 or commute.height % areas:
        raise UsageError("The commute has not the same bins everywhere.")
    low, high = (commute[name].to_numpy().reshape(areas, -1) for name in ("low", "high"))
    if (low[:, 1:] != high[:, :-1]).any():
        raise UsageError("The bins of commutes do not follow one another.")
    per_day = model.table("per-day", {"mean": pl.Float64, "deviation": pl.Float64, **share})
    means, deviations = (tuple(sorted(set(per_day[name].to_list()))) for name in ("mean", "deviation"))
    listed = [(mean, deviation) for mean in means for deviation in deviations]
    if (
        listed != list(zip(per_day["mean"], per_day["deviation"], strict=True))
        or min(means + deviations, default=0) < 0
    ):
        raise UsageError("Means and deviations are not all pairs in their order.")
    times = model.table("call-time", {"first": pl.Float64, "second": pl.Float64}, rows=HOURS)
    cells = saved.side**2
    tables = Tables(
        side=saved.side,
        home=model.table("home", share, rows=cells)["share"].to_numpy(),
        work=model.table("work", share, rows=cells)["share"].to_numpy(),
        commute_side=saved.commute_side,
        edges=np.concatenate([low, high[:, -1:]], axis=1),
        commute=commute["share"].to_numpy().reshape(areas, -1),
        means=means,
        deviations=deviations,
        per_day=per_day["share"].to_numpy().reshape(len(means), len(deviations)),
        classes=model.table("classes", share, rows=CLASSES)["share"].to_numpy(),
        times=np.stack([times["first"].to_numpy(), times["second"].to_numpy()]),
        groups=groups,
        hours=model.table("hours", share, rows=HOURS * groups.size)["share"].to_numpy().reshape(HOURS, -1),
        callers=saved.callers,
    )
    return tables, tuple(saved.public)
