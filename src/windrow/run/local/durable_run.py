"""A run in process that survives: it follows its sources, and writes its answer epoch by epoch.

    epoch n    micro-batches until nothing more is there to read and there are rows to show,
               until it has lasted long enough, or until it has many rows

    1  sink.write(n)          rows that nobody sees yet
    2  checkpoint n           offsets, state, and that the sink is to have n; durable
    3  sink.commit(n)         all see them
    4  source.commit(..)      what will not be asked for again

While an epoch is finished, on a thread of its own, the next one is computed, and goes on until its turn
comes: no more than one is ever under way, and they are finished in order.

Killed before 3, the run goes on from the checkpoint before n, and n is computed anew, cut otherwise
perhaps; killed after 3, from checkpoint n. The sink decides: it has n or it has not. An epoch without rows
is not told to the sink. A sink that does not remember its epochs is told first, and the checkpoint made
after: it may get the last epoch a second time.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from concurrent import futures
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass

import pyarrow as pa

from windrow.errors import ResourceError
from windrow.io.protocol import NO_EPOCH, Answer, Aside, Json
from windrow.operators.columns.arrow_types import arrow_schema, arrow_type
from windrow.physical.options import check_needs
from windrow.physical.query import PhysicalQuery, Planner
from windrow.run.course import Course, Patience, ThreadedRun
from windrow.run.local.checkpoint import Checkpoint
from windrow.run.local.checkpoint_store import CheckpointStore, Stored
from windrow.run.local.dead_letters import Letters
from windrow.run.local.execution import Execution
from windrow.run.local.feeds import WallClock, system_clock
from windrow.run.local.followed import FollowedSource, Place
from windrow.run.local.sources import NOTHING_NOW, BatchReader
from windrow.run.progress import Progress, renderer

MOST_ROWS = 1_000_000
"""Rows of the answer, or of the streams, after which an epoch ends: they are held until it does."""


FEW = 4096
"""Rows of a micro-batch that are worth taking in while an epoch is being finished."""

PACE_S = 0.02
"""Where there are fewer: how long they wait at most for the end of that epoch. They cannot be shown before,
and one interpreter computes for both."""


@dataclass(frozen=True)
class Ended:
    """An epoch that has been computed: its rows, where the query stood after it, what was laid aside."""

    epoch: int
    rows: list[pa.RecordBatch]
    checkpoint: Checkpoint
    places: Mapping[str, Place]
    aside: Mapping[str, Sequence[Aside]]
    late: Mapping[str, Sequence[pa.RecordBatch]]


class DurableRun(ThreadedRun):
    """A query whose answer goes to a sink, on a thread of its own.

    Args:
        begin: starts the query, from a checkpoint or from the beginning.
        sources: its streams that are followed, by name.
        course: where the answer goes, and how. An epoch that has rows ends as soon as there is nothing
            more to read.
        answer: what the sink is told of it.
        store: where checkpoints are kept; None: nowhere, and nothing survives.
        patience: what calls everything outside.
        letters: where late rows go, and what is no row; None where they are counted alone.

    Examples:
        >>> run = session.run(
        ...     query, to=windrow.files("out/"), checkpoint="state/"
        ... )  # doctest: +SKIP
        >>> run.wait()  # doctest: +SKIP
    """

    def __init__(
        self,
        begin: Callable[[Checkpoint | None], Execution],
        sources: Mapping[str, FollowedSource],
        course: Course,
        answer: Answer,
        *,
        store: CheckpointStore | None,
        patience: Patience,
        letters: Letters | None = None,
    ) -> None:
        self._sources = sources
        super().__init__(patience.is_stopped)
        self._sink = course.sink
        self._store = store
        self._epoch_s = course.epoch_s
        self._letters = letters
        self._patiently = patience
        self._epoch = self._written = self._confirmed = NO_EPOCH
        self._aside = self._taken = 0  # taken: rows of the last micro-batch
        self._execution = begin(self._found(answer))
        self._thread.start()

    @property
    def progress(self) -> Progress:
        """How far the query has come."""
        return self._execution.progress

    @property
    def epoch(self) -> int:
        """The last epoch that is finished; -1 for none."""
        return self._confirmed

    @property
    def aside(self) -> int:
        """How many things that could not be read as rows were kept aside, by this process."""
        return self._aside

    def stop(self) -> None:
        """Ends the run between two epochs, with what it has read, and waits for it.

        Raises:
            WindrowError: it has failed.
        """
        self._is_stopping.set()
        self._execution.wake()
        self.wait()

    def _found(self, answer: Answer) -> Checkpoint | None:
        """Where to go on; what is wrong with the sink or the checkpoint is said here, to the caller."""
        name = self._store.run if self._store is not None else ""
        committed: int | None = self._patiently(lambda: self._sink.open(name, answer))
        if not self._sink.is_exactly_once:
            committed = None
        stored = self._store.read(committed) if self._store is not None else None
        if self._letters is not None:
            letters, last = self._letters, NO_EPOCH if stored is None else stored.epoch
            self._patiently(lambda: letters.open(last))
        if stored is None:
            for source in self._sources.values():
                source.go_on_from(Place(self._patiently(source.outside.start)), 0)
            return None
        self._epoch = self._confirmed = stored.epoch
        self._written = stored.written
        for stream, place in stored.offsets.items():
            rows = stored.checkpoint.positions[stream].rows
            self._sources[stream].go_on_from(Place.from_json(place), rows)
        return stored.checkpoint

    def _run(self) -> None:
        execution = self._execution
        try:
            with ThreadPoolExecutor(1, "windrow-epochs") as finisher:
                if self._store is not None and self._epoch == NO_EPOCH:
                    # Before anything is written: a first epoch that the sink does not get begins here.
                    self._keep(self._ended([]))
                previous: Future[None] | None = None
                goes_on = True
                while goes_on and not self._is_stopping.is_set():
                    rows, goes_on = self._gathered(previous)
                    self._epoch += 1
                    ended = self._ended(rows)
                    if previous is not None:
                        previous.result()
                    previous = finisher.submit(self._finish, ended)
                    previous.add_done_callback(self._look)
                if previous is not None:
                    previous.result()
        except BaseException as error:  # noqa: BLE001  # it is raised where it is waited for
            self._failure = error
        finally:
            execution.stop()
            for close in (self._sink.close, *([self._store.close] if self._store else [])):
                try:
                    close()
                except Exception as error:  # noqa: BLE001
                    self._failure = self._failure or error

    def _ended(self, rows: list[pa.RecordBatch]) -> Ended:
        """An epoch that has come to its end, with the rest of its last micro-batch."""
        rest, checkpoint = self._execution.settled()
        places, aside = self._places(checkpoint)
        self._aside += sum(map(len, aside.values()))
        rows = [own for own in (*rows, *rest) if own.num_rows]
        return Ended(self._epoch, rows, checkpoint, places, aside, self._execution.take_late())

    def _gathered(self, previous: Future[None] | None) -> tuple[list[pa.RecordBatch], bool]:
        """The rows of an epoch but for the last ones, and whether the query goes on.

        Args:
            previous: the epoch before, which is being finished.
        """
        execution = self._execution
        rows: list[pa.RecordBatch] = []
        out, before, until = 0, execution.progress.rows_in, None
        turns = execution.progress.batch
        while not self._is_stopping.is_set():
            is_next = previous is None or previous.done()
            if previous is not None and not is_next and self._taken < FEW:
                futures.wait([previous], PACE_S)
                is_next = previous.done()
            if not is_next:
                turns = execution.progress.batch
            is_dry = self._is_dry()  # asked first: what has come since is still to be taken
            known = execution.progress.rows_in
            batch = execution.next_now()
            if batch is NOTHING_NOW or execution.progress.rows_in > known:
                self._taken = execution.progress.rows_in - known
            if batch is None:
                return rows, False
            now = time.monotonic()
            if until is None and (batch is not NOTHING_NOW or execution.progress.rows_in > before):
                until = now + self._epoch_s
            if isinstance(batch, pa.RecordBatch):
                rows.append(batch)
                out += batch.num_rows
            elif is_dry or (rows and is_next):
                return rows, bool(rows)
            elif is_next:
                left = None if until is None else until - now
                if left is None or left > 0:
                    self._wait(left)
            # Its time may have been up long ago: then once more what has come, of each stream.
            has_swept = is_next and execution.progress.batch - turns >= len(self._sources)
            is_over = has_swept and until is not None and now >= until
            if is_over or max(out, execution.progress.rows_in - before) >= MOST_ROWS:
                return rows, True
        return rows, False

    def _wait(self, seconds: float | None) -> None:
        """Waits for rows, so long at most, or for sources that have nothing more to give.

        Readers ring when they find nothing, and may find that after this thread has looked.
        """
        self._execution.wait(lambda: self._is_stopping.is_set() or self._is_dry(), seconds)

    def _is_dry(self) -> bool:
        """Whether all sources have given what there was, and are to end there."""
        return bool(self._sources) and all(own.is_dry for own in self._sources.values())

    def _look(self, finished: Future[None]) -> None:
        """An epoch that has failed ends the run, also where no rows come that would end another one."""
        if finished.exception() is not None:
            self._is_stopping.set()
            self._execution.wake()

    def _finish(self, ended: Ended) -> None:
        epoch, rows, sink = ended.epoch, ended.rows, self._sink
        written: list[Json] = []
        if rows:
            written.append(self._patiently(lambda: sink.write(epoch, rows)))
            self._written = epoch
        if rows and not sink.is_exactly_once:
            self._patiently(lambda: sink.commit(epoch, written))
        self._keep(ended)
        if rows and sink.is_exactly_once:
            self._patiently(lambda: sink.commit(epoch, written))
        self._confirmed = epoch
        for stream, place in ended.places.items():
            outside = self._sources[stream].outside
            self._patiently(lambda: outside.commit(place.taken))  # noqa: B023

    def _keep(self, ended: Ended) -> None:
        """Keeps where the query stood, and what it has laid aside, durably."""
        if self._letters is not None:
            letters = self._letters
            self._patiently(lambda: letters.write(ended.epoch, ended.late, ended.aside))
        if self._store is not None:
            store = self._store
            offsets = {stream: place.to_json() for stream, place in ended.places.items()}
            stored = Stored(ended.epoch, self._written, offsets, ended.checkpoint)
            self._patiently(lambda: store.write(stored, self._confirmed))

    def _places(self, checkpoint: Checkpoint) -> tuple[dict[str, Place], dict[str, list[Aside]]]:
        """How far each followed stream was taken, and what was aside in it since the last checkpoint."""
        places, aside = {}, {}
        for stream, source in self._sources.items():
            position = checkpoint.positions[stream]
            places[stream], aside[stream] = source.place(
                position.rows, is_within=position.whole > 0
            )
        return places, aside


def start(
    query: PhysicalQuery,
    data: Mapping[str, BatchReader],
    course: Course,
    planner: Planner,
    *,
    progress: str,
    clock: WallClock | None,
) -> DurableRun:
    """Starts a query in process whose answer goes to a sink.

    Raises:
        WindrowError: it cannot be started: the sink, the checkpoint or a stream does not fit.
    """
    shown = renderer(progress)
    patience = Patience(course.patience_s, shown.warn)
    streams = {scan.stream for scan in query.root.scans}
    followed = {
        name: own.anew(
            patiently=patience, until_done=course.until_done, ends=course.checkpoint is None
        )
        for name, own in data.items()
        if name in streams and isinstance(own, FollowedSource)
    }
    store = None
    if course.checkpoint is not None:
        for name in streams - set(followed):
            if not data[name].is_bounded:
                raise not_replayable(name)
    check_needs(query.options)
    if course.checkpoint is not None:
        store = CheckpointStore(course.checkpoint)

    def begin(resume: Checkpoint | None) -> Execution:
        return Execution(
            query,
            {**data, **followed},
            resume=resume,
            renderer=shown,
            arrival_clock=clock or system_clock,
            planner=planner,
        )

    answer = Answer(
        arrow_schema(query.root.schema), query.is_changelog, query.keys, arrow_type(query.time_type)
    )
    try:
        letters = None
        if query.options.dead_letters is not None:
            letters = Letters(query.options.dead_letters, "" if store is None else store.run)
        return DurableRun(
            begin,
            followed,
            course,
            answer,
            store=store,
            patience=patience,
            letters=letters,
        )
    except BaseException:
        if store is not None:
            store.close()
        raise


def not_replayable(stream: str) -> ResourceError:
    """The error of a stream that cannot be read again after a restart."""
    return ResourceError(
        "not-replayable",
        f"{stream} cannot be read from where a checkpoint was made",
        reason="an iterator is read once, and what it has given is gone with the process",
        hint="give a source that can be read again: windrow.files(..), windrow.kafka(..), or a table;"
        " or leave checkpoint out",
    )
