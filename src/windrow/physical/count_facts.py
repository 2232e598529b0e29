"""What EXPLAIN says of a window join of which some windows count tuples."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from windrow.physical.algorithm_facts import algorithm_facts
from windrow.physical.bounds_text import drop_condition, lag_terms, plus, stated_windows
from windrow.physical.cost_facts import estimate_facts
from windrow.physical.options import Options
from windrow.physical.partitioning import show_class
from windrow.physical.probe_facts import probes, tests
from windrow.plan.count_windows import CountWindows, OwnWindow
from windrow.plan.durations import show_ticks

if TYPE_CHECKING:
    from windrow.physical.nodes.window_join import WJoin

Fact = tuple[str, list[str]]


def count_facts(
    spec: WJoin, counts: CountWindows, options: Options, show: Callable[[str], str]
) -> list[Fact]:
    """The facts of the join, in the order they are read; some may be empty."""
    time_type = spec.time_type
    below = max(child.delay for child in spec.inputs)
    keys = ", ".join(show_class(key, show) for key in spec.classes)
    algorithm, _, why = algorithm_facts(spec, options, keys)
    return [
        algorithm,
        ("how", ["a tuple that enters meets those that are in the other streams' windows"]),
        why,
        ("windows", _windows(spec, counts, time_type)),
        ("times", stated_windows(spec.graph, time_type)),
        ("order", ["by time, then position in FROM, then all columns from left to right"]),
        ("retention", _retention(spec, counts, below, time_type)),
        ("state", _state(spec, counts, below, time_type)),
        ("probes", probes(spec)),
        ("tests", tests(spec)),
        (
            "emits",
            ["each combination once the watermark has passed its newest tuple; adds no delay"],
        ),
        *estimate_facts(spec, time_type),
    ]


def _windows(spec: WJoin, counts: CountWindows, time_type: str) -> list[str]:
    """The windows as the user wrote them, each with its meaning."""
    lines = [
        f"{alias} {window.text}: {_meaning(alias, window, time_type)}"
        for alias, window in zip(spec.aliases, counts.own, strict=True)
        if window.rows is not None or window.ticks is not None
    ]
    if counts.within is not None:
        lines.append(
            f"{counts.text}: numbered together, tuples of a combination are at most"
            f" {counts.within} apart"
        )
    return lines


def _meaning(alias: str, window: OwnWindow, time_type: str) -> str:
    if window.ticks is not None:
        return f"the tuples of {alias} until {show_ticks(window.ticks, time_type)} after their time"
    per = f" for each {', '.join(window.partition)}" if window.partition else ""
    return f"the newest {window.rows} of {alias}{per}"


def _retention(spec: WJoin, counts: CountWindows, below: int, time_type: str) -> list[str]:
    watermark = plus("the watermark", -below, time_type)
    lines = []
    for child, alias, window in zip(spec.inputs, spec.aliases, counts.own, strict=True):
        if window.ticks is not None:
            lines.append(drop_condition(child, alias, window.ticks, below, time_type))
        if window.rows is not None:
            same = f" with the same {', '.join(window.partition)}" if window.partition else ""
            lines.append(f"drop {alias} when {window.rows} newer ones{same} are below {watermark}")
    if counts.within is not None:
        lines.append(
            f"drop any when {counts.within} newer ones of all streams are below {watermark}"
        )
    return lines


def _state(spec: WJoin, counts: CountWindows, below: int, time_type: str) -> list[str]:
    """The most rows of each input that are held after a batch.

    the newest n        watermark                       newest
    ------[=================|===============================]---> time
           numbered            lateness + distance + delay: these wait
    """
    lag = " + ".join(lag_terms(spec, below)) or show_ticks(0, time_type)
    lines = []
    for alias, window in zip(spec.aliases, counts.own, strict=True):
        waiting = f"rate({alias}) x ({lag}) + one batch"
        if window.rows is not None:
            per = f" for each {', '.join(window.partition)}" if window.partition else ""
            lines.append(f"{alias} <= {window.rows}{per} + {waiting}")
        elif window.ticks is not None:
            alive = f"{show_ticks(window.ticks, time_type)} + {lag}"
            lines.append(f"{alias} <= rate({alias}) x ({alive}) + one batch")
        else:
            lines.append(f"{alias} <= {counts.within} + {waiting}")
    return lines
