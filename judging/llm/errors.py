"""What can go wrong with a call, as one error with a stable code.

LlmError
permanent, and true of every call: llm:refused-key, llm:unknown-model, llm:quota, llm:no-api
permanent, this call only:         llm:bad-request, llm:forbidden, llm:no-logprobs,
llm:too-long, budget:spent
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
    BUDGET_SPENT = "budget:spent"


PASSING: Final = frozenset(
    {LlmCode.UNAVAILABLE, LlmCode.TIMEOUT, LlmCode.RATE_LIMITED, LlmCode.MALFORMED}
)
"""Failures that another try may not meet."""
ENDPOINT_WIDE: Final = frozenset(
    {LlmCode.REFUSED_KEY, LlmCode.UNKNOWN_MODEL, LlmCode.QUOTA, LlmCode.NO_API}
)
"""Failures that every further call would meet."""

_PERMANENT: Final = {
    401: LlmCode.REFUSED_KEY,
    402: LlmCode.QUOTA,
    403: LlmCode.FORBIDDEN,
    404: LlmCode.UNKNOWN_MODEL,
    405: LlmCode.NO_API,
}
_GATEWAY: Final = frozenset({502, 503, *range(520, 528)})
"""What a proxy answers whose server is not there; a server that chokes on a prompt says 500."""


class LlmError(Exception):
    """A call failed for good, after the tries that its kind allows.

    `detail` is what the endpoint said, shortened, without the key. `retry_after` is how many
    seconds it asked to wait. `maybe_billed` says that the endpoint may have worked all the same,
    `unreached` that nobody listened at its address, `gateway` that a proxy answered in its stead.
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
    ) -> None:
        super().__init__(f"{code.value}: {detail}" if detail else code.value)
        self.code = code
        self.detail = detail
        self.retry_after = retry_after
        self.maybe_billed = maybe_billed
        self.unreached = unreached
        self.gateway = gateway

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

    408, 425, 429 and every 5xx but 501 and 505 may pass; the rest will not. A 429 that names the
    quota is spent money, not haste. A redirect leads away from what was meant to be the API.
    """
    if refusal.kind == "insufficient_quota":
        code = LlmCode.QUOTA
    elif refusal.status in {408, 504, 524}:
        code = LlmCode.TIMEOUT
    elif refusal.status == 429:
        code = LlmCode.RATE_LIMITED
    elif refusal.status == 425 or (refusal.status >= 500 and refusal.status not in {501, 505}):
        code = LlmCode.UNAVAILABLE
    elif 300 <= refusal.status < 400:
        code = LlmCode.NO_API
    else:
        code = _PERMANENT.get(refusal.status, LlmCode.BAD_REQUEST)
    return LlmError(
        code,
        f"HTTP {refusal.status} {refusal.message}".strip(),
        retry_after=refusal.retry_after,
        maybe_billed=code is LlmCode.TIMEOUT,
        gateway=refusal.status in _GATEWAY,
    )


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
