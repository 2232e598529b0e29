"""The as-of join."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from windrow.physical.explain.facts import (
    ONCE_FINAL,
    Fact,
    Show,
    drop_condition,
    event_time,
    plus,
    said,
    state_bound,
)
from windrow.physical.nodes.base import KeyClass, PhysicalNode, Request, key_classes
from windrow.physical.nodes.shapes import TwoStreamJoin, as_asked
from windrow.physical.partitioning.buckets import show_class
from windrow.plan.texts import KIND_NAMES
from windrow.plan.units import show_ticks

if TYPE_CHECKING:
    from windrow.physical.options import Options
    from windrow.plan.nodes.asof_join import AsofJoin, AsofMatch
    from windrow.schema import Schema


@dataclass(frozen=True)
class AsofSweep(TwoStreamJoin):
    """As-of join: one sweep over both inputs in time order, the newest right row of each key kept.

    Its fields are those of `AsofJoin`; the right rows have all columns, which order rows of one time.

    Attributes:
        classes: the keys, each of both inputs.
        keep: per input, the columns that the result carries; `schema` lists them in order.
    """

    left: PhysicalNode
    right: PhysicalNode
    aliases: tuple[str, str]
    match: AsofMatch
    classes: tuple[KeyClass, ...]
    kind: str
    keep: tuple[tuple[str, ...], ...]
    schema: Schema

    identity_fields = ("left", "right", "aliases", "match", "classes", "kind", "keep", "schema")
    spoken = "an as-of join"
    lets_go_of_met = True
    operator = "windrow.operators.joins.asof:AsofSweepOp"

    @classmethod
    def of(cls, node: AsofJoin, request: Request) -> AsofSweep:
        """That of ASOF JOIN."""
        own = as_asked(node, request, cls)
        return cls(**own, classes=key_classes(node), keep=request.kept(node))

    @property
    def gives_unmatched(self) -> bool:
        """Whether rows without a match come, with NULLs."""
        return self.kind == "left"

    @property
    def own_delay(self) -> int:
        """How many ticks its results may trail the watermark.

        A backward match has the time of its left row, which comes out as the watermark passes it; a
        forward one that of its right row, likewise. A left row that comes alone, or whose match
        lies before it, has waited for as long as one may be ahead. (Where that has no bound,
        nothing with state may lie above.)
        """
        return 0 if self.match.is_prompt(self.kind) else self.match.tolerance or 0

    def facts(self, options: Options, show: Show) -> list[Fact]:  # noqa: ARG002
        """Which row is the match, when it is known, what is kept."""
        time_type = self.time_type
        below = max(self.left.delay, self.right.delay)
        left, right = self.aliases
        match = self.match
        choice = _CHOICES[match.direction].format(
            right=right, at="" if match.is_strict else "at or "
        )
        if match.direction == "nearest" and match.is_strict:
            choice += "; never one of its own time"
        if match.tolerance is not None:
            choice += f", at most {show_ticks(match.tolerance, time_type)} away"
        keys = ", ".join(show_class(key, show) for key in self.classes)
        alone = "come with NULLs" if self.gives_unmatched else "are absent"
        return said(
            (
                "algorithm",
                "one sweep over both inputs in time order, the newest row per key at hand",
            ),
            (
                "match",
                [f"per row of {left}, {choice}", *([f"among rows with {keys}"] if keys else [])],
            ),
            ("ties", f"of several at one time, {_TIES[match.direction]} by the columns of {right}"),
            ("unmatched", f"rows of {left} without a match {alone}"),
            ("final", _final(self, below, time_type)),
            ("retention", _retention(self, below, time_type)),
            ("state", _state(self, below)),
            ("emits", _emission(self, time_type)),
            ("why", "each row is touched once as time passes over it, whatever the windows hold"),
        )

    @property
    def title(self) -> str:
        """For EXPLAIN."""
        kind = f", {KIND_NAMES[self.kind]}" if self.kind in KIND_NAMES else ""
        return f"AsofSweep {' with '.join(self.aliases)}{kind}"


_CHOICES = {
    "backward": "the last row of {right} {at}before it",
    "forward": "the first row of {right} {at}after it",
    "nearest": "the row of {right} that is nearest in time, the earlier of two equally far",
}
_TIES = {
    "backward": "the last",
    "forward": "the first",
    "nearest": "the last of those at or before it, the first of those after it,",
}


def _final(node: AsofSweep, below: int, time_type: str) -> str:
    left, right = node.aliases
    watermark = plus("watermark", -below, time_type)
    own = event_time(node.left, left)
    tolerance = node.match.tolerance
    if node.match.direction == "backward":
        return f"a row of {left} once {watermark} {'>=' if node.match.is_strict else '>'} {own}"
    limit = "" if tolerance is None else f", or is beyond {plus(own, tolerance, time_type)}"
    what = f"its match in {right}"
    if node.match.direction == "nearest":
        what = f"the next row of {right}, or the time at which that would be farther than the last"
    return f"a row of {left} once {watermark} is beyond {what}{limit}"


def _retention(node: AsofSweep, below: int, time_type: str) -> list[str]:
    left, right = node.aliases
    tolerance = node.match.tolerance
    lines = [f"drop {left} when final"]
    if node.match.direction == "forward":
        return [*lines, drop_condition(node.right, right, 0, below, time_type)]
    newest = "of each key" if node.classes else "of all"
    watermark = plus("watermark", -below, time_type)
    lines.append(f"of {right} below {watermark} only the newest row {newest}")
    if tolerance is not None:
        lines.append(drop_condition(node.right, right, tolerance, below, time_type))
    return lines


def _state(node: AsofSweep, below: int) -> list[str]:
    left, right = node.aliases
    match = node.match
    keys = f" + one row per key of {right}" if node.classes else " + one row"
    waits = match.direction != "backward"
    ahead = match.tolerance or 0 if waits else 0
    mine = state_bound(node, node.left, left, ahead, below)
    if waits and match.tolerance is None:
        mine = mine.also(
            f" + rows that no row of {right} follows yet: not bounded; TOLERANCE bounds them"
        )
    theirs = state_bound(node, node.right, right, 0, below)
    if match.direction != "forward":
        is_forever = match.tolerance is None and node.classes
        theirs = theirs.also(f"{keys}, forever" if is_forever else keys)
    return [mine, theirs]


def _emission(node: AsofSweep, time_type: str) -> str:
    if node.own_delay:
        return f"{ONCE_FINAL}; adds a delay of {show_ticks(node.own_delay, time_type)}"
    if node.match.is_prompt(node.kind) or node.match.tolerance is not None:
        return f"{ONCE_FINAL}; adds no delay"
    return f"{ONCE_FINAL}; the delay has no bound"
