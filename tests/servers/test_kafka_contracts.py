"""Kafka keeps the laws of sources and sinks."""

from __future__ import annotations

import pyarrow as pa
import pytest
from contracts.sink_contract import SinkContract
from contracts.source_contract import COLUMNS, DDL, SourceContract, read_through

import windrow
from servers.kafka_topics import await_markers, json_values, produce

pytestmark = [pytest.mark.services, pytest.mark.law]


class Topic:
    """A topic of some partitions."""

    def __init__(self, broker, partitions) -> None:
        self.broker, self.partitions = broker, partitions
        self.topic = broker.topic(partitions=partitions)

    def place(self):
        return windrow.kafka(self.topic, servers=self.broker.servers, schema=DDL)

    def put(self, table):
        produce(self.broker, self.topic, json_values(table), self.partitions)

    def put_poison(self):
        produce(self.broker, self.topic, [b'{"id": tru'])
        return b'{"id": tru'

    def source(self):
        return self.place().source()

    def sink(self):
        return self.place().sink()

    def settle(self):
        await_markers(self.broker, self.topic, self.partitions)

    def visible(self):
        source = self.source()
        found = [row for part in read_through(source).values() for row in part]
        source.close()
        return pa.Table.from_pylist(found, COLUMNS)


class TestOnePartition(SourceContract):
    @pytest.fixture
    def place(self, broker):
        return Topic(broker, 1)


class TestThreePartitions(SourceContract):
    @pytest.fixture
    def place(self, broker):
        return Topic(broker, 3)


class TestSink(SinkContract):
    @pytest.fixture
    def place(self, broker):
        return Topic(broker, 2)
