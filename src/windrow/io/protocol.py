"""What a source and a sink are, for every runner.

A **source** has partitions, each a sequence of rows that offsets point into. Offsets are JSON, and the
rows between two of them are the same whenever they are asked for:

    partition "0"   |--------|=========|-----------            offsets, of all partitions:
    partition "1"   |--|===============|---                    {"0": 700, "1": 20} to {"0": 1900, "1": 2100}
                       from            to

A **sink** takes the rows of an epoch, and shows them when the epoch is committed. With the rows it stores
the epoch's number for the run that wrote it: after a crash only the sink knows what is committed.

    write(7, rows)    nobody sees them
    commit(7)         all see them, and the sink's last epoch of this run is 7
    commit(7)         changes nothing

So a run is exactly once, though source and sink know nothing of each other:

    step    1 read and compute     2 write(n)     3 checkpoint n, durable     4 commit(n)
    killed  before 4: the sink's last epoch is n - 1, and the run goes on from checkpoint n - 1
    killed  after 4:  it is n, and the run goes on from checkpoint n

Two processes may have the checkpoint of one run: a copy of it, or one whose process was believed to be gone.
To the sink both are the same run, so it keeps with the epochs which process has opened it last. A commit of
another one is refused, in the act that would have made it (`taken_over`). Sinks that do not look, work too.

An error that may pass (a broker that restarts, a full disk) is raised as `Unavailable`: the runner tries
again, for as long as its patience lasts.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, ClassVar, TypeAlias

from windrow.errors import BindError, ResourceError
from windrow.plan.arguments import ArgumentKind, check_kinds
from windrow.registry import Registry, load

if TYPE_CHECKING:
    import pyarrow as pa

Json: TypeAlias = Any
"""What JSON can hold: None, texts, numbers, lists and dictionaries of these."""

Offsets: TypeAlias = Mapping[str, Json]
"""How far a source has been read: an offset per partition; a new partition has none yet."""

NO_EPOCH = -1
"""The last epoch of a run that has committed none."""

FEW_ROWS = 131_072
"""How many rows of a source are read at a time by default: some megabytes."""

PART_ROWS = 131_072
"""How many rows of a range are worth a task."""


class Unavailable(ResourceError):
    """What is outside does not answer now, and may later; if it stays away, someone must act."""


@dataclass(frozen=True)
class Aside:
    """A record that a source could not read as a row: kept aside with its place, never dropped silently.

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

    It can be pickled, and opens what it needs when it is used: on Spark `start` and `latest` are called
    on the driver, `read` in tasks.
    """

    is_cut_by_arrival: ClassVar[bool] = False
    """Whether `latest` tells what has come by chance until then. If so, ranges that follow one another may
    be read as one batch."""

    @abstractmethod
    def columns(self) -> pa.Schema:
        """The columns of its rows; reads no more rows than it must to know them."""

    @abstractmethod
    def start(self) -> Offsets:
        """The offsets at which a new run begins."""

    @abstractmethod
    def latest(self, since: Offsets, most_rows: int = FEW_ROWS) -> Offsets:
        """How far to read next: no further than there is data now, and about `most_rows` rows after `since`.

        Gives `since` again if there is nothing new. It may wait some milliseconds for rows.
        """

    @abstractmethod
    def read(self, partition: str, start: Json | None, end: Json) -> Iterator[pa.RecordBatch]:
        """The rows of a partition between two offsets; None is the beginning."""

    def parts(
        self,
        partition: str,  # noqa: ARG002
        start: Json | None,
        end: Json,
    ) -> Sequence[tuple[Json | None, Json]]:
        """The range cut into consecutive ranges, which tasks may read in parallel.

        Always the same ones, on every machine, of about `PART_ROWS` rows each, if the range can be cut
        without reading it.
        """
        return [(start, end)]

    def only(self, columns: Set[str]) -> Source:  # noqa: ARG002
        """The same rows, by the same offsets, with only these columns, if that saves reading.

        It may give more columns, or return itself. Which rows it finds bad must not change.
        """
        return self

    def has_ended(self, offsets: Offsets) -> bool:  # noqa: ARG002
        """Whether nothing can ever follow these offsets."""
        return False

    def commit(self, offsets: Offsets) -> None:  # noqa: B027  # most forget nothing
        """Called with offsets up to which nothing will be read again."""

    def take_aside(self) -> Sequence[Aside]:
        """The records that could not be read as rows since the last call."""
        return ()

    def close(self) -> None:  # noqa: B027  # most hold nothing open
        """Closes what it has open; it may be used again."""


@dataclass(frozen=True)
class Answer:
    """What a sink knows of the rows that will come.

    Attributes:
        columns: their columns; of a changelog without `_change_type` and `_event_time`, which come last.
        is_changelog: whether rows say how the answer changes.
        keys: the columns of GROUP BY in the answer, or all columns for DISTINCT: at no instant do two
            rows have the same keys. None if rows may be equal.
        time: the type of `_event_time` in a changelog; None if it is not known.
    """

    columns: pa.Schema
    is_changelog: bool = False
    keys: tuple[str, ...] | None = None
    time: pa.DataType | None = None


class Sink(ABC):
    """Where the rows of an answer go.

    It can be pickled while it is open. On Spark it is opened once; `write` runs in tasks, each with its own
    share of an epoch; `commit` runs on the driver, with what the tasks that count have returned. What other
    attempts of a task have written is never visible.
    """

    is_exactly_once: ClassVar[bool] = True
    """Whether it remembers its epochs. If not, it may get an epoch a second time after a crash."""

    writes_anywhere: ClassVar[bool] = True
    """Whether `commit` needs nothing but what `write` has returned, so that tasks in other processes can
    write. If it keeps rows or a transaction in its process, Spark writes to it only from the driver."""

    @abstractmethod
    def open(self, run: str, answer: Answer) -> int:
        """Prepares for the rows of a run; gives the last epoch of the run that is committed.

        From now on no other process may commit epochs of the run, if the sink can see to that.

        Args:
            run: the name of the run, unique, as its checkpoint has it.
            answer: what will come.

        Raises:
            BindError: it has no place for such rows.
        """

    @abstractmethod
    def write(self, epoch: int, batches: Iterable[pa.RecordBatch]) -> Json:
        """Takes rows of an epoch; they are not visible before it is committed.

        An epoch that was written and not committed may be written again, with other rows, which replace
        the first ones.
        """

    @abstractmethod
    def commit(self, epoch: int, written: Sequence[Json]) -> None:
        """Makes the rows of an epoch visible, once, however often it is called.

        Args:
            epoch: its number; numbers grow, and may leave gaps.
            written: what each `write` of it has returned.

        Raises:
            ResourceError: another process has opened the target for this run since (`taken_over`).
        """

    def close(self) -> None:  # noqa: B027  # most hold nothing open
        """Closes what it has open."""


class Connector(ABC):
    """A place outside, as users name it: `windrow.kafka(..)`; a source, a sink, or both.

    It is a frozen dataclass whose fields are its options, in Python and in job files. The first one stands
    behind the connector's name there: `kafka = "orders"`.
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
        """What a table is read from: a source that ends."""
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


def taken_over(target: str, since: datetime) -> ResourceError:
    """The error of a run whose target another process has opened for the same run.

    Args:
        target: where the answer goes, in words.
        since: when it was opened.
    """
    return ResourceError(
        "run-taken-over",
        f"another process has taken over {target}",
        reason=f"it was started at {since.astimezone(UTC):%Y-%m-%d %H:%M:%S} UTC with the checkpoint of"
        " this run, or a copy of it, and goes on in its place; this one has written nothing since",
        hint="let that one run; to run both, give one a checkpoint and a target of its own, and begin it"
        " anew there",
    )


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
