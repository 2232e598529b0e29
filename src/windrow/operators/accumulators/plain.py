"""Accumulators in plain Python: the values alive of every group, and a function of them.

For aggregates that others add and that need no kernel. A version costs as much as its group has
values: right, and slow where groups are large.

    class Mode(PlainValues):
        def answer(self, values):
            return max(values, key=values.count)
"""

from __future__ import annotations

from abc import abstractmethod
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from windrow.kernels.versions import Versions
from windrow.operators.accumulators.base import (
    Answers,
    Int64s,
    SlotRows,
    ValueKeeper,
    nothing_to_delete,
    validity,
)
from windrow.operators.columns.arrow_types import arrow_type
from windrow.operators.columns.key_directory import KeyDirectory
from windrow.plan.nodes.window_aggregate import Aggregate

VALUE_BYTES = 100
"""About what a value takes, of which Python does not tell."""


class PlainValues(ValueKeeper):
    """The values of one column that are alive, by group; each aggregate has a class of its own."""

    work = 0
    """Values counted so far."""

    def __init__(self, aggregates: Sequence[Aggregate]) -> None:
        self.function = aggregates[0].function
        self.type = arrow_type(aggregates[0].type)
        self.begin(None)

    @abstractmethod
    def answer(self, values: list[Any]) -> Any:
        """The answer over values in no order, each as often as it is there.

        Args:
            values: as Python has them, one or more, none of them None. Several arguments are a tuple.

        Returns:
            A value of the aggregate's type, or None. It must not depend on the order.
        """

    @property
    def nbytes(self) -> int:
        """Bytes of all values, about."""
        return VALUE_BYTES * (len(self._values) + sum(map(len, self._alive.values())))

    def begin(self, lifetime: int | None) -> None:  # noqa: ARG002
        """Forgets all values."""
        self._directory = KeyDirectory()
        self._values: dict[int, Any] = {}
        self._uses: Counter[int] = Counter()
        self._alive: dict[int, Counter[int]] = {}

    def enter(self, rows: SlotRows, column: pa.Array) -> None:
        """Takes up rows that are alive."""
        ids, valid = self._ids(column), validity(column)
        for row in np.flatnonzero(valid).tolist():
            self._count(int(rows.slots[row]), int(ids[row]), int(rows.signs[row]))

    def slide(self, versions: Versions, column: pa.Array) -> dict[str, Answers]:
        """The answer of every version."""
        ids, valid = self._ids(column), validity(column)
        found = []
        for version, slot in enumerate(versions.slots.tolist()):
            first, last = versions.first_event[version : version + 2].tolist()
            for event in range(first, last):
                row = int(versions.event_rows[event])
                if valid[row]:
                    self._count(slot, int(ids[row]), int(versions.event_signs[event]))
            values = self._alive_in(slot)
            found.append(self.answer(values) if values else None)
        self._forget_unused()
        return {self.function: _answers(pa.array(found, self.type))}

    def _ids(self, column: pa.Array) -> Int64s:
        """A number for each value, the same for equal ones while some row has it."""
        ids = self._directory.slots_of([column])
        new = [row for row, id_ in enumerate(ids.tolist()) if id_ not in self._values]
        for row in new:
            value = column[row].as_py()
            self._values[int(ids[row])] = (
                tuple(value.values()) if isinstance(value, dict) else value
            )
        return ids

    def _count(self, slot: int, value: int, sign: int) -> None:
        self.work += 1
        alive = self._alive.setdefault(slot, Counter())
        alive[value] += sign
        self._uses[value] += sign
        if not alive[value]:
            del alive[value]

    def _alive_in(self, slot: int) -> list[Any]:
        copies = self._alive.get(slot, Counter())
        if any(count < 0 for count in copies.values()):
            raise nothing_to_delete()
        return [self._values[value] for value in copies.elements()]

    def _forget_unused(self) -> None:
        unused = [value for value in self._values if not self._uses[value]]
        self._directory.release(np.array(sorted(unused), np.int64))
        for value in unused:
            del self._values[value], self._uses[value]

    def fit(self, slots: int) -> None:
        """Nothing is indexed by slot."""

    def clear(self, slots: Int64s) -> None:
        """Forgets what these slots held."""
        for slot in slots.tolist():
            self._alive.pop(slot, None)


@dataclass(frozen=True)
class PlainAnswers(Answers):
    """Answers of any type; `values` tell them apart."""

    shown: pa.Array

    def take(self, versions: Int64s) -> pa.Array:
        """The values of the given versions."""
        return self.shown.take(pa.array(versions))


def _answers(shown: pa.Array) -> PlainAnswers:
    numbers = KeyDirectory().slots_of([shown])
    return PlainAnswers(numbers, None, pa.int64(), shown)
