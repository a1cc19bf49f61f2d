"""One page with a curve for each method, dataset and metric: the figure of the paper, from our numbers."""

from __future__ import annotations

from pathlib import Path

from frame.results import Results


def page(results: Results, path: Path) -> None:
    """Write the plots as one self-contained HTML file; dashed lines are references."""
    import plotly.graph_objects as go
    from plotly.io import to_html

    parts: list[str] = []
    for dataset in results.study.datasets:
        for metric in results.metrics(dataset):
            figure = go.Figure(
                layout={
                    "title": f"{dataset}, {metric}",
                    "xaxis": {"title": "epsilon", "type": "category"},
                    "yaxis": {"title": metric, "rangemode": "tozero"},
                    "template": "simple_white",
                    "height": 420,
                }
            )
            budgets = results.budgets(dataset, metric)
            for place, method in enumerate(results.methods(dataset, metric)):
                found = [(e, results.get(dataset, method, e, metric)) for e in budgets]
                known = [(e, s) for e, s in found if s is not None]
                colour = _COLOURS[place % len(_COLOURS)]
                figure.add_scatter(
                    x=[e for e, _ in known],
                    y=[s.mean for _, s in known],
                    error_y={"array": [2 * s.error for _, s in known], "thickness": 1},
                    name=method,
                    line={"color": colour},
                )
                theirs = {
                    r.epsilon: r.value
                    for r in results.study.references
                    if (r.dataset, r.method, r.metric) == (dataset, method, metric)
                }
                if theirs:
                    there = [e for e in budgets if e in theirs]
                    figure.add_scatter(
                        x=there,
                        y=[theirs[e] for e in there],
                        name=f"{method}, {results.study.source}",
                        line={"color": colour, "dash": "dash"},
                    )
            parts.append(to_html(figure, include_plotlyjs=not parts, full_html=False))
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(
        f"<!doctype html><meta charset='utf-8'><title>{results.study.title}</title>"
        f"<body style='font-family:sans-serif;max-width:60rem;margin:auto'><h1>{results.study.title}</h1>"
        + "".join(parts),
        encoding="utf-8",
    )


_COLOURS = ("#0b5fa5", "#c8553d", "#2e7d4f", "#7a4ea3", "#b8860b", "#444444", "#1aa6a6", "#a3195b")
