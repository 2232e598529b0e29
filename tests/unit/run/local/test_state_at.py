"""The answer at an instant, from a changelog in memory."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, date, datetime
from random import Random
from typing import Any

import pandas as pd
import pyarrow as pa
import pytest
from bags import bag
from case_share import share_of
from cases.tape import drawn
from hypothesis import given, settings
from sessions import session
from twins import changelog as plain

import windrow
from windrow.errors import BindError, DataError

W = windrow.Session()
KINDS = ("insert", "delete", "update_preimage", "update_postimage")
VALUES: dict[str, tuple[pa.DataType, list[Any]]] = {
    "k": (pa.string(), ["a", None, ""]),
    "x": (pa.float64(), [0.5, None, float("nan")]),
    "tags": (pa.list_(pa.string()), [["p"], [], None]),
    "at": (pa.struct([("x", pa.int32()), ("y", pa.list_(pa.int64()))]), [{"x": 1, "y": [2]}, None]),
    "notes": (pa.map_(pa.string(), pa.int64()), [[("p", 1)], []]),
}


def changelog(rows: list[dict[str, Any]], time: pa.DataType | None = None) -> pa.Table:
    fields = [(name, kind) for name, (kind, _) in VALUES.items() if rows and name in rows[0]]
    fields += [("_change_type", pa.string()), ("_event_time", time or pa.int64())]
    return pa.Table.from_pylist(rows, pa.schema(fields))


def draw_changelog(random: Random) -> tuple[pa.Table, list[int]]:
    """Rows of some columns that come, and go if they have come; in any order, cut somewhere."""
    names = random.choice([["k"], ["x", "k"], ["tags"], ["k", "at"], ["notes", "x"]])
    rows: list[dict[str, Any]] = []
    alive: list[dict[str, Any]] = []
    for instant in range(random.randrange(12)):
        if alive and random.randrange(3) == 2:
            row = alive.pop(random.randrange(len(alive)))
            kind = random.choice(KINDS[1:3])
        else:
            row = {name: random.choice(VALUES[name][1]) for name in names}
            alive.append(row)
            kind = random.choice((KINDS[0], KINDS[3]))
        rows.append({**row, "_change_type": kind, "_event_time": instant})
    random.shuffle(rows)
    fields = [(name, VALUES[name][0]) for name in names]
    schema = pa.schema([*fields, ("_change_type", pa.string()), ("_event_time", pa.int64())])
    cut = random.randrange(len(rows) + 1)
    parts = [pa.Table.from_pylist(part, schema) for part in (rows[:cut], rows[cut:])]
    return pa.concat_tables(parts), [random.randrange(-1, 13) for _ in range(3)]


@pytest.mark.law
@settings(max_examples=share_of(200), deadline=None)
@given(drawn(draw_changelog, 128))
def test_the_state_at_an_instant_is_what_a_plain_count_of_copies_says(case) -> None:
    table, instants = case
    for instant in instants:
        found = W.state_at(table, instant)
        assert bag(found) == bag(plain.state_at(table, instant)), instant
        assert found.schema == table.schema.remove(table.num_columns - 1).remove(
            table.num_columns - 2
        )


ONE = [
    {"k": "a", "_change_type": "insert", "_event_time": 1},
    {"k": "a", "_change_type": "insert", "_event_time": 2},
    {"k": "b", "_change_type": "insert", "_event_time": 2},
    {"k": "a", "_change_type": "delete", "_event_time": 4},
]


def test_changes_at_the_instant_count_and_copies_stay_apart() -> None:
    states = {t: W.state_at(changelog(ONE), t)["k"].to_pylist() for t in (0, 1, 2, 3, 4)}
    assert states == {0: [], 1: ["a"], 2: ["a", "a", "b"], 3: ["a", "a", "b"], 4: ["a", "b"]}


def test_state_at_takes_whatever_holds_rows() -> None:
    table = changelog(ONE)
    ways: list[Callable[[], Any]] = [
        lambda: table.to_batches()[0],
        table.to_reader,
        lambda: [table.slice(0, 2), table.slice(2)],
        lambda: pd.DataFrame(table.to_pylist()),
    ]
    for way in ways:
        assert W.state_at(way(), 3).to_pydict() == {"k": ["a", "a", "b"]}


def test_state_at_takes_the_answer_of_a_query() -> None:
    w = session({"s": {"k": ["a", "b", "a"], "at": [0, 2, 5]}}, time="at")
    ask = "SELECT k, COUNT(*) AS n FROM s [RANGE 4] GROUP BY k"
    for options in ({}, {"updates": True}):
        states = [w.state_at(w.sql(ask, **options), t).to_pylist() for t in (2, 5, 7)]
        assert states == [
            [{"k": "a", "n": 1}, {"k": "b", "n": 1}],
            [{"k": "a", "n": 1}, {"k": "b", "n": 1}],
            [{"k": "a", "n": 1}],
        ]


INSTANTS = {
    "timestamp": (pa.timestamp("us", "UTC"), datetime(2026, 5, 1, 10, tzinfo=UTC)),
    "timestamp_ntz": (pa.timestamp("us"), datetime(2026, 5, 1, 10)),  # noqa: DTZ001
    "date": (pa.date32(), date(2026, 5, 1)),
    "bigint": (pa.int64(), -7),
}


@pytest.mark.parametrize("time_type", INSTANTS)
def test_an_instant_is_given_in_the_type_of_the_changelog(time_type: str) -> None:
    kind, instant = INSTANTS[time_type]
    table = changelog([{"k": "a", "_change_type": "insert", "_event_time": instant}], kind)
    assert len(W.state_at(table, instant)) == 1
    for other, (_, value) in INSTANTS.items():
        if other != time_type:
            expected = rf"not a {time_type.upper()}, which _event_time is"
            with pytest.raises(BindError, match=expected):
                W.state_at(table, value)


def message(call: Callable[[], Any], kind: type[Exception]) -> str:
    with pytest.raises(kind) as refused:
        call()
    return str(refused.value)


def test_an_instant_of_another_type_is_refused() -> None:
    assert message(lambda: W.state_at(changelog(ONE), True), BindError) == (
        "BindError[instant-type]: the instant True is not a BIGINT, which _event_time is\n"
        "  hint: give a whole number, 1030"
    )


def test_rows_that_are_no_changelog_are_refused() -> None:
    table = changelog(ONE)
    assert message(lambda: W.state_at(table.drop_columns("_change_type"), 1), BindError) == (
        "BindError[not-a-changelog]: the rows have no column _change_type\n"
        "  only a changelog tells what is true at an instant\n"
        "  hint: give what an aggregate, or a query with EMIT CHANGES, answered; there are"
        " _event_time, k"
    )
    texts = table.set_column(2, "_event_time", table["_event_time"].cast(pa.string()))
    assert message(lambda: W.state_at(texts, 1), BindError) == (
        "BindError[not-a-changelog]: the column _event_time is string\n"
        "  in a changelog it is timestamp or timestamp_ntz or date or bigint\n"
        "  hint: give the changelog as it was answered, or cast the column back"
    )
    assert message(lambda: W.state_at(table.drop_columns("k"), 1), BindError) == (
        "BindError[not-a-changelog]: the rows have no columns besides _change_type and _event_time\n"
        "  hint: keep the columns of the answer"
    )


def test_a_row_that_goes_without_having_come_is_bad_data() -> None:
    table = changelog(ONE).slice(2)
    assert len(W.state_at(table, 3)) == 1
    assert message(lambda: W.state_at(table, 4), DataError) == (
        "DataError[delete-without-insert]: more copies of a row have gone than came\n"
        "  the changelog is not whole: each delete follows the insert of an equal row\n"
        "  hint: give all changes from the first one on"
    )


def test_a_change_of_another_type_is_bad_data() -> None:
    table = changelog([{**ONE[0], "_change_type": "upsert"}])
    assert message(lambda: W.state_at(table, 1), DataError) == (
        "DataError[unknown-change]: _change_type is 'upsert'\n"
        "  hint: a change is one of insert, delete, update_preimage, update_postimage"
    )
