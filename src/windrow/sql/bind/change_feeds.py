"""Sources whose rows come and go by themselves: streams of changes, and windows that count rows.

Either is a changelog. Its deletes have times of their own, so that what is asked of the time column
is a plain condition on that column, never a window between streams.
"""

from __future__ import annotations

from dataclasses import replace

from windrow.plan.nodes.base import Node
from windrow.plan.nodes.change_feed import ChangeFeed
from windrow.plan.nodes.newest_rows import NewestRows
from windrow.sql.bind.scope import Source


def change_feed(source: Source) -> Source:
    """A stream of changes as the rows that it describes, within its window where it has one.

    A count window has the newest of the rows that are there: a deleted one brings back another.
    """
    assert source.time is not None
    node = ChangeFeed(source.node, source.alias, source.time, source.range_ticks)
    of_rows = _as_changelog(replace(source, range_ticks=None, range_text=""), node)
    return newest_rows(of_rows)


def newest_rows(source: Source) -> Source:
    """A source with a count window as the rows in it, which come and go; others as they are."""
    if source.rows is None or source.rows.rows is None:
        return source
    window = NewestRows(source.node, source.alias, source.rows.rows, source.rows.partition)
    return _as_changelog(replace(source, rows=None), window)


def within_window(source: Source, ticks: int | None) -> Node:
    """A source's plan; a stream of changes without a window has that of WINDOW = w, if there is one."""
    node = source.node
    if isinstance(node, ChangeFeed) and node.ticks is None:
        return replace(node, ticks=ticks)
    return node


def _as_changelog(source: Source, node: ChangeFeed | NewestRows) -> Source:
    return replace(source, node=node, time=None, changelog_keys=(), is_bag=True)
