"""Which share of the others' combinations a probe of each input meets, over the latest panes.

    share of i  =  sum of what arrivals of i meet  /  sum of arrivals of i x the others' full windows

Both sums are over the panes of a window, or over more of them where these have few arrivals: who is
last in a pane of few tuples is chance, and dividing by it would change sides from pane to pane. The
pane at hand counts, so that even the first one, or the only one, is divided by what its tuples meet.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from windrow.allocation.loads import alike
from windrow.allocation.output import products_of_others
from windrow.operators.shedding.counted import Counted
from windrow.operators.shedding.meeting import Blocks, Meeting, Span
from windrow.operators.shedding.numbers import bits, number_of
from windrow.physical.nodes.shedding_join import SheddingJoin
from windrow.physical.shedding.limits import PANES_PER_WINDOW

ENOUGH = 1_000
"""Arrivals of which shares are known well."""


class SharesMet:
    """Sums up what arrivals of each input meet.

    Args:
        spec: the join.
    """

    def __init__(self, spec: SheddingJoin) -> None:
        self._meeting = Meeting(spec)
        self._met = np.zeros(len(spec.inputs))
        self._all = np.zeros(len(spec.inputs))

    def of(
        self, counted: Counted, start: int, arrived: Sequence[int], spans: Sequence[Span]
    ) -> list[float]:
        """The shares, of the largest of them, once a pane has been counted that begins there.

        Args:
            counted: all arrivals.
            start: of the pane.
            arrived: arrivals of each input in the pane.
            spans: their first and last instants, in ticks from its start.
        """
        windows = [
            Blocks(*counted.spans(port, start), counted.arrived(port)[None])
            for port in range(len(arrived))
        ]
        left = 1 - min(1 / PANES_PER_WINDOW, sum(arrived) / ENOUGH)
        come = np.array(arrived)
        met = self._meeting.combinations(windows, spans)[:, 0]
        self._met = left * self._met + come * met
        self._all = left * self._all + come * np.array(products_of_others(counted.full))
        shares = np.divide(self._met, self._all, out=np.ones(len(come)), where=self._all > 0)
        return alike(shares.tolist())

    def snapshot(self) -> dict[str, int]:
        """The sums, by name."""
        sums = {"met": self._met, "all met": self._all}
        return {
            f"{name} {port}": bits(own)
            for name, each in sums.items()
            for port, own in enumerate(each.tolist())
        }

    def restore(self, numbers: dict[str, int]) -> None:
        """Puts it back."""
        ports = range(len(self._met))
        self._met, self._all = (
            np.array([number_of(numbers[f"{name} {port}"]) for port in ports])
            for name in ("met", "all met")
        )
