"""How a snapshot join finds combinations: rows with equal keys that are alive together.

The steps are those of the join by time (`bew_search`), over ends in the place of times: chunks are
ordered by end, so that the rows which are still alive are found at once, and those which come too
late for a combination are stepped over (`kernels/alive_index`), whether there is a key or not.

    chosen          max(t) |===================| min(end)
    found                     |======================|     end > max(t), t < min(end)
    too late                                      |==|     t >= min(end): never looked at
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from windrow.kernels.alive_index import AliveProbes
from windrow.kernels.bew_period import Found, Probes, Progress
from windrow.operators.base import Counters
from windrow.operators.bew_search import LookUp, Numbers, Partial, Search
from windrow.operators.bew_steps import Route
from windrow.operators.bew_window import JoinWindow, Scan
from windrow.operators.gather import Places
from windrow.operators.stated_bounds import both, in_time
from windrow.operators.theta import Predicates
from windrow.physical.nodes.multi_join import MultiJoin
from windrow.schema import MAX_TICK


class SnapshotSearch(Search):
    """The combinations that the new rows of one push complete."""

    def __init__(
        self,
        spec: MultiJoin,
        windows: Sequence[JoinWindow],
        counters: Counters,
        predicates: Predicates,
    ) -> None:
        super().__init__(spec, windows, counters, predicates)
        self._bounds = spec.graph.stated

    def _period(
        self,
        partial: Partial,
        route: Route,
        at: int,  # noqa: ARG002
    ) -> tuple[Numbers, Numbers]:
        """Any end after the time of every row chosen."""
        chosen = zip(route.order, partial.places, strict=False)
        latest = np.maximum.reduce([times_at(self._windows[i], own) for i, own in chosen])
        return latest + 1, np.full(len(partial), MAX_TICK)

    def _look_up(
        self,
        partial: Partial,
        window: JoinWindow,
        columns: tuple[str, ...],  # noqa: ARG002  # those of the scan
        scan: Scan | None,
    ) -> LookUp:
        """Asks for rows that end after the ones chosen begin, and start before they end."""
        assert scan is not None
        untils, own_scan = partial.times.min(axis=0), scan

        def look_up(chunk: int, probes: Probes, found: Found, progress: Progress) -> None:
            window.probe_alive(chunk, own_scan, AliveProbes(*probes, untils), found, progress)

        return look_up

    def _is_hashed(self, route: Route, at: int) -> bool:  # noqa: ARG002
        """Comparisons are tested as rows are looked up, with a key as without."""
        return False

    def _kept(
        self, partial: Partial, route: Route, at: int, probes: Numbers, places: Numbers
    ) -> Numbers | None:
        """The matches that are there and pass the tests that no look-up makes."""
        if not len(places):
            return None

        def times_of(position: int) -> Numbers:
            chosen = places if position > at else partial.places[position][probes]
            return times_at(self._windows[route.order[position]], chosen)

        there = self._is_there(self._windows[route.steps[at].input], places)
        holds = both(there, in_time(self._bounds, route, at, times_of))
        if holds is None:
            return super()._kept(partial, route, at, probes, places)
        kept = np.flatnonzero(holds)
        tested = super()._kept(partial, route, at, probes[kept], places[kept])
        return kept if tested is None else kept[tested]

    def _is_there(self, window: JoinWindow, places: Numbers) -> NDArray[np.bool_] | None:
        """Which rows have not been taken back; None: all of them."""
        if not any(part.gone for part in window.slices):
            return None
        return ~Places(places).computed(lambda chunk, rows: window.slices[chunk].is_gone(rows))


def times_at(window: JoinWindow, places: Numbers) -> Numbers:
    """The times of the rows at some places."""
    return Places(places).numbers(lambda chunk: window.slices[chunk].chunk.batch.times)
