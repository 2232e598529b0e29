"""The shapes that physical nodes have: what they read, and what follows from it."""

from __future__ import annotations

from dataclasses import fields
from typing import TYPE_CHECKING, Any, Self

from windrow.physical.nodes.base import PhysicalNode
from windrow.physical.partitioning.buckets import HashShares, Single
from windrow.plan.nodes.base import OverOne, OverTwo, WithoutInputs, WithSameColumns
from windrow.schema import END, SIGN

if TYPE_CHECKING:
    from windrow.physical.nodes.base import KeyClass, Request
    from windrow.physical.nodes.scans import ScanStream
    from windrow.physical.partitioning.buckets import Partitioning
    from windrow.plan.nodes.base import Node


def fields_of(node: PhysicalNode, kind: type[Any]) -> dict[str, Any]:
    """What a node says of itself as one of a kind, for a node of another kind in its place."""
    return {entry.name: getattr(node, entry.name) for entry in fields(kind)}


def as_asked(node: Node, request: Request, kind: type[Any]) -> dict[str, Any]:
    """The fields of a physical node that its logical one has under the same names.

    Its inputs are physical, and its columns those that are used above.
    """
    sides = ("input",) if len(request.inputs) == 1 else ("left", "right")
    made = {**dict(zip(sides, request.inputs, strict=False)), "schema": request.shown(node)}
    names = [entry.name for entry in fields(kind) if hasattr(node, entry.name)]
    return {name: made.get(name, getattr(node, name)) for name in names}


class Leaf(WithoutInputs[PhysicalNode], PhysicalNode):
    """A node that reads what lies outside of the query."""


class Inner(PhysicalNode):
    """A node that has inputs."""

    @property
    def time_type(self) -> str:
        """The type of its event time."""
        return self.scans[0].time_type


class SameColumns(WithSameColumns[PhysicalNode], Inner):
    """A node whose inputs all have the same columns, which are its own."""


class OneInput(OverOne[PhysicalNode], Inner):
    """A node over one `input`."""

    @classmethod
    def of(cls, node: Any, request: Request) -> Self:
        """That of a logical node whose fields have the same names."""
        return cls(**as_asked(node, request, cls))


class PerRow(Inner):
    """A node whose rows are those of its `input`, each with its time, end and sign."""

    input: PhysicalNode

    @property
    def row_inputs(self) -> tuple[PhysicalNode, ...]:
        """The one input."""
        return (self.input,)

    @property
    def alive_ticks(self) -> int | None:
        """The same as of the input."""
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
        """The same as of the input."""
        return self.input.origin

    @property
    def matches(self) -> list[str]:
        """The same as of the input."""
        return self.input.matches

    def lifetime(self, length: str) -> str:
        """As in the input."""
        return self.input.lifetime(length)


class TwoInputs(OverTwo[PhysicalNode], Inner):
    """A node over `left` and `right`."""


class MakesChanges(PhysicalNode):
    """A node that gives a changelog: its rows have signs, and no ends."""

    takes_back = True
    has_ends = False  # rows go by being taken back
    row_marks = (SIGN,)


class StreamJoin(Inner):
    """A join of streams, which takes no row back."""

    is_stateful = True
    is_join = True

    @property
    def row_marks(self) -> tuple[str, ...]:
        """Ends as below."""
        return tuple(mark for mark in self.marks_below if mark == END)


class TwoStreamJoin(StreamJoin, TwoInputs):
    """A join of two inputs that gives, per row, the best, the newest or totals of its matches."""

    classes: tuple[KeyClass, ...]
    """The keys, each with a column of both inputs."""

    if TYPE_CHECKING:

        @property
        def aliases(self) -> tuple[str, str]:
            """The aliases of the two."""

    @property
    def about(self) -> str:
        """Its name without the article."""
        return self.spoken.split(" ", 1)[1]

    @property
    def brief(self) -> str:
        """What it joins."""
        return f"{self.about} of {self.title.partition(' ')[2]}"

    def partitioning(self, buckets: int) -> Partitioning:
        """By all keys together, which both inputs have."""
        if self.classes:
            return HashShares((tuple(range(len(self.classes))),), (buckets,), (1, 1))
        return self._without_keys(buckets)

    def _without_keys(self, buckets: int) -> Partitioning:  # noqa: ARG002
        left, right = self.aliases
        return Single(
            f"any row of {right} may be the match of any row of {left}; an equality in ON would"
            " spread the join"
        )
