"""What a decoder of messages is, and what it gives."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray


@dataclass(frozen=True)
class Decoded:
    """Messages as rows.

    Attributes:
        rows: the rows, in the order of their messages.
        messages: for each row, the number of the message that it comes from.
        bad: the messages that are no rows, by number, and what is wrong with each.
    """

    rows: pa.RecordBatch
    messages: NDArray[np.int64]
    bad: Sequence[tuple[int, str]] = ()


class Decoder(Protocol):
    """Makes rows of the values of messages."""

    columns: pa.Schema

    def decode(self, values: Sequence[bytes]) -> Decoded:
        """The rows of some values; what is no row is named, and the others come all the same."""


def parse_around_bad(
    parse: Callable[[Sequence[bytes]], pa.Table], values: Sequence[bytes]
) -> tuple[list[pa.Table], NDArray[np.int64], list[tuple[int, str]]]:
    """Parses as many values at once as can be: where some fail, both halves of them apart.

    Args:
        parse: gives a row per value, or raises a ValueError.
        values: what to parse.

    Returns:
        The rows, the numbers of the values that they are of, and the values that are none.
    """
    tables: list[pa.Table] = []
    good: list[NDArray[np.int64]] = []
    bad: list[tuple[int, str]] = []
    waiting = [(0, len(values))]
    while waiting:
        first, end = waiting.pop()
        if first == end:
            continue
        try:
            tables.append(parse(values[first:end] if end - first < len(values) else values))
        except ValueError as error:
            if end - first == 1:
                bad.append((first, str(error).partition("\n")[0]))
            else:
                middle = (first + end) // 2
                waiting += [(middle, end), (first, middle)]  # the first half is parsed first
        else:
            good.append(np.arange(first, end))
    return tables, np.concatenate(good) if good else np.empty(0, np.int64), bad


def one_batch(tables: Sequence[pa.Table], columns: pa.Schema) -> pa.RecordBatch:
    """Tables as one batch."""
    if not tables:
        return pa.RecordBatch.from_pylist([], schema=columns)
    whole = pa.concat_tables(tables).combine_chunks()
    batches = whole.to_batches()
    return batches[0] if batches else pa.RecordBatch.from_pylist([], schema=columns)


class RawValues:
    """Makes a row of each value, whatever it holds."""

    columns = pa.schema([("value", pa.binary())])

    def decode(self, values: Sequence[bytes | None]) -> Decoded:
        """The values in a column."""
        column = pa.array(values, pa.binary())
        rows = pa.RecordBatch.from_arrays([column], schema=self.columns)
        return Decoded(rows, np.arange(len(values)))
