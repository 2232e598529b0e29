"""The as-of join by the book: for each left row, all right rows, sorted, and the best one taken.

Rows are plain dictionaries: `t` (event time), `k` (a tuple of key values), `columns` (the values
that order rows of one time), `id`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

Row = dict[str, Any]


@dataclass(frozen=True)
class Rules:
    """Which right row is the match: direction, strictness, tolerance, and per key if NULLs match."""

    direction: str
    is_strict: bool = False
    tolerance: int | None = None
    null_safe: tuple[bool, ...] = ()
    is_left: bool = False


def same_keys(left: Row, right: Row, rules: Rules) -> bool:
    """Whether the keys of two rows are equal, NaN and NaN too, NULL and NULL where that is asked."""
    for a, b, null_safe in zip(left["k"], right["k"], rules.null_safe, strict=True):
        if a is None or b is None:
            if not (null_safe and a is b):
                return False
        elif a != b and not (a != a and b != b):  # noqa: PLR0124
            return False
    return True


def order(row: Row) -> tuple[Any, ...]:
    """Time, then the columns from left to right, NULL first."""
    columns = tuple(
        (value is not None, value if value is not None else 0) for value in row["columns"]
    )
    return (row["t"], columns)


def sides(left: Row, right: Sequence[Row], rules: Rules) -> tuple[Row | None, Row | None]:
    """The last right row at or before a left one, and the first after it; None where none is."""
    reach = float("inf") if rules.tolerance is None else rules.tolerance
    known = [r for r in right if same_keys(left, r, rules) and abs(r["t"] - left["t"]) <= reach]
    known.sort(key=order)
    if rules.is_strict:
        known = [r for r in known if r["t"] != left["t"]]
    looks_ahead = rules.direction == "forward"
    before = [r for r in known if r["t"] < left["t"] or (r["t"] == left["t"] and not looks_ahead)]
    after = [r for r in known if r["t"] > left["t"] or (r["t"] == left["t"] and looks_ahead)]
    return (before[-1] if before else None), (after[0] if after else None)


def match_of(left: Row, right: Sequence[Row], rules: Rules) -> Row | None:
    """The match of a left row, None where it has none."""
    before, after = sides(left, right, rules)
    if rules.direction == "backward":
        return before
    if rules.direction == "forward":
        return after
    if before is None or after is None:
        return before or after
    return before if left["t"] - before["t"] <= after["t"] - left["t"] else after


def asof(left: Sequence[Row], right: Sequence[Row], rules: Rules) -> list[tuple[Any, Any]]:
    """The ids of the pairs; None for the right one of a row that comes alone."""
    pairs = []
    for row in left:
        found = match_of(row, right, rules)
        if found is not None or rules.is_left:
            pairs.append((row["id"], found["id"] if found else None))
    return pairs


def last_wait(left: Row, right: Sequence[Row], rules: Rules) -> float:
    """The last instant at which the watermark still leaves the match of a left row open."""
    if rules.direction == "backward":
        return left["t"] - 1 if rules.is_strict else left["t"]
    can_match = all(
        k is not None or safe for k, safe in zip(left["k"], rules.null_safe, strict=True)
    )
    if not can_match:
        return left["t"]
    before, after = sides(left, right, rules)
    waits = [float("inf") if rules.tolerance is None else left["t"] + rules.tolerance]
    if after is not None:
        waits.append(after["t"])
    if rules.direction == "nearest" and before is not None:
        waits.append(left["t"] + (left["t"] - before["t"]) - 1)
    return max(left["t"], min(waits))
