"""What an endpoint can do, found out at its first use and kept with it.

One small request an ability, sent by the same client as every other call, and two more: the list
of models may tell how long a context is, and a short reply how fast it is written. Nothing of it
is a judgment: the replies are not stored, and no run pays for them.
"""

from __future__ import annotations

import contextlib
import json
import os
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from hashlib import sha256
from typing import Final, NamedTuple

from django.db import transaction

from annotation.core.conversations import Message, Speaker
from annotation.core.refusals import Refused
from judging.core.chat import ChatRequest, JsonSchema, Reply
from judging.core.endpoints import Endpoint, listed_context
from judging.core.manners import PLAIN, Manners
from judging.core.rules import JudgePrompt
from judging.core.score_api import letter_odds, parse_score, scored_messages
from judging.core.verdicts import VerdictRule
from judging.judges.llm_judge import LETTER_ALTERNATIVES
from judging.llm.client import ChatClient
from judging.llm.errors import ONE_CALL, PASSING, LlmCode, LlmError
from judging.llm.pacing import Patience
from judging.llm.transport import deadline
from judging.models import JudgeRun, ModelEndpoint, RunKind, RunStatus
from judging.services.endpoints import endpoint_of, lacks_key, unset_variable
from judging.services.interrupts import wait_for
from judging.services.replies import CallClaims

ABILITIES: Final = ("logprobs", "json_schema", "system_role")
LONGEST_WAIT_SECONDS: Final = 15.0
"""Of one request: three of them are over before a run counts as left (RUN_STALE_SECONDS)."""
LETTERS_WAIT_SECONDS: Final = 5.0
"""Of the one request that somebody waits for who starts a run."""
_ASKED_ELSEWHERE_SECONDS: Final = 0.25
_SCHEMA_TOKENS: Final = 200
_SPEED_TOKENS: Final = 48
_SHORTEST_TIME: Final = 0.001
_FEWEST_TOKENS: Final = 8
"""A shorter reply is mostly waiting, and tells nothing of the speed."""
_SCHEMA: Final = JsonSchema(
    "greeting",
    {
        "type": "object",
        "properties": {"greeting_in_french": {"type": "string"}},
        "required": ["greeting_in_french"],
        "additionalProperties": False,
    },
)


def find_abilities(
    row: ModelEndpoint,
    *,
    wanted: Sequence[str] = ABILITIES,
    wait: float = LONGEST_WAIT_SECONDS,
    again: bool = False,
    environ: Mapping[str, str] = os.environ,
    sleep: Callable[[float], None] = time.sleep,
) -> LlmError | None:
    """Asks for what is not known of an endpoint, and stores what was found; in no transaction.

    Returns why it did not answer, None where it did.

    What cannot be told, because the endpoint is down or busy, stays unknown and is asked for the
    next time. A reward model is no chat, and has none of these abilities.

    Args:
        row: the endpoint; brought up to date.
        wanted: which abilities.
        wait: seconds for each reply.
        again: ask for everything, also for what is known or was stated.
        environ: where the key's variable is looked up.
        sleep: waits while somebody else asks the same endpoint, so that it is asked once.

    Raises:
        Refused: its base URL cannot be used, or its key may not be sent; it is to be asked `again`,
            but somebody else is doing so.
    """
    claims = CallClaims(run_id=None)
    key = sha256(f"abilities of {row.address}".encode()).hexdigest()
    while True:
        unknown = [ability for ability in wanted if again or row.can(ability) is None]
        measures = again or not row.is_measured
        if row.has_scores or not (unknown or measures):
            return None
        if claims.take([key]):
            break
        if again:
            raise Refused("llm:under-test", f"somebody tests {row.name}")
        sleep(_ASKED_ELSEWHERE_SECONDS)
        row.refresh_from_db()
    try:
        return _find(row, unknown, wait, environ, measures=measures, again=again)
    finally:
        claims.drop_all()


def _find(
    row: ModelEndpoint,
    unknown: list[str],
    wait: float,
    environ: Mapping[str, str],
    *,
    measures: bool,
    again: bool,
) -> LlmError | None:
    endpoint = endpoint_of(row)
    if again:  # what was learned under a wrong key, or of an older server, must not stand
        endpoint = replace(endpoint, manners=PLAIN)
    found = wait_for(_probe, endpoint, unknown, wait, environ, measures)
    _note(row, found, again=again)
    _keep(row, "probe_address", *(f"has_{ability}" for ability in ABILITIES), *_MEASURED, *_MANNERS)
    return found.error


def _note(row: ModelEndpoint, found: _Found, *, again: bool) -> None:
    """Write what was found into the row, which is not stored yet."""
    is_over = found.answered and found.error is None
    if row.probe_address not in {"", row.address} or (again and is_over):
        for ability in ABILITIES:  # it was known of another model, or not for certain
            setattr(row, f"has_{ability}", None)
    for ability, known in found.abilities.items():
        setattr(row, f"has_{ability}", known)
        row.probe_address = row.address
    if found.is_measured:
        row.found_context_tokens, row.found_tokens_per_second = found.context, found.speed
        row.measured_address = row.address
    if found.answered:
        taught = found.manners.to_json()
        for ability in found.abilities:  # those have columns of their own
            taught.pop(ability, None)
        row.learned_manners, row.manners_address = taught, row.address


def check_answers(row: ModelEndpoint, *, environ: Mapping[str, str] = os.environ) -> None:
    """Asks an endpoint anew what it can do; of a reward model, one score.

    Raises:
        LlmError: it did not answer, or not as it should.
        Refused: its base URL cannot be used; its key may not be sent, or is not there.
    """
    if variable := unset_variable(row, environ=environ):
        raise Refused("llm:no-key", f"{variable} is not set")
    if row.has_scores:
        wait_for(_score, endpoint_of(row), environ)
    elif (error := find_abilities(row, again=True, environ=environ)) is not None:
        raise error


async def _score(endpoint: Endpoint, environ: Mapping[str, str]) -> None:
    asked = Message(Speaker.USER, "Say hello.")
    request = endpoint.request(scored_messages((asked,), "Hello!"))
    waiting = replace(endpoint, timeout_seconds=min(endpoint.timeout_seconds, LONGEST_WAIT_SECONDS))
    async with ChatClient(waiting, patience=Patience(tries=1), environ=environ) as client:
        reply = await client.complete(request)
    if parse_score(reply.text) is None:
        raise LlmError(LlmCode.MALFORMED, "the answer holds no number")


_MEASURED: Final = ("found_context_tokens", "found_tokens_per_second", "measured_address")
_MANNERS: Final = ("learned_manners", "manners_address")


def _keep(row: ModelEndpoint, *fields: str) -> None:
    """Store what was found, unless somebody gave the endpoint another address meanwhile."""
    same = ModelEndpoint.objects.filter(pk=row.pk, base_url=row.base_url, model=row.model)
    same.update(**{name: getattr(row, name) for name in fields})


def note_context(row: ModelEndpoint, tokens: int) -> None:
    """Keeps the context that an endpoint named when it refused a longer request."""
    if not row.is_measured:
        row.found_tokens_per_second, row.measured_address = None, row.address
    row.found_context_tokens = tokens
    _keep(row, *_MEASURED)


def note_manners(row: ModelEndpoint, manners: Manners) -> None:
    """Keeps what an endpoint's refusals taught in a run; what others learned meanwhile stays."""
    if manners == row.manners:
        return
    with transaction.atomic():
        now = ModelEndpoint.objects.select_for_update().filter(pk=row.pk).first()
        if now is not None and now.address == row.address:
            row.learned_manners = now.manners.to_json() | manners.to_json()
            row.manners_address = row.address
            _keep(row, *_MANNERS)


def learn_manners(row: ModelEndpoint) -> None:
    """Asks an endpoint that nobody has asked before how it wants to be asked, if it answers."""
    known = row.is_measured or row.manners_address == row.address
    if not (known or lacks_key(row)):
        with contextlib.suppress(Refused):
            find_abilities(row, wanted=(), wait=LETTERS_WAIT_SECONDS)


def list_context_again(row: ModelEndpoint, *, environ: Mapping[str, str] = os.environ) -> None:
    """Brings a context up to date of which a server has got a longer one since; in no transaction.

    Where it does not answer, what is known stands.
    """
    try:
        listed = wait_for(_listed, endpoint_of(row), environ)
    except (LlmError, Refused):
        return
    if listed is not None and listed > (row.told_context or listed):
        row.found_context_tokens = listed
        _keep(row, "found_context_tokens")


async def _listed(endpoint: Endpoint, environ: Mapping[str, str]) -> int | None:
    wait = min(endpoint.timeout_seconds, LETTERS_WAIT_SECONDS)
    waiting = replace(endpoint, timeout_seconds=wait)
    async with ChatClient(waiting, patience=Patience(tries=1), environ=environ) as client:
        return listed_context(await client.listing(), model=endpoint.model)


def check_letters(row: ModelEndpoint) -> None:
    """Refuses an endpoint that is known to return no log-probabilities.

    Raises:
        Refused: it returns none.
    """
    if row.has_scores or row.can("logprobs") is False:
        raise Refused("llm:no-logprobs", f"{row.name} returns no log-probabilities")


def learn_abilities(runs: Sequence[JudgeRun]) -> None:
    """Finds out what is not known of the endpoints that planned runs would ask; waits for it.

    Each is asked once, in no transaction; those whose calls go by batch file are not. What only
    shapes a request is left to the first dispatch.

    Raises:
        Refused: one returns no log-probabilities, but verdicts are to be read by them; one cannot
            be asked.
    """
    known: dict[int, ModelEndpoint] = {}
    asked = set()
    for run in runs:
        if run.status == RunStatus.BATCH:
            continue
        letters = run.config.get("verdict_rule") == VerdictRule.LOGPROB
        for name in ("endpoint", "writer_endpoint"):
            row = getattr(run, name)
            if row is None:
                continue
            setattr(run, name, row := known.setdefault(row.pk, row))
            wanted = ("logprobs",) if letters and name == "endpoint" else ()
            if (row.pk, wanted) not in asked:
                asked.add((row.pk, wanted))
                find_abilities(row, wanted=wanted, wait=LETTERS_WAIT_SECONDS)
            if wanted:
                check_letters(row)


class SlowReply(NamedTuple):
    """An endpoint whose longest reply takes longer than it is waited for, as fast as it writes."""

    judge: str
    tokens: int
    speed: float
    timeout: float

    @property
    def seconds(self) -> float:
        """How long the reply would take."""
        return self.tokens / self.speed


def slow_replies(runs: Iterable[JudgeRun]) -> tuple[SlowReply, ...]:
    """Whom planned runs would ask for replies that cannot come in time; each endpoint once."""
    found = {}
    for run in runs:
        for row in filter(None, (run.endpoint, run.writer_endpoint)):
            tokens = _longest_reply(run, row)
            if row.speed and tokens / row.speed > row.timeout_seconds:
                found[row.pk] = SlowReply(row.name, tokens, row.speed, row.timeout_seconds)
    return tuple(found.values())


def _longest_reply(run: JudgeRun, row: ModelEndpoint) -> int:
    """Tokens; a letter is one, but who distils or writes references writes more."""
    if run.kind == RunKind.GENERATE:
        return int(run.config["max_tokens"])
    letters = run.config.get("verdict_rule") == VerdictRule.LOGPROB
    writes = run.kind == RunKind.DISTIL and (not run.writer or row.pk == run.writer_endpoint_id)
    writes = writes or run.config.get("prompt") == JudgePrompt.OWN_REFERENCE
    return 1 if letters and not writes else row.max_tokens


def could_read_letters(runs: Iterable[JudgeRun]) -> tuple[str, ...]:
    """The judges of planned comparisons whose letter probabilities are known, but not to be read.

    They cancel a judge's position bias, so they are recommended where a run could read them.
    """
    return tuple(
        dict.fromkeys(
            run.judge
            for run in runs
            if run.kind in (RunKind.DISTIL, RunKind.TEST)
            and run.endpoint is not None
            and run.endpoint.can("logprobs")
            and run.config.get("verdict_rule") != VerdictRule.LOGPROB
        )
    )


@dataclass(slots=True)
class _Found:
    """What a probe found; it `is_measured` where the endpoint could be asked to the end.

    `error` is why it could not be, or why no request succeeded; it `answered` once one did.
    """

    abilities: dict[str, bool] = field(default_factory=dict)
    context: int | None = None
    speed: float | None = None
    is_measured: bool = False
    error: LlmError | None = None
    answered: bool = False
    manners: Manners = PLAIN


async def _probe(
    endpoint: Endpoint,
    abilities: list[str],
    wait: float,
    environ: Mapping[str, str],
    measures: bool,  # noqa: FBT001 - it is passed on by position
) -> _Found:
    able = replace(
        endpoint,
        has_logprobs=True,
        has_json_schema=True,
        has_system_role=True,
        timeout_seconds=min(endpoint.timeout_seconds, wait),
        sampling=replace(
            endpoint.sampling, max_tokens=min(endpoint.sampling.max_tokens, _SCHEMA_TOKENS)
        ),
    )
    found = _Found()
    async with ChatClient(able, patience=Patience(tries=1), environ=environ) as client:
        for ability in abilities:
            try:
                reply = await client.complete(_request(able, ability))
            except LlmError as error:
                found.error = error
                if error.code not in ONE_CALL:
                    break  # the next request would meet the same
                continue
            found.answered = True
            taught = client.manners.takes(ability)
            found.abilities[ability] = taught and _shows(ability, reply)
        else:
            if measures:
                await _measure(client, found)
        found.manners = client.manners
    if found.answered and found.error is not None and found.error.code in ONE_CALL:
        found.error = None  # that request alone was refused, without saying why
    return found


_NO_ANSWER: Final = PASSING | {LlmCode.REFUSED_KEY, LlmCode.QUOTA, LlmCode.FORBIDDEN}
"""To who asks for the list of models: others fail where there is only no such list."""


async def _measure(client: ChatClient, found: _Found) -> None:
    """The context that the endpoint lists, and the speed of a short reply."""
    is_there = False
    try:
        found.context = listed_context(await client.listing(), model=client.endpoint.model)
        is_there = True
    except LlmError as error:
        if error.code in _NO_ANSWER:
            found.error = error
            return
    try:
        found.speed = await _speed(client, is_there=is_there)
        found.answered = True
    except LlmError as error:
        found.error = error
        if error.code not in ONE_CALL:
            return
    found.is_measured = True


async def _speed(client: ChatClient, *, is_there: bool) -> float | None:
    """Tokens a second while a reply is written; None where too few came to tell.

    Of a reply that is not over in time, as many as came; of one of which nothing came, although
    the endpoint `is_there`, the speed that it stays below. Where it comes in one piece, however it
    was written, the time until then counts whole: that errs on the slow side.
    """
    wait = client.endpoint.timeout_seconds
    told: list[float] = []
    asked = Message(Speaker.USER, "Count from 1 to 30 in digits.")
    request = client.endpoint.request((asked,), max_tokens=_SPEED_TOKENS)
    tokens, started = None, time.monotonic()
    try:
        async with deadline(wait):
            reply = await client.stream(request, lambda _said: told.append(time.monotonic()))
            tokens = reply.usage.output_tokens
    except TimeoutError:
        if not told:
            if is_there:
                return _SPEED_TOKENS / wait
            raise LlmError(LlmCode.TIMEOUT) from None
    tokens = tokens or len(told)
    whole = max(time.monotonic() - started, _SHORTEST_TIME)
    writing = told[-1] - told[0] if told else 0.0
    if tokens < _FEWEST_TOKENS and whole < wait:
        return None
    return (tokens - 1) / writing if writing > whole / 2 else tokens / whole


def _request(endpoint: Endpoint, ability: str) -> ChatRequest:
    if ability == "logprobs":
        asked = Message(Speaker.USER, "Answer with one letter and nothing else: A or B.")
        return endpoint.request((asked,), max_tokens=1, top_logprobs=LETTER_ALTERNATIVES)
    if ability == "json_schema":
        asked = Message(Speaker.USER, "Say hello.")
        return endpoint.request((asked,), max_tokens=_SCHEMA_TOKENS, schema=_SCHEMA)
    told = Message(Speaker.SYSTEM, "Answer in one word.")
    return endpoint.request((told, Message(Speaker.USER, "Say hello.")), max_tokens=_SCHEMA_TOKENS)


def _shows(ability: str, reply: Reply) -> bool:
    """Whether a reply shows an ability; of system messages it is enough that it came."""
    if ability == "logprobs":
        return letter_odds(reply.steps) is not None
    if ability == "json_schema":
        try:
            said = json.loads(reply.text)
        except (ValueError, RecursionError):
            return False
        return isinstance(said, dict) and list(said) == ["greeting_in_french"]
    return True
