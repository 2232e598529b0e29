"""The best pairs among those alive at each instant: pairs with ends in, a changelog out.

For bestmatch joins that say what is best now, and not what is best for good: those over windows of
their own (`[RANGE w]` on both sides), and the plain one, whose pairs never end. The pairs come from
a window join. They are judged among those with equal values in a group of columns: what tells left
tuples apart, right ones, or nothing, for all pairs together. A full outer join has two such lists
of groups, and a pair is in its answer while it is best in either.

    push       keeps the pairs until the watermark has passed their times; of so many that they would
               fill memory, those alone that are best among them at some instant
    advance    compares those passed with the ones there, group by group; gives what comes and goes

What is kept of a pair: what the answer shows, what it is worth (`pair_scores.py`), and per list of
groups from when on it is free of all that dominate it (`kernels/sliding_skyline.py`). Whether the
answer has it follows: from then on it does. A pair that is never free again in any group is dropped.

State: two lists of chunks, which never change.

    waiting    pairs in the order of their times
    there      pairs in the order in which they come or go by themselves, the next time

An advance takes out the pairs of which the next such time is below the watermark, and looks up those
that are in a group with one that comes (`keyed_rows.py`). Of these, the ones of which something has
changed are marked as gone in their chunk, and written anew. So a step reads the groups that pairs
come to, and writes what changes, whatever is kept.

Where unmatched tuples are kept, the join gives each tuple once more, with NULLs in place of another:
a pair that is worse than any of the tuple, and so in the answer while there is none.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from windrow.operators.bestmatch.skyline_step import PairReader, Step
from windrow.operators.columns.changes import concat
from windrow.operators.columns.chunks import ChunkBuffer
from windrow.operators.engine.base import Snapshot, SteppingOp

if TYPE_CHECKING:
    from collections.abc import Sequence

    from windrow.operators.columns.changes import ChangeBatch
    from windrow.physical.nodes.sliding_skyline import SlidingSkyline

MOST_UNJUDGED = 1 << 17
"""So many pairs wait as they came; of more, the best are looked for at once.

    wait    [ best among themselves ........ | as they came ...... ]
                                               at most as many as the others, or this many

Each time as many again have come, so that a pair is looked at a few times, however many come, and
what waits is at most twice what may be in the answer, or that and so many pairs.
"""


class SlidingSkylineOp(SteppingOp):
    """The state and the steps of one search for the best pairs: those that wait, and those there."""

    kind = "sliding-skyline"
    step_rows = 1 << 16

    def __init__(self, node: SlidingSkyline) -> None:
        self._waiting, self._there = ChunkBuffer(), ChunkBuffer()
        super().__init__({"waiting": self._waiting, "there": self._there})
        self._reader = PairReader(node)
        self._unjudged = 0

    def _admit(self, port: int, batch: ChangeBatch) -> None:  # noqa: ARG002  # there is one
        rows = self._reader.read(batch)[1]
        self._waiting.append(rows)
        self._unjudged += len(rows)
        if self._unjudged >= max(MOST_UNJUDGED, self._waiting.rows - self._unjudged):
            self._judge_waiting()

    def _judge_waiting(self) -> None:
        """Keeps those of the pairs that wait that are best among them at some instant."""
        rows = concat([part.rows() for part in self._waiting.slices])
        kept = Step(self._reader, ChunkBuffer(), None, rows).ever_shown()
        self.counters.drops += len(rows) - len(kept)
        self._waiting.slices, self._unjudged = [], 0
        self._waiting.append(rows.take(np.sort(kept)))

    def _step(self, bound: int) -> ChangeBatch | None:
        """What comes into the answer, and what leaves it, below a bound."""
        coming = self._waiting.pop_below(bound)
        self._unjudged = min(self._unjudged, self._waiting.rows)
        due = self._there.pop_below(bound)
        step = Step(self._reader, self._there, due, coming)
        result = step.judged(bound, self.counters)
        self.counters.drops += step.put_back(self._there)
        return result

    def restore(self, snapshot: Snapshot) -> None:
        """Puts the pairs back; those that wait are as they came."""
        super().restore(snapshot)
        self._unjudged = self._waiting.rows


def ever_best(
    node: SlidingSkyline,
    pairs: ChangeBatch,
    kept: Sequence[str] = (),  # noqa: ARG001  # pairs stay whole
) -> ChangeBatch:
    """The pairs that are best among the given ones at some instant.

    The others are not best among more pairs either; nor does a pair that they dominate become best
    without them, for whatever dominates them at an instant dominates it as well. So local skylines
    are all that a search needs.
    """
    reader = PairReader(node)
    places, rows = reader.read(pairs)
    step = Step(reader, ChunkBuffer(), None, rows)
    return pairs.take(np.sort(places[step.ever_shown()]))
