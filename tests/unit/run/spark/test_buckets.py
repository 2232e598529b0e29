"""Labels that Spark's own hash spreads evenly."""

from __future__ import annotations

from collections import Counter

import pytest

from windrow.run.spark.stages import GUARD, labels, murmur3, partition_of

# SELECT hash(v) in Spark 4.3.
KNOWN = {0: 933211791, 1: -559580957, 42: 29417773, -1: -1604776387}


@pytest.mark.parametrize(("value", "expected"), KNOWN.items())
def test_the_hash_of_a_bucket_is_that_of_spark(value: int, expected: int) -> None:
    assert murmur3(value) == expected


@pytest.mark.parametrize("buckets", [1, 3, 4, 7, 200])
@pytest.mark.parametrize("partitions", [1, 2, 4, 200])
def test_every_partition_gets_its_share_of_buckets(buckets: int, partitions: int) -> None:
    homes = [partition_of(label, partitions) for label in labels(buckets, partitions)]
    assert homes == [bucket % partitions for bucket in range(buckets)]


def test_labels_are_distinct_and_none_is_the_guards() -> None:
    found = labels(300, 7)
    assert Counter(found).most_common(1)[0][1] == 1
    assert GUARD not in found
