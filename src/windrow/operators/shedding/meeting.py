"""What an arrival of each input meets of the others' tuples, by counts of these.

Tuples are counted by blocks of one or more panes, and a window moves on within a pane. So tuples are
taken as spread evenly between the first and the last instant of their block that has any, and the
windows are looked at as some arrivals of the pane do, from its first instant to its last:

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
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from windrow.physical.nodes.shedding_join import SheddingJoin

ARRIVALS = 8
"""So many arrivals of a pane look at the windows."""

Floats = NDArray[np.float64]


class Span(NamedTuple):
    """The first and the last instant of some tuples."""

    first: int
    last: int

    def with_also(self, other: Span) -> Span:
        """The instants of both."""
        return Span(min(self.first, other.first), max(self.last, other.last))


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


class Meeting:
    """How far arrivals look back, and how far ahead.

    Args:
        node: the join.
    """

    def __init__(self, node: SheddingJoin) -> None:
        inputs = range(len(node.inputs))
        self._reach = [[node.reach(last, other) for other in inputs] for last in inputs]

    def combinations(self, windows: Sequence[Blocks], arrived: Sequence[Span]) -> Floats:
        """Per input and amount, the combinations of others that an arrival meets in the mean.

        Args:
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
                    product *= _inside(blocks, instants, self._reach[last][other])
            met.append(product.mean(axis=1))
        return np.stack(met)


def _inside(blocks: Blocks, instants: Floats, reach: tuple[int, int]) -> Floats:
    """Tuples of each amount between so far before some instants, and so far after them."""
    low = np.maximum(blocks.starts[:, None], instants + reach[0])
    high = np.minimum(blocks.stops[:, None], instants + reach[1] + 1)
    shares = np.maximum(high - low, 0.0) / (blocks.stops - blocks.starts)[:, None]
    inside: Floats = blocks.tuples @ shares
    return inside
