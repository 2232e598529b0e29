"""What Spark and DuckDB say of their functions.

Made by scripts/function_catalog.py, and compared with the engines by tests.
"""

from __future__ import annotations

from windrow.plan.functions import FunctionKinds

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
