"""The as-of operator against the twin: any rows, any batches, any order within the promise."""

from __future__ import annotations

from collections import Counter
from random import Random
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from case_share import share_of
from cases.driving import step
from cases.pair_arrivals import draw_batches, restarted
from cases.tape import TAPES
from colliding_words import colliding_words
from hypothesis import given, note, settings
from twins.asof import Row, Rules, asof, last_wait

from windrow.operators.columns import key_columns as keys
from windrow.operators.columns.changes import ChangeBatch
from windrow.operators.engine.driver import OperatorDriver
from windrow.operators.joins.asof import AsofSweepOp
from windrow.physical.nodes.asof_sweep import AsofSweep
from windrow.physical.nodes.base import KeyClass
from windrow.physical.nodes.scans import ScanStream
from windrow.plan.nodes.asof_join import AsofMatch
from windrow.schema import MAX_TICK, MIN_TICK, Field, Schema

EXAMPLES = settings(max_examples=share_of(200), deadline=None, derandomize=True)
ARROW = {"bigint": pa.int64(), "string": pa.string()}
VALUES: dict[str, list[Any]] = {"bigint": [0, 1, None], "string": ["a", "b", "", None]}


def scan(alias: str, kinds: list[str]) -> ScanStream:
    names = ["t", "v", "id", *(f"k{i}" for i in range(len(kinds)))]
    types = ["bigint", "bigint", "bigint", *kinds]
    fields = [Field(f"{alias}.{n}", kind) for n, kind in zip(names, types, strict=True)]
    return ScanStream(alias, alias, tuple(names), Schema(tuple(fields)), "t", "bigint", 0)


def spec_of(kinds: list[str], rules: Rules) -> AsofSweep:
    return AsofSweep(
        left=scan("l", kinds),
        right=scan("r", kinds),
        aliases=("l", "r"),
        match=AsofMatch(rules.direction, rules.is_strict, rules.tolerance),
        classes=tuple(
            KeyClass((f"l.k{i}", f"r.k{i}"), kind, rules.null_safe[i])
            for i, kind in enumerate(kinds)
        ),
        kind="left" if rules.is_left else "inner",
        keep=(("l.id",), ("r.id",)),
        schema=Schema((Field("l.id", "bigint"), Field("r.id", "bigint"))),
    )


def batch_of(alias: str, rows: list[Row], kinds: list[str]) -> ChangeBatch | None:
    if not rows:
        return None
    columns = {f"{alias}.t": [row["t"] for row in rows]}
    columns |= {f"{alias}.v": [row["columns"][0] for row in rows]}
    columns |= {f"{alias}.id": [row["id"] for row in rows]}
    arrays = {name: pa.array(cells, pa.int64()) for name, cells in columns.items()}
    for i, kind in enumerate(kinds):
        arrays[f"{alias}.k{i}"] = pa.array([row["k"][i] for row in rows], ARROW[kind])
    times = np.array([row["t"] for row in rows], np.int64)
    return ChangeBatch(pa.RecordBatch.from_pydict(arrays), times)


def draw_rules(random: Random, kinds: list[str]) -> Rules:
    return Rules(
        random.choice(["backward", "forward", "nearest"]),
        random.random() < 0.4,
        random.choice([None, 0, 1, 4]),
        tuple(random.random() < 0.3 for _ in kinds),
        random.random() < 0.5,
    )


def draw_rows(random: Random, kinds: list[str]) -> list[Row]:
    rows = []
    for place in range(random.randrange(20)):
        key = tuple(random.choice(VALUES[kind]) for kind in kinds)
        columns = (random.choice([None, 0, 1]), place)
        rows.append({"t": random.randrange(16), "k": key, "columns": columns, "id": place})
    return rows


def held(operator: AsofSweepOp, name: str) -> list[dict[str, Any]]:
    slices = operator.snapshot().buffers[name]
    batches = [part.rows() for part in slices]
    return [
        row | {"time": int(time)}
        for batch in batches
        for row, time in zip(batch.columns.to_pylist(), batch.times, strict=True)
    ]


def check(random: Random) -> None:
    """Runs a case step by step; what comes out, when, and what stays are all checked."""
    kinds = random.choice([["bigint"], ["string"], ["bigint", "string"], []])
    rules = draw_rules(random, kinds)
    left, right = draw_rows(random, kinds), draw_rows(random, kinds)
    node = spec_of(kinds, rules)
    note(f"{rules} {kinds}")
    operator = AsofSweepOp(node)
    expected = Counter(asof(left, right, rules))
    produced: Counter[Any] = Counter()
    arrived: list[Row] = []
    for new_left, new_right, watermark, restarts in draw_batches(
        random, left, right, delays=6, last=24
    ):
        arrived += new_left
        pushed = [batch_of("l", new_left, kinds), batch_of("r", new_right, kinds)]
        assert list(operator.push(pushed)) == []
        out = list(operator.advance(watermark))
        for batch in out:
            check_times(batch, left, right)
        produced.update(
            (row["l.id"], row["r.id"]) for batch in out for row in batch.columns.to_pylist()
        )
        at_end = watermark == MAX_TICK
        final = {r["id"] for r in arrived if at_end or last_wait(r, right, rules) < watermark}
        assert produced == Counter({p: n for p, n in expected.items() if p[0] in final})
        check_state(operator, rules, watermark, {r["id"] for r in arrived} - final)
        if restarts:
            operator = restarted(operator, AsofSweepOp(node), "waiting")
    assert produced == expected


def check_times(batch: ChangeBatch, left: list[Row], right: list[Row]) -> None:
    for row, time in zip(batch.columns.to_pylist(), batch.times, strict=True):
        times = [left[row["l.id"]]["t"]]
        times += [right[row["r.id"]]["t"]] if row["r.id"] is not None else []
        assert time == max(times)


def check_state(operator: AsofSweepOp, rules: Rules, watermark: int, waiting: set[int]) -> None:
    """Left rows that are not final, right rows to come, and one row per key that is in reach."""
    kept_left = [*held(operator, "left"), *held(operator, "waiting")]
    assert sorted(row["l.id"] for row in kept_left) == sorted(waiting)
    assert all(row["time"] >= watermark for row in held(operator, "right"))
    newest = held(operator, "newest")
    assert all(row["time"] < watermark for row in newest)
    seen = Counter(tuple(v for n, v in row.items() if n.startswith("r.k")) for row in newest)
    assert all(count == 1 for count in seen.values())
    if rules.direction == "forward":
        assert not newest
    if rules.tolerance is not None and watermark > MIN_TICK:
        assert all(row["time"] + rules.tolerance >= watermark for row in newest)
    if watermark < MAX_TICK:
        assert operator.due() > watermark
    kept = len(kept_left) + len(held(operator, "right")) + len(newest)
    assert operator.counters.stored == kept


@pytest.mark.law
@EXAMPLES
@given(random=TAPES)
def test_every_match_comes_once_as_soon_as_it_is_final_and_nothing_is_held_longer(
    random: Random,
) -> None:
    check(random)


@pytest.mark.law
@settings(max_examples=share_of(60), deadline=None, derandomize=True)
@given(random=TAPES)
def test_keys_whose_hashes_collide_are_told_apart_by_value(random: Random) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(keys, "key_words", colliding_words)
        patch.setattr("windrow.operators.columns.key_directory.key_words", colliding_words)
        check(random)


@pytest.mark.law
def test_a_null_that_is_kept_is_not_taken_for_a_value_after_a_restart() -> None:
    rules = Rules("backward", null_safe=(True,), is_left=True)
    node = spec_of(["bigint"], rules)
    operator = AsofSweepOp(node)
    right = [{"t": 0, "k": (None,), "columns": (0, 0), "id": 0}]
    list(operator.push([None, batch_of("r", right, ["bigint"])]))
    list(operator.advance(5))
    operator = restarted(operator, AsofSweepOp(node), "waiting")
    left = [{"t": 6, "k": (0,), "columns": (0, 0), "id": 0}]
    list(operator.push([batch_of("l", left, ["bigint"]), None]))
    (found,) = operator.advance(MAX_TICK)
    assert found.columns.to_pylist() == [{"l.id": 0, "r.id": None}]


@pytest.mark.law
def test_a_batch_costs_its_own_keys_however_many_are_kept() -> None:
    """A hundred times the keys hold a hundred times the rows, at the same work per batch."""
    work = {}
    for count in (10, 1_000):
        operator = AsofSweepOp(spec_of(["bigint"], Rules("backward", null_safe=(False,))))
        kept = [{"t": 0, "k": (key,), "columns": (0, key), "id": key} for key in range(count)]
        list(operator.push([None, batch_of("r", kept, ["bigint"])]))
        list(operator.advance(1))
        assert operator.counters.stored == count
        before = operator.counters.comparisons + operator.counters.probes
        rows = [{"t": 2, "k": (key,), "columns": (0, key), "id": key} for key in range(5)]
        list(operator.push([batch_of(alias, rows, ["bigint"]) for alias in "lr"]))
        list(operator.advance(3))
        work[count] = operator.counters.comparisons + operator.counters.probes - before
        assert operator.counters.stored == count
    assert work[10] == work[1_000]


def test_late_rows_of_either_side_are_counted_and_match_nothing() -> None:
    driver = OperatorDriver(
        spec_of(["bigint"], Rules("backward", null_safe=(False,), is_left=True))
    )
    rows = [{"t": t, "k": (1,), "columns": (0, n), "id": n} for n, t in enumerate([3, 8])]
    found = step(driver, [batch_of(alias, rows, ["bigint"]) for alias in "lr"], 5, MAX_TICK)
    assert driver.counters.late == 2
    shown = [row for batch in found for row in batch.columns.to_pylist()]
    assert shown == [{"l.id": 1, "r.id": 1}]
