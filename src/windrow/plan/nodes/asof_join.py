"""ASOF JOIN: each row with the one row of the other input that is nearest in time."""

from __future__ import annotations

from dataclasses import dataclass

from windrow.errors import PlanError, Span
from windrow.plan.nodes.base import Equality, Node, PairJoin, compared_by
from windrow.plan.texts import KIND_NAMES, ColumnTexts, show_equalities


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

    def is_prompt(self, kind: str) -> bool:
        """Whether no row waits for a match longer than the watermark does."""
        return self.direction == "backward" or (self.direction == "forward" and kind == "inner")


@dataclass(frozen=True)
class AsofJoin(PairJoin):
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

    physical = "windrow.physical.nodes.asof_sweep:AsofSweep.of"

    @property
    def has_bounded_delay(self) -> bool:
        """Without TOLERANCE a row that comes alone waits for a match that may never come.

        So does one that has a match behind it, for one that is nearer.
        """
        return self.match.is_prompt(self.kind) or self.match.tolerance is not None

    def verify_delay(self) -> None:
        """What keeps rows waits for those below it: each must come within a bound."""
        if self.has_bounded_delay:
            return
        left, right = self.aliases
        raise PlanError(
            "unbounded-delay",
            f"what lies above the as-of join of {left} and {right} would wait forever",
            reason=f"a row of {left} waits for a match in {right} that may never come, and keeps"
            " all that follows it",
            hint="bound the wait: TOLERANCE INTERVAL '1' HOUR, or the time that you mean",
        ).at(self.span)

    @property
    def event_times(self) -> frozenset[str]:
        """A pair has the later time of its two rows.

        That of the left one where it looks back, that of the right one where it looks ahead and gives
        matched rows alone.
        """
        if self.match.direction == "backward":
            return self.left.event_times
        is_always_later = self.match.direction == "forward" and self.kind == "inner"
        return self.right.event_times if is_always_later else frozenset()

    @property
    def columns_read(self) -> set[str]:
        """Keys, and all right columns, which order rows of one time."""
        return compared_by(self.equalities).union(self.right.schema.names)

    def title(self, time_type: str, show: ColumnTexts) -> str:  # noqa: ARG002
        """Kind, keys, match."""
        kind = f"{KIND_NAMES[self.kind]} " if self.kind in KIND_NAMES else ""
        on = show_equalities(self.equalities, show)
        on = f"on {on}" if self.equalities else on
        return f"AsofJoin {kind}{on}; {self.match.text}"
