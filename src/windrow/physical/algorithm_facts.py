"""What EXPLAIN says of the algorithm of a window join: which, how, why, and what it keeps."""

from __future__ import annotations

from typing import TYPE_CHECKING

from windrow.physical.algorithms import (
    ASYMMETRIC,
    BY_ROUTES,
    BY_WINDOWS,
    DEFAULT,
    PIPELINE,
    SWEEP,
)
from windrow.physical.bounds_text import event_time, plus
from windrow.physical.facts import Fact
from windrow.physical.options import Options
from windrow.physical.pipeline import is_along_path, pipeline_order
from windrow.physical.probe_facts import probes
from windrow.physical.routes import first_ready, probe_order
from windrow.physical.structure_facts import structure_facts
from windrow.plan.explain import show_predicates

if TYPE_CHECKING:
    from windrow.physical.nodes.multi_join import MultiJoin


def algorithm_facts(spec: MultiJoin, options: Options, keys: str) -> list[Fact]:
    """The algorithm, how it answers, and why it was taken; `keys` are the join's as text."""
    algorithm = spec.chosen
    if spec.algorithm == ASYMMETRIC:
        return [
            ("algorithm", [f"{algorithm.title}, {'/'.join(spec.structures)}"]),
            ("how", [algorithm.how]),
            *structure_facts(spec, options, keys),
        ]
    method = f"hash on {keys}" if spec.method == "hash" else "nested loop"
    return [
        ("algorithm", [f"{algorithm.title}, {method}"]),
        ("how", [algorithm.how]),
        ("why", [_why(spec, options), *_within_memory(spec, options)]),
    ]


def search_facts(spec: MultiJoin, below: int, time_type: str) -> list[Fact]:
    """In which order streams are met, and which partial combinations are kept on the way.

    `below` is what the operator's watermark trails by.
    """
    if spec.chosen.kind != PIPELINE:
        return [("probes", _probes(spec))]
    order = pipeline_order(spec)
    return [
        ("pipeline", [_levels(spec, order)]),
        ("between", _intermediate(spec, order, below, time_type)),
    ]


def _why(spec: MultiJoin, options: Options) -> str:
    if options.algorithm not in {None, DEFAULT}:
        return f"asked for by algorithm = {options.algorithm}"
    if spec.estimate is not None and spec.estimate.is_decisive:
        return "of all plans that could run it costs least, or within a fifth of that"
    if spec.method == "hash":
        return "hash, for an equality narrows each look-up to the tuples of one key"
    return "nested loop, for there is no equality to hash on"


def _within_memory(spec: MultiJoin, options: Options) -> list[str]:
    """Why no other algorithm was weighed where memory is bounded; nothing where one was asked for."""
    if options.memory is None or options.sheds or options.asked_algorithm or not spec.has_plans:
        return []
    title = spec.chosen.title
    if options.spills:
        return [f"{title} alone, for on_memory = 'spill': all that it holds can go to disk"]
    return [f"{title} alone, for memory is bounded: it holds rows and nothing beside them"]


def _probes(spec: MultiJoin) -> list[str]:
    """What a new tuple of each input meets, in order."""
    if spec.algorithm == DEFAULT:
        return probes(spec)
    word = "an admitted" if spec.chosen.kind == SWEEP else "a new"
    lines = []
    for start in range(len(spec.inputs)):
        others = ", then ".join(spec.aliases[i] for i in _in_turn(spec, start))
        lines.append(f"{word} {spec.aliases[start]} meets {others}")
    return lines


def _in_turn(spec: MultiJoin, start: int) -> list[int]:
    """The other inputs in the order in which a new tuple meets them."""
    if spec.chosen.meets == BY_ROUTES:
        return probe_order(spec, start)
    size = len(spec.inputs)
    links = [set(key.inputs) for key in spec.classes]
    if spec.chosen.meets == BY_WINDOWS:
        links = [set(pair) for graph in spec.ways for pair in graph.stated_pairs]
    chosen, rest = [start], [(start + n) % size for n in range(1, size)]
    while rest:
        linked = [i for i in rest if any(i in link and link & set(chosen) for link in links)]
        chosen.append((linked or rest)[0])
        rest.remove(chosen[-1])
    return chosen[1:]


def _levels(spec: MultiJoin, order: tuple[int, ...]) -> str:
    """The levels from the bottom up, with the predicates that each tests."""
    text = f"{spec.aliases[order[0]]}{_where(spec, first_ready(spec, (), order[0]))}"
    for level in range(1, len(order)):
        ready = first_ready(spec, order[:level], order[level])
        joined = f"{spec.aliases[order[level]]}{_where(spec, ready)}"
        text += f" with {joined}" if level == 1 else f", then {joined}"
    return text


def _where(spec: MultiJoin, numbers: tuple[int, ...]) -> str:
    if not numbers:
        return ""
    return f" where {show_predicates([spec.predicates[number] for number in numbers])}"


def _intermediate(spec: MultiJoin, order: tuple[int, ...], below: int, time_type: str) -> list[str]:
    """Which partial combinations each level keeps, and until when; of two streams there are none."""
    watermark = plus("watermark", -below, time_type)
    lines = []
    for level in range(2, len(order)):
        left, right = order[:level], order[level]
        names = ", ".join(spec.aliases[i] for i in left)
        bounding = left[-1:] if is_along_path(spec, order) else left
        ends = [
            plus(event_time(spec.inputs[i], spec.aliases[i]), _reach(spec, i, right), time_type)
            for i in bounding
        ]
        last = ends[0] if len(ends) == 1 else f"the least of {', '.join(ends)}"
        until = f"dropped when {watermark} > {last}"
        if spec.chosen.cleans_at_times:
            until = f"useless once {watermark} > {last}, dropped at the next cleaning"
        lines.append(f"({names}) that match, for {spec.aliases[right]}: {until}")
    return lines


def _reach(spec: MultiJoin, left: int, right: int) -> int:
    """How long after a tuple of one input one of another may come, whichever way windows go."""
    return max(graph.upper[left][right] for graph in spec.ways)
