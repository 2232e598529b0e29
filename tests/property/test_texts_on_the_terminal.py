"""Laws of the terminal: no text that is not ours is markup, an emoji, or an order to it."""

from __future__ import annotations

import contextlib
import io
import json
import re
import tempfile
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import typer
from case_share import share_of
from hypothesis import example, given, settings
from hypothesis import strategies as st
from twins.visible_text import visible_text
from typer.testing import CliRunner

import windrow
from windrow.cli.errors import reported
from windrow.cli.main import app
from windrow.errors import PlanError
from windrow.run.progress import LiveLine, Progress
from windrow.run.terminal import Terminal, readable, visible, visible_line

HOSTILE = (
    "[error]", "[/bold]", "[/]", "[bold red]", "[link=x]", "\\[", ":x:", ":warning:", "\x1b[31m",
    "\x1b]8;;u\x1b\\", "\x9b2J", "\r", "\n", "\t", "\b", "\x07", "\x00", "\u202e", "\u2066", "\u200b",
    "\u2028", "\udc80", "日本", "e\u0301", "👩\u200d🔬", "%s", "{0}", " ",
)  # fmt: skip
texts = st.lists(st.sampled_from(HOSTILE) | st.text(st.characters(), max_size=3), max_size=6).map(
    "".join
)
# What Arrow and TOML hold is Unicode; names of files and messages of others may have halves.
whole_texts = texts.map(lambda text: text.encode(errors="replace").decode())
WIDE = 10_000


def printed(*shown: object) -> str:
    out = io.StringIO()
    Terminal(file=out, width=WIDE).print(*shown, soft_wrap=True)
    return out.getvalue()


def is_tame(output: str) -> bool:
    """Whether a terminal shows the output as it is."""
    return output == visible_text(output)


@pytest.mark.law
@settings(max_examples=share_of(60), deadline=None)
@given(texts)
def test_texts_are_escaped_as_the_plain_twin_escapes_them(text: str) -> None:
    assert visible(text) == visible_text(text)
    assert visible_line(text) == visible_text(text, is_line=True)


@pytest.mark.law
@settings(max_examples=share_of(60), deadline=None)
@given(texts)
def test_a_printed_text_is_the_text(text: str) -> None:
    assert is_tame(printed(text))
    if "\t" not in text:
        assert printed(text) == visible_text(text) + "\n"


@pytest.mark.law
@settings(max_examples=share_of(60), deadline=None)
@given(texts, st.sampled_from(["ascii", "latin-1", "utf-8"]))
def test_a_terminal_of_another_encoding_takes_every_text(text: str, encoding: str) -> None:
    out = io.TextIOWrapper(io.BytesIO(), encoding)
    Terminal(file=out, width=80).print(
        readable(pa.table({"日": [text.encode(errors="replace").decode()]}))
    )
    shown = out.tell()
    Terminal(file=out, width=80).say(text)
    assert out.tell() > shown > 0


@pytest.mark.law
@settings(max_examples=share_of(60), deadline=None)
@given(st.lists(whole_texts, min_size=1, max_size=4), whole_texts)
def test_values_and_names_of_columns_are_shown_as_they_are(values: list[str], name: str) -> None:
    shown = printed(readable(pa.table({name: values, f"{name}.": [{"a": one} for one in values]})))
    assert is_tame(shown)
    header, *rows = re.findall(r"^[┃│] (.*) [┃│]$", shown, re.MULTILINE)
    assert header.split(" ┃ ")[0].rstrip() == visible_text(name, is_line=True).rstrip()
    for row, value in zip(rows, values, strict=True):
        assert row.startswith(visible_text(value, is_line=True).rstrip())


@pytest.mark.law
@settings(max_examples=share_of(60), deadline=None)
@given(texts)
def test_messages_are_shown_as_they_are(text: str) -> None:
    ours = PlanError("x", text, reason=text, hint=text)
    for error in (ours, RuntimeError(text), OSError(13, text, text)):
        for debug in (False, True):
            out = io.StringIO()
            with (
                contextlib.suppress(typer.Exit),
                reported(Terminal(file=out, width=40), debug=debug),
            ):
                raise error
            assert is_tame(out.getvalue())
            if error is ours and not debug:
                # Tabs are blanks by then.
                assert out.getvalue().split() == visible_text(str(ours)).split()


@pytest.mark.law
@settings(max_examples=share_of(60), deadline=None)
@given(texts)
def test_progress_is_redrawn_as_it_is(text: str) -> None:
    class Screen(io.StringIO):
        def isatty(self) -> bool:
            return False  # so that Rich sends no orders of its own

    screen = Screen()
    seconds = iter((0.0, 10.0))
    line = LiveLine(screen, lambda: next(seconds))
    line.show(Progress(0, 1, 1, 0, "bigint", stalled=(text,)))
    line.close()
    assert is_tame(screen.getvalue())


@pytest.mark.law
@settings(max_examples=share_of(20), deadline=None)
@given(whole_texts.filter(lambda text: text.strip() and "`" not in text and "\x00" not in text))
@example("[error] disk full")
@example("[/bold]")
@example(":x:")
def test_a_job_shows_what_its_files_say(text: str) -> None:
    with tempfile.TemporaryDirectory() as folder:
        job = write_job(Path(folder), text)
        for command in ("run", "explain"):
            done = CliRunner().invoke(app, [command, str(job)], env={"COLUMNS": str(WIDE)})
            assert done.exception is None or isinstance(done.exception, SystemExit)
            assert is_tame(done.output)
            if command == "run" and done.exit_code == 0:
                assert visible_text(text, is_line=True).rstrip() in done.stdout


def write_job(folder: Path, text: str) -> Path:
    # The time column's name is plain, the stream's and the other column's are not.
    pq.write_table(pa.table({"at": [1], text: [text]}), folder / "a.parquet")
    query = f"SELECT `{text}` FROM `{text}`"
    job = folder / "job.toml"
    path = json.dumps(str(folder / "a.parquet"))
    job.write_text(
        f'query = {in_toml(query)}\n[streams.{in_toml(text)}]\npath = {path}\ntime = "at"\n'
    )
    return job


def in_toml(text: str) -> str:
    """A text as TOML writes it, every character by its number."""
    return '"' + "".join(f"\\U{ord(one):08x}" for one in text) + '"'


def test_there_is_one_way_to_the_terminal() -> None:
    for file in Path(windrow.__file__).parent.rglob("*.py"):
        text = file.read_text()
        if file.name != "terminal.py":
            assert not re.search(r"rich\.console import .*\bConsole\b|\bConsole\(", text), file
        # JSON has no character beyond ASCII, and a version is ours.
        for echoed in re.findall(r"typer\.echo\((.*)", text):
            assert echoed.startswith(("json.dumps(", 'f"windrow {version(')), file
