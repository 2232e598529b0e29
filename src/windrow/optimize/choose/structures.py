"""In which structure each window of an asymmetric join is kept: as told, or as decided here."""

from __future__ import annotations

from dataclasses import replace

from windrow.errors import PlanError
from windrow.physical.algorithms import ASYMMETRIC
from windrow.physical.nodes.time_join import TimeJoin
from windrow.physical.option_values import structure_names
from windrow.physical.options import Options
from windrow.physical.structures import BUFFER, HASH, TREES, TTREE, served_range
from windrow.plan.nodes.window_join import WindowJoin

SIZES = ("bucket_size", "node_size")
"""The options that say how large the parts of structures are."""


def structures_of(node: TimeJoin, stated: WindowJoin, options: Options) -> tuple[str, ...]:
    """Per input, the structure that the user asked for, or else the one to take.

    Raises:
        PlanError: a structure that was asked for has no key to be kept by.
    """
    if options.structure is None:
        return decided_structures(node)
    chosen = structure_names(options.structure)
    for name, alias in zip(chosen, stated.aliases, strict=True):
        _check(node, stated, name, alias)
    return chosen


def by_trees(node: TimeJoin, options: Options) -> TimeJoin:
    """The join with both windows in trees, where the user leaves that open and they answer best.

    So it is where there is no equality and a band is bounded from both sides: a tree looks at what
    lies within, however large the window is, and costs no more than going through a small one. A
    comparison that is open to one side leaves half of the window to look at, which goes faster
    through tuples side by side. A tree cannot be spilled; a join that sheds counts what it takes.
    """
    is_bound = options.memory is not None and not options.sheds_memory
    is_open = options.asked_algorithm is None and options.order is None and not is_bound
    if node.classes or len(node.inputs) != 2 or not (is_open and node.has_plans):
        return node
    served = served_range(node)
    if served is None or not served.is_closed:
        return node
    return replace(node, algorithm=ASYMMETRIC, structures=(TTREE, TTREE))


def decided_structures(node: TimeJoin) -> tuple[str, str]:
    """The structures of a join for which the user asked for none."""
    if node.classes:
        return HASH, HASH
    return (BUFFER, BUFFER) if served_range(node) is None else (TTREE, TTREE)


def check_sizes(options: Options) -> None:
    """Refuses sizes of buckets and nodes that nothing asked for has.

    Raises:
        PlanError: the structures have no such parts.
    """
    asked = options.structure
    for name, kinds in zip(SIZES, ((HASH,), TREES), strict=True):
        size = getattr(options, name)
        if size is None or asked is None or set(kinds) & set(structure_names(asked)):
            continue
        raise PlanError(
            "size-of-no-structure",
            f"{name} = {size}, but structure = {asked!r} has no {' or '.join(kinds)}",
            hint=f"leave {name} out, or keep a window in a {kinds[0]}",
        )


def _check(node: TimeJoin, stated: WindowJoin, name: str, alias: str) -> None:
    if name == HASH and not node.classes:
        raise PlanError(
            "no-key-to-hash",
            f"the window of {alias} cannot be a hash: the join of {', '.join(stated.aliases)} has no"
            " equality",
            hint="use ttree, btree or buffer in its place, or add an equality between the streams",
            span=stated.span,
        )
    if name not in {HASH, BUFFER} and not node.classes and served_range(node) is None:
        raise PlanError(
            "no-key-to-order",
            f"the window of {alias} cannot be a {name}: nothing in the join of"
            f" {', '.join(stated.aliases)} asks for a range of keys",
            reason="a tree serves an equality, or a comparison of a column of one stream with one"
            " of the other",
            hint="use buffer in its place, or add a condition such as a.x < b.x or"
            " abs(a.x - b.x) < 5",
            span=stated.span,
        )
