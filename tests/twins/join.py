"""The slow twin of the window join: the cross product, tested row by row.

Rows are Python dictionaries with their event time beside them. Nothing is shared with Windrow but
the meaning of a query.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class Row:
    """A tuple of a stream: its values, its event time, and when it stops being alive."""

    values: dict[str, Any]
    time: int
    end: int | None = None


@dataclass(frozen=True)
class Bound:
    """t(right) - t(left) lies in [-lo, hi]."""

    left: int
    right: int
    lo: int
    hi: int


@dataclass(frozen=True)
class Equal:
    """Columns, by input, that must hold equal values; NULL equals NULL only if null-safe."""

    columns: dict[int, str] = field(default_factory=dict)
    null_safe: bool = False


@dataclass(frozen=True)
class Combination:
    """One result: the rows, the greatest time, the least end."""

    rows: tuple[Row, ...]
    time: int
    end: int | None


def window_join(
    inputs: Sequence[Sequence[Row]],
    equalities: Sequence[Equal],
    bounds: Sequence[Bound],
    alternative: Sequence[Bound] | None = None,
) -> list[Combination]:
    """Every combination of one row per input that meets all equalities and stated bounds.

    With an alternative, the bounds met may be those instead (EITHER WAY).
    """
    ways = [bounds] if alternative is None else [bounds, alternative]
    return [
        Combination(
            rows,
            max(row.time for row in rows),
            min((row.end for row in rows if row.end is not None), default=None),
        )
        for rows in itertools.product(*inputs)
        if any(
            all(-b.lo <= rows[b.right].time - rows[b.left].time <= b.hi for b in way)
            for way in ways
        )
        and all(_holds(equality, rows) for equality in equalities)
    ]


def canonical(value: Any) -> Any:
    """A value in the one form in which equal values are the same for Python too."""
    if isinstance(value, float):
        return ("number", "nan") if math.isnan(value) else ("number", value + 0.0)
    if isinstance(value, dict):
        return ("struct", tuple((name, canonical(item)) for name, item in value.items()))
    if isinstance(value, list):
        return ("list", tuple(canonical(item) for item in value))
    return value


def _holds(equality: Equal, rows: tuple[Row, ...]) -> bool:
    values = [rows[i].values[name] for i, name in equality.columns.items()]
    if not equality.null_safe and any(value is None for value in values):
        return False
    return all(canonical(value) == canonical(values[0]) for value in values)
