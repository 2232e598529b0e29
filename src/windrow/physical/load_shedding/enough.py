"""What is wrong with a join that sheds and has too little: the planner and a runner may find it."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from windrow.errors import DataError, PlanError
from windrow.physical.estimates import show_rate
from windrow.physical.load_shedding.limits import Shedding, pane_ticks
from windrow.plan.units import show_bytes, show_ticks

if TYPE_CHECKING:
    from windrow.physical.nodes.shedding_join import SheddingJoin


def check_enough(join: SheddingJoin, buckets: int = 1) -> None:
    """Refuses a join, or that of each of several buckets, that has too little to hold or to do."""
    shedding, inputs = join.shedding, len(join.inputs)
    if shedding.gives_nothing(inputs, join.shed_row_bytes):
        raise PlanError(
            "too-little-for-totals",
            f"the memory keeps less than one tuple of some of {_streams(join, buckets)}",
            reason="totals are estimated from what is kept of every stream",
            hint=f"raise memory or shed_least{_or_fewer(buckets)}",
        )
    if shedding.skips_a_stream(inputs, join.shortest):
        raise _too_few_probes_for_totals(join, buckets)
    if shedding.keeps_too_little(inputs, join.shed_row_bytes):
        raise _too_little_memory(join, buckets)


def check_enough_for_rows(join: SheddingJoin, shedding: Shedding, row_bytes: int) -> None:
    """The same of memory in bytes, once it is known how wide tuples are."""
    inputs, parts, memory = len(join.inputs), shedding.parts, shedding.memory
    keeps_nothing = shedding.gives_nothing(inputs, row_bytes)
    is_too_little = keeps_nothing or shedding.keeps_too_little(inputs, row_bytes)
    if memory is None or not is_too_little:
        return
    least = inputs * inputs if shedding.is_estimated else inputs
    shares = [own.amount for own in shedding.least_windows if own.is_share and own.amount > 0]
    least = max(least, math.ceil(1 / min(shares))) if shedding.is_estimated and shares else least
    raise DataError(
        "too-little-for-rows",
        f"the memory of {show_bytes(int(memory * parts))} is too little for a tuple of each of"
        f" {_streams(join, parts)}",
        reason=f"a tuple of {show_bytes(row_bytes)} has come, its index included",
        hint=f"raise memory to {show_bytes(parts * least * row_bytes)} or more{_or_fewer(parts)}",
    )


def _too_few_probes_for_totals(join: SheddingJoin, buckets: int) -> PlanError:
    time_type, pane = join.time_type, pane_ticks(join.shortest)
    rate = show_rate((join.shedding.service_rate or 0.0) * buckets, time_type)
    least = show_rate(buckets * len(join.inputs) / pane, time_type)
    return PlanError(
        "too-little-for-totals",
        f"the service rate of {rate} is less than one probe of each of {', '.join(join.aliases)} per"
        f" {show_ticks(pane, time_type)}{_in_each(buckets)}",
        reason="totals are estimated from probes of every stream, eight of each per window or more",
        hint=f"raise service_rate to about {least}, or widen the windows{_or_fewer(buckets)}",
    )


def _too_little_memory(join: SheddingJoin, buckets: int) -> PlanError:
    shedding, memory = join.shedding, round((join.shedding.memory or 0.0) * buckets)
    each = len(join.inputs) * (join.shed_row_bytes if shedding.is_in_bytes else 1)
    shown = show_bytes if shedding.is_in_bytes else _tuples
    said = (
        f"the memory of {shown(memory)} is less than one tuple of each of {_streams(join, buckets)}"
    )
    if buckets == 1:
        return PlanError(
            "too-little-for-streams",
            said,
            reason="waiting tuples count towards the memory, and a result needs one of every stream",
            hint=f"raise memory to {shown(each)} or more",
        )
    return PlanError(
        "too-little-for-buckets",
        said,
        reason="the memory is divided among the buckets of the join",
        hint=f"set buckets = {max(1, memory // each)} or fewer, or memory to"
        f" {shown(each * buckets)} or more",
    )


def _streams(join: SheddingJoin, buckets: int) -> str:
    return f"{', '.join(join.aliases)}{_in_each(buckets)}"


def _in_each(buckets: int) -> str:
    return "" if buckets == 1 else f" in each of {buckets} buckets"


def _or_fewer(buckets: int) -> str:
    return "" if buckets == 1 else ", or set fewer buckets"


def _tuples(count: int) -> str:
    return f"{count:,} tuple{'' if count == 1 else 's'}"
