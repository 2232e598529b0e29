"""The window structures against a sorted list, step by step, and the work that they count."""

from __future__ import annotations

from random import Random

import numpy as np
import pytest
from case_share import share_of
from cases.tape import drawn
from hypothesis import given, settings
from hypothesis import strategies as st
from twins.structures import SortedList, check

from windrow.kernels.structures.store import (
    BPLUS_TREE,
    COUNT,
    HASH,
    HEIGHT,
    HELD,
    LEVELS,
    NONE,
    ROOT,
    T_TREE,
    has_room,
    nbytes,
)
from windrow.kernels.structures.window import (
    STRUCTURES,
    empty_store,
    entry_at,
    expire,
    filled_store,
    first,
    following,
    grown,
    insert,
    search_only,
    update_only,
    work_of,
)

LAWS = settings(max_examples=share_of(100), deadline=None, derandomize=True)
EVERY = pytest.mark.parametrize("name", sorted(STRUCTURES))
TREES = pytest.mark.parametrize("kind", [BPLUS_TREE, T_TREE], ids=["btree", "ttree"])

WIDE = (0, -(2**63), -(2**63) + 1, -1, 1, 2**63 - 2, 2**63 - 1)
KEYS = (range(-3, 13), WIDE)
KINDS = ["insert", "insert", "expire", "probe", "range"]


def draw_steps(random: Random) -> list[tuple[str, int, int]]:
    """Inserts, probes, probes by range and expiries: in waves, so that windows fill and empty, or
    each after any other."""
    if random.getrandbits(1):
        waves = [
            [random.choice(KINDS)] * random.randint(1, 25) for _ in range(random.randint(0, 6))
        ]
        kinds = [kind for wave in waves for kind in wave]
    else:
        kinds = [random.choice(KINDS) for _ in range(random.randint(0, 80))]
    return [(kind, draw_key(random), draw_key(random) if kind == "range" else 0) for kind in kinds]


def draw_key(random: Random) -> int:
    return random.choice(random.choice(KEYS))


def entries_between(store, low, high):
    """The entries that a probe finds, as it finds them."""
    found, at = [], first(store, low, high)
    while at != NONE:
        found.append(entry_at(store, at))
        at = following(store, at, low, high)
    return found


@pytest.mark.law
@EVERY
@LAWS
@given(steps=drawn(draw_steps, size=1_024), size=st.integers(1, 6))
def test_every_structure_is_a_sorted_list_to_the_outside(name, steps, size):
    kind = STRUCTURES[name]
    store, twin = empty_store(kind, max(size, 3 if kind == BPLUS_TREE else 1), 1), SortedList()
    for entry, (step, key, other) in enumerate(steps):
        if step == "insert":
            store = store if has_room(store) else grown(store)
            insert(store, key, entry)
            twin.insert(key, entry)
        elif step == "expire":
            if twin.arrived:
                assert expire(store) == twin.expire()
        elif step == "probe":
            # Of one key every structure gives the entries in order of arrival.
            assert entries_between(store, key, key) == twin.between(key, key)
        else:
            low, high = min(key, other), max(key, other)
            found = entries_between(store, low, high)
            in_order = twin.between(low, high)
            assert (found if kind >= BPLUS_TREE else sorted(found)) == (
                in_order if kind >= BPLUS_TREE else sorted(in_order)
            )
            if low < high:
                assert not len(entries_between(store, high, low))
        assert store.numbers[HELD] == len(twin.arrived)
        check(store)


@pytest.mark.law
@TREES
@pytest.mark.parametrize("size", [3, 4, 5, 8])
@pytest.mark.parametrize("shape", ["random", "rising", "falling", "few", "sawtooth"])
def test_trees_keep_their_shape_while_a_window_slides(kind, size, shape):
    random = np.random.default_rng(7)
    count = 400
    keys = {
        "random": random.integers(0, 2**40, count),
        "rising": np.arange(count),
        "falling": -np.arange(count),
        "few": random.integers(0, 3, count),
        "sawtooth": np.arange(count) % 17,
    }[shape]
    store, twin = empty_store(kind, size), SortedList()
    for entry, key in enumerate(keys.tolist()):
        store = store if has_room(store) else grown(store)
        insert(store, key, entry)
        twin.insert(key, entry)
        if entry >= 90:
            assert expire(store) == twin.expire()
        check(store)
    while twin.arrived:
        assert expire(store) == twin.expire()
        check(store)


@pytest.mark.law
@EVERY
def test_a_window_that_slides_for_ever_takes_no_more_memory(name):
    random = np.random.default_rng(11)
    store = filled_store(STRUCTURES[name], 10, random.integers(0, 500, 1_000))
    store = update_only(store, random.integers(0, 500, 20_000))
    settled = nbytes(store)
    for _ in range(5):
        store = update_only(store, random.integers(0, 500, 20_000))
    assert nbytes(store) == settled
    assert store.numbers[HELD] == 1_000
    check(store)


@pytest.mark.law
@TREES
def test_nodes_are_well_filled_and_trees_are_low(kind):
    random = np.random.default_rng(13)
    held, size = 20_000, 100
    store = filled_store(kind, size, random.integers(-(2**62), 2**62, held))
    store = update_only(store, random.integers(-(2**62), 2**62, 2 * held))
    check(store)
    used = int((store.nodes[:, COUNT] != NONE).sum())
    assert held / (used * size) > 0.6
    if kind == BPLUS_TREE:
        assert store.numbers[LEVELS] <= 3  # 50 * 50 * 50 > held
    else:
        assert store.nodes[store.numbers[ROOT], HEIGHT] <= 11  # 1.44 * log2(400)


SIZES = (1_000, 10_000, 100_000, 1_000_000)


def probe_and_update_work(kind: int, held: int) -> tuple[float, float, float]:
    """Keys compared and entries touched per probe by one key, and per insert and expiry; and the
    entries that these move."""
    random = np.random.default_rng([17, held])
    keys = random.permutation(held) * 3
    store = filled_store(kind, 10 if kind == HASH else 100, keys)
    asked = random.choice(keys, 2_000)
    assert search_only(store, asked, asked) == len(asked)
    searched = sum(work_of(store)[:2]) / len(asked)
    before = work_of(store)
    store = update_only(store, random.choice(keys, 2_000))
    after = work_of(store)
    compared, touched, moved = (after[n] - before[n] for n in range(3))
    return searched, (compared + touched) / 2_000, moved / 2_000


@pytest.mark.law
def test_the_work_of_a_hash_does_not_depend_on_the_window():
    work = (probe_and_update_work(HASH, held) for held in SIZES)
    probed, updated, moved = zip(*work, strict=True)
    assert max(probed) < 1.1 * min(probed)
    assert set(updated) == {0}
    assert min(moved) >= 2  # one in, one out; some are moved once more within their bucket
    assert max(moved) < min(1.1 * min(moved), 3)


@pytest.mark.law
@TREES
def test_the_work_of_a_tree_grows_with_the_logarithm(kind):
    work = (probe_and_update_work(kind, held) for held in SIZES)
    probed, updated, moved = zip(*work, strict=True)
    # What a gap in a node takes, of 100 entries, depends on nothing but how full it is.
    assert max(moved) < 1.5 * min(moved)
    assert max(moved) < 2 * 100
    for counted in (probed, updated):
        rises = np.diff(
            counted
        )  # ten times the window adds log2(10) comparisons, twice that per node
        assert all(0 <= rise < 12 for rise in rises)
    for held, found in zip(SIZES, probed, strict=True):
        assert found < 2.5 * np.log2(held)


@pytest.mark.law
@TREES
def test_a_probe_by_range_touches_no_entry_outside_of_it(kind):
    random = np.random.default_rng(19)
    store = filled_store(kind, 100, random.integers(0, 10_000, 5_000))
    lows = random.integers(0, 10_000, 1_000)
    found = search_only(store, lows, lows + 7)
    compared, touched, moved = work_of(store)
    assert touched == found
    assert moved == 0
    assert compared / 1_000 < 4 * np.log2(5_000)


@EVERY
def test_a_structure_of_no_size_is_refused(name):
    with pytest.raises(ValueError, match="sizes from"):
        empty_store(STRUCTURES[name], 0)
