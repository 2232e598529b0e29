"""Sources and sinks as Spark's Python processes call them, without Spark."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from extension.counting import Listed, Numbers
from extension.folder import Folder, epochs, shown
from extension.growing import Growing
from hypothesis import given, settings
from hypothesis import strategies as st
from pyspark.sql.streaming.datasource import ReadAllAvailable, ReadMaxRows
from pyspark.sql.types import StructType

from windrow.errors import ResourceError
from windrow.io import Answer, Json
from windrow.io.protocol import Unavailable
from windrow.run.spark import outside_sink
from windrow.run.spark.outside_sink import HeldRows, Share, SinkWriter, Writing
from windrow.run.spark.outside_source import (
    FollowedRows,
    OffsetRange,
    Reading,
    as_option,
    from_option,
    ranges,
)

COLUMNS = pa.schema([("n", pa.int64())])


def rows(*numbers: int) -> pa.RecordBatch:
    return pa.RecordBatch.from_pylist([{"n": n} for n in numbers], schema=COLUMNS)


class Wavering(Numbers):
    """Goes away at some of the rows, once at each."""

    def __init__(self, until: int, sizes: list[int], breaks: set[int]) -> None:
        super().__init__(until)
        self._sizes = sizes
        self._breaks = set(breaks)

    def read(self, partition: str, start: Json | None, end: Json) -> Iterator[pa.RecordBatch]:
        (whole,) = super().read(partition, start, end)
        at = turn = 0
        while at < len(whole):
            if at in self._breaks:
                self._breaks.remove(at)
                raise Unavailable("away", "it is away", reason="it is", hint="wait")
            size = self._sizes[turn % len(self._sizes)]
            yield whole.slice(at, size)
            at, turn = at + size, turn + 1


@pytest.mark.law
@settings(deadline=None)
@given(st.integers(0, 12), st.lists(st.integers(1, 4), min_size=1), st.sets(st.integers(0, 12)))
def test_a_range_of_a_source_that_goes_away_is_read_once(until, sizes, breaks):
    source = Wavering(until, sizes, breaks)
    reading = without_pauses(Reading(source, "s"))
    found = [
        n for batch in reading.batches(OffsetRange("all", 0, until)) for n in batch["n"].to_pylist()
    ]
    assert found == list(range(until))


def without_pauses(reading: Reading) -> Reading:
    def at_once(call: Any) -> Any:
        while True:
            try:
                return call()
            except Unavailable:
                continue

    object.__setattr__(reading, "patiently", at_once)
    return reading


def test_offsets_make_a_range_for_each_partition_that_has_rows():
    found = ranges(Wavering(9, [1], set()), {"a": 3, "b": 5}, {"a": 3, "b": 9, "c": 1})
    assert found == [OffsetRange("b", 5, 9), OffsetRange("c", None, 1)]


def test_a_reader_follows_its_source_within_limits_and_ends_where_it_is_dry(tmp_path: Path):
    (tmp_path / "arrived").write_text("10")
    reader = FollowedRows(Reading(Growing(tmp_path / "arrived", step=100), "s"), StructType())
    assert reader.initialOffset() == {"0": 0, "1": 0}
    assert reader.latestOffset({"0": 0, "1": 0}, ReadMaxRows(4)) == {"0": 2, "1": 2}
    assert reader.latestOffset({"0": 0, "1": 0}, ReadAllAvailable()) == {"0": 5, "1": 5}
    end = {"1": 5, "0": 5}
    assert list(reader.latestOffset(end, ReadAllAvailable())) == ["1", "0"]  # as Spark has it
    (tmp_path / "arrived").write_text("12")
    assert reader.latestOffset(end, ReadAllAvailable()) == {"0": 6, "1": 6}
    reader.prepareForTriggerAvailableNow()
    end = {"0": 6, "1": 6}
    assert reader.latestOffset(end, ReadAllAvailable()) == end
    (tmp_path / "arrived").write_text("14")
    assert reader.latestOffset(end, ReadAllAvailable()) == end  # it was dry


def writing(sink: Listed, committed: int = -1, patience_s: float = 60) -> Writing:
    return Writing(sink, COLUMNS, committed, patience_s, "state")


def test_an_epoch_that_the_sink_has_is_computed_and_passed_over():
    sink, computed = Listed(), []

    def batches() -> Iterator[pa.RecordBatch]:
        for n in range(3):
            computed.append(n)
            yield rows(n)

    again = writing(sink, committed=4)
    assert again.write(4, batches()) == []
    assert computed == [0, 1, 2]
    again.commit(4, [])
    assert sink.rows == []
    again.commit(5, again.write(5, [rows(), rows(7, 8)]))
    assert [row["n"] for row in sink.rows] == [7, 8]
    assert sink.last == 5


def test_an_epoch_without_rows_is_not_told_to_the_sink():
    sink = Listed()
    own = writing(sink)
    own.commit(0, own.write(0, [rows()]))
    assert sink.last == -1


def test_a_sink_that_has_more_than_its_checkpoint_is_refused():
    with pytest.raises(ResourceError) as refused:
        writing(Listed(), committed=7).write(5, [rows(1)])
    assert str(refused.value) == (
        "ResourceError[sink-of-another-time]: the sink has the epochs of this run up to 7, and the"
        " checkpoint in 'state' goes on with 5\n"
        "  one of the two was restored, emptied, or belongs to something else; going on would lose or repeat rows of the answer\n"
        "  hint: restore the other one as well, or begin anew with an empty checkpoint and sink"
    )


class Away(Listed):
    """Is away the first time that it is written to, after some batches."""

    def __init__(self, after: int) -> None:
        super().__init__()
        self._after = after

    def write(self, epoch: int, batches: Any) -> Json:
        taken = []
        for number, batch in enumerate(batches):
            taken.append(batch)
            if number == self._after:
                self._after = -1
                raise Unavailable("away", "it is away", reason="it is", hint="wait")
        return super().write(epoch, taken)


def test_a_share_is_written_again_to_a_sink_that_was_away():
    sink = Away(1)
    own = writing(sink)
    own.commit(0, own.write(0, iter([rows(1), rows(2, 3), rows(4)])))
    assert [row["n"] for row in sink.rows] == [1, 2, 3, 4]


def test_a_share_that_is_too_large_to_hold_fails_with_what_is_away(monkeypatch: Any):
    monkeypatch.setattr(outside_sink, "HELD_BYTES", 10)
    with pytest.raises(ResourceError, match=r"^ResourceError\[away\]: it is away"):
        writing(Away(1)).write(0, iter([rows(1), rows(2, 3), rows(4)]))
    held = HeldRows(iter([rows(1), rows(2)]))
    assert [batch["n"][0].as_py() for batch in held] == [1, 2]
    assert not held.is_whole


def test_the_driver_commits_what_tasks_tell(tmp_path: Path):
    sink = Folder(tmp_path / "out")
    own = writing(sink, committed=sink.open("run", Answer(COLUMNS)))
    shares = [Share(own.write(3, [rows(n)])) for n in range(2)]
    own.write(3, [rows(100)])  # of a task that was tried twice: nobody tells of it
    writer = SinkWriter(as_option(own))
    for _ in range(2):
        writer.commit([*shares, None], 3)
    assert sorted(shown(tmp_path / "out")["n"].to_pylist()) == [0, 1]
    assert epochs(tmp_path / "out") == [3]
    assert from_option(as_option(own)).committed == -1
