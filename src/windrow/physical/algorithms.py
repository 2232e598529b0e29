"""The algorithms of window joins: their names, what each is, and what it can do.

All give the same answer. They differ in the work they do, in what they hold, and in when they
answer; `docs/algorithms.md` says which to take.
"""

from __future__ import annotations

from dataclasses import dataclass

HASH, NESTED_LOOP = "hash", "nested-loop"

ARRIVAL = "arrival"
"""A combination comes out in the batch that brings its last tuple."""

SWEEP = "sweep"
"""Tuples are joined in time order, once the watermark has passed them."""

PIPELINE = "pipeline"
"""As ARRIVAL; binary joins hand partial combinations on to one another, and keep them."""

CLEAN_EVERY = 10_000
"""How many tuples the adapted baselines take between two cleanings of their buffers."""


@dataclass(frozen=True)
class Algorithm:
    """One algorithm.

    Attributes:
        title: its name in the papers.
        how: how it finds combinations, in a line.
        kind: ARRIVAL, SWEEP or PIPELINE.
        methods: how it can look tuples up; with a key the first, without one the last.
        instead: what to take in its place where there is no equality to hash on.
        most_streams: how many streams it can join; None for any number.
    """

    title: str
    how: str
    kind: str
    methods: tuple[str, ...]
    instead: str = ""
    most_streams: int | None = None

    @property
    def operator(self) -> str:
        """Where the operator of window joins by it is, as `module:class`."""
        if self.kind == SWEEP:
            return "windrow.operators.published.sweep:SweepJoinOp"
        if self is BY_NAME[DEFAULT]:
            return "windrow.operators.bew_join:BewJoinOp"
        return "windrow.operators.published.arrival:ArrivalJoinOp"

    @property
    def needs_key(self) -> bool:
        """Whether it runs only where there is an equality."""
        return self.methods == (HASH,)


BY_NAME = {
    "bew": Algorithm(
        "BEW",
        "a new tuple meets the other streams one by one, and each tuple chosen shrinks the period "
        "of the next",
        ARRIVAL,
        (HASH, NESTED_LOOP),
    ),
    "bew-published": Algorithm(
        "BEW as published",
        "as BEW, tuple by tuple: going through a buffer drops what is out of reach; rarely probed "
        "buckets are updated apart",
        ARRIVAL,
        (HASH, NESTED_LOOP),
    ),
    "few": Algorithm(
        "FEW",
        "a sweep finds tuples within all windows, then joins those that follow in their period "
        "without testing windows again",
        SWEEP,
        (HASH, NESTED_LOOP),
    ),
    "nlw": Algorithm(
        "NLW",
        "a pipeline of binary joins: a tuple goes through the whole other buffer, and removes what "
        "is out of reach",
        PIPELINE,
        (NESTED_LOOP,),
    ),
    "hw": Algorithm(
        "HW",
        "a pipeline of binary joins: a tuple goes through one bucket of the other table; rarely "
        "probed buckets are updated apart",
        PIPELINE,
        (HASH,),
        instead="nlw",
    ),
    "gca": Algorithm(
        "GCA",
        "a sweep with one window for all, the largest; then every stated window is tested",
        SWEEP,
        (HASH, NESTED_LOOP),
    ),
    "lca": Algorithm(
        "LCA",
        "a sweep with the largest window of each stream; then every stated window is tested",
        SWEEP,
        (HASH, NESTED_LOOP),
    ),
    "closure": Algorithm(
        "Closure",
        "a new tuple meets, in every other stream, only what the closed bounds of all tuples "
        "chosen allow",
        ARRIVAL,
        (NESTED_LOOP,),
    ),
    "bew-graph": Algorithm(
        "BEW for graphs",
        "a new tuple meets the other streams along the stated windows, and is tested by those "
        "alone",
        ARRIVAL,
        (NESTED_LOOP,),
    ),
    "ripple": Algorithm(
        "Ripple join",
        f"a new tuple meets all tuples seen; old ones are cleaned out every {CLEAN_EVERY:,} tuples",
        ARRIVAL,
        (NESTED_LOOP,),
    ),
    "xjoin": Algorithm(
        "XJoin",
        "a pipeline of symmetric hash joins, windows tested on what a probe meets; old tuples are "
        f"cleaned out every {CLEAN_EVERY:,} tuples",
        PIPELINE,
        (HASH,),
        instead="ripple",
    ),
    "asymmetric": Algorithm(
        "Asymmetric",
        "each window has a structure of its own; a new tuple goes into its own, and probes the "
        "other stream's",
        ARRIVAL,
        (HASH, NESTED_LOOP),
        most_streams=2,
    ),
}

BY_METHOD = ("bew", "bew-published", "few")
"""Algorithms whose names may say how they look tuples up."""

CHOICES: dict[str, tuple[str, str | None]] = {
    f"{name}-{method}" if method else name: (name, method)
    for name in BY_NAME
    for method in ((None, HASH, NESTED_LOOP) if name in BY_METHOD else (None,))
}
"""What the option `algorithm` may say: an algorithm, and how it looks tuples up, if that is said."""

DEFAULT = "bew"

ASYMMETRIC = "asymmetric"

SPILLING = frozenset({DEFAULT})
"""Algorithms that hold rows, and indexes made from them, and nothing else: all of it can go to disk."""
