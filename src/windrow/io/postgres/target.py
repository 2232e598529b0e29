"""The table that an answer goes to: made where there is none, else looked at column by column."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from windrow.errors import BindError, nearest
from windrow.io.postgres.database import MOST_NAME_BYTES, driver, quoted
from windrow.io.postgres.types import fits, postgres_type

if TYPE_CHECKING:
    import psycopg

_COLUMNS = """
SELECT attname, format_type(atttypid, atttypmod), attnotnull, atthasdef OR attidentity <> '',
       attgenerated <> ''
FROM pg_attribute WHERE attrelid = %s AND attnum > 0 AND NOT attisdropped ORDER BY attnum
"""
_UNIQUE = """
SELECT array(SELECT a.attname FROM unnest(i.indkey::int2[]) k JOIN pg_attribute a
             ON a.attrelid = i.indrelid AND a.attnum = k),
       i.indnullsnotdistinct OR NOT EXISTS (
           SELECT FROM pg_attribute a WHERE a.attrelid = i.indrelid
           AND a.attnum = ANY (i.indkey::int2[]) AND NOT a.attnotnull)
FROM pg_index i
WHERE i.indrelid = %s AND i.indisunique AND i.indisvalid AND i.indimmediate
  AND i.indpred IS NULL AND i.indexprs IS NULL AND i.indnkeyatts = i.indnatts
"""

_OF_THE_SYSTEM = ("tableoid", "xmin", "cmin", "xmax", "cmax", "ctid")


@dataclass(frozen=True)
class Target:
    """A table, by its schema and its name."""

    schema: str
    table: str

    @property
    def sql(self) -> str:
        """As it stands in statements."""
        return f"{quoted(self.schema)}.{quoted(self.table)}"

    def beside(self, table: str) -> str:
        """Another table of the same schema, as it stands in statements."""
        return f"{quoted(self.schema)}.{quoted(table)}"

    def __str__(self) -> str:
        return f"{self.schema}.{self.table}"


def find(connection: psycopg.Connection[Any], name: str) -> tuple[Target, int | None]:
    """The table of a name as SQL reads it, and its number; None where it is still to be made.

    Raises:
        BindError: it is no name of a table.
    """
    psycopg = driver()
    try:
        with connection.transaction():
            row = connection.execute("SELECT parse_ident(%s), current_schema()", (name,)).fetchone()
            found = connection.execute(
                "SELECT c.oid, n.nspname, c.relname, c.relkind FROM pg_class c"
                " JOIN pg_namespace n ON n.oid = c.relnamespace WHERE c.oid = to_regclass(%s)",
                (name,),
            ).fetchone()
    except (psycopg.DataError, psycopg.NotSupportedError) as error:
        raise _no_table(name, str(error).partition("\n")[0]) from error
    assert row is not None
    parts, current = row
    for part in parts:
        if len(part.encode()) > MOST_NAME_BYTES:
            raise _no_table(name, f"PostgreSQL keeps {MOST_NAME_BYTES} bytes of a name")
    if found is None:
        schema = parts[0] if len(parts) == 2 else current
        if len(parts) > 2 or schema is None:
            raise _no_table(name, "a name is table, or schema.table")
        return Target(schema, parts[-1]), None
    number, schema, table, kind = found
    if kind not in {"r", "p"}:
        raise _no_table(name, "it is a view, or something else that is not a table")
    return Target(schema, table), number


def make(
    connection: psycopg.Connection[Any], target: Target, columns: pa.Schema, keys: tuple[str, ...]
) -> tuple[str, ...]:
    """Makes the table, with a unique key where there is one; gives the types of its columns.

    The key is no primary key: a group may be that of NULL.
    """
    types = tuple(postgres_type(own.type, own.name) for own in columns)
    parts = [f"{quoted(name)} {kind}" for name, kind in zip(columns.names, types, strict=True)]
    if keys:
        parts.append(f"UNIQUE NULLS NOT DISTINCT ({', '.join(map(quoted, keys))})")
    connection.execute(f"CREATE TABLE {target.sql} ({', '.join(parts)})")
    return types


def index_rows(connection: psycopg.Connection[Any], target: Target, columns: pa.Schema) -> None:
    """An index by which a row is found from all of its values, for rows without a key."""
    row = row_hash("", columns)
    connection.execute(f"CREATE INDEX ON {target.sql} (({row}))")


def row_hash(alias: str, columns: pa.Schema) -> str:
    """A number of a row of the table that equal rows share, NULLs included."""
    own = ", ".join(f"{alias}{quoted(name)}" for name in columns.names)
    return f"hash_record_extended(ROW({own}), 0)"


def check(
    connection: psycopg.Connection[Any],
    target: Target,
    number: int,
    columns: pa.Schema,
    keys: tuple[str, ...],
) -> tuple[str, ...]:
    """Looks whether rows of an answer fit a table that is there; gives the types of its columns.

    Raises:
        BindError: they do not; it names the column.
    """
    told = connection.execute(_COLUMNS, (number,)).fetchall()
    found = {name: (kind, generated) for name, kind, _, _, generated in told}
    for own in columns:
        wanted = postgres_type(own.type, own.name)
        if own.name not in found:
            raise BindError(
                "sink-column",
                f"the table {target} has no column {own.name!r}",
                hint=f"ALTER TABLE {target.sql} ADD COLUMN {quoted(own.name)} {wanted};  it has"
                f" {nearest(own.name, found)}",
            )
        kind, is_generated = found[own.name]
        if is_generated or not fits(wanted, kind):
            what = "is generated" if is_generated else f"is {kind}"
            raise BindError(
                "sink-column",
                f"the column {own.name!r} of the table {target} {what}",
                reason=f"the answer has {wanted} there, of which every value is to be kept as it is",
                hint=f"make the column {wanted}, or cast {own.name} in the query",
            )
    for name, _, is_not_null, has_default, _ in told:
        if name not in columns.names and is_not_null and not has_default:
            raise BindError(
                "sink-column",
                f"the column {name!r} of the table {target} must have a value, and the answer has none",
                hint=f"give it a default, or select something AS {name}",
            )
    types = tuple(found[name][0] for name in columns.names)
    if not keys:
        return types
    unique = connection.execute(_UNIQUE, (number,)).fetchall()
    found_by = [is_whole for names, is_whole in unique if set(names) == set(keys)]
    if not any(found_by):
        listed = ", ".join(map(quoted, keys))
        raise BindError(
            "sink-without-key",
            f"the unique index of the table {target} on ({', '.join(keys)}) treats NULLs as different"
            if found_by
            else f"the table {target} has no unique index on ({', '.join(keys)})",
            reason="rows of the answer are told apart by these columns, and found by them"
            + ("; a group may be that of NULL" if found_by else ""),
            hint=f"CREATE UNIQUE INDEX ON {target.sql} ({listed}) NULLS NOT DISTINCT;"
            + ("  or make the columns NOT NULL" if found_by else ""),
        )
    return types


def check_names(columns: pa.Schema) -> None:
    """Refuses names that no columns of a table can have, or that PostgreSQL would cut off."""
    names = columns.names
    for number, name in enumerate(names, 1):
        why = ""
        if not name or "\0" in name:
            why = "it is empty" if not name else "it has a NUL character in it"
        elif name in names[: number - 1]:
            why = f"column {names.index(name) + 1} has it as well"
        elif name in _OF_THE_SYSTEM:
            why = "each table has a column of that name from the system"
        if why:
            raise BindError(
                "sink-column",
                f"the name {name!r} of column {number} of the answer is none for a table's",
                reason=why,
                hint="give it another one:  .. AS name",
            )
        if len(name.encode()) > MOST_NAME_BYTES:
            raise BindError(
                "sink-column",
                f"the name of the column {name!r} is too long for PostgreSQL",
                reason=f"it keeps {MOST_NAME_BYTES} bytes of a name",
                hint="give it a shorter one:  .. AS name",
            )


def _no_table(name: str, why: str) -> BindError:
    return BindError(
        "sink-table",
        f"{name!r} is not a table that an answer can be written to",
        reason=why,
        hint="for instance  table='revenue'  or  table='dashboards.revenue'",
    )
