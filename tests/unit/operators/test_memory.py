"""What a query says when it holds more than it may."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

from windrow.errors import DataError
from windrow.operators.columns.changes import ChangeBatch
from windrow.operators.columns.chunks import ChunkBuffer
from windrow.operators.engine.base import Operator
from windrow.operators.engine.memory import Memory, memory_of, memory_of_bucket
from windrow.physical.options import Options


class Holder(Operator):
    """Holds a thousand rows, of 16 bytes each."""

    def __init__(self) -> None:
        super().__init__()
        self._buffer = ChunkBuffer()
        times = np.arange(1_000)
        self._buffer.append(ChangeBatch(pa.record_batch({"v": pa.array(times)}), times))
        self.counters.state_bytes = self._buffer.nbytes

    def buffers(self):
        return [self._buffer]

    def push(self, batches):
        raise NotImplementedError

    def advance(self, watermark):
        raise NotImplementedError

    due = snapshot = restore = advance


def watching(memory: Memory | None) -> Memory:
    assert memory is not None
    memory.watch("WJoin a, b", Holder())
    return memory


def refusal(memory: Memory | None) -> str:
    with pytest.raises(DataError) as caught:
        watching(memory).settle()
    return str(caught.value)


def test_a_query_in_one_process_names_the_stage_that_holds_most():
    assert refusal(memory_of(Options(memory="10 kB"))) == (
        "DataError[memory-exceeded]: the query holds 16.0 kB of state, more than its memory of"
        " 10.0 kB\n"
        "  most of it in WJoin a, b: 16.0 kB\n"
        "  hint: raise memory, narrow the windows, or set on_memory to 'spill' to keep old tuples"
        " on disk; a window join may 'shed' some of them instead"
    )


def test_on_spark_the_bucket_that_holds_too_much_is_named():
    assert refusal(memory_of_bucket(Options(memory="40 kB"), buckets=4, bucket=2)) == (
        "DataError[memory-exceeded]: bucket 2 of WJoin a, b holds 16.0 kB of state, more than its"
        " part of the memory, 10.0 kB\n"
        "  the query's 40.0 kB are divided among its 4 buckets\n"
        "  hint: raise memory, narrow the windows, or set on_memory to 'spill' to keep old tuples"
        " on disk; a window join may 'shed' some of them instead"
    )


def test_what_is_spilled_is_held_no_more():
    memory = watching(memory_of_bucket(Options(memory=40_000, on_memory="spill"), 4, 0))
    assert memory.held == 16_000
    memory.settle()
    assert memory.held == 0
    assert memory.spilled_chunks == 1


def test_operators_are_told_of_the_memory_that_they_share():
    class Told(Holder):
        def keep_within(self, memory):
            self.memory = memory

        def tuples_beside(self):
            return 7

    memory = Memory(1_000, may_spill=True, is_tuples=True)
    first, second = Told(), Told()
    memory.watch("BestmatchJoin", first)
    assert memory.share == 1_000
    memory.watch("BestmatchJoin", second)
    assert (first.memory, second.memory, memory.share) == (memory, memory, 500)
    first.counters.stored = 300
    assert memory.held == 300 + 7 + 7
