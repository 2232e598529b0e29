"""Experiments on the terminal: the list, a result, and what is being measured meanwhile."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from rich.console import Console, Group
from rich.padding import Padding
from rich.rule import Rule
from rich.table import Table as RichTable
from rich.text import Text

from windrow.experiments.claims import Verdict
from windrow.experiments.experiment import Experiment, Outcome, Say
from windrow.experiments.tables import Table, Value, as_text

_STYLES = {True: "bold green", False: "bold yellow"}
MOST_ROWS = 60


def listing(experiments: Sequence[Experiment]) -> Group:
    """Every experiment: its paper and figure, its setting, its claims."""
    parts: list[object] = []
    for experiment in experiments:
        parts += [
            Text(experiment.name, style="bold"),
            _line(f"{experiment.paper}, {experiment.figure}; seed {experiment.seed}"),
            _line(experiment.setting),
            *(_line(f"- {claim.text}") for claim in experiment.claims),
            Text(),
        ]
    return Group(*parts)  # type: ignore[arg-type]  # texts and paddings are renderable


def result(outcome: Outcome, files: Sequence[Path]) -> Group:
    """An outcome: its table, each claim with its verdict, and where the files are."""
    experiment = outcome.experiment
    heading = (
        f"{experiment.paper}, {experiment.figure}; {outcome.size} size, seed {experiment.seed}, "
        f"{outcome.seconds:.1f} s"
    )
    parts: list[object] = [
        Rule(experiment.name, align="left"),
        Text(heading),
        Text(experiment.setting),
        _grid(outcome.found.table),
        *(_claim(verdict) for verdict in outcome.verdicts),
    ]
    if files:
        folders = dict.fromkeys(str(file.parent) for file in files)
        names = ", ".join(file.name for file in files)
        parts.append(Text(f"in {' '.join(folders)}: {names}"))
        if not any(file.suffix == ".svg" for file in files):
            parts.append(Text("no figure: matplotlib is not installed (the extra plot brings it)"))
    return Group(*parts)  # type: ignore[arg-type]


def _line(text: str) -> Padding:
    return Padding(Text(text), (0, 0, 0, 2))


def _claim(verdict: Verdict) -> Group:
    head = Text.assemble(
        (f"{verdict.word}", _STYLES[verdict.word == "holds"]), ": ", verdict.claim.text
    )
    lines = [f"measured: {verdict.measured}", f"decided by: {verdict.claim.rule}"]
    if verdict.reason:
        lines.append(f"reason: {verdict.reason}")
    return Group(head, *map(_line, lines))


def _grid(table: Table) -> RichTable:
    grid = RichTable()
    for number, name in enumerate(table.columns):
        is_text = any(isinstance(row[number], str) for row in table.rows)
        grid.add_column(name, justify="left" if is_text else "right")
    for row in table.rows[:MOST_ROWS]:
        grid.add_row(*map(_cell, row))
    if len(table.rows) > MOST_ROWS:
        grid.caption = f"the first {MOST_ROWS} of {len(table.rows)} rows"
    return grid


def _cell(value: Value) -> str:
    if isinstance(value, str):
        return value
    is_whole = isinstance(value, int) or abs(value) >= 1_000
    return f"{value:,.0f}" if is_whole else as_text(value)


@contextmanager
def telling(stderr: Console) -> Iterator[Say]:
    """Shows what is measured now: redrawn on a terminal, a line each elsewhere."""
    started = time.monotonic()

    def stamped(text: str) -> str:
        return f"{time.monotonic() - started:6.1f} s  {text}"

    if not stderr.is_terminal:
        yield lambda text: stderr.print(
            stamped(text), markup=False, highlight=False, soft_wrap=True
        )
        return
    with stderr.status("starting") as status:
        yield lambda text: status.update(Text(stamped(text)))
