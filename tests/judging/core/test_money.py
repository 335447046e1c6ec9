from __future__ import annotations

from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from annotation.core.conversations import Message, Speaker
from judging.core.chat import ChatRequest, JsonSchema, Sampling, Usage
from judging.core.money import (
    FRAME_TOKENS,
    MESSAGE_TOKENS,
    Prices,
    fewest_input_tokens,
    likely_input_tokens,
    most_input_tokens,
)

PRICES = Prices(Decimal("2.5"), Decimal("0.5"), Decimal(10), Decimal("0.5"))
UNCACHED = Prices(Decimal("2.5"), None, Decimal(10))


def request(*texts, **fields):
    return ChatRequest(
        "http://x", "m", tuple(Message(Speaker.USER, text) for text in texts), **fields
    )


@pytest.mark.parametrize(
    ("prices", "usage", "cost"),
    [
        (PRICES, Usage(), None),
        (Prices(), Usage(1_000, 400, 100), None),  # no price is not a price of 0
        (PRICES, Usage(input_tokens=1_000_000), None),
        (Prices(Decimal("2.5")), Usage(input_tokens=1_000_000), Decimal("2.5")),
        (PRICES, Usage(10, 50, 0), Decimal("0.000005")),
        (PRICES, Usage(0, None, 1_000_000), Decimal(10)),
        # 600 tokens at 2.5, 400 at 0.5 and 100 at 10, each for a million
        (PRICES, Usage(1_000, 400, 100), Decimal("0.0027")),
        # no price of their own: 1,000 at 2.5 and 100 at 10
        (UNCACHED, Usage(1_000, 400, 100), Decimal("0.0035")),
        # one token at 0.001 a million is 0.000000001, and never rounded away
        (Prices(Decimal("0.001")), Usage(1, 0, 0), Decimal("0.00000001")),
        # a million and more for one call is a fault of the endpoint's count, and no row holds it
        (Prices(Decimal(1_000)), Usage(999_999_999, 0, 0), Decimal("999999.999")),
        (Prices(Decimal(1_000)), Usage(1_000_000_000, 0, 0), None),
    ],
)
def test_what_a_reply_costs(prices, usage, cost):
    assert prices.cost(usage) == cost


def test_a_reply_in_a_batch_file_costs_its_share():
    assert PRICES.cost(Usage(1_000, 400, 100), batch=True) == Decimal("0.00135")
    assert UNCACHED.cost(Usage(1_000, 400, 100), batch=True) == Decimal("0.0035")


def test_what_so_many_tokens_cost():
    assert PRICES.of_tokens(input_tokens=1_000, output_tokens=100) == Decimal("0.0035")


@pytest.mark.parametrize(
    ("prices", "known"),
    [
        (Prices(), False),
        (Prices(cached_input=Decimal(0)), False),
        (Prices(output=Decimal(1)), True),
        (Prices(input=Decimal(1)), True),
        (Prices(cached_input=Decimal(1)), True),
    ],
)
def test_whether_money_can_be_counted(prices, known):
    assert prices.known is known


def test_the_dearest_price_of_a_call():
    # 3 bytes and 16 + 64 of frame at 2.5, 100 tokens of reply at 10, each for a million
    assert PRICES.at_most(request("abc", sampling=Sampling(max_tokens=100))) == Decimal("0.0012075")
    assert Prices(cached_input=Decimal(5)).at_most(request("abc")) == Decimal("0.000415")


def test_the_bound_counts_bytes_messages_and_the_schema():
    assert most_input_tokens(request("abc", "你好")) == 3 + 6 + 2 * MESSAGE_TOKENS + FRAME_TOKENS
    form = JsonSchema("x", {"type": "object"})
    assert most_input_tokens(request(schema=form)) == FRAME_TOKENS + len('{"type": "object"}')


@given(st.lists(st.text(max_size=60), max_size=4), st.integers(0, 300))
def test_no_reply_costs_more_than_the_bound(texts, length):
    """Whatever a tokenizer that gives at most a token a byte counts, and however much is cached."""
    asked = request(*texts, sampling=Sampling(max_tokens=300))
    tokens = most_input_tokens(asked)
    for usage in (Usage(tokens, 0, length), Usage(tokens, tokens, length)):
        for prices in (PRICES, UNCACHED):
            cost = prices.cost(usage)
            assert cost is not None
            assert cost <= prices.at_most(asked)


def test_the_likely_tokens_are_estimated():
    assert likely_input_tokens(request("seven c", "")) == 2


@pytest.mark.parametrize(
    ("texts", "tokens"), [(["", "four"], 0), (["nine char"], 1), (["你好" * 5, "a" * 50], 15)]
)
def test_the_fewest_tokens_are_those_of_the_densest_tokenizer(texts, tokens):
    assert fewest_input_tokens(request(*texts)) == tokens
