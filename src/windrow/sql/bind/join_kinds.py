"""Which join FROM states: inner, or of two streams left, right, full, semi or anti."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from sqlglot import exp

from windrow.errors import PlanError, Span, cover
from windrow.sql.bind.keys import Condition
from windrow.sql.grammar.refuse import unsupported
from windrow.sql.grammar.spans import span_of

INNER = {"", "INNER", "CROSS"}

KINDS = {
    ("LEFT", ""): "left",
    ("LEFT", "OUTER"): "left",
    ("RIGHT", ""): "right",
    ("RIGHT", "OUTER"): "right",
    ("FULL", ""): "full",
    ("FULL", "OUTER"): "full",
    ("", "SEMI"): "semi",
    ("LEFT", "SEMI"): "semi",
    ("", "ANTI"): "anti",
    ("LEFT", "ANTI"): "anti",
}
"""Kinds by the words before JOIN: which side, and what."""

FIRST_ONLY = ("semi", "anti")
"""Kinds that give rows of the first stream alone."""


def join_kind(joins: Sequence[exp.Join], streams: int) -> str:
    """The kind of join that FROM states over so many streams, by the joins that bring them."""
    kinds = [kind_of(join) for join in joins]
    for join, kind in zip(joins, kinds, strict=True):
        if kind != "inner" and streams != 2:
            raise _of_several(join, streams)
    return next((kind for kind in kinds if kind != "inner"), "inner")


def kind_of(join: exp.Join) -> str:
    """The kind of one join; those that are not supported are refused."""
    side, kind = (str(join.args.get(key) or "").upper() for key in ("side", "kind"))
    if not side and kind in INNER:
        return "inner"
    found = KINDS.get((side, kind))
    if found is not None:
        return found
    words = " ".join(word for word in (side, kind) if word)
    raise unsupported(
        "join",
        f"{words} JOIN is not supported",
        "write an inner join, or LEFT, RIGHT or FULL OUTER JOIN, LEFT SEMI JOIN, LEFT ANTI JOIN",
        span_of(join),
    )


def words_of(join: exp.Join) -> str:
    """The words that a join is written with: `LEFT OUTER JOIN`."""
    words = [str(join.args.get(key) or "").upper() for key in ("side", "kind")]
    return " ".join([*filter(None, words), "JOIN"])


def _of_several(join: exp.Join, streams: int) -> PlanError:
    return PlanError(
        "outer-join-of-several",
        f"the {words_of(join)} stands in a FROM of {streams} streams",
        reason="an outer, semi or anti join takes two: over more, its answer depends on the order",
        hint="put two of them in a derived table: FROM (SELECT .. FROM a LEFT JOIN b ON ..) x, c ..",
        span=span_of(join),
    )


def windows_in_where(error: PlanError, places: Mapping[str, Span | None]) -> PlanError:
    """The error of a join that lacks a window, told of conditions in WHERE that would be one.

    `places` says where those stand.
    """
    if not places:
        return error
    return PlanError(
        error.condition,
        error.sentence,
        reason="WHERE filters what the join gives; ON and the WINDOW clause say what matches",
        hint=f"move {' and '.join(places)} from WHERE to ON",
        span=cover(*places.values()),
    )


def one_key_each(
    equalities: Sequence[Condition],
) -> tuple[tuple[Condition, ...], tuple[exp.Expr, ...]]:
    """Equalities that share no side with each other, and the rest as plain conditions.

    In an inner join `a.x = b.k AND a.y = b.k` says a.x = a.y of a tuple before it joins. A tuple of
    a preserved stream that fails this is in the answer all the same: the second equality is tested
    with the pair.
    """
    keys: list[Condition] = []
    rest: list[exp.Expr] = []
    for equality in equalities:
        sides = [side for key in keys for side in (key.left, key.right)]
        if equality.left not in sides and equality.right not in sides:
            keys.append(equality)
            continue
        same = exp.NullSafeEQ if equality.null_safe else exp.EQ
        rest.append(same(this=equality.left.copy(), expression=equality.right.copy()))
    return tuple(keys), tuple(rest)
