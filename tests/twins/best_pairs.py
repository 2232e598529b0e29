"""Which pairs are best at an instant, by looking at all that are alive then."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from typing import Any

Row = tuple[Any, ...]
Pair = tuple[Row, Row]
Alive = Callable[[Row, int], bool]

SIDES = {"": (), "LEFT": (0,), "RIGHT": (1,), "FULL": (0, 1)}


def best_at(
    instant: int,
    pairs: Iterable[Pair],
    is_alive: Callable[[Pair, int], bool],
    worth: Callable[[Pair], tuple[float, ...]],
    side: str,
) -> Counter[Pair]:
    """The pairs in the answer at an instant, with their copies; tuples are told apart by place."""
    alive = [pair for pair in pairs if is_alive(pair, instant)]

    def is_best(pair: Pair, rivals: Iterable[Pair]) -> bool:
        return not any(dominates(worth(other), worth(pair)) for other in rivals)

    if not SIDES[side]:
        return Counter(pair for pair in alive if is_best(pair, alive))
    return Counter(
        pair
        for pair in alive
        if any(is_best(pair, [p for p in alive if p[at] == pair[at]]) for at in SIDES[side])
    )


def dominates(one: tuple[float, ...], other: tuple[float, ...]) -> bool:
    """Whether it is nowhere worse and somewhere better."""
    return one != other and all(a <= b for a, b in zip(one, other, strict=True))
