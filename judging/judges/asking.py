"""One question to an endpoint, asked again in another way where its reply cannot be read."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, TypeVar

from annotation.core.conversations import Message, Speaker
from annotation.core.refusals import Refused
from judging.core.chat import CUT, JsonSchema, Reply
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
    whole: bool = False,
) -> Outcome[T]:
    """Ask one question as a user's message and read the reply.

    An unreadable reply is followed by the reminder as a further message, so that what came before
    can be reused. Without one the question is put again as it is, where replies are drawn: at
    temperature 0 it would get the same. After a reply that was cut it is put again with room for
    twice as many tokens, as far as the context has it.

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
        whole: all of the reply is the value, so that one that was cut is none.

    Raises:
        EndpointDownError: nobody is asked any more, where the client stops at such a point.
    """
    messages = (Message(Speaker.USER, prompt),) if isinstance(prompt, str) else prompt
    attempt, times_longer = 0, 1
    while True:
        request = client.endpoint.request(
            messages,
            max_tokens=max_tokens,
            schema=schema,
            top_logprobs=top_logprobs,
            sample=sample,
            attempt=attempt,
            times_longer=times_longer,
        )
        call = Call()
        try:
            reply = await client.complete(request)
            call = Call(raw=reply.text, call_key=reply.key)
            may_be_cut = max_tokens is None
            return Outcome(_value(reply, read, whole=whole, may_be_cut=may_be_cut), call=call)
        except EndpointDownError:
            raise
        except LlmError as error:
            return Outcome(
                None, error.code.value, call=call if call.call_key else Call(raw=error.detail)
            )
        except Refused as error:
            is_cut = error.code == CUT
            has_room = client.endpoint.has_room(messages, 2 * times_longer)
            is_drawn = request.is_drawn or not client.manners.temperature
            goes_on = has_room if is_cut else reminder or is_drawn
            if attempt == retries or not goes_on:
                return Outcome(None, error.code, unparseable=not is_cut, call=call)
        times_longer *= 1 + is_cut
        if reminder and not is_cut:
            messages = _reminded(messages, call.raw, reminder)
        attempt += 1


def _value(reply: Reply, read: Callable[[Reply], T], *, whole: bool, may_be_cut: bool) -> T:
    """What a reply says.

    Raises:
        Refused: it cannot be read; `CUT` if it was cut and is not whole, or cannot be read.
    """
    is_cut = may_be_cut and reply.is_cut
    if is_cut and whole:
        raise Refused(CUT, "the reply was cut")
    try:
        return read(reply)
    except Refused as error:
        if is_cut:
            raise Refused(CUT, "the reply was cut") from error
        raise


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
