from __future__ import annotations

import asyncio
import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from judging.llm.pacing import Pacer, Patience, parse_retry_after
from tests.clock import HandClock


@given(st.integers(1, 4), st.integers(0, 2**16))
def test_waits_double_between_half_and_whole(failures, seed):
    patience = Patience(tries=5, first_wait=0.5, longest_wait=3.0)
    whole = min(3.0, 0.5 * 2 ** (failures - 1))
    wait = patience.wait(failures, retry_after=None, rng=random.Random(seed))
    assert wait is not None
    assert whole / 2 <= wait <= whole


def test_after_the_last_try_there_is_no_wait():
    assert Patience(tries=2).wait(2, retry_after=None, rng=random.Random(0)) is None


def test_a_server_that_is_only_starting_is_waited_for_and_a_dead_one_given_up_within_seconds():
    waits = [Patience().wait(n, retry_after=None, rng=random.Random(0)) for n in range(1, 6)]
    assert (waits[4:], 3.75 <= sum(waits[:4]) <= 7.5) == ([None], True)


def test_what_the_endpoint_asks_for_is_honoured_or_given_up():
    patience = Patience(first_wait=0.5, longest_retry_after=90)
    wait = patience.wait(1, retry_after=40, rng=random.Random(0))
    assert wait is not None
    assert 40 <= wait <= 40.5
    assert patience.wait(1, retry_after=91, rng=random.Random(0)) is None


@pytest.mark.parametrize(
    ("value", "seconds"),
    [
        (None, None),
        ("7", 7.0),
        ("0.5", 0.5),
        ("-3", 0.0),
        ("inf", None),
        ("soon", None),
        ("Thu, 01 Jan 1970 00:01:40 GMT", 60.0),  # 100 s after the epoch, and it is 40
        ("Thu, 01 Jan 1970 00:00:10 GMT", 0.0),
    ],
)
def test_retry_after_is_seconds_or_a_date(value, seconds):
    assert parse_retry_after(value, now=40) == seconds


def paced(tokens, *, pauses=(), **limits):
    """When the calls of so many tokens start that are asked for at once, in seconds."""
    clock, starts = HandClock(), []
    began = clock.now
    limits = {"requests_per_minute": None, "tokens_per_minute": None} | limits
    pacer = Pacer(**limits, clock=clock, sleep=clock.sleep)
    for seconds in pauses:
        pacer.pause(seconds)

    async def call(count):
        await pacer.turn(count)
        starts.append(round(clock.now - began, 6))

    async def run():
        await asyncio.gather(*map(call, tokens))

    asyncio.run(run())
    assert pacer.counts_tokens is (limits["tokens_per_minute"] is not None)
    return starts


def test_without_limits_nobody_waits():
    assert paced([10_000] * 100) == [0.0] * 100


def test_requests_are_spaced():
    assert paced([0] * 4, requests_per_minute=600) == [0.0, 0.1, 0.2, 0.3]


def test_tokens_are_spaced():
    # 60,000 a minute: 100 tokens take 0.1 s, 200 take 0.2 s; the third starts at 0.3 s
    assert paced([100, 200, 0], tokens_per_minute=60_000) == [0.0, 0.1, 0.3]


def test_a_pause_holds_everybody():
    assert paced([0, 0], pauses=[0.2, 0.1]) == [0.2, 0.2]
