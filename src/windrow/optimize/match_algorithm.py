"""Which algorithm a bestmatch join runs by, as the user asked for it."""

from __future__ import annotations

from windrow.errors import PlanError
from windrow.physical.bestmatch import MatwinBestmatch
from windrow.physical.match_algorithms import MATWIN, MATWIN_GRID
from windrow.physical.options import Options
from windrow.physical.specs import KeyClass, Spec, inputs
from windrow.plan.nodes import BestmatchJoin


def match_algorithm(node: BestmatchJoin, classes: tuple[KeyClass, ...], options: Options) -> str:
    """The algorithm asked for, or MatWin; a grid with nothing to lay it over is refused."""
    asked = options.match_algorithm or MATWIN
    has_grid = any(d.has_grid for d in node.dimensions)
    if asked == MATWIN_GRID and (classes or not has_grid):
        raise PlanError(
            "no-epsilon-grid",
            "the bestmatch join has no epsilon grid to find rows by",
            reason="rows of one key are found together"
            if classes
            else "no dimension but time is a distance with a limit",
            hint=f"use algorithm {MATWIN}" + ("" if classes else ", or write WITHIN after MINDIST"),
            span=node.span,
        )
    return asked


def check_match_algorithm(root: Spec, options: Options) -> None:
    """Refuses an algorithm of bestmatch joins for a query that has none."""
    if options.match_algorithm is None or _has_match(root):
        return
    raise PlanError(
        "algorithm-of-bestmatch",
        f"the algorithm {options.match_algorithm} is for bestmatch joins, and the query has none",
        hint="leave it out, or name an algorithm of window joins, bew for instance",
    )


def _has_match(spec: Spec) -> bool:
    return isinstance(spec, MatwinBestmatch) or any(map(_has_match, inputs(spec)))
