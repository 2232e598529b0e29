"""What this package adds to Windrow, by the registration that is open to everybody."""

from __future__ import annotations

from windrow import extend
from windrow.extend import (
    ARRIVAL,
    ARRIVAL_JOIN,
    BY_WINDOWS,
    HASH,
    NESTED_LOOP,
    PIPELINE,
    SWEEP,
    SWEEP_JOIN,
    Algorithm,
)
from windrow_papers.kernels.cleaning import CLEAN_EVERY

MACHINES = "windrow_papers.operators.machines"

extend.command("experiment", "windrow_papers.command:app")
extend.command("cost", "windrow_papers.cost_command:command")

extend.algorithm(
    "bew-tuple-at-a-time",
    Algorithm(
        "BEW, tuple by tuple",
        "as BEW: going through a buffer drops what is out of reach; rarely probed "
        "buckets are updated apart",
        ARRIVAL,
        (HASH, NESTED_LOOP),
        ARRIVAL_JOIN,
        f"{MACHINES}:bew",
        says_method=True,
    ),
)
extend.algorithm(
    "gca",
    Algorithm(
        "GCA",
        "a sweep with one window for all, the largest; then every stated window is tested",
        SWEEP,
        (HASH, NESTED_LOOP),
        SWEEP_JOIN,
        f"{MACHINES}:gca",
    ),
)
extend.algorithm(
    "lca",
    Algorithm(
        "LCA",
        "a sweep with the largest window of each stream; then every stated window is tested",
        SWEEP,
        (HASH, NESTED_LOOP),
        SWEEP_JOIN,
        f"{MACHINES}:lca",
    ),
)
extend.algorithm(
    "closure",
    Algorithm(
        "Closure",
        "a new tuple meets, in every other stream, only what the closed bounds of all tuples "
        "chosen allow",
        ARRIVAL,
        (NESTED_LOOP,),
        ARRIVAL_JOIN,
        f"{MACHINES}:closure",
    ),
)
extend.algorithm(
    "bew-graph",
    Algorithm(
        "BEW for graphs",
        "a new tuple meets the other streams along the stated windows, and is tested by those "
        "alone",
        ARRIVAL,
        (NESTED_LOOP,),
        ARRIVAL_JOIN,
        f"{MACHINES}:bew_graph",
        meets=BY_WINDOWS,
    ),
)
extend.algorithm(
    "ripple",
    Algorithm(
        "Ripple join",
        f"a new tuple meets all tuples seen; old ones are cleaned out every {CLEAN_EVERY:,} tuples",
        ARRIVAL,
        (NESTED_LOOP,),
        ARRIVAL_JOIN,
        f"{MACHINES}:ripple",
        cleans_at_times=True,
    ),
)
extend.algorithm(
    "xjoin",
    Algorithm(
        "XJoin",
        "a pipeline of symmetric hash joins, windows tested on what a probe meets; old tuples are "
        f"cleaned out every {CLEAN_EVERY:,} tuples",
        PIPELINE,
        (HASH,),
        ARRIVAL_JOIN,
        f"{MACHINES}:xjoin",
        instead="ripple",
        cleans_at_times=True,
    ),
)
