from __future__ import annotations

import itertools
from collections import Counter

import numpy as np
import pyarrow as pa
import pytest
from case_share import share_of
from hypothesis import given, settings
from hypothesis import strategies as st
from sessions import session

from windrow.operators.columns.changes import ChangeBatch
from windrow.operators.engine.base import build
from windrow.operators.engine.row_drivers import ChangelogOutput
from windrow.operators.feeds.net_changes import NetChangesOp, net_changes
from windrow.physical.nodes.scans import ScanStream
from windrow.physical.nodes.set_op import NetChanges
from windrow.schema import Field, Schema

Change = tuple[int, int, str | None]
changes = st.lists(
    st.tuples(st.integers(0, 3), st.sampled_from([1, -1]), st.sampled_from(["a", "b", None])),
    max_size=14,
)


def batch_of(rows: list[Change]) -> ChangeBatch:
    columns = pa.RecordBatch.from_arrays([pa.array([r[2] for r in rows], pa.string())], ["k"])
    times = np.array([r[0] for r in rows], np.int64)
    return ChangeBatch(columns, times, signs=np.array([r[1] for r in rows], np.int8))


def bag_of(batches: list[ChangeBatch]) -> Counter[Change]:
    return Counter(
        row
        for batch in batches
        for row in zip(
            batch.times.tolist(),
            batch.signs_or_insert().tolist(),
            batch.columns.column(0).to_pylist(),
            strict=True,
        )
    )


def net_of(rows: list[Change]) -> Counter[Change]:
    """The plain twin: per instant and row, what is left of inserts minus deletes."""
    totals: Counter[tuple[int, str | None]] = Counter()
    for time, sign, key in rows:
        totals[time, key] += sign
    return Counter(
        {(time, 1 if n > 0 else -1, key): abs(n) for (time, key), n in totals.items() if n}
    )


@pytest.mark.law
@settings(max_examples=share_of(200), deadline=None)
@given(changes)
def test_only_what_is_left_of_inserts_minus_deletes_stays(rows: list[Change]) -> None:
    assert bag_of([net_changes(batch_of(rows))]) == net_of(rows)


@pytest.mark.law
@settings(max_examples=share_of(100), deadline=None)
@given(changes, st.lists(st.integers(0, 14), max_size=4), st.booleans())
def test_the_operator_gives_it_once_an_instant_is_over(
    rows: list[Change], cuts: list[int], stops: bool
) -> None:
    schema = Schema((Field("k", "string"),))
    node = NetChanges(ScanStream("s", "s", ("k",), schema, "t", "bigint", 0))
    operator, found = build(node), []
    assert isinstance(operator, NetChangesOp)
    edges = [0, *sorted(cut for cut in cuts if cut < len(rows)), len(rows)]
    for start, stop in itertools.pairwise(edges):
        if start < stop:
            assert not list(operator.push([batch_of(rows[start:stop])]))
        watermark = min([row[0] for row in rows[stop:]], default=9)
        found += operator.advance(watermark)
        assert operator.due() > watermark
        if stops:
            kept, operator = operator.snapshot(), build(node)
            operator.restore(kept)
    assert bag_of(found) == net_of(rows)
    assert operator.counters.stored == 0
    for batch in found:  # in the order of time, what goes before what comes
        order = list(zip(batch.times.tolist(), batch.signs_or_insert().tolist(), strict=True))
        assert order == sorted(order)


@pytest.mark.law
@settings(max_examples=share_of(200), deadline=None)
@given(changes, st.lists(st.integers(0, 14), max_size=4))
def test_an_instant_may_be_cut_anywhere(rows: list[Change], cuts: list[int]) -> None:
    ordered = sorted(rows, key=lambda row: row[0])
    edges = [0, *sorted(min(cut, len(rows)) for cut in cuts), len(rows)]
    batches = [batch_of(ordered[a:b]) for a, b in itertools.pairwise(edges)]
    output = ChangelogOutput(nets=True, pairs_by=None)
    found = [left for batch in batches for left in output.push(batch)]
    assert bag_of([*found, *output.settle()]) == net_of(rows)


def test_a_group_that_stays_above_its_threshold_does_not_change() -> None:
    """Counts of 3 and 4 look alike where the answer shows the key alone."""
    w = session({"a": {"ts": [0, 0, 0, 1, 2], "k": ["x"] * 5}}, time="ts")
    changes = w.sql("SELECT k FROM a [RANGE 9] GROUP BY k HAVING COUNT(*) > 2").to_arrow()
    assert changes.to_pylist() == [
        {"k": "x", "_change_type": "insert", "_event_time": 0},
        {"k": "x", "_change_type": "delete", "_event_time": 10},
    ]
