"""The slow twin of outer, semi and anti window joins: every pair tested, row by row.

Rows, bounds and equalities are those of `twins.join`. A row that comes alone stands without a
partner: `None` in its place.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from twins.join import Bound, Equal, Row, window_join

Pair = tuple[Row | None, Row | None]
Holds = Callable[[Row, Row], bool]

PRESERVED = {"left": (0,), "right": (1,), "full": (0, 1), "anti": (0,)}


def matches(
    left: Sequence[Row],
    right: Sequence[Row],
    equalities: Sequence[Equal],
    bounds: Sequence[Bound],
    holds: Holds,
) -> list[tuple[Row, Row]]:
    """The pairs that meet equalities, bounds and the other conditions of ON."""
    pairs = [found.rows for found in window_join([left, right], equalities, bounds)]
    return [(a, b) for a, b in pairs if holds(a, b)]


def outer_join(
    kind: str, left: Sequence[Row], right: Sequence[Row], pairs: Sequence[tuple[Row, Row]]
) -> list[Pair]:
    """The rows of a join of that kind, of which `pairs` are the matches."""
    matched = [[any(pair[side] is row for pair in pairs) for row in rows]
               for side, rows in enumerate((left, right))]  # fmt: skip
    if kind == "semi":
        return [(row, None) for row, has_match in zip(left, matched[0], strict=True) if has_match]
    answer: list[Pair] = [] if kind == "anti" else list(pairs)
    for side in PRESERVED[kind]:
        rows = (left, right)[side]
        alone = [row for row, has_match in zip(rows, matched[side], strict=True) if not has_match]
        answer += [(row, None) if side == 0 else (None, row) for row in alone]
    return answer


def is_alive(row: Row, instant: int) -> bool:
    """Whether a row is alive at an instant."""
    return row.time <= instant and (row.end is None or instant < row.end)


def outer_join_at(
    instant: int,
    kind: str,
    left: Sequence[Row],
    right: Sequence[Row],
    pairs: Sequence[tuple[Row, Row]],
) -> list[Pair]:
    """The rows of the join over what is alive at an instant."""
    alive = [[row for row in rows if is_alive(row, instant)] for rows in (left, right)]
    together = [(a, b) for a, b in pairs if is_alive(a, instant) and is_alive(b, instant)]
    return outer_join(kind, *alive, together)
