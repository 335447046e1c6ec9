"""Three models of known style, and a judge that likes long answers, behind one server."""

from __future__ import annotations

import json
import zlib
from collections.abc import Iterator
from contextlib import contextmanager

from tests.factory import make_endpoint
from tests.fake_llm import FakeLlm

STYLES = ("brief", "structured", "talkative")
JUDGE = "arbiter"
_REPLIES = {
    "brief": "Yes.",
    "structured": "1. The first point.\n2. The second point.",
    "talkative": "Well, there is a lot to be said about this, and I will gladly say all of it.",
}


def _reply(model: str, prompt: str) -> str:
    """In the model's own style, but now and then in another's: or nobody would ever lose."""
    drawn = zlib.crc32(f"{model} {prompt}".encode())
    style = model if drawn % 4 else STYLES[drawn // 4 % 3]
    return f"{_REPLIES[style]} ({drawn})"


@contextmanager
def three_styles() -> Iterator[FakeLlm]:
    """The server, with an endpoint for each model and for the judge."""
    with FakeLlm(rule="longer") as server:
        server.reply = _reply
        for name in (*STYLES, JUDGE):
            make_endpoint(name=name, base_url=server.base_url, model=name)
        yield server


def questions(count: int) -> str:
    """A file of questions of two turns, in MT-Bench's layout."""
    return "".join(
        json.dumps(
            {
                "question_id": number,
                "category": ("writing", "reasoning")[number % 2],
                "turns": [f"Question {number}?", "And then?"],
            }
        )
        + "\n"
        for number in range(count)
    )
