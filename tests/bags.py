"""Answers as bags: the same rows, each as often, in whatever order.

    assert bag(w.sql(query)) == bag([(1, "a"), (1, "a"), (2, None)])

Exact, where `same_rows` takes floats by tolerance and shows what differs.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import pyarrow as pa

TYPE, TIME = "_change_type", "_event_time"


def bag(rows: Any) -> Counter[tuple[Any, ...]]:
    """How often each row comes; a row is the tuple of its values.

    NaN equals NaN. Lists and structs are compared by what is in them. A change comes as a line of a
    changelog is read: its type first and its time last, ("insert", 7, "a", 12).

    Args:
        rows: an Arrow table or batch, an answer or whatever else has `to_arrow`, rows as tuples,
            lists or dictionaries, or several of these one after the other.
    """
    return Counter(_tuples(rows))


def _tuples(rows: Any) -> Iterator[tuple[Any, ...]]:
    if hasattr(rows, "to_arrow"):
        rows = rows.to_arrow()
    if isinstance(rows, (pa.Table, pa.RecordBatch)):
        columns = [column.to_pylist() for column in rows.columns]
        order = _order(rows.schema.names)
        yield from map(_row, zip(*(columns[at] for at in order), strict=True))
        return
    for part in rows:
        if isinstance(part, Mapping):
            names = list(part)
            yield _row(part[names[at]] for at in _order(names))
        elif isinstance(part, (pa.Table, pa.RecordBatch)) or hasattr(part, "to_arrow"):
            yield from _tuples(part)
        else:
            yield _row(part)


def _order(names: list[str]) -> list[int]:
    """The places of the columns; by place, since two may have one name."""
    places = list(range(len(names)))
    if not {TYPE, TIME} <= set(names):
        return places
    ends = {names.index(TYPE), names.index(TIME)}
    return [names.index(TYPE), *(at for at in places if at not in ends), names.index(TIME)]


def _row(values: Iterable[Any]) -> tuple[Any, ...]:
    return tuple(map(_value, values))


def _value(value: Any) -> Any:
    """A value that has a hash, and equals another's where Python says so (1 == 1.0), NaN its own."""
    if isinstance(value, Mapping):
        return tuple((name, _value(part)) for name, part in value.items())
    if isinstance(value, (list, tuple)):
        return tuple(map(_value, value))
    return "NaN" if value != value else value  # noqa: PLR0124
