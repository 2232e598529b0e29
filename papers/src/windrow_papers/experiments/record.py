"""Results as files: NAME.csv, NAME.json, NAME.png, NAME.svg, and NAME-series.csv where there is one."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from windrow_papers.experiments.charts import draw
from windrow_papers.experiments.errors import ExperimentError
from windrow_papers.experiments.experiment import Outcome


def prepare(folder: Path) -> None:
    """Makes the folder, so that a long run does not fail at its end."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        probe = folder / ".writable"
        probe.write_text("")
        probe.unlink()
    except OSError as error:
        problem = error.strerror or str(error)
        raise ExperimentError.not_writable(folder, problem) from error


def write(outcome: Outcome, folder: Path) -> list[Path]:
    """Writes an outcome's files; gives their paths."""
    stem = folder / outcome.experiment.name
    texts = {
        f"{stem.name}.csv": outcome.found.table.csv(),
        f"{stem.name}.json": json.dumps(outcome.as_dict(), indent=1) + "\n",
    }
    if outcome.found.series is not None:
        texts[f"{stem.name}-series.csv"] = outcome.found.series.csv()
    try:
        for name, text in texts.items():
            (folder / name).write_text(text)
        figures = draw(outcome.found.chart, stem)
    except OSError as error:
        problem = error.strerror or str(error)
        raise ExperimentError.not_writable(folder, problem) from error
    return [*(folder / name for name in texts), *figures]


def read(folder: Path) -> dict[str, dict[str, Any]]:
    """The outcomes that lie in a folder, by name of experiment."""
    found = {}
    for file in sorted(folder.glob("*.json")):
        outcome: dict[str, Any] = json.loads(file.read_text())
        found[outcome["name"]] = outcome
    if not found:
        raise ExperimentError.no_results(folder)
    return found
