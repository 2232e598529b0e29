"""What can be wrong with stored weights."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Self

from windrow.errors import WindrowError

_MEASURE = "windrow cost --calibrate  measures them, in less than a minute"
_ELSEWHERE = "set XDG_CACHE_HOME to a folder that you may write to"


class CalibrationError(WindrowError, RuntimeError):
    """Weights of this machine cannot be had, or kept; who runs the command acts."""

    @classmethod
    def none(cls, file: Path) -> Self:
        """Nobody has measured."""
        return cls(
            "no-calibration",
            "the weights of this machine have not been measured",
            reason=f"there is no {str(file)!r}",
            hint=_MEASURE,
        )

    @classmethod
    def outdated(cls, changed: Sequence[str]) -> Self:
        """They were measured where something else was true."""
        return cls(
            "calibration-outdated",
            "the weights were measured under other conditions",
            reason="; ".join(changed),
            hint=f"{_MEASURE}, with the sizes of buckets and nodes that are asked for",
        )

    @classmethod
    def unreadable(cls, file: Path, problem: str) -> Self:
        """The file is not what was written."""
        return cls(
            "calibration-unreadable",
            f"{str(file)!r} holds no weights",
            reason=problem,
            hint=_MEASURE,
        )

    @classmethod
    def not_writable(cls, file: Path, problem: str) -> Self:
        """There is no place to keep them."""
        return cls(
            "calibration-not-writable",
            f"the weights cannot be written to {str(file)!r}",
            reason=problem,
            hint=_ELSEWHERE,
        )

    @classmethod
    def no_home(cls) -> Self:
        """Nobody has said where to keep them, and the user has no home."""
        return cls(
            "calibration-nowhere",
            "there is nowhere to keep the weights of this machine",
            reason="the user has no home directory, and XDG_CACHE_HOME is not set",
            hint=_ELSEWHERE,
        )
