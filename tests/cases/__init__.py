"""Random questions with their answers by brute force, for every runner alike."""

from __future__ import annotations

from cases.aggregates import draw_aggregate
from cases.asof_joins import draw_asof
from cases.base import Case, Stream
from cases.bestmatches import draw_bestmatch
from cases.count_windows import draw_count_join
from cases.joins import draw_join
from cases.outer_joins import draw_outer_join
from cases.values_by import draw_values_by
from cases.window_joins import draw_window_join

FAMILIES = {
    "join": draw_join,
    "aggregate": draw_aggregate,
    "bestmatch": draw_bestmatch,
    "outer": draw_outer_join,
    "count": draw_count_join,
    "asof": draw_asof,
    "window join": draw_window_join,
    "values by": draw_values_by,
}

__all__ = [
    "FAMILIES",
    "Case",
    "Stream",
    "draw_aggregate",
    "draw_asof",
    "draw_bestmatch",
    "draw_count_join",
    "draw_join",
    "draw_outer_join",
    "draw_values_by",
    "draw_window_join",
]
