"""Bounding users: keep a random sample of at most m records of each user.

The guarantee for a user needs a bound on what one user can change. The sample of a user depends
on that user's records and on fresh random bits only, so adding or removing one user changes the
kept records by that user's own, at most m of them.
"""

from __future__ import annotations

import hashlib
import secrets

import numpy as np
from numpy.typing import NDArray


def fresh_key() -> bytes:
    """A new random key from the operating system."""
    return secrets.token_bytes(32)


def sample_per_user(users: NDArray[np.integer], at_most: int, order_key: bytes) -> NDArray[np.intp]:
    """Positions of the kept records, ascending: at most `at_most` of each user, chosen uniformly.

    `users` are any integers that identify the user of each record. All records draw a uniform
    random order from `order_key`, and each user keeps the first `at_most` of their own in it.

    >>> len(sample_per_user(np.array([7, 7, 7, 8]), 2, b"key"))
    3
    """
    key = int.from_bytes(hashlib.sha256(order_key).digest()[:16], "big")
    order = np.random.Generator(np.random.Philox(key=key)).permutation(len(users))
    # Stable: within a user the records stay in the drawn order.
    grouped = order[np.argsort(users[order], kind="stable")]
    if len(grouped) == 0:
        return grouped
    sorted_users = users[grouped]
    starts = np.flatnonzero(np.r_[True, sorted_users[1:] != sorted_users[:-1]])
    place = np.arange(len(grouped)) - np.repeat(starts, np.diff(np.r_[starts, len(grouped)]))
    return np.sort(grouped[place < at_most])
