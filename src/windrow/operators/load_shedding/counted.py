"""Arrivals of a join that sheds, counted by blocks of panes, and what an arrival meets of these.

    blocks       |      4      |      7      |      2  |
    spans          5 .... 19      30 .. 31     44          the first and the last instant in each
    pane                                         [    )    is decided; blocks end with it
    held               [ start - retention ...........

Blocks have one or more panes, and a window moves on within a pane. So tuples are taken as spread evenly
between the first and the last instant of their block that has any, and the windows are looked at as
some arrivals of the pane do, from its first instant to its last:

    blocks       |   oldest   |     ..     |    newest   |
    tuples         ..........  ............   ........
    arrivals                                     x  x  x
    window               [=======================)

An arrival meets none that come after it. Of one instant, the tuples of the input that stands later in
FROM come last: they meet the others, and these do not meet them.

    instants            5        6        7
    tuples            a  b     a  b     a  b
    a of 7, window 1           a [b] .. x               one instant of b
    b of 7, window 1          [a] b ...[a] x            two instants of a

Where times are dates or whole seconds, and windows a few of these, that is the most of it: with a
window of 0 those of the last input meet all, and the others nothing.

**Recall** is how much of all combinations a join that sheds finds: expected, and estimated.

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

Products of whole windows in place of what an arrival meets of its own pane, and of the oldest that its
window reaches, would count what two inputs have in the newest pane twice, and that is where
much of what is kept lies: room for new tuples is made by older ones.

Those kept are counted. The chance by which they are is the draw of the first one that is not, and so
a little more than their share; the fewer there are, the more.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from windrow.operators.engine.base import THOUSANDTHS, Counters
from windrow.operators.load_shedding.draws import bits, number_of, numbered
from windrow.physical.load_shedding.limits import block_panes
from windrow.physical.nodes.shedding_join import SheddingJoin
from windrow.schema import MIN_TICK

if TYPE_CHECKING:
    from windrow.operators.load_shedding.control import Division

Floats = NDArray[np.float64]

ARRIVALS = 8
"""So many arrivals of a pane look at the windows."""


class TimeSpan(NamedTuple):
    """The first and the last instant of some tuples."""

    first: int
    last: int

    def with_also(self, other: TimeSpan) -> TimeSpan:
        """The instants of both."""
        return TimeSpan(min(self.first, other.first), max(self.last, other.last))


class Counted:
    """Per input of a join, the arrivals of each block."""

    def __init__(self, node: SheddingJoin) -> None:
        self._pane = node.pane
        self.retention = [node.retention(port) for port in range(len(node.inputs))]
        self._blocks = [block_panes(own, self._pane) for own in self.retention]
        self._arrived: list[dict[int, int]] = [{} for _ in self.retention]
        self._gone: list[dict[int, int]] = [{} for _ in self.retention]
        self._spans: list[dict[int, TimeSpan]] = [{} for _ in self.retention]

    @property
    def full(self) -> tuple[int, ...]:
        """Tuples that a full window of each input would hold."""
        return tuple(sum(own.values()) for own in self._arrived)

    def add(
        self, number: int, arrived: Sequence[int], there: Sequence[int], spans: Sequence[TimeSpan]
    ) -> None:
        """Takes a pane's arrivals in, and forgets blocks that no tuple is held of any more."""
        for port, count in enumerate(arrived):
            block = self._blocks[port]
            own = number // block
            oldest = (number * self._pane - self.retention[port]) // (self._pane * block)
            for counted, more in ((self._arrived, count), (self._gone, count - there[port])):
                kept = {at: many for at, many in counted[port].items() if at >= oldest}
                if more or counted is self._arrived:
                    kept[own] = kept.get(own, 0) + more
                counted[port] = kept
            known = {at: span for at, span in self._spans[port].items() if at >= oldest}
            known[own] = known.get(own, spans[port]).with_also(spans[port])
            self._spans[port] = known

    def rates(self, number: int) -> list[float]:
        """Arrivals per tick, over what is counted when a pane is decided."""
        return [
            many / ((number + 1 - min(own) * block) * self._pane)
            for many, own, block in zip(self.full, self._arrived, self._blocks, strict=True)
        ]

    def arrived(self, port: int) -> Floats:
        """Per block of an input, how many tuples there were."""
        return np.array(list(self._arrived[port].values()), np.float64)

    def is_whole(self, port: int) -> NDArray[np.bool_]:
        """Per block of an input, whether all of them were there when their panes were decided."""
        return np.array([not self._gone[port].get(at) for at in self._arrived[port]])

    def starts(self, port: int) -> NDArray[np.int64]:
        """The instants at which the blocks of an input begin."""
        length = self._blocks[port] * self._pane
        return np.array([max(MIN_TICK, at * length) for at in self._arrived[port]], np.int64)

    def spans(self, port: int, start: int) -> tuple[Floats, Floats]:
        """Per block of an input, from when to before when tuples came, in ticks from an instant."""
        own = [self._spans[port][at] for at in self._arrived[port]]
        first = np.array([span.first - start for span in own], np.float64)
        return first, np.array([span.last + 1 - start for span in own], np.float64)

    def snapshot(self) -> dict[str, int]:
        """What is counted, as numbers by name."""
        numbers: dict[str, int] = {}
        for port, spans in enumerate(self._spans):
            numbers |= {f"count{port} {at}": many for at, many in self._arrived[port].items()}
            numbers |= {f"gone{port} {at}": many for at, many in self._gone[port].items()}
            numbers |= {f"first{port} {at}": span.first for at, span in spans.items()}
            numbers |= {f"last{port} {at}": span.last for at, span in spans.items()}
        return numbers

    def restore(self, numbers: dict[str, int]) -> None:
        """Puts it back."""
        ports = range(len(self.retention))
        self._arrived = [numbered(numbers, f"count{port} ") for port in ports]
        self._gone = [numbered(numbers, f"gone{port} ") for port in ports]
        for port in ports:
            first, last = (numbered(numbers, f"{end}{port} ") for end in ("first", "last"))
            self._spans[port] = {at: TimeSpan(first[at], last[at]) for at in first}


class Blocks(NamedTuple):
    """Tuples of one input by blocks of event time.

    Attributes:
        starts: the first instants of their tuples, in ticks from the start of the pane.
        stops: the ticks after the last ones.
        tuples: per amount that is asked for and block, how many.
    """

    starts: Floats
    stops: Floats
    tuples: Floats


def combinations_met(
    node: SheddingJoin, windows: Sequence[Blocks], arrived: Sequence[TimeSpan]
) -> Floats:
    """Per input and amount, the combinations of others that an arrival meets in the mean.

    Args:
        node: the join, which knows how far arrivals look back, and how far ahead.
        windows: the tuples of each input.
        arrived: the arrivals of each input in the pane, in ticks from its start.
    """
    met = []
    for last, (first, until) in enumerate(arrived):
        steps = (np.arange(ARRIVALS) + 0.5) / ARRIVALS
        instants = np.floor(first + steps * (until + 1 - first))
        product = np.ones((len(windows[last].tuples), ARRIVALS))
        for other, blocks in enumerate(windows):
            if other != last:
                product *= _inside(blocks, instants, node.reach(last, other))
        met.append(product.mean(axis=1))
    return np.stack(met)


def _inside(blocks: Blocks, instants: Floats, reach: tuple[int, int]) -> Floats:
    """Tuples of each amount between so far before some instants, and so far after them."""
    low = np.maximum(blocks.starts[:, None], instants + reach[0])
    high = np.minimum(blocks.stops[:, None], instants + reach[1] + 1)
    shares = np.maximum(high - low, 0.0) / (blocks.stops - blocks.starts)[:, None]
    inside: Floats = blocks.tuples @ shares
    return inside


ENOUGH = 300
"""Of so many combinations found it is known well how many match."""

SUMS = ("all", "possible", "reached", "weights")
"""What is summed up over panes, by name."""

COUNTS = ("found since", "estimated since", "expected since")
"""What has been counted of the same panes, by name."""


class PaneRecall:
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
