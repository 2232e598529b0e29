"""What EXPLAIN says of the best pairs among those alive."""

from __future__ import annotations

from collections.abc import Callable

from windrow.physical.bounds_text import plus
from windrow.physical.lifetimes import alive_ticks, lifetime
from windrow.physical.sliding_skyline import SlidingSkyline
from windrow.physical.specs import delay, scans
from windrow.plan.explain import show_dimension
from windrow.plan.nodes import JUDGED

Fact = tuple[str, list[str]]

_AMONG = {
    "plain": ["among all pairs"],
    "left outer": ["among the pairs of its left tuple"],
    "right outer": ["among the pairs of its right tuple"],
    "full outer": [
        "among the pairs of its left tuple, or of its right one: a pair stays while either says so"
    ],
}


def skyline_facts(spec: SlidingSkyline, show: Callable[[str], str]) -> list[Fact]:
    """The facts of a search for the best pairs, in the order they are read."""
    time_type = scans(spec)[0].time_type
    below, alive = delay(spec.input), alive_ticks(spec.input)
    trailing = plus("the watermark", -below, time_type)
    kept = "the pairs that no pair which stays as long dominates"
    rows = "for ever" if alive is None else lifetime(spec.input, alive)
    state = [f"{kept}, of those alive" if alive is not None else f"{kept}: the best pairs so far"]
    if spec.marks:
        state.append("and the tuples that may be unmatched yet")
    facts: list[Fact] = [
        ("dimensions", [show_dimension(d, time_type, show) for d in spec.dimensions]),
        ("orders", _orders(spec)),
        ("rows", [rows]),
        ("kept", ["pairs that none alive dominates", *_AMONG[spec.kind]]),
        ("unmatched", _unmatched(spec)),
        ("state", [*state, f"and those that wait for {trailing}"]),
        (
            "on Spark",
            ["a task sends on those of its pairs that are best among them at some instant"],
        ),
        ("emits", [f"the changes of each instant below {trailing}"]),
        (
            "why",
            [
                "what is best changes as pairs come and go: of each is kept from when on it is free",
                "of all that dominate it; one that never will be again is dropped",
                "a step reads the pairs that new ones are compared with, and writes those that change",
            ],
        ),
    ]
    return [fact for fact in facts if fact[1]]


def _orders(spec: SlidingSkyline) -> list[str]:
    """What a partial order costs, and what is taken for granted of it."""
    return [
        f"{d.order} is asked of every new pair and each that it is compared with: the slow path;"
        " it has to be transitive"
        for d in spec.dimensions
        if d.is_partial_order
    ]


def _unmatched(spec: SlidingSkyline) -> list[str]:
    if not spec.marks:
        return []
    sides = " or ".join(("left", "right")[side] for side in JUDGED[spec.kind])
    return [
        f"a {sides} tuple is there with NULLs while no candidate of it is alive (KEEP UNMATCHED):",
        "to the search a pair that all others of the tuple dominate",
    ]
