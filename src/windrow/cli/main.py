"""The commands: run a job, explain a query, show the demo, compile ahead, weigh costs."""

from __future__ import annotations

import json
import os
import sys
from contextlib import suppress
from dataclasses import replace
from enum import StrEnum
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, cast

import typer
from typer.core import TyperGroup

from windrow.cli.cost import cost
from windrow.cli.entry import main
from windrow.cli.errors import reported
from windrow.cli.stopping import Sigterm
from windrow.errors import WindrowError
from windrow.extend import COMMANDS
from windrow.registry import load
from windrow.run.terminal import Terminal, visible_line

if TYPE_CHECKING:
    from windrow.session import ProgressStyle


_UsageError: type[Exception] = typer.BadParameter.__bases__[0]
"""What every mistake of a command line is; typer brings it under no name of its own."""

REPLACEABLE = "cost"


class Commands(TyperGroup):
    """Commands whose messages show what was written as it was: they are printed by typer."""

    def make_context(self, *args: Any, **more: Any) -> Any:
        """Reads the words before the command."""
        try:
            return super().make_context(*args, **more)
        except _UsageError as error:
            raise _shown(error) from None

    def invoke(self, ctx: Any) -> Any:
        """Reads the rest, and does what it says."""
        try:
            return super().invoke(ctx)
        except _UsageError as error:
            raise _shown(error) from None


class AllCommands(Commands):
    """Windrow's own commands, and those that other packages have added.

    The latter are loaded when a command is asked for that is none of ours, or when all are. Of `cost`
    ours measures this machine; another, which does so as well, takes its place.
    """

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        """The command of a name; None for none."""
        if cmd_name == REPLACEABLE:
            with suppress(WindrowError):  # ours says it where it is asked for what it has not
                self._add_others()
        elif cmd_name not in self.commands:
            with reported(Terminal(stderr=True), debug=False):
                self._add_others()
                COMMANDS.check_installed(cmd_name)
        return super().get_command(ctx, cmd_name)

    def list_commands(self, ctx: Any) -> list[str]:
        """The names of all commands."""
        with reported(Terminal(stderr=True), debug=False):
            self._add_others()
        return super().list_commands(ctx)

    def _add_others(self) -> None:
        for name, place in COMMANDS.items():
            if name not in self.commands or name == REPLACEABLE:
                app = load(place)
                command = typer.main.get_group(app) if isinstance(app, typer.Typer) else app
                command.name = name
                self.add_command(command)


def _shown(error: Any) -> Any:
    error.message = visible_line(str(error.message))
    return error


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
    mode: Annotated[Mode | None, typer.Option(help="Overrides the job file's.")] = None,
    on: Annotated[Runner | None, typer.Option(help="Overrides the job file's.")] = None,
    progress: Annotated[
        Shown, typer.Option(help="auto: live on a terminal, JSON lines elsewhere; on stderr.")
    ] = Shown.auto,
    until_done: Annotated[
        bool,
        typer.Option(
            "--until-done",
            help="Stop at the end of the data that is there; without it, follow what comes.",
        ),
    ] = False,
    debug: Debug = False,
) -> None:
    """Run a job file: its streams, its query, its sink. Ctrl-C and SIGTERM end it between two epochs."""
    stderr = Terminal(stderr=True)
    with reported(stderr, debug=debug), Sigterm() as sigterm:
        from windrow.cli.job import check_runnable
        from windrow.cli.job_file import load_job
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
        is_json = format is ExplainFormat.json
        for text in explain_all(asked, stream or [], "json" if is_json else "text"):
            if is_json:
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


@app.command()
def warm(
    families: Annotated[
        list[str] | None,
        typer.Argument(
            help="What to compile for: first, joins, aggregates, statistics, asof, bestmatch, "
            "counts, changelogs, algorithms, shedding; all without a name.",
            metavar="[FAMILY]...",
            show_default=False,
        ),
    ] = None,
    folder: Annotated[
        Path | None,
        typer.Option(
            help="Keep the kernels there, for all to read; WINDROW_KERNEL_CACHE names it to those "
            "who do. Without it, in this user's cache."
        ),
    ] = None,
    in_package: Annotated[
        bool,
        typer.Option(
            "--in-package", help="Keep them beside the package, where all who use it find them."
        ),
    ] = False,
    portable: Annotated[
        bool,
        typer.Option(
            "--portable",
            help="Compile for other processors of this architecture, too: for an image that is "
            "built here and run elsewhere.",
        ),
    ] = False,
    jobs: Annotated[
        int | None, typer.Option(min=1, help="Processes; one per core without it.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON on stdout.")] = False,
    debug: Debug = False,
) -> None:
    """Compile ahead what queries need, so that the first one does not wait. Twice does nothing."""
    stderr = Terminal(stderr=True)
    with reported(stderr, debug=debug):
        from windrow.cli.warming import checked_families, place_of, warm
        from windrow.run.terminal import telling

        asked = checked_families(families or ())
        place = place_of(folder, in_package=in_package)
        with telling(stderr) as say:
            processes = jobs or os.cpu_count() or 1
            done = warm(asked, place, processes, say, is_portable=portable)
        if as_json:
            typer.echo(json.dumps(done.as_dict()))
        else:
            Terminal().say(str(done))


app.command(context_settings={"ignore_unknown_options": True, "allow_extra_args": True})(cost)


def _resolve(progress: Shown) -> ProgressStyle:
    if progress is Shown.auto:
        return "live" if sys.stderr.isatty() else "json"
    return cast("ProgressStyle", progress.value)
