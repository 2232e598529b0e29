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
from pyspark.sql import SparkSession
import windrow

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
