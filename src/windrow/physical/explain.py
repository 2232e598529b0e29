"""EXPLAIN: a plan as stable text, for people who decide whether to trust it.

Four sections: what the answer is and what is promised of the streams; the logical plan, as the
user wrote it; the physical one, each stateful node with its facts; and the stages on Spark. No
ids, no timings, no paths: the same query gives the same text.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from windrow.physical.asof import AsofSweep, RangeAggregate
from windrow.physical.bestmatch_facts import bestmatch_aliases
from windrow.physical.choice_facts import choice_facts
from windrow.physical.cost_facts import show_rate, total_cost
from windrow.physical.facts import Fact, facts_of
from windrow.physical.lifetimes import source_name
from windrow.physical.options import IN_STEP, ROUND_ROBIN, SPILL, Options
from windrow.physical.partitioning import Single, describe, partitioning_of
from windrow.physical.promises import LEAD, has_lead, show_promises, show_watermarks
from windrow.physical.schedule_facts import as_scheduled, schedule_facts
from windrow.physical.shared_stages import stages
from windrow.physical.shedding import is_hidden
from windrow.physical.sliding_skyline import SlidingSkyline
from windrow.physical.specs import (
    CountRows,
    ExpireRows,
    FilterRows,
    PairJoinSpec,
    PhysicalQuery,
    ProjectRows,
    RangeRows,
    ResolveChanges,
    ScanStream,
    ScanTable,
    SetOp,
    SlidingAggregate,
    Spec,
    Stateful,
    TableJoinRows,
    UnionRows,
    WJoin,
    has_state,
    inputs,
    scans,
    tables,
)
from windrow.physical.table_facts import table_facts
from windrow.plan.durations import show_ticks
from windrow.plan.explain import (
    ColumnTexts,
    logical_lines,
    show_aggregates,
    show_alias,
    show_items,
    show_predicates,
    show_table_join,
)
from windrow.plan.nodes import KIND_NAMES, Query

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
        ("logical", logical_lines(logical)),
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
    sources = scans(physical.root)
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
    if tables(physical.root):
        facts.insert(2, ("tables", [_table(table) for table in tables(physical.root)]))
    return list(_fact_lines(facts, "  "))


def _late_rows(physical: PhysicalQuery) -> list[str]:
    if not has_state(physical.root):
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


def _processor(root: Spec) -> list[Fact]:
    """How many arrivals may probe, where someone has said it."""
    for _, spec in _walk(root, 0):
        if isinstance(spec, WJoin) and spec.shedding is not None and spec.shedding.service_rate:
            rate = show_rate(spec.shedding.service_rate, scans(spec)[0].time_type)
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
        lines.append(f"{number:02}) {'  ' * depth}{_spec(spec)}")
        if isinstance(spec, Stateful):
            own = as_scheduled(facts_of(spec, physical.options, show), physical)
            facts = [*own, *choice_facts(spec, physical)]
            lines += _fact_lines(facts, "    " + "  " * depth + "  ")
        elif isinstance(spec, TableJoinRows):
            lines += _fact_lines(table_facts(spec), "    " + "  " * depth + "  ")
    return lines


def _column_texts(root: Spec) -> ColumnTexts:
    return ColumnTexts(spec.items for _, spec in _walk(root, 0) if isinstance(spec, ProjectRows))


def _walk(spec: Spec, depth: int) -> Iterator[tuple[int, Spec]]:
    yield depth, spec
    for child in inputs(spec):
        yield from _walk(child, depth + 1)


def _fact_lines(facts: list[Fact], indent: str) -> Iterator[str]:
    for label, lines in facts:
        for i, line in enumerate(lines):
            yield f"{indent}{label if i == 0 else '':<{LABEL_WIDTH}}{line}"


def _spec(spec: Spec) -> str:
    if isinstance(spec, Stateful):
        return stage_name(spec)
    if isinstance(spec, ScanStream | ScanTable):
        name = spec.stream if isinstance(spec, ScanStream) else spec.table
        columns = ", ".join(spec.columns) or "no columns"
        return f"{type(spec).__name__} {show_alias(name, spec.alias)}: {columns}"
    if isinstance(spec, FilterRows | TableJoinRows):
        tests = (
            show_predicates(spec.predicates)
            if isinstance(spec, FilterRows)
            else show_table_join(spec.kind, spec.keys, spec.predicates)
        )
        return f"{type(spec).__name__} {tests}"
    if isinstance(spec, ProjectRows):
        shown = tuple(item for item in spec.items if not is_hidden(item.name))
        return f"ProjectRows {show_items(shown)}"
    if isinstance(spec, UnionRows):
        return "UnionRows"
    assert isinstance(spec, RangeRows)
    return f"RangeRows {show_ticks(spec.ticks, scans(spec)[0].time_type)}"


def stage_name(spec: Stateful) -> str:
    """A stateful spec in a few words; progress figures use the same name."""
    if isinstance(spec, WJoin):
        kind = f", {KIND_NAMES[spec.kind]}" if spec.kind in KIND_NAMES else ""
        name = "SnapshotJoin" if spec.is_snapshot else "WJoin"
        name = "ExpiringJoin" if spec.expires else name
        return f"{name} {', '.join(spec.aliases)}{kind}"
    if isinstance(spec, SlidingAggregate):
        kind = "EstimatingAggregate" if spec.estimated_from else "SlidingAggregate"
        return f"{kind} {show_aggregates(spec.aggregates)}"
    if isinstance(spec, SetOp):
        return f"SetOp {spec.kind}"
    if isinstance(spec, ResolveChanges | CountRows):
        return f"{type(spec).__name__} {spec.alias}"
    if isinstance(spec, ExpireRows):
        return f"ExpireRows {source_name(spec.input)}"
    return _pair_join_name(spec)


def _pair_join_name(spec: PairJoinSpec | SlidingSkyline) -> str:
    if isinstance(spec, SlidingSkyline):
        return f"SlidingSkyline {spec.kind}"
    if isinstance(spec, AsofSweep):
        kind = f", {KIND_NAMES[spec.kind]}" if spec.kind in KIND_NAMES else ""
        return f"AsofSweep {' with '.join(spec.aliases)}{kind}"
    if isinstance(spec, RangeAggregate):
        return f"RangeAggregate {' with '.join(spec.aliases)}: {show_aggregates(spec.aggregates)}"
    return f"MatwinBestmatch {' with '.join(bestmatch_aliases(spec))}, {spec.kind}"


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
        partitioning = partitioning_of(spec, buckets)
        lines.append(f"  stage {number}: {stage_name(spec)}")
        lines.append(f"    {describe(partitioning, spec, show)}")
        if isinstance(spec, SlidingAggregate) and spec.may_be_merged:
            lines.append(f"    {PRE_AGGREGATED}")
        if isinstance(partitioning, Single):
            lines.append(f"    warning: one task does all the work: {partitioning.reason}")
        for shared, by in zip(above, stage.by, strict=True):
            lines.append(f"    shared by {stage_name(shared)}")
            names = ", ".join(map(show, by))
            lines.append(f"      without a shuffle: rows of one {names} are in one bucket already")
    return lines


def _read_ahead_lines(root: Spec) -> list[str]:
    """What Spark streaming asks of the streams that promise by read-ahead."""
    streams = dict.fromkeys(scan.stream for scan in scans(root) if scan.read_ahead is not None)
    return [
        f"  streaming, {stream} must come in one ordered partition; its times are read once more, in"
        " one task"
        for stream in streams
    ]
