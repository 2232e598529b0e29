"""The state of one bucket in Spark's state store: a small manifest, and chunks by their names.

    manifest   one value: versions, whose state it is, which chunks make up each buffer
    chunks     a map: (name of the content, part number) -> bytes

A micro-batch reads the manifest, takes the chunks from the cache of this worker (the map is asked
only for chunks that the cache lacks), and writes the chunks that are new. Chunks that left are
removed. So a batch writes what the batch brought, whatever the window holds; but for windows that
count rows by key, and for the best pairs of each instant, of which the manifest has a bit per row.

Whose state it is, a fingerprint says: what a stage computes, as one short text. Left out is what may change while a checkpoint stays valid: the algorithm, a stream's lateness, and
the texts that are there for people or for another engine.
"""

from __future__ import annotations

import hashlib
import json
import re
from base64 import b64decode, b64encode
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields, is_dataclass
from typing import TYPE_CHECKING, Any, TypeVar

from windrow.errors import InternalError, PlanError
from windrow.operators.columns.chunks import Chunk, ChunkSlice, order_of
from windrow.operators.engine.base import STATE_VERSION, Counters, Snapshot
from windrow.physical.nodes.base import PhysicalNode
from windrow.run.spark.chunk_cache import BucketChunks
from windrow.run.spark.failures import of_another_query
from windrow.schema import MAX_TICK

if TYPE_CHECKING:
    from windrow.run.spark.processor import Declared


Entry = TypeVar("Entry")

_AND = " + "
"""Between the kinds of operators that share a stage."""

PART_BYTES = 8 << 20
"""A chunk travels to the state store in parts of this size."""


@dataclass(frozen=True)
class Identity:
    """Whose state it is: what must agree before a checkpoint may be used.

    Attributes:
        fingerprint: of what the stage computes, whatever the algorithm.
        about: the stage in words, for the message.
        buckets: into how many buckets its rows are cut.
        partitions: over how many shuffle partitions the buckets were spread.
        question: a fingerprint of the whole query: what is made of the stage's rows above it belongs
            to the answer too. "" in checkpoints that were made before it was written down.
    """

    fingerprint: str
    about: str
    buckets: int
    partitions: int
    question: str = ""


@dataclass(frozen=True)
class ChunkEntry:
    """One chunk of a buffer, as the manifest names it; `gone` is its slice's, in base 64."""

    name: str
    order: str
    skip: int
    parts: int
    gone: str = ""


@dataclass(frozen=True)
class Manifest:
    """All of a bucket's state but the chunks.

    Attributes:
        identity: whose state it is.
        kind: the operator's layout.
        buffers: the chunks of each buffer, in order.
        numbers: the operator's scalars.
        newest: per port, the newest time that the bucket has seen, or been told of.
        needs: of a join that sheds, what all buckets would hold, and this one (`shed_bucket_demand`).
        due: the least watermark, in ticks, at which the operator has something to do.
        timer: when the bucket's timer goes off, in Spark's milliseconds; 0 for no timer.
        stored: rows held.
        intermediate: partial combinations that the operator derives from them.
        state_bytes: bytes of both.
        held_above: of a stage of several operators, these three of each but the lowest.
        version: layout of the snapshot.
    """

    identity: Identity
    kind: str = ""
    buffers: dict[str, list[ChunkEntry]] = field(default_factory=dict)
    numbers: dict[str, int] = field(default_factory=dict)
    newest: list[int] = field(default_factory=list)
    needs: list[list[int]] = field(default_factory=list)
    due: int = MAX_TICK
    timer: int = 0
    stored: int = 0
    intermediate: int = 0
    state_bytes: int = 0
    held_above: list[list[int]] = field(default_factory=list)
    version: int = STATE_VERSION

    def held(self, operators: int) -> list[Counters]:
        """What each operator of the stage holds, from the bottom up."""
        lowest = [self.stored, self.intermediate, self.state_bytes]
        found = [lowest, *(self.held_above or [[0, 0, 0]] * (operators - 1))]
        return [
            Counters(stored=stored, intermediate=intermediate, state_bytes=state_bytes)
            for stored, intermediate, state_bytes in found
        ]

    def parts(self) -> dict[str, int]:
        """The names of all chunks, with how many parts each has."""
        return {e.name: e.parts for entries in self.buffers.values() for e in entries}

    def to_json(self) -> str:
        """As kept in the state store."""
        return json.dumps(asdict(self), separators=(",", ":"))


def manifest_from_json(text: str, expected: Identity) -> Manifest:
    """Reads a manifest, refused when this query, or this Windrow, may not use it."""
    raw = json.loads(text)
    if raw.get("version") != STATE_VERSION:
        raise PlanError(
            "unknown-state-version",
            f"the checkpoint holds state of version {raw.get('version')}; "
            f"this Windrow reads version {STATE_VERSION}",
            hint="run the version of Windrow that made it, or start with a new checkpointLocation",
        )
    found = Identity(**raw["identity"])
    if found.fingerprint != expected.fingerprint:
        raise of_another_query(
            f"it holds the state of: {found.about}; this stage is: {expected.about}"
        )
    if found.question and found.question != expected.question:
        raise of_another_query("this stage is the same, but not what the query makes of its rows")
    if (found.buckets, found.partitions) != (expected.buckets, expected.partitions):
        raise PlanError(
            "checkpoint-of-other-buckets",
            f"the checkpoint has {found.buckets} buckets over {found.partitions} shuffle partitions, "
            f"the query {expected.buckets} over {expected.partitions}",
            reason="rows would not find the state of their bucket",
            hint=f"set spark.sql.shuffle.partitions to {found.partitions} and the option buckets to "
            f"{found.buckets}, or give the query a checkpointLocation of its own",
        )
    buffers = {
        name: [ChunkEntry(**entry) for entry in entries] for name, entries in raw["buffers"].items()
    }
    return Manifest(**{**raw, "identity": found, "buffers": buffers})


class BucketState:
    """The state of the bucket that Spark is at, as the processor declared it."""

    def __init__(self, declared: Declared, identity: Identity) -> None:
        self._manifest, self._chunks = declared
        self._identity = identity

    def manifest(self) -> Manifest | None:
        """The manifest, checked; None for a bucket without state."""
        stored = self._manifest.get()
        return manifest_from_json(stored[0], self._identity) if stored else None

    def write_manifest(self, manifest: Manifest) -> None:
        """Puts the manifest."""
        self._manifest.update((manifest.to_json(),))

    def snapshot(self, manifest: Manifest, near: BucketChunks) -> Snapshot:
        """The operator's state that a manifest describes; `near` are the bucket's cached chunks."""
        buffers = {
            name: tuple(
                ChunkSlice(self._load(entry, near), entry.skip, b64decode(entry.gone))
                for entry in entries
            )
            for name, entries in manifest.buffers.items()
        }
        return Snapshot(manifest.kind, buffers, manifest.numbers, manifest.version)

    def write_chunks(
        self, snapshot: Snapshot, old: Manifest | None, near: BucketChunks
    ) -> dict[str, list[ChunkEntry]]:
        """Puts the chunks that are new, removes those that left; gives the manifest's buffers."""
        before = old.parts() if old is not None else {}
        buffers = {
            name: [self._save(part, before, near) for part in slices]
            for name, slices in snapshot.buffers.items()
        }
        now = {entry.name for entries in buffers.values() for entry in entries}
        for name in before.keys() - now:
            for part in range(before[name]):
                self._chunks.removeKey((name, part))
            near.forget(name)
        near.settle(now)
        return buffers

    def _save(self, part: ChunkSlice, before: dict[str, int], near: BucketChunks) -> ChunkEntry:
        chunk = part.chunk
        name = chunk.id
        if name not in before:
            blob = chunk.blob
            before[name] = max(1, -(-len(blob) // PART_BYTES))
            for number in range(before[name]):
                piece = blob[number * PART_BYTES : (number + 1) * PART_BYTES]
                self._chunks.updateValue((name, number), (piece,))
            near.keep(chunk)
        chunk.__dict__.pop("blob", None)  # the state store and the cache's file have it
        gone = b64encode(part.gone).decode()
        return ChunkEntry(name, order_of(chunk), part.skip, before[name], gone)

    def _load(self, entry: ChunkEntry, near: BucketChunks) -> Chunk:
        chunk = near.get(entry.name, entry.order)
        if chunk is not None:
            return chunk
        pieces = b"".join(self._piece(entry.name, number) for number in range(entry.parts))
        return near.add(entry.name, entry.order, pieces)

    def _piece(self, name: str, number: int) -> bytes:
        found = self._chunks.getValue((name, number))
        if found is None:
            raise InternalError(
                "missing-chunk",
                f"part {number} of the chunk {name} is in the manifest, but not in the state store",
            )
        return bytes(found[0])


def together(snapshots: Sequence[Snapshot]) -> Snapshot:
    """The states of a stage's operators, from the bottom up, as one; that of a single one stays."""
    if len(snapshots) == 1:
        return snapshots[0]
    buffers = {f"{i}/{n}": v for i, one in enumerate(snapshots) for n, v in one.buffers.items()}
    numbers = {f"{i}/{n}": v for i, one in enumerate(snapshots) for n, v in one.numbers.items()}
    kind = _AND.join(one.kind for one in snapshots)
    return Snapshot(kind, buffers, numbers, snapshots[0].version)


def apart(snapshot: Snapshot) -> list[Snapshot]:
    """The state of each operator, from the bottom up."""
    kinds = snapshot.kind.split(_AND)
    if len(kinds) == 1:
        return [snapshot]
    return [
        Snapshot(kind, _own(snapshot.buffers, i), _own(snapshot.numbers, i), snapshot.version)
        for i, kind in enumerate(kinds)
    ]


def _own(entries: Mapping[str, Entry], number: int) -> dict[str, Entry]:
    prefix = f"{number}/"
    return {n.removeprefix(prefix): v for n, v in entries.items() if n.startswith(prefix)}


_SPACES = re.compile(r"""('(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*"|`[^`]*`)|\s+""", re.DOTALL)
_FREE = {
    "algorithm", "body", "method", "lateness", "read_ahead", "text", "duckdb", "span", "calls", "comparisons",
    "bands", "structures", "sizes", "orders", "estimate", "is_portable", "place", "registered",
    # How much there is may change from run to run, and chances go on from what is held.
    "memory", "is_in_bytes", "service_rate", "may_skip", "strategy", "least_windows",
    "least_rates", "parts", "expected",
}  # fmt: skip


def fingerprint(node: PhysicalNode) -> str:
    """A hash of what the node, and all below it, means."""
    return hashlib.blake2b(repr(plain(node)).encode(), digest_size=16).hexdigest()


def metric_name(root: PhysicalNode, what: str) -> str:
    """The name of one of a query's figures in Spark's progress, up to the run's own ending."""
    return f"windrow_{fingerprint(root)[:8]}_{what}"


def about(*nodes: PhysicalNode) -> str:
    """The nodes of a stage in words, for people: what they do, and of which streams."""
    streams = ", ".join(scan.stream for scan in nodes[0].scans)
    return f"{', then '.join(node.about for node in nodes)} of {streams}"


def _is_unset(name: str, value: Any) -> bool:
    """Whether an entry came after checkpoints were made that lack it, and says nothing here."""
    return (name == "is_wide" and not value.is_wide) or (name == "unit" and value.unit is None)


def plain(value: Any) -> Any:
    """What is left of a value in a checkpoint: names and values, without what may change."""
    if hasattr(value, "identity"):  # a node
        return plain(value.identity())
    if is_dataclass(value):
        parts = [
            (entry.name, plain(getattr(value, entry.name)))
            for entry in fields(value)
            if entry.name not in _FREE and not _is_unset(entry.name, value)
        ]
        return (type(value).__name__, *parts)
    if isinstance(value, tuple | list):
        return tuple(map(plain, value))
    if isinstance(value, str):
        # An expression keeps the spaces that the user wrote; outside of quotes they say nothing.
        return _SPACES.sub(lambda found: found[1] or " ", value)
    return value
