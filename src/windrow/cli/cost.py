"""`windrow cost --calibrate`: what the window structures cost on this machine.

What a join costs with each of them is said by the command of the same name in the package
`windrow-papers`, which takes the place of this one where it is installed.
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Annotated

import typer
from rich.table import Table

from windrow.cli.errors import reported
from windrow.extend import COMMANDS
from windrow.optimize.cost.structures import Sizes, Structure, Weights
from windrow.run.terminal import Terminal, telling

WORDS = {
    Structure.buffer: "plain buffer",
    Structure.hash: "hash table",
    Structure.btree: "B+tree",
    Structure.ttree: "T-tree",
}


@dataclass(frozen=True)
class Calibrated:
    """Weights that were measured, and where they are kept."""

    weights: Weights
    file: Path

    def as_dict(self) -> dict[str, object]:
        """The weights for JSON."""
        return {"weights": asdict(self.weights), "file": str(self.file)}

    def show(self, stdout: Terminal) -> None:
        """The weights on a terminal."""
        grid = Table()
        grid.add_column("structure")
        for name in ("searching, ns/tuple", "updating, ns/tuple"):
            grid.add_column(name, justify="right")
        for structure, word in WORDS.items():
            weight = self.weights.of(structure)
            figures = (weight.search * 1e3, weight.update * 1e3)
            grid.add_row(word, *(f"{figure:.3g}" for figure in figures))
        stdout.print(grid)
        stdout.say(f"kept in {self.file}")


def calibrated(sizes: Sizes, stderr: Terminal) -> Calibrated:
    """Measures the weights of this machine, telling what is measured now, and keeps them."""
    from windrow.calibration.measuring import (
        LAST_START_S,
        CompiledBench,
        measure,
        weights_in_microseconds,
    )
    from windrow.calibration.stored import keep, prepare

    prepare()
    with telling(stderr) as say:
        points = measure(CompiledBench, sizes, say, last_start_s=LAST_START_S)
        weights = weights_in_microseconds(points)
    return Calibrated(weights, keep(weights, sizes))


Calibrate = Annotated[
    bool, typer.Option("--calibrate", help="Measure the weights of this machine, and keep them.")
]
Bucket = Annotated[int, typer.Option(help="Tuples in a bucket of a hash table.")]
Node = Annotated[int, typer.Option(help="Tuples in a node of a tree.")]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON on stdout and nothing else.")]
Debug = Annotated[bool, typer.Option("--debug", help="Show tracebacks.")]


def cost(
    context: typer.Context,
    *,
    calibrate: Calibrate = False,
    bucket: Bucket = 10,
    node: Node = 100,
    as_json: AsJson = False,
    debug: Debug = False,
) -> None:
    """Measure what the structures of windows cost on this machine."""
    stderr = Terminal(stderr=True)
    with reported(stderr, debug=debug):
        if context.args or not calibrate:
            COMMANDS.check_installed("cost")
        found = calibrated(Sizes(bucket, node), stderr)
        if as_json:
            typer.echo(json.dumps(found.as_dict(), indent=1))
        else:
            found.show(Terminal())
