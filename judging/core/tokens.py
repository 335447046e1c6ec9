"""Token counts before a call: an estimate for budgets, since tokenizers differ and none is local.

After a call the endpoint's own `usage` counts.
"""

from __future__ import annotations

import math
from typing import Final

ASCII_PER_TOKEN: Final = 3.5
"""Measured on SmolLM2's tokenizer: 4.2 on PandaLM's texts (median of 60), 1.5 on formulas."""
OTHER_TOKENS: Final = 1.2
"""Tokens a Chinese character or other non-ASCII one: about 0.7 with tokenizers that know Chinese,
1.85 with SmolLM2's, which does not."""


def estimate_tokens(text: str) -> int:
    """About how many tokens a text has, erring on the high side; 0 for an empty text."""
    ascii_count = len(text.encode("ascii", "ignore"))
    return math.ceil(ascii_count / ASCII_PER_TOKEN + (len(text) - ascii_count) * OTHER_TOKENS)


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
