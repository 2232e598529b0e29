"""What every logical node answers, with the answers that most of them give.

Physical nodes are trees as these are: `TreeNode` and the shapes below it serve both.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence, Set
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar, Generic, Self, TypeAlias, TypeVar

from windrow.errors import PlanError, Span
from windrow.plan.exprs import Expr
from windrow.schema import Schema

if TYPE_CHECKING:
    from windrow.plan.catalog import StreamInfo
    from windrow.plan.texts import ColumnTexts


Predicates: TypeAlias = tuple[Expr, ...]

N = TypeVar("N", bound="TreeNode[Any]")


class TreeNode(Generic[N]):
    """A node over others of its kind, logical or physical."""

    if TYPE_CHECKING:

        @property
        def inputs(self) -> tuple[N, ...]:
            """What it reads, in order."""

        @property
        def schema(self) -> Schema:
            """Its columns."""

    def with_inputs(self, inputs: Sequence[N]) -> Self:
        """The same over other inputs; this very object if they are the same."""
        if all(new is old for new, old in zip(inputs, self.inputs, strict=True)):
            return self
        return self._over(inputs)

    def _over(self, inputs: Sequence[N]) -> Self:
        return self._changed(inputs=tuple(inputs))

    def _changed(self, **fields: Any) -> Self:
        made: Any = replace(self, **fields)  # type: ignore[type-var]
        return made  # type: ignore[no-any-return]

    def walk(self) -> Iterator[N]:
        """The node and all below it, each before its inputs."""
        own: Any = self
        yield own
        for child in self.inputs:
            yield from child.walk()


class WithoutInputs(TreeNode[N]):
    """A node that reads what lies outside of the query."""

    inputs = ()

    def _over(self, inputs: Sequence[N]) -> Self:  # noqa: ARG002
        return self


class OverOne(TreeNode[N]):
    """A node over one `input`."""

    input: N

    @property
    def inputs(self) -> tuple[N, ...]:
        """The one input."""
        return (self.input,)

    def _over(self, inputs: Sequence[N]) -> Self:
        return self._changed(input=inputs[0])


class OverTwo(TreeNode[N]):
    """A node over `left` and `right`."""

    left: N
    right: N

    @property
    def inputs(self) -> tuple[N, ...]:
        """Left, right."""
        return (self.left, self.right)

    def _over(self, inputs: Sequence[N]) -> Self:
        return self._changed(left=inputs[0], right=inputs[1])


class WithSameColumns(TreeNode[N]):
    """A node whose inputs all have the same columns, which are its own."""

    @property
    def schema(self) -> Schema:
        """The columns that every input has."""
        return self.inputs[0].schema


class Node(TreeNode["Node"]):
    """One kind of relation: frozen, without data.

    Nodes are dataclasses over `Leaf`, `OneInput`, `PairJoin`, or this where `inputs` is a field.
    """

    is_stateful: ClassVar[bool] = False
    """Whether it keeps rows, so that every column it is given costs memory."""

    drops_columns: ClassVar[bool] = False
    """Whether its physical form carries on only those columns that are needed above."""

    physical: ClassVar[str]
    """Where its physical form is made, as `module:function`; called with the node, the physical
    inputs, the columns that are wanted of it, and the options."""

    def rewrite(self, rule: Callable[[Node], Node]) -> Node:
        """The plan with `rule` applied once to every node, inputs first."""
        return rule(self.with_inputs([child.rewrite(rule) for child in self.inputs]))

    @property
    def streams(self) -> tuple[StreamInfo, ...]:
        """The streams that it reads, from left to right."""
        return tuple(stream for child in self.inputs for stream in child.streams)

    @property
    def key_equalities(self) -> tuple[Equality, ...]:
        """The columns of its inputs by which it joins them."""
        return ()

    # What its rows are.

    @property
    def only_hands_on(self) -> bool:
        """Whether its rows are those of several inputs, as they are."""
        return False

    @property
    def rows_end(self) -> bool:
        """Whether every row stops being alive, or is taken back, some time."""
        return False

    @property
    def alive_ticks(self) -> int | None:
        """How many ticks after its time a row is alive at most; None where no window says."""
        return None

    @property
    def begins_at_event_time(self) -> bool:
        """Whether each row, where rows end, is there from its event time on."""
        return all(child.begins_at_event_time for child in self.inputs)

    @property
    def event_times(self) -> frozenset[str]:
        """The flat columns that equal the event time in every row."""
        return frozenset()

    # What the planner asks.

    def verify(self) -> None:
        """Raises a PlanError for the first node, from the top, that cannot run within bounds.

        The binder refuses most of these with their place in the SQL; here they are refused however
        the plan was built.
        """
        for node in self.walk():
            node.verify_state()
            if node.is_stateful:  # it waits for the rows of those below
                for below in node.walk():
                    if below is not node:
                        below.verify_delay()

    def verify_state(self) -> None:
        """Raises a PlanError where it would keep rows for ever, or cannot have an answer."""

    def verify_rows_end(self, what: str, span: Span | None) -> None:
        """Raises a PlanError where it keeps rows until they leave, and some never do."""
        if not all(child.rows_end for child in self.inputs):
            raise PlanError(
                "unbounded-state",
                f"{what} keeps its rows forever",
                reason="no window says when a row leaves it",
                hint="give its streams a window, for instance sales [RANGE INTERVAL '1' HOUR]",
            ).at(span)

    def verify_delay(self) -> None:
        """Raises a PlanError where its rows may trail the watermark without a bound."""

    @property
    def columns_read(self) -> set[str]:
        """The columns of its inputs that it reads, whatever is wanted of it."""
        return set()

    def required_columns(self, wanted: Set[str]) -> list[set[str]]:
        """Per input, the columns that must reach it to give those that are wanted."""
        needed = self.columns_read | wanted
        return [needed & set(child.schema.names) for child in self.inputs]

    def narrowed(self, wanted: Set[str]) -> Node:  # noqa: ARG002
        """The same without what it would read or compute for columns that nobody wants."""
        return self

    def push_filter(self, predicates: Predicates) -> tuple[Node, Predicates]:
        """The node with those conditions on its rows that may be tested below, and the others."""
        return self, predicates

    def absorb_filter(self, predicates: Predicates) -> tuple[Node, Predicates]:
        """The node with those conditions on its rows that it tests itself, and the others.

        Asked after `push_filter`: what reads one input has gone below.
        """
        return self, predicates

    def push_own_conditions(self) -> Node:
        """The node with those of its own conditions that read one input tested below."""
        return self

    def with_keys(self, equalities: tuple[Equality, ...], kept: Predicates) -> Self:
        """The same joined by other keys, and by conditions on those inputs that are kept."""
        assert not kept  # a join that keeps rows tests them itself
        return self._changed(equalities=equalities)

    @property
    def kept_inputs(self) -> tuple[int, ...]:
        """The inputs whose rows count although they fail a condition: none is tested below."""
        return ()

    # What EXPLAIN asks.

    def title(self, time_type: str, show: ColumnTexts) -> str:  # noqa: ARG002
        """The node in a line, as the user wrote things."""
        return type(self).__name__


class Leaf(WithoutInputs[Node], Node):
    """A node that reads what lies outside of the query."""

    alias: str
    """How the user calls it."""

    def narrowed(self, wanted: Set[str]) -> Self:
        """Only the wanted columns are read."""
        kept = kept_of(self.schema, wanted)
        return self if kept == self.schema else self._changed(schema=kept)

    @property
    def source_columns(self) -> tuple[str, ...]:
        """The columns as the source calls them."""
        return tuple(name.removeprefix(f"{self.alias}.") for name in self.schema.names)


class OneInput(OverOne[Node], Node):
    """A node over one `input`."""


class SameTimes(OneInput):
    """A node whose rows come at the event times of its input's."""

    @property
    def event_times(self) -> frozenset[str]:
        """Those of the input."""
        return self.input.event_times


class PerRow(SameTimes):
    """A node whose rows are those of its `input`, each with its time and end."""

    @property
    def rows_end(self) -> bool:
        """As in the input."""
        return self.input.rows_end

    @property
    def alive_ticks(self) -> int | None:
        """As long as in the input."""
        return self.input.alive_ticks


class SameColumns(WithSameColumns[Node], OneInput):
    """A node whose rows have the columns of its input."""


class PairJoin(OverTwo[Node], Node):
    """A join of `left` and `right`; if it says nothing else, it has the columns of both."""

    equalities: tuple[Equality, ...]
    """The keys."""

    drops_columns = True
    is_stateful = True

    @property
    def key_equalities(self) -> tuple[Equality, ...]:
        """The keys."""
        return self.equalities

    @property
    def schema(self) -> Schema:
        """The left columns, then the right ones."""
        return Schema(self.left.schema.fields + self.right.schema.fields)


@dataclass(frozen=True)
class Equality:
    """A join condition `left = right` between flat columns of two inputs.

    `type` is the type both are compared in; `null_safe` means IS NOT DISTINCT FROM.
    """

    left: str
    right: str
    type: str
    null_safe: bool = False


def read_by(expressions: Iterable[Expr | None]) -> set[str]:
    """The columns that some expressions read."""
    return {name for expr in expressions if expr is not None for name in expr.columns}


def compared_by(equalities: Iterable[Equality]) -> set[str]:
    """The columns that some equalities compare."""
    return {name for each in equalities for name in (each.left, each.right)}


def kept_of(schema: Schema, wanted: Set[str]) -> Schema:
    """Those of some columns that are wanted."""
    return Schema(tuple(field for field in schema.fields if field.name in wanted))


def reads_only(predicate: Expr, side: Node) -> bool:
    """Whether a condition reads columns, all of them of one relation."""
    return bool(predicate.columns) and set(predicate.columns) <= set(side.schema.names)


def without(predicates: Predicates, moved: Sequence[Expr]) -> Predicates:
    """The conditions that have not moved."""
    return tuple(predicate for predicate in predicates if predicate not in moved)


@dataclass(frozen=True)
class Class:
    """Columns that a chain of equalities makes equal, per input, in the order of appearance."""

    columns: tuple[tuple[str, ...], ...]
    type: str
    null_safe: bool


def classes_of(equalities: Sequence[Equality], inputs: Sequence[Node]) -> list[Class]:
    """The classes that the equalities form (union-find), in the order of their first equality.

    A class matches NULL with NULL only if every one of its equalities does: a single plain one
    rules NULL out for all.
    """
    root: dict[str, str] = {}

    def find(name: str) -> str:
        while root.setdefault(name, name) != name:
            name = root[name]
        return name

    for equality in equalities:
        left, right = find(equality.left), find(equality.right)
        root[right] = left
    members: dict[str, list[str]] = {}
    for name in root:
        members.setdefault(find(name), []).append(name)
    owner = {name: i for i, node in enumerate(inputs) for name in node.schema.names}
    return [
        Class(
            tuple(tuple(name for name in names if owner[name] == i) for i in range(len(inputs))),
            next(e.type for e in equalities if find(e.left) == top),
            all(e.null_safe for e in equalities if find(e.left) == top),
        )
        for top, names in members.items()
    ]
