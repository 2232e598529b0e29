"""A query in process, stopped between two micro-batches, as one value that can be pickled."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa

from windrow.errors import PlanError, ResourceError
from windrow.operators.engine.base import STATE_VERSION, Snapshot
from windrow.physical.nodes.base import PhysicalNode
from windrow.physical.options import NTA, TPA
from windrow.run.late_rows import StreamFigures
from windrow.run.local.feeds import Position
from windrow.run.response import NONE_YET, Response

CHECKPOINT_VERSION = f"{STATE_VERSION}.1"
"""Layout of checkpoints: that of the snapshots in them, and that of the rest. Raise the latter with any
change that an older reader would misread."""


@dataclass(frozen=True)
class Checkpoint:
    """Where a query stands: resuming from it gives the rest of the answer, as if never stopped.

    Streams are to be registered again from their beginning, in batches of any size; the rows that were
    read are skipped.

    Attributes:
        sql: the query; another one cannot resume from it.
        snapshots: the state of each operator, from the top of the plan down.
        counters: the figures of each operator, in the same order.
        pending: rows of the answer that had been computed and not yet handed out.
        rows_out: rows of the answer, the pending ones excluded.
        streams: what each stream has brought; None where it was not written down.
        columns: what each alias reads of its stream: time and columns with their types.
        scheduling: how it was scheduled; with negative tuples operators hold other rows.
        clocks: those that had come to each driver; None where all had come to the watermark.
        operators: what each operator computes, of which aliases; none where it was not written down.
        tables: a digest of each table that rows meet again when they are taken back.
        version: the layout of the state, and of what is around it here.

    Examples:
        >>> result = session.sql(query)  # doctest: +SKIP
        >>> first, checkpoint = next(result), result.checkpoint()  # doctest: +SKIP
        >>> rest = session.sql(query, resume=checkpoint)  # doctest: +SKIP
    """

    sql: str
    positions: Mapping[str, Position]
    watermark: int
    snapshots: tuple[Snapshot, ...]
    counters: tuple[Mapping[str, int], ...]
    pending: tuple[pa.RecordBatch, ...] = ()
    batch: int = 0
    rows_in: int = 0
    rows_out: int = 0
    streams: Mapping[str, StreamFigures] | None = None
    columns: Mapping[str, str] = field(default_factory=dict)
    scheduling: str = TPA
    clocks: tuple[tuple[int, ...], ...] | None = None
    response: Response = NONE_YET
    operators: tuple[str, ...] = ()
    tables: Mapping[str, str] = field(default_factory=dict)
    version: str = CHECKPOINT_VERSION

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Reads what was pickled, also where `operators` was called `stages`, or `tables` was not there."""
        known = {"tables": {}, **state}
        if "stages" in known:
            known["operators"] = known.pop("stages")
        self.__dict__.update(known)

    def check(
        self,
        sql: str,
        columns: Mapping[str, str] | None = None,
        scheduling: str = TPA,
        operators: Sequence[str] = (),
    ) -> None:
        """Refuses a query that is not the one the checkpoint was made by.

        Raises:
            PlanError: the SQL is another one, it reads columns of other types, one of the two goes
                by negative tuples, or the plan has other operators.
            ResourceError: the state has a layout that this version of Windrow does not read.
        """
        if self.version != CHECKPOINT_VERSION:
            raise ResourceError(
                "unknown-state-version",
                f"the checkpoint has state version {self.version}",
                reason=f"this version of Windrow reads state version {CHECKPOINT_VERSION}",
                hint="resume with the version of Windrow that made the checkpoint, or start afresh",
            )
        if sql != self.sql:
            raise PlanError(
                "checkpoint-of-another-query",
                "the checkpoint was made by another query",
                reason=f"it holds the state of: {' '.join(self.sql.split())}",
                hint="resume with the query that made it, or start without resume",
            )
        if scheduling != self.scheduling and NTA in {scheduling, self.scheduling}:
            raise PlanError(
                "checkpoint-of-another-plan",
                f"the checkpoint was made with scheduling {self.scheduling}, not {scheduling}",
                reason="with negative tuples operators hold other rows",
                hint=f"resume with scheduling = {self.scheduling!r}, or start without resume",
            )
        if self.operators and operators and tuple(operators) != self.operators:
            raise PlanError(
                "checkpoint-of-another-plan",
                "the checkpoint was made by another plan of the query",
                reason=f"it holds the state of: {'; '.join(self.operators)}",
                hint="resume with the options, and the rate= and distinct= of streams, that it was"
                " made with, or start without resume",
            )
        for alias, read in (columns or {}).items():
            if self.columns.get(alias) != read:
                raise PlanError(
                    "checkpoint-of-another-schema",
                    f"the checkpoint was made over other columns of {alias}",
                    reason=f"it was made over {self.columns.get(alias, 'none')}",
                    hint="register it with the columns it had, or start without resume",
                )

    def check_tables(self, tables: Mapping[str, str]) -> None:
        """Refuses tables with other rows than those that a row met which is still to be taken back.

        Raises:
            PlanError: a table has changed.
        """
        for name, digest in tables.items():
            if self.tables.get(name, digest) != digest:
                raise PlanError(
                    "checkpoint-of-another-table",
                    f"the table {name} has other rows than when the checkpoint was made",
                    reason="it is joined to rows that are taken back: what came with the old rows would"
                    " never go",
                    hint=f"put the rows of {name} back, start afresh, or join {name} to the"
                    " stream itself,"
                    " below the aggregate (FROM (SELECT .. FROM stream, table ..) ..)",
                )


def columns_read(root: PhysicalNode) -> dict[str, str]:
    """Per alias, what is read of its stream, time and columns with their types, or of its table."""
    streams = {s.alias: f"{s.time} ({s.time_type}), {s.schema.ddl()}" for s in root.scans}
    return streams | {table.alias: f"table, {table.schema.ddl()}" for table in root.tables}


def operators_of(nodes: Iterable[PhysicalNode]) -> tuple[str, ...]:
    """What each operator computes, of which aliases: what its state belongs to."""
    return tuple(
        f"{node.title} of {', '.join(scan.alias for scan in node.scans)}" for node in nodes
    )
