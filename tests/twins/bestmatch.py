"""The left outer bestmatch join by the book: the cross product, then every pair against every pair.

Rows are plain dictionaries: `t` (event time), `y` (a tuple of values, one per dimension), `k` (a
tuple of key values), `id`. Distances are Python's own numbers: integers and fractions exactly.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

Row = dict[str, Any]
Pair = tuple[Any, Any]
"""The ids of a left and a right row; None for the right one of an unmatched row."""


@dataclass(frozen=True)
class Rules:
    """What makes a pair a candidate, and what its event time is measured against.

    `eps` has one entry per dimension; `null_safe` one per key column. Where `time_dimension` is
    true, the distance in event time is one more dimension, the first.
    """

    eps: tuple[Any, ...]
    null_safe: tuple[bool, ...] = ()
    lo: int = 0
    hi: int = 0
    time_dimension: bool = False
    keep_unmatched: bool = False


def bestmatch(left: Sequence[Row], right: Sequence[Row], rules: Rules) -> list[Pair]:
    """The ids of the pairs kept, as a bag."""
    kept: list[Pair] = []
    for r in left:
        candidates = [(s, vector) for s in right if (vector := distances(r, s, rules)) is not None]
        best = [
            s for s, vector in candidates if not any(dominates(v, vector) for _, v in candidates)
        ]
        kept += [(r["id"], s["id"]) for s in best]
        if rules.keep_unmatched and not candidates:
            kept.append((r["id"], None))
    return kept


def distances(r: Row, s: Row, rules: Rules) -> tuple[Any, ...] | None:
    """The distances of a pair, one per dimension; None when it is no candidate."""
    if not -rules.lo <= s["t"] - r["t"] <= rules.hi:
        return None
    for a, b, null_safe in zip(r.get("k", ()), s.get("k", ()), rules.null_safe, strict=True):
        if not ((a is None and b is None and null_safe) or (a is not None and a == b)):
            return None
    vector: list[Any] = [abs(r["t"] - s["t"])] if rules.time_dimension else []
    for a, b, eps in zip(r["y"], s["y"], rules.eps, strict=True):
        if a is None or b is None:
            return None
        distance = abs(a - b)
        if isinstance(distance, float) and math.isnan(distance):
            return None
        if eps is not None and distance > eps:
            return None
        vector.append(distance)
    return tuple(vector)


def dominates(one: tuple[Any, ...], other: tuple[Any, ...]) -> bool:
    """At least as good everywhere, and better somewhere."""
    no_worse = all(a <= b for a, b in zip(one, other, strict=True))
    return no_worse and any(a < b for a, b in zip(one, other, strict=True))
