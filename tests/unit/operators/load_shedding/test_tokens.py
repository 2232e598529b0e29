"""Probes of a query in several buckets: never more than the rate allows, all of them if that suffices."""

from __future__ import annotations

import pytest
from case_share import share_of
from cases.shed_joins import WINDOW, node
from hypothesis import given, settings
from hypothesis import strategies as st

from windrow.errors import DataError
from windrow.operators.load_shedding.control import Control
from windrow.operators.load_shedding.draws import number_of
from windrow.operators.load_shedding.tokens import Sent, Tokens
from windrow.physical.load_shedding.limits import Least, Shedding

PANE = WINDOW // 8
ARRIVED = st.tuples(st.integers(0, 12), st.integers(0, 12))


def sent_to(panes, bucket):
    """What a bucket is told of arrivals by pane and bucket."""
    sums = [[sum(own) for own in came] for came in panes]
    told = [
        Sent(number, 1, sum(came), sum(came[:bucket]), sum(came[: bucket + 1]))
        for number, came in enumerate(sums)
        if sum(came)
    ]
    return lambda first, stop: [own for own in told if (first or 0) <= own.first < stop]


def probes_of(panes, limit, buckets):
    """Per pane and bucket, how many probe; each is asked only where it has rows, and is restored."""
    controls = [Control(node(), limit.part(buckets)) for _ in range(buckets)]
    probed = []
    for number, came in enumerate(panes):
        probed.append([])
        for bucket, arrived in enumerate(came):
            control = Control(node(), limit.part(buckets))
            control.restore(controls[bucket].snapshot())
            control.follow(limit, sent_to(panes[: number + 1], bucket))
            some = sum(arrived) > 0
            probed[-1].append(control.divide(number, arrived, 1).probes if some else (0, 0))
            if (number + bucket) % 3 == 0:  # some settle later than others
                control.pay_until(number + 1)
            controls[bucket] = control
    return probed


@pytest.mark.law
def test_no_token_falls_off_the_end_of_the_line():
    for rows in range(2, 60):
        for tokens in range(1, rows):
            parts = [
                Tokens(1.0, 1, tokens).part(Sent(0, 1, rows, at, at + 1), each=0, buckets=rows)
                for at in range(rows)
            ]
            assert sum(parts) == tokens, (rows, tokens)


@pytest.mark.law
@settings(max_examples=share_of(100), deadline=None, derandomize=True)
@given(st.data(), st.integers(2, 5), st.floats(0.05, 8), st.booleans())
def test_buckets_keep_to_the_rate_together_and_a_query_that_fits_is_whole(
    data, buckets, service_rate, is_estimated
):
    came = st.lists(ARRIVED, min_size=buckets, max_size=buckets)
    panes = data.draw(st.lists(came, min_size=1, max_size=12))
    if is_estimated:
        service_rate = max(service_rate, 2 * buckets / PANE)
    limit = Shedding(service_rate=service_rate, is_estimated=is_estimated)
    probed = probes_of(panes, limit, buckets)
    sums = [sum(map(sum, own)) for own in probed]
    saved = max(service_rate * WINDOW, 2)
    for first in range(len(sums)):
        for last in range(first, len(sums)):
            span = (last + 1 - first) * PANE
            assert sum(sums[first : last + 1]) <= service_rate * span + saved + 1e-6
    # One bucket does with the same tokens what several do.
    alone = Control(node(), limit)
    together = [tuple(map(sum, zip(*own, strict=True))) for own in panes]
    whole = [sum(alone.divide(at, own, 1).probes) for at, own in enumerate(together)]
    if whole == [sum(own) for own in together]:
        assert probed == [[tuple(own) for own in came] for came in panes]
    elif not is_estimated:
        assert sums == whole
    for own, arrived in zip(probed, panes, strict=True):
        for got, there in zip(own, arrived, strict=True):
            assert all(0 <= n <= most for n, most in zip(got, there, strict=True))
            if is_estimated:
                # Totals need some of every stream in every bucket.
                assert all(n > 0 for n, most in zip(got, there, strict=True) if most)


def test_a_frequent_key_gets_the_probes_that_others_leave():
    # 80 tokens to begin with and 10 more per pane; all but two rows are those of one bucket.
    panes = [[(4, 4), (1, 0), (0, 1)]] * 40
    assert probes_of(panes, Shedding(service_rate=1.0), 3) == panes


def test_buckets_of_few_rows_have_their_turn():
    # 30 rows per pane in 15 buckets, for which there are three tokens: one for each in five panes.
    limit = Shedding(service_rate=0.3, least_rates=(Least(0.5, is_share=True),) * 2)
    probed = probes_of([[(1, 1)] * 15] * 108, limit, 15)
    turns = [sum(sum(came[bucket]) for came in probed[8:]) for bucket in range(15)]
    assert sum(turns) == 300
    assert 16 <= min(turns) <= max(turns) <= 24


@pytest.mark.parametrize(("rate", "rows"), [(1.0, 13.0), (0.37, 4.2), (0.33, 3.3), (0.9, 2.5)])
def test_panes_that_are_told_of_together_are_paid_for_one_by_one(rate, rows):
    limit = Shedding(service_rate=rate)
    long = [Sent(0, 20, rows, 0.0, rows, is_mean=True)]
    short = [Sent(number, 1, rows, 0.0, rows, is_mean=True) for number in range(20)]
    for stop in (5, 12, 20):
        left = []
        for sent in (long, short):
            control = Control(node(), limit.part(2))
            control.follow(limit, lambda first, _, sent=sent: sent if first is None else ())
            control.pay_until(stop)
            tokens = control.snapshot()["tokens"]
            left.append((number_of(tokens), *control.divide(20, (90, 0), 1).probes))
        assert left[0] == pytest.approx(left[1], abs=1e-9)


def test_a_rate_that_must_not_be_exceeded_is_told_by_the_bucket_that_would():
    limit = Shedding(service_rate=2.0, may_skip=False)
    panes = [[(60, 60), (40, 0)], [(15, 15), (0, 0)]]
    with pytest.raises(DataError) as caught:
        probes_of(panes, limit, 2)
    assert str(caught.value) == (
        "DataError[service-rate-exceeded]: the streams, in one bucket, bring 30 tuples within 10 ticks, "
        "and the service rate of 2 per tick has 20 probes left for them\n"
        "  in the join of a, b; probes of a lull are saved up, a window's worth or one per stream; "
        "2 buckets divide them by what each is sent\n"
        "  hint: raise service_rate, or set on_service_rate to 'shed' for a part of the answer"
    )
