"""Which join FROM states: inner or outer, of streams, and with tables beside them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from sqlglot import exp

from windrow.errors import BindError, PlanError, cover
from windrow.plan.catalog import StreamInfo
from windrow.plan.functions import TABLE_FUNCTIONS, Constant, TableFunction
from windrow.plan.nodes.scan import TableScan
from windrow.schema import Field, Schema
from windrow.sql.bind.keys import KeyEquality
from windrow.sql.bind.scope import FromItem
from windrow.sql.grammar.refuse import NAMES, unsupported
from windrow.sql.grammar.spans import span_of, text_of

INNER = {"", "INNER", "CROSS"}

KINDS = {
    **{(side, kind): side.lower() for side in ("LEFT", "RIGHT", "FULL") for kind in ("", "OUTER")},
    **{(side, kind): kind.lower() for side in ("", "LEFT") for kind in ("SEMI", "ANTI")},
}
"""Kinds by the words before JOIN: which side, and what."""

FIRST_ONLY = ("semi", "anti")
"""Kinds that give rows of the first stream alone."""


def join_kind(joins: Sequence[exp.Join], streams: int) -> str:
    """The kind of join that FROM states over so many streams, by the joins that bring them."""
    kinds = [kind_of(join) for join in joins]
    for join, kind in zip(joins, kinds, strict=True):
        if kind != "inner" and streams != 2:
            raise PlanError(
                "outer-join-of-several",
                f"the {words_of(join)} stands in a FROM of {streams} streams",
                reason="an outer, semi or anti join takes two: over more, its answer depends on the"
                " order",
                hint="put two of them in a derived table:"
                " FROM (SELECT .. FROM a LEFT JOIN b ON ..) x, c ..",
            ).at(span_of(join))
    return next((kind for kind in kinds if kind != "inner"), "inner")


def kind_of(join: exp.Join) -> str:
    """The kind of one join; those that are not supported are refused."""
    side, kind = (str(join.args.get(key) or "").upper() for key in ("side", "kind"))
    if not side and kind in INNER:
        return "inner"
    found = KINDS.get((side, kind))
    if found is not None:
        return found
    raise unsupported(
        "join",
        f"{words_of(join)} is not supported",
        "write an inner join, or LEFT, RIGHT or FULL OUTER JOIN, LEFT SEMI JOIN, LEFT ANTI JOIN",
    ).at(span_of(join))


def words_of(join: exp.Join) -> str:
    """The words that a join is written with: `LEFT OUTER JOIN`."""
    words = [str(join.args.get(key) or "").upper() for key in ("side", "kind")]
    return " ".join([*filter(None, words), "JOIN"])


def one_key_each(
    equalities: Sequence[KeyEquality],
) -> tuple[tuple[KeyEquality, ...], tuple[exp.Expr, ...]]:
    """Equalities that share no side with each other, and the rest as plain conditions.

    In an inner join `a.x = b.k AND a.y = b.k` says a.x = a.y of a tuple before it joins. A tuple of
    a preserved stream that fails this is in the answer all the same: the second equality is tested
    with the pair.
    """
    keys: list[KeyEquality] = []
    rest: list[exp.Expr] = []
    for equality in equalities:
        sides = [side for key in keys for side in (key.left, key.right)]
        if equality.left not in sides and equality.right not in sides:
            keys.append(equality)
            continue
        same = exp.NullSafeEQ if equality.null_safe else exp.EQ
        rest.append(same(this=equality.left.copy(), expression=equality.right.copy()))
    return tuple(keys), tuple(rest)


@dataclass(frozen=True)
class FromTable:
    """A table in FROM.

    Attributes:
        position: its place in FROM.
        kind: "inner", "left", "semi" or "anti".
        on: the condition that decides what it matches, where the kind is not inner.
        is_before: whether a join of streams that is not inner comes after it.
    """

    position: int
    kind: str
    on: exp.Expr | None
    is_before: bool

    @property
    def is_hidden(self) -> bool:
        """Whether its columns are in reach of ON alone."""
        return self.kind in FIRST_ONLY


def table_source(info: StreamInfo, item: exp.Table, sql: str) -> FromItem:
    """A table as an item of FROM; a window on it is refused."""
    alias, span = item.alias_or_name, span_of(item)
    window = item.meta.get("stream_window")
    if window is not None:
        raise BindError(
            "window-of-table",
            f"{alias} is a table, and has the window {text_of(window, sql)}",
            reason="a table does not move: all its rows are there at every instant",
            hint="leave the window out",
        ).at(span_of(window))
    schema = Schema(tuple(Field(f"{alias}.{f.name}", f.type) for f in info.schema.fields))
    return FromItem(alias, "", TableScan(info, alias, schema, span), None, "", span, is_table=True)


def refuse_tables_alone(sources: Sequence[FromItem]) -> None:
    """Refuses a FROM in which nothing moves."""
    if all(source.is_table for source in sources):
        names = " and ".join(source.alias for source in sources)
        said = "is a table" if len(sources) == 1 else "are tables"
        raise PlanError(
            "no-stream",
            f"the query reads no stream: {names} {said}",
            reason="an answer changes as streams bring tuples, and a table brings none",
            hint=f"join a stream with it: FROM a JOIN {sources[0].alias} ON ..",
        ).at(cover(*(source.span for source in sources)))


def refuse_paired_table(sources: Sequence[FromItem], join: exp.Join) -> None:
    """Refuses a table in a join that is one of two streams."""
    table = next((source.alias for source in sources if source.is_table), None)
    if table is None:
        return
    name, condition = "a bestmatch join", "bestmatch-table"
    hint = f"write an inner or left join: FROM a JOIN {table} ON .."
    if join.args["kind"] in NAMES:  # by time, and its rows have none
        name, condition = NAMES[join.args["kind"]], "pair-join-table"
        hint = f"register it as a stream with its time column: stream({table!r}, .., time=..)"
    sentence = f"{table} is a table, and {name} is one of two streams"
    raise unsupported(condition, sentence, hint).at(span_of(join))


def read_tables(sources: Sequence[FromItem], joins: Sequence[exp.Join]) -> tuple[FromTable, ...]:
    """The tables of FROM; joins that would keep rows of a table alone are refused."""
    kinds = ["inner", *map(kind_of, joins)]
    if any(kind != "inner" for kind in kinds):
        _refuse_nested(joins)
    outer = next((n for n, s in enumerate(sources) if kinds[n] != "inner" and not s.is_table), 0)
    if outer:
        _check_sides(sources, outer, joins[outer - 1], kinds[outer])
    tables = []
    for position, source in enumerate(sources):
        if not source.is_table:
            continue
        kind = kinds[position]
        join = joins[position - 1]
        if kind in {"right", "full"}:
            raise _kept_table(source, join, f"write LEFT JOIN {source.alias}, or an inner join")
        if kind != "inner" and all(s.is_table for s in sources[:position]):
            raise _kept_table(sources[0], join, "write the stream first, and the tables after it")
        on = join.args.get("on") if kind != "inner" else None
        tables.append(FromTable(position, kind, on, is_before=position < outer))
    return tuple(tables)


def _check_sides(sources: Sequence[FromItem], outer: int, join: exp.Join, kind: str) -> None:
    """Refuses a join of streams that is not inner over tables that it would keep, or keep alone."""
    before = sources[:outer]
    if all(source.is_table for source in before):
        instead = f"write {sources[outer].alias} LEFT JOIN {before[0].alias}, or an inner join"
        raise _kept_table(before[0], join, instead)
    if kind in {"right", "full"} and any(source.is_table for source in before):
        table = next(source for source in before if source.is_table)
        raise unsupported(
            "table-below-outer-join",
            f"the {words_of(join)} comes after the table {table.alias}",
            "put what stands before it in a derived table: FROM (SELECT .. FROM a JOIN"
            f" {table.alias} ON ..) x {words_of(join)} ..",
        ).at(span_of(join))


def _kept_table(table: FromItem, join: exp.Join, instead: str) -> PlanError:
    return PlanError(
        "table-preserved",
        f"the {words_of(join)} keeps rows of the table {table.alias} that match nothing",
        reason="whether a row of a table has a match changes with every tuple that comes or goes",
        hint=instead,
    ).at(span_of(join))


def _refuse_nested(joins: Sequence[exp.Join]) -> None:
    for join in joins:
        inner = None if isinstance(join.this, exp.Subquery) else join.this.args.get("joins")
        if inner:
            raise unsupported(
                "nested-join",
                "a join stands inside another one, and not all of them are inner joins",
                "write ON right after each join, so that they are taken from left to right",
            ).at(span_of(join))


ReadItem = Callable[[exp.Expr], FromItem]
"""Reads an item of FROM."""


def called_source(item: exp.Expr, read: ReadItem) -> FromItem:
    """What a call in FROM stands for.

    Raises:
        UnsupportedError: it is no call of a function that was added.
        BindError: its arguments do not fit.
    """
    call = item.this if isinstance(item, exp.Table) else None
    name = call.name.lower() if isinstance(call, exp.Anonymous) else ""
    function = TABLE_FUNCTIONS.get(name) if name else None
    if function is None or call is None:
        raise unsupported(
            "table-function",
            "only streams and derived tables may stand in FROM",
            "write the name of a registered stream, or (SELECT ..) alias",
        ).at(span_of(item))
    given: list[exp.Expr] = list(call.expressions)
    source = read(_rows(given[0] if given else None, item, name, function))
    if source.is_table or source.changelog_keys is not None:
        raise BindError(
            "table-function-arguments",
            f"{name} takes the rows of a stream, and {source.alias} has others",
            reason="what is given to it comes in the order of time, and is not taken back",
            hint=function.usage,
        ).at(span_of(item))
    constants = tuple(_constant(tree, name, function) for tree in given[1:])
    node = function.make(source.node, source.alias, constants)
    time = min(node.event_times, default=None)
    return replace(source, stream="", node=node, time=time, span=span_of(item))


def _rows(first: exp.Expr | None, item: exp.Expr, name: str, function: TableFunction) -> exp.Expr:
    """The first argument as an item of FROM, under the alias of the call."""
    alias = exp.TableAlias(this=exp.to_identifier(item.alias or name))
    rows: exp.Expr | None = None
    if isinstance(first, exp.Column) and not first.table:
        rows = exp.Table(this=first.this, alias=alias)
    elif isinstance(first, exp.Subquery):
        rows = exp.Subquery(this=first.this, alias=alias)
    if rows is None:
        raise BindError(
            "table-function-arguments",
            f"the first argument of {name} is not a stream",
            hint=f"write {function.usage}, with the name of a stream or (SELECT ..) in front",
        ).at(span_of(item))
    rows.meta.update(first.meta if first is not None else {})
    return rows


def _constant(tree: exp.Expr, name: str, function: TableFunction) -> Constant:
    match tree:
        case exp.Literal():
            return str(tree.this) if tree.is_string else _number(str(tree.this))
        case exp.Neg(this=exp.Literal()):
            value = _number(str(tree.this.this))
            return -value
        case exp.Boolean():
            return bool(tree.this)
        case exp.Null():
            return None
    raise BindError(
        "table-function-arguments",
        f"an argument of {name} is not a constant",
        reason="what it does is the same for all rows",
        hint=f"write {function.usage}, with numbers and texts",
    ).at(span_of(tree))


def _number(text: str) -> int | float:
    return int(text) if text.isdigit() else float(text)
