"""Processes that need the same kernel at the same time: one compiles it."""

from __future__ import annotations

import importlib
import subprocess
import sys

import pytest

from windrow.kernels import code_folders, jit

MODULE = """
from windrow.kernels.jit import kernel

@kernel
def sum_of_squares(numbers: int) -> int:
    total = 0
    for number in range(numbers):
        total += number * number
    return total
"""

OTHER = """
import kernel_of_both
print("calling", flush=True)
assert kernel_of_both.sum_of_squares(4) == 14
stats = kernel_of_both.sum_of_squares.stats
print("compiled" if stats.cache_misses else "read", flush=True)
"""


@pytest.fixture
def shared_kernel(monkeypatch, tmp_path):
    monkeypatch.setenv(code_folders.FOLDER_SETTING, str(tmp_path / "cache"))
    code_folders.forget_choices()
    (tmp_path / "kernel_of_both.py").write_text(MODULE)
    monkeypatch.syspath_prepend(tmp_path)
    yield importlib.import_module("kernel_of_both").sum_of_squares
    sys.modules.pop("kernel_of_both")
    code_folders.forget_choices()


def test_who_comes_while_a_kernel_is_compiled_waits_and_reads_it(shared_kernel, tmp_path):
    import numba

    what = f"sum_of_squares{(numba.typeof(4),)}"
    with jit.alone(code_folders.cache_folder(tmp_path / "kernel_of_both.py"), what):
        other = subprocess.Popen(
            [sys.executable, "-c", OTHER], cwd=tmp_path, stdout=subprocess.PIPE, text=True
        )
        assert other.stdout.readline() == "calling\n"
        assert shared_kernel(4) == 14
    assert other.communicate(timeout=60)[0] == "read\n"
    assert shared_kernel.stats.cache_misses


def test_without_locks_each_process_compiles_for_itself(shared_kernel, monkeypatch):
    def no_locks(file, operation, length, start):
        raise OSError

    monkeypatch.setattr(jit.fcntl, "lockf", no_locks)
    assert shared_kernel(4) == 14


def test_a_function_that_numba_does_not_compile_stays_what_it_is(tmp_path):
    def same(number: int) -> int:
        return number

    jit.compile_once(same, str(tmp_path))
    assert same(3) == 3


def test_a_folder_that_cannot_be_written_is_no_hindrance(tmp_path):
    entered = []
    with jit.alone(str(tmp_path / "nowhere"), "anything"):
        entered.append("once")
    assert entered == ["once"]
