"""The slow twin of count-window joins: tuples enter one by one, and windows are plain lists.

Nothing is shared with Windrow but the meaning of a query: the order of the tuples, who is in a
window as another tuple enters, and that a combination is given by the tuple that enters last.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from twins.join import Row, canonical


@dataclass(frozen=True)
class Window:
    """[ROWS n], [PARTITION BY columns ROWS n] or [RANGE ticks]; none of them: all tuples stay."""

    rows: int | None = None
    partition: tuple[str, ...] = ()
    ticks: int | None = None


@dataclass(frozen=True)
class Entered:
    """A tuple with its number in the order of all streams' tuples."""

    row: Row
    number: int


def count_join(
    streams: Sequence[Sequence[Row]],
    columns: Sequence[Sequence[str]],
    windows: Sequence[Window],
    within: int | None,
    holds: Callable[[tuple[Row, ...]], bool],
) -> Iterator[tuple[Row, ...]]:
    """Every combination that the windows and the condition allow.

    Args:
        streams: the tuples of each stream, in FROM order.
        columns: the columns of each stream from left to right.
        windows: the window of each stream.
        within: the n of WINDOW = n ROWS.
        holds: the join condition, with everything that WHERE says.
    """
    everyone = [(row, position) for position, rows in enumerate(streams) for row in rows]
    everyone.sort(key=lambda one: (one[0].time, one[1], order_key(one[0], columns[one[1]])))
    entered: list[list[Entered]] = [[] for _ in streams]
    for number, (row, position) in enumerate(everyone):
        candidates = [
            [Entered(row, number)] if other == position else there(entered[other], window, row)
            for other, window in enumerate(windows)
        ]
        for combination in itertools.product(*candidates):
            numbers = [one.number for one in combination]
            rows = tuple(one.row for one in combination)
            if (within is None or max(numbers) - min(numbers) <= within) and holds(rows):
                yield rows
        entered[position].append(Entered(row, number))


def there(entered: Sequence[Entered], window: Window, enters: Row) -> list[Entered]:
    """The tuples of a stream that are in its window as a tuple of another one enters."""
    if window.ticks is not None:
        return [one for one in entered if one.row.time + window.ticks >= enters.time]
    if window.rows is None:
        return list(entered)
    newest: list[Entered] = []
    taken: dict[Any, int] = {}
    for one in reversed(entered):
        key = repr([canonical(one.row.values[name]) for name in window.partition])
        taken[key] = taken.get(key, 0) + 1
        if taken[key] <= window.rows:
            newest.append(one)
    return newest


def order_key(row: Row, columns: Sequence[str]) -> tuple[Any, ...]:
    """What rows of one time and stream are ordered by."""
    return tuple(value_key(row.values[name]) for name in columns)


def value_key(value: Any) -> tuple[Any, ...]:
    """NULL first, NaN last, -0.0 before 0.0; a map (list of pairs) by its sorted entries."""
    if value is None:
        return (0,)
    if isinstance(value, float):
        return (2,) if math.isnan(value) else (1, value, math.copysign(1, value))
    if isinstance(value, str):
        return (1, value.encode())
    if isinstance(value, dict):
        return (1, tuple(value_key(part) for part in value.values()))
    if isinstance(value, list):
        keys = [
            (value_key(part[0]), value_key(part[1])) if isinstance(part, tuple) else value_key(part)
            for part in value
        ]
        is_map = any(isinstance(part, tuple) for part in value)
        return (1, tuple(sorted(keys) if is_map else keys))
    return (1, value)
