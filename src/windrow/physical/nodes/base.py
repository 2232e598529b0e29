"""What every physical node answers, with the answers that most of them give."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence, Set
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar, Self

from windrow.errors import InternalError
from windrow.plan.nodes.base import Node, classes_of, kept_of
from windrow.schema import END, SIGN

if TYPE_CHECKING:
    from windrow.physical.estimates import Estimate
    from windrow.physical.explain.facts import Fact, Show
    from windrow.physical.nodes.multi_join import MultiJoin
    from windrow.physical.nodes.scans import ScanStream, ScanTable
    from windrow.physical.options import Options
    from windrow.physical.partitioning.buckets import Partitioning
    from windrow.plan.exprs import Expr, Named
    from windrow.plan.statistics import Figure, Rates
    from windrow.schema import Schema


class PhysicalNode:
    """A part of a query, and how it is computed: frozen, picklable, without data.

    Nodes are dataclasses over one of the shapes in `shapes.py`.
    """

    is_stateful: ClassVar[bool] = False
    """Whether an operator computes it; else DuckDB in process, Spark on Spark."""

    spoken: ClassVar[str] = ""
    """What people call it, with its article, where a query is spoken of by it; "" where it is not."""

    is_evaluated: ClassVar[bool] = False
    """Whether the engine of expressions computes it row by row: a filter, a projection, a window."""

    is_priced: ClassVar[bool] = False
    """Whether there is a model of what it costs, so that it may have an `estimate`."""

    driver: ClassVar[str] = "windrow.operators.engine.driver:OperatorDriver"
    """What runs it in process, and in Spark's workers where it has state, as `module:class`."""

    relation: ClassVar[str] = ""
    """What makes a DataFrame of it on Spark, as `module:function`; "" where a stage does."""

    demand: ClassVar[str] = ""
    """What divides its limits among its buckets on Spark, as `module:function`; "" where it has none.

    It is given the node and how many buckets there are."""

    identity_fields: ClassVar[tuple[str, ...]]
    """What tells it from another in a checkpoint, by name: not how it is computed, nor for how much."""

    identity_later: ClassVar[tuple[str, ...]] = ()
    """The same; but checkpoints of before these were there stay valid where they say nothing."""

    identity_name: ClassVar[str] = ""
    """Its name in a checkpoint; "" for that of the class."""

    is_join: ClassVar[bool] = False
    """Whether it joins streams by windows."""

    has_rate: ClassVar[bool] = False
    """Whether its rate follows from those of its inputs."""

    has_versions: ClassVar[bool] = False
    """Whether its rows change: one goes and another comes in its place."""

    estimates: ClassVar[bool] = False
    """Whether it estimates totals of rows of which some were shed: every bucket is told where."""

    lets_go_of_met: ClassVar[bool] = False
    """Whether it lets go of rows as soon as they have met, so that a whole batch need not wait."""

    if TYPE_CHECKING:

        @property
        def inputs(self) -> tuple[PhysicalNode, ...]:
            """What it reads, in order."""

        @property
        def schema(self) -> Schema:
            """Its columns."""

        @property
        def estimate(self) -> Estimate | None:
            """What it and other plans cost, where enough is known."""

        @property
        def time_type(self) -> str:
            """The type of its event time."""

    else:
        estimate = None

    def with_inputs(self, inputs: Sequence[PhysicalNode]) -> Self:
        """The same over other inputs; the very same object where nothing changed."""
        if all(new is old for new, old in zip(inputs, self.inputs, strict=True)):
            return self
        return self._over(inputs)

    def _over(self, inputs: Sequence[PhysicalNode]) -> Self:
        made: Any = replace(self, inputs=tuple(inputs))  # type: ignore[type-var]
        return made  # type: ignore[no-any-return]

    def walk(self) -> Iterator[PhysicalNode]:
        """The node and all below it, each before its inputs."""
        yield self
        for child in self.inputs:
            yield from child.walk()

    @property
    def spoken_names(self) -> list[str]:
        """What people call it and those below it that a query is spoken of by, each once."""
        return list(dict.fromkeys(node.spoken for node in self.walk() if node.spoken))

    @property
    def scans(self) -> tuple[ScanStream, ...]:
        """The streams that it reads, from left to right."""
        return tuple(scan for child in self.inputs for scan in child.scans)

    @property
    def window_joins(self) -> tuple[MultiJoin, ...]:
        """The window joins at and below it, each before those below."""
        return tuple(join for child in self.inputs for join in child.window_joins)

    @property
    def aliases_of_streams(self) -> tuple[str, ...]:
        """Of a join, how the user calls those inputs that no join makes."""
        return ()

    @property
    def tables(self) -> tuple[ScanTable, ...]:
        """The tables that it reads, from left to right."""
        return tuple(scan for child in self.inputs for scan in child.tables)

    @property
    def has_state(self) -> bool:
        """Whether an operator makes its rows, or some of them."""
        return self.is_stateful or any(child.has_state for child in self.inputs)

    @property
    def takes_back(self) -> bool:
        """Whether it, or one below it, makes changes: rows that come and go."""
        return any(child.takes_back for child in self.inputs)

    @property
    def has_ends(self) -> bool:
        """Whether its rows stop being alive by themselves: a window per row lies below."""
        return any(child.has_ends for child in self.inputs)

    @property
    def marks_below(self) -> tuple[str, ...]:
        """Which of end and sign the rows of some input carry."""
        below = {mark for child in self.inputs for mark in child.row_marks}
        return tuple(mark for mark in (END, SIGN) if mark in below)

    @property
    def row_marks(self) -> tuple[str, ...]:
        """Which of end and sign its rows carry beside their time."""
        return self.marks_below

    @property
    def alive_ticks(self) -> int | None:
        """How many ticks after its time a row is alive at most; None where no window says."""
        return None

    @property
    def leaves_in_order(self) -> bool:
        """Whether all of its rows leave in the order in which they came."""
        return False

    @property
    def is_joined(self) -> bool:
        """Whether its rows are combinations of several, each with the time of its last."""
        return False

    @property
    def origin(self) -> ScanStream | None:
        """The stream of which it has the rows, perhaps not all; None where they are made otherwise."""
        return None

    @property
    def row_inputs(self) -> tuple[PhysicalNode, ...]:
        """The inputs whose rows pass through it one by one, each with its time, end and sign."""
        return ()

    def with_rows(self, rewrite: Callable[[PhysicalNode], PhysicalNode]) -> Self:
        """The same over rewritten `row_inputs`; a table beside them stays."""
        rows = self.row_inputs
        return self.with_inputs([*map(rewrite, rows), *self.inputs[len(rows) :]])

    @property
    def whole_inputs(self) -> tuple[PhysicalNode, ...]:
        """The inputs of which every row is one of its own, and lives as long."""
        return ()

    @property
    def held_inputs(self) -> tuple[PhysicalNode, ...] | None:
        """The inputs of which it holds the rows that are alive; None where that is no bound."""
        return None if self.is_stateful else ()

    @property
    def range_ticks(self) -> int | None:
        """The window that it gives every row, in ticks."""
        return None

    @property
    def own_window(self) -> tuple[str, int] | None:
        """The length of the window that it keeps rows by, in "ticks" or in "rows"."""
        return None

    @property
    def works_on_signs(self) -> bool:
        """Whether rows that are taken back serve it as well as rows that end."""
        return False

    @property
    def keeps_buckets(self) -> bool:
        """Whether it only picks and renames columns, or sets windows: rows stay where they have met."""
        return False

    @property
    def bucket_keys(self) -> tuple[KeyClass, ...]:
        """The keys that tell the bucket of every result, where it is spread by their shares."""
        return ()

    @property
    def may_be_merged(self) -> bool:
        """Whether rows of equal time, end and sign may be added up before they reach it."""
        return False

    @property
    def has_totals(self) -> bool:
        """Whether it gives totals, which may be estimated."""
        return False

    @property
    def needs_all_rows(self) -> str:
        """What a query has by it that cannot be told from a part of the rows; "" for nothing."""
        return ""

    def cannot_shed(self, asked: str | None) -> str:  # noqa: ARG002
        """Why it, a join by the algorithm that was asked for, cannot shed; "" where it can."""
        return f"the query's join is {self.spoken}"

    def handing_on_draws(self) -> PhysicalNode:
        """The same over rows of a join that sheds, with the columns that totals are estimated from.

        Raises:
            UnsupportedError: no total can be estimated through it.
        """
        return self

    @property
    def can_expire(self) -> bool:
        """Whether it is a join that keeps each row as long as it is alive, and no longer."""
        return False

    def columns_below(self, shown: Set[str]) -> set[str]:
        """The columns of its input that some of its own columns show as they are."""
        return set(shown)

    def source_of(self, column: str) -> tuple[str, str] | None:
        """The stream and the column of it that a column shows; None where it is computed."""
        below = [child for child in self.inputs if column in child.schema.names]
        return below[0].source_of(column) if below else None

    def rate(self, rates: Rates) -> Figure | None:  # noqa: ARG002
        """Its rows per tick; None where that is not known."""
        return None

    @property
    def matches(self) -> list[str]:
        """How often a row comes through the joins with tables on its way from the last stage."""
        return []

    def lifetime(self, length: str) -> str:
        """From when to when a row is alive, in words; `length` is that of `alive_ticks`."""
        return f"from t to t + {length}, both included"

    @property
    def own_delay(self) -> int:
        """How many ticks its rows may trail the watermark that it is handed."""
        return 0

    @property
    def delay(self) -> int:
        """How many ticks its rows may trail the watermark of the streams below.

        A runner hands an operator the query's watermark less the delays below it.
        """
        return max((child.delay for child in self.inputs), default=0) + self.own_delay

    # What EXPLAIN, checkpoints and Spark ask.

    @property
    def title(self) -> str:
        """The node in a few words, for EXPLAIN and for progress figures."""
        return type(self).__name__

    def facts(self, options: Options, show: Show) -> list[Fact]:  # noqa: ARG002
        """What EXPLAIN tells below the title, in the order it is read.

        Every bound follows from the numbers that the operator uses: a plan that reads well holds.

        Args:
            options: those of the query.
            show: gives a flat column name as the user knows it.
        """
        return []

    @property
    def warnings(self) -> tuple[str, ...]:
        """What the user should act on before running it, for the summary of EXPLAIN."""
        return ()

    @property
    def about(self) -> str:
        """What it does, in the words that a checkpoint keeps for people."""
        return self.title

    @property
    def brief(self) -> str:
        """What people call it, and what it is over: for the summary of EXPLAIN."""
        _, _, rest = self.title.partition(" ")
        return f"{self.about} {rest}" if rest else self.about

    def identity(self) -> tuple[object, ...]:
        """What it computes, as a checkpoint remembers it: a name, then names with values."""
        own = [(name, getattr(self, name)) for name in self.identity_fields]
        later = [(name, value) for name in self.identity_later if (value := getattr(self, name))]
        return (self.identity_name or type(self).__name__, *own, *later)

    # What runners ask.

    @property
    def fed_by_streams(self) -> tuple[bool, ...]:
        """Per input, whether streams feed it without an operator in between: its rows may be late."""
        return tuple(not child.has_state for child in self.inputs)

    @property
    def hears_of_expiry(self) -> bool:
        """Whether, by negative tuples, rows tell it what goes, so that time need not."""
        return False

    @property
    def only_forgets_ahead(self) -> bool:
        """Whether nothing but forgetting follows if it is advanced beyond the query's watermark."""
        return False

    @property
    def plan_name(self) -> str:
        """By which of several plans it runs, in a few words; "" where there are no plans."""
        return ""

    @property
    def plan_kind(self) -> str:
        """The same without the order of inputs: there are few of these, whatever the numbers are."""
        return ""

    def runs_like(self, other: object) -> bool:  # noqa: ARG002
        """Whether it runs as another plan of the same step does."""
        return True

    @property
    def may_multiply(self) -> bool:
        """Whether it may give one row several times, without state."""
        return False

    @property
    def row_tests(self) -> tuple[Expr, ...]:
        """What a row must meet to pass, where rows pass one by one."""
        return ()

    @property
    def computed_columns(self) -> tuple[Named, ...] | None:
        """Its columns, where it computes them; None where they are those of its input."""
        return None

    # What depends on shedding is asked here alone; the answers are those of nodes without any limit.

    @property
    def is_limited(self) -> bool:
        """Whether it is told how much it may hold, or do: beyond that it sheds, or fails."""
        return False

    @property
    def sheds(self) -> bool:
        """Whether it, or one below it, may give a part of the whole answer."""
        return any(child.sheds for child in self.inputs)

    @property
    def probe_limit(self) -> str:
        """How many arrivals may probe, and what happens beyond, in words; "" where all do."""
        return ""

    @property
    def shed_row_bytes(self) -> int:
        """Of a join that sheds, what a tuple takes beside its columns; 0 elsewhere."""
        return 0

    def in_bucket(self, buckets: int) -> PhysicalNode:  # noqa: ARG002
        """What each of so many buckets of a stage computes.

        Raises:
            PlanError: the part of what there is that each gets is too little.
        """
        return self

    @property
    def combiner(self) -> str:
        """What makes a task's rows fewer before they are sent to buckets, as `module:function`.

        It is given the node, the rows, and columns that are needed as they are; "" where all rows go.
        """
        return ""

    @property
    def follows_a_batch(self) -> bool:
        """Whether a large batch costs it more than small ones of the same rows."""
        return False

    @property
    def has_plans(self) -> bool:
        """Whether there are several plans for it, of which one is chosen by its cost."""
        return False

    def partitioning(self, buckets: int) -> Partitioning:  # noqa: ARG002
        """How the rows of its inputs are spread over at most so many buckets, if it has state."""
        raise self._not_stateful()

    @property
    def operator(self) -> str:
        """Where the operator is that computes it, as `module:class`; loaded where rows are."""
        raise self._not_stateful()

    def _not_stateful(self) -> InternalError:
        return InternalError(
            "no-operator",
            f"{self.title} keeps no rows: it has no operator, and nothing to spread",
            reason="stages are made of stateful nodes",
        )


@dataclass(frozen=True)
class KeyClass:
    """Columns of several inputs that must all be equal: one per input, or None.

    All have one type. `null_safe` classes match NULL with NULL; others never match a NULL.
    """

    columns: tuple[str | None, ...]
    type: str
    null_safe: bool = False

    @property
    def inputs(self) -> tuple[int, ...]:
        """The inputs that take part."""
        return tuple(i for i, name in enumerate(self.columns) if name is not None)


def key_classes(node: Node) -> tuple[KeyClass, ...]:
    """The key classes of a join; the rules have left one column per input and class."""
    return tuple(
        KeyClass(
            tuple(columns[0] if columns else None for columns in key.columns),
            key.type,
            key.null_safe,
        )
        for key in classes_of(node.key_equalities, node.inputs)
    )


@dataclass(frozen=True)
class Request:
    """What is asked of a logical node when its physical form is made.

    Attributes:
        inputs: the physical forms of its inputs.
        wanted: the columns that are used above it.
        options: those of the query.
    """

    inputs: tuple[PhysicalNode, ...]
    wanted: Set[str]
    options: Options

    def shown(self, node: Node) -> Schema:
        """The columns of a node that are used above it."""
        return kept_of(node.schema, self.wanted)

    def kept(self, node: Node) -> tuple[tuple[str, ...], ...]:
        """Per input of a node, the columns that are used above it."""
        inputs = (child.schema.names for child in node.inputs)
        return tuple(tuple(name for name in names if name in self.wanted) for names in inputs)
