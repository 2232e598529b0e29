"""Rows to blobs and back: what crosses the shuffle is Arrow, not rows.

    rows --pack-->  (bucket, port, first tick, blob) --shuffle--> stage --> blob --unpack--> rows

A map task gathers its rows up to a limit, sends each to its bucket or buckets, orders each bucket's
rows by time and encodes them once. Spark then moves a few large values instead of many small rows.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from windrow.operators.columns.arrow_types import arrow_schema, conform, conform_rows
from windrow.operators.columns.changes import ChangeBatch, concat
from windrow.operators.columns.chunks import decode, encode
from windrow.operators.engine.late_rule import in_time
from windrow.operators.engine.row_drivers import ChangelogOutput
from windrow.operators.routing.partition import route
from windrow.physical.nodes.base import PhysicalNode
from windrow.physical.query import PhysicalQuery
from windrow.registry import load
from windrow.run.spark.failures import told_first
from windrow.run.spark.garbage import set_aside_modules
from windrow.run.spark.late_row_payload import NAME, FirstCopies
from windrow.run.spark.stages import GUARD, LETTER, PACKED, TOLD, StagePlan, row_schema
from windrow.schema import END, MAX_TICK, SIGN

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Mapper = Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]

MOST_ROWS = 1 << 20
MOST_BYTES = 64 << 20
"""A map task packs what it has gathered at either limit."""

SLICE_ROWS = 1 << 15
"""Rows of one blob in a batch run: small enough that blobs of all tasks, ordered by their first
tick, advance through time together, and the stage can forget what lies behind."""

OUTPUT_ROWS = 1 << 16
"""Rows of one Arrow batch handed back to Spark."""

_ARROW_PACKED = arrow_schema(PACKED)


def packer(plan: StagePlan, port: int, *, is_streaming: bool) -> Mapper:
    """The function that packs the rows of one port of a stage, for `mapInArrow`."""

    def pack(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        schema = arrow_schema(plan.packed_schema(port))
        is_named = LETTER in schema.names and NAME in {f.name for f in schema.field(LETTER).type}
        copies = FirstCopies() if is_named else None
        with told_first(plan.sql):
            for gathered in gather(batches):
                rows = to_changes(gathered, schema)
                yield pack_changes(plan, port, rows, copies, is_streaming=is_streaming)
        set_aside_modules()

    return pack


def counter(plan: StagePlan, port: int) -> Mapper:
    """The function that counts the rows of one port of a join that sheds, for `mapInArrow`."""
    demand = plan.demand
    assert demand is not None

    def count(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        with told_first(plan.sql):
            schema = arrow_schema(plan.packed_schema(port))
            for gathered in gather(batches):
                batch, rows, buckets = _routed(plan, port, to_changes(gathered, schema))
                counts = demand.counts(port, batch, rows, buckets)
                if counts is not None:
                    yield counts.table(port)
        set_aside_modules()

    return count


def unpacker(node: PhysicalNode) -> Mapper:
    """The function that turns a stage's blobs into rows, for `mapInArrow`."""

    def unpack(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        schema = arrow_schema(row_schema(node))
        for batch in batches:
            for blob in batch.column("blob"):
                if blob.is_valid:
                    rows = decode(blob.as_buffer())
                    for start in range(0, len(rows), OUTPUT_ROWS):
                        part = rows.slice(start, min(start + OUTPUT_ROWS, len(rows)))
                        yield to_rows(part, schema)
        set_aside_modules()

    return unpack


def finisher(query: PhysicalQuery) -> Mapper:
    """The function that does what is left to do with the rows of a changelog, for `mapInArrow`.

    No shuffle: the answer shows every key, so that alike rows come from one group and so from one
    task, which hands them on in the order of their instants.
    """
    columns, nets, pairs_by = row_schema(query.root), query.needs_netting, query.pairs_by

    def finish(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        schema = arrow_schema(columns)
        output = ChangelogOutput(nets=nets, pairs_by=pairs_by)
        with told_first():
            for batch in batches:
                for rows in output.push(to_changes([batch], schema)):
                    yield to_rows(rows, schema)
            for rows in output.settle():
                yield to_rows(rows, schema)

    return finish


def to_changes(batches: list[pa.RecordBatch], schema: pa.Schema) -> ChangeBatch:
    """Rows as Spark hands them over as one change batch, in the types that operators know."""
    whole = batches[0] if len(batches) == 1 else pa.concat_batches(batches)
    arrays = [
        conform(whole.column(number), field.type, field.name) for number, field in enumerate(schema)
    ]
    return ChangeBatch.from_arrow(pa.RecordBatch.from_arrays(arrays, schema=schema))


def gather(batches: Iterator[pa.RecordBatch]) -> Iterator[list[pa.RecordBatch]]:
    """Batches that are packed together: few large blobs cost less than many small ones."""
    gathered: list[pa.RecordBatch] = []
    rows = nbytes = 0
    for batch in batches:
        if batch.num_rows:
            gathered.append(batch)
            rows, nbytes = rows + batch.num_rows, nbytes + batch.nbytes
        if rows >= MOST_ROWS or nbytes >= MOST_BYTES:
            yield gathered
            gathered, rows, nbytes = [], 0, 0
    if gathered:
        yield gathered


def _with_letters(rows: ChangeBatch, copies: FirstCopies) -> ChangeBatch:
    at = rows.columns.schema.get_field_index(LETTER)
    letters = copies.of(rows.columns.column(at))
    columns = rows.columns.set_column(at, rows.columns.schema.field(at), letters)
    return ChangeBatch(columns, rows.times, rows.ends, rows.signs)


def pack_changes(
    plan: StagePlan,
    port: int,
    changes: ChangeBatch,
    copies: FirstCopies | None = None,
    *,
    is_streaming: bool,
) -> pa.RecordBatch:
    """The rows of a port as blobs, one for each bucket; in a batch run for each slice of time as well."""
    batch, rows, buckets = _routed(plan, port, changes)
    if copies is not None:
        batch = _with_letters(batch, copies)
    packed: list[tuple[object, ...]] = []
    for is_copy, chosen in _homes_and_copies(rows, len(batch)):
        ordered, ids = _by_bucket_and_time(batch, rows[chosen], buckets[chosen])
        edges = np.searchsorted(ids, np.arange(plan.partitioning.buckets + 1))
        for bucket in np.flatnonzero(np.diff(edges)):
            start, stop = int(edges[bucket]), int(edges[bucket + 1])
            width = stop - start if is_streaming else SLICE_ROWS
            for first in range(start, stop, width):
                piece = ordered.slice(first, min(first + width, stop))
                row = (plan.labels[bucket], port, int(piece.times[0]), is_copy, encode(piece))
                packed.append(row)
    if is_streaming:
        packed.append((GUARD, port, 0, False, None))
        demand = plan.demand
        counts = demand.counts(port, batch, rows, buckets) if demand is not None else None
        if counts is not None:
            told = zip(plan.labels, counts.messages(port), strict=True)
            packed += [(label, TOLD, 0, False, message) for label, message in told]
    rows_of_blobs = [dict(zip(PACKED.names, row, strict=True)) for row in packed]
    return pa.RecordBatch.from_pylist(rows_of_blobs, schema=_ARROW_PACKED)


def _routed(
    plan: StagePlan, port: int, batch: ChangeBatch
) -> tuple[ChangeBatch, NDArray[np.int64], NDArray[np.int32]]:
    """Rows of a port, which of them go where, and to which bucket.

    Before that the node may make them fewer: those of an aggregate without GROUP BY are added up, and of
    pairs only those that are best here go to where all are compared.
    """
    if plan.node.combiner:
        kept = [LETTER] if plan.letters[port] else []
        batch = load(plan.node.combiner)(plan.node, batch, kept)
    rows, buckets = route(plan.node, plan.partitioning, port, batch, plan.partitioning.buckets)
    return batch, rows, buckets


def _homes_and_copies(
    rows: NDArray[np.int64], count: int
) -> Iterator[tuple[bool, NDArray[np.int64]]]:
    """Splits routed rows into the first occurrence of each, its home, and its copies elsewhere.

    A late row is counted and kept aside at its home alone.
    """
    if len(rows) <= count:
        yield False, np.arange(len(rows))
        return
    is_home = np.zeros(len(rows), np.bool_)
    is_home[np.unique(rows, return_index=True)[1]] = True
    yield False, np.flatnonzero(is_home)
    yield True, np.flatnonzero(~is_home)


def _by_bucket_and_time(
    batch: ChangeBatch, rows: NDArray[np.int64], buckets: NDArray[np.int32]
) -> tuple[ChangeBatch, NDArray[np.int32]]:
    """The rows ordered by bucket, then time, with their buckets."""
    order = np.argsort(batch.times[rows], kind="stable")
    # 16 bits are enough for buckets, and numpy sorts them by radix.
    order = order[np.argsort(buckets[order].astype(np.uint16), kind="stable")]
    return batch.take(rows[order]), buckets[order]


def to_rows(rows: ChangeBatch, schema: pa.Schema) -> pa.RecordBatch:
    """A change batch as Spark takes rows: in the order and the types of a schema."""
    if END in schema.names and rows.ends is None:
        rows = ChangeBatch(rows.columns, rows.times, np.full(len(rows), MAX_TICK), rows.signs)
    if SIGN in schema.names and rows.signs is None:
        rows = ChangeBatch(rows.columns, rows.times, rows.ends, rows.signs_or_insert())
    return conform_rows(rows.to_arrow(), schema)


@dataclass(frozen=True)
class Blob:
    """Encoded rows of one port.

    Copies are rows that have their home in another bucket: one row of a join may be needed in
    several.
    """

    port: int
    is_copy: bool
    data: bytes | pa.Buffer


def by_port(
    blobs: Iterable[Blob], ports: int, watermark: int
) -> tuple[list[ChangeBatch | None], list[int]]:
    """One batch, or None, per port, and how many of its rows are copies.

    Late copies are left out: a late row is counted where it is at home.
    """
    found: list[list[ChangeBatch]] = [[] for _ in range(ports)]
    copies = [0] * ports
    for blob in blobs:
        batch = decode(blob.data)
        if blob.is_copy:
            batch = in_time(batch, watermark)
            copies[blob.port] += len(batch)
        found[blob.port].append(batch)
    return [concat(batches) if batches else None for batches in found], copies
