"""The streams that the golden queries read."""

from __future__ import annotations

from windrow.plan.catalog import (
    NO_HINTS,
    Catalog,
    Hints,
    Promises,
    StreamInfo,
    of_changes,
    stream_info,
)
from windrow.schema import Field, Schema

SECOND = 1_000_000


def _stream(
    name: str, columns: str, time: str = "ts", lateness: int = 0, hints: Hints = NO_HINTS
) -> StreamInfo:
    fields = tuple(Field(*column.split(" ", 1)) for column in columns.split(", "))
    return stream_info(name, Schema(fields), time, Promises(lateness), hints=hints)


def _table(name: str, columns: str) -> StreamInfo:
    fields = tuple(Field(*column.split(" ", 1)) for column in columns.split(", "))
    return StreamInfo(name, Schema(fields), None, is_table=True)


STREAMS = (
    _stream(
        "sales",
        "item bigint, store string, price double, quantity int, ts timestamp",
        lateness=5 * SECOND,
    ),
    _stream("returns", "item bigint, store string, reason string, ts timestamp"),
    _stream("visits", "store string, customer bigint, at timestamp", "at", 60 * SECOND),
    _stream("a", "k int, x int, y string, ts timestamp"),
    _stream("b", "k int, x int, y string, ts timestamp", lateness=2 * SECOND),
    _stream("c", "k int, x int, y string, ts timestamp"),
    _stream("d", "k int, x int, y string, ts timestamp"),
    _stream("fast", "k int, x int, ts timestamp", hints=Hints("1000 per second", {"k": 100})),
    _stream("slow", "k int, x int, ts timestamp", hints=Hints(10, {"k": 100})),
    _stream("rare", "k int, x int, ts timestamp", hints=Hints("2 per minute", {"k": 50})),
    _stream("ticks", "k int, v double, n bigint", "n", 10),
    _stream("orders", "k int, v decimal(10,2), day date", "day", 1),
    _stream("invoices", "k int, v decimal(10,2), day date", "day"),
    _stream("temperature", "sensor int, x double, y double, celsius double, ts timestamp"),
    _stream(
        "humidity", "sensor int, x double, y double, percent double, ts timestamp",
        lateness=30 * SECOND,
    ),
    of_changes(_stream("quotes", "symbol string, bid double, op string, ts timestamp"), "op"),
)  # fmt: skip

TABLES = (
    _table("stores", "store string, region string, opened timestamp"),
    _table("favorites", "item bigint, customer bigint, least double"),
)

CATALOG: Catalog = {stream.name: stream for stream in (*STREAMS, *TABLES)}
