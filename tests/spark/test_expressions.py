"""One expression, two engines: what DuckDB computes in process is what Spark computes."""

from __future__ import annotations

import datetime as dt
import math
from decimal import Decimal

import pyarrow as pa

from windrow.operators.expressions.evaluate import DuckdbTypes, connect
from windrow.plan.catalog import StreamInfo
from windrow.schema import Field, Schema
from windrow.sql.compile import compile_query

COLUMNS = Schema(
    tuple(
        Field(*pair.split(" "))
        for pair in (
            "ts timestamp", "k int", "n bigint", "b tinyint", "x double", "f float",
            "d decimal(10,2)", "e decimal(20,4)", "s string", "day date", "o boolean",
        )
    )
)  # fmt: skip

MIDNIGHT = dt.datetime(2024, 1, 7, tzinfo=dt.UTC)
ROWS = [
    (MIDNIGHT, 7, 3, 5, 2.5, 1.5, Decimal("12.35"), Decimal("1.0001"), "Hello", MIDNIGHT.date(), True),
    (MIDNIGHT + dt.timedelta(hours=5, seconds=33.25), -7, 10**12, -3, -2.7, 0.1, Decimal("-0.05"),
     Decimal("99999.5"), "a,b", dt.date(2020, 2, 29), False),
    (MIDNIGHT - dt.timedelta(microseconds=1), None, None, None, None, None, None, None, None, None, None),
]  # fmt: skip

EXPRESSIONS = """
k + 1, n * 2, b * 100, k / 2, n / k, x / 3, f / f, k % 3, -7 % 3, k div 2, n div k, k - n, -k, abs(k)
d * k, d * 2, d * 1.5, d + e, d - k, d + 1, d / 3, d % 5, k * 1.5, n + 1.5, d * e, e * e, d * k + e, (d + 1) * 2, d * x
cast(x as int), cast(-2.7 as int), cast(d as int), cast(x as bigint), cast(k as double), cast(ts as bigint)
cast(k as string), cast(s || '1' as string), cast(k as decimal(12,3)), cast(o as int), bigint(k)
floor(x), ceil(x), floor(k), round(x), round(x, 1), round(d, 1), sign(x), sqrt(abs(k)), power(k, 2)
exp(1), ln(2), log10(1000), log2(8), greatest(k, n), least(k, 0), pmod(k, 3), mod(k, 4)
length(s), upper(s), lower(s), trim('  a '), substring(s, 0, 2), substring(s, 2, 3), substring(s, -3, 2)
concat(s, 'x'), s || k, concat_ws('-', s, 'z'), replace(s, 'l', 'r'), instr(s, 'l'), locate('l', s)
lpad(s, 7, '*'), reverse(s), initcap(s), split(s, ',')[0], s like 'H%', s rlike '^H', s in ('Hello', 'x')
regexp_replace(s, 'l+', 'L'), s < 'b', s = 'Hello', md5(s), left(s, 2), right(s, 2)
year(ts), month(ts), day(ts), hour(ts), minute(ts), second(ts), quarter(ts), dayofyear(ts), weekofyear(ts)
dayofweek(ts), weekday(day), dayofmonth(day), year(day), last_day(day), extract(hour from ts)
date_trunc('hour', ts), date_trunc('day', ts), date_add(day, 3), date_sub(day, 3), datediff(day, date '2020-01-01')
day + 3, day + interval 3 days, day - interval 1 month, ts + interval 90 minutes, ts - interval 1 day
cast(ts as date), to_date('2024-05-06'), unix_timestamp(ts), unix_micros(ts), date_format(ts, 'yyyy-MM-dd HH:mm:ss')
timestamp '2024-01-07 00:00:00' <= ts, day > date '2021-01-01', day = cast(ts as date)
coalesce(k, 0), nvl(s, 'none'), ifnull(n, 1), nullif(k, 7), if(k > 0, 'up', 'down'), isnull(k), isnotnull(k)
case when k > 0 then x else 0 end, case k when 7 then 'seven' end, k is null, k is not distinct from 7, k <=> null
not o, o and k > 1, o or k is null, k between 1 and 9, k <> 7, k in (7, 8), x > k, d > 12, d = 12.35
array(k, 1)[0], size(array(k, n)), array_contains(array(1, 2), k), map('a', k)['a'], named_struct('a', k).a
b + 1, b % 2, timestampdiff(MINUTE, ts, timestamp '2024-01-08 00:00:00'), extract(second from ts)
date_part('hour', ts), to_timestamp('2024-01-01 00:00:00'), add_months(day, 1), make_date(2020, 1, 1)
months_between(day, date '2020-01-01'), cast(day as timestamp), cast('2024-01-01' as date), floor(d), ceil(d)
abs(d), -d, 1.5 + 1, 2.50 * 3, substr(s, 2), char_length(s), position('l' in s), ascii(s), repeat(s, 2)
ltrim(' a'), startswith(s, 'H'), contains(s, 'l'), array_join(array(s, 'x'), '-'), sort_array(array(2, 1))
array_max(array(1, 2)), hex(255), round(k, -1), cast(x as decimal(10,1)), sha2(s, 256), try_divide(k, 0)
f - f, f - k, f + n, f * 2, f - d, f + 0.1, f % 1, f - x, -f, abs(f - f), abs(f - k), f <= 0.1, f = 0.1, 0.1 >= f
f < 0.1, f in (0.1, 2), f between 0.1 and 0.2, not f > 0.1, abs(f - cast(0 as float)) <= 0.1, f <=> 0.1, f = x, f = 1.5
f <= k, f <> 0.1, f <= 0.05 + 0.05, cast(x as float) <= 2.5, coalesce(f, f) <= 0.1, f in (f, 0.1), f + f + 1, (f - k) - f
extract(dow from day), extract(dayofweek from ts), extract(dow_iso from day), date_part('dow', day), cast(ts as string)
'it''s', "a""b", 'it' 's', 'it\\'s', s = 'it''s', s like 'a\\_b', 'a_b' like 'a\\_b', 'a,b' like s, 'a%' like 'a!%' escape '!'
'%' like '\\\\%', s ilike 'h\\_%', concat('a', '''', s), cast(timestamp_ntz '2024-01-07 01:02:03.5' as string)
transform(array(1, 2), v -> v + k), nvl2(k, 1, 2), bit_count(5), 5 & 3, 5 | 3, 5 ^ 3, shiftleft(1, 4)
"""  # fmt: skip


def split_list(text: str) -> list[str]:
    """The expressions, cut at commas that no parenthesis or bracket holds."""
    found, depth, current = [], 0, ""
    for line in text.strip().splitlines():
        for character in line + ",":
            depth += (character in "([") - (character in ")]")
            if character == "," and depth == 0:
                found.append(current.strip())
                current = ""
            else:
                current += character
    return found


def same(left: object, right: object) -> bool:
    if isinstance(left, float) and isinstance(right, float):
        return left == right or math.isclose(left, right, rel_tol=1e-14)
    return left == right


def test_duckdb_computes_what_spark_computes(spark):
    catalog = {"t": StreamInfo("t", COLUMNS, "ts")}
    items = ", ".join(f"{e} AS v{i}" for i, e in enumerate(split_list(EXPRESSIONS)))
    query = compile_query(f"SELECT {items} FROM t", catalog, DuckdbTypes())
    exprs = [item.expr for item in query.root.items]

    frame = spark.createDataFrame(ROWS, COLUMNS.ddl())
    flat = frame.toDF(*(f"t.{name}" for name in COLUMNS.names))
    on_spark = flat.selectExpr(*(f"{e.spark} AS v{i}" for i, e in enumerate(exprs))).toArrow()

    connection = connect()
    connection.register("rows", flat.toArrow())
    texts = ", ".join(f"{e.duckdb} AS v{i}" for i, e in enumerate(exprs))
    in_process = connection.sql(f"SELECT {texts} FROM rows").to_arrow_table()

    differences = []
    for i, expr in enumerate(exprs):
        left, right = (table.column(i).to_pylist() for table in (on_spark, in_process))
        types = (shown(on_spark.schema.field(i).type), shown(in_process.schema.field(i).type))
        values = all(same(a, b) for a, b in zip(left, right, strict=True))
        if not values or types[0] != types[1]:
            differences.append((expr.text, *types, left, right))
    assert not differences, "\n".join(map(str, differences))


def shown(type_: pa.DataType) -> str:
    """A type without what the engines call the parts of a list."""
    if pa.types.is_list(type_):
        return f"list<{shown(type_.value_type)}>"
    return str(type_)
