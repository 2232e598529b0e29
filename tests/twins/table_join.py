"""The slow twin of joins with tables: every row tested with every row of the table."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

Row = dict[str, Any]
Holds = Callable[[Row, Row], bool]


def same(left: Any, right: Any, *, null_safe: bool) -> bool:
    """Whether two keys are equal: NULLs only null-safely, all NaN as one."""
    if left is None or right is None:
        return null_safe and left is right
    if isinstance(left, float) and math.isnan(left):
        return isinstance(right, float) and math.isnan(right)
    return bool(left == right)


def table_join(
    kind: str, rows: Sequence[Row], table: Sequence[Row], holds: Holds
) -> list[tuple[Row, Row | None]]:
    """The rows with what they match; None beside a row that comes alone."""
    answer: list[tuple[Row, Row | None]] = []
    for row in rows:
        found = [place for place in table if holds(row, place)]
        if kind in {"inner", "left"}:
            answer += [(row, place) for place in found]
        if (kind in {"left", "anti"} and not found) or (kind == "semi" and found):
            answer.append((row, None))
    return answer
