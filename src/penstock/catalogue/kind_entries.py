"""The kinds of data, and the kinds of answer: one entry each, plain data."""

from __future__ import annotations

from penstock.catalogue.entry import (
    ENGINES,
    MEMORY,
    SPARK,
    AnswerInfo,
    KindInfo,
    OptionInfo,
    UnitInfo,
)

ANSWERS = (
    AnswerInfo(
        "synthetic data", words="a model that rows are drawn from, and that answers questions", sampled=True
    ),
    AnswerInfo("counts", words="numbers alone"),
    AnswerInfo(
        "selection", words="some of the candidates that the schema lists", of="a selection from {data}"
    ),
    AnswerInfo(
        "clusters", words="centres of groups of points, to which new points belong", of="clusters of {data}"
    ),
    AnswerInfo(
        "classifier",
        words="what predicts one column from the others, and rows to train on",
        of="a classifier from {data}",
        sampled=True,
    ),
    AnswerInfo(
        "predictor",
        words="what predicts one column from the others, a label or a number, and nothing else",
        of="a predictor from {data}",
    ),
)

_RECORD = UnitInfo("record", yours="your record", several=True)
_USER = UnitInfo("user", yours="your records", plural=True, bounded=True)
_EDGE = UnitInfo("edge", yours="one of your links", several=True, together=True)
_SEQUENCE = UnitInfo("sequence", yours="your sequence", several=True)
_ID = UnitInfo("id", yours="all updates of your id", plural=True, several=True)
_EVENT = UnitInfo("event", yours="one of your events", several=True)
_CALLER = UnitInfo("caller", yours="your calls", plural=True)

_CONDITIONS = OptionInfo(
    "condition",
    "file",
    "FILE",
    "all conditions of a file. One in each line, or a CSV or Parquet file with a column 'condition'.",
    many=True,
)

_SQL = OptionInfo(
    "sql",
    "sql",
    "SELECT",
    "one SELECT statement about the table 'release': by the model where that has the answer, else by "
    "synthetic rows, and the answer says which.",
)

_NUMBERS = (
    OptionInfo("groups", "by", "FIELD,…", "for each value of one or two fields.", narrowed=True),
    OptionInfo("sum", "sum", "FIELD", "the sum of a field of numbers.", narrowed=True),
    OptionInfo("mean", "mean", "FIELD", "the mean of a field of numbers.", narrowed=True),
    OptionInfo(
        "quantiles",
        "quantiles",
        "FIELD",
        "quantiles of a field of numbers; FIELD=0.1,0.5,0.9 says which.",
        narrowed=True,
    ),
    OptionInfo(
        "histogram", "histogram", "FIELD", "how many records each bin or category has.", narrowed=True
    ),
)

_COUNT = OptionInfo(
    "count",
    "count",
    "A,B,…",
    "how often a string of symbols occurs ($ in front for the beginning of a sequence, & at the back for "
    "its end), or how many sets hold all of some items.",
)
_COUNTS = OptionInfo(
    "count",
    "counts",
    "FILE",
    "the same for all strings or sets of items of a file. One in each line, written as for --count, or a "
    "CSV or Parquet file with a column 'string' or 'items'.",
    many=True,
)
_TOP = OptionInfo("top", "top", "K", "the K most frequent strings, or sets of items.")

KINDS = (
    KindInfo(
        "table",
        words="a table",
        units=(_RECORD, _USER),
        targets=True,
        data="penstock.kinds.table.data:Table",
        draft="penstock.kinds.table.draft:TableDraft",
        evaluation="penstock.kinds.table.evaluation:TableEvaluation",
        audits="penstock.kinds.table.audits:AUDITS",
        made_up="penstock.kinds.table.made_up:made_up_rows",
        private_drafts=True,
        engines=ENGINES,
        options=(_CONDITIONS, *_NUMBERS, _SQL),
    ),
    KindInfo(
        "points",
        words="points on a map",
        maps=True,
        drops=True,
        units=(_RECORD, _USER),
        data="penstock.kinds.points.data:Points",
        draft="penstock.kinds.points.draft:PointsDraft",
        evaluation="penstock.kinds.points.evaluation:PointsEvaluation",
        audits="penstock.kinds.points.audits:AUDITS",
        made_up="penstock.kinds.points.made_up:made_up_rows",
        private_drafts=True,
        engines=ENGINES,
        options=(
            _CONDITIONS,
            OptionInfo(
                "box",
                "box",
                "LOW,HIGH,…",
                "the number inside a box, low,high for each numeric field, or by name: x=0..5,y=2..8.",
            ),
            OptionInfo(
                "box",
                "boxes",
                "FILE",
                "the numbers inside all boxes of a CSV or Parquet file with the columns x_low, x_high, "
                "and so on; as CSV, or with --json.",
                many=True,
            ),
            OptionInfo("map", "geojson", "FILE", "write the map of a tree with its counts."),
            OptionInfo("clusters", "clusters", "K", "the K largest clusters, with their centres and sizes."),
            _SQL,
        ),
    ),
    KindInfo(
        "sequences",
        words="sequences",
        units=(_SEQUENCE, _USER),
        data="penstock.kinds.sequences.data:Sequences",
        draft="penstock.kinds.sequences.draft:SequencesDraft",
        evaluation="penstock.kinds.sequences.evaluation:SequencesEvaluation",
        audits="penstock.kinds.sequences.audits:AUDITS",
        made_up="penstock.kinds.sequences.made_up:made_up_sequences",
        engines=(MEMORY, SPARK),
        layout=("sequence", "penstock.kinds.sequences.layout:SequenceLayout"),
        options=(
            _COUNT,
            _COUNTS,
            _TOP,
            OptionInfo("next", "next", "A,B,…", "what comes after a string of symbols."),
            _SQL,
        ),
    ),
    KindInfo(
        "itemsets",
        words="item sets",
        units=(_RECORD, _USER),
        data="penstock.kinds.itemsets.data:ItemSets",
        draft="penstock.kinds.itemsets.draft:ItemSetsDraft",
        evaluation="penstock.kinds.itemsets.evaluation:ItemSetsEvaluation",
        audits="penstock.kinds.itemsets.audits:AUDITS",
        made_up="penstock.kinds.itemsets.made_up:made_up_sets",
        engines=ENGINES,
        layout=("items", "penstock.kinds.itemsets.layout:ItemSetLayout"),
        options=(
            _COUNT,
            _COUNTS,
            _TOP,
            OptionInfo("rules", "rules", "K", "the K surest rules of what goes with what."),
            OptionInfo("sizes", "sizes", "K", "how many sets have each size, up to K items."),
            OptionInfo("compact", "compact", "FILE", "write every different synthetic set with its count."),
            _SQL,
        ),
    ),
    KindInfo(
        "graph",
        words="a graph",
        units=(_EDGE,),
        data="penstock.kinds.graph.data:Graph",
        draft="penstock.kinds.graph.draft:GraphDraft",
        evaluation="penstock.kinds.graph.evaluation:GraphEvaluation",
        audits="penstock.kinds.graph.audits:AUDITS",
        made_up="penstock.kinds.graph.made_up:made_up_edges",
        layout=("edges", "penstock.kinds.graph.layout:EdgeLayout"),
        options=(
            OptionInfo(
                "pattern", "pattern", "NAME", "how many there are: edge, triangle, 3-star, 4-clique, …"
            ),
            OptionInfo("degree", "degree", "D", "how many nodes have D links, or D..E of them."),
            OptionInfo("graph", "graph", "FILE", "write a synthetic graph as .graphml, or .txt like SNAP."),
            _SQL,
        ),
    ),
    KindInfo(
        "stream",
        words="a stream of updates",
        units=(_ID, _EVENT),
        audits="penstock.kinds.stream.audits:AUDITS",
        layout=("stream", "penstock.kinds.stream.layout:StreamLayout"),
    ),
    KindInfo(
        "calls",
        words="calls",
        maps=True,
        units=(_CALLER,),
        data="penstock.kinds.calls.data:Calls",
        draft="penstock.kinds.calls.draft:CallsDraft",
        evaluation="penstock.kinds.calls.evaluation:CallsEvaluation",
        audits="penstock.kinds.calls.audits:AUDITS",
        made_up="penstock.kinds.calls.made_up:made_up_calls",
        engines=ENGINES,
        layout=("calls", "penstock.kinds.calls.layout:CallsLayout"),
        options=(
            OptionInfo(
                "calls",
                "calls",
                "BOX at HOUR",
                "calls of a day in a box such as lat=40.7..40.8,lon=-74..-73.9, at an hour from 0 to 23.",
            ),
            OptionInfo("trips", "trips", "BOX to BOX", "callers who live in one box and work in another."),
            OptionInfo(
                "beyond", "beyond", "DISTANCE", "the share of callers who move further on a day: 5 miles."
            ),
            OptionInfo("flows", "flows", "K", "callers who live and work in each of K x K areas."),
            _SQL,
        ),
    ),
)
