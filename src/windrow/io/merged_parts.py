"""Small parts of committed epochs, merged into larger ones.

    parts       a  b  c  ..  p        16 of a kind, or compact_bytes of them
    1  the new file, hidden
    2  merged/RUN/n.json              by one rename: who reads the log finds a to p in the new file
    3  a to p are removed, the new file takes its place

Who lists the folder, and does not read the log, may miss their rows for as long as 3 takes, and never sees
them twice. A row is merged again only with as many as it was merged with before.
"""

from __future__ import annotations

import uuid
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.fs as pafs
import pyarrow.parquet as pq

from windrow.io.epoch_log import EpochLog, Merge, Part
from windrow.io.file_systems import move_file, remove_file, write_file

if TYPE_CHECKING:
    from windrow.io.files import Files

MOST_OF_A_LEVEL = 16
"""Parts that were merged equally often, and are not merged yet."""


def merge_small_parts(system: pafs.FileSystem, root: str, log: EpochLog, about: Files) -> None:
    """Merges parts where there are enough of them."""
    unmerged = log.unmerged(about.compact_bytes or 0)
    while (chosen := unmerged.enough(MOST_OF_A_LEVEL)) is not None:
        level, parts = chosen
        into, of = _write(system, root, log, parts, about)
        log.merge(Merge(unmerged.merges, level + 1, into, of))
        for place, _ in of:
            remove_file(system, f"{root}/{place}")
        move_file(system, f"{log.parts_at}/{into.hidden}", f"{root}/{into.place}")


def _write(
    system: pafs.FileSystem, root: str, log: EpochLog, parts: list[Part], about: Files
) -> tuple[Part, tuple[tuple[str, int], ...]]:
    """The new file, hidden, and where the parts are in it."""
    first = parts[0]
    name = uuid.uuid4().hex
    folder = first.place.rpartition("/")[0]
    stem = first.name.partition(".")[0][:15]
    place = f"{folder}/" if folder else ""
    place += f"{stem}-merged-{name[:12]}.{about.format}"
    hidden = f"{first.name.split('-')[1]}-{name}.{about.format}"
    shifts: list[tuple[str, int]] = []
    at = first.header

    def copy(file: pa.NativeFile) -> None:
        nonlocal at
        if about.format == "parquet":
            at = 0
            tables = []
            for part in parts:
                with system.open_input_file(f"{root}/{part.place}") as opened:
                    tables.append(pq.read_table(opened))
                shifts.append((part.place, at))
                at += part.rows
            pq.write_table(pa.concat_tables(tables).combine_chunks(), file)
            return
        for number, part in enumerate(parts):
            with system.open_input_file(f"{root}/{part.place}") as opened:
                content = opened.read()
            shifts.append((part.place, at - part.header))
            at += len(content) - part.header
            file.write(content if number == 0 else content[part.header :])

    size = write_file(system, f"{log.parts_at}/{hidden}", copy)
    rows = sum(part.rows for part in parts)
    return Part(place, hidden, size, rows, first.header, first.values), tuple(shifts)
