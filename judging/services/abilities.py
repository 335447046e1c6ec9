"""What an endpoint can do, found out at its first use and kept with it.

One small request an ability, sent by the same client as every other call. Nothing of it is a
judgment: the replies are not stored, and no run pays for them.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Final

from asgiref.sync import async_to_sync

from annotation.core.conversations import Message, Speaker
from annotation.core.refusals import Refused
from judging.core.chat import ChatRequest, JsonSchema, Reply
from judging.core.endpoints import Endpoint
from judging.core.verdicts import VerdictRule
from judging.judges.llm_judge import LETTER_ALTERNATIVES
from judging.llm.client import ChatClient
from judging.llm.errors import LlmCode, LlmError
from judging.llm.transport import Patience
from judging.models import JudgeRun, ModelEndpoint, RunKind
from judging.services.endpoints import endpoint_of

ABILITIES: Final = ("logprobs", "json_schema", "system_role")
LONGEST_WAIT_SECONDS: Final = 15.0
"""Of one request: three of them are over before a run counts as left (RUN_STALE_SECONDS)."""
LETTERS_WAIT_SECONDS: Final = 5.0
"""Of the one request that somebody waits for who starts a run."""
_SCHEMA_TOKENS: Final = 200
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
) -> None:
    """Asks for what is not known of an endpoint, and stores what was found; in no transaction.

    What cannot be told, because the endpoint is down or busy, stays unknown and is asked for the
    next time. A reward model is no chat, and has none of these abilities.

    Args:
        row: the endpoint; brought up to date.
        wanted: which abilities.
        wait: seconds for each reply.
        again: ask for everything, also for what is known or was stated.
        environ: where the key's variable is looked up.

    Raises:
        Refused: its base URL cannot be used, or its key may not be sent.
    """
    unknown = [ability for ability in wanted if again or row.can(ability) is None]
    if row.has_scores or not unknown:
        return
    found = async_to_sync(_probe)(endpoint_of(row), unknown, wait, environ)
    if row.probe_address not in {"", row.address}:  # it was known of another model
        for ability in ABILITIES:
            setattr(row, f"has_{ability}", None)
    for ability, known in found.items():
        if known is not None:
            setattr(row, f"has_{ability}", known)
            row.probe_address = row.address
    fields = {f"has_{ability}": getattr(row, f"has_{ability}") for ability in ABILITIES}
    same = ModelEndpoint.objects.filter(pk=row.pk, base_url=row.base_url, model=row.model)
    same.update(probe_address=row.probe_address, **fields)


def check_letters(row: ModelEndpoint) -> None:
    """Refuses an endpoint that is known to return no log-probabilities.

    Raises:
        Refused: it returns none.
    """
    if row.has_scores or row.can("logprobs") is False:
        raise Refused("llm:no-logprobs", f"{row.name} returns no log-probabilities")


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


async def _probe(
    endpoint: Endpoint, abilities: list[str], wait: float, environ: Mapping[str, str]
) -> dict[str, bool | None]:
    able = replace(
        endpoint,
        has_logprobs=True,
        has_json_schema=True,
        has_system_role=True,
        timeout_seconds=min(endpoint.timeout_seconds, wait),
    )
    found: dict[str, bool | None] = {}
    async with ChatClient(able, patience=Patience(tries=1), environ=environ) as client:
        for ability in abilities:
            try:
                found[ability] = _shows(ability, await client.complete(_request(able, ability)))
            except LlmError as error:
                # Only a request that was refused says something of the ability.
                found[ability] = False if error.code is LlmCode.BAD_REQUEST else None
                if found[ability] is None:
                    break  # the next request would meet the same
    return found


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
        return bool(reply.steps and reply.steps[0].top)
    if ability == "json_schema":
        try:
            said = json.loads(reply.text)
        except ValueError:
            return False
        return isinstance(said, dict) and list(said) == ["greeting_in_french"]
    return True
