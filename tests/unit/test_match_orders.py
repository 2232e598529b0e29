"""Orders of bestmatch joins, from the query to the answer, and what is refused of them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from datetime import date
from decimal import Decimal
from itertools import product

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest
from sessions import session

import windrow
from windrow.errors import BindError, DataError, UnsupportedError, WindrowError
from windrow.operators.columns.arrow_types import arrow_type

LEFT = {
    "ts": [1, 2, 3, 4],
    "id": [1, 2, 3, 4],
    "x": [1.0, 2.0, 3.0, None],
    "tags": [["a", "b"], ["b"], None, ["c", "c", None]],
}
RIGHT = {
    "ts": [1, 2, 3, 4],
    "id": [11, 12, 13, 14],
    "x": [1.5, 2.5, 3.0, 2.0],
    "tags": [["a"], ["b", "a"], ["c"], [None, "c"]],
}


def larger(a: pa.Array, b: pa.Array, c: pa.Array, d: pa.Array) -> pa.Array:
    """Which pair has the larger sum; those of whole and of broken sums are not compared."""
    one, other = (x.to_numpy() + y.to_numpy() for x, y in ((a, b), (c, d)))
    is_neither = (one % 1 == 0) != (other % 1 == 0)
    return pa.array(np.sign(one - other).astype(np.int8), mask=is_neither)


@pytest.fixture
def streams_and_orders() -> windrow.Session:
    found = session({"l": pa.table(LEFT), "r": pa.table(RIGHT)}, time="ts")
    found.function("nearer", lambda a, b: pc.abs(pc.subtract(a, b)), returns="double")
    found.function("larger", larger, partial_order=True)
    return found


def pairs(w: windrow.Session, on: str, kind: str = "LEFT") -> Sequence[tuple[int, int]]:
    query = f"SELECT l.id AS l, r.id AS r FROM l {kind} OUTER BESTMATCH JOIN r ON {on} WINDOW = 2"
    found = w.sql(query).to_arrow().to_pydict()
    return sorted(zip(found["l"], found["r"], strict=True))


@pytest.mark.parametrize(
    ("on", "left", "right"),
    [
        (
            "l.tags SUBSET r.tags",
            [(1, 12), (2, 12), (4, 13), (4, 14)],
            [(1, 11), (1, 12), (4, 13), (4, 14)],
        ),
        (
            "l.ts YOUNGEST r.ts",
            [(1, 13), (2, 14), (3, 14), (4, 12), (4, 13), (4, 14)],
            [(2, 14), (3, 11), (3, 14), (4, 12), (4, 13), (4, 14)],
        ),
        (
            "l.x NEARER r.x WITHIN 0.75",
            [(1, 11), (2, 14), (3, 13)],
            [(1, 11), (2, 11), (2, 12), (2, 14), (3, 12), (3, 13)],
        ),
        (
            "l.x larger r.x",
            [(1, 12), (1, 13), (2, 12), (2, 13), (3, 12), (3, 13)],
            [(3, 11), (3, 12), (3, 13), (3, 14)],
        ),
    ],
)
def test_pairs_are_best_by_their_order(streams_and_orders, on, left, right):
    assert pairs(streams_and_orders, on) == left
    assert pairs(streams_and_orders, on, "RIGHT") == right
    assert pairs(streams_and_orders, on, "FULL") == sorted({*left, *right})


@pytest.mark.parametrize(
    ("kind", "elements"),
    [
        (pa.float64(), [0.0, math.nan]),
        (pa.bool_(), [True, False]),
        (pa.decimal128(5, 2), [Decimal("1.00"), Decimal("2.5")]),
        (pa.date32(), [date(2020, 1, 1), date(2020, 1, 2)]),
        (pa.binary(), [b"a", b""]),
        (pa.int64(), list(range(130))),
    ],
    ids=str,
)
def test_elements_of_sets_may_have_any_plain_type(kind, elements):
    type_ = pa.list_(kind)
    w = session({"l": {"ts": [1], "y": pa.array([elements], type_)}}, time="ts")
    fewer, others = elements[:-1], [*elements[::-1], None]
    if kind == pa.float64():
        others[1] = -0.0
    rights = pa.array([fewer, others, [], None], type_)
    w.stream("r", pa.table({"ts": [1] * 4, "id": range(4), "y": rights}), time="ts")
    query = "SELECT r.id FROM l LEFT BESTMATCH JOIN r ON l.y SUBSET r.y WINDOW = 1"
    assert w.sql(query).to_arrow()["id"].to_pylist() == [1]


@pytest.mark.parametrize("kind", ["decimal(20,2)", "decimal(38,18)", "bigint"])
def test_distances_of_large_decimals_are_exact(kind):
    """As doubles, 1.30 is more than 0.3 away from 1, and two cents beside a trillion are none."""
    session = windrow.Session()
    near, far = arrow_type("decimal(20,2)"), 10**17
    lefts = pa.array([1, far], arrow_type(kind))
    rights = pa.array([Decimal("1.30"), Decimal(far), Decimal(f"{far}.02")], near)
    session.stream("l", pa.table({"ts": [1, 1], "id": [1, 2], "x": lefts}), time="ts")
    session.stream("r", pa.table({"ts": [1] * 3, "id": [11, 12, 13], "x": rights}), time="ts")
    assert pairs(session, "l.x MINDIST r.x WITHIN 0.3") == [(1, 11), (2, 12)]
    assert pairs(session, "l.x MINDIST r.x WITHIN 0.3", "FULL") == [(1, 11), (2, 12), (2, 13)]
    now = "SELECT l.id AS l, r.id AS r FROM l [RANGE 1] {} OUTER BESTMATCH JOIN r [RANGE 1] ON {}"
    for judged, on in (("LEFT", "l.x MINDIST r.x"), ("FULL", "l.x MINDIST r.x WITHIN 0.3")):
        changes = session.sql(now.format(judged, on)).to_arrow().to_pydict()
        best = sorted(set(zip(changes["l"], changes["r"], strict=True)))
        assert best == pairs(session, on, judged)
    session.function("gap", lambda a, b: pc.abs(pc.subtract(a, b)), returns="decimal(38,18)")
    if kind == "decimal(38,18)":
        exactly = "CAST(l.x AS DECIMAL(37,18)) gap CAST(r.x AS DECIMAL(37,18)) WITHIN 0.3"
        assert pairs(session, exactly) == [(1, 11), (2, 12)]
    plan = session.explain("SELECT l.id FROM l LEFT BESTMATCH JOIN r ON l.x MINDIST r.x WINDOW = 2")
    assert "MINDIST of decimals with more than 18 digits is asked for all candidates" in plan


@pytest.mark.parametrize(
    ("kind", "unit", "shown"),
    [("date", "DAYS", "2d"), ("timestamp", "SECONDS", "2s"), ("timestamp_ntz", "SECONDS", "2s")],
)
def test_dates_and_timestamps_are_so_far_apart(kind, unit, shown):
    session = windrow.Session()
    ticks = 1 if kind == "date" else 1_000_000
    days = pa.array([n * ticks for n in (1, 3, 6)], pa.int32() if kind == "date" else pa.int64())
    values = pa.concat_arrays([days, pa.nulls(1, days.type)]).view(arrow_type(kind))
    rows = {"ts": [1] * 4, "id": [1, 2, 3, 4], "d": values}
    session.stream("l", pa.table(rows), time="ts")
    session.stream("r", pa.table({**rows, "d": values.take(pa.array([1, 2, 3, 0]))}), time="ts")
    assert pairs(session, "l.d MINDIST r.d") == [(1, 4), (2, 1), (3, 2)]
    near = f"l.d MINDIST r.d WITHIN INTERVAL '2' {unit}, l.ts MINDIST r.ts, l.id MINDIST r.id"
    assert pairs(session, near) == [(1, 1), (1, 4), (2, 1), (3, 2)]
    query = "SELECT l.id AS l, r.id AS r FROM l RIGHT BESTMATCH JOIN r ON l.d MINDIST r.d WHERE"
    strict = session.sql(f"{query} abs(r.d - l.d) < INTERVAL '2' {unit} WINDOW = 2")
    assert sorted(strict.to_arrow()["l"].to_pylist()) == [1, 2, 3]
    plan = session.explain(f"{query} abs(l.d - r.d) <= INTERVAL '2' {unit} WINDOW = 2")
    assert f"l.d MINDIST r.d (within {shown})" in plan
    assert f"cells of l.d ~ r.d, {'8d' if kind == 'date' else '8s'} wide" in plan
    now = f"{query} abs(l.d - r.d) <= INTERVAL '1' {unit}".replace("FROM l", "FROM l [RANGE 2]")
    changes = session.sql(now.replace("JOIN r", "JOIN r [RANGE 2]")).to_arrow()
    assert sorted(changes.filter(pc.equal(changes["_change_type"], "insert"))["l"].to_pylist()) == [
        1,
        2,
        3,
    ]


@pytest.mark.parametrize("returns", ["tinyint", "bigint", "float", "double", "decimal(10,2)"])
def test_an_order_may_give_numbers_of_any_type(streams_and_orders, returns):
    def signed(a: pa.Array, b: pa.Array) -> pa.Array:
        return pc.subtract(b, a).cast(pa.int8()).cast(arrow_type(returns))

    streams_and_orders.function("behind", signed, returns=returns)
    assert pairs(streams_and_orders, "l.ts behind r.ts") == [(1, 11), (2, 11), (3, 11), (4, 12)]
    assert pairs(streams_and_orders, "l.ts behind r.ts WITHIN -1") == [(2, 11), (3, 11), (4, 12)]


NEAREST_WHERE = (
    "SELECT l.id AS l, r.id AS r FROM l LEFT BESTMATCH JOIN r ON l.x nearer r.x WHERE {} WINDOW = 2"
)


@pytest.mark.parametrize(
    ("where", "kept"),
    [
        ("NEARER(l.x, r.x) <= 0.5", [(1, 11), (2, 14), (3, 13)]),
        ("0.5 > nearer(l.x, (r.x))", [(2, 14), (3, 13)]),
    ],
)
def test_a_condition_on_the_function_of_a_dimension_is_its_limit(streams_and_orders, where, kept):
    found = streams_and_orders.sql(NEAREST_WHERE.format(where)).to_arrow().to_pydict()
    assert sorted(zip(found["l"], found["r"], strict=True)) == kept


@pytest.mark.parametrize(
    "where",
    [
        "nearer(CAST(l.x AS DOUBLE), r.x) <= 0.5",
        "nearer(r.x, l.x) <= 0.5",
        "nearer(l.x, r.x) <= l.x",
    ],
)
def test_a_condition_on_the_function_of_other_arguments_is_refused(streams_and_orders, where):
    with pytest.raises(UnsupportedError, match="unsupported-bestmatch-"):
        streams_and_orders.sql(NEAREST_WHERE.format(where))


def test_explain_shows_each_order_and_what_it_costs(streams_and_orders):
    on = "l.tags SUBSET r.tags, l.x nearer r.x WITHIN 3, l.x larger r.x, l.ts YOUNGEST r.ts"
    plan = streams_and_orders.explain(
        f"SELECT l.id FROM l LEFT BESTMATCH JOIN r ON {on} WINDOW = 2"
    )
    assert "l.x nearer r.x (within 3)" in plan
    assert "l.ts YOUNGEST r.ts (within 2)" in plan
    assert "SUBSET and nearer are asked for all candidates of a row" in plan
    assert "larger compares every two candidates of a row: the slow path" in plan


def test_a_function_whose_values_are_cast_is_given_its_types(streams_and_orders):
    types = []

    def noted(a: pa.Array, b: pa.Array) -> pa.Array:
        types.append((a.type, b.type))
        return pc.subtract(a, b)

    streams_and_orders.function("noted", noted, arguments=["bigint", "double"], returns="double")
    pairs(streams_and_orders, "CAST(l.ts AS INT) noted r.x")
    assert set(types) == {(pa.int64(), pa.float64())}


def refused(w: windrow.Session, on: str) -> WindrowError:
    with pytest.raises(WindrowError) as caught:
        pairs(w, on)
    return caught.value


def test_an_error_of_an_order_names_the_function_and_the_dimension(streams_and_orders):
    def broken(_left: pa.Array, _right: pa.Array) -> pa.Array:
        raise ValueError("no such luck")

    streams_and_orders.function("broken", broken, returns="double")
    error = refused(streams_and_orders, "l.ts MINDIST r.ts, l.x broken r.x")
    assert isinstance(error, DataError)
    assert error.condition == "function-failed"
    assert error.sentence == (
        "the function broken raised ValueError: no such luck, in the dimension l.x broken r.x"
    )
    line, carets = str(error).splitlines()[1:3]
    assert line[carets.index("^") : carets.rindex("^") + 1] == "l.x broken r.x"


def test_an_order_that_gives_too_few_values_is_told_of(streams_and_orders):
    streams_and_orders.function("few_of", lambda a, _: a[:1], returns="double")
    assert "few_of gave 1 values for" in refused(streams_and_orders, "l.x few_of r.x").sentence


def test_a_function_that_gives_no_number_is_no_order(streams_and_orders):
    streams_and_orders.function("same", pc.equal)
    error = refused(streams_and_orders, "l.x same r.x")
    assert isinstance(error, BindError)
    assert error.condition == "order-type"
    assert error.sentence == "same gives boolean, which does not order pairs"


@pytest.mark.parametrize(("given", "partial"), [(3, False), (2, True)])
def test_a_function_of_another_number_of_arguments_is_no_order(streams_and_orders, given, partial):
    body = (lambda a, _b, _c: a) if given == 3 else (lambda a, _b: a)
    streams_and_orders.function("odd", body, returns="int", partial_order=partial)
    error = refused(streams_and_orders, "l.x odd r.x")
    assert error.condition == "function-arguments"
    assert error.sentence.startswith("odd cannot order pairs: it takes (")


def test_a_limit_of_a_partial_order_is_refused(streams_and_orders):
    error = refused(streams_and_orders, "l.x larger r.x WITHIN 2")
    assert error.condition == "unsupported-bestmatch-order-limit"
    assert error.sentence == "WITHIN after LARGER is not supported"


@pytest.mark.parametrize("window", ["", " [RANGE 2]"], ids=["for good", "now"])
def test_null_elements_of_arrays_are_in_no_set(window: str) -> None:
    found = windrow.Session()
    tags = pa.list_(pa.string())
    left = pa.table({"ts": [1], "id": [1], "tags": pa.array([["a", None]], tags)})
    right = pa.array([[None], ["a"], ["a", None], [None, None], None, []], tags)
    found.stream("l", left, time="ts")
    found.stream("r", pa.table({"ts": [1] * 6, "id": range(6), "tags": right}), time="ts")
    query = f"SELECT r.id FROM l{window} LEFT BESTMATCH JOIN r{window} ON l.tags SUBSET r.tags" + (
        "" if window else " WINDOW = 2"
    )
    rows = found.sql(query).to_arrow()
    if window:
        rows = found.state_at(rows, 1)
    assert sorted(rows["id"].to_pylist()) == [1, 2]


FLOATS = [16777216.0, 16777220.0, 0.5, -0.5, 0.1, 0.2, 0.3, 1.1, 3e38, -3e38, 1e-45, 0.0]
NUMBERS = {
    "float": pa.array(FLOATS, pa.float32()),
    "double": pa.array([0.1, 0.2, 0.30000000000000004, 16777216.5, 1e300, -0.5], pa.float64()),
    "bigint": pa.array([0, 1, 16777217, 16777219, 2**62 + 1, -3], pa.int64()),
    "int": pa.array([0, 1, 16777217, -3], pa.int32()),
    "decimal": pa.array(map(Decimal, ["0.1", "0.3", "-0.5", "1.1", "9.9"]), pa.decimal128(9, 1)),
}
LIMITS = ["0.1", "0.2", "0", "1", "0.4", "16777216", "16777215.5", "16777217", "1e-1", "3e38"]


@pytest.mark.parametrize("other", NUMBERS)
def test_a_float_is_as_far_from_a_number_as_in_a_window_join(other: str) -> None:
    """Limits keep the same pairs, and the best are those of the least difference."""
    columns = {"l": NUMBERS["float"], "r": NUMBERS[other]}
    found = session(
        {
            name: {"ts": [1] * len(column), "id": range(len(column)), "x": column}
            for name, column in columns.items()
        },
        time="ts",
    )
    joined = found.sql("SELECT l.id AS l, abs(l.x - r.x) AS d FROM l, r WINDOW = 1").to_arrow()
    least = joined.group_by("l").aggregate([("d", "min")]).to_pydict()
    best = "SELECT l.id AS l, abs(l.x - r.x) AS d FROM l LEFT BESTMATCH JOIN r ON l.x MINDIST r.x"
    for algorithm in ("matwin", "nested-loops"):
        rows = found.sql(f"{best} WINDOW = 1", algorithm=algorithm).to_arrow()
        assert {*zip(*rows.to_pydict().values(), strict=True)} == {
            *zip(least["l"], least["d_min"], strict=True)
        }
    for limit, strict in product(LIMITS, ("<=", "<")):
        near = f"abs(l.x - r.x) {strict} {limit}"
        # In a dimension of their own, ids keep all pairs: none is better in both.
        join = f"l.x MINDIST r.x, r.id MINDIST l.id + 100 WHERE {near}"
        window = f"SELECT DISTINCT l.id FROM l [RANGE 1], r [RANGE 1] WHERE {near}"
        expected = found.state_at(found.sql(window).to_arrow(), 1)["id"].to_pylist()
        query = f"SELECT l.id FROM l LEFT BESTMATCH JOIN r ON {join} WINDOW = 1"
        for algorithm in ("matwin", "nested-loops"):
            rows = found.sql(query, algorithm=algorithm).to_arrow()
            assert {*rows["id"].to_pylist()} == {*expected}, (limit, strict, algorithm)
            now = "SELECT l.id FROM l [RANGE 1] LEFT BESTMATCH JOIN r [RANGE 1] ON " + join
            rows = found.state_at(found.sql(now).to_arrow(), 1)
            assert {*rows["id"].to_pylist()} == {*expected}, (limit, strict)
