"""A step for which there is not enough memory is an error that says what was too large."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pyarrow as pa
import pytest
from sessions import session

from windrow import ResourceError
from windrow.run.local import execution
from windrow.run.local.execution import out_of_memory

SCRIPT = """
import resource
import pyarrow as pa, windrow

QUERY = "SELECT a.x, b.x AS y FROM a, b WINDOW = 100000"

def answer(rows):
    session = windrow.Session()
    for name in "ab":
        columns = {"x": ["x" * 1_000] * rows, "at": list(range(rows))}
        session.stream(name, [pa.table(columns)], time="at")
    return session.sql(QUERY).to_arrow()

few = answer(10).num_rows
used = int(open("/proc/self/statm").read().split()[0]) * resource.getpagesize()
resource.setrlimit(resource.RLIMIT_AS, (used + 100_000_000, resource.RLIM_INFINITY))
try:
    answer(3_000)
except windrow.ResourceError as error:
    print(error)
assert answer(10).num_rows == few
"""


@pytest.mark.skipif(sys.platform != "linux", reason="the limit is that of Linux")
def test_a_join_that_does_not_fit_says_what_was_too_large_and_the_session_goes_on():
    ran = subprocess.run(
        [sys.executable, "-c", SCRIPT], capture_output=True, text=True, timeout=300, check=False
    )
    assert (ran.returncode, ran.stderr) == (0, "")
    first, reason, hint = ran.stdout.splitlines()
    assert first == (
        "ResourceError[out-of-memory]: there is not enough memory for a batch of 3,000 rows of b"
    )
    assert "the query holds" in reason
    assert "combinations" in reason
    assert "memory='1 GB'" in hint


@pytest.mark.parametrize(
    "kind", [MemoryError, pa.ArrowMemoryError, np._core._exceptions._ArrayMemoryError]
)
def test_every_kind_of_memory_error_is_one(kind, monkeypatch):
    arguments = (
        ("too much",) if kind in {MemoryError, pa.ArrowMemoryError} else ((3,), np.dtype("i8"))
    )
    error = kind(*arguments)

    def fails(*_: object) -> None:
        raise error

    w = session({"s": {"k": [1], "at": [0]}}, time="at")
    result = w.sql("SELECT k FROM s")
    monkeypatch.setattr(execution.Scheduler, "run", fails)
    for _ in range(2):
        with pytest.raises(ResourceError, match="a batch of 1 rows of s") as caught:
            result.to_arrow()
        assert caught.value.__cause__ is error


def test_the_message_says_what_was_too_large_and_what_to_do():
    assert str(out_of_memory(MemoryError("no room"), ("s", 1_000), 20)) == (
        "ResourceError[out-of-memory]: there is not enough memory for a batch of 1,000 rows of s\n"
        "  the query holds 20 rows, with which it makes up to 20,000 combinations; no room\n"
        "  hint: bound what it holds by memory='1 GB', for instance, with on_memory='spill' or 'shed'; "
        "give batches of fewer rows; or make windows narrower and conditions stricter"
    )
