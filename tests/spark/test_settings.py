"""What the session must have set, and what Spark says of expressions."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from spark_runs import Streams, table

import windrow
from windrow.errors import BindError, PlanError, ResourceError, UnsupportedError
from windrow.plan.exprs import Expr
from windrow.run.spark.frames import SparkTypes, describe
from windrow.run.spark.query import POLICY_SETTING, PROVIDER_SETTING
from windrow.schema import Field, Schema

JOIN = "SELECT x.ts FROM x, y WHERE x.k = y.k WINDOW = 5"
HDFS = "org.apache.spark.sql.execution.streaming.state.HDFSBackedStateStoreProvider"


@contextmanager
def setting(spark: Any, name: str, value: str) -> Iterator[None]:
    before = spark.conf.get(name)
    spark.conf.set(name, value)
    try:
        yield
    finally:
        spark.conf.set(name, before)


@pytest.fixture
def streams(tmp_path: Path) -> Streams:
    found = Streams(tmp_path, {name: [table([(1, "a", 1)])] for name in "xy"})
    found.write_all()
    return found


def test_a_state_store_without_rocksdb_is_refused_with_the_setting_to_write(
    spark: Any, streams: Streams
) -> None:
    session = streams.on_spark(spark)
    with setting(spark, PROVIDER_SETTING, HDFS), pytest.raises(ResourceError) as refused:
        session.sql(JOIN)
    assert str(refused.value) == (
        "ResourceError[state-store-provider]: the session's state store cannot hold the state of "
        "a streaming query\n"
        f"  it is {HDFS}; Spark's transformWithState needs RocksDB\n"
        '  hint: spark.conf.set("spark.sql.streaming.stateStore.providerClass", '
        '"org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider")'
    )


def test_packages_that_workers_need_are_named_when_they_are_missing(
    spark: Any, streams: Streams, monkeypatch: pytest.MonkeyPatch
) -> None:
    session = streams.on_spark(spark)
    monkeypatch.setitem(sys.modules, "google.protobuf", None)
    with pytest.raises(ResourceError) as refused:
        session.sql(JOIN)
    assert str(refused.value) == (
        "ResourceError[worker-packages]: protobuf is not installed\n"
        "  Spark's stateful workers in Python need it\n"
        "  hint: pip install 'windrow[spark]', here and wherever workers run"
    )


def test_a_batch_run_needs_no_state_store(spark: Any, streams: Streams) -> None:
    with setting(spark, PROVIDER_SETTING, HDFS):
        assert streams.on_spark(spark, is_streaming=False).sql(JOIN).count() == 1


def test_the_greatest_watermark_of_all_streams_is_refused(spark: Any, streams: Streams) -> None:
    session = streams.on_spark(spark)
    with setting(spark, POLICY_SETTING, "max"), pytest.raises(ResourceError) as refused:
        session.sql(JOIN)
    assert str(refused.value) == (
        "ResourceError[watermark-policy]: the session's watermark of several streams is their max\n"
        "  rows of the slower streams would be late\n"
        '  hint: spark.conf.set("spark.sql.streaming.multipleWatermarkPolicy", "min")'
    )


def test_streaming_and_batch_inputs_do_not_mix(spark: Any, streams: Streams) -> None:
    session = streams.on_spark(spark)
    batch = streams.files["y"].read(spark, "ts bigint, k string, v bigint", is_streaming=False)
    session.stream("y", batch, time="ts")
    with pytest.raises(UnsupportedError) as refused:
        session.sql(JOIN)
    assert str(refused.value).startswith(
        "UnsupportedError[mixed-streaming-and-batch]: x streaming, y not: a query takes one kind "
        "or the other\n"
    )


def test_a_streaming_input_where_only_a_table_may_stand_is_refused(
    spark: Any, streams: Streams
) -> None:
    session = streams.on_spark(spark)
    endless = streams.files["x"].read(spark, "ts bigint", is_streaming=True)
    with pytest.raises(PlanError) as refused:
        session.table("favorites", endless)
    assert str(refused.value) == (
        "PlanError[streaming-table]: favorites is a streaming input where only a table may stand\n"
        "  a table does not move: it is read whole before the streams\n"
        "  hint: register it as a stream: stream('favorites', df, time=...)"
    )
    session.table("favorites", spark.range(3))


def test_what_is_no_dataframe_is_refused(spark: Any) -> None:
    with pytest.raises(BindError) as refused:
        windrow.Session(spark).stream("a", table([(1, "a", 1)]), time="ts")
    assert str(refused.value) == (
        "BindError[not-a-dataframe]: a session on Spark takes Spark DataFrames, not Table\n"
        "  hint: make one with spark.createDataFrame(..), or use windrow.Session() without Spark"
    )


def test_resume_belongs_to_queries_in_process(spark: Any, streams: Streams) -> None:
    with pytest.raises(UnsupportedError) as refused:
        streams.on_spark(spark).sql(JOIN, resume=object())
    assert str(refused.value) == (
        "UnsupportedError[unsupported-option]: resume works only in process\n"
        "  hint: on Spark set checkpointLocation where you write the stream"
    )


def test_the_order_of_asking_belongs_to_queries_in_process(spark: Any, streams: Streams) -> None:
    session = streams.on_spark(spark)
    for ask in (session.sql, session.explain, session.progress_reader):
        with pytest.raises(UnsupportedError) as refused:
            ask(JOIN, polling="round robin")
        assert str(refused.value) == (
            "UnsupportedError[unsupported-option]: polling works only in process\n"
            "  Spark reads a part of every stream in each micro-batch\n"
            "  hint: leave it out"
        )
    with pytest.raises(UnsupportedError) as refused:
        session.sql(JOIN.replace("SELECT", "SELECT /*+ polling(in step) */"))
    assert refused.value.span is not None


def test_input_triggered_scheduling_belongs_to_queries_in_process(
    spark: Any, streams: Streams
) -> None:
    session = streams.on_spark(spark)
    for ask in (session.sql, session.explain, session.progress_reader):
        with pytest.raises(UnsupportedError) as refused:
            ask(JOIN, scheduling="ita")
        assert str(refused.value) == (
            "UnsupportedError[unsupported-option]: scheduling = 'ita' works only in process\n"
            "  on Spark each stage advances to the watermark in every micro-batch\n"
            "  hint: leave it out, or say nta"
        )
    assert session.explain(JOIN, scheduling="tpa") == session.explain(JOIN)
    with pytest.raises(UnsupportedError) as refused:
        session.sql(JOIN.replace("SELECT", "SELECT /*+ scheduling(ita) */"))
    assert refused.value.span is not None


def expr(spark_text: str) -> Expr:
    return Expr(spark_text, spark_text, "", (), "")


def test_spark_tells_the_types_of_expressions(spark: Any) -> None:
    columns = Schema(
        (Field("a.x", "int"), Field("a.d", "decimal(10,2)"), Field("b.m", "map<string,int>"))
    )
    texts = [
        "`a.x` + 1",
        "`a.d` * `a.x`",
        "`b.m`['k']",
        "struct(`a.x` AS `odd name`)",
        "array(1.5)",
    ]
    assert SparkTypes(spark).types(columns, [expr(text) for text in texts]) == [
        "int",
        "decimal(21,2)",
        "int",
        "struct<`odd name`:int>",
        "array<decimal(2,1)>",
    ]


def test_an_expression_that_spark_refuses_is_named_with_the_reason(spark: Any) -> None:
    columns = Schema((Field("a.x", "int"),))
    with pytest.raises(BindError) as refused:
        SparkTypes(spark).types(columns, [expr("`a.x`"), expr("`a.x`.y"), expr("1")])
    assert str(refused.value).startswith(
        "BindError[bad-expression]: Spark does not take the expression `a.x`.y\n  ["
    )
    assert "SQLSTATE" not in str(refused.value)
    assert refused.value.hint == ("a value has fields only if it is a struct: name one that it has")


def test_a_dataframe_is_described_in_sparks_types(spark: Any, streams: Streams) -> None:
    df = spark.sql("SELECT 1 AS a, named_struct('b c', array(2L)) AS s, current_timestamp() AS t")
    schema, is_streaming = describe(df)
    assert schema.ddl() == "`a` int, `s` struct<`b c`:array<bigint>>, `t` timestamp"
    assert not is_streaming
    streaming = streams.files["x"].read(spark, "ts bigint", is_streaming=True)
    assert describe(streaming) == (Schema((Field("ts", "bigint"),)), True)
