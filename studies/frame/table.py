"""Results as text: one table for each dataset and metric, ours beside the reference."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from frame.results import Results
from frame.statements import checked


def number(value: float) -> str:
    """Three or four digits.

    >>> number(0.04291), number(12.3456), number(0.0)
    ('.0429', '12.35', '0')
    """
    if value == 0:
        return "0"
    text = f"{value:.4f}" if abs(value) < 1 else f"{value:.4g}"
    return text.replace("0.", ".", 1) if text.startswith(("0.", "-0.")) else text


def markdown(heads: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    """A Markdown table, its columns padded so that it also reads well in a terminal."""
    widths = [max(len(line[i]) for line in [heads, *rows]) for i in range(len(heads))]

    def line(cells: Sequence[str]) -> str:
        padded = [
            cells[0].ljust(widths[0]),
            *(c.rjust(w) for c, w in zip(cells[1:], widths[1:], strict=True)),
        ]
        return f"| {' | '.join(padded)} |"

    rule = f"| {'-' * widths[0]} | {' | '.join('-' * (w - 1) + ':' for w in widths[1:])} |"
    return [line(heads), rule, *(line(row) for row in rows)]


def tables(results: Results, datasets: Sequence[str] | None = None) -> Iterator[str]:
    """Means by method and budget, for each dataset and metric; references in brackets."""
    for dataset in datasets or results.study.datasets:
        yield from _tables(results, dataset)


def _tables(results: Results, dataset: str) -> Iterator[str]:
    references = {(r.dataset, r.method, r.epsilon, r.metric): r.value for r in results.study.references}
    for metric in results.metrics(dataset):
        budgets = results.budgets(dataset, metric)
        rows = []
        for method in results.methods(dataset, metric):
            row = [method]
            for epsilon in budgets:
                found = results.get(dataset, method, epsilon, metric)
                value = references.get((dataset, method, epsilon, metric))
                text = "" if found is None else number(found.mean)
                row.append(f"{text} ({number(value)})" if found is not None and value is not None else text)
            rows.append(row)
        with_references = any("(" in cell for row in rows for cell in row[1:])
        bracket = f"; {results.study.source} in brackets" if with_references else ""
        yield "\n".join([f"**{dataset}, {metric}**{bracket}", "", *markdown(["ε", *budgets], rows)])


def excerpt(
    results: Results,
    what: str,
    datasets: Sequence[str],
    methods: Sequence[str],
    epsilon: str,
    metric: str,
) -> str:
    """One figure for each dataset and method, for a first screen; empty where it was not measured."""
    rows = []
    for dataset in datasets:
        found = [results.get(dataset, method, epsilon, metric) for method in methods]
        rows.append([dataset, *("" if one is None else number(one.mean) for one in found)])
    return "\n".join(markdown([f"{what}, ε {epsilon}", *methods], rows))


def comparison(results: Results) -> list[str]:
    """How our figures stand to the references: one line in words, then those that disagree."""
    compared = results.compared()
    if not compared:
        return []
    off = [one for one in compared if not one.agrees]
    better = [one for one in off if one.better]
    lines = [
        f"{len(compared) - len(off)} of {len(compared)} figures agree with those {results.study.source} "
        f"(three standard errors plus {results.study.tolerance:.0%}, or "
        f"{results.study.few_runs_tolerance:.0%} where the reference has at most 5 runs); "
        f"{len(better)} are better, {len(off) - len(better)} worse."
    ]
    if off:
        rows = [
            [
                f"{ref.dataset}, {ref.method}, ε {ref.epsilon}, {ref.metric}",
                number(one.ours.mean),
                number(ref.value),
                f"{one.ratio:.2f}",
                "better" if one.better else "worse",
            ]
            for one, ref in ((one, one.reference) for one in off)
        ]
        lines += ["", *markdown(["figure", "ours", results.study.source, "ratio", "which is"], rows)]
    return lines


def report(results: Results) -> str:
    """Everything about a study, for the terminal."""
    lines = []
    for one in checked(results):
        numbers = f" ({one.verdict.numbers})" if one.verdict.numbers else ""
        lines.append(f"- Statement {one.number}: {one.text} **{one.verdict.words}**{numbers}.")
    study = results.study
    shown = [study.summary(results)] if study.summary is not None else list(tables(results))
    return _joined([f"### {study.title}", *_about(results), *lines, "\n".join(comparison(results)), *shown])


def account(results: Results, page: str) -> str:
    """What a study measured and how it stands to the references: a section of its page."""
    link = f"[The tables]({page}-tables.md#{results.study.name})."
    return _joined([f"### {results.study.title}", *_about(results), "\n".join(comparison(results)), link])


def every_table(results: Results) -> str:
    """All that a study measured: a section of the appendix."""
    study = results.study
    head = f"## {study.title} {{ #{study.name} }}"
    if study.summary is not None:
        return _joined([head, study.summary(results)])
    parts = [head]
    for dataset in study.datasets:
        shown = list(tables(results, [dataset]))
        parts += [f"### {dataset}", *shown] if shown else []
    return _joined(parts)


def agreement(*studies: Results) -> str:
    """How many of all figures agree with the references, in one sentence."""
    compared = [one for results in studies for one in results.compared()]
    off = [one for one in compared if not one.agrees]
    better = sum(one.better for one in off)
    return (
        f"{len(compared) - len(off)} of {len(compared)} figures agree with those {studies[0].study.source}, "
        f"{better} {'is' if better == 1 else 'are'} better, {len(off) - better} worse."
    )


def runs(results: Results) -> str:
    """How many runs are behind a figure, in words."""
    few, many = results.runs()
    return f"{few} to {many} runs" if few != many else f"{few} run{'s' if few != 1 else ''}"


def _about(results: Results) -> list[str]:
    return [f"Means of {runs(results)} for each figure.", *results.study.notes]


def _joined(parts: Sequence[str]) -> str:
    return "\n\n".join(part for part in parts if part) + "\n"
