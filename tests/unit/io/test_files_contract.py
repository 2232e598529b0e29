"""Files and Delta tables keep to the contracts of sources and sinks."""

from __future__ import annotations

import io
import itertools
import uuid
from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pyarrow.csv as pacsv
import pyarrow.dataset as ds
import pyarrow.parquet as pq
import pytest
from contracts.sink_contract import RUN, OwnedSinkContract
from contracts.source_contract import COLUMNS, DDL, SourceContract

import windrow
from windrow.io.files_sink import committed_files
from windrow.io.json_lines import json_lines


def content(format_: str, table: pa.Table, about: windrow.files) -> bytes:
    """A file with these rows."""
    if format_ == "json":
        return json_lines(table)
    out = io.BytesIO()
    if format_ == "parquet":
        pq.write_table(table, out, row_group_size=4)
    else:
        options = pacsv.WriteOptions(delimiter=about.delimiter, include_header=about.header)
        pacsv.write_csv(table, out, options)
    return out.getvalue()


class Folder:
    """Files that come into a folder, one with each `put`."""

    def __init__(self, about: windrow.files, suffix: str = "") -> None:
        self.about = about
        self._names = (f"{number:03d}" for number in itertools.count())
        self._suffix = suffix

    def put(self, table: pa.Table) -> None:
        self.add(content(self.about.format, table, self.about))

    def add(self, data: bytes) -> None:
        path = Path(self.about.path)
        path.mkdir(exist_ok=True, parents=True)
        name = f"{next(self._names)}.{self.about.format}{self._suffix}"
        with pa.output_stream(str(path / f".{name}"), compression=None) as file:
            file.write(packed(data, self._suffix))
        (path / f".{name}").rename(path / name)

    def source(self):
        return self.about.source()


class FolderWithPoison(Folder):
    POISON = b'{"id": 7, "name": '

    def put_poison(self) -> bytes:
        good = content(self.about.format, COLUMNS.empty_table(), self.about)
        self.add(good + self.POISON + b"\n")
        return self.POISON


class MemoryFolder(Folder):
    def add(self, data: bytes) -> None:
        import fsspec

        system = fsspec.filesystem("memory")
        path = self.about.path.removeprefix("memory:/")
        system.pipe_file(f"{path}/{next(self._names)}.{self.about.format}", data)


def packed(data: bytes, suffix: str) -> bytes:
    if not suffix:
        return data
    out = pa.BufferOutputStream()
    with pa.CompressedOutputStream(
        out, {".gz": "gzip", ".zst": "zstd", ".bz2": "bz2"}[suffix]
    ) as z:
        z.write(data)
    return out.getvalue().to_pybytes()


class TestParquetFiles(SourceContract):
    @pytest.fixture
    def place(self, tmp_path):
        return Folder(windrow.files(str(tmp_path / "in"), schema=DDL))


class TestParquetFilesThatSayTheirColumns(SourceContract):
    @pytest.fixture
    def place(self, tmp_path):
        return Folder(windrow.files(f"{tmp_path / 'in'}/", batch_rows=5))


class TestCsvFiles(SourceContract):
    @pytest.fixture
    def place(self, tmp_path):
        return Folder(windrow.files(str(tmp_path / "in"), "csv", DDL))


class TestCsvFilesWithSemicolonsAndWithoutNames(SourceContract):
    @pytest.fixture
    def place(self, tmp_path):
        about = windrow.files(str(tmp_path / "in"), "csv", DDL, delimiter=";", header=False)
        return FolderWithPoison(replace(about, bad_rows="aside"))


class TestJsonFilesByTime(SourceContract):
    @pytest.fixture
    def place(self, tmp_path):
        about = windrow.files(str(tmp_path / "in"), "json", DDL, order="time", bad_rows="aside")
        return FolderWithPoison(about)


class TestSmallReadsOfJson(SourceContract):
    @pytest.fixture
    def place(self, tmp_path):
        return Folder(windrow.files(str(tmp_path / "in"), "json", DDL, batch_bytes=300))


class TestCompressedCsv(SourceContract):
    @pytest.fixture(params=[".gz", ".bz2", ".zst"])
    def place(self, tmp_path, request):
        return Folder(windrow.files(str(tmp_path / "in"), "csv", DDL), request.param)


class TestFilesInMemory(SourceContract):
    @pytest.fixture(params=["parquet", "json"])
    def place(self, request):
        path = f"memory://{uuid.uuid4().hex}/in"
        return MemoryFolder(windrow.files(path, request.param, DDL))


class SinkFolder:
    """The folder of a files sink, filled as an answer is; read as everybody reads a folder."""

    def __init__(self, about: windrow.files) -> None:
        self.about = about
        self._epoch = itertools.count()
        self._sink = None

    def sink(self):
        return self.about.sink()

    def put(self, table: pa.Table) -> None:
        if self._sink is None:
            self._sink = self.sink()
            self._sink.open(RUN, windrow.io.Answer(table.schema))
        epoch = next(self._epoch)
        self._sink.commit(epoch, [self._sink.write(epoch, table.to_batches())])

    def source(self):
        return self.about.source()

    def visible(self) -> pa.Table:
        if self.about.format == "parquet" and Path(self.about.path).is_dir():
            partitioning = "hive" if self.about.partition_by else None
            return ds.dataset(
                self.about.path, format="parquet", partitioning=partitioning, schema=COLUMNS
            ).to_table()
        source = replace(self.about, schema=DDL).source()
        found, since = [], source.start()
        while (end := source.latest(since)) != since:
            found += source.read("0", since["0"], end["0"])
            since = end
        return pa.Table.from_batches(found, COLUMNS)


class TestPartsOfASink(SourceContract):
    """What a files sink has written is a source, merged or not."""

    @pytest.fixture(params=["parquet", "csv", "json"])
    def place(self, tmp_path, request):
        return SinkFolder(windrow.files(str(tmp_path / "out"), request.param))


class TestMergedPartsOfASink(SourceContract):
    @pytest.fixture(params=["parquet", "csv", "json"])
    def place(self, tmp_path, request):
        return SinkFolder(
            windrow.files(str(tmp_path / "out"), request.param, compact_bytes=1 << 20)
        )

    @pytest.fixture(autouse=True)
    def soon(self, monkeypatch):
        monkeypatch.setattr("windrow.io.files_sink.MOST_OF_A_LEVEL", 2)


class TestFilesSink(OwnedSinkContract):
    @pytest.fixture(params=["parquet", "csv", "json"])
    def place(self, tmp_path, request):
        return SinkFolder(windrow.files(str(tmp_path / "out"), request.param))


class TestFilesSinkWithPartitions(OwnedSinkContract):
    @pytest.fixture
    def place(self, tmp_path):
        return SinkFolder(windrow.files(str(tmp_path / "out"), partition_by=["is_open", "name"]))


class TestFilesSinkThatMerges(OwnedSinkContract):
    @pytest.fixture
    def place(self, tmp_path, monkeypatch):
        monkeypatch.setattr("windrow.io.files_sink.MOST_OF_A_LEVEL", 2)
        return SinkFolder(windrow.files(str(tmp_path / "out"), compact_bytes=1 << 20))


class TestFilesSinkInMemory(OwnedSinkContract):
    @pytest.fixture
    def place(self):
        return SinkFolder(windrow.files(f"memory://{uuid.uuid4().hex}/out"))


class DeltaPlace:
    def __init__(self, path: Path, mode: str) -> None:
        self._about = windrow.delta(str(path), mode=mode, keys=["id"])

    def sink(self):
        return self._about.sink()

    def visible(self) -> pa.Table:
        from deltalake import DeltaTable

        if not DeltaTable.is_deltatable(self._about.path):
            return COLUMNS.empty_table()
        return pa.table(DeltaTable(self._about.path).to_pyarrow_table())


class TestDeltaSink(OwnedSinkContract):
    @pytest.fixture(params=["append", "merge"])
    def place(self, tmp_path, request):
        return DeltaPlace(tmp_path / "table", request.param)


def test_committed_files_are_those_that_hold_the_epochs(tmp_path):
    place = SinkFolder(windrow.files(str(tmp_path / "out")))
    place.put(pa.table({"n": [1]}))
    place.put(pa.table({"n": [2]}))
    assert [pq.read_table(file)["n"].to_pylist() for file in committed_files(place.about)] == [
        [1],
        [2],
    ]
