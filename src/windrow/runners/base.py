"""What a session asks of the runner that answers its questions."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from html import escape
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias

from windrow.errors import BindError, PlanError, UnsupportedError, WindrowError

if TYPE_CHECKING:
    import pyarrow as pa

    from windrow.io.protocol import Connector, Source
    from windrow.optimize.planner import QueryPlanner
    from windrow.physical.query import PhysicalQuery, Runner
    from windrow.plan.catalog import StreamInfo
    from windrow.plan.changelogs import Instant
    from windrow.plan.functions import UserFunction
    from windrow.plan.nodes.query import Query
    from windrow.plan.statistics import Measured
    from windrow.plan.types import TypeResolver
    from windrow.run.course import Course
    from windrow.run.local.checkpoint import Checkpoint
    from windrow.run.local.sources import Silence
    from windrow.run.progress import Progress
    from windrow.run.spark.launch import Frame
    from windrow.run.spark.progress import ProgressReader
    from windrow.schema import OnArrival, Schema


class ArrowRows(Protocol):
    """Rows that Arrow reads: its own tables, batches and readers, and DataFrames that give theirs."""

    @property
    def __arrow_c_stream__(self) -> Callable[..., object]:
        """What gives them."""


class ColumnsOfRows(Protocol):
    """A DataFrame, as pandas has it."""

    @property
    def columns(self) -> Any:
        """Their names."""

    def __len__(self) -> int:
        """How many rows there are."""


Batch: TypeAlias = "ArrowRows | ColumnsOfRows"

Data: TypeAlias = "Connector | Source | Frame | Batch | Iterable[Batch | Silence]"
"""What a stream or a table may be made of. Type checkers know it; a runner takes what it can read."""


def check_name(name: str) -> None:
    """Refuses what cannot be the name of a stream or a table."""
    if not name:
        raise BindError(
            "bad-name", f"{name!r} is not a name for a stream", hint="give a text such as 'sales'"
        )


def check_function_name(name: str, *, is_taken: bool) -> None:
    """Refuses what cannot be the name of a function: SQL's words, and those that are taken."""
    from windrow.sql.bind.calls import is_free_name  # noqa: PLC0415  # loads the parser

    if is_taken or not is_free_name(name):
        raise BindError(
            "function-name",
            f"{name!r} cannot be the name of a function of yours",
            reason="SQL has a function or a word of that name"
            if name.isidentifier()
            else "a name is one word of letters, digits and _",
            hint="give it another name",
        )


def streaming_table(name: str) -> PlanError:
    """The error of a table that is a streaming DataFrame."""
    return PlanError(
        "streaming-table",
        f"{name} is a streaming input where only a table may stand",
        reason="a table does not move: it is read whole before the streams",
        hint=f"register it as a stream: stream({name!r}, df, time=...)",
    )


def no_figures(answer: object) -> WindrowError:
    """The error of what is asked for its progress and has none."""
    if getattr(answer, "isStreaming", False) is True:
        return UnsupportedError(
            "streaming-progress",
            "a streaming DataFrame has no figures; the query that writes it has",
            hint="progress_reader(..).read(running.lastProgress)",
        )
    return PlanError(
        "not-an-answer",
        "progress figures belong to the very object that sql(..) returned",
        hint="a DataFrame made from it has none: keep the answer, and ask for its progress",
    )


@dataclass
class Registered:
    """What has been registered with a session, by name: what is known of it, and the data."""

    catalog: dict[str, StreamInfo] = field(default_factory=dict)
    data: dict[str, Any] = field(default_factory=dict)
    functions: dict[str, UserFunction] = field(default_factory=dict)

    def __str__(self) -> str:
        kinds = {
            "streams": [name for name, info in self.catalog.items() if not info.is_table],
            "tables": [name for name, info in self.catalog.items() if info.is_table],
            "functions": list(self.functions),
        }
        own = [f"{kind} {', '.join(names)}" for kind, names in kinds.items() if names]
        return "; ".join(own) or "nothing registered"

    def as_html(self) -> str:
        """A table of streams and tables, with columns and event times, and the functions below."""
        rows = "".join(
            f"<tr><td>{escape(name)}</td><td>{'table' if info.is_table else 'stream'}</td>"
            f"<td>{escape(', '.join(f'{one.name}: {one.type}' for one in info.schema.fields))}</td>"
            f"<td>{escape(info.time or '')}</td></tr>"
            for name, info in self.catalog.items()
        )
        head = "<tr><th>name</th><th>kind</th><th>columns</th><th>time</th></tr>"
        functions = f"<p>functions: {escape(', '.join(self.functions))}</p>" * bool(self.functions)
        return f"<table><thead>{head}</thead><tbody>{rows}</tbody></table>{functions}"


@dataclass(frozen=True)
class RegisteredData:
    """Data as the runner wants it; bounded if all of it is there when a query begins."""

    data: Any
    columns: Schema
    is_streaming: bool
    is_bounded: bool


@dataclass(frozen=True)
class Question:
    """A planned query, and how it was asked; `options` are those that the user has set by keyword."""

    logical: Query
    physical: PhysicalQuery
    options: Mapping[str, Any]
    resume: Checkpoint | None = None
    progress: str = "none"

    def planner(self, registered: Registered, tables: Measured[str] | None) -> QueryPlanner:
        """What plans the query again while it runs, by what is known of its streams by then.

        Args:
            registered: the streams and tables.
            tables: counts numbers in those that are tables.
        """
        from windrow.calibration.stored import this_machine  # noqa: PLC0415
        from windrow.optimize.options import by_keyword  # noqa: PLC0415
        from windrow.optimize.planner import QueryPlanner  # noqa: PLC0415
        from windrow.physical.query import Runner  # noqa: PLC0415

        return QueryPlanner(
            self.logical,
            by_keyword(self.options),
            self.physical.options,
            {name: info.statistics for name, info in registered.catalog.items()},
            this_machine(),
            tables,
            is_bounded=self.physical.runner is Runner.spark_batch,
        )


class Run(Protocol):
    """A query whose answer goes to a sink, in the background."""

    @property
    def is_running(self) -> bool:
        """Whether it is still running."""

    @property
    def progress(self) -> Progress | None:
        """How far it has come; None before the first figures."""

    def wait(self, seconds: float | None = None) -> bool:
        """Waits for its end, at most this long; whether it has ended. Raises the error it failed with."""

    def stop(self) -> None:
        """Ends it between two epochs, and waits for that. Raises the error it failed with."""


class SessionRunner(ABC):
    """One way to answer the questions of a session.

    Attributes:
        place: where it does so, in words.
    """

    place: str

    @abstractmethod
    def source(self, name: str, data: Any, schema: pa.Schema | None) -> RegisteredData:
        """The data of a stream or table, as a user gives it.

        Raises:
            BindError: it cannot be read.
        """

    def table(self, name: str, data: Any) -> RegisteredData:
        """The data of a table, in the same way."""
        return self.source(name, data, None)

    def stamped(self, data: Any, time: str | OnArrival | None) -> Any:  # noqa: ARG002
        """A stream's data, with the time of arrival if rows get it before a query takes them."""
        return data

    def whole(self, name: str, data: Any) -> Any:  # noqa: ARG002
        """A table's data, read whole if the runner needs that."""
        return data

    def ways(self, registered: Registered, physical: PhysicalQuery) -> Mapping[str, str]:  # noqa: ARG002
        """How each stream of a query is read, for EXPLAIN, if there are several ways."""
        return {}

    @property
    @abstractmethod
    def types(self) -> TypeResolver:
        """What knows the types of expressions."""

    def has_function(self, name: str) -> bool:
        """Whether the engine of expressions has a function of that name by itself."""
        return self.types.has_function(name)

    def know(self, functions: Mapping[str, UserFunction]) -> None:  # noqa: B027  # or it is given their values
        """Registers functions of the user's with the engine of expressions, if that is needed."""

    def measured(self, registered: Registered) -> Measured[str] | None:  # noqa: ARG002
        """What counts numbers in registered data for the planner; None if planning reads no data."""
        return None

    def check(self, logical: Query, physical: PhysicalQuery) -> None:  # noqa: B027  # often all works
        """Refuses what works only with the other runner."""

    @abstractmethod
    def kind(self, streams: list[StreamInfo]) -> Runner:
        """How a query over these streams runs."""

    @abstractmethod
    def run(self, question: Question, registered: Registered) -> Any:
        """The answer."""

    @abstractmethod
    def start(self, question: Question, registered: Registered, course: Course) -> Run:
        """Runs the query, its answer going to a sink."""

    @abstractmethod
    def progress(self, answer: object) -> Progress | None:
        """The figures of an answer; None if it is not this runner's."""

    @abstractmethod
    def progress_reader(self, plan: Callable[[], PhysicalQuery]) -> ProgressReader:
        """What turns reports of a streaming query into progress records.

        Raises:
            UnsupportedError: nobody reports; the query is then not planned.
        """

    @abstractmethod
    def state_at(self, changelog: Any, instant: Instant) -> Any:
        """The answer of a query at an instant, from its changelog."""
