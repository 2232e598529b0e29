"""What every physical node answers, with the answers that most of them give."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar, Self

from windrow.errors import InternalError
from windrow.schema import END, SIGN

if TYPE_CHECKING:
    from windrow.physical.estimates import Estimate
    from windrow.physical.facts import Fact, Show
    from windrow.physical.nodes.scan_stream import ScanStream
    from windrow.physical.nodes.scan_table import ScanTable
    from windrow.physical.options import Options
    from windrow.physical.partitioning import Partitioning
    from windrow.physical.shedding import Shedding
    from windrow.plan.exprs import Expr, Named
    from windrow.schema import Schema


class PhysicalNode:
    """A part of a query, and how it is computed: frozen, picklable, without data.

    Nodes are dataclasses over `Leaf`, `OneInput`, `TwoInputs`, or `Inner` where `inputs` is a field.
    """

    is_stateful: ClassVar[bool] = False
    """Whether an operator computes it; else DuckDB in process, Spark on Spark."""

    spoken: ClassVar[str] = ""
    """What people call it, with its article, where a query is spoken of by it; "" where it is not."""

    is_priced: ClassVar[bool] = False
    """Whether there is a model of what it costs, so that it may have an `estimate`."""

    driver: ClassVar[str] = "windrow.operators.engine.driver:OperatorDriver"
    """What runs it in process, and in Spark's workers where it has state, as `module:class`."""

    relation: ClassVar[str] = ""
    """What makes a DataFrame of it on Spark, as `module:function`; "" where a stage does."""

    identity_fields: ClassVar[tuple[str, ...]]
    """What tells it from another in a checkpoint, by name: not how it is computed, nor for how much."""

    identity_later: ClassVar[tuple[str, ...]] = ()
    """The same; but checkpoints of before these were there stay valid where they say nothing."""

    identity_name: ClassVar[str] = ""
    """Its name in a checkpoint; "" for that of the class."""

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
    def about(self) -> str:
        """What it does, in the words that a checkpoint keeps for people."""
        return self.title

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

    @property
    def lets_go_of_met(self) -> bool:
        """Whether it lets go of rows as soon as they have met, so that a whole batch need not wait."""
        return False

    @property
    def sheds(self) -> bool:
        """Whether it, or one below it, may give a part of the whole answer."""
        return any(child.sheds for child in self.inputs)

    @property
    def divided(self) -> Shedding | None:
        """What it may hold and do in all buckets of a stage together; None where that has no limit."""
        return None

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


class Leaf(PhysicalNode):
    """A node that reads what lies outside of the query."""

    inputs = ()

    def _over(self, inputs: Sequence[PhysicalNode]) -> Self:  # noqa: ARG002
        return self


class Inner(PhysicalNode):
    """A node that has inputs; one with a field of that name is over this."""

    @property
    def time_type(self) -> str:
        """The type of its event time."""
        return self.scans[0].time_type


class OneInput(Inner):
    """A node over one `input`."""

    if TYPE_CHECKING:

        @property
        def input(self) -> PhysicalNode:
            """What it reads."""

    @property
    def inputs(self) -> tuple[PhysicalNode, ...]:
        """The one input."""
        return (self.input,)

    def _over(self, inputs: Sequence[PhysicalNode]) -> Self:
        made: Any = replace(self, input=inputs[0])  # type: ignore[type-var]
        return made  # type: ignore[no-any-return]


class PerRow(Inner):
    """A node whose rows are those of its `input`, each with its time, end and sign."""

    if TYPE_CHECKING:

        @property
        def input(self) -> PhysicalNode:
            """What it reads."""

    @property
    def alive_ticks(self) -> int | None:
        """As long as in the input."""
        return self.input.alive_ticks

    @property
    def leaves_in_order(self) -> bool:
        """As in the input."""
        return self.input.leaves_in_order

    @property
    def is_joined(self) -> bool:
        """As in the input."""
        return self.input.is_joined

    @property
    def origin(self) -> ScanStream | None:
        """That of the input."""
        return self.input.origin

    @property
    def matches(self) -> list[str]:
        """Those of the input."""
        return self.input.matches

    def lifetime(self, length: str) -> str:
        """As in the input."""
        return self.input.lifetime(length)


class TwoInputs(Inner):
    """A node over `left` and `right`."""

    if TYPE_CHECKING:

        @property
        def left(self) -> PhysicalNode:
            """The first input."""

        @property
        def right(self) -> PhysicalNode:
            """The second input."""

    @property
    def inputs(self) -> tuple[PhysicalNode, ...]:
        """Left, right."""
        return (self.left, self.right)

    def _over(self, inputs: Sequence[PhysicalNode]) -> Self:
        made: Any = replace(self, left=inputs[0], right=inputs[1])  # type: ignore[type-var]
        return made  # type: ignore[no-any-return]


class MakesChanges(PhysicalNode):
    """What gives a changelog of its own: rows with signs, that no end of theirs takes back."""

    @property
    def takes_back(self) -> bool:
        """It does."""
        return True

    @property
    def has_ends(self) -> bool:
        """Rows go by being taken back."""
        return False

    @property
    def row_marks(self) -> tuple[str, ...]:
        """A sign."""
        return (SIGN,)


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
