"""The commands, in process, as the shell runs them."""

from __future__ import annotations

import json
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from typer.testing import CliRunner

from windrow.cli.main import app

JOB = """
query = "SELECT a.k, b.v FROM a, b WHERE a.k = b.k WINDOW = 5"

[streams.a]
path = "a.parquet"
time = "at"

[streams.b]
path = "b.parquet"
time = "at"
"""


@pytest.fixture
def job(tmp_path: Path) -> Path:
    pq.write_table(pa.table({"k": [1, 2, 3], "at": [0, 10, 20]}), tmp_path / "a.parquet")
    pq.write_table(
        pa.table({"k": [1, 2, 3], "v": [7, 8, 9], "at": [5, 16, 15]}), tmp_path / "b.parquet"
    )
    file = tmp_path / "job.toml"
    file.write_text(JOB)
    return file


def windrow(*arguments: object):
    return CliRunner().invoke(app, [str(argument) for argument in arguments])


def test_run_shows_the_answer_and_progress_as_json_lines(job):
    done = windrow("run", job)
    assert done.exit_code == 0
    assert "2 rows" in done.stdout
    assert json.loads(done.stderr.splitlines()[-1])["rows_out"] == 2


def test_progress_can_be_silenced(job):
    assert windrow("run", job, "--progress", "none").stderr == ""


@pytest.mark.parametrize("mode", ["batch", "streaming"])
def test_run_writes_the_answer_to_the_sink(job, mode):
    job.write_text(JOB + '[sink]\npath = "out"\n')
    assert windrow("run", job, "--mode", mode, "--until-done").exit_code == 0
    rows = pq.read_table(job.parent / "out").to_pylist()
    assert sorted(row["v"] for row in rows) == [7, 9]


TABLES = """
query = "SELECT a.k, t.name FROM a JOIN t ON a.k = t.k"
[streams.a]
path = "a.parquet"
time = "at"
[tables.t]
path = "t.csv"
format = "csv"
schema = "k BIGINT, name STRING"
"""


@pytest.mark.parametrize("mode", ["batch", "streaming"])
def test_a_job_may_join_its_streams_with_tables(job, mode):
    (job.parent / "t.csv").write_text("k,name\n1,one\n3,three\n3,drei\n")
    job.write_text(TABLES + '[sink]\npath = "out"\n')
    assert windrow("run", job, "--mode", mode, "--until-done").exit_code == 0
    rows = pq.read_table(job.parent / "out").to_pylist()
    assert sorted(row["name"] for row in rows) == ["drei", "one", "three"]
    assert "ScanTable t: k, name" in windrow("explain", job).stdout


def test_a_table_whose_file_is_missing_is_named(job):
    job.write_text(TABLES)
    done = windrow("run", job)
    assert done.exit_code == 2
    assert "table t finds no file" in done.stderr


SHEDS = '[options]\nmemory = "{} tuples"\non_memory = "shed"\nalgorithm = "bew"\n'


@pytest.mark.parametrize(("memory", "told"), [(2, "nothing was found"), (50, "100.0% expected")])
def test_the_answer_of_a_query_that_sheds_is_marked_below_its_rows(job, memory, told):
    job.write_text(JOB + SHEDS.format(memory))
    done = windrow("run", job, "--progress", "none")
    assert done.stderr == ""
    *_, last = done.stdout.strip().splitlines()
    assert last.startswith("the query sheds: recall ")
    assert last.endswith(told)


@pytest.mark.parametrize("mode", ["batch", "streaming"])
@pytest.mark.parametrize("format_", ["parquet", "csv", "json"])
def test_the_answer_of_a_query_that_sheds_is_marked_beside_its_files(job, mode, format_):
    sink = f'[sink]\npath = "out"\nformat = "{format_}"\n'
    job.write_text(JOB + sink + SHEDS.format(50))
    assert windrow("run", job, "--mode", mode, "--until-done").exit_code == 0
    told = json.loads((job.parent / "out" / "_recall.json").read_text())
    assert told == {"expected": 1.0, "estimated": 1.0}
    if format_ == "parquet":
        assert pq.read_table(job.parent / "out").num_rows == 2


LATE = """
query = "SELECT COUNT(*) AS n FROM a [RANGE 5]"
mode = "streaming"
[streams.a]
path = "a"
time = "at"
lateness = 10
"""


def with_late_rows(job: Path) -> Path:
    folder = job.parent / "a"
    folder.mkdir()
    for number, times in enumerate(([0, 100], [50, 101], [None, 102])):
        rows = pa.table({"k": [1, 1], "at": pa.array(times, pa.int64())})
        pq.write_table(rows, folder / f"{number}.parquet")
    job.write_text(LATE)
    return job


WARNED = (
    "16.7% of the rows of a came late and are not in the answer (1 of 6): a lateness of 50 would "
    "have sufficed"
)


def test_a_run_ends_with_its_counts_and_warns_of_late_rows(job, monkeypatch):
    done = windrow("run", with_late_rows(job), "--until-done")
    assert done.exit_code == 0
    *_, warning, last = map(json.loads, done.stderr.splitlines())
    assert warning == {"warning": WARNED}
    assert last == {
        "done": True,
        "rows_in": 6,
        "rows_out": last["rows_out"],
        "late": 1,
        "null_time": 1,
        "streams": {"a": {"rows_in": 6, "late": 1, "null_time": 1, "lateness_needed": 50}},
    }
    monkeypatch.setattr("windrow.cli.main._resolve", lambda _: "live")
    *_, said = windrow("run", job, "--until-done").stderr.splitlines()
    rows = last["rows_out"]
    assert said == f"done: 6 rows read, {rows} rows of the answer, 1 late (a 1), 1 without a time"


def test_a_warning_is_said_though_progress_is_silenced(job, caplog):
    done = windrow("run", with_late_rows(job), "--until-done", "--progress", "none")
    assert done.exit_code == 0
    assert [record.getMessage() for record in caplog.records] == [WARNED]


def test_late_rows_that_are_kept_are_written_aside(job):
    folder = job.parent / "a"
    folder.mkdir()
    for number, times in enumerate(([0, 100], [50, 101])):
        pq.write_table(pa.table({"k": [1, 1], "at": times}), folder / f"{number}.parquet")
    job.write_text(
        'query = "SELECT COUNT(*) AS n FROM a [RANGE 5]"\nmode = "streaming"\n'
        '[streams.a]\npath = "a"\ntime = "at"\nlateness = 10\n'
        '[options]\non_late = "keep"\ndead_letters = "late"\n'
    )
    assert windrow("run", job, "--until-done").exit_code == 0
    assert pq.read_table(job.parent / "late" / "a").to_pylist() == [{"k": 1, "at": 50}]


def test_late_rows_that_are_to_be_kept_need_a_folder(job):
    job.write_text(JOB + '[options]\non_late = "keep"\n')
    done = windrow("run", job)
    assert done.exit_code == 2
    assert done.stderr.startswith("JobError[missing-key]: [options] does not say its dead_letters")


def test_a_folder_that_cannot_take_late_rows_is_refused_before_anything_runs(job):
    (job.parent / "late").write_text("a file")
    options = '[options]\non_late = "keep"\ndead_letters = "late"\n'
    job.write_text(JOB + '[sink]\npath = "out"\n' + options)
    assert windrow("run", job).exit_code == 2
    assert not (job.parent / "out").exists()


def test_a_mistake_in_the_sql_is_text_and_exit_code_2(job):
    job.write_text(JOB.replace("a.k, b.v", "a.k, b.w"))
    done = windrow("run", job)
    assert done.exit_code == 2
    assert done.stderr.startswith("UnknownColumn[unknown-column]: ")
    assert "  1 | SELECT a.k, b.w FROM a, b" in done.stderr
    assert "Traceback" not in done.stderr


def test_a_mistake_in_the_job_is_text_and_exit_code_2(job):
    job.write_text(JOB.replace('path = "b.parquet"', 'path = "c.parquet"'))
    done = windrow("run", job)
    assert done.exit_code == 2
    assert done.stderr.startswith("JobError[no-data-files]: stream b finds no file")


def test_an_unknown_option_of_the_query_names_the_known_ones(job):
    job.write_text(JOB + '[options]\nonlate = "keep"\n')
    done = windrow("run", job)
    assert done.exit_code == 2
    assert "there is no option 'onlate'\n  hint: one of on_late, " in done.stderr


def test_what_happens_beyond_a_memory_that_the_job_does_not_set_is_refused(job):
    job.write_text(JOB + '[options]\non_memory = "spill"\n')
    done = windrow("run", job)
    assert done.exit_code == 2
    assert done.stderr == (
        "PlanError[on-memory-without-memory]: on_memory is 'spill', but memory is not set\n"
        "  without memory a query may hold as much as its windows need\n"
        "  hint: set both, for instance memory = '512 MB'\n"
    )


def test_a_mode_that_does_not_exist_is_a_usage_error(job):
    assert windrow("run", job, "--mode", "sometimes").exit_code == 2


def test_explain_takes_a_job(job):
    done = windrow("explain", job)
    assert done.exit_code == 0
    assert "WJoin a, b" in done.stdout


def test_explain_takes_sql_over_the_streams_of_a_job(job):
    done = windrow("explain", job, "SELECT COUNT(*) AS n FROM a [RANGE 5]")
    assert done.exit_code == 0
    assert "SlidingAggregate count(*)" in done.stdout


def test_explain_takes_sql_over_streams_without_data():
    done = windrow(
        "explain",
        "SELECT x.k FROM x, y WHERE x.k = y.k WINDOW = INTERVAL '5' SECONDS",
        "--stream",
        "x(k BIGINT, ts TIMESTAMP) time=ts lateness=2 seconds",
        "--stream",
        "y(k BIGINT, ts TIMESTAMP) time=ts",
    )
    assert done.exit_code == 0
    assert "x: time ts (timestamp), lateness 2s" in done.stdout


def test_explain_without_a_stream_says_how_the_shell_is_told_of_one():
    done = windrow("explain", "SELECT x.k FROM x [RANGE 10]")
    assert done.exit_code == 2
    assert "there is no stream named 'x'" in done.stderr
    assert "--stream 'sales(item STRING, ts TIMESTAMP) time=ts'" in " ".join(done.stderr.split())
    assert "session.stream" not in done.stderr


def test_explain_gives_json_for_machines():
    stream = "x(k BIGINT, ts TIMESTAMP) time=ts lateness=2 seconds"
    done = windrow("explain", "SELECT x.k FROM x", "--stream", stream, "--format", "json")
    assert done.exit_code == 0
    found = json.loads(done.stdout)
    assert found["version"] == 1
    assert [node["node"] for node in found["physical"]] == [
        "Emit",
        "ProjectRows",
        "ScanStream",
    ]


def test_explain_takes_streams_whose_time_is_given_on_arrival():
    done = windrow(
        "explain", "SELECT COUNT(*) AS n FROM s [RANGE INTERVAL '5' SECONDS]",
        "--stream", "s(k BIGINT) time=on arrival",
    )  # fmt: skip
    assert done.exit_code == 0
    assert "s: time on arrival, as _arrived (timestamp), lateness 0s" in done.stdout


def test_a_job_may_give_time_on_arrival(job):
    job.write_text(
        "query = \"SELECT COUNT(*) AS n FROM a [RANGE INTERVAL '5' SECONDS]\"\n"
        '[streams.a]\npath = "a.parquet"\ntime = "on arrival"\n[sink]\npath = "out"\n'
    )
    assert windrow("run", job).exit_code == 0
    rows = pq.read_table(job.parent / "out").to_pylist()
    # All at one instant, and all gone five seconds and a tick later.
    assert [(row["_change_type"], row["n"] > 0) for row in rows] == [
        ("insert", True),
        ("delete", True),
        ("insert", False),
    ]


def test_explain_refuses_a_stream_it_cannot_read():
    done = windrow("explain", "SELECT 1", "--stream", "x k BIGINT")
    assert done.exit_code == 2
    assert done.stderr == (
        "JobError[bad-stream]: 'x k BIGINT' does not describe a stream\n"
        "  hint: for instance  --stream 'sales(item STRING, ts TIMESTAMP) time=ts'\n"
    )


def test_the_version_is_printed():
    assert windrow("--version").stdout.startswith("windrow ")


@pytest.mark.parametrize(("is_right", "code"), [(True, 0), (False, 1)])
def test_the_demo_fails_when_an_answer_is_wrong(monkeypatch, is_right, code):
    monkeypatch.setattr("windrow.demo.show.show_demo", lambda **_: is_right)
    assert windrow("demo").exit_code == code
