"""Rows that come and go together, added up before they are sent to where one task adds up all.

    time, end, sign      price                    time, end, sign    price   counts for   tuples
    [1, 9) +             0.5                      [1, 9) +           0.75    2 values     3
    [1, 9) +             0.25         ->          [3, 11) +          4.0     1 value      1
    [1, 9) +             NULL
    [3, 11) +            4.0

A merged row has the sum of its tuples' values in each column, `weight_column` says of how many that
are not NULL, and TUPLES how many tuples there were, to be counted where they are late. Rows of one
time, end and sign are late, come, go and are taken back together, so that nothing is lost by it.
What a sum of doubles leaves beside the nearest one goes on in rows of its own, with no weight.

Of a column of which MIN or MAX is asked for the least and the greatest value go on, as two rows: the
others come and go with them, and are never the answer. Not so where a row may be taken back by its
value, which may be one of those (`SlidingAggregate.may_be_merged`).

Where hardly any rows come together, or tuples must stay apart (late ones are kept as they came, or
a sum does not fit its type), each tuple is a row with the weight of one: the form is the same.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from windrow.kernels import merged_sums as kernels
from windrow.kernels.exact_sum import double_span
from windrow.kernels.jit import writable
from windrow.operators.accumulators.base import Accumulator, validity
from windrow.operators.accumulators.build import accumulators_of, argument_columns, readers
from windrow.operators.accumulators.ordered import Ordered
from windrow.operators.accumulators.sums import Decimals, Doubles, Integers, power_of_ten
from windrow.operators.columns.changes import TUPLES, ChangeBatch
from windrow.operators.columns.key_columns import fixed_values
from windrow.physical.nodes.sliding_aggregate import SlidingAggregate

LEAST_MERGED = 2
"""Rows are merged where so many or more come together on average."""

MOST_DIGITS = 38

Rows = NDArray[np.int64]


class _Parts(NamedTuple):
    """What groups add up to in one column: ascending groups, a value for each, and its weight."""

    groups: Rows
    values: pa.Array
    weights: NDArray[np.int32]


def weight_column(argument: int) -> str:
    """The column that says how many values of an aggregate's n-th argument a row counts for."""
    return f"__weight{argument}"


def merged_rows(
    node: SlidingAggregate, batch: ChangeBatch, kept: Sequence[str] = ()
) -> ChangeBatch:
    """The rows of an aggregate, merged.

    Where further columns are to be `kept` as they are, tuples stay apart.
    """
    names = argument_columns(node.aggregates)
    own = readers(node.aggregates, accumulators_of(node.aggregates))
    keepers = [_keeper(own[name]) for name in names]
    columns = [
        _conformed(keeper, batch.columns.column(name))
        for keeper, name in zip(keepers, names, strict=True)
    ]
    order, first_row = _together(batch)
    if kept or LEAST_MERGED * (len(first_row) - 1) > len(batch):
        return _apart(batch, columns, kept, names)
    parts = [
        _part(keeper, column.take(pa.array(order)), first_row)
        for keeper, column in zip(keepers, columns, strict=True)
    ]
    if any(part is None for part in parts):
        return _apart(batch, columns, kept, names)
    added = [part for part in parts if part is not None]
    return _lined_up(batch.take(order[first_row[:-1]]), np.diff(first_row), added, names)


def _keeper(own: Sequence[Accumulator]) -> Accumulator:
    """The one of a column's accumulators that asks for most."""
    return next((each for each in own if isinstance(each, Ordered)), own[0])


def _conformed(reader: Accumulator, column: pa.Array) -> pa.Array:
    """The argument in a type that holds sums of it."""
    if isinstance(reader, Integers):
        return column.cast(pa.int64())
    if isinstance(reader, Doubles):
        return column.cast(pa.float64())
    if isinstance(reader, Decimals):
        return column.cast(pa.decimal128(MOST_DIGITS, column.type.scale))
    return reader.kept(column)


def _together(batch: ChangeBatch) -> tuple[Rows, Rows]:
    """An order in which rows of one time, end and sign are neighbors; where each group begins.

    The end of the last group is the last entry.
    """
    marks = [batch.times, batch.ends, batch.signs]
    present = [mark for mark in marks if mark is not None]
    order = np.lexsort(present[::-1])
    is_first = np.ones(len(order), np.bool_)
    if len(order):
        same = [mark[order][1:] == mark[order][:-1] for mark in present]
        is_first[1:] = ~np.logical_and.reduce(same)
    return order, np.append(np.flatnonzero(is_first), len(order))


def _part(keeper: Accumulator, column: pa.Array, first_row: Rows) -> _Parts | None:
    if isinstance(keeper, Ordered):
        return _outermost(column, first_row, keeper.functions)
    return _added(column, first_row)


def _outermost(column: pa.Array, first_row: Rows, functions: Sequence[str]) -> _Parts:
    """The least and the greatest value of each group, as far as they are asked for.

    The first of a group's values counts for all of them.
    """
    counts = np.add.reduceat(validity(column), first_row[:-1], dtype=np.int32)
    groups = np.flatnonzero(counts)
    of_row = pa.array(np.repeat(np.arange(len(counts)), np.diff(first_row)))
    order = pc.sort_indices(
        pa.table({"group": of_row, "value": column}),
        [("group", "ascending"), ("value", "ascending")],
    ).to_numpy()  # NULLs come last in their group, NaNs before them
    least, greatest = order[first_row[groups]], order[first_row[groups] + counts[groups] - 1]
    ends = [own for name, own in (("min", least), ("max", greatest)) if name in functions]
    weights = np.zeros((len(groups), len(ends)), np.int32)
    weights[:, 0] = counts[groups]
    rows = np.stack(ends, axis=1).ravel()
    return _Parts(np.repeat(groups, len(ends)), column.take(pa.array(rows)), weights.ravel())


def _added(column: pa.Array, first_row: Rows) -> _Parts | None:
    """What the values of each group add up to; None where its type cannot hold some sum."""
    valid = validity(column)
    groups = np.arange(len(first_row) - 1)
    if pa.types.is_floating(column.type):
        values = writable(fixed_values(column, "<f8"))
        span = double_span(values.view(np.int64), valid)
        found, doubles, weights = kernels.double_parts(first_row, values, valid, span)
        return _Parts(found, pa.array(doubles), weights)
    counts = np.add.reduceat(valid, first_row[:-1], dtype=np.int32)
    if pa.types.is_boolean(column.type):
        return _Parts(groups, pa.array(np.ones(len(groups), np.bool_)), counts)
    if pa.types.is_decimal(column.type):
        words = writable(fixed_values(column, "<i8").reshape(-1, 2))
        sums, all_fit = kernels.decimal_sums(first_row, words, valid, power_of_ten(MOST_DIGITS))
        held = pa.Array.from_buffers(column.type, len(sums), [None, pa.py_buffer(sums)])
    else:
        whole = writable(fixed_values(column, "<i8"))
        sums, all_fit = kernels.integer_sums(first_row, whole, valid)
        held = pa.array(sums)
    return _Parts(groups, held, counts) if all_fit else None


def _apart(
    batch: ChangeBatch, columns: Sequence[pa.Array], kept: Sequence[str], names: Sequence[str]
) -> ChangeBatch:
    """Every tuple as a row of its own."""
    shown = {}
    for number, (name, column) in enumerate(zip(names, columns, strict=True)):
        shown[name] = column
        shown[weight_column(number)] = pa.array(validity(column).astype(np.int32))
    shown[TUPLES] = pa.array(np.ones(len(batch), np.int32))
    shown |= {name: batch.columns.column(name) for name in kept}
    return replace(batch, columns=pa.RecordBatch.from_pydict(shown))


def _lined_up(
    groups: ChangeBatch, tuples: Rows, parts: Sequence[_Parts], names: Sequence[str]
) -> ChangeBatch:
    """The parts of all columns beside each other, in as many rows per group as one of them takes.

    group        0      0      1
    1st column   0.6   -8e-17  2.5
    2nd column   7             4
    """
    rows = np.ones(len(groups), np.int64)
    for part in parts:
        np.maximum(rows, np.bincount(part.groups, minlength=len(groups)), out=rows)
    first = np.cumsum(rows) - rows
    count = int(rows.sum())
    shown = {}
    for number, (name, part) in enumerate(zip(names, parts, strict=True)):
        within = np.arange(len(part.groups)) - np.searchsorted(part.groups, part.groups)
        places = first[part.groups] + within
        source, weights = np.full(count, -1, np.int64), np.zeros(count, np.int32)
        source[places], weights[places] = np.arange(len(places)), part.weights
        shown[name] = part.values.take(pa.array(source, mask=source < 0))
        shown[weight_column(number)] = pa.array(weights)
    of_first = np.zeros(count, np.int32)
    of_first[first] = tuples
    shown[TUPLES] = pa.array(of_first)
    repeated = groups.take(np.repeat(np.arange(len(groups)), rows))
    return replace(repeated, columns=pa.RecordBatch.from_pydict(shown))
