"""What EXPLAIN tells of a query as a whole: its answer, and what its streams promise."""

from __future__ import annotations

from windrow.physical.explain.cost_facts import show_rate, total_cost
from windrow.physical.explain.facts import Fact
from windrow.physical.explain.promises import LEAD, has_lead, show_promises, show_watermarks
from windrow.physical.explain.schedule_facts import schedule_facts
from windrow.physical.nodes.base import PhysicalNode
from windrow.physical.nodes.scan_stream import ScanStream
from windrow.physical.nodes.scan_table import ScanTable
from windrow.physical.options import IN_STEP, ROUND_ROBIN, SPILL, Options
from windrow.physical.query import PhysicalQuery
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
    """The answer, the streams, how time goes on, and what may be used for it."""
    sources = physical.root.scans
    answer = (
        "changelog: rows come and go, _change_type and _event_time say when"
        if physical.is_changelog
        else "append: each row once, never taken back"
    )
    watermark = show_watermarks(sources)
    if len(sources) > 1:
        watermark = f"the least of the streams' ({watermark})"
    facts: list[Fact] = [
        ("answer", [answer, *_updates(physical)]),
        ("streams", [_stream(source) for source in sources]),
        ("watermark", [watermark]),
        ("late rows", _late_rows(physical)),
        *schedule_facts(physical),
        ("memory", [memory_line(physical.options)]),
        *_processor(physical.root),
        ("cost", [total_cost(physical.root, physical.time_type)]),
    ]
    if physical.options.polling is not None:
        facts.insert(3, ("polling", [POLLING[physical.options.polling]]))
    if has_lead(sources):
        facts.insert(3, (LEAD, ["how far a stream's newest row is ahead of its own watermark"]))
    if len(sources) > 1:
        facts.insert(3, ("distance", ["how far a stream runs ahead of the slowest one"]))
    if physical.root.tables:
        facts.insert(2, ("tables", [_table(table) for table in physical.root.tables]))
    return facts


def _late_rows(physical: PhysicalQuery) -> list[str]:
    if not physical.root.has_state:
        return ["none: each row is answered as it comes, whatever its time"]
    return [
        f"below the watermark as their batch begins: {LATE_ROWS[physical.options.on_late]}",
        "rows without a time: the same, counted apart",
    ]


def _updates(physical: PhysicalQuery) -> list[str]:
    """What is told of updates, where someone has asked for them."""
    if not physical.options.updates:
        return []
    keys = physical.pairs_by
    if keys is None:
        return ["no updates: nothing but all columns of a row tells it apart from others"]
    of_what = f"of one {', '.join(keys)}" if keys else "of the one row"
    return [f"a delete and an insert {of_what} at one instant: update_preimage, update_postimage"]


def memory_line(options: Options) -> str:
    """How much state may be held, and what happens beyond."""
    limit = options.memory_amount
    if limit is None:
        return "as much as the windows need (not limited)"
    if options.sheds_memory:
        return f"at most {limit}, arrivals that wait included; of what would be more a random part"
    if options.on_memory == SPILL:
        return f"at most {limit} of state; beyond that old tuples go to disk"
    return f"at most {limit} of state; beyond that the query fails"


def _processor(root: PhysicalNode) -> list[Fact]:
    """How many arrivals may probe, where someone has said it."""
    for node in root.walk():
        if node.shedding is not None and node.shedding.service_rate:
            rate = show_rate(node.shedding.service_rate, node.time_type)
            beyond = "a random part does" if node.shedding.may_skip else "the query fails"
            return [("processor", [f"at most {rate} probe; where more arrive {beyond}"])]
    return []


def _stream(source: ScanStream) -> str:
    name = show_alias(source.stream, source.alias)
    time = f"time {source.time} ({source.time_type})"
    if source.is_on_arrival:
        time = f"time on arrival, as {source.time} ({source.time_type})"
    return f"{name}: {time}, {show_promises(source)}"


def _table(table: ScanTable) -> str:
    return f"{show_alias(table.table, table.alias)}: read whole as the query starts"
