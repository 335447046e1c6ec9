"""Provider batch files: requests as JSON lines in OpenAI's layout, and the replies to them.

A request's `custom_id` is the key under which its reply will be stored, so that a file can be
answered anywhere, in any order, in parts. A file with a fault is refused whole.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from annotation.core.refusals import Refused
from judging.core.chat import ChatRequest, Reply, read_completion
from judging.core.failed_replies import counts_tokens, problem_within
from judging.core.manners import PLAIN, Manners
from judging.core.problems import Problem, read_problem

URL: Final = "/v1/chat/completions"
_OK: Final = 200


@dataclass(frozen=True, slots=True)
class LineFault:
    """What is wrong with one line, counted from 1."""

    line: int
    reason: str

    def __str__(self) -> str:
        return f"line {self.line}: {self.reason}"


@dataclass(frozen=True, slots=True)
class BatchFailure:
    """A request that the provider did not answer: its status, and what it said.

    `status` is 0 if the file states none, and 200 for a failure within a success, of which `billed`
    says whether it cost tokens.
    """

    key: str
    status: int
    problem: Problem
    billed: bool = False


@dataclass(frozen=True, slots=True)
class BatchReplies:
    """What a file says, by key."""

    replies: Mapping[str, Reply]
    failures: Mapping[str, BatchFailure]


def request_line(request: ChatRequest, manners: Manners = PLAIN) -> str:
    """One request in an endpoint's manner, without the line's end."""
    line = {
        "custom_id": request.key(),
        "method": "POST",
        "url": URL,
        "body": manners.whole(request.body()),
    }
    return json.dumps(line, ensure_ascii=False)


def read_batch(lines: Iterable[str], *, awaited: Collection[str]) -> BatchReplies:
    """The replies in a file; empty lines are passed over.

    Args:
        lines: of the file.
        awaited: the keys that somebody waits for.

    Raises:
        Refused: with every fault: a line that is no reply or no JSON, a reply that nobody waits
            for, or two to one request.
    """
    replies: dict[str, Reply] = {}
    failures: dict[str, BatchFailure] = {}
    faults: list[LineFault] = []
    for number, line in enumerate(lines, start=1):
        if not line.strip():
            continue
        try:
            found = _read_line(line, awaited)
            if found.key in replies or found.key in failures:
                raise _FaultError(f"more than one reply to {found.key}")
        except _FaultError as fault:
            faults.append(LineFault(number, str(fault)))
            continue
        if isinstance(found, Reply):
            replies[found.key] = found
        else:
            failures[found.key] = found
    if faults:
        raise Refused("batch:faults", faults=tuple(faults))
    return BatchReplies(replies, failures)


MOST_CHARACTERS: Final = 64 * 2**20
"""Most characters of one reply, as of an endpoint's answer."""


class _FaultError(ValueError):
    """One line cannot be read."""


def _read_line(line: str, awaited: Collection[str]) -> Reply | BatchFailure:
    if len(line) > MOST_CHARACTERS:
        raise _FaultError(f"more than {MOST_CHARACTERS:,} characters")
    try:
        data = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise _FaultError("not JSON") from error
    key = data.get("custom_id") if isinstance(data, dict) else None
    if not isinstance(key, str):
        raise _FaultError("no custom_id")
    if key not in awaited:
        raise _FaultError(f"no reply to {key} is awaited: it is stored, or belongs to another run")
    response, problem = data.get("response"), data.get("error")
    if isinstance(response, dict):
        return _reply(key, response)
    if isinstance(problem, dict):
        return BatchFailure(key, 0, read_problem(problem) or Problem())
    raise _FaultError(f"no response and no error for {key}")


def _reply(key: str, response: Mapping[str, Any]) -> Reply | BatchFailure:
    status, body = response.get("status_code"), response.get("body")
    if type(status) is not int:
        raise _FaultError(f"the response to {key} has no status_code")
    problem = read_problem(body) or Problem() if status != _OK else problem_within(body)
    if problem is not None:
        return BatchFailure(key, status, problem, billed=counts_tokens(body))
    try:
        return read_completion(key, body, latency_ms=0)
    except Refused as error:
        raise _FaultError(f"the response to {key} is not a chat completion") from error
