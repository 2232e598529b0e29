"""Which files are data, and how texts in them become values: the same wherever files are read.

Names that begin with `_` or a dot, and what lies in folders of such names, are passed over: markers
and half-written files have them. Texts of timestamps without a zone are read as UTC.
"""

from __future__ import annotations

import glob
import os
import re
from collections.abc import Callable, Iterator
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc

from windrow.errors import DataError

SUFFIXES = {
    "parquet": (".parquet", ".pq"),
    "csv": (".csv",),
    "json": (".json", ".jsonl", ".ndjson"),
}
COMPRESSIONS = {
    ".gz", ".bz2", ".gzip", ".zst", ".zstd", ".lz4", ".snappy", ".sz", ".xz", ".lzma", ".lzo", ".br",
    ".deflate", ".zip", ".7z", ".z",
}  # fmt: skip
"""Ends of names that say a file is compressed, whoever can read it."""

WILD = re.compile(r"[*?\[]")
EMPTY = re.compile(r"Empty CSV file|Empty JSON (?:stream|file)")
"""What Arrow says of a text file without a byte in it."""

ZONED = pa.timestamp("us", "UTC")
_ZONE_AT_END = r"(Z|[+-]\d\d(:?\d\d)?)$"


def is_hidden(name: str) -> bool:
    """Whether a file or a folder of this name is passed over."""
    return name.startswith(("_", "."))


def is_hidden_in(pattern: str, name: str) -> bool:
    """Whether what a pattern has left open is filled with a hidden name, or the last one is."""
    *above, last = zip(Path(pattern).parts, Path(name).parts, strict=True)
    return is_hidden(last[1]) or any(WILD.search(part) and is_hidden(own) for part, own in above)


def is_of_format(format_: str, file: str) -> bool:
    """Whether a name ends as the format's files do, however they are compressed."""
    name = Path(Path(file).name.lower())
    plain = name.stem if name.suffix in COMPRESSIONS else name.name
    return plain.endswith(SUFFIXES[format_])


def files_below(folder: Path, refuse: Callable[[OSError], None]) -> Iterator[str]:
    """The files in a folder and in its subfolders that are not hidden.

    Args:
        folder: where to look.
        refuse: is told of a folder that cannot be read.
    """
    walked: set[str] = set()
    for place, folders, names in os.walk(folder, followlinks=True, onerror=refuse):
        if os.path.realpath(place) in walked:
            folders.clear()  # a link that leads back up
            continue
        walked.add(os.path.realpath(place))
        folders[:] = [name for name in folders if not is_hidden(name)]
        paths = (str(Path(place) / name) for name in names if not is_hidden(name))
        yield from (path for path in paths if Path(path).is_file())


def matched(pattern: str) -> list[str]:
    """What a pattern matches on this machine, but for what is hidden."""
    # A pattern may be absolute, which Path.glob does not take.
    return [name for name in glob.glob(pattern) if not is_hidden_in(pattern, name)]  # noqa: PTH207


def zoned_times(texts: pa.Array) -> pa.Array:
    """Instants of texts with a zone, and of texts without one taken as UTC."""
    nothing = pa.scalar(None, pa.string())
    texts = pc.utf8_upper(texts)
    has_zone = pc.match_substring_regex(texts, _ZONE_AT_END)
    # A date alone ends like an offset ("2026-01-05"): a zone follows a time of day.
    has_zone = pc.and_kleene(has_zone, pc.match_substring(texts, ":"))
    with_zone = pc.if_else(has_zone, texts, nothing).cast(ZONED)
    without = pc.if_else(has_zone, nothing, texts).cast(pa.timestamp("us"))
    return pc.coalesce(with_zone, pc.assume_timezone(without, "UTC"))


def conformed(column: pa.Array, target: pa.DataType) -> pa.Array:
    """Values of a file in the type that they are to have; texts of instants as UTC."""
    if target == ZONED and pa.types.is_string(column.type):
        return zoned_times(column)
    return column.cast(target)


def first_line(error: BaseException) -> str:
    """What an error says, in a line."""
    return (str(error).splitlines() or [type(error).__name__])[0]


def unreadable(path: str, why: str) -> DataError:
    """The error of a file that is not what its format or schema says."""
    return DataError(
        "unreadable-data",
        f"{path!r} cannot be read",
        reason=why,
        hint="check its format and schema",
    )


def changed(path: str, before: int, now: int) -> DataError:
    """The error of a file that is not as it was when it was read, or partly."""
    how = f"{before:,} bytes, and now {now:,}" if before != now else "another time of modification"
    return DataError(
        "file-changed",
        f"{path!r} has changed since it was read, or partly",
        reason=f"it had {how}; rows that were read cannot be told from those that are new",
        hint="write each file under a name that begins with a dot, and rename it when it is complete;"
        " put new rows into new files",
    )
