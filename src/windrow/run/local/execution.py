"""The loop: poll the streams, push the batch of one, advance, until all end or someone stops it.

One thread at a time works on a query; it waits for streams without keeping others from asking for
a checkpoint. `stop` may come from any thread, at any moment: it ends the waiting, and whoever is the last
to work on the query puts its things away. Interrupts come between two steps (`inlets.py`).
"""

from __future__ import annotations

import threading
import time
import weakref
from collections import defaultdict, deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cached_property, partial
from typing import Any, NoReturn

import pyarrow as pa

from windrow.errors import PlanError, ResourceError, WindrowError
from windrow.operators.columns.arrow_types import ticks_of
from windrow.operators.columns.changes import ChangeBatch
from windrow.operators.engine.base import Counters
from windrow.operators.engine.driver import MicroBatch, Setting
from windrow.operators.engine.late_rule import late_rows
from windrow.operators.engine.memory import memory_of
from windrow.operators.engine.row_drivers import ChangelogOutput
from windrow.operators.engine.scheduler import SCHEDULINGS, Scheduler, driver_of
from windrow.operators.engine.team import Team
from windrow.physical.nodes.base import PhysicalNode
from windrow.physical.query import PhysicalQuery, Planner
from windrow.run.answer_rows import answer_schema, shown
from windrow.run.late_rows import Arrived, StreamCounts
from windrow.run.local.checkpoint import Checkpoint, columns_read, operators_of
from windrow.run.local.feeds import ArrivalClock, WallClock, open_feeds, system_clock
from windrow.run.local.inlets import PAUSED, Bell, Pause, broken_off, put_off, rows_at_once
from windrow.run.local.sources import NOTHING_NOW, BatchReader, Silence
from windrow.run.local.stream_statistics import Adapting, plan_names
from windrow.run.local.tables import digest, met_when_taken_back, table_rows, table_version
from windrow.run.progress import Progress, ProgressView, operator_names, progress_of
from windrow.run.response import NONE_YET
from windrow.schema import MAX_TICK, MIN_TICK


class Execution:
    """A query being run by whoever asks for its answer, a micro-batch at a time.

    Args:
        query: what to run.
        sources: the data of its streams.
        resume: where to go on from.
        renderer: shows the progress.
        clock: seconds, for the figures.
        arrival_clock: the present instant, for streams whose time is given on arrival.
        planner: plans again when rates have changed; None: the plan stays.

    Attributes:
        memory: bounds what operators hold; None where nothing does.
        late: by stream, late rows as they came, where they are kept.
    """

    def __init__(
        self,
        query: PhysicalQuery,
        sources: Mapping[str, BatchReader],
        *,
        resume: Checkpoint | None = None,
        renderer: ProgressView | None = None,
        clock: Callable[[], float] = time.perf_counter,
        arrival_clock: WallClock = system_clock,
        planner: Planner | None = None,
    ) -> None:
        self.query = query
        self._sources = sources
        self.adapting = Adapting(query, planner)
        self.late: dict[str, list[pa.RecordBatch]] = defaultdict(list)
        self._bell = Bell()
        self._interrupts = put_off(self._bell.ring)
        self.memory = memory_of(query.options)
        self._setting = Setting(
            # Late rows are kept as they arrived, here; operators count those that they drop.
            on_late="fail" if query.options.on_late == "fail" else "count",
            memory=self.memory,
            team=Team(threads) if (threads := query.options.most_threads) > 1 else None,
            read_table=partial(table_rows, sources),
            table_version=partial(table_version, sources),
        )
        self.scheduler = Scheduler(
            driver_of(query.root, self._setting),
            SCHEDULINGS[query.schedule.name],
            self._interrupts.has_come,
        )
        self._output = ChangelogOutput.of(query)
        self._is_changelog = query.is_changelog
        self._renderer = renderer or ProgressView()
        self._clock = clock
        self._pending: deque[pa.RecordBatch] = deque()
        self._batch = self._rows_in = self._rows_out = 0
        self._response = NONE_YET
        self._taken = ("", 0)
        self._round: Iterator[pa.RecordBatch | Pause] = iter(())
        self._is_done = False
        self._failure: BaseException | None = None
        self._handed: pa.RecordBatch | None = None
        self._returned: deque[pa.RecordBatch] = deque()
        self._has_given_all = False
        self._due, self._woken_for = MAX_TICK, MIN_TICK
        self._turn = threading.Lock()
        # Readers know the bell alone: a query that is dropped unfinished leaves no thread behind.
        weakref.finalize(self, self._bell.stop)
        if resume is not None:
            self._restore(resume)
        positions = resume.positions if resume else {}
        self._streams = StreamCounts(
            query.root.scans,
            resume.streams if resume else None,
            {name: position.newest for name, position in positions.items()},
        )
        arrivals = ArrivalClock(arrival_clock, resume.watermark if resume else MIN_TICK)
        self._feeds = open_feeds(
            query.root.scans,
            sources,
            positions,
            self._bell,
            arrivals,
            query.options.polling,
            rows_at_once(query.root, query.options),
        )
        self._watermark = resume.watermark if resume else self._feeds.watermark
        self._progress: Progress | partial[Progress] = self._measure(0.0)

    @property
    def progress(self) -> Progress:
        """How far the query has come. The record is made when somebody looks at it."""
        if isinstance(self._progress, partial):
            self._progress = self._progress()
        return self._progress

    @cached_property
    def schema(self) -> pa.Schema:
        """The columns of the answer; a changelog adds what changed, and when."""
        return answer_schema(self.query)

    @cached_property
    def _table_digests(self) -> dict[str, str]:
        scans = met_when_taken_back(self.query)
        return {scan.alias: digest(self._setting.read_table(scan).columns) for scan in scans}

    @property
    def is_at_end(self) -> bool:
        """Whether all rows have been given, and none given back."""
        return self._has_given_all and self._handed is None and not self._returned

    def next(self) -> pa.RecordBatch | None:
        """The next rows, which may have to be waited for; None if no more come."""
        batch: pa.RecordBatch | Pause | None = PAUSED
        while batch is PAUSED:
            with self._interrupts:
                batch = self._next_or_pause()
        # Until here an interrupt loses no rows: they are given again. No call may follow, for Python
        # looks for interrupts at the end of one.
        self._handed = None
        return batch

    def checkpoint(self) -> Checkpoint:
        """Where the query stands after the micro-batch under way, which is finished first."""
        while True:
            with self._interrupts, self._turn:
                checkpoint = self._checkpoint_or_pause()
            if checkpoint is not PAUSED:
                return checkpoint

    def next_now(self) -> pa.RecordBatch | Silence | None:
        """The next rows as far as they can be had without waiting: NOTHING_NOW, or None at the end."""
        self._check_whole()
        try:
            batch = self._ask()
            while isinstance(batch, Pause):
                batch = self._ask()
        except BaseException as error:  # noqa: BLE001  # it is raised there
            self._fail(error)
        return batch

    def wait(self, is_woken: Callable[[], bool], seconds: float | None = None) -> None:
        """Waits until a stream may have rows, something is due, `is_woken` holds, or so long.

        `is_woken` is asked when a reader found nothing, and when `wake` is called.
        """
        self._feeds.wait(self._due, is_woken, seconds)

    def end_here(self) -> None:
        """Has streams that are followed end where there is nothing more now."""
        for scan in self.query.root.scans:
            self._sources[scan.stream].end_here()

    def wake(self) -> None:
        """Has who waits look again, from any thread."""
        self._bell.ring()

    def settled(self) -> tuple[list[pa.RecordBatch], Checkpoint]:
        """Finishes the micro-batch; returns its rows and the position after it."""
        self.checkpoint()  # computes what is left of it
        rows = list(self._pending)
        self._pending.clear()
        self._rows_out += sum(batch.num_rows for batch in rows)
        return rows, self.checkpoint()

    def take_late(self) -> dict[str, list[pa.RecordBatch]]:
        """Late rows that were kept since this was last asked, by stream."""
        late, self.late = self.late, defaultdict(list)
        return late

    def stop(self) -> None:
        """Ends the run, from any thread; what was handed out stays valid.

        A thread that is at work on the query stops it itself when it is done with its step.
        """
        with put_off(self._bell.ring):
            self._bell.stop()
            if self._turn.acquire(blocking=False):
                try:
                    self._put_away()
                finally:
                    self._turn.release()

    def give_back(self, batches: Sequence[pa.RecordBatch]) -> None:
        """Takes rows back that were handed out, to give them again first."""
        with put_off(self._bell.ring), self._turn:
            returned = [*batches, *([] if self._handed is None else [self._handed])]
            self._handed = None
            self._returned.extendleft(reversed(returned))
            self._rows_out -= sum(batch.num_rows for batch in returned)

    def _next_or_pause(self) -> pa.RecordBatch | Pause | None:
        """The next rows; PAUSED where an interrupt came before they could be had."""
        if self._handed is not None:
            return self._handed
        self._check_whole()
        try:
            batch = self._ask()
            while isinstance(batch, Silence | Pause) and not self._interrupts.has_come():
                if isinstance(batch, Silence):
                    self._feeds.wait(self._due, self._interrupts.has_come)
                batch = self._ask()
        except BaseException as error:  # noqa: BLE001  # it is raised there
            self._fail(error)
        if isinstance(batch, Silence | Pause):
            return PAUSED
        if batch is None and not self._bell.is_stopped:
            self._has_given_all = True
        if batch is None or self._bell.is_stopped:
            self.stop()
        self._handed = batch
        return batch

    def _checkpoint_or_pause(self) -> Checkpoint | Pause:
        self._check_whole()
        try:
            for batch in self._round:
                if not isinstance(batch, Pause):
                    self._pending.append(batch)
                elif self._interrupts.has_come():
                    return PAUSED
        except BaseException as error:  # noqa: BLE001  # it is raised there
            self._fail(error)
        return self._checkpoint()

    def _fail(self, error: BaseException) -> NoReturn:
        """Ends a run that cannot go on, with the error to raise now and whenever it is asked again."""
        self.stop()
        failure = error
        if isinstance(error, WindrowError):
            error.in_sql(self.query.sql)
        elif isinstance(error, MemoryError):
            held = sum(driver.counters.stored for driver in self.scheduler.operators)
            failure = out_of_memory(error, self._taken, held).in_sql(self.query.sql)
        was_interrupted = self._interrupts.came > 1
        if was_interrupted and not isinstance(error, KeyboardInterrupt):
            failure = KeyboardInterrupt()  # engines have errors of their own for it
        self._failure = failure if isinstance(failure, Exception) else broken_off()
        if failure is error:
            raise error
        raise failure from error

    def _check_whole(self) -> None:
        """Refuses to go on where a step has failed."""
        if self._failure is not None:
            raise self._failure

    def _checkpoint(self) -> Checkpoint:
        operators = self.scheduler.operators
        not_handed_out = [*([] if self._handed is None else [self._handed]), *self._returned]
        return Checkpoint(
            sql=self.query.sql,
            positions=self._feeds.positions,
            watermark=self._watermark,
            snapshots=tuple(driver.snapshot() for driver in operators),
            counters=tuple(driver.counters.as_dict() for driver in operators),
            pending=(*not_handed_out, *self._pending),
            batch=self._batch,
            rows_in=self._rows_in,
            rows_out=self._rows_out - (0 if self._handed is None else self._handed.num_rows),
            streams=dict(self._streams.figures),
            columns=columns_read(self.query.root),
            scheduling=self.query.schedule.name,
            clocks=self.scheduler.clocks,
            response=self._response,
            operators=operators_of(driver.node for driver in operators),
            tables=self._table_digests,
        )

    def _put_away(self) -> None:
        if not self._is_done:
            self._is_done = True
            self._renderer.close()
            self._setting.evaluator.close()

    def _ask(self) -> pa.RecordBatch | Silence | Pause | None:
        with self._turn, self._renderer.hearing():
            batch = self._returned.popleft() if self._returned else self._next()
            if batch is NOTHING_NOW:
                self._due = self.scheduler.due()
                self._show_stall()
            elif isinstance(batch, pa.RecordBatch):
                self._rows_out += batch.num_rows
            return batch

    def _next(self) -> pa.RecordBatch | Silence | Pause | None:
        """The next rows, as far as they can be had without waiting."""
        while not (self._is_done or self._bell.is_stopped):
            if self._pending:
                return self._pending.popleft()
            batch = next(self._round, None)
            if batch is not None:
                return batch
            if self._feeds.have_ended:
                break
            started = self._clock()
            polled = self._feeds.poll() or self._passing_time()
            if polled is None:
                return NOTHING_NOW
            self._round = self._micro_batch(*polled, started)
        return None

    def _passing_time(self) -> tuple[str, None] | None:
        """A batch without rows, where the clock of arrivals has come to what waits for it."""
        due, watermark = self.scheduler.due(), self._feeds.watermark
        if watermark == self._watermark or not self._woken_for < due <= watermark:
            return None
        self._woken_for = due
        return "", None

    def _show_stall(self) -> None:
        """Tells, once, that the query waits, and for whom."""
        stalled = self._feeds.stalled
        if self.progress.stalled != stalled:
            self._progress = replace(self.progress, stalled=stalled)
            self._renderer.show(self.progress)

    def _micro_batch(
        self, stream: str, arrived: pa.RecordBatch | None, started: float
    ) -> Iterator[pa.RecordBatch | Pause]:
        """Takes one batch of one stream and gives the rows of the answer that it brings."""
        before = self._watermark
        self._watermark = self._feeds.watermark
        if arrived is None and self._watermark == before:
            return
        if arrived is not None:
            self._taken = (stream, arrived.num_rows)
            self._rows_in += arrived.num_rows
            self._note(stream, arrived, before)
            self.adapting.adapt(stream, arrived, self._feeds.times, self.scheduler)
        came = {} if arrived is None else {stream: arrived}
        times = {stream: self._feeds.times}
        work = MicroBatch(came, before, self._watermark, self._feeds.ended, times=times)
        for rows in self.scheduler.run(work):
            if len(rows):
                yield from map(self._shown, self._output.push(rows))
            elif self._interrupts.has_come():
                yield PAUSED
        yield from map(self._shown, self._output.settle())
        self._batch += 1
        self._progress = self._measure((self._clock() - started) * 1_000)
        if self._renderer.shows:
            self._renderer.show(self.progress)
        for warning in self._streams.warnings(is_end=self._feeds.have_ended):
            self._renderer.warn(warning)

    def _shown(self, rows: ChangeBatch) -> pa.RecordBatch:
        """Rows of the answer with the names and columns that the user asked for."""
        if not self._is_changelog:
            return rows.columns
        if self._watermark < MAX_TICK:
            self._response = self._response.after(rows.times, self._feeds.now)
        return shown(rows, self.schema, self.query.time_type)

    def _note(self, stream: str, arrived: pa.RecordBatch, watermark: int) -> None:
        """Counts the rows of a batch and the late ones among them, and keeps these if asked to."""
        times = self._feeds.times
        came = Arrived(arrived.num_rows, newest=int(times.max()) if len(times) else MIN_TICK)
        if len(late_rows(times, watermark)):
            late = self.scheduler.late_among(stream, arrived, watermark)
            came = came.with_late(ticks_of(late.column(self._feeds.time_of(stream))))
            if late.num_rows and self.query.options.on_late == "keep":
                self.late[stream].append(late)
        self._streams.add(stream, came, watermark)

    def _restore(self, checkpoint: Checkpoint) -> None:
        if not isinstance(checkpoint, Checkpoint):
            raise PlanError(
                "not-a-checkpoint",
                f"resume takes a checkpoint, not {type(checkpoint).__name__}",
                hint="give what checkpoint() of an earlier result returned, unpickled if it was"
                " pickled",
            )
        columns = columns_read(self.query.root)
        operators = self.scheduler.operators
        names = operators_of(driver.node for driver in operators)
        checkpoint.check(self.query.sql, columns, self.query.schedule.name, names)
        checkpoint.check_tables(self._table_digests)
        self._pending.extend(checkpoint.pending)
        self._batch, self._rows_in = checkpoint.batch, checkpoint.rows_in
        self._rows_out = checkpoint.rows_out
        self._response = checkpoint.response
        self.scheduler.resume(checkpoint.clocks, checkpoint.watermark)
        for driver, snapshot, figures in zip(
            operators, checkpoint.snapshots, checkpoint.counters, strict=True
        ):
            driver.restore(snapshot)
            levels = {"stored": 0, "intermediate": 0, "state_bytes": 0}  # restored, not added
            driver.counters.add(Counters(**{**figures, **levels}))

    def _measure(self, ms: float) -> partial[Progress]:
        """What makes the record of how things stand now."""
        operators = self.scheduler.operators
        return partial(
            _progress,
            self.query.root,
            [driver.node for driver in operators],
            [driver.counters.as_dict() for driver in operators],
            batch=self._batch,
            rows_in=self._rows_in,
            rows_out=self._rows_out,
            watermark=self._watermark,
            time_type=self.query.time_type,
            ms=ms,
            stalled=self._feeds.stalled,
            plan_changes=self.adapting.changes,
            response=self._response if self._is_changelog else None,
            streams=dict(self._streams.figures),
        )


def _progress(
    root: PhysicalNode,
    nodes: Sequence[PhysicalNode],
    counters: Sequence[dict[str, int]],
    **figures: Any,
) -> Progress:
    """A record by the nodes of the operators, from the top of the plan down, and their figures."""
    own = (Counters(**each) for each in counters[::-1])
    named = dict(zip(operator_names(nodes[::-1]), own, strict=True))
    return progress_of(root, named, plans=plan_names(nodes), **figures)


def out_of_memory(error: MemoryError, taken: tuple[str, int], held: int) -> ResourceError:
    """The error of a step for which there is not enough memory.

    Under way are so many rows of a stream, `taken`; all operators hold so many.
    """
    stream, rows = taken
    what = f"a batch of {rows:,} rows of {stream}" if stream else "a batch"
    most = f", with which it makes up to {rows * held:,} combinations" if rows and held else ""
    failure = ResourceError(
        "out-of-memory",
        f"there is not enough memory for {what}",
        reason=f"the query holds {held:,} rows{most}; {str(error) or type(error).__name__}",
        hint="bound what it holds by memory='1 GB', for instance, with on_memory='spill' or 'shed';"
        " give batches of fewer rows; or make windows narrower and conditions stricter",
    )
    failure.__cause__ = error
    return failure
