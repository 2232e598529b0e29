"""A Delta Lake table as a sink: rows appended, or the answer kept current by merging its changes.

    windrow.delta("lake/revenue", mode="merge", keys=["store"])

A commit of an epoch is one transaction of the table, and carries the run's name and the epoch's number
(`txn` in Delta's log): the table itself knows the last epoch of each run. It also carries when the run was
opened, as another `txn`, RUN-owner: a run that is opened says so by a transaction of its own, and a commit
is refused where the table has another one. Of two transactions with one such name at a time Delta takes one,
and the other is tried again, and then refused. Rows are written beside the table first, where no reader of
Delta looks:

    lake/revenue/_windrow/RUN/0000000007-..parquet      written
    lake/revenue/part-..parquet, _delta_log/..json      committed: added as it is, or merged

A table that has partitions, or holds rows against constraints, is appended to by `deltalake`, which reads
what was written and puts it where it belongs (`delta_table.py`).

A table is kept current by the sum of an epoch's changes: rows that came and went within it are not
touched. Rows are told apart by their keys, of which no two rows of the answer have the same.
"""

from __future__ import annotations

import time
import uuid
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import TYPE_CHECKING, ClassVar, Literal, get_args

import pyarrow as pa
import pyarrow.fs as pafs
import pyarrow.parquet as pq

from windrow.errors import BindError, DataError, ResourceError
from windrow.io.ddl import parse_ddl
from windrow.io.delta_table import check_path, check_table, check_types, is_plain, on_table
from windrow.io.file_systems import (
    is_local,
    located,
    move_file,
    names_in,
    on_files,
    remove_file,
    write_file,
)
from windrow.io.protocol import NO_EPOCH, Answer, Connector, Json, Sink, taken_over
from windrow.operators.columns.arrow_types import arrow_schema, spark_schema
from windrow.schema import CHANGE_TYPE, EVENT_TIME

if TYPE_CHECKING:
    from deltalake import CommitProperties, DeltaTable

FOLDER = "_windrow"
"""In the table's folder; what begins with _ is not of the table."""

DELETED = "_windrow_deleted"
"""Of a row that is merged: whether it goes."""


Mode = Literal["append", "merge"]


@dataclass(frozen=True)
class Delta(Connector):
    """A Delta Lake table that takes an answer.

    Args:
        path: of the table, which is made when a run begins if it is not there.
        mode: "append": rows, or the changes of a changelog, are added; "merge": the table is the current
            answer.
        keys: for "merge", the columns that identify a row; by default those of GROUP BY.
        storage: options of the `deltalake` package for a table elsewhere.
    """

    name: ClassVar[str] = "delta"

    path: str
    mode: Mode = "append"
    keys: Sequence[str] = ()
    storage: Mapping[str, str] = field(default_factory=dict)

    def sink(self) -> Sink:
        """What writes to it.

        Raises:
            BindError: the mode is none.
        """
        if self.mode not in get_args(Mode) or isinstance(self.keys, str):
            raise BindError(
                "bad-delta-option",
                f"mode of delta is {self.mode!r}, with the keys {self.keys!r}",
                hint='it must be "append", or "merge" with a list of columns as keys',
            )
        return DeltaSink(self)


class DeltaSink(Sink):
    """Commits epochs as transactions of a table."""

    def __init__(self, about: Delta) -> None:
        self._about = about
        self._run = ""
        self._opened_us = 0
        self._is_changelog = False
        self._keys: list[str] = []
        self._columns = pa.schema([])

    def open(self, run: str, answer: Answer) -> int:
        """Asks the table for the last epoch of the run."""
        _package()
        about = self._about
        check_path(about.path)
        check_types(about.path, answer.columns)
        self._run = run or uuid.uuid4().hex  # one without a checkpoint begins anew each time
        self._is_changelog = answer.is_changelog
        self._columns = answer.columns
        self._keys = list(about.keys or answer.keys or ())
        if about.mode == "merge":
            missing = [name for name in self._keys if name not in answer.columns.names]
            if missing or not self._keys:
                raise BindError(
                    "no-merge-keys",
                    f"no key tells apart the rows that are merged into {about.path!r}"
                    if not missing
                    else f"the key {missing[0]!r} is not a column of the answer",
                    reason=f"its columns: {', '.join(answer.columns.names)}",
                    hint='name columns of which no two rows have the same: keys=["store"]',
                )
        table = self._table()
        if table is not None:
            columns = list(answer.columns)
            if answer.is_changelog and about.mode == "append":
                columns.append(pa.field(CHANGE_TYPE, pa.string()))
                if answer.time is not None:
                    columns.append(pa.field(EVENT_TIME, answer.time))
            check_table(about.path, table, columns, about.mode)
        if table is None:
            with on_table(about.path):
                table = self._made(())
        self._take(table)
        system, staged = self._staged()
        with on_files(about.path, "be written"):
            system.create_dir(staged, recursive=True)
            for name in names_in(system, staged):
                remove_file(system, f"{staged}/{name}")
        return NO_EPOCH if table is None else self._last(table)

    def write(self, epoch: int, batches: Iterable[pa.RecordBatch]) -> Json:
        """Writes rows beside the table."""
        given = [own for own in batches if own.num_rows]
        if not given:
            return None
        rows = pa.Table.from_batches(given)
        name = f"{epoch:010d}-{uuid.uuid4().hex}.parquet"
        system, staged = self._staged()
        with on_files(self._about.path, "be written"):
            size = write_file(system, f"{staged}/{name}", lambda file: pq.write_table(rows, file))
        ddl = spark_schema(rows.schema).ddl()
        return {"name": name, "size": size, "rows": rows.num_rows, "columns": ddl}

    def commit(self, epoch: int, written: Sequence[Json]) -> None:
        """One transaction of the table, unless it has the epoch."""
        parts = [own for own in written if own is not None]
        table = self._table()
        if table is not None:
            self._check_owner(table)
        if table is not None and self._last(table) >= epoch:
            self._sweep(epoch)
            return
        with on_table(self._about.path, is_opened=table is not None):
            if table is None:
                table = self._made(parts)
            if table is None:
                return
            self._check_owner(table)  # it may have been made meanwhile
            said = self._said(epoch)
            if self._about.mode == "append" or not parts:
                self._append(table, parts, said)
            else:
                self._merge(table, parts, said)
        self._sweep(epoch)

    def _made(self, parts: Sequence[Json]) -> DeltaTable | None:
        """A new table, as soon as its columns are known."""
        from deltalake import DeltaTable  # noqa: PLC0415

        columns = self._columns
        if self._is_changelog and self._about.mode == "append":
            if not parts:
                return None  # which type its times have, only rows tell
            columns = arrow_schema(parse_ddl(parts[0]["columns"]))
        return DeltaTable.create(
            self._about.path,
            columns,
            mode="ignore",
            storage_options=dict(self._about.storage) or None,
        )

    def _append(self, table: DeltaTable, parts: Sequence[Json], said: CommitProperties) -> None:
        from deltalake import write_deltalake  # noqa: PLC0415
        from deltalake.transaction import AddAction, RemoveAction  # noqa: PLC0415

        if parts and not is_plain(table):
            rows = self._rows(parts)
            write_deltalake(table, rows, mode="append", schema_mode="merge", commit_properties=said)
            return
        system, staged = self._staged()
        root = staged.rpartition(f"{FOLDER}/")[0]
        added: list[AddAction | RemoveAction] = []
        for part in parts:
            place = f"part-{part['name']}"
            if part["name"] in names_in(system, staged):
                move_file(system, f"{staged}/{part['name']}", f"{root}{place}")
            stats = f'{{"numRecords":{part["rows"]}}}'
            now_ms = time.time_ns() // 1_000_000
            added.append(AddAction(place, part["size"], {}, now_ms, True, stats))
        table.create_write_transaction(added, "append", table.schema(), commit_properties=said)

    def _rows(self, parts: Sequence[Json]) -> pa.Table:
        """The rows that were written beside the table."""
        system, staged = self._staged()
        tables = []
        for part in parts:
            with system.open_input_file(f"{staged}/{part['name']}") as file:
                tables.append(pq.read_table(file))
        return pa.concat_tables(tables)

    def _merge(self, table: DeltaTable, parts: Sequence[Json], said: CommitProperties) -> None:
        rows = self._rows(parts)
        changes = net_changes(rows, self._keys, is_changelog=self._is_changelog)
        if not changes.num_rows:
            self._append(table, [], said)
            return
        on = " AND ".join(
            # In parentheses: deltalake's grammar lets IS NOT DISTINCT FROM take all that follows.
            f"(t.{_quoted(key)} {'IS NOT DISTINCT FROM' if changes[key].null_count else '='}"
            f" s.{_quoted(key)})"
            for key in self._keys
        )
        merger = table.merge(
            changes, on, source_alias="s", target_alias="t", commit_properties=said
        )
        stays = f"NOT s.{DELETED}"
        (
            merger.when_matched_delete(f"s.{DELETED}")
            .when_matched_update_all(stays, except_cols=[DELETED])
            .when_not_matched_insert_all(stays, except_cols=[DELETED])
            .execute()
        )

    def _said(self, epoch: int) -> CommitProperties:
        from deltalake import CommitProperties, Transaction  # noqa: PLC0415

        own = Transaction(self._owner, self._opened_us)
        epochs = [] if epoch == NO_EPOCH else [Transaction(self._run, epoch)]
        return CommitProperties(app_transactions=[*epochs, own])

    @property
    def _owner(self) -> str:
        return f"{self._run}-owner"

    def _take(self, table: DeltaTable | None) -> None:
        """Says in the table that from now on this process commits the run's epochs."""
        self._opened_us = time.time_ns() // 1_000
        if table is None:
            return  # the first commit says it
        before = table.transaction_version(self._owner)
        self._opened_us = max(self._opened_us, (before or 0) + 1)
        with on_table(self._about.path, is_opened=True):
            self._append(table, [], self._said(NO_EPOCH))

    def _check_owner(self, table: DeltaTable) -> None:
        """Refuses to go on where another process has opened the table for this run."""
        there = table.transaction_version(self._owner)
        if there is not None and there != self._opened_us:
            since = datetime.fromtimestamp(there / 1_000_000, UTC)
            raise taken_over(f"the table {self._about.path!r}", since)

    def _table(self) -> DeltaTable | None:
        from deltalake import DeltaTable  # noqa: PLC0415

        about = self._about
        storage = dict(about.storage) or None
        with on_table(about.path):
            if not DeltaTable.is_deltatable(about.path, storage_options=storage):
                return None
            return DeltaTable(about.path, storage_options=storage)

    def _last(self, table: DeltaTable) -> int:
        found = table.transaction_version(self._run)
        return NO_EPOCH if found is None else int(found)

    def _staged(self) -> tuple[pafs.FileSystem, str]:
        """Where rows lie that are not committed: on what the table is on, reached in the same way."""
        own = f"{FOLDER}/{self._run}"
        if "://" not in self._about.path or self._about.path.startswith("file://"):
            system, root = located(self._about.path, {})
            if is_local(system):
                return system, f"{root}/{own}"
        from deltalake.fs import DeltaStorageHandler  # noqa: PLC0415

        with on_table(self._about.path):
            handler = DeltaStorageHandler(self._about.path, dict(self._about.storage))
        return pafs.PyFileSystem(handler), own

    def _sweep(self, epoch: int) -> None:
        system, staged = self._staged()
        with on_files(self._about.path, "be written"):
            for name in names_in(system, staged):
                if int(name.partition("-")[0]) <= epoch:
                    remove_file(system, f"{staged}/{name}")


def net_changes(rows: pa.Table, keys: Sequence[str], *, is_changelog: bool) -> pa.Table:
    """What an epoch changes, a row for each key: the row that it has now, or that it goes.

    Args:
        rows: of the epoch, in their order.
        keys: what tells rows apart.
        is_changelog: whether rows say how they change the answer; else each takes the place of the
            one before with its key.

    Raises:
        DataError: two rows of the answer have one key.
    """
    import duckdb

    own = [name for name in rows.column_names if name not in {CHANGE_TYPE, EVENT_TIME}]
    numbered = rows.append_column("_windrow_row", pa.array(range(rows.num_rows), pa.int64()))
    by_key = ", ".join(map(_quoted, keys))
    if is_changelog:
        copies = f"SUM(IF({_quoted(CHANGE_TYPE)} IN ('insert', 'update_postimage'), 1, -1))"
        columns = ", ".join(map(_quoted, own))
        query = f"""
            WITH net AS (
                SELECT {by_key}, MAX(_windrow_row) AS number, {copies} AS copies
                FROM numbered GROUP BY {columns} HAVING {copies} <> 0
            )
            SELECT arg_max(number, copies) AS number, MAX(copies) < 0 AS is_deleted,
                SUM(GREATEST(copies, 0)) AS copies
            FROM net GROUP BY {by_key} ORDER BY number
        """
    else:
        query = f"""
            SELECT MAX(_windrow_row) AS number, FALSE AS is_deleted, 1 AS copies
            FROM numbered GROUP BY {by_key} ORDER BY number
        """
    with duckdb.connect() as connection:
        connection.register("numbered", numbered)
        net = connection.sql(query).to_arrow_table()
    if net.num_rows and max(net["copies"].to_pylist()) > 1:
        raise DataError(
            "keys-not-unique",
            f"two rows of the answer have the same {', '.join(keys)}",
            reason="a table kept current by these keys would hold only one of the two",
            hint="name more keys, or append the changes",
        )
    taken = rows.select(own).take(net["number"])
    return taken.append_column(DELETED, net["is_deleted"].cast(pa.bool_()))


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def _package() -> None:
    try:
        import deltalake  # noqa: F401, PLC0415
    except ModuleNotFoundError as error:
        raise ResourceError(
            "missing-package",
            "Delta tables are written by the package deltalake, which is not installed",
            hint="pip install 'windrow[delta]'",
        ) from error
