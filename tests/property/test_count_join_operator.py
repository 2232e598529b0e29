"""The count-window join operator against its slow twin, however its input is cut or resumed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from random import Random
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from case_share import share_of
from cases.join_runs import END_TICKS
from cases.tape import TAPES, drawn
from hypothesis import given, settings
from twins.count_windows import Window, count_join
from twins.join import Equal, Row, canonical

from windrow.operators.columns import key_columns
from windrow.operators.columns.changes import ChangeBatch
from windrow.operators.columns.chunks import Chunk, ChunkBuffer, ChunkSlice, decode, encode
from windrow.operators.engine.base import Snapshot
from windrow.operators.joins import bew_search
from windrow.operators.joins import count_join as operator_module
from windrow.operators.joins.count_join import CountJoinOp
from windrow.physical.nodes.base import KeyClass
from windrow.physical.nodes.count_join import CountJoin
from windrow.physical.nodes.scans import ScanStream
from windrow.plan.windows import Bound, CountWindows, OwnWindow, WindowGraph
from windrow.schema import MAX_TICK, MIN_TICK, Field, Schema

pytestmark = pytest.mark.law

EXAMPLES = settings(max_examples=share_of(100), deadline=None, derandomize=True)
KEYS = {
    "bigint": (pa.int64(), (0, 1, 2)),
    "string": (pa.string(), ("", "x", "a longer text")),
    "double": (pa.float64(), (0.0, -0.0, float("nan"), 1.5)),
}
COLUMNS = ("w", "k", "m", "id")


@dataclass(frozen=True)
class Case:
    """A join, the rows of each input in order of arrival, and how the run is cut."""

    node: CountJoin
    rows: tuple[tuple[Row, ...], ...]
    cuts: tuple[tuple[int, ...], ...]  # per push, how many more rows of each input
    slack: int  # how far the watermark trails what is still to come
    types: dict[str, pa.DataType]


def draw_case(random: Random) -> Case:
    size = random.randint(2, 3)
    aliases = tuple("abc"[:size])
    kind = random.choice(sorted(KEYS))
    names = [tuple(f"{alias}.{name}" for name in COLUMNS) for alias in aliases]
    classes = tuple(
        KeyClass(tuple(f"{alias}.{name}" for alias in aliases), type_, bool(random.getrandbits(1)))
        for name, type_ in (("k", kind), ("m", "bigint"))
        if random.getrandbits(1)
    )
    within = random.randint(1, 6) if random.getrandbits(1) else None
    own = [draw_own_window(random, alias, may_lack=within is not None) for alias in aliases]
    if within is None:
        own[0] = replace(own[0], rows=own[0].rows or 2, ticks=None)
    bounds = (Bound(0, 1, random.randint(0, 4), 3),) if random.randrange(4) == 0 else ()
    node = CountJoin(
        tuple(_scan(alias, columns) for alias, columns in zip(aliases, names, strict=True)),
        aliases, classes, WindowGraph(aliases, bounds),
        tuple((f"{alias}.id",) for alias in aliases),
        random.choice(["hash", "nested-loop"]) if classes else "nested-loop",
        Schema(tuple(Field(f"{alias}.id", "bigint") for alias in aliases)),
        counts=CountWindows(tuple(own), within),
    )  # fmt: skip
    rows = tuple(draw_rows(random, columns, kind) for columns in names)
    cuts = []
    left = [len(own_rows) for own_rows in rows]
    while any(left):
        cut = tuple(random.randint(0, min(n, 5)) for n in left)
        cuts.append(tuple(left) if len(cuts) > 4 else cut)
        left = [n - taken for n, taken in zip(left, cuts[-1], strict=True)]
    types = {"w": pa.list_(pa.int64()), "k": KEYS[kind][0], "m": pa.int64(), "id": pa.int64()}
    return Case(node, rows, tuple(cuts), random.randint(0, 4), types)


def draw_own_window(random: Random, alias: str, *, may_lack: bool) -> OwnWindow:
    kind = random.choice(["rows", "by one", "by two", "range", "none"])
    if kind == "none" and may_lack:
        return OwnWindow()
    if kind == "range":
        return OwnWindow(ticks=random.randint(0, 6))
    partition = {"by one": ("k",), "by two": ("k", "m")}.get(kind, ())
    return OwnWindow(random.randint(1, 4), tuple(f"{alias}.{name}" for name in partition))


def draw_rows(random: Random, columns: tuple[str, ...], kind: str) -> tuple[Row, ...]:
    """Few times, so that many rows tie; the id, which tells rows apart, is the last column."""
    lists = ([], [0], [1], [0, 1], [1, 0], [1, 1])
    values = dict(zip(columns, (lists, KEYS[kind][1], (0, 1)), strict=False))
    latest = random.choice([0, 4, 12])
    return tuple(
        Row(
            {
                **{name: some(random, own) for name, own in values.items()},
                columns[3]: n,
            },
            random.randint(-2, latest),
        )
        for n in range(random.choice([0, 2, 5, 8]))
    )


def some(random: Random, values: Sequence[Any]) -> Any:
    """One of the values, or NULL every third time."""
    return random.choice(values) if random.randrange(3) else None


CASES = drawn(draw_case)


def _scan(alias: str, names: tuple[str, ...]) -> ScanStream:
    schema = Schema(tuple(Field(name, "bigint") for name in names))
    return ScanStream(alias, alias, names, schema, "ts", "bigint", 0)


def batch_of(case: Case, port: int, rows: tuple[Row, ...]) -> ChangeBatch:
    names = case.node.inputs[port].schema.names
    arrays = [
        pa.array([row.values[name] for row in rows], case.types[name.split(".")[1]])
        for name in names
    ]
    columns = pa.RecordBatch.from_arrays(arrays, names=list(names))
    return ChangeBatch(columns, np.array([row.time for row in rows], np.int64))


def stored_and_read_back(snapshot: Snapshot) -> Snapshot:
    """The snapshot as a state store would give it back: from bytes, indexes forgotten."""

    def reread(name: str, part: ChunkSlice) -> ChunkSlice:
        batch = decode(encode(part.chunk.batch))
        keys = batch.times if name.startswith("waiting") else batch.ends
        assert keys is not None
        return ChunkSlice(Chunk(batch, keys), part.skip, part.gone)

    buffers = {
        name: tuple(reread(name, part) for part in parts)
        for name, parts in snapshot.buffers.items()
    }
    return replace(snapshot, buffers=buffers)


def run(case: Case, *, resumes: bool) -> Iterator[tuple[tuple[int, ...], int]]:
    """All results with their times; after every batch the state is within its bound."""
    operator = CountJoinOp(case.node)
    positions = [0] * len(case.rows)
    before = MIN_TICK
    for number, cut in enumerate(case.cuts):
        batches = []
        for port, taken in enumerate(cut):
            rows = case.rows[port][positions[port] : positions[port] + taken]
            batches.append(batch_of(case, port, rows) if rows or number % 2 else None)
            positions[port] += taken
        assert list(operator.push(batches)) == []
        rest = [row.time for own, at in zip(case.rows, positions, strict=True) for row in own[at:]]
        watermark = min(rest) - case.slack if rest else MAX_TICK
        due, stored = operator.due(), operator.counters.stored
        found = list(operator.advance(watermark))
        if due > watermark:
            assert not found
            assert operator.counters.stored == stored
        for result in found:
            assert len(result)
            assert np.all((result.times >= before) & (result.times < watermark))
            ids = zip(*(column.to_pylist() for column in result.columns.columns), strict=True)
            yield from zip(ids, result.times.tolist(), strict=True)
        before = watermark
        check_bound(case, operator, positions, watermark)
        if resumes:
            snapshot = stored_and_read_back(operator.snapshot())
            operator = CountJoinOp(case.node)
            operator.restore(snapshot)
    assert operator.counters.stored == 0


def check_bound(case: Case, operator: CountJoinOp, positions: list[int], watermark: int) -> None:
    """Below the watermark the newest n of each k, or what is alive; from it on what has come."""
    counts = case.node.counts
    assert counts is not None
    for port, own in enumerate(counts.own):
        come = case.rows[port][: positions[port]]
        kept = operator.snapshot().buffers
        there = sum(map(len, kept[str(port)]))
        waiting = sum(map(len, kept[f"waiting {port}"]))
        assert waiting <= sum(row.time >= watermark for row in come)
        below = [row for row in come if row.time < watermark]
        if watermark == MAX_TICK:
            below = []
        if own.rows is not None:
            names = [name.split(".")[1] for name in own.partition]
            alias = case.node.aliases[port]
            sizes = Counter(
                repr([canonical(row.values[f"{alias}.{name}"]) for name in names]) for row in below
            )
            assert there <= sum(min(own.rows, size) for size in sizes.values())
        if own.ticks is not None:
            assert there <= sum(row.time + own.ticks >= watermark for row in below)
        if counts.within is not None:
            assert there <= counts.within


def expected(case: Case) -> list[tuple[tuple[int, ...], int]]:
    counts = case.node.counts
    assert counts is not None
    equalities = [Equal(dict(enumerate(key.columns)), key.null_safe) for key in case.node.classes]
    windows = [Window(own.rows, own.partition, own.ticks) for own in counts.own]

    def holds(rows: tuple[Row, ...]) -> bool:
        for equality in equalities:
            values = [rows[port].values[name] for port, name in equality.columns.items()]
            if not equality.null_safe and None in values:
                return False
            if any(canonical(value) != canonical(values[0]) for value in values):
                return False
        distances = [(b, rows[b.right].time - rows[b.left].time) for b in case.node.graph.stated]
        return all(-bound.lo <= distance <= bound.hi for bound, distance in distances)

    columns = [child.schema.names for child in case.node.inputs]
    return [
        (
            tuple(row.values[f"{alias}.id"] for alias, row in zip("abc", rows, strict=False)),
            max(row.time for row in rows),
        )
        for rows in count_join(case.rows, columns, windows, counts.within, holds)
    ]


@pytest.mark.parametrize("resumes", [False, True])
@EXAMPLES
@given(case=CASES)
def test_every_combination_comes_once_the_watermark_has_passed_it(case, resumes):
    assert Counter(run(case, resumes=resumes)) == Counter(expected(case))


@EXAMPLES
@given(case=CASES, random=TAPES)
def test_arrival_order_changes_nothing(case, random):
    shuffled = tuple(tuple(random.sample(rows, len(rows))) for rows in case.rows)
    other = replace(case, rows=shuffled)
    assert Counter(run(other, resumes=False)) == Counter(run(case, resumes=False))


@pytest.fixture(scope="module")
def weak_hashes():
    """Hashes of texts with one bit, so that most candidates and partitions are wrong."""
    with pytest.MonkeyPatch.context() as patch:
        strong = key_columns.kernels.hashed_bytes
        patch.setattr(key_columns.kernels, "hashed_bytes", lambda a, b: strong(a, b) & 1)
        yield


@EXAMPLES
@given(case=CASES)
def test_weak_hashes_cost_time_but_never_a_result(weak_hashes, case):
    assert Counter(run(case, resumes=False)) == Counter(expected(case))


@pytest.fixture(scope="module")
def tiny_blocks():
    """Blocks of two rows and three matches, so that every step and search is cut many times."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(bew_search, "START_ROWS", 2)
        patch.setattr(bew_search, "MOST_FOUND", 3)
        patch.setattr(operator_module, "SETTLED_ROWS", 2)
        patch.setattr(operator_module, "FEWER_ROWS", 1)
        yield


@pytest.fixture(scope="module")
def rows_stay_in_chunks():
    """No chunk is rewritten before all of it is dead: many rows that are gone lie about."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(ChunkBuffer, "_compact", lambda _, part: part)
        yield


@pytest.mark.parametrize("resumes", [False, True])
@EXAMPLES
@given(case=CASES)
def test_rows_that_are_gone_are_never_found_again(rows_stay_in_chunks, case, resumes):
    assert Counter(run(case, resumes=resumes)) == Counter(expected(case))


@EXAMPLES
@given(case=CASES)
def test_results_do_not_depend_on_the_size_of_blocks(tiny_blocks, case):
    assert Counter(run(case, resumes=False)) == Counter(expected(case))


@EXAMPLES
@given(case=CASES, random=TAPES)
def test_times_near_the_ends_of_the_scale_do_not_overflow(case, random):
    rows = tuple(
        tuple(Row(row.values, random.choice(END_TICKS)) for row in own) for own in case.rows
    )
    case = replace(case, rows=rows, slack=0)
    assert Counter(run(case, resumes=False)) == Counter(expected(case))
