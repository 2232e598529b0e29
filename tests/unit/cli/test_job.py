"""Job files: what they may say, and the text of every refusal."""

from __future__ import annotations

from pathlib import Path
from textwrap import dedent

import pytest

from windrow.cli.errors import JobError
from windrow.cli.job import JobSink, JobStream, JobTable
from windrow.cli.job_file import load_job
from windrow.schema import Field, OnArrival, Schema

WHOLE = """
    query = "SELECT * FROM sales"
    mode = "streaming"
    on = "spark"
    trigger = "10 seconds"

    [streams.sales]
    path = "data/sales"
    format = "json"
    time = "ts"
    lateness = "5 seconds"
    schema = "item STRING, ts TIMESTAMP"
    files_per_batch = 2
    rate = "500 per second"
    distinct = { item = 40 }

    [sink]
    path = "out"
    format = "csv"
    checkpoint = "state"
    overwrite = true

    [options]
    on_late = "fail"

    [spark]
    sql.shuffle.partitions = 3
    "spark.driver.memory" = "1g"
    ui.enabled = true
"""

SMALL = """
    query = "SELECT * FROM sales"
    [streams.sales]
    path = "sales.parquet"
    time = "ts"
"""


ON_ARRIVAL = """
    query = "SELECT * FROM sales"
    [streams.sales]
    path = "sales.parquet"
    time = "on arrival"
"""


def write(folder: Path, text: str) -> Path:
    file = folder / "job.toml"
    file.write_text(dedent(text))
    return file


def refusal(folder: Path, text: str) -> str:
    with pytest.raises(JobError) as caught:
        load_job(write(folder, text))
    return str(caught.value)


def test_every_key_of_a_job_is_read(tmp_path):
    job = load_job(write(tmp_path, WHOLE))
    assert job.query == "SELECT * FROM sales"
    assert (job.mode, job.on, job.trigger) == ("streaming", "spark", "10 seconds")
    assert job.streams == (
        JobStream(
            name="sales",
            path=str(tmp_path / "data/sales"),
            format="json",
            time="ts",
            lateness="5 seconds",
            schema=Schema((Field("item", "string"), Field("ts", "timestamp"))),
            files_per_batch=2,
            rate="500 per second",
            distinct={"item": 40},
        ),
    )
    assert job.sink == JobSink(
        str(tmp_path / "out"), "csv", str(tmp_path / "state"), overwrite=True
    )
    assert job.options == {"on_late": "fail"}


def test_spark_settings_may_be_written_with_bare_dots_or_in_full(tmp_path):
    assert load_job(write(tmp_path, WHOLE)).spark == {
        "spark.sql.shuffle.partitions": "3",
        "spark.driver.memory": "1g",
        "spark.ui.enabled": "true",
    }


def test_a_small_job_runs_in_process_as_a_batch(tmp_path):
    job = load_job(write(tmp_path, SMALL))
    assert (job.mode, job.on, job.trigger, job.sink) == ("batch", "local", "available-now", None)
    assert job.streams[0].lateness is None


@pytest.mark.parametrize("written", ["on arrival", "On  Arrival"])
def test_time_may_be_given_on_arrival(tmp_path, written):
    (source,) = load_job(write(tmp_path, ON_ARRIVAL.replace("on arrival", written))).streams
    assert source.event_time == OnArrival("_arrived")


def test_the_query_may_stand_in_a_file_beside_the_job(tmp_path):
    (tmp_path / "question.sql").write_text("SELECT 1")
    text = SMALL.replace('query = "SELECT * FROM sales"', 'query_file = "question.sql"')
    assert load_job(write(tmp_path, text)).query == "SELECT 1"


def test_an_address_with_a_scheme_is_left_as_it_is(tmp_path):
    text = SMALL.replace("sales.parquet", "s3://bucket/sales")
    assert load_job(write(tmp_path, text)).streams[0].path == "s3://bucket/sales"


def test_a_job_file_that_is_not_there(tmp_path):
    with pytest.raises(JobError) as caught:
        load_job(Path("nowhere.toml"))
    assert str(caught.value) == (
        "JobError[no-job-file]: there is no job file 'nowhere.toml'\n"
        "  hint: give the path of a TOML file with [streams.NAME] tables and a query"
    )


def test_a_job_file_that_is_no_toml(tmp_path):
    assert refusal(tmp_path, "query = SELECT") == (
        "JobError[not-toml]: job.toml is not TOML\n"
        "  Invalid value (at line 1, column 9)\n"
        '  hint: texts stand in quotes, a query over several lines in """ three of them """'
    )


def test_an_unknown_key_names_the_nearest_ones(tmp_path):
    assert refusal(tmp_path, SMALL + 'latenes = "1 second"\n') == (
        "JobError[unknown-key]: [streams.sales] has no key 'latenes'\n"
        "  hint: known here: lateness, changes, rate, path, time, punctuation, format, files_per_batch, ..."
    )


def test_a_top_level_key_inside_a_table_is_told_its_place(tmp_path):
    text = '[streams.sales]\npath = "a"\ntime = "ts"\nquery = "SELECT 1"\n'
    assert refusal(tmp_path, text) == (
        "JobError[unknown-key]: [streams.sales] has no key 'query'\n"
        "  hint: query belongs above the first [table] of the file"
    )


def test_the_folder_of_dead_letters_is_relative_to_the_job_too(tmp_path):
    job = load_job(write(tmp_path, SMALL + '[options]\ndead_letters = "late"\n'))
    assert job.options == {"dead_letters": str(tmp_path / "late")}


@pytest.mark.parametrize("key", ["path", "time"])
def test_a_stream_without_path_or_time(tmp_path, key):
    text = "\n".join(line for line in SMALL.splitlines() if not line.strip().startswith(key))
    example = {"path": 'path = "data/sales"', "time": 'time = "ts"'}[key]
    assert refusal(tmp_path, text) == (
        f"JobError[missing-key]: [streams.sales] does not say its {key}\n"
        f"  hint: for instance  {example}"
    )


TABLE = (
    SMALL
    + """
    [tables.favorites]
    path = "favorites.csv"
    format = "csv"
    schema = "item STRING, least DOUBLE"
"""
)


def test_tables_are_read_beside_streams(tmp_path):
    assert load_job(write(tmp_path, TABLE)).tables == (
        JobTable(
            name="favorites",
            path=str(tmp_path / "favorites.csv"),
            format="csv",
            schema=Schema((Field("item", "string"), Field("least", "double"))),
        ),
    )


@pytest.mark.parametrize(
    ("written", "instead", "message"),
    [
        (
            'path = "favorites.csv"',
            "",
            "JobError[missing-key]: [tables.favorites] does not say its path\n"
            '  hint: for instance  path = "data/favorites.parquet"',
        ),
        (
            'format = "csv"',
            'time = "ts"',
            "JobError[unknown-key]: [tables.favorites] has no key 'time'\n"
            "  hint: known here: path, format, schema",
        ),
        (
            TABLE[TABLE.index("[tables") :],
            "[tables]\n    favorites = 3\n",
            "JobError[wrong-value]: favorites of [tables] is 3\n"
            "  hint: it must be a table with a path",
        ),
    ],
    ids=["no path", "a time", "no table"],
)
def test_a_table_that_cannot_be_read_is_told(tmp_path, written, instead, message):
    assert refusal(tmp_path, TABLE.replace(written, instead)) == message


@pytest.mark.parametrize("trigger", ["soon", "0 seconds", "-1 second", "1 month"])
def test_a_trigger_that_is_no_interval(tmp_path, trigger):
    assert refusal(tmp_path, f'trigger = "{trigger}"\n{SMALL}') == (
        f"JobError[wrong-value]: trigger of job.toml is {trigger!r}\n"
        "  hint: it must be 'available-now', or an interval such as '10 seconds'"
    )


def test_a_job_without_streams_is_refused(tmp_path):
    assert refusal(tmp_path, 'query = "SELECT 1"') == (
        "JobError[missing-key]: job.toml does not say its streams\n"
        '  hint: for instance  [streams.sales]  path = "data/sales"'
    )


@pytest.mark.parametrize(
    ("query", "said"),
    [("", "no query"), ('query = "a"\nquery_file = "b"\n', "both query and query_file")],
)
def test_a_job_has_exactly_one_query(tmp_path, query, said):
    streams = SMALL.replace('query = "SELECT * FROM sales"', "")
    assert refusal(tmp_path, query + dedent(streams)) == (
        f"JobError[one-query]: job.toml has {said}\n"
        "  hint: write the SQL as query, or the path of a file with the SQL as query_file"
    )


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("lateness = true", "lateness of [streams.sales] is True"),
        ("files_per_batch = 0", "files_per_batch of [streams.sales] is 0"),
        ("schema = 3", "schema of [streams.sales] is 3"),
        ("rate = true", "rate of [streams.sales] is True"),
        ('distinct = { item = "many" }', "distinct.item of [streams.sales] is 'many'"),
        ('format = "parket"', "format of [streams.sales] is 'parket'"),
    ],
)
def test_a_value_of_the_wrong_kind(tmp_path, line, message):
    assert refusal(tmp_path, SMALL + line).startswith(f"JobError[wrong-value]: {message}\n")


def test_a_mode_that_does_not_exist(tmp_path):
    assert refusal(tmp_path, 'mode = "stream"\n' + dedent(SMALL)) == (
        "JobError[wrong-value]: mode of job.toml is 'stream'\n  hint: one of streaming, batch"
    )


def test_a_query_file_that_is_not_there_or_no_text(tmp_path):
    (tmp_path / "bytes.sql").write_bytes(b"SELECT \xff")
    text = SMALL.replace('query = "SELECT * FROM sales"', 'query_file = "gone.sql"')
    assert refusal(tmp_path, text) == (
        "JobError[wrong-value]: query_file of job.toml is 'gone.sql'\n"
        "  hint: it must be the path of a file with text in UTF-8, relative to the job's"
    )
    assert "query_file of job.toml is 'bytes.sql'" in refusal(
        tmp_path, text.replace("gone.sql", "bytes.sql")
    )


@pytest.mark.parametrize("key", ["progress", "resume", "self", "query"])
def test_what_is_no_option_of_the_query_is_refused(tmp_path, key):
    text = dedent(SMALL) + f"[options]\n{key} = 'none'\n"
    assert refusal(tmp_path, text).startswith(
        f"JobError[unknown-key]: [options] has no key {key!r}\n  hint: "
    )


@pytest.mark.parametrize(
    ("read", "sink"),
    [
        ("data/sales", "data/sales"),
        ("data/sales", "data"),
        ("data/sales", "data/sales/out"),
        ("data/*/may.parquet", "data"),
        ("data/sales.parquet", "."),
        ("data/*/*.parquet", "data/out"),
        ("data/sales", "link"),
        ("link", "data/sales"),
        ("link/*.parquet", "data/sales"),
        ("data/sales", "link/out"),
    ],
)
def test_a_sink_that_is_not_apart_from_what_is_read_is_refused(tmp_path, read, sink):
    (tmp_path / "link").symlink_to(tmp_path / "data/sales")
    text = dedent(SMALL).replace("sales.parquet", read) + f'[sink]\npath = "{sink}"\n'
    assert refusal(tmp_path, text) == (
        f"JobError[sink-over-source]: the sink {str(tmp_path / sink)!r} and stream sales, "
        f"which reads {str(tmp_path / read)!r}, overlap\n"
        "  the answer would replace rows that are read, or be read as some of them\n"
        "  hint: give the sink a folder of its own, outside of what is read, behind links too"
    )


@pytest.mark.parametrize("behind", ["out", "out/part-00000.parquet", "."])
def test_a_sink_that_a_link_among_what_is_read_leads_to_is_refused(tmp_path, behind):
    (tmp_path / "data/sales").mkdir(parents=True)
    (tmp_path / "data/sales/link.parquet").symlink_to(tmp_path / behind)
    text = dedent(SMALL).replace("sales.parquet", "data") + '[sink]\npath = "out"\n'
    assert refusal(tmp_path, text).startswith("JobError[sink-over-source]: the sink ")


@pytest.mark.parametrize("letters", ["data/late", "data", "out", "out/late"])
def test_dead_letters_that_are_not_apart_from_what_is_read_or_answered_are_refused(
    tmp_path, letters
):
    text = dedent(SMALL).replace("sales.parquet", "data") + '[sink]\npath = "out"\n'
    kept = f'[options]\non_late = "keep"\ndead_letters = "{letters}"\n'
    where = str(tmp_path / letters)
    assert refusal(tmp_path, text + kept).startswith(
        f"JobError[sink-over-source]: dead_letters {where!r} and "
    )


@pytest.mark.parametrize(
    ("read", "sink"),
    [
        ("data/sales", "data/out"),
        ("data/*.parquet", "data/out"),
        ("data/*/*.csv", "data/out"),
        ("data/*/*.parquet", "data/_out"),
        (".", "_out"),
        ("a", "ab"),
    ],
)
def test_a_sink_beside_what_is_read_is_taken(tmp_path, read, sink):
    text = dedent(SMALL).replace("sales.parquet", read) + f'[sink]\npath = "{sink}"\n'
    assert load_job(write(tmp_path, text)).sink == JobSink(str(tmp_path / sink))


@pytest.mark.parametrize("table", ["streams.a", "sink"])
def test_an_empty_path_is_none(tmp_path, table):
    text = 'query = "SELECT 1"\n[streams.a]\npath = "a"\ntime = "at"\n[sink]\npath = "out"\n'
    written = {"streams.a": '"a"', "sink": '"out"'}[table]
    (tmp_path / "job.toml").write_text(text.replace(written, '""'))
    with pytest.raises(JobError, match=rf"path of \[{table}\] is ''"):
        load_job(tmp_path / "job.toml")
