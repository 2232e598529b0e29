"""Arguments of the wrong kind are refused in our words, whichever call they are given to."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta

import pyarrow as pa
import pytest

import windrow
from windrow.errors import BindError, WindrowError

TABLE = pa.table({"k": [1], "at": [1]})
JOIN = "SELECT a.k FROM a, b WHERE a.k = b.k WINDOW = 5"


def two_streams(**arguments: object) -> windrow.Session:
    made = windrow.Session(**arguments)
    made.stream("a", TABLE, time="at")
    made.stream("b", TABLE, time="at")
    return made


def refusal(act: Callable[[windrow.Session], object]) -> WindrowError:
    with pytest.raises(WindrowError) as caught:
        act(two_streams())
    return caught.value


@pytest.mark.parametrize(
    ("act", "argument", "call"),
    [
        (lambda w: w.sql(None), "query", "sql"),
        (lambda w: w.sql(5), "query", "sql"),
        (lambda w: w.sql(query=b"SELECT"), "query", "sql"),
        (lambda w: w.sql(JOIN, progress=5), "progress", "sql"),
        (lambda w: w.explain(None), "query", "explain"),
        (lambda w: w.progress_reader([]), "query", "progress_reader"),
        (lambda w: w.function(5, len), "name", "function"),
        (lambda w: w.function("f", 5), "body", "function"),
        (lambda w: w.function("f", len, arguments=5), "arguments", "function"),
        (lambda w: w.function("f", len, arguments="int"), "arguments", "function"),
        (lambda w: w.function("f", len, arguments=["int", 5]), "arguments", "function"),
        (lambda w: w.function("f", len, returns=int), "returns", "function"),
        (lambda w: w.function("f", len, vectorized="no"), "vectorized", "function"),
        (lambda w: w.stream(5, TABLE), "name", "stream"),
        (lambda w: w.stream(TABLE, "a"), "name", "stream"),
        (lambda w: w.stream("a", TABLE, time=5), "time", "stream"),
        (lambda w: w.stream("a", TABLE, time="at", lateness=object()), "lateness", "stream"),
        (lambda w: w.stream("a", TABLE, punctuation=5), "punctuation", "stream"),
        (lambda w: w.stream("a", TABLE, time="at", lateness=True), "lateness", "stream"),
        (lambda w: w.table(None, TABLE), "name", "table"),
        (lambda _: windrow.Session(clock=5), "clock", "Session"),
    ],
)
def test_an_argument_of_another_kind_is_refused_by_name_with_an_example(act, argument, call):
    error = refusal(act)
    assert isinstance(error, BindError)
    assert error.condition == "bad-argument"
    assert error.sentence.startswith(f"the argument {argument} of {call}(..) must be ")
    assert error.hint.startswith(f"for instance  {argument}=")


def test_the_whole_message_shows_small_values_and_the_types_of_others():
    assert str(refusal(lambda w: w.sql(None))) == (
        "BindError[bad-argument]: the argument query of sql(..) must be the SQL as a text, not None\n"
        "  hint: for instance  query='SELECT item FROM sales WHERE price > 4'"
    )
    assert refusal(lambda w: w.stream(TABLE, "a")).sentence == (
        "the argument name of stream(..) must be a name as a text, not a value of type Table"
    )


@pytest.mark.parametrize(
    "options",
    [
        {"on_late": 5},
        {"on_late": []},
        {"memory": object()},
        {"memory": float("nan")},
        {"on_memory": {}, "memory": 1},
        {"algorithm": 5},
        {"algorithm": []},
        {"dead_letters": 5},
        {"buckets": object()},
        {"polling": 5},
        {"polling": []},
        {"scheduling": 5},
        {"scheduling": []},
    ],
)
def test_an_option_of_another_kind_is_refused_with_what_it_may_be(options):
    error = refusal(lambda w: w.sql(JOIN, **options))
    assert error.condition in {"bad-option", "unknown-algorithm"}
    assert next(iter(options)) in error.sentence
    assert error.hint


def test_what_an_argument_of_the_right_kind_says_is_looked_at_by_whoever_uses_it():
    error = refusal(lambda w: w.stream("a", TABLE, time="at", lateness=timedelta(seconds=1)))
    assert error.condition == "bad-lateness"
    assert refusal(lambda w: w.sql(JOIN, progress="loud")).sentence == (
        "progress = 'loud' is not a way to show progress"
    )


def test_a_missing_argument_is_pythons_own_error():
    with pytest.raises(TypeError, match="missing a required argument: 'data'"):
        windrow.Session().stream("a")


@pytest.mark.parametrize("type_", ["blob7", "", "interval month"])
def test_a_type_that_no_value_has_is_refused_with_those_that_it_may_have(type_):
    for arguments in ({"returns": type_}, {"arguments": [type_]}):
        error = refusal(lambda w, given=arguments: w.function("f", len, **given))
        assert str(error) == (
            f"BindError[unsupported-type]: {type_!r} is not a type that the function f can take or give\n"
            "  hint: one of boolean, tinyint, smallint, int, bigint, float, double, string, binary, "
            "date, timestamp, timestamp_ntz, interval day to second, decimal(p,s), array<..>, "
            "map<..,..>, struct<name:..>"
        )


def no_clock() -> object:
    message = "the battery is flat"
    raise OSError(message)


@pytest.mark.parametrize(
    ("clock", "sentence"),
    [
        (no_clock, "the session's clock raised OSError: the battery is flat"),
        (lambda: 5, "the session's clock gives 5, which is not an instant"),
        (lambda _: 5, "the session's clock raised TypeError: "),
    ],
)
def test_a_clock_that_fails_or_gives_no_instant_is_refused_when_it_is_read(clock, sentence):
    made = windrow.Session(clock=clock)
    made.stream("a", TABLE, time=windrow.ON_ARRIVAL)
    with pytest.raises(BindError) as caught:
        made.sql("SELECT k FROM a").to_arrow()
    assert caught.value.condition == "bad-clock"
    assert caught.value.sentence.startswith(sentence)
    assert caught.value.hint == "for instance  Session(clock=lambda: datetime.now(UTC))"
