"""Which files are read, which are left out and said so, and which are refused."""

from __future__ import annotations

import fnmatch
import gzip
import json
import os
import re
import tempfile
from pathlib import Path

import pytest
from case_share import share_of
from example_jobs import rows_in
from hypothesis import given, settings
from hypothesis import strategies as st
from typer.testing import CliRunner

from windrow.cli.errors import JobError
from windrow.cli.files import data_files, found_at, streamed
from windrow.cli.job import JobStream
from windrow.cli.main import app

FOLDERS = ("", "sub/", "sub/deep/", "_x/", ".y/", "sub/_z/", "we[i]rd{a,b}/")
STEMS = ("a", "B", "_c", ".d", "e f", "g[1]", "h*", "i{j}", "k.csv")
ENDS = (".csv", ".CSV", ".csv.gz", ".csv.bz2", ".txt", ".json", ".parquet", "", ".csv.tar.gz", "~")
names = st.builds("".join, st.tuples(*map(st.sampled_from, (FOLDERS, STEMS, ENDS))))


def source(path: Path | str, format_: str = "csv", **more: object) -> JobStream:
    return JobStream("s", str(path), "at", format=format_, **more)


def is_read(name: str) -> bool:
    """The rule, said once more: no part is hidden, and the last one ends as CSV does."""
    *_, last = parts = name.split("/")
    ends = re.search(r"(?i:\.csv)(\.gz|\.bz2)?$", last)
    return ends is not None and not any(part[0] in "._" for part in parts)


def matches(path: str, options: dict[str, str], file: Path) -> bool:
    """Whether Spark would find a file by such a path: patterns as Hadoop has them, plainly."""
    top = [place for place in (file, *file.parents) if fits(str(place), path)]
    *_, folder = top or [None]
    if folder is None or not fits(file.name, options.get("pathGlobFilter", "*")):
        return False
    return not any(part[0] in "._" for part in file.relative_to(folder).parts)


def fits(text: str, pattern: str) -> bool:
    return re.fullmatch(as_regex(pattern), text) is not None


def as_regex(pattern: str) -> str:
    out, place, is_open = "", 0, False
    while place < len(pattern):
        sign = pattern[place]
        if sign == "\\":
            place += 1
            out += re.escape(pattern[place])
        elif sign == "[":
            end = pattern.index("]", place + 2)
            chosen = pattern[place + 1 : end]
            turned = "^" + chosen[1:] if chosen[0] in "!^" else chosen
            out += f"[{turned}]"
            place = end
        elif sign in "{,}" and (is_open or sign == "{"):
            out += {"{": "(?:", ",": "|", "}": ")"}[sign]
            is_open = sign != "}"
        else:
            out += {"*": "[^/]*", "?": "[^/]"}.get(sign, re.escape(sign))
        place += 1
    return out


@pytest.mark.law
@settings(max_examples=share_of(40), deadline=None)
@given(st.sets(names, max_size=12), st.booleans())
def test_a_folder_is_read_by_one_rule_on_every_runner(tree: set[str], is_cut: bool) -> None:
    with tempfile.TemporaryDirectory(prefix="o{d}[d]*") as made:
        folder = Path(made)
        for name in tree:
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            (folder / name).write_text("x")
        of = source(folder, files_per_batch=1 if is_cut else None)
        wanted = sorted(str(folder / name) for name in tree if is_read(name))
        if wanted:
            found = found_at(of)
            assert found.files == wanted
            hidden = [name for name in tree if any(p[0] in "._" for p in name.split("/"))]
            others = {str(folder / name) for name in tree - set(hidden)} - set(wanted)
            assert found.left_out == sorted(others)
        else:
            with pytest.raises(JobError, match="no-data-files"):
                found_at(of)
        path, options = streamed(of)
        by_spark = [str(folder / name) for name in tree if matches(path, options, folder / name)]
        assert sorted(by_spark) == wanted


@pytest.mark.law
@settings(max_examples=share_of(40), deadline=None)
@given(st.sets(names.filter(lambda name: "/" not in name), min_size=1, max_size=8), st.data())
def test_one_file_is_read_whatever_its_name(tree: set[str], data: st.DataObject) -> None:
    with tempfile.TemporaryDirectory() as made:
        for name in tree:
            (Path(made) / name).write_text("x")
        name = data.draw(st.sampled_from(sorted(tree)))
        of = source(Path(made) / name)
        path, options = streamed(of)
        by_spark = [own for own in tree if matches(path, options, Path(made) / own)]
        if name[0] in "._":
            with pytest.raises(JobError, match="no-data-files"):
                data_files(of)
        else:
            assert data_files(of) == [of.path]
            assert by_spark == [name]


@pytest.mark.law
@settings(max_examples=share_of(40), deadline=None)
@given(
    st.sets(names.filter(lambda name: "/" not in name), max_size=8),
    st.sampled_from(
        ["*", "*.csv", "?.csv", "[aB]*", "[!a]*", "*f*", "k.*", "_*", "i{j}*", "*.c?v"]
    ),
)
def test_a_pattern_names_the_same_files_on_every_runner(tree: set[str], pattern: str) -> None:
    with tempfile.TemporaryDirectory() as made:
        for name in tree:
            (Path(made) / name).write_text("x")
        of = source(f"{made}/{pattern}")
        shown = [name for name in tree if name[0] not in "._"]
        wanted = sorted(f"{made}/{name}" for name in fnmatch.filter(shown, pattern))
        path, options = streamed(of)
        by_spark = [f"{made}/{own}" for own in tree if matches(path, options, Path(made) / own)]
        assert sorted(by_spark) == wanted
        if wanted:
            assert data_files(of) == wanted


@pytest.mark.parametrize(
    ("name", "format_"),
    [("x.csv.zst", "csv"), ("x.csv.GZ", "csv"), ("x.json.xz", "json"), ("x.parquet.gz", "parquet")],
)
def test_a_compression_that_not_every_runner_reads_is_refused(tmp_path, name, format_):
    (tmp_path / name).write_text("x")
    (tmp_path / f"y.{format_}").write_text("x")
    for path in (tmp_path, tmp_path / name, tmp_path / "x*"):
        with pytest.raises(JobError) as caught:
            data_files(source(path, format_))
        assert caught.value.condition == "unknown-compression"
        assert name in str(caught.value)


def test_a_pattern_that_matches_a_folder_is_refused(tmp_path):
    (tmp_path / "a.csv").write_text("x")
    (tmp_path / "_hidden").mkdir()
    assert data_files(source(tmp_path / "*")) == [str(tmp_path / "a.csv")]
    (tmp_path / "sub").mkdir()
    with pytest.raises(JobError, match="pattern-of-folder"):
        data_files(source(tmp_path / "*"))


def test_folders_that_are_links_are_read_and_those_that_lead_back_are_not(tmp_path):
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "a.csv").write_text("x")
    (tmp_path / "data" / "back").symlink_to(tmp_path / "data")
    (tmp_path / "more").mkdir()
    (tmp_path / "more" / "b.csv").write_text("x")
    (tmp_path / "data" / "more").symlink_to(tmp_path / "more")
    found = [os.path.relpath(file, tmp_path) for file in data_files(source(tmp_path / "data"))]
    assert found == ["data/a.csv", "data/more/b.csv"]


def test_a_file_without_a_byte_holds_no_row(tmp_path):
    (tmp_path / "a.csv").write_text("")
    with pytest.raises(JobError, match="1 file is there, without a byte"):
        data_files(source(tmp_path))
    (tmp_path / "b.csv").write_text("k,at\n1,1\n")
    found = found_at(source(tmp_path))
    assert (found.files, found.empty) == ([str(tmp_path / "b.csv")], [str(tmp_path / "a.csv")])


JOB = """
query = "SELECT k FROM s"
[streams.s]
path = "s"
format = "json"
schema = "k BIGINT, at BIGINT"
time = "at"
[sink]
path = "out"
format = "json"
"""


@pytest.mark.parametrize("mode", ["batch", "streaming"])
def test_a_run_reads_compressed_files_and_says_what_it_leaves_out(tmp_path, mode):
    folder = tmp_path / "s"
    folder.mkdir()
    (folder / "a.json").write_text('{"k": 1, "at": 1}\n')
    (folder / "b.json.gz").write_bytes(gzip.compress(b'{"k": 2, "at": 2}\n'))
    (folder / "c.json.gz").write_bytes(gzip.compress(b""))
    (folder / "d.json").write_bytes(b"")
    for name in ("1.txt", "2.txt", "3.txt", "4.txt", "5.txt", "_SUCCESS", ".a.json.crc"):
        (folder / name).write_text("x")
    (tmp_path / "job.toml").write_text(JOB)
    done = CliRunner().invoke(
        app, ["run", str(tmp_path / "job.toml"), "--mode", mode, "--until-done"]
    )
    assert done.exit_code == 0, done.stderr
    assert sorted(row["k"] for row in rows_in(tmp_path / "out")) == [1, 2]
    first, second, *_ = map(json.loads, done.stderr.splitlines())
    assert first == {
        "note": f"stream s leaves out 5 files that are of another format in {str(folder)!r}: 1.txt, "
        "2.txt, 3.txt, and 2 more"
    }
    assert second == {
        "note": f"stream s leaves out 1 file that is empty in {str(folder)!r}: d.json"
    }
