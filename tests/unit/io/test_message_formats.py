"""Values of messages as rows, and rows as values: exact, and never misled by what is no row."""

from __future__ import annotations

import base64
import json
import math
from datetime import UTC, datetime
from decimal import Decimal

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from windrow.errors import BindError, DataError
from windrow.io import Answer
from windrow.io.formats.debezium import DebeziumValues
from windrow.io.formats.json_text import object_texts
from windrow.io.formats.json_values import JsonValues
from windrow.io.kafka_messages import AnswerMessages

K_V = pa.schema([("k", pa.int64()), ("v", pa.string())])

LETTERS = 'ab1 "\\\n\t\x00\x1f\x7fé☂😀{}[],:'

objects = st.fixed_dictionaries(
    {}, optional={
        "k": st.none() | st.integers(-(2**63), 2**63 - 1),
        "v": st.none() | st.text(LETTERS, max_size=6),
        "other": st.lists(st.integers()) | st.dictionaries(st.text(LETTERS, max_size=3), st.booleans()),
    }
)  # fmt: skip
spellings = st.builds(
    lambda own, indent, ascii_only, pad: (
        pad + json.dumps(own, indent=indent, ensure_ascii=ascii_only) + pad
    ).encode(),
    objects, st.sampled_from([None, 1]), st.booleans(), st.sampled_from(["", " ", "\n"]),
)  # fmt: skip
poison = st.one_of(
    st.binary(max_size=8),
    st.sampled_from(
        [
            b"", b"null", b"[]", b"{", b"}", b'{"k":1}{"k":2}', b'{"k":1}\n{"k":2}', b'{"k":"1"}',
            b'{"k":1.5}', b'{"v":1}', b'{"k":1,"k":2}', b'{"v":"', b'"}', b'{"k":1},', b'{"v":"\xff"}',
            b'{"k":9223372036854775808}', b'{"k":1}]', b'{"other":{}', b'{}}', b'{"other":[{}', b'{}]}',
        ]
    ),
)  # fmt: skip


def row_of(value: bytes) -> dict | None:
    """The row of one value, by Python's own reader; None for no row."""
    try:
        pairs = json.loads(value.decode(), object_pairs_hook=lambda own: own, parse_float=Decimal)
        whole = json.loads(value.decode())
    except (UnicodeDecodeError, ValueError, RecursionError):
        return None
    if not isinstance(whole, dict):
        return None
    names = [name for name, _ in pairs]
    k, v = whole.get("k"), whole.get("v")
    is_fine = (
        all(names.count(name) <= 1 for name in ("k", "v"))
        and (k is None or (type(k) is int and -(2**63) <= k < 2**63))
        and (v is None or type(v) is str)
    )
    return {"k": k, "v": v} if is_fine else None


@pytest.mark.law
@settings(deadline=None)
@given(st.lists(spellings | poison, max_size=20))
def test_every_object_is_a_row_and_everything_else_is_named(values):
    found = JsonValues(K_V).decode(values)
    expected = [row_of(value) for value in values]
    assert found.rows.to_pylist() == [own for own in expected if own is not None]
    assert found.messages.tolist() == [n for n, own in enumerate(expected) if own is not None]
    assert [n for n, _ in found.bad] == [n for n, own in enumerate(expected) if own is None]
    assert all(why for _, why in found.bad)


rows_of_all_types = st.fixed_dictionaries(
    {
        "i": st.none() | st.integers(-(2**63), 2**63 - 1),
        "f": st.none() | st.floats(allow_nan=False, allow_infinity=False),
        "d": st.none() | st.decimals(-(10**28), 10**28, places=9).map(lambda own: own),
        "s": st.none() | st.text(LETTERS, max_size=6),
        "b": st.none() | st.booleans(),
        "t": st.none() | st.datetimes(timezones=st.just(UTC)),
        "day": st.none() | st.dates(),
        "raw": st.none() | st.binary(max_size=5),
        "many": st.none() | st.lists(st.none() | st.integers(-9, 9), max_size=3),
        "in": st.none() | st.fixed_dictionaries({"x": st.none() | st.text("ab\"\\\n"), "y": st.none() | st.dates()}),
    }
)  # fmt: skip
ALL_TYPES = pa.schema(
    [
        ("i", pa.int64()), ("f", pa.float64()), ("d", pa.decimal128(38, 9)), ("s", pa.string()),
        ("b", pa.bool_()), ("t", pa.timestamp("us", "UTC")), ("day", pa.date32()), ("raw", pa.binary()),
        ("many", pa.list_(pa.int64())), ("in", pa.struct([("x", pa.string()), ("y", pa.date32())])),
    ]
)  # fmt: skip


@pytest.mark.law
@settings(deadline=None)
@given(st.lists(rows_of_all_types, min_size=1, max_size=8), st.integers(0, 3))
def test_what_is_written_as_json_is_json_and_is_read_as_it_was(rows, skipped):
    batch = pa.RecordBatch.from_pylist(rows, schema=ALL_TYPES).slice(skipped)
    texts = object_texts(batch).to_pylist()
    assert all(set(json.loads(own)) == set(ALL_TYPES.names) for own in texts)
    found = JsonValues(ALL_TYPES).decode([own.encode() for own in texts])
    assert not found.bad
    assert found.rows.to_pylist() == batch.to_pylist()


def test_what_json_has_no_word_for_is_written_as_text():
    values = pa.array([math.inf, -math.inf, math.nan, 1.5, None])
    maps = pa.array([{"a": 1}, {}, None, None, None], pa.map_(pa.string(), pa.int64()))
    texts = object_texts(pa.RecordBatch.from_arrays([values, maps], ["f", "m"])).to_pylist()
    assert [json.loads(own)["f"] for own in texts] == ["Infinity", "-Infinity", "NaN", 1.5, None]
    assert [json.loads(own)["m"] for own in texts] == [{"a": 1}, {}, None, None, None]


@pytest.mark.parametrize(("unit", "number"), [("s", 1), ("ms", 1_000), ("us", 1_000_000)])
def test_times_are_read_from_numbers_of_their_unit(unit, number):
    columns = pa.schema([("t", pa.timestamp("us", "UTC")), ("day", pa.date32())])
    value = json.dumps({"t": number, "day": 2}).encode()
    (row,) = JsonValues(columns, unit).decode([value]).rows.to_pylist()
    assert row["t"] == datetime(1970, 1, 1, 0, 0, 1, tzinfo=UTC)
    assert row["day"].isoformat() == "1970-01-03"


def read(kind, values):
    """What a column of a type has of values, as texts of JSON, and which are aside."""
    found = JsonValues(pa.schema([("a", kind)])).decode(
        [f'{{"a":{own}}}'.encode() for own in values]
    )
    return found.rows["a"].to_pylist(), [n for n, _ in found.bad]


@pytest.mark.parametrize("number", [99999, 1000, -1000, 1.234, '"99999"'])
def test_a_number_that_a_decimal_cannot_hold_is_kept_aside(number):
    kind = pa.decimal128(5, 2)
    assert read(kind, [number, 999.99]) == ([Decimal("999.99")], [0])
    assert read(pa.list_(kind), [f"[1, {number}]", "[1]", "null"]) == ([[Decimal(1)], None], [0])
    nested = pa.struct([("x", pa.list_(pa.struct([("y", kind)])))])
    assert read(nested, [f'{{"x": [{{"y": {number}}}]}}', '{"x": null}']) == ([{"x": None}], [0])


def test_a_number_that_a_float_cannot_hold_is_kept_aside():
    assert read(pa.float32(), ["1e39", "-1e39", "1.5", "Infinity"]) == ([1.5, math.inf], [0, 1])
    assert read(pa.list_(pa.float32()), ["[1e39]", "[-Infinity, null]"]) == (
        [[-math.inf, None]],
        [0],
    )
    assert read(pa.float64(), ["1e400", "1e39", "-Infinity"]) == ([1e39, -math.inf], [0])


def test_a_unit_that_is_none_is_refused():
    with pytest.raises(BindError, match=r"\[bad-timestamps\]: timestamps='days' is not a way"):
        JsonValues(K_V, "days")


def envelope(op, before, after):
    return {"before": before, "after": after, "op": op, "source": {"ts_ms": 5}}


def test_envelopes_become_changes_and_what_is_none_is_named():
    one, two = {"k": 1, "v": "a"}, {"k": 1, "v": "b"}
    values = [
        envelope("c", None, one),
        {"schema": {}, "payload": envelope("u", one, two)},
        envelope("d", two, None),
        envelope("u", None, two),
        envelope("t", None, None),
        {"k": 1},
        envelope("r", None, two),
    ]
    found = DebeziumValues(K_V).decode([json.dumps(own).encode() for own in values])
    rows = [(r["v"], r["_change"]) for r in found.rows.to_pylist()]
    assert rows == [
        ("a", "insert"), ("a", "update_preimage"), ("b", "update_postimage"), ("b", "delete"),
        ("b", "insert"),
    ]  # fmt: skip
    assert found.messages.tolist() == [0, 1, 1, 2, 6]
    assert found.rows["_changed_at"][0].as_py() == datetime(1970, 1, 1, 0, 0, 0, 5000, tzinfo=UTC)
    assert [n for n, _ in found.bad] == [3, 4, 5]
    assert "REPLICA IDENTITY FULL" in found.bad[0][1]


@pytest.mark.parametrize("at", [2**63 - 1, -(2**63), 10**16])
def test_a_change_whose_milliseconds_are_no_microseconds_is_kept_aside(at):
    far = [{**envelope("c", None, {"k": 1, "v": "a"}), "source": {"ts_ms": at}}]
    far += [{"after": {"k": 1, "v": "a"}, "op": "c", "ts_ms": at}]
    near = {**far[0], "source": {"ts_us": 7, "ts_ms": at}, "ts_ms": at}
    found = DebeziumValues(K_V).decode([json.dumps(own).encode() for own in [*far, near]])
    assert [n for n, why in found.bad if "further from 1970" in why] == [0, 1]
    assert found.rows["_changed_at"].view(pa.int64()).to_pylist() == [7]
    assert found.messages.tolist() == [2]


CHANGELOG = pa.schema(
    [
        ("k", pa.int64()),
        ("n", pa.int64()),
        ("_change_type", pa.string()),
        ("_event_time", pa.int64()),
    ]
)


def messages(changes, way="upsert", keys=("k",)):
    batch = pa.RecordBatch.from_pylist(
        [dict(zip(CHANGELOG.names, own, strict=True)) for own in changes], schema=CHANGELOG
    )
    answer = Answer(pa.schema([("k", pa.int64()), ("n", pa.int64())]), True, keys or None)
    made, values = AnswerMessages(answer, (), way, "t").of([batch])
    return [(made and json.loads(made[n]), own and json.loads(own)) for n, own in enumerate(values)]


@pytest.mark.law
@settings(deadline=None)
@given(
    st.lists(
        st.lists(st.tuples(st.integers(0, 3), st.none() | st.integers(0, 2)), max_size=6),
        max_size=5,
    )
)
def test_upserts_and_envelopes_of_epochs_add_up_to_the_answer(epochs):
    answer: dict[int, int] = {}
    upserted: dict[int, int] = {}
    fed: list[tuple[int, int]] = []
    at = 0
    for epoch in epochs:
        changes = []
        for k, n in epoch:
            at += 1
            if k in answer:
                changes.append((k, answer.pop(k), "delete", at))
            if n is not None:
                answer[k] = n
                changes.append((k, n, "insert", at))
        if not changes:
            continue
        for key, value in messages(changes):
            upserted.pop(key["k"], None)
            if value is not None:
                upserted[key["k"]] = value["n"]
        for _, value in messages(changes, "debezium"):
            if value["before"]:
                fed.remove((value["before"]["k"], value["before"]["n"]))
            if value["after"]:
                fed.append((value["after"]["k"], value["after"]["n"]))
    assert upserted == answer
    assert dict(fed) == answer
    assert len(fed) == len(answer)


def test_envelopes_that_windrow_writes_are_envelopes_that_it_reads():
    columns = pa.schema([("k", pa.int64()), ("n", pa.int64())])
    made = messages([(1, 1, "insert", 5), (2, 1, "delete", 7), (2, 2, "insert", 7)], "debezium")
    found = DebeziumValues(columns).decode([json.dumps(value).encode() for _, value in made])
    changes = sorted((r["k"], r["n"], r["_change"]) for r in found.rows.to_pylist())
    assert changes == [(1, 1, "insert"), (2, 1, "update_preimage"), (2, 2, "update_postimage")]
    assert not found.bad


def test_upserts_without_keys_are_refused():
    with pytest.raises(BindError, match=r"\[no-keys\]: no keys say which messages of 't'"):
        messages([], keys=())


def test_rows_that_agree_in_their_keys_are_refused():
    with pytest.raises(DataError, match=r"\[keys-not-unique\]: rows of the answer agree in k"):
        messages([(1, 1, "insert", 1), (1, 2, "insert", 1)])


BAG, BY_KEY = Answer(K_V, True), Answer(K_V, True, ("k",))


@pytest.mark.parametrize("way", ["upsert", "debezium"])
@pytest.mark.parametrize(
    ("answer", "keys", "instead"),
    [(BAG, ["k"], "GROUP BY these columns"), (BY_KEY, ["v"], "keys with all of k;")],
)
def test_keys_by_which_one_row_may_take_the_place_of_another_are_refused(
    answer, keys, instead, way
):
    with pytest.raises(
        BindError, match=r"\[keys-not-unique\]: rows of the answer may agree"
    ) as told:
        AnswerMessages(answer, keys, way, "t")
    assert told.value.hint.startswith(instead)


@pytest.mark.parametrize("way", ["upsert", "debezium", "rows"])
def test_keys_that_tell_rows_apart_are_taken_and_any_where_nothing_is_replaced(way):
    AnswerMessages(BY_KEY, ["v", "k"], way, "t")
    AnswerMessages(Answer(K_V, True, ()), ["v"], way, "t")  # an answer of one row
    AnswerMessages(BAG, ["v"], "rows", "t")
    AnswerMessages(Answer(K_V), ["v"], way, "t")  # rows that stay


def test_a_key_that_is_no_column_is_refused():
    with pytest.raises(BindError, match=r"\[unknown-key\]: the answer has no column 'kk'"):
        AnswerMessages(Answer(K_V), ("kk",), "upsert", "t")


def test_bytes_are_base64():
    columns = pa.schema([("raw", pa.binary())])
    value = json.dumps({"raw": base64.b64encode(b"\0\1").decode()}).encode()
    assert JsonValues(columns).decode([value, b'{"raw": "!"}']).rows.to_pylist() == [
        {"raw": b"\0\1"}
    ]


def test_a_map_is_not_read_from_json():
    with pytest.raises(BindError, match=r"\[unsupported-type\]: the column 'm'"):
        JsonValues(pa.schema([("m", pa.map_(pa.string(), pa.int64()))]))
