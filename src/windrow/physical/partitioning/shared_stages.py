"""Which stateful nodes share a stage on Spark: those whose rows have met in one bucket already.

The rows of a stage are spread by some of their keys. Where its results hand these keys on, and the
node above groups by all of them, or by more, the rows of one of its groups lie in one bucket: it
runs there, in the same task, without a shuffle and a state store of its own.

    WJoin x, y           spread by x.k = y.k: a pair lies in the bucket of its k
    ProjectRows          x.k AS j.k: hands it on
    SlidingAggregate     GROUP BY j.k, j.v: the rows of a group have one k, and so one bucket

Between the two only columns are picked and renamed and windows set: an expression is Spark's to
evaluate, and stays between two stages. Left alone is

- a join that is not inner: its rows with a NULL for a key are spread by their times;
- a join that sheds, and what estimates from it: their buckets are told of one another;
- what runs in one bucket: an aggregate without GROUP BY is added up before it;
- what is spread by one of two columns: neither tells the bucket of all its rows.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

from windrow.physical.nodes.base import PhysicalNode
from windrow.physical.partitioning.buckets import HashKeys, HashShares

Handed: TypeAlias = tuple[frozenset[str], ...]
"""Per key that rows are spread by, the columns that have its value."""

Between: TypeAlias = tuple[PhysicalNode, ...]


@dataclass(frozen=True)
class SharedStage:
    """The stateful nodes of one stage.

    Attributes:
        nodes: from the bottom up; the first one's inputs are the stage's, and spread its rows.
        by: per node above the first, its columns that have told the bucket of a row.
        handed: what the results of the last one hand on; () where nothing above can share.
    """

    nodes: tuple[PhysicalNode, ...]
    by: tuple[tuple[str, ...], ...] = ()
    handed: Handed = ()


def shared_stage(node: PhysicalNode, buckets: int) -> SharedStage:
    """The stage that ends with a node, with as many of those below it as can share it."""
    steps = below(node)
    if steps is not None:
        stage = shared_stage(steps[0], buckets)
        handed = stage.handed
        for step in steps[1]:
            handed = _through(step, handed)
        by = _told_by(node, handed, buckets)
        if by:
            keys = frozenset(node.schema.names)
            above = tuple(columns & set(by) & keys for columns in handed)
            return SharedStage((*stage.nodes, node), (*stage.by, by), _complete(above))
    return SharedStage((node,), handed=_handed(node, buckets))


def stages(root: PhysicalNode, buckets: int) -> list[SharedStage]:
    """The stages of a plan from the bottom up."""
    if not root.is_stateful:
        return [stage for child in root.inputs for stage in stages(child, buckets)]
    stage = shared_stage(root, buckets)
    earlier = [found for child in stage.nodes[0].inputs for found in stages(child, buckets)]
    return [*earlier, stage]


def below(node: PhysicalNode) -> tuple[PhysicalNode, Between] | None:
    """The stateful node right below, and what lies between from the bottom up.

    None where there are several inputs, or more lies between than can share a stage.
    """
    steps: list[PhysicalNode] = []
    if len(node.inputs) > 1:
        return None
    (child,) = node.inputs
    while not child.is_stateful:
        if not child.keeps_buckets:
            return None
        steps.append(child)
        (child,) = child.inputs
    return child, tuple(reversed(steps))


def _handed(node: PhysicalNode, buckets: int) -> Handed:
    """The keys that tell the bucket of a result, by its columns; () where they do not."""
    partitioning = node.partitioning(buckets)
    own = frozenset(node.schema.names)
    if isinstance(partitioning, HashKeys) and not node.estimates:
        if partitioning.otherwise:
            return ()
        return _complete(tuple(frozenset((name,)) & own for name in partitioning.columns))
    if not isinstance(partitioning, HashShares) or not node.bucket_keys:
        return ()
    classes = [node.bucket_keys[number] for group in partitioning.classes for number in group]
    return _complete(tuple(own.intersection(filter(None, key.columns)) for key in classes))


def _told_by(node: PhysicalNode, handed: Handed, buckets: int) -> tuple[str, ...]:
    """The keys of a node that tell the bucket of each of its rows; () where they do not."""
    partitioning = node.partitioning(buckets)
    if not handed or not isinstance(partitioning, HashKeys) or node.estimates:
        return ()
    if partitioning.otherwise:
        return ()
    keys = partitioning.columns
    if not all(columns & set(keys) for columns in handed):
        return ()
    return tuple(name for name in keys if any(name in columns for columns in handed))


def _through(step: PhysicalNode, handed: Handed) -> Handed:
    """What is handed on, under the names it has above a node."""
    names = step.schema.names
    renamed = [
        frozenset(name for name in names if step.columns_below({name}) & columns)
        for columns in handed
    ]
    return _complete(tuple(renamed))


def _complete(handed: Handed) -> Handed:
    """The same, if no key is missing: without one the others do not tell the bucket."""
    return handed if all(handed) else ()
