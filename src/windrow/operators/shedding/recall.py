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

A window moves on within a pane, while tuples are counted by blocks of one or more panes. An arrival
meets none of its own pane that come after it, and of the oldest block those alone that its window
has not left:

    blocks       |   oldest   |     ..     |    newest   |
    arrival                                       x
    window               [=========================)

Products of whole blocks would count what two inputs have in the newest one twice, and that is where
much of what is kept lies: room for new tuples is made by older ones. So the model takes tuples as
spread evenly over their block, and looks at the windows at several instants of the pane.

Those kept are counted. The chance by which they are is the draw of the first one that is not, and so
a little more than their share; the fewer there are, the more.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from windrow.operators.base import Counters
from windrow.operators.shedding.control import Division
from windrow.operators.shedding.numbers import bits, number_of
from windrow.physical.specs import WJoin

THOUSANDTHS = 1_000

INSTANTS = 8
"""Instants of a pane at which the model looks at the windows."""

ENOUGH = 100
"""Where so many are found at once, earlier panes do not count in the share that is reached."""

SUMS, LATEST = ("all", "possible", "reached"), ("latest all", "latest reached")
"""What is summed up over panes, by name: since something was found, and over the latest ones."""

Floats = NDArray[np.float64]


class Blocks(NamedTuple):
    """Tuples of one input by blocks of event time.

    Attributes:
        starts: where blocks begin, in ticks from the start of the pane.
        stops: where they end, the newest with the pane.
        arrived: how many tuples there were.
        kept: how many of them are kept.
        possible: how many of them had a chance to be kept.
    """

    starts: Floats
    stops: Floats
    arrived: Floats
    kept: Floats
    possible: Floats


class Recall:
    """Counts what a pane has found, and then what it should have.

    Args:
        spec: the join.
    """

    def __init__(self, spec: WJoin) -> None:
        inputs = range(len(spec.inputs))
        self._found = np.zeros(len(inputs), np.int64)
        self._weights = np.zeros(len(inputs))
        self._sums, self._latest = np.zeros(len(SUMS)), np.zeros(len(LATEST))
        self._after = (np.arange(INSTANTS) + 0.5) / INSTANTS * spec.pane
        self._reach = [
            [max(graph.upper[other][last] for graph in spec.ways) for other in inputs]
            for last in inputs
        ]

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
            windows: the tuples of each input.
        """
        all_, possible, reached = self._met(windows)
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

    def _met(self, windows: Sequence[Blocks]) -> tuple[Floats, Floats, Floats]:
        """Combinations of others that an arrival of each input meets.

        Of all tuples in their windows, of those that had a chance, and of those that are kept.
        """
        met = np.zeros((len(windows), 3))
        for last, reach in enumerate(self._reach):
            product = np.ones((3, INSTANTS))
            for other, blocks in enumerate(windows):
                if other != last:
                    product *= _inside(blocks, self._after, reach[other])
            met[last] = product.mean(axis=1)
        return met[:, 0], met[:, 1], met[:, 2]


def _inside(blocks: Blocks, after: Floats, reach: float) -> Floats:
    """Tuples, those that had a chance and those kept, in the window at some instants of a pane."""
    # An instant has a tick for itself; its window begins with a whole one.
    low = np.maximum(blocks.starts[:, None], np.floor(after) - reach)
    high = np.minimum(blocks.stops[:, None], after)
    shares = np.maximum(high - low, 0.0) / (blocks.stops - blocks.starts)[:, None]
    inside: Floats = np.stack([blocks.arrived, blocks.possible, blocks.kept]) @ shares
    return inside
