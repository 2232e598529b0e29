"""Calls of the user's functions: found in trees, checked, and taken out of DuckDB's text."""

from __future__ import annotations

import difflib
import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from sqlglot import exp
from sqlglot.errors import SqlglotError
from sqlglot.tokenizer_core import TokenType

from windrow.errors import BindError
from windrow.plan.exprs import Call, Expr
from windrow.plan.functions import UserFunction
from windrow.plan.nodes.bestmatch_join import MINDIST, SUBSET, YOUNGEST
from windrow.sql.bind.scope import flat_column
from windrow.sql.grammar.dialect import Windrow, WindrowParser
from windrow.sql.grammar.spans import cast_to, forget, span_of
from windrow.sql.render.numbers import wider_type

Functions = Mapping[str, UserFunction]
Typed = Callable[[Sequence[exp.Expr]], list[Expr]]


def is_free_name(name: str) -> bool:
    """Whether SQL has no function, no keyword, and no order of pairs of that name."""
    try:
        tokens = Windrow().tokenize(name)
    except SqlglotError:
        return False
    is_word = len(tokens) == 1 and tokens[0].token_type == TokenType.VAR and name.isidentifier()
    return is_word and name.upper() not in {
        *(order.upper() for order in (MINDIST, SUBSET, YOUNGEST)),
        *WindrowParser.FUNCTIONS,
        *WindrowParser.FUNCTION_PARSERS,
        *WindrowParser.NO_PAREN_FUNCTION_PARSERS,
    }


def take_out_calls(
    tree: exp.Expr, functions: Functions, typed: Typed
) -> tuple[exp.Expr, tuple[Call, ...]]:
    """The resolved tree with a column in place of each outermost call, and the calls.

    `typed` renders trees over the same columns.
    """
    if not any(_function_of(node, functions) for node in tree.find_all(exp.Anonymous)):
        return tree, ()
    calls: list[Call] = []

    def without(node: exp.Expr) -> exp.Expr:
        function = _function_of(node, functions)
        if function is None:
            return node
        calls.append(_call(node, function, typed))
        return flat_column(calls[-1].column)

    plain = tree.copy().transform(without, copy=False)
    forget(plain)
    return plain, tuple(dict.fromkeys(calls))


def unknown_function(tree: exp.Expr, functions: Functions, refusal: BindError) -> BindError | None:
    """The engine's refusal in our words, where it is that a function is not known."""
    said = refusal.reason.lower()
    for node in tree.find_all(exp.Anonymous):
        name = node.name.lower()
        if name not in said or not ("does not exist" in said or "routine" in said):
            continue
        known = [*functions, *(key.lower() for key in WindrowParser.FUNCTIONS)]
        near = difflib.get_close_matches(name, known, n=3, cutoff=0.7)
        return BindError(
            "unknown-function",
            f"there is no function {node.name!r}",
            reason=refusal.reason,
            hint=f"there is {' and '.join(near)}"
            if near
            else f"register your own with session.function({node.name!r}, ..)",
        ).at(span_of(node) or span_of(tree))
    return None


def _function_of(node: exp.Expr, functions: Functions) -> UserFunction | None:
    if not isinstance(node, exp.Anonymous) or isinstance(node.parent, exp.Dot):
        return None
    return functions.get(node.name.lower())


def _call(node: exp.Expr, function: UserFunction, typed: Typed) -> Call:
    arguments = typed(node.expressions)
    _check_number(node, function, len(arguments))
    declared = function.arguments
    if declared is None:
        types = tuple(argument.type for argument in arguments)
        return Call(replace(function, arguments=types), tuple(arguments), span_of(node))
    trees = [
        cast_argument(tree, argument.type, wanted, function)
        for tree, argument, wanted in zip(node.expressions, arguments, declared, strict=True)
    ]
    return Call(function, tuple(typed(trees)), span_of(node))


def _check_number(node: exp.Expr, function: UserFunction, given: int) -> None:
    if function.arguments is not None:
        wanted = str(len(function.arguments))
        fits = len(function.arguments) == given
    else:
        fits, wanted = takes(function, given)
    if not fits or not given:
        raise BindError(
            "function-arguments",
            f"{function.name} is called with {given} arguments"
            + (f" and takes {wanted}" if wanted else ""),
            reason=""
            if given
            else "a function computes a value for each row, from something in the row",
            hint="write the arguments that it was registered with, or register it anew",
        ).at(span_of(node))


def takes(function: UserFunction, given: int) -> tuple[bool, str]:
    """Whether the body takes so many arguments, and what it takes."""
    try:
        signature = inspect.signature(function.body)
    except ValueError:  # compiled functions do not tell
        return True, ""
    try:
        signature.bind(*range(given))
    except TypeError:
        return False, str(signature)
    return True, ""


def cast_argument(tree: exp.Expr, type_: str, wanted: str, function: UserFunction) -> exp.Expr:
    """The argument in the declared type; one that may lose a value is refused."""
    if type_ == wanted:
        return tree
    if type_ != "void" and wider_type(type_, wanted) != wanted:
        raise BindError(
            "function-argument-type",
            f"{function.name} takes {wanted} where it is given {type_}",
            reason="an argument is cast only to a type that holds all its values",
            hint=f"cast it, for instance  CAST(.. AS {wanted.upper()})",
        ).at(span_of(tree))
    return cast_to(tree, wanted)
