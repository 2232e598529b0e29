"""The page of results: each figure, the claims, what was measured, whether they hold."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from textwrap import dedent
from typing import Any

from windrow_papers.experiments.errors import ExperimentError
from windrow_papers.experiments.experiment import Experiment

_HEAD = """\
# The papers' experiments

<!-- Written by `windrow experiment page`; the prose lives beside the code of each experiment. -->

Each experiment runs the papers' algorithms *as published* (a tuple at a time, compiled, each with
its own loops and its own counts) and decides the papers' claims as ratios within one run. Claims
are decided on counted work first, which is exact and repeatable, and on time second, which is that
of this machine. A claim that does not hold here is shown as such, with the reason found.

*Work* is look-ups of a buffer, comparisons of times (inside loops, between them, and of tuples that
are swept, admitted or cleaned up) and comparisons of keys. *Results* are counted to the end of the
streams, and are equal for all algorithms of a case; work and time are those of the time before,
where nothing else is said. *Live* streams are taken in order of time; *replayed* ones are polled in
turn, a tuple each, as logs are, or a backlog. The 2003 paper calls the 2002 report's MW-join FEW:
it is `few` in tables and figures. The bestmatch experiments count comparisons of rows, cells and
pairs, and pages read from and written to disk.
"""


def write_page(
    experiments: Sequence[Experiment],
    results: Mapping[str, Mapping[str, Any]],
    folder: Path,
    file: Path,
) -> None:
    """Writes the page; figures are linked from where the page is."""
    linked = Path(os.path.relpath(folder, file.parent)).as_posix()
    try:
        file.write_text(page(experiments, results, linked))
    except OSError as error:
        problem = error.strerror or str(error)
        raise ExperimentError.not_writable(file.parent, problem) from error


def page(
    experiments: Sequence[Experiment], results: Mapping[str, Mapping[str, Any]], folder: str
) -> str:
    """The page in Markdown.

    Args:
        experiments: all there are, in the order in which they are shown.
        results: outcomes as `record.read` gives them; experiments without one are left out.
        folder: where the figures are, as the page names it.
    """
    shown = [experiment for experiment in experiments if experiment.name in results]
    parts = [_HEAD, _machine(results[shown[0].name]), _summary(shown, results)]
    parts += [_section(experiment, results[experiment.name], folder) for experiment in shown]
    return "\n".join(parts)


def _machine(result: Mapping[str, Any]) -> str:
    machine = result["machine"]
    return (
        f"Measured with Python {machine['python']}, numba {machine['numba']} and numpy "
        f"{machine['numpy']} on one of {machine['cores']} {machine['processor']} cores.\n"
        "Run them yourself:\n\n"
        "```sh\n"
        "windrow experiment list\n"
        "windrow experiment run all --quick      # a minute or less each\n"
        "windrow experiment run all              # as shown here\n"
        "```\n"
    )


def _summary(shown: Sequence[Experiment], results: Mapping[str, Mapping[str, Any]]) -> str:
    lines = ["| experiment | claim | verdict | measured |", "|---|---|---|---|"]
    for experiment in shown:
        for claim in results[experiment.name]["claims"]:
            name = f"[{experiment.name}](#{experiment.name})"
            lines.append(
                f"| {name} | {claim['claim']} | {claim['verdict']} | {claim['measured']} |"
            )
    return "\n".join([*lines, ""])


def _section(experiment: Experiment, result: Mapping[str, Any], folder: str) -> str:
    lines = [
        f"## {experiment.name}",
        "",
        f"{experiment.paper}, {experiment.figure}. {result['setting']}.",
        "",
        dedent(experiment.prose).strip(),
        "",
        f"![{experiment.name}]({folder}/{experiment.name}.svg)",
        "",
    ]
    for claim in result["claims"]:
        lines += [
            f"**{claim['claim']}**: {claim['verdict']}. Measured: {claim['measured']}. "
            f"Decided by: {claim['rule']}."
            + (f" Why not: {claim['reason']}." if claim["reason"] else ""),
            "",
        ]
    # Results of before it was recorded say nothing of it.
    load = f", {result['load']:.1f} processes at work before it" if "load" in result else ""
    lines += [
        f"`windrow experiment run {experiment.name}` (seed {result['seed']}, {result['size']} "
        f"size, {result['seconds']:.0f} s{load}); table: "
        f"[{experiment.name}.csv]({folder}/{experiment.name}.csv).",
        "",
    ]
    return "\n".join(lines)
