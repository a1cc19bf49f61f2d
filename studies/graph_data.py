"""The public graphs of the studies, as simple graphs, and what was published about them."""

from __future__ import annotations

import json
from functools import cache
from typing import Any

from frame.data import file
from frame.store import RESULTS
from penstock.kinds.graph.reading import open_graph
from penstock.kinds.graph.simple import SimpleGraph
from penstock.schema import Schema

FILES = {
    "AstroPh": ("ca-AstroPh", 18772),
    "HepPh": ("ca-HepPh", 12008),
    "HepTh": ("ca-HepTh", 9877),
    "CondMat": ("ca-CondMat", 23133),
    "GrQc": ("ca-GrQc", 5242),
    "AS20": ("as20000102", 6474),
}
BUDGETS = ("0.05", "0.1", "0.2", "0.4", "0.8", "1.6")
FITTED = ("GrQc", "HepTh", "AS20")
NOISES = ("none", "1", "0.2")
SHAPED = (*FITTED, "CondMat", "HepPh", "AstroPh")
NOISY_RUNS = 2001
RUNS = 60
SHAPE_RUNS = 3
GRAPHS = 100
PATTERNS = ("triangle", "3-star", "4-clique", "2-triangle")

EXPECTED: dict[tuple[str, str, str], tuple[float, ...]] = {
    ("ladder", "triangle", "AstroPh"): (0.0083, 0.00387, 0.00186, 0.00092, 0.000462, 0.000235),
    ("ladder", "triangle", "HepPh"): (0.00412, 0.00197, 0.000956, 0.000474, 0.000238, 0.000122),
    ("ladder", "triangle", "HepTh"): (0.0759, 0.0268, 0.011, 0.0049, 0.00229, 0.00113),
    ("ladder", "triangle", "CondMat"): (0.0334, 0.0151, 0.00705, 0.00341, 0.00169, 0.000859),
    ("ladder", "triangle", "GrQc"): (0.0608, 0.0248, 0.0107, 0.00487, 0.00234, 0.00116),
    ("ladder", "3-star", "AstroPh"): (0.0126, 0.00589, 0.00285, 0.00141, 0.000711, 0.000363),
    ("ladder", "3-star", "HepPh"): (0.00578, 0.00272, 0.00132, 0.000657, 0.000331, 0.000169),
    ("ladder", "3-star", "HepTh"): (0.149, 0.0422, 0.0161, 0.00713, 0.0034, 0.00169),
    ("ladder", "3-star", "CondMat"): (0.0656, 0.0291, 0.0138, 0.00674, 0.00337, 0.00172),
    ("ladder", "3-star", "GrQc"): (0.157, 0.0506, 0.0206, 0.00941, 0.00455, 0.00228),
    ("ladder", "4-clique", "AstroPh"): (0.102, 0.0281, 0.00928, 0.00362, 0.00158, 0.000749),
    ("ladder", "4-clique", "HepPh"): (0.0125, 0.00475, 0.00205, 0.000955, 0.000465, 0.000234),
    ("ladder", "4-clique", "HepTh"): (3.45, 0.553, 0.122, 0.0374, 0.0145, 0.00642),
    ("ladder", "4-clique", "CondMat"): (1.72, 0.378, 0.0955, 0.0286, 0.0103, 0.00414),
    ("ladder", "4-clique", "GrQc"): (0.84, 0.165, 0.0444, 0.0156, 0.0064, 0.00297),
    ("ladder", "2-triangle", "AstroPh"): (0.0731, 0.0261, 0.0109, 0.00496, 0.00239, 0.00119),
    ("ladder", "2-triangle", "HepPh"): (0.0109, 0.00455, 0.00207, 0.000994, 0.000492, 0.000249),
    ("ladder", "2-triangle", "HepTh"): (2.08, 0.342, 0.0803, 0.0265, 0.0107, 0.00491),
    ("ladder", "2-triangle", "CondMat"): (0.908, 0.243, 0.0829, 0.0335, 0.015, 0.00726),
    ("ladder", "2-triangle", "GrQc"): (0.541, 0.115, 0.0344, 0.0132, 0.00575, 0.00275),
    ("smooth, published", "triangle", "AstroPh"): (0.0311, 0.0155, 0.00777, 0.00388, 0.00194, 0.000971),
    ("smooth, published", "triangle", "HepPh"): (0.0161, 0.00804, 0.00402, 0.00201, 0.001, 0.000502),
    ("smooth, published", "triangle", "HepTh"): (0.208, 0.0789, 0.036, 0.018, 0.009, 0.0045),
    ("smooth, published", "triangle", "CondMat"): (0.113, 0.0564, 0.0282, 0.0141, 0.00705, 0.00353),
    ("smooth, published", "triangle", "GrQc"): (0.178, 0.0758, 0.0379, 0.019, 0.00948, 0.00474),
    ("smooth, published", "3-star", "AstroPh"): (0.0479, 0.0239, 0.012, 0.00598, 0.00299, 0.0015),
    ("smooth, published", "3-star", "HepPh"): (0.0223, 0.0111, 0.00557, 0.00279, 0.00139, 0.000696),
    ("smooth, published", "3-star", "HepTh"): (0.407, 0.11, 0.055, 0.0275, 0.0138, 0.00688),
    ("smooth, published", "3-star", "CondMat"): (0.226, 0.113, 0.0565, 0.0282, 0.0141, 0.00706),
    ("smooth, published", "3-star", "GrQc"): (0.408, 0.149, 0.0745, 0.0372, 0.0186, 0.00931),
    ("laplace", "triangle", "AstroPh"): (0.193, 0.0963, 0.0481, 0.0241, 0.012, 0.00602),
    ("laplace", "triangle", "HepPh"): (0.0496, 0.0248, 0.0124, 0.00619, 0.0031, 0.00155),
    ("laplace", "triangle", "HepTh"): (4.83, 2.42, 1.21, 0.604, 0.302, 0.151),
    ("laplace", "triangle", "CondMat"): (1.85, 0.925, 0.462, 0.231, 0.116, 0.0578),
    ("laplace", "3-star", "AstroPh"): (8.95, 4.48, 2.24, 1.12, 0.559, 0.28),
    ("laplace", "3-star", "HepPh"): (1.56, 0.782, 0.391, 0.196, 0.0978, 0.0489),
    ("laplace", "3-star", "HepTh"): (644, 322, 161, 80.5, 40.3, 20.1),
    ("laplace", "3-star", "CondMat"): (200, 99.9, 50, 25, 12.5, 6.24),
    ("laplace", "4-clique", "AstroPh"): (255, 127, 63.7, 31.9, 15.9, 7.97),
    ("laplace", "4-clique", "HepPh"): (6.65, 3.32, 1.66, 0.831, 0.415, 0.208),
    ("laplace", "4-clique", "HepTh"): (10300, 5150, 2580, 1290, 644, 322),
    ("laplace", "4-clique", "CondMat"): (12600, 6310, 3150, 1580, 788, 394),
    ("laplace", "2-triangle", "AstroPh"): (169, 84.4, 42.2, 21.1, 10.5, 5.27),
    ("laplace", "2-triangle", "HepPh"): (5.33, 2.67, 1.33, 0.666, 0.333, 0.167),
    ("laplace", "2-triangle", "HepTh"): (7880, 3940, 1970, 985, 492, 246),
    ("laplace", "2-triangle", "CondMat"): (7890, 3950, 1970, 986, 493, 247),
    ("laplace", "triangle", "GrQc"): (1.51, 0.753, 0.376, 0.188, 0.0941, 0.047),
    ("laplace", "3-star", "GrQc"): (153, 76.6, 38.3, 19.2, 9.58, 4.79),
    ("laplace", "4-clique", "GrQc"): (578, 289, 144, 72.2, 36.1, 18.1),
    ("laplace", "2-triangle", "GrQc"): (466, 233, 117, 58.3, 29.1, 14.6),
    ("noisy local", "2-triangle", "AstroPh"): (0.426, 0.100, 0.029, 0.0104),
    ("noisy local", "2-triangle", "HepPh"): (0.0449, 0.0124, 0.00433, 0.00181),
    ("noisy local", "2-triangle", "HepTh"): (30.2, 4.26, 0.70, 0.135),
    ("noisy local", "2-triangle", "CondMat"): (8.08, 1.58, 0.344, 0.0998),
    ("noisy local", "2-triangle", "GrQc"): (6.98, 1.09, 0.205, 0.0469),
}
"""Median relative errors computed independently from the same graphs, by method, pattern and graph."""

KRONFIT = {"GrQc": (0.999, 0.245, 0.691), "HepTh": (0.999, 0.271, 0.587), "AS20": (0.987, 0.571, 0.049)}
PRIVATE = {"GrQc": (1.0, 0.4618, 0.2930), "HepTh": (1.0, 0.4048, 0.3720), "AS20": (1.0, 0.6286, 0.0)}
KRONMOM = {"GrQc": (1.0, 0.4674, 0.2790), "HepTh": (1.0, 0.4012, 0.3789), "AS20": (1.0, 0.6300, 0.0)}
"""Published initiators: approximate likelihood, private estimates, moments."""


BANDS = {
    ("published 0.2 0.01", "GrQc"): ((0.4741, 0.0077), (0.2667, 0.0212)),
    ("published 0.2 0.01", "HepTh"): ((0.4083, 0.0081), (0.3633, 0.0208)),
    ("pure 0.2", "GrQc"): ((0.4733, 0.0087), (0.2673, 0.022)),
    ("pure 0.2", "HepTh"): ((0.4070, 0.0088), (0.3688, 0.021)),
    ("pure 0.2", "AS20"): ((0.6232, 0.0125), (0.0, 0.0)),
    ("pure 1", "GrQc"): ((0.4683, 0.0017), (0.2768, 0.0044)),
    ("pure 1", "HepTh"): ((0.4023, 0.0016), (0.3769, 0.0037)),
    ("pure 1", "AS20"): ((0.6300, 0.0051), (0.0, 0.0)),
}
"""Mean and standard deviation of b and of c over 60 private estimates, computed independently."""

TEN_GRAPHS = {
    ("GrQc", "KronMom"): (15287, 6067, 148, 502, 17.1),
    ("GrQc", "Private"): (15571, 6153, 136, 498, 17.0),
    ("GrQc", "KronFit"): (12079, 7309, 18, 58, 6.4),
    ("HepTh", "KronMom"): (27611, 12425, 111, 326, 14.9),
    ("HepTh", "Private"): (27526, 12365, 121, 322, 15.1),
    ("HepTh", "KronFit"): (19150, 12866, 29, 58, 7.5),
    ("AS20", "KronMom"): (20130, 5160, 567, 4431, 35.0),
    ("AS20", "Private"): (19735, 5113, 564, 4270, 34.6),
    ("AS20", "KronFit"): (12342, 4531, 322, 1117, 23.0),
}
"""Edges, nodes with links, largest degree, triangles and leading eigenvalue: means of ten graphs from the
published initiators, computed independently."""

SYNTHETIC = {"0.45": (0.99, 0.45, 0.25), "0.54": (0.99, 0.54, 0.25)}
"""The published synthetic graph's initiator, as printed, and with two digits of b exchanged."""


@cache
def graph(name: str) -> SimpleGraph:
    """A public graph, all of it."""
    stem, nodes = FILES[name]
    schema = Schema.from_yaml(f"{{kind: graph, edges: {{nodes: {nodes}, header: false}}}}")
    return open_graph(file(f"graphs/{stem}.txt.gz"), schema)


PLACE = RESULTS / "graphs.json"


def known() -> dict[str, Any]:
    """What was measured so far, part by part."""
    found: dict[str, Any] = json.loads(PLACE.read_text(encoding="utf-8")) if PLACE.exists() else {}
    return found


def keep(part: str, measured: dict[str, Any]) -> None:
    """Add to what was measured; figures that are measured again replace those before."""
    found = known()
    found[part] = {**found.get(part, {}), **measured}
    PLACE.parent.mkdir(parents=True, exist_ok=True)
    PLACE.write_text(json.dumps(found, indent=1), encoding="utf-8")
