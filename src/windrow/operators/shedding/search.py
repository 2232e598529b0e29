"""The search of a join that sheds: from rows drawn to probe, among rows that are kept."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from windrow.operators.columns.changes import Places
from windrow.operators.joins.bew_search import Partial, Search
from windrow.operators.joins.join_steps import Route

KEEP, PROBE = "$keep", "$probe"
NOT_DRAWN = 1.0
"""The draw of a row that is not kept, or does not probe: no chance is above it."""


class ShedSearch(Search):
    """Combinations that start with rows drawn to probe, of rows that are kept."""

    def _starts(self, route: Route) -> Iterator[Partial]:
        window = self._windows[route.start]
        for block in super()._starts(route):
            (probe,) = window.columns([PROBE], Places(block.places[0]))
            does_probe = np.flatnonzero(probe.to_numpy() < NOT_DRAWN)
            if len(does_probe):
                yield block.take(does_probe)

    def _taken(self, partial: Partial, route: Route, at: int, filled: int) -> Iterator[Partial]:
        window = self._windows[route.steps[at].input]
        for longer in super()._taken(partial, route, at, filled):
            (keep,) = window.columns([KEEP], Places(longer.places[-1]))
            is_kept = np.flatnonzero(keep.to_numpy() < NOT_DRAWN)
            if len(is_kept):
                yield longer.take(is_kept)
