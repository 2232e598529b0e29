"""What a source and a sink are.

A source gives the same rows again when it is asked again: offsets say how far, and are JSON. A sink
takes the batches of an epoch, and commits it; to commit an epoch twice changes nothing.

    source = Numbers(10)
    w.stream("n", rows_of(source), time="t")
    write_to(w.sql("SELECT .."), sink)
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any, TypeAlias

from windrow.registry import Registry

if TYPE_CHECKING:
    import pyarrow as pa

Offsets: TypeAlias = Any
"""How far a source has been read: JSON."""


class Source(ABC):
    """Where the rows of a stream come from."""

    @abstractmethod
    def discover(self) -> pa.Schema:
        """The columns of its rows."""

    @abstractmethod
    def latest(self) -> Offsets:
        """How far there is data now."""

    @abstractmethod
    def read(self, start: Offsets | None, end: Offsets) -> Iterator[pa.RecordBatch]:
        """The rows between two offsets, the same again when asked again; None is the beginning."""

    def commit(self, end: Offsets) -> None:  # noqa: B027  # most forget nothing
        """Is told what will not be asked for again."""


class Sink(ABC):
    """Where the rows of an answer go."""

    @abstractmethod
    def write(self, epoch: int, batches: Iterable[pa.RecordBatch]) -> None:
        """Takes the rows of an epoch; nobody sees them before it is committed."""

    @abstractmethod
    def commit(self, epoch: int) -> None:
        """Shows the rows of an epoch, once, however often it is called."""


SOURCES: Registry[type[Source]] = Registry("source")
"""Kinds of sources, by name."""

SINKS: Registry[type[Sink]] = Registry("sink")
"""Kinds of sinks, by name."""


def rows_of(source: Source) -> pa.Table:
    """What a source has now, for `session.stream` or, on Spark, `createDataFrame`."""
    import pyarrow as pa  # noqa: PLC0415

    end = source.latest()
    return pa.Table.from_batches(source.read(None, end), schema=source.discover())


def write_to(answer: Any, sink: Sink) -> None:
    """Writes a whole answer, in process or of a Spark batch, as one epoch."""
    rows: pa.Table = answer.to_arrow() if hasattr(answer, "to_arrow") else answer.toArrow()
    sink.write(0, rows.to_batches())
    sink.commit(0)
