"""Which algorithm a bestmatch join runs by, as the user asked for it."""

from __future__ import annotations

from windrow.errors import PlanError
from windrow.physical.match_algorithms import MATWIN, MATWIN_GRID, PAGED, STANDARD_PAGES
from windrow.physical.nodes.base import KeyClass, PhysicalNode
from windrow.physical.nodes.matwin_bestmatch import MatwinBestmatch
from windrow.physical.options import Options
from windrow.plan.nodes.bestmatch_join import BestmatchJoin


def match_algorithm(node: BestmatchJoin, classes: tuple[KeyClass, ...], options: Options) -> str:
    """The algorithm asked for; if none is, MatWin, with pages where windows may go to disk.

    A grid with nothing to lay it over is refused, and so are pages of what is compared by value.
    """
    by_value = [d for d in node.dimensions if d.is_by_value]
    asked = options.match_algorithm
    if asked is None:
        return STANDARD_PAGES if options.spills and not by_value else MATWIN
    if asked in PAGED and by_value:
        raise PlanError(
            "orders-not-in-pages",
            f"the windows of the bestmatch join cannot be kept in pages: {by_value[0].text} looks at"
            " values",
            reason="a page holds numbers: times, keys and what distances are measured by",
            hint=f"use algorithm {MATWIN}: chunks of rows go to disk where memory does not hold them",
            span=by_value[0].span,
        )
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


def check_match_algorithm(root: PhysicalNode, options: Options) -> None:
    """Refuses an algorithm of bestmatch joins for a query that has none."""
    if options.match_algorithm is None or any(
        isinstance(node, MatwinBestmatch) for node in root.walk()
    ):
        return
    raise PlanError(
        "algorithm-of-bestmatch",
        f"the algorithm {options.match_algorithm} is for bestmatch joins, and the query has none",
        hint="leave it out, or name an algorithm of window joins, bew for instance",
    )
