"""The nodes of set operations: by numbers of copies, by signs alone, and of rows handed on."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from windrow.physical.explain.facts import (
    Fact,
    Show,
    alive_bound,
    drop_condition,
    lifetime,
    plus,
    said,
    source_name,
)
from windrow.physical.nodes.base import PhysicalNode
from windrow.physical.nodes.shapes import MakesChanges, OneInput, SameColumns
from windrow.physical.partitioning.buckets import NO_COLUMNS, Partitioning, by_keys
from windrow.plan.statistics import Figure

if TYPE_CHECKING:
    from collections.abc import Sequence

    from windrow.physical.options import Options

CHANGES = "changes"
"""What gives the bag it is given, as net changes."""

_CHANGES_BRIEF = "net changes of each instant"
_CHANGES_ASKED = "EMIT CHANGES, or a GROUP BY key that it does not show"
_SETS_ASKED = "DISTINCT or a set operation"
"""Why a query cannot be told from a part of its rows."""


class _OfEqualRows(SameColumns):
    """What all set operations share: rows that are equal in all columns; checkpoints know the kind."""

    kind: str

    identity_name = "SetOp"
    identity_fields = ("inputs", "kind")
    is_stateful = True
    hears_of_expiry = True

    @property
    def title(self) -> str:
        """For EXPLAIN."""
        return f"SetOp {self.kind}"

    @property
    def about(self) -> str:
        """For checkpoints."""
        return f"set operation ({self.kind})"

    def partitioning(self, buckets: int) -> Partitioning:
        """By all columns."""
        return by_keys(self.schema.names, buckets, NO_COLUMNS)


@dataclass(frozen=True)
class SetOp(MakesChanges, _OfEqualRows):
    """Rows by how many copies of them the inputs hold at each instant, as a changelog.

    One or two inputs with the same columns, all of which are the key.

    Attributes:
        inputs: the inputs.
        kind: one of those of `SetOperation`, but not "union all", which needs no state.
        expected: per input, how many rows it is expected to hold, and how many different ones;
            None where too little is known.
        place: why it stands where it does, or why no other of its kind stands below a join, for
            EXPLAIN.
    """

    inputs: tuple[PhysicalNode, ...]
    kind: str
    expected: tuple[tuple[Figure, Figure] | None, ...] = ()
    place: tuple[str, ...] = ()

    works_on_signs = True
    operator = "windrow.operators.aggregates.set_operation:SetOperationOp"

    needs_all_rows = _SETS_ASKED

    @property
    def is_of_sets(self) -> bool:
        """Whether all that counts is whether a row is there, not how many copies of it."""
        return self.kind in {"distinct", "union", "except", "intersect"}

    @property
    def held_inputs(self) -> tuple[PhysicalNode, ...]:
        """Those whose rows end."""
        return tuple(own for own in self.inputs if own.has_ends)

    @property
    def brief(self) -> str:
        """As SQL calls it."""
        return self.kind.upper()

    def facts(self, options: Options, show: Show) -> list[Fact]:  # noqa: ARG002
        """What is told apart, what is held, and how much."""
        time_type, names = self.time_type, _names(self)
        below = max(child.delay for child in self.inputs)
        trailing = plus("the watermark", -below, time_type)
        held = [
            (child, name, child.alive_ticks) for child, name in zip(self.inputs, names, strict=True)
        ]
        retention = [
            f"{drop_condition(child, name, alive, below, time_type)} + 1 tick, when its expiry is out"
            for child, name, alive in held
            if alive is not None
        ]
        other, whose = (f" and m in {names[1]}", "each") if len(names) > 1 else ("", "the")
        why = "a change costs its own rows: the copies say what is in the answer"
        return said(
            ("rows", _each(names, [lifetime(child, alive) for child, _, alive in held])),
            ("copies", f"of n in {names[0]}{other}: {COPIES[self.kind]}"),
            ("keeps", f"how many copies {whose} input holds of each row"),
            ("retention", retention),
            ("state", _bounds(self, held, below)),
            ("expected", _expected(self, names)),
            ("at most", _most(self, held)),
            ("emits", f"the changes of each instant below {trailing}, net, deletes before inserts"),
            ("why", [why, *self.place]),
        )


@dataclass(frozen=True)
class CountedChanges(SetOp):
    """The changes of each instant, net, of rows that end by themselves: their copies are counted."""

    kind: str = CHANGES

    needs_all_rows = _CHANGES_ASKED
    brief = _CHANGES_BRIEF

    def _over(self, inputs: Sequence[PhysicalNode]) -> Any:
        """The same; where rows do not end any more, there are no copies to count."""
        return changes_of(inputs[0])


@dataclass(frozen=True)
class NetChanges(MakesChanges, _OfEqualRows, OneInput):
    """The changes of each instant, net, of rows that come and go by signs alone.

    The signs of an instant say all that changes in it, whatever was there before.
    """

    input: PhysicalNode

    kind = CHANGES
    held_inputs = ()
    works_on_signs = True
    needs_all_rows = _CHANGES_ASKED
    brief = _CHANGES_BRIEF
    operator = "windrow.operators.feeds.net_changes:NetChangesOp"

    def facts(self, options: Options, show: Show) -> list[Fact]:  # noqa: ARG002
        """What waits, and until when."""
        trailing = plus("the watermark", -self.input.delay, self.time_type)
        return said(
            ("rows", lifetime(self.input, None)),
            ("keeps", "nothing but the changes that wait until their instant is over"),
            ("state", f"the changes that wait for {trailing}"),
            ("emits", f"the changes of each instant below {trailing}, net, deletes before inserts"),
            (
                "why",
                "a change costs its own rows: what comes and goes at an instant says what changes",
            ),
        )


@dataclass(frozen=True)
class HandOnRows(_OfEqualRows, OneInput):
    """Rows with the times, ends and signs that they have, late ones aside."""

    input: PhysicalNode

    kind = "rows"
    gives_all_rows = True
    held_inputs = ()
    needs_all_rows = _SETS_ASKED
    brief = ""  # of what runs it is no step: its rows are those of the input
    operator = "windrow.operators.feeds.net_changes:HandOnOp"

    @property
    def alive_ticks(self) -> int | None:
        """As in the input."""
        return self.input.alive_ticks

    def facts(self, options: Options, show: Show) -> list[Fact]:  # noqa: ARG002
        """What it is there for."""
        return said(
            ("rows", lifetime(self.input, self.alive_ticks)),
            ("keeps", "nothing"),
            ("emits", "each row as it comes, unless it is late"),
            (
                "why",
                "what stands above cannot tell late rows of a stream from those of another stage",
            ),
        )


def changes_of(node: PhysicalNode) -> PhysicalNode:
    """The net changes of each instant: where rows end by themselves, their copies are counted."""
    return CountedChanges((node,)) if node.has_ends else NetChanges(node)


COPIES = {
    "distinct": "1 where n > 0",
    "union": "1 where n + m > 0",
    "except": "1 where n > 0 and m = 0",
    "except all": "max(0, n - m)",
    "intersect": "1 where n > 0 and m > 0",
    "intersect all": "min(n, m)",
    CHANGES: "n",
}
"""Copies in the answer, of n in the first input and m in the second."""


_PLACES = ("first", "second")
"""What inputs are called that have no different names."""


def _names(node: SetOp) -> list[str]:
    """What the inputs are called: by their streams where these differ, else by their places."""
    names = [source_name(child) for child in node.inputs]
    if len(names) == 1:
        return names
    return names if len(set(names)) == len(names) else list(_PLACES)


def _each(names: list[str], texts: list[str]) -> list[str]:
    """One line per input, or one for all where they say the same."""
    if len(set(texts)) == 1:
        return texts[:1]
    return [f"{name}: {text}" for name, text in zip(names, texts, strict=True)]


def _bounds(node: SetOp, held: list[tuple[PhysicalNode, str, int | None]], below: int) -> list[str]:
    """The paper's terms, one after the other; S_minus is their sum."""
    rows = [
        alive_bound(node, child, name, alive, below)
        for child, name, alive in held
        if alive is not None
    ]
    return [*rows, f"one count per different row of {' and of '.join(map(_whose, held))}"]


def _whose(held: tuple[PhysicalNode, str, int | None]) -> str:
    """Of what rows are counted: of a stream, or of what several are made into."""
    _, name, _ = held
    return f"the {name} input" if name in _PLACES else name.removeprefix("rows of ")


def _most(node: SetOp, held: list[tuple[PhysicalNode, str, int | None]]) -> list[str]:
    """The paper's bound of all of a MINUS, where rows of both inputs end."""
    if not node.kind.startswith("except") or any(alive is None for _, _, alive in held):
        return []
    return [
        "2 (rate x window + different rows) + rate x window, the copies in the answer counted, beside"
        " a tick and a batch of each input"
    ]


def _expected(node: SetOp, names: list[str]) -> list[str]:
    """The paper's numbers where rates and different values are known."""
    lines = []
    for name, figures in zip(names, node.expected, strict=False):
        if figures is not None:
            rows, different = figures
            lines.append(
                f"{_about(rows)} alive of {name}, {_about(different)} of them different"
                f" ({', '.join(dict.fromkeys((rows.source, different.source)))})"
            )
    known = [figures for figures in node.expected if figures is not None]
    if node.kind.startswith("except") and len(known) == len(names):
        lines.append(f"in all at most {_about(s_minus(known))} rows and counts")
    return lines


def s_minus(known: Sequence[tuple[Figure, Figure]]) -> Figure:
    """The paper's bound of the state of a MINUS, 2 (rate w + N_d) + rate w, each input by its own.

    Both inputs keep their rows and a count of each different one; the copies in the answer are no
    more than the rows of the first.
    """
    kept = sum(rows.value + different.value for rows, different in known)
    return Figure(kept + known[0][0].value, known[0][0].source)


def _about(figure: Figure) -> str:
    return f"{figure.value:,.0f}" if figure.value >= 1 else f"{figure.value:.2g}"
