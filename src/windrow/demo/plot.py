"""The sliding aggregate over time, as a picture."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc


def plot_revenue(changes: pa.Table, file: Path) -> Path | None:
    """Draws each store's revenue of the last hour; None where matplotlib is not installed."""
    try:
        from matplotlib.figure import Figure
    except ModuleNotFoundError:
        return None
    figure = Figure(figsize=(10, 4), layout="constrained")
    axes = figure.add_subplot()
    inserts = changes.filter(pc.equal(changes["_change_type"], "insert")).sort_by("_event_time")
    for store in sorted(set(inserts["store"].to_pylist())):
        mine = inserts.filter(pc.equal(inserts["store"], store))
        times = mine["_event_time"].cast(pa.timestamp("us")).to_numpy()
        axes.step(times, mine["revenue"].to_numpy(), where="post", label=store, linewidth=1)
    axes.set_title("Revenue of the last hour, at every instant")
    axes.set_ylabel("revenue")
    axes.legend()
    axes.grid(alpha=0.3)
    figure.autofmt_xdate()
    figure.savefig(file)
    return file
