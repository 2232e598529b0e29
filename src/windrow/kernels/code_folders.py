"""Where compiled kernels lie: a folder that this user writes, and folders that are only read.

    WINDROW_KERNEL_CACHE, else          written and read    mode 0700, of this user alone
    the user's cache                    <root>/<version>/
                                                |  what is not there
                                                v
    WINDROW_KERNEL_CACHE of another     read                of whom we trust, closed to others
    the package's own `compiled/`       <root>/<version>/

Compiled code is code: whoever may write it runs as whoever reads it. So a folder is read if it belongs
to this user, to root, or to the owner of this very module, who could change what runs anyway, and if
nobody else may write to it, to its root, or to a file that is read.

A version names all that compiled code depends on but the processor: Python's, numba's, llvmlite's and
numpy's versions, how far LLVM optimizes, and a digest of the module's text and of all kernel modules
that its imports lead to (`sources.py`). The processor is part of each file's name.
"""

from __future__ import annotations

import functools
import os
import platform
import stat
import sys
import tempfile
from pathlib import Path
from typing import Any, cast

import llvmlite.binding  # type: ignore[import-untyped]
import numba
import numpy as np

from windrow.kernels.sources import digest_of

FOLDER_SETTING = "WINDROW_KERNEL_CACHE"

SHIPPED = Path(__file__).parent / "compiled"
"""Kernels that came with the package, or were compiled for all users as it was installed."""

SHIPPED_SETTING = "WINDROW_KERNEL_SHIPPED"
"""Set to "off", no process reads but its own folder, so that all it needs comes to be there."""


@functools.cache
def cache_folder(module: Path) -> str | None:
    """The folder of this user for this very version of a module's kernels; None for no cache."""
    if _is_off() or not module.is_file():
        return None
    for root in _roots():
        folder = root / version_name(module)
        if is_private_folder(folder):
            return str(folder)
    return None


@functools.cache
def shipped_folders(module: Path) -> tuple[str, ...]:
    """The folders of others that have this very version of a module's kernels, as far as they are safe."""
    if _is_off() or _is_alone() or not module.is_file():
        return ()
    stated = os.environ.get(FOLDER_SETTING, "")
    roots = [Path(stated)] if stated else []
    named = version_name(module)
    own = cache_folder(module)
    folders = (root / named for root in (*roots, SHIPPED))
    return tuple(str(folder) for folder in folders if str(folder) != own and is_read_safely(folder))


def is_stated_elsewhere() -> bool:
    """Whether a folder is stated that is safe to read, and that this user cannot write to."""
    stated = os.environ.get(FOLDER_SETTING, "")
    if not stated or _is_off():
        return False
    return _is_closed(Path(stated)) and not os.access(stated, os.W_OK)


def forget_choices() -> None:
    """Looks at settings and folders anew."""
    cache_folder.cache_clear()
    shipped_folders.cache_clear()


def usual_roots() -> list[Path]:
    """Where compiled kernels are kept, if nobody says: in the user's cache, or beside temporary files."""
    cache_home = os.environ.get("XDG_CACHE_HOME", "")
    user = os.getuid() if hasattr(os, "getuid") else "user"
    shared = Path(tempfile.gettempdir()) / f"windrow-kernels-{user}"
    try:
        home = Path(cache_home) if cache_home else Path("~/.cache").expanduser()
    except RuntimeError:  # a container's user may have no home
        return [shared]
    return [home / "windrow" / "kernels", shared]


def version_name(module: Path) -> str:
    """The folder of what these versions compile from a module as it is now."""
    return f"{_versions()}-{digest_of(module)}"


def made_by() -> str:
    """All that decides what is made of a kernel but its text: versions, and the processor."""
    asked = cast("Any", numba.config)
    named = asked.CPU_NAME or llvmlite.binding.get_host_cpu_name()
    features = asked.CPU_FEATURES or llvmlite.binding.get_host_cpu_features().flatten()
    return f"{_versions()}-{named}-{features}"


PORTABLE = {
    "x86_64": ("x86-64-v3", {"avx2", "bmi", "bmi2", "f16c", "fma", "lzcnt", "movbe"}),
    "aarch64": ("generic", set[str]()),
    "arm64": ("generic", set[str]()),
}
"""By the machine's architecture, LLVM's name of what most of its processors run, and what that takes."""


def portable_processor() -> str:
    """LLVM's name of a processor whose code most of this architecture run; empty for none."""
    return PORTABLE.get(platform.machine(), ("", set[str]()))[0]


@functools.cache
def runs_portable_code() -> bool:
    """Whether this processor runs it."""
    name, needed = PORTABLE.get(platform.machine(), ("", set[str]()))
    features = llvmlite.binding.get_host_cpu_features()
    return bool(name) and all(features.get(feature) for feature in needed)


def _versions() -> str:
    packages = f"numba{numba.__version__}-llvmlite{llvmlite.__version__}-numpy{np.__version__}"
    level = int(numba.config.OPT)  # type: ignore[attr-defined]
    return f"{sys.implementation.cache_tag}-{packages}-O{level}"


def place_to_keep(stated: Path | None) -> Path | None:
    """The first folder of these that this user may keep kernels in; None for none."""
    if stated is None and _is_off():
        return None
    roots = _roots() if stated is None else [stated.absolute()]
    return next((root for root in roots if is_private_folder(root)), None)


def open_to_readers(root: Path) -> None:
    """Lets everybody read what was compiled into a folder; this user alone may still write.

    What else is in it stays as it is, and so does the folder itself if there is anything else.
    """
    lists, versions = set(root.glob("*.warm")), set(root.glob("*-numba*-*"))
    files = {file for folder in versions for file in folder.iterdir()}
    for place in lists | versions | files:
        place.chmod(0o755 if place in versions else 0o644)
    if not set(root.iterdir()) - lists - versions:
        root.chmod(0o755)


def is_private_folder(folder: Path) -> bool:
    """Whether the folder is there, ours, closed to others and writable; made if missing."""
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        status = folder.stat()
    except OSError:
        return False
    if hasattr(os, "getuid"):
        open_to_others = stat.S_IMODE(status.st_mode) & 0o022
        if status.st_uid != os.getuid() or open_to_others:
            return False
    return os.access(folder, os.W_OK)


def is_read_safely(folder: Path) -> bool:
    """Whether nobody but whom we trust anyway can have put a file into a folder of a version."""
    return _is_closed(folder) and _is_closed(folder.parent)


def is_trusted(status: os.stat_result) -> bool:
    """Whether a file or folder was written by whom we trust, and by nobody else."""
    if not hasattr(os, "getuid"):
        return True
    return status.st_uid in trusted_users() and not stat.S_IMODE(status.st_mode) & 0o022


def _is_closed(folder: Path) -> bool:
    try:
        return is_trusted(folder.stat())
    except OSError:
        return False


@functools.cache
def trusted_users() -> frozenset[int]:
    """Root, this user, and the owner of the code that runs anyway."""
    return frozenset((0, os.getuid(), Path(__file__).stat().st_uid))


def _is_off() -> bool:
    return os.environ.get(FOLDER_SETTING, "").lower() == "off"


def _is_alone() -> bool:
    return os.environ.get(SHIPPED_SETTING, "").lower() == "off"


def _roots() -> list[Path]:
    stated = os.environ.get(FOLDER_SETTING, "")
    if stated and not is_stated_elsewhere():
        return [Path(stated)]
    return usual_roots()
