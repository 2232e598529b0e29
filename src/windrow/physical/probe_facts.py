"""What EXPLAIN says of how a window join finds combinations, and when predicates are tested."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from windrow.physical.routes import first_ready, probe_order
from windrow.plan.exprs import Expr
from windrow.plan.texts import show_predicates

if TYPE_CHECKING:
    from windrow.physical.nodes.multi_join import MultiJoin


def probes(spec: MultiJoin) -> list[str]:
    """What a new tuple of each input meets; once for both ways of EITHER WAY where they agree."""
    starts = range(len(spec.inputs))
    lines = [_probe(spec, start) for start in starts]
    if spec.alternative is not None:
        turned = replace(spec, graph=spec.alternative)
        others = [_probe(turned, start) for start in starts]
        lines += [f"reversed: {line}" for line in others if line not in lines]
    return lines


def tests(spec: MultiJoin) -> list[str]:
    """How each predicate is tested."""
    return [f"{predicate.text}: {_way(predicate)}" for predicate in spec.predicates]


def _probe(spec: MultiJoin, start: int) -> str:
    chosen = [start]
    met = []
    for added in probe_order(spec, start):
        met.append(f"{spec.aliases[added]}{_where(spec, first_ready(spec, chosen, added))}")
        chosen.append(added)
    alone = _where(spec, first_ready(spec, (), start))
    return f"a new {spec.aliases[start]}{alone} meets {', then '.join(met)}"


def _where(spec: MultiJoin, numbers: tuple[int, ...]) -> str:
    if not numbers:
        return ""
    return f" where {show_predicates([spec.predicates[number] for number in numbers])}"


def _way(predicate: Expr) -> str:
    if predicate.comparisons:
        return "compared as numbers, candidate by candidate"
    names = ", ".join(dict.fromkeys(call.function.name for call in predicate.calls))
    return f"by {names}, on blocks of candidates" if names else "on blocks of candidates"
