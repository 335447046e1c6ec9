"""What calls cost, and could cost at most: tokens, and money in the currency of the prices."""

from __future__ import annotations

import json
import math
from dataclasses import dataclass
from decimal import ROUND_UP, Decimal
from typing import Final

from judging.core.chat import ChatRequest, Usage

ASCII_PER_TOKEN: Final = 3.5
"""Measured on SmolLM2's tokenizer: 4.2 on PandaLM's texts (median of 60), 1.5 on formulas."""
OTHER_TOKENS: Final = 1.2
"""Tokens a Chinese character or other non-ASCII one: about 0.7 with tokenizers that know Chinese,
1.85 with SmolLM2's, which does not."""


def estimate_tokens(text: str) -> int:
    """About how many tokens a text has, erring on the high side; 0 for an empty text."""
    ascii_count = len(text.encode("ascii", "ignore"))
    return math.ceil(ascii_count / ASCII_PER_TOKEN + (len(text) - ascii_count) * OTHER_TOKENS)


_MOST_ASCII_PER_TOKEN: Final = 5
_FEWEST_OTHER_TOKENS: Final = 0.5


def fewest_tokens(text: str) -> int:
    """As few tokens as a text has by any usual tokenizer; 0 for an empty text."""
    ascii_count = len(text.encode("ascii", "ignore"))
    other = (len(text) - ascii_count) * _FEWEST_OTHER_TOKENS
    return int(ascii_count / _MOST_ASCII_PER_TOKEN + other)


def shorten(text: str, *, tokens: int, mark: str) -> str:
    """The text, or its beginning and end around `mark` where it is longer than about `tokens`.

    Three quarters of what is kept are the beginning. Both ends grow with `tokens`.
    """
    estimate = estimate_tokens(text)
    if estimate <= tokens:
        return text
    kept = int(len(text) * max(tokens, 0) / estimate)
    tail = kept // 4
    return f"{text[: kept - tail]}{mark}{text[len(text) - tail :]}"


MESSAGE_TOKENS: Final = 16
"""More than any known chat template puts around a message."""
FRAME_TOKENS: Final = 64
"""What a template may put around a whole conversation."""
_MILLION: Final = Decimal(1_000_000)
_SMALLEST: Final = Decimal("0.00000001")
_MOST_OF_A_CALL: Final = Decimal(1_000_000)
"""What a row can hold; a call that costs more was counted wrongly by its endpoint."""


@dataclass(frozen=True, slots=True)
class Prices:
    """Money for a million tokens; `cached_input` None is the price of other input tokens.

    `batch_share` is what a call in a batch file costs, as a share of the same call sent alone.
    """

    input: Decimal = Decimal(0)
    cached_input: Decimal | None = None
    output: Decimal = Decimal(0)
    batch_share: Decimal = Decimal(1)

    @property
    def known(self) -> bool:
        """Whether calls cost anything, so that money can be counted."""
        return bool(self.input or self.cached_input or self.output)

    def cost(self, usage: Usage, *, batch: bool = False) -> Decimal | None:
        """What a reply cost; None without prices, or if the endpoint's counts are no usable ones.

        Cached input tokens are part of the input tokens.
        """
        if not self.known:
            return None
        if usage.input_tokens is None or (self.output and usage.output_tokens is None):
            return None
        cached = min(usage.cached_tokens or 0, usage.input_tokens)
        cached_price = self.input if self.cached_input is None else self.cached_input
        whole = (usage.input_tokens - cached) * self.input + cached * cached_price
        whole += (usage.output_tokens or 0) * self.output
        cost = _rounded(whole * (self.batch_share if batch else 1))
        return cost if cost < _MOST_OF_A_CALL else None

    def of_tokens(self, *, input_tokens: int, output_tokens: int) -> Decimal:
        """What so many tokens cost where nothing is cached."""
        return _rounded(input_tokens * self.input + output_tokens * self.output)

    def at_least(self, request: ChatRequest) -> Decimal:
        """What a call costs that reads all of its prompt from a cache and writes one token."""
        cheapest = self.input if self.cached_input is None else min(self.input, self.cached_input)
        return _rounded(likely_input_tokens(request) * cheapest + self.output)

    def at_most(self, request: ChatRequest) -> Decimal:
        """What no call of this request can cost more than, by bytes and the limit of its reply."""
        dearest = max(self.input, self.cached_input or 0)
        return _rounded(
            most_input_tokens(request) * dearest + request.sampling.max_tokens * self.output
        )


def most_input_tokens(request: ChatRequest) -> int:
    """A bound on the tokens of a request: the bytes of its texts and of its template's frame."""
    texts = sum(len(message.text.encode()) + MESSAGE_TOKENS for message in request.messages)
    schema = 0 if request.schema is None else len(json.dumps(dict(request.schema.schema)))
    return texts + schema + FRAME_TOKENS


def likely_input_tokens(request: ChatRequest) -> int:
    """About how many tokens a request has; see `tokens.estimate_tokens`."""
    return sum(estimate_tokens(message.text) for message in request.messages)


def fewest_input_tokens(request: ChatRequest) -> int:
    """As few tokens as a request has by any usual tokenizer; see `fewest_tokens`."""
    return sum(fewest_tokens(message.text) for message in request.messages)


def _rounded(millions: Decimal) -> Decimal:
    """Money of so many token prices of a million, rounded up to what a row can hold."""
    return (millions / _MILLION).quantize(_SMALLEST, rounding=ROUND_UP)
