"""The loop: poll the stream that is furthest behind, push its batch, advance, until all end."""

from __future__ import annotations

import time
from collections import defaultdict, deque
from collections.abc import Callable, Iterator, Mapping

import pyarrow as pa

from windrow.errors import PlanError, WindrowError
from windrow.operators.base import Counters
from windrow.physical.explain import stage_name
from windrow.physical.specs import PhysicalQuery, scans
from windrow.run.local.answers import Answer
from windrow.run.local.checkpoint import Checkpoint, columns_read
from windrow.run.local.feeds import open_feeds
from windrow.run.local.pipeline import Pipeline, Round
from windrow.run.local.sources import Source
from windrow.run.progress import Progress, Renderer, Silent


class Execution:
    """A query being run on this thread, a micro-batch at a time, as its answer is asked for.

    Args:
        query: what to run.
        sources: the data of its streams.
        resume: where to go on from.
        renderer: shows the progress.
        clock: seconds, for the figures.
    """

    def __init__(
        self,
        query: PhysicalQuery,
        sources: Mapping[str, Source],
        *,
        resume: Checkpoint | None = None,
        renderer: Renderer | None = None,
        clock: Callable[[], float] = time.perf_counter,
    ) -> None:
        self.query = query
        self.answer = Answer(query)
        self.late: dict[str, list[pa.RecordBatch]] = defaultdict(list)
        self._pipeline = Pipeline(query)
        self._renderer = renderer or Silent()
        self._clock = clock
        self._pending: deque[pa.RecordBatch] = deque()
        self._batch = self._rows_in = self._rows_out = 0
        self._round: Iterator[pa.RecordBatch] = iter(())
        self._is_done = False
        if resume is not None:
            self._restore(resume)
        positions = resume.positions if resume else {}
        self._feeds = open_feeds(scans(query.root), sources, positions)
        self._watermark = resume.watermark if resume else self._feeds.watermark
        self.progress = self._measure(0.0)

    def next(self) -> pa.RecordBatch | None:
        """The next rows of the answer; None once there are no more."""
        try:
            batch = self._next()
        except BaseException as error:
            self.stop()
            if isinstance(error, WindrowError):
                error.in_sql(self.query.sql)
            raise
        if batch is None:
            self.stop()
        else:
            self._rows_out += batch.num_rows
        return batch

    def checkpoint(self) -> Checkpoint:
        """Where the query stands after the micro-batch under way, which is finished first."""
        self._pending.extend(self._round)
        return Checkpoint(
            sql=self.query.sql,
            positions=self._feeds.positions,
            watermark=self._watermark,
            snapshots=tuple(stage.snapshot() for stage in self._pipeline.stages),
            counters=tuple(stage.counters.as_dict() for stage in self._pipeline.stages),
            pending=tuple(self._pending),
            batch=self._batch,
            rows_in=self._rows_in,
            rows_out=self._rows_out,
            columns=columns_read(scans(self.query.root)),
        )

    def stop(self) -> None:
        """Ends the run; what was handed out stays valid."""
        if not self._is_done:
            self._is_done = True
            self._renderer.close()
            self._pipeline.close()

    def _next(self) -> pa.RecordBatch | None:
        while not self._is_done:
            if self._pending:
                return self._pending.popleft()
            batch = next(self._round, None)
            if batch is not None:
                return batch
            if self._feeds.have_ended:
                break
            self._round = self._micro_batch()
        return None

    def _micro_batch(self) -> Iterator[pa.RecordBatch]:
        """Reads one batch of one stream and gives the rows of the answer that it brings."""
        started = self._clock()
        before = self._watermark
        stream, arrived = self._feeds.poll()
        self._watermark = self._feeds.watermark
        if arrived is None and self._watermark == before:
            return
        if arrived is not None:
            self._rows_in += arrived.num_rows
            self._keep_late(stream, arrived, before)
        work = Round({} if arrived is None else {stream: arrived}, before, self._watermark)
        for rows in self._pipeline.run(work):
            if len(rows):
                yield self.answer.show(rows)
        self._batch += 1
        self.progress = self._measure((self._clock() - started) * 1_000)
        self._renderer.show(self.progress)

    def _keep_late(self, stream: str, arrived: pa.RecordBatch, watermark: int) -> None:
        if self.query.options.on_late == "keep":
            late = self._pipeline.late_rows(stream, arrived, watermark)
            if late.num_rows:
                self.late[stream].append(late)

    def _restore(self, checkpoint: Checkpoint) -> None:
        if not isinstance(checkpoint, Checkpoint):
            raise PlanError(
                "not-a-checkpoint",
                f"resume takes a checkpoint, not {type(checkpoint).__name__}",
                hint="give what checkpoint() of an earlier result returned, unpickled if it was"
                " pickled",
            )
        checkpoint.check(self.query.sql, columns_read(scans(self.query.root)))
        self._pending.extend(checkpoint.pending)
        self._batch, self._rows_in = checkpoint.batch, checkpoint.rows_in
        self._rows_out = checkpoint.rows_out
        stages = self._pipeline.stages
        for stage, snapshot, figures in zip(
            stages, checkpoint.snapshots, checkpoint.counters, strict=True
        ):
            stage.restore(snapshot)
            stage.counters.add(Counters(**{**figures, "stored": 0, "state_bytes": 0}))

    def _measure(self, ms: float) -> Progress:
        total = Counters()
        for stage in self._pipeline.stages:
            total.add(stage.counters)
        return Progress(
            batch=self._batch,
            rows_in=self._rows_in,
            rows_out=self._rows_out,
            watermark=self._watermark,
            time_type=self.query.time_type,
            late=total.late,
            null_time=total.null_time,
            stored=total.stored,
            state_bytes=total.state_bytes,
            ms=ms,
            operators=self._by_operator(),
        )

    def _by_operator(self) -> dict[str, dict[str, int]]:
        """The counters by name, from the bottom of the plan up; equal names are numbered."""
        figures: dict[str, dict[str, int]] = {}
        for stage in reversed(self._pipeline.stages):
            name = stage_name(stage.spec)
            taken = sum(other.split(" #")[0] == name for other in figures)
            figures[f"{name} #{taken + 1}" if taken else name] = stage.counters.as_dict()
        return figures
