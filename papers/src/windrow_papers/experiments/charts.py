"""Figures: what is drawn, said without a drawing library, and the one place that draws it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

WIDTH_PER_PANEL = 3.6
HEIGHT = 3.0
FORMATS = ("png", "svg")
COLORS = {
    "nlw": "tab:blue",
    "hw": "tab:green",
    "few": "tab:red",
    "bew": "tab:purple",
    "ripple": "tab:gray",
    "xjoin": "tab:gray",
    "gca": "tab:orange",
    "lca": "tab:brown",
    "bew-graph": "tab:pink",
    "closure": "tab:olive",
    "HH": "tab:green",
    "TT": "tab:gray",
    "HT": "tab:blue",
    "TH": "tab:orange",
    "HN": "tab:purple",
    "NH": "tab:brown",
    "TN": "tab:red",
    "NT": "tab:cyan",
    "ita": "tab:gray",
    "tpa": "tab:blue",
    "nta": "tab:red",
    "nested-loops": "tab:gray",
    "matwin/standard": "tab:blue",
    "matwin/standard/ego": "tab:green",
    "matwin/grid/ego": "tab:red",
    "gallop": "tab:red",
    "crabstep": "tab:blue",
    "cheaper": "tab:green",
}
"""An algorithm, or a combination of structures, has the same color in every figure."""


@dataclass(frozen=True)
class Line:
    """A curve: a label that starts with the algorithm's name, and its points."""

    label: str
    x: Sequence[float]
    y: Sequence[float]
    is_dashed: bool = False


@dataclass(frozen=True)
class Panel:
    """One pair of axes. Points that are labels are numbered from 0 on and named by `ticks`."""

    title: str
    x_label: str
    y_label: str
    lines: Sequence[Line]
    is_log: bool = True
    ticks: Sequence[str] = ()


@dataclass(frozen=True)
class Chart:
    """Panels side by side, so many in a row."""

    title: str
    panels: Sequence[Panel]
    columns: int = 3


def draw(chart: Chart, stem: Path) -> list[Path]:
    """Writes the figure as PNG and SVG beside `stem`; nothing where matplotlib is missing."""
    try:
        figure = figure_of(chart)
    except ModuleNotFoundError:  # an extra: experiments run without
        return []
    files = [stem.with_name(f"{stem.name}.{suffix}") for suffix in FORMATS]
    save(figure, files)
    return files


def figure_of(chart: Chart) -> Figure:
    """The figure, with all that it shows, not yet laid out."""
    from matplotlib.figure import Figure  # noqa: PLC0415

    columns = min(len(chart.panels), chart.columns)
    rows = -(-len(chart.panels) // columns)
    size = (WIDTH_PER_PANEL * columns + 0.6, HEIGHT * rows + 0.3)
    figure = Figure(figsize=size, layout="constrained")
    figure.suptitle(chart.title, fontsize=10)
    for number, panel in enumerate(chart.panels, 1):
        _draw_panel(figure.add_subplot(rows, columns, number), panel)
    return figure


def save(figure: Figure, files: Sequence[Path]) -> None:
    """Renders the figure into files, each by what its name ends in."""
    import matplotlib as mpl  # noqa: PLC0415

    # Texts stay texts and ids do not change from run to run, so that files stay small and alike.
    with mpl.rc_context({"svg.fonttype": "none", "svg.hashsalt": "windrow"}):
        # Panels are laid out once, which takes longer than to draw them, and not for each file.
        figure.draw_without_rendering()
        figure.set_layout_engine("none")
        for file in files:
            metadata = {"Date": None} if file.suffix == ".svg" else {}
            figure.savefig(file, dpi=110, metadata=metadata)


def _draw_panel(axes: Axes, panel: Panel) -> None:
    for line in panel.lines:
        name = line.label.split(",")[0].split(" ")[0]
        marker = "o" if len(line.x) <= 12 else None
        axes.plot(
            line.x, line.y, label=line.label, color=COLORS.get(name), linewidth=1.2, markersize=3,
            marker=marker, linestyle="--" if line.is_dashed else "-",
        )  # fmt: skip
    if panel.ticks:
        axes.set_xticks(range(len(panel.ticks)), panel.ticks)
    if panel.is_log:
        axes.set_yscale("log")
    axes.set_title(panel.title, fontsize=9)
    axes.set_xlabel(panel.x_label, fontsize=8)
    axes.set_ylabel(panel.y_label, fontsize=8)
    axes.tick_params(labelsize=7)
    axes.grid(alpha=0.3)
    axes.legend(fontsize=7)
