"""What lies at a path: one file, a folder with its subfolders, a pattern, or the folder of a files sink."""

from __future__ import annotations

import fnmatch
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import unquote

import pyarrow.fs as pafs

from windrow.errors import BindError, DataError
from windrow.io.data_files import (
    COMPRESSIONS,
    WILD,
    changed,
    files_below,
    is_hidden,
    is_hidden_in,
    is_of_format,
    matched,
    unreadable,
)
from windrow.io.epoch_log import Committed
from windrow.io.file_formats import READABLE, DataFile
from windrow.io.file_systems import is_local

NO_VALUE = "__HIVE_DEFAULT_PARTITION__"
"""What a folder's name says of a column that is NULL in its files."""


class Listing:
    """The files at a path.

    Args:
        system: the file system.
        root: the path there.
        format_: of the files.
    """

    def __init__(self, system: pafs.FileSystem, root: str, format_: str) -> None:
        self._system = system
        self._path = root
        self._format = format_
        self._committed = Committed(system, root)
        self._placed: dict[str, DataFile] = {}
        self._is_of_others = False
        self.is_kept = False
        """Whether a sink keeps a log here, as far as is known."""

    def files(self) -> list[DataFile]:
        """All files that are there now, in any order.

        Raises:
            BindError: a pattern matches a folder, or a file is compressed in a way that is not read.
            DataError: a sink has begun to write among the files that are read.
        """
        if self._has_log():
            if self._is_of_others:
                raise _written_into(self._path)
            return list(self._of_sink())
        found = []
        for path, size, time_ns in self._listed():
            _check_compression(self._format, path)
            if size or self._format == "parquet":  # a text file without a byte has no rows yet
                found.append(self._file(path, size, time_ns))
        if found and self._has_log():  # they may be the first that the sink has put here
            return list(self._of_sink())
        self._is_of_others = bool(found)
        return found

    def find(self, file: DataFile, *, is_again: bool = False) -> DataFile:
        """A file as it was when an offset was made, where it is now.

        Args:
            file: its name, size and time; and its path, if the folder was looked at just now.
            is_again: whether it was not where it was said to be.

        Raises:
            FileNotFoundError: it is gone.
            DataError: it has changed.
        """
        if file.path and not is_again and not self.is_kept:
            return file
        name = file.name
        if self._has_log():
            if is_again or name not in self._placed:
                list(self._of_sink())
            if name not in self._placed:
                raise FileNotFoundError(name)
            return self._placed[name]
        path = self._path if WILD.search(name) is None and self._is_file() else self._full(name)
        info = self._system.get_file_info(path)
        if info.type != pafs.FileType.File:
            raise FileNotFoundError(path)
        now_ns = _time_ns(info)
        if (info.size, now_ns) != (file.size, file.time_ns):
            raise changed(path, file.size, info.size)
        return self._file(path, file.size, file.time_ns)

    def series(self, name: str) -> str | None:
        """The run that a file is of, where a sink keeps a log: its files come in order, and stay there."""
        return name.split("-", 3)[-1] if self.is_kept else None

    def said_columns(self) -> str | None:
        """The columns, where the sink has said them that writes here."""
        about = self._committed.about() if self._has_log() else None
        return about["columns"] if about is not None else None

    def _has_log(self) -> bool:
        self.is_kept = self.is_kept or self._committed.is_kept()
        return self.is_kept

    def _of_sink(self) -> Iterator[DataFile]:
        for placed in self._committed.parts():
            part = placed.part
            file = DataFile(
                part.name,
                part.size,
                placed.time_ns,
                placed.path,
                placed.shift,
                part.rows,
                part.header,
                part.values,
            )
            self._placed[file.name] = file
            yield file

    def _is_file(self) -> bool:
        return bool(self._system.get_file_info(self._path).type == pafs.FileType.File)

    def _base(self) -> str:
        """The folder that names are told from."""
        wild = WILD.search(self._path)
        above = self._path[: wild.start()] if wild else f"{self._path}/"
        return above.rpartition("/")[0]

    def _full(self, name: str) -> str:
        return f"{self._base()}/{name}"

    def _file(self, path: str, size: int, time_ns: int) -> DataFile:
        base = f"{self._base()}/"
        name = path.removeprefix(base) if path.startswith(base) else path.rpartition("/")[2]
        values: dict[str, str | None] = {}
        for part in name.split("/")[:-1]:
            column, has_value, value = part.partition("=")
            if has_value:
                values[unquote(column)] = None if value == NO_VALUE else unquote(value)
        return DataFile(name, size, time_ns, path, values=values)

    def _listed(self) -> Iterator[tuple[str, int, int]]:
        """Paths, sizes and times of the files at the path."""
        if is_local(self._system):
            for path in self._local():
                try:
                    told = Path(path).stat()
                except FileNotFoundError:
                    continue  # it went as we looked
                yield path, told.st_size, told.st_mtime_ns
            return
        info = self._system.get_file_info(self._path)
        if info.type == pafs.FileType.File:
            yield self._path, info.size, _time_ns(info)
            return
        is_pattern = WILD.search(self._path) is not None
        base = self._base()
        selector = pafs.FileSelector(base, recursive=True, allow_not_found=True)
        for own in self._system.get_file_info(selector):
            path = own.path
            below = path.removeprefix(f"{base}/").split("/")
            if own.type != pafs.FileType.File or any(map(is_hidden, below)):
                continue
            if _matches(self._path, path) if is_pattern else is_of_format(self._format, path):
                yield path, own.size, _time_ns(own)

    def _local(self) -> Iterator[str]:
        path = Path(self._path)
        if path.is_dir():

            def refuse(error: OSError) -> None:
                raise unreadable(str(error.filename), error.strerror or str(error))

            found = files_below(path, refuse)
            yield from (own for own in found if is_of_format(self._format, own))
        elif path.is_file():
            yield self._path
        else:
            for own in matched(self._path):
                if Path(own).is_dir():
                    raise BindError(
                        "pattern-of-folder",
                        f"{self._path!r} matches the folder {own!r}",
                        reason="a pattern names files",
                        hint="write  /*  behind it for the files of such folders, or give the"
                        " folder above as path",
                    )
                yield own


def _time_ns(info: pafs.FileInfo) -> int:
    return int(info.mtime_ns or 0)


def _written_into(path: str) -> DataError:
    return DataError(
        "sink-among-files",
        f"an answer is written into {path!r}, from which files are read that are none of its parts",
        reason="in the folder of a files sink its parts are read, and nothing else",
        hint="let the answer go to a folder of its own, and remove _windrow from this one",
    )


def _matches(pattern: str, path: str) -> bool:
    parts, wanted = path.split("/"), pattern.split("/")
    if len(parts) != len(wanted) or is_hidden_in(pattern, path):
        return False
    return all(fnmatch.fnmatchcase(own, part) for own, part in zip(parts, wanted, strict=True))


def _check_compression(format_: str, path: str) -> None:
    last = Path(path).suffix
    if last.lower() in COMPRESSIONS and (format_ == "parquet" or last not in READABLE):
        raise DataError(
            "unknown-compression",
            f"{path!r} is compressed in a way that is not read",
            reason="a Parquet file is compressed within, if at all"
            if format_ == "parquet"
            else f"text files are read as they are, and with names that end in {', '.join(READABLE)}",
            hint="rewrite it, or name the other files by a pattern",
        )
