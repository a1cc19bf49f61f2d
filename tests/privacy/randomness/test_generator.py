"""Bits: uniform, never handed out twice, repeatable only when seeded."""

from __future__ import annotations

import copy
import os
import pickle
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from tests.privacy.goodness import fits

from penstock.privacy.randomness.generator import Randomness


def test_the_system_source_is_secure_and_the_seeded_one_says_it_is_not() -> None:
    assert Randomness.system().secure
    assert not Randomness.seeded(1).secure


def test_the_same_seed_repeats_and_another_does_not() -> None:
    first, same, other = (Randomness.seeded(seed).words(100) for seed in (5, 5, 6))
    assert np.array_equal(first, same)
    assert not np.intersect1d(first, other).size
    assert np.array_equal(Randomness.seeded(-1).words(3), Randomness.seeded(-1).words(3))


def test_the_seeded_stream_never_changes_between_versions() -> None:
    # Studies quote seeds, so the stream is part of what they promise.
    assert [int(word) for word in Randomness.seeded(2024).words(2)] == [
        6750621967860454576,
        12807461516565337531,
    ]


@pytest.mark.parametrize("sizes", [[1] * 40, [8191, 2, 8192, 5, 30000, 1], [100_000]])
def test_how_the_stream_is_cut_up_does_not_change_it(sizes: list[int]) -> None:
    source = Randomness.seeded(3)
    pieces = b"".join(bytes(source.take(size)) for size in sizes)
    assert pieces == bytes(Randomness.seeded(3).take(sum(sizes)))


def test_no_bits_are_handed_out_twice_by_the_system_source() -> None:
    source = Randomness.system()
    words = np.concatenate([source.words(n) for n in (1, 3, 1023, 1025, 5000, 1)])
    # 7053 words of 64 bits: two agree with probability below 2e-12.
    assert np.unique(words).size == words.size


def test_bytes_are_uniform() -> None:
    for source in (Randomness.seeded(11), Randomness.system()):
        # The system source is not seeded: fails with probability 1e-6 when right.
        drawn = np.frombuffer(source.take(200_000), dtype=np.uint8)
        assert fits(np.bincount(drawn, minlength=256), np.full(256, 1 / 256))


def test_words_of_all_widths_come_from_the_same_stream() -> None:
    word = int(Randomness.seeded(9).words(1)[0])
    halves = Randomness.seeded(9).halves(2)
    quarters = Randomness.seeded(9).quarters(4)
    assert sum(int(h) << (32 * i) for i, h in enumerate(halves)) == word
    assert sum(int(q) << (16 * i) for i, q in enumerate(quarters)) == word


@pytest.mark.parametrize("bound", [1, 2, 3, 7, 257, 3 * 2**100])
def test_below_stays_below_and_is_uniform(bound: int) -> None:
    source = Randomness.seeded(bound % 1000)
    draws = [source.below(bound) for _ in range(3000)]
    assert all(0 <= value < bound for value in draws)
    cells = 3 if bound % 3 == 0 else min(bound, 257)  # of equal shares
    assert fits(
        np.bincount([value * cells // bound for value in draws], minlength=cells), np.full(cells, 1 / cells)
    )


def test_below_and_take_refuse_what_makes_no_sense() -> None:
    with pytest.raises(ValueError, match="at least 1"):
        Randomness.seeded(1).below(0)
    with pytest.raises(ValueError, match="-1 bytes"):
        Randomness.seeded(1).take(-1)


def test_spawned_streams_depend_on_the_label_and_not_on_the_order() -> None:
    def streams(labels: str, drawn_before: int) -> dict[str, int]:
        source = Randomness.seeded(4)
        source.take(drawn_before)
        return {label: source.spawn(label).bits(128) for label in labels}

    assert streams("ab", 0) == streams("ba", 777)
    assert len(set(streams("abc", 0).values())) == 3


def test_asking_for_the_same_label_again_gives_a_new_stream() -> None:
    source = Randomness.seeded(4)
    assert source.spawn("age").bits(128) != source.spawn("age").bits(128)


def test_the_system_source_spawns_itself() -> None:
    source = Randomness.system()
    assert source.spawn("anything") is source


def test_copies_share_the_stream_and_a_seeded_source_cannot_be_pickled() -> None:
    source = Randomness.seeded(8)
    assert copy.deepcopy(source) is source
    assert copy.copy(source) is source
    with pytest.raises(TypeError, match="spawn"):
        pickle.dumps(source)
    system = Randomness.system()
    assert pickle.loads(pickle.dumps(system)).secure


def test_threads_never_receive_the_same_bits() -> None:
    source = Randomness.seeded(12)
    with ThreadPoolExecutor(8) as pool:
        parts = list(pool.map(lambda _: [source.words(3) for _ in range(200)], range(8)))
    received = np.sort(np.concatenate([word for part in parts for word in part]))
    assert np.array_equal(received, np.sort(Randomness.seeded(12).words(8 * 200 * 3)))


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork on this system")
def test_a_forked_child_does_not_repeat_its_parent() -> None:
    source = Randomness.system()
    source.take(1)  # now bytes are waiting that were read before the fork
    receiver, sender = os.pipe()
    child = os.fork()
    if child == 0:
        os.write(sender, source.take(64))
        os._exit(0)
    ours = bytes(source.take(64))
    os.waitpid(child, 0)
    theirs = os.read(receiver, 64)
    os.close(receiver)
    os.close(sender)
    assert len(theirs) == 64
    assert ours != theirs
