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

from windrow.operators.base import Counters
from windrow.operators.bew_search import Numbers, Partial, Search
from windrow.operators.bew_steps import Route
from windrow.operators.bew_window import JoinWindow
from windrow.operators.count_window import CountWindow, partition_keys
from windrow.operators.gather import ROW_MASK
from windrow.operators.stated_bounds import both, in_time
from windrow.operators.theta import Predicates
from windrow.physical.nodes.count_join import CountJoin


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
        spec: CountJoin,
        windows: Sequence[JoinWindow],
        counted: Sequence[CountWindow],
        counters: Counters,
        predicates: Predicates,
    ) -> None:
        super().__init__(spec, windows, counters, predicates)
        self._join = spec
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
            names = partition_keys(self._join, start, port)
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

        def times_of(position: int) -> Numbers:
            chosen = places if position > at else partial.places[position][probes]
            return self._counted[route.order[position]].times_at(chosen)

        holds = both(there, in_time(self._bounds, route, at, times_of))
        if holds is None:
            return super()._kept(partial, route, at, probes, places)
        kept = np.flatnonzero(holds)
        tested = super()._kept(partial, route, at, probes[kept], places[kept])
        return kept if tested is None else kept[tested]
