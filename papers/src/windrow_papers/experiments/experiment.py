"""An experiment: what a paper did, said in words, and the function that does it again."""

from __future__ import annotations

import os
import platform
import time
from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from importlib.metadata import version

from windrow_papers.experiments.charts import Chart
from windrow_papers.experiments.claims import Claim, Finding, Verdict, decide
from windrow_papers.experiments.tables import Table

Say = Callable[[str], None]
"""Told what is being measured now."""

_PACKAGES = ("windrow", "numpy", "numba")


class Size(StrEnum):
    """How much is measured: for tests, for a first look (a minute or less), for the documents."""

    tiny = "tiny"
    quick = "quick"
    full = "full"


@dataclass(frozen=True)
class Findings:
    """What a run of an experiment gives.

    Attributes:
        table: a row per measurement.
        findings: what decides each claim, in the order of the claims.
        chart: the figure.
        series: service time and work per 1,000 input tuples, where the figure shows them.
        left_out: what the setting names and was not measured, and why; empty: all was.
    """

    table: Table
    findings: tuple[Finding, ...]
    chart: Chart
    series: Table | None = None
    left_out: str = ""


@dataclass(frozen=True)
class Experiment:
    """An experiment of a paper.

    Attributes:
        name: as the command line takes it.
        paper: the paper's year and short title.
        figure: the paper's figure or section.
        setting: streams, rates, windows.
        claims: what the paper says came out.
        seed: where all random numbers come from.
        run: does it, at a size.
        prose: what the page of results says about it.
    """

    name: str
    paper: str
    figure: str
    setting: str
    claims: tuple[Claim, ...]
    seed: int
    run: Callable[[Size, Say], Findings]
    prose: str

    def as_dict(self) -> dict[str, object]:
        """What it is, for JSON."""
        return {
            "name": self.name,
            "paper": self.paper,
            "figure": self.figure,
            "setting": self.setting,
            "seed": self.seed,
            "claims": [{"claim": claim.text, "rule": claim.rule} for claim in self.claims],
        }


@dataclass(frozen=True)
class Outcome:
    """An experiment that was run, and its verdicts.

    `load` is how many processes wanted a core in the minute before it began.
    """

    experiment: Experiment
    size: Size
    found: Findings
    verdicts: tuple[Verdict, ...]
    seconds: float
    load: float

    @property
    def setting(self) -> str:
        """The setting as it was: with what was left out."""
        left_out = self.found.left_out
        return self.experiment.setting + (f"; not measured here: {left_out}" if left_out else "")

    def as_dict(self) -> dict[str, object]:
        """All of it but the figure, for JSON."""
        return {
            **self.experiment.as_dict(),
            "setting": self.setting,
            "size": str(self.size),
            "seconds": round(self.seconds, 1),
            "load": round(self.load, 1),
            "machine": machine(),
            "claims": [verdict.as_dict() for verdict in self.verdicts],
            "table": self.found.table.as_dict(),
        }


def conduct(experiment: Experiment, size: Size, say: Say) -> Outcome:
    """Runs an experiment and decides its claims."""
    started, load = time.monotonic(), os.getloadavg()[0]
    found = experiment.run(size, say)
    verdicts = decide(experiment.claims, found.findings)
    return Outcome(experiment, size, found, verdicts, time.monotonic() - started, load)


def machine() -> dict[str, object]:
    """What the figures were measured on."""
    return {
        "cores": os.cpu_count(),
        "processor": platform.machine(),
        "python": platform.python_version(),
        **{name: version(name) for name in _PACKAGES},
    }
