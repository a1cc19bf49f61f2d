"""How fast is exact noise? Ours beside OpenDP's exact samplers and NumPy's floating-point ones.

    python studies/noise_speed.py            # a million draws each; about half a minute
    python studies/noise_speed.py --draws 100000

Penstock and OpenDP draw from the same distributions, exactly. NumPy's `laplace` and `normal` are what unsafe
software uses: their low bits give the true value away, and they are here only to show what safety costs.
Times are CPU time of one thread, the best of three runs, including the operating system's random bits.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from time import process_time

import numpy as np
import opendp.prelude as dp

from penstock.privacy.randomness import samplers
from penstock.privacy.randomness.generator import Randomness


def nanoseconds(draw: Callable[[int], object], draws: int) -> float:
    """CPU time for one draw in a batch of `draws`."""
    draw(draws)  # tables made once and kept are not part of a draw
    best = float("inf")
    for _ in range(3):
        start = process_time()
        draw(draws)
        best = min(best, process_time() - start)
    return best / draws * 1e9


@dataclass(frozen=True)
class Noise:
    """One distribution, drawn three ways."""

    name: str
    ours: Callable[[Fraction, int], object]
    opendp: Callable[[Fraction], Callable[[list[int]], object]]
    unsafe: Callable[[float, int], object]
    scales: tuple[Fraction, ...]

    def rows(self, draws: int) -> Iterator[tuple[str, float, float, float]]:
        few = max(1000, draws // 50)  # OpenDP's time per draw does not depend on the batch
        for scale in self.scales:
            mechanism = self.opendp(scale)
            yield (
                f"{self.name} {scale}",
                nanoseconds(partial(self.ours, scale), draws),
                nanoseconds(partial(_zeros_through, mechanism), few),
                nanoseconds(partial(self.unsafe, float(scale)), draws),
            )


def _zeros_through(mechanism: Callable[[list[int]], object], count: int) -> object:
    return mechanism([0] * count)


def noises() -> list[Noise]:
    dp.enable_features("contrib")
    source, generator = Randomness.system(), np.random.default_rng()
    integers = dp.vector_domain(dp.atom_domain(T=int))
    return [
        Noise(
            "discrete Laplace, scale",
            lambda scale, n: samplers.discrete_laplace(scale, n, source),
            lambda scale: dp.m.make_laplace(integers, dp.l1_distance(T=int), scale=float(scale)),
            lambda scale, n: generator.laplace(scale=scale, size=n),
            (Fraction(1, 50), Fraction(1), Fraction(10), Fraction(1000), Fraction(10**6)),
        ),
        Noise(
            "discrete Gaussian, sigma",
            lambda sigma, n: samplers.discrete_gaussian(sigma**2, n, source),
            lambda sigma: dp.m.make_gaussian(integers, dp.l2_distance(T=int), scale=float(sigma)),
            lambda sigma, n: generator.normal(scale=sigma, size=n),
            (Fraction(1), Fraction(100), Fraction(10**5)),
        ),
    ]


def main() -> None:
    parser = argparse.ArgumentParser(description="Time exact noise: ours, OpenDP's, and NumPy's unsafe one.")
    parser.add_argument("--draws", type=int, default=1_000_000)
    draws = parser.parse_args().draws
    heads = ("Penstock", "OpenDP", "NumPy", "OpenDP/ours", "ours/NumPy")
    print(f"{'nanoseconds per draw':34}" + "".join(f"{head:>13}" for head in heads))
    for noise in noises():
        for name, ours, opendp, unsafe in noise.rows(draws):
            ratios = f"{opendp / ours:12.0f}x{ours / unsafe:12.1f}x"
            print(f"{name:34}{ours:13.0f}{opendp:13.0f}{unsafe:13.0f}{ratios}")


if __name__ == "__main__":
    main()
