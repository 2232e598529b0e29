"""EXPLAIN: a plan as stable text, for people who decide whether to trust it.

Four sections: what the answer is and what is promised of the streams; the logical plan, as the
user wrote it; the physical one, each stateful node with its facts; and the stages on Spark. No
ids, no timings, no paths: the same query gives the same text.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from windrow.physical.choice_facts import choice_facts
from windrow.physical.cost_facts import show_rate, total_cost
from windrow.physical.facts import Fact
from windrow.physical.nodes.base import PhysicalNode
from windrow.physical.nodes.project_rows import ProjectRows
from windrow.physical.nodes.scan_stream import ScanStream
from windrow.physical.nodes.scan_table import ScanTable
from windrow.physical.options import IN_STEP, ROUND_ROBIN, SPILL, Options
from windrow.physical.partitioning import Single
from windrow.physical.promises import LEAD, has_lead, show_promises, show_watermarks
from windrow.physical.query import PhysicalQuery
from windrow.physical.schedule_facts import as_scheduled, schedule_facts
from windrow.physical.shared_stages import stages
from windrow.plan.nodes.query import Query
from windrow.plan.texts import ColumnTexts, show_alias

ASSUMED_BUCKETS = 4
"""Buckets that EXPLAIN shows where the user set none: enough to see what is copied."""

LABEL_WIDTH = 12

_BREAK = re.compile(r"\s*\n\s*")

LATE_ROWS = {
    "count": "counted and dropped",
    "keep": "counted and kept aside, each once",
    "fail": "the query fails",
}

POLLING = {
    IN_STEP: "in process, the stream that is furthest behind in event time is asked first",
    ROUND_ROBIN: "in process, round robin: each stream is asked again after all others",
}

PRE_AGGREGATED = (
    "pre-aggregated per instant before the one bucket: rows that come and go together are one there"
)


def explain(logical: Query, physical: PhysicalQuery) -> str:
    """The text of EXPLAIN, ending in a newline."""
    sections = (
        ("query", _query_lines(physical)),
        ("logical", logical.lines()),
        ("physical", _physical_lines(physical)),
        ("stages", _stage_lines(physical)),
    )
    return (
        "\n\n".join("\n".join((title, *map(_one_line, lines))) for title, lines in sections) + "\n"
    )


def _one_line(text: str) -> str:
    """The text without the line breaks that a user may write inside an expression."""
    return _BREAK.sub(" ", text)


def _query_lines(physical: PhysicalQuery) -> list[str]:
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
        ("memory", [_memory(physical.options)]),
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
    return list(_fact_lines(facts, "  "))


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


def _memory(options: Options) -> str:
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
    for spec in root.walk():
        if spec.shedding is not None and spec.shedding.service_rate:
            rate = show_rate(spec.shedding.service_rate, spec.time_type)
            beyond = "a random part does" if spec.shedding.may_skip else "the query fails"
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


def _physical_lines(physical: PhysicalQuery) -> list[str]:
    show = _column_texts(physical.root)
    lines = [f"01) Emit {'changelog' if physical.is_changelog else 'append'}"]
    number = 1
    for depth, spec in _walk(physical.root, 1):
        number += 1
        lines.append(f"{number:02}) {'  ' * depth}{spec.title}")
        own = as_scheduled(spec.facts(physical.options, show), physical)
        facts = [*own, *choice_facts(spec, physical)]
        lines += _fact_lines(facts, "    " + "  " * depth + "  ")
    return lines


def _column_texts(root: PhysicalNode) -> ColumnTexts:
    return ColumnTexts(spec.items for spec in root.walk() if isinstance(spec, ProjectRows))


def _walk(spec: PhysicalNode, depth: int) -> Iterator[tuple[int, PhysicalNode]]:
    yield depth, spec
    for child in spec.inputs:
        yield from _walk(child, depth + 1)


def _fact_lines(facts: list[Fact], indent: str) -> Iterator[str]:
    for label, lines in facts:
        for i, line in enumerate(lines):
            yield f"{indent}{label if i == 0 else '':<{LABEL_WIDTH}}{line}"


def _stage_lines(physical: PhysicalQuery) -> list[str]:
    set_by_user = physical.options.buckets
    buckets = set_by_user or ASSUMED_BUCKETS
    show = _column_texts(physical.root)
    found = stages(physical.root, buckets)
    if not found:
        return ["  none: each row is answered on its own"]
    known = "set by buckets" if set_by_user else "assumed; one per shuffle partition if not set"
    lines = [f"  on Spark, {buckets} buckets ({known})", *_read_ahead_lines(physical.root)]
    for number, stage in enumerate(found, 1):
        spec, *above = stage.specs
        partitioning = spec.partitioning(buckets)
        lines.append(f"  stage {number}: {spec.title}")
        lines.append(f"    {partitioning.describe(spec, show)}")
        if spec.may_be_merged:
            lines.append(f"    {PRE_AGGREGATED}")
        if isinstance(partitioning, Single):
            lines.append(f"    warning: one task does all the work: {partitioning.reason}")
        for shared, by in zip(above, stage.by, strict=True):
            lines.append(f"    shared by {shared.title}")
            names = ", ".join(map(show, by))
            lines.append(f"      without a shuffle: rows of one {names} are in one bucket already")
    return lines


def _read_ahead_lines(root: PhysicalNode) -> list[str]:
    """What Spark streaming asks of the streams that promise by read-ahead."""
    streams = dict.fromkeys(scan.stream for scan in root.scans if scan.read_ahead is not None)
    return [
        f"  streaming, {stream} must come in one ordered partition; its times are read once more, in"
        " one task"
        for stream in streams
    ]
