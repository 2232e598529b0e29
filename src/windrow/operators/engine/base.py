"""What every operator is: change batches in, change batches out, and state that can be kept.

A micro-batch is one `push` with a batch (or None) per input port, then one `advance`:

    push([a, b, c])   results that the new rows complete
    advance(W)        nothing below W will come any more: what waited for W comes out,
                      what can never be needed again is dropped
    settle()          no more is held than may be

The laws: the same rows come out however the input is cut into pushes; `restore(snapshot())`
changes nothing; after `advance(W)` no row is held that the operator's bound excludes.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol

from windrow.errors import InternalError

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from windrow.operators.columns.changes import ChangeBatch
    from windrow.operators.columns.chunks import ChunkBuffer, ChunkSlice
    from windrow.operators.engine.memory import Memory

STATE_VERSION = 6
"""Layout of snapshots. Raise it with any change that an older reader would misread."""

THOUSANDTHS = 1_000
"""What estimated counts are multiplied by: counters are whole numbers."""


@dataclass
class Counters:
    """Work done, counted in the operators' own loops; summed over tasks on Spark.

    Attributes:
        rows_in: rows pushed, late ones excluded.
        rows_out: rows produced.
        probes: look-ups of one row in one chunk of another input's window.
        comparisons: stored rows touched by those look-ups.
        drops: rows that left the state.
        stored: rows held now.
        intermediate: partial combinations held now, by algorithms that keep any.
        state_bytes: bytes of all that is held.
        late: rows below the watermark as their batch began.
        null_time: rows without an event time.
        page_reads: pages read from disk, by a join that keeps its windows in pages.
        page_writes: pages written to disk.
        gallops: searches of pages in gallop mode.
        crabsteps: searches of pages in crabstep mode.
        shed_found: combinations that a join which sheds has found.
        shed_estimated: thousandths of combinations that there are, as far as those found can tell.
        shed_expected: thousandths of combinations that were to be found of these, as memory and
            processor were divided.
    """

    rows_in: int = 0
    rows_out: int = 0
    probes: int = 0
    comparisons: int = 0
    drops: int = 0
    stored: int = 0
    intermediate: int = 0
    state_bytes: int = 0
    late: int = 0
    null_time: int = 0
    page_reads: int = 0
    page_writes: int = 0
    gallops: int = 0
    crabsteps: int = 0
    shed_found: int = 0
    shed_estimated: int = 0
    shed_expected: int = 0

    def add(self, other: Counters) -> None:
        """Adds another's figures to these."""
        mine = vars(self)
        for name, figure in vars(other).items():
            mine[name] += figure

    def as_dict(self) -> dict[str, int]:
        """The figures by name."""
        return dict(vars(self))


@dataclass(frozen=True)
class Snapshot:
    """The state of an operator between two micro-batches.

    `buffers` hold immutable chunks of rows; `numbers` the few scalars. `kind` names the operator's
    layout, which does not depend on the algorithm that filled it.
    """

    kind: str
    buffers: dict[str, tuple[ChunkSlice, ...]]
    numbers: dict[str, int] = field(default_factory=dict)
    version: int = STATE_VERSION

    def check_kind(self, kind: str) -> None:
        """Refuses the state of another operator: states are kept per stage and have one kind each."""
        if self.kind != kind:
            raise InternalError(
                "wrong-state", f"a {kind} operator was given the state of a {self.kind}"
            )


class Left(Protocol):
    """What an operator leaves to the one that goes on from its state, so that it has less to do.

    It is no part of the state: without it the next one does the same, by more work.
    """

    @property
    def nbytes(self) -> int:
        """Bytes in memory."""
        ...


class Operator(ABC):
    """One stateful step of a plan."""

    def __init__(self) -> None:
        self.counters = Counters()

    @abstractmethod
    def push(self, batches: Sequence[ChangeBatch | None]) -> Iterator[ChangeBatch]:
        """Takes one batch per port and gives the results they complete."""

    def lose(self, rows: int) -> None:  # noqa: B027  # to most operators it does not matter
        """Is told of rows that were late, and so are not pushed."""

    def keep_within(self, memory: Memory) -> None:  # noqa: B027  # most have chunks alone to spill
        """Is told of the memory that it is to keep to, with the other operators of the query."""

    def tuples_beside(self) -> int:
        """Tuples that it holds in memory apart from the rows of its chunks."""
        return 0

    @abstractmethod
    def advance(self, watermark: int) -> Iterator[ChangeBatch]:
        """Gives what is final below the watermark, then drops what is no longer needed."""

    def settle(self) -> Iterator[ChangeBatch]:
        """Ends a micro-batch: an operator with a bound of its own keeps to it from here on."""
        return iter(())

    @abstractmethod
    def due(self) -> int:
        """The least watermark at which `advance` would give or drop a row; MAX_TICK for none."""

    @abstractmethod
    def buffers(self) -> Sequence[ChunkBuffer]:
        """The chunk buffers among the state; what else there is, `state_bytes` counts too.

        Who bounds memory spills these. An operator that left some out would never be told to.
        """

    @abstractmethod
    def snapshot(self) -> Snapshot:
        """The state as it is now; cheap, for chunks are immutable."""

    @abstractmethod
    def restore(self, snapshot: Snapshot) -> None:
        """Puts a state back; the operator then goes on as if it had never stopped."""

    def leave(self) -> Left | None:
        """What it leaves to another operator, which goes on from the snapshot that was taken last."""
        return None

    def take_up(self, left: Left) -> None:  # noqa: B027  # most leave nothing
        """Takes up what another one left, if the state that was restored is the one it is for."""
