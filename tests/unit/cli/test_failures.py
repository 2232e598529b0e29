"""Exceptions as the shell sees them."""

from __future__ import annotations

import errno
import io

import pytest
import typer

from windrow.cli.errors import reported, text_inside
from windrow.errors import PlanError, Span
from windrow.run.terminal import Terminal

OURS = PlanError(
    "unbounded-state", "the join keeps state forever", reason="no window", hint="add one"
)


def outcome(error: BaseException, *, debug: bool = False) -> tuple[int, str]:
    stderr = io.StringIO()
    with (
        pytest.raises(typer.Exit) as caught,
        reported(Terminal(file=stderr, width=40), debug=debug),
    ):
        raise error
    return caught.value.exit_code, stderr.getvalue()


def test_an_error_of_ours_is_its_text_and_exit_code_2():
    assert outcome(OURS) == (2, f"{OURS}\n")


def test_our_text_inside_an_exception_of_spark_leads():
    wrapped = RuntimeError(
        "[STREAM_FAILED] Query terminated: Traceback (most recent call last):\n"
        f'  File "worker.py", line 3\nwindrow.errors.PlanError: {OURS}\n\n\tat org.apache.Spark\n'
    )
    assert outcome(wrapped) == (2, f"{OURS}\n")


def test_our_text_is_found_with_its_place_in_the_sql():
    sql = "SELECT a\nFROM b"
    placed = PlanError("x-y", "no", hint="yes").at(Span(14, 15)).in_sql(sql)
    assert text_inside(f"before: {placed}\nSQLSTATE") == str(placed)


def test_a_message_without_our_text_has_none():
    assert text_inside("SomeError[x]: no") == ""
    # Spark prints its plan below, with what the query would say of times that it cannot hold.
    plan = f"=== Streaming Query ===\nLogical Plan:\n~Project [raise_error({OURS})]"
    assert text_inside(f"[STREAM_FAILED] no space left on device\n{plan}") == ""


def test_what_nobody_expected_asks_for_a_report():
    assert outcome(RuntimeError("\nboom\nmore")) == (
        1,
        "RuntimeError: boom\n"
        "  Windrow did not expect this; a report with the job would help\n"
        "  hint: --debug shows where it happened\n",
    )


@pytest.mark.parametrize("file", [None, "/srv/out"])
def test_a_system_that_refuses_is_for_the_user_to_mend(file):
    named = "" if file is None else " '/srv/out'"
    assert outcome(OSError(errno.ENOSPC, "No space left on device", file)) == (
        2,
        f"ResourceError[system-refuses]: the system does not let Windrow read or write{named}\n"
        "  No space left on device\n"
        "  hint: make room, or name paths that you may read and write\n",
    )


def test_debug_shows_the_traceback():
    code, text = outcome(ValueError("boom"), debug=True)
    assert code == 1
    assert "Traceback (most recent call last)" in text


def test_an_interrupt_has_the_usual_exit_code():
    assert outcome(KeyboardInterrupt()) == (130, "interrupted\n")
