"""How long rows are alive and how many of them are held, in words, for EXPLAIN."""

from __future__ import annotations

from collections.abc import Sequence

from windrow.physical.bounds_text import lag_terms
from windrow.physical.sliding_skyline import SlidingSkyline
from windrow.physical.specs import (
    FilterRows,
    OfChanges,
    PairJoinSpec,
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
    inputs,
    scans,
)
from windrow.physical.table_facts import matches_below
from windrow.plan.durations import show_ticks


def source_name(spec: Spec) -> str:
    """What the rows of a spec are called: the stream, the derived table, or `rows` of a join."""
    sources = {source.alias for source in scans(spec)}
    if len(sources) == 1:
        return sources.pop()
    prefixes = {name.split(".", 1)[0] for name in spec.schema.names if "$" not in name}
    return prefixes.pop() if len(prefixes) == 1 and not prefixes & sources else "rows"


def lifetime(below: Spec, alive: int | None) -> str:
    """From when to when a row of a spec is alive; `alive` as `alive_ticks` gives it."""
    if alive is None:
        return "until the answer below takes them back"
    length = show_ticks(alive, scans(below)[0].time_type)
    spec = _made_by(below)
    if isinstance(spec, WJoin):
        return f"from t until the first of its tuples leaves its window, t + {length} at most"
    text = f"from t to t + {length}, both included"
    if isinstance(spec, RangeRows) and isinstance(_made_by(spec.input), WJoin):
        text += "; t is that of its last tuple, and the windows below say which tuples meet"
    return text


def _made_by(spec: Spec) -> Spec:
    """What has said how long the rows of a spec are alive: the join, window or stream below."""
    while isinstance(spec, FilterRows | ProjectRows | TableJoinRows):
        spec = spec.input
    return spec


def live_equally_long(spec: Spec) -> bool:
    """Whether all rows of a spec leave in the order in which they came."""
    while isinstance(spec, FilterRows | ProjectRows | TableJoinRows):
        spec = spec.input
    return isinstance(spec, RangeRows) and alive_ticks(spec.input) is None


def alive_bound(spec: Stateful, rows: Spec, alias: str, alive: int, below: int) -> str:
    """The most rows that are held by what tells that they expire, one tick after they were alive.

    ---[=======================|--------)-----> held until the watermark has passed its expiry
       t                   t + alive  + 1 tick
    """
    return state_bound(spec, rows, alias, alive, below, ["1 tick"])


def state_bound(
    spec: Stateful,
    rows: Spec,
    alias: str,
    retention: int,
    below: int,
    beyond: Sequence[str] = (),
) -> str:
    """The most rows of an input that are held after a batch; `rows` is the input.

    `beyond` are terms of the time that rows are held beyond their retention.

        watermark - retention        watermark                       newest
        ------[=========================|===============================]---> time
                  retention                lateness + distance + delay

    The watermark trails the newest row by the largest lateness, and further by how far this
    stream runs ahead of the slowest one. With a negative retention a row meets only what lies
    before it, and goes before the watermark comes to it; where that is all rows, none is held:

        watermark        watermark - retention                       newest
        ------|--------------------[====================================]---> time
    """
    time_type = scans(spec)[0].time_type
    terms = [*([show_ticks(retention, time_type)] if retention > 0 else []), *beyond]
    length = " + ".join(terms + lag_terms(spec, below) or [show_ticks(0, time_type)])
    if retention < 0:
        length = f"max(0, {length} - {show_ticks(-retention, time_type)})"
    else:
        length = f"({length})"
    rate = " x ".join([f"rate({alias})", *matches_below(rows)])
    return f"{alias} <= {rate} x {length} + one batch"


_OF_CHANGELOG = OfChanges | SlidingAggregate | SlidingSkyline | SetOp
_WITHOUT_RANGE = ScanStream | ScanTable | _OF_CHANGELOG | PairJoinSpec
"""What gives rows that no [RANGE] below it ends."""


def alive_ticks(spec: Spec) -> int | None:
    """How many ticks after its time a row is alive at most; None where no window says."""
    if isinstance(spec, RangeRows):
        inner = alive_ticks(spec.input)
        return spec.ticks if inner is None else min(spec.ticks, inner)
    if isinstance(spec, FilterRows | ProjectRows | TableJoinRows) or _hands_on(spec):
        return alive_ticks(inputs(spec)[0])
    if isinstance(spec, _WITHOUT_RANGE) or (isinstance(spec, WJoin) and spec.expires):
        return spec.ticks if isinstance(spec, ResolveChanges) else None
    lengths = [length for length in map(alive_ticks, inputs(spec)) if length is not None]
    if isinstance(spec, UnionRows):
        return max(lengths) if len(lengths) == len(spec.inputs) else None
    if spec.tracked:  # a row that comes alone lives as long as it would by itself
        alone = [alive_ticks(spec.inputs[port]) for port in spec.tracked]
        return max((length for length in alone if length is not None), default=None)
    return min(lengths, default=None)


def _hands_on(spec: Spec) -> bool:
    return isinstance(spec, SetOp) and spec.hands_on


def joins_what_is_alive(join: WJoin) -> bool:
    """Whether a join asks nothing of the times of rows but that they are alive together."""
    if join.kind != "inner" or join.counts is not None or join.shedding is not None:
        return False
    if join.is_snapshot and not join.graph.stated:
        return True
    lengths = [alive_ticks(child) for child in join.inputs]
    is_by_ends = all(
        length is not None and join.graph.direct[a][b] >= length
        for a, length in enumerate(lengths)
        for b in range(len(lengths))
        if a != b
    )
    return is_by_ends and join.alternative is None
