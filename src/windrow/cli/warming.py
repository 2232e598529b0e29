"""`windrow warm`: what queries need is compiled ahead, in as many processes as there are cores.

    windrow warm --+-- joins        a process that runs the queries of the family (`warm_queries.py`)
                   +-- aggregates   another one; what both need, one of them compiles
                   ..
    <folder>/joins-<state>.warm     the family's files, written when all of them are there

A state stands for all that decides what is compiled: versions, processor, and the text of the package.
A family whose list is there, with every file of it whole, is not run again.
"""

from __future__ import annotations

import hashlib
import json
import os
import queue
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Self

from windrow.cli.warm_queries import FAMILIES
from windrow.errors import WindrowError, nearest

LONGEST_FIRST = ("algorithms", "aggregates", "statistics", "shedding", "bestmatch", "joins")

PROCESSOR, FEATURES = "NUMBA_CPU_NAME", "NUMBA_CPU_FEATURES"
"""The settings of numba's that say what processor is compiled for, and what it has beyond its name."""

CHILD = "from windrow.cli.warming import warm_here; warm_here()"


class WarmError(WindrowError, RuntimeError):
    """Kernels cannot be compiled ahead; who runs the command acts."""

    @classmethod
    def unknown_family(cls, name: str) -> Self:
        """There is no such family."""
        return cls(
            "unknown-family",
            f"there are no kernels of a family {name!r}",
            hint=f"known here: {nearest(name, FAMILIES)}; without a name, all are compiled",
        )

    @classmethod
    def no_folder(cls, folder: Path | None) -> Self:
        """There is no place to keep what is compiled."""
        where = "nowhere" if folder is None else f"not in {str(folder)!r}"
        return cls(
            "kernels-not-writable",
            f"compiled kernels can be kept {where}",
            reason="the folder must be yours, and nobody else may write to it",
            hint="windrow warm --folder FOLDER  says where",
        )

    @classmethod
    def two_folders(cls) -> Self:
        """Kernels can be kept in one place."""
        return cls(
            "two-folders",
            "--folder and --in-package name two places",
            hint="give one of them, and run the command again for the other",
        )

    @classmethod
    def not_portable(cls) -> Self:
        """There is no name for the processors of this architecture."""
        return cls(
            "not-portable",
            "kernels for other processors of this architecture cannot be compiled",
            reason="it is neither x86-64 nor ARM with 64 bits",
            hint="leave out --portable: kernels are then compiled for this very processor",
        )

    @classmethod
    def failed(cls, family: str, said: str) -> Self:
        """A process ended without having compiled its family."""
        lines = said.strip().splitlines() or ["it ended without a word"]
        return cls("warm-failed", f"the family {family} was not compiled", reason=lines[-1])


@dataclass(frozen=True)
class Warmed:
    """What has been done.

    Attributes:
        folder: where the kernels are kept.
        families: the names of those that were asked for.
        compiled: how many kernels were compiled now.
        kept: how many files the families have, together.
        seconds: by the clock.
    """

    folder: str
    families: tuple[str, ...]
    compiled: int
    kept: int
    seconds: float

    def as_dict(self) -> dict[str, object]:
        """For JSON."""
        return asdict(self)

    def __str__(self) -> str:
        if not self.compiled:
            return f"nothing to compile: {self.kept} kernels are in {self.folder}"
        return (
            f"{self.compiled} kernels compiled in {self.seconds:.1f} s; "
            f"{self.kept} are in {self.folder}"
        )


def checked_families(names: Sequence[str]) -> tuple[str, ...]:
    """The families of these names, each once; all if none is named.

    Raises:
        WarmError: there is no family of one of these names.
    """
    for name in names:
        if name not in FAMILIES:
            raise WarmError.unknown_family(name)
    return tuple(dict.fromkeys(names)) or tuple(FAMILIES)


def place_of(folder: Path | None, *, in_package: bool) -> Path | None:
    """The folder that is asked for; None for this user's.

    Raises:
        WarmError: two folders are asked for.
    """
    from windrow.kernels.code_folders import SHIPPED

    if folder is not None and in_package:
        raise WarmError.two_folders()
    return SHIPPED if in_package else folder


def warm(
    families: Sequence[str],
    folder: Path | None,
    jobs: int,
    say: Callable[[str], None],
    *,
    is_portable: bool = False,
) -> Warmed:
    """Compiles the kernels of families that are not compiled.

    Args:
        families: their names.
        folder: where kernels are kept; None for the usual place of this user.
        jobs: in how many processes at most.
        say: told what is going on.
        is_portable: whether for other processors of this architecture, too.

    Raises:
        WarmError: there is no folder for them, or a family cannot be compiled.
    """
    from windrow.kernels.code_folders import (
        FOLDER_SETTING,
        SHIPPED_SETTING,
        made_by,
        open_to_readers,
        place_to_keep,
        portable_processor,
    )

    started = time.monotonic()
    root = place_to_keep(folder)
    if root is None:
        raise WarmError.no_folder(folder)
    processor = {PROCESSOR: portable_processor(), FEATURES: ""} if is_portable else {}
    if is_portable and not portable_processor():
        raise WarmError.not_portable()
    state = _state(" ".join([made_by(), *processor.values()]))
    lists = {family: root / f"{family}-{state}.warm" for family in families}
    missing = [family for family in _in_order(families) if not _is_whole(lists[family])]
    compiled = 0
    environment = {
        **os.environ,
        **processor,
        FOLDER_SETTING: str(root),
        SHIPPED_SETTING: "off",
    }
    news: queue.SimpleQueue[tuple[str, str] | None] = queue.SimpleQueue()

    def run(family: str) -> int:
        found = _run_family(family, environment, lambda kernel: news.put((family, kernel)))
        lists[family].write_text(json.dumps(found.files))
        return found.compiled

    def run_all() -> int:
        try:
            with ThreadPoolExecutor(max(1, jobs)) as pool:
                return sum(pool.map(run, missing))
        finally:
            news.put(None)

    if missing:
        with ThreadPoolExecutor(1) as beside:
            total = beside.submit(run_all)
            for count, (family, kernel) in enumerate(iter(news.get, None), start=1):
                say(f"compiling {family}: {kernel}, {count} kernels so far")
            compiled = total.result()
    if folder is not None:
        open_to_readers(root)
    kept = {file for path in lists.values() for file in json.loads(path.read_text())}
    took = time.monotonic() - started
    return Warmed(str(root), tuple(families), compiled, len(kept), round(took, 1))


@dataclass(frozen=True)
class _Found:
    compiled: int
    files: list[str]


def _run_family(family: str, environment: dict[str, str], tell: Callable[[str], object]) -> _Found:
    with subprocess.Popen(
        [sys.executable, "-c", CHILD, family],
        env=environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as child:
        assert child.stdout is not None
        assert child.stderr is not None
        said: list[str] = []
        reader = threading.Thread(target=lambda: said.extend(child.stderr or ()))
        reader.start()
        found = None
        for line in child.stdout:
            record = json.loads(line)
            if "kernel" in record:
                tell(record["kernel"])
            else:
                found = _Found(**record)
        reader.join()
    if child.returncode or found is None:
        raise WarmError.failed(family, "".join(said))
    return found


def warm_here() -> None:
    """In a process of its own: compiles the family that the command line names, and tells of it."""
    from windrow.cli.warm_queries import run_family
    from windrow.kernels.compiling import COMPILING, Compiled

    def tell(news: Compiled) -> None:
        if news.kernel:
            print(json.dumps({"kernel": news.kernel}), flush=True)

    with COMPILING.told(tell):
        run_family(sys.argv[1])
    from windrow.kernels.code_store import FILES

    print(json.dumps({"compiled": COMPILING.kernels, "files": sorted(FILES)}), flush=True)


def _in_order(families: Iterable[str]) -> list[str]:
    """Those that take long first, so that no process is left with one of them at the end."""
    places = {name: place for place, name in enumerate(LONGEST_FIRST)}
    return sorted(families, key=lambda name: places.get(name, len(places)))


def _is_whole(listed: Path) -> bool:
    """Whether all files of a family are there, and what they were."""
    from windrow.kernels.code_store import is_whole

    try:
        files = json.loads(listed.read_text())
    except (OSError, ValueError):
        return False
    return all(is_whole(Path(file)) for file in files)


def _state(made_by: str) -> str:
    """A digest of all that decides which kernels a family takes, and what is compiled of them."""
    digest = hashlib.blake2b(made_by.encode(), digest_size=8)
    for text in _sources():
        digest.update(text)
    return digest.hexdigest()


def _sources() -> Iterator[bytes]:
    for file in sorted(Path(__file__).parents[1].rglob("*.py")):
        yield file.name.encode()
        yield file.read_bytes()
