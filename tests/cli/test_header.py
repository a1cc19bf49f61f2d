"""A file without a header, from its draft to the evaluation of its release."""

from __future__ import annotations

from pathlib import Path

from tests.cli.desk import Cli


def test_the_command_line_takes_a_file_without_a_header_from_draft_to_evaluation(
    tmp_path: Path, cli: Cli
) -> None:
    place = tmp_path / "people.csv"
    place.write_text("39,State\n50,Private\n38,Private\n" * 30)
    schema, out = tmp_path / "people.schema.yaml", tmp_path / "release"
    refused = cli("draft", place)
    assert refused.code == 1
    assert "--no-header" in refused.err
    assert not schema.exists()
    named = ("--header", "age,work")
    assert cli("draft", place, *named).code == 0
    schema.write_text(schema.read_text().replace("review: true", "review: false"))
    assert cli("release", place, "-s", schema, "-e", "1", "-o", out).code == 1
    assert cli("release", place, "-s", schema, "-e", "1", "-o", out, *named).code == 0
    assert (out / "synthetic.csv").read_text().startswith("age,work\n")
    assert cli("evaluate", out, place, *named).code == 0
    selected = ("--column", "work", "-c", "1", *named)
    assert cli("select", place, "-s", schema, "-e", "1", *selected).code == 0
    assert cli("draft", place, "--no-header", "--force").code == 0
    assert "column_2" in schema.read_text()
    both = cli("draft", place, "--no-header", "--header", "a,b", "--force")
    assert both.code == 2
