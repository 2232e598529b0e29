"""What can be wrong with a job file, each said with the place to mend it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Self

from windrow.errors import WindrowError, nearest


class JobError(WindrowError, ValueError):
    """A job file, or what it names, does not fit; its author acts."""

    @classmethod
    def no_file(cls, file: Path) -> Self:
        """The job file is not there."""
        return cls(
            "no-job-file",
            f"there is no job file {str(file)!r}",
            hint="give the path of a TOML file with [streams.NAME] tables and a query",
        )

    @classmethod
    def not_toml(cls, file: Path, problem: str) -> Self:
        """The job file cannot be read."""
        return cls(
            "not-toml",
            f"{file.name} is no TOML",
            reason=problem,
            hint='texts stand in quotes, a query over several lines in """ three of them """',
        )

    @classmethod
    def unknown_key(cls, where: str, key: str, known: Iterable[str], *, is_top: bool) -> Self:
        """A key that no job has; often a top-level one that slipped into a table."""
        hint = f"known here: {nearest(key, known)}"
        if is_top:
            hint = f"{key} belongs above the first [table] of the file"
        return cls("unknown-key", f"{where} has no key {key!r}", hint=hint)

    @classmethod
    def missing_key(cls, where: str, key: str, example: str) -> Self:
        """A key that every job needs."""
        return cls(
            "missing-key", f"{where} does not say its {key}", hint=f"for instance  {example}"
        )

    @classmethod
    def wrong_type(cls, where: str, key: str, value: object, wanted: str) -> Self:
        """A value of the wrong kind."""
        return cls("wrong-value", f"{key} of {where} is {value!r}", hint=f"it must be {wanted}")

    @classmethod
    def not_one_of(cls, where: str, key: str, value: object, known: Iterable[str]) -> Self:
        """A value that is none of the few allowed."""
        known = tuple(known)
        return cls(
            "wrong-value",
            f"{key} of {where} is {value!r}",
            hint=f"one of {nearest(str(value), known)}",
        )

    @classmethod
    def no_query(cls, file: Path, written: Sequence[str]) -> Self:
        """Neither or both of query and query_file."""
        sentence = "both query and query_file" if written else "no query"
        return cls(
            "one-query",
            f"{file.name} has {sentence}",
            hint="write the SQL as query, or the path of a file with the SQL as query_file",
        )

    @classmethod
    def no_function(cls, name: str, body: str, problem: str) -> Self:
        """A function whose body is not where the job says."""
        return cls(
            "no-function",
            f"the function {name} is not found at {body!r}",
            reason=problem,
            hint="write module:function, the module beside the job file or installed",
        )

    @classmethod
    def module_fails(cls, name: str, module: str, problem: str) -> Self:
        """A function whose module fails as it is loaded."""
        return cls(
            "function-module",
            f"the module {module!r} of the function {name} cannot be loaded",
            reason=problem,
            hint=f"mend what fails in  python -c 'import {module}'  in the folder of the job file",
        )

    @classmethod
    def no_data(cls, what: str, path: str, format_: str, empty: int = 0) -> Self:
        """A stream or a table whose path leads to no file."""
        reason = f"a path is one file, a folder with .{format_} files, or a pattern with *"
        if empty:
            reason = f"{empty:,} file{'s are' if empty > 1 else ' is'} there, without a byte"
        return cls(
            "no-data-files",
            f"{what} finds no file at {path!r}",
            reason=reason,
            hint="paths are relative to the folder of the job file, and names that begin with _ or a"
            " dot are passed over",
        )

    @classmethod
    def compression(cls, what: str, path: str, format_: str, known: Sequence[str]) -> Self:
        """A file that is compressed in a way that not every runner reads."""
        ends = " and ".join(known)
        return cls(
            "unknown-compression",
            f"{what} finds {path!r}, whose compression not every runner reads",
            reason="a Parquet file is compressed within, if at all"
            if format_ == "parquet"
            else f"text files are read as they are, and with names that end in {ends}",
            hint="write it anew, or name the other files by a pattern",
        )

    @classmethod
    def pattern_of_folder(cls, what: str, pattern: str, folder: str) -> Self:
        """A pattern that leaves open whether a folder's files are meant."""
        return cls(
            "pattern-of-folder",
            f"{what} reads {pattern!r}, which matches the folder {folder!r}",
            reason="a pattern names files",
            hint="write  /*  behind it for the files of such folders, or give the folder above as path",
        )

    @classmethod
    def unreadable(cls, what: str, path: str, problem: str) -> Self:
        """A data file that is not what its format says."""
        return cls(
            "unreadable-data",
            f"{what} cannot read {path!r}",
            reason=problem,
            hint="check its format and schema",
        )

    @classmethod
    def bad_schema(cls, text: str, part: str, problem: str) -> Self:
        """A schema that is no list of columns."""
        return cls(
            "bad-schema",
            f"{part!r} in the schema {text!r} is no column",
            reason=problem,
            hint='columns are written "name TYPE, name TYPE", as in Spark',
        )

    @classmethod
    def bad_stream(cls, text: str) -> Self:
        """A --stream option that cannot be read."""
        return cls(
            "bad-stream",
            f"{text!r} does not describe a stream",
            hint="for instance  --stream 'sales(item STRING, ts TIMESTAMP) time=ts'",
        )

    @classmethod
    def needs_schema(cls, stream: str, format_: str) -> Self:
        """A text format read as a stream without its columns."""
        return cls(
            "schema-needed",
            f"stream {stream} reads {format_} as a stream and has no schema",
            reason="files that are still to come cannot be looked at for their types",
            hint='add  schema = "item STRING, price DOUBLE, ts TIMESTAMP"  with your columns',
        )

    @classmethod
    def sink_exists(cls, path: str) -> Self:
        """A batch answer would mix with what lies there."""
        return cls(
            "sink-not-empty",
            f"the sink {path!r} already holds files",
            hint="empty it, choose another path, or set  overwrite = true  in [sink]",
        )

    @classmethod
    def sink_in_use(cls, path: str) -> Self:
        """Two runs would write to one folder."""
        return cls(
            "sink-in-use",
            f"another run is writing to the sink {path!r}",
            hint="wait until it has ended, or give this job a sink of its own",
        )

    @classmethod
    def sink_not_here(cls, path: str) -> Self:
        """Spark has written the answer, but not to this machine's disk."""
        return cls(
            "sink-not-here",
            f"Spark has not written the answer to {path!r} on this machine",
            reason="its workers, or its settings, take the path for one on another file system",
            hint="write the sink's path as an address, such as  hdfs://host/folder",
        )

    @classmethod
    def overwrite_elsewhere(cls, path: str) -> Self:
        """An answer that could be replaced only by losing it first."""
        return cls(
            "overwrite-elsewhere",
            f"the sink {path!r} is not a folder of this machine, and is not overwritten",
            reason="Spark would remove the old answer there before it has the new one",
            hint="give each run a path of its own, or remove the old answer yourself",
        )

    @classmethod
    def overwrite_of_stream(cls) -> Self:
        """A streaming job on Spark goes on with its answer; it replaces none."""
        return cls(
            "overwrite-of-stream",
            "[sink] says overwrite = true, and a streaming job on Spark goes on where it stopped",
            hint="take overwrite out; to begin anew, remove the sink's folder and its checkpoint",
        )

    @classmethod
    def checkpoint_unused(cls, on: str, mode: str) -> Self:
        """A run that would not go on from where another stopped, though the job asks for it."""
        where = "in process" if on == "local" else "on Spark"
        return cls(
            "checkpoint-unused",
            f"[sink] names a checkpoint, and a {mode} job {where} keeps none",
            reason="it would read everything again, whatever an earlier run has answered",
            hint="take checkpoint out, or run with --on spark --mode streaming",
        )

    @classmethod
    def sink_over_source(cls, title: str, path: str, what: str, read: str) -> Self:
        """Rows that would lie among those they are made of."""
        written = "the answer" if title == "the sink" else "what is late"
        return cls(
            "sink-over-source",
            f"{title} {path!r} and {what}, which reads {read!r}, are not apart",
            reason=f"{written} would replace rows that are read, or be read as some of them",
            hint=f"give {title} a folder of its own, outside of what is read, behind links too",
        )

    @classmethod
    def letters_in_sink(cls, letters: str, sink: str) -> Self:
        """Late rows that would lie in the answer, or around it."""
        return cls(
            "sink-over-source",
            f"dead_letters {letters!r} and the sink {sink!r} are not apart",
            reason="who reads the answer would read late rows as some of it, or lose them with it",
            hint="give dead_letters a folder of its own",
        )

    @classmethod
    def sink_not_writable(cls, path: str, problem: str) -> Self:
        """A sink where no folder can be made."""
        return cls(
            "sink-not-writable",
            f"the sink {path!r} cannot be written",
            reason=problem,
            hint="choose a path that is free, or a folder that you may write to",
        )

    @classmethod
    def sink_type(cls, format_: str, column: str, type_: str) -> Self:
        """A column that a text format cannot hold."""
        return cls(
            "sink-type",
            f"{format_} has no place for the column {column!r}, which is {type_}",
            hint='write  format = "parquet"  or "json", or cast the column to STRING',
        )
