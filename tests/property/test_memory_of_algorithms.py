"""What every algorithm of window joins holds, counted apart from it: tuples one by one, arrays by walking."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from dataclasses import replace
from itertools import filterfalse, product

import numpy as np
import pyarrow as pa
import pytest
from case_share import share_of
from cases.join_runs import Case, batch_of, cases
from hypothesis import HealthCheck, assume, given, settings
from twins.join import canonical

import windrow
from windrow.errors import DataError, PlanError
from windrow.operators.engine.base import Operator, build
from windrow.operators.engine.memory import Memory
from windrow.physical.algorithms import ALGORITHMS, HASH, PIPELINE, choice, choices
from windrow.physical.nodes.time_join import TimeJoin
from windrow.physical.probe_orders import is_along_path, pipeline_order
from windrow.schema import MAX_TICK

OLD_TUPLES_STAY = {"ripple", "xjoin"}
"""They clean their buffers at times of their own: they hold more than can still be met."""

MULTIWAY = [name for name in ALGORITHMS if name != "asymmetric"]

FEW_BYTES = 40_000
"""What an operator may hold in small arrays that nobody counts, and in rooms for a few tuples."""

EXAMPLES = settings(
    max_examples=share_of(12), deadline=None, derandomize=True,
    suppress_health_check=[HealthCheck.too_slow],
)  # fmt: skip


def in_order(case: Case) -> Case:
    """The same rows, each input's as time goes by: a window then holds what it must, and no more."""
    rows = tuple(tuple(sorted(own, key=lambda row: row.time)) for own in case.rows)
    return replace(case, rows=rows, resumes=())


def steps(case: Case, operator: Operator) -> Iterator[int]:
    """Runs a case; gives the watermark of each step once it is over."""
    positions = [0] * len(case.rows)
    for cut in case.cuts:
        batches = []
        for port, taken in enumerate(cut):
            rows = case.rows[port][positions[port] : positions[port] + taken]
            batches.append(batch_of(case, port, rows) if rows else None)
            positions[port] += taken
        for _ in operator.push(batches):
            pass
        rest = [row.time for own, at in zip(case.rows, positions, strict=True) for row in own[at:]]
        watermark = min(rest) - case.slack if rest else MAX_TICK
        for _ in operator.advance(watermark):
            pass
        yield watermark


def partial_combinations(node: TimeJoin, operator: Operator, watermark: int) -> int:
    """Those that a pipeline must keep of the rows that it holds, by trying all."""
    if node.chosen.kind != PIPELINE:
        return 0
    order = pipeline_order(node)
    held = [list(rows_of(node, operator, port)) for port in range(len(node.inputs))]
    found = 0
    for level in range(2, len(order)):
        below, right = order[:level], order[level]
        bounding = below[-1:] if is_along_path(node, order) else below
        for chosen in product(*(held[port] for port in below)):
            tuples = dict(zip(below, chosen, strict=True))
            last = min(tuples[port][0] + widest(node, port, right) for port in bounding)
            found += belong_together(node, tuples) and last >= watermark
    return found


def rows_of(node: TimeJoin, operator: Operator, port: int) -> Iterator[tuple[int, tuple]]:
    """The time and the keys of each row held of an input."""
    for part in operator.snapshot().buffers[str(port)]:
        rows = part.rows()
        names = [key.columns[port] for key in node.classes]
        keys = [
            [None] * len(rows) if name is None else rows.columns.column(name).to_pylist()
            for name in names
        ]
        lines = zip(*keys, strict=True) if keys else [()] * len(rows)
        yield from zip(rows.times.tolist(), lines, strict=True)


def belong_together(node: TimeJoin, tuples: dict[int, tuple[int, tuple]]) -> bool:
    ways = [
        all(
            tuples[j][0] - tuples[i][0] <= graph.upper[i][j]
            for i in tuples
            for j in tuples
            if i != j
        )
        for graph in node.ways
    ]
    own = [
        {canonical(keys[at]) for port, (_, keys) in tuples.items() if port in key.inputs}
        for at, key in enumerate(node.classes)
    ]
    return any(ways) and all(len(values) <= 1 for values in own)


def widest(node: TimeJoin, left: int, right: int) -> int:
    return max(graph.upper[left][right] for graph in node.ways)


@pytest.mark.law
@pytest.mark.parametrize("algorithm", MULTIWAY)
@EXAMPLES
@given(case=cases())
def test_tuples_are_counted_one_by_one_partial_combinations_among_them(algorithm, case):
    case = in_order(replace(case, node=replace(case.node, alternative=None)))
    methods = ALGORITHMS[algorithm].methods
    method = case.node.method if case.node.method in methods else methods[0]
    node = replace(
        case.node, algorithm=algorithm, method=method if case.node.classes else methods[-1]
    )
    assume(node.method != HASH or node.classes)
    operator, memory = build(node), Memory(0, may_spill=False, is_tuples=True)
    memory.watch("join", operator)
    for watermark in steps(case, operator):
        slices = operator.snapshot().buffers.values()
        held = sum(len(part) for own in slices for part in own)
        held += partial_combinations(node, operator, watermark)
        if algorithm in OLD_TUPLES_STAY:
            assert memory.held >= held
        else:
            assert memory.held == held


def reachable_bytes(operator: Operator) -> int:
    """Bytes of all arrays that an operator leads to, the plan and modules apart."""
    seen: set[int] = set()
    roots: dict[int, int] = {}
    left: list[object] = [vars(operator)]
    while left:
        one = left.pop()
        if id(one) in seen or isinstance(one, type | TimeJoin | Memory) or callable(one):
            continue
        seen.add(id(one))
        if isinstance(one, pa.RecordBatch):
            roots[id(one)] = one.nbytes
        elif isinstance(one, np.ndarray):
            root = one
            while isinstance(root.base, np.ndarray):
                root = root.base
            roots[id(root)] = root.nbytes
            left.append(root)  # so that its number is not another's meanwhile
        else:
            left += gc.get_referents(one)
    return sum(roots.values())


def streams(rows: int, keys: int, batch: int, seed: int = 0) -> windrow.Session:
    """Three streams of a row per tick."""
    chance, session = np.random.default_rng(seed), windrow.Session()
    for name in "abc":
        table = pa.table({"ts": np.arange(rows), "k": chance.integers(0, keys, rows)})
        session.stream(name, table.to_batches(max_chunksize=batch), time="ts")
    return session


QUERY = "SELECT a.k, b.ts FROM a, b, c WHERE a.k = b.k AND b.k = c.k WINDOW = 60"


@pytest.mark.law
@pytest.mark.parametrize("algorithm", MULTIWAY)
def test_bytes_are_those_of_the_arrays_that_are_there(algorithm, monkeypatch):
    settle, compared = Memory.settle, []

    def and_compare(memory: Memory) -> None:
        settle(memory)
        (operator,) = memory._watched.values()
        compared.append((memory.held, reachable_bytes(operator)))

    monkeypatch.setattr(Memory, "settle", and_compare)
    streams(1_500, 6, 100).sql(QUERY, algorithm=algorithm, memory="1 GB").to_arrow()
    assert max(held for held, _ in compared) > 10_000
    for held, there in compared:
        assert there - FEW_BYTES <= held <= 1.1 * there + FEW_BYTES


@pytest.mark.law
@pytest.mark.parametrize("algorithm", MULTIWAY)
def test_a_bound_that_suffices_does_not_fail_and_a_quarter_of_it_does(algorithm, monkeypatch):
    settle, held = Memory.settle, []

    def and_note(memory: Memory) -> None:
        settle(memory)
        held.append(memory.held)

    with monkeypatch.context() as patch:
        patch.setattr(Memory, "settle", and_note)
        whole = streams(300, 3, 20).sql(QUERY, algorithm=algorithm, memory="1000000 tuples")
        rows = whole.to_arrow().num_rows
    most = max(held)
    enough = streams(300, 3, 20).sql(QUERY, algorithm=algorithm, memory=f"{most} tuples")
    assert enough.to_arrow().num_rows == rows
    # Not one tuple less: batches are taken in smaller parts where memory is short.
    with pytest.raises(DataError, match=f"more than its memory of {most // 4:,} tuples"):
        streams(300, 3, 20).sql(QUERY, algorithm=algorithm, memory=f"{most // 4} tuples").to_arrow()


@pytest.mark.parametrize("algorithm", MULTIWAY)
def test_a_few_rows_need_little_room(algorithm):
    answer = streams(40, 5, 10).sql(QUERY, algorithm=algorithm, memory="150 kB").to_arrow()
    assert answer.num_rows > 100


def may_spill(asked: str) -> bool:
    return ALGORITHMS[choice(asked)[0]].spills


ASKED = [name for name in choices() if name != "asymmetric"]


@pytest.mark.law
@pytest.mark.parametrize("asked", list(filter(may_spill, ASKED)))
def test_what_goes_to_disk_is_in_the_answer(asked):
    answer = streams(200, 5, 20).sql(QUERY, algorithm=asked, memory="40 tuples", on_memory="spill")
    assert answer.to_arrow().num_rows == streams(200, 5, 20).sql(QUERY).to_arrow().num_rows > 0


@pytest.mark.parametrize("asked", list(filterfalse(may_spill, ASKED)))
def test_what_cannot_go_to_disk_is_refused_before_anything_runs(asked):
    with pytest.raises(PlanError, match="algorithm-cannot-spill") as error:
        streams(200, 5, 20).sql(QUERY, algorithm=asked, memory="40 tuples", on_memory="spill")
    assert ("partial combinations" in str(error.value)) == (
        ALGORITHMS[choice(asked)[0]].kind == PIPELINE
    )


def test_a_window_kept_in_a_structure_is_counted_and_not_spilled():
    sql = "SELECT a.k FROM a, b WHERE a.k = b.k WINDOW = 60"
    with pytest.raises(PlanError, match="algorithm-cannot-spill"):
        streams(50, 5, 20).sql(sql, structure="hash/ttree", memory="1 MB", on_memory="spill")
    streams(50, 5, 20).sql(sql, structure="hash/ttree", memory="200 tuples").to_arrow()
    with pytest.raises(DataError, match="more than its memory of 20 tuples"):
        streams(50, 5, 20).sql(sql, structure="hash/ttree", memory="20 tuples").to_arrow()
