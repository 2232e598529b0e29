"""The one way in which tests make a session with some streams.

    w = session({"a": A, "b": B}, time="ts", lateness=3)
    w = session({"a": {"k": [1, 2], "ts": [0, 7]}}, time="ts", tables={"names": NAMES})

A test that asks how streams are registered calls `windrow.Session` itself.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pyarrow as pa

import windrow

NOTHING: Mapping[str, Any] = {}


def session(
    streams: Mapping[str, Any],
    *,
    time: Any,
    lateness: Any = None,
    tables: Mapping[str, Any] = NOTHING,
    spark: Any = None,
    **facts: Any,
) -> windrow.Session[Any]:
    """A session in which every stream and every table is registered.

    Args:
        streams: by name, in the order in which they are registered: whatever `Session.stream`
            takes, or the columns of a table.
        time: the column of event time, or `windrow.ON_ARRIVAL`; of all streams.
        lateness: of all streams, or by name.
        tables: relations that do not move, by name; as the streams are given.
        spark: a Spark session, on which the queries then run; in process without.
        facts: what else `Session.stream` may be told, of all streams.
    """
    made = windrow.Session() if spark is None else windrow.Session(spark)
    for name, data in streams.items():
        own = lateness[name] if isinstance(lateness, Mapping) else lateness
        made.stream(name, _data(data), time=time, lateness=own, **facts)
    for name, data in tables.items():
        made.table(name, _data(data))
    return made


def _data(given: Any) -> Any:
    return pa.table(given) if isinstance(given, dict) else given
