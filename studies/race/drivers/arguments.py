"""What every driver is told, and the few lines all of them need. Standard library only."""

import argparse
import csv
import json
from types import SimpleNamespace


def arguments() -> SimpleNamespace:
    """TRAIN and DOMAIN to read, OUT to write, and the budget."""
    parser = argparse.ArgumentParser()
    parser.add_argument("train", help="CSV of integer codes")
    parser.add_argument("domain", help="JSON: the number of codes of each column")
    parser.add_argument("out", help="CSV of synthetic codes to write")
    parser.add_argument("--method", required=True)
    parser.add_argument("--epsilon", required=True)
    parser.add_argument("--delta", type=float, default=0.0)
    parser.add_argument("--rho", type=float, default=0.0, help="the zCDP that (epsilon, delta) buys")
    parser.add_argument("--rows", type=int, required=True, help="how many synthetic rows to draw")
    parser.add_argument("--records", type=int, default=0, help="those of TRAIN, where they are public")
    parser.add_argument("--relation", default="add-remove", help="of neighbours, for drivers that offer both")
    parser.add_argument("--degree", type=int, default=0, help="parents of a node; 0 leaves it to the peer")
    parser.add_argument("--schema", default="", help="YAML schema, for drivers that read one")
    given = parser.parse_args()
    with open(given.domain) as file:
        sizes = json.load(file)
    return SimpleNamespace(**{**vars(given), "sizes": sizes})


def write_rows(path: str, names: list[str], columns: list[list[int]]) -> None:
    with open(path, "w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(names)
        writer.writerows(zip(*columns))  # noqa: B905  (drivers also run on old interpreters)
