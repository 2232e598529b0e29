"""Where an answer goes when a job runs in process: a folder of files, or the terminal.

The answer of a query that sheds is a part of the whole one, and is marked where its rows are: by a
line below those on the terminal, by a file beside those in a folder, whatever their format.
"""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet

from windrow.cli.errors import JobError
from windrow.cli.job import Sink
from windrow.run.readable import readable, show_value
from windrow.run.recall import Recall
from windrow.run.terminal import Terminal

MOST_ROWS_SHOWN = 20

RECALL_FILE = "_recall.json"
"""Beside the files of an answer; what reads a folder of data leaves such names out."""


class FolderSink:
    """Writes batches as numbered parts into one folder: part-00000.parquet and so on."""

    def __init__(self, sink: Sink) -> None:
        self.format = sink.format
        self.folder = Path(sink.path)
        self.parts = 0
        check_free(sink)
        if sink.overwrite and any(self.folder.iterdir()):
            shutil.rmtree(self.folder)
            self.folder.mkdir(parents=True)

    def write(self, table: pa.Table) -> None:
        """Adds one part; a reader never sees half of it."""
        suffix = "json" if self.format == "json" else self.format
        target = self.folder / f"part-{self.parts:05d}.{suffix}"
        unfinished = target.with_name(f".{target.name}.unfinished")
        _WRITERS[self.format](table, unfinished)
        unfinished.rename(target)
        self.parts += 1


def check_free(sink: Sink) -> None:
    """Makes the folder of a sink that is to take a whole answer; refused where it holds files."""
    make_folder(sink.path)
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


def write_recall(path: str, recall: Recall | None) -> None:
    """Says it beside the files of such a query, in a folder on this machine."""
    if recall is not None:
        file = Path(path) / RECALL_FILE
        file.write_text(json.dumps(recall.as_dict()) + "\n", encoding="utf-8")


def check_columns(format_: str, schema: pa.Schema) -> None:
    """Refuses columns that a format cannot hold."""
    for column in schema:
        if format_ == "csv" and pa.types.is_nested(column.type):
            raise JobError.sink_type("csv", column.name, str(column.type))


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
