"""The sliding aggregate against the twin: any rows, any batches, any order within the promise."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime
from decimal import Decimal

import numpy as np
import pyarrow as pa
import pytest
from case_share import share_of
from cases.changelogs import assert_in_order_and_net, content, shown, through_storage
from hypothesis import given, settings
from hypothesis import strategies as st
from twins.aggregate import NEVER, Asked, Row, answer_at, changelog

from windrow.operators.aggregates import merged_rows as merging
from windrow.operators.aggregates import sliding
from windrow.operators.aggregates.sliding_aggregate import SlidingAggregateOp
from windrow.operators.columns.changes import ChangeBatch
from windrow.physical.nodes.scans import ScanStream
from windrow.physical.nodes.sliding_aggregate import SlidingAggregate
from windrow.plan.exprs import column
from windrow.plan.nodes.window_aggregate import Aggregate
from windrow.schema import MAX_TICK, MIN_TICK, Field, Schema

pytestmark = pytest.mark.law

EXAMPLES = settings(max_examples=share_of(200), deadline=None, derandomize=True)

ARROW = {
    "string": pa.string(),
    "int": pa.int32(),
    "bigint": pa.int64(),
    "double": pa.float64(),
    "float": pa.float32(),
    "decimal(6,2)": pa.decimal128(6, 2),
    "decimal(38,4)": pa.decimal128(38, 4),
    "array<double>": pa.list_(pa.float64()),
    "boolean": pa.bool_(),
    "date": pa.date32(),
    "timestamp": pa.timestamp("us", "UTC"),
    "binary": pa.binary(),
}
PAIRS = {
    f"struct<x:{x},y:{y}>": (x, y)
    for x, y in [
        ("string", "int"),
        ("double", "decimal(38,4)"),
        ("bigint", "double"),
        ("decimal(38,4)", "string"),
        ("boolean", "binary"),
        ("timestamp", "float"),
    ]
}
ARROW |= {kind: pa.struct([("x", ARROW[x]), ("y", ARROW[y])]) for kind, (x, y) in PAIRS.items()}

NUMBERS = {pa.int32(), pa.int64(), pa.float32(), pa.float64()}
DOUBLES = st.one_of(
    st.floats(),
    st.sampled_from([0.1, -0.1, 1e16, -1e16, 1.7e308, -1.7e308, 5e-324, -5e-324, 0.0, -0.0]),
    st.sampled_from([float("nan"), float("inf"), float("-inf")]),
)
VALUES = {
    "string": st.sampled_from(
        [
            "",
            "a",
            "b",
            "a\0",
            "\uffee",
            "\U0001f600",
            "a long text of more than 12",
            "a long text of",
        ]
    ),
    "int": st.sampled_from([-(2**31), -1, 0, 1, 2**31 - 1]),
    "bigint": st.one_of(st.integers(-3, 3), st.integers(-(2**58), 2**58)),
    "double": DOUBLES,
    "float": st.floats(width=32),
    "decimal(6,2)": st.integers(-999_999, 999_999).map(lambda n: Decimal(n).scaleb(-2)),
    "decimal(38,4)": st.integers(-(10**33), 10**33).map(lambda n: Decimal(f"{n}e-4")),
    "array<double>": st.sampled_from([[], [0.0], [-0.0], [float("nan"), 1.0]]),
    "boolean": st.booleans(),
    "date": st.sampled_from([date(1969, 12, 31), date(2026, 1, 1), date(1, 1, 1)]),
    "timestamp": st.sampled_from(
        [datetime(1969, 12, 31, 23, tzinfo=UTC), datetime(2026, 1, 1, 0, 0, 1, tzinfo=UTC)]
    ),
    "binary": st.sampled_from([b"", b"\xff", b"\x00", b"12345678", b"123456789"]),
}
VALUES |= {
    kind: st.fixed_dictionaries({"x": st.one_of(st.none(), VALUES[x]), "y": VALUES[y]})
    for kind, (x, y) in PAIRS.items()
}
KEYS = {
    **{kind: VALUES[kind] for kind in ("string", "int", "array<double>")},
    "double": st.sampled_from([0.0, -0.0, 1.5, float("nan"), float("inf")]),
    "decimal(38,4)": st.sampled_from([Decimal("1.0000"), Decimal("-1.0000")]),
}
OF_NUMBERS = ("sum", "avg", "median", "var_pop", "var_samp", "stddev_pop", "stddev_samp")
OF_ORDERS = ("min", "max")
OF_PAIRS = ("min_by", "max_by")
OF_DISTINCT = ("count", "sum", "avg", "var_samp")


def choices_of(argument, kind):
    """Every aggregate that there is of a column."""
    functions = ["count"]
    if kind in PAIRS:
        functions += OF_PAIRS
    elif kind != "array<double>":
        functions += OF_ORDERS
    if ARROW[kind] in NUMBERS or kind.startswith("decimal"):
        functions += OF_NUMBERS
    distinct = [f for f in functions if f in OF_DISTINCT]
    return [Asked(f, argument, kind) for f in functions] + [
        Asked(f, argument, kind, is_distinct=True) for f in distinct
    ]


@dataclass(frozen=True)
class Case:
    """An aggregate, its rows in arrival order, cut into micro-batches with their watermarks."""

    key_kinds: tuple[str, ...]
    argument_kinds: tuple[str, ...]
    asked: tuple[Asked, ...]
    rows: tuple[Row, ...]
    batches: tuple[tuple[int, int, int], ...]
    """First row, end of rows, watermark after."""

    @property
    def keys(self):
        return tuple(f"k{i}" for i in range(len(self.key_kinds)))

    @property
    def fields(self):
        keys = [(f"k{i}", kind) for i, kind in enumerate(self.key_kinds)]
        return keys + [(f"x{i}", kind) for i, kind in enumerate(self.argument_kinds)]

    def operator(self):
        return SlidingAggregateOp(self.node)

    @property
    def node(self):
        schema = Schema(tuple(Field(name, kind) for name, kind in self.fields))
        scan = ScanStream("s", "s", schema.names, schema, "t", "bigint", 0)
        aggregates = tuple(
            Aggregate(
                each.function,
                None if each.argument is None else column(each.argument, each.type),
                f"a{i}",
                "unused",
                each.is_distinct,
            )
            for i, each in enumerate(self.asked)
        )
        keys = tuple(Field(f"k{i}", kind) for i, kind in enumerate(self.key_kinds))
        shown = Schema(keys + tuple(Field(each.name, each.type) for each in aggregates))
        return SlidingAggregate(scan, self.keys, aggregates, shown)

    def batch(self, rows):
        columns = {n: pa.array([row[n] for row in rows], ARROW[kind]) for n, kind in self.fields}
        columns["other"] = pa.array(["not used"] * len(rows))
        return ChangeBatch(
            pa.RecordBatch.from_pydict(columns),
            np.array([row.time for row in rows], np.int64),
            np.array([row.end for row in rows], np.int64),
            np.array([row.sign for row in rows], np.int8),
        )


def nullable(values):
    return st.one_of(st.none(), values)


@st.composite
def cases(draw):
    key_kinds = tuple(draw(st.lists(st.sampled_from(sorted(KEYS)), max_size=2)))
    argument_kinds = tuple(draw(st.lists(st.sampled_from(sorted(VALUES)), max_size=2)))
    choices = [Asked("count", None)]
    for i, kind in enumerate(argument_kinds):
        choices += choices_of(f"x{i}", kind)
    asked = tuple(draw(st.lists(st.sampled_from(choices), min_size=1, max_size=5)))
    rows = draw(rows_of(key_kinds, argument_kinds))
    return Case(key_kinds, argument_kinds, asked, tuple(rows), draw(cuts(rows)))


@st.composite
def rows_of(draw, key_kinds, argument_kinds):
    rows = []
    # Rows that all live equally long leave in the order in which they came.
    steady = draw(st.one_of(st.none(), st.integers(1, 6)))
    for _ in range(draw(st.integers(0, 14))):
        keys = [(f"k{i}", draw(nullable(KEYS[kind]))) for i, kind in enumerate(key_kinds)]
        arguments = [
            (f"x{i}", draw(nullable(VALUES[kind]))) for i, kind in enumerate(argument_kinds)
        ]
        time = draw(st.integers(-3, 9))
        length = steady or draw(st.one_of(st.none(), st.integers(1, 6)))
        end = NEVER if length is None else time + length
        rows.append(Row((*keys, *arguments), time, end))
        if not steady and draw(st.booleans()):
            taken_back = time + draw(st.integers(0, min(5, end - time - 1)))
            # Until the row would end, or but for a while: what is deleted then comes back.
            until = draw(st.sampled_from([end, taken_back + 1]))
            rows.append(Row((*keys, *arguments), taken_back, until, -1))
    return draw(st.permutations(rows))


@st.composite
def cuts(draw, rows):
    """Batches with watermarks that no later row breaks; the last says that all is over."""
    places = sorted(draw(st.sets(st.integers(0, len(rows)), max_size=4)) | {len(rows)})
    batches, start, watermark = [], 0, MIN_TICK
    for stop in places:
        promise = min((row.time for row in rows[stop:]), default=14)
        watermark = draw(st.integers(max(watermark, -4), max(promise, watermark, -4)))
        watermark = min(watermark, promise)
        batches.append((start, stop, watermark))
        start = stop
    return (*batches, (len(rows), len(rows), MAX_TICK))


def run(case, *, restart):
    """The changes after each micro-batch, and the operator as it was then."""
    operator = case.operator()
    changes = []
    for start, stop, watermark in case.batches:
        rows = case.rows[start:stop]
        assert list(operator.push([case.batch(rows) if rows else None])) == []
        due = operator.due()
        came = shown(operator.advance(watermark))
        assert bool(came) <= (due <= watermark)
        assert operator.due() > watermark or operator.due() == MAX_TICK
        changes += came
        yield watermark, stop, came, changes, operator
        if restart:
            before = operator.snapshot()
            operator = case.operator()
            operator.restore(through_storage(before))
            assert content(operator.snapshot()) == content(before)


def assert_state_is_pending_and_alive(case, watermark, stop, operator):
    arrived = case.rows[:stop]
    pending = [row for row in arrived if row.time >= watermark]
    alive = [row for row in arrived if row.time < watermark <= row.end < NEVER]
    # Rows without an end are held where an aggregate keeps values, and only there.
    lasting = sum(map(len, operator.snapshot().buffers.get("lasting", ())))
    assert lasting <= sum(row.time < watermark and row.end == NEVER for row in arrived)
    assert operator.counters.stored == len(pending) + len(alive) + lasting


@EXAMPLES
@given(cases(), st.booleans())
def test_every_batch_gives_the_changes_below_its_watermark_and_keeps_no_row_longer(case, restart):
    expected = changelog(list(case.rows), case.keys, list(case.asked))
    for watermark, stop, came, changes, operator in run(case, restart=restart):
        assert Counter(changes) == Counter(each for each in expected if each[0] < watermark)
        assert_in_order_and_net(came)
        assert_state_is_pending_and_alive(case, watermark, stop, operator)


@EXAMPLES
@given(cases(), st.sampled_from([1, 2, sliding.SlidingOp.step_rows]))
def test_the_law_of_the_changelog_holds_at_every_instant_whatever_the_steps(case, step_rows):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sliding.SlidingOp, "step_rows", step_rows)
        *_, (_, _, _, changes, operator) = run(case, restart=False)
    for instant in range(-5, 18):
        standing = Counter()
        for time, sign, row in changes:
            if time <= instant:
                standing[row] += sign
        answer = answer_at(list(case.rows), instant, case.keys, list(case.asked))
        assert {row: n for row, n in standing.items() if n} == Counter(
            group + values for group, values in answer.items()
        )
    counters = operator.counters
    assert counters.rows_in == len(case.rows) == counters.drops
    assert counters.rows_out == len(changes)
    assert sum(map(len, operator.snapshot().buffers["groups"])) == sum(c[1] for c in changes)


def tied(rows):
    """The rows with times and ends in steps of three, so that many come and go together."""
    moved = [
        Row(
            row.values,
            row.time // 3 * 3,
            row.end if row.end == NEVER else row.end // 3 * 3,
            row.sign,
        )
        for row in rows
    ]
    return [row for row in moved if row.time < row.end]


@st.composite
def cases_that_merge(draw):
    kinds = ["string", "int", "bigint", "double", "float", "decimal(6,2)", "decimal(38,4)"]
    argument_kinds = tuple(draw(st.lists(st.sampled_from(kinds), max_size=2)))
    choices = [Asked("count", None)]
    ordered = draw(st.sets(st.integers(0, 1)))
    for i, kind in enumerate(argument_kinds):
        adding = () if kind == "string" else ("sum", "avg")
        functions = ("count", *(OF_ORDERS if i in ordered else adding))
        choices += [Asked(function, f"x{i}", kind) for function in functions]
    asked = tuple(draw(st.lists(st.sampled_from(choices), min_size=1, max_size=5)))
    rows = tied(draw(rows_of((), argument_kinds)))
    if any(each.function in OF_ORDERS for each in asked):
        rows = [row for row in rows if row.sign > 0 and row.end < MAX_TICK]
    return Case((), argument_kinds, asked, tuple(rows), draw(cuts(rows)))


@EXAMPLES
@given(cases_that_merge(), st.sampled_from([0, merging.LEAST_MERGED]), st.integers(1, 3))
def test_rows_that_were_merged_before_give_the_same_changes(case, least, tasks):
    expected = changelog(list(case.rows), case.keys, list(case.asked))
    node = replace(case.node, is_merged=True)
    operator, changes = SlidingAggregateOp(node), []
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(merging, "LEAST_MERGED", least)
        for start, stop, watermark in case.batches:
            for task in range(tasks):
                rows = case.rows[start:stop][task::tasks]
                if rows:
                    merged = merging.merged_rows(node, case.batch(rows))
                    assert merged.tuples().sum() == len(rows)
                    list(operator.push([merged]))
            changes += shown(operator.advance(watermark))
            assert Counter(changes) == Counter(each for each in expected if each[0] < watermark)
            before = operator.snapshot()
            operator = SlidingAggregateOp(node)
            operator.restore(through_storage(before))
            assert content(operator.snapshot()) == content(before)
    assert not operator.counters.stored
