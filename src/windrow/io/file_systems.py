"""Where files are: a path of this machine, or an address (`s3://..`) that pyarrow or fsspec knows.

What is written is durable when a function here returns: on this machine the file and its folder are
synced; elsewhere a file that was closed is there.
"""

from __future__ import annotations

import errno
import os
import re
import uuid
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.fs as pafs

from windrow.errors import BindError, ResourceError
from windrow.io.protocol import Unavailable

_SCHEME = re.compile(r"([a-zA-Z][\w+.-]+)://")
_PYARROWS = {"file", "s3", "gs", "gcs", "hdfs", "viewfs", "abfs", "abfss"}
_NEVER = (PermissionError, NotADirectoryError, IsADirectoryError, FileExistsError)
_NEVER_NUMBERS = {
    *(errno.ENAMETOOLONG, errno.EINVAL, errno.EILSEQ, errno.ELOOP, errno.EXDEV),
    *(errno.EROFS, errno.ENOSYS, errno.ENOTSUP, errno.EOPNOTSUPP),
}
"""Errors of a file system that do not pass by themselves."""


def located(path: str, storage: Mapping[str, Any]) -> tuple[pafs.FileSystem, str]:
    """The file system of a path, and the path there, without a slash at its end.

    Raises:
        BindError: nobody knows such addresses.
        ResourceError: the package that does is missing.
    """
    found = _SCHEME.match(path)
    if found is None:
        return pafs.LocalFileSystem(), str(Path(path).absolute())
    scheme = found[1].lower()
    try:
        if scheme in _PYARROWS and not storage:
            system, place = pafs.FileSystem.from_uri(path)
            return system, place.rstrip("/")
        try:
            import fsspec  # noqa: PLC0415
        except ModuleNotFoundError as error:
            raise ResourceError(
                "missing-package",
                f"{path!r} is reached by the package fsspec, which is not installed",
                hint="pip install 'windrow[fsspec]'",
            ) from error
        system, place = fsspec.core.url_to_fs(path, **storage)
        return pafs.PyFileSystem(pafs.FSSpecHandler(system)), place.rstrip("/")
    except (ValueError, ImportError, pa.ArrowException) as error:
        raise BindError(
            "unknown-address",
            f"no file system is known at {path!r}",
            reason=str(error).partition("\n")[0],
            hint="name a folder of this machine, or an address that pyarrow or fsspec knows: s3://..",
        ) from error


def is_local(system: pafs.FileSystem) -> bool:
    """Whether files are this machine's."""
    return isinstance(system, pafs.LocalFileSystem)


def write_file(system: pafs.FileSystem, path: str, write: Callable[[pa.NativeFile], object]) -> int:
    """Writes a new file by what is called with it, durably; gives its size."""
    with system.open_output_stream(path) as file:
        write(file)
        size = int(file.tell())
    if is_local(system):
        _sync(path)
        _sync(str(Path(path).parent))
    return size


def put_file(system: pafs.FileSystem, path: str, content: bytes) -> None:
    """Puts a file in place, whole or not at all, durably."""
    folder, _, name = path.rpartition("/")
    aside = f"{folder}/.{name}.{uuid.uuid4().hex}"
    write_file(system, aside, lambda file: file.write(content))
    move_file(system, aside, path)


def move_file(system: pafs.FileSystem, old: str, new: str) -> None:
    """Gives a file its name, at one instant where the file system can; one that has it goes."""
    if is_local(system):
        Path(old).replace(new)
        _sync(str(Path(new).parent))
        return
    system.move(old, new)


def remove_file(system: pafs.FileSystem, path: str) -> None:
    """Removes a file, if it is there."""
    try:
        system.delete_file(path)
    except FileNotFoundError:
        return
    except OSError:
        if system.get_file_info(path).type != pafs.FileType.NotFound:
            raise


def names_in(system: pafs.FileSystem, folder: str) -> dict[str, int]:
    """The files right in a folder, by name, with their sizes; those of no folder are none."""
    found = system.get_file_info(pafs.FileSelector(folder, allow_not_found=True))
    return {own.base_name: own.size for own in found if own.type == pafs.FileType.File}


def _sync(path: str) -> None:
    place = os.open(path, os.O_RDONLY)
    try:
        os.fsync(place)
    finally:
        os.close(place)


@contextmanager
def on_files(path: str, what: str, *passed: type[OSError]) -> Iterator[None]:
    """What a file system says, said as ours; what may pass is tried again by the runner.

    Args:
        path: what was to be reached.
        what: what cannot be done there, as `be written`.
        passed: what the caller has words of its own for.
    """
    try:
        yield
    except passed:
        raise
    except OSError as error:
        if not isinstance(error, _NEVER) and error.errno not in _NEVER_NUMBERS:
            raise _unavailable(path, what, error) from error
        raise ResourceError(
            "files-out-of-reach",
            f"{path!r} cannot {what}",
            reason=error.strerror or str(error),
            hint="name a folder that this process may read and write",
        ) from error


def _unavailable(path: str, what: str, error: OSError) -> Unavailable:
    return Unavailable(
        "files-unavailable",
        f"{path!r} cannot {what} now",
        reason=error.strerror or str(error).partition("\n")[0],
        hint="make room on the disk, or check the file system",
    )
