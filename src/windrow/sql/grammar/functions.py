"""What Spark and DuckDB say of their functions.

Made by scripts/function_catalog.py, and compared with the engines by tests.

Functions by the names they are called by: which aggregate is meant, and what is refused.

The engines' own catalogs say which names are aggregates, functions for OVER, makers of rows and
volatile (`function_catalog`). The dialect is Spark's: where it has a name, its word counts, and
DuckDB's for all other names. The user's own functions come before both.
"""

from __future__ import annotations

from collections.abc import Container

from sqlglot import exp

from windrow.plan.aggregates import AGGREGATES
from windrow.plan.functions import FunctionKinds
from windrow.sql.grammar.clauses import AggregateCall, OtherAggregate
from windrow.sql.grammar.spans import called_name, name_call

_SPARK_AGGREGATES = (
    "any", "any_value", "approx_count_distinct", "approx_percentile", "approx_top_k",
    "approx_top_k_accumulate", "approx_top_k_combine", "array_agg", "avg", "bit_and", "bit_or",
    "bit_xor", "bitmap_and_agg", "bitmap_construct_agg", "bitmap_or_agg", "bool_and", "bool_or",
    "collect_list", "collect_set", "collect_union", "corr", "count", "count_if",
    "count_min_sketch", "covar_pop", "covar_samp", "every", "first", "first_value", "grouping",
    "grouping_id", "histogram_numeric", "hll_sketch_agg", "hll_union_agg",
    "kll_merge_agg_bigint", "kll_merge_agg_double", "kll_merge_agg_float",
    "kll_sketch_agg_bigint", "kll_sketch_agg_double", "kll_sketch_agg_float", "kurtosis",
    "last", "last_value", "listagg", "max", "max_by", "mean", "measure", "median", "min",
    "min_by", "mode", "percentile", "percentile_approx", "percentile_cont", "percentile_disc",
    "regr_avgx", "regr_avgy", "regr_count", "regr_intercept", "regr_r2", "regr_slope",
    "regr_sxx", "regr_sxy", "regr_syy", "skewness", "some", "std", "stddev", "stddev_pop",
    "stddev_samp", "string_agg", "sum", "theta_intersection_agg", "theta_sketch_agg",
    "theta_union_agg", "try_avg", "try_sum", "tuple_intersection_agg_double",
    "tuple_intersection_agg_integer", "tuple_sketch_agg_double", "tuple_sketch_agg_integer",
    "tuple_union_agg_double", "tuple_union_agg_integer", "var_pop", "var_samp", "variance",
)  # fmt: skip
_SPARK_WINDOWS = (
    "counter_diff", "cume_dist", "dense_rank", "lag", "lead", "nth_value", "ntile",
    "percent_rank", "rank", "row_number",
)  # fmt: skip
_SPARK_ROW_MAKERS = (
    "collations", "explode", "explode_outer", "inline", "inline_outer", "posexplode",
    "posexplode_outer", "sql_keywords", "stack",
)  # fmt: skip
_SPARK_VOLATILE = (
    "curdate", "current_date", "current_time", "current_timestamp", "input_file_block_length",
    "input_file_block_start", "input_file_name", "java_method", "localtime", "localtimestamp",
    "monotonically_increasing_id", "now", "rand", "randn", "random", "randstr", "reflect",
    "shuffle", "spark_partition_id", "try_reflect", "uniform", "unix_timestamp", "uuid",
)  # fmt: skip
SPARK = FunctionKinds(
    version="4.3.0",
    aggregates=frozenset(_SPARK_AGGREGATES),
    windows=frozenset(_SPARK_WINDOWS),
    row_makers=frozenset(_SPARK_ROW_MAKERS),
    volatile=frozenset(_SPARK_VOLATILE),
)

_DUCKDB_AGGREGATES = (
    "any_value", "approx_count_distinct", "approx_quantile", "approx_top_k", "arbitrary",
    "arg_max", "arg_max_null", "arg_max_nulls_last", "arg_min", "arg_min_null",
    "arg_min_nulls_last", "argmax", "argmin", "array_agg", "avg", "bit_and", "bit_or",
    "bit_xor", "bitstring_agg", "bool_and", "bool_or", "combine_aggr", "corr", "count",
    "count_if", "count_star", "countif", "covar_pop", "covar_samp", "decimal_average",
    "entropy", "favg", "first", "fsum", "geomean", "geometric_mean", "group_concat",
    "histogram", "histogram_exact", "json_group_array", "json_group_object",
    "json_group_structure", "kahan_sum", "kurtosis", "kurtosis_pop", "last", "list", "listagg",
    "lttb", "mad", "max", "max_by", "mean", "median", "min", "min_by", "mode", "product",
    "quantile", "quantile_cont", "quantile_disc", "regr_avgx", "regr_avgy", "regr_count",
    "regr_intercept", "regr_r2", "regr_slope", "regr_sxx", "regr_sxy", "regr_syy",
    "reservoir_quantile", "sem", "skewness", "stddev", "stddev_pop", "stddev_samp",
    "string_agg", "sum", "sum_no_overflow", "sumkahan", "var_pop", "var_samp", "variance",
    "variant_group_array", "variant_group_object", "wavg", "weighted_avg",
)  # fmt: skip
_DUCKDB_WINDOWS = (
    "cume_dist", "dense_rank", "fill", "first_value", "lag", "last_value", "lead", "nth_value",
    "ntile", "percent_rank", "rank", "rank_dense", "row_number",
)  # fmt: skip
_DUCKDB_ROW_MAKERS = (
    "generate_subscripts", "regexp_split_to_table", "unnest",
)  # fmt: skip
_DUCKDB_VOLATILE = (
    "ago", "assert_true", "current_catalog", "current_connection_id", "current_database",
    "current_date", "current_localtime", "current_localtimestamp", "current_query",
    "current_query_id", "current_schema", "current_schemas", "current_setting", "current_time",
    "current_timestamp", "current_transaction_id", "currval", "error", "gen_random_uuid",
    "get_current_time", "get_current_timestamp", "getvariable", "in_search_path",
    "json_group_object", "localtime", "localtimestamp", "nextval", "now", "pg_conf_load_time",
    "pg_postmaster_start_time", "pg_sleep", "random", "setseed", "setval", "sleep_ms", "stats",
    "today", "transaction_timestamp", "txid_current", "uuid", "uuidv4", "uuidv7", "vector_type",
    "write_log",
)  # fmt: skip
DUCKDB = FunctionKinds(
    version="2.0.0",
    aggregates=frozenset(_DUCKDB_AGGREGATES),
    windows=frozenset(_DUCKDB_WINDOWS),
    row_makers=frozenset(_DUCKDB_ROW_MAKERS),
    volatile=frozenset(_DUCKDB_VOLATILE),
)

_PLAIN_IN_SPARK = (
    "assert_true", "current_catalog", "current_database", "current_schema",
)  # fmt: skip
PLAIN_IN_SPARK = frozenset(_PLAIN_IN_SPARK)
"""Names of these in DuckDB that are plain functions in Spark."""


OTHER_AGGREGATES = (SPARK.aggregates | DUCKDB.aggregates - PLAIN_IN_SPARK) - set(AGGREGATES)
"""The names of aggregates that Windrow does not compute, unless one is added later."""

WINDOW_FUNCTIONS = SPARK.windows | DUCKDB.windows - PLAIN_IN_SPARK
ROW_MAKERS = SPARK.row_makers | DUCKDB.row_makers - PLAIN_IN_SPARK

_OF_THE_MOMENT = {"unix_timestamp": 0, "age": 1}
"""Functions that count from the present time when called with so few arguments."""

VOLATILE = (SPARK.volatile | DUCKDB.volatile - PLAIN_IN_SPARK) - set(_OF_THE_MOMENT)

_WORDS_OF_NOW = {"now", "today", "tomorrow", "yesterday"}
"""Texts that Spark reads as a time that moves, where they are cast to one."""


def name_aggregates(tree: exp.Expr, functions: Container[str]) -> exp.Expr:
    """The tree with one node for each aggregate, however it is called.

    Args:
        tree: a query, as read; it is changed.
        functions: the user's functions by name.
    """
    _drop_nulls_clauses(tree)
    for node in list(tree.walk()):
        name = called_name(node)
        if not name or name in functions or _is_quantifier(node):
            continue
        called = _named(node, name)
        if called is None:
            continue
        called.meta.update(node.meta)
        name_call(called, name)
        if node.parent is None:
            return called
        node.replace(called)
    return tree


def is_volatile(node: exp.Expr, functions: Container[str] = ()) -> bool:
    """Whether the node calls a function whose value differs between two evaluations of one row."""
    if isinstance(node, exp.Cast):
        text = node.this
        is_time = node.to.is_type(exp.DType.DATE, *exp.DataType.TEMPORAL_TYPES)
        return is_time and text.is_string and text.name.strip().lower() in _WORDS_OF_NOW
    name = called_name(node)
    if not name or (isinstance(node, exp.Anonymous) and name in functions):
        return False
    if name in _OF_THE_MOMENT:
        return len(_arguments(node)) <= _OF_THE_MOMENT[name]
    own = node.sql_name().lower() if isinstance(node, exp.Func) else ""
    return bool(VOLATILE.intersection({name, own}))


def _named(node: exp.Expr, name: str) -> exp.Expr | None:
    """The node of an aggregate's call; None where none is called, or the node is right already.

    One of another schema is none of ours.
    """
    arguments = _arguments(node)
    parts = {"this": arguments[0] if arguments else None, "expressions": arguments[1:]}
    if name in AGGREGATES and not isinstance(node.parent, exp.Dot):
        return AggregateCall(function=AGGREGATES[name].name, **parts)
    is_other = name in AGGREGATES or name in OTHER_AGGREGATES
    if is_other and not isinstance(node, exp.AggFunc):
        return OtherAggregate(**parts)
    return None


def _drop_nulls_clauses(tree: exp.Expr) -> None:
    """Drops IGNORE NULLS and RESPECT NULLS, behind a call or inside it, where they change nothing."""
    for clause in list(tree.find_all(exp.IgnoreNulls, exp.RespectNulls)):
        inside = clause.this.this if isinstance(clause.this, exp.Filter) else clause.this
        for call in (inside, clause.parent):
            known = AGGREGATES.get(called_name(call)) if isinstance(call, exp.Expr) else None
            if known is not None and known.takes_nulls_clause:
                clause.replace(clause.this)
                break


def _is_quantifier(node: exp.Expr) -> bool:
    """Whether it is the ANY of `x LIKE ANY (..)`, and no aggregate."""
    return isinstance(node, exp.Any) and isinstance(node.parent, exp.Like | exp.ILike)


def _arguments(node: exp.Expr) -> list[exp.Expr]:
    if isinstance(node, exp.Anonymous):
        return list(node.expressions)
    if isinstance(node, exp.Any):
        return [node.this.unnest()]
    return [part for part in node.iter_expressions() if not isinstance(part, exp.Identifier)]
