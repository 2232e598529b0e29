"""Outer, semi and anti joins against their slow twin, however the input is cut or resumed."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from random import Random
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from case_share import share_of
from cases.join_runs import END_TICKS, same_bag, stored_and_read_back
from cases.tape import TAPES
from hypothesis import given, settings
from hypothesis import strategies as st
from twins.join import Bound as TwinBound
from twins.join import Equal, Row, canonical
from twins.outer_join import PRESERVED, Pair, matches, outer_join, outer_join_at

from windrow.operators.columns.changes import ChangeBatch
from windrow.operators.joins.match_log import NUMBER
from windrow.operators.joins.outer_join import OuterJoinOp
from windrow.operators.routing.partition import own_rows, route
from windrow.physical.nodes.base import KeyClass
from windrow.physical.nodes.outer_join import OuterJoin
from windrow.physical.nodes.scans import ScanStream
from windrow.physical.nodes.stateless import RangeRows
from windrow.physical.partitioning.buckets import Slices
from windrow.plan.exprs import Expr
from windrow.plan.windows import Bound, WindowGraph
from windrow.schema import MAX_TICK, MIN_TICK, Field, Schema

pytestmark = pytest.mark.law

KINDS = ("left", "right", "full", "semi", "anti")
KEYS = {
    "bigint": (pa.int64(), (0, 1)),
    "string": (pa.string(), ("", "a longer text")),
    "double": (pa.float64(), (0.0, -0.0, float("nan"))),
}
PREDICATES = {
    "a.x < b.x": lambda a, b: None not in (a["a.x"], b["b.x"]) and a["a.x"] < b["b.x"],
    "a.x > 0": lambda a, _: a["a.x"] is not None and a["a.x"] > 0,
    "b.x IS NULL": lambda _, b: b["b.x"] is None,
    "1 = 0": lambda *_: False,
}
EXAMPLES = settings(max_examples=share_of(40), deadline=None, derandomize=True)
"""Per kind of join: a law that all must keep is tried 200 times."""


@dataclass(frozen=True)
class Case:
    """A join, the rows of each input in order of arrival, and how the run is cut."""

    node: OuterJoin
    types: dict[str, pa.DataType]
    rows: tuple[tuple[Row, ...], tuple[Row, ...]]
    cuts: tuple[tuple[int, int], ...]  # per push, how many more rows of each input
    resumes: frozenset[int]  # pushes after which the state is stored and read back
    slack: int  # how far the watermark trails what is still to come

    @property
    def reach(self) -> tuple[int, int]:
        """How long after a row of each input one of the other may come."""
        (bound,) = self.node.graph.stated
        return bound.hi, bound.lo

    def pairs(self) -> list[tuple[Row, Row]]:
        equalities = [Equal(dict(enumerate(c.columns)), c.null_safe) for c in self.node.classes]
        bounds = [TwinBound(b.left, b.right, b.lo, b.hi) for b in self.node.graph.stated]
        tests = [PREDICATES[p.text] for p in self.node.predicates]
        return matches(
            *self.rows, equalities, bounds,
            lambda a, b: all(test(a.values, b.values) for test in tests),
        )  # fmt: skip


def predicate(text: str) -> Expr:
    columns = tuple(name for name in ("a.x", "b.x") if name in text)
    quoted = text.replace("a.x", '"a.x"').replace("b.x", '"b.x"')
    return Expr(text, text, quoted, columns, "boolean")


def draw_case(random: Random, kind: str, *, windowed: bool = False, keyed: bool = True) -> Case:
    names = random.sample(sorted(KEYS), random.randint(0, 2) if keyed else 0)
    classes = tuple(
        KeyClass((f"a.{name}", f"b.{name}"), name, null_safe=bool(random.getrandbits(1)))
        for name in names
    )
    widths = random.randint(0, 6), random.randint(0, 6)
    if windowed:
        bound = Bound(0, 1, lo=widths[1], hi=widths[0])
    else:
        bound = Bound(0, 1, lo=widths[0], hi=widths[1])
        if random.getrandbits(1):  # away from zero, on either side
            shift = random.choice([0, *range(-8, 9)])
            bound = Bound(0, 1, lo=widths[0] + shift, hi=widths[1] - shift)
    types = {f"{alias}.{n}": n for alias in "ab" for n in ("id", "x")}
    types = dict.fromkeys(types, "bigint") | {f"{a}.{n}": n for a in "ab" for n in names}
    kept = ["ab"[: 1 if kind in {"semi", "anti"} else 2].find(a) >= 0 for a in "ab"]
    keep = tuple(
        tuple(n for n in types if n.startswith(a) and kept[i] and (n == f"{a}.id" or random.getrandbits(1)))
        for i, a in enumerate("ab")
    )  # fmt: skip
    inputs: list[Any] = []
    for alias, width in zip("ab", widths, strict=True):
        schema = Schema(tuple(Field(n, t) for n, t in types.items() if n.startswith(alias)))
        scan = ScanStream(alias, alias, schema.names, schema, "ts", "bigint", 0)
        inputs.append(RangeRows(scan, width) if windowed else scan)
    node = OuterJoin(
        inputs=tuple(inputs),
        aliases=("a", "b"),
        classes=classes,
        graph=WindowGraph(("a", "b"), (bound,)),
        keep=keep,
        method=random.choice(["hash", "nested-loop"]),
        schema=Schema(tuple(Field(n, types[n]) for side in keep for n in side)),
        predicates=tuple(map(predicate, random.sample(sorted(PREDICATES), random.randint(0, 1)))),
        kind=kind,
    )  # fmt: skip
    rows = tuple(
        draw_rows(random, alias, names, width if windowed else None)
        for alias, width in zip("ab", widths, strict=True)
    )
    cuts, left = [], [len(own) for own in rows]
    while any(left) and len(cuts) < 5:
        cuts.append(tuple(random.randint(0, min(n, 5)) for n in left))
        left = [n - taken for n, taken in zip(left, cuts[-1], strict=True)]
    cuts.append(tuple(left))
    resumes = random.choice([range(0), range(len(cuts)), range(0, len(cuts), 2)])
    arrow = {name: KEYS[t][0] for name, t in types.items()}
    return Case(node, arrow, rows, tuple(cuts), frozenset(resumes), random.randint(0, 5))


def draw_rows(random: Random, alias: str, names: list[str], width: int | None) -> tuple[Row, ...]:
    rows = []
    for n in range(random.choice([0, 1, 3, 5, 7])):
        time = random.randint(-3, 12)
        values = {f"{alias}.id": n, f"{alias}.x": some(random, range(3))}
        values |= {f"{alias}.{name}": some(random, KEYS[name][1]) for name in names}
        rows.append(Row(values, time, None if width is None else time + width + 1))
    return tuple(rows)


def some(random: Random, values: Sequence[Any]) -> Any:
    """One of the values, or NULL every third time."""
    return random.choice(values) if random.randrange(3) else None


def batch_of(case: Case, port: int, rows: Iterable[Row]) -> ChangeBatch:
    rows = list(rows)
    names = case.node.inputs[port].schema.names
    arrays = [pa.array([row.values[name] for row in rows], case.types[name]) for name in names]
    has_ends = isinstance(case.node.inputs[port], RangeRows)
    return ChangeBatch(
        pa.RecordBatch.from_arrays(arrays, names=list(names)),
        np.array([row.time for row in rows], np.int64),
        np.array([row.end for row in rows], np.int64) if has_ends else None,
    )


@dataclass(frozen=True)
class Given:
    """A row of the answer: in which step it came, and whether before the watermark moved."""

    step: int
    is_pushed: bool
    values: tuple[Any, ...]
    time: int
    end: int | None


def run(case: Case) -> list[Given]:
    """All results; checks the laws of state and delay on the way."""
    operator = OuterJoinOp(case.node)
    out: list[Given] = []
    at, before = [0, 0], MIN_TICK
    for step, cut in enumerate(case.cuts):
        batches = []
        for port, taken in enumerate(cut):
            rows = case.rows[port][at[port] : at[port] + taken]
            batches.append(batch_of(case, port, rows) if rows or step % 2 else None)
            at[port] += taken
        pushed = given_rows(operator.push(batches), step, is_pushed=True)
        watermark = watermarks(case)[step]
        due, stored = operator.due(), operator.counters.stored
        advanced = given_rows(operator.advance(watermark), step, is_pushed=False)
        changes = operator.counters.stored < stored
        assert changes == (stored > 0 and (due <= watermark or watermark == MAX_TICK))
        assert changes or not advanced
        for row in (*pushed, *advanced):
            assert before == MIN_TICK or row.time >= before - case.node.delay
        check_state(case, operator, watermark)
        if step in case.resumes:
            snapshot = stored_and_read_back(operator.snapshot())
            operator = OuterJoinOp(case.node)
            operator.restore(snapshot)
        out += [*pushed, *advanced]
        before = watermark
    assert operator.counters.stored == 0
    return out


def run_in_buckets(case: Case, buckets: int) -> list[Given]:
    """All results of a join that is cut into slices of time, bucket by bucket."""
    partitioning = case.node.partitioning(buckets)
    assert isinstance(partitioning, Slices)
    owns = [own_rows(case.node, partitioning, bucket) for bucket in range(buckets)]
    operators = [OuterJoinOp(case.node, own) for own in owns]
    out: list[Given] = []
    at = [0, 0]
    for step, (cut, watermark) in enumerate(zip(case.cuts, watermarks(case), strict=True)):
        arrived = []
        for port, taken in enumerate(cut):
            batch = batch_of(case, port, case.rows[port][at[port] : at[port] + taken])
            arrived.append((batch, *route(case.node, partitioning, port, batch, buckets)))
            at[port] += taken
        for bucket, own in enumerate(owns):
            batches = [batch.take(rows[homes == bucket]) for batch, rows, homes in arrived]
            operator = operators[bucket]
            out += given_rows(operator.push(batches), step, is_pushed=True)
            out += given_rows(operator.advance(watermark), step, is_pushed=False)
            if step in case.resumes:
                operators[bucket] = OuterJoinOp(case.node, own)
                operators[bucket].restore(stored_and_read_back(operator.snapshot()))
    assert not any(operator.counters.stored for operator in operators)
    return out


def watermarks(case: Case) -> list[int]:
    """The watermark after each push: no row that is still to come is below it."""
    found, at = [], [0, 0]
    for cut in case.cuts:
        at = [a + taken for a, taken in zip(at, cut, strict=True)]
        rest = [row.time for own, a in zip(case.rows, at, strict=True) for row in own[a:]]
        found.append(min(rest) - case.slack if rest else MAX_TICK)
    return [max(found[: i + 1]) if w != MAX_TICK else w for i, w in enumerate(found)]


def check_state(case: Case, operator: OuterJoinOp, watermark: int) -> None:
    """Nothing is held that nothing to come can reach; a row is logged once."""
    for name, parts in operator.snapshot().buffers.items():
        port = int(name.split()[-1])
        for part in parts:
            assert watermark < MAX_TICK
            assert part.first + case.reach[port] >= watermark
        if name.startswith("log") and not isinstance(case.node.inputs[0], RangeRows):
            numbers = [n for part in parts for n in part.rows().columns.column(NUMBER).to_pylist()]
            assert len(numbers) == len(set(numbers))


def given_rows(results: Iterable[ChangeBatch], step: int, *, is_pushed: bool) -> list[Given]:
    found = []
    for result in results:
        columns = [[canonical(v) for v in column.to_pylist()] for column in result.columns.columns]
        ends = result.ends_or_never().tolist()
        rows = zip(*columns, strict=True) if columns else [()] * len(result)
        for values, time, end in zip(rows, result.times.tolist(), ends, strict=True):
            shown = None if end == MAX_TICK else end
            found.append(Given(step, is_pushed, values, time, shown))
    return found


def values_of(case: Case, pair: Pair) -> tuple[Any, ...]:
    return tuple(
        None if row is None else canonical(row.values[name])
        for row, kept in zip(pair, case.node.keep, strict=True)
        for name in kept
    )


def expected(case: Case) -> list[Given]:
    """The twin's answer: pairs and semi rows with their last row, the others once final."""
    pairs = case.pairs()
    arrival = {}
    for port, own in enumerate(case.rows):
        stops = np.cumsum([cut[port] for cut in case.cuts])
        for at, row in enumerate(own):
            arrival[id(row)] = int(np.searchsorted(stops, at, side="right"))
    marks = watermarks(case)
    answer = []
    for pair in outer_join(case.node.kind, *case.rows, pairs):
        rows = [row for row in pair if row is not None]
        time = max(row.time for row in rows)
        end = min((row.end for row in rows if row.end is not None), default=None)
        if case.node.kind == "semi":
            partners = [arrival[id(b)] for a, b in pairs if a is pair[0]]
            step, is_pushed = max(arrival[id(pair[0])], min(partners)), True
        elif len(rows) == 2:
            step, is_pushed = max(arrival[id(row)] for row in rows), True
        else:
            port = pair.index(rows[0])
            final = rows[0].time + case.reach[port]
            is_pushed = False
            step = next(
                n for n, w in enumerate(marks)
                if n >= arrival[id(rows[0])] and (w > final or w == MAX_TICK)
            )  # fmt: skip
        answer.append(Given(step, is_pushed, values_of(case, pair), time, end))
    return answer


@pytest.mark.parametrize("kind", KINDS)
@EXAMPLES
@given(random=TAPES)
def test_each_row_comes_once_with_its_match_or_when_final(kind, random):
    case = draw_case(random, kind)
    same_bag(run(case), expected(case))


@pytest.mark.parametrize("kind", KINDS)
@EXAMPLES
@given(random=TAPES)
def test_windowed_rows_are_those_of_the_join_at_every_instant(kind, random):
    case = draw_case(random, kind, windowed=True)
    found, pairs = run(case), case.pairs()
    for instant in range(-4, 24):
        alive = [
            r.values for r in found if r.time <= instant and (r.end is None or instant < r.end)
        ]
        wanted = outer_join_at(instant, kind, *case.rows, pairs)
        same_bag(alive, [values_of(case, pair) for pair in wanted])


@pytest.mark.parametrize("kind", KINDS)
@EXAMPLES
@given(random=TAPES, buckets=st.integers(1, 5))
def test_buckets_of_slices_give_together_each_row_once(kind, random, buckets):
    case = draw_case(random, kind, keyed=False)
    same_bag(run_in_buckets(case, buckets), expected(case))


@pytest.mark.parametrize("kind", KINDS)
@EXAMPLES
@given(random=TAPES, buckets=st.integers(2, 4))
def test_buckets_of_slices_give_together_the_join_at_every_instant(kind, random, buckets):
    case = draw_case(random, kind, windowed=True, keyed=False)
    same_bag(run_in_buckets(case, buckets), run(case))


@pytest.mark.parametrize("kind", KINDS)
@EXAMPLES
@given(random=TAPES)
def test_results_do_not_depend_on_the_size_of_blocks(tiny_blocks, kind, random):
    case = draw_case(random, kind)
    same_bag(run(case), expected(case))


@pytest.mark.parametrize("kind", sorted(PRESERVED))
@EXAMPLES
@given(random=TAPES)
def test_times_near_the_ends_of_the_scale_do_not_overflow(kind, random):
    case = draw_case(random, kind)
    rows = tuple(
        tuple(Row(row.values, random.choice(END_TICKS)) for row in own) for own in case.rows
    )
    case = replace(case, rows=rows, cuts=(case.cuts[0], *case.cuts[1:]), slack=0)
    answers = [(row.values, row.time) for row in run(case)]
    same_bag(answers, [(row.values, row.time) for row in expected(case)])
