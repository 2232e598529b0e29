"""GCA and LCA as machines: the filter and the refinement, with the buffers of a sweep."""

from __future__ import annotations

from windrow.kernels.tuple_at_a_time.sweep_machine import SweepMachine
from windrow.kernels.tuple_at_a_time.tape import FoundCombinations, Int64s, Tape, TupleConditions
from windrow_papers.kernels.conservative import Windows, gca, lca, windows_of
from windrow_papers.kernels.loop_machine import order_by_keys


class ConservativeMachine(SweepMachine):
    """Filter and refine.

    `stated` are the bounds that are tested in the end, MOST for none; or several sets of bounds, of
    which a combination must meet one.
    """

    def __init__(
        self,
        conditions: TupleConditions,
        stated: Int64s,
        first: Int64s,
        *,
        method: str = "nested-loop",
    ) -> None:
        super().__init__(conditions, first, order_by_keys(conditions), method=method)
        self.windows: Windows = windows_of(conditions.upper, stated)


class GcaMachine(ConservativeMachine):
    """The global conservative approach: the largest window for all."""

    def fill(self, tape: Tape, found: FoundCombinations) -> bool:
        """Adds combinations while there is room; whether it waits for more tuples."""
        return gca(tape, self.windows, self.sweep, self._mode_2, found, self.work)


class LcaMachine(ConservativeMachine):
    """The local conservative approach: the largest window of each stream."""

    def fill(self, tape: Tape, found: FoundCombinations) -> bool:
        """Adds combinations while there is room; whether it waits for more tuples."""
        return lca(tape, self.windows, self.sweep, self._mode_2, found, self.work)
