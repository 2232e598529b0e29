"""What can be wrong with a job file and what it names, where several places find it."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Self

from windrow.errors import WindrowError, nearest


class JobError(WindrowError, ValueError):
    """A job file, or what it names, does not fit; its author acts."""

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
    def unreadable(cls, what: str, path: str, problem: str) -> Self:
        """A data file that is not what its format says."""
        return cls(
            "unreadable-data",
            f"{what} cannot read {path!r}",
            reason=problem,
            hint="check its format and schema",
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
    def sink_not_writable(cls, path: str, problem: str) -> Self:
        """A sink where no folder can be made."""
        return cls(
            "sink-not-writable",
            f"the sink {path!r} cannot be written",
            reason=problem,
            hint="choose a path that is free, or a folder that you may write to",
        )
