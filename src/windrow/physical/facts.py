"""What EXPLAIN says of each stateful spec: how it answers, what it keeps, when it forgets.

A fact is a label and one or more lines. Every bound follows from the same numbers that the
operators use, so that a plan that reads well is a plan that holds.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from windrow.physical.aggregate_facts import (
    cost_of_a_change,
    kept_per_group,
    values_in_state,
)
from windrow.physical.algorithm_facts import algorithm_facts, emission_of, search_facts
from windrow.physical.asof import AsofSweep, RangeAggregate
from windrow.physical.asof_facts import asof_facts
from windrow.physical.bestmatch_facts import bestmatch_facts
from windrow.physical.bounds_text import (
    drop_condition,
    implied_windows,
    plus,
    stated_windows,
    tightened_windows,
    window_meanings,
)
from windrow.physical.change_facts import change_facts
from windrow.physical.cost_facts import estimate_facts
from windrow.physical.count_facts import count_facts
from windrow.physical.estimating_facts import estimating_facts
from windrow.physical.lifetimes import (
    alive_bound,
    alive_ticks,
    lifetime,
    live_equally_long,
    source_name,
    state_bound,
)
from windrow.physical.options import Options
from windrow.physical.outer_facts import kind_facts, match_state
from windrow.physical.partitioning import show_class
from windrow.physical.pipeline import path_order
from windrow.physical.probe_facts import tests
from windrow.physical.range_facts import range_facts
from windrow.physical.set_facts import set_facts
from windrow.physical.shed_facts import shed_facts, shed_state
from windrow.physical.skyline_facts import skyline_facts
from windrow.physical.sliding_skyline import SlidingSkyline
from windrow.physical.snapshot_facts import snapshot_facts
from windrow.physical.specs import (
    OfChanges,
    PairJoinSpec,
    SetOp,
    SlidingAggregate,
    Stateful,
    WJoin,
    delay,
    scans,
)
from windrow.plan.windows import WindowGraph

Fact = tuple[str, list[str]]
Show = Callable[[str], str]


def facts_of(spec: Stateful, options: Options, show: Show) -> list[Fact]:
    """The facts of a stateful spec, in the order they are read."""
    if isinstance(spec, WJoin):
        return _join(spec, options, show)
    if isinstance(spec, SlidingAggregate):
        return _aggregate(spec, show)
    if isinstance(spec, SetOp):
        return set_facts(spec)
    if isinstance(spec, OfChanges):
        return change_facts(spec, show)
    return _of_pairs(spec, options, show)


def _of_pairs(spec: PairJoinSpec | SlidingSkyline, options: Options, show: Show) -> list[Fact]:
    if isinstance(spec, SlidingSkyline):
        return skyline_facts(spec, show)
    if isinstance(spec, AsofSweep):
        return asof_facts(spec, show)
    if isinstance(spec, RangeAggregate):
        return range_facts(spec, show)
    return _said(*bestmatch_facts(spec, options, show))


def _join(spec: WJoin, options: Options, show: Show) -> list[Fact]:
    if spec.counts is not None:
        return _said(*count_facts(spec, spec.counts, options, show))
    if spec.is_snapshot:
        return _said(*snapshot_facts(spec, options, show))
    time_type = scans(spec)[0].time_type
    below = max(delay(child) for child in spec.inputs)
    graph = spec.graph
    keys = ", ".join(show_class(key, show) for key in spec.classes)
    members = list(zip(spec.inputs, spec.aliases, map(spec.retention, _range(graph)), strict=True))
    return _said(
        *algorithm_facts(spec, options, keys),
        *shed_facts(spec, time_type),
        *kind_facts(spec, below, time_type),
        ("form", [_form(spec)]),
        ("windows", stated_windows(graph, time_type)),
        ("implied", implied_windows(graph, time_type)),
        ("tightened", tightened_windows(graph, time_type)),
        *_other_way(spec, time_type),
        ("retention", [drop_condition(i, a, r, below, time_type) for i, a, r in members]),
        (
            "state",
            [
                *(state_bound(spec, child, alias, kept, below) for child, alias, kept in members),
                *match_state(spec),
                *shed_state(spec, time_type),
            ],
        ),
        *search_facts(spec, below, time_type),
        ("tests", tests(spec)),
        ("emits", [emission_of(spec, time_type)]),
        *estimate_facts(spec, time_type),
    )


def _other_way(spec: WJoin, time_type: str) -> list[Fact]:
    """The windows that do as well as those stated (EITHER WAY), and what they imply."""
    graph = spec.alternative
    if graph is None:
        return []
    return [
        ("or reversed", [*window_meanings(graph, time_type), "each combination once"]),
        ("implied", implied_windows(graph, time_type)),
        ("tightened", tightened_windows(graph, time_type)),
    ]


def _aggregate(spec: SlidingAggregate, show: Show) -> list[Fact]:
    time_type = scans(spec)[0].time_type
    below = delay(spec.input)
    keys = ", ".join(map(show, spec.keys))
    source, alive = source_name(spec.input), alive_ticks(spec.input)
    trailing = plus("the watermark", -below, time_type)
    is_steady = live_equally_long(spec.input)
    accumulators = kept_per_group(spec, is_steady=is_steady)
    if keys:
        accumulators.append("the number of rows alive, to know when a group is gone")
    return _said(
        *estimating_facts(spec),
        ("groups", [f"one per {keys}" if keys else "one, from the first event on"]),
        ("rows", [lifetime(spec.input, alive)]),
        ("keeps", accumulators),
        ("retention", _expiry(spec, source, alive, below)),
        (
            "state",
            [
                _aggregate_state(spec, source, alive, below),
                *values_in_state(spec, has_ends=alive is not None),
            ],
        ),
        ("emits", [f"the changes of each instant below {trailing}, net, deletes before inserts"]),
        ("why", cost_of_a_change(spec, is_steady=is_steady)),
    )


def _expiry(spec: SlidingAggregate, source: str, alive: int | None, below: int) -> list[str]:
    """A row goes with the change that its expiry makes, one tick after its last instant."""
    if alive is None:
        return []
    condition = drop_condition(spec.input, source, alive, below, scans(spec)[0].time_type)
    return [f"{condition} + 1 tick, when its expiry is out"]


def _aggregate_state(spec: SlidingAggregate, source: str, alive: int | None, below: int) -> str:
    groups = "one accumulator row per group" if spec.keys else "one accumulator row"
    if spec.estimated_from:
        groups += f", and at most {2**spec.estimated_from - 2} sums per row"
    if alive is None:
        return groups
    return f"{alive_bound(spec, spec.input, source, alive, below)}, and {groups}"


def _form(spec: WJoin) -> str:
    graph = spec.graph
    form = graph.form
    if form == "path":
        form += f" {' - '.join(graph.streams[s] for s in path_order(graph))}"
    return form if spec.alternative is None else f"{form}, either way"


def _range(graph: WindowGraph) -> Sequence[int]:
    return range(len(graph.streams))


def _said(*facts: Fact) -> list[Fact]:
    """The facts that have something to say."""
    return [fact for fact in facts if fact[1]]
