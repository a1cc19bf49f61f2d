"""Results as text: one table for each dataset and metric, ours beside the reference."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from frame.results import Results


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


def report(results: Results, *, claims: bool = True, fold: bool = False) -> str:
    """Everything about a study in Markdown.

    The claims can be left to a table of their own, and the tables of each dataset folded away, as in the
    documentation.
    """
    study = results.study
    few, many = results.runs()
    runs = f"{few} to {many} runs" if few != many else f"{few} run{'s' if few != 1 else ''}"
    parts = [f"### {study.title}", f"Means of {runs} for each figure."]
    parts += list(study.notes)
    for claim in study.claims if claims else ():
        verdict = claim.verdict(results)
        numbers = f" ({verdict.numbers})" if verdict.numbers else ""
        parts.append(f"- Claim {claim.number}: {claim.text} **{verdict.words}**{numbers}.")
    parts.append("\n".join(comparison(results)))
    if study.summary is not None:
        parts.append(study.summary(results))
    elif fold:
        parts += [folded(dataset, list(tables(results, [dataset]))) for dataset in study.datasets]
    else:
        parts += list(tables(results))
    return "\n\n".join(part for part in parts if part) + "\n"


def folded(title: str, parts: Sequence[str]) -> str:
    """A block that the reader opens; nothing where there is nothing in it."""
    if not parts:
        return ""
    lines = "\n\n".join(parts).splitlines()
    return "\n".join([f'??? info "{title}"', "", *(f"    {line}" if line else "" for line in lines)])
