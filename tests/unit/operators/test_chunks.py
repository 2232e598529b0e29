from __future__ import annotations

import pickle

import numpy as np
import pyarrow as pa
import pytest
from case_share import share_of
from cases.tape import TAPES
from hypothesis import given, settings
from hypothesis import strategies as st

from windrow.operators.columns.changes import ChangeBatch, concat
from windrow.operators.columns.chunks import FANOUT, ChunkBuffer, decode, encode
from windrow.schema import MAX_TICK

TICKS = st.integers(-40, 40)


def batch_of(rows: list[tuple[int, int]]) -> ChangeBatch:
    """Rows of (time, end), numbered by a column that tells them apart."""
    times = np.array([time for time, _ in rows], np.int64)
    ends = np.array([end for _, end in rows], np.int64)
    numbers = pa.array(range(len(rows)), pa.int64())
    texts = pa.array([f"row {n}" if n % 3 else None for n in range(len(rows))], pa.string())
    columns = pa.RecordBatch.from_arrays([numbers, texts], names=["n", "text"])
    return ChangeBatch(columns, times, ends)


def keys_of(buffer: ChunkBuffer) -> list[int]:
    return sorted(
        int(key)
        for part in buffer.slices
        for key in (part.rows().times if buffer.order == "time" else part.rows().ends_or_never())
    )


pushes = st.lists(st.lists(st.tuples(TICKS, TICKS), max_size=12), max_size=12)


@pytest.mark.law
@settings(max_examples=share_of(200), deadline=None)
@given(pushes, st.lists(TICKS, max_size=12), st.sampled_from(["time", "end"]))
def test_a_buffer_holds_what_a_plain_list_would_hold(
    pushed: list[list[tuple[int, int]]], bounds: list[int], order: str
) -> None:
    buffer, plain = ChunkBuffer(order), []
    position = 0 if order == "time" else 1
    for turn, rows in enumerate(pushed):
        buffer.append(batch_of(rows))
        plain += [row[position] for row in rows]
        if turn < len(bounds):
            gone = [key for key in plain if key < bounds[turn]]
            popped = buffer.pop_below(bounds[turn]) if turn % 2 else None
            dropped = buffer.drop_below(bounds[turn]) if not turn % 2 else len(gone)
            plain = [key for key in plain if key >= bounds[turn]]
            assert dropped == len(gone)
            if popped is not None:
                keys = popped.times if order == "time" else popped.ends
                assert list(keys) == sorted(gone)
        assert keys_of(buffer) == sorted(plain)
        assert buffer.rows == len(plain)
        assert buffer.first == min(plain, default=MAX_TICK)


@pytest.mark.law
@settings(max_examples=share_of(100), deadline=None)
@given(pushes, TAPES)
def test_rows_dropped_from_anywhere_are_those_that_a_plain_list_would_lose(pushed, dice) -> None:
    buffer, plain = ChunkBuffer(), []
    for turn, rows in enumerate(pushed):
        buffer.append(batch_of(rows))
        plain = sorted([*plain, *(time for time, _ in rows)])
        dropped = []
        for part in buffer.slices:
            alive = np.arange(part.skip, len(part.chunk))
            alive = alive[~part.is_gone(alive)]
            dropped.append(np.array([row for row in alive if dice.random() < 0.3], np.int64))
            for row in dropped[-1]:
                plain.remove(int(part.chunk.keys[row]))
        assert buffer.drop(dropped) == sum(map(len, dropped))
        if turn % 3 == 2:
            bound = dice.randint(-40, 40)
            gone = sum(key < bound for key in plain)
            plain = [key for key in plain if key >= bound]
            popped = buffer.pop_below(bound) if turn % 2 else None
            assert buffer.drop_below(bound) == (gone if popped is None else 0)
            assert popped is None or len(popped) == gone
        assert keys_of(buffer) == plain
        assert buffer.rows == len(plain)
        assert buffer.first == min(plain, default=MAX_TICK)
        assert all(2 * len(part) >= len(part.chunk) for part in buffer.slices)


def test_a_chunk_that_loses_a_few_rows_stays_as_it_is() -> None:
    buffer = ChunkBuffer()
    buffer.append(batch_of([(time, MAX_TICK) for time in range(20)]))
    chunk = buffer.slices[0].chunk
    assert buffer.drop([np.array([3, 8, 17])]) == 3
    assert buffer.slices[0].chunk is chunk
    assert keys_of(buffer) == [n for n in range(20) if n not in {3, 8, 17}]
    assert buffer.drop_below(5) == 4
    assert buffer.slices[0].chunk is chunk
    assert buffer.rows == 13
    assert len(pickle.loads(pickle.dumps(buffer.slices[0])).rows()) == 13


def test_one_row_at_a_time_leaves_few_chunks() -> None:
    buffer = ChunkBuffer()
    for time in range(3_000):
        buffer.append(batch_of([(time, MAX_TICK)]))
    tiers = 6  # 4 ** 6 > 3,000
    assert len(buffer.slices) <= FANOUT * tiers
    assert buffer.rows == 3_000


def test_a_chunk_is_rewritten_only_when_more_than_half_of_it_is_dead() -> None:
    buffer = ChunkBuffer()
    buffer.append(batch_of([(time, MAX_TICK) for time in range(10)]))
    chunk = buffer.slices[0].chunk
    buffer.drop_below(5)
    assert buffer.slices[0].chunk is chunk
    assert buffer.slices[0].skip == 5
    buffer.drop_below(6)
    assert len(buffer.slices[0].chunk) == 4
    assert buffer.slices[0].skip == 0


def test_equal_rows_give_chunks_of_equal_names() -> None:
    left, right = ChunkBuffer(), ChunkBuffer()
    left.append(batch_of([(3, 9), (1, 9)]))
    right.append(batch_of([(3, 9), (1, 9)]))
    assert left.slices[0].chunk.id == right.slices[0].chunk.id
    right.append(batch_of([(3, 8)]))
    assert left.slices[0].chunk.id != right.slices[1].chunk.id


@pytest.mark.parametrize("with_signs", [True, False])
def test_encoded_rows_come_back_unchanged(with_signs: bool) -> None:
    batch = batch_of([(1, 5), (2, MAX_TICK), (7, 8)])
    if with_signs:
        batch = ChangeBatch(batch.columns, batch.times, batch.ends, np.array([1, -1, 1], np.int8))
    back = decode(encode(batch))
    assert back.columns.equals(batch.columns)
    assert list(back.times) == list(batch.times)
    assert list(back.ends_or_never()) == list(batch.ends_or_never())
    assert list(back.signs_or_insert()) == list(batch.signs_or_insert())


def test_rows_without_columns_keep_their_number() -> None:
    none = pa.RecordBatch.from_arrays([], schema=pa.schema([]))
    batch = ChangeBatch(none, np.array([4, 2], np.int64))
    both = concat([batch, batch])
    assert len(both) == 4
    assert len(both.take(np.array([0, 3]))) == 2
    assert list(decode(encode(batch)).times) == [4, 2]
