"""The session: registers streams and answers queries. Here SQL, planner and runners meet."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any, Generic, Literal, Unpack, cast, overload

from windrow.errors import UnsupportedError, errors_in
from windrow.plan import arguments as kinds
from windrow.plan.arguments import takes
from windrow.plan.catalog import Hints, Lateness, Promises, StreamInfo, of_changes, stream_info
from windrow.plan.exprs import deep_calls
from windrow.runners.base import (
    Question,
    Registered,
    Run,
    SessionRunner,
    check_function_name,
    check_name,
    no_figures,
    streaming_table,
)
from windrow.runners.in_process import LocalRunner
from windrow.runners.on_spark import OnSpark
from windrow.schema import OnArrival

if TYPE_CHECKING:
    import pyarrow as pa
    from typing_extensions import TypeVar

    from windrow.io.protocol import Connector, Sink
    from windrow.physical.explain.explanation import Explanation
    from windrow.physical.options import QueryOptions
    from windrow.physical.query import PhysicalQuery
    from windrow.plan.changelogs import Instant
    from windrow.plan.nodes.query import Query
    from windrow.run.local.checkpoint import Checkpoint
    from windrow.run.local.result import Result
    from windrow.run.progress import Progress
    from windrow.run.spark.launch import Frame, Spark
    from windrow.run.spark.progress import ProgressReader
    from windrow.runners.base import Data

    Answer = TypeVar("Answer", default=Any)
    """What a query gives: a Result in process, a DataFrame on Spark."""
else:
    from typing import TypeVar

    Answer = TypeVar("Answer")

ProgressStyle = Literal["auto", "none", "log", "live", "json"]
"""How a query in process shows its progress."""


class Session(Generic[Answer]):
    """Streams and tables by name, and the queries over them.

    Args:
        spark: a SparkSession, classic or Connect; None runs in process, without a JVM. Type checkers
            know by it whether a query gives a Result or a DataFrame.
        clock: in process, gives the present instant for streams whose time is given on arrival;
            None is the system's clock.

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

    @overload
    def __init__(
        self: Session[Result], spark: None = None, *, clock: Callable[[], datetime] | None = None
    ) -> None: ...

    @overload
    def __init__(self: Session[Frame], spark: Spark, *, clock: None = None) -> None: ...

    @takes(clock=kinds.CLOCK)
    def __init__(
        self, spark: Spark | None = None, *, clock: Callable[[], datetime] | None = None
    ) -> None:
        if spark is not None and clock is not None:
            raise UnsupportedError(
                "unsupported-clock",
                "a clock works only in process",
                hint="leave it out: on Spark rows arrive at current_timestamp()",
            )
        self._runner: SessionRunner = LocalRunner(clock) if spark is None else OnSpark(spark)
        self._registered = Registered()

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
        data: Data,
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
            data: a connector (`windrow.kafka(..)`, `windrow.files(..)`) or a `windrow.io.Source`.
                On Spark also a DataFrame, batch or streaming. In process an Arrow table, batch or
                reader, a pandas or polars DataFrame, or an iterable of these. A reader or iterator
                is read on a thread of its own; it may block, and give `windrow.NOTHING_NOW` in
                place of a batch.
            time: the event-time column: TIMESTAMP, TIMESTAMP_NTZ, DATE or BIGINT. Or
                `windrow.ON_ARRIVAL`: rows get the instant of their arrival, as a TIMESTAMP column
                `_arrived`, or `windrow.ON_ARRIVAL.named(..)`.
            lateness: the promise that once a tuple with time m was delivered, no tuple with a time
                below m - lateness follows: '5 seconds', a timedelta, or a number of ticks. Without
                any promise the stream must come in the order of time.
            read_ahead: the promise that after this many consecutive rows beyond an instant, none at
                or before it follows. On Spark streaming rows must come in one partition, in order.
            punctuation: a BOOLEAN column. Rows where it is true are no data: they promise that no
                row at or before their time follows.
            schema: in process, the columns of an iterator; without it the first batch is read at
                once, for its columns.
            rate: a hint to the planner: how many tuples come, '1000 per second' for instance, or a
                number per second (per day of a DATE, per tick of a BIGINT).
            distinct: a hint to the planner: how many different values columns have, {'item': 10000}.
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
        check_name(name)
        source = self._runner.source(name, data, schema)
        info = stream_info(
            name,
            source.columns,
            time,
            Promises(lateness, read_ahead, punctuation),
            is_streaming=source.is_streaming,
            is_bounded=source.is_bounded,
            hints=Hints(rate, distinct or {}),
        )
        self._registered.catalog[name] = of_changes(info, changes)
        self._registered.data[name] = self._runner.stamped(source.data, time)

    @takes(name=kinds.NAME)
    def table(self, name: str, data: Data) -> None:
        """Registers a relation that does not move.

        Args:
            name: what queries call it.
            data: as for a stream, but not a streaming DataFrame; a connector is read once, now.

        Raises:
            PlanError: the data is a streaming DataFrame.

        Examples:
            >>> import pyarrow as pa
            >>> Session().table("favorites", pa.table({"item": ["pen"]}))
        """
        check_name(name)
        source = self._runner.table(name, data)
        if source.is_streaming:
            raise streaming_table(name)
        self._registered.catalog[name] = StreamInfo(name, source.columns, None, is_table=True)
        self._registered.data[name] = self._runner.whole(name, source.data)

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

        A function of two arguments that gives a number is an order of bestmatch joins as well, less
        being better: `ON l.x nearer r.x`.

        It must be deterministic: the same arguments, the same value. On Spark it is pickled, and
        runs in Python workers.

        Args:
            name: what queries call it; no function of SQL may have the name.
            body: takes one Arrow array per argument and gives an array of as many values. NULLs
                are passed on.
            arguments: the Spark types of the arguments; None takes those of each call.
            returns: the Spark type of the value; None means "boolean", for a predicate.
            vectorized: False if the body takes single values (NULL as None) and gives one: easier
                to write, and slower.
            partial_order: whether it is an order of bestmatch joins that compares pairs. The body
                takes the left and right values of some pairs, then those of as many others, and
                gives 1 if the first pair is better, 0 if both are equally good, -1 if it is worse,
                NULL if they cannot be compared; `arguments` are the types of one pair.

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
            >>> query = "SELECT a.word FROM a, b WHERE alike(a.word, b.word) WINDOW = 5"
            >>> w.sql(query).to_arrow().to_pydict()
            {'word': ['lamb']}
        """
        from windrow.operators.expressions.functions import user_function  # noqa: PLC0415

        own, functions = name.lower(), self._registered.functions
        is_taken = own not in functions and self._runner.has_function(own)
        check_function_name(name, is_taken=is_taken)
        functions[own] = user_function(
            own, body, arguments, returns, vectorized=vectorized, partial_order=partial_order
        )

    @takes(query=kinds.SQL_TEXT, progress=kinds.PROGRESS)
    @deep_calls()
    def sql(
        self,
        query: str,
        *,
        resume: Checkpoint | None = None,
        progress: ProgressStyle = "none",
        **options: Unpack[QueryOptions],
    ) -> Answer:
        """Answers a query.

        Args:
            query: the SQL text.
            resume: in process, the checkpoint of an earlier run of the same query.
            progress: in process, how to show it: auto, none, log, live or json.
            **options: see `windrow.physical.options.Options`; hints in the query say the same.

        Returns:
            On Spark a DataFrame; in process a `windrow.run.local.result.Result`.

        Raises:
            WindrowError: the query cannot be answered; the message shows the place in the SQL.

        Examples:
            >>> import pyarrow as pa
            >>> w = Session()
            >>> w.stream("s", pa.table({"k": [1, 1], "at": [0, 5]}), time="at")
            >>> changes = w.sql("SELECT COUNT(*) AS n FROM s [RANGE 9]").to_arrow()
            >>> changes["n"].to_pylist()
            [1, 1, 2, 2, 1, 1, 0]
        """
        with errors_in(query):
            question = Question(*self._plan(query, options), options, resume, progress)
            return cast("Answer", self._runner.run(question, self._registered))

    @takes(query=kinds.SQL_TEXT, progress=kinds.PROGRESS)
    @deep_calls()
    def run(
        self,
        query: str,
        *,
        to: Connector | Sink,
        checkpoint: str | None = None,
        epoch: str | timedelta = "1 second",
        patience: str | timedelta = "5 minutes",
        until_done: bool = False,
        progress: ProgressStyle = "none",
        **options: Unpack[QueryOptions],
    ) -> Run:
        """Runs a query whose answer goes to a sink, exactly once, for as long as data comes.

        Args:
            query: the SQL text.
            to: where the answer goes: `windrow.files(..)`, `windrow.postgres(..)` and others.
            checkpoint: a folder: started again with it, the run goes on where it was, however it
                ended.
            epoch: how long an epoch lasts. It ends earlier if it has rows and there is nothing more to
                read, and later, in process, where the one before is not finished yet; its rows are
                visible then.
            patience: how long sources and sink may be away before the run fails.
            until_done: whether it ends with what is there. With a checkpoint a later run may go on with
                more; without one the streams have ended, and the answer is whole.
            progress: how to show it: auto, none, log, live or json.
            **options: as for `sql`.

        Returns:
            The run, in the background: `wait()` waits for its end, `stop()` ends it.

        Raises:
            WindrowError: it cannot begin.

        Examples:
            >>> run = w.run(
            ...     "SELECT ..", to=windrow.files("out/"), checkpoint="state/"
            ... )  # doctest: +SKIP
            >>> run.wait()  # doctest: +SKIP
        """
        from windrow.io.protocol import sink_of  # noqa: PLC0415
        from windrow.run.course import course_of  # noqa: PLC0415

        course = course_of(sink_of(to), checkpoint, epoch, patience, until_done=until_done)
        with errors_in(query):
            question = Question(*self._plan(query, options), options, None, progress)
            return self._runner.start(question, self._registered, course)

    @overload
    def explain(
        self, query: str, *, format: Literal["text"] = "text", **options: Unpack[QueryOptions]
    ) -> Explanation: ...

    @overload
    def explain(
        self, query: str, *, format: Literal["json"], **options: Unpack[QueryOptions]
    ) -> str: ...

    @takes(query=kinds.SQL_TEXT)
    @deep_calls()
    def explain(
        self,
        query: str,
        *,
        format: Literal["text", "json"] = "text",  # noqa: A002
        **options: Unpack[QueryOptions],
    ) -> str:
        """How a query would be answered: a summary to act on, then all details.

        Args:
            query: the SQL text.
            format: "text", or "json" for the same as data with a version. The text has this as its
                `data`, too, and is shown well in notebooks.
            **options: as for `sql`.

        Returns:
            The text, as an `Explanation`, which is a str with `data` and `to_json()`; for "json" a str.

        Raises:
            WindrowError: the query cannot be answered.

        Examples:
            >>> import pyarrow as pa
            >>> w = Session()
            >>> w.stream("s", pa.table({"k": [1, 1], "at": [0, 5]}), time="at")
            >>> "SlidingAggregate count(*)" in w.explain("SELECT COUNT(*) AS n FROM s [RANGE 9]")
            True
        """
        from windrow.physical.explain.explanation import check_format, explain  # noqa: PLC0415

        check_format(format)
        with errors_in(query):
            found = explain(*self._plan(query, options))
            return found.to_json() if format == "json" else found

    @takes(query=kinds.SQL_TEXT)
    @deep_calls()
    def progress_reader(self, query: str, **options: Unpack[QueryOptions]) -> ProgressReader:
        """What turns Spark's reports of a streaming query into progress records.

        Args:
            query: the SQL text that the streaming query was made from.
            **options: as for `sql`.

        Raises:
            UnsupportedError: the session runs in process; a result has its own progress.

        Examples:
            >>> reader = w.progress_reader("SELECT ...")  # doctest: +SKIP
            >>> print(reader.read(running.lastProgress).line())  # doctest: +SKIP
        """
        return self._runner.progress_reader(lambda: self._plan(query, options)[1])

    def progress(self, answer: Answer) -> Progress:
        """The figures of a query: rows in and out, late rows, the counters of every operator.

        Args:
            answer: what `sql` returned. In process, a result, under way or done. On Spark, the
                DataFrame of a batch query on which an action has run; only the first is counted.
                `rows_in` does not count rows that a WHERE has removed: Spark need not read them.

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
        found = self._runner.progress(answer)
        if found is None:
            raise no_figures(answer)
        return found

    @overload
    def state_at(self: Session[Frame], changelog: Any, instant: Instant) -> Frame: ...

    @overload
    def state_at(self, changelog: Any, instant: Instant) -> Any: ...

    def state_at(self, changelog: Any, instant: Instant) -> Any:
        """The answer of a query at an instant, from its changelog: inserts minus deletes until then.

        Args:
            changelog: rows with `_change_type` and `_event_time`, in any order. In process what
                `sql` returned, or an Arrow table, a pandas or polars DataFrame, or batches of
                these; on Spark a DataFrame that is not streaming.
            instant: of the type of `_event_time`: a datetime, with its time zone for TIMESTAMP and
                without one for TIMESTAMP_NTZ, a date, or a whole number. Changes at the instant
                itself count. The answer is final if the changelog's watermark is beyond it.

        Returns:
            The rows as a bag, without the two columns of the changelog: an Arrow table, on Spark a
            DataFrame.

        Raises:
            BindError: the rows are no changelog, or the instant is of another type.
            DataError: a change is of no known type, or a row was deleted more often than inserted.

        Examples:
            >>> import pyarrow as pa
            >>> w = Session()
            >>> w.stream("s", pa.table({"k": [1, 1], "at": [0, 5]}), time="at")
            >>> changes = w.sql("SELECT k, COUNT(*) AS n FROM s [RANGE 9] GROUP BY k")
            >>> w.state_at(changes, 7).to_pylist()
            [{'k': 1, 'n': 2}]
        """
        return self._runner.state_at(changelog, instant)

    def __repr__(self) -> str:
        return f"<Session {self._runner.place}: {self._registered}>"

    def _repr_html_(self) -> str:
        """What a notebook shows: what has been registered, with columns and event times."""
        return f"<p>Session {self._runner.place}</p>{self._registered.as_html()}"

    def _plan(self, sql: str, options: Mapping[str, Any]) -> tuple[Query, PhysicalQuery]:
        # Imported here: `import windrow` and registering streams load neither parser nor planner.
        from windrow.calibration.stored import this_machine  # noqa: PLC0415
        from windrow.optimize.options import by_keyword  # noqa: PLC0415
        from windrow.optimize.planner import optimize  # noqa: PLC0415
        from windrow.sql.compile import compile_query  # noqa: PLC0415

        chosen, functions = by_keyword(options), self._registered.functions
        catalog = self._registered.catalog
        self._runner.know({name: f for name, f in functions.items() if name in sql.lower()})
        query = compile_query(sql, catalog, self._runner.types, functions)
        measured = self._runner.measured(self._registered)
        physical = optimize(
            query, chosen, measured=measured, tables=measured, machine=this_machine()
        )
        self._runner.check(query, physical)
        streams = [catalog[scan.stream] for scan in physical.root.scans]
        ways = self._runner.ways(self._registered, physical)
        return query, replace(physical, runner=self._runner.kind(streams), ways=ways)
