"""What every physical node answers, with the answers that most of them give."""

from __future__ import annotations

from collections.abc import Callable, Set
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Self

from windrow.errors import InternalError
from windrow.plan.nodes.base import Node, TreeNode, classes_of, kept_of
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


class PhysicalNode(TreeNode["PhysicalNode"]):
    """A part of a query, and how it is computed: frozen, picklable, without data.

    Nodes are dataclasses over one of the shapes in `shapes.py`.
    """

    is_stateful: ClassVar[bool] = False
    """Whether an operator computes it; else DuckDB in process, Spark on Spark."""

    spoken: ClassVar[str] = ""
    """Its name with an article, for messages; "" if messages do not name it."""

    is_evaluated: ClassVar[bool] = False
    """Whether the engine of expressions computes it row by row: a filter, a projection, a window."""

    is_priced: ClassVar[bool] = False
    """Whether there is a model of what it costs, so that it may have an `estimate`."""

    driver: ClassVar[str] = "windrow.operators.engine.driver:OperatorDriver"
    """What runs it in process and, if it has state, in Spark's workers, as `module:class`."""

    relation: ClassVar[str] = ""
    """What makes a DataFrame of it on Spark, as `module:function`; "" if a stage does."""

    demand: ClassVar[str] = ""
    """What divides its limits among its buckets on Spark, as `module:function`; "" where it has none.

    It is given the node and how many buckets there are."""

    identity_fields: ClassVar[tuple[str, ...]]
    """The fields that a checkpoint compares: what it computes, and not how, nor within which limits."""

    identity_later: ClassVar[tuple[str, ...]] = ()
    """Such fields added later: older checkpoints, which lack them, are valid while they are empty."""

    identity_name: ClassVar[str] = ""
    """Its name in a checkpoint; "" for the name of the class."""

    is_join: ClassVar[bool] = False
    """Whether it joins streams by windows."""

    has_rate: ClassVar[bool] = False
    """Whether its rate follows from those of its inputs."""

    has_versions: ClassVar[bool] = False
    """Whether its rows change: an update takes one back and gives another in its place."""

    estimates: ClassVar[bool] = False
    """Whether it estimates totals of rows that were partly shed: every bucket learns at which times."""

    gives_all_rows: ClassVar[bool] = False
    """Whether every row of its inputs is one of its own."""

    lets_go_of_met: ClassVar[bool] = False
    """Whether it drops a row as soon as it has matched, so that rows need not wait for a whole batch."""

    works_on_signs: ClassVar[bool] = False
    """Whether it takes rows that are taken back as well as rows that end."""

    hears_of_expiry: ClassVar[bool] = False
    """Whether, with negative tuples, rows say what goes, so that it need not be woken by time."""

    only_forgets_ahead: ClassVar[bool] = False
    """Whether it only forgets rows if it is advanced beyond the query's watermark."""

    is_limited: ClassVar[bool] = False
    """Whether it has a limit on what it may hold or do; beyond it, it sheds or fails."""

    if TYPE_CHECKING:

        @property
        def estimate(self) -> Estimate | None:
            """What it and other plans cost; None if too little is known."""

        @property
        def time_type(self) -> str:
            """The type of its event time."""

    else:
        estimate = None

    @property
    def spoken_names(self) -> list[str]:
        """The names, for messages, of it and of the nodes below it, each once."""
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
        """Of a join, the aliases of the inputs that are not joins themselves."""
        return ()

    @property
    def tables(self) -> tuple[ScanTable, ...]:
        """The tables that it reads, from left to right."""
        return tuple(scan for child in self.inputs for scan in child.tables)

    @property
    def has_state(self) -> bool:
        """Whether it, or one below it, has an operator."""
        return self.is_stateful or any(child.has_state for child in self.inputs)

    @property
    def takes_back(self) -> bool:
        """Whether it, or one below it, makes changes: rows that come and go."""
        return any(child.takes_back for child in self.inputs)

    @property
    def has_ends(self) -> bool:
        """Whether its rows have an end: a window below gives them one."""
        return any(child.has_ends for child in self.inputs)

    @property
    def marks_below(self) -> tuple[str, ...]:
        """Which of end and sign the rows of an input carry."""
        below = {mark for child in self.inputs for mark in child.row_marks}
        return tuple(mark for mark in (END, SIGN) if mark in below)

    @property
    def row_marks(self) -> tuple[str, ...]:
        """Which of end and sign its rows carry beside their time."""
        return self.marks_below

    @property
    def alive_ticks(self) -> int | None:
        """How many ticks after its time a row is alive at most; None without a window."""
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
        """The stream whose rows it gives, or some of them; None if it makes rows of its own."""
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
        """The inputs of which every row is a row of its own, alive as long."""
        return self.inputs if self.gives_all_rows else ()

    @property
    def held_inputs(self) -> tuple[PhysicalNode, ...] | None:
        """The inputs of which it holds the rows that are alive; None if it may hold more."""
        return None if self.is_stateful else ()

    @property
    def range_ticks(self) -> int | None:
        """The window that it gives every row, in ticks."""
        return None

    @property
    def own_window(self) -> tuple[str, int] | None:
        """The window that it keeps rows by: "ticks" or "rows", and how many."""
        return None

    @property
    def keeps_buckets(self) -> bool:
        """Whether it only picks and renames columns, or sets windows, so that rows stay in their buckets."""
        return False

    @property
    def bucket_keys(self) -> tuple[KeyClass, ...]:
        """The keys that decide the bucket of every result, if it is spread by their shares."""
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
        """What it computes that a sample of the rows cannot give, for messages; "" for nothing."""
        return ""

    def cannot_shed(self, asked: str | None) -> str:  # noqa: ARG002
        """Why this join, by the algorithm that was asked for, cannot shed; "" if it can."""
        return f"the query's join is {self.spoken}"

    def handing_on_draws(self) -> PhysicalNode:
        """The same with the columns of a shedding join from which totals are estimated.

        Raises:
            UnsupportedError: no total can be estimated through it.
        """
        return self

    @property
    def can_expire(self) -> bool:
        """Whether it is a join that keeps each row exactly as long as it is alive."""
        return False

    def columns_below(self, shown: Set[str]) -> set[str]:
        """The columns of its input that these of its own columns show unchanged."""
        return set(shown)

    def source_of(self, column: str) -> tuple[str, str] | None:
        """The stream, and its column, that a column shows; None if it is computed."""
        below = [child for child in self.inputs if column in child.schema.names]
        return below[0].source_of(column) if below else None

    def rate(self, rates: Rates) -> Figure | None:  # noqa: ARG002
        """Its rows per tick; None if that is not known."""
        return None

    @property
    def matches(self) -> list[str]:
        """How many matches a row has in the joins with tables above the last stage, for EXPLAIN."""
        return []

    def lifetime(self, length: str) -> str:
        """From when to when a row is alive, in words; `length` is that of `alive_ticks`."""
        return f"from t to t + {length}, both included"

    @property
    def own_delay(self) -> int:
        """How many ticks its rows may be behind the watermark that it is given."""
        return 0

    @property
    def delay(self) -> int:
        """How many ticks its rows may be behind the watermark of the streams below.

        A runner hands an operator the query's watermark less the delays below it.
        """
        return max((child.delay for child in self.inputs), default=0) + self.own_delay

    # What EXPLAIN, checkpoints and Spark ask.

    @property
    def title(self) -> str:
        """The node in a few words, for EXPLAIN and for progress figures."""
        return type(self).__name__

    def facts(self, options: Options, show: Show) -> list[Fact]:  # noqa: ARG002
        """What EXPLAIN shows below the title, in this order. Bounds follow from the operator's numbers.

        The summary shows the lines of two labels: "state" (see `explain.facts.state_bound`; a line that
        ends with a colon goes on in the next) and "emits" (that of the last node that has it).

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
        """What it does, in the words that a checkpoint keeps for messages."""
        return self.title

    @property
    def brief(self) -> str:
        """Its name and what it is over, for the summary of EXPLAIN; "" to leave it out."""
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
        """Per input, whether no operator stands between it and its streams: its rows may be late."""
        return tuple(not child.has_state for child in self.inputs)

    @property
    def plan_name(self) -> str:
        """By which of several plans it runs, in a few words; "" if there is only one."""
        return ""

    @property
    def plan_kind(self) -> str:
        """The same without the order of inputs, so that there are few of them."""
        return ""

    def runs_like(self, other: object) -> bool:  # noqa: ARG002
        """Whether it runs as another plan of the same step does."""
        return True

    @property
    def may_multiply(self) -> bool:
        """Whether it may give a row several times, without state."""
        return False

    @property
    def row_tests(self) -> tuple[Expr, ...]:
        """The conditions on a row, if rows pass one by one."""
        return ()

    @property
    def computed_columns(self) -> tuple[Named, ...] | None:
        """Its columns, if it computes them; None if they are those of its input."""
        return None

    # All questions about shedding; the answers here are those of nodes without a limit.

    @property
    def sheds(self) -> bool:
        """Whether it, or one below it, may give a part of the whole answer."""
        return any(child.sheds for child in self.inputs)

    @property
    def probe_limit(self) -> str:
        """How many arrivals may probe, and what happens beyond, in words; "" if all may."""
        return ""

    @property
    def shed_row_bytes(self) -> int:
        """Bytes of a tuple beside its columns, in a join that sheds; else 0."""
        return 0

    def in_bucket(self, buckets: int) -> PhysicalNode:  # noqa: ARG002
        """The node as one of this many buckets of a stage computes it.

        Raises:
            PlanError: its share of memory, or of the service rate, is too small.
        """
        return self

    @property
    def combiner(self) -> str:
        """What combines a task's rows before they are sent to buckets, as `module:function`; "" for nothing.

        It gets the node, the rows, and the columns that must stay as they are.
        """
        return ""

    @property
    def follows_a_batch(self) -> bool:
        """Whether one large batch costs it more than the same rows in small ones."""
        return False

    @property
    def has_plans(self) -> bool:
        """Whether one of several plans for it is chosen by cost."""
        return False

    def partitioning(self, buckets: int) -> Partitioning:  # noqa: ARG002
        """How the rows of its inputs are spread over at most this many buckets, if it has state."""
        raise self._not_stateful()

    @property
    def operator(self) -> str:
        """The operator that computes it, as `module:class`; it is loaded where the rows are."""
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
