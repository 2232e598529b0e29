"""The logical nodes that match rows of two inputs by event time."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from windrow.schema import Field, Schema

if TYPE_CHECKING:
    from windrow.errors import Span
    from windrow.plan.nodes import Aggregate, Equality, Node


@dataclass(frozen=True)
class AsofMatch:
    """Which right row an as-of join takes for a left one, by their event times.

    Attributes:
        direction: "backward" (the last at or before it), "forward" (the first at or after it) or
            "nearest" (either, whichever is less far; the earlier of two equally far).
        is_strict: whether a right row of the same time is none.
        tolerance: how many ticks it may be away; None: as far as it likes.
        text: as the user wrote it.
    """

    direction: str
    is_strict: bool
    tolerance: int | None
    text: str = ""


@dataclass(frozen=True)
class AsofJoin:
    """Each left row with the one right row of equal keys that is nearest in time, as `match` says.

    Of several right rows at one time, backward takes the last and forward the first in the order
    of their columns. Event time of a pair: the greater of both. `kind` is "inner", or "left":
    a row without a match comes with NULLs.
    """

    left: Node
    right: Node
    aliases: tuple[str, str]
    match: AsofMatch
    equalities: tuple[Equality, ...]
    kind: str = "inner"
    span: Span | None = None

    @property
    def schema(self) -> Schema:
        """The left columns, then the right ones."""
        return Schema(self.left.schema.fields + self.right.schema.fields)

    @property
    def has_bounded_delay(self) -> bool:
        """Whether there is a bound on how far its rows trail the watermark.

        Without TOLERANCE a row that comes alone waits for a match that may never come; so does one
        that has a match behind it, for one that is nearer.
        """
        is_prompt = self.match.direction == "backward" or (
            self.match.direction == "forward" and self.kind == "inner"
        )
        return is_prompt or self.match.tolerance is not None


@dataclass(frozen=True)
class RangeAggregateJoin:
    """WINDOW JOIN: each left row with aggregates over right rows of equal keys around it.

    Those have t(right) - t(left) in [-lo, hi]. Output columns: the left ones, then one per
    aggregate. Event time of a row: that of its left row.
    """

    left: Node
    right: Node
    aliases: tuple[str, str]
    equalities: tuple[Equality, ...]
    lo: int
    hi: int
    aggregates: tuple[Aggregate, ...]
    text: str = ""
    span: Span | None = None

    @property
    def schema(self) -> Schema:
        """The left columns, then the aggregates."""
        aggregates = tuple(Field(each.name, each.type) for each in self.aggregates)
        return Schema(self.left.schema.fields + aggregates)
