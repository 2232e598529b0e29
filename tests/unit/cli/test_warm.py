"""`windrow warm`: kernels compiled ahead, once."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

from windrow.cli import warming
from windrow.cli.main import app
from windrow.cli.warm_queries import FAMILIES, example_session
from windrow.kernels.code_folders import FOLDER_SETTING, open_to_readers, runs_portable_code

FIRST_JOIN = """
import pyarrow as pa, windrow
from windrow.kernels.compiling import COMPILING
w = windrow.Session()
for name in "abc":
    w.stream(name, pa.table({"item": [1, 2], "price": [1.5, 2.5], "at": [1, 2]}), time="at")
w.sql("SELECT a.price, b.price AS q FROM a, b, c WHERE a.item = b.item AND b.item = c.item "
      "WINDOW = 5").to_arrow()
print(*COMPILING.names)
"""

JOIN_KERNELS = {
    "keys.mixed_words", "keys.mixed",
    "bew_hash.fill_buckets", "bew_hash.tag", "bew_hash.probe_buckets", "bew_hash._look_ahead",
    "bew_hash.first_from",
    "bew_period.periods", "bew_period.minus", "bew_period.plus",
}  # fmt: skip
"""What the first 3-way join on a machine compiles, and nothing else."""


def windrow(*arguments: object):
    return CliRunner().invoke(app, [str(argument) for argument in arguments])


def warmed(folder: Path, *families: str) -> dict[str, object]:
    done = windrow("warm", *families, "--folder", folder, "--json", "--jobs", 2)
    assert done.exit_code == 0, done.output
    return json.loads(done.stdout)


def compiled_by_the_first_join(folder: Path) -> list[str]:
    environment = {**os.environ, FOLDER_SETTING: str(folder)}
    done = subprocess.run(
        [sys.executable, "-c", FIRST_JOIN],
        env=environment,
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
    )
    return done.stdout.split()


@pytest.mark.slow
def test_the_first_join_compiles_what_it_needs_and_warm_has_it_compiled_nothing(tmp_path):
    alone = compiled_by_the_first_join(tmp_path / "alone")
    assert set(alone) == JOIN_KERNELS
    warmed(tmp_path / "warm", "first")
    assert compiled_by_the_first_join(tmp_path / "warm") == []


@pytest.mark.slow
def test_kernels_for_any_processor_of_the_kind_are_read_where_there_are_no_others(tmp_path):
    if not runs_portable_code():
        pytest.skip("this processor lacks what portable code takes")
    done = windrow("warm", "first", "--folder", tmp_path, "--portable")
    assert done.exit_code == 0, done.output
    assert compiled_by_the_first_join(tmp_path) == []


def test_an_architecture_without_a_name_for_its_processors_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr("platform.machine", lambda: "abacus")
    done = windrow("warm", "joins", "--folder", tmp_path, "--portable")
    assert done.exit_code == 2
    assert "WarmError[not-portable]" in done.stderr


@pytest.mark.slow
def test_warm_does_nothing_the_second_time(tmp_path, monkeypatch):
    first = warmed(tmp_path, "asof")
    assert first["compiled"] == first["kept"]
    assert first["compiled"]

    def no_process(*_: object, **__: object) -> None:
        raise AssertionError

    monkeypatch.setattr(warming.subprocess, "Popen", no_process)
    again = warmed(tmp_path, "asof")
    assert again["compiled"] == 0
    assert again["kept"] == first["kept"]
    assert windrow("warm", "asof", "--folder", tmp_path).stdout.startswith("nothing to compile: ")


@pytest.mark.slow
def test_warm_compiles_a_kernel_again_whose_file_is_damaged(tmp_path):
    warmed(tmp_path, "asof")
    (file,) = tmp_path.rglob("asof.newest_at-*.kernel")
    file.write_bytes(file.read_bytes()[:-1])
    assert warmed(tmp_path, "asof")["compiled"] == 1


@pytest.mark.slow
def test_everybody_may_read_what_is_kept_in_a_stated_folder_and_nobody_else_write(tmp_path):
    shown = windrow("warm", "asof", "--folder", tmp_path / "kept")
    assert "compiling asof: asof.newest_at" in shown.stderr
    modes = {place.is_dir(): place.stat().st_mode & 0o777 for place in tmp_path.rglob("*")}
    assert modes == {True: 0o755, False: 0o644}


def test_what_else_is_in_a_stated_folder_stays_as_closed_as_it_was(tmp_path):
    (tmp_path / "letters").mkdir(mode=0o700)
    version = tmp_path / "cpython-numba1-of-somewhere"
    version.mkdir(mode=0o700)
    tmp_path.chmod(0o700)
    open_to_readers(tmp_path)
    assert [place.stat().st_mode & 0o777 for place in (tmp_path, tmp_path / "letters", version)] == [
        0o700, 0o700, 0o755,
    ]  # fmt: skip


def test_a_family_that_is_not_there_is_refused(tmp_path):
    done = windrow("warm", "join", "--folder", tmp_path)
    assert done.exit_code == 2
    assert done.stderr == (
        "WarmError[unknown-family]: there are no kernels of a family 'join'\n"
        "  hint: known here: joins, counts, shedding, algorithms, asof, first, changelogs, "
        "statistics, ...; without a name, all are compiled\n"
    )


def test_a_folder_that_cannot_be_had_is_refused(tmp_path):
    (tmp_path / "taken").touch()
    done = windrow("warm", "joins", "--folder", tmp_path / "taken")
    assert done.exit_code == 2
    assert done.stderr.startswith("WarmError[kernels-not-writable]: compiled kernels can be kept ")


def test_two_folders_are_refused(tmp_path):
    done = windrow("warm", "joins", "--folder", tmp_path, "--in-package")
    assert done.exit_code == 2
    assert "WarmError[two-folders]: --folder and --in-package name two places" in done.stderr


def test_without_a_cache_there_is_no_place_to_keep_kernels(monkeypatch):
    monkeypatch.setenv(FOLDER_SETTING, "off")
    done = windrow("warm", "joins")
    assert done.exit_code == 2
    assert "kernels can be kept nowhere" in done.stderr


def test_a_process_that_fails_is_told_of_by_its_last_words(tmp_path, monkeypatch):
    monkeypatch.setattr(warming, "CHILD", "raise SystemExit('no more room')")
    done = windrow("warm", "joins", "--folder", tmp_path)
    assert done.exit_code == 2
    assert "WarmError[warm-failed]: the family joins was not compiled" in done.stderr
    assert "no more room" in done.stderr


@pytest.mark.parametrize("family", FAMILIES)
def test_every_query_of_a_family_can_be_planned(family):
    session = example_session()
    assert all(session.explain(sql) for sql in FAMILIES[family])


def test_the_help_names_all_families():
    shown = " ".join(windrow("warm", "--help").stdout.replace("│", " ").split())
    assert ", ".join(FAMILIES) in shown
