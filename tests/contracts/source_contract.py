"""What every source keeps to, as tests that its own tests inherit.

    class TestKafka(SourceContract):
        @pytest.fixture
        def place(self, broker):
            return Topic(broker)          # a SourcePlace

A place outside is filled by `put` while sources look at it. Rows are compared partition by partition, in
their order; what each `put` has brought follows what was put before, in every partition.
"""

from __future__ import annotations

import json
import pickle
import sys
import time
from collections.abc import Iterator
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any, ClassVar, Protocol

import pyarrow as pa
import pytest

from windrow.io import Json, Offsets, Source

COLUMNS = pa.schema(
    [
        ("id", pa.int64()),
        ("name", pa.string()),
        ("price", pa.float64()),
        ("amount", pa.decimal128(10, 2)),
        ("is_open", pa.bool_()),
        ("ts", pa.timestamp("us", "UTC")),
    ]
)
"""The columns of the rows that are put."""

DDL = "id BIGINT, name STRING, price DOUBLE, amount DECIMAL(10,2), is_open BOOLEAN, ts TIMESTAMP"
"""The same, as users state them."""


def rows(first: int, count: int) -> pa.Table:
    """Rows with numbers from `first` on, every value NULL somewhere but for the number and the time."""
    numbers = range(first, first + count)
    texts = ["plain", 'with "quotes", commas', "ünï ☂", "back\\slash", " blanks "]
    return pa.table(
        {
            "id": list(numbers),
            "name": [None if n % 7 == 3 else f"{texts[n % 5]} {n}" for n in numbers],
            "price": [None if n % 5 == 1 else n / 3 for n in numbers],
            "amount": [None if n % 6 == 2 else Decimal(n * 101 - 500) / 100 for n in numbers],
            "is_open": [None if n % 4 == 2 else n % 3 == 0 for n in numbers],
            "ts": [
                datetime(2026, 1, 1, tzinfo=UTC).replace(microsecond=n % 1000 * 7) for n in numbers
            ],
        },
        COLUMNS,
    )


class SourcePlace(Protocol):
    """Where a source reads."""

    def put(self, table: pa.Table) -> None:
        """More rows come."""

    def source(self) -> Source:
        """A source that reads them, newly made."""


def taken(source: Source, part: tuple[Offsets, Offsets]) -> dict[str, pa.Table]:
    """The rows of a range, by partition; partitions without rows are left out."""
    since, end = part
    found = {}
    for partition, reached in end.items():
        if reached != since.get(partition):
            batches = list(source.read(partition, since.get(partition), reached))
            table = pa.Table.from_batches(batches, source.columns())
            if table.num_rows:
                found[partition] = table
    return found


def ranges(source: Source, since: Offsets, most_rows: int) -> Iterator[tuple[Offsets, Offsets]]:
    """The ranges that a source is read by, as far as there is data; it is asked a few times more."""
    idle = 0
    while idle < 3:
        end = source.latest(since, most_rows)
        if end == since:
            idle += 1
            continue
        idle = 0
        yield since, end
        since = end


def read_on(source: Source, since: Offsets, count: int) -> dict[str, list[dict[str, Any]]]:
    """The next rows behind some offsets, as they come to a source that is followed.

    What is put now may reach it a moment later: it may say once or twice that there is nothing.
    """
    parts: list[dict[str, pa.Table]] = []
    found, until = 0, time.monotonic() + 60
    while found < count:
        end = source.latest(since)
        if end == since:
            assert time.monotonic() < until, f"{found} of {count} rows came in 60 s"
            continue
        parts.append(taken(source, (since, end)))
        found += sum(table.num_rows for table in parts[-1].values())
        since = end
    return joined(parts)


def joined(parts: list[dict[str, pa.Table]]) -> dict[str, list[dict[str, Any]]]:
    """The rows of ranges that follow each other, by partition, in their order."""
    found: dict[str, list[dict[str, Any]]] = {}
    for part in parts:
        for partition, table in part.items():
            found.setdefault(partition, []).extend(table.to_pylist())
    return found


def read_through(
    source: Source, since: Offsets | None = None, most_rows: int = 1_000
) -> dict[str, list[dict[str, Any]]]:
    """All rows that there are now behind some offsets."""
    begin = source.start() if since is None else since
    return joined([taken(source, part) for part in ranges(source, begin, most_rows)])


def rows_of(source: Source, partition: str, start: Json, end: Json) -> list[dict[str, Any]]:
    """The rows between two offsets of a partition."""
    return [row for batch in source.read(partition, start, end) for row in batch.to_pylist()]


def in_order(found: dict[str, list[dict[str, Any]]], key: str = "id") -> list[dict[str, Any]]:
    """All rows, sorted by their number."""
    return sorted((row for part in found.values() for row in part), key=lambda row: row[key])


def through_json(offsets: Offsets) -> Json:
    """Offsets as a checkpoint gives them back."""
    return json.loads(json.dumps(offsets))


class SourceContract:
    """The laws of a source. Subclasses give the fixture `place`.

    Attributes:
        columns: of what is read, as far as they are those of `COLUMNS`; others may follow.
        cuts: how many rows a range may have, in turn.
    """

    columns: ClassVar[pa.Schema] = COLUMNS
    cuts: ClassVar[tuple[int, ...]] = (1, 2, 7, 1_000)

    def rows(self, first: int, count: int) -> pa.Table:
        """Rows of the columns."""
        return rows(first, count).select(self.columns.names)

    def shown(self, table: pa.Table) -> list[dict[str, Any]]:
        """Rows as they are compared."""
        return table.select(self.columns.names).to_pylist()

    def own(self, found: dict[str, list[dict[str, Any]]]) -> list[dict[str, Any]]:
        """What was read, in order of its numbers, and without columns that the source has added."""
        names = self.columns.names
        return [{name: row[name] for name in names} for row in in_order(found)]

    def test_its_columns_are_those_stated(self, place: Any) -> None:
        place.put(self.rows(0, 3))
        columns = place.source().columns()
        assert [columns.field(name).type for name in self.columns.names] == self.columns.types

    def test_rows_come_with_their_types_and_their_nulls(self, place: Any) -> None:
        place.put(self.rows(0, 40))
        assert self.own(read_through(place.source())) == self.shown(self.rows(0, 40))

    def test_offsets_stay_where_nothing_came(self, place: Any) -> None:
        place.put(self.rows(0, 3))
        source = place.source()
        *_, (_, last) = ranges(source, source.start(), 1_000)
        assert source.latest(last) == last
        assert source.latest(through_json(last)) == last
        assert read_through(source, last) == {}

    def test_a_range_that_is_read_again_gives_the_same_rows(self, place: Any) -> None:
        place.put(self.rows(0, 20))
        source = place.source()
        parts = list(ranges(source, source.start(), 7))
        first = [taken(source, part) for part in parts]
        assert self.own(joined(first)) == self.shown(self.rows(0, 20))
        place.put(self.rows(20, 20))
        assert [taken(source, part) for part in parts] == first
        kept = [(through_json(since), through_json(end)) for since, end in parts]
        assert [taken(place.source(), part) for part in kept] == first

    def test_rows_and_their_order_are_the_same_however_they_are_cut(self, place: Any) -> None:
        place.put(self.rows(0, 11))
        place.put(self.rows(11, 2))
        place.put(self.rows(13, 20))
        whole = read_through(place.source())
        assert self.own(whole) == self.shown(self.rows(0, 33))
        for most_rows in self.cuts:
            assert read_through(place.source(), most_rows=most_rows) == whole

    def test_parts_of_a_range_have_its_rows_in_its_order(
        self, place: Any, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        for first in (0, 11, 13):
            place.put(self.rows(first, {0: 11, 11: 2, 13: 20}[first]))
        if hasattr(place, "put_poison"):
            place.put_poison()
        source = place.source()
        monkeypatch.setattr(sys.modules[type(source).__module__], "PART_ROWS", 4, raising=False)
        for most_rows in self.cuts:
            for since, end in ranges(source, source.start(), most_rows):
                for name in end:
                    since_part, end_part = since.get(name), end[name]
                    if since_part == end_part:
                        continue
                    whole = rows_of(source, name, since_part, end_part)
                    aside = source.take_aside()
                    parts = through_json(source.parts(name, since_part, end_part))
                    # In other tasks, and in another order: they know nothing of one another.
                    readers = {n: place.source() for n in reversed(range(len(parts)))}
                    found = {n: rows_of(reader, name, *parts[n]) for n, reader in readers.items()}
                    assert [row for n in sorted(found) for row in found[n]] == whole
                    kept = [own for n in sorted(readers) for own in readers[n].take_aside()]
                    assert kept == list(aside)

    def test_a_run_goes_on_from_any_offset_in_another_process(self, place: Any) -> None:
        place.put(self.rows(0, 9))
        place.put(self.rows(9, 9))
        source = place.source()
        parts = list(ranges(source, source.start(), 4))
        whole = [taken(source, part) for part in parts]
        assert len(parts) > 1
        place.put(self.rows(18, 5))
        expected = joined([*whole, read_through_tables(place.source(), parts[-1][1])])
        for at, (since, _) in enumerate(parts):
            restarted = pickle.loads(pickle.dumps(place.source()))
            found = [taken(restarted, part) for part in ranges(restarted, through_json(since), 5)]
            assert joined(whole[:at] + found) == expected

    def test_what_comes_later_follows_what_was_there(self, place: Any) -> None:
        place.put(self.rows(0, 4))
        source = place.source()
        *_, (_, last) = ranges(source, source.start(), 1_000)
        source.commit(last)
        place.put(self.rows(4, 6))
        assert self.own(read_on(source, last, 6)) == self.shown(self.rows(4, 6))

    def test_a_source_that_was_closed_can_be_used_again(self, place: Any) -> None:
        place.put(self.rows(0, 5))
        source = place.source()
        first = read_through(source)
        source.close()
        assert read_through(source) == first
        assert self.own(first) == self.shown(self.rows(0, 5))

    def test_what_is_no_row_is_kept_aside_with_its_place(self, place: Any) -> None:
        if not hasattr(place, "put_poison"):
            pytest.skip("this source keeps nothing aside: what is not a row is an error")
        place.put(self.rows(0, 4))
        poison = place.put_poison()
        place.put(self.rows(4, 4))
        source = place.source()
        assert self.own(read_through(source)) == self.shown(self.rows(0, 8))
        aside = source.take_aside()
        assert [own.content for own in aside] == [poison]
        assert all(own.why for own in aside)
        assert not source.take_aside()
        assert self.own(read_through(source)) == self.shown(self.rows(0, 8))
        assert [own.content for own in source.take_aside()] == [poison]


def read_through_tables(source: Source, since: Offsets) -> dict[str, pa.Table]:
    """What follows some offsets, in one table per partition."""
    parts = [taken(source, part) for part in ranges(source, since, 1_000)]
    names = {name for part in parts for name in part}
    return {
        name: pa.concat_tables([part[name] for part in parts if name in part]) for name in names
    }
