"""The cells of a page that a row reaches in grid order, against Python's own order of tuples."""

from __future__ import annotations

import numpy as np
import pytest

from windrow.kernels.epsilon_grid import reached_cells


@pytest.mark.parametrize("dimensions", [0, 1, 2, 3])
def test_the_cells_reached_are_those_from_one_down_to_one_up_in_every_dimension(dimensions):
    random = np.random.default_rng(dimensions)
    for _ in range(20):
        drawn = random.integers(-3, 4, (random.integers(1, 30), dimensions))
        distinct = sorted(set(map(tuple, drawn.tolist())))
        cells = np.array(distinct, np.int64).reshape(len(distinct), dimensions)
        asking = np.repeat(random.integers(-4, 5, (12, dimensions)), 2, axis=0)
        first, last = reached_cells(asking, cells)
        for row, lower, upper in zip(asking.tolist(), first, last, strict=True):
            down, up = ([value + step for value in row] for step in (-1, 1))
            reached = [at for at, cell in enumerate(cells.tolist(), 1) if down <= cell <= up]
            assert list(range(lower, upper + 1)) == reached
