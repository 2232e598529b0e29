"""Files as a source: what is in a folder, and what comes, in a stated order, cut into ranges.

There is one partition. An offset says itself what the range that ends there reads, so that the range is
the same whatever has come since:

    {"number": 7,                                   the ranges until here
     "files": [["a.csv", 900, 17.., 400, 900, 900],   what range 7 reads: name, size, time, from, to, length
               ["b.csv", 500, 18.., 0, 120, 500]],
     "recent": [["a.csv", 900, 17..], ..],          the files read last, to see that none has changed
     "below": {"files": "Fx2..", "series": {}}}     and those before: `FilesRead`

A file that was read, or partly, must stay as it is. In the folder of a files sink the parts of committed
epochs are read, in the order of their commits, and nothing else.
"""

from __future__ import annotations

import base64
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set
from functools import partial
from hashlib import blake2b
from itertools import pairwise
from typing import TYPE_CHECKING, Any, TypeVar

import pyarrow as pa

from windrow.errors import DataError, InternalError
from windrow.io.data_files import changed
from windrow.io.ddl import parse_ddl
from windrow.io.file_formats import ROW_BYTES, DataFile
from windrow.io.file_listing import Listing
from windrow.io.file_systems import located, on_files
from windrow.io.protocol import FEW_ROWS, PART_ROWS, Aside, Json, Offsets, Source
from windrow.operators.columns.arrow_types import arrow_schema, spark_schema

if TYPE_CHECKING:
    from windrow.io.files import Files


MOST_RECENT = 500
"""Files that an offset tells of."""

LONGEST_PAUSE_S = 0.2
"""Between two looks into a folder; a tenth of the time is spent on them at most, or this is the pause."""

MOST_MOVES = 5
"""So often in a row a file may be elsewhere when it is opened: put in place, or merged with others."""

_HASH_BYTES = 6
NOTHING: Mapping[str, Json] = {"files": "", "series": {}}

_ALL = "0"
_NOTHING: dict[str, Any] = {"number": 0, "files": [], "recent": [], "below": NOTHING}

T = TypeVar("T")


class FilesSource(Source):
    """The rows of files, those that come later too."""

    def __init__(self, about: Files, wanted: frozenset[str] | None = None) -> None:
        self._about = about
        self._wanted = wanted
        self._system, root = located(about.path, about.storage)
        self._listing = Listing(self._system, root, about.format)
        self._formats = about.formats(self._system)
        self._columns: pa.Schema | None = None
        self._aside: list[Aside] = []
        self._known: dict[str, tuple[int, int]] = {}
        self._known_at: Json = None
        self._long_ago = FilesRead(NOTHING)
        self._backlog: list[DataFile] = []
        self._looked = (0.0, 0.0)

    def __reduce__(self) -> tuple[Any, ...]:
        return FilesSource, (self._about, self._wanted)

    def only(self, columns: Set[str]) -> Source:
        """Of Parquet. In text, which lines are bad depends on all columns."""
        if self._about.format != "parquet":
            return self
        return FilesSource(self._about, frozenset(columns))

    def columns(self) -> pa.Schema:
        """As they are stated, as the sink has said that wrote them, or as the first file has them."""
        if self._columns is None:
            with on_files(self._about.path, "be read"):
                found = self._found_columns()
            names = found.names if self._wanted is None else self._wanted
            self._columns = pa.schema([own for own in found if own.name in names])
        return self._columns

    def start(self) -> Offsets:
        """Before the first file."""
        return {_ALL: dict(_NOTHING)}

    def latest(self, since: Offsets, most_rows: int = FEW_ROWS) -> Offsets:
        """The rest of the file that was read last, then files that are new."""
        before = since[_ALL]
        most = min(most_rows, self._about.batch_rows or most_rows)
        room, files = self._about.batch_bytes, []
        with on_files(self._about.path, "be read"):
            for file, start in self._next(before):
                length, end, rows = self._found(file, partial(self._cut, start, most, room))
                files.append([file.name, file.size, file.time_ns, start, end, length])
                if end < length:
                    break
                most -= rows
                room -= max(1, file.size * (end - start) // max(1, length))
                if most <= 0 or room <= 0:
                    break
        if not files:
            return since
        return {_ALL: self._reached(before, files)}

    def parts(
        self,
        partition: str,  # noqa: ARG002
        start: Json | None,
        end: Json,
    ) -> Sequence[tuple[Json | None, Json]]:
        """Parquet is cut at rows; of text nobody knows where they end, and its files are told apart."""
        found: list[list[Json]] = []
        room = 0
        for piece, rows in (piece for file in end["files"] for piece in self._pieces(file)):
            if not found or rows > room:
                found.append([])
                room = PART_ROWS
            found[-1].append(piece)
            room -= rows
        before = None if start is None else {"number": start["number"]}
        return [(before, {"number": end["number"], "files": own}) for own in found]

    def read(self, partition: str, start: Json | None, end: Json) -> Iterator[pa.RecordBatch]:  # noqa: ARG002
        """What the end says."""
        if (start or _NOTHING)["number"] + 1 != end["number"]:
            raise InternalError(
                "ranges-apart",
                "a range of files ends elsewhere than where the next one begins",
                reason=f"it was asked for from {(start or _NOTHING)['number']} to {end['number']}",
            )
        columns = self.columns()
        for name, size, time_ns, first, last, _ in end["files"]:
            if first == last:
                continue
            with on_files(self._about.path, "be read"):
                batches = self._found(
                    DataFile(name, size, time_ns), partial(self._rows, first, last, columns)
                )
            yield from batches
            self._aside += [
                Aside(_ALL, [name, place], why, content)
                for place, why, content in self._formats.take_aside()
            ]

    def take_aside(self) -> Sequence[Aside]:
        """The bad rows, where they are kept."""
        found, self._aside = self._aside, []
        return found

    def close(self) -> None:
        """Closes files, and forgets what is held of them."""
        self._formats.close()

    def _pieces(self, file: Json) -> Iterator[tuple[Json, int]]:
        """What is read of a file in pieces that one task may read each, and about how many rows they have."""
        name, size, time_ns, first, last, length = file
        if self._about.format != "parquet":
            yield file, size * (last - first) // max(1, length) // ROW_BYTES
            return
        count = max(1, round((last - first) / PART_ROWS))
        for begun, ended in pairwise(first + (last - first) * n // count for n in range(count + 1)):
            yield [name, size, time_ns, begun, ended, length], ended - begun

    def _found_columns(self) -> pa.Schema:
        if self._about.schema is not None:
            return arrow_schema(parse_ddl(self._about.schema))
        said = self._listing.said_columns()
        if said is not None:
            return arrow_schema(parse_ddl(said))
        files = sorted(self._listing.files(), key=self._key)
        if not files:
            raise DataError(
                "no-data-files",
                f"there is no file at {self._about.path!r} that says what columns there will be",
                reason=f"a path is one file, a folder with .{self._about.format} files, or a pattern",
                hint='state the columns: schema="id BIGINT, ts TIMESTAMP"',
            )
        own = self._formats.columns(files[0])
        fields = [f for f in own if f.name not in files[0].values]
        named = [pa.field(name, pa.string()) for name in files[0].values]
        return arrow_schema(spark_schema(pa.schema([*fields, *named])))

    def _key(self, file: DataFile) -> list[Json]:
        return [file.time_ns, file.name] if self._is_by_time() else [file.name]

    def _is_by_time(self) -> bool:
        """Whether a file may be read whenever it is found: parts of a sink are as they were committed."""
        return self._about.order == "time" or self._listing.is_kept

    def _next(self, before: Json) -> Iterator[tuple[DataFile, int]]:
        """What to read behind an offset: a file, and from where."""
        if self._known_at != before:
            self._known = {name: (size, at) for name, size, at in before["recent"]}
            self._known_at, self._backlog = before, []
            self._long_ago = FilesRead(before["below"])
        if before["files"]:
            name, size, time_ns, _, end, length = before["files"][-1]
            if end < length:
                yield DataFile(name, size, time_ns), end
        if not self._backlog:
            self._backlog = self._look(before)
        for file in list(self._backlog):
            yield file, 0

    def _cut(self, start: int, most_rows: int, most_bytes: int, file: DataFile) -> list[int]:
        """The length of a file, where to end that begins at a place, and how many rows that is."""
        length = self._formats.length(file)
        if start >= length:
            return [length, start, 0]
        return [length, *self._formats.cut(file, start, most_rows, most_bytes)]

    def _rows(
        self, start: int, end: int, columns: pa.Schema, file: DataFile
    ) -> list[pa.RecordBatch]:
        return list(self._formats.read(file, start, end, columns))

    def _found(self, file: DataFile, use: Callable[[DataFile], T]) -> T:
        """What is got of a file, which may be moved by the sink that writes to its folder meanwhile."""
        for number in range(MOST_MOVES):
            try:
                return use(self._listing.find(file, is_again=number > 0))
            except FileNotFoundError as error:
                missing = error
        raise _gone(file.path or file.name) from missing

    def _look(self, before: Json) -> list[DataFile]:
        """The files that are new, in order."""
        looked, took = self._looked
        time.sleep(max(0.0, min(looked + 10 * took - time.monotonic(), LONGEST_PAUSE_S)))
        began = time.monotonic()
        files = self._listing.files()
        self._looked = (time.monotonic(), time.monotonic() - began)
        new = []
        for file in files:
            now = (file.size, file.time_ns)
            known = self._known.get(file.name)
            if known is None and self._long_ago.has(file.name, self._listing.series(file.name)):
                known = self._known[file.name] = now  # as it is, for all that is known
            if known is None:
                new.append(file)
            elif known != now:
                raise changed(file.path, known[0], file.size)
        self._long_ago.keep(file.name for file in files)
        new.sort(key=self._key)
        if new and before["recent"] and not self._is_by_time():
            newest = max(name for name, _, _ in before["recent"])
            if new[0].name < newest:
                raise _out_of_order(new[0], newest)
        return new

    def _reached(self, before: Json, files: list[Json]) -> Json:
        """The offset behind what is to be read."""
        begun = [own[:3] for own in files if own[3] == 0]
        begun = [own for own in begun if own[0] not in self._known]
        self._known.update((name, (size, at)) for name, size, at in begun)
        self._backlog = self._backlog[len(begun) :]
        recent = [*before["recent"], *begun]
        for name, _, _ in recent[:-MOST_RECENT]:
            self._long_ago.add(name, self._listing.series(name))
        end = {"number": before["number"] + 1, "files": files, "recent": recent[-MOST_RECENT:]}
        end["below"] = self._long_ago.told()
        self._known_at = end
        return end


def _out_of_order(file: DataFile, newest: str) -> DataError:
    return DataError(
        "file-out-of-order",
        f"{file.path!r} has come, and sorts before {newest!r}, which was read",
        reason="rows that were read are not read again, and rows that come in between would be"
        " read in another order after a restart",
        hint='give new files names that sort behind the others, or take order="time"',
    )


def _gone(path: str) -> DataError:
    return DataError(
        "file-gone",
        f"{path!r} is gone, and was not read to its end",
        reason="what was read and is not in a checkpoint yet may have to be read again",
        hint="put it back; remove files some time after they were read",
    )


class FilesRead:
    """Files that were read long ago: what an offset keeps of them, so that a new one is told from them.

        {"files": "Fx2..", "series": {"1f0c2a9b": "part-0000000007-00000-1f0c2a9b.csv"}}

    Of each file that is still there, eight letters: a hash of 48 bits of its name. Those that were
    removed are forgotten, so this grows with the folder, which has to be looked through anyway. The
    parts of a run in the folder of a files sink come in the order of their names and are never removed
    from its log: of all of them, the last says enough.

    Args:
        told: of an offset.

    Examples:
        >>> read = FilesRead(NOTHING)
        >>> read.add("a.csv")
        >>> again = FilesRead(read.told())
        >>> again.has("a.csv"), again.has("b.csv")
        (True, False)
    """

    def __init__(self, told: Json) -> None:
        hashes = base64.b64decode(told["files"])
        begins = range(0, len(hashes), _HASH_BYTES)
        self._hashes = {hashes[at : at + _HASH_BYTES]: None for at in begins}
        self._series: dict[str, str] = dict(told["series"])
        self._hashed: dict[str, bytes] = {}

    def has(self, name: str, series: str | None = None) -> bool:
        """Whether a file was read."""
        if series is not None:
            return name <= self._series.get(series, "")
        return bool(self._hashes) and self._hash(name) in self._hashes

    def add(self, name: str, series: str | None = None) -> None:
        """A file was read, of a run's those before it too."""
        if series is not None:
            self._series[series] = max(name, self._series.get(series, ""))
        else:
            self._hashes[self._hash(name)] = None

    def keep(self, there: Iterable[str]) -> None:
        """Forgets the files that are not there."""
        if self._hashes:
            found = set(map(self._hash, there))
            if not found.issuperset(self._hashes):
                self._hashes = {own: None for own in self._hashes if own in found}

    def told(self) -> Json:
        """What an offset keeps."""
        hashes = base64.b64encode(b"".join(self._hashes))
        return {"files": hashes.decode(), "series": dict(self._series)}

    def _hash(self, name: str) -> bytes:
        if name not in self._hashed:
            self._hashed[name] = blake2b(name.encode(), digest_size=_HASH_BYTES).digest()
        return self._hashed[name]
