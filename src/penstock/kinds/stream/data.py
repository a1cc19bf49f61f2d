"""What a stream has left behind: counters that can be asked and not seen.

The counters of a stream are noise that the updates have moved. They are private against one look, and that
look is paid for; but an answer that was computed from them without noise of its own would tell whoever had
seen them before exactly what was fed since. So whatever is derived from them is sealed, with the sensitivity
that it has once the noise inside is fixed.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from penstock.contracts.data import Handle
from penstock.contracts.sketch import Counters, Setting
from penstock.privacy.seals.sealed import Sealed
from penstock.privacy.seals.sensitivity import Sensitivity


class Fed(Handle):
    """The counters of a stream, behind a seal.

    >>> from fractions import Fraction
    >>> from penstock.privacy.unit import Relation
    >>> setting = Setting(10, 1, Relation.REPLACE, key=1, state=Fraction(1))
    >>> fed = Fed(np.array([3, 4]), setting)
    >>> fed.claim(lambda counters: counters[:1], 1, because="an id stands in one counter, which moves by one")
    Sealed(sensitivity 2, replace)
    """

    def __init__(self, counters: Counters, setting: Setting) -> None:
        self._counters = counters
        self.setting = setting

    def claim(
        self,
        function: Callable[[Counters], NDArray[np.int64]],
        moves: int,
        *,
        because: str,
        largest: int | None = None,
    ) -> Sealed[NDArray[np.int64]]:
        """Whole numbers of which one id moves `moves` in total, whatever noise the counters began with.

        `because` says why; two neighbours differ in as many ids as the relation touches. `largest` bounds the
        move of a single number, where that is less.
        """
        each = self.setting.touched
        return Sealed(
            function(self._counters),
            Sensitivity.of(each * moves, linf=None if largest is None else each * largest),
            self.setting.relation,
            because=because,
        )
