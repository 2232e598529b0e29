"""What all buckets of a join that sheds are sent, pane by pane, by what map tasks tell.

Tasks count rows in spans of one pane, or of several if they have rows of very many panes. Those of a
long span are taken as spread evenly over its panes:

    spans      |  3  |  4  |     |        10       |          rows of one input, or of one batch
                     |  6  |  1  |        20       |          and of another
    panes      |  3  | 10  |  1  |  10    10    10 |
    given         1     1     1           3                   how many panes are alike

Every bucket must come to the same numbers, whenever it does. So rows of a micro-batch do not count in
panes that were over when it began: they are late, and a bucket that had nothing to do in the batch
before may not have paid for these panes yet.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator
from itertools import islice, pairwise
from typing import TYPE_CHECKING

import numpy as np

from windrow.operators.shedding.tokens import Sent

if TYPE_CHECKING:
    from windrow.run.spark.needs import Spans


class SentPanes:
    """The rows of panes: of all buckets, of those before one, and up to that one.

    Args:
        pane: how many ticks a pane has.
        before: rows of earlier micro-batches.
        come: those of this one.
        begun: the join's watermark when this one began.
    """

    def __init__(self, pane: int, before: Spans, come: Spans, begun: int) -> None:
        changes: dict[int, np.ndarray] = {}  # whole, below, up to, and how many spans are long
        # In one order, whatever the order of arrival: sums of parts are the same in all buckets.
        for spans, least in ((before, None), (come, begun // pane)):
            for (_, start, stop), (whole, own, below) in sorted(spans.items()):
                first, last = start // pane, -(-stop // pane)
                rows = np.array([whole, below, below + own, 0.0]) / (last - first)
                rows[3] = last - first > 1
                if least is not None:
                    first = max(first, least)
                if first < last:
                    changes[first] = changes.get(first, 0.0) + rows
                    changes[last] = changes.get(last, 0.0) - rows
        edges = sorted(changes)
        rows = np.cumsum([changes[edge] for edge in edges], axis=0) if edges else np.empty((0, 4))
        self._panes = [
            Sent(first, stop - first, whole, below, up_to, is_mean=long > 0)
            for (first, stop), (whole, below, up_to, long) in zip(
                pairwise(edges), rows.tolist(), strict=False
            )
        ]

    def __call__(self, first: int | None, stop: int) -> Iterator[Sent]:
        """The panes from one on, or from the first on, and before another, by their numbers."""
        at = 0 if first is None else bisect_right(self._panes, first, key=lambda own: own.first) - 1
        for own in islice(self._panes, max(0, at), None):
            if own.first >= stop:
                return
            begin = own.first if first is None else max(own.first, first)
            panes = min(own.first + own.panes, stop) - begin
            if panes > 0:
                yield own._replace(first=begin, panes=panes)
