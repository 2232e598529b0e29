"""An answer in a table of PostgreSQL's: kept current, or the changes appended.

    write(7)     rows into an unlogged table of their own, by COPY: windrow_stage_<run>_7_<random>
    commit(7)    one transaction: windrow_epochs says 6; the staged rows are applied; it says 7;
                 the staging tables are dropped

A run that is opened writes a name into windrow_epochs that it has drawn; a commit that finds another one there
is refused: another process has opened the table for the same run.

So the table is at every commit the answer at the end of an epoch, and PostgreSQL itself says which one.
Tables staged for epochs that were never committed are dropped when the run is opened, and with its next
commit. After a crash of the server unlogged tables are empty: a commit counts what was staged, and stages
it again where this process has written it.
"""

from __future__ import annotations

import hashlib
import uuid
from collections.abc import Iterable, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from windrow.errors import BindError, DataError, ResourceError, nearest
from windrow.io.postgres import target as tables
from windrow.io.postgres.changes import StagedChanges, staged_columns
from windrow.io.postgres.copy_text import copy_text
from windrow.io.postgres.database import Database, driver, literal
from windrow.io.protocol import NO_EPOCH, Answer, Json, Sink, Unavailable, taken_over
from windrow.operators.columns.key_directory import KeyDirectory
from windrow.plan.changelogs import SIGNS, unknown_change
from windrow.schema import CHANGE_TYPE, EVENT_TIME

if TYPE_CHECKING:
    import psycopg


EPOCHS = "windrow_epochs"
"""The table, beside that of the answer, in which the last epoch of each run stands."""

_STAGING = "windrow_stage"
"""How names of staging tables begin, in databases that have some already."""


class PostgresSink(Sink):
    """Writes an answer to a table.

    Args:
        url: of the database.
        table: by its name as SQL reads it.
        keys: the columns that tell rows of the answer apart; None: those of GROUP BY, if any.
        appends: whether changes are appended, and not applied.
    """

    def __init__(
        self, url: str, table: str, keys: tuple[str, ...] | None, *, appends: bool
    ) -> None:
        self._database = Database(url)
        self._table = table
        self._asked_keys = keys
        self._appends = appends
        self._run = ""
        self._owner = ""
        self._is_named = self._is_open = False
        self._held: dict[str, pa.RecordBatch] = {}
        self._is_whole = True

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_held": {}, "_is_whole": False}

    def open(self, run: str, answer: Answer) -> int:
        """Makes the table, or looks at the one that is there; drops what was staged in vain."""
        self._is_named = bool(run)
        self._owner = uuid.uuid4().hex
        # A run without a checkpoint is another one each time: it begins at the beginning.
        self._run = run or f"unnamed-{uuid.uuid4().hex}"
        self._held = {}
        self._columns = answer.columns
        self._is_changelog = answer.is_changelog
        keys = self._keys(answer)
        if answer.is_changelog and self._appends:
            self._columns = answer.columns.append(pa.field(CHANGE_TYPE, pa.string())).append(
                pa.field(EVENT_TIME, answer.time)
            )
            keys = ()
        self._key_columns = keys
        self._keys_hold = answer.keys is not None and set(answer.keys) <= set(keys)
        return self._opened(answer)

    def write(self, epoch: int, batches: Iterable[pa.RecordBatch]) -> Json:
        """Stages the rows; gives where, and how many."""
        own = [batch for batch in batches if batch.num_rows]
        rows = self._staged(pa.Table.from_batches(own)) if own else None
        if rows is None or not rows.num_rows:
            return None
        staging = f"{self._staging_names}{epoch}_{uuid.uuid4().hex[:8]}"
        with self._database.transaction() as connection:
            # What is lost with the server is staged again, or its epoch computed anew.
            connection.execute("SET LOCAL synchronous_commit = off")
            self._copy_to_staging(connection, "UNLOGGED TABLE", self._target.beside(staging), rows)
        self._held = {staging: rows} if self._is_whole else {}
        return {"stage": staging, "rows": rows.num_rows}

    def commit(self, epoch: int, written: Sequence[Json]) -> None:
        """Applies what was staged, with the number of the epoch, in one transaction."""
        parts = [own for own in written if own is not None]
        with self._database.transaction() as connection:
            if self._is_committed(connection, epoch):
                self._drop_stagings(connection, epoch)
                return
            if parts:
                staged = self._found(connection, parts)
                changes = StagedChanges(
                    connection,
                    self._target,
                    self._columns,
                    self._types,
                    self._key_columns,
                    self._keys_hold,
                )
                if self._is_changelog and not self._appends:
                    changes.apply(staged)
                else:
                    self._append(changes, staged)
            connection.execute(
                f"UPDATE {self._epochs} SET epoch = {epoch}, at = now() WHERE {self._own}"
            )
            self._drop_stagings(connection, epoch)
        self._held = {}

    def close(self) -> None:
        """Ends the connection; nobody asks for the epochs of a run without a name again."""
        if self._is_open and not self._is_named and self._is_whole:
            self._is_open = False
            # All that counts is committed. What stays where the server is away disturbs nobody.
            with suppress(Unavailable), self._database.transaction() as connection:
                connection.execute(f"DELETE FROM {self._epochs} WHERE {self._own}")
                self._drop_stagings(connection, None)
        self._database.close()

    @property
    def _epochs(self) -> str:
        return self._target.beside(EPOCHS)

    @property
    def _own(self) -> str:
        return f"run = {literal(self._run)} AND target = {literal(self._target.table)}"

    @property
    def _staging_names(self) -> str:
        """How the names of this run's staging tables begin."""
        told = f"{self._run}\n{self._target}".encode()
        return f"{_STAGING}_{hashlib.blake2b(told, digest_size=8).hexdigest()}_"

    def _keys(self, answer: Answer) -> tuple[str, ...]:
        if self._asked_keys is None:
            return answer.keys or () if answer.is_changelog else ()
        for name in self._asked_keys:
            if name not in answer.columns.names:
                raise BindError(
                    "unknown-key",
                    f"the answer has no column {name!r}, which is to be a key",
                    hint=f"it has {nearest(name, answer.columns.names)}",
                )
        return self._asked_keys

    def _opened(self, answer: Answer) -> int:
        tables.check_names(answer.columns)
        columns, keys = self._columns, self._key_columns
        with self._database.transaction() as connection:
            # One at a time: two that make one table at once would fail, both.
            connection.execute("SELECT pg_advisory_xact_lock(hashtext('windrow'))")
            self._target, number = tables.find(connection, self._table)
            connection.execute(
                f"CREATE TABLE IF NOT EXISTS {self._epochs} (run text, target text,"
                " epoch bigint NOT NULL, at timestamptz NOT NULL DEFAULT now(), owner text,"
                " opened timestamptz, PRIMARY KEY (run, target))"
            )
            self._add_owners(connection)
            if number is None:
                self._types = tables.make(connection, self._target, columns, keys)
                if answer.is_changelog and not keys and not self._appends:
                    tables.index_rows(connection, self._target, columns)
                connection.execute(
                    f"DELETE FROM {self._epochs} WHERE target = {literal(self._target.table)}"
                )
            else:
                self._types = tables.check(connection, self._target, number, columns, keys)
                self._check_keeper(connection)
            self._drop_stagings(connection, None)
            connection.execute(
                f"INSERT INTO {self._epochs} VALUES ({literal(self._run)},"
                f" {literal(self._target.table)}, {NO_EPOCH}) ON CONFLICT DO NOTHING"
            )
            connection.execute(
                f"UPDATE {self._epochs} SET owner = {literal(self._owner)}, opened = now()"
                f" WHERE {self._own}"
            )
            row = connection.execute(f"SELECT epoch FROM {self._epochs} WHERE {self._own}")
            epoch = int(row.fetchall()[0][0])
        self._is_open = True
        return epoch

    def _add_owners(self, connection: psycopg.Connection[Any]) -> None:
        """Gives a table of epochs that an earlier version has made the columns that it lacks."""
        there = connection.execute(
            "SELECT FROM pg_attribute WHERE attrelid = %s::regclass AND attname = 'owner'",
            (self._epochs,),
        )
        if not there.fetchall():
            connection.execute(
                f"ALTER TABLE {self._epochs} ADD COLUMN owner text, ADD COLUMN opened timestamptz"
            )

    def _check_keeper(self, connection: psycopg.Connection[Any]) -> None:
        """Refuses a table with rows of something else, which would stay among those of the answer."""
        if self._appends:
            return
        of_table = f"target = {literal(self._target.table)}"
        runs = connection.execute(f"SELECT run FROM {self._epochs} WHERE {of_table}").fetchall()
        if (self._run,) in runs:
            return
        row = connection.execute(f"SELECT EXISTS (SELECT FROM {self._target.sql})").fetchone()
        if row is not None and row[0]:
            raise ResourceError(
                "table-of-another-run",
                f"the table {self._target} has rows that this run has not written",
                reason=f"another run keeps it: {runs[0][0]}"
                if runs
                else "it is kept as the answer of one run, and nothing else",
                hint=f"go on with the checkpoint of that run; or TRUNCATE {self._target.sql}; or name"
                " another table",
            )
        connection.execute(f"DELETE FROM {self._epochs} WHERE {of_table}")

    def _is_committed(self, connection: psycopg.Connection[Any], epoch: int) -> bool:
        """Whether the table has the epoch; until the end of the transaction nobody else may commit one."""
        row = connection.execute(
            f"SELECT epoch, owner, opened FROM {self._epochs} WHERE {self._own} FOR UPDATE"
        ).fetchone()
        if row is None:
            raise ResourceError(
                "table-of-another-run",
                f"the table {self._target} is no longer kept by this run",
                reason=f"{EPOCHS} has no row of it any more: another run has begun with the table, or"
                " the row was deleted",
                hint="run one query per table; begin anew with an empty table and checkpoint",
            )
        if row[1] != self._owner:
            raise taken_over(f"the table {self._target}", row[2])
        return bool(row[0] >= epoch)

    def _staged(self, rows: pa.Table) -> pa.RecordBatch:
        """Rows as they are staged."""
        if self._is_changelog and not self._appends:
            return net_rows(rows, self._columns, self._key_columns)
        return appended_rows(rows, self._columns)

    def _copy_to_staging(
        self, connection: psycopg.Connection[Any], kind: str, staging: str, rows: pa.RecordBatch
    ) -> None:
        connection.execute(f"CREATE {kind} {staging} ({staged_columns(self._columns)})")
        with connection.cursor().copy(f"COPY {staging} FROM STDIN") as copy:
            for block in copy_text(rows):
                copy.write(block)

    def _found(self, connection: psycopg.Connection[Any], parts: Sequence[Json]) -> list[str]:
        """The staging tables, with all that was staged in them."""
        found = []
        for number, part in enumerate(parts):
            staging = self._target.beside(part["stage"])
            row = connection.execute("SELECT to_regclass(%s)", (staging,)).fetchone()
            rows = 0
            if row is not None and row[0] is not None:
                counted = connection.execute(f"SELECT count(*) FROM {staging}").fetchall()
                rows = counted[0][0]
            if rows != part["rows"]:
                if part["stage"] not in self._held:
                    raise ResourceError(
                        "staged-rows-lost",
                        f"rows of an epoch that were staged in {staging} are gone",
                        reason="the server has crashed in between, or someone has dropped them",
                        hint="start the run again: it goes on from the epoch before",
                    )
                staging = f"pg_temp.windrow_again_{number}"
                connection.execute(f"DROP TABLE IF EXISTS {staging}")
                self._copy_to_staging(connection, "TABLE", staging, self._held[part["stage"]])
            found.append(staging)
        return found

    def _append(self, changes: StagedChanges, staged: list[str]) -> None:
        psycopg = driver()
        try:
            changes.append(staged)
        except psycopg.errors.UniqueViolation as error:
            if self._asked_keys is None:
                raise
            raise DataError(
                "not-a-key",
                f"two rows of the answer agree in ({', '.join(self._asked_keys)})",
                reason=str(error).partition("\n")[0],
                hint="name more columns in keys=[..], or leave it out",
            ) from error

    def _drop_stagings(self, connection: psycopg.Connection[Any], epoch: int | None) -> None:
        """Drops what was staged up to an epoch; None: all of this run."""
        begin = self._staging_names
        names = connection.execute(
            "SELECT c.relname FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace"
            " WHERE n.nspname = %s AND c.relname LIKE %s AND c.relkind = 'r'",
            (self._target.schema, begin.replace("_", "\\_") + "%"),
        ).fetchall()
        gone = [
            self._target.beside(name)
            for (name,) in names
            if epoch is None or int(name[len(begin) :].partition("_")[0]) <= epoch
        ]
        if gone:
            connection.execute(f"DROP TABLE IF EXISTS {', '.join(gone)}")


def net_rows(changes: pa.Table, columns: pa.Schema, keys: tuple[str, ...]) -> pa.RecordBatch:
    """How many copies of each different row come or go; rows that came and went are left out.

    Raises:
        DataError: a change is of no known kind.

    Examples:
        >>> kinds = ["update_preimage", "update_postimage", "delete"]
        >>> changes = pa.table({"k": [1, 1, 1], "v": [3, 4, 4], "_change_type": kinds})
        >>> net_rows(changes, changes.select(["k", "v"]).schema, ("k",)).to_pylist()
        [{'k': 1, 'v': 3, 'n': -1, 'has_null': False}]
    """
    kinds = changes.column(CHANGE_TYPE).combine_chunks()
    places = pc.index_in(kinds, pa.array(list(SIGNS)))
    if places.null_count:
        unknown = kinds.filter(places.is_null())[0].as_py()
        raise unknown_change(unknown, CHANGE_TYPE)
    signs = np.array(list(SIGNS.values()), np.int64)[places.to_numpy()]
    rows = _arrays(changes, columns)
    slots = KeyDirectory().slots_of(rows)
    net = np.zeros(int(slots.max()) + 1, np.int64)
    np.add.at(net, slots, signs)
    _, first = np.unique(slots, return_index=True)  # one row of each kind
    first = np.sort(first[net[slots[first]] != 0])
    kept = [array.take(pa.array(first)) for array in rows]
    has_null = np.zeros(len(first), np.bool_)
    for name in keys:
        has_null |= kept[columns.names.index(name)].is_null().to_numpy(zero_copy_only=False)
    return _staged(kept, columns, net[slots[first]], has_null)


def appended_rows(rows: pa.Table, columns: pa.Schema) -> pa.RecordBatch:
    """Rows that all come, as many copies as there are."""
    count = rows.num_rows
    return _staged(
        _arrays(rows, columns), columns, np.ones(count, np.int64), np.zeros(count, np.bool_)
    )


def _arrays(rows: pa.Table, columns: pa.Schema) -> list[pa.Array]:
    found = [rows.column(name).combine_chunks() for name in columns.names]
    return [
        pa.concat_arrays(own.chunks) if isinstance(own, pa.ChunkedArray) else own for own in found
    ]


def _staged(
    arrays: list[pa.Array], columns: pa.Schema, copies: np.ndarray, has_null: np.ndarray
) -> pa.RecordBatch:
    fields = [*columns, pa.field("n", pa.int64()), pa.field("has_null", pa.bool_())]
    return pa.RecordBatch.from_arrays(
        [*arrays, pa.array(copies), pa.array(has_null)], schema=pa.schema(fields)
    )
