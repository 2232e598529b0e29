"""Random window joins for operators: windows, keys and rows, and how their run is cut.

The rows of an input come in no order of time, and what a watermark allows follows from what is
still to come: any cut is a run within the promised lateness.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from random import Random
from typing import Any

import numpy as np
import pyarrow as pa
from hypothesis import strategies as st
from twins.join import Bound as TwinBound
from twins.join import Equal, Row, canonical, window_join

from cases.tape import drawn
from windrow.operators.columns.changes import ChangeBatch
from windrow.operators.columns.chunks import Chunk, ChunkSlice, decode, encode
from windrow.operators.engine.base import Operator, Snapshot
from windrow.physical.nodes.base import KeyClass
from windrow.physical.nodes.scans import ScanStream
from windrow.physical.nodes.time_join import TimeJoin
from windrow.plan.windows import Bound, WindowGraph
from windrow.schema import MAX_TICK, MIN_TICK, Field, Schema

ALIASES = "abcdef"
KEY_TYPES = {
    "bigint": (pa.int64(), (0, 1, 2)),
    "string": (pa.string(), ("", "x", "a longer text")),
    "double": (pa.float64(), (0.0, -0.0, float("nan"), 1.5)),
    "array<int>": (pa.list_(pa.int32()), ([], [1], [1, 2])),
}
END_TICKS = (*range(MIN_TICK + 1, MIN_TICK + 10), *range(MAX_TICK - 9, MAX_TICK))
"""Times near both ends of the scale."""


@dataclass(frozen=True)
class Case:
    """A join, the rows of each input in order of arrival, and how the run is cut."""

    node: TimeJoin
    types: dict[str, pa.DataType]
    rows: tuple[tuple[Row, ...], ...]
    cuts: tuple[tuple[int, ...], ...]  # per push, how many more rows of each input
    resumes: tuple[int, ...]  # pushes after which the state is stored and read back
    slack: int  # how far the watermark trails what is still to come


def scan(alias: str, schema: Schema) -> ScanStream:
    return ScanStream(alias, alias, schema.names, schema, "ts", "bigint", 0)


def cases(most_inputs: int = 4) -> st.SearchStrategy[Case]:
    """Any join of two inputs or more."""
    return drawn(lambda random: draw_case(random, most_inputs))


def cases_near_the_ends_of_the_scale() -> st.SearchStrategy[Case]:
    """Any join whose times are as far apart as times can be."""
    return drawn(draw_case_near_the_ends)


def draw_case(random: Random, most_inputs: int) -> Case:
    size = random.randint(2, most_inputs)
    aliases = tuple(ALIASES[:size])
    bounds = draw_bounds(random, size)
    classes, types = draw_classes(random, size)
    keep, fields = [], []
    for i, alias in enumerate(aliases):
        own = [f"{alias}.id", *(key.columns[i] for key in classes if key.columns[i] is not None)]
        kept = tuple(name for name in own if random.getrandbits(1))
        keep.append(kept)
        fields += [Field(name, "bigint") for name in kept]
    node = TimeJoin(
        tuple(scan(alias, Schema(())) for alias in aliases),
        aliases, classes, WindowGraph(aliases, bounds), tuple(keep),
        random.choice(["hash", "nested-loop"]), Schema(tuple(fields)),
        alternative=draw_alternative(random, aliases, bounds) if random.getrandbits(1) else None,
    )  # fmt: skip
    sizes = [0, 2, 4, 5, 6, 7] if size < 5 else [0, 1, 2, 3, 4]  # the twin takes every product
    rows = tuple(draw_rows(random, alias, i, classes, sizes) for i, alias in enumerate(aliases))
    cuts = []
    left = [len(own) for own in rows]
    while any(left):
        cut = tuple(random.randint(0, min(n, 5)) for n in left)
        cuts.append(cut)
        left = [n - taken for n, taken in zip(left, cut, strict=True)]
        if len(cuts) > 4:
            cuts.append(tuple(left))
            break
    resumes = tuple(n for n in range(len(cuts)) if random.getrandbits(1))
    return Case(node, types, rows, tuple(cuts), resumes, random.randint(0, 5))


def draw_case_near_the_ends(random: Random) -> Case:
    case = draw_case(random, most_inputs=3)
    rows = tuple(
        tuple(Row(row.values, random.choice(END_TICKS)) for row in own) for own in case.rows
    )
    return replace(case, rows=rows, slack=0)


def draw_bounds(random: Random, size: int) -> tuple[Bound, ...]:
    """A connected graph of bounds: a tree, then some more; some one-sided or shifted."""
    bounds = []
    for right in range(1, size):
        left = random.randrange(right)
        lo, hi = random.randint(0, 6), random.randint(0, 6)
        if random.getrandbits(1):  # away from zero: t(right) - t(left) in [shift, shift + width]
            lo, hi = -lo, lo + hi
        bounds.append(Bound(left, right, lo, hi))
    if size > 2 and random.getrandbits(1):
        bounds.append(Bound(0, size - 1, random.randint(0, 6), random.randint(0, 6)))
    return tuple(bounds)


def draw_alternative(
    random: Random, aliases: tuple[str, ...], bounds: tuple[Bound, ...]
) -> WindowGraph:
    """The bounds with some of them the other way round, as EITHER WAY has them."""
    turned = (
        Bound(bound.right, bound.left, bound.lo, bound.hi) if random.getrandbits(1) else bound
        for bound in bounds
    )
    return WindowGraph(aliases, tuple(turned))


def draw_classes(random: Random, size: int) -> tuple[tuple[KeyClass, ...], dict[str, pa.DataType]]:
    """Classes over some of the inputs each; sometimes none, sometimes composite."""
    classes, types = [], {}
    for at in range(random.randint(0, 3)):
        name = random.choice(sorted(KEY_TYPES))
        most = random.choice([size, random.randint(2, size)])
        inside = random.sample(range(size), most)
        columns = tuple(f"{ALIASES[i]}.k{at}" if i in inside else None for i in range(size))
        classes.append(KeyClass(columns, name, bool(random.getrandbits(1))))
        types |= {column: KEY_TYPES[name][0] for column in columns if column is not None}
    return tuple(classes), types


def draw_rows(
    random: Random, alias: str, position: int, classes: tuple[KeyClass, ...], sizes: list[int]
) -> tuple[Row, ...]:
    """Rows of one input; a quarter of the keys are NULL."""
    own = [(key.columns[position], KEY_TYPES[key.type][1]) for key in classes]
    keys = [(column, values) for column, values in own if column is not None]
    rows = []
    has_ends = random.getrandbits(1)
    for n in range(random.choice(sizes)):
        time = random.randint(-3, 12)
        values = {f"{alias}.id": n}
        for column, some in keys:
            values[column] = random.choice(some) if random.getrandbits(2) else None
        rows.append(Row(values, time, time + random.randint(1, 9) if has_ends else None))
    return tuple(rows)


def batch_of(case: Case, port: int, rows: tuple[Row, ...]) -> ChangeBatch:
    alias = case.node.aliases[port]
    names = [f"{alias}.id"]
    names += [key.columns[port] for key in case.node.classes if key.columns[port] is not None]
    arrays = [
        pa.array([row.values[name] for row in rows], case.types.get(name, pa.int64()))
        for name in names
    ]
    has_ends = any(row.end is not None for row in case.rows[port])
    return ChangeBatch(
        pa.RecordBatch.from_arrays(arrays, names=names),
        np.array([row.time for row in rows], np.int64),
        np.array([row.end for row in rows], np.int64) if has_ends else None,
    )


def stored_and_read_back(snapshot: Snapshot) -> Snapshot:
    """The snapshot as a state store would give it back: from bytes, indexes forgotten."""

    def reread(part: ChunkSlice) -> ChunkSlice:
        batch = decode(encode(part.chunk.batch))
        return ChunkSlice(Chunk(batch, batch.times), part.skip)

    buffers = {name: tuple(map(reread, parts)) for name, parts in snapshot.buffers.items()}
    return replace(snapshot, buffers=buffers)


def run(case: Case, operators: Callable[[int], Operator]) -> list[tuple[int, tuple]]:
    """All results, each with the push that it came in; checks the laws of the state on the way.

    Args:
        case: the join and its input.
        operators: a new operator, by how often the run was resumed.
    """
    resumed = 0
    operator = operators(resumed)
    out = []
    positions = [0] * len(case.rows)
    for number, cut in enumerate(case.cuts):
        batches = []
        for port, taken in enumerate(cut):
            rows = case.rows[port][positions[port] : positions[port] + taken]
            batches.append(batch_of(case, port, rows) if rows or number % 2 else None)
            positions[port] += taken
        for result in operator.push(batches):
            assert len(result)
            out += [(number, row) for row in result_rows(result, case.node)]
        rest = [row.time for own, at in zip(case.rows, positions, strict=True) for row in own[at:]]
        watermark = min(rest) - case.slack if rest else MAX_TICK
        due = operator.due()
        stored = operator.counters.stored
        assert list(operator.advance(watermark)) == []
        assert (operator.counters.stored < stored) == (
            (due <= watermark and due < MAX_TICK) or (stored > 0 and watermark == MAX_TICK)
        )
        assert operator.counters.stored == sum(buffer.rows for buffer in operator.buffers())
        for port in range(len(case.rows)):
            for part in operator.snapshot().buffers[str(port)]:
                assert part.first + case.node.retention(port) >= watermark or watermark == MAX_TICK
        if number in case.resumes:
            snapshot = stored_and_read_back(operator.snapshot())
            resumed += 1
            operator = operators(resumed)
            operator.restore(snapshot)
    assert operator.counters.stored == 0 or not case.cuts
    return out


def result_rows(result: ChangeBatch, node: TimeJoin) -> list[tuple]:
    assert tuple(result.columns.schema.names) == node.schema.names
    columns = [[canonical(v) for v in column.to_pylist()] for column in result.columns.columns]
    ends = [None] * len(result) if result.ends is None else result.ends.tolist()
    ends = [None if end == MAX_TICK else end for end in ends]
    return list(zip(*columns, result.times.tolist(), ends, strict=True))


def expected(case: Case) -> list[tuple[int, tuple]]:
    """The twin's answer, each combination in the push of its last-arriving row."""
    node = case.node
    arrival = {}
    positions = [0] * len(case.rows)
    for number, cut in enumerate(case.cuts):
        for port, taken in enumerate(cut):
            for at in range(positions[port], positions[port] + taken):
                arrival[port, at] = number
            positions[port] += taken
    equalities = [
        Equal({i: name for i, name in enumerate(key.columns) if name is not None}, key.null_safe)
        for key in node.classes
    ]
    ways = [[TwinBound(b.left, b.right, b.lo, b.hi) for b in graph.stated] for graph in node.ways]
    answers = []
    for found in window_join(case.rows, equalities, *ways):
        names = [(port, name) for port, kept in enumerate(node.keep) for name in kept]
        values = tuple(canonical(found.rows[port].values[name]) for port, name in names)
        last = max(
            arrival[port, row.values[f"{node.aliases[port]}.id"]]
            for port, row in enumerate(found.rows)
        )
        answers.append((last, (*values, found.time, found.end)))
    return answers


def same_bag(actual: Iterable[Any], wanted: Iterable[Any]) -> None:
    assert Counter(map(repr, actual)) == Counter(map(repr, wanted))
