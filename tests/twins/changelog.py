"""What a changelog says is true at an instant.

The law of a changelog: the inserts less the deletes up to T are exactly the answer at T.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, TypeAlias

import pyarrow as pa

Changelog: TypeAlias = "pa.Table | pa.RecordBatch | Sequence[Mapping[str, Any]]"

TYPE, TIME = "_change_type", "_event_time"
_SIGN = {"insert": 1, "update_postimage": 1, "delete": -1, "update_preimage": -1}


def state_at(changelog: Changelog, instant: Any) -> list[dict[str, Any]]:
    """The rows of the answer at an instant, as a bag.

    Args:
        changelog: rows with `_change_type` and `_event_time`, in any order.
        instant: of the type of `_event_time`; changes at the instant itself count.

    Raises:
        AssertionError: more copies of a row have gone than came.

    Examples:
        >>> log = [
        ...     {"k": 1, "_change_type": "insert", "_event_time": 5},
        ...     {"k": 1, "_change_type": "delete", "_event_time": 9},
        ... ]
        >>> state_at(log, 8)
        [{'k': 1}]
    """
    copies: Counter[Any] = Counter()
    shown: dict[Any, dict[str, Any]] = {}
    for change in _changes(changelog):
        if change[TIME] <= instant:
            row = {name: value for name, value in change.items() if name not in {TYPE, TIME}}
            key = _hashable(row)
            shown[key] = row
            copies[key] += _SIGN[change[TYPE]]
    gone = [shown[key] for key, count in copies.items() if count < 0]
    if gone:
        raise AssertionError(f"at {instant} more copies have gone than came: {gone}")
    return [shown[key] for key, count in copies.items() for _ in range(count)]


def instants(changelog: Changelog) -> list[Any]:
    """The instants at which something changes, in order: between them the answer stands still."""
    return sorted({change[TIME] for change in _changes(changelog)})


def not_net(changelog: Changelog) -> list[dict[str, Any]]:
    """The rows that are inserted and deleted at one instant, which a changelog never has."""
    signs: dict[Any, set[int]] = {}
    shown: dict[Any, dict[str, Any]] = {}
    for change in _changes(changelog):
        row = {name: value for name, value in change.items() if name != TYPE}
        key = _hashable(row)
        shown[key] = row
        signs.setdefault(key, set()).add(_SIGN[change[TYPE]])
    return [shown[key] for key, found in signs.items() if len(found) > 1]


def _changes(changelog: Changelog) -> Iterator[Mapping[str, Any]]:
    if isinstance(changelog, (pa.Table, pa.RecordBatch)):
        yield from changelog.to_pylist()
    else:
        yield from changelog


def _hashable(value: Any) -> Any:
    """A value that equals another's exactly when the rows show the same; NaN equals NaN."""
    if isinstance(value, Mapping):
        return tuple((name, _hashable(part)) for name, part in value.items())
    if isinstance(value, (list, tuple)):
        return tuple(map(_hashable, value))
    return "NaN" if isinstance(value, float) and value != value else value  # noqa: PLR0124
