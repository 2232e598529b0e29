"""`windrow experiment`, as the shell runs it."""

from __future__ import annotations

import json

import pytest
from typer.testing import CliRunner

from windrow.cli.main import app
from windrow_papers.experiments import experiment as experiments
from windrow_papers.experiments import registry
from windrow_papers.experiments.charts import Chart, Line, Panel
from windrow_papers.experiments.claims import Case, Claim, Finding, below
from windrow_papers.experiments.experiment import Experiment, Findings, Size
from windrow_papers.experiments.tables import table

runner = CliRunner()


def tiny(size: Size, say) -> Findings:
    """A table of two rows; the first claim holds, the second does not."""
    say(f"measuring at {size} size")
    chart = Chart("tiny", [Panel("p", "x", "y", [Line("few", [1, 2], [3, 4])])])
    return Findings(
        table(("algorithm", "work"), [["few", 10], ["nlw", 2_000]]),
        (
            Finding(below([Case("a", 10, 2_000)])),
            Finding(below([Case("b", 2_000, 10)]), reason="it is the other way round"),
        ),
        chart,
    )


TINY = Experiment(
    name="tiny-one",
    paper="A paper",
    figure="figure 1",
    setting="two rows",
    claims=(Claim("few below nlw", "above 1"), Claim("nlw below few", "above 1")),
    seed=42,
    run=tiny,
    prose="Prose.",
)


@pytest.fixture(autouse=True)
def only_the_tiny_one(monkeypatch, tmp_path):
    monkeypatch.setattr(registry, "EXPERIMENTS", (TINY,))
    monkeypatch.chdir(tmp_path)


def test_the_list_names_paper_figure_setting_and_claims():
    done = runner.invoke(app, ["experiment", "list"])
    assert done.exit_code == 0
    for text in ("tiny-one", "A paper, figure 1; seed 42", "two rows", "- nlw below few"):
        assert text in done.stdout


def test_the_list_is_json_when_asked():
    done = runner.invoke(app, ["experiment", "list", "--json"])
    (listed,) = json.loads(done.stdout)
    assert (listed["name"], listed["seed"], len(listed["claims"])) == ("tiny-one", 42, 2)


def test_a_claim_that_does_not_hold_is_a_finding_and_no_error(tmp_path):
    done = runner.invoke(app, ["experiment", "run", "tiny-one", "--quick"])
    assert done.exit_code == 0, done.stderr
    assert "holds: few below nlw" in done.stdout
    assert "does not hold: nlw below few" in done.stdout
    assert "reason: it is the other way round" in done.stdout
    assert "seed 42" in done.stdout
    assert "measuring at quick size" in done.stderr
    written = {file.name for file in (tmp_path / "windrow-experiments").iterdir()}
    assert {"tiny-one.csv", "tiny-one.json"} <= written
    csv = (tmp_path / "windrow-experiments" / "tiny-one.csv").read_text()
    assert csv == "algorithm,work\nfew,10\nnlw,2000\n"


def test_json_is_all_that_stdout_holds(tmp_path):
    done = runner.invoke(app, ["experiment", "run", "all", "--json", "--out", "here"])
    (outcome,) = json.loads(done.stdout)
    assert outcome["size"] == "full"
    assert [claim["holds"] for claim in outcome["claims"]] == [True, False]
    assert (tmp_path / "here" / "tiny-one.json").exists()


def test_an_unknown_name_is_text_with_the_nearest_and_exit_code_2():
    done = runner.invoke(app, ["experiment", "run", "tiny-on"])
    assert done.exit_code == 2
    assert "ExperimentError[unknown-experiment]: there is no experiment 'tiny-on'" in done.stderr
    assert "the nearest names: tiny-one" in done.stderr
    assert "Traceback" not in done.stderr


def test_a_folder_that_is_a_file_is_text_and_exit_code_2(tmp_path):
    (tmp_path / "taken").write_text("")
    done = runner.invoke(app, ["experiment", "run", "tiny-one", "--out", "taken"])
    assert done.exit_code == 2
    assert "ExperimentError[results-not-writable]" in done.stderr


def test_the_page_is_written_from_results(tmp_path):
    runner.invoke(app, ["experiment", "run", "tiny-one", "--out", "results"])
    done = runner.invoke(app, ["experiment", "page", "results", "--to", "page.md"])
    assert done.exit_code == 0, done.stderr
    text = (tmp_path / "page.md").read_text()
    assert "**nlw below few**: does not hold." in text
    assert "Why not: it is the other way round." in text


def test_every_run_says_on_what_it_was_measured():
    assert set(experiments.machine()) >= {"cores", "python", "numba", "numpy"}


def test_every_run_says_how_busy_the_machine_was_before_it(tmp_path, monkeypatch):
    monkeypatch.setattr(experiments.os, "getloadavg", lambda: (3.21, 9.0, 9.0))
    runner.invoke(app, ["experiment", "run", "tiny-one", "--out", "results"])
    file = tmp_path / "results" / "tiny-one.json"
    result = json.loads(file.read_text())
    assert result.pop("load") == 3.2
    runner.invoke(app, ["experiment", "page", "results", "--to", "page.md"])
    assert " s, 3.2 processes at work before it)" in (tmp_path / "page.md").read_text()
    file.write_text(json.dumps(result))  # as results were before
    runner.invoke(app, ["experiment", "page", "results", "--to", "page.md"])
    assert " s); table" in (tmp_path / "page.md").read_text()
