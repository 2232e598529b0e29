"""Progress: one record per micro-batch from either runner, and the ways to show it.

In process there is one more when the query begins to wait, for no stream has anything now.

none    nothing
log     a line per batch to the logger `windrow`
live    a line on stderr that is redrawn, on a terminal alone, and only once a run takes long
json    a JSON object per batch and line
auto    live on a terminal; elsewhere json on the command line and none in the API
"""

from __future__ import annotations

import json
import logging
import sys
import time
from collections.abc import Callable, Iterable, Mapping
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, TextIO

from windrow.errors import PlanError, nearest
from windrow.kernels.compiling import COMPILING, Compiled
from windrow.operators.columns.arrow_types import show_instant
from windrow.operators.engine.base import THOUSANDTHS, Counters
from windrow.plan.units import show_bytes
from windrow.run.late_rows import StreamFigures
from windrow.run.response import Response

if TYPE_CHECKING:
    from rich.live import Live

    from windrow.physical.nodes.base import PhysicalNode
    from windrow.run.terminal import Terminal


FIRST_SIGN_S = 0.5
"""A run that ends sooner draws nothing: a flash on the terminal tells nobody anything."""


@dataclass(frozen=True)
class Recall:
    """The share of all combinations of a join that were found, from 0 to 1.

    Attributes:
        expected: as memory and processor were divided; None before anything was found.
        estimated: as the chances of those found tell; None before anything was found.
        is_by_bucket: whether each of several buckets sheds by itself, with its part of memory and
            service rate.

    Examples:
        >>> str(Recall(expected=0.5, estimated=0.4875))
        'recall 48.8% estimated, 50.0% expected'
    """

    expected: float | None = None
    estimated: float | None = None
    is_by_bucket: bool = False

    def as_dict(self) -> dict[str, float | None]:
        """Both by name."""
        return {"expected": self.expected, "estimated": self.estimated}

    def __str__(self) -> str:
        if self.expected is None or self.estimated is None:
            return "recall not known: nothing was found"
        where = ", a part per bucket" if self.is_by_bucket and self.estimated < 1 else ""
        return f"recall {self.estimated:.1%} estimated, {self.expected:.1%} expected{where}"


@dataclass(frozen=True)
class Progress:
    """How far a query has come. All figures but `stored`, `state_bytes` and `ms` are totals.

    Attributes:
        batch: the number of the micro-batch, from 0 on.
        rows_in: rows read from the streams.
        rows_out: rows of the answer.
        watermark: the query's watermark after the batch, in ticks.
        time_type: the Spark type of event time, which says what a tick is.
        late: rows below the watermark as their batch began.
        null_time: rows without an event time.
        stored: rows held by all operators now.
        state_bytes: bytes of those rows.
        ms: how long this batch took.
        operators: the counters of each stateful operator, by its name in EXPLAIN.
        stalled: in process, the streams that have nothing now; they hold the watermark.
        plans: how each window join runs, by its name in EXPLAIN; on Spark in the newest micro-batch
            that brought it rows, `bew-hash (3), btree/btree (1)` where buckets run differently.
        plan_steps: on Spark, where workers choose: per window join and plan, the micro-batches of
            buckets that ran by it; in a batch run, the parts that a bucket's rows were taken in.
        plan_changes: how often a join went on by another plan, for rates had changed; on Spark,
            how often a bucket of one did.
        recall: of a query that sheds, the share of its answer that it has found; None where nothing
            is shed.
        response: in process, of a changelog, how long after they became true its changes were
            produced; None elsewhere.
        streams: what each stream has brought, and how much of it late; empty in a batch on Spark,
            where none of it can be.

    Examples:
        >>> Progress(batch=3, rows_in=10, rows_out=2, watermark=7, time_type="bigint").line()
        'batch 3: 10 rows in, 2 out, watermark 7, 0 stored (0 B), 0 ms'
    """

    batch: int
    rows_in: int
    rows_out: int
    watermark: int
    time_type: str
    late: int = 0
    null_time: int = 0
    stored: int = 0
    state_bytes: int = 0
    ms: float = 0.0
    operators: Mapping[str, Mapping[str, int]] = field(default_factory=dict)
    stalled: tuple[str, ...] = ()
    plans: Mapping[str, str] = field(default_factory=dict)
    plan_steps: Mapping[str, Mapping[str, int]] = field(default_factory=dict)
    plan_changes: int = 0
    recall: Recall | None = None
    response: Response | None = None
    streams: Mapping[str, StreamFigures] = field(default_factory=dict)

    def as_dict(self) -> dict[str, Any]:
        """The figures by name, the watermark as text, ready for JSON."""
        known = {name: value for name, value in vars(self).items() if name != "time_type"}
        return known | {
            "watermark": show_instant(self.watermark, self.time_type),
            "ms": round(self.ms, 3),
            "operators": {name: dict(counters) for name, counters in self.operators.items()},
            "stalled": list(self.stalled),
            "plans": dict(self.plans),
            "plan_steps": {name: dict(steps) for name, steps in self.plan_steps.items()},
            "recall": None if self.recall is None else self.recall.as_dict(),
            "response": None if self.response is None else self.response.as_dict(),
            "streams": {name: figures.as_dict() for name, figures in self.streams.items()},
        }

    def totals(self) -> dict[str, Any]:
        """What has been read, answered and dropped, ready for JSON."""
        named = self.as_dict()
        return {key: named[key] for key in ("rows_in", "rows_out", "late", "null_time", "streams")}

    def line(self) -> str:
        """The figures as one line of text."""
        parts = [
            f"batch {self.batch}: {self.rows_in:,} rows in",
            f"{self.rows_out:,} out",
            f"watermark {show_instant(self.watermark, self.time_type)}",
            f"{self.stored:,} stored ({show_bytes(self.state_bytes)})",
        ]
        if self.late:
            parts.append(f"{self.late:,} late")
        if self.null_time:
            parts.append(f"{self.null_time:,} without a time")
        if self.stalled:
            parts.append(f"nothing now from {' and '.join(self.stalled)}")
        if self.plan_changes:
            parts.append(f"changes of plan: {self.plan_changes}")
        if self.recall is not None:
            parts.append(str(self.recall))
        if self.response is not None and self.response.changes:
            parts.append(self.response.show(self.time_type))
        return ", ".join([*parts, f"{self.ms:,.0f} ms"])


def progress_of(
    root: PhysicalNode,
    counters: Mapping[str, Counters],
    *,
    is_by_bucket: bool = False,
    **figures: Any,
) -> Progress:
    """A record of figures, with what the counters of its operators, by name, tell together."""
    total = Counters()
    for own in counters.values():
        total.add(own)
    return Progress(
        late=total.late,
        null_time=total.null_time,
        stored=total.stored,
        state_bytes=total.state_bytes,
        operators={name: own.as_dict() for name, own in counters.items()},
        recall=_recall(total, is_by_bucket=is_by_bucket) if root.sheds else None,
        **figures,
    )


def _recall(total: Counters, *, is_by_bucket: bool) -> Recall:
    """The recall of a query that sheds by the figures of all its operators."""
    if not total.shed_estimated:
        return Recall(is_by_bucket=is_by_bucket)
    found = total.shed_found * THOUSANDTHS
    return Recall(
        expected=total.shed_expected / total.shed_estimated,
        estimated=min(1.0, found / total.shed_estimated),
        is_by_bucket=is_by_bucket,
    )


def operator_names(nodes: Iterable[PhysicalNode]) -> list[str]:
    """The names of operators in EXPLAIN, from the bottom of the plan up; equal ones are numbered."""
    names: list[str] = []
    for node in nodes:
        taken = sum(other.split(" #")[0] == node.title for other in names)
        names.append(f"{node.title} #{taken + 1}" if taken else node.title)
    return names


class ProgressView:
    """Shows progress somewhere; this one nowhere, and others what they add to it."""

    _has_compiled = False

    @cached_property
    def shows(self) -> bool:
        """Whether records are shown at all: one that nobody sees need not be made."""
        return type(self).show is not ProgressView.show

    def _is_first_compiled(self) -> bool:
        was_first, self._has_compiled = not self._has_compiled, True
        return was_first

    def show(self, progress: Progress) -> None:
        """Shows the newest record."""

    def warn(self, text: str) -> None:
        """Says what the user should look into; without a display, to the logger `windrow`."""
        logging.getLogger("windrow").warning("%s", text)

    def hearing(self) -> AbstractContextManager[None]:
        """Hears meanwhile of kernels that are compiled, if anything is shown."""
        return COMPILING.told(self.compiling) if self.shows else nullcontext()

    def compiling(self, news: Compiled) -> None:
        """Shows that a kernel is being compiled, as at a machine's first query."""

    def close(self) -> None:
        """Ends the display; what was shown last stays."""


class LogLines(ProgressView):
    """A line per batch to the logger `windrow`, at level INFO."""

    def show(self, progress: Progress) -> None:
        """Logs the record."""
        logging.getLogger("windrow").info("%s", progress.line())

    def compiling(self, news: Compiled) -> None:
        """Logs the first kernel that is compiled."""
        if self._is_first_compiled():
            logging.getLogger("windrow").info("%s", news)


class JsonLines(ProgressView):
    """A JSON object per batch and line, to a stream that belongs to the caller."""

    def __init__(self, out: TextIO) -> None:
        self._out = out

    def show(self, progress: Progress) -> None:
        """Writes the record."""
        self._write(progress.as_dict())

    def warn(self, text: str) -> None:
        """Writes the warning."""
        self._write({"warning": text})

    def compiling(self, news: Compiled) -> None:
        """Writes the first kernel that is compiled."""
        if self._is_first_compiled():
            self._write({"note": str(news)})

    def _write(self, record: Mapping[str, Any]) -> None:
        self._out.write(json.dumps(record) + "\n")
        self._out.flush()


class LiveLine(ProgressView):
    """One line on a terminal, redrawn as the query goes, from half a second on."""

    def __init__(self, out: TextIO, clock: Callable[[], float]) -> None:
        self._out = out
        self._clock = clock
        self._started = clock()
        self._live: Live | None = None

    def show(self, progress: Progress) -> None:
        """Redraws the line."""
        elapsed = self._clock() - self._started
        if elapsed < FIRST_SIGN_S:
            return
        if self._live is None:
            self._live = self._begin()
        rate = progress.rows_in / elapsed
        self._live.update(f"{progress.line()}, {rate:,.0f} rows/s", refresh=True)

    def compiling(self, news: Compiled) -> None:
        """Redraws the line while kernels are compiled."""
        if news.kernel and news.seconds >= FIRST_SIGN_S:
            self._live = self._live or self._begin()
            self._live.update(str(news), refresh=True)

    def warn(self, text: str) -> None:
        """Prints the warning above the line, if there is one yet."""
        self._console.say(f"warning: {text}")

    def close(self) -> None:
        """Leaves the last line on the screen."""
        if self._live is not None:
            self._live.stop()
            self._live = None

    @cached_property
    def _console(self) -> Terminal:
        from windrow.run.terminal import Terminal  # noqa: PLC0415  # rich, again

        return Terminal(file=self._out)

    def _begin(self) -> Live:
        from rich.live import Live  # noqa: PLC0415  # rich takes 50 ms to load

        live = Live(console=self._console, auto_refresh=False)
        live.start()
        return live


KINDS = ("auto", "none", "log", "live", "json")


def renderer(
    kind: str,
    *,
    out: TextIO | None = None,
    clock: Callable[[], float] = time.monotonic,
) -> ProgressView:
    """The renderer of that name.

    Args:
        kind: one of `auto`, `none`, `log`, `live` and `json`.
        out: where `live` and `json` write; stderr where none is given.
        clock: seconds, for the first sign of `live`.

    Raises:
        PlanError: there is no such renderer.

    Examples:
        >>> renderer("none").show(Progress(0, 0, 0, 0, "bigint"))
    """
    target = sys.stderr if out is None else out
    if kind == "auto":
        kind = "live" if target.isatty() else "none"
    if kind == "log":
        return LogLines()
    if kind == "json":
        return JsonLines(target)
    if kind == "live":
        return LiveLine(target, clock) if target.isatty() else ProgressView()
    if kind == "none":
        return ProgressView()
    raise PlanError(
        "bad-option",
        f"progress = {kind!r} is not a way to show progress",
        hint=f"one of {nearest(kind, KINDS)}",
    )
