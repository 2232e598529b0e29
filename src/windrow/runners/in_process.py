"""Questions answered in this process, without a JVM."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any

from windrow.errors import UnsupportedError
from windrow.io.protocol import Connector, Source
from windrow.plan.exprs import FEW_LEVELS
from windrow.runners.base import Question, Registered, RegisteredData, Run, SessionRunner

if TYPE_CHECKING:
    from collections.abc import Callable
    from datetime import datetime

    import pyarrow as pa

    from windrow.physical.query import PhysicalQuery, Runner
    from windrow.plan.catalog import StreamInfo
    from windrow.plan.changelogs import Instant
    from windrow.plan.statistics import Measured
    from windrow.plan.types import TypeResolver
    from windrow.run.course import Course
    from windrow.run.local.execution import Execution
    from windrow.run.local.result import Result
    from windrow.run.progress import Progress
    from windrow.run.spark.progress import ProgressReader


class LocalRunner(SessionRunner):
    """The runner of a session without Spark; `clock` is the session's, None the system's."""

    place = "in process"

    def __init__(self, clock: Callable[[], datetime] | None) -> None:
        self._clock = clock

    def source(self, name: str, data: Any, schema: pa.Schema | None) -> RegisteredData:
        """The data as batches; read for its columns where nobody says them."""
        from windrow.run.local import sources  # noqa: PLC0415
        from windrow.run.local.followed import FollowedSource  # noqa: PLC0415

        if isinstance(data, Connector | Source):
            source: sources.BatchReader = FollowedSource(name, data)
        else:
            source = sources.source_of(name, data, schema)
        return RegisteredData(
            source, source.schema, is_streaming=False, is_bounded=source.is_bounded
        )

    def table(self, name: str, data: Any) -> RegisteredData:
        """The data as a table; one from outside is read here, whole."""
        from windrow.run.local.tables import outside_table  # noqa: PLC0415

        if not isinstance(data, Connector | Source):
            return self.source(name, data, None)
        outside = data if isinstance(data, Source) else data.table_source()
        rows = outside_table(name, outside, getattr(data, "refresh", None))
        return RegisteredData(rows, rows.schema, is_streaming=False, is_bounded=True)

    def whole(self, name: str, data: Any) -> Any:
        """All rows of a table, however they were given."""
        from windrow.run.local.sources import whole  # noqa: PLC0415

        return whole(name, data)

    @cached_property
    def types(self) -> TypeResolver:
        """DuckDB, which evaluates expressions in process."""
        from windrow.operators.expressions.evaluate import DuckdbTypes  # noqa: PLC0415

        return DuckdbTypes()

    def measured(self, registered: Registered) -> Measured[str] | None:
        """Numbers counted in the tables and streams that are at hand."""
        from windrow.run.local.stream_statistics import TableStatistics  # noqa: PLC0415

        return TableStatistics(registered.catalog, registered.data)

    def kind(self, streams: list[StreamInfo]) -> Runner:  # noqa: ARG002
        """In process."""
        from windrow.physical.query import Runner  # noqa: PLC0415

        return Runner.process

    def run(self, question: Question, registered: Registered) -> Result:
        """A result, whose rows are computed as they are asked for."""
        from windrow.physical.query import levels  # noqa: PLC0415
        from windrow.run.local.execution import Execution  # noqa: PLC0415
        from windrow.run.local.feeds import system_clock  # noqa: PLC0415
        from windrow.run.local.result import Result  # noqa: PLC0415
        from windrow.run.local.tables import check_refreshed  # noqa: PLC0415
        from windrow.run.progress import renderer  # noqa: PLC0415

        check_refreshed(question.physical, registered.data)
        planner = question.planner(registered, self.measured(registered))
        # The answer may be asked for again when names stand for other data.
        data = dict(registered.data)
        streams = {scan.stream for scan in question.physical.root.scans}

        def begin() -> Execution:
            return Execution(
                question.physical,
                {**data, **{name: data[name].for_query() for name in streams}},
                resume=question.resume,
                renderer=renderer(question.progress),
                arrival_clock=self._clock or system_clock,
                planner=planner,
            )

        return Result(begin, is_deep=levels(question.physical.root) > FEW_LEVELS)

    def start(self, question: Question, registered: Registered, course: Course) -> Run:
        """A run on a thread of its own."""
        from windrow.run.local.durable_run import start  # noqa: PLC0415
        from windrow.run.local.tables import check_refreshed  # noqa: PLC0415

        check_refreshed(question.physical, registered.data)
        planner = question.planner(registered, self.measured(registered))
        return start(
            question.physical,
            registered.data,
            course,
            planner,
            progress=question.progress,
            clock=self._clock,
        )

    def progress(self, answer: object) -> Progress | None:
        """Those of a result."""
        from windrow.run.progress import Progress  # noqa: PLC0415

        own = getattr(answer, "progress", None)
        return own if isinstance(own, Progress) else None

    def progress_reader(self, plan: Callable[[], PhysicalQuery]) -> ProgressReader:  # noqa: ARG002
        """Nothing reports but the result itself."""
        raise UnsupportedError(
            "no-spark-progress",
            "a query in process has no Spark reports",
            hint="look at the progress of its result: session.sql(..).progress",
        )

    def state_at(self, changelog: Any, instant: Instant) -> pa.Table:
        """The rows as an Arrow table."""
        from windrow.run.local.result import state_at  # noqa: PLC0415

        return state_at(changelog, instant)
