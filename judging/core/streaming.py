"""A chat completion that comes in pieces, put together again.

Servers send one JSON event a piece, with `delta` in place of `message`, and the usage in a last one
without choices. The whole has the shape of an unstreamed completion, so one reader serves both.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


class CompletionPieces:
    """Collects the events of one streamed completion."""

    def __init__(self) -> None:
        self._content: list[str] = []
        self._reasoning: list[str] = []
        self._usage: object = None
        self._finish_reason = ""
        self._seen = False
        self.ended = False

    def add(self, event: object) -> bool:
        """Takes an event; whether the text grew."""
        fields = event if isinstance(event, Mapping) else {}
        if fields.get("usage"):
            self._usage = fields["usage"]
        choices = fields.get("choices")
        choice = choices[0] if isinstance(choices, list) and choices else None
        if not isinstance(choice, Mapping):
            return False
        self._seen = True
        if choice.get("finish_reason"):
            self._finish_reason = str(choice["finish_reason"])
            self.ended = True
        delta = choice.get("delta")
        return self._add_delta(delta) if isinstance(delta, Mapping) else False

    def _add_delta(self, delta: Mapping[str, object]) -> bool:
        apart = delta.get("reasoning_content") or delta.get("reasoning")
        if isinstance(apart, str):
            self._reasoning.append(apart)
        content = delta.get("content")
        if not isinstance(content, str) or not content:
            return False
        self._content.append(content)
        return True

    @property
    def content(self) -> str:
        """The text so far, with what reasoning stands in it."""
        return "".join(self._content)

    def completion(self) -> dict[str, Any]:
        """The JSON of the same completion as if it had not been streamed; {} before any piece."""
        if not self._seen:
            return {}
        message = {"content": self.content, "reasoning_content": "".join(self._reasoning)}
        return {
            "choices": [{"message": message, "finish_reason": self._finish_reason}],
            "usage": self._usage,
        }
