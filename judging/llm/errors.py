"""What can go wrong with a call, as one error with a stable code.

LlmError
permanent, and true of every call: llm:refused-key, llm:unknown-model, llm:quota, llm:no-api
permanent, this call only:         llm:bad-request, llm:forbidden, llm:no-logprobs, llm:cut,
llm:too-long, llm:over-context, llm:content-filter, llm:refusal, llm:tool-call, budget:spent
passing, tried again before:       llm:unavailable, llm:timeout, llm:rate-limited,
llm:malformed
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Final

from judging.core.causes import cause_of
from judging.core.problems import Problem, wait_in


class LlmCode(StrEnum):
    """Stable ids of failed calls."""

    UNAVAILABLE = "llm:unavailable"
    TIMEOUT = "llm:timeout"
    RATE_LIMITED = "llm:rate-limited"
    MALFORMED = "llm:malformed"
    REFUSED_KEY = "llm:refused-key"
    UNKNOWN_MODEL = "llm:unknown-model"
    QUOTA = "llm:quota"
    NO_API = "llm:no-api"
    BAD_REQUEST = "llm:bad-request"
    FORBIDDEN = "llm:forbidden"
    NO_LOGPROBS = "llm:no-logprobs"
    TOO_LONG = "llm:too-long"
    OVER_CONTEXT = "llm:over-context"
    CONTENT_FILTER = "llm:content-filter"
    REFUSAL = "llm:refusal"
    TOOL_CALL = "llm:tool-call"
    CUT = "llm:cut"
    BUDGET_SPENT = "budget:spent"


PASSING: Final = frozenset(
    {LlmCode.UNAVAILABLE, LlmCode.TIMEOUT, LlmCode.RATE_LIMITED, LlmCode.MALFORMED}
)
"""Failures that another try may not meet."""
ENDPOINT_WIDE: Final = frozenset(
    {LlmCode.REFUSED_KEY, LlmCode.UNKNOWN_MODEL, LlmCode.QUOTA, LlmCode.NO_API}
)
"""Failures that every further call would meet."""

ONE_CALL: Final = frozenset(
    {
        LlmCode.BAD_REQUEST,
        LlmCode.OVER_CONTEXT,
        LlmCode.CONTENT_FILTER,
        LlmCode.REFUSAL,
        LlmCode.TOOL_CALL,
        LlmCode.CUT,
    }
)
"""Failures that say nothing of another request."""

_PERMANENT: Final = {
    401: LlmCode.REFUSED_KEY,
    402: LlmCode.QUOTA,
    403: LlmCode.FORBIDDEN,
    404: LlmCode.UNKNOWN_MODEL,
    405: LlmCode.NO_API,
    413: LlmCode.OVER_CONTEXT,
    451: LlmCode.CONTENT_FILTER,
}
_GATEWAY: Final = frozenset({502, 503, *range(520, 528)})
"""What a proxy answers whose server is not there; a server that chokes on a prompt says 500."""


class LlmError(Exception):
    """A call failed for good, after the tries that its kind allows.

    `detail` is what the endpoint said, shortened, without the key. `retry_after` is how many
    seconds it asked to wait. `maybe_billed` says that the endpoint may have worked all the same,
    `unreached` that nobody listened at its address, `gateway` that a proxy answered in its stead.
    `problem` is all that it said, where it said something.
    """

    def __init__(
        self,
        code: LlmCode,
        detail: str = "",
        *,
        retry_after: float | None = None,
        maybe_billed: bool = False,
        unreached: bool = False,
        gateway: bool = False,
        problem: Problem | None = None,
    ) -> None:
        super().__init__(f"{code.value}: {detail}" if detail else code.value)
        self.code = code
        self.detail = detail
        self.retry_after = retry_after
        self.maybe_billed = maybe_billed
        self.unreached = unreached
        self.gateway = gateway
        self.problem = problem

    @property
    def permanent(self) -> bool:
        """Whether asking again later is useless until somebody changes something."""
        return self.code not in PASSING


@dataclass(frozen=True, slots=True)
class Refusal:
    """An answer of the endpoint that is no reply: its status, what it said, how long to wait."""

    status: int
    message: str = ""
    kind: str = ""
    retry_after: float | None = None


def error_of(refusal: Refusal) -> LlmError:
    """The error that a refusal means.

    408, 425, 429, 498, 499 and every 5xx but 501 and 505 may pass; the rest will not. A 429 that
    names the quota is spent money, not haste. A redirect leads away from what was meant to be the
    API.
    """
    problem = Problem(refusal.message, kinds=(refusal.kind,) if refusal.kind else ())
    return refused(refusal.status, problem, retry_after=refusal.retry_after)


def refused(
    status: int, problem: Problem, *, retry_after: float | None = None, detail: str = ""
) -> LlmError:
    """The error of an answer that is no reply.

    Args:
        status: of the answer, none of a success.
        problem: what it said.
        retry_after: seconds that its header asked to wait.
        detail: what it said, as people may read it; "" for its text.
    """
    code = LlmCode(cause_of(problem, status) or _by_status(status))
    if retry_after is None and code in PASSING:
        retry_after = problem.wait if problem.wait is not None else wait_in(problem.message)
    return LlmError(
        code,
        f"HTTP {status} {detail or problem.text}".strip(),
        retry_after=retry_after,
        maybe_billed=code is LlmCode.TIMEOUT,
        gateway=status in _GATEWAY and code is LlmCode.UNAVAILABLE,
        problem=problem,
    )


def failed_within(problem: Problem, *, billed: bool, detail: str = "") -> LlmError:
    """The error of an answer that came with HTTP 200 and tells of a failure.

    Args:
        problem: what it said.
        billed: whether it says that it cost tokens.
        detail: what it said, as people may read it; "" for its text.
    """
    cause = cause_of(problem, problem.status)
    code = LlmCode(cause or _by_status(problem.status or _BAD_GATEWAY))
    return LlmError(
        code,
        f"HTTP {problem.status or _OK} {detail or problem.text}".strip(),
        retry_after=problem.wait if code in PASSING else None,
        maybe_billed=billed,
        gateway=problem.status in _GATEWAY and code is LlmCode.UNAVAILABLE,
        problem=problem,
    )


_OK, _BAD_GATEWAY = 200, 502


_GONE: Final = frozenset({425, 498, 499})
"""Too early; Groq's want of capacity; a gateway that gave up waiting."""


def _by_status(status: int) -> LlmCode:
    if status in {408, 504, 524}:
        return LlmCode.TIMEOUT
    if status == 429:
        return LlmCode.RATE_LIMITED
    if status in _GONE or (status >= 500 and status not in {501, 505}):
        return LlmCode.UNAVAILABLE
    if 300 <= status < 400:
        return LlmCode.NO_API
    return _PERMANENT.get(status, LlmCode.BAD_REQUEST)


_LIKELY: Final = frozenset(
    {
        LlmCode.UNAVAILABLE,
        LlmCode.TIMEOUT,
        LlmCode.RATE_LIMITED,
        LlmCode.MALFORMED,
        LlmCode.FORBIDDEN,
        LlmCode.TOO_LONG,
    }
)
_NO_ANSWER: Final = frozenset({LlmCode.TIMEOUT, LlmCode.RATE_LIMITED, LlmCode.TOO_LONG})


class EndpointDownError(LlmError):
    """A call was not sent, or not once more: the endpoint failed those before it, too.

    `code` and `detail` are those of the failure that was one too many.
    """

    def __init__(self, cause: LlmError) -> None:
        super().__init__(cause.code, cause.detail)


@dataclass(slots=True)
class Breaker:
    """Opens once so many calls in a row were given up for what is the endpoint's own fault.

    A call counts once it was given up, after the tries that its kind of failure allows; a reply
    begins the count anew. `certain` calls are enough where no further one can fare better: nobody
    listens at the address, it is no API, or the key, the model or the account is refused. Other
    failures may be a question's own (a prompt that a server chokes on, under every preference), so
    `likely` of them are awaited. A request that the endpoint calls wrong says nothing of the next.

    Until a first reply (`proved`) `certain` calls at a time are tried, and as many failures are
    enough where the endpoint gave no answer of its own: none in time (each try counts, for another
    would only wait as long), only that it is asked too much, or a gateway's. A failure that may be
    the question's own lets one more call be tried at a time.
    """

    certain: int = 3
    likely: int = 50
    proved: bool = False
    cause: LlmError | None = None
    _certain: int = 0
    _likely: int = 0
    _opened: asyncio.Event = field(default_factory=asyncio.Event)
    _first: asyncio.Semaphore = field(init=False)

    def __post_init__(self) -> None:
        self._first = asyncio.Semaphore(self.certain)

    def check(self) -> None:
        """Let a call go on.

        Raises:
            EndpointDownError: enough calls failed.
        """
        if self.cause is not None:
            raise EndpointDownError(self.cause)

    @asynccontextmanager
    async def one_of_the_first(self) -> AsyncIterator[None]:
        """A call with all its tries, one of a few until the endpoint has proved itself.

        Raises:
            EndpointDownError: enough calls failed before its turn.
        """
        await self._first.acquire()
        if self.proved:
            self._first.release()  # for whoever waits behind
            yield
            return
        places = 1
        try:
            self.check()
            yield
        except LlmError as error:
            # One that failed for the endpoint's fault keeps its place: the others decide.
            if not self.proved and self.cause is None:
                places = 0 if self._is_its_fault(error) else 2
            raise
        finally:
            for _ in range(places):
                self._first.release()

    def answered(self) -> None:
        """A reply came."""
        self._certain = self._likely = 0
        if not self.proved:
            self.proved = True
            self._first.release()

    def failed(self, error: LlmError) -> None:
        """A try failed.

        Raises:
            EndpointDownError: it was one too many.
        """
        if not self.proved and error.code is LlmCode.TIMEOUT:
            self._count(error, certain=True)

    def gave_up(self, error: LlmError) -> None:
        """A call failed for good.

        Raises:
            EndpointDownError: it was one too many.
        """
        if self.proved or error.code is not LlmCode.TIMEOUT:  # else its tries have counted
            self._count(error, certain=self._is_its_fault(error))

    def _is_its_fault(self, error: LlmError) -> bool:
        """Whether no further call is likely to fare better."""
        if error.code in ENDPOINT_WIDE or error.unreached:
            return True
        no_answer = error.gateway or error.code in _NO_ANSWER
        return no_answer and not self.proved

    def _count(self, error: LlmError, *, certain: bool) -> None:
        self._certain += certain
        self._likely += not certain and error.code in _LIKELY
        if self._certain >= self.certain or self._likely >= self.likely:
            self.cause = self.cause or error
            self._opened.set()
            self._first.release()
            raise EndpointDownError(self.cause) from error

    async def pause(self, seconds: float) -> None:
        """Wait before the next try of a call.

        Raises:
            EndpointDownError: enough calls failed meanwhile.
        """
        try:
            async with asyncio.timeout(seconds):
                await self._opened.wait()
        except TimeoutError:
            return
        self.check()
