"""Places outside that job files name by their connectors."""

from __future__ import annotations

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
