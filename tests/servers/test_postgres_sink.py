"""The sink of PostgreSQL: the contract of sinks, and the table that is the answer at every commit."""

from __future__ import annotations

import uuid
from collections import Counter
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal

import psycopg
import pyarrow as pa
import pytest
from case_share import share_of
from contracts.sink_contract import OwnedSinkContract
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from outside import Shelf
from sessions import session

import windrow
from servers.postgres_rows import (
    COLUMNS,
    answer_of,
    bag_of,
    changes,
    executed,
    fetched,
    sink,
    stages,
    state_after,
)
from windrow.io import Answer, Unavailable

pytestmark = pytest.mark.services


class Place:
    def __init__(self, url: str, table: str, how: dict) -> None:
        self.url, self.table, self.how = url, table, how

    def sink(self):
        return sink(self.url, self.table, **self.how)

    def visible(self) -> pa.Table:
        found = fetched(self.url, "SELECT to_regclass('" + self.table + "') IS NOT NULL")
        if not found[0][0]:
            return COLUMNS.empty_table()
        with psycopg.connect(self.url) as connection:
            cursor = connection.execute(f"SELECT * FROM {self.table}")
            names = [own.name for own in cursor.description]
            rows = [dict(zip(names, row, strict=True)) for row in cursor.fetchall()]
        return pa.Table.from_pylist(rows, schema=OwnedSinkContract.columns)


class TestAppending(OwnedSinkContract):
    @pytest.fixture
    def place(self, postgres_server, table):
        return Place(postgres_server.url, table, {"mode": "append"})


class TestKeptCurrent(OwnedSinkContract):
    @pytest.fixture
    def place(self, postgres_server, table):
        return Place(postgres_server.url, table, {})

    def test_a_run_without_a_name_begins_anew_each_time(self, place):
        """Here it begins where the table is empty: rows of an earlier run would stay in the answer."""
        first = self.opened(place, run="")
        first.commit(0, self.write(first, 0, 0, 5))
        first.close()
        with pytest.raises(windrow.ResourceError) as caught:
            self.opened(place, run="")
        assert caught.value.condition == "table-of-another-run"
        executed(place.url, f"TRUNCATE {place.table}")
        again = self.opened(place, run="")
        again.commit(0, self.write(again, 0, 5, 5))
        assert self.seen(place) == self.rows(5, 5).to_pylist()

    def test_another_run_has_epochs_of_its_own(self, place):
        """Not here: the table is the answer of one run."""
        first = self.opened(place)
        first.commit(7, self.write(first, 7, 0, 5))
        with pytest.raises(windrow.ResourceError) as caught:
            self.opened(place, run="another")
        assert caught.value.condition == "table-of-another-run"
        assert "another run keeps it: a1b2c3" in str(caught.value)
        assert "TRUNCATE" in str(caught.value)
        executed(place.url, f"TRUNCATE {place.table}")
        other = self.opened(place, run="another")
        other.commit(0, self.write(other, 0, 0, 5))
        with pytest.raises(windrow.ResourceError, match="no longer kept by this run"):
            first.commit(8, [])


VALUES = st.sampled_from([None, 0.0, -0.0, 1.5, float("inf"), 1e-300])
ROWS = st.tuples(
    st.sampled_from([None, "", "a", "\\N", "t\tab\n", "ü"]), st.sampled_from([None, 1, 2]), VALUES
)
IDENTITY = st.integers(0, 3)


@st.composite
def bags_of_changes(draw):
    """Epochs of changes that take back only what is there."""
    there: Counter = Counter()
    epochs = []
    for _ in range(draw(st.integers(1, 4))):
        epoch = []
        for _ in range(draw(st.integers(0, 12))):
            present = list(there.elements())
            if present and draw(st.booleans()):
                row = draw(st.sampled_from(present))
                there[row] -= 1
                epoch.append((draw(st.sampled_from(["delete", "update_preimage"])), *row))
            else:
                row = draw(ROWS)
                there[row] += 1
                epoch.append((draw(st.sampled_from(["insert", "update_postimage"])), *row))
        epochs.append(epoch)
    return epochs


@st.composite
def keyed_changes(draw):
    """Epochs of changes in which (k, j) tells rows apart."""
    there: dict = {}
    epochs = []
    for _ in range(draw(st.integers(1, 4))):
        epoch = []
        for _ in range(draw(st.integers(0, 10))):
            k, j, v = draw(ROWS)
            if (k, j) in there:
                epoch.append(("update_preimage", k, j, there.pop((k, j))))
                if draw(st.booleans()):
                    continue
            there[k, j] = v
            epoch.append(("update_postimage", k, j, v))
        epochs.append(epoch)
    return epochs


def new_table(url) -> str:
    schema = f"s{uuid.uuid4().hex[:12]}"
    executed(url, f"CREATE SCHEMA {schema}")
    return f"{schema}.answer"


LAW = settings(
    deadline=None,
    max_examples=share_of(25),
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)


def follow(url, epochs, keys, parts, how=None):
    """Commits epochs, each by so many writers; the table is the answer after each."""
    import pickle

    table = new_table(url)
    own = sink(url, table, **(how or {}))
    assert own.open("run", answer_of(keys)) == -1
    for number, epoch in enumerate(epochs):
        if parts == 1:
            written = [own.write(number, changes(epoch))]
        else:
            tasks = [pickle.loads(pickle.dumps(own)) for _ in range(parts)]
            written = [task.write(number, changes(epoch[n::parts])) for n, task in enumerate(tasks)]
            for task in tasks:
                task.close()
        assert bag_of(url, table) == state_after(epochs[:number])
        own.commit(number, written)
        assert bag_of(url, table) == state_after(epochs[: number + 1])
        own.commit(number, written)
        assert bag_of(url, table) == state_after(epochs[: number + 1])
        assert stages(url, table) == []
    own.close()
    executed(url, f"DROP SCHEMA {table.partition('.')[0]} CASCADE")


@pytest.mark.law
@LAW
@given(bags_of_changes(), st.sampled_from([1, 2, 3]))
def test_rows_without_a_key_are_the_answer_at_every_commit(postgres_server, epochs, parts):
    follow(postgres_server.url, epochs, None, parts)


@pytest.mark.law
@LAW
@given(keyed_changes(), st.sampled_from([1, 2, 3]))
def test_rows_by_key_are_the_answer_at_every_commit(postgres_server, epochs, parts):
    follow(postgres_server.url, epochs, ("k", "j"), parts)


@pytest.mark.law
@LAW
@given(keyed_changes(), st.sampled_from([1, 2]))
def test_keys_that_the_user_names_are_the_answer_at_every_commit(postgres_server, epochs, parts):
    follow(postgres_server.url, epochs, None, parts, {"keys": ["k", "j"]})


def test_the_changelog_is_appended_with_its_kinds_and_instants(postgres_server, table):
    own = sink(postgres_server.url, table, mode="append")
    own.open("run", answer_of(("k",)))
    rows = [("insert", "a", 1, 2.0), ("delete", "a", 1, 2.0)]
    own.commit(0, [own.write(0, changes(rows))])
    own.close()
    assert fetched(postgres_server.url, f"SELECT * FROM {table}") == [
        ("a", 1, 2.0, "insert", 0),
        ("a", 1, 2.0, "delete", 1),
    ]


def test_every_type_comes_to_a_column_of_its_own(postgres_server, table):
    instant = datetime(2026, 5, 1, 10, 30, 0, 123456, tzinfo=UTC)
    values = {
        "b": (pa.bool_(), True, "boolean"),
        "i8": (pa.int8(), -128, "smallint"),
        "i16": (pa.int16(), 2**15 - 1, "smallint"),
        "i32": (pa.int32(), -(2**31), "integer"),
        "i64": (pa.int64(), -(2**63), "bigint"),
        "f32": (pa.float32(), 0.1, "real"),
        "f64": (pa.float64(), 0.1 + 0.2, "double precision"),
        "text": (pa.string(), 'tab\t "q" \\ new\nline \r ☂', "text"),
        "bytes": (pa.binary(), b"\x00\xff\\x", "bytea"),
        "day": (pa.date32(), date(2026, 2, 28), "date"),
        "at": (pa.timestamp("us", "UTC"), instant, "timestamp with time zone"),
        "ntz": (pa.timestamp("us"), instant.replace(tzinfo=None), "timestamp without time zone"),
        "price": (pa.decimal128(38, 10), Decimal("-1234567890123456789012345678.0000000001"),
                  "numeric(38,10)"),
        "tiny": (pa.decimal128(10, 8), Decimal("0.00000001"), "numeric(10,8)"),
        "long": (pa.duration("us"), timedelta(days=400, microseconds=1), "interval"),
        "numbers": (pa.list_(pa.int64()), [1, None, 3], "bigint[]"),
        "texts": (pa.list_(pa.string()), ['a"b', "c\\d", None, "NULL", "{,}", ""], "text[]"),
        "none": (pa.list_(pa.float64()), [], "double precision[]"),
        "times": (pa.list_(pa.timestamp("us", "UTC")), [instant], "timestamp with time zone[]"),
    }  # fmt: skip
    schema = pa.schema([(name, own[0]) for name, own in values.items()])
    rows = [{name: own[1] for name, own in values.items()}, dict.fromkeys(values)]
    batch = pa.RecordBatch.from_pylist(rows, schema)
    own = sink(postgres_server.url, table)
    own.open("run", Answer(schema))
    own.commit(0, [own.write(0, [batch])])
    own.close()
    found = fetched(postgres_server.url, f"SELECT * FROM {table} ORDER BY b NULLS LAST")
    back = list(found[0])
    assert back[5] == pytest.approx(0.1, rel=1e-7)
    back[5] = 0.1
    assert back == list(rows[0].values())
    assert set(found[1]) == {None}
    types = fetched(
        postgres_server.url,
        "SELECT format_type(atttypid, atttypmod) FROM pg_attribute WHERE attnum > 0"
        f" AND attrelid = '{table}'::regclass ORDER BY attnum",
    )
    assert [kind for (kind,) in types] == [own[2] for own in values.values()]


def test_a_server_that_crashes_between_write_and_commit_loses_nothing(postgres_server, table):
    url = postgres_server.url
    own = sink(url, table)
    own.open("run", answer_of(("k", "j")))
    first, second = [("insert", "a", 1, 2.0)], [("insert", "b", 1, 3.0)]
    own.commit(0, [own.write(0, changes(first))])
    written = [own.write(1, changes(second))]
    postgres_server.stop()
    with pytest.raises(Unavailable) as caught:
        own.commit(1, written)
    assert caught.value.condition == "postgres-away"
    assert "does not answer" in str(caught.value)
    with pytest.raises(Unavailable):
        own.write(2, changes(second))
    postgres_server.start()
    own.commit(1, written)
    assert bag_of(url, table) == state_after([first, second])
    own.close()
    assert sink(url, table).open("run", answer_of(("k", "j"))) == 1


def test_rows_of_a_task_that_a_crash_has_taken_are_not_committed_in_part(postgres_server, table):
    import pickle

    url = postgres_server.url
    own = sink(url, table)
    own.open("run", answer_of(("k", "j")))
    task = pickle.loads(pickle.dumps(own))
    written = [task.write(0, changes([("insert", "a", 1, 2.0)]))]
    task.close()
    # A checkpoint, so that the table itself is there after the crash: its rows are not.
    executed(url, "CHECKPOINT")
    postgres_server.restart()
    with pytest.raises(Unavailable):
        own.commit(0, written)
    with pytest.raises(windrow.ResourceError) as caught:
        own.commit(0, written)
    assert caught.value.condition == "staged-rows-lost"
    own.close()


def test_a_connection_that_an_operator_ends_is_made_anew(postgres_server, table):
    url = postgres_server.url
    own = sink(url, table)
    own.open("run", answer_of(None))
    written = [own.write(0, changes([("insert", "a", 1, 2.0)]))]
    executed(
        url,
        "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'windrow'",
    )
    with pytest.raises(Unavailable):
        own.commit(0, written)
    own.commit(0, written)
    assert bag_of(url, table) == Counter([("a", 1, 2.0)])
    own.close()


def test_a_run_without_a_name_ends_though_the_server_is_away(postgres_server, table):
    url = postgres_server.url
    own = sink(url, table)
    own.open("", answer_of(None))
    own.commit(0, [own.write(0, changes([("insert", "a", 1, 2.0)]))])
    own.write(1, changes([("insert", "b", 1, 2.0)]))
    postgres_server.stop("fast")
    try:
        own.close()
    finally:
        postgres_server.start()
    assert bag_of(url, table) == Counter([("a", 1, 2.0)])
    # What it leaves behind is in nobody's way; where the server is there, nothing is left.
    executed(url, f"TRUNCATE {table}")
    for _ in range(2):
        own = sink(url, table)
        own.open("", answer_of(None))
        before = stages(url, table)
        own.write(0, changes([("insert", "a", 1, 2.0)]))
        own.close()
        assert stages(url, table) == before
    own = sink(url, "a.b.c")
    with pytest.raises(windrow.BindError):
        own.open("", answer_of(None))
    own.close()


def test_a_key_that_is_none_is_refused_whatever_the_epoch(postgres_server, table):
    own = sink(postgres_server.url, table, keys=["k"])
    own.open("run", answer_of(None))
    for rows in (
        [("insert", "a", 1, 2.0), ("insert", "a", 2, 2.0)],
        [("insert", "a", 1, 2.0), ("insert", "a", 1, 2.0)],
    ):
        written = [own.write(0, changes(rows))]
        with pytest.raises(windrow.DataError, match="agree in") as caught:
            own.commit(0, written)
        assert caught.value.condition == "not-a-key"
    own.commit(0, [own.write(0, changes([("insert", "a", 1, 2.0)]))])
    written = [own.write(1, changes([("insert", "a", 2, 2.0)]))]
    with pytest.raises(windrow.DataError, match="agree in"):
        own.commit(1, written)
    assert bag_of(postgres_server.url, table) == Counter([("a", 1, 2.0)])
    own.close()


def test_a_row_that_is_to_go_and_is_not_there_is_an_error(postgres_server, table):
    own = sink(postgres_server.url, table)
    own.open("run", answer_of(None))
    own.commit(0, [own.write(0, changes([("insert", "a", 1, 2.0)]))])
    executed(postgres_server.url, f"DELETE FROM {table}")
    written = [own.write(1, changes([("delete", "a", 1, 2.0)]))]
    with pytest.raises(windrow.DataError) as caught:
        own.commit(1, written)
    assert caught.value.condition == "row-not-there"
    own.close()


def test_mistakes_of_the_user_are_told_in_their_names(postgres_server, table):
    url = postgres_server.url
    with pytest.raises(windrow.BindError, match="no column 'store'"):
        sink(url, table, keys=["store"]).open("run", answer_of(None))
    with pytest.raises(windrow.BindError, match=r"hint: keys=\['store'\]") as mistaken:
        sink(url, table, keys="store")
    assert mistaken.value.condition == "not-a-list"
    with pytest.raises(windrow.BindError, match="not a mode of postgres"):
        sink(url, table, mode="merge")
    with pytest.raises(windrow.BindError, match="has to be named"):
        windrow.postgres(url).sink()
    with pytest.raises(windrow.BindError, match="is not a table"):
        sink(url, "a.b.c").open("run", answer_of(None))
    with pytest.raises(windrow.BindError, match="url of the database"):
        sink("postgres:/nowhere", table).open("run", answer_of(None))
    with pytest.raises(windrow.ResourceError, match="refused the login") as caught:
        sink(url.replace("/postgres", "/nosuch"), table).open("run", answer_of(None))
    assert caught.value.condition == "postgres-login"
    nested = Answer(pa.schema([("m", pa.map_(pa.string(), pa.int64()))]))
    with pytest.raises(windrow.BindError, match="has no type for"):
        sink(url, table).open("run", nested)
    own = sink(url, table)
    own.open("run", answer_of(None))
    with pytest.raises(windrow.DataError, match="NUL character"):
        own.write(0, changes([("insert", "a\0b", 1, 2.0)]))
    own.close()


def test_a_user_without_rights_is_told_so(postgres_server, table):
    url = postgres_server.url
    executed(url, "DROP ROLE IF EXISTS weak", "CREATE ROLE weak LOGIN")
    with pytest.raises(windrow.ResourceError) as caught:
        sink(url.replace("windrow@", "weak@"), table).open("run", answer_of(None))
    assert caught.value.condition == "postgres-privilege"


def test_what_was_staged_in_vain_is_dropped_when_the_run_is_opened(postgres_server, table):
    url = postgres_server.url
    own = sink(url, table)
    own.open("run", answer_of(None))
    own.write(0, changes([("insert", "a", 1, 2.0)]))
    own.write(0, changes([("insert", "a", 1, 2.0)]))
    assert len(stages(url, table)) == 2
    own.close()
    sink(url, table).open("run", answer_of(None))
    assert stages(url, table) == []


@pytest.mark.parametrize(
    ("query", "rows", "is_by_value"),
    [
        ("SELECT k FROM s [RANGE 20] EMIT CHANGES", ["a", "a", "b", None, None], True),
        ("SELECT k, COUNT(*) AS n FROM s [RANGE 20] GROUP BY k, v",
         [("a", 1), ("a", 1), ("b", 1), (None, 2)], True),
        ("SELECT DISTINCT k FROM s [RANGE 20]", ["a", "b", None], False),
        ("SELECT k, COUNT(*) AS n FROM s [RANGE 20] GROUP BY k", [("a", 2), ("b", 1), (None, 2)],
         False),
    ],
)  # fmt: skip
def test_equal_rows_of_an_answer_are_all_in_the_table(
    postgres_server, table, tmp_path, query, rows, is_by_value
):
    # The first row leaves as the last one comes; more might come, so that the others stay.
    arrivals = pa.table(
        {
            "k": ["a", "a", "a", "b", None, None, "last"],
            "v": [0, 1, 2, 0, 0, 0, 0],
            "ts": [0, 10, 11, 12, 13, 14, 22],
        }
    )
    url = postgres_server.url
    w = session({"s": Shelf([arrivals], is_endless=True)}, time="ts")
    to = windrow.postgres(url, table=table)
    w.run(query, to=to, checkpoint=tmp_path, until_done=True).wait()
    found = Counter(row[0] if len(row) == 1 else row for row in bag_of(url, table).elements())
    assert found == Counter(rows)
    ((index,),) = fetched(
        url, f"SELECT indexdef FROM pg_indexes WHERE schemaname = '{table.partition('.')[0]}'"
        " AND tablename = 'answer'"
    )  # fmt: skip
    assert ("hash_record_extended" in index) == is_by_value
