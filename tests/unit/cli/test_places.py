"""Places outside that job files name by their connectors."""

from __future__ import annotations

import pyarrow.parquet as pq
import pytest
from typer.testing import CliRunner

from windrow.cli.errors import JobError
from windrow.cli.job_file import load_job
from windrow.cli.main import app

JOB = """
query = "SELECT k FROM s"
[streams.s]
{stream}
time = "ts"
"""


def loaded(folder, stream: str, more: str = ""):
    file = folder / "job.toml"
    file.write_text(JOB.format(stream=stream) + more)
    return load_job(file)


def test_a_connector_is_told_what_the_table_says_of_it(tmp_path):
    stream = 'generate = "k BIGINT, ts TIMESTAMP"\nrate = 5\nrows = 10\ndistinct = {k = 3}'
    (source,) = loaded(tmp_path, stream).streams
    place = source.place
    assert (place.schema, place.rate, place.rows) == ("k BIGINT, ts TIMESTAMP", 5, 10)
    assert place.distinct == {"k": 3}
    assert source.about["time"] == "ts"


def test_changes_of_a_stream_are_a_column_and_of_a_sink_an_option(tmp_path):
    stream = 'kafka = "orders"\nformat = "debezium"\nschema = "k BIGINT"\nchanges = "_change"'
    job = loaded(tmp_path, stream, '[sink]\nkafka = "out"\nchanges = "debezium"\n')
    (source,) = job.streams
    assert source.about["changes"] == "_change"
    assert source.place.changes == "upsert"
    assert job.sink.place.changes == "debezium"


def test_what_comes_from_outside_is_a_stream_where_nobody_says_otherwise(tmp_path):
    assert loaded(tmp_path, 'generate = "k BIGINT, ts TIMESTAMP"').mode == "streaming"
    assert loaded(tmp_path, 'path = "data"').mode == "batch"


@pytest.mark.parametrize(
    ("stream", "said"),
    [
        (
            'generate = "k BIGINT, ts TIMESTAMP"\npath = "data"',
            "JobError[two-places]: [streams.s] names both generate and path\n"
            "  hint: name one of them",
        ),
        (
            'generate = "k BIGINT, ts TIMESTAMP"\nrows = "many"',
            "JobError[wrong-value]: rows of [streams.s] is 'many'\n"
            "  hint: it must be a whole number",
        ),
        (
            "generate = 7",
            "JobError[wrong-value]: generate of [streams.s] is 7\n  hint: it must be a text",
        ),
        (
            'generate = "k BIGINT, ts TIMESTAMP"\nlive = 1',
            "JobError[wrong-value]: live of [streams.s] is 1\n  hint: it must be true or false",
        ),
    ],
)
def test_what_does_not_fit_is_refused(tmp_path, stream, said):
    with pytest.raises(JobError) as refused:
        loaded(tmp_path, stream)
    assert str(refused.value) == said


def test_a_key_that_neither_knows_is_refused(tmp_path):
    with pytest.raises(JobError, match=r"has no key 'seeed'"):
        loaded(tmp_path, 'generate = "k BIGINT, ts TIMESTAMP"\nseeed = 1')


def test_a_job_over_a_connector_is_explained(tmp_path):
    loaded(tmp_path, 'generate = "k BIGINT, ts TIMESTAMP"')
    done = CliRunner().invoke(app, ["explain", str(tmp_path / "job.toml")])
    assert done.exit_code == 0
    assert "ScanStream s: k" in done.stdout


def test_what_is_said_of_files_at_a_path_is_said_of_no_connector(tmp_path):
    stream = 'generate = "k BIGINT, ts TIMESTAMP"\nfiles_per_batch = 1'
    with pytest.raises(JobError, match=r"has no key 'files_per_batch'"):
        loaded(tmp_path, stream)
    sink = '[sink]\npostgres = "postgresql://here"\ntable = "t"\nformat = "csv"\n'
    with pytest.raises(JobError, match=r"\[sink\] has no key 'format'"):
        loaded(tmp_path, 'path = "data"', sink)


def test_a_key_that_is_none_is_told_those_of_the_connector(tmp_path):
    sink = '[sink]\nkafka = "out"\nserver = "localhost:9092"\n'
    with pytest.raises(JobError, match=r"hint: known here: servers, "):
        loaded(tmp_path, 'path = "data"', sink)


@pytest.mark.parametrize(
    ("option", "said"),
    [
        ('checkpoint = "state"', 'write  checkpoint = "state"  in [sink]'),
        ("until_done = true", "run with --until-done"),
        ('to = "out"', "[sink] says where the answer goes"),
    ],
)
def test_what_a_run_is_told_elsewhere_is_no_option(tmp_path, option, said):
    with pytest.raises(JobError) as refused:
        loaded(tmp_path, 'path = "data"', f"[options]\n{option}\n")
    key = option.partition(" ")[0]
    assert str(refused.value) == (
        f"JobError[unknown-key]: [options] has no key {key!r}\n  hint: {said}"
    )


@pytest.fixture
def batch(tmp_path):
    """Files that are a batch, and a table beside them."""
    (tmp_path / "s.csv").write_text("k,ts\n1,5\n2,1\n3,3\n")
    (tmp_path / "t.csv").write_text("k,name\n1,one\n3,three\n")
    return tmp_path


BATCH = """
query = "{query}"
[streams.s]
path = "s.csv"
format = "csv"
time = "ts"
"""


def run_job(folder, text: str, *more: str):
    (folder / "job.toml").write_text(text)
    return CliRunner().invoke(app, ["run", str(folder / "job.toml"), *more])


@pytest.mark.parametrize("mode", ["", 'mode = "batch"'])
def test_a_batch_of_files_is_written_by_a_connector(batch, mode):
    query = "SELECT k, COUNT(*) AS n FROM s [RANGE 1] GROUP BY k"
    done = run_job(batch, mode + BATCH.format(query=query) + '[sink]\nfiles = "out"\n')
    assert done.exit_code == 0, done.output
    rows = pq.read_table(batch / "out").to_pylist()
    # None is late, and all of them have expired.
    changes = [(own["_event_time"], own["_change_type"], own["k"]) for own in rows]
    assert changes == [
        (1, "insert", 2), (3, "delete", 2), (3, "insert", 3), (5, "delete", 3), (5, "insert", 1),
        (7, "delete", 1),
    ]  # fmt: skip
    assert {own.name for own in batch.iterdir()} == {"job.toml", "out", "s.csv", "t.csv"}


def test_a_batch_of_files_is_joined_with_a_table_of_a_connector(batch):
    text = BATCH.format(query="SELECT t.name FROM s, t WHERE s.k = t.k")
    text += '[tables.t]\nfiles = "t.csv"\nformat = "csv"\n[sink]\npath = "out"\n'
    done = run_job(batch, text)
    assert done.exit_code == 0, done.output
    assert sorted(pq.read_table(batch / "out")["name"].to_pylist()) == ["one", "three"]


def test_a_batch_of_a_connector_that_answers_to_a_folder_is_refused(batch):
    text = 'query = "SELECT k FROM s"\n[streams.s]\nfiles = "s.csv"\nformat = "csv"\ntime = "ts"\n'
    text += '[sink]\npath = "out"\n'
    done = run_job(batch, text, "--mode", "batch")
    assert done.exit_code == 2
    assert "JobError[batch-of-connector]: stream s is read by a connector" in done.output
    assert not (batch / "out").exists()


@pytest.mark.parametrize(
    ("sink", "said"),
    [
        ('files = "data"', "the sink"),
        ('files = "data/out"\nformat = "csv"', "the sink"),
        ('delta = "data"', "the sink"),
        ('path = "data/out"', "the sink"),
        ('terminal = 3\n[options]\ndead_letters = "data/late"', "dead_letters"),
    ],
)
def test_what_is_written_by_a_connector_does_not_lie_where_one_reads(tmp_path, sink, said):
    (tmp_path / "data").mkdir()
    with pytest.raises(JobError, match=rf"sink-over-source\]: {said} .* and stream s, which reads"):
        loaded(tmp_path, 'files = "data"\nformat = "csv"', f"[sink]\n{sink}\n")


def test_what_is_written_by_a_connector_lies_beside_what_one_reads(tmp_path):
    for path in ("data/_out", "out"):
        job = loaded(tmp_path, 'files = "data"', f'[sink]\nfiles = "{path}"\n')
        assert job.sink.place.path == str(tmp_path / path)
