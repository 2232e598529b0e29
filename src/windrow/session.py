"""The session: streams are registered, questions are asked. The one place where the stages meet."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

from windrow.errors import (
    BindError,
    PlanError,
    UnsupportedError,
    WindrowError,
)
from windrow.plan import arguments as kinds
from windrow.plan.arguments import takes
from windrow.plan.catalog import StreamInfo
from windrow.plan.deep_calls import FEW_LEVELS, deep_calls
from windrow.plan.registering import Lateness, Said, of_changes, stream_info
from windrow.plan.stream_hints import Hints
from windrow.schema import OnArrival, Schema

if TYPE_CHECKING:
    import pyarrow as pa

    from windrow.optimize.planner import QueryPlanner
    from windrow.physical.query import PhysicalQuery, Runner
    from windrow.plan.changelogs import Instant
    from windrow.plan.functions import UserFunction
    from windrow.plan.nodes.query import Query
    from windrow.plan.statistics import Measured
    from windrow.plan.types import TypeResolver
    from windrow.run.local.checkpoint import Checkpoint
    from windrow.run.progress import Progress
    from windrow.run.spark.progress import BatchFigures, ProgressReader


class Session:
    """Streams and tables by name, and the questions asked of them.

    Args:
        spark: a SparkSession, classic or Connect; None runs in process, without a JVM.
        clock: in process, the present instant for streams whose time is given on arrival; the
            system's clock where none is given.

    Raises:
        UnsupportedError: a clock is given for Spark, which has its own.

    Examples:
        >>> import pyarrow as pa
        >>> w = Session()
        >>> w.stream("a", pa.table({"k": [1, 2], "at": [10, 20]}), time="at")
        >>> w.stream("b", pa.table({"k": [1, 2], "at": [12, 29]}), time="at")
        >>> w.sql("SELECT a.k FROM a, b WHERE a.k = b.k WINDOW = 5").to_arrow().to_pydict()
        {'k': [1]}
    """

    @takes(clock=kinds.CLOCK)
    def __init__(self, spark: Any = None, *, clock: Callable[[], datetime] | None = None) -> None:
        if spark is not None and clock is not None:
            raise UnsupportedError(
                "unsupported-clock",
                "a clock works in process alone",
                hint="leave it out: on Spark rows arrive at current_timestamp()",
            )
        self._spark = spark
        self._clock = clock
        self._catalog: dict[str, StreamInfo] = {}
        self._data: dict[str, Any] = {}
        self._functions: dict[str, UserFunction] = {}
        self._resolver: TypeResolver | None = None
        self._figures: WeakKeyDictionary[Any, BatchFigures] = WeakKeyDictionary()

    @takes(
        name=kinds.NAME,
        time=kinds.TIME,
        lateness=kinds.LENGTH,
        rate=kinds.RATE,
        distinct=kinds.COUNTS,
        changes=kinds.CHANGES,
        read_ahead=kinds.ROWS,
        punctuation=kinds.PUNCTUATION,
    )
    def stream(  # noqa: PLR0913  # each is a fact about the stream, and has its own name
        self,
        name: str,
        data: Any,
        *,
        time: str | OnArrival | None = None,
        lateness: Lateness | None = None,
        read_ahead: int | None = None,
        punctuation: str | None = None,
        schema: pa.Schema | None = None,
        rate: str | float | None = None,
        distinct: Mapping[str, float] | None = None,
        changes: str | None = None,
    ) -> None:
        """Registers a stream.

        Args:
            name: what queries call it.
            data: on Spark a DataFrame, batch or streaming. In process an Arrow table, batch or
                reader, a pandas or polars DataFrame, or an iterable of these. A reader or iterator
                is read on a thread of its own; it may block, and give `windrow.NOTHING_NOW` in
                place of a batch.
            time: the event-time column: TIMESTAMP, TIMESTAMP_NTZ, DATE or BIGINT. Or
                `windrow.ON_ARRIVAL`: rows get the instant of their arrival, as a TIMESTAMP column
                `_arrived`, or `windrow.ON_ARRIVAL.named(..)`.
            lateness: the promise that once a tuple with time m was delivered, no tuple with a time
                below m - lateness follows: '5 seconds', a timedelta, or a number of ticks. A
                stream that promises nothing at all comes in the order of time.
            read_ahead: the promise that after so many rows in a row beyond an instant, none at or
                before it follows. On Spark streaming rows must come in one partition, in order.
            punctuation: a BOOLEAN column. Rows where it is true are no data: they promise that no
                row at or before their time follows.
            schema: in process, the columns of an iterator, which is then not read before a query
                asks; else its first batch is read at once, for its columns.
            rate: a hint to the planner: how many tuples come, '1000 per second' for instance, or a
                number per second (per day of a DATE, per tick of a BIGINT).
            distinct: another: how many different values columns have, {'item': 10000}.
            changes: the column that says how a row changes the stream, for a changelog: 'insert',
                'delete', 'update_preimage' (as delete) or 'update_postimage' (as insert). A delete
                takes back the newest row that equals it in all columns but the time.

        Raises:
            BindError: the data, the time column, the column of changes, a promise or a hint
                cannot be used.

        Examples:
            >>> import pyarrow as pa
            >>> sales = pa.table({"item": ["pen"], "at": [7]})
            >>> Session().stream("sales", sales, time="at", lateness=2)
        """
        source, columns, is_streaming = self._read(name, data, schema)
        info = stream_info(
            name,
            columns,
            time,
            Said(lateness, read_ahead, punctuation),
            is_streaming=is_streaming,
            is_bounded=source.is_bounded if self._spark is None else not is_streaming,
            hints=Hints(rate, distinct or {}),
        )
        self._catalog[name] = of_changes(info, changes)
        self._data[name] = self._stamped(source, time)

    @takes(name=kinds.NAME)
    def table(self, name: str, data: Any) -> None:
        """Registers a relation that does not move.

        Args:
            name: what queries call it.
            data: as for a stream, but never a streaming DataFrame.

        Raises:
            PlanError: the data is a streaming DataFrame.

        Examples:
            >>> import pyarrow as pa
            >>> Session().table("favorites", pa.table({"item": ["pen"]}))
        """
        source, schema, is_streaming = self._read(name, data)
        if is_streaming:
            raise PlanError(
                "streaming-table",
                f"{name} is a streaming input where only a table may stand",
                reason="a table does not move: it is read whole before the streams",
                hint=f"register it as a stream: stream({name!r}, df, time=...)",
            )
        self._catalog[name] = StreamInfo(name, schema, None, is_table=True)
        self._data[name] = source if self._spark is not None else self._whole(name, source)

    @takes(
        name=kinds.NAME,
        body=kinds.BODY,
        arguments=kinds.TYPES,
        returns=kinds.TYPE,
        vectorized=kinds.FLAG,
        partial_order=kinds.FLAG,
    )
    def function(
        self,
        name: str,
        body: Callable[..., Any],
        *,
        arguments: Sequence[str] | None = None,
        returns: str | None = None,
        vectorized: bool = True,
        partial_order: bool = False,
    ) -> None:
        """Registers a function of your own, to be called in queries by its name.

        One of two arguments that gives a number, less is better, is an order of bestmatch joins as
        well: `ON l.x nearer r.x`.

        It must be deterministic: the same arguments, the same value. On Spark it is pickled, and
        runs in Python workers.

        Args:
            name: what queries call it; no function of SQL may have the name.
            body: takes one Arrow array per argument and gives an array of as many values. NULLs
                come as they are.
            arguments: the Spark types of the arguments; left out, they are those of each call.
            returns: the Spark type of the value; a predicate is "boolean", which is what None
                means.
            vectorized: False where the body takes single values (NULL as None) and gives one:
                easier to write, and slower.
            partial_order: whether it is an order of bestmatch joins that no number tells. The body
                takes the left and right values of some pairs, then those of as many others, and
                gives 1 where the first pair is better, 0 where both are as good, -1 where it is
                worse, and NULL where neither is; `arguments` are the types of one pair.

        Raises:
            BindError: the name, the body or a type cannot be used.

        Examples:
            >>> import pyarrow as pa
            >>> import pyarrow.compute as pc
            >>> w = Session()
            >>> w.stream("a", pa.table({"word": ["lamb", "oak"], "at": [1, 2]}), time="at")
            >>> w.stream("b", pa.table({"word": ["lame", "elm"], "at": [2, 3]}), time="at")
            >>> w.function(
            ...     "alike",
            ...     lambda a, b: pc.equal(
            ...         pc.utf8_slice_codeunits(a, 0, 2), pc.utf8_slice_codeunits(b, 0, 2)
            ...     ),
            ... )
            >>> query = "SELECT a.word, b.word AS other FROM a, b WHERE alike(a.word, b.word) WINDOW = 5"
            >>> w.sql(query).to_arrow().to_pydict()
            {'word': ['lamb'], 'other': ['lame']}
        """
        from windrow.operators.expressions.functions import user_function  # noqa: PLC0415
        from windrow.sql.bind.calls import is_free_name  # noqa: PLC0415

        own = name.lower()
        is_taken = own not in self._functions and self._has_function(own)
        if not is_free_name(name) or is_taken:
            raise BindError(
                "function-name",
                f"{name!r} cannot be the name of a function of yours",
                reason="SQL has a function or a word of that name"
                if name.isidentifier()
                else "a name is one word of letters, digits and _",
                hint="give it another name",
            )
        self._functions[own] = user_function(
            own, body, arguments, returns, vectorized=vectorized, partial_order=partial_order
        )

    @takes(query=kinds.SQL_TEXT, progress=kinds.PROGRESS)
    @deep_calls()
    def sql(
        self,
        query: str,
        *,
        resume: Checkpoint | None = None,
        progress: str = "none",
        **options: Any,
    ) -> Any:
        """Asks a question.

        Args:
            query: the SQL text.
            resume: in process, where an earlier run of the same query stopped.
            progress: in process, how to show it: auto, none, log, live or json.
            **options: see `windrow.physical.options.Options`; hints in the query say the same.

        Returns:
            On Spark a DataFrame; in process a `windrow.run.local.result.Result`.

        Raises:
            WindrowError: the question cannot be answered; the message shows the place in the SQL.

        Examples:
            >>> import pyarrow as pa
            >>> w = Session()
            >>> w.stream("s", pa.table({"k": [1, 1], "at": [0, 5]}), time="at")
            >>> changes = w.sql("SELECT COUNT(*) AS n FROM s [RANGE 9]").to_arrow()
            >>> changes["n"].to_pylist()
            [1, 1, 2, 2, 1, 1, 0]
        """
        try:
            logical, physical = self._plan(query, options)
            planner = self._planner(logical, physical, options)
            if self._spark is None:
                return self._run_in_process(physical, resume, progress, planner)
            if resume is not None:
                raise UnsupportedError(
                    "unsupported-option",
                    "resume works in process alone",
                    hint="on Spark set checkpointLocation where you write the stream",
                )
            return self._run_on_spark(physical, planner)
        except WindrowError as error:
            error.in_sql(query)
            raise

    @takes(query=kinds.SQL_TEXT)
    @deep_calls()
    def explain(self, query: str, *, format: str = "text", **options: Any) -> str:  # noqa: A002
        """How a question would be answered: a summary to act on, then all of it.

        Args:
            query: the SQL text.
            format: "text", or "json" for the same as data with a version. The text has the data as
                well, as its `data`, and shows itself in notebooks.
            **options: as for `sql`.

        Raises:
            WindrowError: the question cannot be answered.

        Examples:
            >>> import pyarrow as pa
            >>> w = Session()
            >>> w.stream("s", pa.table({"k": [1, 1], "at": [0, 5]}), time="at")
            >>> "SlidingAggregate count(*)" in w.explain("SELECT COUNT(*) AS n FROM s [RANGE 9]")
            True
        """
        from windrow.physical.explain.explanation import check_format, explain  # noqa: PLC0415

        check_format(format)
        try:
            found = explain(*self._plan(query, options))
            return found.to_json() if format == "json" else found
        except WindrowError as error:
            error.in_sql(query)
            raise

    @takes(query=kinds.SQL_TEXT)
    @deep_calls()
    def progress_reader(self, query: str, **options: Any) -> ProgressReader:
        """What turns Spark's reports of a streaming query into progress records.

        Args:
            query: the SQL text that the streaming query was made from.
            **options: as for `sql`.

        Raises:
            UnsupportedError: the session runs in process, where a result has its own progress.

        Examples:
            >>> reader = w.progress_reader("SELECT ...")  # doctest: +SKIP
            >>> print(reader.read(running.lastProgress).line())  # doctest: +SKIP
        """
        if self._spark is None:
            raise UnsupportedError(
                "no-spark-progress",
                "a query in process has no reports of Spark's",
                hint="look at the progress of its result: session.sql(..).progress",
            )
        from windrow.run.spark.progress import ProgressReader  # noqa: PLC0415

        return ProgressReader(self._plan(query, options)[1])

    def progress(self, answer: Any) -> Progress:
        """The figures of a query: rows in and out, late rows, the counters of every operator.

        Args:
            answer: what `sql` returned. In process, a result, under way or done. On Spark, the
                DataFrame of a batch query on which an action has run; the first one is counted.
                `rows_in` is then what a WHERE has left, for Spark need not read the rest.

        Raises:
            PlanError: the answer is not this session's, or has not been computed yet.
            UnsupportedError: the answer is a streaming DataFrame: see `progress_reader`.

        Examples:
            >>> import pyarrow as pa
            >>> w = Session()
            >>> w.stream("s", pa.table({"k": [1, 1], "at": [0, 5]}), time="at")
            >>> counted = w.sql("SELECT COUNT(*) AS n FROM s [RANGE 9]")
            >>> rows = counted.to_arrow()
            >>> w.progress(counted).rows_in, w.progress(counted).rows_out
            (2, 7)
        """
        figures = self._figures.get(answer) if self._spark is not None else None
        if figures is not None:
            return figures.read()
        from windrow.run.progress import Progress  # noqa: PLC0415

        own = getattr(answer, "progress", None) if self._spark is None else None
        if isinstance(own, Progress):
            return own
        if getattr(answer, "isStreaming", False) is True:
            raise UnsupportedError(
                "streaming-progress",
                "a streaming DataFrame has no figures; the query that writes it has",
                hint="progress_reader(..).read(running.lastProgress)",
            )
        raise PlanError(
            "not-an-answer",
            "the figures of an answer are those of what sql(..) returned, as it returned it",
            hint="a DataFrame made from it has none: keep the answer, and ask for its progress",
        )

    def state_at(self, changelog: Any, instant: Instant) -> Any:
        """The answer of a query at an instant, from its changelog: inserts minus deletes until then.

        Args:
            changelog: rows with `_change_type` and `_event_time`, in any order. In process what
                `sql` returned, or an Arrow table, a pandas or polars DataFrame, or batches of
                these; on Spark a DataFrame that is not streaming.
            instant: of the type of `_event_time`: a datetime, with its time zone for TIMESTAMP and
                without one for TIMESTAMP_NTZ, a date, or a whole number. Changes at the instant
                itself count. Below the watermark that the changelog has come to, it is final.

        Returns:
            The rows as a bag, without the two columns of the changelog: an Arrow table, on Spark a
            DataFrame.

        Raises:
            BindError: the rows are no changelog, or the instant is of another type.
            DataError: a change is of no known type, or more copies of a row have gone than came.

        Examples:
            >>> import pyarrow as pa
            >>> w = Session()
            >>> w.stream("s", pa.table({"k": [1, 1], "at": [0, 5]}), time="at")
            >>> changes = w.sql("SELECT k, COUNT(*) AS n FROM s [RANGE 9] GROUP BY k")
            >>> w.state_at(changes, 7).to_pylist()
            [{'k': 1, 'n': 2}]
        """
        if self._spark is not None:
            from windrow.run.spark.changelogs import state_at as on_spark  # noqa: PLC0415

            return on_spark(changelog, instant)
        from windrow.run.local.result import state_at as in_process  # noqa: PLC0415

        return in_process(changelog, instant)

    def _plan(self, sql: str, options: Mapping[str, Any]) -> tuple[Query, PhysicalQuery]:
        # Imported here: `import windrow` and registering streams load neither parser nor planner.
        from windrow.calibration.stored import this_machine  # noqa: PLC0415
        from windrow.optimize.optimizer import optimize  # noqa: PLC0415
        from windrow.optimize.options import by_keyword, check_on_spark  # noqa: PLC0415
        from windrow.sql.compile import compile_query  # noqa: PLC0415

        chosen = by_keyword(options)
        if self._spark is not None and self._functions:
            from windrow.run.spark.functions import register  # noqa: PLC0415

            called = {name: f for name, f in self._functions.items() if name in sql.lower()}
            register(self._spark, called)
        query = compile_query(sql, self._catalog, self._types(), self._functions)
        measured = self._measured()
        physical = optimize(
            query, chosen, measured=measured, tables=measured, machine=this_machine()
        )
        if self._spark is not None:
            check_on_spark(physical.options, query.hints)
        return query, replace(physical, runner=self._runner(physical))

    def _runner(self, physical: PhysicalQuery) -> Runner:
        from windrow.physical.query import Runner  # noqa: PLC0415

        if self._spark is None:
            return Runner.process
        streams = [self._catalog[scan.stream] for scan in physical.root.scans]
        is_streaming = any(stream.is_streaming for stream in streams)
        return Runner.spark_streaming if is_streaming else Runner.spark_batch

    def _measured(self) -> Measured[str] | None:
        """Looks numbers up in the tables of a session in process; Spark's are left alone."""
        if self._spark is not None:
            return None
        from windrow.run.local.stream_statistics import TableStatistics  # noqa: PLC0415

        return TableStatistics(self._catalog, self._data)

    def _planner(
        self, query: Query, physical: PhysicalQuery, options: Mapping[str, Any]
    ) -> QueryPlanner:
        """What plans the query again while it runs, by what is known of its streams by then."""
        from windrow.calibration.stored import this_machine  # noqa: PLC0415
        from windrow.optimize.options import by_keyword  # noqa: PLC0415
        from windrow.optimize.planner import QueryPlanner  # noqa: PLC0415
        from windrow.physical.query import Runner  # noqa: PLC0415

        return QueryPlanner(
            query,
            by_keyword(options),
            physical.options,
            {name: info.statistics for name, info in self._catalog.items()},
            this_machine(),
            self._measured(),
            is_bounded=physical.runner is Runner.spark_batch,
        )

    def _has_function(self, name: str) -> bool:
        """Whether the engine has a function of that name that is not from here."""
        if self._spark is not None:
            from windrow.run.spark.functions import is_ours  # noqa: PLC0415

            if is_ours(self._spark, name):
                return False
        return self._types().has_function(name)

    def _read(
        self, name: str, data: Any, schema: pa.Schema | None = None
    ) -> tuple[Any, Schema, bool]:
        """The data as the runner wants it, its columns, and whether it is endless."""
        if not name:
            raise BindError(
                "bad-name", f"{name!r} is no name for a stream", hint="give a text such as 'sales'"
            )
        if self._spark is not None:
            from windrow.run.spark.frames import describe  # noqa: PLC0415

            if schema is not None:
                raise BindError(
                    "needless-schema",
                    f"{name} is a DataFrame, which has columns of its own",
                    hint="leave schema out: it says what the batches of an iterator look like",
                )
            return data, *describe(data)
        from windrow.run.local.sources import source_of  # noqa: PLC0415

        source = source_of(name, data, schema)
        return source, source.schema, False

    @staticmethod
    def _whole(name: str, source: Any) -> Any:
        """A table with all its rows at hand, however they were given."""
        from windrow.run.local.sources import whole  # noqa: PLC0415

        return whole(name, source)

    def _stamped(self, source: Any, time: str | OnArrival | None) -> Any:
        """The data with the time of arrival; in process rows get it when a query takes them."""
        if self._spark is None or not isinstance(time, OnArrival):
            return source
        from windrow.run.spark.frames import with_arrival  # noqa: PLC0415

        return with_arrival(source, time.column)

    def _types(self) -> TypeResolver:
        if self._resolver is None:
            if self._spark is not None:
                from windrow.run.spark.frames import SparkTypes  # noqa: PLC0415

                self._resolver = SparkTypes(self._spark)
            else:
                from windrow.operators.expressions.evaluate import DuckdbTypes  # noqa: PLC0415

                self._resolver = DuckdbTypes()
        return self._resolver

    def _run_in_process(
        self,
        physical: PhysicalQuery,
        resume: Checkpoint | None,
        progress: str,
        planner: QueryPlanner,
    ) -> Any:
        from windrow.physical.query import levels  # noqa: PLC0415
        from windrow.run.local.execution import Execution  # noqa: PLC0415
        from windrow.run.local.feeds import system_clock  # noqa: PLC0415
        from windrow.run.local.result import Result  # noqa: PLC0415
        from windrow.run.progress import renderer  # noqa: PLC0415

        data = dict(self._data)  # the answer may be asked for again when names stand for other data

        def run() -> Execution:
            return Execution(
                physical,
                data,
                resume=resume,
                renderer=renderer(progress),
                arrival_clock=self._clock or system_clock,
                planner=planner,
            )

        return Result(run, is_deep=levels(physical.root) > FEW_LEVELS)

    def _run_on_spark(self, physical: PhysicalQuery, planner: QueryPlanner) -> Any:
        from windrow.run.spark.failures import within_sparks_stack  # noqa: PLC0415
        from windrow.run.spark.progress import BatchFigures  # noqa: PLC0415
        from windrow.run.spark.query import dataframe  # noqa: PLC0415

        figures = BatchFigures(physical)
        with within_sparks_stack():
            answer = dataframe(self._spark, physical, self._data, figures, planner)
        if not answer.isStreaming:
            self._figures[answer] = figures
        return answer
