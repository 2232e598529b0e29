"""The specs that match rows of two inputs by event time."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from windrow.physical.specs import KeyClass, Spec
    from windrow.plan.asof import AsofMatch
    from windrow.plan.nodes import Aggregate
    from windrow.schema import Schema


@dataclass(frozen=True)
class AsofSweep:
    """As-of join: one sweep over both inputs in time order, the newest right row of each key kept.

    Attributes:
        left: the rows that ask.
        right: the rows that answer, with all columns: these order rows of one time.
        aliases: how the user calls the two.
        match: which right row a left one takes.
        classes: the keys, each of both inputs.
        kind: "inner" or "left".
        keep: per input, the columns that the result carries; `schema` lists them in order.
        schema: the columns of the result.
    """

    left: Spec
    right: Spec
    aliases: tuple[str, str]
    match: AsofMatch
    classes: tuple[KeyClass, ...]
    kind: str
    keep: tuple[tuple[str, ...], tuple[str, ...]]
    schema: Schema

    @property
    def delay(self) -> int:
        """How many ticks its results may trail the watermark.

        A backward match has the time of its left row, which comes out as the watermark passes it; a
        forward one that of its right row, likewise. A left row that comes alone, or whose match
        lies before it, has waited for as long as one may be ahead. (Where that has no bound,
        nothing with state may lie above.)
        """
        if self.match.direction == "backward":
            return 0
        if self.match.direction == "forward" and self.kind == "inner":
            return 0
        return self.match.tolerance or 0


@dataclass(frozen=True)
class RangeAggregate:
    """WINDOW JOIN: each left row with aggregates over the right rows of an interval around it.

    Attributes:
        left: the rows that ask.
        right: the rows that are aggregated; arguments are plain columns of it.
        aliases: how the user calls the two.
        classes: the keys, each of both inputs.
        lo: how many ticks before its own time the interval of a left row begins.
        hi: how many ticks after it the interval ends.
        aggregates: what is asked of the right rows.
        keep: the columns of the left input that the result carries.
        schema: these, then one column per aggregate.
    """

    left: Spec
    right: Spec
    aliases: tuple[str, str]
    classes: tuple[KeyClass, ...]
    lo: int
    hi: int
    aggregates: tuple[Aggregate, ...]
    keep: tuple[str, ...]
    schema: Schema

    @property
    def delay(self) -> int:
        """How many ticks its results, which have their left rows' times, trail the watermark."""
        return max(self.hi, 0)
