"""Bestmatch joins by the book: the cross product, then every pair against every pair.

Rows are plain dictionaries: `t` (event time), `y` (a tuple of values, one per dimension), `k` (a
tuple of key values), `id`. Distances are Python's own numbers: integers and fractions exactly, and
those of FLOAT columns, whose values are numpy's float32, as these subtract.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

Row = dict[str, Any]
Pair = tuple[Any, Any]
"""The ids of a left and a right row; None for the one that an unmatched row lacks."""

BETTER, EQUAL, WORSE = 1, 0, -1
"""How a pair compares with another in one dimension; None: neither way."""

JUDGED = {"left outer": "l", "right outer": "r", "full outer": "lr"}


@dataclass(frozen=True)
class Rules:
    """What makes a pair a candidate, and what its event time is measured against.

    `eps` has one entry per dimension, and so has `orders` ("mindist" where it is empty): a name, or
    ("number", f) with f(a, b) to be least, or ("partial", f) with f(a, b, a', b') one of the
    constants above. `null_safe` has one entry per key column. With a `time_order`, event time is
    one more dimension, the first. `on` are conditions on one row that decide what is a candidate, each
    with the side it is about, left (0) or right (1); those of `where` are asked of the rows of the
    answer, of a row that is missing as None.
    """

    eps: tuple[Any, ...]
    null_safe: tuple[bool, ...] = ()
    lo: int = 0
    hi: int = 0
    time_order: str | None = None
    keep_unmatched: bool = False
    kind: str = "left outer"
    orders: tuple[Any, ...] = ()
    on: tuple[tuple[int, Callable[[Row | None], bool]], ...] = ()
    where: tuple[tuple[int, Callable[[Row | None], bool]], ...] = ()

    def keeps(self, left: Row | None, right: Row | None) -> bool:
        """Whether WHERE keeps a row of the answer."""
        return all(holds((left, right)[side]) for side, holds in self.where)

    @property
    def order_of(self) -> tuple[Any, ...]:
        """The order of every dimension but time."""
        return self.orders or ("mindist",) * len(self.eps)


@dataclass(frozen=True)
class Candidate:
    """A pair, and what is compared of it: one entry per dimension."""

    left: Row
    right: Row
    entries: tuple[tuple[Callable[[Any, Any], int | None], Any], ...]

    def dominates(self, other: Candidate) -> bool:
        """At least as good everywhere, and better somewhere."""
        found = [
            compare(one, another)
            for (compare, one), (_, another) in zip(self.entries, other.entries, strict=True)
        ]
        return all(one in (BETTER, EQUAL) for one in found) and BETTER in found


def bestmatch(left: Sequence[Row], right: Sequence[Row], rules: Rules) -> list[Pair]:
    """The ids of the pairs kept, as a bag."""
    return list(proofs(left, right, rules))


def proofs(left: Sequence[Row], right: Sequence[Row], rules: Rules) -> dict[Pair, int]:
    """The ids of the pairs kept, each with the watermark beyond which it is first proven."""
    candidates = [pair for r in left for s in right if (pair := candidate(r, s, rules)) is not None]
    found: dict[Pair, int] = {}
    for side in JUDGED[rules.kind]:
        wait = rules.hi if side == "l" else rules.lo
        for row in left if side == "l" else right:
            own = [c for c in candidates if row is (c.left if side == "l" else c.right)]
            best = [c for c in own if not any(other.dominates(c) for other in own)]
            rows: list[Pair] = [(c.left, c.right) for c in best]
            if not own and rules.keep_unmatched:
                rows = [(row, None) if side == "l" else (None, row)]
            for pair in [
                (id_of(one), id_of(other)) for one, other in rows if rules.keeps(one, other)
            ]:
                found[pair] = min(row["t"] + wait, found.get(pair, row["t"] + wait))
    return found


def id_of(row: Row | None) -> Any:
    """The id of a row; None where there is none."""
    return None if row is None else row["id"]


def candidate(r: Row, s: Row, rules: Rules) -> Candidate | None:
    """The pair as a candidate; None when it is none."""
    if not all(holds((r, s)[side]) for side, holds in rules.on):
        return None
    if not -rules.lo <= s["t"] - r["t"] <= rules.hi:
        return None
    for a, b, null_safe in zip(r.get("k", ()), s.get("k", ()), rules.null_safe, strict=True):
        if not ((a is None and b is None and null_safe) or (a is not None and a == b)):
            return None
    entries: list[Any] = []
    if rules.time_order == "mindist":
        entries.append((less_is_better, abs(r["t"] - s["t"])))
    elif rules.time_order == "youngest":
        entries.append((less_is_better, -max(r["t"], s["t"])))
    for a, b, eps, order in zip(r["y"], s["y"], rules.eps, rules.order_of, strict=True):
        entry = None if is_missing(a) or is_missing(b) else compared(a, b, eps, order)
        if entry is None:
            return None
        entries.append(entry)
    return Candidate(r, s, tuple(entries))


def compared(a: Any, b: Any, eps: Any, order: Any) -> tuple[Any, Any] | None:
    """How two values are compared with those of other pairs, and by what; None: no candidate."""
    if order == "subset":
        return superset_is_better, (frozenset(a) & frozenset(b)) - {None}
    if order != "mindist" and order[0] == "partial":
        return (lambda one, other: order[1](*one, *other)), (a, b)
    number = distance(a, b) if order == "mindist" else order[1](a, b)
    if is_missing(number) or (eps is not None and number > eps):
        return None
    return less_is_better, number


def distance(a: Any, b: Any) -> Any:
    """|a - b|: of two float32 in 32 bits, of one beside another number in doubles."""
    if isinstance(a, np.float32) and isinstance(b, np.float32):
        with np.errstate(all="ignore"):
            return float(abs(a - b))
    one, other = (float(value) if isinstance(value, np.float32) else value for value in (a, b))
    return abs(one - other)


def is_missing(value: Any) -> bool:
    """Whether a value is NULL or NaN."""
    return value is None or (isinstance(value, float | np.float32) and math.isnan(value))


def less_is_better(one: Any, other: Any) -> int:
    """Numbers."""
    return (one < other) - (one > other)


def superset_is_better(one: frozenset[Any], other: frozenset[Any]) -> int | None:
    """Sets, by inclusion."""
    if one == other:
        return EQUAL
    if one > other:
        return BETTER
    return WORSE if one < other else None


def dominates(one: tuple[Any, ...], other: tuple[Any, ...]) -> bool:
    """Whether distances are at least as small everywhere, and smaller somewhere."""
    no_worse = all(a <= b for a, b in zip(one, other, strict=True))
    return no_worse and any(a < b for a, b in zip(one, other, strict=True))
