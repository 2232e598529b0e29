"""Set operations by asking at every instant, in plain Python: slow, and plainly right."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import Any

from twins.aggregate import NEVER, plain

Values = tuple[Any, ...]
Bag = Counter[Values]


@dataclass(frozen=True)
class Row:
    """A row of an input: in [time, end) one copy more of its values, or, with sign -1, one less."""

    port: int
    values: Values
    time: int
    end: int = NEVER
    sign: int = 1


def bag_at(rows: list[Row], port: int, instant: int) -> Bag:
    """What an input holds at an instant."""
    bag: Bag = Counter()
    for row in rows:
        if row.port == port and row.time <= instant < row.end:
            bag[tuple(map(plain, row.values))] += row.sign
    assert all(count >= 0 for count in bag.values())
    return +bag


def combined(kind: str, n: Bag, m: Bag) -> Bag:
    """The answer over two bags, as SQL has it."""
    answers = {
        "distinct": lambda: Counter(set(n)),
        "changes": lambda: n,
        "union": lambda: Counter(set(n) | set(m)),
        "union all": lambda: n + m,
        "except": lambda: Counter(set(n) - set(m)),
        "except all": lambda: n - m,
        "intersect": lambda: Counter(set(n) & set(m)),
        "intersect all": lambda: n & m,
    }
    return answers[kind]()


def answer_at(kind: str, rows: list[Row], instant: int) -> Bag:
    """The answer over the rows alive."""
    return combined(kind, bag_at(rows, 0, instant), bag_at(rows, 1, instant))


def changelog(kind: str, rows: list[Row]) -> list[tuple[int, int, Values]]:
    """(instant, sign, row), net at each instant, what goes before what comes."""
    instants = sorted({row.time for row in rows} | {row.end for row in rows if row.end < NEVER})
    changes = []
    before: Bag = Counter()
    for instant in instants:
        after = answer_at(kind, rows, instant)
        changes += [(instant, -1, row) for row in (before - after).elements()]
        changes += [(instant, 1, row) for row in (after - before).elements()]
        before = after
    return changes
