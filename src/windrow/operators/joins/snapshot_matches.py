"""How joins of rows that come and go find combinations: rows with equal keys, alive together.

A combination has the greatest time, the least end and the product of the signs of its rows.

The steps are those of the join by time (`bew_search`), over ends in the place of times: chunks are
ordered by end, so that the rows which are still alive are found at once, and those which come too
late for a combination are stepped over (`kernels/alive_index`), whether there is a key or not.

    chosen          max(t) |===================| min(end)
    found                     |======================|     end > max(t), t < min(end)
    too late                                      |==|     t >= min(end): never looked at
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from windrow.kernels.alive_index import AliveProbes
from windrow.kernels.bew_period import Found, Probes, Progress
from windrow.operators.columns.changes import ChangeBatch, Places, select
from windrow.operators.columns.chunks import Chunk
from windrow.operators.engine.base import Counters
from windrow.operators.joins.bew_join import gathered
from windrow.operators.joins.bew_search import (
    FoundBlock,
    LookUp,
    MatchTest,
    Numbers,
    Partial,
    Search,
)
from windrow.operators.joins.bew_window import JoinWindow, Scan
from windrow.operators.joins.join_inputs import can_match
from windrow.operators.joins.join_steps import Predicates, Route, both, routes_of
from windrow.physical.nodes.multi_join import MultiJoin
from windrow.schema import MAX_TICK


class SnapshotSearch(Search):
    """The combinations that the new rows of one push complete."""

    def _period(
        self,
        partial: Partial,
        route: Route,
        at: int,  # noqa: ARG002
    ) -> tuple[Numbers, Numbers]:
        """Any end after the time of every row chosen."""
        chosen = zip(route.order, partial.places, strict=False)
        latest = np.maximum.reduce([self._windows[i].times(Places(own)) for i, own in chosen])
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

    def _match_tests(self) -> Sequence[MatchTest]:
        return (self._there, *super()._match_tests())

    def _there(
        self, partial: Partial, route: Route, at: int, probes: Numbers, places: Numbers
    ) -> Numbers | None:
        """The matches that have not been taken back, and are in time."""
        slices = self._windows[route.steps[at].input].slices
        holds = self._within_windows(partial, route, at, probes, places)
        if any(part.gone for part in slices):
            is_gone = Places(places).computed(lambda chunk, rows: slices[chunk].is_gone(rows))
            holds = both(holds, ~is_gone)
        return None if holds is None else np.flatnonzero(holds)


class AliveTogether:
    """The combinations of a join of two or more inputs, by equal keys and predicates."""

    def __init__(self, node: MultiJoin, counters: Counters) -> None:
        self._node = node
        self._counters = counters
        self._routes = routes_of(node)
        self._predicates = Predicates(node)
        self._columns = [node.columns_needed(port) for port in range(len(node.inputs))]

    def candidates(self, port: int, batch: ChangeBatch) -> ChangeBatch:
        """The rows that can match and are ever alive, with the columns that are needed."""
        rows = replace(batch, columns=select(batch.columns, self._columns[port]))
        return rows.where(can_match(self._node, port, rows) & (rows.times < rows.ends_or_never()))

    def found(self, windows: Sequence[JoinWindow]) -> Iterator[ChangeBatch]:
        """The combinations that have a new row, each once; chunks are in order of their ends."""
        if not all(windows):
            return
        search = SnapshotSearch(self._node, windows, self._counters, self._predicates)
        for block in search.blocks(self._routes):
            yield self._gathered(windows, block)

    def _gathered(self, windows: Sequence[JoinWindow], found: FoundBlock) -> ChangeBatch:
        """The rows of complete combinations, side by side."""
        columns, places = gathered(self._node, windows, found)
        own = list(zip(windows, places, strict=True))
        times = np.maximum.reduce([window.times(at) for window, at in own])
        signs = np.multiply.reduce([_signs_at(window, at) for window, at in own], dtype=np.int8)
        # A window's keys are ends here: so are the "times" of what was found.
        ends = np.concatenate([partial.times.min(axis=0) for _, partial in found])
        return ChangeBatch(columns, times, ends, signs)


def by_end(rows: ChangeBatch | None) -> Chunk | None:
    """Rows as a chunk in order of their ends; None for none."""
    if rows is None or not len(rows):
        return None
    rows = rows.sorted_by(rows.ends_or_never())
    return Chunk(rows, rows.ends_or_never())


def _signs_at(window: JoinWindow, places: Places) -> NDArray[np.int8]:
    """The signs of the rows at some places; those that have come are stored without."""

    def of(at: int, rows: NDArray[np.int64]) -> NDArray[np.int8]:
        signs = window.slices[at].chunk.batch.signs
        return np.ones(len(rows), np.int8) if signs is None else signs[rows]

    return places.computed(of)
