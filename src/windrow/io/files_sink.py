"""Files as a sink: parts that are seen epoch by epoch.

    write(7)     _windrow/parts/RUN/..              nobody looks there
    commit(7)    _windrow/epochs/RUN/7.json         by one rename: from now on epoch 7 is committed
                 part-0000000007-00000-RUN.parquet  by a rename for each part

An epoch of one part is seen whole or not at all by everybody. One of several, from tasks on Spark or with
partitions, is seen whole by whoever reads the log (`windrow.files` as a source does, and so does
`committed_files`); whoever lists the folder may see some of its parts for as long as the renames take.

Killed between the two, the log has the epoch, and `open` puts the rest of its parts in place. What else is
in `parts` then was never committed, and is removed. A run that has opened the folder is the only one that
commits there until another process opens it for the same run (`folder_owner.py`).
"""

from __future__ import annotations

import json
import time
import uuid
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.csv as pacsv
import pyarrow.fs as pafs
import pyarrow.parquet as pq

from windrow.errors import BindError
from windrow.io.epoch_log import FOLDER, Committed, Epoch, EpochLog, EpochPart, Merge
from windrow.io.file_folders import by_folder, check_lengths, check_partitions, folders_of
from windrow.io.file_systems import (
    located,
    move_file,
    names_in,
    on_files,
    put_file,
    remove_file,
    write_file,
)
from windrow.io.folder_owner import FolderOwner
from windrow.io.json_lines import check_columns, json_lines
from windrow.io.protocol import NO_EPOCH, Answer, Json, Sink
from windrow.operators.columns.arrow_types import spark_schema
from windrow.schema import CHANGE_TYPE, EVENT_TIME

if TYPE_CHECKING:
    from windrow.io.files import Files

MOST_OF_A_LEVEL = 16
"""Parts that were merged equally often, and are not merged yet."""


class FilesSink(Sink):
    """Writes parts into a folder."""

    def __init__(self, about: Files) -> None:
        self._about = about
        self._run = ""
        self._last = NO_EPOCH
        self._time_ns = 0

    def __getstate__(self) -> dict[str, Any]:
        owner = self._owner.name if self._run else ""
        return {"about": self._about, "run": self._run, "last": self._last, "owner": owner}

    def __setstate__(self, told: Mapping[str, Any]) -> None:
        self.__init__(told["about"])  # type: ignore[misc]  # what is open stays where it is
        self._use(told["run"], told["owner"])
        self._last = told["last"]

    def open(self, run: str, answer: Answer) -> int:
        """Puts in order what an earlier process has left."""
        check_partitions(self._about.partition_by, answer.columns, has_more=answer.is_changelog)
        inside = [own for own in answer.columns if own.name not in self._about.partition_by]
        check_columns(self._about.format, pa.schema(inside))
        # A run without a checkpoint has no name, and begins anew whenever it is started.
        self._use(run or uuid.uuid4().hex)
        with on_files(self._about.path, "be written"):
            for folder in (self._log.epochs_at, self._log.merged_at, self._log.parts_at):
                self._system.create_dir(folder, recursive=True)
            self._check_folder(answer)
            with self._owner.taking():
                last = self._log.last()
                self._last = NO_EPOCH if last is None else last.epoch
                self._time_ns = 0 if last is None else last.time_ns
                self._finish(last)
                for name in names_in(self._system, self._log.parts_at):
                    remove_file(self._system, f"{self._log.parts_at}/{name}")
        return self._last

    def write(self, epoch: int, batches: Iterable[pa.RecordBatch]) -> Json:
        """Writes parts that nobody sees; gives what `commit` has to know of them."""
        given = list(batches)
        parts: list[Json] = []
        if not sum(own.num_rows for own in given):
            return {"columns": None, "parts": parts}
        table = pa.Table.from_batches(given)
        with on_files(self._about.path, "be written"):
            shares = list(by_folder(table, self._about.partition_by))
            for values, _ in shares:
                check_lengths(self._system, self._root, values)
            for values, rows in shares:
                hidden = f"{epoch:010d}-{uuid.uuid4().hex}.{self._about.format}"
                path = f"{self._log.parts_at}/{hidden}"
                size, header = write_rows(self._system, path, rows, self._about)
                told = {"hidden": hidden, "values": values, "size": size, "rows": rows.num_rows}
                parts.append({**told, "header": header})
        return {"columns": spark_schema(table.schema).ddl(), "parts": parts}

    def commit(self, epoch: int, written: Sequence[Json]) -> None:
        """Writes the log of the epoch, then puts its parts in place."""
        target = f"the folder {self._about.path!r}"
        with on_files(self._about.path, "be written"), self._owner.holding(target):
            if epoch > self._last:
                self._say_columns(written)
                found = [part for own in written for part in own["parts"]]
                parts = tuple(self._part(epoch, n, told) for n, told in enumerate(found))
                self._time_ns = max(time.time_ns(), self._time_ns + 1)
                self._log.commit(Epoch(epoch, self._time_ns, parts))
                self._last = epoch
            if epoch == self._last:
                self._finish(self._log.last())
                self._sweep(epoch)
                self._log.fold()
                if self._about.compact_bytes is not None:
                    merge_small_parts(self._system, self._root, self._log, self._about)

    def _use(self, run: str, owner: str = "") -> None:
        self._run = run
        self._system, self._root = located(self._about.path, self._about.storage)
        self._log = EpochLog(self._system, self._root, run)
        self._owner = FolderOwner(self._system, self._log.epochs_at, owner)

    def _check_folder(self, answer: Answer) -> None:
        """Refuses a folder whose parts have other columns."""
        told = Committed(self._system, self._root).about()
        if told is None:
            return
        own = self._told(answer.columns)
        there = {**told, "columns": told["answer"]}
        for name in ("columns", "format", "partition_by"):
            if there[name] != own[name]:
                raise BindError(
                    "sink-of-other-columns",
                    f"the folder {self._about.path!r} holds another answer",
                    reason=f"{name} there: {there[name]}; of this answer: {own[name]}",
                    hint="give this answer a folder of its own",
                )

    def _told(self, columns: pa.Schema) -> dict[str, Any]:
        about = self._about
        return {
            "columns": spark_schema(columns).ddl(),
            "format": about.format,
            "partition_by": list(about.partition_by),
        }

    def _say_columns(self, written: Sequence[Json]) -> None:
        """Keeps with the first rows which columns they have."""
        ddl = next((own["columns"] for own in written if own["columns"]), None)
        place = f"{self._root}/{FOLDER}/about.json"
        if ddl is None or Committed(self._system, self._root).about() is not None:
            return
        from windrow.io.ddl import parse_ddl  # noqa: PLC0415

        fields = [own for own in parse_ddl(ddl).fields if own.name not in {CHANGE_TYPE, EVENT_TIME}]
        told = {
            "layout": 1,
            "columns": ddl,
            "answer": type(parse_ddl(ddl))(tuple(fields)).ddl(),
            "format": self._about.format,
            "partition_by": list(self._about.partition_by),
        }
        put_file(self._system, place, json.dumps(told).encode())

    def _part(self, epoch: int, number: int, told: Json) -> EpochPart:
        name = f"part-{epoch:010d}-{number:05d}-{self._run[:8]}.{self._about.format}"
        return EpochPart(
            folders_of(told["values"]) + name,
            told["hidden"],
            told["size"],
            told["rows"],
            told["header"],
            told["values"],
        )

    def _finish(self, last: Epoch | None) -> None:
        """Puts parts in place that are committed, and are not there yet."""
        hidden = names_in(self._system, self._log.parts_at)
        if not hidden:
            return
        for merge in self._log.merges()[-1:]:
            if merge.into.hidden in hidden:
                for place, _ in merge.of:
                    remove_file(self._system, f"{self._root}/{place}")
                self._place(merge.into)
        for part in last.parts if last is not None else ():
            if part.hidden in hidden:
                self._place(part)

    def _place(self, part: EpochPart) -> None:
        place = f"{self._root}/{part.place}"
        if part.values:
            self._system.create_dir(place.rpartition("/")[0], recursive=True)
        move_file(self._system, f"{self._log.parts_at}/{part.hidden}", place)

    def _sweep(self, epoch: int) -> None:
        """Removes what was written of an epoch, or of one before it, by a try that was broken off."""
        for name in names_in(self._system, self._log.parts_at):
            if int(name.partition("-")[0]) <= epoch:
                remove_file(self._system, f"{self._log.parts_at}/{name}")


def write_rows(system: Any, path: str, rows: pa.Table, about: Files) -> tuple[int, int]:
    """Writes a part; gives its size, and how long its header is."""
    if about.format == "parquet":
        return write_file(system, path, lambda file: pq.write_table(rows, file)), 0
    if about.format == "json":
        return write_file(system, path, lambda file: file.write(json_lines(rows))), 0
    options = pacsv.WriteOptions(delimiter=about.delimiter, include_header=about.header)
    header = 0
    if about.header:
        only = pa.BufferOutputStream()
        pacsv.write_csv(rows.slice(0, 0), only, options)
        header = only.getvalue().size
    return write_file(system, path, lambda file: pacsv.write_csv(rows, file, options)), header


def committed_files(about: Files) -> list[str]:
    """The files that hold the committed epochs now, for others to read: whole epochs, each row once."""
    system, root = located(about.path, about.storage)
    return sorted({placed.path for placed in Committed(system, root).parts()})


def merge_small_parts(system: pafs.FileSystem, root: str, log: EpochLog, about: Files) -> None:
    """Merges small parts of committed epochs into larger ones, where there are enough of them.

        parts       a  b  c  ..  p        16 of a kind, or compact_bytes of them
        1  the new file, hidden
        2  merged/RUN/n.json              by one rename: who reads the log finds a to p in the new file
        3  a to p are removed, the new file takes its place

    Who lists the folder, and does not read the log, may miss their rows for as long as 3 takes, and
    never sees them twice. A row is merged again only with as many as it was merged with before.
    """
    unmerged = log.unmerged(about.compact_bytes or 0)
    while (chosen := unmerged.enough(MOST_OF_A_LEVEL)) is not None:
        level, parts = chosen
        into, of = _write(system, root, log, parts, about)
        log.merge(Merge(unmerged.merges, level + 1, into, of))
        for place, _ in of:
            remove_file(system, f"{root}/{place}")
        move_file(system, f"{log.parts_at}/{into.hidden}", f"{root}/{into.place}")


def _write(
    system: pafs.FileSystem, root: str, log: EpochLog, parts: list[EpochPart], about: Files
) -> tuple[EpochPart, tuple[tuple[str, int], ...]]:
    """The new file, hidden, and where the parts are in it."""
    first = parts[0]
    name = uuid.uuid4().hex
    folder = first.place.rpartition("/")[0]
    stem = first.name.partition(".")[0][:15]
    place = f"{folder}/" if folder else ""
    place += f"{stem}-merged-{name[:12]}.{about.format}"
    hidden = f"{first.name.split('-')[1]}-{name}.{about.format}"
    shifts: list[tuple[str, int]] = []
    at = first.header

    def copy(file: pa.NativeFile) -> None:
        nonlocal at
        if about.format == "parquet":
            at = 0
            tables = []
            for part in parts:
                with system.open_input_file(f"{root}/{part.place}") as opened:
                    tables.append(pq.read_table(opened))
                shifts.append((part.place, at))
                at += part.rows
            pq.write_table(pa.concat_tables(tables).combine_chunks(), file)
            return
        for number, part in enumerate(parts):
            with system.open_input_file(f"{root}/{part.place}") as opened:
                content = opened.read()
            shifts.append((part.place, at - part.header))
            at += len(content) - part.header
            file.write(content if number == 0 else content[part.header :])

    size = write_file(system, f"{log.parts_at}/{hidden}", copy)
    rows = sum(part.rows for part in parts)
    return EpochPart(place, hidden, size, rows, first.header, first.values), tuple(shifts)
