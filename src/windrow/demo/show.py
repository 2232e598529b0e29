"""The demo on the terminal: each question explained, run on Spark as a stream, shown, checked."""

from __future__ import annotations

import shutil
import tempfile
import time
from collections import Counter
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from rich.console import Group
from rich.rule import Rule
from rich.table import Table
from rich.text import Text

import windrow
from windrow.demo.questions import (
    AGGREGATE,
    FULL,
    LATENESS_S,
    QUESTIONS,
    QUICK,
    Question,
    Size,
    Streams,
    generate,
    write,
)
from windrow.errors import InternalError
from windrow.run.progress import Progress, ProgressView
from windrow.run.terminal import Terminal, readable

if TYPE_CHECKING:
    from windrow.run.spark.launch import ClassicSpark


def plot_revenue(changes: pa.Table, file: Path) -> Path | None:
    """Draws each store's revenue of the last hour; None where matplotlib is not installed."""
    try:
        from matplotlib.figure import Figure
    except ModuleNotFoundError:
        return None
    figure = Figure(figsize=(10, 4), layout="constrained")
    axes = figure.add_subplot()
    inserts = changes.filter(pc.equal(changes["_change_type"], "insert")).sort_by("_event_time")
    for store in sorted(set(inserts["store"].to_pylist())):
        mine = inserts.filter(pc.equal(inserts["store"], store))
        times = mine["_event_time"].cast(pa.timestamp("us")).to_numpy()
        axes.step(times, mine["revenue"].to_numpy(), where="post", label=store, linewidth=1)
    axes.set_title("Revenue of the last hour, at every instant")
    axes.set_ylabel("revenue")
    axes.legend()
    axes.grid(alpha=0.3)
    figure.autofmt_xdate()
    figure.savefig(file)
    return file


@dataclass(frozen=True)
class Verdict:
    """What a comparison found: rows that agree, rows missing, rows that should not be there."""

    rows: int
    missing: int = 0
    unexpected: int = 0

    @property
    def is_equal(self) -> bool:
        """Whether both bags are the same."""
        return not (self.missing or self.unexpected)


def compare(actual: pa.Table, expected: pa.Table) -> Verdict:
    """Compares exactly, to the last bit of every float."""
    actual = actual.select(expected.column_names).cast(expected.schema)
    keys = [(name, "ascending") for name in expected.column_names]
    # Sorting is quick and nearly always ends it; only a difference is worth counting row by row.
    if actual.sort_by(keys).combine_chunks() == expected.sort_by(keys).combine_chunks():
        return Verdict(expected.num_rows)
    found, wanted = (
        Counter(zip(*(column.to_pylist() for column in table.columns), strict=True))
        for table in (actual, expected)
    )
    return Verdict(
        rows=(found & wanted).total(),
        missing=(wanted - found).total(),
        unexpected=(found - wanted).total(),
    )


PICTURE = Path("windrow-demo.png")
SAMPLE_ROWS = 5


@dataclass(frozen=True)
class Outcome:
    """One question, answered and checked."""

    question: Question
    seconds: float
    steady_per_s: float
    tuples: int
    answer: pa.Table
    verdict: Verdict


def show_demo(*, is_quick: bool, stdout: Terminal, debug: bool = False) -> bool:
    """Runs the demo; gives whether every answer was right."""
    from windrow.run.spark.launch import launch

    folder = Path(tempfile.mkdtemp(prefix="windrow-demo-"))
    try:
        size = QUICK if is_quick else FULL
        streams = generate(size)
        folders = write(streams, folder / "streams", size.batches)
        stdout.say(_about(streams, size))
        stdout.print("Starting Spark in local mode ...")
        spark = launch("windrow-demo", {}, log_level="error" if debug else "fatal")
        try:
            run = DemoRun(spark, folder, folders, streams, stdout)
            outcomes = [run.ask(question) for question in QUESTIONS]
        finally:
            spark.stop()
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    _summarize(outcomes, stdout)
    return all(outcome.verdict.is_equal for outcome in outcomes)


@dataclass(frozen=True)
class DemoRun:
    """What every question of the demo is asked of, and where it is shown."""

    spark: ClassicSpark
    scratch: Path
    folders: dict[str, Path]
    streams: Streams
    stdout: Terminal

    def ask(self, question: Question) -> Outcome:
        """Explains, runs, shows and checks one question."""
        self.stdout.print()
        self.stdout.print(Rule(question.name, align="left"))
        self.stdout.say(f"{question.about}\n")
        session = self._session(question)
        self.stdout.say(question.sql)
        self.stdout.print()
        self.stdout.say(session.explain(question.sql))
        answer, batches, seconds = self._run(session, question)
        tuples = sum(self.streams[name].num_rows for name in question.streams)
        steady = steady_per_s(batches)
        self.stdout.say(
            f"{tuples:,} tuples in {seconds:.1f} s, Spark's start and compiling included; "
            f"{steady:,.0f} tuples/s in a steady micro-batch"
        )
        self.stdout.print(_sample(answer))
        started = time.monotonic()
        verdict = compare(answer, question.expected(self.streams, batches[-1].watermark))
        took = time.monotonic() - started
        self.stdout.print(_verdict(verdict).append(f" (plain SQL, by DuckDB: {took:.1f} s)"))
        return Outcome(question, seconds, steady, tuples, answer, verdict)

    def _session(self, question: Question) -> windrow.Session:
        session = windrow.Session(self.spark)
        for name in question.streams:
            folder = str(self.folders[name])
            schema = self.spark.read.parquet(folder).schema
            reader = self.spark.readStream.schema(schema).option("maxFilesPerTrigger", 1)
            rows = reader.parquet(folder)
            session.stream(name, rows, time="ts", lateness=f"{LATENESS_S} seconds")
        return session

    def _run(
        self, session: windrow.Session, question: Question
    ) -> tuple[pa.Table, list[Progress], float]:
        """Streams the question to its end; gives the answer, its batches, the seconds."""
        from windrow.run.spark.progress import await_query

        out = self.scratch / question.name.replace(" ", "-")
        started = time.monotonic()
        running = (
            session.sql(question.sql)
            .writeStream.format("parquet")
            .option("path", str(out / "answer"))
            .option("checkpointLocation", str(out / "checkpoint"))
            .trigger(availableNow=True)
            .start()
        )
        reader = session.progress_reader(question.sql)
        lines = _Lines(self.stdout)
        with self.stdout.status("streaming"):
            await_query(running, reader, lines)
        seconds = time.monotonic() - started
        if not lines.batches:
            raise InternalError("no-progress", f"Spark reported nothing of the {question.name}")
        return pq.read_table(out / "answer"), lines.batches, seconds


class _Lines(ProgressView):
    """Progress as a line per micro-batch, as soon as it is done."""

    def __init__(self, stdout: Terminal) -> None:
        self._stdout = stdout
        self.batches: list[Progress] = []

    def show(self, progress: Progress) -> None:
        """Prints the record, and keeps it."""
        self.batches.append(progress)
        self._stdout.say(f"  {progress.line()}")

    def warn(self, text: str) -> None:
        """Prints the warning."""
        self._stdout.say(f"  warning: {text}")


def steady_per_s(batches: list[Progress]) -> float:
    """Tuples per second of the median micro-batch, the first two (compiling) left out."""
    rates = [
        (batch.rows_in - before.rows_in) / batch.ms * 1_000
        for before, batch in pairwise(batches[1:])
        if batch.rows_in > before.rows_in and batch.ms > 0
    ]
    return median(rates) if rates else 0.0


def _about(streams: Streams, size: Size) -> str:
    rows = ", ".join(f"{name} {table.num_rows:,}" for name, table in streams.items())
    return (
        f"Generated {size.hours} hours of tuples: {rows}.\n"
        f"They arrive up to {LATENESS_S} s out of order, in {size.batches} micro-batches."
    )


def _sample(answer: pa.Table) -> Group:
    """A few rows from the middle of the answer, instants as times of day."""
    instants = [field.name for field in answer.schema if pa.types.is_timestamp(field.type)]
    others = [name for name in answer.column_names if name not in instants]
    keys = [(name, "ascending") for name in (*instants, *others)]
    rows = answer.sort_by(keys).slice(answer.num_rows // 2, SAMPLE_ROWS)
    for name in instants:
        of_day = pc.strftime(pc.floor_temporal(rows[name], unit="second"), "%H:%M:%S")
        shown = pc.utf8_slice_codeunits(of_day, 0, len("08:00:00"))
        rows = rows.set_column(rows.column_names.index(name), name, shown)
    return readable(rows, total=answer.num_rows, title="from the middle of the answer")


def _verdict(verdict: Verdict) -> Text:
    if verdict.is_equal:
        rows = f": all {verdict.rows:,} rows, and no others"
        return Text.assemble(("correct", "bold green"), rows)
    rows = (
        f": {verdict.missing:,} rows missing, "
        f"{verdict.unexpected:,} unexpected, {verdict.rows:,} agree"
    )
    return Text.assemble(("WRONG", "bold red"), rows)


def _summarize(outcomes: list[Outcome], stdout: Terminal) -> None:
    picture: Path | None = None
    table = Table(
        title="Three questions on Spark, streaming (steady: tuples per second of a micro-batch)",
        title_justify="left",
    )
    for name in ("question", "tuples in", "rows out", "seconds", "steady/s", "check"):
        table.add_column(name, justify="left" if name in {"question", "check"} else "right")
    for outcome in outcomes:
        table.add_row(
            outcome.question.name,
            f"{outcome.tuples:,}",
            f"{outcome.answer.num_rows:,}",
            f"{outcome.seconds:.1f}",
            f"{outcome.steady_per_s:,.0f}",
            Text("same rows", "green") if outcome.verdict.is_equal else Text("DIFFERENT", "red"),
        )
        if outcome.question is AGGREGATE:
            picture = plot_revenue(outcome.answer, PICTURE)
    stdout.print()
    stdout.print(table)
    if picture is not None:
        stdout.say(f"Revenue of the last hour over the day: {picture.resolve()}")
