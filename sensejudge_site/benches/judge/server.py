"""An OpenAI-compatible server that thinks for a fixed time: as little work a call as can be.

python -m sensejudge_site.benches.judge.server LATENCY_SECONDS prints its port. It counts how much
of each prompt's pair (all up to the end of response B) repeats the prompt that came just before,
which is what a server that keeps one prefix would not read again. GET /stats says it and starts
anew.
"""

from __future__ import annotations

import asyncio
import json
import sys
from dataclasses import dataclass
from typing import Final

PAIR_ENDS: Final = "</response_b>"
REPLY: Final = "Both were read with care. The final decision is Response A."
TOKEN_CHARACTERS: Final = 4
_HEAD_ENDS: Final = b"\r\n\r\n"


def common_prefix(one: str, two: str) -> int:
    """How many characters two texts begin alike, by halving."""
    low, high = 0, min(len(one), len(two))
    while low < high:
        middle = (low + high + 1) // 2
        if one[low:middle] == two[low:middle]:
            low = middle
        else:
            high = middle - 1
    return low


@dataclass(slots=True)
class ServerCounts:
    """What came in since the last look."""

    calls: int = 0
    pair: int = 0
    repeated: int = 0
    previous: str = ""

    def add(self, prompt: str) -> None:
        """Counts a prompt against the one before."""
        end = prompt.rfind(PAIR_ENDS) + len(PAIR_ENDS)
        self.calls += 1
        self.pair += end
        self.repeated += min(end, common_prefix(self.previous, prompt))
        self.previous = prompt

    def to_json(self) -> bytes:
        """The counts with the share that repeated."""
        share = self.repeated / self.pair if self.pair else 0.0
        return json.dumps({"calls": self.calls, "prefix_share": share}).encode()


class Connection(asyncio.Protocol):
    """One kept-alive connection; requests come one after the other."""

    def __init__(self, counts: list[ServerCounts], latency: float) -> None:
        self._counts, self._latency = counts, latency
        self._read = b""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Keeps where to write."""
        assert isinstance(transport, asyncio.Transport)  # noqa: S101 - a stream server's
        self._transport = transport

    def data_received(self, data: bytes) -> None:
        """Answers every request that is complete."""
        self._read += data
        while (end := self._read.find(_HEAD_ENDS)) >= 0:
            head = self._read[:end]
            length = _content_length(head)
            after = end + len(_HEAD_ENDS) + length
            if len(self._read) < after:
                return
            body = self._read[after - length : after]
            self._read = self._read[after:]
            self._answer(head, body)

    def _answer(self, head: bytes, body: bytes) -> None:
        if head.startswith(b"GET"):
            self._write(self._counts[0].to_json())
            self._counts[0] = ServerCounts()
            return
        asked = json.loads(body)
        prompt = "\n".join(message["content"] for message in asked["messages"])
        self._counts[0].add(prompt)
        reply = _completion(asked["model"], prompt)
        asyncio.get_running_loop().call_later(self._latency, self._write, reply)

    def _write(self, body: bytes) -> None:
        self._transport.write(
            b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: "
            + str(len(body)).encode()
            + _HEAD_ENDS
            + body
        )


def _content_length(head: bytes) -> int:
    for line in head.split(b"\r\n")[1:]:
        name, _, value = line.partition(b":")
        if name.strip().lower() == b"content-length":
            return int(value)
    return 0


def _completion(model: str, prompt: str) -> bytes:
    return json.dumps(
        {
            "id": "bench",
            "object": "chat.completion",
            "model": model,
            "choices": [
                {
                    "index": 0,
                    "message": {"role": "assistant", "content": REPLY},
                    "finish_reason": "stop",
                }
            ],
            "usage": {
                "prompt_tokens": len(prompt) // TOKEN_CHARACTERS,
                "completion_tokens": len(REPLY) // TOKEN_CHARACTERS,
                "prompt_tokens_details": {"cached_tokens": 0},
            },
        }
    ).encode()


async def _serve(latency: float) -> None:
    counts = [ServerCounts()]
    loop = asyncio.get_running_loop()
    server = await loop.create_server(lambda: Connection(counts, latency), "127.0.0.1", 0)
    sys.stdout.write(f"{server.sockets[0].getsockname()[1]}\n")
    sys.stdout.flush()
    await server.serve_forever()


if __name__ == "__main__":
    asyncio.run(_serve(float(sys.argv[1])))
