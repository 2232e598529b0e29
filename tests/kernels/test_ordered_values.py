"""The counted B-tree: the order of a sorted list, and the shape that bounds its height."""

from __future__ import annotations

import math
from bisect import bisect_left, insort
from random import Random

import numpy as np
import pytest

from windrow.kernels import ordered_values as tree

NO_TEXTS = tree.Texts(np.zeros(0, np.uint8), np.zeros(1, np.int64), np.zeros(1, np.int64))


class Bags:
    """Bags of values, as the kernels keep them."""

    def __init__(self, slots, texts=NO_TEXTS) -> None:
        self.nodes = np.zeros((0, tree.NODE_CELLS), np.int64)
        self.meta = np.zeros(3, np.int64)
        self.roots = np.zeros(slots, np.int64)
        self.texts = texts

    def add(self, slot, word, id_=0):
        self.nodes = tree.with_room(self.nodes, self.meta)
        tree.add(self.nodes, self.meta, self.roots, slot, word, id_, self.texts)

    def remove(self, slot, word, id_=0):
        return tree.remove(self.nodes, self.meta, self.roots, slot, word, id_, self.texts)

    def at(self, slot, place):
        return tree.find_at(self.nodes, self.roots[slot], place)

    def copies(self, slot):
        return tree.copies_in(self.nodes, self.roots[slot]) if len(self.nodes) else 0

    def check(self, slot):
        """Walks a tree: every node but the root is filled, sizes add up; gives its height."""
        root = int(self.roots[slot])
        return self._height(root, is_root=True) if root else 0

    def _height(self, node, *, is_root):
        row = self.nodes[node]
        count, level = int(row[tree.N]), int(row[tree.LEVEL])
        assert (2 if level else 1) if is_root else tree.LEAST <= count <= tree.MOST
        words = row[tree.WORDS : tree.WORDS + count].tolist()
        assert words == sorted(set(words))
        if not level:
            assert (row[tree.SIZES : tree.SIZES + count] > 0).all()
            return 1
        for i in range(count):
            child = int(row[tree.CHILDREN + i])
            assert self.nodes[child, tree.LEVEL] == level - 1
            assert tree.copies_in(self.nodes, child) == row[tree.SIZES + i]
            assert self.nodes[child, tree.WORDS] >= row[tree.WORDS + i]
            self._height(child, is_root=False)
        return level + 1


@pytest.mark.parametrize("seed", range(6))
def test_the_order_is_that_of_a_sorted_list_and_the_tree_stays_low(seed):
    random = Random(seed)
    bags, lists = Bags(2), [[], []]
    spread = random.choice([5, 300, 10**6])
    for step in range(3000):
        slot, is_growing = random.randrange(2), (step // 700) % 2 == 0
        values = lists[slot]
        if not values or random.random() < (0.85 if is_growing else 0.2):
            value = step if random.random() < 0.3 else random.randrange(spread)
            bags.add(slot, value)
            insort(values, value)
        else:
            value = random.choice(values)
            assert bags.remove(slot, value)
            values.pop(bisect_left(values, value))
        if values and step % 13 == 0:
            place = random.randrange(len(values))
            assert bags.at(slot, place) == (values[place], 0)
        if step % 250 == 0:
            distinct = len(set(values))
            highest = 2 + math.log(max(distinct, 1), tree.LEAST)
            assert bags.check(slot) <= highest
    for slot, values in enumerate(lists):
        assert bags.copies(slot) == len(values)
        while values:
            assert bags.remove(slot, values.pop(random.randrange(len(values))))
    assert not bags.roots.any()
    assert bags.meta[tree.UNUSED_COUNT] == len(bags.nodes) - 1


def test_what_is_not_there_is_not_removed():
    bags = Bags(1)
    bags.add(0, 7)
    assert bags.remove(0, 7)
    assert not bags.remove(0, 7)
    bags.add(0, 7)
    assert not bags.remove(0, 8)


def test_texts_that_begin_alike_are_told_apart_by_their_bytes():
    spelled = [b"12345678", b"123456789", b"12345678\x00", b"12345678ab", b"12345678b"]
    stops = np.cumsum([len(text) for text in spelled])
    data = np.frombuffer(b"".join(spelled), np.uint8).copy()
    texts = tree.Texts(data, stops - [len(text) for text in spelled], stops)
    bags = Bags(1, texts)
    for id_ in (3, 1, 0, 4, 2, 3):
        bags.add(0, 5, id_)
    found = [spelled[bags.at(0, place)[1]] for place in range(bags.copies(0))]
    assert found == sorted([*spelled, spelled[3]])
    assert bags.remove(0, 5, 3)
    assert bags.remove(0, 5, 3)
    assert not bags.remove(0, 5, 3)
