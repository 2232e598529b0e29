"""Which files a stream or a table of a job is read from: the same on every runner.

    path is        read are
    a file         that file, whatever its name ends with
    a folder       its files, those of its subfolders too, whose names end as the format's do
    a pattern      the files that it matches; one that matches a folder is refused

Names that begin with `_` or a dot, and what lies in folders of such names, are passed over: markers
and half-written files have them. Text files may be compressed as both Arrow and Spark read them; in
another way, they are refused. What else lies in a folder is left out, and the run says so.

In process the files are known by name, and so they are for a batch on Spark. Streaming, Spark looks
for files itself, by a pattern that says the same, and takes the oldest first. Those of one time come
in the order of their names, if their folder is given as the pattern of what it holds.
"""

from __future__ import annotations

import glob
import os
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from windrow.cli.errors import JobError
from windrow.cli.job import Source, Table

SUFFIXES = {
    "parquet": (".parquet", ".pq"),
    "csv": (".csv",),
    "json": (".json", ".jsonl", ".ndjson"),
}
COMPRESSED = (".gz", ".bz2")
"""Arrow and Spark both know these, by names in lower case; Parquet is compressed within."""

_OTHERS = {
    *COMPRESSED, ".gzip", ".zst", ".zstd", ".lz4", ".snappy", ".sz", ".xz", ".lzma", ".lzo", ".br",
    ".deflate", ".zip", ".7z", ".z",
}  # fmt: skip
_WILD = re.compile(r"[*?\[]")
_TO_HADOOP = re.compile(r"[\\*?\[\]{}]")


@dataclass(frozen=True)
class Found:
    """The files at a path.

    Attributes:
        files: those to read, in the order of their names.
        left_out: those of a folder that are none of the format's.
        empty: text files without a byte, which hold no row.
    """

    files: list[str]
    left_out: list[str]
    empty: list[str]


def data_files(source: Source | Table) -> list[str]:
    """The files of a stream or a table, in the order of their names."""
    return found_at(source).files


def found_at(source: Source | Table) -> Found:
    """What lies at the path of a stream or a table.

    Raises:
        JobError: nothing to read, or something that not every runner could.
    """
    path = Path(source.path)
    if path.is_dir():
        there = list(_files_below(source, path))
        named = [file for file in there if _is_of_format(source, file)]
    else:
        there = named = _named(source)
    for file in named:
        _check_compression(source, file)
    empty = [file for file in named if source.format != "parquet" and not Path(file).stat().st_size]
    files = sorted(set(named) - set(empty))
    if not files:
        reason = f"a path is one file, a folder with .{source.format} files, or a pattern with *"
        if empty:
            are = "s are" if len(empty) > 1 else " is"
            reason = f"{len(empty):,} file{are} there, without a byte"
        raise JobError(
            "no-data-files",
            f"{source.title} finds no file at {source.path!r}",
            reason=reason,
            hint="paths are relative to the folder of the job file, and names that begin with _ or a"
            " dot are passed over",
        )
    return Found(files, sorted(set(there) - set(named)), sorted(empty))


def streamed(source: Source) -> tuple[str, dict[str, str]]:
    """The path and the options by which Spark, streaming, finds the same files, and later ones."""
    path = Path(source.path)
    if path.is_dir():
        ends = [_any_case(end) for end in SUFFIXES[source.format]]
        if source.format != "parquet":
            ends += [end + more for end in ends for more in COMPRESSED]
        # Files that are given by a pattern come in the order of their names; it costs a look at each.
        inside = "/[!._]*" if source.files_per_batch is not None else ""
        options = {"recursiveFileLookup": "true", "pathGlobFilter": f"[!._]*{{{','.join(ends)}}}"}
        return _escaped(source.path) + inside, options
    if path.exists() or not _WILD.search(source.path):
        return _pattern_of_one(path), {}
    return _hadoop_pattern(source.path), {"pathGlobFilter": "[!._]*"}


def escaped_for_spark(files: list[str]) -> list[str]:
    """Paths that Spark takes for what they are, and not for patterns."""
    return [_escaped(file) for file in files]


def _files_below(source: Source | Table, folder: Path) -> Iterator[str]:
    def refuse(error: OSError) -> None:
        raise JobError.unreadable(source.title, str(error.filename), error.strerror or str(error))

    walked: set[str] = set()
    for place, folders, names in os.walk(folder, followlinks=True, onerror=refuse):
        if os.path.realpath(place) in walked:
            folders.clear()  # a link that leads back up
            continue
        walked.add(os.path.realpath(place))
        folders[:] = [name for name in folders if not _is_hidden(name)]
        paths = (str(Path(place) / name) for name in names if not _is_hidden(name))
        yield from (path for path in paths if Path(path).is_file())


def _named(source: Source | Table) -> list[str]:
    """The files that a path or a pattern names."""
    path = Path(source.path)
    if path.is_file():
        return [] if _is_hidden(path.name) else [source.path]
    # A pattern may be absolute, which Path.glob does not take.
    named = [name for name in glob.glob(source.path) if not _is_hidden_in(source.path, name)]  # noqa: PTH207
    for name in named:
        if Path(name).is_dir():
            raise JobError(
                "pattern-of-folder",
                f"{source.title} reads {source.path!r}, which matches the folder {name!r}",
                reason="a pattern names files",
                hint="write  /*  behind it for the files of such folders, or give the folder above"
                " as path",
            )
    return [name for name in named if Path(name).is_file()]


def _is_hidden(name: str) -> bool:
    return name.startswith(("_", "."))


def _is_hidden_in(pattern: str, name: str) -> bool:
    """Whether what a pattern has left open is filled with a hidden name, or the last one is."""
    *above, last = zip(Path(pattern).parts, Path(name).parts, strict=True)
    return _is_hidden(last[1]) or any(_WILD.search(part) and _is_hidden(own) for part, own in above)


def _is_of_format(source: Source | Table, file: str) -> bool:
    """Whether a name ends as the format's files do, however they are compressed."""
    name = Path(Path(file).name.lower())
    plain = name.stem if name.suffix in _OTHERS else name.name
    return plain.endswith(SUFFIXES[source.format])


def _check_compression(source: Source | Table, file: str) -> None:
    last = Path(file).suffix
    is_known = last in COMPRESSED and source.format != "parquet"
    if last.lower() in _OTHERS and not is_known:
        raise JobError(
            "unknown-compression",
            f"{source.title} finds {file!r}, whose compression not every runner reads",
            reason="a Parquet file is compressed within, if at all"
            if source.format == "parquet"
            else "text files are read as they are, and with names that end in "
            + " and ".join(COMPRESSED),
            hint="write it anew, or name the other files by a pattern",
        )


def _any_case(text: str) -> str:
    return "".join(f"[{c.lower()}{c.upper()}]" if c.isalpha() else c for c in text)


def _escaped(path: str) -> str:
    return _TO_HADOOP.sub(lambda found: "\\" + found[0], path)


def _pattern_of_one(path: Path) -> str:
    """A pattern that one file matches: Spark streams from folders and patterns alone."""
    name = _escaped(path.name)
    if name == path.name:
        place = next((n for n, c in enumerate(name) if c not in "!^-"), 0)
        name = f"{name[:place]}[{name[place]}]{name[place + 1 :]}"
    return f"{_escaped(str(path.parent))}/{name}"


def _hadoop_pattern(pattern: str) -> str:
    """A pattern as Hadoop reads it: without its own signs, and hidden names left out."""
    parts = []
    for part in pattern.split("/"):
        text = re.sub(r"[\\{}]", lambda found: "\\" + found[0], part)
        if text.startswith("*"):
            text = f"[!._]{text}"
        elif text.startswith("?"):
            text = f"[!._]{text[1:]}"
        parts.append(text)
    return "/".join(parts)
