"""What EXPLAIN says of the algorithm of a window join: which, how, why, and what it keeps."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from windrow.physical.algorithms import (
    BY_ROUTES,
    BY_WINDOWS,
    DEFAULT,
    HASH,
    PIPELINE,
    SWEEP,
)
from windrow.physical.explain.facts import Fact, event_time, plus, said
from windrow.physical.options import Options
from windrow.physical.probe_orders import first_ready, is_along_path, pipeline_order, probe_order
from windrow.physical.structures import BUFFER, served_range
from windrow.plan.exprs import Expr
from windrow.plan.texts import show_predicates

if TYPE_CHECKING:
    from windrow.physical.nodes.multi_join import MultiJoin


def algorithm_facts(node: MultiJoin, options: Options, keys: str) -> list[Fact]:
    """The algorithm, how it answers, and why it was taken; `keys` are the join's as text."""
    algorithm = node.chosen
    method = f"hash on {keys}" if node.method == "hash" else "nested loop"
    return said(
        ("algorithm", f"{algorithm.title}, {method}"),
        ("how", algorithm.how),
        ("why", [_why(node, options), *_within_memory(node, options)]),
    )


def search_facts(node: MultiJoin, below: int, time_type: str) -> list[Fact]:
    """In which order streams are met, and which partial combinations are kept on the way.

    `below` is what the operator's watermark trails by.
    """
    if node.chosen.kind != PIPELINE:
        return said(("probes", _probes(node)))
    order = pipeline_order(node)
    return said(
        ("pipeline", _levels(node, order)),
        ("between", _intermediate(node, order, below, time_type)),
    )


def _why(node: MultiJoin, options: Options) -> str:
    if options.algorithm not in {None, DEFAULT}:
        return f"asked for by algorithm = {options.algorithm}"
    if node.estimate is not None and node.estimate.is_decisive:
        return "the cheapest plan that could run, or within a fifth of it"
    if node.method == "hash":
        return "hash: an equality narrows each look-up to the tuples of one key"
    return "nested loop: there is no equality to hash on"


def _within_memory(node: MultiJoin, options: Options) -> list[str]:
    """Why no other algorithm was weighed where memory is bounded; nothing where one was asked for."""
    if options.memory is None or options.sheds or options.asked_algorithm or not node.has_plans:
        return []
    title = node.chosen.title
    if options.spills:
        return [f"{title} alone, for on_memory = 'spill': all that it holds can go to disk"]
    return [f"{title} alone, for memory is bounded: it holds rows and nothing beside them"]


def _probes(node: MultiJoin) -> list[str]:
    """What a new tuple of each input meets, in order."""
    if node.is_backward:
        return probes(node)
    word = "an admitted" if node.chosen.kind == SWEEP else "a new"
    lines = []
    for start in range(len(node.inputs)):
        others = ", then ".join(node.aliases[i] for i in _in_turn(node, start))
        lines.append(f"{word} {node.aliases[start]} meets {others}")
    return lines


def _in_turn(node: MultiJoin, start: int) -> list[int]:
    """The other inputs in the order in which a new tuple meets them."""
    if node.chosen.meets == BY_ROUTES:
        return probe_order(node, start)
    size = len(node.inputs)
    links = [set(key.inputs) for key in node.classes]
    if node.chosen.meets == BY_WINDOWS:
        links = [set(pair) for graph in node.ways for pair in graph.stated_pairs]
    chosen, rest = [start], [(start + n) % size for n in range(1, size)]
    while rest:
        linked = [i for i in rest if any(i in link and link & set(chosen) for link in links)]
        chosen.append((linked or rest)[0])
        rest.remove(chosen[-1])
    return chosen[1:]


def _levels(node: MultiJoin, order: tuple[int, ...]) -> str:
    """The levels from the bottom up, with the predicates that each tests."""
    text = f"{node.aliases[order[0]]}{_where(node, first_ready(node, (), order[0]))}"
    for level in range(1, len(order)):
        ready = first_ready(node, order[:level], order[level])
        joined = f"{node.aliases[order[level]]}{_where(node, ready)}"
        text += f" with {joined}" if level == 1 else f", then {joined}"
    return text


def _where(node: MultiJoin, numbers: tuple[int, ...]) -> str:
    if not numbers:
        return ""
    return f" where {show_predicates([node.predicates[number] for number in numbers])}"


def _intermediate(node: MultiJoin, order: tuple[int, ...], below: int, time_type: str) -> list[str]:
    """Which partial combinations each level keeps, and until when; of two streams there are none."""
    watermark = plus("watermark", -below, time_type)
    lines = []
    for level in range(2, len(order)):
        left, right = order[:level], order[level]
        names = ", ".join(node.aliases[i] for i in left)
        bounding = left[-1:] if is_along_path(node, order) else left
        ends = [
            plus(event_time(node.inputs[i], node.aliases[i]), _reach(node, i, right), time_type)
            for i in bounding
        ]
        last = ends[0] if len(ends) == 1 else f"the least of {', '.join(ends)}"
        until = f"dropped when {watermark} > {last}"
        if node.chosen.cleans_at_times:
            until = f"useless once {watermark} > {last}, dropped at the next cleaning"
        lines.append(f"({names}) that match, for {node.aliases[right]}: {until}")
    return lines


def _reach(node: MultiJoin, left: int, right: int) -> int:
    """How long after a tuple of one input one of another may come, whichever way windows go."""
    return max(graph.upper[left][right] for graph in node.ways)


def structure_facts(node: MultiJoin, options: Options, keys: str) -> list[Fact]:
    """The algorithm, the structure of each window and who probes it, and what all are kept by."""
    lines = []
    for at, (alias, name) in enumerate(zip(node.aliases, node.structures, strict=True)):
        other = node.aliases[1 - at]
        title = options.part_sizes.title(name)
        lines.append(f"window of {alias}: {title}; a new {other} {_found(node, name)}")
    return said(
        ("algorithm", f"{node.chosen.title}, {'/'.join(node.structures)}"),
        ("how", node.chosen.how),
        ("structures", lines),
        ("kept by", _kept_by(node, keys)),
        ("why", _why_structures(node, options)),
    )


def _found(node: MultiJoin, name: str) -> str:
    """What a probe looks at."""
    served = None if node.classes else served_range(node)
    if name == BUFFER:
        return "goes through all of it"
    if name == HASH:
        return "goes through one bucket"
    if served is None:
        return "finds the tuples of its key"
    predicates = show_predicates([node.predicates[number] for number in served.predicates])
    return f"finds the range of keys that {predicates} allows"


def _kept_by(node: MultiJoin, keys: str) -> str:
    if node.classes:
        is_by_all = len(node.classes) == 1 or node.is_limited
        return keys if is_by_all else f"the first of {keys}"
    served = served_range(node)
    if served is None:
        return "nothing: every tuple is a candidate"
    return f"{served.bands[0].left}, {served.bands[0].right}"


def _why_structures(node: MultiJoin, options: Options) -> list[str]:
    asked = f"algorithm = {options.algorithm}" if options.algorithm else ""
    if options.structure:
        both = [asked, f"structure = {options.structure}"]
        return [f"asked for by {', '.join(filter(None, both))}", *_sizes(options)]
    reason = f"{'/'.join(node.structures)}: {_reason(node)}"
    is_decided = node.estimate is not None and node.estimate.is_decisive
    if not asked and is_decided and not node.is_for_what_is_left:
        reason = "the cheapest plan that could run, or within a fifth of it"
    return [*([f"asked for by {asked}"] if asked else []), reason, *_sizes(options)]


def _sizes(options: Options) -> list[str]:
    """The sizes that the user asked for."""
    asked = {"bucket_size": options.bucket_size, "node_size": options.node_size}
    given = [f"{name} = {size}" for name, size in asked.items() if size is not None]
    return [f"sizes asked for by {', '.join(given)}"] if given else []


def _reason(node: MultiJoin) -> str:
    if node.is_for_what_is_left:
        return "each costs least for the tuples that are kept and the arrivals that probe"
    if node.estimate is not None and node.estimate.is_decisive:
        return "the cheapest pair of structures, or within a fifth of it"
    if node.classes:
        return "an equality narrows each probe to one bucket, and a bucket costs least to keep"
    if served_range(node) is None:
        return "there is neither an equality nor a comparison to look tuples up by"
    return "there is no equality, and a tree finds the tuples that a comparison allows"


def probes(node: MultiJoin) -> list[str]:
    """What a new tuple of each input meets; once for both ways of EITHER WAY where they agree."""
    starts = range(len(node.inputs))
    lines = [_probe(node, start) for start in starts]
    if node.alternative is not None:
        turned = replace(node, graph=node.alternative)
        others = [_probe(turned, start) for start in starts]
        lines += [f"reversed: {line}" for line in others if line not in lines]
    return lines


def tests(node: MultiJoin) -> list[str]:
    """How each predicate is tested."""
    return [f"{predicate.text}: {_way(predicate)}" for predicate in node.predicates]


def _probe(node: MultiJoin, start: int) -> str:
    chosen = [start]
    met = []
    for added in probe_order(node, start):
        met.append(f"{node.aliases[added]}{_where(node, first_ready(node, chosen, added))}")
        chosen.append(added)
    alone = _where(node, first_ready(node, (), start))
    return f"a new {node.aliases[start]}{alone} meets {', then '.join(met)}"


def _way(predicate: Expr) -> str:
    if predicate.comparisons:
        return "compared as numbers, candidate by candidate"
    names = ", ".join(dict.fromkeys(call.function.name for call in predicate.calls))
    return f"by {names}, on blocks of candidates" if names else "on blocks of candidates"
