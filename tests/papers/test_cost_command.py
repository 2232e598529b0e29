"""`windrow cost`, as the shell runs it."""

from __future__ import annotations

import json

import pytest
from typer.testing import CliRunner

from windrow.calibration import measuring as compiled
from windrow.cli.main import app
from windrow.optimize.cost.structures import Sizes, Structure, touches
from windrow_papers.cost.combinations import PAPER

SKEWED = ("--rate-a", 2, "--rate-b", 998, "--window-a", 9_500, "--window-b", 500)


def cost(*arguments: object):
    return CliRunner().invoke(app, ["cost", *map(str, arguments)])


def test_the_table_has_every_combination_and_the_winners():
    done = cost(*SKEWED)
    assert done.exit_code == 0, done.stderr
    rows = [line.split("│") for line in done.stdout.splitlines() if line.startswith("│")]
    assert len(rows) == 16
    shown = {row[1].strip(): row[6].strip() for row in rows}
    assert (shown["TN"], shown["NT"], shown["HH"]) == ("4.67", "2,849.69", "7.06")
    assert "weights: paper; costs in units of the paper" in done.stdout
    assert "cheapest: BN, 4.15 (B+tree for A, plain buffer for B)" in done.stdout
    assert "cheapest without B+trees, as in the paper: TN, 4.67" in done.stdout
    assert "TN/TH 0.009412, TH/HH 0.1893, HH/HT 1.324, HT/NT 2092" in done.stdout
    assert "BN up to 0.009412, BH up to 0.3252, HH up to 1.324" in done.stdout
    assert "results per unit of time" not in done.stdout


def test_json_is_all_that_stdout_holds():
    done = cost(*SKEWED, "--weights", "paper", "--json")
    found = json.loads(done.stdout)
    costs = {one["combination"]: one["cost"] for one in found["costs"]}
    assert len(costs) == 16
    assert round(costs["TN"], 2) == 4.67
    assert (found["winner"], found["winner_without_btree"]) == ("BN", "TN")
    assert found["costs"][0]["a"] == "btree"
    assert [one["above"] for one in found["crossovers"]] == ["TH", "HH", "HT", "NT"]
    assert found["cheapest_by_ratio"][-1]["to"] is None
    assert found["weights"]["source"] == "paper"
    assert found["output_rate"] is None


def test_a_selectivity_adds_the_output_rate():
    done = cost(*SKEWED, "--selectivity", 0.01)
    assert "output: 94,820.00 results per unit of time" in done.stdout
    done = cost(*SKEWED, "--keys", 100, "--json")
    assert json.loads(done.stdout)["output_rate"] == pytest.approx(94_820)


def test_buckets_and_nodes_have_the_sizes_asked_for():
    done = cost(*SKEWED, "--bucket", 2, "--node", 10, "--json")
    found = json.loads(done.stdout)
    assert found["sizes"] == {"bucket": 2, "node": 10}
    assert [one["ratio"] for one in found["crossovers"][1:3]] == [None, None]
    assert "TH/HH never" in cost(*SKEWED, "--bucket", 2, "--node", 10).stdout


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            ("--rate-a", 2, "--window-a", 5),
            "CostError[missing-cost-number]: --rate-b, --window-b are missing\n"
            "  a cost follows from both rates and both windows\n"
            "  hint: for instance  windrow cost --rate-a 2 --rate-b 998 --window-a 9500 "
            "--window-b 500\n",
        ),
        (
            (*SKEWED, "--selectivity", 0.1, "--keys", 10),
            "CostError[selectivity-twice]: both --selectivity and --keys are given\n"
            "  keys say the selectivity: one pair in so many matches\n"
            "  hint: give one of them\n",
        ),
        (
            (*SKEWED, "--selectivity", 1.5),
            "CostError[bad-cost-number]: the selectivity is 1.5\n"
            "  hint: it must be between 0 and 1\n",
        ),
        (
            (*SKEWED, "--bucket", 0),
            "CostError[bad-cost-number]: the bucket size is 0\n  hint: it must be 1 to 1,000,000\n",
        ),
        (
            (*SKEWED[:-1], -5),
            "CostError[bad-cost-number]: window b is -5\n  hint: it must be a number from 0 on\n",
        ),
        (
            (*SKEWED[:-1], 1e308),
            "CostError[bad-cost-number]: window b is 1e+308\n  hint: it must be at most 1e+100\n",
        ),
    ],
)
def test_mistakes_are_text_and_exit_code_2(arguments, message):
    done = cost(*arguments)
    assert done.exit_code == 2
    assert done.stderr == message
    assert not done.stdout


def test_weights_that_do_not_exist_are_a_usage_error():
    assert cost(*SKEWED, "--weights", "guessed").exit_code == 2


class PaperBench:
    """A machine whose every tuple costs what the paper says, in seconds."""

    def __init__(self, structure: Structure, window: int, sizes: Sizes) -> None:
        self._touched = touches(structure, window, sizes)
        self._weight = PAPER.of(structure)

    def search(self, count: int) -> float:
        return count * self._touched.search * self._weight.search

    def update(self, count: int) -> float:
        return 2 * count * self._touched.update * self._weight.update


@pytest.fixture
def machine(monkeypatch, tmp_path):
    """A cache folder of its own, and a machine like the paper's."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setattr(compiled, "CompiledBench", PaperBench)
    return tmp_path


def test_calibrating_shows_the_weights_and_keeps_them(machine):
    done = cost("--calibrate")
    assert done.exit_code == 0, done.stderr
    rows = [line.split("│") for line in done.stdout.splitlines() if line.startswith("│")]
    assert [cell.strip() for cell in rows[-1][1:-1]] == ["T-tree", "2.6e+05", "2.7e+05"]
    assert "round 5 of 5: ttree, a window of 25,000" in done.stderr
    assert f"kept in {machine}/windrow/weights.json" in done.stdout.replace("\n", "")


def test_calibrated_weights_are_used_when_asked_for(machine):
    cost("--calibrate")
    found = json.loads(cost(*SKEWED, "--weights", "calibrated", "--json").stdout)
    costs = {one["combination"]: one["cost"] for one in found["costs"]}
    assert costs["TN"] == pytest.approx(4.67e6, rel=1e-3)  # microseconds
    assert found["weights"]["source"] == "calibrated"
    assert found["weights"]["unit"] == "us per unit of time"


def test_calibrating_and_asking_at_once_answers_with_the_new_weights(machine):
    done = cost(*SKEWED, "--calibrate", "--json")
    assert json.loads(done.stdout)["weights"]["source"] == "calibrated"


def test_calibrating_as_json_prints_the_weights(machine):
    found = json.loads(cost("--calibrate", "--json").stdout)
    assert found["weights"]["hash"]["search"] == pytest.approx(550)
    assert found["file"] == str(machine / "windrow" / "weights.json")


def test_weights_that_nobody_measured_are_text_and_exit_code_2(machine):
    done = cost(*SKEWED, "--weights", "calibrated")
    assert done.exit_code == 2
    assert done.stderr.startswith("CalibrationError[no-calibration]: the weights of this machine")
    assert "hint: windrow cost --calibrate  measures them" in done.stderr


def test_weights_of_other_nodes_are_refused_by_name(machine):
    cost("--calibrate")
    done = cost(*SKEWED, "--weights", "calibrated", "--node", 50)
    assert done.exit_code == 2
    assert "CalibrationError[calibration-outdated]" in done.stderr
    assert "  node size was 100, and is 50\n" in done.stderr


def test_a_cache_folder_that_cannot_be_written_is_said_before_anything_runs(machine):
    (machine / "windrow").write_text("")
    done = cost("--calibrate")
    assert done.exit_code == 2
    assert "CalibrationError[calibration-not-writable]" in done.stderr
    assert "round" not in done.stderr


def test_a_mistake_is_said_before_anything_is_measured(machine):
    done = cost("--calibrate", "--rate-a", 2)
    assert done.exit_code == 2
    assert done.stderr.startswith("CostError[missing-cost-number]: --rate-b, --window-a, ")
    assert not (machine / "windrow" / "weights.json").exists()
