"""Rows that come and go, by asking at every instant how many there are: plain, slow, easy to trust."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence

from twins.snapshot_join import Change, Content


def copies(changes: Iterable[Change], instant: int) -> Counter[Content]:
    """How many copies of each row there are at an instant, perhaps fewer than none."""
    found: Counter[Content] = Counter()
    for change in changes:
        if change.time <= instant < change.end:
            found[change.values] += change.sign
    return Counter({values: count for values, count in found.items() if count})


def edges(*parts: Sequence[Change]) -> list[int]:
    """The instants at which anything may change."""
    return sorted({edge for part in parts for c in part for edge in (c.time, c.end)})
