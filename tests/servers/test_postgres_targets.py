"""Tables of PostgreSQL that take an answer, and those that do not: columns, keys, names, parts."""

from __future__ import annotations

from collections import Counter
from datetime import date, datetime

import pyarrow as pa
import pytest

import windrow
from servers.postgres_rows import answer_of, bag_of, changes, executed, fetched, sink, state_after
from windrow.io import Answer
from windrow.run.local.followed import table_at

pytestmark = pytest.mark.services

REFUSED = [
    ("k text, j bigint", "sink-column", "has no column 'v'"),
    ("k text, j integer, v double precision", "sink-column", "the column 'j' of the table"),
    ("k text, j bigint, v double precision, w int NOT NULL", "sink-column", "'w' .* must have"),
    ("k text, j bigint, v float8 GENERATED ALWAYS AS (1) STORED", "sink-column", "is generated"),
    ("k text, j bigint, v double precision", "sink-without-key", "no unique index"),
    ("k text, j bigint, v float8, UNIQUE (j, k)", "sink-without-key", "treats NULLs as different"),
    ("k text NOT NULL, j bigint, v float8, UNIQUE (k, j)", "sink-without-key",
     r'INDEX ON .*"answer" \("k", "j"\) NULLS NOT DISTINCT;  or make'),
]  # fmt: skip


@pytest.mark.parametrize(("columns", "condition", "said"), REFUSED)
def test_a_table_that_does_not_fit_is_refused_by_its_column(
    postgres_server, table, columns, condition, said
):
    executed(postgres_server.url, f"CREATE TABLE {table} ({columns})")
    with pytest.raises(windrow.BindError, match=said) as caught:
        sink(postgres_server.url, table).open("run", answer_of(("k", "j")))
    assert caught.value.condition == condition


def test_a_table_with_wider_columns_and_others_beside_is_taken(postgres_server, table):
    url = postgres_server.url
    executed(
        url,
        f"CREATE TABLE {table} (at timestamptz DEFAULT now(), v double precision, j numeric,"
        " k varchar, note text)",
    )
    own = sink(url, table)
    own.open("run", answer_of(None))
    own.commit(0, [own.write(0, changes([("insert", "a", 1, 2.0)] * 3))])
    own.commit(1, [own.write(1, changes([("delete", "a", 1, 2.0)]))])
    own.close()
    assert fetched(url, f"SELECT k, j, v FROM {table}") == [("a", 1, 2.0)] * 2


@pytest.mark.parametrize(
    "columns",
    [
        "k text, j bigint, v float8, UNIQUE NULLS NOT DISTINCT (j, k), UNIQUE (k, j)",
        "k text, j bigint, v float8, PRIMARY KEY (k, j)",
        "k text NOT NULL, j bigint NOT NULL, v float8, UNIQUE (k, j)",
    ],
)
def test_a_table_in_which_a_row_is_found_by_its_key_is_taken(postgres_server, table, columns):
    executed(postgres_server.url, f"CREATE TABLE {table} ({columns})")
    own = sink(postgres_server.url, table)
    own.open("run", answer_of(("k", "j")))
    own.commit(0, [own.write(0, changes([("insert", "a", 1, 2.0)]))])
    own.commit(1, [own.write(1, changes([("delete", "a", 1, 2.0), ("insert", "a", 1, 3.0)]))])
    own.close()
    assert bag_of(postgres_server.url, table) == Counter([("a", 1, 3.0)])


def test_rows_without_a_key_go_from_the_part_of_a_table_that_they_are_in(postgres_server, table):
    url = postgres_server.url
    executed(
        url,
        f"CREATE TABLE {table} (k text, j bigint, v float8) PARTITION BY LIST (k)",
        *(f"CREATE TABLE {table}_{k} PARTITION OF {table} FOR VALUES IN ('{k}')" for k in "abc"),
    )
    epochs = [
        [("insert", k, n, 0.5) for k in "abc" for n in (1, 1, 2)],
        [("delete", "a", 1, 0.5), ("delete", "b", 2, 0.5), ("insert", "c", 1, 0.5)],
    ]
    own = sink(url, table)
    own.open("run", answer_of(None))
    for number, epoch in enumerate(epochs):
        own.commit(number, [own.write(number, changes(epoch))])
    own.close()
    assert bag_of(url, table) == state_after(epochs)


def test_the_first_and_the_last_time_are_written(postgres_server, table):
    schema = pa.schema([("at", pa.timestamp("us")), ("day", pa.date32())])
    ends = [(datetime.min, date.min), (datetime.max, date.max)]  # noqa: DTZ901  # it has no zone
    batch = pa.RecordBatch.from_pylist(
        [dict(zip(("at", "day"), own, strict=True)) for own in ends], schema
    )
    own = sink(postgres_server.url, table)
    own.open("run", Answer(schema))
    own.commit(0, [own.write(0, [batch])])
    own.close()
    assert bag_of(postgres_server.url, table) == Counter(ends)


@pytest.mark.parametrize(
    ("names", "why"),
    [(("k", ""), "it is empty"), (("k", "k"), "column 1 has it"), (("k", "a\0"), "NUL character"),
     (("k", "ctid"), "from the system"), (("k", "n" * 64), "keeps 63 bytes")],
)  # fmt: skip
def test_a_name_that_no_column_can_have_is_refused(postgres_server, table, names, why):
    columns = pa.schema([(name, pa.int64()) for name in names])
    with pytest.raises(windrow.BindError, match=why) as caught:
        sink(postgres_server.url, table).open("run", Answer(columns))
    assert caught.value.condition == "sink-column"


def test_a_name_of_a_table_that_would_be_cut_off_is_refused(postgres_server, table):
    url, schema = postgres_server.url, table.partition(".")[0]
    for name in ("n" * 64, f"{schema}.{'ü' * 32}", f"{'s' * 64}.answer"):
        with pytest.raises(windrow.BindError, match="keeps 63 bytes of a name") as caught:
            sink(url, name).open("run", answer_of(None))
        assert caught.value.condition == "sink-table"
    longest = f"{schema}.{'n' * 63}"
    for epoch in range(2):
        own = sink(url, longest)
        assert own.open("run", answer_of(("k", "j"))) == epoch - 1
        own.commit(epoch, [own.write(epoch, changes([("insert", "a", epoch, 1.0)]))])
        own.close()
    assert sum(bag_of(url, longest).values()) == 2


def test_texts_are_as_they_are_whatever_encoding_the_url_asks_for(postgres_server, table):
    url = f"{postgres_server.url}?client_encoding=latin1"
    own = sink(url, table)
    own.open("run", answer_of(None))
    own.commit(0, [own.write(0, changes([("insert", "\u2602 \u00fc", 1, 2.0)]))])
    own.close()
    assert fetched(postgres_server.url, f"SELECT k FROM {table}") == [("\u2602 \u00fc",)]
    source = windrow.postgres(url, table=table).table_source()
    assert table_at("t", source)["k"].to_pylist() == ["\u2602 \u00fc"]
    source.close()
