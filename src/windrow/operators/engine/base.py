"""What every operator is: change batches in, change batches out, and state that can be kept.

A micro-batch is one `push` with a batch (or None) per input port, then one `advance`:

    push([a, b, c])   results that the new rows complete
    advance(W)        nothing below W will come any more: what waited for W comes out,
                      what can never be needed again is dropped
    settle()          no more is held than may be

The laws: the same rows come out however the input is cut into pushes; `restore(snapshot())`
changes nothing; after `advance(W)` no row is held that the operator's bound excludes.

Most operators are more alike than that. Their state is buffers of rows by name (`BufferedOp`); they
let rows wait until the watermark has passed them (`WaitingOp`), and then take what comes and goes
below it some thousands of rows at a time (`SteppingOp`).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, ClassVar, Protocol

from windrow.errors import InternalError
from windrow.operators.columns.chunks import ChunkBuffer, ChunkSlice, bound_of_step
from windrow.registry import load
from windrow.schema import MAX_TICK

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from windrow.operators.columns.changes import ChangeBatch
    from windrow.operators.engine.memory import Memory
    from windrow.operators.routing.partition import Own
    from windrow.physical.nodes.base import PhysicalNode

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

    buckets_used = 1
    """In how many buckets its rows are, each with a state of its own."""

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


def build(node: PhysicalNode, own: Own | None = None) -> Operator:
    """A new operator of a stateful node, its state empty.

    `own` says, in one bucket of several, which rows it answers for; None: for all.
    """
    make = load(node.operator)
    operator: Operator = make(node) if own is None else make(node, own)
    return operator


class BufferedOp(Operator):
    """An operator whose state is buffers of rows by name, and perhaps a few numbers."""

    kind: ClassVar[str]
    """The layout of its snapshots, of which the names of buffers and numbers are a part."""

    def __init__(
        self, buffers: Mapping[str, ChunkBuffer], numbers: Mapping[str, int] | None = None
    ) -> None:
        super().__init__()
        self._named = dict(buffers)
        self._numbers = dict(numbers or {})

    def buffers(self) -> Sequence[ChunkBuffer]:
        """All of them."""
        return tuple(self._named.values())

    def snapshot(self) -> Snapshot:
        """The rows of each buffer, and the numbers."""
        buffers = {name: tuple(buffer.slices) for name, buffer in self._named.items()}
        return Snapshot(self.kind, buffers, dict(self._numbers))

    def restore(self, snapshot: Snapshot) -> None:
        """Puts rows and numbers back."""
        snapshot.check_kind(self.kind)
        for name, buffer in self._named.items():
            buffer.slices = list(snapshot.buffers.get(name, ()))
        self._numbers |= snapshot.numbers
        self._measure()

    def _measure(self) -> None:
        """Counts what is held."""
        buffers = self.buffers()
        self.counters.stored = sum([buffer.rows for buffer in buffers])
        self.counters.state_bytes = sum([buffer.nbytes for buffer in buffers])


class WaitingOp(BufferedOp):
    """An operator that gives nothing in `push`: below the watermark more may still come."""

    def push(self, batches: Sequence[ChangeBatch | None]) -> Iterator[ChangeBatch]:
        """Lets rows wait; gives nothing."""
        for port, batch in enumerate(batches):
            if batch is not None and len(batch):
                self.counters.rows_in += len(batch)
                self._admit(port, batch)
        self._measure()
        return iter(())

    @abstractmethod
    def _admit(self, port: int, batch: ChangeBatch) -> None:
        """Keeps what matters of some rows of an input."""


class SteppingOp(WaitingOp):
    """An operator that takes in steps what comes and goes below the watermark, in the order of time."""

    step_rows: ClassVar[int] = 1 << 17
    """About how many rows of a chunk are worked on at once: their arrays then stay in the cache."""

    @abstractmethod
    def _step(self, bound: int) -> ChangeBatch | None:
        """Takes what comes and goes below the bound; gives what that changes, None for nothing."""

    def advance(self, watermark: int) -> Iterator[ChangeBatch]:
        """Gives what comes and goes below the watermark, step by step."""
        while self._first < watermark:
            changes = self._step(self._bound_of_step(watermark))
            self.counters.rows_out += 0 if changes is None else len(changes)
            self._measure()
            if changes is not None and len(changes):
                yield changes

    def due(self) -> int:
        """One tick after the first row that waits, or that ends."""
        return min(self._first, MAX_TICK - 1) + 1

    def _timed(self) -> Sequence[ChunkBuffer]:
        """The buffers whose rows come or go by the watermark: all, unless some are not in time order."""
        return self.buffers()

    @property
    def _first(self) -> int:
        """When the first row comes that waits, or ends; MAX_TICK for none."""
        return min([buffer.first for buffer in self._timed()])

    def _bound_of_step(self, watermark: int) -> int:
        """How far a step goes: to the watermark, or to an earlier instant."""
        return bound_of_step(self._timed(), watermark, self.step_rows)
