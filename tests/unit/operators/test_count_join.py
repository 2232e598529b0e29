"""The count-window join operator: single steps, drawn in time."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

from windrow.errors import InternalError
from windrow.operators.columns.changes import ChangeBatch
from windrow.operators.engine.base import Snapshot, build
from windrow.operators.joins.count_join import CountJoinOp
from windrow.physical.nodes.base import KeyClass
from windrow.physical.nodes.count_join import CountJoin
from windrow.physical.nodes.scans import ScanStream
from windrow.plan.windows import CountWindows, OwnWindow, WindowGraph
from windrow.schema import MAX_TICK, MIN_TICK, Field, Schema


def join(*own: OwnWindow, within: int | None = None, null_safe: bool = False) -> CountJoin:
    """A join of streams a, b, .. on their column k that keeps each one's v."""
    names = tuple("abc"[: len(own)])
    schemas = [Schema((Field(f"{n}.v", "bigint"), Field(f"{n}.k", "bigint"))) for n in names]
    scans = tuple(
        ScanStream(n, n, schema.names, schema, "ts", "bigint", 0)
        for n, schema in zip(names, schemas, strict=True)
    )
    key = KeyClass(tuple(f"{n}.k" for n in names), "bigint", null_safe)
    return CountJoin(
        scans, names, (key,), WindowGraph(names, ()), tuple((f"{n}.v",) for n in names), "hash",
        Schema(tuple(Field(f"{n}.v", "bigint") for n in names)), counts=CountWindows(own, within),
    )  # fmt: skip


def rows(name: str, *times: int, keys=None, values=None, signs=None) -> ChangeBatch:
    """Rows at some times; v is the time, k is 1, unless said otherwise."""
    columns = {
        f"{name}.v": pa.array(times if values is None else values, pa.int64()),
        f"{name}.k": pa.array([1] * len(times) if keys is None else keys, pa.int64()),
    }
    signs = None if signs is None else np.array(signs, np.int8)
    return ChangeBatch(pa.record_batch(columns), np.array(times, np.int64), None, signs)


def pushed(operator: CountJoinOp, watermark: int, *batches: ChangeBatch | None) -> list[tuple]:
    assert list(operator.push(batches)) == []
    found = []
    for result in operator.advance(watermark):
        columns = [column.to_pylist() for column in result.columns.columns]
        found += zip(*columns, result.times.tolist(), strict=True)
    return sorted(found)


def test_a_tuple_meets_the_newest_of_the_others_as_it_enters():
    # 0    10   14   17   20        a [ROWS 1], b [ROWS 1]
    # |----|----|----|----|
    #      a10  a14  a17            a10 left as a14 entered, before b14: a is first in FROM
    #           b14                 b14 meets a14; a17 meets b14
    operator = CountJoinOp(join(OwnWindow(1), OwnWindow(1)))
    found = pushed(operator, 20, rows("a", 17, 10, 14), rows("b", 14))
    assert found == [(14, 14, 14), (17, 14, 17)]


def test_at_one_time_the_first_in_from_enters_first():
    # all at 5:  a1 a2 b1 b2 in this order; with [ROWS 1] on both, b1 and b2 meet a2 alone
    operator = CountJoinOp(join(OwnWindow(1), OwnWindow(1)))
    found = pushed(operator, 6, rows("a", 5, 5, values=[2, 1]), rows("b", 5, 5, values=[2, 1]))
    assert found == [(2, 1, 5), (2, 2, 5)]


def test_nothing_comes_before_the_watermark_has_passed():
    operator = CountJoinOp(join(OwnWindow(1), OwnWindow(1)))
    assert pushed(operator, 5, rows("a", 5), rows("b", 5)) == []
    assert operator.due() == 6
    assert pushed(operator, 6, None, None) == [(5, 5, 5)]
    assert operator.due() == MAX_TICK


def test_a_window_of_time_beside_one_that_counts():
    # a [ROWS 1], b [RANGE 3]:  b4 is alive until 7, for a7 and not for a8
    operator = CountJoinOp(join(OwnWindow(1), OwnWindow(ticks=3)))
    assert pushed(operator, 8, rows("a", 7, 8), rows("b", 4)) == [(7, 4, 7)]
    assert operator.counters.stored == 2  # a7, and a8 that waits; b4 is gone
    assert pushed(operator, 9, None, rows("b", 8)) == [(8, 8, 8)]


def test_each_key_has_its_newest():
    window = OwnWindow(1, ("a.k",))
    operator = CountJoinOp(join(window, OwnWindow(ticks=9)))
    a = rows("a", 1, 2, 3, keys=[1, 2, 1])
    assert pushed(operator, 9, a, rows("b", 4, 5, keys=[1, 2])) == [(2, 5, 5), (3, 4, 4)]
    assert operator.counters.stored == 4


def test_a_batch_rewrites_no_chunk_of_the_window_that_loses_a_few_rows():
    # a [PARTITION BY k ROWS 1] with 10,000 keys: each batch replaces the tuples of 20 of them.
    keys = 10_000
    operator = CountJoinOp(join(OwnWindow(1, ("a.k",)), OwnWindow(1)))
    pushed(operator, 1, rows("a", *([0] * keys), keys=range(keys)), None)
    (whole,) = operator.snapshot().buffers["0"]
    for number in range(1, 100):
        new = range(20 * number, 20 * number + 20)
        found = pushed(
            operator, number + 1, rows("a", *([number] * 20), keys=new, values=new),
            rows("b", number, keys=[20 * number + 3]),
        )  # fmt: skip
        assert found == [(20 * number + 3, number, number)]
        first, *newer = operator.snapshot().buffers["0"]
        assert first.chunk is whole.chunk
        assert sum(len(part.chunk) for part in newer) == 20 * number
        assert operator.counters.stored == keys + 1
    assert operator.counters.comparisons < 10 * 99  # of a bucket, not of the window


def test_numbers_of_all_streams_together():
    # a1 b2 b3 b4: numbers 0 1 2 3; within 2, b2 and b3 meet a1
    operator = CountJoinOp(join(OwnWindow(), OwnWindow(), within=2))
    assert pushed(operator, 9, rows("a", 1), rows("b", 2, 3, 4)) == [(1, 2, 2), (1, 3, 3)]
    assert operator.counters.stored == 2


@pytest.mark.parametrize(("null_safe", "found"), [(False, []), (True, [(2, 3, 3)])])
def test_a_null_key_takes_its_place_and_matches_nothing(null_safe, found):
    operator = CountJoinOp(join(OwnWindow(1), OwnWindow(1), null_safe=null_safe))
    a, b = rows("a", 1, 2, keys=[1, None]), rows("b", 3, 4, keys=[None, 1])
    assert pushed(operator, 9, a, b) == found


def test_rows_without_a_time_take_no_place():
    operator = CountJoinOp(join(OwnWindow(1), OwnWindow(1)))
    assert pushed(operator, 9, rows("a", 1, MIN_TICK), rows("b", 3)) == [(1, 3, 3)]


def test_three_streams_meet_as_the_last_tuple_enters():
    # a [ROWS 1], b [ROWS 1], c [ROWS 1]:  a1 b2 a3 c4: a3 has pushed a1 out
    operator = CountJoinOp(join(OwnWindow(1), OwnWindow(1), OwnWindow(1)))
    found = pushed(operator, 9, rows("a", 1, 3), rows("b", 2), rows("c", 4))
    assert found == [(3, 2, 4, 4)]


def test_the_end_of_the_streams_gives_the_rest_and_keeps_nothing():
    operator = CountJoinOp(join(OwnWindow(5), OwnWindow(5, ("b.k",))))
    assert pushed(operator, MIN_TICK, rows("a", 1), rows("b", 2)) == []
    assert pushed(operator, MAX_TICK, None, None) == [(1, 2, 2)]
    assert operator.counters.stored == operator.counters.state_bytes == 0
    assert operator.counters.drops == 2


def test_waiting_rows_keep_all_columns_and_numbered_ones_those_that_are_needed():
    node = join(OwnWindow(1), OwnWindow(1))
    node = CountJoin(
        node.inputs, node.aliases, (), node.graph, ((), ()), "nested-loop", Schema(()),
        counts=node.counts,
    )  # fmt: skip
    operator = CountJoinOp(node)
    assert pushed(operator, 2, rows("a", 1, 3), rows("b", 9)) == []
    kept = operator.snapshot().buffers
    assert kept["waiting 0"][0].chunk.batch.columns.schema.names == ["a.v", "a.k"]
    assert kept["0"][0].chunk.batch.columns.schema.names == []
    assert len(next(iter(operator.advance(10)))) == 1


def test_a_spec_with_count_windows_builds_this_operator():
    assert isinstance(build(join(OwnWindow(1), OwnWindow(1))), CountJoinOp)


def test_rows_that_are_taken_back_are_refused():
    operator = CountJoinOp(join(OwnWindow(1), OwnWindow(1)))
    with pytest.raises(InternalError, match="takes a row back"):
        list(operator.push([rows("a", 1, signs=[-1]), None]))


def test_the_state_of_another_operator_is_refused():
    operator = CountJoinOp(join(OwnWindow(1), OwnWindow(1)))
    with pytest.raises(InternalError, match="the state of a window-join"):
        operator.restore(Snapshot("window-join", {}))
