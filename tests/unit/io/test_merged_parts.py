"""Which parts are merged: those that an unbroken run knows of are those that one begun again finds."""

from __future__ import annotations

import pyarrow.fs as pafs
import pytest
from hypothesis import given
from hypothesis import strategies as st

from windrow.io.epoch_log import Epoch, EpochLog, EpochPart, Merge, Unmerged

MOST, LARGE = 3, 100


def part(epoch: int, number: int, folder: str, size: int) -> EpochPart:
    name = f"part-{epoch:010d}-{number}-r.parquet"
    return EpochPart(f"{folder}/{name}" if folder else name, f"{epoch}-h", size, 1)


def merged(unmerged: Unmerged, keep=None) -> list[Merge]:
    """What is merged, kind by kind, without the files."""
    done = []
    while (chosen := unmerged.enough(MOST)) is not None:
        level, parts = chosen
        folder, _, name = parts[0].place.rpartition("/")
        place = f"{folder}/m{level}-{name}" if folder else f"m{level}-{name}"
        into = EpochPart(place, "h", sum(own.size for own in parts), 1)
        done.append(Merge(unmerged.merges, level + 1, into, tuple((p.place, 0) for p in parts)))
        (keep or unmerged.merge)(done[-1])
    return done


@pytest.mark.law
@given(
    st.lists(
        st.lists(
            st.tuples(st.sampled_from(["", "k=1", "k=2"]), st.sampled_from([10, 60, 120])),
            max_size=3,
        ),
        max_size=14,
    )
)
def test_a_run_that_is_begun_again_merges_the_same(epochs):
    unbroken, committed, merges = Unmerged(LARGE), [], []
    for number, parts in enumerate(epochs):
        made = [part(number, n, *own) for n, own in enumerate(parts)]
        committed += made
        begun_again = Unmerged(LARGE)
        for own in committed:
            begun_again.add(0, own)
        for own in merges:
            begun_again.merge(own)
        for own in made:
            unbroken.add(0, own)
        found = merged(unbroken)
        assert {own.of for own in found} == {own.of for own in merged(begun_again)}
        assert all(len({place.count("/") for place, _ in own.of}) == 1 for own in found)
        merges += found


def test_a_commit_does_not_go_through_the_epochs_before_it(tmp_path, monkeypatch):
    walks = []
    epochs = EpochLog.epochs
    monkeypatch.setattr(EpochLog, "epochs", lambda self: (walks.append(1), epochs(self))[1])
    log = EpochLog(pafs.LocalFileSystem(), str(tmp_path), "r")
    for own in (log.epochs_at, log.merged_at):
        pafs.LocalFileSystem().create_dir(own, recursive=True)
    count = 0
    for number in range(20):
        log.commit(Epoch(number, 0, (part(number, 0, "", 1),)))
        count += len(merged(log.unmerged(LARGE), log.merge))
    assert (len(walks), count) == (1, 8)
    again = EpochLog(pafs.LocalFileSystem(), str(tmp_path), "r").unmerged(LARGE)
    assert (again.merges, merged(again)) == (count, [])
