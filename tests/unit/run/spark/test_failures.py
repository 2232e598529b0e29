"""Spark's own errors, in our words."""

from __future__ import annotations

import pytest

from windrow.errors import PlanError
from windrow.run.spark.failures import in_our_words, within_sparks_stack

OVERFLOW = "An error occurred while calling o1.filter.\n: java.lang.StackOverflowError\n\tat org.."


def test_an_expression_that_is_too_deep_for_spark_is_refused_with_what_to_set():
    with pytest.raises(PlanError) as caught, within_sparks_stack():
        raise RuntimeError(OVERFLOW)
    assert str(caught.value) == (
        "PlanError[query-too-deep]: the query is nested too deeply for Spark\n"
        "  Spark reads chained operators recursively, on the stack of the driver's JVM\n"
        "  hint: give it a larger one: --conf spark.driver.extraJavaOptions=-Xss16m; or compute a part"
        " of the expression in a derived table"
    )
    assert str(in_our_words(RuntimeError(OVERFLOW))) == str(caught.value)


def test_other_errors_pass_as_they_are():
    with pytest.raises(RuntimeError, match="disk"), within_sparks_stack():
        raise RuntimeError("no disk")
    assert in_our_words(RuntimeError("no disk")) is None
