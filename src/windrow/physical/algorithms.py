"""The algorithms of window joins and of bestmatch joins: their names, what each is, and what it can do.

All give the same answer. They differ in the work they do, in what they hold, and in when they
answer; `docs/algorithms.md` says which to take. Below are those that plans take by themselves;
`windrow.extend.algorithm` adds others.
"""

from __future__ import annotations

from dataclasses import dataclass

from windrow.registry import Registry

HASH, NESTED_LOOP = "hash", "nested-loop"

ARRIVAL = "arrival"
"""A combination comes out in the batch that brings its last tuple."""

SWEEP = "sweep"
"""Tuples are joined in time order, once the watermark has passed them."""

PIPELINE = "pipeline"
"""As ARRIVAL; binary joins hand partial combinations on to one another, and keep them."""

BY_KEYS = "keys"
"""A new tuple meets the other streams round robin; those that a key joins to those met come first."""

BY_WINDOWS = "windows"
"""As BY_KEYS; it is a stated window that joins them."""

BY_ROUTES = "routes"
"""In the order that `physical.probe_orders` says: by keys, then by the narrowest window."""

BEW_JOIN = "windrow.operators.joins.bew_join:BewJoinOp"
ARRIVAL_JOIN = "windrow.operators.joins.tuple_at_a_time.arrival_join:ArrivalJoinOp"
SWEEP_JOIN = "windrow.operators.joins.tuple_at_a_time.sweep_join:SweepJoinOp"

_MACHINES = "windrow.operators.joins.tuple_at_a_time.machines"


@dataclass(frozen=True)
class Algorithm:
    """One algorithm: all that planner, EXPLAIN and operators want to know of it.

    Attributes:
        title: its name in the papers.
        how: how it finds combinations, in a line.
        kind: ARRIVAL, SWEEP or PIPELINE.
        methods: how it can look tuples up; with a key the first, without one the last.
        operator: where the operator of window joins by it is, as `module:class`. ARRIVAL_JOIN runs
            those of the kinds ARRIVAL and PIPELINE, SWEEP_JOIN those of the kind SWEEP.
        machine: where the function is, as `module:function`, that makes the machine of these two
            operators (`windrow.kernels.tuple_at_a_time.machine`): of a join, and of where each
            stream's lane begins.
        instead: what to take in its place where there is no equality to hash on.
        most_streams: how many streams it can join; None for any number.
        says_method: whether its name may be followed by `-hash` or `-nested-loop`.
        meets: BY_KEYS, BY_WINDOWS or BY_ROUTES: in which order a new tuple meets the other streams.
        compares: whether its loops test comparisons of two streams' columns as well.
        cleans_at_times: whether it keeps what nothing can meet until a cleaning of its own.
        spills: whether it holds rows, and indexes made from them, and nothing else: all of that can
            go to disk.
    """

    title: str
    how: str
    kind: str
    methods: tuple[str, ...]
    operator: str
    machine: str = ""
    instead: str = ""
    most_streams: int | None = None
    says_method: bool = False
    meets: str = BY_KEYS
    compares: bool = False
    cleans_at_times: bool = False
    spills: bool = False

    @property
    def needs_key(self) -> bool:
        """Whether it runs only where there is an equality."""
        return self.methods == (HASH,)


DEFAULT = "bew"

ASYMMETRIC = "asymmetric"

ALGORITHMS: Registry[Algorithm] = Registry(
    "algorithm",
    in_papers=(
        "bew-tuple-at-a-time", "bew-tuple-at-a-time-hash", "bew-tuple-at-a-time-nested-loop", "bew-graph", "closure",
        "gca", "lca", "ripple", "xjoin",
    ),
)  # fmt: skip

for _name, _algorithm in {
    DEFAULT: Algorithm(
        "BEW",
        "a new tuple meets the other streams one by one, and each tuple chosen shrinks the period "
        "of the next",
        ARRIVAL,
        (HASH, NESTED_LOOP),
        BEW_JOIN,
        says_method=True,
        meets=BY_ROUTES,
        spills=True,
    ),
    "few": Algorithm(
        "FEW",
        "a sweep finds tuples within all windows, then joins those that follow in their period "
        "without testing windows again",
        SWEEP,
        (HASH, NESTED_LOOP),
        SWEEP_JOIN,
        f"{_MACHINES}:few",
        says_method=True,
        meets=BY_ROUTES,
        compares=True,
    ),
    "nlw": Algorithm(
        "NLW",
        "a pipeline of binary joins: a tuple goes through the whole other buffer, and removes what "
        "is out of reach",
        PIPELINE,
        (NESTED_LOOP,),
        ARRIVAL_JOIN,
        f"{_MACHINES}:nlw",
    ),
    "hw": Algorithm(
        "HW",
        "a pipeline of binary joins: a tuple goes through one bucket of the other table; rarely "
        "probed buckets are updated apart",
        PIPELINE,
        (HASH,),
        ARRIVAL_JOIN,
        f"{_MACHINES}:hw",
        instead="nlw",
    ),
    ASYMMETRIC: Algorithm(
        "Asymmetric",
        "each window has a structure of its own; a new tuple goes into its own, and probes the "
        "other stream's",
        ARRIVAL,
        (HASH, NESTED_LOOP),
        ARRIVAL_JOIN,
        f"{_MACHINES}:asymmetric",
        most_streams=2,
    ),
}.items():
    ALGORITHMS.add(_name, _algorithm)


def choice(asked: str) -> tuple[str, str | None] | None:
    """The algorithm that the option `algorithm` asks for, and how it looks tuples up, if that is said.

    None where there is no such algorithm.
    """
    for method in (HASH, NESTED_LOOP):
        name = asked.removesuffix(f"-{method}")
        if name != asked and name in ALGORITHMS and ALGORITHMS[name].says_method:
            return name, method
    return (asked, None) if asked in ALGORITHMS else None


def choices() -> tuple[str, ...]:
    """All that the option `algorithm` may ask for of window joins, installed packages included."""
    return tuple(
        f"{name}-{method}" if method else name
        for name, algorithm in ALGORITHMS.items()
        for method in (("", HASH, NESTED_LOOP) if algorithm.says_method else ("",))
    )


MATWIN, MATWIN_GRID, MATWIN_PLAIN = "matwin", "matwin-grid", "matwin-plain"
NESTED_LOOPS = "nested-loops"
STANDARD_PAGES, GRID_PAGES = "matwin-standard-pages", "matwin-grid-pages"

MATCH_ALGORITHMS = {
    MATWIN: "windows shift over both streams; in each chunk of a window rows are found by key, by"
    " cells of the epsilon grid where these are many, or by time",
    MATWIN_GRID: "windows shift over both streams; in each chunk of a window rows are found by"
    " cells of the epsilon grid",
    MATWIN_PLAIN: "windows shift over both streams; in each chunk of a window rows are found by"
    " key, or by time alone",
    NESTED_LOOPS: "each row that is judged is compared with every row that is held of the other"
    " stream",
    STANDARD_PAGES: "as matwin while the windows fit into memory; beyond that in pages on disk, in"
    " the epsilon grid order: sorted runs, merged",
    GRID_PAGES: "as matwin while the windows fit into memory; beyond that in pages on disk, a list"
    " of pages for each cell of the epsilon grid",
}
"""What the option `algorithm` may say of bestmatch joins, and how each finds candidates."""

PAGED = (STANDARD_PAGES, GRID_PAGES)
"""The algorithms that have pages on disk."""
