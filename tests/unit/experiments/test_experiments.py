"""Every experiment runs at a tiny size, decides its claims and draws its figure."""

from __future__ import annotations

import json

import pytest

from windrow.experiments.errors import ExperimentError
from windrow.experiments.experiment import Size, conduct
from windrow.experiments.page import page, write_page
from windrow.experiments.record import prepare, read, write
from windrow.experiments.registry import EXPERIMENTS, chosen

NAMES = [
    "wjoin-vs-ripple", "wjoin-vs-xjoin", "wjoin-streams-variable", "wjoin-streams-even",
    "wjoin-slow-stream", "gca-vs-lca", "path", "bew-graph-vs-conservative",
    "bew-vs-few-throughput", "bew-vs-few-response", "bew-vs-few-output",
    "cost-table", "cost-crossovers", "structure-memory", "cost-workloads",
]  # fmt: skip


def test_the_experiments_are_those_of_the_papers_in_their_order():
    assert [experiment.name for experiment in EXPERIMENTS] == NAMES


@pytest.mark.laws
@pytest.mark.parametrize("name", NAMES)
def test_an_experiment_decides_its_claims_and_writes_its_files(name, tmp_path):
    (experiment,) = chosen([name])
    told: list[str] = []
    outcome = conduct(experiment, Size.tiny, told.append)
    assert told
    assert [verdict.claim for verdict in outcome.verdicts] == list(experiment.claims)
    assert outcome.found.table.rows
    files = write(outcome, tmp_path)
    assert {file.name for file in files} >= {
        f"{name}.{kind}" for kind in ("csv", "json", "png", "svg")
    }
    result = read(tmp_path)[name]
    assert result["seed"] == experiment.seed
    assert [claim["verdict"] for claim in result["claims"]] == [
        verdict.word for verdict in outcome.verdicts
    ]
    text = page(EXPERIMENTS, {name: result}, "figures")
    assert f"![{name}](figures/{name}.svg)" in text


def test_counts_are_the_same_in_every_run():
    (experiment,) = chosen(["gca-vs-lca"])
    first, second = (conduct(experiment, Size.tiny, lambda _: None) for _ in range(2))
    at = first.found.table.columns.index("us/tuple")
    for one, other in zip(first.found.table.rows, second.found.table.rows, strict=True):
        assert one[:at] == other[:at]


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
    write(conduct(experiment, Size.tiny, lambda _: None), tmp_path / "results")
    file = tmp_path / "page.md"
    write_page(EXPERIMENTS, read(tmp_path / "results"), tmp_path / "results", file)
    assert "](results/bew-graph-vs-conservative.csv)" in file.read_text()
    json.loads((tmp_path / "results" / "bew-graph-vs-conservative.json").read_text())
