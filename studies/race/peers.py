"""Who runs: environments, drivers, and the guarantee that each one really gives.

The guarantees are what the software does, found by reading and attacking it, and not what it claims.
"""

from __future__ import annotations

import re
from dataclasses import dataclass


@dataclass(frozen=True)
class Environment:
    """A virtual environment of its own, by the names of what is installed in it."""

    name: str
    packages: tuple[str, ...]
    alone: tuple[str, ...] = ()  # installed without what they ask for, where that is large and not needed


@dataclass(frozen=True)
class Peer:
    """One entry of the race: a driver, run in an environment (None: that of Penstock) with a method."""

    name: str
    driver: str
    method: str
    environment: Environment | None
    guarantee: str  # its first words, up to a comma, colon or semicolon, are the short form
    on_request: bool = False
    options: tuple[str, ...] = ()

    @property
    def ours(self) -> bool:
        return self.environment is None

    @property
    def short(self) -> str:
        """The guarantee in two or three words."""
        return re.split(r",(?! δ)|[:;]", self.guarantee)[0]


@dataclass(frozen=True)
class Earlier:
    """A figure that was measured before this race existed, on a machine of the same size."""

    table: str
    peer: str
    cpu: str
    scores: str


EARLIER = (
    Earlier("nltcs", "OpenDP AIM (pure ε)", "851", ".033 / .057"),
    Earlier("nltcs", "smartnoise AIM", "819", ".042 / .076"),
    Earlier("nltcs", "MST of smartnoise and of private-pgm", "14-15", ".074-.085 / .133-.137"),
    Earlier("adult-race", "MST of smartnoise and of private-pgm", "46-198", ".045 / .096"),
)


DATASYNTHESIZER = Environment("datasynthesizer", ("DataSynthesizer==0.1.13", "pandas<3", "numpy<2"))
DPMM = Environment("dpmm", ("dpmm==0.1.9",))
MBI = Environment("mbi", ("mbi==2.0.0",))
OPENDP = Environment("opendp", ("opendp[polars,mbi]==0.16.0", "pandas"))  # synthesize() imports pandas
SMARTNOISE = Environment(
    "smartnoise",
    ("mbi>=1.1.0,<2", "smartnoise-sql>=1.0.10", "disjoint-set>=0.9.0,<0.10.0", "Faker>=17.0.0"),
    alone=("smartnoise-synth==1.0.8",),  # with the 5 GB of torch that neither MST nor AIM imports
)

OURS = (
    "pure ε, one record added or removed; domain from the schema; n private; exact noise, system randomness"
)
OURS_WITH_DELTA = (
    "(ε, δ), one record added or removed; domain from the schema; n private; exact noise, system randomness"
)
OURS_REPLACE = "pure ε, one record replaced, n public; domain from the schema; exact noise, system randomness"
NOTHING = (
    "none: as shipped it claims pure ε, spends 2ε, half of the noise it needs, all of it from the public "
    "seed 0; exact n, categories and missing rates are released; float noise"
)

PEERS = (
    Peer("Penstock confluence", "penstock_driver.py", "confluence", None, OURS),
    Peer("Penstock privbayes, plain", "penstock_driver.py", "privbayes-plain", None, OURS),
    Peer(
        "Penstock privbayes, journal",
        "penstock_driver.py",
        "privbayes-journal",
        None,
        OURS_REPLACE,
        options=("--relation", "replace"),
    ),
    Peer("Penstock independent", "penstock_driver.py", "independent", None, OURS),
    Peer(
        "mbi MST",
        "mbi_driver.py",
        "mst",
        MBI,
        "(ε, δ), one record added or removed; mechanism by our driver (the wheel has only the estimation); "
        "float noise by NumPy",
    ),
    Peer(
        "OpenDP MST",
        "opendp_driver.py",
        "mst",
        OPENDP,
        "pure ε, one record added or removed; keys as given; exact noise and choices",
    ),
    Peer(
        "dpmm PrivBayes",
        "dpmm_driver.py",
        "privbayes",
        DPMM,
        "none: claims (ε, δ), but scores normalised mutual information with the sensitivity of the plain "
        "one; discrete noise through OpenDP, choices by NumPy",
    ),
    Peer(
        "DataSynthesizer PrivBayes, k = 2",
        "datasynthesizer_driver.py",
        "correlated",
        DATASYNTHESIZER,
        NOTHING,
        options=("--degree", "2"),
    ),
    Peer(
        "dpmm MST",
        "dpmm_driver.py",
        "mst",
        DPMM,
        "(ε, δ), one record added or removed; domain as given; discrete noise by OpenDP, choices by NumPy",
    ),
    Peer(
        "OpenDP AIM",
        "opendp_driver.py",
        "aim",
        OPENDP,
        "pure ε, one record added or removed; keys as given; exact noise and choices",
        on_request=True,
    ),
    Peer(
        "dpmm AIM",
        "dpmm_driver.py",
        "aim",
        DPMM,
        "(ε, δ), one record added or removed; domain as given; discrete noise by OpenDP, choices by NumPy",
        on_request=True,
    ),
    Peer(
        "OpenDP contingency table, all pairs",
        "opendp_driver.py",
        "pairs",
        OPENDP,
        "pure ε, one record added or removed; keys as given; exact noise",
        on_request=True,
    ),
    Peer(
        "DataSynthesizer PrivBayes",
        "datasynthesizer_driver.py",
        "correlated",
        DATASYNTHESIZER,
        NOTHING,
        on_request=True,
    ),
    Peer(
        "smartnoise MST",
        "smartnoise_driver.py",
        "mst",
        SMARTNOISE,
        "(ε, δ), one record added or removed, but the exact n is used and released; choices by NumPy",
    ),
    Peer(
        "smartnoise AIM",
        "smartnoise_driver.py",
        "aim",
        SMARTNOISE,
        "(ε, δ), one record added or removed; choices by NumPy",
        on_request=True,
    ),
)
