"""`windrow cost`: what a join of two streams costs, by the structures that keep its windows."""

from __future__ import annotations

import json
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated

import typer

from windrow.cli.failures import reported
from windrow.run.terminal import Terminal, telling

if TYPE_CHECKING:
    from windrow.cli.cost_report import Calibrated, Report
    from windrow.optimize.cost.structures import Sizes
    from windrow.optimize.cost.weights import Weights


class WeightsFrom(StrEnum):
    """Whose weights the model uses."""

    paper = "paper"
    calibrated = "calibrated"


Rate = Annotated[float | None, typer.Option(help="Arrivals per unit of time.")]
Window = Annotated[float | None, typer.Option(help="Tuples in the window.")]


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
    calibrate: Annotated[
        bool,
        typer.Option("--calibrate", help="Measure the weights of this machine, and keep them."),
    ] = False,
    bucket: Annotated[int, typer.Option(help="Tuples in a bucket of a hash table.")] = 10,
    node: Annotated[int, typer.Option(help="Tuples in a node of a tree.")] = 100,
    selectivity: Annotated[
        float | None, typer.Option(help="The share of pairs that match: adds the output rate.")
    ] = None,
    keys: Annotated[
        float | None,
        typer.Option(help="Distinct keys, instead of the selectivity: one pair in so many."),
    ] = None,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print JSON on stdout and nothing else.")
    ] = False,
    debug: Annotated[bool, typer.Option("--debug", help="Show tracebacks.")] = False,
) -> None:
    """Say what a join of streams A and B costs with each structure, and which is cheapest."""
    stderr = Terminal(stderr=True)
    with reported(stderr, debug=debug):
        from windrow.cli.cost_report import Asked, report
        from windrow.optimize.cost.structures import Sizes

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
            found = _calibrate(sizes, stderr)
            weights = WeightsFrom.calibrated
        if is_to_report:
            found = report(asked, _weights(weights, sizes), weights.value)
        if as_json:
            typer.echo(json.dumps(found.as_dict(), indent=1))
        else:
            found.show(Terminal())


def _weights(source: WeightsFrom, sizes: Sizes) -> Weights:
    """The weights asked for; those of this machine must have been measured."""
    if source is WeightsFrom.paper:
        from windrow.optimize.cost.weights import PAPER

        return PAPER
    from windrow.calibration.stored import recall

    return recall(sizes)


def _calibrate(sizes: Sizes, stderr: Terminal) -> Calibrated:
    """Measures the weights of this machine, telling what is measured now, and keeps them."""
    from windrow.calibration.compiled import CompiledBench
    from windrow.calibration.measuring import LAST_START_S, measure, weights_in_microseconds
    from windrow.calibration.stored import keep, prepare
    from windrow.cli.cost_report import Calibrated

    prepare()
    with telling(stderr) as say:
        points = measure(CompiledBench, sizes, say, last_start_s=LAST_START_S)
        weights = weights_in_microseconds(points)
    return Calibrated(weights, keep(weights, sizes))
