"""Releases of graphs: what they cost, what they hold, and how good they are on graphs that everybody
knows."""

from __future__ import annotations

import json
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

import networkx as nx
import numpy as np
import polars as pl
import pytest
from scipy.sparse.csgraph import shortest_path
from tests.kinds.graph.known import DATA, graph, networkx_graph

import penstock
from penstock.cli import run as command
from penstock.errors import (
    BudgetError,
    PenstockError,
    PenstockWarning,
    QueryError,
    ReleaseError,
    UsageError,
)
from penstock.kinds.graph import pictures
from penstock.kinds.graph.degree_triangle import DegreeTriangleRelease
from penstock.kinds.graph.kronecker import KroneckerRelease
from penstock.kinds.graph.reading import open_graph
from penstock.kinds.graph.simple import SimpleGraph
from penstock.kinds.graph.statistics import DISTANCES, hops, local_clustering, mean, spectrum, statistics
from penstock.kinds.graph.subgraph_counts import LadderCounts
from penstock.schema import Schema

KARATE = Schema.from_yaml("{kind: graph, edges: {nodes: 34}}")
TEN = Schema.from_yaml("{kind: graph, unit: {protects: edge, at_most: 10}, edges: {nodes: 34}}")


def made(method: str | None = None, epsilon: str = "10", schema: Schema = KARATE, **more: Any) -> Any:
    known = networkx_graph("karate")
    more.setdefault("seed", 1)
    return penstock.release(known, schema, epsilon=epsilon, method=method, **more)


def test_the_default_keeps_degrees_and_triangles() -> None:
    found = made(epsilon="40")
    assert isinstance(found, DegreeTriangleRelease)
    assert found.degrees.whole.tolist() == sorted(graph("karate").degrees.tolist())
    assert abs(found.triangles - 45) <= 2
    drawn = [found.graph(seed=seed) for seed in range(10)]
    assert all(one.number_of_nodes() == 34 for one in drawn)
    assert all(76 <= one.number_of_edges() <= 78 for one in drawn)
    assert 30 < np.mean([sum(nx.triangles(one).values()) / 3 for one in drawn]) < 70


def test_receipts_divide_the_budget_and_say_what_is_protected() -> None:
    halves = {charge.label: charge.epsilon for _, charge in made("kronecker", "1").receipt.charges()}
    assert halves == {"degrees": Fraction(1, 2), "triangles": Fraction(1, 2)}
    pure = made("kronecker", "1", delta="1e-6").receipt
    assert (pure.epsilon, pure.delta) == (1, 0)
    paid = made("kronecker", "1", delta="1e-6", parameters={"preset": "published"}).receipt
    assert (paid.epsilon, paid.delta) == (1, Fraction(1, 10**6))
    assert paid.unit.protects == "edge"
    several = made(
        "ladder", "1", parameters={"counts": "triangle, 2-star", "shares": "3/4, 1/4", "bars": "1/5"}
    )
    assert [charge.epsilon for _, charge in several.receipt.charges()] == [
        Fraction(1, 5),
        Fraction(3, 5),
        Fraction(1, 5),
    ]
    assert "any 10 edges together" in made("ladder", "1", schema=TEN).receipt.guarantee


def test_edges_protected_together_cost_as_many_times() -> None:
    details = {
        method: [
            charge.detail for _, charge in made(method, "1", schema=schema, parameters=more).receipt.charges()
        ]
        for method, schema, more in (
            ("degree-sequence", TEN, {}),
            ("ladder", TEN, {"bars": 0}),
        )
    }
    assert details == {"degree-sequence": ["scale 20"], "ladder": ["exponent 0.05 a rung"]}


@pytest.mark.parametrize("preset", ["pure", "published"])
def test_kronecker_on_karate(preset: str) -> None:
    found = made("kronecker", "40", delta="1e-3", parameters={"preset": preset})
    assert isinstance(found, KroneckerRelease)
    assert (found.initiator.a, found.initiator.b, found.initiator.c) == pytest.approx(
        (1.0, 0.652, 0.078), abs=0.05
    )
    assert found.drawn_nodes == 64
    assert found.matrix(seed=1).shape == (64, 64)
    assert found.count("triangle").value == pytest.approx(45, abs=15)


def test_a_published_preset_without_a_delta_is_refused_unpaid(tmp_path: Path) -> None:
    ledger = tmp_path / "book.db"
    penstock.Ledger.create(ledger)
    book = penstock.Ledger.open(ledger)
    book.set_limit("graph", 10)
    for method, parameters in (("kronecker", {"preset": "published"}), ("noisy-local-counts", {})):
        with pytest.raises(BudgetError, match="delta"):
            made(method, "1", parameters=parameters, ledger=str(ledger), account="graph")
    assert penstock.Ledger.open(ledger).account("graph").balance().left[0] == 10


def test_features_of_zero_or_less_never_stop_a_release() -> None:
    """A graph without any triangle or star, at a budget where noise is all there is."""
    pair = pl.DataFrame({"from": [1], "to": [2]})
    schema = Schema.from_yaml("{kind: graph, edges: {nodes: 40}}")
    for seed in range(4):
        for method in ("kronecker", "degree-triangle"):
            found = penstock.release(pair, schema, epsilon="0.05", method=method, seed=seed)
            assert found.sample(seed=1).columns == ["from", "to"]
            assert found.pictures()


@pytest.mark.parametrize("nodes", [1, 2, 3])
@pytest.mark.parametrize("method", ["kronecker", "degree-triangle", "degree-sequence", "ladder"])
def test_graphs_that_are_smaller_than_any_pattern(nodes: int, method: str) -> None:
    schema = Schema.from_yaml(f"{{kind: graph, edges: {{nodes: {nodes}}}}}")
    rows = pl.DataFrame({"from": [0], "to": [nodes - 1]})
    found = penstock.release(rows, schema, epsilon=1, method=method, seed=1)
    assert found.report()
    assert found.sample(2, seed=1).height >= 0 if found.can_sample else found.questions()


@pytest.mark.parametrize(
    ("method", "parameters", "words"),
    [
        ("ladder", {"counts": ""}, "at least one pattern"),
        ("ladder", {"counts": "triangle, triangle"}, "each once"),
        ("ladder", {"counts": "triangle, 2-star", "shares": "1/2"}, "one number above 0 for each of 2"),
        ("ladder", {"shares": "2"}, "adding up to 1"),
        ("ladder", {"counts": "900-star"}, None),
        ("ladder", {"counts": "square"}, "is no pattern"),
        ("kronecker", {"matched": "EH"}, "three or four"),
        ("kronecker", {"matched": "EHX"}, "three or four"),
        ("smooth-counts", {"counts": "4-clique"}, "use the ladder"),
        ("noisy-local-counts", {"counts": "triangle"}, "k-triangles"),
    ],
)
def test_parameters_that_make_no_sense(method: str, parameters: dict[str, Any], words: str | None) -> None:
    if words is None:
        assert made(method, parameters=parameters)  # more leaves than there are nodes: none, and no noise
        return
    with pytest.raises(UsageError, match=words):
        made(method, parameters=parameters, delta="1e-3")


def test_a_pattern_whose_number_has_too_many_digits_is_refused() -> None:
    wide = Schema.from_yaml("{kind: graph, edges: {nodes: 100000}}")
    with pytest.raises(UsageError, match=r"2\*\*900"):
        LadderCounts(counts="300-star").check(wide)


def test_error_bars_cover_the_truth() -> None:
    """60 releases: 95 % each, here far more, since the bar is that of the widest ladder; 1e-6 by chance."""
    truth = {"triangle": 45, "3-star": 1764, "4-clique": 11, "2-triangle": 151}
    misses = 0
    for seed in range(15):
        found = made("ladder", "2", seed=seed, parameters={"counts": ", ".join(truth)})
        misses += sum(abs(found.counts[name] - right) > found.errors[name] for name, right in truth.items())  # type: ignore[attr-defined]
    assert misses <= 12


def test_baselines_on_karate() -> None:
    for method, parameters in (
        ("laplace-counts", {"counts": "triangle"}),
        ("smooth-counts", {"counts": "triangle", "calibration": "tight"}),
        ("noisy-local-counts", {"counts": "2-triangle"}),
    ):
        found = made(method, "40", delta="0.01", parameters=parameters)
        (name,) = found.counts  # type: ignore[attr-defined]
        right = {"triangle": 45, "2-triangle": 151}[name]
        assert found.questions()["pattern"].ask(name).value == pytest.approx(right, rel=0.5)


def test_questions_that_make_no_sense() -> None:
    for method in ("ladder", "degree-sequence", "kronecker", "degree-triangle"):
        with pytest.raises(QueryError):
            made(method).questions()["pattern"].ask("pentagon")
    with pytest.raises(QueryError, match="no degree"):
        made("degree-sequence").questions()["degree"].ask("many")
    assert made("degree-sequence", "40").questions()["degree"].ask("0..33").value == 34


# Files -----------------------------------------------------------------------------------------------


def test_graphs_are_written_and_read_again(tmp_path: Path) -> None:
    found = made()
    rows = found.sample(seed=4)
    for ending in (".graphml", ".txt"):
        path = tmp_path / f"g{ending}"
        found.files()[ending](rows, path)
    loaded = nx.read_graphml(tmp_path / "g.graphml", node_type=int)
    assert (loaded.number_of_nodes(), loaded.number_of_edges()) == (34, rows.height)
    plain = Schema.from_yaml("{kind: graph, edges: {nodes: 34, header: false}}")
    again = penstock.release(tmp_path / "g.txt", plain, epsilon=40, method="degree-sequence", seed=1)
    assert again.questions()["pattern"].ask("edge").value == pytest.approx(rows.height, abs=3)
    several = found.sample(3, seed=4)
    assert several["graph"].unique().sort().to_list() == [1, 2, 3]
    for ending in (".graphml", ".txt"):
        with pytest.raises(UsageError, match="one graph"):
            found.files()[ending](several, tmp_path / "no")


def test_samples_are_edges_graphs_or_matrices() -> None:
    found = made()
    edges = found.sample(seed=9)
    drawn, matrix = (found.sample(seed=9, form=form) for form in ("networkx", "scipy"))
    assert {frozenset(edge) for edge in drawn.edges()} == {frozenset(row) for row in edges.rows()}
    assert (drawn.number_of_nodes(), matrix.shape, int(matrix.sum())) == (34, (34, 34), 2 * edges.height)
    for wrong in ({"form": "dot"}, {"form": "scipy", "n": 2}):
        with pytest.raises(UsageError):
            found.sample(**wrong)


def test_a_seed_repeats_a_graph() -> None:
    found = made()
    assert found.sample(seed=9).equals(found.sample(seed=9))
    assert not found.sample(seed=9).equals(found.sample(seed=10))


@pytest.mark.parametrize("method", ["degree-triangle", "degree-sequence", "kronecker", "ladder"])
def test_spoiled_models_are_refused(method: str, tmp_path: Path) -> None:
    found = made(method)
    model = found.model()
    spoilt: list[dict[str, Any]] = [
        {},
        {**model.json, "nodes": 3},
        {**model.json, "initiator": [2.0, 0.5, 0.1]},
    ]
    spoilt += [
        {**model.json, "counts": {}},
        {**model.json, "closeness": 7.0},
        {**model.json, "errors": {"x": 1.0}},
    ]
    from penstock.releases import Manifest, Model

    manifest = Manifest(found.method, found.schema, found.receipt, found.parameters)
    refused = 0
    for json_ in spoilt:
        if json_ == dict(model.json):
            continue
        try:
            type(found).from_model(manifest, Model(json=json_, tables=model.tables))
        except ReleaseError:
            refused += 1
    assert refused >= 2


def test_the_whole_way_on_the_command_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    lines = "\n".join(f"{a}\t{b}" for a, b in networkx_graph("karate").edges())
    Path("karate.txt").write_text(f"# Zachary\n{lines}\n", encoding="utf-8")
    assert command(["draft", "karate.txt", "--kind", "graph"]) == 0
    draft = Path("karate.schema.yaml")
    text = draft.read_text(encoding="utf-8")
    assert "edges: {nodes: 34, header: false}" in text
    draft.write_text(text.replace("review: true", "review: false"), encoding="utf-8")
    release = ["release", "karate.txt", "-s", str(draft), "-e", "5"]
    assert command([*release, "-o", "graphs"]) == 0
    assert command([*release, "-m", "ladder", "-p", "counts=triangle,4-clique", "-o", "counts"]) == 0
    assert command([*release, "-m", "degree-sequence", "-o", "degrees"]) == 0
    assert command([*release, "-m", "kronecker", "-o", "model"]) == 0
    capsys.readouterr()
    assert command(["query", "counts", "--pattern", "triangle", "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert abs(told["value"] - 45) < 200
    assert told["error"] > 0
    assert command(["inspect", "graphs"]) == 0
    assert command(["query", "degrees", "--degree", "1..3"]) == 0
    assert command(["query", "graphs", "--graph", "out.graphml"]) == 0
    assert command(["sample", "model", "-n", "5", "-o", "five.parquet", "--seed", "1"]) == 0
    assert pl.read_parquet("five.parquet")["graph"].n_unique() == 5
    assert command(["sample", "graphs", "-o", "out.svg"]) != 0
    assert ".graphml" in capsys.readouterr().err
    capsys.readouterr()
    for folder in ("graphs", "counts", "degrees", "model"):
        assert command(["evaluate", folder, "karate.txt", "--json"]) == 0
        assert json.loads(capsys.readouterr().out)["scores"]


def test_reports_draw_small_graphs_and_squares_of_large_ones() -> None:
    titles = [picture.title for picture in made().pictures()]
    assert "Degrees" in titles
    assert "Clustering" in titles
    few = penstock.release(
        nx.path_graph(12), Schema.from_yaml("{kind: graph, edges: {nodes: 12}}"), epsilon=9, seed=1
    )
    (drawn,) = [picture for picture in few.pictures() if picture.title == "A synthetic graph"]
    linked = zip(*(ends.tolist() for ends in few.simple().edges), strict=True)
    assert [(one - 1, other - 1) for one, other in drawn.rows] == list(linked)
    assert "Draw synthetic graphs" in few.report()
    many = penstock.release(
        nx.gnm_random_graph(300, 900, seed=1),
        Schema.from_yaml("{kind: graph, edges: {nodes: 300}}"),
        epsilon=2,
        seed=1,
        method="kronecker",
    )
    titles = [picture.title for picture in many.pictures()]
    assert {"Initiator", "Who is linked with whom", "Eigenvalues"} <= set(titles)


def test_a_drawn_graph_is_spread_by_the_steps_between_its_nodes() -> None:
    path = SimpleGraph.of(5, np.array([0, 1, 2, 3]), np.array([1, 2, 3, 4]))
    places = pictures.spread(path.adjacency)
    gaps = np.linalg.norm(places[:, None] - places[None], axis=2)
    assert gaps == pytest.approx(shortest_path(path.adjacency, unweighted=True), abs=0.12)
    two = pictures.spread(SimpleGraph.of(4, np.array([0, 1]), np.array([2, 3])).adjacency)
    assert np.linalg.norm(two[0] - two[1]) > 1.4


def test_evaluations_say_what_their_ceiling_is() -> None:
    known = networkx_graph("karate")
    page = penstock.evaluate(made(), known).report()
    assert "the same model without noise" in page
    assert "Total variation" not in page
    assert "no error at all" in penstock.evaluate(made("ladder"), known).report()


def test_a_release_says_what_the_protection_of_edges_is_not() -> None:
    assert any("not whole nodes" in limit for limit in made("ladder").limits())


# Statistics ------------------------------------------------------------------------------------------


def test_statistics_agree_with_networkx() -> None:
    known = networkx_graph("karate")
    found = graph("karate")
    lengths = [d for _, row in nx.all_pairs_shortest_path_length(known) for d in row.values()]
    assert hops(found).tolist() == [sum(d <= h for d in lengths) for h in range(max(lengths) + 1)]
    assert np.mean(local_clustering(found)) == pytest.approx(nx.average_clustering(known))
    values = np.sort(np.abs(np.linalg.eigvalsh(nx.to_numpy_array(known, weight=None))))[::-1]
    assert spectrum(found, 10)[0] == pytest.approx(values[:10])
    rank = np.linalg.matrix_rank(nx.to_numpy_array(known, weight=None))
    assert np.count_nonzero(spectrum(found, 34)[0]) == rank == 24


@dataclass(frozen=True)
class Published:
    """What is known of a public graph; clustering over all nodes, and over those with at least two links."""

    nodes: int
    values: tuple[float, ...]
    clustering: tuple[float, float]
    pairs: tuple[int, ...]
    total: int
    diameter: int


PUBLISHED = {
    "ca-GrQc": Published(
        5242,
        (45.62, 38.12, 34.01, 23.00, 22.49),
        (0.5296, 0.6865),
        (5242, 34210, 161690, 711648, 2520660, 6349322, 11057540),
        17293270,
        17,
    ),
    "ca-HepTh": Published(
        9877,
        (31.03, 23.00, 20.06, 19.05, 18.12),
        (0.4714, 0.5996),
        (9877, 61823, 420719, 2624483, 11325737),
        74619885,
        18,
    ),
    "as20000102": Published(
        6474,
        (46.32, 40.30, 27.26, 26.63, 23.13),
        (0.2522, 0.3992),
        (6474, 31618, 3671666, 18217962, 33994816, 40478406),
        41912676,
        9,
    ),
}


@pytest.mark.parametrize("name", PUBLISHED)
def test_statistics_of_published_graphs(name: str) -> None:
    path, known = DATA / f"{name}.txt.gz", PUBLISHED[name]
    if not path.exists():
        pytest.skip("the public graphs are not here")
    schema = Schema.from_yaml(f"{{kind: graph, edges: {{nodes: {known.nodes}, header: false}}}}")
    found = open_graph(path, schema)
    reached = hops(found)
    assert tuple(reached[: len(known.pairs)].tolist()) == known.pairs
    assert (int(reached[-1]), len(reached) - 1) == (known.total, known.diameter)
    local = local_clustering(found)
    assert np.mean(local) == pytest.approx(known.clustering[0], abs=5e-5)
    assert np.mean(local[found.degrees >= 2]) == pytest.approx(known.clustering[1], abs=5e-5)
    assert spectrum(found, 5)[0] == pytest.approx(known.values, abs=0.006)


def test_statistics_are_written_as_a_table() -> None:
    table = statistics(graph("karate")).table()
    assert table.columns == ["statistic", "x", "y"]
    assert set(table["statistic"]) == set(DISTANCES)
    assert table.filter(pl.col("statistic") == "degrees")["y"].sum() == 34


def test_a_delta_that_protects_nobody_is_told() -> None:
    many = Schema.from_yaml("{kind: graph, edges: {nodes: 128}}")
    with pytest.warns(PenstockWarning, match="protects nobody well among 128 nodes"):
        made("kronecker", "1", many, delta="0.01", parameters={"preset": "published"})


def test_a_graph_is_at_no_distance_from_itself_and_the_mean_of_one_is_that_one() -> None:
    found = statistics(graph("karate"))
    for distance in DISTANCES.values():
        assert distance(found, mean([found])) == pytest.approx(0, abs=1e-12)
        assert distance(found, statistics(graph("petersen"))) > 0.01


def test_statistics_of_graphs_without_links() -> None:
    empty = penstock.release(
        pl.DataFrame({"from": [0], "to": [0]}), KARATE, epsilon=1, seed=1, method="degree-sequence"
    )
    assert empty.n == 34  # type: ignore[attr-defined]
    with pytest.raises(PenstockError, match="no edges"):
        penstock.evaluate(empty, pl.DataFrame({"from": [0], "to": [0]}))
