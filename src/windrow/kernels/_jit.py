"""The one way to compile a loop: `@kernel`.

Every kernel releases the interpreter lock, keeps IEEE arithmetic (no fastmath: NaN and signed zero
are data here), and is compiled once per machine, not once per process.

Why the on-disk cache is on. A Spark job starts a fresh Python worker per core, and each would
compile every kernel it calls, which takes seconds; to read them takes a fraction of one. To see it,
run any query twice, with and without `WINDROW_KERNEL_CACHE=off`.

Why it is safe:

- The folder belongs to the user alone (mode 0700, owner checked): cached code is code.
- A kernel has the code of those that it calls in it, and numba notices only changes of its own
  file. So each module has a folder of its own, whose name holds numba's, numpy's and Python's
  versions, how far LLVM optimizes (`NUMBA_OPT`), and a digest of all that its kernels are made of
  (`sources.py`). What changes in one module changes the folder of every module that leads to it, and
  of no other.
- numba writes cache files under a temporary name and renames them. Of processes that need a kernel
  at the same time one compiles it (`_once.py`), and where there are no locks, each for itself.

`WINDROW_KERNEL_CACHE` names another folder, or says `off`. Where no folder can be written, kernels
are compiled in each process.

Kernels take C-contiguous arrays. A read-only array is another type to numba, and would compile the
kernel again: `writable` gives kernels one kind.
"""

from __future__ import annotations

import functools
import os
import stat
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar, cast

import numba
import numpy as np
from numpy.typing import NDArray

from windrow.kernels._border import guard_returns
from windrow.kernels._once import compile_once
from windrow.kernels.sources import digest_of

Function = TypeVar("Function", bound=Callable[..., Any])
Item = TypeVar("Item", bound=np.generic)

FOLDER_SETTING = "WINDROW_KERNEL_CACHE"


def kernel(function: Function) -> Function:
    """The function, compiled at its first call, the lock released while it runs."""
    return _kernel(function, is_part=False)


def kernel_part(function: Function) -> Function:
    """As `kernel`, and compiled into each kernel that calls it.

    For what is called per tuple with tuples of arrays: a call copies these, and counts a reference
    to each array, which costs more than a short function does.
    """
    return _kernel(function, is_part=True)


def lean_kernel(function: Function) -> Function:
    """As `kernel`, for what makes no array: no references to arrays are counted.

    For what is called per tuple from other kernels. Counting costs an atomic operation per array
    and call, which is most of the time that a search of a tree takes.
    """
    return _kernel(function, is_part=False, is_lean=True)


def lean_kernel_part(function: Function) -> Function:
    """As `lean_kernel`, and compiled into each kernel that calls it."""
    return _kernel(function, is_part=True, is_lean=True)


def _kernel(function: Function, *, is_part: bool, is_lean: bool = False) -> Function:
    guard_returns(function)
    folder = _cache_folder(Path(function.__code__.co_filename))
    if folder is None:
        compiled = _compiled(function, cache=False, is_part=is_part, is_lean=is_lean)
        compile_once(compiled, None)
        return compiled
    before = numba.config.CACHE_DIR  # type: ignore[attr-defined]
    # numba reads the folder as the function is decorated; other users of numba keep theirs.
    numba.config.CACHE_DIR = folder  # type: ignore[attr-defined]
    try:
        compiled = _compiled(function, cache=True, is_part=is_part, is_lean=is_lean)
    finally:
        numba.config.CACHE_DIR = before  # type: ignore[attr-defined]
    compile_once(compiled, folder)
    return compiled


def writable(array: NDArray[Item]) -> NDArray[Item]:
    """The array as kernels take it: C-contiguous and writable, copied only if it is not."""
    if array.flags.c_contiguous and array.flags.writeable:
        return array
    return np.array(array, order="C")


def _compiled(function: Function, *, cache: bool, is_part: bool, is_lean: bool) -> Function:
    settings: dict[str, Any] = {"cache": cache, "forceinline": is_part}
    if is_lean and _knows_lean():
        settings[_RUNTIME] = False  # nothing can be allocated, no references are counted
    compiled = numba.njit(nogil=True, fastmath=False, **settings)(function)
    return cast("Function", compiled)


_RUNTIME = "_nrt"
"""numba's option to leave its runtime out. By its name it is numba's own, and there is no other."""


@functools.cache
def _knows_lean() -> bool:
    """Whether this numba has the option; without it lean kernels are slower, and do the same."""
    from numba.core import cpu  # noqa: PLC0415

    return hasattr(getattr(cpu, "CPUTargetOptions", None), _RUNTIME)


@functools.cache
def _cache_folder(module: Path) -> str | None:
    """The folder of this user for this very version of a module's kernels; None for no cache."""
    setting = os.environ.get(FOLDER_SETTING, "")
    if setting.lower() == "off" or not module.is_file():
        return None
    roots = [Path(setting)] if setting else _usual_roots()
    for root in roots:
        folder = root / _version_name(module)
        if _is_private_folder(folder):
            return str(folder)
    return None


def _usual_roots() -> list[Path]:
    cache_home = os.environ.get("XDG_CACHE_HOME", "")
    user = os.getuid() if hasattr(os, "getuid") else "user"
    shared = Path(tempfile.gettempdir()) / f"windrow-kernels-{user}"
    try:
        home = Path(cache_home) if cache_home else Path("~/.cache").expanduser()
    except RuntimeError:  # a container's user may have no home
        return [shared]
    return [home / "windrow" / "kernels", shared]


def _version_name(module: Path) -> str:
    made_by = f"{sys.implementation.cache_tag}-numba{numba.__version__}-numpy{np.__version__}"
    level = int(numba.config.OPT)  # type: ignore[attr-defined]
    return f"{made_by}-O{level}-{digest_of(module)}"


def _is_private_folder(folder: Path) -> bool:
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
