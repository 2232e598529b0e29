"""What Kafka's messages hold, with a real broker: changelogs, envelopes of changes, Avro."""

from __future__ import annotations

import http.server
import io
import json
import threading
from datetime import UTC, datetime
from decimal import Decimal

import fastavro
import pyarrow as pa
import pytest
from contracts.source_contract import read_through

import windrow
from servers.kafka_topics import committed_messages, produce
from windrow.io import Answer, Unavailable

pytestmark = pytest.mark.services

CHANGES = pa.schema(
    [
        ("k", pa.int64()),
        ("n", pa.int64()),
        ("_change_type", pa.string()),
        ("_event_time", pa.int64()),
    ]
)


def test_changelogs_are_upserts_with_tombstones(broker):
    topic = broker.topic()
    sink = windrow.kafka(topic, servers=broker.servers, schema="n BIGINT").sink()
    sink.open("r5", Answer(pa.schema([("k", pa.int64()), ("n", pa.int64())]), True, ("k",)))
    for epoch, changes in enumerate(
        [
            [(1, 1, "insert", 1), (2, 1, "insert", 1)],
            [(1, 1, "delete", 2), (1, 2, "insert", 2), (2, 1, "delete", 2)],
        ]
    ):
        told = [dict(zip(CHANGES.names, own, strict=True)) for own in changes]
        batch = pa.RecordBatch.from_pylist(told, schema=CHANGES)
        sink.commit(epoch, [sink.write(epoch, [batch])])
    told = [(own.key(), own.value()) for own in committed_messages(broker, topic)]
    assert told == [
        (b'{"k":1}', b'{"k":1,"n":1}'), (b'{"k":2}', b'{"k":2,"n":1}'),
        (b'{"k":2}', None), (b'{"k":1}', b'{"k":1,"n":2}'),
    ]  # fmt: skip


def test_a_stream_of_envelopes_is_a_stream_of_changes(broker):
    topic = broker.topic()
    one, two = {"customer": "ann", "amount": 10}, {"customer": "ann", "amount": 12}
    envelopes = [
        {"before": None, "after": one, "op": "c", "source": {"ts_ms": 1}},
        {"before": one, "after": two, "op": "u", "source": {"ts_ms": 6}},
        {"before": two, "after": None, "op": "d", "source": {"ts_ms": 9}},
    ]
    produce(broker, topic, [*(json.dumps(own).encode() for own in envelopes), None])
    w = windrow.Session()
    orders = windrow.kafka(
        topic, servers=broker.servers, format="debezium", schema="customer STRING, amount BIGINT"
    )
    w.stream("orders", orders, time="_changed_at", changes="_change")
    collected: list[dict] = []
    run = w.run(
        "SELECT customer, SUM(amount) AS total FROM orders GROUP BY customer",
        to=windrow.call(lambda table, _: collected.extend(table.to_pylist())),
        until_done=True,
    )
    run.wait()
    assert [(own["total"], own["_change_type"]) for own in collected] == [
        (10, "insert"), (10, "delete"), (12, "insert"), (12, "delete"),
    ]  # fmt: skip


SCHEMA = {
    "type": "record", "name": "order",
    "fields": [
        {"name": "id", "type": "long"}, {"name": "store", "type": ["null", "string"]},
        {"name": "price", "type": {"type": "bytes", "logicalType": "decimal", "precision": 9, "scale": 2}},
        {"name": "ts", "type": {"type": "long", "logicalType": "timestamp-micros"}},
    ],
}  # fmt: skip


@pytest.fixture
def registry():
    """A schema registry: a small HTTP server on loopback."""

    class Answers(http.server.BaseHTTPRequestHandler):
        def do_GET(self):
            known = {"/schemas/ids/7": {"schema": json.dumps(SCHEMA)}}
            is_latest = self.path.startswith("/subjects/") and self.path.endswith(
                "/versions/latest"
            )
            body = {"schema": json.dumps(SCHEMA), "id": 7} if is_latest else known.get(self.path)
            self.send_response(200 if body else 404)
            self.end_headers()
            self.wfile.write(json.dumps(body or {}).encode())

        def log_message(self, *_: object):
            pass

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Answers)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    server.server_close()
    thread.join()


def encoded(record, prefix=b""):
    out = io.BytesIO(prefix)
    out.seek(0, 2)
    fastavro.schemaless_writer(out, SCHEMA, record)
    return out.getvalue()


def test_avro_is_read_by_a_registry_and_by_a_given_schema(broker, registry):
    record = {
        "id": 1,
        "store": None,
        "price": Decimal("1.25"),
        "ts": datetime(2026, 1, 1, tzinfo=UTC),
    }
    plain, registered = broker.topic(), broker.topic()
    good = encoded(record)
    produce(broker, plain, [good, good[:-1], good + b"\0", b""])
    prefix = b"\0" + (7).to_bytes(4, "big")
    produce(broker, registered, [prefix + good, good, b"\0\0\0\0\x09" + good])
    given = windrow.kafka(
        plain, servers=broker.servers, format="avro", avro_schema=json.dumps(SCHEMA)
    )
    asked = windrow.kafka(registered, servers=broker.servers, format="avro", registry=registry)
    for place, bad in ((given, 3), (asked, 2)):
        source = place.source()
        assert source.columns().names == ["id", "store", "price", "ts"]
        assert read_through(source)["0"] == [record]
        assert len(source.take_aside()) == bad
    away = windrow.kafka(
        registered, servers=broker.servers, format="avro", registry="http://127.0.0.1:9"
    )
    with pytest.raises(Unavailable, match=r"\[registry-away\]: the schema registry at"):
        away.source()
