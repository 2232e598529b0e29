"""Processes that need the same kernel at the same time compile it once.

Spark starts a Python worker per core, and all of a stage's workers call the same kernels for the
first time at the same moment. One of them compiles, the others wait, and read what it has made:

    worker 1   |-- compile f ------------------|-- run ...
    worker 2      |.. wait ....................|- read f -|-- run ...

A kernel is compiled under a lock on one byte of a file in its cache folder, the byte that a digest
of its name and signature says. The operating system lets go of the locks of a process that ends,
however it ends, and tells one that would wait in a circle, which then compiles for itself; so does
one whose file system has no locks. Kernels call one another without circles, so that a process
which waits for `g` while it compiles `f` never holds up the one that compiles `g`.

Within a process numba compiles in one thread at a time. Its lock is taken first: a thread that
waits for another process with it in hand cannot be waited for by a thread of its own.

numba does not take it well to be left in the middle: what it knows of its own functions may then be
incomplete for good. So Ctrl-C is put off to the end of the kernel that is compiled.
"""

from __future__ import annotations

import contextlib
import functools
import os
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from numba.core.compiler_lock import global_compiler_lock

from windrow.kernels._signals import PutOff

try:
    import fcntl
except ImportError:  # not on Windows, where each process compiles for itself
    fcntl = None  # type: ignore[assignment]

LOCKS = "compiling.lock"

_BYTES = 1 << 31


def compile_once(kernel: Any, folder: str | None) -> None:
    """Lets a kernel be compiled without a break, and by one process if its code has a folder."""
    if not hasattr(kernel, "compile"):  # numba may be told not to compile at all
        return
    compile_here: Callable[[Any], Any] = kernel.compile
    name = kernel.py_func.__qualname__

    def compile_or_wait(signature: Any) -> Any:
        with PutOff(), global_compiler_lock, _alone(folder, f"{name}{signature}"):
            return compile_here(signature)  # reads the compiled code where there is some by now

    kernel.compile = compile_or_wait


@contextlib.contextmanager
def _alone(folder: str | None, what: str) -> Iterator[None]:
    """Waits until no other process has the lock of this name, and takes it if that can be had."""
    byte = zlib.crc32(what.encode()) % _BYTES
    file = None if folder is None or fcntl is None else _lock_file(folder)
    is_held = file is not None and _lock(file, byte)
    try:
        yield
    finally:
        if file is not None and is_held:
            fcntl.lockf(file, fcntl.LOCK_UN, 1, byte)


def _lock(file: int, byte: int) -> bool:
    try:
        fcntl.lockf(file, fcntl.LOCK_EX, 1, byte)
    except OSError:  # no locks on this file system, or a circle
        return False
    return True


@functools.cache
def _lock_file(folder: str) -> int | None:
    """The file of locks, open as long as the process lives: to close it would give up all locks."""
    with contextlib.suppress(OSError):
        return os.open(Path(folder, LOCKS), os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    return None
