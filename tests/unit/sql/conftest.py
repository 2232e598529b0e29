from __future__ import annotations

from collections.abc import Callable

import pytest

from windrow.errors import WindrowError
from windrow.operators.expressions.evaluate import DuckdbTypes
from windrow.plan.catalog import StreamInfo
from windrow.plan.nodes.query import Query
from windrow.schema import Field, Schema
from windrow.sql.compile import compile_query


def stream(name: str, time: str | None, columns: str, **facts: bool) -> StreamInfo:
    """A stream with columns given as `name type, name type`."""
    pairs = [column.strip().split(" ", 1) for column in columns.split(", ")]
    return StreamInfo(name, Schema(tuple(Field(*pair) for pair in pairs)), time, **facts)


CATALOG = {
    info.name: info
    for info in (
        stream("a", "ts", "ts timestamp, k int, x int, y int, name string, price double"),
        stream("b", "ts", "ts timestamp, k bigint, x int, name string, z int"),
        stream("c", "at", "at timestamp, k int, name string, w decimal(10,2)"),
        stream("d", "ts", "ts timestamp, k int, s struct<f:int,g:string>, m map<string,int>"),
        stream("sales", "ts", "ts timestamp, store string, price decimal(10,2), quantity int"),
        stream("temperature", "ts", "ts timestamp, x double, y double, id int, value double"),
        stream("humidity", "ts", "ts timestamp, x double, y double, id int, value double"),
        stream("ticks", "t", "t bigint, k int, v double"),
        stream("tocks", "t", "t bigint, k int, v int, u decimal(5,1)"),
        stream("days", "day", "day date, k int"),
        stream("nights", "day", "day date, k int"),
        stream("local", "ts", "ts timestamp_ntz, k int"),
        stream("timeless", None, "k int, v int"),
        stream("texts", "ts", "ts string, k int"),
        stream("favorites", None, "k int, item string", is_table=True),
    )
}

SECOND = 1_000_000
MINUTE = 60 * SECOND
HOUR = 60 * MINUTE


@pytest.fixture(scope="session")
def compiled() -> Callable[[str], Query]:
    """Compiles a query over the streams of this folder."""
    resolver = DuckdbTypes()
    return lambda sql: compile_query(sql, CATALOG, resolver)


@pytest.fixture(scope="session")
def refused(compiled: Callable[[str], Query]) -> Callable[[str], WindrowError]:
    """The error that a query is refused with."""

    def refusal(sql: str) -> WindrowError:
        with pytest.raises(WindrowError) as caught:
            compiled(sql)
        return caught.value

    return refusal
