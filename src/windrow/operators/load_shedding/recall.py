"""How much of all combinations a join that sheds finds: expected, and estimated.

Of a pane, per input i that probes last:

    found      sum of 1 / chance over those found
    all        arrivals of i x the others' tuples in their windows      how many there are, by the model
    possible   0 if none could probe, else arrivals of i x those of the others that had a chance
    reached    probes of i x those of the others that are kept

What had no chance is never found, whatever there is: how much that would have been is taken from the
others, by the model's ratio. Arrivals that did not wait, for others were drawn to, had a chance: those
found stand for them already.

Panes follow each other until a few hundred combinations were found; of these

    estimated  =  found  x  all / possible               each summed over panes and inputs
    expected   =  estimated  x  reached / all

so that what is expected is the model's reach times how many of the combinations match, as far as that is
known. Pane by pane it would be too much: where panes have few tuples, one that happens to find more has
often kept or probed with more too.

What an arrival meets of its own pane, and of the oldest that its window reaches, `counted.py` knows.
Products of whole windows would count what two inputs have in the newest pane twice, and that is where
much of what is kept lies: room for new tuples is made by older ones.

Those kept are counted. The chance by which they are is the draw of the first one that is not, and so
a little more than their share; the fewer there are, the more.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from windrow.operators.engine.base import THOUSANDTHS, Counters
from windrow.operators.load_shedding.control import Division
from windrow.operators.load_shedding.counted import Blocks, combinations_met
from windrow.operators.load_shedding.draws import bits, number_of
from windrow.physical.nodes.shedding_join import SheddingJoin

ENOUGH = 300
"""Of so many combinations found it is known well how many match."""

SUMS = ("all", "possible", "reached", "weights")
"""What is summed up over panes, by name."""

COUNTS = ("found since", "estimated since", "expected since")
"""What has been counted of the same panes, by name."""

Floats = NDArray[np.float64]


class Recall:
    """Counts what a pane of a join has found, and then what it should have."""

    def __init__(self, node: SheddingJoin) -> None:
        self._found = np.zeros(len(node.inputs), np.int64)
        self._weights = np.zeros(len(node.inputs))
        self._sums = np.zeros(len(SUMS))
        self._since = [0] * len(COUNTS)
        self._node = node

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
        """Ends a pane, in which inputs got a division, and arrivals of some had a chance to probe.

        Of each input `windows` has all tuples, those that had a chance to be kept, and those kept.
        """
        all_, possible, reached = combinations_met(self._node, windows, division.spans).T
        arrived, probes = np.array(division.arrived), np.array(division.probes)
        weights = float(self._weights.sum())
        self._sums += arrived @ all_, (arrived * could_probe) @ possible, probes @ reached, weights
        found = int(self._found.sum())
        counters.shed_found += found
        self._tell(counters, self._since[0] + found)
        if self._since[0] >= ENOUGH:
            self._sums[:] = 0
            self._since = [0] * len(COUNTS)
        self._found[:] = 0
        self._weights[:] = 0

    def _tell(self, counters: Counters, found: int) -> None:
        """Counts what the latest panes tell, of which so many were found, instead of what they told."""
        there_are, can_find, to_find, weights = self._sums.tolist()
        told = [found, 0, 0]
        if found and can_find > 0:
            estimated = weights * there_are / can_find
            told[1:] = (
                round(own * THOUSANDTHS)
                for own in (estimated, estimated * min(1.0, to_find / there_are))
            )
        counters.shed_estimated += told[1] - self._since[1]
        counters.shed_expected += told[2] - self._since[2]
        self._since = told

    def snapshot(self) -> dict[str, int]:
        """The sums, by name."""
        sums = {name: bits(own) for name, own in zip(SUMS, self._sums, strict=True)}
        return sums | dict(zip(COUNTS, self._since, strict=True))

    def restore(self, numbers: dict[str, int]) -> None:
        """Puts it back."""
        self._sums = np.array([number_of(numbers.get(name, 0)) for name in SUMS])
        self._since = [numbers.get(name, 0) for name in COUNTS]
