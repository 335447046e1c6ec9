"""One question to an endpoint, asked again in another way where its reply cannot be read."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, TypeVar

from annotation.core.conversations import Message, Speaker
from annotation.core.refusals import Refused
from judging.core.chat import JsonSchema, Reply
from judging.core.money import shorten
from judging.core.prompts import MARK, neutralise
from judging.core.questions import Call, Outcome
from judging.llm.client import ChatClient
from judging.llm.errors import EndpointDownError, LlmError

NO_ANSWER: Final = "llm:no-answer"

T = TypeVar("T")


async def ask(
    client: ChatClient,
    prompt: str | tuple[Message, ...],
    *,
    read: Callable[[Reply], T],
    retries: int,
    schema: JsonSchema | None = None,
    max_tokens: int | None = None,
    top_logprobs: int = 0,
    sample: int = 0,
    reminder: str = "",
) -> Outcome[T]:
    """Ask one question as a user's message and read the reply.

    An unreadable reply is followed by the reminder as a further message, so that what came before
    can be reused. Without one the question is put again as it is, where replies are drawn: at
    temperature 0 it would get the same.

    Args:
        client: whom to ask.
        prompt: the message, or several.
        read: gives the value, or raises `Refused`; an `LlmError` where the reply lacks
            what only the endpoint could have given.
        retries: how many more attempts an unreadable reply gets.
        schema: the form of the reply, for endpoints that can hold to one.
        max_tokens: less than the endpoint's limit, where the reply is known to be short.
        top_logprobs: alternatives of each token, for endpoints that return them.
        sample: the number of the repetition, where several replies are wanted.
        reminder: the form of the reply in other words, "" for none.

    Raises:
        EndpointDownError: nobody is asked any more, where the client stops at such a point.
    """
    messages = (Message(Speaker.USER, prompt),) if isinstance(prompt, str) else prompt
    attempt = 0
    while True:
        request = client.endpoint.request(
            messages,
            max_tokens=max_tokens,
            schema=schema,
            top_logprobs=top_logprobs,
            sample=sample,
            attempt=attempt,
        )
        call = Call()
        try:
            reply = await client.complete(request)
            call = Call(raw=reply.text, call_key=reply.key)
            return Outcome(read(reply), call=call)
        except EndpointDownError:
            raise
        except LlmError as error:
            return Outcome(
                None, error.code.value, call=call if call.call_key else Call(raw=error.detail)
            )
        except Refused as error:
            if attempt == retries or not (reminder or request.is_drawn):
                return Outcome(None, error.code, unparseable=True, call=call)
        if reminder:
            messages = _reminded(messages, call.raw, reminder)
        attempt += 1


_SHOWN_TOKENS: Final = 200
"""Of an unreadable reply; estimates of prompts err on the high side by more than that."""


def _reminded(messages: tuple[Message, ...], said: str, reminder: str) -> tuple[Message, ...]:
    """What was asked and said, and the reminder: many models insist on turns."""
    shown = neutralise(shorten(said, tokens=_SHOWN_TOKENS, mark=MARK))
    return (
        *messages,
        Message(Speaker.ASSISTANT, shown or MARK.strip()),
        Message(Speaker.USER, reminder),
    )


def answer_text(reply: Reply) -> str:
    """The text of a reply.

    Raises:
        Refused: it is empty.
    """
    if not reply.text:
        raise Refused(NO_ANSWER, "the reply is empty")
    return reply.text
