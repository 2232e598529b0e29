"""Functions that a job file names."""

from __future__ import annotations

import sys
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from windrow.cli.errors import JobError
from windrow.cli.job import Function, register_functions
from windrow.cli.job_file import load_job
from windrow.cli.run_local import open_session

JOB = """
query = "SELECT a.x FROM s a, s b WHERE far(a.x, b.x) WINDOW = 9"

[streams.s]
path = "s.parquet"
time = "ts"

[functions.far]
{function}
"""


@pytest.fixture
def job(tmp_path: Path, monkeypatch):
    monkeypatch.delitem(sys.modules, "own_distances", raising=False)
    (tmp_path / "own_distances.py").write_text("def far(a, b):\n    return abs(a - b) > 1\n")
    pq.write_table(pa.table({"ts": [1, 2, 3], "x": [1, 2, 3]}), tmp_path / "s.parquet")

    def load(function: str):
        (tmp_path / "job.toml").write_text(JOB.format(function=function))
        return load_job(tmp_path / "job.toml")

    return load


BODY = 'body = "own_distances:far"\nvectorized = false'


def test_a_function_beside_the_job_file_is_called(job):
    loaded = job(BODY + '\narguments = ["bigint", "bigint"]')
    assert loaded.functions == (
        Function("far", "own_distances:far", ("bigint", "bigint"), vectorized=False),
    )
    answer = open_session(loaded).sql(loaded.query).to_arrow()
    assert sorted(answer["x"].to_pylist()) == [1, 3]


def test_modules_beside_the_job_file_are_told_apart(job):
    session = open_session(job(BODY))
    assert [m.__name__ for m in register_functions(session, job(BODY))] == ["own_distances"]
    installed = job('body = "operator:gt"\nvectorized = false')
    assert register_functions(session, installed) == []


@pytest.mark.parametrize(
    ("function", "condition"),
    [
        ('body = "nowhere_at_all:far"', "no-function"),
        ('body = "own_distances:near"', "no-function"),
        ('body = ":far"', "no-function"),
        ('returns = "boolean"', "missing-key"),
        (BODY + '\narguments = "bigint"', "wrong-value"),
        (BODY + "\narguments = [1]", "wrong-value"),
        (BODY + "\ntype = 3", "unknown-key"),
    ],
)
def test_a_function_that_is_not_there_is_refused(job, function, condition):
    with pytest.raises(JobError) as caught:
        open_session(job(function))
    assert caught.value.condition == condition


def test_a_module_that_fails_as_it_is_loaded_is_named(job, tmp_path):
    loaded = job('body = "own_failure:far"')
    Path(loaded.folder, "own_failure.py").write_text("1 / 0\n")
    with pytest.raises(JobError) as caught:
        open_session(loaded)
    assert str(caught.value) == (
        "JobError[function-module]: the module 'own_failure' of the function far cannot be loaded\n"
        "  ZeroDivisionError: division by zero\n"
        "  hint: fix what fails in  python -c 'import own_failure'  in the folder of the job file"
    )
