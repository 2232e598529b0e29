"""How much of its state a query may hold in memory, and what happens when it would hold more.

Looked at after every step of every stage: `memory` is a bound on what stays in memory between
steps, the batch at hand and its results apart. A query that would hold more

    fails     with an error that says how much it holds, and where; or
    spills    its oldest chunks to disk, until what is left fits. The answer is the same.

Only chunks of rows can be spilled. What a stage keeps beside them (the groups of an aggregate, the
intermediate results of a pipeline) stays in memory, and fails the query if it alone is too much.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from windrow.errors import DataError
from windrow.plan.sizes import show_bytes

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from windrow.operators.base import Operator
    from windrow.operators.chunks import Chunk
    from windrow.physical.options import Options


class Memory:
    """The memory of one query, or of one bucket of it on Spark.

    Args:
        limit: bytes that its stages may hold together.
        may_spill: whether old chunks go to disk, rather than the query fails.
        folder: where spilled chunks go; None: where temporary files go.
        share: of a query whose limit is divided, how: for the message.

    Examples:
        >>> memory = Memory(512 << 20, may_spill=True)
        >>> memory.settle()
    """

    def __init__(
        self, limit: int, *, may_spill: bool, folder: Path | None = None, share: str = ""
    ) -> None:
        self.limit = limit
        self.may_spill = may_spill
        self.spilled_chunks = 0
        self._folder = folder
        self._share = share
        self._watched: dict[str, Operator] = {}

    def watch(self, name: str, operator: Operator) -> None:
        """Counts what the operator holds; `name` is what messages call its stage."""
        twin = f"{name}, stage {len(self._watched) + 1}"
        self._watched[twin if name in self._watched else name] = operator

    def settle(self) -> None:
        """Sees to it that no more is held than may be.

        Raises:
            DataError: more is held, and must not or cannot be spilled.
        """
        fixed = sum(map(_fixed_bytes, self._watched.values()))
        chunks = list(_chunks(self._watched.values()))
        held = fixed + sum(chunk.memory_bytes for chunk in chunks)
        if held <= self.limit:
            return
        if not self.may_spill:
            raise self._too_much(held, "set on_memory to 'spill' to keep old tuples on disk")
        for chunk in sorted(chunks, key=lambda chunk: int(chunk.keys[-1])):
            held -= chunk.memory_bytes
            self._spill(chunk)
            if held <= self.limit:
                return
        raise self._too_much(fixed, "what is left are no old tuples, which could go to disk")

    def _spill(self, chunk: Chunk) -> None:
        if not chunk.memory_bytes:
            return
        try:
            chunk.spill(self._folder)
        except OSError as error:
            raise DataError(
                "cannot-spill",
                "old tuples cannot be moved to disk",
                reason=str(error),
                hint="set TMPDIR to a folder with room, or raise memory",
            ) from error
        self.spilled_chunks += 1

    def _too_much(self, held: int, instead: str) -> DataError:
        largest = max(self._watched, key=lambda name: _held(self._watched[name]))
        return DataError(
            "memory-exceeded",
            f"the query holds {show_bytes(held)} of state, more than its memory of"
            f" {show_bytes(self.limit)}{self._share}",
            reason=f"most of it in {largest}: {show_bytes(_held(self._watched[largest]))}",
            hint=f"raise memory, narrow the windows, or {instead}"
            if not self.may_spill
            else f"raise memory or narrow the windows: {instead}",
        )


def memory_of(options: Options, parts: int = 1) -> Memory | None:
    """The memory of a query, or of each of several equal parts of it; None where nobody set one."""
    limit = options.memory_bytes
    if limit is None:
        return None
    share = f" for each of its {parts} parts" if parts > 1 else ""
    may_spill = options.on_memory == "spill"
    return Memory(max(1, limit // parts), may_spill=may_spill, share=share)


def _held(operator: Operator) -> int:
    return _fixed_bytes(operator) + sum(chunk.memory_bytes for chunk in _chunks([operator]))


def _fixed_bytes(operator: Operator) -> int:
    """What an operator holds beside its chunks."""
    in_chunks = sum(buffer.nbytes for buffer in operator.buffers())
    return max(0, operator.counters.state_bytes - in_chunks)


def _chunks(operators: Iterable[Operator]) -> Iterable[Chunk]:
    return {
        id(part.chunk): part.chunk
        for operator in operators
        for buffer in operator.buffers()
        for part in buffer.slices
    }.values()
