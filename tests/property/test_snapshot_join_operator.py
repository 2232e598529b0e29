"""Joins of relations that change against their slow twin, however their input is cut or resumed.

The one gives combinations with their ends, as they come. The other expires them itself: they go up
in the order of time, below the watermark, and without ends.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from random import Random
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from case_share import share_of
from cases.tape import drawn
from hypothesis import given, settings
from twins.snapshot_join import Change, Content, alive, instants, joined

from windrow.errors import DataError
from windrow.operators.columns.changes import ChangeBatch
from windrow.operators.columns.chunks import Chunk, ChunkSlice, decode, encode
from windrow.operators.engine.base import Operator, Snapshot, build
from windrow.operators.joins.snapshot_join import ExpiringJoinOp, SnapshotJoinOp
from windrow.physical.nodes.base import KeyClass
from windrow.physical.nodes.scans import ScanStream
from windrow.physical.nodes.snapshot_join import ExpiringJoin, SnapshotJoin
from windrow.physical.nodes.stateless import RangeRows
from windrow.plan.windows import Bound, WindowGraph
from windrow.schema import MAX_TICK, Field, Schema

EXAMPLES = settings(max_examples=share_of(200), deadline=None, derandomize=True)
LAST = 10_000
KEYS = {
    "bigint": (pa.int64(), (0, 1, None)),
    "string": (pa.string(), ("x", "", None)),
}


@dataclass(frozen=True)
class Case:
    """A join, what changes in each input, and the watermarks at which the run is cut."""

    node: SnapshotJoin
    inputs: tuple[tuple[Change, ...], ...]
    marks: tuple[int, ...]
    kind: str

    def matches(self, rows: Sequence[Content]) -> bool:
        """Whether keys are equal, as SQL has it, and times near enough where a bound says so."""
        for key in self.node.classes:
            values = [rows[port][0] for port in key.inputs]
            if len(set(values)) > 1 or (None in values and not key.null_safe):
                return False
        return all(
            -bound.lo <= rows[bound.right][2] - rows[bound.left][2] <= bound.hi
            for bound in self.node.graph.stated
        )


def draw_case(random: Random) -> Case:
    size = random.choice([2, 2, 3])
    aliases = tuple("abc"[:size])
    kind = random.choice(sorted(KEYS))
    members = random.choice([range(size), range(2), ()])
    classes = ()
    if members:
        columns = tuple(f"{a}.k" if at in members else None for at, a in enumerate(aliases))
        classes = (KeyClass(columns, kind, random.randrange(3) == 2),)
    kinds = [random.choice(sorted(INPUTS)) for _ in aliases]
    streams = [own == "stream" for own in kinds]
    bounds = ()
    if sum(streams[:2]) == 2 and random.randrange(2):
        bounds = (Bound(0, 1, random.randrange(5), random.randrange(5)),)
    ending = [own in {"stream", "changelog"} for own in kinds]
    names = [tuple(f"{alias}.{name}" for name in ("k", "v", "t")) for alias in aliases]
    node = SnapshotJoin(
        tuple(
            RangeRows(_scan(alias, own), 9) if is_stream else _scan(alias, own)
            for alias, own, is_stream in zip(aliases, names, ending, strict=True)
        ),
        aliases, classes, WindowGraph(aliases, bounds), tuple(names),
        random.choice(["hash", "nested-loop"]) if classes else "nested-loop",
        Schema(tuple(Field(name, "bigint") for own in names for name in own)),
    )  # fmt: skip
    inputs = tuple(INPUTS[own](random, kind) for own in kinds)
    marks = sorted(random.randrange(30) for _ in range(random.randrange(5)))
    return Case(node, inputs, (*marks, MAX_TICK), kind)


def draw_stream(random: Random, kind: str) -> tuple[Change, ...]:
    """Tuples that stay for a window; one may know its own time."""
    width = random.choice([0, 3, 9])
    changes = []
    for _ in range(random.randrange(8)):
        t = random.randrange(20)
        values = random.choice(KEYS[kind][1]), random.randrange(2), t
        changes.append(Change(values, t, t + width + 1))
    return tuple(changes)


def draw_changelog(random: Random, kind: str) -> tuple[Change, ...]:
    """Rows that are taken back later, some at the instant they came, ends perhaps shared."""
    changes = []
    for _ in range(random.randrange(7)):
        values = random.choice(KEYS[kind][1]), random.randrange(2), 0
        t = random.randrange(20)
        end = random.choice([MAX_TICK, MAX_TICK, t + 1 + random.randrange(9)])
        changes.append(Change(values, t, end))
        if end == MAX_TICK or random.randrange(2):
            changes.append(Change(values, t + random.randrange(12), end, -1))
    return tuple(changes)


def draw_versions(random: Random, kind: str) -> tuple[Change, ...]:
    """The answer of an aggregate: versions of a few rows, each taken back where the next begins."""
    changes = []
    for _ in range(1 + random.randrange(3)):
        key = random.choice(KEYS[kind][1])
        t = random.randrange(6)
        for version in range(random.randrange(12)):
            values = key, random.choice([0, version]), 0
            changes.append(Change(values, t, MAX_TICK))
            if random.randrange(12):
                t += random.randrange(3)
                changes.append(Change(values, t, MAX_TICK, -1))
    return tuple(changes)


INPUTS = {"stream": draw_stream, "changelog": draw_changelog, "versions": draw_versions}


def _scan(alias: str, names: tuple[str, ...]) -> ScanStream:
    schema = Schema(tuple(Field(name, "bigint") for name in names))
    return ScanStream(alias, alias, names, schema, "ts", "bigint", 0)


def batch_of(case: Case, port: int, changes: Sequence[Change]) -> ChangeBatch | None:
    if not changes:
        return None
    kinds = (KEYS[case.kind][0], pa.int64(), pa.int64())
    values = zip(*(change.values for change in changes), strict=True)
    arrays = [pa.array(own, type_) for own, type_ in zip(values, kinds, strict=True)]
    names = list(case.node.inputs[port].schema.names)
    return ChangeBatch(
        pa.RecordBatch.from_arrays(arrays, names=names),
        np.array([change.time for change in changes]),
        np.array([change.end for change in changes]),
        np.array([change.sign for change in changes], np.int8),
    )


def read_back(snapshot: Snapshot) -> Snapshot:
    """The snapshot as a state store would give it back: from bytes, indexes forgotten."""

    def reread(part: ChunkSlice) -> ChunkSlice:
        batch = decode(encode(part.chunk.batch))
        return ChunkSlice(Chunk(batch, part.chunk.keys), part.skip, part.gone)

    buffers = {name: tuple(map(reread, parts)) for name, parts in snapshot.buffers.items()}
    return Snapshot(snapshot.kind, buffers, snapshot.numbers)


def run(case: Case, random: Random, *, resumes: bool) -> list[Change]:
    """The changes that come out, of input that comes in any order between two watermarks."""
    operator = build(case.node)
    results: list[Change] = []
    ahead = random.choice([0, 6])  # rows may come before the watermark comes to them
    before = before_mark = -1
    for mark in case.marks:
        reached = min(mark + ahead, MAX_TICK)
        due = [[c for c in own if before <= c.time < reached] for own in case.inputs]
        for ports in pushes(case, due, random):
            results += [row for batch in operator.push(ports) for row in rows_of(batch)]
        final = [row for batch in operator.advance(mark) for row in rows_of(batch)]
        assert all(row.end == MAX_TICK and before_mark <= row.time < mark for row in final)
        results += final
        before_mark = mark
        assert operator.due() > mark or mark == MAX_TICK
        check_state(case, operator, mark, reached)
        if resumes:
            restored = build(case.node)
            restored.restore(read_back(operator.snapshot()))
            operator = restored
        before = reached
    return results


def pushes(
    case: Case, due: Sequence[list[Change]], random: Random
) -> Iterator[list[ChangeBatch | None]]:
    """The changes of every input, in any order: all at once, or input by input in two parts."""
    for changes in due:
        random.shuffle(changes)
    if random.randrange(2):
        yield [batch_of(case, port, changes) for port, changes in enumerate(due)]
        return
    for port, changes in random.sample(list(enumerate(due)), len(due)):
        cut = random.randrange(len(changes) + 1)
        for part in (changes[:cut], changes[cut:]):
            ports: list[ChangeBatch | None] = [None] * len(due)
            ports[port] = batch_of(case, port, part)
            yield ports


def check_state(case: Case, operator: Operator, mark: int, reached: int) -> None:
    """No more is held than the rows alive, and those from the watermark on.

    What was taken back below it is gone, with what took it. Who expires rows at the watermark has
    yet to take back what ends there.
    """
    last = mark - isinstance(case.node, ExpiringJoin)
    held = 0
    for changes in case.inputs:
        came = [change for change in changes if change.time < reached]
        held += sum(alive([c for c in came if c.time <= last], last).values())
        held += sum(c.time > last for c in came)
    assert operator.counters.stored <= (0 if mark == MAX_TICK else held)


def rows_of(batch: ChangeBatch) -> list[Change]:
    columns = [column.to_pylist() for column in batch.columns.columns]
    marks = batch.times.tolist(), batch.ends_or_never().tolist(), batch.signs_or_insert().tolist()
    return [
        Change(values, *own)
        for values, own in zip(zip(*columns, strict=True), zip(*marks, strict=True), strict=True)
    ]


@pytest.mark.law
@EXAMPLES
@given(drawn(lambda random: (draw_case(random), Random(random.getrandbits(16))), 512))
@pytest.mark.parametrize("expires", [False, True])
def test_at_every_instant_it_is_the_join_of_what_is_alive(expires: bool, drawn_case: Any) -> None:
    case, random = drawn_case
    case = replace(case, node=ExpiringJoin(**case.node.common()) if expires else case.node)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(ExpiringJoinOp, "step_rows", random.choice([2, 100]))
        results = run(case, random, resumes=bool(random.randrange(2)))
    for instant in instants(case.inputs, LAST):
        snapshot = [alive(changes, instant) for changes in case.inputs]
        assert alive(results, instant) == joined(snapshot, case.matches), instant
    assert all(change.time < change.end for change in results)
    if not case.node.has_ends:
        assert all(change.end == MAX_TICK for change in results)
    if expires:
        order = [(change.time, change.sign) for change in results]
        assert order == sorted(order)


def test_a_row_that_takes_back_what_never_came_is_bad_data() -> None:
    names = ("a.k", "a.v", "a.t"), ("b.k", "b.v", "b.t")
    node = SnapshotJoin(
        tuple(_scan(alias, own) for alias, own in zip("ab", names, strict=True)),
        ("a", "b"), (), WindowGraph(("a", "b"), ()), names, "nested-loop",
        Schema(tuple(Field(name, "bigint") for own in names for name in own)),
    )  # fmt: skip
    case = Case(node, ((), ()), (), "bigint")
    unsound = batch_of(case, 0, [Change((1, 1, 0), 5, MAX_TICK, -1)])
    for operator, due in ((SnapshotJoinOp(node), 5), (ExpiringJoinOp(node), 6)):
        list(operator.push([unsound, None]))
        assert operator.due() == due
        with pytest.raises(DataError, match="deletes a row that the stream does not hold"):
            list(operator.advance(due))


@pytest.mark.law
@pytest.mark.parametrize("expires", [False, True])
@pytest.mark.parametrize("by_key", [True, False])
@pytest.mark.parametrize("size", [2, 3])
def test_versions_of_a_row_cost_what_is_alive_together(
    size: int, by_key: bool, expires: bool
) -> None:
    """Twice as many versions in one push, beside a row that stays: twice the comparisons."""

    def comparisons(versions: int) -> tuple[int, int]:
        aliases = tuple("abc"[:size])
        names = tuple(tuple(f"{alias}.{name}" for name in ("k", "v", "t")) for alias in aliases)
        classes = (KeyClass(tuple(f"{a}.k" for a in aliases), "bigint", False),) if by_key else ()
        kind = ExpiringJoin if expires else SnapshotJoin
        node = kind(
            tuple(_scan(alias, own) for alias, own in zip(aliases, names, strict=True)),
            aliases, classes, WindowGraph(aliases, ()), names, "hash" if by_key else "nested-loop",
            Schema(tuple(Field(name, "bigint") for own in names for name in own)),
        )  # fmt: skip
        case = Case(node, (), (), "bigint")
        stays = [Change((1, -1, 0), 0, MAX_TICK)]
        batches = [
            batch_of(case, port, [*stays, *one_after_another(versions, port)])
            for port in range(size)
        ]
        operator = build(node)
        rows = sum(len(batch) for batch in operator.push(batches))
        rows += sum(len(batch) for batch in operator.advance(10 * versions))
        return operator.counters.comparisons, rows

    few, few_rows = comparisons(300)
    many, many_rows = comparisons(600)
    assert many_rows == pytest.approx(2 * few_rows, rel=0.05)
    assert many < 2.1 * few
    assert many < 4 * many_rows


def one_after_another(versions: int, port: int) -> list[Change]:
    """Versions of one row, each taken back where the next begins."""
    return [
        Change((1, version, 0), 5 * (version + step) + port, MAX_TICK, 1 - 2 * step)
        for version in range(versions)
        for step in (0, 1)
    ]
