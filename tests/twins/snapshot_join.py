"""The join of relations that change, by asking at every instant: plain, slow, and easy to trust."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any

Content = tuple[Any, ...]


@dataclass(frozen=True)
class Change:
    """A row that is there `sign` times from `time` on, and no more from `end` on."""

    values: Content
    time: int
    end: int
    sign: int = 1


def alive(changes: Sequence[Change], instant: int) -> Counter[Content]:
    """How many copies of each row there are at an instant; none is there less than no times."""
    copies: Counter[Content] = Counter()
    for change in changes:
        if change.time <= instant < change.end:
            copies[change.values] += change.sign
    assert min(copies.values(), default=0) >= 0
    return +copies


def joined(
    inputs: Sequence[Counter[Content]], matches: Callable[[Sequence[Content]], bool]
) -> Counter[Content]:
    """Every combination of one row per input that matches, as often as its rows allow."""
    found: Counter[Content] = Counter()
    for rows in product(*(copies.items() for copies in inputs)):
        contents = [content for content, _ in rows]
        if matches(contents):
            times = 1
            for _, copies in rows:
                times *= copies
            found[sum(contents, ())] += times
    return found


def instants(inputs: Sequence[Sequence[Change]], last: int) -> list[int]:
    """The instants, up to a last one, at which anything may change."""
    edges = {edge for changes in inputs for c in changes for edge in (c.time, c.end)}
    return sorted(edge for edge in edges if edge < last)
