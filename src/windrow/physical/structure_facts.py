"""What EXPLAIN says of the structures of an asymmetric join: which, by which key, and why."""

from __future__ import annotations

from typing import TYPE_CHECKING

from windrow.physical.facts import Fact
from windrow.physical.options import Options
from windrow.physical.part_sizes import BUFFER, HASH
from windrow.physical.structures import served_range
from windrow.plan.texts import show_predicates

if TYPE_CHECKING:
    from windrow.physical.nodes.multi_join import MultiJoin


def structure_facts(spec: MultiJoin, options: Options, keys: str) -> list[Fact]:
    """The structure of each window and who probes it, and what all are kept by."""
    lines = []
    for at, (alias, name) in enumerate(zip(spec.aliases, spec.structures, strict=True)):
        other = spec.aliases[1 - at]
        title = spec.sizes.title(name)
        lines.append(f"window of {alias}: {title}; a new {other} {_found(spec, name)}")
    return [
        ("structures", lines),
        ("kept by", [_kept_by(spec, keys)]),
        ("why", _why(spec, options)),
    ]


def _found(spec: MultiJoin, name: str) -> str:
    """What a probe looks at."""
    served = None if spec.classes else served_range(spec)
    if name == BUFFER:
        return "goes through all of it"
    if name == HASH:
        return "goes through one bucket"
    if served is None:
        return "finds the tuples of its key"
    predicates = show_predicates([spec.predicates[number] for number in served.predicates])
    return f"finds the range of keys that {predicates} allows"


def _kept_by(spec: MultiJoin, keys: str) -> str:
    if spec.classes:
        is_by_all = len(spec.classes) == 1 or spec.shedding is not None
        return keys if is_by_all else f"the first of {keys}"
    served = served_range(spec)
    if served is None:
        return "nothing: every tuple is a candidate"
    return f"{served.bands[0].left}, {served.bands[0].right}"


def _why(spec: MultiJoin, options: Options) -> list[str]:
    asked = f"algorithm = {options.algorithm}" if options.algorithm else ""
    if options.structure:
        both = [asked, f"structure = {options.structure}"]
        return [f"asked for by {', '.join(filter(None, both))}", *_sizes(options)]
    reason = f"{'/'.join(spec.structures)}: {_reason(spec)}"
    is_decided = spec.estimate is not None and spec.estimate.is_decisive
    if not asked and is_decided and not _is_for_what_is_left(spec):
        reason = "of all plans that could run it costs least, or within a fifth of that"
    return [*([f"asked for by {asked}"] if asked else []), reason, *_sizes(options)]


def _sizes(options: Options) -> list[str]:
    """The sizes that the user asked for."""
    asked = {"bucket_size": options.bucket_size, "node_size": options.node_size}
    given = [f"{name} = {size}" for name, size in asked.items() if size is not None]
    return [f"sizes asked for by {', '.join(given)}"] if given else []


def _is_for_what_is_left(spec: MultiJoin) -> bool:
    """Whether structures were chosen after an allocation, for what it leaves."""
    return spec.shedding is not None and spec.shedding.expected is not None


def _reason(spec: MultiJoin) -> str:
    if _is_for_what_is_left(spec):
        return "each costs least for the tuples that are kept and the arrivals that probe"
    if spec.estimate is not None and spec.estimate.is_decisive:
        return "of all pairs of structures they cost least, or within a fifth of that"
    if spec.classes:
        return "an equality narrows each probe to one bucket, and a bucket costs least to keep"
    if served_range(spec) is None:
        return "there is neither an equality nor a comparison to look tuples up by"
    return "there is no equality, and a tree finds the tuples that a comparison allows"
