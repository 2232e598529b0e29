"""What a user says about shedding, for the streams of a join: rates, and what every one gets at least."""

from __future__ import annotations

from collections.abc import Sequence

from windrow.errors import PlanError, nearest
from windrow.physical.shed_values import Said, least_said
from windrow.physical.shedding.limits import Least
from windrow.plan.stream_hints import USUAL_UNIT, ticks_per_unit


def per_tick(said: Said, time_type: str) -> float:
    """A rate in tuples per tick.

    Raises:
        PlanError: event time does not know the unit.
    """
    unit = said.unit or USUAL_UNIT[time_type]
    ticks = ticks_per_unit(unit, time_type)
    if ticks is None:
        usual = USUAL_UNIT[time_type]
        raise PlanError(
            "bad-option",
            f"a rate per {unit} says nothing about streams whose time is {time_type}",
            hint=f"say it per {usual}, for instance '1000 per {usual}'",
        )
    return said.amount / ticks


def least_of(
    name: str, given: object, aliases: Sequence[str], time_type: str | None
) -> tuple[Least, ...]:
    """Per stream of a join, what it gets at least; nothing where the option names others alone.

    Raises:
        PlanError: the option names a stream that is not joined.
    """
    said = least_said(name, given)
    known = {alias.lower() for alias in aliases}
    unknown = [stream for stream in said if stream and stream not in known]
    if unknown:
        raise PlanError(
            "shed-least-of-other-streams",
            f"{name} names {unknown[0]!r}, which is no stream of the join of {', '.join(aliases)}",
            hint=f"one of {nearest(unknown[0], tuple(aliases))}, as the query calls it",
        )
    nothing = Said(0.0)
    return tuple(
        _least(said.get(alias.lower(), said.get("", nothing)), time_type) for alias in aliases
    )


def _least(said: Said, time_type: str | None) -> Least:
    """As a minimum; of a rate, per tick of a type of time."""
    if said.is_share or time_type is None:
        return Least(said.amount, said.is_share)
    return Least(per_tick(said, time_type))
