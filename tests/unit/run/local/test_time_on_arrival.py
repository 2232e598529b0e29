"""Transaction time in process: rows get the instant at which the query takes their batch."""

from __future__ import annotations

import pickle
from datetime import UTC, datetime, timedelta

import pyarrow as pa
import pytest
from sessions import session
from taps import Listener, Tap

import windrow
from windrow import NOTHING_NOW, ON_ARRIVAL, BindError, Session, UnsupportedError
from windrow.run.local import feeds as feeding

NOON = datetime(2024, 1, 1, 12, tzinfo=UTC)
SCHEMA = pa.schema([("v", pa.int64())])


class HandClock:
    """A clock that stands still until it is moved."""

    def __init__(self) -> None:
        self.now = NOON

    def __call__(self) -> datetime:
        return self.now

    def pass_by(self, seconds: float) -> None:
        self.now += timedelta(seconds=seconds)


def at(seconds: float) -> datetime:
    return NOON + timedelta(seconds=seconds)


def batch(*values: int) -> pa.RecordBatch:
    return pa.record_batch({"v": list(values)}, schema=SCHEMA)


@pytest.fixture
def clock() -> HandClock:
    return HandClock()


@pytest.fixture(autouse=True)
def no_patience(monkeypatch):
    monkeypatch.setattr(feeding, "PATIENCE_S", 0)


def test_all_rows_of_a_batch_have_the_instant_at_which_it_is_taken(clock):
    session = Session(clock=clock)
    session.stream("a", [batch(1, 2), batch(3)], time=ON_ARRIVAL)
    result = session.sql("SELECT v, _arrived FROM a")
    assert result.schema.field("_arrived").type == pa.timestamp("us", "UTC")
    assert next(result).to_pylist() == [{"v": v, "_arrived": at(0)} for v in (1, 2)]
    clock.pass_by(2.5)
    assert next(result).to_pylist() == [{"v": 3, "_arrived": at(2.5)}]


def test_the_column_can_have_another_name(clock):
    session = Session(clock=clock)
    session.stream("a", [batch(1)], time=ON_ARRIVAL.named("seen"))
    found = session.sql("SELECT a.* FROM a WHERE a.seen >= TIMESTAMP '2024-01-01 00:00:00'")
    assert found.to_arrow().to_pylist() == [{"v": 1, "seen": NOON}]


def test_a_table_comes_in_its_own_order(clock):
    session = Session(clock=clock)
    session.stream("a", pa.table({"v": [3, 1, 2]}), time=ON_ARRIVAL)
    assert session.sql("SELECT v FROM a").to_arrow()["v"].to_pylist() == [3, 1, 2]


def test_a_clock_that_goes_back_gives_the_newest_instant_again(clock):
    session = Session(clock=clock)
    session.stream("a", [batch(1), batch(2), batch(3)], time=ON_ARRIVAL)
    result = session.sql("SELECT _arrived FROM a")
    seen = []
    for move in (0, -5, 7):
        clock.pass_by(move)
        seen.append(next(result)["_arrived"].to_pylist()[0])
    assert seen == [at(0), at(0), at(2)]


def test_tuples_join_by_when_they_arrive(clock):
    # a   0        10
    # b        3        14     WINDOW = 5: (0, 3) and (10, 14)
    taps = {"a": Tap(), "b": Tap()}
    session = Session(clock=clock)
    for name, tap in taps.items():
        session.stream(name, tap, time=ON_ARRIVAL, schema=SCHEMA)
    result = session.sql("SELECT a.v AS a, b.v AS b FROM a, b WINDOW = INTERVAL '5' SECONDS")
    heard = Listener(result)
    checks = []
    for name, value, second in (("a", 1, 0), ("b", 2, 3), ("a", 3, 10), ("b", 4, 14)):
        clock.now = at(second)
        taps[name].give(batch(value))
        if name == "b":
            checks.append(heard.next())
        else:
            wait_until_taken(result, name, value)
    assert checks == [[{"a": 1, "b": 2}], [{"a": 3, "b": 4}]]
    # The watermark is the clock: a, which has been silent since 10, does not hold it.
    assert result.checkpoint().watermark == ticks(at(14))
    assert result.progress.late == 0
    for tap in taps.values():
        tap.end()
    assert heard.has_ended()


def wait_until_taken(result, stream: str, value: int) -> None:
    """Waits, by asking for checkpoints, until a stream's batch of that number was taken."""
    batches = (value + 1) // 2
    while result.checkpoint().positions[stream].rows < batches:
        pass


def ticks(instant: datetime) -> int:
    return (instant - datetime(1970, 1, 1, tzinfo=UTC)) // timedelta(microseconds=1)


def test_a_silent_stream_does_not_hold_the_watermark(clock):
    session = Session(clock=clock)
    session.stream("a", [batch(1), batch(2), batch(3)], time=ON_ARRIVAL)
    session.stream("b", [batch(1), *[NOTHING_NOW] * 9], time=ON_ARRIVAL)
    result = session.sql("SELECT a.v FROM a, b WINDOW = INTERVAL '1' SECOND")
    assert next(result).to_pylist() == [{"v": 1}]
    clock.pass_by(60)
    list(result)
    assert result.progress.operators["WJoin a, b"]["drops"] == 4


@pytest.mark.parametrize("scheduling", ["tpa", "nta"])
def test_a_row_leaves_its_window_when_its_time_is_over_though_nothing_arrives(clock, scheduling):
    tap, session = Tap(), Session(clock=clock)
    session.stream("a", tap, time=ON_ARRIVAL, schema=SCHEMA)
    query = "SELECT v, COUNT(*) AS n FROM a [RANGE INTERVAL '0.02' SECOND] GROUP BY v"
    result = session.sql(query, scheduling=scheduling)
    heard = Listener(result)
    tap.give(batch(7))
    wait_until_taken(result, "a", 1)
    clock.pass_by(0.01)
    (came,) = heard.next()
    clock.pass_by(1)
    (left,) = heard.next()
    assert (came["_change_type"], left["_change_type"]) == ("insert", "delete")
    assert left["_event_time"] - came["_event_time"] == timedelta(microseconds=20_001)
    assert result.progress.rows_in == 1
    tap.end()
    assert heard.has_ended()


def test_resuming_goes_on_from_the_instant_that_was_reached(clock):
    def opened() -> Session:
        session = Session(clock=clock)
        session.stream("a", [batch(1), batch(2)], time=ON_ARRIVAL)
        return session

    query = "SELECT v, _arrived FROM a"
    first = opened().sql(query)
    assert next(first)["_arrived"].to_pylist() == [at(0)]
    checkpoint = pickle.loads(pickle.dumps(first.checkpoint()))
    clock.pass_by(-100)
    rest = opened().sql(query, resume=checkpoint)
    assert rest.to_arrow().to_pylist() == [{"v": 2, "_arrived": at(0)}]


def test_explain_says_that_time_is_given_on_arrival():
    w = session({"a": [batch(1)]}, time=ON_ARRIVAL)
    text = w.explain("SELECT COUNT(*) AS n FROM a [RANGE INTERVAL '5' SECONDS]")
    assert "  streams     a: time on arrival, as _arrived (timestamp), lateness 0s\n" in text


def refused(kind: type[Exception], call) -> str:
    with pytest.raises(kind) as caught:
        call()
    return str(caught.value)


def test_a_lateness_has_nothing_to_say_of_it():
    said = refused(
        BindError, lambda: Session().stream("a", [batch(1)], time=ON_ARRIVAL, lateness="5 seconds")
    )
    assert said == (
        "BindError[bad-lateness]: the stream a has a lateness, though its time is given on "
        "arrival\n"
        "  the time of arrival never goes back: nothing is late\n"
        "  hint: leave the lateness out, or name an event-time column with time=..."
    )


def test_the_data_has_no_column_of_that_name():
    said = refused(BindError, lambda: Session().stream("a", [batch(1)], time=ON_ARRIVAL.named("V")))
    assert said == (
        "BindError[duplicate-column]: a has a column 'V', the name of the time of arrival\n"
        "  hint: give it another name: time=windrow.ON_ARRIVAL.named('arrived_at')"
    )


@pytest.mark.parametrize("reading", [17, datetime(2024, 1, 1)])  # noqa: DTZ001
def test_a_clock_gives_an_instant(reading):
    session = Session(clock=lambda: reading)
    session.stream("a", [batch(1)], time=ON_ARRIVAL)
    said = refused(BindError, lambda: session.sql("SELECT v FROM a").to_arrow())
    assert said.startswith(f"BindError[bad-clock]: the session's clock gives {reading!r}, which is")


def test_spark_has_a_clock_of_its_own():
    said = refused(UnsupportedError, lambda: Session(object(), clock=lambda: NOON))
    assert said == (
        "UnsupportedError[unsupported-clock]: a clock works only in process\n"
        "  hint: leave it out: on Spark rows arrive at current_timestamp()"
    )


def test_the_system_clock_is_the_default():
    w = session({"a": [batch(1)]}, time=windrow.ON_ARRIVAL)
    before = datetime.now(UTC)
    (arrived,) = w.sql("SELECT _arrived FROM a").to_arrow()["_arrived"].to_pylist()
    assert before <= arrived <= datetime.now(UTC)
