"""What EXPLAIN says of a bestmatch join."""

from __future__ import annotations

from collections.abc import Callable

from windrow.physical.bestmatch import MatwinBestmatch
from windrow.physical.bounds_text import drop_condition, event_time, plus, show_bound
from windrow.physical.lifetimes import state_bound
from windrow.physical.match_algorithms import MATCH_ALGORITHMS, PAGED
from windrow.physical.options import Options
from windrow.physical.partitioning import show_class
from windrow.physical.specs import delay, scans
from windrow.plan.durations import show_ticks
from windrow.plan.explain import show_dimension
from windrow.plan.nodes import Dimension

Fact = tuple[str, list[str]]


def bestmatch_facts(
    spec: MatwinBestmatch, options: Options, show: Callable[[str], str]
) -> list[Fact]:
    """The facts of a bestmatch join, in the order they are read."""
    time_type = scans(spec)[0].time_type
    below = max(delay(spec.left), delay(spec.right))
    left, right = bestmatch_aliases(spec)
    keys = [show_class(key, show) for key in spec.classes]
    return [
        ("algorithm", [f"{spec.algorithm}: {MATCH_ALGORITHMS[spec.algorithm]}"]),
        ("dimensions", [show_dimension(d, time_type, show) for d in spec.dimensions]),
        ("orders", _orders(spec)),
        ("candidates", [show_bound(left, right, spec.lo, spec.hi, time_type), *keys]),
        ("kept", _kept(spec)),
        ("unmatched", [_unmatched(spec)]),
        ("final", _final(spec, below, time_type)),
        ("retention", _retention(spec, below, time_type)),
        ("state", _state(spec, below)),
        ("pages", _pages(spec, keys, show)),
        ("emits", [_emission(spec, time_type)]),
        ("why", _why(spec, options)),
    ]


def _pages(spec: MatwinBestmatch, keys: list[str], show: Callable[[str], str]) -> list[str]:
    """What there is in pages, where windows may go to these."""
    if spec.algorithm not in PAGED:
        return []
    aliases = bestmatch_aliases(spec)
    met = " and ".join(aliases[1 - port] for port in reversed(spec.judged))
    cells = [f"{show(d.left)} ~ {show(d.right)}" for d in _limited(spec)]
    order = [
        *keys,
        *([f"cells of {', '.join(cells)}, about as wide as the limits"] if cells else []),
    ]
    return [
        f"of {met}, once the windows do not fit into memory: {', then '.join([*order, 'time'])}",
        "half of the memory for page frames, a quarter for the first and last rows of all pages; where"
        " that is too little, chunks are mapped instead",
        "gallop or crabstep, whichever reads fewer pages: both are counted beforehand",
    ]


def _limited(spec: MatwinBestmatch) -> list[Dimension]:
    return [d for d in spec.dimensions if d.has_grid]


def _why(spec: MatwinBestmatch, options: Options) -> list[str]:
    chunks = "of what does not fit into memory chunks of rows go to disk, not pages"
    is_spilled = options.spills and spec.algorithm not in PAGED
    if options.match_algorithm is not None:
        asked = f"asked for: algorithm = {options.match_algorithm!r}"
        return [asked, chunks] if is_spilled else [asked]
    lines = ["both streams are ordered by time, so that windows shift over them once"]
    if spec.algorithm in PAGED:
        lines.append("pages: on_memory = 'spill', and no dimension is compared by value")
    elif is_spilled:
        by_value = next(d for d in spec.dimensions if d.is_by_value)
        lines.append(f"{chunks}: {_order_name(by_value)} looks at values")
    if spec.classes:
        return [*lines, "rows of one key are looked up together"]
    if _limited(spec):
        return [*lines, "each chunk's rows choose: a grid pays where many are in reach of one"]
    return [*lines, "no grid: no dimension but time is a distance with a limit"]


def bestmatch_aliases(spec: MatwinBestmatch) -> tuple[str, str]:
    """The aliases of both sides, as their flat column names begin."""
    first = spec.dimensions[0]
    return first.left.split(".", 1)[0], first.right.split(".", 1)[0]


def _orders(spec: MatwinBestmatch) -> list[str]:
    """What orders that look at values cost."""
    by_value = [d for d in spec.dimensions if d.is_by_value]
    partial = [d for d in by_value if d.function is not None and d.function.is_partial_order]
    asked = [_order_name(d) for d in by_value if d not in partial]
    lines = []
    if asked:
        verb = "are" if len(asked) > 1 else "is"
        lines.append(f"{' and '.join(asked)} {verb} asked for all candidates of a row")
    return lines + [
        f"{_order_name(d)} compares every two candidates of a row: the slow path" for d in partial
    ]


def _order_name(dimension: Dimension) -> str:
    if dimension.is_wide:
        return "MINDIST of decimals with more than 18 digits"
    return dimension.order if dimension.function is not None else dimension.order.upper()


def _kept(spec: MatwinBestmatch) -> list[str]:
    aliases = bestmatch_aliases(spec)
    lines = [
        f"per row of {aliases[port]}, its candidates that none of its others dominates"
        for port in spec.judged
    ]
    return [*lines, "each pair once"] if len(lines) > 1 else lines


def _unmatched(spec: MatwinBestmatch) -> str:
    aliases = bestmatch_aliases(spec)
    rows = f"rows of {' and of '.join(aliases[port] for port in spec.judged)}"
    if spec.keep_unmatched:
        return f"{rows} without a candidate come with NULLs (KEEP UNMATCHED)"
    return f"{rows} without a candidate are absent"


def _final(spec: MatwinBestmatch, below: int, time_type: str) -> list[str]:
    aliases, inputs = bestmatch_aliases(spec), (spec.left, spec.right)
    trailing = plus("watermark", -below, time_type)
    return [
        f"the pairs of {aliases[port]} once {trailing} > "
        f"{plus(event_time(inputs[port], aliases[port]), spec.wait(port), time_type)}"
        for port in spec.judged
    ]


def _kept_for(spec: MatwinBestmatch, port: int) -> int:
    """How long a row stays: until it is judged, or none of those that are judged can meet it."""
    is_met = 1 - port in spec.judged
    return spec.lo + spec.hi if is_met else spec.wait(port)


def _retention(spec: MatwinBestmatch, below: int, time_type: str) -> list[str]:
    members = zip((spec.left, spec.right), bestmatch_aliases(spec), strict=True)
    return [
        drop_condition(child, alias, _kept_for(spec, port), below, time_type)
        for port, (child, alias) in enumerate(members)
    ]


def _state(spec: MatwinBestmatch, below: int) -> list[str]:
    members = zip((spec.left, spec.right), bestmatch_aliases(spec), strict=True)
    rows = [
        state_bound(spec, child, alias, _kept_for(spec, port), below)
        for port, (child, alias) in enumerate(members)
    ]
    if len(spec.judged) == 1:
        return rows
    return [*rows, "two numbers for each pair that came out for one row, until the other is judged"]


def _emission(spec: MatwinBestmatch, time_type: str) -> str:
    ticks = max(map(spec.wait, spec.judged))
    added = f"adds a delay of {show_ticks(ticks, time_type)}" if ticks > 0 else "adds no delay"
    first = "" if len(spec.judged) == 1 else " for either of its rows"
    return f"when final{first}; {added}"
