"""What logical and physical nodes have in common: frozen parts of a tree, each over its inputs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Generic, Self, TypeVar

if TYPE_CHECKING:
    from windrow.schema import Schema

N = TypeVar("N", bound="TreeNode[Any]")


class TreeNode(Generic[N]):
    """A node over others of its kind."""

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
