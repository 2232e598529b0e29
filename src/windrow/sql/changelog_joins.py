"""Joins of which an input is a changelog: what they may say of time, and what is refused.

Rows of a changelog have no event time that a window could be measured from: they are there until
they are taken back. So every stream beside one has a window of its own, and windows between two
streams are conditions.
"""

from __future__ import annotations

from collections.abc import Sequence

from sqlglot import exp

from windrow.plan.nodes import KIND_NAMES
from windrow.plan.windows import Bound
from windrow.sql.clauses import PairWindow
from windrow.sql.refuse import unsupported
from windrow.sql.scope import Scope, Source
from windrow.sql.sources import From
from windrow.sql.spans import span_of
from windrow.sql.windows import StatedWindows

JOIN = "a join with a changelog"


def changelogs(scope: Scope) -> list[Source]:
    """The sources whose rows are taken back by what is inside them."""
    return [source for source in scope.sources if source.changelog_keys is not None]


def is_changelog_join(from_: From, scope: Scope) -> bool:
    """Whether a FROM joins a changelog with anything; other joins than inner ones are refused."""
    found = changelogs(scope)
    if not found or len(scope.sources) == 1:
        return False
    if from_.bestmatch is not None or from_.kind != "inner":
        kind = "bestmatch" if from_.bestmatch is not None else KIND_NAMES[from_.kind]
        raise unsupported(
            "join-of-changelog",
            f"{found[0].alias} is a changelog; a {kind} join of it is not supported",
            "write an inner join",
            found[0].span,
        )
    return True


def refuse_windows(clauses: Sequence[exp.Expr], windows: StatedWindows, scope: Scope) -> None:
    """Refuses windows between a changelog and another source, and EITHER WAY."""
    for clause in clauses:
        if not isinstance(clause, PairWindow):
            continue
        names = {clause.args[side].name.lower() for side in ("left", "right")}
        for source in changelogs(scope):
            if source.alias.lower() in names:
                raise unsupported(
                    "window-with-changelog",
                    f"{source.alias} is a changelog, whose rows have no time to measure a window"
                    " from",
                    "leave the window out: its rows join while they are there",
                    span_of(clause),
                )
    if windows.reversed is not None:
        raise unsupported(
            "either-way-with-changelog",
            f"EITHER WAY beside {changelogs(scope)[0].alias}, a changelog, is not supported",
            "join the streams in a derived table with a window: FROM (SELECT ..) x [RANGE ..]",
            span_of(next(clause for clause in clauses if clause.args.get("either_way"))),
        )


def between_streams(bounds: Sequence[Bound], scope: Scope) -> tuple[Bound, ...]:
    """The bounds between sources of which neither is a changelog."""
    is_changelog = [source.changelog_keys is not None for source in scope.sources]
    return tuple(b for b in bounds if not (is_changelog[b.left] or is_changelog[b.right]))
