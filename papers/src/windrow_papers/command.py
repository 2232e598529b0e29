"""`windrow experiment`: list the papers' experiments, run them, write the page of results."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer

from windrow.cli.errors import reported
from windrow.cli.main import Commands
from windrow.run.terminal import Terminal, telling

app = typer.Typer(
    cls=Commands,
    help="The papers' experiments: tables, figures, and claims decided here.",
    no_args_is_help=True,
)

DEFAULT_FOLDER = Path("windrow-experiments")
Debug = Annotated[bool, typer.Option("--debug", help="Show tracebacks.")]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON on stdout and nothing else.")]


@app.command("list")
def list_all(as_json: AsJson = False, debug: Debug = False) -> None:
    """Describe every experiment: its paper, figure, setting and claims."""
    with reported(Terminal(stderr=True), debug=debug):
        from windrow_papers.experiments.registry import EXPERIMENTS
        from windrow_papers.experiments.show import show_list

        if not as_json:
            show_list(EXPERIMENTS, Terminal())
            return
        typer.echo(json.dumps([experiment.as_dict() for experiment in EXPERIMENTS], indent=1))


@app.command()
def run(
    names: Annotated[
        list[str], typer.Argument(help="Experiments by name, or all.", metavar="NAME...|all")
    ],
    quick: Annotated[
        bool, typer.Option("--quick", help="A minute or less each; decides every claim.")
    ] = False,
    as_json: AsJson = False,
    out: Annotated[
        Path, typer.Option(help="Where tables and figures go.", metavar="DIR")
    ] = DEFAULT_FOLDER,
    debug: Debug = False,
) -> None:
    """Run experiments; show each claim with its figure. A claim that fails is no error."""
    stderr = Terminal(stderr=True)
    with reported(stderr, debug=debug):
        from windrow_papers.experiments.experiment import Size, conduct
        from windrow_papers.experiments.record import prepare, write
        from windrow_papers.experiments.registry import chosen
        from windrow_papers.experiments.show import show_result

        experiments = chosen(names)
        prepare(out)
        outcomes = []
        for experiment in experiments:
            with telling(stderr) as say:
                outcome = conduct(experiment, Size.quick if quick else Size.full, say)
            files = write(outcome, out)
            outcomes.append(outcome.as_dict())
            if not as_json:
                show_result(outcome, files, Terminal())
        if as_json:
            typer.echo(json.dumps(outcomes, indent=1))


@app.command()
def page(
    results: Annotated[Path, typer.Argument(help="The folder that results were written to.")],
    to: Annotated[Path, typer.Option(help="The Markdown file to write.", metavar="FILE")],
    debug: Debug = False,
) -> None:
    """Write the page of results from the files of earlier runs."""
    with reported(Terminal(stderr=True), debug=debug):
        from windrow_papers.experiments.page import write_page
        from windrow_papers.experiments.record import read
        from windrow_papers.experiments.registry import EXPERIMENTS

        write_page(EXPERIMENTS, read(results), results, to)
        Terminal().say(f"written: {to}")
