"""The commands: run a job, explain a query, show the demo, weigh costs."""

from __future__ import annotations

import json
import sys
from dataclasses import replace
from enum import StrEnum
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, cast

import typer

from windrow.cli.cost import cost
from windrow.cli.entry import main
from windrow.cli.failures import reported
from windrow.cli.stopping import Sigterm
from windrow.cli.usage import AllCommands
from windrow.run.terminal import Terminal

if TYPE_CHECKING:
    from windrow.session import ProgressStyle

__all__ = ["app", "main"]


app = typer.Typer(
    name="windrow",
    cls=AllCommands,
    help="Sliding-window questions over streams, in process and on Spark.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)


Mode = StrEnum("Mode", ["batch", "streaming"])
"""How the streams are read."""

Runner = StrEnum("Runner", ["spark", "local"])
"""Where the query runs."""

Shown = StrEnum("Shown", ["auto", "live", "json", "none"])
"""How progress is shown on stderr."""

ExplainFormat = StrEnum("ExplainFormat", ["text", "json"])
"""How EXPLAIN is printed."""

Debug = Annotated[bool, typer.Option("--debug", help="Show tracebacks and Spark's own log.")]


@app.callback(invoke_without_command=True)
def _version(
    is_asked: Annotated[bool, typer.Option("--version", help="Print the version.")] = False,
) -> None:
    if is_asked:
        typer.echo(f"windrow {version('windrow')}")
        raise typer.Exit


@app.command()
def run(
    job: Annotated[Path, typer.Argument(help="The job file (TOML).", metavar="JOB")],
    mode: Annotated[Mode | None, typer.Option(help="Over the job file's own.")] = None,
    on: Annotated[Runner | None, typer.Option(help="Over the job file's own.")] = None,
    progress: Annotated[
        Shown, typer.Option(help="auto: live on a terminal, JSON lines elsewhere; on stderr.")
    ] = Shown.auto,
    until_done: Annotated[
        bool, typer.Option("--until-done", help="End with what is there; else follow what comes.")
    ] = False,
    debug: Debug = False,
) -> None:
    """Run a job file: its streams, its query, its sink. Ctrl-C and SIGTERM end it between two epochs."""
    stderr = Terminal(stderr=True)
    with reported(stderr, debug=debug), Sigterm() as sigterm:
        from windrow.cli.job import check_runnable, load_job
        from windrow.cli.notes import Notes

        loaded = load_job(job)
        chosen = replace(
            loaded, mode=mode or loaded.mode, on=on or loaded.on, until_done=until_done
        )
        check_runnable(chosen)
        shown = _resolve(progress)
        notes = Notes(stderr, shown)
        if chosen.on == Runner.local:
            from windrow.cli.run_local import run_in_process

            run_in_process(chosen, progress=shown, stdout=Terminal(), notes=notes, sigterm=sigterm)
        else:
            sigterm.leave()
            from windrow.cli.run_spark import run_on_spark

            run_on_spark(chosen, progress=shown, stdout=Terminal(), notes=notes, debug=debug)


@app.command()
def explain(
    asked: Annotated[
        list[str],
        typer.Argument(
            help="Job files, or SQL over the streams of the job files and --stream options.",
            metavar="JOB_OR_SQL...",
        ),
    ],
    stream: Annotated[
        list[str] | None,
        typer.Option(
            help="A stream without data: 'name(column TYPE, ..) time=column lateness=5 seconds'."
        ),
    ] = None,
    format: Annotated[  # noqa: A002
        ExplainFormat, typer.Option(help="json: one JSON value per query, with a version.")
    ] = ExplainFormat.text,
    debug: Debug = False,
) -> None:
    """Show how queries would be answered; nothing runs."""
    with reported(Terminal(stderr=True), debug=debug):
        from windrow.cli.explaining import explain_all

        stdout = Terminal()
        for text in explain_all(asked, stream or [], format.value):
            if format is ExplainFormat.json:
                typer.echo(json.dumps(json.loads(text), indent=1))
            else:
                stdout.say(text)


@app.command()
def demo(
    quick: Annotated[bool, typer.Option("--quick", help="Less data, for a first look.")] = False,
    debug: Debug = False,
) -> None:
    """Run three questions on Spark over generated streams, and check them by plain SQL in DuckDB."""
    with reported(Terminal(stderr=True), debug=debug):
        from windrow.demo.show import show_demo

        if not show_demo(is_quick=quick, stdout=Terminal(), debug=debug):
            raise typer.Exit(1)


app.command(context_settings={"ignore_unknown_options": True, "allow_extra_args": True})(cost)


def _resolve(progress: Shown) -> ProgressStyle:
    if progress is Shown.auto:
        return "live" if sys.stderr.isatty() else "json"
    return cast("ProgressStyle", progress.value)
