"""How much of its state a query may hold in memory, and what happens when it would hold more.

Looked at after every step of every operator: `memory` is a bound on what stays in memory between
steps, the batch at hand and its results apart. A query that would hold more

    fails     with an error that says how much it holds, and where; or
    spills    its oldest chunks to disk, until what is left fits. The answer is the same.

A join that sheds keeps to its memory by itself.

Only chunks of rows can be spilled. What an operator keeps beside them (the groups of an aggregate)
stays in memory, and fails the query if it alone is too much. Algorithms of window joins that keep
more than rows are not run where memory spills: the planner takes none, and refuses those asked for.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from windrow.errors import DataError
from windrow.plan.units import Amount

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from windrow.operators.columns.chunks import Chunk, ChunkSlice
    from windrow.operators.engine.base import Operator
    from windrow.physical.options import Options


@dataclass(frozen=True)
class MemoryPart:
    """One of the equal parts that a query's memory is divided into.

    Attributes:
        name: what holds this part, as in "bucket 2".
        parts: how many there are.
        whole: what all of them are together.
    """

    name: str
    parts: int
    whole: Amount


class Memory:
    """The memory of one query, or of one bucket of it on Spark.

    Args:
        limit: bytes, or tuples, that its operators may hold together.
        may_spill: whether old chunks go to disk, rather than the query fails.
        folder: where spilled chunks go; None: where temporary files go.
        part: where the query's memory is divided, which part this one is of; None: it is all.
        is_tuples: whether the limit counts tuples.

    Examples:
        >>> memory = Memory(512 << 20, may_spill=True)
        >>> memory.settle()
    """

    def __init__(
        self,
        limit: int,
        *,
        may_spill: bool,
        folder: Path | None = None,
        part: MemoryPart | None = None,
        is_tuples: bool = False,
    ) -> None:
        self.limit = limit
        self.may_spill = may_spill
        self.folder = folder
        self.is_tuples = is_tuples
        self.spilled_chunks = 0
        self._part = part
        self._watched: dict[str, Operator] = {}

    def watch(self, name: str, operator: Operator) -> None:
        """Counts what the operator holds; `name` is what messages call it."""
        twin = f"{name}, stage {len(self._watched) + 1}"
        self._watched[twin if name in self._watched else name] = operator
        operator.keep_within(self)

    @property
    def share(self) -> int:
        """Bytes, or tuples, that an operator may hold for sure, whatever the others do."""
        return self.limit // max(1, len(self._watched))

    @property
    def held(self) -> int:
        """Bytes, or tuples, that all operators hold in memory."""
        return sum(map(self._held, self._watched.values()))

    @property
    def most_bytes(self) -> int | None:
        """The limit, if it is one of bytes."""
        return None if self.is_tuples else self.limit

    def _held(self, operator: Operator) -> int:
        if self.is_tuples:
            on_disk = sum(len(part) for part in _slices([operator]) if part.chunk.is_spilled)
            return max(0, operator.counters.stored - on_disk) + operator.tuples_beside()
        return _fixed_bytes(operator) + sum(chunk.memory_bytes for chunk in _chunks([operator]))

    def settle(self) -> None:
        """Sees to it that no more is held than may be.

        Raises:
            DataError: more is held, and must not or cannot be spilled.
        """
        held = self.held
        if held <= self.limit:
            return
        if not self.may_spill:
            spill = "set on_memory to 'spill' to keep old tuples on disk"
            raise self._too_much(held, f"{spill}; a window join may 'shed' some of them instead")
        chunks = _chunks(self._watched.values())
        for chunk in sorted(chunks, key=lambda chunk: int(chunk.keys[-1])):
            held -= self._freed_by(chunk)
            self._spill(chunk)
            if held <= self.limit:
                return
        raise self._too_much(held, "no old tuples are left that could go to disk")

    def _freed_by(self, chunk: Chunk) -> int:
        if not self.is_tuples:
            return chunk.memory_bytes
        slices = _slices(self._watched.values())
        return sum(len(part) for part in slices if part.chunk is chunk and not chunk.is_spilled)

    def _spill(self, chunk: Chunk) -> None:
        if not chunk.memory_bytes:
            return
        try:
            chunk.spill(self.folder)
        except OSError as error:
            raise cannot_spill(error) from error
        self.spilled_chunks += 1

    def _too_much(self, held: int, instead: str) -> DataError:
        largest = max(self._watched, key=lambda name: self._held(self._watched[name]))
        limit = self._shown(self.limit)
        if self._part is None:
            who, bound = "the query", f"its memory of {limit}"
            reason = f"most of it in {largest}: {self._shown(self._held(self._watched[largest]))}"
        else:
            who, bound = f"{self._part.name} of {largest}", f"its part of the memory, {limit}"
            reason = (
                f"the query's {self._part.whole} are divided among its {self._part.parts} buckets"
            )
        return DataError(
            "memory-exceeded",
            f"{who} holds {self._shown(held)} of state, more than {bound}",
            reason=reason,
            hint=f"raise memory, narrow the windows, or {instead}"
            if not self.may_spill
            else f"raise memory or narrow the windows: {instead}",
        )

    def _shown(self, count: int) -> str:
        return str(Amount(count, self.is_tuples))


def cannot_spill(error: OSError) -> DataError:
    """What a query fails with that cannot write to disk what memory does not hold."""
    return DataError(
        "cannot-spill",
        "old tuples cannot be moved to disk",
        reason=str(error),
        hint="set TMPDIR to a folder with room, or raise memory",
    )


def memory_of(options: Options) -> Memory | None:
    """The memory of a query that is one process; None where nobody set one, or the query sheds."""
    return memory_of_bucket(options, 1, 0)


def memory_of_bucket(options: Options, buckets: int, bucket: int) -> Memory | None:
    """The part of a query's memory that one of its buckets has; None where nobody set any.

    `buckets` are those of all stages together.
    """
    whole = options.memory_amount
    if whole is None or options.sheds_memory:
        return None
    return Memory(
        max(1, whole.count // buckets) if buckets > 1 else whole.count,
        may_spill=options.on_memory == "spill",
        part=MemoryPart(f"bucket {bucket}", buckets, whole) if buckets > 1 else None,
        is_tuples=whole.is_tuples,
    )


def _fixed_bytes(operator: Operator) -> int:
    """What an operator holds beside its chunks."""
    in_chunks = sum(buffer.nbytes for buffer in operator.buffers())
    return max(0, operator.counters.state_bytes - in_chunks)


def _chunks(operators: Iterable[Operator]) -> Iterable[Chunk]:
    return {id(part.chunk): part.chunk for part in _slices(operators)}.values()


def _slices(operators: Iterable[Operator]) -> Iterable[ChunkSlice]:
    return (
        part for operator in operators for buffer in operator.buffers() for part in buffer.slices
    )
