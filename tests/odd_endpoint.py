"""An endpoint that behaves differently at every call, and knows which answers it gave for good."""

from __future__ import annotations

import json
import random
from collections import Counter
from collections.abc import Mapping
from typing import Any

from tests.fake_llm import Act
from tests.llm_manners import EMPTY, FAILING, TEACHING

INFINITE = {"content": [{"token": "A", "logprob": float("-inf"), "top_logprobs": None}]}
ANSWERING: tuple[Act, ...] = (
    Act(streams=True),
    Act(usage={"prompt_tokens": 10**20, "completion_tokens": float("nan")}),
    Act(usage=[1]),
    Act(finish_reason="x" * 500),
    Act(choice={"logprobs": INFINITE}),
    Act(choice={"error": None, "content_filter_results": {"hate": {"filtered": False}}}),
    Act(text="I would rather not say."),
    Act(text=""),
    Act(text="Response A is", finish_reason="length"),
    Act(message=EMPTY | {"reasoning_content": "Hm."}),
)
"""Completions, odd or unreadable ones among them: each is paid for."""
LOSING: tuple[Act, ...] = (
    Act(drop=True),
    Act(status=500),
    Act(status=529, body={"type": "error", "error": {"type": "overloaded_error"}}),
    Act(status=429, headers={"Retry-After": "0"}),
    Act(status=503, headers={"Retry-After": "nan"}, raw=b"<title>Busy</title>"),
    Act(raw=b'{"choices": [{'),
    Act(raw=b""),
    Act(body={"choices": [], "prompt_filter_results": []}),
    Act(body={"choices": [{"index": float("inf")}], "created": 10**400}),
    Act(raw=b"data: {", headers={"Content-Type": "text/event-stream"}),
)
"""Answers in which no completion came."""
# A limit that the endpoint lowers would make two questions, one with more room, look alike.
TEACHERS = tuple(manner for name, manner in TEACHING.items() if name not in {"at-most"})
FAILURES = tuple(act for act, _code, _words in FAILING.values())


class OddEndpoint:
    """A manner for `FakeLlm`: half of the calls are answered, the others meet any oddity.

    `answered` counts the completions by question: its messages and its limit, for a reply that was
    cut is asked for once more, with room for a longer one.
    """

    def __init__(self, *, seed: int = 0, share: float = 0.5) -> None:
        self._seed, self._share = seed, share
        self._seen: Counter[str] = Counter()
        self.answered: Counter[str] = Counter()
        self.oddities = 0

    @property
    def paid_twice(self) -> int:
        """Completions beyond the first for a question."""
        return sum(self.answered.values()) - len(self.answered)

    def __call__(self, body: Mapping[str, Any]) -> Act | None:
        limit = body.get("max_completion_tokens", body.get("max_tokens"))
        asked = json.dumps([body["messages"], limit])
        self._seen[asked] += 1
        act, is_answer = self._drawn(body, random.Random(f"{self._seed}{asked}{self._seen[asked]}"))
        self.oddities += act is not None
        self.answered[asked] += is_answer
        self.answered += Counter()  # without zeros
        return act

    def _drawn(self, body: Mapping[str, Any], rng: random.Random) -> tuple[Act | None, bool]:
        if rng.random() >= self._share:
            return None, True
        kind = rng.choice(("answers", "teaches", "fails", "loses"))
        if kind == "answers":
            return rng.choice(ANSWERING), True
        if kind == "teaches":
            act = rng.choice(TEACHERS)(body)
            return act, act is None or act.answers
        return rng.choice(FAILURES if kind == "fails" else LOSING), False
