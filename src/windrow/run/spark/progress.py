"""Spark's progress of a streaming query, or the figures of a batch run, as Windrow's own record.

The counters of each operator travel as observed metrics (`windrow_<query>_stage_0@<run>`, .. from
the bottom of the plan up); Spark reports them per micro-batch, a `Progress` holds totals.

`await_query` follows a streaming query to its end, and shows each record as Spark reports it.

In a batch run they are observed while an action computes the answer, and read afterwards. Spark's
`Observation` keeps what the first action on a DataFrame finds. Asked earlier it waits, on a classic
session for ever; so it is asked aside, and given a little time.
"""

from __future__ import annotations

import contextlib
import re
import time
import uuid
from collections.abc import Callable, Mapping
from queue import Empty, Queue
from threading import Thread
from typing import TYPE_CHECKING, Any

import numpy as np
from pyspark.errors import PySparkException, StreamingQueryException
from pyspark.sql import Observation

from windrow.errors import PlanError
from windrow.operators.engine.base import Counters
from windrow.physical.query import PhysicalQuery
from windrow.run.late_rows import Arrived, StreamCounts
from windrow.run.progress import Progress, ProgressView, operator_names, progress_of
from windrow.run.spark.failures import in_our_words
from windrow.run.spark.stages import (
    COUNTERS,
    PORT_GAP,
    PORT_LATE,
    PORT_NULL,
    first_scans,
    stateful_nodes,
)
from windrow.run.spark.state import metric_name
from windrow.run.spark.ticks import watermark_ticks
from windrow.schema import MAX_TICK, MIN_TICK

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame
    from pyspark.sql.streaming.query import StreamingQuery

STEPS_BY = "steps by "
"""Before the name of a plan: the figure that counts the micro-batches of buckets that ran by it."""

WAIT_S = 10.0
"""How long to wait for figures; Spark hands them on just after an action has ended."""

POLL_S = 1
"""How long to wait before looking for new reports; Spark keeps the last hundred."""

_LEVELS = {
    "stored": "stored_change",
    "intermediate": "intermediate_change",
    "state_bytes": "bytes_change",
}
"""Counters that tell a level, not work done, and the figures that tell their changes."""

_INSTANT = re.compile(r"([+-]?\d+)-(\d\d)-(\d\d)T([\d:.]+)Z")
"""How Spark writes a watermark; BIGINT times may be told as years beyond 9999."""


def run_names(query: PhysicalQuery) -> Callable[[str], str]:
    """Names for the figures of one DataFrame of a query.

    Spark wants each name once in a query of its own, which may hold several of ours, and the same
    question twice.
    """
    run = uuid.uuid4().hex[:8]
    return lambda what: f"{metric_name(query.root, what)}@{run}"


class StageTotals:
    """Adds up the figures of a query's stages, by their names in EXPLAIN.

    Attributes:
        names: the operators, from the bottom of the plan up.
        shown: per window join, how it runs: as planned, until a worker has chosen.
        steps: per window join whose plan workers choose, how often each plan ran.
        plan_changes: how often a worker went on with a bucket by another plan.
    """

    def __init__(self, query: PhysicalQuery) -> None:
        nodes = stateful_nodes(query.root)
        self._root = query.root
        self.names = operator_names(nodes)
        self._counters = {name: Counters() for name in self.names}
        named = zip(self.names, nodes, strict=True)
        self.shown = {name: node.plan_name for name, node in named if node.plan_name}
        self.steps: dict[str, dict[str, int]] = {}
        self.plan_changes = 0

    def add(self, stage: str, figures: Mapping[str, int], *, tell_all: bool) -> None:
        """Takes what a stage reports; `tell_all`: its levels are those of all buckets."""
        total = self._counters[stage]
        for name in COUNTERS:
            before = getattr(total, name)
            if name not in _LEVELS:
                now = before + figures.get(name, 0)
            elif tell_all:
                now = figures.get(name, 0)
            else:
                now = before + figures.get(_LEVELS[name], 0)
            setattr(total, name, now)
        self.plan_changes += figures.get("plan_changes", 0)
        ran = {
            name.removeprefix(STEPS_BY): steps
            for name, steps in figures.items()
            if name.startswith(STEPS_BY) and steps
        }
        if not ran:
            return
        steps_of = self.steps.setdefault(stage, {})
        for plan, steps in ran.items():
            steps_of[plan] = steps_of.get(plan, 0) + steps
        often = sorted(ran, key=lambda plan: -ran[plan])
        self.shown[stage] = (
            often[0] if len(ran) == 1 else ", ".join(f"{plan} ({ran[plan]})" for plan in often)
        )

    def record(self, **figures: Any) -> Progress:
        """These totals with other figures."""
        return progress_of(
            self._root,
            self._counters,
            is_by_bucket=True,
            plans=dict(self.shown),
            plan_steps={name: dict(steps) for name, steps in self.steps.items()},
            plan_changes=self.plan_changes,
            **figures,
        )


class ProgressReader:
    """Adds up what Spark reports, one micro-batch after the other.

    A bucket reports what it holds when it has rows, and whenever the watermark moves. A reader that
    joins a query under way (after a restart, say) learns what the others hold with the next move.
    """

    def __init__(self, query: PhysicalQuery) -> None:
        self._time_type = query.time_type
        self._root = query.root
        self._totals = StageTotals(query)
        self._rows_in = 0
        self._rows_out = 0
        self._watermark: int | None = None
        self.streams = StreamCounts(query.root.scans)

    def read(self, report: Mapping[str, Any]) -> Progress:
        """The record after one more of Spark's `StreamingQueryProgress`."""
        metrics: dict[str, dict[str, int]] = {}
        for name, row in report["observedMetrics"].items():
            figures = metrics.setdefault(name.partition("@")[0], {})
            for figure, value in _figures(row).items():
                figures[figure] = figures.get(figure, 0) + value

        def of(what: str) -> dict[str, int]:
            return metrics.get(metric_name(self._root, what), {})

        watermark = watermark_ticks(_millis(report["eventTime"]), self._time_type)
        tell_all = self._watermark is None or watermark > self._watermark
        self._watermark = watermark
        for number, name in enumerate(self._totals.names):
            self._totals.add(name, of(f"stage_{number}"), tell_all=tell_all)
        for name, arrived in self._arrived(of, watermark).items():
            self._rows_in += arrived.rows
            self.streams.add(name, arrived, watermark)
        self._rows_out += of("answer").get("rows", 0)
        return self._totals.record(
            batch=int(report["batchId"]),
            rows_in=self._rows_in,
            rows_out=self._rows_out,
            watermark=watermark,
            time_type=self._time_type,
            ms=float(report["durationMs"].get("triggerExecution", 0)),
            streams=dict(self.streams.figures),
        )

    def warn(self, shown: ProgressView, *, is_end: bool) -> None:
        """Says which streams have brought much of their rows late, each once."""
        for warning in self.streams.warnings(is_end=is_end):
            shown.warn(warning)

    def _arrived(
        self, of: Callable[[str], Mapping[str, int]], watermark: int
    ) -> dict[str, Arrived]:
        """What each stream has brought in a micro-batch that began with that watermark.

        A row that is late under several aliases is one: what most of them find late counts.
        """
        found: dict[str, Arrived] = {}
        scanned = self._root.scans
        for number, (scan, is_first) in enumerate(
            zip(scanned, first_scans(self._root), strict=True)
        ):
            figures = of(f"scan_{number}")
            if is_first:
                rows = figures.get("rows", 0)
                newest = figures.get("newest", MIN_TICK) if rows else MIN_TICK
                found[scan.stream] = Arrived(rows, newest=newest)
        for number, node in enumerate(stateful_nodes(self._root)):
            figures = of(f"stage_{number}")
            for port, child in enumerate(node.inputs):
                late = figures.get(f"{PORT_LATE}_{port}", 0)
                without = figures.get(f"{PORT_NULL}_{port}", 0)
                # Under a UNION ALL of several, the rows may be any one's: the first's, say.
                if late or without:
                    stream = child.scans[0].stream
                    gap = figures.get(f"{PORT_GAP}_{port}", 0)
                    found[stream] = found[stream].at_least(late, without, watermark - gap)
        return found


def await_query(
    running: StreamingQuery, reader: ProgressReader, shown: ProgressView
) -> Progress | None:
    """Waits until the query ends, however it does, and shows each micro-batch.

    Args:
        running: a query that was started.
        reader: turns Spark's reports into records.
        shown: where the records go; closed at the end.

    Returns:
        The last record; None where Spark reported nothing.

    Raises:
        PlanError: the checkpoint belongs to a query with other streams or stages.
        Exception: what else the query failed with.
    """
    last: Progress | None = None
    seen = -1
    try:
        has_ended = False
        while not has_ended:
            has_ended = bool(running.awaitTermination(POLL_S))
            for report in running.recentProgress:
                # A trigger that finds nothing to do reports the last batch again.
                if report.batchId > seen:
                    seen = report.batchId
                    last = reader.read(report)
                    shown.show(last)
                    reader.warn(shown, is_end=False)
        reader.warn(shown, is_end=True)
    except StreamingQueryException as error:
        ours = in_our_words(error)
        if ours is None:
            raise
        raise ours from error
    finally:
        # Interrupted, say: nobody else would stop it.
        running.stop()
        shown.close()
    return last


def batch_progress(query: PhysicalQuery, observed: Mapping[str, Mapping[str, Any]]) -> Progress:
    """The record of a batch run, from the figures of its stages and its answer.

    Spark does not read what a WHERE removes, or not always: `rows_in` counts what is left.
    """
    totals = StageTotals(query)
    figures = {name: _figures(observed[f"stage_{i}"]) for i, name in enumerate(totals.names)}
    for name, of_stage in figures.items():
        totals.add(name, of_stage, tell_all=True)
    rows_out = _figures(observed["answer"])["rows"]
    rows_read = sum(of_stage["rows_read"] for of_stage in figures.values())
    return totals.record(
        batch=0,
        rows_in=rows_read if figures else rows_out,
        rows_out=rows_out,
        watermark=MAX_TICK,
        time_type=query.time_type,
    )


def _figures(row: Any) -> dict[str, int]:
    """Observed metrics as numbers by name; NULL, the sum over no rows, is 0."""
    if hasattr(row, "asDict"):
        row = row.asDict()
    if "values" in row and "schema" in row:
        names = [field["name"] for field in row["schema"]["fields"]]
        row = dict(zip(names, row["values"], strict=True))
    return {name: int(value or 0) for name, value in row.items()}


def _millis(event_time: Mapping[str, str]) -> int:
    """Spark's watermark in milliseconds; 0 where it has none."""
    shown = event_time.get("watermark")
    if not shown:
        return 0
    found = _INSTANT.fullmatch(shown)
    assert found is not None, shown
    year, month, day, clock = found.groups()
    months = np.datetime64(int(year) - 1970, "Y").astype("M8[M]") + (int(month) - 1)
    days = int(months.astype("M8[D]").astype(np.int64)) + int(day) - 1
    return days * 86_400_000 + int(np.datetime64(f"1970-01-01T{clock}", "ms").astype(np.int64))


class BatchFigures:
    """What one batch run of a query counts."""

    def __init__(self, query: PhysicalQuery) -> None:
        self._query = query
        self._named = run_names(query)
        self._observed: dict[str, Observation] = {}

    def observe(self, rows: DataFrame, what: str, *columns: Column) -> DataFrame:
        """The same rows; their figures are kept as `what`."""
        observed = Observation(self._named(what))
        self._observed[what] = observed
        return rows.observe(observed, *columns)

    def read(self, wait_s: float = WAIT_S) -> Progress:
        """The figures of the first action on the answer.

        Raises:
            PlanError: there was none yet.
        """
        deadline = time.monotonic() + wait_s
        found = {
            what: _observed(observed, deadline - time.monotonic())
            for what, observed in self._observed.items()
        }
        return batch_progress(self._query, found)


def _observed(observed: Observation, wait_s: float) -> dict[str, Any]:
    told: Queue[dict[str, Any]] = Queue()

    def ask() -> None:
        # What an action that failed has to say, the action has said.
        with contextlib.suppress(PySparkException):
            told.put(observed.get)

    Thread(target=ask, daemon=True).start()
    try:
        figures = told.get(timeout=max(wait_s, 0.1))
    except Empty:
        figures = {}
    if not figures:
        raise PlanError(
            "no-figures",
            "the answer has not been computed yet, and so there are no figures",
            hint="write, count or collect the DataFrame first; its first action is what is counted",
        )
    return figures
