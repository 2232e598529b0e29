"""The one way to compile a loop: `@kernel`.

Every kernel releases the interpreter lock, keeps IEEE arithmetic (no fastmath: NaN and signed zero
are data here), and is compiled once per machine, not once per process. It takes C-contiguous arrays. A
read-only array is another type to numba, and would compile the kernel again: `writable` gives kernels
one kind.

**Compiled code is kept in files**, for a Spark job starts a fresh Python worker per core, and each would
compile every kernel it calls, which takes seconds; to read them takes a fraction of one. To see it,
run any query twice, with and without `WINDROW_KERNEL_CACHE=off`. The setting may also name another
folder; where none can be written, kernels are compiled in each process. Why it is safe:

- A folder is read only if nobody may write to it but this user and those who could change what runs
  anyway (`code_folders.py`): compiled code is code.
- A file is read only if it is whole, and of the very kernel, signature and processor that are asked for
  (`code_store.py`). It is written under a temporary name and renamed.
- A kernel has the code of the kernels that it calls in it, and the values of the constants it reads,
  but numba notices only changes of its own file. So each module has a folder of its own, whose name
  holds numba's, llvmlite's, numpy's and Python's versions, how far LLVM optimizes (`NUMBA_OPT`), and a
  digest of the module's text and of all kernel modules that its imports lead to:

      few.py -> sweep.py -> bew_period.py -> jit.py

  Imports are read from the text. One that names no module, but a package or a place relative to its
  own, counts as an import of every kernel module there is: to compile too often is never wrong. Of
  kernels of another package, whatever a module imports from its own package counts as well.

**What nobody uses is not made.** A kernel gets no entry for callers in C, which would take a
fifteenth of the time that it takes to compile it.

**Processes that need a kernel at the same time compile it once.** All workers of a Spark stage call
the same kernels for the first time at the same moment; one compiles, the others wait and read:

    worker 1   |-- compile f ------------------|-- run ...
    worker 2      |.. wait ....................|- read f -|-- run ...

A kernel is compiled under a lock on one byte of a file in its cache folder, the byte that a digest
of its name and signature says. The operating system lets go of the locks of a process that ends,
however it ends, and tells one that would wait in a circle, which then compiles for itself; so does
one whose file system has no locks. Kernels call one another without circles, so that a process
which waits for `g` while it compiles `f` never holds up the one that compiles `g`.

Within a process numba compiles in one thread at a time. Its lock is taken first: a thread that
waits for another process with it in hand cannot be waited for by a thread of its own. numba does not
take it well to be left in the middle: what it knows of its own functions may then be incomplete for
good. So Ctrl-C is put off to the end of the kernel that is compiled.

**What a kernel returns leaves compiled code without a line of Python being run.** numba makes the
arrays and named tuples that a kernel returns with the help of Python: it asks a function for their
pickled classes, and calls that of a tuple. Between any two instructions of Python the handler of a
signal may run, and raise, as that of Ctrl-C does; numba then goes on with the class that it has not
got:

    kernel done --> unpickle the class --> make the object --> the caller
                          ^ Ctrl-C: no class, and the process dies

So classes are among the constants of our kernels, and their tuples are made by `tuple.__new__`, all of
it C. A signal waits until the kernel has returned. It is cheaper, too. Kernels of others keep numba's
way.
"""

from __future__ import annotations

import contextlib
import functools
import os
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar, cast

import numba
import numpy as np
from numba.core import types
from numba.core.boxing import box_array, box_namedtuple, box_tuple
from numba.core.compiler_lock import global_compiler_lock
from numba.core.pythonapi import _boxers
from numpy.typing import NDArray

from windrow.kernels.code_folders import cache_folder, shipped_folders
from windrow.kernels.code_store import StoredCode, store_compiled
from windrow.kernels.compiling import COMPILING, no_collection
from windrow.kernels.signals import PutOff

_modules: set[str] = set()


def guard_returns(function: Callable[..., Any]) -> None:
    """Has what a kernel, and others of its module, return be made by C alone."""
    _modules.add(function.__module__)
    _boxers.functions.update(_BOXERS)  # numba lets nobody register a type twice


def _is_ours(border: Any) -> bool:
    constants = border.env_manager
    return constants is not None and constants.env.globals.get("__name__") in _modules


def _box_array(kind: Any, value: Any, border: Any) -> Any:
    """The code that makes a Python object of a native array."""
    if not _is_ours(border):
        return box_array(kind, value, border)
    with _constants_for_pickles(border):
        return box_array(kind, value, border)


def _box_named_tuple(kind: Any, value: Any, border: Any) -> Any:
    """The code that makes a Python object of a native named tuple."""
    if not _is_ours(border):
        return box_namedtuple(kind, value, border)
    plain = box_tuple(kind, value, border)
    make, named = (_constant(border, known) for known in (tuple.__new__, kind.instance_class))
    made = border.pyapi.call_function_objargs(make, (named, plain))
    border.pyapi.decref(plain)
    return made


_BOXERS = {
    types.Array: _box_array,
    types.NamedTuple: _box_named_tuple,
    types.NamedUniTuple: _box_named_tuple,
}


@contextmanager
def _constants_for_pickles(border: Any) -> Iterator[None]:
    """Has code that is made meanwhile read what it would unpickle from the kernel's constants."""
    api = border.pyapi
    api.serialize_object = lambda known: known
    api.unserialize = lambda known: _constant(border, known)
    try:
        yield
    finally:
        del api.serialize_object, api.unserialize


def _constant(border: Any, known: Any) -> Any:
    constants = border.env_manager
    return constants.read_const(constants.add_const(known))


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
        with (
            PutOff(),
            global_compiler_lock,
            alone(folder, f"{name}{signature}"),
            COMPILING.turn(),
            no_collection(),
        ):
            return compile_here(signature)  # reads the compiled code where there is some by now

    kernel.compile = compile_or_wait


@contextlib.contextmanager
def alone(folder: str | None, what: str) -> Iterator[None]:
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


Function = TypeVar("Function", bound=Callable[..., Any])
Item = TypeVar("Item", bound=np.generic)


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
    module = Path(function.__code__.co_filename)
    folder = cache_folder(module)
    compiled = _compiled(function, is_part=is_part, is_lean=is_lean)
    store_compiled(compiled, StoredCode(folder, shipped_folders(module)))
    compile_once(compiled, folder)
    return compiled


def writable(array: NDArray[Item]) -> NDArray[Item]:
    """The array as kernels take it: C-contiguous and writable, copied only if it is not."""
    if array.flags.c_contiguous and array.flags.writeable:
        return array
    return np.array(array, order="C")


def _compiled(function: Function, *, is_part: bool, is_lean: bool) -> Function:
    settings: dict[str, Any] = {"forceinline": is_part, "no_cfunc_wrapper": True}
    if is_lean and knows_lean():
        settings[_RUNTIME] = False  # nothing can be allocated, no references are counted
    compiled = numba.njit(nogil=True, fastmath=False, **settings)(function)
    return cast("Function", compiled)


_RUNTIME = "_nrt"
"""numba's option to leave its runtime out. By its name it is numba's own, and there is no other."""


@functools.cache
def knows_lean() -> bool:
    """Whether this numba has the option; without it lean kernels are slower, and do the same."""
    from numba.core import cpu  # noqa: PLC0415

    return hasattr(getattr(cpu, "CPUTargetOptions", None), _RUNTIME)
