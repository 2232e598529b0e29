"""Tables and queries of PostgreSQL's as tables: types, NULLs, one snapshot, and reading again."""

from __future__ import annotations

import re
import threading
from datetime import UTC, date, datetime
from decimal import Decimal

import psycopg
import pyarrow as pa
import pytest

import windrow
from servers.postgres_rows import executed
from windrow.io import Unavailable
from windrow.io.postgres import database
from windrow.io.postgres import table as source_of_tables
from windrow.run.local.followed import table_at
from windrow.run.local.tables import RefreshedTable

pytestmark = pytest.mark.services

TYPES = [
    ("boolean", "true", pa.bool_(), True),
    ("smallint", "-32768", pa.int16(), -32768),
    ("integer", "2147483647", pa.int32(), 2147483647),
    ("bigint", "-9223372036854775808", pa.int64(), -(2**63)),
    ("real", "0.1", pa.float32(), pa.scalar(0.1, pa.float32()).as_py()),
    ("double precision", "0.30000000000000004", pa.float64(), 0.1 + 0.2),
    ("double precision", "'-Infinity'", pa.float64(), float("-inf")),
    ("numeric(10,2)", "-12345678.90", pa.decimal128(10, 2), Decimal("-12345678.90")),
    ("numeric(38,0)", "9" * 38, pa.decimal128(38, 0), Decimal("9" * 38)),
    ("numeric(3,-2)", "99900", pa.decimal128(5, 0), Decimal(99900)),
    ("numeric(2,4)", "0.0099", pa.decimal128(4, 4), Decimal("0.0099")),
    ("text", "E'a,\"b\"\\n\\t\\\\N ☂'", pa.string(), 'a,"b"\n\t\\N ☂'),
    ("varchar(5)", "''", pa.string(), ""),
    ("char(3)", "'ab'", pa.string(), "ab"),
    ("uuid", "'a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11'", pa.string(),
     "a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11"),
    ("json", """'{"a": [1, null]}'""", pa.string(), '{"a": [1, null]}'),
    ("jsonb", """'{"a": 1}'""", pa.string(), '{"a": 1}'),
    ("mood", "'calm'", pa.string(), "calm"),
    ("bytea", "'\\x00ff5c'", pa.binary(), b"\x00\xff\\"),
    ("bytea", "''", pa.binary(), b""),
    ("date", "'2026-02-28'", pa.date32(), date(2026, 2, 28)),
    ("timestamptz", "'2026-05-01 12:30:00.123456+02'", pa.timestamp("us", "UTC"),
     datetime(2026, 5, 1, 10, 30, 0, 123456, tzinfo=UTC)),
    ("timestamptz", "'0001-01-01 00:00:00+00'", pa.timestamp("us", "UTC"),
     datetime(1, 1, 1, tzinfo=UTC)),
    ("timestamp(3)", "'2026-05-01 12:30:00.5'", pa.timestamp("us"),
     datetime.fromisoformat("2026-05-01T12:30:00.5")),
    ("bigint[]", "'{1,NULL,-3}'", pa.list_(pa.int64()), [1, None, -3]),
    ("text[]", """ARRAY['a"b', NULL, '', 'NULL', '{x}']""", pa.list_(pa.string()),
     ['a"b', None, "", "NULL", "{x}"]),
    ("numeric(6,2)[]", "'{1.50}'", pa.list_(pa.decimal128(6, 2)), [Decimal("1.50")]),
    ("double precision[]", "'{NaN,1e300}'", pa.list_(pa.float64()), None),
    ("boolean[]", "'{t,f}'", pa.list_(pa.bool_()), [True, False]),
    ("timestamptz[]", "ARRAY['2026-05-01 12:00:00+02'::timestamptz]",
     pa.list_(pa.timestamp("us", "UTC")), [datetime(2026, 5, 1, 10, tzinfo=UTC)]),
    ("date[]", "'{2026-01-02}'", pa.list_(pa.date32()), [date(2026, 1, 2)]),
]  # fmt: skip


def read(url, **what: object) -> pa.Table:
    source = windrow.postgres(url, **what).table_source()
    try:
        return table_at("t", source)
    finally:
        source.close()


def test_every_type_is_read_exactly_and_null_stays_null(postgres_server, table):
    url = postgres_server.url
    schema = table.partition(".")[0]
    executed(url, f"CREATE TYPE {schema}.mood AS ENUM ('calm', 'wild')")
    names = [f"c {n}" for n in range(len(TYPES))]
    spelled = [own[0].replace("mood", f"{schema}.mood") for own in TYPES]
    columns = ", ".join(f'"{name}" {kind}' for name, kind in zip(names, spelled, strict=True))
    values = ", ".join(own[1] for own in TYPES)
    nulls = ", ".join("NULL" for _ in TYPES)
    executed(
        url,
        f"CREATE TABLE {table} ({columns})",
        f"INSERT INTO {table} VALUES ({values}), ({nulls})",
    )
    found = read(url, table=table)
    assert found.schema.types == [own[2] for own in TYPES]
    first, second = (list(row.values()) for row in found.to_pylist())
    for value, own in zip(first, TYPES, strict=True):
        if own[0] == "double precision[]":
            assert value[0] != value[0]
            assert value[1] == 1e300
        else:
            assert value == own[3], own[0]
    assert second == [None] * len(TYPES)


@pytest.mark.parametrize(
    ("kind", "said"),
    [
        ("numeric", "CAST(x AS numeric(20, 4))"),
        ("numeric(50,2)", "at most 38 digits"),
        ("interval", "x::text AS x"),
        ("point", "does not read"),
        ("bytea[]", "does not read"),
    ],
)
def test_a_type_that_would_not_be_exact_is_refused_with_a_cast(postgres_server, table, kind, said):
    executed(postgres_server.url, f"CREATE TABLE {table} (x {kind})")
    with pytest.raises(windrow.BindError) as caught:
        read(postgres_server.url, table=table)
    assert caught.value.condition == "unsupported-type"
    assert said in str(caught.value)


@pytest.mark.parametrize(
    ("value", "sentence", "hint"),
    [
        ("'infinity'::timestamptz", "column's type", "infinite times"),
        ("'10000-01-01'::date", "column's type", "years beyond 9999"),
        ("'NaN'::numeric(4,2)", "column's type", "NaN of numeric"),
        ("'{infinity}'::timestamp[]", "the column 'x'", "infinite times"),
        ("'{{1},{2}}'::int[]", "'x' has more than one dimension", 'array_to_json("x")::text'),
        ("repeat('x', 20000000)", "too long", "leave out its long values"),
    ],
)
def test_a_value_without_a_counterpart_is_an_error_of_the_data(
    postgres_server, value, sentence, hint
):
    with pytest.raises(windrow.DataError) as caught:
        read(postgres_server.url, query=f"SELECT {value} AS x")
    assert caught.value.condition == "postgres-value"
    assert sentence in caught.value.sentence
    assert hint in caught.value.hint


@pytest.mark.parametrize(
    ("query", "values"),
    [
        ("SELECT NULL::int AS x", [None]),
        ("SELECT x FROM (VALUES (NULL), (1), (NULL), (NULL), (2), (NULL)) AS v(x)",
         [None, 1, None, None, 2, None]),
        ("SELECT x FROM (VALUES (''), (NULL), (E'\n'), (NULL), (E'\n\n')) AS v(x)",
         ["", None, "\n", None, "\n\n"]),
        ("SELECT x FROM (VALUES ('\\x'::bytea), (NULL), ('\\x0a'::bytea)) AS v(x)",
         [b"", None, b"\n"]),
        ("SELECT x FROM (VALUES ('{}'::int[]), (NULL), ('{NULL}'::int[])) AS v(x)",
         [[], None, [None]]),
    ],
)  # fmt: skip
def test_of_one_column_every_row_is_read_with_its_null(postgres_server, query, values):
    assert read(postgres_server.url, query=query)["x"].to_pylist() == values


def test_rows_of_one_null_are_read_across_blocks(postgres_server, monkeypatch):
    monkeypatch.setattr(source_of_tables, "BLOCK_BYTES", 64)
    chosen = "CASE WHEN n % 7 < 5 THEN n END AS x FROM generate_series(0, 999) n"
    found = read(postgres_server.url, query=f"SELECT {chosen}")["x"].to_pylist()
    assert found == [n if n % 7 < 5 else None for n in range(1000)]
    sparse = read(postgres_server.url, query=f"SELECT {chosen.replace('< 5', '< 1')}")
    assert sparse["x"].to_pylist() == [n if n % 7 < 1 else None for n in range(1000)]


@pytest.mark.parametrize(
    "option",
    ["connect_timeout=abc", "sslmode=abc", "keepalives_idle=abc", "hostaddr=1.2.3.400",
     "options=-c%20abc%3D1", "client_encoding=abcd", "abc=1"],
)  # fmt: skip
def test_an_option_in_the_url_that_cannot_be_is_told_at_once(postgres_server, option):
    with pytest.raises(windrow.BindError) as caught:
        read(f"{postgres_server.url}?{option}", query="SELECT 1 AS x")
    assert caught.value.condition == "bad-url"
    assert "abc" in caught.value.reason or "1.2.3.400" in caught.value.reason


def test_a_query_is_read_as_a_table(postgres_server):
    found = read(
        postgres_server.url, query="SELECT n, n * 2 AS twice FROM generate_series(1, 3) n;"
    )
    assert found.to_pydict() == {"n": [1, 2, 3], "twice": [2, 4, 6]}


def test_a_table_without_rows_has_its_columns(postgres_server, table):
    executed(postgres_server.url, f"CREATE TABLE {table} (k text, n bigint)")
    assert read(postgres_server.url, table=table).schema.names == ["k", "n"]


def test_what_cannot_be_read_is_told(postgres_server, table):
    url = postgres_server.url
    with pytest.raises(windrow.BindError) as caught:
        read(url, table=table)
    assert caught.value.condition == "postgres-query"
    assert "does not exist" in str(caught.value)
    with pytest.raises(windrow.BindError, match="one of the two"):
        read(url)
    with pytest.raises(windrow.BindError, match="more than one column named 'a'"):
        read(url, query="SELECT 1 AS a, 2 AS a")
    executed(url, f"CREATE TABLE {table} ()")
    with pytest.raises(windrow.BindError, match="no columns"):
        read(url, table=table)


def test_a_table_is_read_in_one_snapshot(postgres_server, table):
    """Two rows change together, again and again; no reading sees one without the other."""
    url = postgres_server.url
    executed(
        url,
        f"CREATE TABLE {table} (k int PRIMARY KEY, v int)",
        f"INSERT INTO {table} SELECT k, 0 FROM generate_series(1, 2000) k",
    )
    is_over = threading.Event()

    def change() -> None:
        with psycopg.connect(url) as connection:
            while not is_over.is_set():
                connection.execute(f"UPDATE {table} SET v = v + 1")
                connection.commit()

    writer = threading.Thread(target=change)
    writer.start()
    try:
        seen = [set(read(url, table=table)["v"].to_pylist()) for _ in range(12)]
    finally:
        is_over.set()
        writer.join()
    assert all(len(values) == 1 for values in seen)
    assert len(set.union(*seen)) > 1


def test_a_stream_is_joined_with_a_table_of_the_database(postgres_server, table):
    url = postgres_server.url
    executed(
        url,
        f"CREATE TABLE {table} (store text, city text)",
        f"INSERT INTO {table} VALUES ('a', 'Kiel'), ('b', NULL)",
    )
    w = windrow.Session()
    w.stream("s", pa.table({"store": ["a", "b", "c"], "t": [1, 2, 3]}), time="t")
    w.table("stores", windrow.postgres(url, table=table))
    rows = w.sql("SELECT s.store, d.city FROM s LEFT JOIN stores d ON s.store = d.store")
    assert rows.to_arrow().to_pydict() == {"store": ["a", "b", "c"], "city": ["Kiel", None, None]}


def test_the_server_away_is_told_as_unavailable(postgres_server):
    source = windrow.postgres(postgres_server.url, query="SELECT 1 AS one").table_source()
    postgres_server.stop()
    try:
        with pytest.raises(Unavailable):
            source.columns()
    finally:
        postgres_server.start()
    assert table_at("t", source).to_pydict() == {"one": [1]}
    source.close()


class Clock:
    now = 0.0

    def __call__(self) -> float:
        return self.now


def test_a_table_is_read_again_after_its_period_and_not_before(postgres_server, table):
    url = postgres_server.url
    executed(url, f"CREATE TABLE {table} (v int)", f"INSERT INTO {table} VALUES (1)")
    clock = Clock()
    source = windrow.postgres(url, table=table).table_source()
    own = RefreshedTable("t", source, 60.0, clock)
    executed(url, f"UPDATE {table} SET v = 2")
    clock.now = 59.0
    assert own.look() == 1
    assert [batch.to_pydict() for batch in own.batches(None, 0)] == [{"v": [1]}]
    clock.now = 60.0
    assert own.look() == 2
    assert [batch.to_pydict() for batch in own.batches(None, 0)] == [{"v": [2]}]
    # Away: what was read last serves for a while.
    postgres_server.stop()
    try:
        clock.now = 130.0
        assert own.look() == 2
        clock.now = 500.0
        with pytest.raises(Unavailable):
            own.look()
    finally:
        postgres_server.start()
    assert own.look() == 3
    source.close()


REFRESHED = {
    "a stream": "SELECT s.store, d.city, s.t FROM s, stores d WHERE s.store = d.store",
    "a stream below an aggregate": "SELECT city, COUNT(*) AS n FROM (SELECT d.city, s.t FROM s"
    " [RANGE 100], stores d WHERE s.store = d.store) x GROUP BY city",
}


def test_later_batches_meet_the_newer_rows_of_a_table(postgres_server, table):
    url = postgres_server.url
    executed(
        url,
        f"CREATE TABLE {table} (store text, city text)",
        f"INSERT INTO {table} VALUES ('a', 'Kiel')",
    )

    is_seen = threading.Event()

    def batches():
        yield pa.table({"store": ["a"], "t": [1]})
        while not is_seen.is_set():
            yield windrow.NOTHING_NOW
        executed(url, f"UPDATE {table} SET city = 'Bonn'")
        yield pa.table({"store": ["a"], "t": [2]})

    w = windrow.Session()
    w.stream(
        "s", batches(), time="t", schema=pa.schema([("store", pa.string()), ("t", pa.int64())])
    )
    w.table("stores", windrow.postgres(url, table=table, refresh="1 microsecond"))
    found = []
    for batch in w.sql("SELECT d.city, s.t FROM s, stores d WHERE s.store = d.store"):
        found += batch.to_pylist()
        is_seen.set()
    assert found == [{"city": "Kiel", "t": 1}, {"city": "Bonn", "t": 2}]


def test_refresh_is_refused_where_rows_are_taken_back(postgres_server, table):
    url = postgres_server.url
    executed(url, f"CREATE TABLE {table} (store text, city text)")
    w = windrow.Session()
    w.stream("s", pa.table({"store": ["a"], "t": [1]}), time="t")
    w.table("stores", windrow.postgres(url, table=table, refresh="5 minutes"))
    taken_back = (
        "SELECT d.city, g.n FROM (SELECT store, COUNT(*) AS n FROM s [RANGE 9] GROUP BY store) g,"
        " stores d WHERE g.store = d.store"
    )
    with pytest.raises(windrow.PlanError) as caught:
        w.sql(taken_back)
    assert caught.value.condition == "refresh-of-changes"
    assert "leave refresh out" in str(caught.value)
    with pytest.raises(windrow.PlanError):
        w.run(taken_back, to=windrow.terminal())
    for query in REFRESHED.values():
        w.sql(query).to_arrow()
    with pytest.raises(windrow.BindError, match="not a length of time"):
        w.table("stores", windrow.postgres(url, table=table, refresh=5))


def test_a_server_that_is_too_old_is_told_of(postgres_server, monkeypatch):
    monkeypatch.setattr(database, "LEAST_VERSION", 99)  # any server is older than that
    place = windrow.postgres(postgres_server.url, table="stores")
    with psycopg.connect(postgres_server.url) as connection:
        version = connection.info.server_version // 10_000
    with pytest.raises(windrow.ResourceError) as caught:
        place.table_source().columns()
    assert re.fullmatch(
        rf"ResourceError\[postgres-version\]: the server at \S+ is PostgreSQL {version}\n"
        r"  Windrow needs PostgreSQL 99 or newer\n"
        r"  hint: use a newer server",
        str(caught.value),
    )
