"""Where an answer goes when a job runs in process: a folder of files, or the terminal.

The answer of a query that sheds is a part of the whole one, and is marked where its rows are: by a
line below those on the terminal, by a file beside those in a folder, whatever their format.
"""

from __future__ import annotations

import contextlib
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Self

import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet

from windrow.cli.errors import JobError
from windrow.cli.job import Sink
from windrow.cli.swap import RECALL_FILE, held, replacing
from windrow.run.progress import Recall
from windrow.run.readable import readable, show_value
from windrow.run.terminal import Terminal

MOST_ROWS_SHOWN = 20


class FolderSink(contextlib.ExitStack):
    """Writes batches as numbered parts into one folder: part-00000.parquet and so on.

    To be entered: then the folder is this run's alone. An answer that replaces an older one is seen
    once it is complete, as the block is left; others part by part, as they are written.
    """

    def __init__(self, sink: Sink) -> None:
        super().__init__()
        self._sink = sink
        self.parts = 0

    def __enter__(self) -> Self:
        self.folder = self.enter_context(opened(self._sink))
        return super().__enter__()

    def write(self, table: pa.Table) -> None:
        """Adds one part; a reader never sees half of it."""
        self.folder.mkdir(exist_ok=True)
        target = self.folder / f"part-{self.parts:05d}.{self._sink.format}"
        unfinished = target.with_name(f".{target.name}.unfinished")
        try:
            _WRITERS[self._sink.format](table, unfinished)
            unfinished.rename(target)
        except BaseException:
            unfinished.unlink(missing_ok=True)
            raise
        self.parts += 1


@contextlib.contextmanager
def opened(sink: Sink) -> Iterator[Path]:
    """Where to write the files of an answer, the sink's folder held meanwhile.

    That is the folder itself, or, where the answer replaces an older one, one whose files take the
    place of the older as the block is left without an error.
    """
    was_there = Path(sink.path).is_dir()
    make_folder(sink.path)
    try:
        with held(sink.path):
            check_free(sink)
            if not sink.overwrite:
                yield Path(sink.path)
                return
            with replacing(sink.path) as new:
                yield new
    except BaseException:
        if not was_there:
            with contextlib.suppress(OSError):  # it holds parts
                Path(sink.path).rmdir()
        raise


def check_free(sink: Sink) -> None:
    """Refuses a sink that holds files, where it is to take a whole answer and replaces none."""
    if any(Path(sink.path).iterdir()) and not sink.overwrite:
        raise JobError.sink_exists(sink.path)


def make_folder(path: str) -> None:
    """Makes a folder that is to be written to, refused where there can be none."""
    folder = Path(path)
    if folder.is_file():
        raise JobError.sink_not_writable(path, "it is a file, not a folder")
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except (OSError, ValueError) as error:  # of a path that no system takes, a ValueError
        problem = getattr(error, "strerror", None) or str(error)
        raise JobError.sink_not_writable(path, problem) from error


def show_recall(console: Terminal, recall: Recall | None) -> None:
    """Says below the rows of a query that sheds which part of the answer they are."""
    if recall is not None:
        console.say(f"the query sheds: {recall}")


def write_recall(folder: Path, recall: Recall | None) -> None:
    """Says it beside the files of such a query, in a folder on this machine."""
    if recall is not None:
        folder.mkdir(exist_ok=True)
        file = folder / RECALL_FILE
        file.write_text(json.dumps(recall.as_dict()) + "\n", encoding="utf-8")


def check_columns(format_: str, schema: pa.Schema) -> None:
    """Refuses columns that a format cannot hold."""
    for column in schema:
        if format_ == "csv" and pa.types.is_nested(column.type):
            raise JobError(
                "sink-type",
                f"csv has no place for the column {column.name!r}, which is {column.type}",
                hint='write  format = "parquet"  or "json", or cast the column to STRING',
            )


def _write_csv(table: pa.Table, file: Path) -> None:
    check_columns("csv", table.schema)
    pa.csv.write_csv(table, file)


def _write_json(table: pa.Table, file: Path) -> None:
    with file.open("w", encoding="utf-8") as lines:
        for batch in table.to_batches():
            for row in batch.to_pylist():
                lines.write(json.dumps(row, default=show_value, ensure_ascii=False) + "\n")


_WRITERS = {
    "parquet": pa.parquet.write_table,
    "csv": _write_csv,
    "json": _write_json,
}


class TerminalSink:
    """Keeps the first rows of the answer and shows them at the end, with the number of all."""

    def __init__(self, console: Terminal) -> None:
        self.console = console
        self.kept: list[pa.Table] = []
        self.rows = 0

    def write(self, table: pa.Table) -> None:
        """Takes in one part of the answer."""
        missing = MOST_ROWS_SHOWN - min(self.rows, MOST_ROWS_SHOWN)
        if missing:
            self.kept.append(table.slice(0, missing))
        self.rows += table.num_rows

    def show(self, schema: pa.Schema, recall: Recall | None = None) -> None:
        """Prints the sample, and the recall of a query that sheds."""
        sample = pa.concat_tables(self.kept) if self.kept else schema.empty_table()
        self.console.print(readable(sample, total=self.rows))
        show_recall(self.console, recall)
