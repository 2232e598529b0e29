"""What EXPLAIN tells of a whole query: answer, promises of streams, scheduling, stages on Spark."""

from __future__ import annotations

from dataclasses import dataclass, field

from windrow.physical.algorithms import DEFAULT
from windrow.physical.estimates import CHANGED, TotalCost, unknown_cost
from windrow.physical.explain.facts import (
    LEAD,
    Fact,
    Show,
    has_lead,
    said,
    show_promises,
    show_watermarks,
)
from windrow.physical.nodes.base import PhysicalNode
from windrow.physical.nodes.multi_join import MultiJoin
from windrow.physical.nodes.scans import ScanStream, ScanTable
from windrow.physical.options import IN_STEP, ITA, NTA, ROUND_ROBIN, SPILL, Options
from windrow.physical.partitioning.buckets import Single
from windrow.physical.partitioning.shared_stages import SharedStage, stages
from windrow.physical.partitioning.threads import asked_spread
from windrow.physical.query import PhysicalQuery, Runner
from windrow.plan.texts import show_alias

LATE_ROWS = {
    "count": "counted and dropped",
    "keep": "counted and kept aside, each once",
    "fail": "the query fails",
}

POLLING = {
    IN_STEP: "in process, the stream that is furthest behind in event time is asked first",
    ROUND_ROBIN: "in process, round robin: each stream is asked again after all others",
}


def query_facts(physical: PhysicalQuery) -> list[Fact]:
    """The answer, the streams, and how time goes on. Memory and cost stand in the summary."""
    sources = physical.root.scans
    answer = (
        "changelog: rows come and go, _change_type and _event_time say when"
        if physical.is_changelog
        else "append: each row once, never taken back"
    )
    watermark = show_watermarks(sources)
    if len(sources) > 1:
        watermark = f"the least of the streams' ({watermark})"
    distance = "how far a stream runs ahead of the slowest one" if len(sources) > 1 else ""
    lead = (
        "how far a stream's newest row is ahead of its own watermark" if has_lead(sources) else ""
    )
    return said(
        ("answer", [answer, *_updates(physical)]),
        ("streams", [*map(_stream, sources), *_ways(physical)]),
        ("tables", [_table(table) for table in physical.root.tables]),
        ("watermark", watermark),
        ("distance", distance),
        (LEAD, lead),
        ("polling", POLLING.get(physical.options.polling or "", "")),
        ("late rows", _late_rows(physical)),
        *schedule_facts(physical),
        ("processor", [node.probe_limit for node in physical.root.walk() if node.probe_limit]),
        ("cost", "" if has_cost(physical) else cost_line(physical)),
    )


def has_cost(physical: PhysicalQuery) -> bool:
    """Whether a cost can be told, or what to give to know it: the summary has it then."""
    return any(node.is_priced for node in physical.root.walk())


def cost_line(physical: PhysicalQuery) -> str:
    """What a query costs, or what to give to know it."""
    cost = TotalCost.of(physical)
    return unknown_cost(physical.root) if cost is None else str(cost)


def _late_rows(physical: PhysicalQuery) -> list[str]:
    if not physical.root.has_state:
        return ["none: each row is answered as it comes, whatever its time"]
    return [
        f"below the watermark when their batch begins: {LATE_ROWS[physical.options.on_late]}",
        "rows without a time: the same, counted separately",
    ]


def _updates(physical: PhysicalQuery) -> list[str]:
    """What is told of updates, where someone has asked for them."""
    if not physical.options.updates:
        return []
    keys = physical.pairs_by
    if keys is None:
        return ["no updates: only all columns together tell a row from others"]
    of_what = f"of one {', '.join(keys)}" if keys else "of the one row"
    return [f"a delete and an insert {of_what} at one instant: update_preimage, update_postimage"]


def memory_line(options: Options) -> str:
    """How much state may be held, and what happens beyond."""
    limit = options.memory_amount
    if limit is None:
        return "as much as the windows need (not limited)"
    if options.sheds_memory:
        return f"at most {limit}, waiting arrivals included; beyond that, a random sample is kept"
    if options.on_memory == SPILL:
        return f"at most {limit} of state; beyond that old tuples go to disk"
    return f"at most {limit} of state; beyond that the query fails"


def _stream(source: ScanStream) -> str:
    name = show_alias(source.stream, source.alias)
    time = f"time {source.time} ({source.time_type})"
    if source.is_on_arrival:
        time = f"time on arrival, as {source.time} ({source.time_type})"
    return f"{name}: {time}, {show_promises(source)}"


def _ways(physical: PhysicalQuery) -> list[str]:
    """How each stream is read."""
    streams = dict.fromkeys(scan.stream for scan in physical.root.scans)
    ways = ((stream, physical.ways.get(stream)) for stream in streams)
    return [f"{stream} is read {way}" for stream, way in ways if way]


def _table(table: ScanTable) -> str:
    return f"{show_alias(table.table, table.alias)}: read whole as the query starts"


TIME_COMES_WITH_ROWS = "with ita these bounds hold only while every input brings rows"


def schedule_facts(query: PhysicalQuery) -> list[Fact]:
    """The scheduling, and why so; nothing where no row is ever taken back.

    Nor on Spark, where stages go by the watermark, unless the plan is one of negative tuples.
    """
    schedule = query.schedule
    if not schedule.why or (query.runner is not Runner.process and schedule.name != NTA):
        return []
    rejected = [f"rejected {other}" for other in schedule.rejected]
    return [("scheduling", [f"{schedule.name} ({schedule.why})", *rejected])]


def as_scheduled(node: PhysicalNode, facts: list[Fact], query: PhysicalQuery) -> list[Fact]:
    """The facts of a node, none of which is a bound that does not hold."""
    if query.schedule.name != ITA or query.runner is not Runner.process or not node.is_stateful:
        return facts
    return [
        (label, [*lines, TIME_COMES_WITH_ROWS] if label == "state" else lines)
        for label, lines in facts
    ]


def choice_facts(node: PhysicalNode, query: PhysicalQuery) -> list[Fact]:
    """Who chooses the plan of a window join; nothing in process, where the plan shown is it."""
    if query.runner is Runner.process or not isinstance(node, MultiJoin) or not node.has_plans:
        return []
    if not query.options.leaves_plans:
        is_asked = query.options.asked_algorithm or query.options.order or not node.is_limited
        by = "by the options given" if is_asked else "by the rates known as the query starts"
        return [("chosen", [f"for all buckets, {by}; the state is that of any plan"])]
    anew = f"again once a rate, or the rows at once, are {CHANGED:g} times as many, or as few"
    if query.runner is Runner.spark_batch:
        how = [
            "in the worker, for each bucket by its first rows: their rates, and samples of their keys",
            anew,
        ]
        return [("chosen", [*how, _expected(node)])]
    return [
        (
            "chosen",
            [
                "in the worker, for each bucket when a micro-batch begins: by the rates of rows"
                " held and new ones, and samples of their keys",
                anew,
                _expected(node),
                f"workers add to the costs of all plans but {DEFAULT} the cost of laying out the"
                " rows held in every micro-batch",
                "the state is the same for every plan",
            ],
        )
    ]


def _expected(node: MultiJoin) -> str:
    estimate = node.estimate
    if estimate is not None and estimate.plans:
        return f"expected by hints, and run until rates are known: {estimate.plans[0].name}"
    return f"expected, and run until rates are known: {DEFAULT}-{node.method}"


def thread_facts(node: PhysicalNode, query: PhysicalQuery, show: Show) -> list[Fact]:
    """On how many threads an operator works in process, and by what its rows are divided; or why on one.

    Nothing where nobody asked for more than one.
    """
    found = asked_spread(node, query.options)
    if found is None or query.runner is not Runner.process:
        return []
    if isinstance(found, Single):
        return [("threads", [f"1: {found.reason}"])]
    return [("threads", [f"{found.buckets}, {found.describe(node, show)}"])]


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
    lines += [
        f"  streaming, {stream} must come in one ordered partition; its times are read once more, in"
        " one task"
        for stream in read_ahead_streams(physical.root)
    ]
    for number, stage in enumerate(found, 1):
        lines += stage.lines(number)
    return lines


def read_ahead_streams(root: PhysicalNode) -> list[str]:
    """The streams that promise by read-ahead, of which Spark streaming asks for one ordered partition."""
    return list(dict.fromkeys(scan.stream for scan in root.scans if scan.read_ahead is not None))
