"""An OpenAI-compatible server on loopback that plays a judge: an LLM for tests and benchmarks.

It reads the prompts as a model would, by their tags, and answers by a stated rule, so that a whole
method can run against it and its outcome is known. What it should do instead can be scripted call
by call, or drawn by share; either way the same questions meet the same fate in every run.

    with FakeLlm(rule="longer") as server:
        ... server.base_url ... server.stats()

As a process of its own: python -m tests.fake_llm --port 8123 --latency 0.2 --fault 429=0.05
"""

from __future__ import annotations

import argparse
import asyncio
import hashlib
import json
import math
import os
import sys
import threading
from collections import Counter, deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from aiohttp import web

from tests.fake_judge import REMINDERS, FakeAnswer, answer_prompt, echo_of

CHARACTERS_PER_TOKEN = 4
STALL_SECONDS = 600.0  # longer than any test waits
PIECE_CHARACTERS = 4
FAULTS = ("400", "401", "429", "500", "drop", "empty", "garbage", "html", "malformed", "timeout")


@dataclass(frozen=True)
class Act:
    """What the server does with one call; the default is to answer by the rule."""

    status: int = 200
    text: str | None = None  # say this instead of answering
    raw: bytes | None = None  # send this body instead of a completion
    body: Mapping[str, object] | None = None  # send this JSON instead of a completion
    message: Mapping[str, object] | None = None  # send this message in the completion
    headers: Mapping[str, str] = field(default_factory=dict)
    delay: float = 0.0
    drop: bool = False
    finish_reason: str = "stop"
    piece_delay: float = 0.0  # between two pieces of a streamed reply
    breaks_after: int | None = None  # pieces, then the connection is cut
    stalls_after: int | None = None  # pieces, then no more come
    together: int = 0  # it waits until so many calls were open at once
    streams: bool = False  # also where nobody asked for a stream
    choice: Mapping[str, object] = field(default_factory=dict)  # more fields of the choice
    usage: object = None  # instead of what was counted

    @property
    def answers(self) -> bool:
        """Whether this is a completion, good or bad."""
        return self.status == 200 and self.raw is None and self.body is None


class FakeLlm:
    """The server, in a thread with its own event loop."""

    def __init__(
        self,
        *,
        rule: str = "longer",
        style: str = "plain",
        latency: float = 0.0,
        script: Sequence[Act] = (),
        faults: Mapping[str, float] | None = None,
        seed: int = 0,
        hang: float = 30.0,
        slots: int = 1,
        logprobs: bool = True,
        port: int = 0,
    ) -> None:
        self.rule, self.style, self.latency = rule, style, latency
        self.script = deque(script)
        self.told: dict[str, Act] = {}  # what to do with a prompt that holds a text
        # What it does with a body where it has a will of its own (tests.llm_manners).
        self.manner: Callable[[dict[str, Any]], Act | None] = lambda _body: None
        self.faults, self.seed, self.hang = dict(faults or {}), seed, hang
        self.logprobs, self.port = logprobs, port
        self.answered, self.most_answers = 0, math.inf  # those beyond wait until it is raised
        # Answers what is no question to a judge, by the model's name and the prompt.
        self.reply: Callable[[str, str], str] = lambda _model, _prompt: "ok"
        self.models: list[dict[str, Any]] | int = [  # as it lists them, or a status
            {"id": "fake", "object": "model"}
        ]
        self.bodies: deque[dict[str, Any]] = deque(maxlen=5_000)
        self.headers: deque[dict[str, str]] = deque(maxlen=50)
        self._recent: deque[str] = deque(maxlen=slots)
        self._seen: Counter[str] = Counter()
        self._counts: Counter[str] = Counter()
        self._statuses: Counter[str] = Counter()
        self._open = 0
        self._ready = threading.Event()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._stopping: asyncio.Event | None = None
        self._thread = threading.Thread(target=lambda: asyncio.run(self.serve()), daemon=True)

    @property
    def base_url(self) -> str:
        return f"http://127.0.0.1:{self.port}/v1"

    def __enter__(self) -> FakeLlm:
        self._thread.start()
        if not self._ready.wait(10):
            raise RuntimeError("the fake LLM did not start")
        return self

    def __exit__(self, *_error: object) -> None:
        assert self._loop is not None
        assert self._stopping is not None
        self._loop.call_soon_threadsafe(self._stopping.set)
        self._thread.join(10)

    def stats(self) -> dict[str, Any]:
        """Calls by status, tokens with those that repeat a recent prompt, most calls at a time."""
        return {
            "calls": self._counts["calls"],
            "statuses": dict(self._statuses),
            "input_tokens": self._counts["input_tokens"],
            "cached_tokens": self._counts["cached_tokens"],
            "output_tokens": self._counts["output_tokens"],
            "most_at_once": self._counts["most_at_once"],
            "distinct": len(self._seen),
        }

    async def serve(self) -> None:
        """Serve until stopped."""
        self._loop, self._stopping = asyncio.get_running_loop(), asyncio.Event()
        app = web.Application(client_max_size=64 * 1024 * 1024)
        app.router.add_post("/v1/chat/completions", self._complete)
        app.router.add_get("/v1/models", self._models)
        app.router.add_post("/score", self._score)
        app.router.add_get("/stats", self._stats)
        runner = web.AppRunner(
            app, access_log=None, shutdown_timeout=0.1, handler_cancellation=True
        )
        await runner.setup()
        site = web.TCPSite(runner, "127.0.0.1", self.port)
        await site.start()
        self.port = runner.addresses[0][1]
        self._ready.set()
        await self._stopping.wait()
        await runner.cleanup()

    async def _models(self, _request: web.Request) -> web.Response:
        if isinstance(self.models, int):
            return web.Response(status=self.models)
        return web.json_response({"object": "list", "data": self.models})

    async def _score(self, request: web.Request) -> web.StreamResponse:
        """A reward model: the score is the number of characters, or what is scripted."""
        body = json.loads(await request.read())
        self.bodies.append(body)
        self._counts["calls"] += 1
        act = self.script.popleft() if self.script else Act()
        score = {"score": len(body["response"]) / 10}
        return web.json_response(act.body or score, status=act.status)

    async def _stats(self, _request: web.Request) -> web.Response:
        return web.json_response(self.stats())

    async def _complete(self, request: web.Request) -> web.StreamResponse:
        body = json.loads(await request.read())
        self.bodies.append(body)
        self.headers.append(dict(request.headers))
        self._counts["calls"] += 1
        self._open += 1
        self._counts["most_at_once"] = max(self._counts["most_at_once"], self._open)
        act = self._act(body)
        prompt = "\n".join(message["content"] for message in body["messages"])
        cached = self._remember(prompt)
        try:
            await asyncio.sleep(self.latency + act.delay)
            while self.answered >= self.most_answers or self._counts["most_at_once"] < act.together:
                await asyncio.sleep(0.02)
            self.answered += 1
            streams = act.streams or body.get("stream")
            if streams and act.answers and not act.drop and act.message is None:
                return await self._stream(request, body, act, prompt, cached)
            return self._respond(request, body, act, prompt, cached)
        finally:
            self._open -= 1

    def _respond(self, request, body, act: Act, prompt: str, cached: int) -> web.StreamResponse:
        self._statuses["drop" if act.drop else str(act.status)] += 1
        if act.drop:
            assert request.transport is not None
            request.transport.abort()
            return web.Response()
        if act.raw is not None:
            return web.Response(status=act.status, body=act.raw, headers=act.headers)
        if act.status != 200 or act.body is not None:
            problem = act.body or {"error": {"message": f"scripted {act.status}", "code": None}}
            return web.json_response(problem, status=act.status, headers=act.headers)
        return web.json_response(self._completion(body, act, prompt, cached), headers=act.headers)

    async def _stream(
        self, request, body, act: Act, prompt: str, cached: int
    ) -> web.StreamResponse:
        """The completion in pieces of a few characters, as servers stream it."""
        self._statuses["200"] += 1
        whole = self._completion(body, act, prompt, cached)
        (choice,) = whole["choices"]
        text = choice["message"]["content"]
        headers = {"Content-Type": "text/event-stream", **act.headers}
        response = web.StreamResponse(headers=headers)
        await response.prepare(request)

        async def send(delta, finish_reason=None, **more):
            piece = {"index": 0, "delta": delta, "finish_reason": finish_reason}
            if finish_reason and "logprobs" in choice:
                piece["logprobs"] = choice["logprobs"]
            event = {**whole, "object": "chat.completion.chunk", "choices": [piece], **more}
            await response.write(f"data: {json.dumps(event)}\n\n".encode())

        await send({"role": "assistant", "content": ""}, usage=None)
        for number, start in enumerate(range(0, len(text), PIECE_CHARACTERS)):
            if number == act.breaks_after:
                request.transport.abort()
                return response
            if number == act.stalls_after:
                await asyncio.sleep(STALL_SECONDS)
            await send({"content": text[start : start + PIECE_CHARACTERS]}, usage=None)
            await asyncio.sleep(act.piece_delay)
        await send({}, choice["finish_reason"], usage=None)
        if (body.get("stream_options") or {}).get("include_usage"):
            usage = {**whole, "object": "chat.completion.chunk", "choices": []}
            await response.write(f"data: {json.dumps(usage)}\n\n".encode())
        await response.write(b"data: [DONE]\n\n")
        return response

    def _completion(
        self, body: dict[str, Any], act: Act, prompt: str, cached: int
    ) -> dict[str, Any]:
        letter_only = body.get("max_tokens") == 1 or body.get("max_completion_tokens") == 1
        texts = [message["content"] for message in body["messages"]]
        reminded = texts[-1] in REMINDERS
        question = texts[0] if reminded else texts[-1]
        if act.text is not None:
            answer = FakeAnswer(act.text)
        elif self.style == "echo" or (self.style == "echo-first" and not reminded):
            answer = FakeAnswer(echo_of(question))
        else:
            answer = answer_prompt(
                texts[0] if reminded else prompt,
                rule=self.rule,
                style=self.style,
                letter=letter_only,
            ) or FakeAnswer("A" if letter_only else self.reply(body["model"], prompt))
        usage: dict[str, Any] = {
            "prompt_tokens": len(prompt) // CHARACTERS_PER_TOKEN,
            "completion_tokens": len(answer.text) // CHARACTERS_PER_TOKEN + 1,
            "prompt_tokens_details": {"cached_tokens": cached},
        }
        self._counts["input_tokens"] += usage["prompt_tokens"]
        self._counts["cached_tokens"] += cached
        self._counts["output_tokens"] += usage["completion_tokens"]
        choice: dict[str, Any] = {
            "index": 0,
            "message": act.message or {"role": "assistant", "content": answer.text},
            "finish_reason": act.finish_reason,
        }
        if body.get("logprobs") and self.logprobs:
            choice["logprobs"] = {"content": answer.steps()}
        return {
            "id": "fake",
            "object": "chat.completion",
            "model": body["model"],
            "choices": [{**choice, **act.choice}],
            "usage": usage if act.usage is None else act.usage,
        }

    def _act(self, body: dict[str, Any]) -> Act:
        if self.script:
            return self.script.popleft()
        if (wanted := self.manner(body)) is not None:
            return wanted
        texts = [message["content"] for message in body["messages"]]
        prompt = texts[0] if texts[-1] in REMINDERS else texts[-1]
        for text, act in self.told.items():
            if text in prompt:
                return act
        name = hashlib.sha256(json.dumps(body, sort_keys=True).encode()).hexdigest()
        self._seen[name] += 1
        drawn = hashlib.sha256(f"{self.seed}:{name}:{self._seen[name]}".encode()).digest()
        place = int.from_bytes(drawn[:8], "big") / 2**64
        for fault, share in self.faults.items():
            if place < share:
                return self._fault(fault)
            place -= share
        return Act()

    def _fault(self, fault: str) -> Act:
        if fault.isdigit():
            return Act(status=int(fault), headers={"Retry-After": "0"} if fault == "429" else {})
        return {
            "drop": Act(drop=True),
            "empty": Act(text=""),
            "garbage": Act(text="Both have their merits; I would rather not say."),
            "html": Act(raw=b"<html>Welcome"),
            "malformed": Act(raw=b'{"choices": [{'),
            "timeout": Act(delay=self.hang),
        }[fault]

    def _remember(self, prompt: str) -> int:
        """Tokens that repeat the start of a recent prompt, as a server's prefix cache counts."""
        shared = max((_common_prefix(prompt, recent) for recent in self._recent), default=0)
        self._recent.append(prompt)
        return shared // CHARACTERS_PER_TOKEN


def _common_prefix(first: str, second: str) -> int:
    low, high = 0, min(len(first), len(second))
    while low < high:
        middle = (low + high + 1) // 2
        if first[:middle] == second[:middle]:
            low = middle
        else:
            high = middle - 1
    return low


def main(arguments: Sequence[str] | None = None) -> None:
    """Serve until interrupted; the first line of output is {"base_url": ..., "pid": ...}."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--port", type=int, default=0)
    parser.add_argument("--latency", type=float, default=0.0, help="seconds")
    parser.add_argument("--rule", default="longer")
    parser.add_argument("--style", default="plain")
    parser.add_argument("--slots", type=int, default=1, help="recent prompts that count as cached")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--hang", type=float, default=30.0, help="seconds a time-out takes")
    parser.add_argument(
        "--fault", action="append", default=[], metavar="KIND=SHARE", help=str(FAULTS)
    )
    given = parser.parse_args(arguments)
    faults = {kind: float(share) for kind, share in (item.split("=") for item in given.fault)}
    if not faults.keys() <= set(FAULTS):
        parser.error(f"a fault is one of {', '.join(FAULTS)}")
    server = FakeLlm(
        rule=given.rule,
        style=given.style,
        latency=given.latency,
        faults=faults,
        seed=given.seed,
        hang=given.hang,
        slots=given.slots,
        port=given.port,
    )
    with server:
        sys.stdout.write(json.dumps({"base_url": server.base_url, "pid": os.getpid()}) + "\n")
        sys.stdout.flush()
        try:
            threading.Event().wait()
        except KeyboardInterrupt:
            return


if __name__ == "__main__":
    main()
