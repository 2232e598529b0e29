"""What is wrong with a join that sheds, where both the planner and a runner may find it."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from windrow.errors import DataError, PlanError, WindrowError
from windrow.physical.explain.cost_facts import show_rate
from windrow.physical.shedding.limits import Shedding, pane_ticks
from windrow.plan.units import show_bytes, show_ticks

if TYPE_CHECKING:
    from windrow.physical.nodes.multi_join import MultiJoin


def too_little(join: MultiJoin, shedding: Shedding, buckets: int = 1) -> PlanError | None:
    """Why what there is for each of several buckets, or for the one, is too little; None if it is not."""
    inputs = len(join.inputs)
    least_bytes = join.least_row_bytes
    if shedding.gives_nothing(inputs, least_bytes):
        return too_little_for_totals(join, buckets)
    if shedding.skips_a_stream(inputs, join.shortest):
        return _too_few_probes_for_totals(join, shedding, buckets)
    if shedding.keeps_too_little(inputs, least_bytes):
        return _too_little_memory(join, shedding, buckets, least_bytes)
    return None


def too_little_for_rows(join: MultiJoin, shedding: Shedding, row_bytes: int) -> WindrowError | None:
    """The same of memory in bytes, once it is known how wide tuples are; None if it suffices."""
    inputs, memory = len(join.inputs), shedding.memory
    keeps_nothing = shedding.gives_nothing(inputs, row_bytes)
    is_too_little = keeps_nothing or shedding.keeps_too_little(inputs, row_bytes)
    if memory is None or not is_too_little:
        return None
    least = inputs * inputs if shedding.is_estimated else inputs
    shares = [own.amount for own in shedding.least_windows if own.is_share and own.amount > 0]
    least = max(least, math.ceil(1 / min(shares))) if shedding.is_estimated and shares else least
    needed = shedding.parts * least * row_bytes
    return DataError(
        "too-little-for-rows",
        f"the memory of {show_bytes(int(memory * shedding.parts))} is too little for a tuple of each of"
        f" {_streams(join, shedding.parts)}",
        reason=f"a tuple of {show_bytes(row_bytes)} has come, its index included",
        hint=f"raise memory to {show_bytes(needed)} or more{_or_fewer(shedding.parts)}",
    )


def too_little_for_totals(join: MultiJoin, buckets: int = 1) -> PlanError:
    """Not one tuple of every window is sure to be kept, and totals are to be estimated."""
    return PlanError(
        "too-little-for-totals",
        f"the memory keeps less than one tuple of some of {_streams(join, buckets)}",
        reason="totals are estimated from what is kept of every stream",
        hint=f"raise memory or shed_least{_or_fewer(buckets)}",
    )


def _too_few_probes_for_totals(join: MultiJoin, shedding: Shedding, buckets: int) -> PlanError:
    time_type = join.scans[0].time_type
    rate, streams = shedding.service_rate or 0.0, len(join.inputs)
    least = show_rate(buckets * streams / pane_ticks(join.shortest), time_type)
    return PlanError(
        "too-little-for-totals",
        f"the service rate of {show_rate(rate * buckets, time_type)} is less than one probe of each of"
        f" {', '.join(join.aliases)} per {show_ticks(pane_ticks(join.shortest), time_type)}"
        f"{_each(buckets)}",
        reason="totals are estimated from probes of every stream, eight of each per window or more",
        hint=f"raise service_rate to about {least}, or widen the windows{_or_fewer(buckets)}",
    )


def _too_little_memory(
    join: MultiJoin, shedding: Shedding, buckets: int, least_bytes: int
) -> PlanError:
    streams, memory = len(join.inputs), (shedding.memory or 0.0) * buckets
    each = streams * (least_bytes if shedding.is_in_bytes else 1)
    shown = show_bytes if shedding.is_in_bytes else _tuples
    said = (
        f"the memory of {shown(round(memory))} is less than one tuple of each of"
        f" {_streams(join, buckets)}"
    )
    if buckets == 1:
        return PlanError(
            "too-little-for-streams",
            said,
            reason="tuples that wait are part of the memory, and a result takes one of every stream",
            hint=f"raise memory to {shown(each)} or more",
        )
    return PlanError(
        "too-little-for-buckets",
        said,
        reason="the memory is divided among the buckets of the join",
        hint=f"set buckets = {max(1, round(memory) // each)} or fewer, or memory to"
        f" {shown(each * buckets)} or more",
    )


def _streams(join: MultiJoin, buckets: int) -> str:
    return f"{', '.join(join.aliases)}{_each(buckets)}"


def _each(buckets: int) -> str:
    return "" if buckets == 1 else f" in each of {buckets} buckets"


def _or_fewer(buckets: int) -> str:
    return "" if buckets == 1 else ", or set fewer buckets"


def _tuples(count: int) -> str:
    return f"{count:,} tuple{'' if count == 1 else 's'}"
