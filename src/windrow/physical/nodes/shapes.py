"""The shapes that physical nodes have: what they read, and what follows from it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Self

from windrow.physical.nodes.base import PhysicalNode
from windrow.schema import SIGN

if TYPE_CHECKING:
    from windrow.physical.nodes.scan_stream import ScanStream


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
    def row_inputs(self) -> tuple[PhysicalNode, ...]:
        """The one input."""
        return (self.input,)

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
