"""What EXPLAIN says of streams that are made into changes: feeds, count windows, expiry."""

from __future__ import annotations

from collections.abc import Callable

from windrow.physical.bounds_text import drop_condition, plus
from windrow.physical.lifetimes import alive_bound, alive_ticks, lifetime, source_name, state_bound
from windrow.physical.specs import (
    CountRows,
    ExpireRows,
    OfChanges,
    ResolveChanges,
    delay,
    scans,
    takes_back,
)
from windrow.plan.durations import show_ticks

Fact = tuple[str, list[str]]


def change_facts(spec: OfChanges, show: Callable[[str], str]) -> list[Fact]:
    """The facts of a change feed, a count window or an expiry, in the order they are read."""
    if isinstance(spec, ExpireRows):
        return _expiry(spec)
    return _newest(spec, show) if isinstance(spec, CountRows) else _feed(spec, show)


def _feed(spec: ResolveChanges, show: Callable[[str], str]) -> list[Fact]:
    rows, state = "until it is deleted", "the rows inserted and not deleted"
    if spec.ticks is not None:
        rows = f"from t to t + {show_ticks(spec.ticks, spec.time_type)}, both included, or {rows}"
        state = f"{state_bound(spec, spec.input, spec.alias, spec.ticks, 0)}, less what is deleted"
    return [
        ("changes", [f"{scans(spec)[0].changes} says which rows come and which go"]),
        ("deletes", [f"the newest row that is equal in {', '.join(map(show, spec.compared))}"]),
        ("rows", [rows]),
        ("state", [state]),
        ("emits", ["the changes below the watermark, each delete with the end of its row"]),
        ("why", ["a delete looks up its own row: a change costs the rows equal to it"]),
    ]


def _newest(spec: CountRows, show: Callable[[str], str]) -> list[Fact]:
    each = f" of each {', '.join(map(show, spec.partition))}" if spec.partition else ""
    order = "time, then the columns from left to right"
    if takes_back(spec.input):
        return [
            ("rows", [f"while it is among the newest {spec.rows}{each} of those there"]),
            ("order", [order]),
            ("state", ["the rows inserted and not deleted: any of them may come back"]),
            ("emits", ["the rows below the watermark, and those that they push out or bring back"]),
        ]
    return [
        ("rows", [f"from t until the time of row {spec.rows} after it{each}"]),
        ("order", [order]),
        ("state", [f"the newest {spec.rows} rows{each}, and what waits for the watermark"]),
        ("emits", ["the rows below the watermark, and those that they push out"]),
    ]


def _expiry(spec: ExpireRows) -> list[Fact]:
    time_type, below = scans(spec)[0].time_type, delay(spec.input)
    source, alive = source_name(spec.input), alive_ticks(spec.input)
    trailing = plus("the watermark", -below, time_type)
    facts = [
        ("rows", [lifetime(spec.input, alive)]),
        (
            "emits",
            [f"the rows below {trailing} in the order of time, and each as a negative at its end"],
        ),
        (
            "why",
            ["negative tuples: what stands above takes rows back by value, and keeps no window"],
        ),
    ]
    if alive is not None:
        gone = drop_condition(spec.input, source, alive, below, time_type)
        facts.insert(1, ("retention", [f"{gone} + 1 tick, when its negative is out"]))
        facts.insert(2, ("state", [alive_bound(spec, spec.input, source, alive, below)]))
    return facts
