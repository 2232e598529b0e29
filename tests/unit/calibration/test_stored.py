"""Stored weights are given while all that they hold for is as it was."""

from __future__ import annotations

import json
import math
import pwd
from dataclasses import replace

import pytest

from windrow.calibration import stored
from windrow.calibration.stored import (
    CalibrationError,
    conditions,
    keep,
    prepare,
    processor_model,
    recall,
    this_machine,
    weights_file,
)
from windrow.optimize.choose.plans import REFERENCE_MACHINE
from windrow.optimize.cost.structures import Sizes
from windrow_papers.cost.combinations import PAPER


@pytest.fixture(autouse=True)
def cache(monkeypatch, tmp_path):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    return tmp_path


def message(raised):
    return str(raised.value)


def test_weights_are_kept_in_the_cache_folder_and_given_back(cache):
    file = keep(PAPER, Sizes())
    assert file == cache / "windrow" / "weights.json"
    assert recall(Sizes()) == PAPER
    assert [one.name for one in file.parent.iterdir()] == ["weights.json"]


def test_without_a_setting_the_cache_folder_is_in_the_users_home(monkeypatch, tmp_path):
    monkeypatch.delenv("XDG_CACHE_HOME")
    monkeypatch.setenv("HOME", str(tmp_path))
    assert weights_file() == tmp_path / ".cache" / "windrow" / "weights.json"


@pytest.fixture
def homeless(monkeypatch):
    """A container's user without a passwd entry."""

    def unknown(_):
        raise KeyError

    monkeypatch.delenv("XDG_CACHE_HOME")
    monkeypatch.delenv("HOME", raising=False)
    monkeypatch.setattr(pwd, "getpwuid", unknown)


def test_without_a_home_the_weights_are_those_built_in(homeless):
    assert this_machine.__wrapped__() == REFERENCE_MACHINE


@pytest.mark.parametrize("call", [prepare, lambda: keep(PAPER, Sizes()), lambda: recall(Sizes())])
def test_without_a_home_there_is_nowhere_to_keep_them(homeless, call):
    with pytest.raises(CalibrationError) as raised:
        call()
    assert message(raised) == (
        "CalibrationError[calibration-nowhere]: there is nowhere to keep the weights of this "
        "machine\n"
        "  the user has no home directory, and XDG_CACHE_HOME is not set\n"
        "  hint: set XDG_CACHE_HOME to a folder that you may write to"
    )


def test_measured_weights_are_kept_with_machine_and_versions():
    file = keep(PAPER, Sizes())
    held_for = json.loads(file.read_text())["conditions"]
    assert set(held_for) == {
        "processor", "cores", "python", "numpy", "numba", "kernels", "bucket size", "node size",
    }  # fmt: skip
    assert held_for["processor"] == processor_model()


def test_weights_that_nobody_measured_are_an_error(cache):
    with pytest.raises(CalibrationError) as raised:
        recall(Sizes())
    assert message(raised) == (
        "CalibrationError[no-calibration]: the weights of this machine have not been measured\n"
        f"  there is no '{cache}/windrow/weights.json'\n"
        "  hint: windrow cost --calibrate  measures them, in less than a minute"
    )


def test_a_change_refuses_them_and_is_named(monkeypatch):
    keep(PAPER, Sizes())
    now = {**conditions(Sizes()), "numba": "9.9", "processor": "Another"}
    monkeypatch.setattr(stored, "conditions", lambda _: now)
    with pytest.raises(CalibrationError) as raised:
        recall(Sizes())
    was = conditions(Sizes())
    assert message(raised) == (
        "CalibrationError[calibration-outdated]: the weights were measured under other conditions\n"
        f"  processor was {was['processor']}, and is Another; numba was {was['numba']}, and is 9.9\n"
        "  hint: windrow cost --calibrate  measures them, in less than a minute, with the sizes "
        "of buckets and nodes that are asked for"
    )


def test_weights_of_other_buckets_are_refused():
    keep(PAPER, Sizes())
    with pytest.raises(CalibrationError, match="other conditions") as raised:
        recall(Sizes(bucket=2))
    assert raised.value.reason == "bucket size was 10, and is 2"


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"weights": {}, "conditions": {}}', "\udcff"])
def test_a_file_that_holds_something_else_is_an_error(text):
    keep(PAPER, Sizes()).write_bytes(text.encode(errors="surrogateescape"))
    with pytest.raises(CalibrationError, match="holds no weights") as raised:
        recall(Sizes())
    assert raised.value.condition == "calibration-unreadable"


@pytest.mark.parametrize("weight", [0.0, -1.0, math.nan, math.inf])
def test_a_weight_that_cannot_be_is_an_error(weight):
    broken = replace(PAPER, hash=replace(PAPER.hash, search=weight))
    keep(broken, Sizes())
    with pytest.raises(CalibrationError, match="holds no weights") as raised:
        recall(Sizes())
    assert raised.value.reason == f"ValueError: a weight is {weight}"


def test_a_folder_that_cannot_be_made_is_said_before_anything_is_measured(cache):
    (cache / "windrow").write_text("")
    with pytest.raises(CalibrationError) as raised:
        prepare()
    assert message(raised) == (
        "CalibrationError[calibration-not-writable]: the weights cannot be written to "
        f"'{cache}/windrow/weights.json'\n"
        "  File exists\n"
        "  hint: set XDG_CACHE_HOME to a folder that you may write to"
    )
    with pytest.raises(CalibrationError, match="cannot be written"):
        keep(PAPER, Sizes())
