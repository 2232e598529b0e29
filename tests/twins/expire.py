"""Rows that end as changes that do not, one row after the other: plain, slow, and easy to trust."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from twins.snapshot_join import Change, Content

from windrow.schema import MAX_TICK

Net = Counter[tuple[int, Content]]


def events(rows: Iterable[Change]) -> list[Change]:
    """Each row at its time, and the opposite of it at its end, if it has one; both without an end."""
    found = []
    for row in rows:
        if row.time >= row.end:
            continue
        found.append(Change(row.values, row.time, MAX_TICK, row.sign))
        if row.end < MAX_TICK:
            found.append(Change(row.values, row.end, MAX_TICK, -row.sign))
    return found


def net(changes: Iterable[Change]) -> Net:
    """By how much the number of copies of each row changes at each instant; nothing where by none."""
    total: Net = Counter()
    for change in changes:
        total[change.time, change.values] += change.sign
    return Counter({key: copies for key, copies in total.items() if copies})
