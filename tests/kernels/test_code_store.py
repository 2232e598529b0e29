"""Compiled kernels as files: what is damaged, of something else, or not safe is compiled again."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from windrow.kernels import code_folders
from windrow.kernels.code_store import StoredCode, is_whole

MODULE = """
from windrow.kernels.jit import kernel

@kernel
def doubled(number):
    return 2 * number
"""

ASK = """
import sys
from kernel_to_keep import doubled
from windrow.kernels.compiling import COMPILING
assert doubled(21) == 42
print(COMPILING.kernels)
"""


@pytest.fixture
def folder(tmp_path) -> Path:
    (tmp_path / "kernel_to_keep.py").write_text(MODULE)
    return tmp_path / "kept"


def compiled_by_a_process(folder: Path, **more: str) -> int:
    """How many kernels a fresh process compiles that keeps them in the folder."""
    environment = {**os.environ, code_folders.FOLDER_SETTING: str(folder), **more}
    done = subprocess.run(
        [sys.executable, "-c", ASK],
        cwd=folder.parent,
        env=environment,
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
    )
    return int(done.stdout)


def only_file(folder: Path) -> Path:
    (file,) = folder.rglob("*.kernel")
    return file


def test_a_second_process_compiles_nothing(folder):
    assert [compiled_by_a_process(folder) for _ in range(2)] == [1, 0]


def test_two_processes_at_once_compile_a_kernel_once(folder):
    environment = {**os.environ, code_folders.FOLDER_SETTING: str(folder)}
    both = [
        subprocess.Popen(
            [sys.executable, "-c", ASK],
            cwd=folder.parent,
            env=environment,
            stdout=subprocess.PIPE,
            text=True,
        )
        for _ in range(2)
    ]
    assert sum(int(process.communicate(timeout=60)[0]) for process in both) == 1


@pytest.mark.parametrize(
    "damage",
    [
        lambda _text: b"",
        lambda text: text[:-1],
        lambda text: text[:-1] + bytes([text[-1] ^ 1]),
        lambda text: b"windrow kernel 0\n" + text[17:],
        lambda text: text + b"x",
    ],
    ids=["empty", "short", "one bit", "another format", "long"],
)
def test_a_damaged_file_is_compiled_again_and_replaced(folder, damage):
    compiled_by_a_process(folder)
    file = only_file(folder)
    whole = file.read_bytes()
    file.write_bytes(damage(whole))
    assert not is_whole(file)
    assert compiled_by_a_process(folder) == 1
    assert is_whole(file)
    assert compiled_by_a_process(folder) == 0


def test_a_file_under_the_name_of_another_is_not_taken_for_it(tmp_path):
    store = StoredCode(str(tmp_path))
    store.save("one.kernel", ("one",), "code of one")
    (tmp_path / "one.kernel").rename(tmp_path / "other.kernel")
    assert store.load("other.kernel", ("other",)) is None
    assert store.load("other.kernel", ("one",)) == "code of one"


def test_a_file_that_others_may_write_is_not_read(folder):
    compiled_by_a_process(folder)
    only_file(folder).chmod(0o666)
    assert compiled_by_a_process(folder) == 1


def test_nothing_is_left_of_a_write_that_fails(tmp_path, monkeypatch):
    def full(_new: Path, _file: Path) -> None:
        raise OSError(28, "no space left on device")

    store = StoredCode(str(tmp_path))
    monkeypatch.setattr(Path, "replace", full)
    store.save("one.kernel", ("one",), "code")
    assert list(tmp_path.iterdir()) == []


def test_what_is_shipped_is_read_and_what_is_not_goes_into_the_users_own(tmp_path):
    (tmp_path / "ours").mkdir()
    shipped, own = StoredCode(str(tmp_path)), StoredCode(str(tmp_path / "ours"), (str(tmp_path),))
    shipped.save("one.kernel", ("one",), "shipped")
    own.save("two.kernel", ("two",), "compiled")
    assert own.load("one.kernel", ("one",)) == "shipped"
    assert shipped.load("two.kernel", ("two",)) is None


@pytest.fixture
def root(tmp_path, monkeypatch) -> Path:
    """A stated folder with the kernels of this very file, closed to others and to this user."""
    monkeypatch.setenv(code_folders.FOLDER_SETTING, str(tmp_path / "root"))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "home"))
    folder = tmp_path / "root" / code_folders.version_name(Path(__file__))
    folder.mkdir(parents=True)
    folder.chmod(0o755)
    folder.parent.chmod(0o755)
    code_folders.forget_choices()
    here = str(tmp_path / "root")
    monkeypatch.setattr(os, "access", lambda place, _how: not str(place).startswith(here))
    yield folder.parent
    code_folders.forget_choices()


def test_a_stated_folder_of_another_user_is_read_and_not_written(root):
    own = code_folders.cache_folder(Path(__file__))
    assert own is not None
    assert own.startswith(str(root.parent / "home"))
    (shipped,) = code_folders.shipped_folders(Path(__file__))
    assert Path(shipped).parent == root


@pytest.mark.parametrize("opened", ["root", "version"])
def test_a_folder_that_others_may_write_is_not_even_read(root, opened):
    folder = root / code_folders.version_name(Path(__file__))
    (root if opened == "root" else folder).chmod(0o777)
    assert code_folders.shipped_folders(Path(__file__)) == ()


def test_a_folder_of_somebody_else_is_not_read(root, monkeypatch):
    monkeypatch.setattr(code_folders, "trusted_users", lambda: frozenset({-1}))
    assert code_folders.shipped_folders(Path(__file__)) == ()
