"""In which structure each window of an asymmetric join is kept: as told, or as decided here."""

from __future__ import annotations

from windrow.errors import PlanError
from windrow.physical.options import Options
from windrow.physical.specs import WJoin
from windrow.physical.structures import BUFFER, HASH, SIZES, TTREE, served_range
from windrow.plan.nodes import WindowJoin


def structures_of(spec: WJoin, node: WindowJoin, options: Options) -> tuple[str, ...]:
    """Per input, the structure that the user asked for, or else the one to take.

    Raises:
        PlanError: a structure that was asked for has no key to be kept by.
    """
    if options.structure is None:
        return decided_structures(spec)
    chosen = structure_names(options.structure)
    for name, alias in zip(chosen, node.aliases, strict=True):
        _check(spec, node, name, alias)
    return chosen


def decided_structures(spec: WJoin) -> tuple[str, str]:
    """The structures of a join for which the user asked for none."""
    if spec.classes:
        return HASH, HASH
    return (BUFFER, BUFFER) if served_range(spec) is None else (TTREE, TTREE)


def structure_names(text: str) -> tuple[str, str]:
    """The two names in `hash/ttree`.

    Raises:
        PlanError: they are not two, or not names of structures.
    """
    names = tuple(name.strip().lower() for name in str(text).split("/"))
    if len(names) != 2 or not set(names) <= set(SIZES):
        raise PlanError(
            "unknown-structure",
            f"structure = {text!r} does not say in what the two windows are kept",
            hint=f"two of {', '.join(SIZES)}, the first stream's and the second's: 'hash/ttree'",
        )
    return names[0], names[1]


def _check(spec: WJoin, node: WindowJoin, name: str, alias: str) -> None:
    if name == HASH and not spec.classes:
        raise PlanError(
            "no-key-to-hash",
            f"the window of {alias} cannot be a hash: the join of {', '.join(node.aliases)} has no"
            " equality",
            hint="use ttree, btree or buffer in its place, or add an equality between the streams",
            span=node.span,
        )
    if name not in {HASH, BUFFER} and not spec.classes and served_range(spec) is None:
        raise PlanError(
            "no-key-to-order",
            f"the window of {alias} cannot be a {name}: nothing in the join of"
            f" {', '.join(node.aliases)} asks for a range of keys",
            reason="a tree serves an equality, or a comparison of a column of one stream with one"
            " of the other",
            hint="use buffer in its place, or add a condition such as a.x < b.x or"
            " abs(a.x - b.x) < 5",
            span=node.span,
        )
