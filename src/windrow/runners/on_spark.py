"""Questions answered on Spark, batch or streaming."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, cast
from weakref import WeakKeyDictionary

from windrow.errors import BindError, UnsupportedError
from windrow.io.protocol import Connector, Source, source_of
from windrow.runners.base import Question, Registered, RegisteredData, Run, SessionRunner
from windrow.schema import OnArrival

if TYPE_CHECKING:
    import pyarrow as pa

    from windrow.physical.query import PhysicalQuery, Runner
    from windrow.plan.catalog import StreamInfo
    from windrow.plan.changelogs import Instant
    from windrow.plan.functions import UserFunction
    from windrow.plan.nodes.query import Query
    from windrow.plan.types import TypeResolver
    from windrow.run.course import Course
    from windrow.run.progress import Progress
    from windrow.run.spark.launch import ClassicSpark, Frame, Spark
    from windrow.run.spark.progress import BatchFigures, ProgressReader


class OnSpark(SessionRunner):
    """The runner of a session on Spark, classic or Connect."""

    place = "on Spark"

    def __init__(self, spark: Spark) -> None:
        self._spark = cast("ClassicSpark", spark)
        self._figures: WeakKeyDictionary[Any, BatchFigures] = WeakKeyDictionary()

    def source(self, name: str, data: Any, schema: pa.Schema | None) -> RegisteredData:
        """The DataFrame, or the source; nothing but its columns is asked of it."""
        from windrow.run.spark.frames import describe  # noqa: PLC0415

        if schema is not None:
            raise BindError(
                "needless-schema",
                f"{name} is a DataFrame, which has columns of its own",
                hint="leave schema out: it says what the batches of an iterator look like",
            )
        if isinstance(data, Connector | Source):
            from windrow.run.spark.outside_source import OutsideStream, Reading  # noqa: PLC0415

            stream = OutsideStream(Reading(source_of(data), name))
            return RegisteredData(stream, stream.columns, is_streaming=True, is_bounded=False)
        columns, is_streaming = describe(data)
        return RegisteredData(data, columns, is_streaming, is_bounded=not is_streaming)

    def stamped(self, data: Any, time: str | OnArrival | None) -> Any:
        """The DataFrame with a column of the time of arrival, where that is its time."""
        if not isinstance(time, OnArrival):
            return data
        from windrow.run.spark.frames import with_arrival  # noqa: PLC0415
        from windrow.run.spark.outside_source import OutsideStream  # noqa: PLC0415

        if isinstance(data, OutsideStream):
            return replace(data, arrival=time.column)
        return with_arrival(data, time.column)

    def table(self, name: str, data: Any) -> RegisteredData:
        """The DataFrame, or all rows of a source, read now."""
        if isinstance(data, Connector | Source):
            from windrow.run.spark.outside_source import table_frame  # noqa: PLC0415

            if getattr(data, "refresh", None) is not None:
                raise UnsupportedError(
                    "refresh-on-spark",
                    f"{name} is to be read again, which works only in process",
                    reason="on Spark the table of a running query stays what it was when it began",
                    hint="leave refresh out, and start the run again when the table has changed",
                )
            outside = data.table_source() if isinstance(data, Connector) else data
            data = table_frame(self._spark, name, outside)
        return self.source(name, data, None)

    def ways(self, registered: Registered, physical: PhysicalQuery) -> dict[str, str]:
        """By a source of ours, as blobs or as rows, or as the DataFrame that it is."""
        from windrow.physical.query import stream_obstacles  # noqa: PLC0415
        from windrow.run.spark.outside_source import OutsideStream  # noqa: PLC0415

        obstacles = stream_obstacles(physical.root)

        def told(stream: str) -> str:
            own = registered.data[stream]
            if not isinstance(own, OutsideStream):
                return "by Spark: a DataFrame"
            by = f"by {type(own.reading.source).__name__}, in tasks"
            why = obstacles.get(stream)
            if why:
                return f"{by}, as rows that Spark hands on: {why}"
            return f"{by}, and packed there for the operators: Spark moves blobs"

        return {scan.stream: told(scan.stream) for scan in physical.root.scans}

    @cached_property
    def types(self) -> TypeResolver:
        """Spark itself."""
        from windrow.run.spark.frames import SparkTypes  # noqa: PLC0415

        return SparkTypes(self._spark)

    def has_function(self, name: str) -> bool:
        """Whether Spark has a function of that name that no session of Windrow gave it."""
        from windrow.run.spark.frames import is_ours  # noqa: PLC0415

        return not is_ours(self._spark, name) and super().has_function(name)

    def know(self, functions: Mapping[str, UserFunction]) -> None:
        """Registers functions of the user's with Spark."""
        if functions:
            from windrow.run.spark.frames import register  # noqa: PLC0415

            register(self._spark, functions)

    def check(self, logical: Query, physical: PhysicalQuery) -> None:
        """Refuses options that work only in process."""
        from windrow.optimize.options import check_on_spark  # noqa: PLC0415

        check_on_spark(physical.options, logical.hints)

    def kind(self, streams: list[StreamInfo]) -> Runner:
        """Streaming, where a stream is."""
        from windrow.physical.query import Runner  # noqa: PLC0415

        is_streaming = any(stream.is_streaming for stream in streams)
        return Runner.spark_streaming if is_streaming else Runner.spark_batch

    def run(self, question: Question, registered: Registered) -> Frame:
        """A DataFrame."""
        from windrow.run.spark.failures import within_sparks_stack  # noqa: PLC0415
        from windrow.run.spark.outside_run import frames_of  # noqa: PLC0415
        from windrow.run.spark.progress import BatchFigures  # noqa: PLC0415
        from windrow.run.spark.query import Builder  # noqa: PLC0415

        if question.resume is not None:
            raise UnsupportedError(
                "unsupported-option",
                "resume works only in process",
                hint="on Spark set checkpointLocation where you write the stream",
            )
        physical = question.physical
        figures = BatchFigures(physical)
        planner = question.planner(registered, None)
        with within_sparks_stack():
            frames = frames_of(self._spark, registered.data, physical)
            answer = Builder(self._spark, physical, frames, figures, planner).answer()
        if not answer.isStreaming:
            self._figures[answer] = figures
        return answer

    def start(self, question: Question, registered: Registered, course: Course) -> Run:
        """Writes its answer to a sink of ours, by Spark's own epochs."""
        from windrow.run.spark.outside_run import start  # noqa: PLC0415

        planner = question.planner(registered, None)
        return start(
            self._spark,
            question.physical,
            registered.data,
            course,
            planner,
            progress=question.progress,
        )

    def progress(self, answer: object) -> Progress | None:
        """Those of a batch query on whose DataFrame an action has run."""
        figures = self._figures.get(answer)
        return None if figures is None else figures.read()

    def progress_reader(self, plan: Callable[[], PhysicalQuery]) -> ProgressReader:
        """What reads Spark's reports of a streaming query."""
        from windrow.run.spark.progress import ProgressReader  # noqa: PLC0415

        return ProgressReader(plan())

    def state_at(self, changelog: Any, instant: Instant) -> Frame:
        """The rows as a DataFrame."""
        from windrow.run.spark.frames import state_at  # noqa: PLC0415

        return state_at(changelog, instant)
