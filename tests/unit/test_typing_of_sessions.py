"""What type checkers know of a session: a user's script with a wrong option fails mypy."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path
from typing import get_args

import pytest

from windrow.run.progress import KINDS
from windrow.session import ProgressStyle

ROOT = Path(__file__).resolve().parents[2]
NAME = "script_of_a_user.py"
RESULT, FRAME = "windrow.run.local.result.Result", "pyspark.sql.dataframe.DataFrame"
EXPLANATION = "windrow.physical.explain.explanation.Explanation"

SCRIPT = f"""\
from collections.abc import Iterator
import polars as pl
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.connect.session import SparkSession as ConnectSession
import windrow
from windrow.io import Source

w = windrow.Session()
reveal_type(w)  # windrow.session.Session[{RESULT}]
reveal_type(w.sql("SELECT x FROM s", memory="1 MB", on_memory="spill"))  # {RESULT}
reveal_type(w.sql("SELECT x FROM s", buckets=3, updates=True, progress="log"))  # {RESULT}
reveal_type(w.explain("SELECT x FROM s", algorithm="bew", seed=7))  # {EXPLANATION}
reveal_type(w.explain("SELECT x FROM s", format="text").to_json())  # str
reveal_type(w.explain("SELECT x FROM s").data["version"])  # Any
reveal_type(w.explain("SELECT x FROM s", format="json"))  # str
w.progress(w.sql("SELECT x FROM s"))

def on_spark(spark: SparkSession) -> None:
    s = windrow.Session(spark)
    reveal_type(s)  # windrow.session.Session[{FRAME}]
    reveal_type(s.sql("SELECT x FROM s", buckets=8))  # {FRAME}
    reveal_type(s.state_at(s.sql("SELECT x FROM s"), 7))  # {FRAME}

def on_connect(spark: ConnectSession) -> None:
    s = windrow.Session(spark)
    reveal_type(s)  # windrow.session.Session[{FRAME}]

class Sensor:
    def __arrow_c_stream__(self, requested_schema: object = None) -> object: ...

def registers(frame: DataFrame, batches: Iterator[pl.DataFrame], own: Source) -> None:
    w.stream("s", frame, time="at")
    w.stream("s", own, time="at")
    w.stream("s", pl.DataFrame(), time="at")
    w.stream("s", [pl.DataFrame(), windrow.NOTHING_NOW], time="at")
    w.stream("s", Sensor(), time="at")
    w.stream("s", (Sensor(), pl.DataFrame()), time="at")
    w.stream("s", batches, time="at")
    w.stream("s", (windrow.NOTHING_NOW for _ in range(3)), time="at")
    w.stream("s", windrow.kafka("orders", format="avro"), time="at")
    w.stream("s", windrow.files("data/", format="csv"), time="at")
    w.table("t", pl.DataFrame())
    w.run("SELECT x FROM s", to=windrow.postgres("postgresql:", table="t", mode="append"))
    w.run("SELECT x FROM s", to=windrow.delta("lake/t", mode="merge"))

def on_either(either: windrow.Session) -> None:
    reveal_type(either.sql("SELECT x FROM s"))  # Any

w.sql("SELECT x FROM s", on_lat="keep")  # Unexpected keyword argument "on_lat"
w.sql("SELECT x FROM s", on_late="drop")  # Argument "on_late" .* "Literal['count', 'keep', 'fail']"
w.sql("SELECT x FROM s", buckets="many")  # Argument "buckets" .* expected "int | None"
w.sql("SELECT x FROM s", updates="yes")  # Argument "updates" .* expected "bool"
w.explain("SELECT x FROM s", strategy="one")  # No overload variant of "explain"
w.explain("SELECT x FROM s", format="jsn")  # No overload variant of "explain"
w.explain("SELECT x FROM s", format="json").data  # "str" has no attribute "data"
w.sql("SELECT x FROM s", progress="loud")  # Argument "progress"
w.sql(3)  # Argument 1 to "sql"
w.stream("s", 3)  # Argument 2 to "stream"
w.stream("s", "data.csv")  # Argument 2 to "stream"
w.stream("s", {{"k": [1]}})  # Dict entry 0 has incompatible type
w.table("t", [1, 2])  # List item 0 has incompatible type "int"
windrow.kafka("t", format="jsonn")  # Argument "format" to "Kafka"
windrow.kafka("t", tombstones="drop")  # Argument "tombstones" to "Kafka"
windrow.files("data/", format="orcc")  # Argument "format" to "Files"
windrow.files("data/", bad_rows="drop")  # Argument "bad_rows" to "Files"
windrow.postgres("postgresql:", mode="appendd")  # Argument "mode" to "Postgres"
windrow.delta("lake/t", mode="foo")  # Argument "mode" to "Delta"
windrow.Session(3)  # No overload variant of "Session"
"""
"""Each line that says something of a type, or is wrong, says so behind it."""


@pytest.fixture(scope="module")
def found(tmp_path_factory) -> dict[int, str]:
    """What mypy says of each line of the script."""
    script = tmp_path_factory.mktemp("user") / NAME
    script.write_text(SCRIPT)
    done = subprocess.run(
        [sys.executable, "-m", "mypy", "--config-file", "pyproject.toml", "--strict", str(script)],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    said: dict[int, str] = {}
    for line in done.stdout.splitlines():
        # By its name alone: what mypy has kept of an earlier run has the folder of that one.
        match = re.search(rf"{re.escape(NAME)}:(\d+): (.*)", line)
        if match:
            said[int(match[1])] = f"{said.get(int(match[1]), '')}{match[2]}\n"
    assert said, done.stdout + done.stderr
    return said


def expected(wrong: bool) -> dict[int, str]:
    lines = enumerate(SCRIPT.splitlines(), 1)
    marked = {n: line.split("  # ")[1] for n, line in lines if "  # " in line}
    first_wrong = next(n for n, text in marked.items() if text.startswith("Unexpected"))
    return {n: text for n, text in marked.items() if (n >= first_wrong) == wrong}


@pytest.mark.parametrize("line", expected(wrong=False))
def test_a_result_is_told_from_a_dataframe(found, line):
    assert f'Revealed type is "{expected(wrong=False)[line]}"' in found[line]


@pytest.mark.parametrize("line", expected(wrong=True))
def test_a_wrong_option_is_an_error(found, line):
    words = re.escape(expected(wrong=True)[line]).replace(r"\.\*", ".*")
    assert re.search(rf"error: .*{words}", found[line]), found[line]


def test_nothing_else_is_an_error(found):
    errors = {line for line, text in found.items() if "error:" in text}
    assert errors == set(expected(wrong=True))


def test_progress_may_be_shown_in_every_way_there_is():
    assert set(get_args(ProgressStyle)) == set(KINDS)
