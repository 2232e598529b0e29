"""Avro records as rows: exact values, what is refused with the schema, and a registry that misbehaves."""

from __future__ import annotations

import base64
import http.server
import io
import json
import threading
import uuid
from datetime import UTC, date, datetime, time
from decimal import Decimal

import fastavro
import pyarrow as pa
import pytest
from case_share import share_of
from hypothesis import given, settings
from hypothesis import strategies as st

from windrow.errors import BindError, ResourceError
from windrow.io.formats.avro_values import AvroValues
from windrow.io.protocol import Unavailable

LONG = {"type": "long"}
MICROS = {"type": "long", "logicalType": "timestamp-micros"}
MILLIS = {"type": "long", "logicalType": "timestamp-millis"}
UUID = {"type": "string", "logicalType": "uuid"}
FIXED_UUID = {"type": "fixed", "name": "u", "size": 16, "logicalType": "uuid"}
ADDRESS = {"type": "record", "name": "Addr", "fields": [{"name": "city", "type": "string"}]}
SOME_UUID = uuid.UUID("13d5ac28-cc0b-48a2-8cd5-e9c9f8b0cfa2")


def record(*types: object):
    """A schema with a field for each type, as text."""
    fields = [{"name": f"f{n}", "type": own} for n, own in enumerate(types)]
    return json.dumps({"type": "record", "name": "r", "namespace": "a.b", "fields": fields})


def decimals(precision, scale):
    return {"type": "bytes", "logicalType": "decimal", "precision": precision, "scale": scale}


def encoded(kind, values):
    """Messages of one field, by Avro's own logical types."""
    schema = fastavro.parse_schema(json.loads(record(kind)))
    messages = []
    for value in values:
        out = io.BytesIO()
        fastavro.schemaless_writer(out, schema, {"f0": value})
        messages.append(out.getvalue())
    return messages


def read(kind, values, wanted=None):
    """What a column has of values, of a wanted type or its own, and which are aside."""
    columns = None if wanted is None else pa.schema([("f0", wanted)])
    found = AvroValues(columns, record(kind), "", "t").decode(encoded(kind, values))
    return found.rows["f0"], [n for n, _ in found.bad]


@pytest.mark.parametrize(
    ("kind", "values", "expected"),
    [
        (UUID, [SOME_UUID], [str(SOME_UUID)]),
        ({"type": "int", "logicalType": "date"}, [date(1, 1, 1)], [date(1, 1, 1)]),
        ({"type": "int", "logicalType": "time-millis"}, [time(1, 2, 3)], [time(1, 2, 3)]),
        (
            {"type": "long", "logicalType": "time-micros"},
            [time(23, 59, 59, 999999)],
            [time(23, 59, 59, 999999)],
        ),
        (
            {"type": "long", "logicalType": "timestamp-nanos"},
            [1_999, -1],
            [datetime(1970, 1, 1, 0, 0, 0, 1, UTC), datetime(1969, 12, 31, 23, 59, 59, 999999, UTC)],
        ),
        (
            MILLIS,
            [datetime(2026, 1, 1, tzinfo=UTC)],
            [datetime(2026, 1, 1, tzinfo=UTC)],
        ),
        (["null", decimals(38, 10)], [Decimal("9" * 28 + ".9"), None], [Decimal("9" * 28 + ".9"), None]),
        (
            {"type": "map", "values": ["null", {"type": "array", "items": ["null", MICROS]}]},
            [{"a": [datetime(2026, 1, 1, tzinfo=UTC), None], "b": None}, {}],
            [[("a", [datetime(2026, 1, 1, tzinfo=UTC), None]), ("b", None)], []],
        ),
        (
            {"type": "array", "items": {**ADDRESS, "fields": [{"name": "u", "type": UUID}]}},
            [[{"u": SOME_UUID}], []],
            [[{"u": str(SOME_UUID)}], []],
        ),
    ],
)  # fmt: skip
def test_values_of_logical_types_are_what_they_mean(kind, values, expected):
    column, bad = read(kind, values)
    assert (column.to_pylist(), bad) == (expected, [])


def test_a_uuid_may_be_sixteen_bytes():
    found = AvroValues(None, record(FIXED_UUID), "", "t").decode([SOME_UUID.bytes])
    assert found.rows["f0"].to_pylist() == [str(SOME_UUID)]


@pytest.mark.law
@settings(deadline=None, max_examples=share_of(30))
@given(st.lists(st.integers(-(2**63), 2**63 - 1), max_size=5))
def test_every_number_of_microseconds_is_an_instant(numbers):
    column, bad = read(MICROS, numbers)
    assert (column.view(pa.int64()).to_pylist(), bad) == (numbers, [])


def test_types_are_used_again_by_their_names():
    enum = {"type": "enum", "name": "E", "symbols": ["X"]}
    schema = record(ADDRESS, "Addr", {"type": "a.b.Addr"}, ["null", "Addr"], enum, {"type": "E"})
    out = io.BytesIO()
    city = {"city": "x"}
    row = {"f0": city, "f1": city, "f2": city, "f3": None, "f4": "X", "f5": "X"}
    plain = fastavro.parse_schema(
        json.loads(schema.replace('{"type": "a.b.Addr"}', '"Addr"').replace('{"type": "E"}', '"E"'))
    )
    fastavro.schemaless_writer(out, plain, row)
    assert AvroValues(None, schema, "", "t").decode([out.getvalue()]).rows.to_pylist() == [row]


@pytest.mark.parametrize(
    ("kind", "wanted", "values", "expected", "aside"),
    [
        ("long", pa.int16(), [5, 2**15], [5], [1]),
        ("long", pa.float64(), [5, 2**53 + 1], [5.0], [1]),
        ("long", pa.decimal128(5, 2), [999, 1000], [Decimal(999)], [1]),
        ("double", pa.float32(), [1.5, 1e300, float("inf")], [1.5, float("inf")], [1]),
        ("float", pa.float64(), [1.5], [1.5], []),
        ("bytes", pa.string(), [b"a", b"\xff"], ["a"], [1]),
        ("string", pa.binary(), ["é"], ["é".encode()], []),
        (decimals(10, 4), pa.decimal128(10, 2), [Decimal("1.2300"), Decimal("1.2345")], [Decimal("1.23")], [1]),
        (decimals(50, 2), pa.decimal128(38, 2), [Decimal("1.25"), Decimal(10**40)], [Decimal("1.25")], [1]),
        (MICROS, pa.timestamp("us"), [0], [datetime(1970, 1, 1)], []),  # noqa: DTZ001
        (MILLIS, pa.timestamp("us", "UTC"), [0, 2**62], [datetime(1970, 1, 1, tzinfo=UTC)], [1]),
        (["null", "int", "string"], pa.string(), [1, "s", None], ["s", None], [0]),
        (["int", "double"], pa.float64(), [1, 1.5], [1.0, 1.5], []),
        (["null", "long", "double"], pa.int32(), [1, 1.5, 2**40], [1], [1, 2]),
        (
            {"type": "array", "items": "double"}, pa.list_(pa.float32()),
            [[1.5], [1e300]], [[1.5]], [1],
        ),
        (
            {"type": "map", "values": "long"}, pa.map_(pa.string(), pa.int8()),
            [{"a": 1}, {"a": 128}], [[("a", 1)]], [1],
        ),
        (ADDRESS, pa.struct([("x", pa.int64()), ("city", pa.string())]), [{"city": "c"}], [{"x": None, "city": "c"}], []),
    ],
)  # fmt: skip
def test_a_value_that_a_column_cannot_hold_is_kept_aside(kind, wanted, values, expected, aside):
    column, bad = read(kind, values, wanted)
    assert column.type == wanted
    assert (column.to_pylist(), bad) == (expected, aside)


@pytest.mark.parametrize(
    ("kind", "wanted"),
    [
        ("double", pa.int64()), ("boolean", pa.int64()), ("long", pa.timestamp("us", "UTC")),
        ("string", pa.timestamp("us", "UTC")), ("int", pa.date32()), (MICROS, pa.date32()),
        (MICROS, pa.int64()), ("double", pa.decimal128(9, 2)), (decimals(9, 2), pa.float64()),
        ("string", pa.int64()), (["null", "long", MICROS], pa.int64()), (["int", "string"], pa.bool_()),
        ({"type": "array", "items": "double"}, pa.list_(pa.int64())), (ADDRESS, pa.string()),
        ({"type": "array", "items": ["int", "string"]}, pa.list_(pa.string())),
        ({"type": "map", "values": "long"}, pa.map_(pa.int64(), pa.int64())),
    ],
)  # fmt: skip
def test_a_column_that_cannot_have_the_values_of_a_type_is_refused(kind, wanted):
    with pytest.raises(BindError, match=r"\[unsupported-type\]: the column 'f0' of the type"):
        AvroValues(pa.schema([("f0", wanted)]), record(kind), "", "t")


def test_a_column_of_another_type_is_refused_in_words():
    with pytest.raises(BindError) as caught:
        AvroValues(pa.schema([("f0", pa.int64())]), record(["null", "double"]), "", "t")
    assert str(caught.value) == (
        "BindError[unsupported-type]: the column 'f0' of the type BIGINT is not read from Avro's double\n"
        "  hint: in schema='..' write f0 DOUBLE, or leave it out"
    )


def test_a_decimal_with_more_digits_than_its_type_has_is_kept_aside():
    # fastavro would round it to the four digits.
    message = b"\x06" + (123_456).to_bytes(3)
    found = AvroValues(None, record(decimals(4, 2)), "", "t").decode([message, b"\x02\x64", b"\0"])
    assert found.rows["f0"].to_pylist() == [Decimal("1.00"), Decimal(0)]
    assert [n for n, _ in found.bad] == [0]


@pytest.mark.parametrize(
    "schema",
    [
        "", "null", "7", "{", '"string"', '{"type": "string"}', "[]", '["null", "string"]',
        '["null", {"type": "record", "name": "r", "fields": []}]',
        '{"type": "array", "items": "long"}', record("nosuch"), record({}), record(None), "[" * 5_000,
        record({"type": "record", "name": "s", "fields": [{"name": "x", "type": "int"}] * 2}),
    ],
)  # fmt: skip
def test_what_is_no_schema_of_records_is_refused(schema):
    with pytest.raises(BindError, match=r"\[(bad-avro-schema|no-schema)\]"):
        AvroValues(None, schema, "", "t")


def deep(levels):
    kind = "int"
    for _ in range(levels):
        kind = {"type": "array", "items": kind}
    return kind


def chain(length, width):
    """Types of which each holds some of the one before, and the last no byte."""
    types = [{"type": "record", "name": "t0", "fields": []}]
    for n in range(1, length):
        fields = [{"name": f"x{i}", "type": f"t{n - 1}"} for i in range(width)]
        types.append({"type": "record", "name": f"t{n}", "fields": fields})
    return types


EMPTY = {"type": "record", "name": "e", "fields": [{"name": "x", "type": "null"}]}


@pytest.mark.parametrize(
    "types",
    [
        [["null", "r"]], ["r"], [{"type": "array", "items": "r"}], [{"type": "map", "values": "a.b.r"}],
        [{"type": "array", "items": "null"}], [{"type": "array", "items": EMPTY}],
        [{"type": "array", "items": {"type": "fixed", "name": "z", "size": 0}}],
        [{"type": "map", "values": {"type": "array", "items": EMPTY}}],
        [deep(100)], chain(100, 1), chain(40, 2),
    ],
)  # fmt: skip
def test_a_schema_by_which_a_short_message_ends_the_reader_is_refused_even_if_not_read(types):
    with pytest.raises(BindError, match=r"\[unsupported-type\]: in the Avro schema"):
        AvroValues(pa.schema([("k", pa.int64())]), record(*types), "", "t")


def test_a_number_of_items_that_is_not_there_is_kept_aside_at_once():
    for kind in ({"type": "array", "items": "int"}, {"type": "map", "values": "null"}):
        found = AvroValues(None, record(kind), "", "t").decode([b"\xfe\xff\xff\xff\x0f\x00"])
        assert found.bad == [(0, "it ends before the record does")]


@pytest.fixture
def registry():
    """A schema registry on loopback: gives its address, what it answers by path, and who asked."""
    answers, logins = {}, []

    class Answers(http.server.BaseHTTPRequestHandler):
        def do_GET(self):
            logins.append(self.headers["Authorization"])
            status, body = answers.get(self.path, (404, "{}"))
            self.send_response(status)
            self.end_headers()
            self.wfile.write(body.encode())

        def log_message(self, *_: object):
            pass

    server = http.server.HTTPServer(("127.0.0.1", 0), Answers)
    thread = threading.Thread(target=server.serve_forever, args=(0.01,))
    thread.start()
    yield f"127.0.0.1:{server.server_port}", answers, logins
    server.shutdown()
    server.server_close()
    thread.join()


def told(schema, **more: object):
    return 200, json.dumps({"schema": schema, **more})


def test_what_a_registry_answers_at_first_is_a_schema_or_an_error_of_ours(registry):
    place, answers, logins = registry
    address, latest = f"http://{place}", "/subjects/t-value/versions/latest"
    with pytest.raises(BindError, match=r"\[unknown-subject\]: .* has no schema of 't-value'"):
        AvroValues(None, "", address, "t-value")
    for answer in ((200, "<html>"), (200, "[]"), (200, "{}"), (401, ""), (403, "{}")):
        answers[latest] = answer
        with pytest.raises(ResourceError, match=r"\[registry-refused\]: ") as caught:
            AvroValues(None, "", address, "t-value")
        assert not isinstance(caught.value, Unavailable)
    for status in (429, 500, 503):
        answers[latest] = status, ""
        with pytest.raises(Unavailable, match=r"\[registry-away\]: "):
            AvroValues(None, "", address, "t-value")
    for answer in (told('"string"'), told("syntax = proto3", schemaType="PROTOBUF")):
        answers[latest] = answer
        with pytest.raises(BindError, match=r"\[bad-avro-schema\]: the schema"):
            AvroValues(None, "", address, "t-value")
    answers[latest] = told(record("long"))
    logins.clear()
    found = AvroValues(None, "", f"http://me:p%40ss@{place}/", "t-value")
    assert found.columns == pa.schema([("f0", pa.int64())])
    assert logins == ["Basic " + base64.b64encode(b"me:p@ss").decode()]


def test_a_password_is_in_no_message(registry):
    place, answers, _ = registry
    answers["/subjects/t/versions/latest"] = 401, ""
    for address in (
        f"http://me:secret@{place}",
        f"ftp://me:secret@{place}",
        "http://me:secret@h:x",
    ):
        with pytest.raises((BindError, ResourceError)) as caught:
            AvroValues(None, "", address, "t")
        assert "secret" not in str(caught.value)


@pytest.mark.parametrize(
    "address",
    [
        "localhost:8081",
        "nonsense",
        "http://",
        "file:///etc",
        "http://h:x",
        "http://[",
        "http://h h",
    ],
)
def test_what_is_no_address_of_a_registry_is_refused(address):
    with pytest.raises(BindError, match=r"\[bad-kafka-option\]: registry="):
        AvroValues(pa.schema([("k", pa.int64())]), "", address, "t")


def test_messages_of_a_schema_that_is_not_read_are_kept_aside_and_others_come_in_order(registry):
    place, answers, logins = registry
    answers["/schemas/ids/1"] = told(record("long"))
    answers["/schemas/ids/2"] = told(record("int", "string"))
    answers["/schemas/ids/3"] = told(record("double"))
    answers["/schemas/ids/4"] = told(record("long", ["null", "r"]))
    answers["/schemas/ids/5"] = told("syntax", schemaType="PROTOBUF")
    numbers = [1, 2, 1, 3, 4, 5, 6, 6, 2**32 - 1, 2]
    bodies = {1: b"\x02", 2: b"\x04\x02x", 3: b"\0" * 8, 4: b"\x02\0"}
    values = [b"\0" + own.to_bytes(4) + bodies.get(own, b"") for own in numbers]
    reader = AvroValues(pa.schema([("f0", pa.int64())]), "", f"http://{place}", "t")
    found = reader.decode([*values, b"\1\0\0\0\1\2", b"\0"])
    assert found.rows["f0"].to_pylist() == [1, 2, 1, 2]
    assert found.messages.tolist() == [0, 1, 2, 9]
    assert [n for n, _ in found.bad] == [3, 4, 5, 6, 7, 8, 10, 11]
    why = dict(found.bad)
    assert why[3] == "the column 'f0' of the type BIGINT is not read from Avro's double"
    assert "holds values of itself" in why[4]
    assert "of the kind PROTOBUF" in why[5]
    assert why[6] == why[7] == "the registry has nothing at schemas/ids/6"
    assert len(logins) == 6
    answers["/schemas/ids/6"] = told(record("long"))
    assert reader.decode([b"\0\0\0\0\6\2"]).rows["f0"].to_pylist() == [1]
    answers["/schemas/ids/7"] = 401, ""
    with pytest.raises(ResourceError, match=r"\[registry-refused\]"):
        reader.decode([b"\0\0\0\0\7\2"])
