"""What EXPLAIN tells of the stages on Spark: what is shuffled by what, and what shares a task."""

from __future__ import annotations

from dataclasses import dataclass, field

from windrow.physical.explain.facts import Show
from windrow.physical.nodes.base import PhysicalNode
from windrow.physical.partitioning.buckets import Single
from windrow.physical.partitioning.shared_stages import SharedStage, stages
from windrow.physical.query import PhysicalQuery

ASSUMED_BUCKETS = 4
"""Buckets that EXPLAIN shows where the user set none: enough to see what is copied."""

PRE_AGGREGATED = (
    "pre-aggregated per instant before the one bucket: rows that come and go together are one there"
)


@dataclass
class StageFacts:
    """One stage.

    Attributes:
        title: the node whose inputs are shuffled.
        partitioned: by what.
        notes: what is done before the shuffle, and what to know.
        warning: why one task does all the work; "" where many do.
        shared: what else runs in its tasks: the title, and why without a shuffle.
    """

    title: str
    partitioned: str
    notes: list[str] = field(default_factory=list)
    warning: str = ""
    shared: list[tuple[str, str]] = field(default_factory=list)

    def lines(self, number: int) -> list[str]:
        """The stage as EXPLAIN shows it."""
        lines = [f"  stage {number}: {self.title}", f"    {self.partitioned}"]
        lines += [f"    {note}" for note in self.notes]
        if self.warning:
            lines.append(f"    warning: one task does all the work: {self.warning}")
        for title, why in self.shared:
            lines += [f"    shared by {title}", f"      {why}"]
        return lines


def stage_facts(physical: PhysicalQuery, show: Show) -> list[StageFacts]:
    """The stages of a query, from the streams up."""
    buckets = physical.options.buckets or ASSUMED_BUCKETS
    return [_stage(stage, buckets, show) for stage in stages(physical.root, buckets)]


def _stage(stage: SharedStage, buckets: int, show: Show) -> StageFacts:
    node, *above = stage.nodes
    partitioning = node.partitioning(buckets)
    found = StageFacts(node.title, partitioning.describe(node, show))
    if node.may_be_merged:
        found.notes.append(PRE_AGGREGATED)
    if isinstance(partitioning, Single):
        found.warning = partitioning.reason
    for shared, by in zip(above, stage.by, strict=True):
        names = ", ".join(map(show, by))
        why = f"without a shuffle: rows of one {names} are in one bucket already"
        found.shared.append((shared.title, why))
    return found


def stage_lines(physical: PhysicalQuery, found: list[StageFacts]) -> list[str]:
    """The stages as EXPLAIN shows them."""
    if not found:
        return ["  none: each row is answered on its own"]
    set_by_user = physical.options.buckets
    known = "set by buckets" if set_by_user else "assumed; one per shuffle partition if not set"
    lines = [f"  on Spark, {set_by_user or ASSUMED_BUCKETS} buckets ({known})"]
    lines += _read_ahead_lines(physical.root)
    for number, stage in enumerate(found, 1):
        lines += stage.lines(number)
    return lines


def _read_ahead_lines(root: PhysicalNode) -> list[str]:
    """What Spark streaming asks of the streams that promise by read-ahead."""
    streams = dict.fromkeys(scan.stream for scan in root.scans if scan.read_ahead is not None)
    return [
        f"  streaming, {stream} must come in one ordered partition; its times are read once more, in"
        " one task"
        for stream in streams
    ]
