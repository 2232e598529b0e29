"""What every sink that is exactly once keeps to, as tests that its own tests inherit.

    class TestPostgres(SinkContract):
        @pytest.fixture
        def place(self, server):
            return Table(server)          # a SinkPlace

A crash is a sink that is dropped as it stands, and another one in its place.
"""

from __future__ import annotations

import json
import pickle
from typing import Any, ClassVar, Protocol

import pyarrow as pa
import pytest
from contracts.source_contract import COLUMNS, rows

import windrow
from windrow.io import Answer, Json, Sink
from windrow.io.protocol import NO_EPOCH

RUN = "a1b2c3"
OTHER = "d4e5f6"


class SinkPlace(Protocol):
    """Where a sink writes."""

    def sink(self) -> Sink:
        """A sink that writes there, newly made."""

    def visible(self) -> pa.Table:
        """The rows that whoever reads there sees now, in any order.

        Where a commit takes effect a moment after it returned, a place has `settle`, too: it waits for
        that, while nothing is written that is not committed.
        """


def through_json(written: Json) -> Json:
    """What `write` has returned, as it comes from another process."""
    return json.loads(json.dumps(written))


class SinkContract:
    """The laws of a sink. Subclasses give the fixture `place`.

    Attributes:
        columns: of the rows that are written.
    """

    columns: ClassVar[pa.Schema] = COLUMNS

    @property
    def answer(self) -> Answer:
        """What the sink is told."""
        return Answer(self.columns)

    def rows(self, first: int, count: int) -> pa.Table:
        """Rows of the columns."""
        return rows(first, count).select(self.columns.names)

    def seen(self, place: Any, *, is_open: bool = False) -> list[dict[str, Any]]:
        """What is visible, in order of its numbers.

        Args:
            place: where the sink writes.
            is_open: whether something is written there that is not committed.
        """
        if hasattr(place, "settle") and not is_open:
            place.settle()
        found = place.visible().select(self.columns.names).cast(self.columns).to_pylist()
        return sorted(found, key=lambda row: row["id"])

    def opened(self, place: Any, run: str = RUN, committed: int = NO_EPOCH) -> Sink:
        """A sink, opened, which must have so many epochs of the run."""
        sink = place.sink()
        assert sink.open(run, self.answer) == committed
        return sink

    def write(self, sink: Sink, epoch: int, first: int, count: int) -> list[Json]:
        """Writes rows; gives what `commit` is to be told."""
        return [through_json(sink.write(epoch, self.rows(first, count).to_batches()))]

    def test_nothing_is_seen_before_the_commit(self, place: Any) -> None:
        sink = self.opened(place)
        written = self.write(sink, 0, 0, 10)
        assert self.seen(place, is_open=True) == []
        sink.commit(0, written)
        assert self.seen(place) == self.rows(0, 10).to_pylist()

    def test_all_is_seen_when_the_sink_is_closed(self, place: Any) -> None:
        sink = self.opened(place)
        sink.commit(0, self.write(sink, 0, 0, 10))
        sink.close()
        # As whoever reads right behind a run that has ended: nothing is waited for.
        assert self.seen(place, is_open=True) == self.rows(0, 10).to_pylist()

    def test_an_epoch_that_is_committed_twice_is_there_once(self, place: Any) -> None:
        sink = self.opened(place)
        written = self.write(sink, 0, 0, 10)
        sink.commit(0, written)
        sink.commit(0, written)
        assert self.seen(place) == self.rows(0, 10).to_pylist()
        again = self.opened(place, committed=0)
        again.commit(0, written)
        assert self.seen(place) == self.rows(0, 10).to_pylist()

    def test_epochs_grow_and_may_leave_gaps(self, place: Any) -> None:
        sink = self.opened(place)
        for epoch, first in ((0, 0), (3, 5), (4, 10), (17, 15)):
            sink.commit(epoch, self.write(sink, epoch, first, 5))
        assert self.seen(place) == self.rows(0, 20).to_pylist()
        self.opened(place, committed=17)

    def test_an_epoch_that_is_written_again_replaces_what_was_written(self, place: Any) -> None:
        sink = self.opened(place)
        sink.commit(0, self.write(sink, 0, 0, 5))
        self.write(sink, 1, 100, 50)
        written = self.write(sink, 1, 5, 5)
        sink.commit(1, written)
        assert self.seen(place) == self.rows(0, 10).to_pylist()

    def test_what_was_written_and_not_committed_is_gone_after_a_crash(self, place: Any) -> None:
        sink = self.opened(place)
        sink.commit(0, self.write(sink, 0, 0, 5))
        self.write(sink, 1, 100, 50)
        again = self.opened(place, committed=0)
        again.commit(1, self.write(again, 1, 5, 7))
        assert self.seen(place) == self.rows(0, 12).to_pylist()

    @pytest.mark.law
    @pytest.mark.parametrize("crash_after", range(7))
    def test_a_crash_at_any_step_loses_nothing_and_doubles_nothing(
        self, place: Any, crash_after: int
    ) -> None:
        sink, steps, epoch, crashed = self.opened(place), 0, 0, False
        while epoch < 3:
            # After a crash an epoch may be cut otherwise; here it is computed as it was.
            steps += 1
            written = self.write(sink, epoch, epoch * 5, 5)
            if steps == crash_after and not crashed:
                crashed = True
                sink = self.opened(place, committed=epoch - 1)
                continue
            steps += 1
            sink.commit(epoch, written)
            if steps == crash_after and not crashed:
                crashed = True
                sink = self.opened(place, committed=epoch)
            epoch += 1
        assert self.seen(place) == self.rows(0, 15).to_pylist()

    def test_another_run_has_epochs_of_its_own(self, place: Any) -> None:
        sink = self.opened(place)
        sink.commit(7, self.write(sink, 7, 0, 5))
        sink.close()
        other = self.opened(place, run=OTHER)
        other.commit(0, self.write(other, 0, 5, 5))
        other.close()
        assert self.seen(place) == self.rows(0, 10).to_pylist()
        self.opened(place, committed=7).close()
        self.opened(place, run=OTHER, committed=0)

    def test_a_run_without_a_name_begins_anew_each_time(self, place: Any) -> None:
        """A run without a checkpoint has none, and counts its epochs from 0 whenever it is started."""
        for first in (0, 5):
            sink = self.opened(place, run="")
            sink.commit(0, self.write(sink, 0, first, 5))
            sink.close()
        assert self.seen(place) == self.rows(0, 10).to_pylist()

    def test_an_epoch_without_rows_shows_nothing_and_counts(self, place: Any) -> None:
        sink = self.opened(place)
        sink.commit(0, [through_json(sink.write(0, []))])
        assert self.seen(place) == []
        again = self.opened(place, committed=0)
        again.commit(1, [])
        assert self.seen(place) == []
        self.opened(place, committed=1)

    def test_tasks_in_other_processes_write_shares_of_an_epoch(self, place: Any) -> None:
        sink = self.opened(place)
        tasks = [pickle.loads(pickle.dumps(sink)) for _ in range(3)]
        written = [self.write(task, 0, n * 5, 5)[0] for n, task in enumerate(tasks)]
        # One was tried twice: what the broken try has written is not told to `commit`.
        self.write(pickle.loads(pickle.dumps(sink)), 0, 100, 5)
        for task in tasks:
            task.close()
        assert self.seen(place) == []
        sink.commit(0, written)
        assert self.seen(place) == self.rows(0, 15).to_pylist()
        self.opened(place, committed=0)


class OwnedSinkContract(SinkContract):
    """The laws of a sink that knows which process has opened it last."""

    @pytest.mark.law
    @pytest.mark.parametrize("first_of_new", range(3))
    def test_of_two_processes_of_one_run_the_older_stops(
        self, place: Any, first_of_new: int
    ) -> None:
        """A copy of its checkpoint, say: each epoch is there once, whichever step the older is at."""
        older = self.opened(place)
        for epoch in range(first_of_new):
            older.commit(epoch, self.write(older, epoch, epoch * 5, 5))
        written = self.write(older, first_of_new, 100, 50)
        newer = self.opened(place, committed=first_of_new - 1)
        for written_by_older in (written, []):
            with pytest.raises(windrow.ResourceError) as refused:
                older.commit(first_of_new, written_by_older)
            assert refused.value.condition == "run-taken-over"
        newer.commit(first_of_new, self.write(newer, first_of_new, first_of_new * 5, 5))
        with pytest.raises(windrow.ResourceError) as refused:
            # Also of an epoch that is there: it may have been cut otherwise.
            older.commit(first_of_new, written)
        assert refused.value.condition == "run-taken-over"
        later = first_of_new + 1
        newer.commit(later, self.write(newer, later, later * 5, 5))
        assert self.seen(place) == self.rows(0, (later + 1) * 5).to_pylist()
        self.opened(place, committed=later)
