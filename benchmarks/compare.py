"""The README's speed table on two checkouts, taking turns, so that both meet the same machine.

    .venv/bin/python -m benchmarks.compare ../before ../after

Each checkout has a `.venv` of its own (`make setup`). A round runs one measuring process of each, and
every other round the second one goes first; the best figure of all rounds counts, since whatever else
the machine does can only make a run slower.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.workloads import ThetaStreams, ThreeStreams, TripletStreams, write

HERE = Path(__file__).parent


@dataclass(frozen=True)
class Row:
    """A measuring process, and which of the figures that it prints are compared.

    A figure is a path of keys; one whose last key says "per_s" is a rate, of which more is better.
    """

    module: str
    arguments: tuple[str, ...]
    figures: tuple[str, ...]


def rows(data: Path) -> dict[str, Row]:
    """The rows of the table, in its order, by the names that `benchmarks.run` gives them."""
    join = write(ThreeStreams(tuples=1_000_000, batch=200_000), data)
    join_warm_up = write(ThreeStreams(tuples=100_000, batch=20_000), data)
    growth = write(TripletStreams(tuples=1_300_000, batch=50_000), data)
    theta = write(ThetaStreams(tuples=1_000_000, batch=100_000), data)
    theta_warm_up = write(ThetaStreams(tuples=50_000, batch=10_000), data)
    changelog, changelog_warm_up = (
        write(
            ThreeStreams("one-stream", tuples=5 * batch, batch=batch, per_second=10_000),
            data,
            streams="a",
        )
        for batch in (600_000, 60_000)
    )

    def streaming(way: str, folder: Path, *more: object) -> tuple[str, ...]:
        return (way, str(folder), *map(str, more))

    return {
        "kernel": Row("kernel_join", ("--json",), ("kernel_million_tuples_per_s",)),
        "memory": Row("in_process", ("--tuples", "10000000"), ("seconds",)),
        "band, T-trees": Row("band", ("--structure", "ttree/ttree"), ("windrow/seconds",)),
        "band, B+trees": Row("band", ("--structure", "btree/btree"), ("windrow/seconds",)),
        "structures": Row("structures", (), ("hash/sizes/-1/probe_ns", "hash/sizes/-1/slide_ns")),
        "counts": Row("counts", (), ("small/ms_per_batch", "large/ms_per_batch")),
        "aggregates": Row(
            "aggregates",
            (),
            (
                *(
                    f"changes/{name}/1000000/ns"
                    for name in ("sum", "max", "count distinct", "median", "distinct", "except all")
                ),
                "grouped/rows_per_s",
            ),
        ),
        "over": Row("over", (), ("seconds/windrow",)),
        "asof": Row("asof", ("--way", "windrow"), ("seconds",)),
        "bestmatch": Row("bestmatch", ("--way", "windrow"), ("seconds",)),
        "bestmatch on Spark": Row("bestmatch", ("--way", "windrow-spark"), ("seconds",)),
        "join": Row(
            "streaming", streaming("windrow", join, "--warm-up", join_warm_up), ("steady_ms",)
        ),
        "growth, small window": Row(
            "streaming", streaming("windrow", growth, "--window", 100), ("steady_ms",)
        ),
        "growth, large window": Row(
            "streaming", streaming("windrow", growth, "--window", 1_000), ("steady_ms",)
        ),
        "theta, 1 s": Row(
            "streaming",
            streaming("windrow-theta", theta, "--window", 1_000, "--warm-up", theta_warm_up),
            ("total_s",),
        ),
        "theta, 10 s": Row(
            "streaming",
            streaming("windrow-theta", theta, "--window", 10_000, "--warm-up", theta_warm_up),
            ("total_s",),
        ),
        "changelog": Row(
            "changelog_stream",
            streaming("windrow", changelog, "--warm-up", changelog_warm_up),
            ("steady_ms",),
        ),
    }


def measured(checkout: Path, row: Row) -> dict[str, float]:
    """One process of one checkout: its figures by path."""
    command = [str(checkout / ".venv/bin/python"), "-m", f"benchmarks.{row.module}", *row.arguments]
    done = subprocess.run(command, cwd=checkout, capture_output=True, text=True, check=False)
    if done.returncode:
        sys.stderr.write(done.stderr[-4000:])
        raise SystemExit(f"{' '.join(command)} failed in {checkout}")
    printed = json.loads(done.stdout.strip().splitlines()[-1])
    return {figure: at(printed, figure) for figure in row.figures}


def at(printed: Any, figure: str) -> float:
    """What stands at a path of keys and positions."""
    for key in figure.split("/"):
        printed = printed[int(key)] if isinstance(printed, list) else printed[key]
    return float(printed)


def is_rate(figure: str) -> bool:
    """Whether more of a figure is better."""
    return figure.endswith("per_s")


def compare(checkouts: tuple[Path, Path], name: str, row: Row, rounds: int) -> list[dict[str, Any]]:
    """The best figures of both, and how much of the first one's speed the second one has."""
    found: tuple[list[dict[str, float]], list[dict[str, float]]] = ([], [])
    for turn in range(rounds):
        for side in (0, 1) if turn % 2 == 0 else (1, 0):
            found[side].append(measured(checkouts[side], row))
    lines = []
    for figure in row.figures:
        best = max if is_rate(figure) else min
        before, after = (best(one[figure] for one in side) for side in found)
        costs = before / after if is_rate(figure) else after / before
        lines.append(
            {"row": name, "figure": figure, "before": before, "after": after, "costs": costs}
        )
        print(
            f"{name:<22} {figure:<34} {before:>12g} {after:>12g}   costs {costs:5.3f} times",
            flush=True,
        )
    return lines


def main() -> None:
    """Measures the rows asked for, on both checkouts."""
    parser = argparse.ArgumentParser(description="The speed table on two checkouts.")
    parser.add_argument("before", type=Path)
    parser.add_argument("after", type=Path)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--only", nargs="+", metavar="ROW")
    parser.add_argument("--json", type=Path, default=HERE / "results" / "compared.json")
    given = parser.parse_args()
    table = rows(HERE / "data")
    unknown = sorted(set(given.only or ()) - set(table))
    if unknown:
        parser.error(f"no such row: {', '.join(unknown)}; there are: {', '.join(table)}")
    if "JAVA_HOME" not in os.environ:
        found = subprocess.run(
            [HERE.parent / "scripts/java"], capture_output=True, text=True, check=True
        )
        os.environ["JAVA_HOME"] = found.stdout.strip()
    checkouts = (given.before.resolve(), given.after.resolve())
    lines = [
        line
        for name, row in table.items()
        if given.only is None or name in given.only
        for line in compare(checkouts, name, row, given.rounds)
    ]
    given.json.parent.mkdir(parents=True, exist_ok=True)
    given.json.write_text(json.dumps({"rounds": given.rounds, "rows": lines}, indent=1))


if __name__ == "__main__":
    main()
