"""How a count-window join finds combinations: those of the row that enters last.

The steps are those of the join by time (`bew_search`), over numbers in the place of times: a row
that enters looks the other inputs up for rows that are there, with the same keys. Which are there
depends on that row alone, not on those chosen on the way:

    numbers of an input   --------[===================)------->
                             first there            the row that enters
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from windrow.operators.base import Counters
from windrow.operators.bew_search import Numbers, Partial, Search
from windrow.operators.bew_steps import Route
from windrow.operators.bew_window import JoinWindow
from windrow.operators.count_window import CountWindow, partition_keys
from windrow.operators.gather import ROW_MASK
from windrow.operators.theta import Predicates
from windrow.physical.specs import WJoin
from windrow.plan.windows import UNBOUNDED


class CountSearch(Search):
    """The combinations that rows give as they enter.

    Args:
        spec: the join.
        windows: per input, the rows that are there and those that enter, keyed by number.
        counted: the same, by when they leave.
        counters: where probes and comparisons are counted.
        predicates: those of the join.
    """

    def __init__(
        self,
        spec: WJoin,
        windows: Sequence[JoinWindow],
        counted: Sequence[CountWindow],
        counters: Counters,
        predicates: Predicates,
    ) -> None:
        super().__init__(spec, windows, counters, predicates)
        self._counted = counted
        self._bounds = spec.graph.stated
        self._first: dict[tuple[int, int], Numbers] = {}

    def _period(self, partial: Partial, route: Route, at: int) -> tuple[Numbers, Numbers]:
        """From the first row there up to the one that enters, which is the route's start."""
        places = partial.places[0]
        low = self._first_there(route.start, route.steps[at].input)[places & ROW_MASK]
        high = partial.times[0] - 1
        can_enter = self._counted[route.start].can_enter(places)
        return low, high if can_enter is None else np.where(can_enter, high, -1)

    def _first_there(self, start: int, port: int) -> Numbers:
        """The first number of an input that is there as each new row of another one enters."""
        if (start, port) not in self._first:
            new = self._windows[start].new
            assert new is not None
            names = partition_keys(self._spec, start, port)
            keys = None if names is None else [new.batch.columns.column(name) for name in names]
            self._first[start, port] = self._counted[port].first_there(
                new.keys, new.batch.times, keys
            )
        return self._first[start, port]

    def _kept(
        self, partial: Partial, route: Route, at: int, probes: Numbers, places: Numbers
    ) -> Numbers | None:
        """The matches that are there, that conditions on time hold for, and that pass the tests."""
        if not len(places):
            return None
        added = route.steps[at].input
        there = self._counted[added].is_there(places, partial.times[0][probes])
        holds = _both(there, self._in_time(partial, route, at, probes, places))
        if holds is None:
            return super()._kept(partial, route, at, probes, places)
        kept = np.flatnonzero(holds)
        tested = super()._kept(partial, route, at, probes[kept], places[kept])
        return kept if tested is None else kept[tested]

    def _in_time(
        self, partial: Partial, route: Route, at: int, probes: Numbers, places: Numbers
    ) -> NDArray[np.bool_] | None:
        """For which matches the conditions on time that they complete hold; None: there are none."""
        added = route.steps[at].input
        chosen = route.order[: at + 1]
        holds: NDArray[np.bool_] | None = None
        for bound in self._bounds:
            other = bound.left if bound.right == added else bound.right
            if added not in {bound.left, bound.right} or other not in chosen:
                continue
            own = self._counted[added]
            theirs = self._counted[other]
            their_places = partial.places[chosen.index(other)][probes]
            ours_at, theirs_at = own.times_at(places), theirs.times_at(their_places)
            lo, hi = (bound.lo, bound.hi) if bound.right == added else (bound.hi, bound.lo)
            holds = _both(holds, _lies_within(theirs_at, ours_at, lo, hi))
        return holds


def _lies_within(start: Numbers, time: Numbers, lo: int, hi: int) -> NDArray[np.bool_]:
    """Whether time - start lies in [-lo, hi]; differences beyond 64 bits count as the greatest."""
    ahead = time >= start
    # As unsigned numbers, differences of any two times are exact.
    distance = np.where(ahead, time.view(np.uint64) - start.view(np.uint64), 0)
    behind = np.where(ahead, 0, start.view(np.uint64) - time.view(np.uint64))
    within: NDArray[np.bool_] = _at_most(distance, behind, hi) & _at_most(behind, distance, lo)
    return within


def _at_most(
    distance: NDArray[np.uint64], back: NDArray[np.uint64], most: int
) -> NDArray[np.bool_]:
    """Whether distance - back, one of which is zero, is at most a number of either sign."""
    if most >= UNBOUNDED:
        return np.ones(len(distance), np.bool_)
    if most >= 0:
        return distance <= np.uint64(most)
    return back >= np.uint64(-most)


def _both(
    first: NDArray[np.bool_] | None, second: NDArray[np.bool_] | None
) -> NDArray[np.bool_] | None:
    if first is None or second is None:
        return second if first is None else first
    return first & second
