from __future__ import annotations

import pytest

from windrow.run.spark.launch import reason_of

JAVA = """An error occurred while calling None.org.apache.spark.api.java.JavaSparkContext.
: org.apache.spark.SparkException: Could not parse Master URL: 'locl[2]'
\tat org.apache.spark.SparkContext$.createTaskScheduler(SparkContext.scala:3391)
\tat java.base/java.lang.Thread.run(Thread.java:840)
\t... 19 more
"""


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (JAVA, "Could not parse Master URL: 'locl[2]'"),
        (
            "one\n[INVALID_CONF] The value 'many' is none.",
            "[INVALID_CONF] The value 'many' is none.",
        ),
        ("", ""),
    ],
)
def test_what_java_says_is_told_without_its_stack(text: str, reason: str) -> None:
    assert reason_of(RuntimeError(text)) == reason
