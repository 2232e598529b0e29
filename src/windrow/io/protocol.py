"""What a source and a sink are, for every runner.

A **source** has partitions, each a sequence of rows that offsets point into. Offsets are JSON, and the
rows between two of them are the same whenever they are asked for:

    partition "0"   |--------|=========|-----------            offsets, of all partitions:
    partition "1"   |--|===============|---                    {"0": 700, "1": 20} to {"0": 1900, "1": 2100}
                       from            to

A **sink** takes the rows of an epoch, and shows them when the epoch is committed. With its rows it keeps
the number of the epoch, for the run that wrote it: it alone knows, after a crash, what is committed.

    write(7, rows)    nobody sees them
    commit(7)         all see them, and the sink's last epoch of this run is 7
    commit(7)         changes nothing

So a run is exactly once without a word between source and sink:

    step    1 read and compute     2 write(n)     3 checkpoint n, durable     4 commit(n)
    killed  before 4: the sink's last epoch is n - 1, and the run goes on from checkpoint n - 1
    killed  after 4:  it is n, and the run goes on from checkpoint n

What may fail for a while and work again (a broker that restarts, a full disk) raises `Unavailable`: the
runner tries again, with the patience it was given.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, TypeAlias

from windrow.errors import BindError, ResourceError
from windrow.plan.arguments import ArgumentKind, check_kinds
from windrow.registry import Registry, load

if TYPE_CHECKING:
    import pyarrow as pa

Json: TypeAlias = Any
"""What JSON can hold: None, texts, numbers, lists and dictionaries of these."""

Offsets: TypeAlias = Mapping[str, Json]
"""How far a source has been read: an offset for each partition. A partition that is new has none yet."""

NO_EPOCH = -1
"""The last epoch of a run that has committed none."""

FEW_ROWS = 131_072
"""Rows that are read of a source at a time, where nobody says otherwise: some megabytes."""

PART_ROWS = 131_072
"""Rows of a range that are worth a task of their own."""


class Unavailable(ResourceError):
    """What is outside does not answer now, and may later; whoever runs it acts, if nothing changes."""


@dataclass(frozen=True)
class Aside:
    """What a source could not read as a row: kept aside with its place, and never dropped in silence.

    Attributes:
        partition: where it was.
        offset: which it was, in the partition.
        why: what is wrong with it.
        content: what it holds.
    """

    partition: str
    offset: Json
    why: str
    content: bytes


class Source(ABC):
    """Where the rows of a stream come from.

    It can be pickled, and opens what it needs where it is used: on Spark `start` and `latest` are asked
    on the driver, `read` in tasks.
    """

    @abstractmethod
    def columns(self) -> pa.Schema:
        """The columns of its rows, without reading more of them than that takes."""

    @abstractmethod
    def start(self) -> Offsets:
        """Where a run begins that has read nothing yet."""

    @abstractmethod
    def latest(self, since: Offsets, most_rows: int = FEW_ROWS) -> Offsets:
        """How far to read next: no further than there is data now, about so many rows after `since`.

        The same offsets again where there is nothing new. It may wait some milliseconds for rows.
        """

    @abstractmethod
    def read(self, partition: str, start: Json | None, end: Json) -> Iterator[pa.RecordBatch]:
        """The rows of a partition between two offsets; None is its beginning."""

    def parts(
        self,
        partition: str,  # noqa: ARG002
        start: Json | None,
        end: Json,
    ) -> Sequence[tuple[Json | None, Json]]:
        """A range as ranges that lie behind one another, which tasks may read side by side.

        The same ones whenever it is asked, on whatever machine: of about `PART_ROWS` rows each where a
        range can be cut without reading it.
        """
        return [(start, end)]

    def only(self, columns: Set[str]) -> Source:  # noqa: ARG002
        """The same rows, by the same offsets, with no other columns than these where that saves reading.

        It may have more, and be the same source. Which rows it finds bad must not change.
        """
        return self

    def has_ended(self, offsets: Offsets) -> bool:  # noqa: ARG002
        """Whether nothing can ever follow these offsets."""
        return False

    def commit(self, offsets: Offsets) -> None:  # noqa: B027  # most forget nothing
        """Is told what will not be asked for again."""

    def take_aside(self) -> Sequence[Aside]:
        """What could not be read as rows since this was last asked."""
        return ()

    def close(self) -> None:  # noqa: B027  # most hold nothing open
        """Lets go of what it has open; it may be used again."""


@dataclass(frozen=True)
class Answer:
    """What a sink is told of the rows that will come.

    Attributes:
        columns: their columns; of a changelog without `_change_type` and `_event_time`, which come last.
        is_changelog: whether rows say how the answer changes.
        keys: the columns of GROUP BY in the answer, all of DISTINCT: no two rows of it agree in them at
            one instant. None where rows may be equal.
        time: the type of `_event_time` in a changelog; None where it is not known.
    """

    columns: pa.Schema
    is_changelog: bool = False
    keys: tuple[str, ...] | None = None
    time: pa.DataType | None = None


class Sink(ABC):
    """Where the rows of an answer go.

    It can be pickled when it is open: on Spark it is opened once, `write` runs in tasks, each with its own
    share of an epoch, and `commit` on the driver, with what the tasks that count have returned. What other
    tries of a task have written nobody sees.
    """

    is_exactly_once: ClassVar[bool] = True
    """Whether it remembers its epochs. One that does not may be given an epoch a second time after a
    crash, and says so."""

    writes_anywhere: ClassVar[bool] = True
    """Whether `commit` needs nothing but what `write` has returned, so that tasks in other processes can
    write. Spark writes to one that keeps rows, or a transaction, in its process from the driver alone."""

    @abstractmethod
    def open(self, run: str, answer: Answer) -> int:
        """Makes ready for the rows of a run; gives the last epoch of that run that is committed.

        Args:
            run: a name that the checkpoint of the run has, and no other.
            answer: what will come.

        Raises:
            BindError: it has no place for such rows.
        """

    @abstractmethod
    def write(self, epoch: int, batches: Iterable[pa.RecordBatch]) -> Json:
        """Takes rows of an epoch; nobody sees them before it is committed.

        An epoch that was written and not committed may be written again, with other rows: those
        written before are gone.
        """

    @abstractmethod
    def commit(self, epoch: int, written: Sequence[Json]) -> None:
        """Shows the rows of an epoch, once, however often it is called.

        Args:
            epoch: its number; numbers grow, and may leave gaps.
            written: what each `write` of it has returned.
        """

    def close(self) -> None:  # noqa: B027  # most hold nothing open
        """Lets go of what it has open."""


class Connector(ABC):
    """A place outside, as users name it: `windrow.kafka(..)`; a source, a sink, or both.

    One is a frozen dataclass whose fields are what users say of it, so that job files say the same. The
    first one stands behind the connector's name there: `kafka = "orders"`.
    """

    name: ClassVar[str]
    """What job files call it."""

    def source(self) -> Source:
        """What a stream is read from.

        Raises:
            BindError: nothing can be read there.
        """
        raise BindError(
            "no-source",
            f"{self.name} is not a source of a stream",
            hint=f"streams come from {_known('source')}, or from a windrow.io.Source of yours",
        )

    def sink(self) -> Sink:
        """What an answer is written to.

        Raises:
            BindError: nothing can be written there.
        """
        raise BindError(
            "no-sink",
            f"{self.name} takes no answer",
            hint=f"answers go to {_known('sink', 'call')}, or to a windrow.io.Sink of yours",
        )

    def table_source(self) -> Source:
        """What a table is read from, whole; a source that ends."""
        return self.source()


PLACE = ArgumentKind(
    "a place that takes the answer",
    lambda value: isinstance(value, Connector | Sink),
    "windrow.files('out/')",
)

CONNECTORS: Registry[str] = Registry("connector")
"""Where connectors are, as `module:name`, by the names that job files call them by."""

for _name, _place in {
    "files": "windrow.io.files:Files",
    "kafka": "windrow.io.kafka:Kafka",
    "postgres": "windrow.io.postgres.connector:Postgres",
    "delta": "windrow.io.delta_sink:Delta",
    "terminal": "windrow.run.terminal_sink:Shown",
    "generate": "windrow.io.generator:Generate",
}.items():
    CONNECTORS.add(_name, _place)


def _known(what: str, *more: str) -> str:
    """The connectors that have a source, or a sink, as a list in words."""
    has = [
        name
        for name, place in CONNECTORS.items()
        if getattr(load(place), what) is not getattr(Connector, what)
    ]
    *first, last = [*has, *more]
    return f"{', '.join(first)} or {last}"


def source_of(place: Connector | Source) -> Source:
    """The source at a place."""
    return place if isinstance(place, Source) else place.source()


def sink_of(place: Connector | Sink) -> Sink:
    """The sink at a place.

    Raises:
        BindError: that is no place, or takes no answer.
    """
    check_kinds("run", {"to": place}, to=PLACE)
    return place if isinstance(place, Sink) else place.sink()
