"""Every experiment runs at a tiny size, decides its claims and draws its figure."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from windrow_papers.experiments import charts
from windrow_papers.experiments.errors import ExperimentError
from windrow_papers.experiments.experiment import Size, conduct
from windrow_papers.experiments.page import page, write_page
from windrow_papers.experiments.record import prepare, read, write
from windrow_papers.experiments.registry import EXPERIMENTS, chosen
from windrow_papers.experiments.tables import table
from windrow_papers.experiments.workloads import transactions

pytestmark = pytest.mark.slow

PUBLISHED = Path(__file__).parents[3] / "docs" / "experiments"
NAMES = [
    "wjoin-vs-ripple", "wjoin-vs-xjoin", "wjoin-streams-variable", "wjoin-streams-even",
    "wjoin-slow-stream", "gca-vs-lca", "path", "bew-graph-vs-conservative",
    "bew-vs-few-throughput", "bew-vs-few-response", "bew-vs-few-output",
    "cost-table", "cost-crossovers", "structure-memory", "cost-workloads",
    "shed-cpu", "shed-memory", "shed-both",
    "sched-workload", "sched-rate", "sched-selectivity", "sched-throughput", "sched-memory",
    "distinct-regulates",
    "bmj-size", "bmj-dimensions", "bmj-flow", "bmj-pages",
]  # fmt: skip


def test_the_experiments_are_those_of_the_papers_in_their_order():
    assert [experiment.name for experiment in EXPERIMENTS] == NAMES


@pytest.fixture
def figures(monkeypatch):
    """The figures that would be saved: to render them takes four fifths of all the experiments."""
    made = []
    monkeypatch.setattr(charts, "save", lambda figure, files: made.append((figure, files)))
    return made


@pytest.mark.parametrize("name", NAMES)
def test_an_experiment_decides_its_claims_and_writes_its_files(name, tmp_path, figures):
    (experiment,) = chosen([name])
    told: list[str] = []
    outcome = conduct(experiment, Size.tiny, told.append)
    assert told
    assert [verdict.claim for verdict in outcome.verdicts] == list(experiment.claims)
    assert outcome.found.table.rows
    if "results" in outcome.found.table.columns:
        assert_results_agree(outcome.found.table)
    files = write(outcome, tmp_path)
    assert {file.name for file in files} >= {
        f"{name}.{kind}" for kind in ("csv", "json", "png", "svg")
    }
    ((figure, saved),) = figures
    assert set(saved) <= set(files)
    panels = outcome.found.chart.panels
    assert [len(axes.lines) for axes in figure.axes] == [len(panel.lines) for panel in panels]
    result = read(tmp_path)[name]
    assert result["seed"] == experiment.seed
    assert [claim["verdict"] for claim in result["claims"]] == [
        verdict.word for verdict in outcome.verdicts
    ]
    text = page(EXPERIMENTS, {name: result}, "figures")
    assert f"![{name}](figures/{name}.svg)" in text


def assert_figures_are_rendered(files) -> None:
    content = {file.suffix: file.read_bytes() for file in files}
    assert content[".png"].startswith(b"\x89PNG")
    assert b"</svg>" in content[".svg"]


def assert_results_agree(shown) -> None:
    """All algorithms of a case, as the table shows them, give the same number of combinations."""
    case, results = (shown.columns.index(name) for name in ("case", "results"))
    given = {row[case]: row[results] for row in shown.rows}
    assert given
    assert all(row[results] == given[row[case]] for row in shown.rows)


def shown_tables() -> dict[str, dict[str, Any]]:
    """The tables of the experiments' page that count the results of algorithms, by experiment."""
    tables = {file.stem: json.loads(file.read_text())["table"] for file in PUBLISHED.glob("*.json")}
    return {name: shown for name, shown in tables.items() if "results" in shown["columns"]}


@pytest.mark.parametrize("name", sorted(shown_tables()))
def test_the_results_that_the_page_shows_agree_in_every_case(name):
    shown = shown_tables()[name]
    assert_results_agree(table(shown["columns"], shown["rows"]))


@pytest.mark.law
def test_counts_are_the_same_in_every_run():
    (experiment,) = chosen(["gca-vs-lca"])
    first, second = (conduct(experiment, Size.tiny, lambda _: None) for _ in range(2))
    at = first.found.table.columns.index("us/tuple")
    counts = [[row[:at] for row in run.found.table.rows] for run in (first, second)]
    assert counts[0] == counts[1] != []


STORES = {"wjoin-vs-ripple": [1, 1, 0], "wjoin-vs-xjoin": [1], "bew-vs-few-output": [1]}
"""The experiments with real transactions, and which of their claims are about them."""


@pytest.mark.parametrize("name", list(STORES))
def test_without_the_real_transactions_setting_row_claims_and_page_say_so(name, monkeypatch):
    monkeypatch.setattr(transactions, "PACKAGE", "no_such_package")
    (experiment,) = chosen([name])
    told: list[str] = []
    outcome = conduct(experiment, Size.tiny, told.append)
    why = "the Python package no_such_package is not installed"
    assert f"4 streams, real: not measured: {why}" in told
    said = f"not measured here: 4 streams, real ({why})"
    assert outcome.setting.endswith(f"; {said}")
    about_real = [verdict.measured.endswith(f"; {said}") for verdict in outcome.verdicts]
    assert about_real == list(map(bool, STORES[name]))
    last = outcome.found.table.rows[-1]
    assert last[:3] == ("4 streams, real", f"not measured: {why}", "")
    text = page(EXPERIMENTS, {name: outcome.as_dict()}, "figures")
    assert f"{outcome.setting}." in text


def test_without_the_real_transactions_scheduling_is_compared_over_generated_ones(monkeypatch):
    monkeypatch.setattr(transactions, "PACKAGE", "no_such_package")
    (experiment,) = chosen(["sched-selectivity"])
    outcome = conduct(experiment, Size.tiny, lambda _: None)
    said = "Q1, real transactions (the Python package no_such_package is not installed)"
    assert outcome.setting.endswith(f"; not measured here: {said}")
    about_real = [said in verdict.measured for verdict in outcome.verdicts]
    assert about_real == [True, True, False]
    assert not any("real" in str(row[0]) for row in outcome.found.table.rows)


def test_the_page_says_by_what_bew_graph_drops():
    (experiment,) = chosen(["bew-graph-vs-conservative"])
    assert "it drops by the closed bounds" in experiment.prose


def test_all_stands_for_every_experiment_and_names_keep_the_order_of_the_papers():
    assert chosen(["all"]) == EXPERIMENTS
    assert [one.name for one in chosen(["path", "wjoin-vs-ripple", "path"])] == [
        "wjoin-vs-ripple",
        "path",
    ]


def test_an_unknown_name_is_answered_with_the_nearest():
    with pytest.raises(ExperimentError, match="there is no experiment 'wjoin-vs-riple'") as raised:
        chosen(["wjoin-vs-riple"])
    assert raised.value.reason.startswith("the nearest names: wjoin-vs-ripple, ")


def test_a_folder_that_cannot_be_made_is_said_before_anything_runs(tmp_path):
    (tmp_path / "taken").write_text("")
    with pytest.raises(ExperimentError, match="the results cannot be written"):
        prepare(tmp_path / "taken" / "below")


def test_a_page_without_results_is_refused(tmp_path):
    with pytest.raises(ExperimentError, match="holds no results"):
        read(tmp_path)


def test_the_page_links_figures_from_where_it_stands(tmp_path):
    (experiment,) = chosen(["bew-graph-vs-conservative"])
    (tmp_path / "results").mkdir()
    files = write(conduct(experiment, Size.tiny, lambda _: None), tmp_path / "results")
    assert_figures_are_rendered(files)
    file = tmp_path / "page.md"
    write_page(EXPERIMENTS, read(tmp_path / "results"), tmp_path / "results", file)
    assert "](results/bew-graph-vs-conservative.csv)" in file.read_text()
    json.loads((tmp_path / "results" / "bew-graph-vs-conservative.json").read_text())
