"""Which pairs are best at an instant, by looking at all that are alive then."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from twins.bestmatch import Candidate, Rules

Place = int
Answer = Counter[tuple[Place | None, Place | None]]
"""Pairs of rows, by their places on either side, with None for the row that one lacks."""

SIDES = {"": (), "LEFT": (0,), "RIGHT": (1,), "FULL": (0, 1)}


def best_at(
    instant: int,
    candidates: Iterable[Candidate],
    lives: Sequence[Callable[[Any], tuple[int, int]]],
    side: str,
) -> Answer:
    """The pairs in the answer at an instant; rows are told apart by their ids.

    Args:
        instant: when.
        candidates: all candidate pairs.
        lives: per side, from when to when a row of it is alive, both included.
        side: whose pairs are judged, as the join says.
    """
    alive = [
        (c, (c.left["id"], c.right["id"]))
        for c in candidates
        if all(is_alive(row, of, instant) for row, of in zip((c.left, c.right), lives, strict=True))
    ]

    def is_best(one: Candidate, rivals: Iterable[Candidate]) -> bool:
        return not any(other.dominates(one) for other in rivals)

    if not SIDES[side]:
        return Counter(ids for one, ids in alive if is_best(one, [c for c, _ in alive]))
    return Counter(
        ids
        for one, ids in alive
        if any(
            is_best(one, [c for c, other in alive if other[at] == ids[at]]) for at in SIDES[side]
        )
    )


def unmatched_at(
    instant: int,
    rows: Sequence[Sequence[Any]],
    candidates: Iterable[Candidate],
    lives: Sequence[Callable[[Any], tuple[int, int]]],
    side: str,
) -> Answer:
    """The rows of judged sides, both with their rows given, that have no candidate alive."""
    matched = [
        {
            (c.left, c.right)[at]["id"]
            for c in candidates
            if all(
                is_alive(row, of, instant) for row, of in zip((c.left, c.right), lives, strict=True)
            )
        }
        for at in (0, 1)
    ]
    alone = [
        (row["id"], None) if at == 0 else (None, row["id"])
        for at in SIDES[side]
        for row in rows[at]
        if is_alive(row, lives[at], instant) and row["id"] not in matched[at]
    ]
    return Counter(alone)


def filtered(answer: Answer, rows: Sequence[Sequence[Any]], rules: Rules) -> Answer:
    """What WHERE keeps of an answer; the rows of both sides are given."""
    by_id = [{None: None, **{row["id"]: row for row in side}} for side in rows]
    return Counter(
        {ids: n for ids, n in answer.items() if rules.keeps(by_id[0][ids[0]], by_id[1][ids[1]])}
    )


def is_alive(row: Any, life: Callable[[Any], tuple[int, int]], instant: int) -> bool:
    """Whether a row is alive."""
    first, last = life(row)
    return first <= instant <= last
