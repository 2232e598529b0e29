"""`windrow cost`: what a join of two streams costs, by the structures that keep its windows.

It takes the place of Windrow's own command, which only measures this machine.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from enum import StrEnum
from typing import Annotated

import typer
from rich.table import Table

from windrow.cli.cost import (
    WORDS,
    AsJson,
    Bucket,
    Calibrate,
    Calibrated,
    Debug,
    Node,
    calibrated,
)
from windrow.cli.errors import reported
from windrow.optimize.cost.structures import CostError, Sizes, Weights
from windrow.run.terminal import Terminal
from windrow_papers.cost.combinations import PAPER, Cost, Workload, every_cost
from windrow_papers.cost.crossovers import (
    PAPER_STRUCTURES,
    Crossover,
    Reign,
    paper_crossovers,
    reigns,
)
from windrow_papers.cost.output import output_rate, selectivity_of_keys


@dataclass(frozen=True)
class Asked:
    """The numbers of the command line.

    Attributes:
        numbers: rates and windows by the name of their option; None where it was not given.
        sizes: of buckets and nodes.
        selectivity: the share of pairs that match.
        keys: distinct keys, instead.
    """

    numbers: Mapping[str, float | None]
    sizes: Sizes
    selectivity: float | None
    keys: float | None

    @property
    def is_nothing(self) -> bool:
        """Whether no workload was given at all."""
        return all(value is None for value in self.numbers.values())

    def check(self) -> None:
        """Refuses numbers that are missing, or cannot be."""
        workload, share = self.workload(), self.share()
        if share is not None:
            output_rate(workload, share)

    def workload(self) -> Workload:
        """The workload; every number of it is needed."""
        missing = [f"--{name}" for name, value in self.numbers.items() if value is None]
        if missing:
            raise CostError(
                "missing-cost-number",
                f"{', '.join(missing)} {'is' if len(missing) == 1 else 'are'} missing",
                reason="a cost follows from both rates and both windows",
                hint="for instance  windrow cost --rate-a 2 --rate-b 998 --window-a 9500 --window-b 500",
            )
        return Workload(*(value for value in self.numbers.values() if value is not None))

    def share(self) -> float | None:
        """The selectivity, however it was given."""
        if self.selectivity is not None and self.keys is not None:
            raise CostError(
                "selectivity-twice",
                "both --selectivity and --keys are given",
                reason="keys say the selectivity: one pair in so many matches",
                hint="give one of them",
            )
        if self.keys is not None:
            return selectivity_of_keys(self.keys, self.keys)
        return self.selectivity


@dataclass(frozen=True)
class Report:
    """What the model says.

    Attributes:
        workload: the streams.
        sizes: of buckets and nodes.
        weights: what touching a tuple costs.
        source: where the weights come from.
        costs: of all combinations, the cheapest first.
        of_paper: those without B+trees.
        crossovers: the paper's four.
        reigns: the cheapest combination by ratio of the rates.
        output: results per unit of time; None where no selectivity was given.
    """

    workload: Workload
    sizes: Sizes
    weights: Weights
    source: str
    costs: list[Cost]
    of_paper: list[Cost]
    crossovers: tuple[Crossover, ...]
    reigns: list[Reign]
    output: float | None

    def as_dict(self) -> dict[str, object]:
        """The report for JSON; figures are not rounded."""
        return {
            "workload": asdict(self.workload),
            "sizes": asdict(self.sizes),
            "weights": {"source": self.source, **asdict(self.weights)},
            "costs": [
                {
                    "combination": str(cost.combination),
                    "a": cost.combination.a.name,
                    "b": cost.combination.b.name,
                    "cost": cost.total,
                    "cost_a": cost.window_a,
                    "cost_b": cost.window_b,
                }
                for cost in self.costs
            ],
            "winner": str(self.costs[0].combination),
            "winner_without_btree": str(self.of_paper[0].combination),
            "crossovers": [
                {"below": str(one.below), "above": str(one.above), "ratio": one.ratio}
                for one in self.crossovers
            ],
            "cheapest_by_ratio": [
                {
                    "combination": str(reign.combination),
                    "from": reign.first,
                    "to": reign.last if math.isfinite(reign.last) else None,
                }
                for reign in self.reigns
            ],
            "output_rate": self.output,
        }

    def show(self, stdout: Terminal) -> None:
        """The report on a terminal."""
        workload, sizes = self.workload, self.sizes
        stdout.say(
            f"rates A {workload.rate_a:,.12g}, B {workload.rate_b:,.12g} per unit of time; windows "
            f"A {workload.window_a:,.12g}, B {workload.window_b:,.12g} tuples; buckets of {sizes.bucket}, "
            f"nodes of {sizes.node}",
        )
        stdout.say(f"weights: {self.source}; costs in {self.weights.unit}")
        stdout.print(_grid(self))
        stdout.say(f"cheapest: {_described(self.costs[0])}")
        stdout.say(f"cheapest without B+trees, as in the paper: {_described(self.of_paper[0])}")
        stdout.say(f"crossovers, as rate A / rate B: {_crossings(self)}")
        stdout.say(f"cheapest by rate A / rate B: {_ranges(self.reigns)}")
        if self.output is not None:
            stdout.say(f"output: {_figure(self.output)} results per unit of time")


def report(asked: Asked, weights: Weights, source: str) -> Report:
    """Everything that the model says to what was asked.

    Raises:
        CostError: a number is missing, or cannot be.
    """
    workload, sizes, share = asked.workload(), asked.sizes, asked.share()
    windows = workload.window_a, workload.window_b
    return Report(
        workload,
        sizes,
        weights,
        source,
        every_cost(workload, weights, sizes),
        every_cost(workload, weights, sizes, PAPER_STRUCTURES),
        paper_crossovers(*windows, weights, sizes),
        reigns(*windows, weights, sizes),
        None if share is None else output_rate(workload, share),
    )


def _grid(found: Report) -> Table:
    grid = Table()
    for name in ("", "window A in", "window B in"):
        grid.add_column(name)
    for name in ("cost of A", "cost of B", "cost"):
        grid.add_column(name, justify="right")
    for cost in found.costs:
        figures = (cost.window_a, cost.window_b, cost.total)
        style = "bold green" if cost is found.costs[0] else None
        both = cost.combination
        grid.add_row(str(both), WORDS[both.a], WORDS[both.b], *map(_figure, figures), style=style)
    return grid


def _described(cost: Cost) -> str:
    both = cost.combination
    return f"{both}, {_figure(cost.total)} ({WORDS[both.a]} for A, {WORDS[both.b]} for B)"


def _crossings(found: Report) -> str:
    return ", ".join(
        f"{one.below}/{one.above} {'never' if one.ratio is None else format(one.ratio, '.4g')}"
        for one in found.crossovers
    )


def _ranges(ranges: list[Reign]) -> str:
    *before, last = ranges
    parts = [f"{reign.combination} up to {reign.last:.4g}" for reign in before]
    return ", ".join([*parts, f"{last.combination} {'beyond' if parts else 'always'}"])


def _figure(value: float) -> str:
    """Two decimals, as the paper has them; more where they would all be zeros."""
    return f"{value:,.2f}" if value >= 0.1 or value == 0 else f"{value:.2g}"


class WeightsFrom(StrEnum):
    """Whose weights the model uses."""

    paper = "paper"
    calibrated = "calibrated"


Rate = Annotated[float | None, typer.Option(help="Arrivals per unit of time.")]
Window = Annotated[float | None, typer.Option(help="Tuples in the window.")]

app = typer.Typer(add_completion=False)


@app.command()
def cost(
    *,
    rate_a: Rate = None,
    rate_b: Rate = None,
    window_a: Window = None,
    window_b: Window = None,
    weights: Annotated[
        WeightsFrom,
        typer.Option(
            help="What touching a tuple costs: to the paper, or measured on this machine."
        ),
    ] = WeightsFrom.paper,
    calibrate: Calibrate = False,
    bucket: Bucket = 10,
    node: Node = 100,
    selectivity: Annotated[
        float | None, typer.Option(help="The share of pairs that match: adds the output rate.")
    ] = None,
    keys: Annotated[
        float | None,
        typer.Option(help="Distinct keys, instead of the selectivity: one pair in so many."),
    ] = None,
    as_json: AsJson = False,
    debug: Debug = False,
) -> None:
    """Say what a join of streams A and B costs with each structure, and which is cheapest."""
    stderr = Terminal(stderr=True)
    with reported(stderr, debug=debug):
        sizes = Sizes(bucket, node)
        asked = Asked(
            {"rate-a": rate_a, "rate-b": rate_b, "window-a": window_a, "window-b": window_b},
            sizes=sizes,
            selectivity=selectivity,
            keys=keys,
        )
        found: Report | Calibrated
        is_to_report = not (calibrate and asked.is_nothing)
        if is_to_report:
            asked.check()  # a mistake is said before a minute is spent on measuring
        if calibrate:
            found = calibrated(sizes, stderr)
            weights = WeightsFrom.calibrated
        if is_to_report:
            found = report(asked, _weights(weights, sizes), weights.value)
        if as_json:
            typer.echo(json.dumps(found.as_dict(), indent=1))
        else:
            found.show(Terminal())


command = typer.main.get_command(app)
"""The command by itself: as a command among those of an application it would have a name twice."""


def _weights(source: WeightsFrom, sizes: Sizes) -> Weights:
    """The weights asked for; those of this machine must have been measured."""
    if source is WeightsFrom.paper:
        return PAPER
    from windrow.calibration.stored import recall

    return recall(sizes)
