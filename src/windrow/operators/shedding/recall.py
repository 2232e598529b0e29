"""How much of all combinations a join that sheds finds: expected, and estimated.

Of a pane, per input i that probes last:

    found      sum of 1 / chance over those found
    all        arrivals of i x the others' tuples in their windows      how many there are, by the model
    possible   0 if none could probe, else arrivals of i x those of the others that had a chance
    reached    probes of i x those of the others that are kept

What had no chance is never found, whatever there is: how much that would have been is taken from the
others, by the model's ratio. Arrivals that did not wait, for others were drawn to, had a chance: those
found stand for them already.

Panes in which nothing is found are one with the next in which something is: their sums are added to
that one's. And the share that is reached is that of as many of the latest panes as it took to find some:
where panes have few tuples, those of which more are kept by chance find more, and would count for more.

    estimated  =  sum of found  x  all / possible               each summed over the inputs
    expected   =  estimated  x  reached / all                   these two over the latest panes

What an arrival meets of its own pane, and of the oldest that its window reaches, `meeting.py` knows.
Products of whole windows would count what two inputs have in the newest pane twice, and that is where
much of what is kept lies: room for new tuples is made by older ones.

Those kept are counted. The chance by which they are is the draw of the first one that is not, and so
a little more than their share; the fewer there are, the more.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from windrow.operators.base import Counters
from windrow.operators.shedding.control import Division
from windrow.operators.shedding.meeting import Blocks, Meeting
from windrow.operators.shedding.numbers import bits, number_of
from windrow.physical.specs import WJoin

THOUSANDTHS = 1_000

ENOUGH = 100
"""Where so many are found at once, earlier panes do not count in the share that is reached."""

SUMS, LATEST = ("all", "possible", "reached"), ("latest all", "latest reached")
"""What is summed up over panes, by name: since something was found, and over the latest ones."""

Floats = NDArray[np.float64]


class Recall:
    """Counts what a pane has found, and then what it should have.

    Args:
        spec: the join.
    """

    def __init__(self, spec: WJoin) -> None:
        self._found = np.zeros(len(spec.inputs), np.int64)
        self._weights = np.zeros(len(spec.inputs))
        self._sums, self._latest = np.zeros(len(SUMS)), np.zeros(len(LATEST))
        self._meeting = Meeting(spec)

    def found(self, start: int, chances: Floats) -> None:
        """Takes combinations that end with an input, and the chances of their draws by input."""
        self._found[start] += chances.shape[1]
        self._weights[start] += float(np.sum(1 / np.prod(chances, axis=0)))

    def count(
        self,
        counters: Counters,
        division: Division,
        could_probe: Sequence[bool],
        windows: Sequence[Blocks],
    ) -> None:
        """Ends a pane.

        Args:
            counters: what is added to.
            division: what the inputs got in the pane.
            could_probe: whether arrivals of each input had a chance to.
            windows: the tuples of each input: all, those that had a chance to be kept, those kept.
        """
        all_, possible, reached = self._meeting.combinations(windows, division.spans).T
        arrived, probes = np.array(division.arrived), np.array(division.probes)
        self._sums += arrived @ all_, (arrived * could_probe) @ possible, probes @ reached
        found = int(self._found.sum())
        counters.shed_found += found
        there_are, can_find, to_find = self._sums.tolist()
        if found and can_find > 0:
            estimated = float(self._weights.sum()) * there_are / can_find
            counters.shed_estimated += round(estimated * THOUSANDTHS)
            self._latest *= max(0.0, 1 - found / ENOUGH)
            self._latest += there_are, to_find
            share = min(1.0, float(self._latest[1] / self._latest[0]))
            counters.shed_expected += round(estimated * share * THOUSANDTHS)
            self._sums[:] = 0
        self._found[:] = 0
        self._weights[:] = 0

    def snapshot(self) -> dict[str, int]:
        """The sums, by name."""
        sums = (*self._sums, *self._latest)
        return {name: bits(own) for name, own in zip((*SUMS, *LATEST), sums, strict=True)}

    def restore(self, numbers: dict[str, int]) -> None:
        """Puts it back."""
        self._sums, self._latest = (
            np.array([number_of(numbers.get(name, 0)) for name in names])
            for names in (SUMS, LATEST)
        )
