"""The statements that apply the changes of an epoch to the table.

Rows are staged under the names c0, c1, .., each with how many copies of it come (n > 0) or go (n < 0) by
the epoch as a whole. So the order of changes does not count, and neither does who has staged which:

    changelog             staged           keyed by store              without a key
    -  north  3           north  3   -1    north is there with n > 0:  one row (north, 3) goes,
    +  north  4           north  5   +1    upserted as (north, 5)      one row (north, 5) comes
    -  north  4           south  9   -1    south is not: deleted       one row (south, 9) goes
    +  north  5
    -  south  9

Without a key, rows are found by all of their values. Records compare as GROUP BY does, NULL equal to NULL,
and can be hashed; the tables that a sink makes have an index on that hash.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from windrow.errors import DataError
from windrow.io.postgres.database import driver, quoted
from windrow.io.postgres.target import Target, row_hash
from windrow.io.postgres.types import postgres_type

if TYPE_CHECKING:
    import psycopg

_NET = "windrow_net"


def staged_columns(columns: pa.Schema) -> str:
    """The columns of a staging table, as CREATE TABLE takes them."""
    own = [f"c{n} {postgres_type(field.type, field.name)}" for n, field in enumerate(columns)]
    return ", ".join([*own, "n integer", "has_null boolean"])


@dataclass(frozen=True)
class StagedChanges:
    """What applies staged rows to a table.

    Attributes:
        connection: in a transaction.
        target: the table.
        columns: of the answer.
        types: of the same columns in the table.
        keys: those of them by which a row is found; none: by all of its values.
        keys_hold: whether the query itself says that no two rows agree in them.
    """

    connection: psycopg.Connection[Any]
    target: Target
    columns: pa.Schema
    types: tuple[str, ...]
    keys: tuple[str, ...] = ()
    keys_hold: bool = True

    def append(self, parts: Sequence[str]) -> None:
        """Adds all staged rows."""
        for part in parts:
            self._run(f"INSERT INTO {self._into} SELECT {self._staged} FROM {part}")

    def apply(self, parts: Sequence[str]) -> None:
        """Has rows come and go as staged.

        Raises:
            DataError: two rows have one key; or a row is to go that is not there.
        """
        rows = parts[0] if len(parts) == 1 else self._net(parts)
        most, has_null = self._row(f"SELECT coalesce(max(n), 0), bool_or(has_null) FROM {rows}")
        if self.keys:
            self._apply_by_key(rows, most, has_null=bool(has_null))
        else:
            self._apply_by_value(rows, most)

    @property
    def _into(self) -> str:
        return f"{self.target.sql} ({', '.join(map(quoted, self.columns.names))})"

    @property
    def _staged(self) -> str:
        return ", ".join(f"c{n}" for n in range(len(self.columns)))

    def _place(self, name: str) -> str:
        return f"c{self.columns.names.index(name)}"

    def _net(self, parts: Sequence[str]) -> str:
        """What several writers have staged, taken together."""
        both = " UNION ALL ".join(f"SELECT * FROM {part}" for part in parts)
        self._run(
            f"CREATE TEMPORARY TABLE {_NET} ON COMMIT DROP AS SELECT {self._staged},"
            f" sum(n)::integer AS n, bool_or(has_null) AS has_null FROM ({both}) AS parts"
            f" GROUP BY {self._staged} HAVING sum(n) <> 0"
        )
        self._run(f"ANALYZE {_NET}")
        return f"pg_temp.{_NET}"

    def _apply_by_key(self, rows: str, most: int, *, has_null: bool) -> None:
        if most > 1:
            raise self._not_a_key()
        places = ", ".join(map(self._place, self.keys))
        net = f"SELECT {places}, bool_or(has_null) AS has_null FROM {rows} GROUP BY {places} HAVING"
        if not self.keys_hold:
            self._check_new_keys(f"{net} sum(n) > 0", has_null=has_null)
        for condition in self._found_by(has_null=has_null):
            self._run(
                f"DELETE FROM {self.target.sql} AS t USING ({net} max(n) < 0) AS s WHERE {condition}"
            )
        others = [name for name in self.columns.names if name not in self.keys]
        sets = ", ".join(f"{quoted(name)} = excluded.{quoted(name)}" for name in others)
        update = f"UPDATE SET {sets}" if others else "NOTHING"
        psycopg = driver()
        try:
            self._run(
                f"INSERT INTO {self._into} SELECT {self._staged} FROM {rows} WHERE n > 0"
                f" ON CONFLICT ({', '.join(map(quoted, self.keys))}) DO {update}"
            )
        except psycopg.errors.CardinalityViolation as error:
            raise self._not_a_key() from error

    def _apply_by_value(self, rows: str, most: int) -> None:
        # A table may have parts, in each of which rows are numbered from the beginning.
        there = ", ".join(f"t.{quoted(name)}" for name in self.columns.names)
        gone = self._run(
            "WITH s AS MATERIALIZED (SELECT row_number() OVER () AS number, -n AS copies,"
            f" ROW({self._cast}) AS whole, {self._hash_of_staged} AS hash FROM {rows} WHERE n < 0),"
            " found AS (SELECT t.tableoid AS part, t.ctid AS place, s.copies,"
            " row_number() OVER (PARTITION BY s.number) AS copy"
            f" FROM s JOIN {self.target.sql} AS t"
            f" ON {row_hash('t.', self.columns)} = s.hash AND ROW({there}) = s.whole)"
            f" DELETE FROM {self.target.sql} AS t USING found"
            " WHERE t.ctid = found.place AND t.tableoid = found.part AND found.copy <= found.copies"
        )
        (expected,) = self._row(f"SELECT coalesce(sum(-n), 0) FROM {rows} WHERE n < 0")
        if gone != expected:
            raise DataError(
                "row-not-there",
                f"{int(expected) - gone:,} rows that leave the answer are not in the table"
                f" {self.target}",
                reason="something else has changed the table, which is no longer the answer",
                hint="begin anew with an empty table and checkpoint, and let nothing else write there",
            )
        copies = ", generate_series(1, n)" if most > 1 else ""
        self._run(f"INSERT INTO {self._into} SELECT {self._staged} FROM {rows}{copies} WHERE n > 0")

    @property
    def _cast(self) -> str:
        """Staged values as the table has them: its types may be wider."""
        return ", ".join(f"c{n}::{kind}" for n, kind in enumerate(self.types))

    @property
    def _hash_of_staged(self) -> str:
        return f"hash_record_extended(ROW({self._cast}), 0)"

    def _found_by(self, *, has_null: bool) -> list[str]:
        """How rows `t` of the table are found from keys `s`: NULLs apart, which no index is joined by."""
        pairs = [(f"t.{quoted(name)}", f"s.{self._place(name)}") for name in self.keys]
        by_value = " AND ".join(f"{own} = {other}" for own, other in pairs)
        by_null = " AND ".join(f"{own} IS NOT DISTINCT FROM {other}" for own, other in pairs)
        found = [f"NOT s.has_null AND {by_value}"]
        return [*found, f"s.has_null AND {by_null}"] if has_null else found

    def _check_new_keys(self, new: str, *, has_null: bool) -> None:
        """Refuses a row that comes where one of its key is, and does not go."""
        for condition in self._found_by(has_null=has_null):
            found = self._row(
                f"SELECT EXISTS (SELECT FROM {self.target.sql} AS t JOIN ({new}) AS s ON {condition})"
            )
            if found[0]:
                raise self._not_a_key()

    def _not_a_key(self) -> DataError:
        return DataError(
            "not-a-key",
            f"two rows of the answer agree in ({', '.join(self.keys)})",
            reason=f"these columns are to tell the rows of {self.target} apart",
            hint="name more columns in keys=[..], or leave it out: rows are then found by all values",
        )

    def _run(self, statement: str) -> int:
        return self.connection.execute(statement).rowcount

    def _row(self, statement: str) -> tuple[Any, ...]:
        found = self.connection.execute(statement).fetchone()
        assert found is not None
        return tuple(found)
