"""Each rule's shape; that no rule changes an answer is tested beside."""

from __future__ import annotations

from dataclasses import replace

import pytest
from plans import HOUR, Bound, expr, join, like, renamed, scan, stream

from windrow.optimize.planner import apply_rules
from windrow.optimize.rules import (
    absorb_filters,
    compute_below_aggregate,
    filter_keys_of_one_input,
    merge_filters,
    prune_columns,
    push_filters,
    push_own_conditions,
)
from windrow.plan.exprs import Call, Comparison, Expr, Named, Side, column, quote_duckdb, rename
from windrow.plan.functions import UserFunction
from windrow.plan.nodes.base import Equality
from windrow.plan.nodes.bestmatch_join import BestmatchJoin, BestPairs, Dimension
from windrow.plan.nodes.filter import Filter
from windrow.plan.nodes.own_windows import Range
from windrow.plan.nodes.project import Project
from windrow.plan.nodes.set_operation import SetOperation
from windrow.plan.nodes.window_aggregate import Aggregate, WindowAggregate
from windrow.plan.nodes.window_join import OuterWindowJoin, WindowJoin

SALES = stream("sales", {"item": "int", "store": "int", "price": "double"})
A, B = scan(SALES, "a"), scan(SALES, "b")
CHEAP, NEAR, BOTH = expr("a.price < 4"), expr("b.store = 1"), expr("a.price < b.price")


def sales_join(a=A, b=B, keys="a.item = b.item") -> WindowJoin:
    return join({"a": a, "b": b}, keys, Bound(0, 1, HOUR, HOUR))


def test_merge_filters_keeps_the_lower_ones_first_and_each_once():
    merged = merge_filters(Filter(Filter(A, (CHEAP,)), (NEAR, CHEAP)))
    assert merged == Filter(A, (CHEAP, NEAR))


def test_a_filter_without_predicates_vanishes():
    assert merge_filters(Filter(A, ())) is A


def test_a_filter_moves_below_a_range():
    pushed = push_filters(Filter(Range(A, 5), (CHEAP,)))
    assert pushed == Range(Filter(A, (CHEAP,)), 5)


@pytest.mark.parametrize(
    ("kind", "moves"),
    [("distinct", 1), ("union", 1), ("union all", 2), ("except", 0), ("intersect all", 0)],
)
def test_a_filter_moves_below_what_shows_every_row_of_its_inputs(kind, moves):
    plain, floating = expr("a.item > 1"), expr("a.price > 1")
    operation = SetOperation((A,) if kind == "distinct" else (A, A), kind)
    found = push_filters(Filter(operation, (plain, floating)))
    moved, stays = (plain, floating)[:moves], (plain, floating)[moves:]
    below = Filter(A, moved) if moved else A
    expected = replace(operation, inputs=(below,) * len(operation.inputs))
    assert found == (Filter(expected, stays) if stays else expected)


def test_predicates_of_several_inputs_move_into_the_join_each_once():
    inside = replace(sales_join(), predicates=(BOTH,))
    assert absorb_filters(Filter(sales_join(), (BOTH,))) == inside
    assert absorb_filters(Filter(inside, (BOTH, CHEAP))) == Filter(inside, (CHEAP,))


def test_what_the_engines_do_not_agree_on_and_what_reads_nothing_stay_above_the_join():
    chance, own = expr("rand() < 0.5"), replace(BOTH, is_portable=False)
    plan = Filter(sales_join(), (chance, own))
    assert absorb_filters(plan) == plan


def test_a_condition_above_an_outer_join_is_none_of_its_own():
    plan = Filter(like(sales_join(), OuterWindowJoin, kind="left"), (BOTH,))
    assert absorb_filters(plan) == plan


def test_predicates_of_one_input_move_into_it_and_the_others_stay():
    pushed = push_filters(Filter(sales_join(), (CHEAP, BOTH, NEAR)))
    assert pushed == Filter(sales_join(Filter(A, (CHEAP,)), Filter(B, (NEAR,))), (BOTH,))


def test_a_predicate_that_reads_no_column_stays_above_the_join():
    plan = Filter(sales_join(), (expr("1 = 0"),))
    assert push_filters(plan) is plan


@pytest.mark.parametrize(
    ("kind", "moved"),
    [("left outer", (CHEAP, ())), ("right outer", ((), NEAR)), ("full outer", ((), ()))],
)
@pytest.mark.parametrize("is_now", [False, True], ids=["for good", "now"])
def test_a_filter_above_a_bestmatch_join_moves_into_the_judged_side_alone(kind, moved, is_now):
    dimensions = (Dimension("a.ts", "b.ts", "mindist", 5, True),)
    best = BestmatchJoin(A, B, kind, dimensions, (), 5, 5)
    if is_now:
        best = BestPairs(sales_join(), kind, dimensions, (("a.ts",),))
    plan = renamed(Filter(best, (CHEAP, NEAR)), {"price": "a.price"})
    filters = {node.predicates for node in apply_rules(plan).walk() if isinstance(node, Filter)}
    stays = tuple(predicate for predicate in (CHEAP, NEAR) if predicate not in moved)
    assert filters == {stays, *((predicate,) for predicate in moved if predicate)}


def test_a_filter_above_a_plain_bestmatch_join_stays_above_it():
    dimensions = (Dimension("a.ts", "b.ts", "mindist", 5, True),)
    plan = Filter(BestPairs(sales_join(), "plain", dimensions, ((),)), (CHEAP, NEAR))
    assert push_filters(plan) is plan
    settled = apply_rules(renamed(plan, {"price": "a.price"}))
    (kept,) = [node for node in settled.walk() if isinstance(node, Filter)]
    assert kept.predicates == (CHEAP, NEAR)


def test_a_predicate_moves_through_a_projection_under_the_names_used_there():
    derived = renamed(A, {"x.cost": "a.price", "x.shop": "a.store"})
    pushed = push_filters(Filter(derived, (expr("x.cost < 4"),)))
    assert isinstance(pushed, Project)
    (moved,) = pushed.input.predicates
    assert moved.spark == "`a.price` < 4"
    assert moved.duckdb == '"a.price" < 4'
    assert moved.columns == ("a.price",)
    assert moved.text == "x.cost < 4"


def test_a_predicate_over_a_computed_column_stays_above_the_projection():
    derived = renamed(A, {"x.twice": expr("a.price * 2", "double"), "x.shop": "a.store"})
    stays, moves = expr("x.twice < x.shop"), expr("x.shop = 1")
    pushed = push_filters(Filter(derived, (stays, moves)))
    assert pushed.predicates == (stays,)
    assert pushed.input.input.predicates[0].columns == ("a.store",)


def test_renaming_leaves_strings_alone_and_swaps_names_at_once():
    swapped = rename(
        Expr(
            "t",
            r"`x` = 'it\'s `x`' AND `y` = \"`x`\"".replace(r"\"", '"'),
            '"x" = \'it\'\'s "x"\' AND "y" = e\'\\\'"x"\'',
            ("x", "y"),
            "boolean",
        ),
        {"x": "y", "y": "x"},
    )
    assert swapped.spark == r"`y` = 'it\'s `x`' AND `x` = " + '"`x`"'
    assert swapped.duckdb == '"y" = \'it\'\'s "x"\' AND "x" = e\'\\\'"x"\''
    assert swapped.columns == ("y", "x")


def test_two_keys_of_one_input_in_one_class_are_compared_below_the_join():
    plan = filter_keys_of_one_input(sales_join(keys="a.item = b.item,a.store = b.item"))
    assert plan.equalities == (Equality("a.item", "b.item", "int"),)
    (same,) = plan.inputs[0].predicates
    assert same.spark == "`a.item` = `a.store`"
    assert plan.inputs[1] is B


def test_null_safe_keys_of_one_input_are_compared_null_safe():
    plan = filter_keys_of_one_input(sales_join(keys="a.item <=> b.item,a.store <=> b.item"))
    (same,) = plan.inputs[0].predicates
    assert (same.spark, same.duckdb) == (
        "`a.item` <=> `a.store`",
        '"a.item" IS NOT DISTINCT FROM "a.store"',
    )
    assert plan.equalities == (Equality("a.item", "b.item", "int", null_safe=True),)


def test_computed_keys_and_arguments_become_columns_once_each():
    twice = expr("a.price * 2", "double")
    plan = WindowAggregate(
        Range(A, 5),
        (Named("shelf", expr("a.store % 2", "int")),),
        (
            Aggregate("sum", twice, "s", "double"),
            Aggregate("avg", twice, "m", "double"),
            Aggregate("count", None, "n", "bigint"),
            Aggregate("sum", expr("a.price", "double"), "p", "double"),
        ),
    )
    computed = compute_below_aggregate(plan)
    assert computed.schema == plan.schema
    assert computed.input.schema.names == ("shelf", "$argument1", "a.price")
    columns = [a.argument and a.argument.columns for a in computed.aggregates]
    assert columns == [("$argument1",), ("$argument1",), None, ("a.price",)]
    assert computed.aggregates[0].argument.text == "a.price * 2"
    assert compute_below_aggregate(computed) is computed


def test_plain_keys_and_arguments_need_no_projection():
    plan = WindowAggregate(
        Range(A, 5),
        (Named("a.store", column("a.store", "int")),),
        (Aggregate("sum", column("a.price", "double"), "s", "double"),),
    )
    assert compute_below_aggregate(plan) is plan


def test_a_key_that_takes_the_name_of_an_argument_does_not_hide_it():
    plan = WindowAggregate(
        Range(A, 5),
        (Named("a.price", expr("a.store % 2", "int")),),
        (Aggregate("sum", column("a.price", "double"), "s", "double"),),
    )
    computed = compute_below_aggregate(plan)
    items = {item.name: item.expr.text for item in computed.input.items}
    assert items == {"a.price": "a.store % 2", "$argument1": "a.price"}
    assert computed.aggregates[0].argument.columns == ("$argument1",)


def test_scans_read_only_what_is_needed_and_filters_hand_on_only_what_is_used():
    plan = renamed(sales_join(Filter(A, (CHEAP,))), {"shop": "b.store"})
    pruned = prune_columns(plan)
    a, b = pruned.input.inputs
    assert a.schema.names == ("a.item",)
    assert isinstance(a, Project)
    assert a.input.input.schema.names == ("a.item", "a.price")
    assert b.schema.names == ("b.item", "b.store")
    assert pruned.schema == plan.schema


def test_unused_items_of_a_derived_table_are_not_computed():
    derived = renamed(A, {"x.twice": expr("a.price * 2", "double"), "x.shop": "a.store"})
    pruned = prune_columns(renamed(derived, {"shop": "x.shop"}))
    assert pruned.input.schema.names == ("x.shop",)
    assert pruned.input.input.schema.names == ("a.store",)


def test_a_count_of_rows_reads_no_column_at_all():
    counted = WindowAggregate(Range(A, 5), (), (Aggregate("count", None, "n", "bigint"),))
    pruned = prune_columns(renamed(counted, {"n": "n"}))
    assert pruned.input.input.schema.names == ()


def test_an_aggregate_that_nothing_uses_is_not_computed():
    aggregates = tuple(
        Aggregate("sum", column(f"a.{name}", "int"), name, "bigint") for name in ("item", "store")
    )
    pruned = prune_columns(renamed(WindowAggregate(Range(A, 5), (), aggregates), {"s": "store"}))
    assert pruned.input.aggregates == aggregates[1:]
    assert pruned.input.input.schema.names == ("a.store",)


def test_bestmatch_dimensions_are_needed_but_not_the_time_column():
    dimensions = (
        Dimension("a.ts", "b.ts", "mindist", 5, is_time=True),
        Dimension("a.price", "b.price", "mindist", None),
    )
    best = BestmatchJoin(A, B, "left outer", dimensions, (), 5, 5)
    pruned = prune_columns(renamed(best, {"shop": "b.store"}))
    assert pruned.input.left.schema.names == ("a.price",)
    assert pruned.input.right.schema.names == ("b.store", "b.price")


def test_filters_sink_from_a_derived_table_to_the_scans_in_one_go():
    inner = renamed(sales_join(Range(A, 5), Range(B, 5)), {"x.p": "a.price", "x.s": "b.store"})
    plan = renamed(Filter(inner, (expr("x.p < 4"), expr("x.s = 1"))), {"p": "x.p"})
    filters = [node for node in apply_rules(plan).walk() if isinstance(node, Filter)]
    assert [f.predicates[0].text for f in filters] == ["x.p < 4", "x.s = 1"]
    assert all(f.input.schema.names for f in filters)
    assert [type(f.input).__name__ for f in filters] == ["Scan", "Scan"]


def test_a_filter_above_an_outer_join_moves_into_a_preserved_side_that_stands_alone():
    for kind, moves in {"left": 0, "right": 1, "full": None}.items():
        plan = Filter(like(sales_join(), OuterWindowJoin, kind=kind), (CHEAP, NEAR))
        pushed = push_filters(plan)
        if moves is None:
            assert pushed is plan
            continue
        moved, stays = ((CHEAP, NEAR), (NEAR, CHEAP))[moves]
        sides = [A, B]
        sides[moves] = Filter(sides[moves], (moved,))
        assert pushed == Filter(like(sales_join(*sides), OuterWindowJoin, kind=kind), (stays,))


def test_a_condition_on_one_input_moves_into_it_unless_that_is_preserved():
    moved = {
        "inner": (True, True),
        "left": (False, True),
        "right": (True, False),
        "full": (False, False),
        "semi": (True, True),
        "anti": (False, True),
    }
    for kind, (moves_left, moves_right) in moved.items():
        outer = like(sales_join(), OuterWindowJoin, kind=kind)
        plan = replace(sales_join() if kind == "inner" else outer, predicates=(CHEAP, BOTH, NEAR))
        pushed = push_own_conditions(plan)
        assert isinstance(pushed.inputs[0], Filter) == moves_left, kind
        assert isinstance(pushed.inputs[1], Filter) == moves_right, kind
        assert (CHEAP in pushed.predicates, NEAR in pushed.predicates) == (
            not moves_left,
            not moves_right,
        )
        assert BOTH in pushed.predicates


def test_a_condition_that_reads_no_column_stays_in_the_join():
    plan = replace(sales_join(), predicates=(expr("1 = 0"),))
    assert push_own_conditions(plan) is plan


def test_columns_of_a_preserved_input_are_compared_in_the_join():
    plan = like(sales_join(keys="a.item = b.item,a.store = b.item"), OuterWindowJoin, kind="left")
    split = filter_keys_of_one_input(plan)
    assert split.inputs == (A, B)
    assert [p.text for p in split.predicates] == ["a.item = a.store"]
    assert split.equalities == (Equality("a.item", "b.item", "int"),)


def test_renaming_reaches_calls_and_comparisons():
    own = UserFunction("own", len, ("double",), "double")
    call = Call(own, (column("x.price", "double"),))
    comparison = Comparison(Side("x.price", 0, "double"), "<", Side("b.price", 1, "double"))
    before = Expr(
        "own(price) > 1",
        "own(`x.price`) > 1",
        f"{quote_duckdb(call.column)} > 1",
        ("x.price",),
        "boolean",
        (call,),
        (comparison,),
    )
    after = rename(before, {"x.price": "a.price"})
    moved = Call(own, (column("a.price", "double"),))
    assert after.spark == "own(`a.price`) > 1"
    assert after.duckdb == f"{quote_duckdb(moved.column)} > 1"
    assert [call.column for call in after.calls] == [moved.column]
    assert after.comparisons[0].left.column == "a.price"
    assert after.comparisons[0].right.column == "b.price"
