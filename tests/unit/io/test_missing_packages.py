"""A connector whose package is not installed says which one, and how to get it."""

from __future__ import annotations

import sys

import pyarrow as pa
import pytest

import windrow
from windrow.errors import ResourceError
from windrow.io import Answer

AVRO = '{"type": "record", "name": "order", "fields": [{"name": "id", "type": "long"}]}'


@pytest.fixture
def without(monkeypatch):
    """Makes a package one that is not installed."""

    def forget(package: str) -> None:
        for name in [own for own in sys.modules if own.partition(".")[0] == package]:
            monkeypatch.delitem(sys.modules, name)
        monkeypatch.setitem(sys.modules, package, None)

    return forget


def told(call) -> str:
    with pytest.raises(ResourceError) as caught:
        call()
    return str(caught.value)


def test_kafka_needs_confluent_kafka(without):
    without("confluent_kafka")
    expected = (
        "ResourceError[kafka-missing]: Kafka is read and written by confluent-kafka, which is not"
        " installed\n"
        "  hint: pip install 'windrow[kafka]'"
    )
    place = windrow.kafka("orders", schema="id BIGINT")
    assert told(place.source().start) == expected
    assert told(lambda: place.sink().open("r", Answer(place.source().columns()))) == expected


def test_avro_needs_fastavro(without):
    without("fastavro")
    place = windrow.kafka("orders", format="avro", avro_schema=AVRO)
    assert told(place.source) == (
        "ResourceError[kafka-missing]: Avro is read by fastavro, which is not installed\n"
        "  hint: pip install 'windrow[kafka]'"
    )


def test_postgres_needs_psycopg(without):
    without("psycopg")
    place = windrow.postgres("postgresql://localhost/sales", table="stores")
    assert told(lambda: place.table_source().columns()) == (
        "ResourceError[psycopg-missing]: psycopg, which connects to PostgreSQL, is not installed\n"
        "  import of psycopg halted; None in sys.modules\n"
        "  hint: pip install 'windrow[postgres]'"
    )


def test_delta_needs_deltalake(without, tmp_path):
    without("deltalake")
    sink = windrow.delta(str(tmp_path / "lake")).sink()
    assert told(lambda: sink.open("r", Answer(pa.schema([("id", pa.int64())])))) == (
        "ResourceError[missing-package]: Delta tables are written by the package deltalake, which is"
        " not installed\n"
        "  hint: pip install 'windrow[delta]'"
    )


def test_addresses_of_other_file_systems_need_fsspec(without):
    without("fsspec")
    assert told(lambda: windrow.files("memory://sales/").source().columns()) == (
        "ResourceError[missing-package]: 'memory://sales/' is reached by the package fsspec, which is"
        " not installed\n"
        "  hint: pip install 'windrow[fsspec]'"
    )
