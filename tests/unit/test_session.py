from __future__ import annotations

from datetime import timedelta

import pyarrow as pa
import pytest

from windrow import BindError, DataError, PlanError, Session, UnknownColumn, UnsupportedError
from windrow.errors import WindrowError

TABLE = pa.table(
    {
        "item": ["pen", "ink"],
        "price": [1.5, 2.5],
        "small": pa.array([1, 2], pa.int32()),
        "at": [10, 20],
        "ts": pa.array([10, 20], pa.timestamp("us", "UTC")),
    }
)
JOIN = "SELECT a.item FROM a, b WHERE a.item = b.item WINDOW = 5"


@pytest.fixture
def two_streams():
    made = Session()
    made.stream("a", TABLE, time="at")
    made.stream("b", TABLE, time="at")
    return made


def refused(kind: type[WindrowError], act) -> str:
    with pytest.raises(kind) as error:
        act()
    return str(error.value)


def test_a_question_is_answered_in_process(two_streams):
    assert sorted(two_streams.sql(JOIN).to_arrow()["item"].to_pylist()) == ["ink", "pen"]


def test_the_time_column_is_found_whatever_its_case(two_streams):
    two_streams.stream("a", TABLE, time="AT")
    assert two_streams.sql(JOIN).to_arrow().num_rows == 2


@pytest.mark.parametrize("lateness", ["5 seconds", timedelta(seconds=5), 5_000_000])
def test_lateness_is_a_text_a_timedelta_or_ticks(two_streams, lateness):
    two_streams.stream("c", TABLE, time="ts", lateness=lateness)
    plan = two_streams.explain("SELECT COUNT(*) AS n FROM c [RANGE INTERVAL '1' HOUR]")
    assert "lateness 5s" in plan


def test_an_unknown_time_column_is_refused_with_the_nearest():
    message = refused(UnknownColumn, lambda: Session().stream("a", TABLE, time="tss"))
    assert message == (
        "UnknownColumn[unknown-time-column]: the stream a has no column 'tss' to take its time "
        "from\n"
        "  hint: one of ts, at, item, small, price"
    )


def test_a_time_column_of_another_type_is_refused():
    message = refused(BindError, lambda: Session().stream("a", TABLE, time="small"))
    assert message == (
        "BindError[bad-time-type]: the time column 'small' of the stream a is int\n"
        "  event time is TIMESTAMP, TIMESTAMP_NTZ, DATE or BIGINT\n"
        "  hint: cast the column before you register the stream"
    )


@pytest.mark.parametrize(
    ("time", "lateness", "rest"),
    [
        (
            "ts",
            "soon",
            "'soon' is not a length of time\n"
            "  hint: for instance '5 seconds', timedelta(seconds=5), or a whole number of ticks",
        ),
        ("at", -1, "the lateness -1 is negative\n  hint: a whole number of ticks of 0 or more"),
        (
            "at",
            "5 seconds",
            "the lateness '5 seconds' is an interval, but the time column counts BIGINT ticks\n"
            "  hint: a whole number of ticks of 0 or more",
        ),
    ],
)
def test_a_bad_lateness_is_refused(time, lateness, rest):
    message = refused(BindError, lambda: Session().stream("a", TABLE, time=time, lateness=lateness))
    assert message == (
        f"BindError[bad-lateness]: the lateness {lateness!r} of the stream a cannot be used\n"
        f"  {rest}"
    )


def test_a_lateness_without_a_time_column_is_refused():
    message = refused(BindError, lambda: Session().stream("a", TABLE, lateness=5))
    assert message == (
        "BindError[bad-lateness]: the stream a has a lateness but no time column\n"
        "  hint: name its event-time column with time=..."
    )


def test_a_stream_without_a_name_is_refused():
    message = refused(BindError, lambda: Session().stream("", TABLE))
    assert message == (
        "BindError[bad-name]: '' is not a name for a stream\n  hint: give a text such as 'sales'"
    )


def test_a_stream_that_is_refused_is_not_registered(two_streams):
    with pytest.raises(UnknownColumn):
        two_streams.stream("a", pa.table({"other": [1]}), time="at")
    assert two_streams.sql(JOIN).to_arrow().num_rows == 2


def test_an_unknown_option_is_refused_with_the_nearest(two_streams):
    assert refused(PlanError, lambda: two_streams.sql(JOIN, on_lat="keep")).startswith(
        "PlanError[unknown-option]: there is no option 'on_lat'\n  hint: one of on_late, "
    )


def test_a_bad_value_of_an_option_is_refused(two_streams):
    assert "on_late = 'drop'" in refused(PlanError, lambda: two_streams.sql(JOIN, on_late="drop"))


@pytest.mark.parametrize(
    ("hint", "condition"),
    [
        ("on_late(drop)", "PlanError[bad-option]"),
        ("buckets = 0", "PlanError[bad-option]"),
        ("polling(in turn)", "PlanError[bad-option]"),
        ("algorithm( 'quick' )", "PlanError[unknown-algorithm]"),
        ("scheduling(lazy)", "PlanError[bad-option]"),
    ],
)
def test_a_bad_hint_shows_its_place_in_the_sql(two_streams, hint, condition):
    query = JOIN.replace("SELECT", f"SELECT /*+ memory(1 MB), {hint} */")
    message = refused(WindrowError, lambda: two_streams.sql(query))
    assert message.startswith(condition)
    line, carets = message.splitlines()[1:3]
    assert line[carets.index("^") : carets.rindex("^") + 1] == hint


def test_what_happens_beyond_a_memory_that_nobody_set_is_refused(two_streams):
    message = refused(PlanError, lambda: two_streams.sql(JOIN, on_memory="spill"))
    assert message == (
        "PlanError[on-memory-without-memory]: on_memory is 'spill', but memory is not set\n"
        "  without memory a query may hold as much as its windows need\n"
        "  hint: set both, for instance memory = '512 MB'"
    )


def test_what_happens_beyond_a_memory_that_nobody_set_is_refused_as_a_hint_too(two_streams):
    query = JOIN.replace("SELECT", "SELECT /*+ on_memory(fail) */")
    message = refused(PlanError, lambda: two_streams.explain(query))
    assert message == (
        "PlanError[on-memory-without-memory]: on_memory is 'fail', but memory is not set\n"
        "  1 | SELECT /*+ on_memory(fail) */ a.item FROM a, b WHERE a.item = b.item WINDOW = 5\n"
        "    |            ^^^^^^^^^^^^^^^\n"
        "  without memory a query may hold as much as its windows need\n"
        "  hint: write both: /*+ memory(512 MB), on_memory(fail) */"
    )


def test_memory_and_what_happens_beyond_it_may_come_from_keyword_and_hint(two_streams):
    hinted = JOIN.replace("SELECT", "SELECT /*+ on_memory(spill) */")
    assert "old tuples go to disk" in two_streams.explain(hinted, memory="1 MB")
    hinted = JOIN.replace("SELECT", "SELECT /*+ memory(1 MB) */")
    assert "old tuples go to disk" in two_streams.explain(hinted, on_memory="spill")


def test_errors_show_the_place_in_the_sql(two_streams):
    query = JOIN.replace("a.item FROM", "a.itm FROM")
    message = refused(BindError, lambda: two_streams.sql(query))
    assert "  1 | SELECT a.itm FROM a, b" in message
    assert "^^^^^" in message


@pytest.mark.parametrize(
    ("query", "place"),
    [
        ("SELECT 1 / (at - 10) AS x FROM a", "1 / (at - 10)"),
        ("SELECT item FROM a WHERE 1 / (at - 10) > 0", "1 / (at - 10) > 0"),
        ("SELECT a.item FROM a, b WHERE 1 / (a.at - b.at) > 0 WINDOW = 5", "1 / (a.at - b.at) > 0"),
    ],
)
def test_an_expression_that_fails_for_a_row_is_shown_in_the_sql(two_streams, query, place):
    message = refused(DataError, lambda: two_streams.sql(query).to_arrow())
    assert message.startswith("DataError[bad-value]")
    line, carets = message.splitlines()[1:3]
    assert line[carets.index("^") : carets.rindex("^") + 1] == place


def test_explain_shows_the_plan_and_runs_nothing(two_streams):
    two_streams.stream("a", iter(TABLE.to_batches()), time="at")
    assert "WJoin a, b" in two_streams.explain(JOIN)
    assert two_streams.sql(JOIN).to_arrow().num_rows == 2


def test_a_stream_that_is_registered_again_takes_the_place_of_the_old_one(two_streams):
    two_streams.stream("a", TABLE.slice(1), time="at")
    assert two_streams.sql(JOIN).to_arrow().to_pydict() == {"item": ["ink"]}


def test_reports_of_spark_are_asked_for_on_spark_alone(two_streams):
    message = refused(UnsupportedError, lambda: two_streams.progress_reader(JOIN))
    assert message == (
        "UnsupportedError[no-spark-progress]: a query in process has no Spark reports\n"
        "  hint: look at the progress of its result: session.sql(..).progress"
    )


def test_a_session_shows_what_is_registered(two_streams):
    assert repr(Session()) == "<Session in process: nothing registered>"
    two_streams.table("f", TABLE.select(["item"]))
    two_streams.function("twice", lambda x: x, arguments=["bigint"], returns="bigint")
    assert repr(two_streams) == "<Session in process: streams a, b; tables f; functions twice>"
    shown = two_streams._repr_html_()
    assert "<td>a</td><td>stream</td>" in shown
    assert "price: double" in shown
    assert "twice" in shown
