"""Which window structures an asymmetric join gets, what is refused, and what EXPLAIN says."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
from plans import plans_of
from sessions import session

from windrow import Session
from windrow.errors import PlanError, UnsupportedError
from windrow.kernels.structures.store import SIZE
from windrow.operators.joins.tuple_at_a_time.machines import asymmetric
from windrow.physical.nodes.stateless import ProjectRows
from windrow.physical.nodes.time_join import TimeJoin
from windrow.physical.structures import PartSizes

JOIN = "SELECT a.x, b.x AS y FROM a, b WHERE {} WINDOW = 5"


@pytest.fixture(scope="module")
def three_streams() -> Session:
    table = pa.table({name: pa.array([], pa.int64()) for name in ("ts", "k", "x")})
    return session(dict.fromkeys("abc", table), time="ts")


def planned(w: Session, where: str, **options: str | int) -> TimeJoin:
    physical = plans_of(w, JOIN.format(where), options)[1]
    root = physical.root
    while isinstance(root, ProjectRows):
        root = root.input
    assert isinstance(root, TimeJoin)
    return root


@pytest.mark.parametrize(
    ("where", "structures"),
    [
        ("a.k = b.k", ("hash", "hash")),
        ("a.k = b.k AND a.x < b.x", ("hash", "hash")),
        ("a.x < b.x", ("ttree", "ttree")),
        ("abs(a.x - b.x) <= 3 AND a.k <> b.k", ("ttree", "ttree")),
        ("a.k <> b.k", ("buffer", "buffer")),
        ("a.x * 2 < b.x + a.k", ("buffer", "buffer")),
    ],
)
def test_the_structures_follow_the_conditions_unless_the_user_says_otherwise(
    three_streams, where, structures
):
    assert planned(three_streams, where, algorithm="asymmetric").structures == structures


def test_a_structure_alone_asks_for_the_algorithm(three_streams):
    node = planned(three_streams, "a.k = b.k", structure="Hash / TTREE")
    assert (node.algorithm, node.structures) == ("asymmetric", ("hash", "ttree"))
    hinted = JOIN.replace("SELECT", "SELECT /*+ structure = btree/buffer */").format("a.k = b.k")
    physical = plans_of(three_streams, hinted)[1]
    assert physical.root.input.structures == ("btree", "buffer")


@pytest.mark.parametrize(
    ("where", "structures"),
    [
        ("abs(a.x - b.x) <= 3", ("ttree", "ttree")),
        ("a.x BETWEEN b.x - 3 AND b.x AND a.k <> b.k", ("ttree", "ttree")),
        ("a.x <= b.x AND a.x > b.x - 9", ("ttree", "ttree")),
        ("a.x < b.x", ()),
        ("a.x < b.x AND a.k > b.k", ()),
        ("a.k = b.k AND abs(a.x - b.x) <= 3", ()),
    ],
)
def test_a_band_without_an_equality_is_answered_by_trees_though_nothing_is_known_of_rates(
    where, structures
):
    columns = pa.schema([(name, pa.int64()) for name in ("ts", "k", "x")])
    made = session({name: iter(()) for name in "ab"}, time="ts", schema=columns)
    node = planned(made, where)
    assert node.structures == structures
    assert planned(made, where, memory="1 GB").structures == ()
    assert planned(made, where, algorithm="bew").structures == ()
    if structures:
        reason = "ttree/ttree: there is no equality, and a tree finds the tuples that a comparison"
        assert f"why         {reason} allows" in made.explain(JOIN.format(where))


def test_other_algorithms_have_no_structures(three_streams):
    assert planned(three_streams, "a.k = b.k").structures == ()


def refused(w: Session, sql: str, **options: object) -> str:
    with pytest.raises((PlanError, UnsupportedError)) as caught:
        w.sql(sql, **options)
    return str(caught.value)


@pytest.mark.parametrize("text", ["hash", "hash/tree", "hash/ttree/btree", "", "/"])
def test_what_does_not_name_two_structures_is_refused(three_streams, text):
    assert refused(three_streams, JOIN.format("a.k = b.k"), structure=text or "/").splitlines() == [
        f"PlanError[unknown-structure]: structure = {text or '/'!r} does not say in what the two"
        " windows are kept",
        "  hint: two of buffer, hash, btree, ttree, the first stream's and the second's:"
        " 'hash/ttree'",
    ]


def test_a_bad_hint_is_shown_in_its_place(three_streams):
    sql = "SELECT /*+ structure(heap/hash) */ a.x FROM a, b WHERE a.k = b.k WINDOW = 5"
    assert refused(three_streams, sql).splitlines()[1:3] == [
        f"  1 | {sql}",
        f"    | {' ' * 11}{'^' * len('structure(heap/hash)')}",
    ]


def test_a_hash_without_an_equality_is_refused(three_streams):
    assert refused(
        three_streams, JOIN.format("a.x < b.x"), structure="ttree/hash"
    ).splitlines() == [
        "PlanError[no-key-to-hash]: the window of b cannot be a hash: the join of a, b has no"
        " equality",
        "  1 | SELECT a.x, b.x AS y FROM a, b WHERE a.x < b.x WINDOW = 5",
        "    |                           ^^^^",
        "  hint: use ttree, btree or buffer in its place, or add an equality between the streams",
    ]


def test_a_tree_that_nothing_asks_is_refused(three_streams):
    text = refused(three_streams, JOIN.format("a.k <> b.k"), structure="buffer/btree")
    assert text.startswith(
        "PlanError[no-key-to-order]: the window of b cannot be a btree: nothing in the join of a,"
        " b asks for a range of keys"
    )


def test_structures_are_for_two_streams(three_streams):
    sql = "SELECT a.x FROM a, b, c WHERE a.k = b.k AND b.k = c.k WINDOW = 5"
    text = refused(three_streams, sql, structure="hash/hash")
    assert text.startswith(
        "PlanError[too-many-streams]: the algorithm asymmetric does not join 3 streams: a, b, c"
    )


def test_structures_are_for_inner_joins(three_streams):
    sql = "SELECT a.x FROM a LEFT JOIN b ON a.k = b.k WINDOW = 5"
    text = refused(three_streams, sql, structure="hash/hash")
    assert text.startswith("UnsupportedError[unsupported-algorithm-of-outer-join]")


def test_structures_are_for_windows_of_time(three_streams):
    sql = "SELECT a.x FROM a [ROWS 3], b [ROWS 3] WHERE a.k = b.k"
    text = refused(three_streams, sql, structure="hash/hash")
    assert text.startswith("UnsupportedError[unsupported-algorithm-of-count-window]")


def test_structures_beside_another_algorithm_are_refused(three_streams):
    sql = JOIN.format("a.k = b.k")
    text = refused(three_streams, sql, structure="hash/hash", algorithm="few")
    assert text.startswith("PlanError[structure-of-another-algorithm]: the algorithm few has no")


def test_buckets_and_nodes_are_as_large_as_the_user_says(three_streams):
    asked = {"structure": "hash/btree", "bucket_size": 4, "node_size": 32}
    assert planned(three_streams, "a.k = b.k", **asked).sizes == PartSizes(4, 32)
    text = three_streams.explain(JOIN.format("a.k = b.k"), **asked)
    assert "window of a: hash with ordered buckets of 4; a new b goes through one bucket" in text
    assert "window of b: B+tree with nodes of 32; a new a finds the tuples of its key" in text
    assert "sizes asked for by bucket_size = 4, node_size = 32" in text
    hinted = "SELECT /*+ structure(ttree/ttree), node_size(7) */ a.x FROM a, b WHERE a.x < b.x"
    physical = plans_of(three_streams, f"{hinted} WINDOW = 5")[1]
    assert physical.root.input.sizes == PartSizes(node=7)


def test_the_structures_are_made_with_those_sizes(three_streams):
    node = planned(three_streams, "a.k = b.k", structure="hash/ttree", bucket_size=4, node_size=32)
    machine = asymmetric(node, np.array([0, 8, 16]))
    assert [int(store.numbers[SIZE]) for store in machine._stores] == [4, 32]


def test_costs_are_those_of_the_sizes_asked_for():
    table = pa.table({"ts": np.arange(4_000), "x": np.arange(4_000) % 100})
    made = session(dict.fromkeys("ab", table), time="ts")
    costs = []
    for size in (2, 50):
        node = planned(made, "a.x = b.x", bucket_size=size)
        costs.append({plan.name: plan.seconds for plan in node.estimate.plans})
        assert node.estimate.weights.endswith("(with buckets of 10 and nodes of 100)")
    few, many = costs
    assert few["hash/hash"] < many["hash/hash"]
    assert few["ttree/ttree"] == many["ttree/ttree"]


@pytest.mark.parametrize("size", [0, 10_001, True, "12", 2.5])
def test_a_size_that_no_bucket_has_is_refused(three_streams, size):
    text = refused(three_streams, JOIN.format("a.k = b.k"), structure="hash/hash", bucket_size=size)
    assert text.splitlines() == [
        f"PlanError[bad-option]: bucket_size = {size!r} is not a number of tuples for a bucket",
        "  hint: a whole number from 1 to 10,000",
    ]


def test_a_node_of_two_is_refused_in_its_place(three_streams):
    sql = "SELECT /*+ node_size(2) */ a.x FROM a, b WHERE a.k = b.k WINDOW = 5"
    assert refused(three_streams, sql).splitlines() == [
        "PlanError[bad-option]: node_size = 2 is not a number of tuples for a node",
        f"  1 | {sql}",
        f"    | {' ' * 11}{'^' * len('node_size(2)')}",
        "  hint: a whole number from 3 to 10,000",
    ]


def test_a_size_that_the_structures_do_not_have_is_refused(three_streams):
    text = refused(three_streams, JOIN.format("a.k = b.k"), structure="hash/buffer", node_size=50)
    assert text.splitlines() == [
        "PlanError[size-of-no-structure]: node_size = 50, but structure = 'hash/buffer' has no"
        " btree or ttree",
        "  hint: leave node_size out, or keep a window in a btree",
    ]


def test_a_size_beside_another_algorithm_is_refused(three_streams):
    text = refused(three_streams, JOIN.format("a.k = b.k"), algorithm="hw", bucket_size=5)
    assert text.splitlines() == [
        "PlanError[structure-of-another-algorithm]: the algorithm hw has no structure whose size"
        " to choose",
        "  bucket_size is for the algorithm asymmetric",
        "  hint: leave out one of the two",
    ]


def test_explain_says_which_structure_serves_what_and_why(three_streams):
    text = three_streams.explain(
        JOIN.format("a.x BETWEEN b.x - 2 AND b.x"), structure="buffer/btree"
    )
    assert "window of a: plain buffer; a new b goes through all of it" in text
    assert (
        "window of b: B+tree with nodes of 100; a new a finds the range of keys that"
        " a.x BETWEEN b.x - 2 AND b.x allows" in text
    )
    assert "asked for by structure = buffer/btree" in text
