from __future__ import annotations

import io
import json
import logging
from dataclasses import replace

import pytest
from sessions import session

from windrow.errors import PlanError
from windrow.kernels.compiling import COMPILING as KERNELS
from windrow.kernels.compiling import Compiled
from windrow.run.progress import (
    JsonLines,
    LiveLine,
    LogLines,
    Progress,
    ProgressView,
    renderer,
)

RECORD = Progress(
    batch=4,
    rows_in=12_000,
    rows_out=30,
    watermark=2_000_000,
    time_type="timestamp",
    late=2,
    null_time=1,
    stored=500,
    state_bytes=80_000,
    ms=12.3456,
    operators={"WJoin a, b": {"rows_in": 11_997, "late": 2}},
)


class Screen(io.StringIO):
    def isatty(self) -> bool:
        return True


class Clock:
    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


def test_a_record_is_one_line_of_text():
    assert RECORD.line() == (
        "batch 4: 12,000 rows in, 30 out, watermark 1970-01-01 00:00:02, 500 stored (80.0 kB), "
        "2 late, 1 without a time, 12 ms"
    )


def test_json_has_one_object_per_line_with_the_counters_of_each_operator():
    out = io.StringIO()
    shown = renderer("json", out=out)
    shown.show(RECORD)
    shown.show(RECORD)
    shown.close()
    lines = out.getvalue().splitlines()
    assert len(lines) == 2
    assert json.loads(lines[0]) == {
        "batch": 4,
        "rows_in": 12_000,
        "rows_out": 30,
        "watermark": "1970-01-01 00:00:02",
        "late": 2,
        "null_time": 1,
        "stored": 500,
        "state_bytes": 80_000,
        "ms": 12.346,
        "operators": {"WJoin a, b": {"rows_in": 11_997, "late": 2}},
        "stalled": [],
        "plans": {},
        "plan_steps": {},
        "plan_changes": 0,
        "recall": None,
        "response": None,
        "streams": {},
    }


def test_log_writes_to_the_logger_of_windrow(caplog):
    with caplog.at_level(logging.INFO, logger="windrow"):
        renderer("log").show(RECORD)
    assert caplog.messages == [RECORD.line()]


def test_live_draws_nothing_before_half_a_second():
    screen, clock = Screen(), Clock()
    live = renderer("live", out=screen, clock=clock)
    clock.now = 0.4
    live.show(RECORD)
    live.close()
    assert screen.getvalue() == ""


def test_live_draws_the_line_and_the_rate_after_half_a_second():
    screen, clock = Screen(), Clock()
    live = renderer("live", out=screen, clock=clock)
    clock.now = 2.0
    live.show(RECORD)
    live.close()
    assert "12,000 rows in" in screen.getvalue()
    assert "6,000 rows/s" in " ".join(screen.getvalue().split())


@pytest.mark.parametrize(
    ("kind", "out", "expected"),
    [
        ("auto", Screen(), LiveLine),
        ("auto", io.StringIO(), ProgressView),
        ("json", io.StringIO(), JsonLines),
        ("live", io.StringIO(), ProgressView),
        ("none", Screen(), ProgressView),
        ("log", Screen(), LogLines),
    ],
)
def test_the_place_decides_how_progress_is_shown(kind, out, expected):
    assert type(renderer(kind, out=out)) is expected


def test_an_unknown_way_to_show_progress_is_refused():
    with pytest.raises(PlanError) as error:
        renderer("jsn")
    assert str(error.value) == (
        "PlanError[bad-option]: progress = 'jsn' is not a way to show progress\n"
        "  hint: one of json, none, auto, live, log"
    )


def test_warnings_are_said_wherever_progress_is_shown(caplog):
    out, screen = io.StringIO(), Screen()
    renderer("json", out=out).warn("much is [late]")
    assert json.loads(out.getvalue()) == {"warning": "much is [late]"}
    renderer("live", out=screen).warn("much is [late]")
    assert screen.getvalue().strip() == "warning: much is [late]"
    for kind in ("log", "none"):
        renderer(kind).warn(kind)
    logged = [(record.levelno, record.getMessage()) for record in caplog.records]
    assert logged == [(logging.WARNING, "log"), (logging.WARNING, "none")]


COMPILING = Compiled("bew_hash.probe_buckets", 3, 0.75)


def test_what_is_compiled_is_said_once_where_lines_are_written(caplog):
    out = io.StringIO()
    views = [JsonLines(out), LogLines()]
    with caplog.at_level(logging.INFO, logger="windrow"):
        for view in views:
            view.compiling(COMPILING)
            view.compiling(COMPILING)
    text = "compiling, once on this machine: bew_hash.probe_buckets (3 kernels so far)"
    assert json.loads(out.getvalue()) == {"note": text}
    assert caplog.messages == [text]


def test_a_terminal_shows_each_kernel_once_it_takes_long():
    screen = Screen()
    view = renderer("live", out=screen)
    view.compiling(replace(COMPILING, seconds=0.25))
    assert screen.getvalue() == ""
    view.compiling(COMPILING)
    assert "compiling, once on this machine: bew_hash.probe_buckets" in screen.getvalue()
    view.close()


def test_a_query_tells_its_display_of_what_is_compiled(monkeypatch):
    def slow(kernel):
        with KERNELS.turn():
            KERNELS.began("some.kernel")
            return kernel

    told = []
    monkeypatch.setattr(LogLines, "compiling", lambda _view, news: told.append(news.kernel))
    own = session({"a": {"k": [1], "ts": [0]}}, time="ts")
    own.function("slow", slow, returns="bigint")
    assert own.sql("SELECT slow(k) AS s FROM a", progress="log").to_arrow().num_rows == 1
    assert told == ["some.kernel", ""]
