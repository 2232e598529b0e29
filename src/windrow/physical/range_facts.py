"""What EXPLAIN says of a WINDOW JOIN: which rows are counted, when, and what is kept."""

from __future__ import annotations

from collections.abc import Callable

from windrow.physical.aggregate_facts import cost_of_a_change, kept_per_group, values_in_state
from windrow.physical.asof import RangeAggregate
from windrow.physical.bounds_text import drop_condition, event_time, plus, show_bound
from windrow.physical.lifetimes import alive_bound, state_bound
from windrow.physical.partitioning import show_class
from windrow.physical.specs import SlidingAggregate, delay, scans
from windrow.plan.durations import show_ticks

Show = Callable[[str], str]


def range_facts(spec: RangeAggregate, show: Show) -> list[tuple[str, list[str]]]:
    """The facts of a WINDOW JOIN, in the order they are read."""
    time_type = scans(spec)[0].time_type
    below = max(delay(spec.left), delay(spec.right))
    left, right = spec.aliases
    keys = [show_class(key, show) for key in spec.classes]
    watermark = plus("watermark", -below, time_type)
    final = plus(event_time(spec.left, left), spec.delay, time_type)
    reach = spec.lo + spec.delay
    columns = tuple(str(one.columns[1]) for one in spec.classes)
    sliding = SlidingAggregate(spec.right, columns, spec.aggregates, spec.schema)
    added = show_ticks(spec.delay, time_type)
    return [
        ("algorithm", [f"a sliding aggregate of {right} per key, read by each row of {left}"]),
        (
            "counted",
            [
                show_bound(left, right, spec.lo, spec.hi, time_type) + ", ends included",
                *keys,
            ],
        ),
        ("unmatched", [f"rows of {left} with nothing to count: COUNT 0, all else NULL"]),
        ("keeps", kept_per_group(sliding, is_steady=True)),
        ("final", [f"a row of {left} once {watermark} > {final}"]),
        (
            "retention",
            [
                drop_condition(spec.left, left, spec.delay, below, time_type),
                f"{drop_condition(spec.right, right, reach, below, time_type)} + 1 tick",
            ],
        ),
        (
            "state",
            [
                state_bound(spec, spec.left, left, spec.delay, below),
                alive_bound(spec, spec.right, right, reach, below)
                + ", and one accumulator row per key in reach",
                *values_in_state(sliding, has_ends=True),
            ],
        ),
        ("emits", [f"when final; adds {f'a delay of {added}' if spec.delay else 'no delay'}"]),
        ("why", cost_of_a_change(sliding, is_steady=True)),
    ]
