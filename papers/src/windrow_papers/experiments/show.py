"""Experiments on the terminal: the list, and a result."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from rich.rule import Rule
from rich.table import Table as RichTable
from rich.text import Text

from windrow.run.terminal import Terminal
from windrow_papers.experiments.claims import Verdict
from windrow_papers.experiments.experiment import Experiment, Outcome
from windrow_papers.experiments.tables import Table, Value, as_text

MOST_ROWS = 60


def show_list(experiments: Sequence[Experiment], stdout: Terminal) -> None:
    """Every experiment: its paper and figure, its setting, its claims."""
    for experiment in experiments:
        stdout.print(Text(experiment.name, "bold"))
        stdout.say(f"  {experiment.paper}, {experiment.figure}; seed {experiment.seed}")
        stdout.say(f"  {experiment.setting}")
        for claim in experiment.claims:
            stdout.say(f"  - {claim.text}")
        stdout.print()


def show_result(outcome: Outcome, files: Sequence[Path], stdout: Terminal) -> None:
    """An outcome: its table, each claim with its verdict, and where the files are."""
    experiment = outcome.experiment
    stdout.print(Rule(experiment.name, align="left"))
    stdout.say(f"{experiment.paper}, {experiment.figure}")
    stdout.say(outcome.setting)
    stdout.say(f"{outcome.size} size, seed {experiment.seed}, {outcome.seconds:.1f} s")
    stdout.print(_grid(outcome.found.table))
    for verdict in outcome.verdicts:
        _show_claim(verdict, stdout)
    folders = dict.fromkeys(str(file.parent) for file in files)
    stdout.say(f"in {' '.join(folders)}: {', '.join(file.name for file in files)}")
    if not any(file.suffix == ".svg" for file in files):
        stdout.say("no figure: matplotlib is not installed (the extra plot brings it)")


def _show_claim(verdict: Verdict, stdout: Terminal) -> None:
    color = "green" if verdict.word == "holds" else "yellow"
    text = Text.assemble((verdict.word, f"bold {color}"), f": {verdict.claim.text}")
    stdout.print(text, soft_wrap=True)
    stdout.say(f"  measured: {verdict.measured}")
    stdout.say(f"  decided by: {verdict.claim.rule}")
    if verdict.reason:
        stdout.say(f"  reason: {verdict.reason}")


def _grid(table: Table) -> RichTable:
    grid = RichTable()
    shown = [table.columns.index(name) for name in table.brief or table.columns]
    for number in shown:
        is_text = any(isinstance(row[number], str) and row[number] for row in table.rows)
        grid.add_column(table.columns[number], justify="left" if is_text else "right")
    for row in table.rows[:MOST_ROWS]:
        grid.add_row(*(_cell(row[number]) for number in shown))
    if len(table.rows) > MOST_ROWS:
        grid.caption = f"the first {MOST_ROWS} of {len(table.rows)} rows"
    return grid


def _cell(value: Value) -> str:
    if isinstance(value, str):
        return value
    is_whole = isinstance(value, int) or abs(value) >= 1_000
    return f"{value:,.0f}" if is_whole else as_text(value)
