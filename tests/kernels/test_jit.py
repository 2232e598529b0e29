"""Where compiled kernels are kept, and the arrays they take."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest

from windrow.kernels import code_folders, jit
from windrow.kernels.fetch import fetch

THIS = Path(__file__)


@pytest.fixture(autouse=True)
def fresh_choice():
    code_folders.forget_choices()
    yield
    code_folders.forget_choices()


def test_the_cache_is_a_folder_closed_to_others(monkeypatch, tmp_path):
    monkeypatch.setenv(code_folders.FOLDER_SETTING, str(tmp_path))
    folder = code_folders.cache_folder(THIS)
    assert folder is not None
    assert folder.startswith(str(tmp_path))
    assert (tmp_path / folder).stat().st_mode & 0o777 == 0o700


def test_a_folder_that_others_may_write_is_not_used(monkeypatch, tmp_path):
    monkeypatch.setenv(code_folders.FOLDER_SETTING, str(tmp_path))
    (tmp_path / code_folders.version_name(THIS)).mkdir()
    (tmp_path / code_folders.version_name(THIS)).chmod(0o777)
    assert code_folders.cache_folder(THIS) is None


def test_kernels_that_were_optimized_less_are_not_taken_for_others(monkeypatch, tmp_path):
    monkeypatch.setenv(code_folders.FOLDER_SETTING, str(tmp_path))
    folders = set()
    for level in (1, 3):
        monkeypatch.setattr("numba.config.OPT", level)
        code_folders.forget_choices()
        folders.add(code_folders.cache_folder(THIS))
    assert len(folders) == 2


def test_the_cache_can_be_turned_off_and_kernels_still_work(monkeypatch):
    monkeypatch.setenv(code_folders.FOLDER_SETTING, "off")
    assert code_folders.cache_folder(THIS) is None

    @jit.kernel
    def doubled(number: int) -> int:
        return 2 * number

    assert doubled(21) == 42


def test_a_kernel_of_no_file_is_compiled_in_each_process():
    assert code_folders.cache_folder(Path("<stdin>")) is None


def test_a_lean_kernel_leaves_references_to_arrays_as_they_were():
    @jit.lean_kernel_part
    def first(pair: tuple[np.ndarray, np.ndarray]) -> int:
        one, other = pair
        return one[0] if len(one) else other[0]

    @jit.lean_kernel
    def summed(pair: tuple[np.ndarray, np.ndarray], times: int) -> int:
        total = 0
        for _ in range(times):
            total += first(pair if total % 2 else (pair[1], pair[0]))
        return total

    pair = (np.arange(1, 4), np.arange(2, 5))
    before = [sys.getrefcount(array) for array in pair]
    for _ in range(10):
        assert summed(pair, 3) == 6
    assert [sys.getrefcount(array) for array in pair] == before


def test_this_numba_can_leave_references_uncounted():
    assert jit.knows_lean()


def test_a_numba_that_cannot_leave_its_runtime_out_compiles_lean_kernels_as_others(monkeypatch):
    monkeypatch.setattr(jit, "_RUNTIME", "_option_that_no_numba_has")
    jit.knows_lean.cache_clear()
    assert not jit.knows_lean()

    @jit.lean_kernel
    def doubled(number: int) -> int:
        return 2 * number

    assert doubled(21) == 42
    jit.knows_lean.cache_clear()


def test_other_users_of_numba_keep_their_own_cache_folder(monkeypatch, tmp_path):
    import numba

    monkeypatch.setenv(code_folders.FOLDER_SETTING, str(tmp_path))
    before = numba.config.CACHE_DIR

    @jit.kernel
    def same(number: int) -> int:
        return number

    assert same(1) == 1
    assert before == numba.config.CACHE_DIR
    assert list(tmp_path.rglob("*.kernel"))


def test_only_arrays_that_kernels_cannot_take_are_copied():
    numbers = np.arange(6)
    assert jit.writable(numbers) is numbers
    read_only = np.arange(6)
    read_only.flags.writeable = False
    for array in (read_only, numbers[::2]):
        copy = jit.writable(array)
        assert copy.flags.writeable
        assert copy.flags.c_contiguous
        assert copy.tolist() == array.tolist()


def test_without_a_home_kernels_are_kept_in_the_folder_for_temporary_files(monkeypatch):
    def nowhere(_):
        raise RuntimeError

    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    monkeypatch.setattr(Path, "expanduser", nowhere)
    (root,) = code_folders.usual_roots()
    assert root.name.startswith("windrow-kernels-")


def test_asking_for_memory_changes_nothing_and_is_one_instruction(monkeypatch):
    monkeypatch.setenv(
        code_folders.FOLDER_SETTING, "off"
    )  # what comes from the cache cannot be looked into

    @jit.lean_kernel
    def ask(array):
        for row in range(len(array)):
            fetch(array, row, 1)

    array = np.arange(8).reshape(4, 2)
    ask(array)
    assert array.ravel().tolist() == [*range(8)]
    (code,) = ask.inspect_llvm().values()
    assert "@llvm.prefetch" in code
